"""Search by a model: evaluate where a Gaussian process expects the largest improvement.

For expensive functions of real, integer and categorical coordinates. Values worse than the median
are compressed first, so that outliers and infeasible points do no harm. The expected
improvement is maximized by local search: change one category, one integer or a few real numbers.

The model does not propose all points. A pool of moves, which start from the best points so far,
proposes some from the beginning, in case the model is wrong, and most later on, when the model has
found what it can. All share the points that were evaluated.

Jones, D. R., Schonlau, M. & Welch, W. J. (1998), "Efficient global optimization of expensive
black-box functions", Journal of Global Optimization 13.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.history import History
from uaos.optimizers import feasibility
from uaos.optimizers.base import Optimizer
from uaos.optimizers.gaussian_process import GaussianProcess, condition, fit, log_improvement
from uaos.optimizers.mixed import Coordinates
from uaos.optimizers.moves import MOVES
from uaos.optimizers.registration import register
from uaos.optimizers.settings import OptimizerSettings
from uaos.params import integer, real
from uaos.selection import bibliography as bib
from uaos.selection.selector import Selector
from uaos.statefile import SavedState, State

# The most points of a model, and of a fit of its lengths.
_MOST, _MOST_FITTED = 400, 200
# A fit is renewed when the number of points has grown by this factor.
_GROWTH = 1.1
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


class Proposer:
    """Proposes points where a model expects the largest improvement, or by a move.

    The hyper-parameters of the model are fitted again when the number of points has grown by a
    tenth.

    Parameters
    ----------
    selector : Selector, optional
        Chooses among the moves; without one, all have the same probability.

    Attributes
    ----------
    hyper : ndarray or None
        Hyper-parameters of the last fit.
    fitted_to : int
        The number of points of the last fit.
    """

    def __init__(self, selector: Selector | None = None) -> None:
        self.selector = selector
        self.hyper: FloatArray | None = None
        self.fitted_to = 0

    def __call__(
        self,
        coordinates: Coordinates,
        points: FloatArray,
        scores: FloatArray,
        rng: np.random.Generator,
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
        """
        evaluated_keys = {row.tobytes() for row in points}
        if rng.random() >= model_share(coordinates, len(points)):
            best_points = points[np.argsort(scores, kind="stable")[:_BEST]]
            for _ in range(_ATTEMPTS):
                name, move = list(MOVES.items())[self._choose(rng)]
                point = move(coordinates, best_points, rng)
                if point.tobytes() not in evaluated_keys:
                    return point, name
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
        return _maximized(coordinates, model, points[rows], best, evaluated_keys, rng), "model"

    def _choose(self, rng: np.random.Generator) -> int:
        """Return the number of a move."""
        if self.selector is None:
            return int(rng.integers(len(MOVES)))
        return int(self.selector.select(1)[0])


def model_share(coordinates: Coordinates, evaluated: int) -> float:
    """Return the share of points that the model proposes after a number of evaluations."""
    late = _LATE_REAL if (coordinates.kinds == 0).any() else _LATE
    return _SHARE if evaluated < late * len(coordinates.low) else _LATE_SHARE


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
    evaluated_keys: set[bytes],
    rng: np.random.Generator,
) -> FloatArray:
    """Return the point of the largest expected improvement that a local search finds.

    `points` are sorted: the best comes first.
    """

    def gain(candidates: FloatArray) -> FloatArray:
        mean, deviation = model.predict(coordinates.scaled(candidates))
        gains: FloatArray = log_improvement(mean, deviation, best)
        gains[[row.tobytes() in evaluated_keys for row in candidates]] = -np.inf
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
    """Return the values as the model sees them: standardized, with large values compressed.

    Values better than the median are kept, worse ones grow like a logarithm. Infeasible points rank
    after the worst feasible one, and failures are as bad as the worst.
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
    method : Method, optional
        Chooses among the moves; without one, all have the same probability. It learns after every
        ten points that moves have made. The parent's value is the worst of the ten best.

    Notes
    -----
    A proposal by the model takes milliseconds, or tens of milliseconds after hundreds of
    evaluations. The model has at most 400 points: half of them are the best so far.

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
        "_points", "_values", "_excess", "_fit", "_made_by", "_moved",
    )  # fmt: skip
    batch_names: ClassVar[tuple[str, ...]] = ("_made_by",)
    settings_class: ClassVar[type[OptimizerSettings]] = SurrogateSettings
    selects: ClassVar[bool] = True
    settings: SurrogateSettings

    def _start(self) -> None:
        kinds = np.zeros(self.dimension, np.int64) if self.integrality is None else self.integrality
        self._coordinates = Coordinates(*self.region.widest(), kinds, self.activity)
        self._points = np.empty((0, self.dimension))
        self._values = np.empty(0)
        self._excess: FloatArray | None = None
        self._proposer = Proposer(self._new_selector())
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
            self._made_by = [0] * len(points)
            return points
        points, scores = self._points, model_values(self._values, self._excess)
        batch: list[FloatArray] = []
        self._made_by = []
        for _ in range(self.settings.batch):
            point, name = self._proposer(self._coordinates, points, scores, self.rng)
            batch.append(point)
            self._made_by.append(PROPOSERS.index(name))
            points = np.vstack([points, point])
            scores = np.append(scores, np.median(scores))
        return np.array(batch)

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
        if self._proposer.selector is not None:
            self._credit_moves(self._proposer.selector, len(points))

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

    # Exact resume

    def state(self) -> State:  # noqa: D102 (see Optimizer)
        selector = self._proposer.selector
        return super().state() | {"selector": None if selector is None else selector.state()}

    def restore(self, state: SavedState) -> None:  # noqa: D102
        super().restore(state)
        if self._proposer.selector is not None:
            self._proposer.selector.restore(state["selector"])
        # Last, because the selector shares the generator.
        self.rng.bit_generator.state = state["rng"]
