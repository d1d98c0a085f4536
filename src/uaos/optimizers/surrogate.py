"""Search by a model: evaluate where a Gaussian process expects the largest improvement.

For expensive functions of real, integer and categorical coordinates. Values worse than the median
are compressed first, so that outliers and infeasible points do no harm. The expected
improvement is maximized by local search: change one category, one integer or a few real numbers.

Under constraints, objective and constraints have a model each, and the expected improvement over
the best feasible point is multiplied by the probability that all constraints hold.

The model does not propose all points. A pool of moves, which start from the best points so far,
proposes some from the beginning, in case the model is wrong, and most later on, when the model has
found what it can. All share the points that were evaluated.

Jones, D. R., Schonlau, M. & Welch, W. J. (1998), "Efficient global optimization of expensive
black-box functions", Journal of Global Optimization 13.
Schonlau, M., Welch, W. J. & Jones, D. R. (1998), "Global versus local search in constrained
optimization of computer models", IMS Lecture Notes 34.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.extras import one_blas_thread
from uaos.history import History
from uaos.optimizers.base import Optimizer, feasibility
from uaos.optimizers.base.details import constraint_values
from uaos.optimizers.base.outstanding import Batch
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.gaussian_process import (
    GaussianProcess,
    condition,
    fitted_hyper,
    log_improvement,
    log_probability,
)
from uaos.optimizers.mixed import Coordinates
from uaos.optimizers.moves import MOVES
from uaos.optimizers.registration import register
from uaos.params import integer, real
from uaos.selection import bibliography as bib
from uaos.selection.selector import Selector
from uaos.statefile import Stateful

# The most points of a model, and of a fit of its lengths.
_MOST, _MOST_FITTED = 400, 200
# A fit is renewed when the number of points has grown by this factor.
_GROWTH = 1.1
# Values above are scaled down.
_LARGEST = 1e300
# The share of points that the model proposes at first, and later; the evaluations per dimension
# after which the later share applies, without and with real coordinates.
_SHARE, _LATE_SHARE, _LATE, _LATE_REAL = 0.85, 0.1, 10, 40
# The number of best points that moves start from, and the most attempts to find a new point.
_BEST, _ATTEMPTS = 10, 12
# A method learns after this many points by moves.
_SEGMENT = 10
# The search for the largest expected improvement: random points, points around the best, starts of
# local searches, their rounds, and neighbors per round.
_RANDOM, _AROUND, _STARTS, _ROUNDS, _NEIGHBORS = 200, 100, 6, 12, 24


#: The proposers of points: the design before the first model, the model, and the pool of moves.
PROPOSERS = ("start", "model", *MOVES)


class Constrained(NamedTuple):
    """What the models see of points under constraints.

    Attributes
    ----------
    objective : ndarray, shape (n,)
        The objective alone, standardized; NaN where it is unknown.
    feasible : ndarray of bool, shape (n,)
        Which points are feasible.
    constraints : ndarray, shape (n, M)
        Constraints, standardized; NaN where they are unknown.
    limits : ndarray, shape (M,)
        The largest feasible value of each constraint.
    """

    objective: FloatArray
    feasible: BoolArray
    constraints: FloatArray
    limits: FloatArray

    def with_pending(self, n: int) -> "Constrained":
        """Return these and n points that are not evaluated yet, which are assumed to be middling.

        Their constraints are unknown.
        """
        known = self.objective[np.isfinite(self.objective)]
        middle = np.median(known) if len(known) else np.nan
        unknown = np.full((n, len(self.limits)), np.nan)
        return Constrained(
            np.append(self.objective, np.full(n, middle)),
            np.append(self.feasible, np.zeros(n, bool)),
            np.vstack([self.constraints, unknown]), self.limits,
        )  # fmt: skip


class Proposer(Stateful):
    """Proposes points where a model expects the largest improvement, or by a move.

    The hyper-parameters of the model are fitted again when the number of points has grown by a
    tenth.

    Parameters
    ----------
    selector : Selector, optional
        Chooses among the moves; without one, all have the same probability.

    Attributes
    ----------
    hyper : dict of str to ndarray
        Hyper-parameters of the last fits, of the objective and of each constraint.
    fitted_to : int
        The number of points of the last fit.
    """

    state_names: ClassVar[tuple[str, ...]] = ("selector", "hyper", "fitted_to")

    def __init__(self, selector: Selector | None = None) -> None:
        self.selector = selector
        self.hyper: dict[str, FloatArray] = {}
        self.fitted_to = 0

    def __call__(
        self,
        coordinates: Coordinates,
        points: FloatArray,
        scores: FloatArray,
        rng: np.random.Generator,
        constrained: Constrained | None = None,
    ) -> tuple[FloatArray, str]:
        """Return a point that has not been evaluated, if there is one, and what proposed it.

        Parameters
        ----------
        coordinates : Coordinates
            The box.
        points : ndarray, shape (n, d)
            Points that were evaluated, rounded.
        scores : ndarray, shape (n,)
            Their values as the model sees them, see :func:`model_values`.
        rng : numpy.random.Generator
            Draws the candidates.
        constrained : Constrained, optional
            Under constraints: objective and constraints apart, see :func:`constrained_values`.
        """
        evaluated_keys = {row.tobytes() for row in points}
        if rng.random() >= model_share(coordinates, len(points)):
            best_points = points[np.argsort(scores, kind="stable")[:_BEST]]
            for _ in range(_ATTEMPTS):
                name, move = list(MOVES.items())[self._choose(rng)]
                point = move(coordinates, best_points, rng)
                if point.tobytes() not in evaluated_keys:
                    return point, name
        if not self.fitted_to <= len(points) < _GROWTH * self.fitted_to:
            self.fitted_to = 0
        with one_blas_thread():
            gain = self._gain(coordinates, points, scores, constrained)
            self.fitted_to = self.fitted_to or len(points)
            leaders = points[np.argsort(scores, kind="stable")]

            def new_gain(candidates: FloatArray) -> FloatArray:
                gains = gain(coordinates.scaled(candidates))
                gains[[row.tobytes() in evaluated_keys for row in candidates]] = -np.inf
                return gains

            return _maximized(coordinates, new_gain, leaders, rng), "model"

    def _gain(
        self,
        coordinates: Coordinates,
        points: FloatArray,
        scores: FloatArray,
        constrained: Constrained | None,
    ) -> Callable[[FloatArray], FloatArray]:
        """Return the logarithm of the expected improvement as a function of scaled points."""
        scaled, order = coordinates.scaled(points), np.argsort(scores, kind="stable")
        if constrained is None:
            model = self._model("objective", coordinates, scaled, scores, order)
            best = float(model.predict(scaled[order[:1]])[0][0])
            return lambda at: log_improvement(*model.predict(at), best)
        improving: GaussianProcess | None = None
        best = 0.0
        if constrained.feasible.any():
            improving = self._model("objective", coordinates, scaled, constrained.objective, order)
            first = order[constrained.feasible[order]][:1]
            best = float(improving.predict(scaled[first])[0][0])
        limited = []
        for j, limit in enumerate(constrained.limits.tolist()):
            column = constrained.constraints[:, j]
            if (column > limit).any():  # otherwise it has never been violated
                name = f"constraint {j}"
                limited.append((self._model(name, coordinates, scaled, column, order), limit))

        def gain(at: FloatArray) -> FloatArray:
            gains = np.zeros(len(at))
            if improving is not None:
                gains += log_improvement(*improving.predict(at), best)
            for bounded, limit in limited:
                gains += log_probability(*bounded.predict(at), limit)
            return gains

        return gain

    def _model(
        self,
        name: str,
        coordinates: Coordinates,
        scaled: FloatArray,
        values: FloatArray,
        order: IntArray,
    ) -> GaussianProcess:
        """Return a model of values, NaN where unknown; `order` has the best points first.

        Its hyper-parameters are fitted if the number of points has grown.
        """
        order = order[np.isfinite(values[order])]
        start = self.hyper.get(name)
        if start is not None and len(start) != scaled.shape[1] + 1:
            start = None
        if start is None or not self.fitted_to:
            few = _best_and_others(order, _MOST_FITTED)
            start = fitted_hyper(scaled[few], values[few], coordinates.categories, start)
            self.hyper[name] = start
        rows = _best_and_others(order, _MOST)
        return condition(scaled[rows], values[rows], coordinates.categories, start)

    def _choose(self, rng: np.random.Generator) -> int:
        """Return the number of a move."""
        if self.selector is None:
            return int(rng.integers(len(MOVES)))
        return int(self.selector.select(1)[0])


def model_share(coordinates: Coordinates, evaluated: int) -> float:
    """Return the share of points that the model proposes after a number of evaluations."""
    late = _LATE_REAL if (coordinates.kinds == 0).any() else _LATE
    return _SHARE if evaluated < late * len(coordinates.low) else _LATE_SHARE


def _best_and_others(order: IntArray, most: int) -> IntArray:
    """Return the first half of `most` rows, and others evenly over the rest of an order."""
    if len(order) <= most:
        return order
    half = most // 2
    others = np.linspace(half, len(order) - 1, most - half).astype(np.int64)
    return np.concatenate([order[:half], order[others]])


def _maximized(
    coordinates: Coordinates,
    gain: Callable[[FloatArray], FloatArray],
    points: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the point of the largest gain that a local search finds.

    `points` are sorted: the best comes first.
    """
    leaders = points[rng.integers(min(10, len(points)), size=_AROUND)]
    around = coordinates.neighbors(leaders, rng)
    candidates = np.vstack([coordinates.uniform(_RANDOM, rng), around])
    gains = gain(candidates)
    top = np.argsort(-gains, kind="stable")[:_STARTS]
    current, current_gains = candidates[top], gains[top]
    for _ in range(_ROUNDS):
        near = coordinates.neighbors(np.repeat(current, _NEIGHBORS, axis=0), rng)
        near_gains = gain(near).reshape(len(current), _NEIGHBORS)
        chosen = np.argmax(near_gains, axis=1)
        better = near_gains[np.arange(len(current)), chosen] > current_gains
        moved = near.reshape(len(current), _NEIGHBORS, -1)[np.arange(len(current)), chosen]
        current = np.where(better[:, None], moved, current)
        current_gains = np.maximum(current_gains, near_gains.max(axis=1))
    best_point: FloatArray = current[int(np.argmax(current_gains))]
    return best_point


