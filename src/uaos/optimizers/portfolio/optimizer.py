"""The portfolio as an optimizer."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import BoolArray, FloatArray
from uaos.errors import InvalidFeedback
from uaos.history import History
from uaos.jit import njit
from uaos.optimizers import catalogue
from uaos.optimizers.base import Optimizer, feasibility
from uaos.optimizers.base.feedback import Feedback
from uaos.optimizers.base.outstanding import Batch
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.portfolio.kinds import Traits, default_members
from uaos.optimizers.portfolio.members import Member, MemberLike, continuing
from uaos.optimizers.portfolio.turns import STEP, Finisher, Turns
from uaos.optimizers.registration import register
from uaos.params import choice, real
from uaos.selection.method import Method
from uaos.statefile import SavedState, State
from uaos.text import count

# An improvement counts for convergence if it exceeds this share of the range of values seen.
_SIGNIFICANT = 1e-10
# Differences below this share of the best value are rounding errors.
_ROUNDING = 1e-14
# Without confirmation by a second member, a run has converged after _STALL times the evaluations up
# to its last significant improvement, plus _LEAST_STALL per dimension.
_STALL, _LEAST_STALL = 3, 500
# Below this number of workers per dimension, some are kept free for the introductory local search.
_FEW_WORKERS = 2
# The number of latest points kept, per dimension.
_LATEST = 2
# A search has only just begun up to this many evaluations per dimension.
_BEGINNING = 4


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
    residuals : bool
        Whether the residuals of a sum of squares will be told.

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
    residuals: bool = choice(
        False, True, default=False, tuned=False, doc="whether the residuals of a sum are known"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.members is not None:
            members = tuple(Member.of(member) for member in self.members)
            continuing(members)
            object.__setattr__(self, "members", members)

    @property
    def chosen(self) -> tuple[Member, ...]:
        """Members passed as a setting."""
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
        members = "\n".join(member.text() for member in self.chosen)
        texts["members"] = members or "chosen by dimension, budget and kind of problem"
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
    method : Method, str or path, optional
        Chooses the next member: a method, its name or a TOML file; by default
        :func:`leader_method`.
    settings, members, step, constrained, noisy, residuals
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
    keeps_inside: ClassVar[bool] = True
    handles: ClassVar[tuple[str, ...]] = (
        "constraints", "integrality", "categories", "noise", "outliers",
    )  # fmt: skip
    state_names: ClassVar[tuple[str, ...]] = (
        "_by_table", "_horizon", "_chosen", "_worst", "_first_values", "_last_gain", "_reference",
        "_finishing", "_finished", "_latest", "_turns",
    )  # fmt: skip

    batch_names: ClassVar[tuple[str, ...]] = ("_chosen",)
    settings_class: ClassVar[type[OptimizerSettings]] = PortfolioSettings
    selects: ClassVar[bool] = True
    always_selects: ClassVar[bool] = True
    settings: PortfolioSettings

    def _choose_settings(
        self, settings: object, method: object, changes: Mapping[str, object]
    ) -> tuple[PortfolioSettings, Method | None]:
        if isinstance(method, str | os.PathLike):
            method = catalogue.method(method)
        common, checked_method = super()._choose_settings(settings, method, changes)
        chosen = cast(PortfolioSettings, common)
        self.constrained, self._by_table = chosen.constrained, chosen.members is None
        self._horizon = self.budget  # the number of points that the members plan with
        self._workers = 1  # points that are out at a time
        traits = {"noisy": chosen.noisy, "residuals": chosen.residuals}
        members = chosen.chosen or self._default_members(**traits)
        return dataclasses.replace(chosen, members=self._able(members)), checked_method

    def _default_members(
        self, *, noisy: bool, late: bool = False, residuals: bool = False
    ) -> tuple[Member, ...]:
        """Return the members of the table for this problem."""
        integers = self._integers()
        traits = Traits(
            noisy=noisy,
            late=late,
            residuals=residuals,
            constrained=self.constrained,
            integers=bool(integers.any()),
            categories=self._like_categories,
            discrete=2 * int(integers.sum()) >= self.dimension,
        )
        return default_members(self.dimension, self._horizon, traits)

    def _able(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """Return the members that handle the constraints and integers of the problem."""
        needed = ["constraints"] * self.constrained
        needed += ["integrality"] * bool(self._integers().any())
        return tuple(member for member in members if member.handles(needed))

    @property
    def _like_categories(self) -> bool:
        """True with categories, and where mixed-SQP would not do under constraints.

        It takes logarithms of integers for real numbers, and knows no conditions.
        """
        uneven = self.log_integers is not None or self.activity is not None
        return self.categories is not None or (self.constrained and uneven)

    def _integers(self) -> BoolArray:
        """Return which coordinates are integers, categories, or logarithms of integers."""
        chosen = np.zeros(self.dimension, bool)
        if self.integers is not None:
            chosen[self.integers] = True
        return chosen if self.log_integers is None else chosen | self.log_integers

    def _start(self) -> None:
        self.noise.strong = self.settings.noisy
        self._names = tuple(member.name for member in self.settings.chosen)
        self._seat(self.settings.chosen, [self._built(member) for member in self.settings.chosen])
        self._begin()

    def _begin(self) -> None:
        """Reset what the portfolio knows about values, as before the first batch."""
        self._worst = -np.inf  # the largest value seen
        self._reference = np.inf  # the best value at the last significant improvement ...
        self._last_gain = 0  # ... and the evaluations then
        self._latest = np.zeros((0, self.dimension))  # points
        if self.history is not None:
            self.history = History(self.operators)

    def _built(self, member: Member, x0: FloatArray | None = None) -> Optimizer:
        """Return the optimizer of a member."""
        optimizer = member.configuration.build(
            self.box, seed=int(self.rng.integers(2**62)), budget=self._horizon,
            x0=self.x0 if x0 is None else x0, history=False, integrality=self.integrality,
        )  # fmt: skip
        optimizer.expect(self._workers)
        return optimizer

    def _seat(self, members: tuple[Member, ...], optimizers: list[Optimizer]) -> None:
        """Let these members take turns from here on."""
        self.members, self.optimizers = members, optimizers
        new = tuple(member.name for member in members if member.name not in self._names)
        self._names += new
        if new and self.history is not None:
            self.history.add_operators(new)
        self._turns = Turns(
            self.members, self.optimizers, self.method, dimension=self.dimension,
            budget=self._horizon, rng=self.rng, step=self.settings.step,
        )  # fmt: skip
        self._turns.feasible = not self.constrained
        self.method = self._turns.method
        self._chosen = self._turns.next()
        self._finisher = next((k for k, m in enumerate(self.members) if m.finish), None)
        self._finishing = self._finished = False
        self._batches_out = [0] * len(self.members)  # being evaluated, by member
        self._first_values = [np.inf] * len(members)  # median of each member's first batch

    def expect_noise(self, level: float, spread: float) -> None:
        """Record how noisy the values are; once they are noisy, switch to members that suit noise.

        Members that were chosen by the table give way to those of :data:`LATE_NOISE_KINDS`, which
        go on near the best point, or of :data:`NOISY_KINDS` if noise is noticed right at the start;
        under constraints, of :data:`CONSTRAINED_NOISY_KINDS`.
        Of members that the user chose, those that handle noise remain, if there are any.
        """
        was_noisy = self.noise.strong
        super().expect_noise(level, spread)
        becomes_noisy = self.noise.strong and not was_noisy
        if becomes_noisy and self.method == self._turns.default_method:
            self.method = None  # the default for the members that remain
        if becomes_noisy and self._by_table and not self._like_categories:
            self._seat_noisy()
        elif becomes_noisy:
            suited = [k for k, member in enumerate(self.members) if member.handles(["noise"])]
            if any(not self.members[k].once for k in suited):
                members = tuple(dataclasses.replace(self.members[k], finish=0.0) for k in suited)
                self._seat(members, [self.optimizers[k] for k in suited])
        for optimizer in self.optimizers:
            optimizer.expect_noise(level, spread)

    def start_over(self, x: FloatArray, value: float) -> None:
        """Restart the search, from a point unless the search has only just begun.

        Members plan with the points that the budget leaves now. The history so far is dropped,
        because its values are.
        """
        if self.budget is not None:
            self._horizon = self.spending.horizon(self.budget, self.evaluations)
        if self.method == self._turns.default_method:
            self.method = None
        members = self.members
        if self._by_table:
            residuals = self.settings.residuals
            members = self._able(
                self._default_members(noisy=self.noise.strong, residuals=residuals)
            )
        start = x[None] if self.evaluations > _BEGINNING * self.dimension else None
        self._seat(members, [self._built(member, start) for member in members])
        self._begin()
        self.incumbent = dataclasses.replace(self.incumbent, x=x, value=value)
        self.settled = []
        self.restarts = 0

    def _seat_noisy(self) -> None:
        """Continue with members for noise, near the best point unless the search has just begun."""
        late = self.best_x is not None and self.evaluations > _BEGINNING * self.dimension
        members = self._able(self._default_members(noisy=True, late=late))
        start = self.best_x[None] if self.best_x is not None and late else None
        self._seat(members, [self._built(member, start) for member in members])
        if late:
            for optimizer in self.optimizers:
                optimizer.start_near(self._latest)

    @property
    def operators(self) -> tuple[str, ...]:
        """Names of all members, including those replaced when values became noisy."""
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
        all_shares = np.zeros(len(self._names))
        all_shares[[self._names.index(member.name) for member in self.members]] = shares
        return all_shares

    @property
    def candidates(self) -> FloatArray:
        """First candidate of each member, that of the active member first, then all others."""
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
        if self.noise.strong and not self.constrained:
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
        member.spending.recalled = self.spending.recalled
        member.wanted = None if self.wanted is None else max(1, self.wanted - self._reserved)
        return member.ask()

    def _begin_or_end_finish(self) -> None:
        """Begin or end the finish from the best point of the other members, when it is time."""
        if self._finisher is None or self.budget is None or self._finished:
            return
        finisher = cast(Finisher, self.optimizers[self._finisher])
        if self._finishing:
            self._finished = finisher.converged
            self._finishing = not self._finished
            return
        finish = self.members[self._finisher].finish * self.dimension
        left = self.spending.horizon(self.budget, self.evaluations) - self.evaluations
        if left > finish or not self._turns.introduced:
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

    def _count(
        self, points: FloatArray, values: ArrayLike, violations: ArrayLike | None
    ) -> Feedback:
        if violations is not None and not all(m.handles(["constraints"]) for m in self.members):
            raise InvalidFeedback(
                "some members of this portfolio cannot handle constraints; build it with "
                "constrained=True. Nothing was changed"
            )
        return super()._count(points, values, violations)

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        k, shares = self._chosen, None if self.history is None else self.probabilities
        self._latest = np.concatenate([self._latest, points])[-_LATEST * self.dimension :]
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
                with np.errstate(over="ignore"):  # values may be huge
                    self._first_values[self._chosen] = float(np.median(finite))
        best = self.best_fitness if self._turns.feasible else self.best_violation
        least = max(self._tolerance(best), self.atol + self.tol * abs(best), self.noise.level)
        if self._reference - best > least:
            self._reference, self._last_gain = best, self.evaluations

    @property
    def converged(self) -> bool:
        """True if further search is unlikely to pay.

        That is so once

        - independent starts of one member have confirmed the best value, or
        - two members that continue have ended a run at it, or
        - the introduction is over, and two members have found that value independently, or
        - the introduction is over, and there was no significant improvement for a long time.

        An improvement is significant if it exceeds 1e-10 of the range of values, and
        atol + tol·|best|. The range is what a member has gained since its first batch. The smallest
        range of all members counts, so that a few huge values have no effect.
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
        # Points: values that are known are not evaluated again.
        idle = count(self.evaluations - self._last_gain, "point")
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
        self._workers = workers
        for optimizer in self.optimizers:
            optimizer.expect(workers)

    def foresee(self) -> FloatArray | None:  # noqa: D102
        k = self._turns.preferred
        if self._finishing and self._finisher is not None:
            k = self._finisher
        return self.optimizers[k].foresee() if self._batches_out[k] else None

    def _busy(self) -> list[int]:
        """Return the members that cannot propose before they are told the values of a batch."""
        return [k for k, n in enumerate(self._batches_out) if n and not self.optimizers[k].overlaps]

    @property
    def overlaps(self) -> bool:  # noqa: D102 (see Optimizer)
        spare = self.wanted is None or self.wanted > self._reserved
        return spare and any(k not in self._busy() for k in self._turns.continuing)

    @property
    def _reserved(self) -> int:
        """Workers kept free for the next batch of a local search that goes on as well as expected.

        If there are few, others would occupy them when its present batch is complete. Many workers
        become free soon enough. With gradients, its batches are single points.
        """
        k = self._turns.preferred
        few = self._workers < _FEW_WORKERS * self.dimension and not self.told_gradients
        waits = self._batches_out[k] and self.optimizers[k].steady and not self._turns.introduced
        return self.dimension if few and waits else 0

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
        state["seats"] = [member.to_dict() for member in self.members]
        state["starts"] = [optimizer.x0 for optimizer in self.optimizers]
        return state

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` of a portfolio with the same settings returned."""
        members = tuple(Member.of(member) for member in state["seats"])
        self._horizon = state["_horizon"]
        # Members may have been replaced because of noise, or restarted from a point.
        pairs = zip(members, state["starts"], strict=True)
        self._seat(members, [self._built(member, start) for member, start in pairs])
        super().restore(state)
        for optimizer, saved in zip(self.optimizers, state["members"], strict=True):
            optimizer.restore(saved)
