"""Base class of optimizers: `ask` for points, `tell` their values, save and resume exactly.

A new optimizer is one class. It says which points to evaluate (`_propose`) and what it learns from
their values (`_learn`), and names the attributes of its state; see :class:`Algorithm`. The base
class counts evaluations, keeps the best point, cuts the last batch to the budget, records the
history and saves the run. :func:`uaos.register` makes its name available wherever a method is
named.
"""

import os
from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import FloatArray, IntArray
from uaos.checks import (
    evaluation_count,
    positive_integer,
    real_target,
    seeded_generator,
    true_or_false,
)
from uaos.errors import InvalidFeedback, InvalidParameter, UaosError, shortened
from uaos.history import History
from uaos.optimizers.base.algorithm import Algorithm
from uaos.optimizers.base.details import Details
from uaos.optimizers.base.feedback import Feedback, Replies
from uaos.optimizers.base.incumbent import Incumbent
from uaos.optimizers.base.noise import Noise
from uaos.optimizers.base.outstanding import Batch, Outstanding
from uaos.optimizers.base.region import Region, check_start
from uaos.optimizers.base.saving import load_run, save_run
from uaos.optimizers.base.search_box import SearchBox, without_names
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.base.spending import Spending
from uaos.problems.space import BoundsLike, Box, bounds_around, start_points
from uaos.result import Ending, Result, RunView
from uaos.selection.method import Method
from uaos.text import count

# The most points that can be asked for at once.
_MOST_OUT = 10**6


class RunFinished(UaosError):
    """Error: points were asked for after the budget was spent."""