def model_values(values: FloatArray, violations: FloatArray | None = None) -> FloatArray:
    """Return the values as the model sees them: standardized, with large values compressed.

    Values better than the median are kept, worse ones grow like a logarithm. Infeasible points rank
    after the worst feasible one, and failures are as bad as the worst.
    """
    excess = np.where(np.isnan(values), np.inf, 0.0) if violations is None else violations
    merits = _scaled_down(feasibility.merits(values, excess))
    finite = merits[np.isfinite(merits)]
    if len(finite) == 0:
        return np.zeros(len(values))
    merits = np.where(np.isnan(merits), finite.max(), merits)
    middle = float(np.median(merits))
    unit = middle - float(merits.min()) or 1.0
    apart = (merits - middle) / unit
    scores = np.where(apart < 0, apart, np.log1p(np.maximum(apart, 0.0)))
    return np.asarray((scores - scores.mean()) / (scores.std() or 1.0))


def _scaled_down(values: FloatArray) -> FloatArray:
    """Return values in units in which their differences do not overflow."""
    largest = np.abs(values).max(initial=0.0, where=np.isfinite(values))
    return values / (largest / _LARGEST) if largest > _LARGEST else values


def constrained_values(
    values: FloatArray, violations: FloatArray, constraints: FloatArray
) -> Constrained:
    """Return values and constraints as the models see them, each standardized by itself.

    Values far from the feasible ones are compressed, and so are large constraints of either sign. A
    failure, which has an infinite violation, is as bad as the worst.

    Parameters
    ----------
    values : ndarray, shape (n,)
        The values; NaN where unknown.
    violations : ndarray, shape (n,)
        By how much each point violates the constraints, 0 if it is feasible; NaN if unknown.
    constraints : ndarray, shape (n, M)
        The constraints, feasible where they are at most 0; NaN where unknown.
    """
    values = _scaled_down(values)
    feasible = (violations == 0) & np.isfinite(values)
    objective = np.full(len(values), np.nan)
    if feasible.any():
        middle = float(np.median(values[feasible]))
        apart = (values - middle) / (middle - float(values[feasible].min()) or 1.0)
        objective = np.where(apart < -1, -1 - np.log1p(np.maximum(-1 - apart, 0)), apart)
        objective = np.where(apart > 0, np.log1p(np.maximum(apart, 0)), objective)
        objective[np.isinf(violations)] = np.nanmax(objective)  # failed
        objective = (objective - np.nanmean(objective)) / (np.nanstd(objective) or 1.0)
    columns, limits = np.full(constraints.shape, np.nan), np.zeros(constraints.shape[1])
    for j, column in enumerate(constraints.T.copy()):
        known = np.isfinite(column)
        if known.any():
            if not (column[known] < 0).any():  # a violation: how feasible a point is, is unknown
                column[column == 0] = -np.median(column[column > 0]) if (column > 0).any() else -1.0
            unit = float(np.median(np.abs(column[known]))) or 1.0
            scores = np.sign(column) * np.log1p(np.abs(column) / unit)
            mean, deviation = float(scores[known].mean()), float(scores[known].std()) or 1.0
            columns[known, j] = (scores[known] - mean) / deviation
            limits[j] = -mean / deviation
    return Constrained(objective, feasible, columns, limits)


