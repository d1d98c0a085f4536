"""Order of the members: introductory runs first, then the member that a selector chooses."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from uaos.arrays import FloatArray
from uaos.optimizers.portfolio.kinds import KAPPA, kind_of
from uaos.optimizers.portfolio.members import Member, continuing
from uaos.selection.method import Method
from uaos.selection.selector import Selector
from uaos.statefile import SavedState, State

#: The evaluations per dimension of a step, after which shares are adapted (MOS has 85 steps in
#: 10,000·D evaluations).
STEP = 118.0


def leader_method(members: int, kappa: float = KAPPA) -> Method:
    """Return the method that gives the leading member `kappa` times the share of each other.

    The member that holds the best value so far has reward 1, the others 0; probability matching
    with ``p_min = 1 / (kappa + K - 1)`` turns this into shares, and the member furthest behind its
    share goes next.

    Parameters
    ----------
    members : int
        The number K of members that share the evaluations, 2 or more.
    kappa : float
        The leader's share relative to that of each other member, above 1.

    Returns
    -------
    Method

    Examples
    --------
    >>> leader_method(2, kappa=3).probability.p_min
    0.25
    """
    p_min = 1.0 / (kappa + members - 1)
    return Method("parent_improvement", "leader", "identity", "probability_matching",
                  "largest_deficit").replace(p_min=p_min, error=0.0)  # fmt: skip


class Searcher(Protocol):
    """Interface of a running member that :class:`Turns` needs; every optimizer has it."""

    evaluations: int

    @property
    def best_fitness(self) -> float:
        """Best value so far."""

    @property
    def restarts(self) -> int:
        """Restarts so far."""

    @property
    def converged(self) -> bool:
        """True if the member's run has ended."""

    @property
    def confirmed(self) -> bool:
        """True if independent starts have led to the best value."""

    @property
    def steady(self) -> bool:
        """True if the first run has not ended, and goes on as well as expected."""


class Finisher(Searcher, Protocol):
    """Interface of a member that can finish a run."""

    def restart_from(self, x: FloatArray) -> None:
        """Restart from a point."""


