"""Sequential quadratic programming over real and integer coordinates."""

from typing import ClassVar, NamedTuple

import numpy as np

from uaos.arrays import BoolArray, FloatArray
from uaos.optimizers.base.details import Details, constraint_values
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.quadratic import PenaltyProgram
from uaos.optimizers.registration import register
from uaos.optimizers.restarting import RestartingSearch, RestartingSettings
from uaos.optimizers.sqp import SQP, LocalModel
from uaos.problems.space import Box
from uaos.selection import bibliography as bib
from uaos.statefile import SavedState, State, copied

# Penalty weight of violations in a quadratic program, in units of the gradient.
_WEIGHT = 1e6
# Violations below this count as none.
_MET = 1e-6
# The integers of the next search: how many are compared by the model, and how many searches in a
# row may fail before a run ends.
_COMPARED, _FAILURES = 40, 4
# While integers may change by more than one, a search ends after this many batches.
_COARSE_BATCHES = 4
# A failed search divides the largest change of an integer by this.
_SHRINK = 3.0
# The number of latest integer combinations that are remembered, and not searched again.
_REMEMBERED = 2_000


class _Base(NamedTuple):
    """Best point of a run, and the local models there over all coordinates."""

    x: FloatArray
    f: float
    violation: float
    model: LocalModel
    complete: bool  # whether the search has converged


