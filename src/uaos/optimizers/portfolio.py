"""Portfolio: optimizers of different families under one selector.

Each member keeps its own state. A :class:`uaos.Method` decides which member evaluates its next
batch, just as it decides which operator makes an offspring. Members do not see each other's points,
except that one may finish the run from the best point of the others.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np

from uaos.arrays import FloatArray
from uaos.errors import InvalidParameter
from uaos.history import History
from uaos.jit import njit
from uaos.optimizers import catalogue, feasibility
from uaos.optimizers.base import Optimizer, optimizer_class, register
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.outstanding import Batch
from uaos.optimizers.settings import OptimizerSettings
from uaos.params import choice, known_only, real
from uaos.selection.method import Method
from uaos.selection.selector import Selector
from uaos.statefile import SavedState, State
from uaos.text import count

#: How many times the evaluations of another member the leading member gets, unless a run is short.
KAPPA = 4.0

#: The evaluations per dimension of a step, after which shares are adapted (MOS: 10,000 in 85).
STEP = 118.0

# An improvement counts for convergence if it exceeds this share of the range of values seen.
_SIGNIFICANT = 1e-10
# Differences below this share of the best value are rounding errors.
_ROUNDING = 1e-14
# A run that no second member confirms has converged after this many times the evaluations up to its
# last significant improvement, and this many per dimension.
_STALL, _LEAST_STALL = 3, 500


@dataclass(frozen=True, init=False)
class Member:
    """Optimizer of a portfolio.

    Parameters
    ----------
    configuration : Configuration, str or mapping
        A configuration, the name of one in the catalogue, or one as plain data.
    once : bool
        Whether the member retires after its introductory run. All other members continue to the
        end of the run.
    cap : float
        The most evaluations of the member's introductory run, in multiples of the dimension. A
        member with a cap has such a run, and so has one that runs once.
    finish : float
        The evaluations at the end of a run with a budget, in multiples of the dimension, that the
        member may use to improve the best point of the others: it restarts from there, and the
        selector takes over once this has ended. It does not do so during the introduction, nor
        while it leads in its first run. For optimizers with a method `restart_from`, such as BFGS.
    restarts : bool
        Whether the introductory run includes restarts, until the cap or until independent starts
        confirm its result.

    Raises
    ------
    InvalidParameter
        If `cap` is not positive, `finish` is negative, or the optimizer cannot finish a run.

    Examples
    --------
    >>> import uaos
    >>> members = [uaos.Member("BFGS", once=True, cap=100), "CMA-ES", "mix"]
    >>> run = uaos.Portfolio([(-5, 5)] * 3, members=members, seed=1)
    """

    configuration: Configuration
    once: bool
    cap: float
    finish: float
    restarts: bool

    def __init__(
        self,
        configuration: Configuration | str | Mapping[str, Any],
        once: bool = False,
        cap: float = np.inf,
        finish: float = 0.0,
        restarts: bool = False,
    ) -> None:
        if isinstance(configuration, Mapping):
            configuration = Configuration.from_dict(configuration)
        entry = catalogue.configuration(configuration)
        if not cap > 0:
            raise InvalidParameter(
                f"cap of {entry.name} is {cap!r}; expected a positive number",
                name="cap", value=cap,
            )  # fmt: skip
        able = hasattr(optimizer_class(entry.optimizer), "restart_from")
        if not (finish == 0 or (finish > 0 and able)):
            expected = "a number >= 0" if able else "0, as the optimizer has no `restart_from`"
            raise InvalidParameter(
                f"finish of {entry.name} is {finish!r}; expected {expected}",
                name="finish", value=finish,
            )  # fmt: skip
        values = (entry, once, cap, finish, restarts)
        for part, value in zip(dataclasses.fields(self), values, strict=True):
            object.__setattr__(self, part.name, value)

    @property
    def name(self) -> str:
        """Name of the configuration."""
        return self.configuration.name

    @classmethod
    def of(cls, value: "MemberLike") -> "Member":
        """Return a member from a member, a configuration, a name or plain data."""
        if isinstance(value, Member):
            return value
        if isinstance(value, Mapping) and "configuration" in value:
            known_only(value, {f.name: f for f in dataclasses.fields(cls)}, "a portfolio's member")
            return cls(**value)
        return cls(value)

    def handles(self, needed: Sequence[str]) -> bool:
        """Return whether the optimizer handles all that is needed.

        Parameters
        ----------
        needed : sequence of str
            Any of "constraints", "integrality" and "noise".
        """
        return set(needed) <= set(optimizer_class(self.configuration.optimizer).handles)

    def text(self) -> str:
        """Return name, strategies and settings in one line."""
        settings = self.configuration.settings
        parts = [strategy or name for name, strategy, _, _ in settings.operator_texts()]
        return f"{self.name}: {', '.join([*parts, settings.summary()])}"

    def to_dict(self) -> dict[str, object]:
        """Return the member as plain data."""
        data: dict[str, object] = {"configuration": self.configuration.to_dict()}
        if self.once:
            data["once"] = True
        if np.isfinite(self.cap):
            data["cap"] = self.cap
        if self.finish:
            data["finish"] = self.finish
        if self.restarts:
            data["restarts"] = True
        return data


#: What :meth:`Member.of` makes a member of.
MemberLike = Member | Configuration | str | Mapping[str, Any]


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
    least = 1.0 / (kappa + members - 1)
    return Method("parent_improvement", "leader", "identity", "probability_matching",
                  "largest_deficit").replace(p_min=least, error=0.0)  # fmt: skip


# Which members suit which problem


@dataclass(frozen=True)
class Seat:
    """Member of the table below, with a cap that depends on the budget.

    Parameters
    ----------
    name : str
        The configuration of the catalogue.
    settings : mapping
        Settings that differ from those of the catalogue.
    share, cap : float
        The evaluations of the introductory run at most, as a share of the budget and in multiples
        of the dimension.
    once : bool
        Whether the member then retires.
    finish_share, finish_cap : float
        The evaluations at the end of the run that the member may finish it with, likewise.
    restarts : bool
        Whether the introductory run includes restarts.
    """

    name: str
    settings: Mapping[str, object] = field(default_factory=dict)
    share: float = np.inf
    cap: float = np.inf
    once: bool = False
    finish_share: float = 0.0
    finish_cap: float = 0.0
    restarts: bool = False

    def member(self, each: float) -> Member:
        """Return the member for a budget of `each` evaluations per dimension."""
        base = catalogue.configuration(self.name)
        return Member(
            dataclasses.replace(base, settings=base.settings.changed(self.settings)),
            once=self.once,
            cap=min(self.share * each, self.cap),
            finish=min(self.finish_share * each, self.finish_cap) if self.finish_cap else 0.0,
            restarts=self.restarts,
        )


class Kind(NamedTuple):
    """Kind of problem, with the members and the selector that suit it.

    The selector is :func:`leader_method` with `kappa`. The members are those of `first`, then those
    of `then` up to :data:`LARGE` variables and those of `large` beyond. Members that cannot handle
    constraints or integers are left out where a problem has them.
    """

    least: float  # smallest number of evaluations per dimension
    kappa: float
    first: tuple[Seat, ...]
    then: tuple[Seat, ...]
    large: tuple[Seat, ...]


#: Above this dimension CMA-ES, whose steps cost D² operations, gives way to differential evolution.
LARGE = 500

_LOCAL = Seat("BFGS", cap=250)
_FINISHING = Seat("BFGS", share=0.15, cap=250, finish_share=0.2, finish_cap=50)
_LOCAL_ONCE = Seat("BFGS", cap=250, once=True)
_STEP_ONCE = Seat("STEP", {"separable_only": True}, cap=800, once=True)
_CMA_SHARE, _CMA = Seat("CMA-ES", {"center": True}, share=0.15), Seat("CMA-ES")
_DE_2D, _DE_5D = (Seat("mix", {"NP": size}, share=0.2) for size in ("2D", "5D"))
_DE = Seat("mix", {"NP": "5D"})

#: The first gradient takes 2·D evaluations, so that below 4·D there is no local search. Above, it
#: comes first: on smooth functions nothing is as fast, and elsewhere it soon ends. Coordinate
#: search searches functions that a handful of evaluations show to be separable; from 40·D on it has
#: a chance to solve them. In a long run, from 20,000·D evaluations on, both retire, and CMA-ES
#: searches alone until its first restart. A run of 100·D or more introduces each member with a
#: share of the budget, then favors the leader more, and ends with a local search from the best
#: point.
KINDS = (
    #    least  kappa  first                        then                  large
    Kind(     0, 20.0, (),                          (_CMA_SHARE,),        (_DE_2D,)),
    Kind(     4, 20.0, (_LOCAL, _STEP_ONCE),        (_CMA_SHARE,),        (_DE_2D,)),
    Kind(    40, 20.0, (_STEP_ONCE, _LOCAL),        (_CMA_SHARE,),        (_DE_2D,)),
    Kind(   100, 20.0, (_STEP_ONCE, _FINISHING),    (_CMA_SHARE,),        (_DE_2D,)),
    Kind(   500, 20.0, (_FINISHING, _STEP_ONCE),    (_CMA_SHARE, _DE_2D), (_DE_2D,)),
    Kind( 3_000, 20.0, (_FINISHING, _STEP_ONCE),    (_CMA_SHARE, _DE_5D), (_DE_5D,)),
    Kind(20_000, KAPPA, (_LOCAL_ONCE, _STEP_ONCE),  (_CMA, _DE),          (_DE,)),
)  # fmt: skip

_IPOP, _IPOP_3_2, _IPOP_2, _IPOP_4, _IPOP_8 = (
    Seat("CMA-ES", {"center": True, "restarts": "IPOP", "enlarged": factor})
    for factor in (1.0, 1.5, 2.0, 4.0, 8.0)
)

#: The same where noise hides the differences between points. Gradients are noise then, and one
#: lucky value keeps a bad point in the population of differential evolution. CMA-ES averages over
#: its population: the larger the budget, the larger it is.
NOISY_KINDS = (
    #    least  kappa  first  then         large
    Kind(     0, 20.0, (),    (_IPOP,),     (_DE_2D,)),
    Kind(    60, 20.0, (),    (_IPOP_3_2,), (_DE_2D,)),
    Kind(   200, 20.0, (),    (_IPOP_2,),   (_DE_2D,)),
    Kind(   700, 20.0, (),    (_IPOP_4,),   (_DE_5D,)),
    Kind( 2_000, 20.0, (),    (_IPOP_8,),   (_DE_5D,)),
)  # fmt: skip

_SQP = Seat("SQP", share=0.5, cap=500, finish_share=0.1, finish_cap=50, restarts=True)

#: The same under constraints. Sequential quadratic programming comes first, with its restarts, and
#: alone in a short run: methods without a model of the constraints need ten times the evaluations.
CONSTRAINED_KINDS = (
    #    least  kappa  first     then                        large
    Kind(     0, 20.0, (),       (Seat("SQP"),),             (_DE_2D,)),
    Kind(   500, 20.0, (_SQP,),  (_CMA_SHARE, _DE_2D),       (_DE_2D,)),
    Kind( 3_000, 20.0, (_SQP,),  (_CMA_SHARE, _DE_5D),       (_DE_5D,)),
    Kind(20_000, KAPPA, (_SQP,), (_CMA, _DE),                (_DE,)),
)  # fmt: skip

_LM = Seat("LM", share=0.5, cap=300, finish_share=0.1, finish_cap=20, restarts=True)

#: The same for sums of squares whose residuals are known.
RESIDUAL_KINDS = (
    #    least  kappa  first    then                   large
    Kind(     0, 20.0, (),      (Seat("LM"),),         (Seat("LM"),)),
    Kind(   500, 20.0, (_LM,),  (_CMA_SHARE, _DE_2D),  (_DE_2D,)),
    Kind( 3_000, 20.0, (_LM,),  (_CMA_SHARE, _DE_5D),  (_DE_5D,)),
)  # fmt: skip


_MODEL, _MODEL_ONCE = Seat("GP"), Seat("GP", cap=40, once=True)

#: The same where there are categories, with noise or without. A model finds most in the first 40·D
#: evaluations. In a long run differential evolution, which crosses categories, then goes on.
CATEGORICAL_KINDS = (
    #    least  kappa  first            then       large
    Kind(     0, 20.0, (),              (_MODEL,), (_DE_2D,)),
    Kind(   100, 20.0, (_MODEL_ONCE,),  (_DE,),    (_DE_2D,)),
)  # fmt: skip

#: The same where there are integers, but no categories or constraints: from 100·D evaluations on as
#: for real numbers.
INTEGER_KINDS = (CATEGORICAL_KINDS[0], *(kind for kind in KINDS if kind.least >= 100))


def kind_of(
    dimension: int,
    budget: int | None,
    *,
    noisy: bool = False,
    constrained: bool = False,
    residuals: bool = False,
    integers: bool = False,
    categories: bool = False,
) -> Kind:
    """Return the row of :data:`KINDS`, or its like, for a dimension and a budget."""
    evaluations = _per_variable(dimension, budget)
    tables: tuple[tuple[bool, tuple[Kind, ...]], ...] = (
        (categories, CATEGORICAL_KINDS), (noisy, NOISY_KINDS), (residuals, RESIDUAL_KINDS),
        (constrained, CONSTRAINED_KINDS), (integers, INTEGER_KINDS), (True, KINDS),
    )  # fmt: skip
    kinds = next(kinds for applies, kinds in tables if applies)
    return [kind for kind in kinds if kind.least <= evaluations][-1]


def _per_variable(dimension: int, budget: int | None) -> float:
    """Return the evaluations per variable; infinity without a budget."""
    return np.inf if budget is None else budget / dimension


def default_members(
    dimension: int,
    budget: int | None,
    *,
    noisy: bool = False,
    constrained: bool = False,
    residuals: bool = False,
    integers: bool = False,
    categories: bool = False,
) -> tuple[Member, ...]:
    """Return the members for a dimension and a budget, according to :data:`KINDS`.

    Parameters
    ----------
    dimension : int
        The number of variables.
    budget : int or None
        The evaluations of the run; None means no limit.
    noisy : bool
        Whether noise hides the differences between points.
    constrained : bool
        Whether there are constraints, and no integers.
    residuals : bool
        Whether the residuals of a sum of squares are told.
    integers : bool
        Whether there are integers, and no constraints.
    categories : bool
        Whether there are categories.

    Returns
    -------
    tuple of Member
    """
    kind = kind_of(
        dimension, budget, noisy=noisy, constrained=constrained, residuals=residuals,
        integers=integers, categories=categories,
    )  # fmt: skip
    seats = kind.first + (kind.then if dimension <= LARGE else kind.large)
    return tuple(seat.member(_per_variable(dimension, budget)) for seat in seats)


# Taking turns


class Searcher(Protocol):
    """Interface of a running member that :class:`Turns` needs; every optimizer has it."""

    evaluations: int
    best_fitness: float

    @property
    def restarts(self) -> int:
        """Restarts so far."""

    @property
    def converged(self) -> bool:
        """True if the member's run has ended."""

    @property
    def confirmed(self) -> bool:
        """True if independent starts have led to the best value."""


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
        self._left = [0] * len(self.continuing)  # evaluations of this step
        # Outcomes for the selector: alternative, best value before, new values.
        self._outcomes: list[tuple[int, float, FloatArray]] = []
        self.feasible = True  # whether values are compared, and not violations
        # Under noise, what members are credited with in place of their best values.
        self.estimates: list[float] | None = None
        self._credited: dict[int, float] = {}  # those that the selector has heard of
        self._turn = 0  # position in the introduction; past its end, the selector chooses
        self.selector: Selector | None = None

    def next(self, busy: Sequence[int] = ()) -> int:
        """Return the member that evaluates next, instead of a busy one another that can."""
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

    def _substitute(self, busy: Sequence[int]) -> int:
        """Return a member that is not busy, and of those that continue the best."""
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
        """Return the best value of member `k`, its least violation while nothing is feasible.

        Under noise it is the lowest estimate of its candidates, each evaluated several times:

            b_k = min over candidates c of member k of (mean f(c) + s / √n_c)

        with the deviation s of noise and n_c values at c. The lowest single value says who was
        lucky, not who leads.
        """
        searcher = self.searchers[k]
        if self.estimates is not None and self.feasible:
            return self.estimates[k]
        if self.feasible or not searcher.evaluations:
            return searcher.best_fitness
        return float(getattr(searcher, "best_violation", 0.0))

    def compare_values(self) -> None:
        """Start the selector anew: a feasible point was found, so that values are compared now."""
        self.feasible, self.selector = True, None
        self._left, self._outcomes = [0] * len(self.continuing), []

    def credit(self, k: int, estimate: float) -> None:
        """Credit member `k` with an estimate from now on, if it is its lowest."""
        if self.estimates is None:  # from here on estimates are compared
            self.estimates = [np.inf] * len(self.members)
            self.compare_values()
        self.estimates[k] = min(self.estimates[k], estimate)

    def shares(self, chosen: int) -> FloatArray:
        """Return the current target share of each member."""
        if self.selector is not None and len(self.continuing) == len(self.members):
            probabilities: FloatArray = self.selector.probabilities
            return probabilities
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
        spent = searcher.evaluations >= member.cap * self.dimension
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
        heard = [list(outcome) for outcome in self._outcomes]
        state = {"turn": self._turn, "feasible": self.feasible, "selector": selector}
        credit = {"estimates": self.estimates, "credited": list(self._credited.items())}
        return {**state, **credit, "left": np.array(self._left), "heard": heard}

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` returned."""
        self._turn, self.feasible, self.selector = state["turn"], state["feasible"], None
        self._left, self.estimates = np.array(state["left"]).tolist(), state["estimates"]
        self._credited = {int(k): value for k, value in state["credited"]}
        self._outcomes = [(k, before, values) for k, before, values in state["heard"]]
        if state["selector"] is not None:
            self._start_selector().restore(state["selector"])


def continuing(members: Sequence[Member]) -> list[int]:
    """Return the positions of the members that do not retire.

    Raises
    ------
    InvalidParameter
        If all members run once, or two have the same name.
    """
    names = [member.name for member in members]
    if len(set(names)) != len(names):
        raise InvalidParameter(
            f"two members have the same name: {', '.join(names)}; give each its own",
            name="members", value=names,
        )  # fmt: skip
    places = [k for k, member in enumerate(members) if not member.once]
    if not places:
        raise InvalidParameter(
            f"all members retire after one run: {', '.join(names) or 'none is given'}; expected "
            "at least one without `once`",
            name="members", value=names,
        )  # fmt: skip
    return places


@njit
def largest_finite(values: FloatArray, least: float) -> float:
    """Return the largest finite value, `least` if none is larger."""
    for value in values:
        if least < value < np.inf:
            least = value
    return least


@dataclass(frozen=True)
class PortfolioSettings(OptimizerSettings):
    """Settings of a portfolio. Passed to :class:`uaos.Portfolio`.

    Parameters
    ----------
    members : sequence of Member, Configuration, str or mapping, optional
        The optimizers; by default those of :func:`default_members`.
    step : float
        The evaluations of a step per dimension, where the method divides those of each step among
        the members (``scope="step"``).
    constrained : bool
        Whether violations of constraints will be told. Members that cannot handle them are left
        out.
    noisy : bool
        Whether values are noisy from the start. :meth:`Portfolio.expect_noise` says so later.

    Raises
    ------
    InvalidParameter
        If a setting is out of range, or the members do not fit together.
    """

    title: ClassVar[str] = "the portfolio"

    members: Sequence[MemberLike] | None = None
    step: float = real(
        10,
        1000,
        default=STEP,
        allowed=(0, 1e9),
        log=True,
        doc="evaluations of a step, per dimension",
    )
    constrained: bool = choice(
        False, True, default=False, tuned=False, doc="whether there are constraints"
    )
    noisy: bool = choice(
        False, True, default=False, tuned=False, doc="whether values are noisy from the start"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.members is not None:
            members = tuple(Member.of(member) for member in self.members)
            continuing(members)
            object.__setattr__(self, "members", members)

    @property
    def chosen(self) -> tuple[Member, ...]:
        """Members that were given."""
        return tuple(Member.of(member) for member in self.members or ())

    @property
    def alternatives(self) -> int:
        """Number of members that continue; 1 if no members are given."""
        return len(continuing(self.chosen)) if self.members is not None else 1

    def to_dict(self) -> dict[str, object]:
        """Return the settings that differ from their defaults, as plain data."""
        data = super().to_dict()
        if self.members is not None:
            data["members"] = [member.to_dict() for member in self.chosen]
        return data

    def texts(self) -> dict[str, str]:
        """Return the settings as strings, with a line for each member."""
        texts = super().texts()
        if self.members is not None:
            texts["members"] = "\n".join(member.text() for member in self.chosen)
        return texts

    def summary(self) -> str:
        """Return the names of the members."""
        return ", ".join(member.name for member in self.chosen)


@register
class Portfolio(Optimizer):
    """Portfolio of optimizers that share the evaluations of one run.

    Members with an introductory run come first, in order, each until it has converged or spent its
    cap. Then the first other member runs alone until its first restart. From there on a
    selector distributes the evaluations over all members that continue: an alternative is a member,
    an application one evaluation, the parent's fitness the member's own best value before the
    batch. A population schedule of a member spans the budget of the whole run. One member may
    finish the run from the best point of the others (see :class:`Member`).

    Parameters
    ----------
    bounds, seed, budget, target, x0, history, integrality
        As for every :class:`uaos.Optimizer`. `x0` is given to every member. With `integrality`,
        members that cannot handle integers are left out.
    method : Method, optional
        Chooses the next member; by default :func:`leader_method`.
    settings, members, step, constrained, noisy
        See :class:`PortfolioSettings`.

    Attributes
    ----------
    members : tuple of Member
        The members.
    optimizers : list of Optimizer
        Their optimizers.
    history : History or None
        One row per batch: `operators` are the members, `counts` their evaluations.

    Examples
    --------
    >>> import uaos
    >>> portfolio = uaos.Portfolio([(-5, 5)] * 2, members=["CMA-ES", "mix"], budget=400, seed=1)
    >>> while not portfolio.done:
    ...     portfolio.tell([float(x @ x) for x in portfolio.ask()])
    >>> portfolio.evaluations
    400
    """

    name: ClassVar[str] = "portfolio"
    handles: ClassVar[tuple[str, ...]] = ("constraints", "integrality", "categories", "noise")
    state_names: ClassVar[tuple[str, ...]] = (
        "_by_table", "_chosen", "_worst", "_first_values", "_last_gain", "_reference", "_finishing",
        "_finished",
    )  # fmt: skip

    batch_names: ClassVar[tuple[str, ...]] = ("_chosen",)
    settings_class: ClassVar[type[OptimizerSettings]] = PortfolioSettings
    selects: ClassVar[bool] = True
    always_selects: ClassVar[bool] = True
    settings: PortfolioSettings

    def _choose_settings(
        self, settings: object, method: object, changes: Mapping[str, object]
    ) -> tuple[PortfolioSettings, Method | None]:
        if not (method is None or isinstance(method, Method)):
            raise InvalidParameter(
                f"method is {method!r}; expected a uaos.Method or None", name="method", value=method
            )
        chosen = PortfolioSettings.of(settings).changed(changes)
        self.constrained, self._by_table = chosen.constrained, chosen.members is None
        members = chosen.chosen or self._default_members(chosen.noisy)
        return dataclasses.replace(chosen, members=self._able(members)), method

    def _default_members(self, noisy: bool) -> tuple[Member, ...]:
        """Return the members of the table for this problem."""
        return default_members(
            self.dimension,
            self.budget,
            noisy=noisy,
            constrained=self.constrained and self.integers is None,
            integers=self.integers is not None and not self.constrained,
            categories=self.categories is not None,
        )

    def _able(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """Return the members that handle the constraints and integers of the problem."""
        needed = ["constraints"] * self.constrained
        needed += ["integrality"] * (self.integers is not None)
        return tuple(member for member in members if member.handles(needed))

    def _start(self) -> None:
        self.noisy = self.settings.noisy
        self._names = tuple(member.name for member in self.settings.chosen)
        self._seat(self.settings.chosen, [self._built(member) for member in self.settings.chosen])
        self._worst = -np.inf  # the largest value seen
        self._reference = np.inf  # the best value at the last significant improvement ...
        self._last_gain = 0  # ... and the evaluations then
        if self.history is not None:
            self.history = History(self.operators)

    def _built(self, member: Member, x0: FloatArray | None = None) -> Optimizer:
        """Return the optimizer of a member."""
        return member.configuration.build(
            self.box, seed=int(self.rng.integers(2**62)), budget=self.budget,
            x0=self.x0 if x0 is None else x0, history=False, integrality=self.integrality,
        )  # fmt: skip

    def _seat(self, members: tuple[Member, ...], optimizers: list[Optimizer]) -> None:
        """Let these members take turns from here on."""
        self.members, self.optimizers = members, optimizers
        self._turns = Turns(
            self.members, self.optimizers, self.method, dimension=self.dimension,
            budget=self.budget, rng=self.rng, step=self.settings.step,
        )  # fmt: skip
        self._turns.feasible = not self.constrained
        self.method = self._turns.method
        self._chosen = self._turns.next()
        self._finisher = next((k for k, m in enumerate(self.members) if m.finish), None)
        self._finishing = self._finished = False
        self._batches_out = [0] * len(self.members)  # of each member
        self._first_values = [np.inf] * len(members)  # the medians of first batches

    def expect_noise(self, level: float, spread: float) -> None:
        """Take in how noisy the values are; once they are noisy, members that suit this go on.

        Members that were chosen by the table give way to those of :data:`NOISY_KINDS`, which start
        from the best point so far. Of other members, those remain that handle noise, if any do.
        """
        before = self.noisy
        super().expect_noise(level, spread)
        changes = self.noisy and not before
        if changes and self.method == self._turns.default_method:
            self.method = None  # that for the members that remain
        if changes and self._by_table and self.categories is None:
            members = self._able(self._default_members(True))
            start = None if self.best_x is None else self.best_x[None]
            self._seat(members, [self._built(member, start) for member in members])
        elif changes:
            able = [k for k, member in enumerate(self.members) if member.handles(["noise"])]
            if any(not self.members[k].once for k in able):
                members = tuple(dataclasses.replace(self.members[k], finish=0.0) for k in able)
                self._seat(members, [self.optimizers[k] for k in able])
        for optimizer in self.optimizers:
            optimizer.expect_noise(level, spread)

    @property
    def operators(self) -> tuple[str, ...]:
        """Names of the members, with those that have left because values are noisy."""
        return self._names

    @property
    def capacity(self) -> int | None:
        """Smallest capacity of a member."""
        limits = [m.capacity for m in self.optimizers if m.capacity is not None]
        return min(limits, default=None)

    @property
    def probabilities(self) -> FloatArray:
        """Current target share of each member."""
        if self._finishing:
            shares: FloatArray = np.eye(len(self.members))[self._chosen]
        else:
            shares = self._turns.shares(self._chosen)
        if len(self.members) == len(self._names):
            return shares
        spread = np.zeros(len(self._names))
        spread[[self._names.index(member.name) for member in self.members]] = shares
        return spread

    @property
    def candidates(self) -> FloatArray:
        """The first one of each member, beginning with the active one, and further ones."""
        each = [self.optimizers[k].candidates for k in self._searching]
        further = [points[1:] for points in each]
        return np.vstack([*(points[:1] for points in each), *further, super().candidates])

    @property
    def _searching(self) -> list[int]:
        """Members that continue and have a point, the active one first."""
        places = [self._chosen, *(k for k in self._turns.continuing if k != self._chosen)]
        return [k for k in places if self.optimizers[k].best_x is not None]

    @property
    def rivals(self) -> int:
        """Number of members that search."""
        return len(self._searching)

    def credit(self, estimates: FloatArray) -> None:
        """Credit the members with estimates of their candidates; see :meth:`Turns.best`."""
        if self.noisy and not self.constrained:
            for k, estimate in zip(self._searching, estimates.tolist(), strict=True):
                self._turns.credit(k, estimate)

    # The loop

    def _propose(self) -> FloatArray:
        # Members that still count slightly infeasible points as feasible go first.
        relaxed = self._relaxed() if self.constrained else []
        self._begin_or_end_finish()
        busy = self._busy()
        if self._finishing and self._finisher is not None and self._finisher not in busy:
            self._chosen = self._finisher
        else:
            first = [k for k in relaxed if k not in busy]
            self._chosen = first[0] if first else self._turns.next(busy)
        member = self.optimizers[self._chosen]
        member.wanted, member.recalled = self.wanted, self.recalled
        points: FloatArray = member.ask()
        return points

    def _begin_or_end_finish(self) -> None:
        """Start or end the finish from the best point of the other members, if it is time to."""
        if self._finisher is None or self.budget is None or self._finished:
            return
        finisher = cast(Finisher, self.optimizers[self._finisher])
        if self._finishing:
            self._finished = finisher.converged
            self._finishing = not self._finished
            return
        finish = self.members[self._finisher].finish * self.dimension
        if self.budget - self.evaluations > finish or not self._turns.introduced:
            return
        others = [
            (member.best_fitness, member.best_x)
            for k, member in enumerate(self.optimizers)
            if k != self._finisher and member.best_x is not None
        ]
        if not others:
            return
        value, point = min(others, key=lambda best: best[0])
        in_first_run = finisher.restarts == 0 and not finisher.converged
        if value < finisher.best_fitness or not in_first_run:
            finisher.restart_from(point)
            self._finishing = True

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        k, shares = self._chosen, None if self.history is None else self.probabilities
        optimizer, violations = self.optimizers[k], self.violations
        before = self._turns.best(k)
        # Only the last batch of a run is cut to the budget; its member is not told.
        if len(points) == optimizer.batch_size:
            optimizer.tell(values, violations, self.details)
        if violations is not None:
            if self.best_violation == 0 and not self._turns.feasible:
                self._turns.compare_values()
                self._worst, self._reference = -np.inf, np.inf
                self._first_values = [np.inf] * len(self.members)
            values = (
                np.where(violations == 0, values, np.nan) if self._turns.feasible else violations
            )
        if not self._finishing:  # the selector compares what members find on their own
            self._turns.learn(k, before, values)
        self.restarts = sum([member.restarts for member in self.optimizers])
        self._note_gain(values)
        if self.history is not None:
            counts = np.zeros(len(self._names), np.int64)
            counts[self._names.index(self.members[k].name)] = len(values)
            numbers = self.best_fitness, self.evaluations, self.iterations
            self.history.append(numbers, counts, shares)

    def _note_gain(self, values: FloatArray) -> None:
        """Record when the best value last improved significantly."""
        self._worst = float(largest_finite(values, self._worst))
        if self._first_values[self._chosen] == np.inf:
            finite = values[np.isfinite(values)]
            if len(finite):
                with np.errstate(over="ignore"):  # of huge values
                    self._first_values[self._chosen] = float(np.median(finite))
        best = self.best_fitness if self._turns.feasible else self.best_violation
        least = max(self._tolerance(best), self.atol + self.tol * abs(best), self.noise)
        if self._reference - best > least:
            self._reference, self._last_gain = best, self.evaluations

    @property
    def converged(self) -> bool:
        """True if further search is unlikely to pay.

        True once independent starts of one member have confirmed the best value, or two members
        that continue have ended a run at it, or the
        introduction is over and two members have found that value independently, or the run has
        gone on for long without a significant improvement: one of more than 1e-10 of the range of
        values and more than atol + tol·|best|. The range is what a member has gained since its
        first batch, the least of all members, so that a few huge values do not count.
        """
        if self.constrained and self._relaxed():
            return False
        agreeing = self._agreeing()
        if any(m.confirmed for m in agreeing):
            return True
        if not self._turns.introduced:
            continuing = [self.optimizers[k] for k in self._turns.continuing]
            ended = [m for m in agreeing if m.converged or m.restarts > 0]
            return len([m for m in ended if m in continuing]) >= 2
        stalled = self.evaluations >= _STALL * self._last_gain + _LEAST_STALL * self.dimension
        return stalled or len(agreeing) >= 2

    def _tolerance(self, best: float) -> float:
        """Return the difference from the best value below which values are the same."""
        if not np.isfinite(best):
            return 0.0
        highest = min((v for v in self._first_values if best < v < np.inf), default=self._worst)
        return max(_SIGNIFICANT * (min(highest, self._worst) - best), _ROUNDING * abs(best))

    def _agreeing(self) -> list[Optimizer]:
        """Return the members that found the best value independently of each other."""
        limit = self.best_fitness + self._tolerance(self.best_fitness)
        members = [member for member in self.optimizers if member.best_fitness <= limit]
        if self._finisher is not None and (self._finishing or self._finished):
            # It started from the others' point, so it does not confirm the value.
            members = [m for m in members if m is not self.optimizers[self._finisher]]
        return members

    @property
    def doubt(self) -> str:  # noqa: D102 (see Optimizer)
        if not np.isfinite(self.best_fitness):
            return ""  # no feasible point, which the message says
        limit = self.best_fitness + self._tolerance(self.best_fitness)
        settled = any(value <= limit for m in self.optimizers for value in m.settled)
        agreeing = self._agreeing()
        if settled or len(agreeing) >= 2 or any(m.confirmed for m in agreeing):
            return ""
        idle = count(self.evaluations - self._last_gain, "evaluation")
        return f"no improvement for {idle}; not confirmed by a second search"

    @property
    def wants_gradients(self) -> bool:
        """True if the active member can use gradients."""
        return self.optimizers[self._chosen].wants_gradients

    @property
    def epsilon(self) -> float:
        """Epsilon of the active member."""
        return float(self.optimizers[self._chosen].epsilon)

    def _relaxed(self) -> list[int]:
        """Return the members that still count slightly infeasible points as feasible."""
        levels = [member.epsilon for member in self.optimizers]
        return [k for k, level in enumerate(levels) if 0 < level < feasibility.UNLIMITED]

    # Several batches at a time

    def expect(self, workers: int) -> None:  # noqa: D102 (see Optimizer)
        for optimizer in self.optimizers:
            optimizer.expect(workers)

    def _busy(self) -> list[int]:
        """Return the members that cannot propose before they are told the values of a batch."""
        return [k for k, n in enumerate(self._batches_out) if n and not self.optimizers[k].overlaps]

    @property
    def overlaps(self) -> bool:  # noqa: D102 (see Optimizer)
        return any(k not in self._busy() for k in self._turns.continuing)

    def set_aside(self) -> Batch:  # noqa: D102
        batch = super().set_aside()
        self._batches_out[self._chosen] += 1
        batch.notes["member"] = self.optimizers[self._chosen].set_aside()
        return batch

    def take_up(self, batch: Batch) -> bool:  # noqa: D102
        k = batch.notes["_chosen"]
        member = self.optimizers[k]
        self._batches_out[k] -= 1
        member.points_out -= len(batch.points)
        if not member.take_up(batch.notes["member"]):
            return False
        self._asked, self._chosen = batch.points, k
        return True

    # Exact resume

    def state(self) -> State:
        """Return everything that changes during the run, the members' states included."""
        state = super().state()
        state["members"] = [optimizer.state() for optimizer in self.optimizers]
        state["turns"] = self._turns.state()
        state["seats"] = [member.to_dict() for member in self.members]
        return state

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` of a portfolio with the same settings returned."""
        members = tuple(Member.of(member) for member in state["seats"])
        if members != self.members:  # some have left because values are noisy
            self._seat(members, [self._built(member) for member in members])
        super().restore(state)
        for optimizer, saved in zip(self.optimizers, state["members"], strict=True):
            optimizer.restore(saved)
        self._turns.restore(state["turns"])
        # The selector draws from the same generator, and restores it as well.
        self.rng.bit_generator.state = state["rng"]
