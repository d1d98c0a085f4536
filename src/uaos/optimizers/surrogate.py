"""Search by a model: evaluate where a Gaussian process expects the largest improvement.

For expensive functions, of some hundred evaluations at most, of real, integer and categorical
coordinates. Values that are worse than the median are drawn in first, so that outliers and
infeasible points do no harm. The expected improvement is maximized by local search: change one
category, one integer or a few real numbers.

Jones, D. R., Schonlau, M. & Welch, W. J. (1998), "Efficient global optimization of expensive
black-box functions", Journal of Global Optimization 13.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.optimizers import feasibility
from uaos.optimizers.base import Optimizer, register
from uaos.optimizers.gaussian_process import GaussianProcess, condition, fit, log_improvement
from uaos.optimizers.settings import OptimizerSettings
from uaos.params import integer, real
from uaos.problems.activity import Activity
from uaos.problems.space import CATEGORY
from uaos.problems.variables import Space
from uaos.selection import bibliography as bib

# The most points of a model, and of a fit of its lengths.
_MOST, _MOST_FITTED = 400, 200
# A fit is renewed when the number of points has grown by this factor.
_GROWTH = 1.1
# The share of points that are neighbors of one of the best so far, whatever the model says, and
# the number of these best.
_LOCAL, _LEADERS = 0.15, 5
# The search for the largest expected improvement: random points, points around the best, starts of
# local searches, their rounds, and neighbors per round.
_RANDOM, _AROUND, _STARTS, _ROUNDS, _NEIGHBORS = 200, 100, 6, 12, 24


@dataclass(frozen=True)
class Coordinates:
    """Box of real, integer and categorical coordinates, and its map to that of the model.

    Parameters
    ----------
    low, high : ndarray, shape (d,)
        The box; that of an integer is half a unit wider than its range on either side.
    kinds : ndarray of int, shape (d,)
        0 for a real number, 1 for an integer, 2 for a category.
    activity : Activity, optional
        Which coordinates are active, depending on others. The others are put in the middle.
    """

    low: FloatArray
    high: FloatArray
    kinds: IntArray
    activity: Activity | None = None

    @classmethod
    def of(cls, space: Space) -> "Coordinates":
        """Return the coordinates of named variables."""
        half = np.where(space.integrality > 0, 0.5, 0.0)
        low, high = space.bounds[:, 0] - half, space.bounds[:, 1] + half
        return cls(low, high, space.integrality, space.activity)

    @property
    def categories(self) -> BoolArray:
        """Which coordinates are categories."""
        return np.asarray(self.kinds == CATEGORY)

    def rounded(self, points: FloatArray) -> FloatArray:
        """Return points inside the box, with integers rounded."""
        inside = np.clip(points, self.low, self.high)
        whole = np.clip(np.rint(inside), np.ceil(self.low), np.floor(self.high)) + 0.0  # no -0.0
        points = np.where(self.kinds > 0, whole, inside)
        if self.activity is None:
            return points
        middle = 0.5 * (self.low + self.high)
        middle = np.where(self.kinds > 0, np.floor(middle), middle)
        return np.where(self.activity.of(points), points, middle)

    def scaled(self, points: FloatArray) -> FloatArray:
        """Return rounded points as the model has them: categories as they are, others in [0, 1]."""
        return np.where(self.categories, points, (points - self.low) / (self.high - self.low))

    def uniform(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw points, rounded."""
        return self.rounded(self.low + (self.high - self.low) * rng.random((n, len(self.low))))

    def spread(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw points that divide each coordinate evenly (Latin hypercube), rounded."""
        cells = np.argsort(rng.random((len(self.low), n)), axis=1).T
        shares = (cells + rng.random((n, len(self.low)))) / n
        return self.rounded(self.low + (self.high - self.low) * shares)

    def neighbors(self, points: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw one neighbor of each point: some of its coordinates are changed, at least one.

        A category becomes any other, an integer moves by a step or more, and a real number by a
        normal step whose size is drawn, too.
        """
        n, d = points.shape
        changed = rng.random((n, d)) < 1.0 / d
        changed[np.arange(n), rng.integers(d, size=n)] = True
        width = self.high - self.low
        share = 10.0 ** rng.uniform(-3.0, -0.3, (n, 1))
        with np.errstate(over="ignore"):  # of a huge box; points are brought back
            step = width * share * rng.standard_normal((n, d))
            whole = np.sign(step) * np.maximum(1.0, np.rint(np.abs(step)))
            moved = np.where(self.kinds == 0, points + step, points + whole)
        drawn = np.floor(self.low + 0.5 + width * rng.random((n, d)))
        moved = np.where(self.categories, drawn, moved)
        return self.rounded(np.where(changed, moved, points))


class Proposer:
    """Proposes points where a model expects the largest improvement.

    One point in seven is a neighbor of one of the best so far instead, in case the model is wrong.
    The hyper-parameters of the model are fitted anew when the points have become a tenth more.

    Attributes
    ----------
    hyper : ndarray or None
        Hyper-parameters of the last fit.
    fitted_to : int
        The number of points of the last fit.
    """

    def __init__(self) -> None:
        self.hyper: FloatArray | None = None
        self.fitted_to = 0

    def __call__(
        self,
        coordinates: Coordinates,
        points: FloatArray,
        scores: FloatArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the point of the largest expected improvement.

        Parameters
        ----------
        coordinates : Coordinates
            The box.
        points : ndarray, shape (n, d)
            Points that were evaluated, rounded.
        scores : ndarray, shape (n,)
            Their values as the model has them, see :func:`model_values`.
        rng : numpy.random.Generator
            Draws the candidates.
        """
        known = {row.tobytes() for row in points}
        if rng.random() < _LOCAL:
            leaders = points[np.argsort(scores, kind="stable")[:_LEADERS]]
            near = coordinates.neighbors(leaders[rng.integers(len(leaders), size=_NEIGHBORS)], rng)
            unknown = [point for point in near if point.tobytes() not in known]
            if unknown:
                return np.array(unknown[0])
        scaled, d = coordinates.scaled(points), points.shape[1]
        grown = not self.fitted_to <= len(points) < _GROWTH * self.fitted_to
        if self.hyper is None or grown or len(self.hyper) != d + 1:
            few = _best_and_others(scores, _MOST_FITTED)
            start = self.hyper if self.hyper is not None and len(self.hyper) == d + 1 else None
            self.hyper = fit(scaled[few], scores[few], coordinates.categories, start).hyper
            self.fitted_to = len(points)
        rows = _best_and_others(scores, _MOST)
        model = condition(scaled[rows], scores[rows], coordinates.categories, self.hyper)
        best = float(model.predict(scaled[rows[:1]])[0][0])
        return _maximized(coordinates, model, points[rows], best, known, rng)


def _best_and_others(scores: FloatArray, most: int) -> IntArray:
    """Return the rows of the best half of `most` points, and of others evenly over the ranks."""
    order = np.argsort(scores, kind="stable")
    if len(order) <= most:
        return order
    half = most // 2
    others = np.linspace(half, len(order) - 1, most - half).astype(np.int64)
    return np.concatenate([order[:half], order[others]])


def _maximized(
    coordinates: Coordinates,
    model: GaussianProcess,
    points: FloatArray,
    best: float,
    known: set[bytes],
    rng: np.random.Generator,
) -> FloatArray:
    """Return the point of the largest expected improvement that a local search finds.

    `points` are sorted: the best comes first.
    """

    def gain(candidates: FloatArray) -> FloatArray:
        mean, deviation = model.predict(coordinates.scaled(candidates))
        gains: FloatArray = log_improvement(mean, deviation, best)
        gains[[row.tobytes() in known for row in candidates]] = -np.inf
        return gains

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
    """Return the values as the model has them, standardized, with outliers drawn in.

    Better values than the median are kept, worse ones grow like a logarithm. Points that are not
    feasible follow the worst feasible one, and failures are as bad as the worst.
    """
    excess = np.where(np.isnan(values), np.inf, 0.0) if violations is None else violations
    merits = feasibility.merits(values, excess)
    finite = merits[np.isfinite(merits)]
    if len(finite) == 0:
        return np.zeros(len(values))
    merits = np.where(np.isnan(merits), finite.max(), merits)
    middle = float(np.median(merits))
    unit = middle - float(merits.min()) or 1.0
    apart = (merits - middle) / unit
    scores = np.where(apart < 0, apart, np.log1p(np.maximum(apart, 0.0)))
    return np.asarray((scores - scores.mean()) / (scores.std() or 1.0))


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

    Notes
    -----
    A proposal takes milliseconds, some tens of them after hundreds of evaluations. The model has at
    most 400 points: the better half of these are the best so far.

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
    reference: ClassVar[str] = bib.JONES_1998
    handles: ClassVar[tuple[str, ...]] = ("constraints", "integrality", "categories", "noise")
    state_names: ClassVar[tuple[str, ...]] = ("_points", "_values", "_excess", "_fit")
    settings_class: ClassVar[type[OptimizerSettings]] = SurrogateSettings
    settings: SurrogateSettings

    def _start(self) -> None:
        kinds = np.zeros(self.dimension, np.int64) if self.integrality is None else self.integrality
        self._coordinates = Coordinates(*self.region.widest(), kinds, self.activity)
        self._points = np.empty((0, self.dimension))
        self._values = np.empty(0)
        self._excess: FloatArray | None = None
        self._proposer = Proposer()

    @property
    def _fit(self) -> list[object]:
        """Last fit of the model, for a saved run."""
        return [self._proposer.hyper, self._proposer.fitted_to]

    @_fit.setter
    def _fit(self, saved: tuple[FloatArray | None, int]) -> None:
        self._proposer.hyper, self._proposer.fitted_to = saved

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
            return points
        points, scores = self._points, model_values(self._values, self._excess)
        batch: list[FloatArray] = []
        for _ in range(self.settings.batch):
            point = self._proposer(self._coordinates, points, scores, self.rng)
            batch.append(point)
            points = np.vstack([points, point])
            scores = np.append(scores, np.median(scores))
        return np.array(batch)

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        self._points = np.vstack([self._points, self._coordinates.rounded(points)])
        self._values = np.append(self._values, values)
        if self.violations is not None:
            earlier = np.empty(0) if self._excess is None else self._excess
            self._excess = np.append(earlier, self.violations)