class Optimizer(Algorithm):
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
    low, high : ndarray, shape (D,)
        The box; half a unit wider than the range of an integer on either side.
    outside_allowed : bool
        Whether points may leave the box.
    region : Region
        Where runs start: the box, or a part of it around `x0`.
    settings : OptimizerSettings
        The settings of the run.
    method : Method or None
        The method of the run, if it selects.
    evaluations : int
        Values told so far.
    iterations : int
        Batches told so far.
    restarts : int
        Fresh starts so far.
    history : History or None
        One row per batch with the columns of every history. A subclass that wants others puts its
        own :class:`History` here in `_start` and records to it in `_learn`.
    tol, atol : float
        Tolerances that `converged` may use; they can be set at any time.
    noise : Noise
        What is known about the noise of the values; see :meth:`expect_noise`.
    spending : Spending
        Evaluations that the search does not get, because points are evaluated again.

    Examples
    --------
    >>> import uaos
    >>> de = uaos.DifferentialEvolution([(-5, 5)] * 2, seed=1, budget=600)
    >>> while not de.done:
    ...     de.tell([float(x @ x) for x in de.ask()])
    >>> de.evaluations
    600
    """

    state_names: ClassVar[tuple[str, ...]] = (
        "evaluations", "iterations", "restarts", "settled", "tol", "atol", "incumbent", "noise",
        "spending", "history", "_asked", "_replies", "rng",
    )  # fmt: skip

    settings: OptimizerSettings

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
        bounds, x0, integrality = without_names(bounds, x0, integrality)
        declared = Box.of(bounds_around(bounds, x0))
        self._set_box(SearchBox.of(declared, integrality))
        check_start(declared.lb, declared.ub, x0)
        self.seed, self.rng = seeded_generator(seed)
        self.budget = evaluation_count(budget)
        self.target = real_target(target)
        method = changes.pop("method", None)
        chosen, self.method = self._choose_settings(settings, method, changes)
        self.settings = chosen if self.outside_allowed else chosen.kept_inside()
        self.x0 = self._checked_starts(x0)
        self.region: Region = Region.around(self.low, self.high, self.x0, declared.scale)
        self.history = History() if true_or_false(history, "history") else None
        self._plain_history = self.history  # recorded here unless a subclass has its own
        self._clear()
        self._start()

    def _set_box(self, box: SearchBox) -> None:
        """Set what is searched."""
        if box.integers is not None and "integrality" not in self.handles:
            raise InvalidParameter(
                f"{self.name} searches real numbers only; for integers and categories use the "
                "default method, GP, differential evolution or CMA-ES",
                name="integrality", value=box.integrality,
            )  # fmt: skip
        self._box = box
        self.low, self.high, self.dimension = box.low, box.high, len(box.low)
        self.integers, self.categories = box.integers, box.categories
        self.outside_allowed, self.activity = box.outside_allowed, box.activity
        self.log_integers = box.log_integers

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
                f"method is {shortened(method)}; expected a uaos.Method, for example "
                'uaos.method("mix"), or None',
                name="method", value=method,
            )  # fmt: skip
        return self.settings_class.of(settings).changed(changes), method

    def _checked_starts(self, x0: ArrayLike | None) -> FloatArray | None:
        """Return the points to start from, (m, D), or raise if they are invalid."""
        boundary = getattr(self.settings, "boundary", "enforced")
        return start_points(x0, self.low, self.high, boundary)

    def _clear(self) -> None:
        """Reset everything that changes during a run."""
        self.tol, self.atol = 1e-15, 1e-16
        self.evaluations = 0
        self.iterations = 0
        self.restarts = 0
        self.incumbent = Incumbent()
        #: The two lowest values at which runs have converged to an optimum.
        self.settled: list[float] = []
        self.noise = Noise()
        self.spending = Spending()
        self._asked: FloatArray | None = None
        self._replies = Replies.to(0)  # of `tell_one`
        self._outstanding: Outstanding | None = None
        self.points_out = 0  # points of batches that were set aside
        self.told_gradients = False  # whether gradients come with the values of these points
        self.wanted: int | None = None  # points that workers wait for; None: a whole batch
        #: Violations of the batch passed to `_learn`: 0 where feasible, inf where they failed.
        self.violations: FloatArray | None = None
        #: Constraints and gradients of the same batch, as far as they are known.
        self.details: Details | None = None

    # The loop

    def ask(self, n: int | None = None) -> FloatArray:
        """Return the points to evaluate next, shape (n, D); the same ones until :meth:`tell`.

        Parameters
        ----------
        n : int, optional
            The number of points, in addition to those being evaluated; each call returns new ones.
            There are fewer, perhaps none, if the budget is spent or the optimizer must learn before
            it goes on. Tell their values by ``tell(values, points=points)``, in any order. Use
            either this or whole batches throughout a run.

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
            self._asked = self._checked_points(self._propose())[:remaining]
        return self.rounded(self._asked)

    def _checked_points(self, proposed: FloatArray) -> FloatArray:
        """Return what `_propose` returned, or raise if these are not points of the box."""
        points = np.asarray(proposed, float)
        if points.ndim != 2 or not len(points) or points.shape[1] != self.dimension:
            raise InvalidFeedback(
                f"{self.name} proposed an array of shape {points.shape}; expected "
                f"(n, {self.dimension}), at least one point"
            )
        if not self.keeps_inside:
            self._box.check(points, self.name)
        return points

    def rounded(self, points: FloatArray) -> FloatArray:
        """Return a copy of points with integer coordinates rounded."""
        return self._box.rounded(points)

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
        feedback = self._count(batch, values, violations)
        self._take_in(batch, feedback, details)

    def _count(
        self, points: FloatArray, values: ArrayLike, violations: ArrayLike | None
    ) -> Feedback:
        """Check values and violations, count the evaluations and keep the best point."""
        constrained = self.incumbent.constrained
        if self.evaluations and constrained != (violations is not None):
            expected = "with" if constrained else "without"
            raise InvalidFeedback(
                f"this run was told {expected} violations so far; continue {expected} them. "
                "Nothing was changed"
            )
        if violations is not None and "constraints" not in self.handles:
            raise InvalidFeedback(f"{self.name} cannot handle constraints. Nothing was changed")
        feedback = Feedback.checked(values, violations, len(points))
        self.evaluations += len(points)
        self.incumbent.update(points, feedback, self._box)
        return feedback

    def _take_in(self, points: FloatArray, feedback: Feedback, details: Details | None) -> None:
        """Learn from a batch whose evaluations have been counted."""
        self._asked, self._replies = None, Replies.to(0)
        self.violations, self.details = feedback.violations, details
        self.iterations += 1
        self._learn(points, feedback.values)
        # A subclass with a history of its own records that itself.
        if self.history is not None and self.history is self._plain_history:
            self.record()

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
        if self._asked is None:
            raise InvalidFeedback(
                "tell_one() before ask(): call ask() and evaluate its points first"
            )
        if not len(self._replies.told):
            self._replies = Replies.to(len(self._asked))
        replies = self._replies
        replies.add(index, value, violation)
        if replies.complete:
            unknown = np.isnan(replies.violations).all()
            self.tell(replies.values, None if unknown else replies.violations)

    def record(self, **columns: float) -> None:
        """Add a row to the history, if there is one, with a value for each further column."""
        if self.history is not None:
            self.history.record(
                evaluations=self.evaluations, best=self.best_fitness, iteration=self.iterations,
                **columns,
            )  # fmt: skip

    # Progress

    @property
    def best_x(self) -> FloatArray | None:
        """Best point so far; None before the first finite value.

        Under constraints, the least infeasible point until there is a feasible one.
        """
        return self.incumbent.x

    @property
    def best_fitness(self) -> float:
        """Value of the best point; infinite until there is a feasible one."""
        return self.incumbent.value

    @property
    def best_violation(self) -> float:
        """Violation of the best point, 0 without constraints; inf if they failed everywhere."""
        return self.incumbent.violation

    @property
    def batch_size(self) -> int:
        """Number of points of the last :meth:`ask` whose values have not been told."""
        return 0 if self._asked is None else len(self._asked)

    @property
    def nfev(self) -> int:
        """All evaluations so far, including repeated ones, but not known values."""
        return self.spending.total(self.evaluations)

    @property
    def remaining(self) -> int | None:
        """Points that the budget leaves to the search; None without a budget."""
        return None if self.budget is None else self.spending.left(self.budget, self.evaluations)

    @property
    def exhausted(self) -> bool:
        """True once the search has spent its part of the budget."""
        remaining = self.remaining
        return remaining is not None and remaining <= 0

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
    def view(self) -> RunView:
        """Present state of the run, as callbacks see it."""
        return RunView(self)

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
            constr_violation=self.best_violation if self.incumbent.constrained else None,
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

    # The box

    @property
    def box(self) -> Box:
        """Box that is searched."""
        bounds = np.column_stack([self.low, self.high])
        scale = self.scale if self.region.narrowed.any() else None
        return Box(
            bounds, scale=scale, outside_allowed=self.outside_allowed, activity=self.activity,
            log_integers=self.log_integers,
        )  # fmt: skip

    @property
    def scale(self) -> FloatArray:
        """Length of a typical step in each coordinate.

        It is the width of the box, or less where it is infinite or far wider than `x0` is large.
        """
        return self.region.scale

    @property
    def integrality(self) -> IntArray | None:
        """Kinds of the coordinates, as given: 0 real, 1 integer, 2 category; None if all real."""
        return self._box.integrality

    # Other knowledge about the function

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
        self._count(points, values, violations)

    def take_known(
        self, points: FloatArray, values: ArrayLike, violations: ArrayLike | None = None
    ) -> None:
        """Take in points whose values are known: one may be the best, but they do not count.

        Parameters
        ----------
        points, values, violations
            As in :meth:`count_earlier`.
        """
        self._count(points, values, violations)
        self.evaluations -= len(points)

    @property
    def candidates(self) -> FloatArray:
        """Points that may be best on average if values are noisy, (n, D), most promising first."""
        return np.empty((0, self.dimension)) if self.best_x is None else self.best_x[None]

    def expect_noise(self, level: float, spread: float) -> None:
        """Record how noisy the values are.

        Parameters
        ----------
        level : float
            The standard deviation of the values at one point.
        spread : float
            The interquartile range of the latest values of the search. Once `level` is more than a
            tenth of it, `noise.strong` is set for good.
        """
        self.noise.measured(level, spread)

    def _settle(self, value: float) -> None:
        """Note that a run has converged to an optimum with this value."""
        self.settled = sorted([*self.settled, value])[:2]

    # Several batches at a time: see `outstanding`

    def _several_out(self, workers: int) -> Outstanding:
        if self._outstanding is None:
            self._outstanding = Outstanding(self, workers)
        return self._outstanding

    def set_aside(self) -> Batch:
        """Put the batch of :meth:`ask` aside, so that another one can be asked for."""
        assert self._asked is not None
        notes = {name: getattr(self, name) for name in self.batch_names}
        batch = Batch(self._asked, self.restarts, notes)
        self._asked = None
        self.points_out += len(batch.points)
        return batch

    def count_one(self, point: FloatArray, value: float, violation: float | None) -> None:
        """Count the evaluation of a point of a batch that was set aside."""
        self.points_out -= 1
        self.count_earlier(point[None], [value], None if violation is None else [violation])

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

    def learn_batch(self, batch: Batch, feedback: Feedback, details: Details | None) -> None:
        """Learn from a batch that was set aside, and whose points have been counted."""
        if self.take_up(batch):
            self._take_in(batch.points, feedback, details)

    # Exact resume

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a file, from which :meth:`load` continues it bit for bit."""
        save_run(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return a run that continues where the saved one stood.

        `Optimizer.load` reads a run of any registered optimizer, `load` of a subclass only its own.
        """
        return load_run(cls, path)
