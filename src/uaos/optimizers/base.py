"""Base class of optimizers: `ask` for points, `tell` their values, save and resume exactly.

A new optimizer is one class. It says which points to evaluate (`_propose`) and what it learns from
their values (`_learn`), and names the attributes of its state. The base class counts evaluations,
keeps the best point, cuts the last batch to the budget, records the history and saves the run.
:func:`uaos.register` makes its name available wherever a method is named.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from uaos import statefile
from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.checks import (
    evaluation_count,
    feedback_numbers,
    positive_integer,
    real_target,
    seeded_generator,
    true_or_false,
)
from uaos.errors import (
    InvalidFeedback,
    InvalidFile,
    InvalidParameter,
    UaosError,
    shortened,
)
from uaos.history import History
from uaos.jit import njit
from uaos.optimizers import feasibility, registry
from uaos.optimizers.details import Details
from uaos.optimizers.noise import Noise
from uaos.optimizers.outstanding import Batch, Outstanding
from uaos.optimizers.region import Region, check_start
from uaos.optimizers.settings import OptimizerSettings
from uaos.optimizers.spending import Spending
from uaos.problems.activity import Activity
from uaos.problems.space import (
    CATEGORY,
    BoundsLike,
    Box,
    bounds_around,
    box,
    integer_box,
    integer_coordinates,
    start_points,
)
from uaos.problems.variables import Space
from uaos.result import Ending, Result, RunView
from uaos.selection.method import Method
from uaos.statefile import SavedState, State
from uaos.text import count

#: What stands for an infinite bound: the width of the box is still finite.
LARGEST = float(np.finfo(float).max) / 2

#: Version of the file that :meth:`Optimizer.save` writes.
FORMAT = 8

# The most points that can be asked for at once.
_MOST_OUT = 10**6


class RunFinished(UaosError):
    """Error: points were asked for after the budget was spent."""


class Optimizer(ABC):
    """Black-box minimizer that proposes batches of points and is told their values.

    Parameters
    ----------
    bounds : array_like, shape (D, 2), :class:`uaos.Box`, :class:`uaos.Space` or a mapping
        The box to search, as pairs (low, high), or named variables: `ask` returns an array all the
        same, and :meth:`uaos.Space.decode` makes dicts of it. No point outside is proposed, unless
        a :class:`uaos.Box` allows it. Bounds may be infinite, or None, if there is an `x0`.
    settings : OptimizerSettings or mapping, optional
        The settings of the optimizer, an instance of its `settings_class`.
    seed : int or numpy.random.Generator, optional
        Makes the run repeatable.
    budget : int, optional
        The largest number of evaluations; exact, the last batch is cut to fit.
    target : float, optional
        The run is done once a value at or below it has been told.
    x0 : array_like, optional
        One point or several, (m, D), to start from.
    history : bool
        Whether to record the course of the run.
    integrality : array_like of bool, optional
        Which coordinates are integers; 2 marks those without an order, the numbers of categories.
        `ask` returns rounded points; the optimizer itself works with the unrounded ones. To an
        optimizer that does not handle "categories" these are integers.
    **changes
        Settings by name, which replace those of `settings`; and `method`, a :class:`uaos.Method`,
        in an optimizer that selects among operators or members.

    Attributes
    ----------
    outside_allowed : bool
        Whether points may leave the box.
    region : Region
        Where runs start: the box, or a part of it around `x0`.
    scale : ndarray, shape (D,)
        The length of a typical step in each coordinate: the width of the box, or less where it is
        infinite or far wider than `x0` is large.
    settings : OptimizerSettings
        The settings of the run.
    method : Method or None
        The method of the run, if it selects.
    evaluations : int
        Values told so far.
    iterations : int
        Batches told so far.
    best_x, best_fitness
        The best point so far and its value; None and inf before the first finite value. Under
        constraints, the least infeasible point and inf until there is a feasible one.
    best_violation : float
        The violation of the best point, 0 without constraints; inf if they failed at all points.
    restarts : int
        Fresh starts so far.
    history : History or None
        One row per batch with the columns of every history. A subclass that wants others puts its
        own :class:`History` here in `_start` and records to it in `_learn`.
    tol, atol : float
        Tolerances that `converged` may use; they can be set at any time.
    noise : Noise
        What is known of the noise of the values; see :meth:`expect_noise`.
    spending : Spending
        Evaluations that the search does not get, as points are evaluated again.

    Examples
    --------
    >>> import uaos
    >>> de = uaos.DifferentialEvolution([(-5, 5)] * 2, seed=1, budget=600)
    >>> while not de.done:
    ...     de.tell([float(x @ x) for x in de.ask()])
    >>> de.evaluations
    600
    """

    #: The optimizer's name in the catalogue.
    name: ClassVar[str]
    #: The publication it is described in.
    reference: ClassVar[str] = ""
    #: The attributes that change during a run, beside those of this class. Values are numbers,
    #: strings, None, arrays, or lists and dicts of these.
    state_names: ClassVar[tuple[str, ...]] = ()
    #: Features beside bounds that it supports: "constraints" (`violations` in `_learn`),
    #: "integrality", and "categories" (integers without an order).
    handles: ClassVar[tuple[str, ...]] = ()
    #: The class of its settings.
    settings_class: ClassVar[type[OptimizerSettings]] = OptimizerSettings
    #: Whether the catalogue lists it with its default settings.
    listed: ClassVar[bool] = True
    #: Whether it takes a method, which selects among its operators or members.
    selects: ClassVar[bool] = False
    #: Whether it selects without being given a method, too.
    always_selects: ClassVar[bool] = False
    #: The section of a configuration file with its settings; "optimizer" has the name, too.
    section: ClassVar[str] = "optimizer"
    #: Whether the points of `x0` are one batch, the first.
    starts_together: ClassVar[bool] = False
    #: Settings with which a run ends instead of restarting.
    single_run: ClassVar[Mapping[str, str]] = MappingProxyType({})
    #: The attributes that `_propose` leaves for `_learn`.
    batch_names: ClassVar[tuple[str, ...]] = ()

    # Whether the optimizer keeps inside the box by construction, or leaves it only where that is
    # allowed, as those of this package do. The points of others are checked by `ask`.
    _keeps_inside: ClassVar[bool] = True

    def __init_subclass__(cls, **further: object) -> None:
        super().__init_subclass__(**further)
        if Optimizer in cls.__bases__:
            cls._keeps_inside = cls.__module__.startswith("uaos.optimizers.")

    def __init__(
        self,
        bounds: BoundsLike | None,
        settings: OptimizerSettings | Mapping[str, object] | None = None,
        *,
        seed: int | np.random.Generator | None = None,
        budget: int | None = None,
        target: float | None = None,
        x0: ArrayLike | None = None,
        history: bool = True,
        integrality: ArrayLike | None = None,
        **changes: object,
    ) -> None:
        x0, scale = self._set_box(bounds, x0, integrality)
        self.seed, self.rng = seeded_generator(seed)
        self.budget = evaluation_count(budget)
        self.target = real_target(target)
        method = changes.pop("method", None)
        chosen, self.method = self._choose_settings(settings, method, changes)
        self.settings = chosen if self.outside_allowed else chosen.kept_inside()
        self.x0 = self._checked_starts(x0)
        self.region: Region = Region.around(self.low, self.high, self.x0, scale)
        self.history = History() if true_or_false(history, "history") else None
        self._plain_history = self.history  # recorded here unless a subclass has its own
        self._clear()
        self._start()

    settings: OptimizerSettings

    def _set_box(
        self, bounds: BoundsLike | None, x0: ArrayLike | None, integrality: ArrayLike | None
    ) -> tuple[ArrayLike | None, FloatArray | None]:
        """Set the box and the kinds of its coordinates; return x0 in numbers, and the scale."""
        if isinstance(bounds, Mapping | Space):
            space = bounds if isinstance(bounds, Space) else Space(bounds)
            bounds = Box(space.bounds, activity=space.activity)
            integrality, x0 = space.integrality, space.starts(x0)
        given = Box.of(bounds_around(bounds, x0))
        low, high = box(given)
        self.low: FloatArray = np.nan_to_num(low, posinf=LARGEST, neginf=-LARGEST)
        self.high: FloatArray = np.nan_to_num(high, posinf=LARGEST, neginf=-LARGEST)
        check_start(given.lb, given.ub, x0)
        self.outside_allowed = given.outside_allowed
        self.activity = given.activity  # of coordinates that count only with some of others
        self.dimension = len(self.low)
        self.integers: IntArray | None = None  # the indices of integer coordinates, if any
        self.categories: IntArray | None = None  # the indices of those without an order, if any
        if integrality is not None:
            self._make_integer(integrality)
        return x0, given.scale

    def _clear(self) -> None:
        """Set what changes during a run to what it is before the first batch."""
        self.tol, self.atol = 1e-15, 1e-16
        self.evaluations = 0
        self.iterations = 0
        self.restarts = 0
        self.best_x: FloatArray | None = None
        self.best_fitness = float("inf")
        self.best_violation = 0.0
        #: The two lowest values at which runs have converged to an optimum.
        self.settled: list[float] = []
        self.noise = Noise()
        self.spending = Spending()
        self._asked: FloatArray | None = None
        self.points_out = 0  # points of batches that were set aside
        self._outstanding: Outstanding | None = None
        self.wanted: int | None = None  # points that workers wait for; None: a whole batch
        self._constrained = False
        self._single_values: FloatArray | None = None  # told by `tell_one`, with the violations
        self._single_told: BoolArray | None = None
        #: Of the batch that `_learn` hears of: 0 where a point is feasible, inf where it failed.
        self.violations: FloatArray | None = None
        #: Of the same batch: constraints and gradients, as far as they are known.
        self.details: Details | None = None

    def _choose_settings(
        self, settings: object, method: object, changes: Mapping[str, object]
    ) -> tuple[OptimizerSettings, Method | None]:
        """Return the settings and the method of the run; box, budget and generator are set."""
        if method is not None and not self.selects:
            raise InvalidParameter(
                f"{self.name} takes no method: it does not select among operators",
                name="method", value=method,
            )  # fmt: skip
        if not (method is None or isinstance(method, Method)):
            raise InvalidParameter(
                f"method is {shortened(method)}; expected a uaos.Method or None",
                name="method", value=method,
            )  # fmt: skip
        return self.settings_class.of(settings).changed(changes), method

    def _checked_starts(self, x0: ArrayLike | None) -> FloatArray | None:
        """Return the points to start from, (m, D), or raise if they are invalid."""
        boundary = getattr(self.settings, "boundary", "enforced")
        return start_points(x0, self.low, self.high, boundary)

    def _make_integer(self, integrality: ArrayLike) -> None:
        """Widen the box of integer coordinates by half a unit, so that rounding is uniform."""
        kinds = integer_coordinates(integrality, self.dimension, CATEGORY)
        chosen = kinds > 0
        if not chosen.any():
            return
        if "integrality" not in self.handles:
            raise InvalidParameter(
                f"{self.name} searches real numbers only; for integers and categories use the "
                "default method, GP, a differential evolution or CMA-ES",
                name="integrality", value=integrality,
            )  # fmt: skip
        low, high = integer_box(self.low[chosen], self.high[chosen])
        self.low[chosen] = np.nextafter(low - 0.5, np.inf)
        self.high[chosen] = np.nextafter(high + 0.5, -np.inf)
        self.integers = np.flatnonzero(chosen)
        if (kinds == CATEGORY).any():
            self.categories = np.flatnonzero(kinds == CATEGORY)

    @property
    def integrality(self) -> IntArray | None:
        """Kinds of the coordinates, as given: 0 real, 1 integer, 2 category; None if all real."""
        if self.integers is None:
            return None
        kinds = np.zeros(self.dimension, np.int64)
        kinds[self.integers] = 1
        if self.categories is not None:
            kinds[self.categories] = CATEGORY
        return kinds

    def _rounded(self, points: FloatArray) -> FloatArray:
        """Return a copy of points with integer coordinates rounded."""
        points = points.copy()
        if self.integers is not None:
            points[..., self.integers] = np.rint(points[..., self.integers]) + 0.0  # no -0.0
        return points

    # For subclasses to define

    def _start(self) -> None:
        """Prepare the run: set what `_propose` and `_learn` need."""
        return

    @abstractmethod
    def _propose(self) -> FloatArray:
        """Return the points to evaluate next, (n, D) with n >= 1, inside the bounds."""

    @abstractmethod
    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        """Take in the values of the points of the last `_propose`; NaN is a failed evaluation.

        The last batch of a run may have been cut to the budget, so `points` can be shorter than
        what was proposed.
        """

    @classmethod
    def needs_method(cls, settings: OptimizerSettings) -> bool:
        """Return whether a run with these settings has to be given a method."""
        return False

    @property
    def converged(self) -> bool:
        """True if a restart is all that is left to do."""
        return False

    @property
    def wants_gradients(self) -> bool:
        """True if gradients at the points of the present batch would be of use."""
        return False

    @property
    def confirmed(self) -> bool:
        """True if independent starts have led to the best value."""
        return False

    @property
    def doubt(self) -> str:
        """Reason why convergence does not count as success; empty if it does.

        Convergence counts if it shows an optimum: a population of equal values, a point from which
        no direction leads down, or searches that agree.
        """
        return ""

    @property
    def convergence(self) -> float:
        """Closeness to convergence: above 1 once the run has converged."""
        return 2.0 if self.converged else 0.0

    @property
    def epsilon(self) -> float:
        """Violation up to which points count as feasible at present.

        Infinity means that the value of the function is needed at every point.
        """
        return 0.0

    @property
    def operators(self) -> tuple[str, ...]:
        """Names of the alternatives among which the run selects, if it does."""
        return ()

    @property
    def probabilities(self) -> FloatArray:
        """Current probabilities of the alternatives."""
        return np.zeros(0)

    @property
    def capacity(self) -> int | None:
        """Number of starting points that fit in the first batch; None if there is no limit."""
        return None

    @property
    def overlaps(self) -> bool:
        """True if it can propose another batch now, before the values of the last one are told."""
        return False

    @property
    def candidates(self) -> FloatArray:
        """Points that may be the best on average if values are noisy, (n, D), the first first."""
        return np.empty((0, self.dimension)) if self.best_x is None else self.best_x[None]

    @property
    def rivals(self) -> int:
        """Number of searches in this run; the first candidates are those of each."""
        return 1

    def credit(self, estimates: FloatArray) -> None:
        """Take in estimates of the first candidates, one of each search: means plus errors."""
        return

    def expect_noise(self, level: float, spread: float) -> None:
        """Take in how noisy the values are.

        Parameters
        ----------
        level : float
            The standard deviation of the values at one point.
        spread : float
            The interquartile range of the latest values of the search. Once `level` is more than a
            tenth of it, `noise.strong` is set for good.
        """
        self.noise.measured(level, spread)

    def start_over(self, x: FloatArray, value: float) -> None:
        """Forget all values so far, some of which are wrong, except that of a point.

        Optimizers that can do so list "outliers" in `handles`.
        """
        raise NotImplementedError

    def start_near(self, points: FloatArray) -> None:
        """Take in the latest points of the search that this one is to go on with, (n, D)."""
        return

    @property
    def view(self) -> RunView:
        """Present state of the run, as callbacks see it."""
        return RunView(self)

    @property
    def box(self) -> Box:
        """Box that is searched."""
        bounds = np.column_stack([self.low, self.high])
        scale = self.scale if self.region.narrowed.any() else None
        return Box(
            bounds, scale=scale, outside_allowed=self.outside_allowed, activity=self.activity
        )

    @property
    def scale(self) -> FloatArray:
        """Length of a typical step in each coordinate."""
        return self.region.scale

    # The loop

    def ask(self, n: int | None = None) -> FloatArray:
        """Return the points to evaluate next, shape (n, D); the same ones until :meth:`tell`.

        Parameters
        ----------
        n : int, optional
            How many points to evaluate beside those that are being evaluated; each call returns
            others. There are fewer, perhaps none, if the budget is spent or the optimizer must
            learn before it goes on. Values come back by ``tell(values, points=points)``, in any
            order. A run is driven either so or by whole batches.

        Raises
        ------
        RunFinished
            If the budget is spent.
        """
        if n is not None:
            most = _MOST_OUT if self.remaining is None else min(_MOST_OUT, self.remaining)
            n = min(positive_integer(n, "n"), most)
            return self._several_out(n).ask_points(n)
        if self._asked is None:
            remaining = self.remaining
            if remaining is not None:
                remaining -= self.points_out
            if remaining is not None and remaining <= 0:
                spent = count(self.evaluations, "evaluation")
                raise RunFinished(
                    f"the budget of {spent} is spent; read the result, or start with a larger "
                    "budget"
                )
            points = np.asarray(self._propose(), float)
            if points.ndim != 2 or not len(points) or points.shape[1] != self.dimension:
                raise InvalidFeedback(
                    f"{self.name} proposed an array of shape {points.shape}; expected "
                    f"(n, {self.dimension}), at least one point"
                )
            if not self._keeps_inside:
                self._check_inside(points)
            self._asked = points[:remaining]
        return self._rounded(self._asked)

    @property
    def remaining(self) -> int | None:
        """Points that the budget leaves to the search; None without a budget."""
        return None if self.budget is None else self.spending.left(self.budget, self.evaluations)

    @property
    def nfev(self) -> int:
        """All evaluations so far, with those that were repeated, without those that were known."""
        return self.spending.total(self.evaluations)

    def _check_inside(self, points: FloatArray) -> None:
        outside = np.argwhere(~((points >= self.low) & (points <= self.high)))  # or NaN
        if len(outside):
            i, j = outside[0].tolist()
            raise InvalidFeedback(
                f"{self.name} proposed {points[i, j]:g} for coordinate {j}; expected "
                f"{self.low[j]:g} to {self.high[j]:g}. Let _propose return points inside the "
                "bounds, for example np.clip(points, self.low, self.high)"
            )

    def tell(
        self,
        values: ArrayLike,
        violations: ArrayLike | None = None,
        details: Details | None = None,
        *,
        points: ArrayLike | None = None,
    ) -> None:
        """Take in one value for each point of :meth:`ask`; NaN and infinities are failures.

        Parameters
        ----------
        values : array_like of float
            The values.
        violations : array_like of float, optional
            Under constraints, by how much each point violates them, 0 if it is feasible. The value
            of an infeasible point may be NaN. A run gets them with every batch or with none.
        details : Details, optional
            The values of each constraint and the gradients, for optimizers that can use them.

        points : array_like, shape (n, D), optional
            The points, if they were asked for by ``ask(n)``.

        Raises
        ------
        InvalidFeedback
            If there is not one real number for each point. Nothing is changed then.
        """
        if points is not None:
            self._several_out(1).tell_points(points, values, violations)
            return
        batch = self._asked
        if batch is None:
            raise InvalidFeedback("tell() before ask(): call ask() and evaluate its points first")
        fitness, excess = self._check_and_count(batch, values, violations)
        self._take_in(batch, fitness, excess, details)

    def _take_in(
        self,
        points: FloatArray,
        values: FloatArray,
        violations: FloatArray | None,
        details: Details | None,
    ) -> None:
        """Learn from a batch whose values are checked and counted."""
        self._asked = self._single_values = self._single_told = None
        self.violations, self.details = violations, details
        self.iterations += 1
        self._learn(points, values)
        # A subclass with a history of its own records that itself.
        if self.history is not None and self.history is self._plain_history:
            self.record()

    @property
    def batch_size(self) -> int:
        """Number of points of the last :meth:`ask` whose values have not been told."""
        return 0 if self._asked is None else len(self._asked)

    # Several batches at a time: see `outstanding`

    def _several_out(self, workers: int) -> Outstanding:
        if self._outstanding is None:
            self._outstanding = Outstanding(self, workers)
        return self._outstanding

    def expect(self, workers: int) -> None:
        """Prepare for this many points at a time, before the first is asked for."""
        return

    def set_aside(self) -> Batch:
        """Put the batch of :meth:`ask` aside, so that another one can be asked for."""
        assert self._asked is not None
        notes = {name: getattr(self, name) for name in self.batch_names}
        batch = Batch(self._asked, self.restarts, notes)
        self._asked = None
        self.points_out += len(batch.points)
        return batch

    def take_up(self, batch: Batch) -> bool:
        """Continue with a batch that was set aside, whose values come next.

        Return False if the run has restarted since, so that it cannot learn from them.
        """
        if batch.restarts != self.restarts:
            return False
        self._asked = batch.points
        for name, value in batch.notes.items():
            setattr(self, name, value)
        return True

    def count_one(self, point: FloatArray, value: float, violation: float | None) -> None:
        """Count the evaluation of a point of a batch that was set aside."""
        self.points_out -= 1
        self.count_earlier(point[None], [value], None if violation is None else [violation])

    def learn_batch(
        self,
        batch: Batch,
        values: FloatArray,
        violations: FloatArray | None,
        details: Details | None = None,
    ) -> None:
        """Learn from a batch that was set aside, and whose points have been counted."""
        fitness, excess = values.copy(), None
        mark_failures(fitness)
        if violations is not None:
            failed = np.isnan(violations) | (np.isnan(fitness) & (violations == 0))
            excess = np.where(failed, np.inf, violations)
        if self.take_up(batch):
            self._take_in(batch.points, fitness, excess, details)

    def count_earlier(
        self, points: FloatArray, values: ArrayLike, violations: ArrayLike | None = None
    ) -> None:
        """Take in points that were evaluated before the run: they count, and one may be the best.

        The search does not learn from them; for that, give the best ones as `x0`.

        Parameters
        ----------
        points : ndarray, shape (n, D)
            The points.
        values, violations : array_like of float
            As in :meth:`tell`.
        """
        self._check_and_count(points, values, violations)

    def take_known(
        self, points: FloatArray, values: ArrayLike, violations: ArrayLike | None = None
    ) -> None:
        """Take in points whose values are known: one may be the best, but they do not count.

        Parameters
        ----------
        points, values, violations
            As in :meth:`count_earlier`.
        """
        before = self.evaluations
        self._check_and_count(points, values, violations)
        self.evaluations = before

    def _check_and_count(
        self, points: FloatArray, values: ArrayLike, violations: ArrayLike | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Check values and violations, count the evaluations and keep the best point."""
        checked = feedback_numbers(values, "values is")
        if checked.shape != (len(points),):
            raise InvalidFeedback(
                f"values has shape {checked.shape}; expected {(len(points),)}, one value for each "
                "point of ask(). Nothing was changed"
            )
        excess = None
        if self._constrained or violations is not None:
            excess = self._checked_violations(violations, len(points))
        best = mark_failures(checked)
        self.evaluations += len(checked)
        if excess is not None:
            self._note_best(points, checked, excess)
        elif best >= 0 and checked[best] < self.best_fitness:
            self.best_fitness = float(checked[best])
            self.best_x = self._rounded(points[best])
        return checked, excess

    def _checked_violations(self, violations: ArrayLike | None, n: int) -> FloatArray | None:
        if self.evaluations and self._constrained != (violations is not None):
            expected = "with" if self._constrained else "without"
            raise InvalidFeedback(f"this run is told {expected} violations. Nothing was changed")
        if violations is None:
            return None
        if "constraints" not in self.handles:
            raise InvalidFeedback(f"{self.name} takes no constraints. Nothing was changed")
        excess = feedback_numbers(violations, "violations is")
        if excess.shape != (n,) or (excess < 0).any():
            raise InvalidFeedback(
                f"violations has shape {excess.shape}; expected {(n,)}, a number >= 0 for each "
                "point of ask(). Nothing was changed"
            )
        if not self._constrained and self.best_x is None:
            self.best_violation = np.inf
        self._constrained = True
        excess[np.isnan(excess)] = np.inf
        return excess

    def _note_best(self, points: FloatArray, values: FloatArray, violations: FloatArray) -> None:
        """Keep the best point under constraints; a feasible one without a value has failed."""
        violations[np.isnan(values) & (violations == 0)] = np.inf
        k = int(feasibility.order(values, violations)[0])
        v = float(violations[k])
        f = float(values[k]) if v == 0 else np.inf
        if v < self.best_violation or (v == self.best_violation and f < self.best_fitness):
            self.best_x, self.best_fitness = self._rounded(points[k]), f
            self.best_violation = v

    def _told_gradient(self) -> FloatArray | None:
        """Return the gradient at the first point of the batch, if it was told and is finite."""
        if self.details is None or self.details.gradients is None:
            return None
        gradient: FloatArray = self.details.gradients[0]
        return gradient if np.isfinite(gradient).all() else None

    def _settle(self, value: float) -> None:
        """Note that a run has converged to an optimum with this value."""
        self.settled = sorted([*self.settled, value])[:2]

    def record(self, **columns: float) -> None:
        """Add a row to the history, if there is one, with a value for each further column."""
        if self.history is not None:
            self.history.record(
                evaluations=self.evaluations, best=self.best_fitness, iteration=self.iterations,
                **columns,
            )  # fmt: skip

    def tell_one(self, index: int, value: float, violation: float | None = None) -> None:
        """Take in the value of one point of :meth:`ask`, in any order.

        Values wait until the batch is complete, so that a run does not depend on their order.

        Parameters
        ----------
        index : int
            The row of the point in what `ask` returned.
        value : float
            Its value; NaN if the evaluation failed.
        violation : float, optional
            Under constraints, by how much the point violates them.
        """
        points = self._asked
        if points is None:
            raise InvalidFeedback(
                "tell_one() before ask(): call ask() and evaluate its points first"
            )
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise InvalidFeedback(
                f"index is {shortened(index)}; expected an integer. Nothing was changed"
            )
        if not 0 <= index < len(points):
            raise InvalidFeedback(
                f"index is {index}; expected 0 to {len(points) - 1}, a row of what ask() returned. "
                "Nothing was changed"
            )
        number = feedback_numbers(value, "value is")
        if number.shape != ():
            raise InvalidFeedback(
                f"value has shape {number.shape}; expected a number. Nothing was changed"
            )
        if self._single_values is None or self._single_told is None:
            self._single_values = np.full((2, len(points)), np.nan)
            self._single_told = np.zeros(len(points), np.bool_)
        if self._single_told[index]:
            raise InvalidFeedback(
                f"point {index} has been told already: {self._single_values[0, index]}. "
                "Nothing was changed"
            )
        self._single_values[0, index] = number
        if violation is not None:
            self._single_values[1, index] = feedback_numbers(violation, "violation is")
        self._single_told[index] = True
        if self._single_told.all():
            values, violations = self._single_values
            self.tell(values, None if np.isnan(violations).all() else violations)

    @property
    def on_target(self) -> bool:
        """True if the target has been reached: under noise, by an estimate."""
        if self.target is None or self.best_x is None or self.best_violation > 0:
            return False
        return (self.noise.estimate if self.noise.known else self.best_fitness) <= self.target

    @property
    def done(self) -> bool:
        """True once the budget is spent or the target reached.

        Without either it stays false; end the run yourself, for example once it has `converged`.
        """
        return self.on_target or self.exhausted

    @property
    def exhausted(self) -> bool:
        """True once the search has spent its part of the budget."""
        remaining = self.remaining
        return remaining is not None and remaining <= 0

    @property
    def result(self) -> Result:
        """Best point so far, as a :class:`Result`."""
        ending = self._ending()
        if self.best_violation > 0:
            ending = ending.at_infeasible_point()
        return Result(
            x=None if self.best_x is None else self.best_x.copy(),
            fun=self.best_fitness if self.best_x is not None else float("nan"),
            nfev=self.nfev, nit=self.iterations, success=ending.success,
            status=int(ending.status), message=ending.message, seed=self.seed,
            history=self.history,
            constr_violation=self.best_violation if self._constrained else None,
        )  # fmt: skip

    def _ending(self) -> Ending:
        """Return why the run ended, as far as the optimizer can tell."""
        if self.evaluations and self.best_x is None:
            return Ending.of_failures(self.evaluations)
        if self.target is not None and self.on_target:
            return Ending.of_target(self.target)
        if self.budget is not None and self.exhausted:
            return Ending.of_budget(self.budget)
        return Ending.converged(self.doubt) if self.done else Ending.unfinished()

    def __repr__(self) -> str:
        spent = count(self.evaluations, "evaluation")
        return f"<{type(self).__name__}: {spent}, best {self.best_fitness:g}>"

    # Exact resume

    _BASE_STATE: ClassVar = (
        "evaluations", "iterations", "restarts", "best_x", "best_fitness", "best_violation",
        "settled", "tol", "atol", "_asked", "_constrained", "_single_values", "_single_told",
    )  # fmt: skip

    def state(self) -> State:
        """Return everything that changes during the run, as plain values and copies of arrays."""
        names = (*self._BASE_STATE, *self.state_names)
        state = {name: copied(getattr(self, name)) for name in names}
        state["noise"], state["spending"] = asdict(self.noise), asdict(self.spending)
        state["history"] = None if self.history is None else self.history.state()
        state["rng"] = self.rng.bit_generator.state
        return state

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` of an optimizer with the same settings returned."""
        for name in (*self._BASE_STATE, *self.state_names):
            setattr(self, name, copied(state[name]))
        self.noise, self.spending = Noise(**state["noise"]), Spending(**state["spending"])
        plain = self.history is self._plain_history
        history = state["history"]
        self.history = None if history is None else History.from_state(history)
        self._plain_history = self.history if plain else None
        self.rng.bit_generator.state = state["rng"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a file, from which :meth:`load` continues it bit for bit."""
        content = {
            "optimizer": self.name,
            "settings": self.settings.to_dict(),
            "method": None if self.method is None else self.method.to_dict(),
            "bounds": np.column_stack([self.low, self.high]),
            "scale": self.box.scale,
            "outside_allowed": self.outside_allowed,
            "activity": None if self.activity is None else self.activity.lists(),
            "budget": self.budget,
            "target": self.target,
            "x0": self.x0,
            "integrality": self.integrality,
            "seed": self.seed,
            "generator": type(self.rng.bit_generator).__name__,
            "state": self.state(),
        }
        statefile.write(path, "run", FORMAT, content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return a run that continues where the saved one stood.

        `Optimizer.load` reads a run of any registered optimizer, `load` of a subclass only its own.
        """
        return cls._load(path, {})

    @classmethod
    def _load(cls, path: str | os.PathLike[str], custom: Mapping[str, object]) -> Self:
        content = statefile.read(path, "run", FORMAT)
        with statefile.rebuilding(path, except_for=(registry.MissingOperator,)):
            name = content["optimizer"]
            kind = cls if getattr(cls, "name", None) == name else registry.optimizer_class(name)
            if not issubclass(kind, cls):
                raise InvalidFile(f"holds a run of {name}, where {cls.name} is expected")
            method, alternatives = content["method"], content["activity"]
            loaded = kind(
                Box(
                    content["bounds"], scale=content["scale"],
                    outside_allowed=content["outside_allowed"],
                    activity=None if alternatives is None else Activity(alternatives),
                ),
                kind.settings_class.from_dict(content["settings"], custom),
                method=None if method is None else Method.from_dict(method),
                budget=content["budget"], target=content["target"], x0=content["x0"],
                seed=statefile.new_generator(content["generator"]),
                history=content["state"]["history"] is not None,
                integrality=content["integrality"],
            )  # fmt: skip
            loaded.seed = None if content["seed"] is None else seeded_generator(content["seed"])[0]
            statefile.check_kinds(content["state"], loaded.state())
            loaded.restore(content["state"])
        return loaded


@njit
def mark_failures(values: FloatArray) -> int:
    """Make every value that is not finite NaN; return the index of the lowest other, or -1."""
    best = -1
    for i in range(len(values)):
        if not np.isfinite(values[i]):
            values[i] = np.nan
        elif best < 0 or values[i] < values[best]:
            best = i
    return best


def copied(value: object) -> object:
    """Return a copy of numbers, strings, arrays, and lists and dicts of these."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: copied(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [copied(v) for v in value]
    return value