class Turns:
    """Order in which the members of a portfolio evaluate.

    Members with an introductory run come first, then the first other member until its first
    restart; from there on the selector chooses among the members that continue. With a method of
    scope "step" only capped members come first. Then the selector divides the evaluations of each
    step; the members have their turns in order, with whole batches, and the selector learns at the
    end of the step.

    Parameters
    ----------
    members : sequence of Member
    searchers : sequence of Searcher
        The running optimizers of the members, in the same order.
    method : Method or None
        Selects among the continuing members; None for :func:`leader_method`.
    dimension : int
        The number of variables, for the caps of members.
    budget : int or None
        The evaluations of the run.
    rng : numpy.random.Generator
        The generator of the selector.
    step : float
        The evaluations of a step per dimension, for a method of that scope.
    """

    def __init__(
        self,
        members: Sequence[Member],
        searchers: Sequence[Searcher],
        method: Method | None,
        *,
        dimension: int,
        budget: int | None,
        rng: np.random.Generator,
        step: float = STEP,
    ) -> None:
        self.members, self.searchers = members, searchers
        self.dimension, self.budget, self.rng = dimension, budget, rng
        self.continuing = continuing(members)
        self.default_method: Method | None = None
        if len(self.continuing) > 1:
            kappa = kind_of(dimension, budget).kappa
            self.default_method = leader_method(len(self.continuing), kappa)
        self.method = method = method or self.default_method
        # Members that run alone before the selector starts, in order.
        capped = [k for k, m in enumerate(members) if m.once or np.isfinite(m.cap)]
        others = [k for k in self.continuing if k not in capped]
        self.by_step = method is not None and method.scope == "step"
        self._introduction = [*capped, *([] if self.by_step else others[:1])]
        self._step = max(1, round(step * dimension))
        self._left = [0] * len(self.continuing)  # evaluations left in this step
        # Outcomes for the selector: alternative, best value before, new values.
        self._outcomes: list[tuple[int, float, FloatArray]] = []
        self.feasible = True  # whether values are compared, and not violations
        # Under noise, the estimates that members are credited with in place of their best values.
        self.estimates: list[float] | None = None
        self._credited: dict[int, float] = {}  # the last estimates that the selector saw
        self._turn = 0  # position in the introduction; past its end, the selector chooses
        self.selector: Selector | None = None

    def next(self, busy: Sequence[int] = ()) -> int:
        """Return the member that evaluates next; a free member takes the place of a busy one."""
        while self._turn < len(self._introduction):
            k = self._introduction[self._turn]
            if not self._introduced(k):
                return self._substitute(busy) if k in busy else k
            self._turn += 1
        if len(self.continuing) == 1:
            return self.continuing[0]
        selector = self.selector or self._start_selector()
        if not self.by_step:
            k = self.continuing[int(selector.select(1)[0])]
            return self._substitute(busy) if k in busy else k
        if max(self._left) <= 0:
            chosen = selector.select(self._step)
            self._left = np.bincount(chosen, minlength=len(self.continuing)).tolist()
        turn = 0
        while self._left[turn] <= 0:
            turn += 1
        return self.continuing[turn]

    @property
    def preferred(self) -> int:
        """Member of the introduction whose turn it is, or afterwards the one that leads."""
        if self._turn < len(self._introduction):
            return self._introduction[self._turn]
        return min(self.continuing, key=self.best)

    def _substitute(self, busy: Sequence[int]) -> int:
        """Return the best of the continuing members that are not busy."""
        free = [k for k in self.continuing if k not in busy]
        return min(free, key=self.best)

    def learn(self, k: int, before: float, values: FloatArray) -> None:
        """Tell the selector what member `k`, whose best was `before`, has found."""
        if self.selector is None:
            return
        if self.estimates is not None:
            estimate = self.estimates[k] if np.isfinite(self.estimates[k]) else np.nan
            before = self._credited.get(k, estimate)
            values, self._credited[k] = np.full(len(values), estimate), estimate
        alternative, n = self.continuing.index(k), len(values)
        if not self.by_step:
            self.selector.learn(np.full(n, alternative), np.full(n, before), values)
            return
        self._outcomes.append((alternative, before, values))
        self._left[alternative] -= n
        if max(self._left) <= 0:
            applied, parents, batches = zip(*self._outcomes, strict=True)
            sizes = [len(batch) for batch in batches]
            self.selector.update(
                np.repeat(applied, sizes), np.repeat(parents, sizes), np.concatenate(batches)
            )
            self._outcomes = []

    def best(self, k: int) -> float:
        """Return the best value of member `k`, or its least violation while no point is feasible.

        Under noise it is the lowest estimate of its candidates, each evaluated several times:

            b_k = min over candidates c of member k of (mean f(c) + s / √n_c)

        with the standard deviation s of the noise and n_c values at c. The lowest single value
        would show which member was lucky, not which one leads.
        """
        searcher = self.searchers[k]
        if self.estimates is not None and self.feasible:
            return self.estimates[k]
        if self.feasible or not searcher.evaluations:
            return searcher.best_fitness
        return float(getattr(searcher, "best_violation", 0.0))

    def compare_values(self) -> None:
        """Restart the selector, which compares values from now on, not violations."""
        self.feasible, self.selector = True, None
        self._left, self._outcomes = [0] * len(self.continuing), []

    def credit(self, k: int, estimate: float) -> None:
        """Credit member `k` with an estimate from now on, unless it has a lower one."""
        if self.estimates is None:  # from here on estimates are compared
            self.estimates = [np.inf] * len(self.members)
            self.compare_values()
        self.estimates[k] = min(self.estimates[k], estimate)

    def shares(self, chosen: int) -> FloatArray:
        """Return the current target share of each member."""
        shares = np.zeros(len(self.members))
        if self.selector is None:
            shares[chosen] = 1.0
        else:
            shares[self.continuing] = self.selector.probabilities
        return shares

    @property
    def introduced(self) -> bool:
        """True if the introduction is over."""
        last = len(self._introduction) - 1
        if last < 0:
            return True
        return self._turn >= last and self._introduced(self._introduction[last])

    def _introduced(self, k: int) -> bool:
        """Return whether a member's introductory run is over."""
        searcher, member = self.searchers[k], self.members[k]
        cap = max(member.cap, member.steady_cap) if searcher.steady else member.cap
        spent = searcher.evaluations >= cap * self.dimension
        if member.restarts:
            return bool(spent or searcher.confirmed)
        return bool(spent or searcher.converged or searcher.restarts > 0)

    def _start_selector(self) -> Selector:
        assert self.method is not None  # several members continue
        self.selector = self.method.selector(
            len(self.continuing), seed=self.rng, budget=self.budget,
            bests=[self.best(k) for k in self.continuing],
        )  # fmt: skip
        return self.selector

    def state(self) -> State:
        """Return everything that changes during the run."""
        selector = None if self.selector is None else self.selector.state()
        outcomes = [list(outcome) for outcome in self._outcomes]
        state = {"turn": self._turn, "feasible": self.feasible, "selector": selector}
        credit = {"estimates": self.estimates, "credited": list(self._credited.items())}
        return {**state, **credit, "left": np.array(self._left), "heard": outcomes}

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` returned."""
        self._turn, self.feasible, self.selector = state["turn"], state["feasible"], None
        self._left, self.estimates = np.array(state["left"]).tolist(), state["estimates"]
        self._credited = {int(k): value for k, value in state["credited"]}
        self._outcomes = [(k, before, values) for k, before, values in state["heard"]]
        if state["selector"] is not None:
            self._start_selector().restore(state["selector"])