@register
class MixedSQP(RestartingSearch):
    """Sequential quadratic programming over real numbers, and over integers by the same models.

    With the integers fixed, :class:`uaos.SQP` searches the real numbers. From where it ends, each
    integer is changed by one in both directions. The differences extend the models of function and
    constraints to the integers. A quadratic program over all coordinates says how the integers
    should change; they are rounded, the program is solved again for the real numbers, and the next
    search starts there. Changes of integers are limited. Each search that does not improve lowers
    the limit; then neighbors are searched, those with the best predictions first.
    The function is never called at fractional values of an integer. Categories count as integers.

    Parameters
    ----------
    bounds, seed, budget, target, x0, history, integrality
        As for every optimizer (:class:`~uaos.Optimizer`). Runs start from the
        points of `x0` in turn; without them, the first starts from the center of the box and the
        others from uniform random points.
    settings, restarts
        See :class:`~uaos.optimizers.restarting.RestartingSettings`.

    References
    ----------
    After the idea of Exler, O. & Schittkowski, K. (2007), "A trust region SQP algorithm for
    mixed-integer nonlinear programming", Optimization Letters 1: no relaxation of integers.

    Examples
    --------
    >>> import uaos
    >>> bowl = lambda x: (x[0] - 2.6) ** 2 + (x[1] - 0.3) ** 2
    >>> result = uaos.minimize(
    ...     bowl, [(-50, 50)] * 2, method="mixed-SQP", integrality=[True, False], budget=100
    ... )
    >>> result.x.round(4).tolist()
    [3.0, 0.3]
    """

    name: ClassVar[str] = "mixed-SQP"
    settings_class: ClassVar[type[OptimizerSettings]] = RestartingSettings
    reference: ClassVar[str] = bib.NOCEDAL_2006
    handles: ClassVar[tuple[str, ...]] = ("constraints", "integrality")
    state_names: ClassVar[tuple[str, ...]] = (
        "_searched", "_limit", "_failures", "_neighbors",
    )  # fmt: skip

    settings: RestartingSettings

    def _start(self) -> None:
        kinds = np.zeros(self.dimension, np.int64) if self.integrality is None else self.integrality
        self._is_integer: BoolArray = kinds > 0
        self._real: BoolArray = ~self._is_integer
        low, high = self.region.widest()
        self._least = np.where(self._is_integer, np.ceil(low), low)
        self._most = np.where(self._is_integer, np.floor(high), high)
        self._units = np.where(self._is_integer, 1.0, self.scale)
        self._searched = np.zeros((0, int(self._is_integer.sum())))
        super()._start()

    @property
    def epsilon(self) -> float:
        """Infinity: the value is needed everywhere."""
        return np.inf

    @property
    def confirmed(self) -> bool:
        """True if a better optimum than that of several runs is unlikely."""
        return self._optima.known

    # A run

    def _begin_run(self) -> None:
        self._base: _Base | None = None
        self._limit = max(
            1.0, 0.5 * float((self._most - self._least)[self._is_integer].max(initial=1.0))
        )
        self._failures = 0
        self._neighbors = np.zeros((0, self.dimension))
        self._search_from(self._x)

    def _search_from(self, x: FloatArray) -> None:
        """Search the real numbers from a point, with its integers fixed."""
        self._x = self._snapped(x)
        self._phase = "search"
        self._inner = self._new_search(self._x[self._real])

    def _new_search(self, start: FloatArray) -> SQP | None:
        """Return a search of the real numbers, None if there are none."""
        if not self._real.any():
            return None
        bounds = np.column_stack([self.low, self.high])[self._real]
        box = Box(bounds, scale=self.scale[self._real], outside_allowed=self.outside_allowed)
        inner = SQP(box, x0=start, seed=0, history=False, restarts=False)
        if self._base is not None and self._base.violation == 0:
            # The value to beat: the inner run gives up if it is too far behind.
            inner.take_known(
                start[None], [self._base.f], [0.0] if self.incumbent.constrained else None
            )
        return inner

    def _snapped(self, x: FloatArray) -> FloatArray:
        """Return a point of the box with integers rounded."""
        return np.clip(np.where(self._is_integer, np.rint(x), x), self._least, self._most) + 0.0

    def _next_points(self) -> FloatArray:
        if self._phase == "probe":
            return self._neighbors
        if self._inner is None:
            return self._x[None]
        asked = self._inner.ask()
        points = np.tile(self._x, (len(asked), 1))
        points[:, self._real] = asked
        return points

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        with np.errstate(all="ignore"):  # of failures and huge values; programs of those fail
            if self._phase == "probe":
                self._learn_neighbors(points, values)
            else:
                self._learn_search(values)
        self.record(restarts=self.restarts)

    def _learn_search(self, values: FloatArray) -> None:
        if self._inner is None:
            constraints, equalities = constraint_values(1, self.violations, self.details)
            c = constraints[0]
            equal = np.arange(len(c)) >= len(c) - equalities
            none = np.zeros(0)
            self._finish_search(
                LocalModel(none, float(values[0]), c, none, np.zeros((len(c), 0)),
                           np.zeros((0, 0)), equal),
                complete=True,
            )  # fmt: skip
            return
        if len(values) < self._inner.batch_size:
            return  # cut to the budget
        details = self.details
        if details is not None:
            details = Details(details.inequalities, details.equalities)
        self._inner.tell(values, self.violations, details)
        coarse = self._limit > 1 and self._inner.iterations >= _COARSE_BATCHES
        if self._inner.converged or coarse:
            self._finish_search(self._inner.model, complete=self._inner.converged)

    def _finish_search(self, model: LocalModel, complete: bool) -> None:
        """Compare the end of a search with the best so far, and go on from the better one."""
        x, base = self._x.copy(), self._base
        x[self._real] = model.x
        if complete:
            self._searched = np.vstack([self._searched, x[self._is_integer]])[-_REMEMBERED:]
        violation = 0.0 if model.violation <= _MET else model.violation
        if base is None or (violation, model.f) < (base.violation, base.f):
            self._base = _Base(x, model.f, violation, model, complete)
            self._failures = 0
            self._probe()
            return
        if np.array_equal(x[self._is_integer], base.x[self._is_integer]):
            self._base = base._replace(complete=True)
        self._failures += 1
        self._limit = max(1.0, self._limit / _SHRINK)
        self._search_next()

    def _probe(self) -> None:
        """Go on with the neighbors of the best point, for the models of the integers."""
        assert self._base is not None
        x = self._base.x
        steps = np.diag(self._is_integer.astype(float))[self._is_integer]
        points = np.vstack([x + steps, x - steps])
        inside = ((points >= self._least) & (points <= self._most)).all(axis=1)
        if not inside.any():
            self._end_run()
            return
        self._neighbors, self._phase = points[inside], "probe"

    def _learn_neighbors(self, points: FloatArray, values: FloatArray) -> None:
        assert self._base is not None
        if len(values) < len(self._neighbors):
            return  # cut to the budget
        constraints, _ = constraint_values(len(values), self.violations, self.details)
        model = self._base.model
        self._base = self._base._replace(model=self._extended(model, points, values, constraints))
        self._search_next()

    def _extended(
        self, model: LocalModel, points: FloatArray, values: FloatArray, constraints: FloatArray
    ) -> LocalModel:
        """Return the models over all coordinates, by differences where integers are changed."""
        assert self._base is not None
        D, M = self.dimension, len(model.c)
        gradient, jacobian, hessian = np.zeros(D), np.zeros((M, D)), np.zeros((D, D))
        gradient[self._real], jacobian[:, self._real] = model.gradient, model.jacobian
        hessian[np.ix_(self._real, self._real)] = model.hessian
        base = np.concatenate([[model.f], model.c])
        columns = np.column_stack([values, constraints])
        for j in np.flatnonzero(self._is_integer):
            moved = points[:, j] - self._base.x[j]
            slopes = [(columns[k] - base) / moved[k] for k in np.flatnonzero(moved)]
            slope = np.mean(slopes, axis=0) if slopes else np.zeros(1 + M)
            bend = slopes[0][0] - slopes[1][0] if len(slopes) == 2 else 0.0
            slope = np.where(np.isfinite(slope), slope, 0.0)
            gradient[j], jacobian[:, j] = slope[0], slope[1:]
            hessian[j, j] = bend if np.isfinite(bend) else 0.0
        # Make the program convex enough: the curvature of an integer is at least its slope divided
        # by its range.
        least = np.abs(gradient) / np.maximum((self._most - self._least), 1.0)
        diagonal = np.where(self._is_integer, np.maximum(np.diagonal(hessian), least), 0.0)
        hessian[self._is_integer, self._is_integer] = diagonal[self._is_integer]
        return model._replace(x=self._base.x, gradient=gradient, jacobian=jacobian, hessian=hessian)

    # The next integers

    def _search_next(self) -> None:
        """Search with the integers of which the model expects most; end the run if none is left."""
        assert self._base is not None
        candidates = self._candidates()
        if self._limit == 1 and not self._base.complete:
            self._search_from(self._base.x)
            return
        best = None
        for integers in candidates:
            predicted = self._predicted(integers)
            if predicted is not None and (best is None or predicted[:2] < best[:2]):
                best = predicted
        if best is None or self._failures > _FAILURES + int(self._is_integer.sum()):
            self._end_run()
            return
        self._search_from(best[2])

    def _candidates(self) -> list[FloatArray]:
        """Return integers that have not been searched: what the program says, and neighbors."""
        assert self._base is not None
        center = self._base.x[self._is_integer]
        low, high = self._least[self._is_integer], self._most[self._is_integer]
        change = self._solve(np.maximum(low - center, -self._limit),
                             np.minimum(high - center, self._limit))  # fmt: skip
        eye = np.eye(len(center))
        near = [*eye, *-eye]
        steps = near
        if len(near) < _COMPARED:  # with more integers, pairs would not be compared
            pairs = [a + b for k, a in enumerate(near) for b in near[:k] if (a + b).any()]
            steps = [*near, *(pairs[k] for k in self.rng.permutation(len(pairs)))]
        if change is not None:
            target = np.rint(change[self._is_integer])
            if not target.any():
                self._limit = 1.0
            steps = [target, *(target + step for step in near), *steps]
        seen = {row.tobytes() for row in (*self._searched, center + 0.0)}
        candidates: list[FloatArray] = []
        for step in steps:
            integers = np.clip(center + step, low, high) + 0.0
            if integers.tobytes() not in seen:
                seen.add(integers.tobytes())
                candidates.append(integers)
        return candidates[:_COMPARED]

    def _predicted(self, integers: FloatArray) -> tuple[float, float, FloatArray] | None:
        """Return violation and value that the model expects with these integers, and where."""
        assert self._base is not None
        model = self._base.model
        change = integers - self._base.x[self._is_integer]
        d = self._solve(change, change)
        if d is None:
            return None
        value = model.f + float(model.gradient @ d + 0.5 * d @ model.hessian @ d)
        violated = model.violated(model.c + model.jacobian @ d).max(initial=0.0)
        return (violated if violated > _MET else 0.0), value, self._base.x + d

    def _solve(self, least: FloatArray, most: FloatArray) -> FloatArray | None:
        """Return the best step by the model if integers change within limits; None if it fails."""
        assert self._base is not None
        model, units = self._base.model, self._units
        low, high = self._least - self._base.x, self._most - self._base.x
        low[self._is_integer], high[self._is_integer] = least, most
        jacobian = model.jacobian * units
        norms = np.linalg.norm(jacobian, axis=1)
        norms = np.where(norms > 0, norms, 1.0)
        hessian = model.hessian * np.outer(units, units)
        hessian = hessian + 1e-9 * max(float(np.trace(hessian)), 1e-12) * np.eye(len(units))
        held = high <= low
        free = ~held
        step = np.where(held, low, 0.0)
        offset = model.c + model.jacobian @ step
        if not free.any():
            return step
        gradient = (model.gradient + model.hessian @ step) * units
        solution = PenaltyProgram(
            hessian[np.ix_(free, free)], gradient[free], jacobian[:, free] / norms[:, None],
            offset / norms, model.equal, _WEIGHT, (low / units)[free], (high / units)[free],
        ).solve()  # fmt: skip
        if solution is None:
            return None
        step[free] = solution[0] * units[free]
        return step

    def _end_run(self) -> None:
        """End the run at the best point of its searches."""
        assert self._base is not None
        self._x, self._f = self._base.x, self._base.f
        self._ended = True
        if self._independent and self._base.violation == 0 and np.isfinite(self._f):
            self._end_settled()
            self._optima.add(self._f, self._x)

    # Exact resume

    def state(self) -> State:
        """Return everything that changes during the run, the inner search included."""
        inner = None if self._inner is None else self._inner.state()
        base = (
            None
            if self._base is None
            else [*self._base[:3], list(self._base.model), self._base.complete]
        )
        return {**super().state(), "inner": inner, "base": base}

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` of a search with the same settings returned."""
        super().restore(state)
        self._base = None
        if state["base"] is not None:
            x, f, violation, model, complete = copied(state["base"])
            self._base = _Base(x, f, violation, LocalModel(*model), complete)
        self._inner = self._new_search(self._x[self._real])
        if self._inner is not None:
            self._inner.restore(state["inner"])