@dataclass(frozen=True)
class SurrogateSettings(OptimizerSettings):
    """Settings of the search by a model. Passed to :class:`uaos.SurrogateSearch`.

    Parameters
    ----------
    initial : float
        The points evaluated before the first model, in multiples of the dimension.
    batch : int
        Points per batch. The second and later ones of a batch assume the predicted values of those
        before them.
    """

    title: ClassVar[str] = "search by a model"

    initial: float = real(
        0.5, 5, default=1.5, allowed=(0, 1e3), doc="initial points, per dimension"
    )
    batch: int = integer(1, 16, default=1, allowed=(1, 1000), doc="points per batch")


@register
class SurrogateSearch(Optimizer):
    """Search by a Gaussian process for expensive functions.

    Parameters
    ----------
    bounds, seed, budget, target, x0, history, integrality
        As for every :class:`uaos.Optimizer`.
    settings, initial, batch
        See :class:`SurrogateSettings`.
    method : Method, optional
        Chooses among the moves; without one, all have the same probability. It learns after every
        ten points that moves have made. The parent's value is the worst of the ten best.

    Notes
    -----
    A proposal by the model takes milliseconds, or tens of milliseconds after hundreds of
    evaluations or with hundreds of variables. The model has at most 400 points: half of them are
    the best so far.

    The model proposes 85 % of the points up to 10·D evaluations (40·D if there are real numbers),
    and 10 % later. The others are made by a pool of moves. The history counts the points of each
    proposer.

    Examples
    --------
    >>> import uaos
    >>> run = uaos.SurrogateSearch([(-5, 5)] * 2, seed=1, budget=30)
    >>> while not run.done:
    ...     run.tell([float(x @ x) for x in run.ask()])
    >>> run.best_fitness < 0.01
    True
    """

    name: ClassVar[str] = "GP"
    keeps_inside: ClassVar[bool] = True
    reference: ClassVar[str] = bib.JONES_1998
    handles: ClassVar[tuple[str, ...]] = ("constraints", "integrality", "categories", "noise")
    state_names: ClassVar[tuple[str, ...]] = (
        "_points", "_values", "_excess", "_constraints", "_proposer", "_made_by", "_moved",
    )  # fmt: skip
    batch_names: ClassVar[tuple[str, ...]] = ("_made_by",)
    settings_class: ClassVar[type[OptimizerSettings]] = SurrogateSettings
    selects: ClassVar[bool] = True
    settings: SurrogateSettings

    def _start(self) -> None:
        kinds = np.zeros(self.dimension, np.int64) if self.integrality is None else self.integrality
        self._coordinates = Coordinates(
            *self.region.widest(), kinds, self.activity, self.log_integers
        )
        self._points = np.empty((0, self.dimension))
        self._values = np.empty(0)
        self._excess: FloatArray | None = None
        self._constraints = np.empty((0, 0))
        self._proposer = Proposer(self._new_selector())
        self._pending = np.empty((0, self.dimension))  # points that are out
        self._made_by: list[int] = []  # proposers of the points of the batch
        self._moved: list[list[float]] = []  # moves, parents' values and values, not yet learned
        if self.history is not None:
            self.history = History(PROPOSERS)

    def _new_selector(self) -> Selector | None:
        """Return the selector of moves; None if they are chosen with equal probability."""
        if self.method is None:
            return None
        return self.method.selector(len(MOVES), seed=self.rng, budget=self.budget)

    @property
    def epsilon(self) -> float:
        """Infinity: the objective's model needs the value everywhere."""
        return np.inf

    def _initial(self) -> int:
        """Return the number of points before the first model."""
        share = np.inf if self.budget is None else self.budget / 4
        return max(2, int(min(max(5, self.settings.initial * self.dimension), share)))

    def _propose(self) -> FloatArray:
        missing = self._initial() - len(self._points)
        if missing > 0:
            points = self._coordinates.spread(missing, self.rng)
            if self.x0 is not None and not len(self._points):
                points = np.vstack([self._coordinates.rounded(self.x0), points])
            self._made_by = [0] * len(points)
            return points
        points, scores = self._points, model_values(self._values, self._excess)
        constrained = None
        if self._excess is not None:
            constrained = constrained_values(self._values, self._excess, self._constraints)
        middle, unknown = float(np.median(scores)), list(self._pending)
        self._made_by = []
        size = self.settings.batch if self.wanted is None else 1
        for _ in range(size):
            n = len(unknown)
            point, name = self._proposer(
                self._coordinates, np.vstack([points, *unknown]),
                np.append(scores, np.full(n, middle)), self.rng,
                None if constrained is None else constrained.with_pending(n),
            )  # fmt: skip
            unknown.append(point)
            self._made_by.append(PROPOSERS.index(name))
        return np.array(unknown[-size:])

    # Several batches at a time

    @property
    def overlaps(self) -> bool:
        """True once the initial points are known: points that are out count as middling."""
        return len(self._points) > 0

    def set_aside(self) -> Batch:  # noqa: D102 (see Optimizer)
        batch = super().set_aside()
        self._pending = np.vstack([self._pending, self._coordinates.rounded(batch.points)])
        return batch

    def take_up(self, batch: Batch) -> bool:  # noqa: D102 (see Optimizer)
        for point in self._coordinates.rounded(batch.points):
            rows = np.flatnonzero((self._pending == point).all(axis=1))
            self._pending = np.delete(self._pending, rows[:1], axis=0)
        return super().take_up(batch)

    @property
    def operators(self) -> tuple[str, ...]:
        """Names of the proposers."""
        return PROPOSERS

    @property
    def probabilities(self) -> FloatArray:
        """Share of each proposer in the next points."""
        if len(self._points) < self._initial():
            first: FloatArray = np.eye(len(PROPOSERS))[0]
            return first
        share = model_share(self._coordinates, len(self._points))
        selector = self._proposer.selector
        among = np.full(len(MOVES), 1 / len(MOVES)) if selector is None else selector.probabilities
        return np.array([0.0, share, *((1.0 - share) * among)])

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        if self.history is not None:
            made_by = self._made_by[: len(points)]
            counts = np.bincount(made_by, minlength=len(PROPOSERS))
            numbers = self.best_fitness, self.evaluations, self.iterations
            self.history.append(numbers, counts, self.probabilities)
        self._points = np.vstack([self._points, self._coordinates.rounded(points)])
        self._values = np.append(self._values, values)
        if self.violations is not None:
            earlier = np.empty(0) if self._excess is None else self._excess
            self._excess = np.append(earlier, self.violations)
            self._constraints = self._with_constraints(len(points))
        if self._proposer.selector is not None:
            self._credit_moves(self._proposer.selector, len(points))

    def _with_constraints(self, n: int) -> FloatArray:
        """Return the constraints of all points, the last n of which were told just now."""
        told, equalities = constraint_values(n, self.violations, self.details)
        met = told.shape[1] - equalities
        told = np.hstack([told[:, :met], np.abs(told[:, met:])])
        earlier = self._constraints
        columns = max(earlier.shape[1], told.shape[1])
        both = np.full((len(earlier) + n, columns), np.nan)  # the number may differ between batches
        both[: len(earlier), : earlier.shape[1]] = earlier
        both[len(earlier) :, : told.shape[1]] = told
        return both

    def _credit_moves(self, selector: Selector, n: int) -> None:
        """Tell the selector what the moves among the last n points have achieved."""
        failed = np.where(np.isnan(self._values), np.inf, 0.0)
        merits = feasibility.merits(self._values, failed if self._excess is None else self._excess)
        earlier = np.sort(merits[:-n])[:_BEST]  # NaN last
        for maker, merit in zip(self._made_by, merits[-n:].tolist(), strict=False):
            name = PROPOSERS[maker]
            if name in MOVES:
                self._moved.append([list(MOVES).index(name), float(earlier[-1]), merit])
        if len(self._moved) >= _SEGMENT:
            moves, parents, values = zip(*self._moved, strict=True)
            selector.update(np.array(moves, np.int64), parents, values)
            self._moved = []
