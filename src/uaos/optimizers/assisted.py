"""CMA-ES that ranks most of its points by a quadratic model, and evaluates the others."""

import math
from typing import ClassVar

import numpy as np

from uaos.arrays import FloatArray
from uaos.optimizers.cma import CMAES
from uaos.optimizers.registration import register
from uaos.optimizers.regression import LEAST_COMPARED, Regression
from uaos.selection import bibliography as bib

# The model ranks points if Kendall's τ of the latest values and their predictions is at least this,
_AGREEMENT = 0.6
# where values are compared up to this share of the population.
_COMPARED = 0.75
# The share of a generation that is evaluated in any case, and the growth of this number where the
# model does not predict the values.
_LEAST_SHARE, _GROWTH = 0.02, 1.5


@register
class AssistedCMAES(CMAES):
    """CMA-ES that evaluates a part of each generation, and ranks the rest by a quadratic model.

    A generation is evaluated in full until the model predicts the latest values well enough, each
    without using it (Kendall's τ of 0.6 or more). From then on the points that the model ranks
    first are evaluated first, at the beginning half as many as in the generation before, then half
    as many again, until the model predicts the values once more. The other points get the model's
    values. One of the points is the minimum of the model, at most as far from the mean as others.

    Where the model is no use, as with strong noise, generations are those of CMA-ES. So they are
    with integers or constraints, and in asynchronous runs. Models have cross terms up to 12
    variables, and squares up to 100.

    Parameters
    ----------
    bounds, seed, budget, target, x0, history, integrality
        See :class:`Optimizer`.
    settings, restarts, sigma0, popsize, boundary, center, enlarged
        See :class:`CMASettings`.

    Examples
    --------
    >>> import uaos
    >>> from uaos.problems import rosenbrock
    >>> box = [(-5, 5)] * 4
    >>> runs = [uaos.minimize(rosenbrock, box, method=name, target=1e-8, budget=4000, seed=1)
    ...         for name in ("lq-CMA-ES", "CMA-ES")]
    >>> runs[0].success, runs[0].nfev < runs[1].nfev / 2
    (True, True)
    """

    name: ClassVar[str] = "lq-CMA-ES"
    reference: ClassVar[str] = f"{bib.HANSEN_2019}; {bib.HANSEN_2016}"
    state_names: ClassVar[tuple[str, ...]] = (
        "_regression", "_population", "_values", "_part", "_needed", "_agreed",
    )  # fmt: skip

    def _start(self) -> None:
        self._regression = Regression(self.dimension)
        super()._start()

    def _start_run(self, regime: int, popsize: int, sigma: float, limit: int | None = None) -> None:
        super()._start_run(regime, popsize, sigma, limit)
        self._regression = Regression(self.dimension)
        self._population: FloatArray | None = None  # of a generation that is not complete
        self._values = np.zeros(0)  # of its points, NaN where they were not evaluated
        self._part = np.zeros(0, np.int64)  # the rows that are being evaluated
        self._needed = 0  # evaluations of the last generation
        self._agreed = False  # whether the model predicted the latest values of that generation

    def continue_from(self, mean: FloatArray, popsize: int) -> None:  # noqa: D102 (see CMAES)
        super().continue_from(mean, popsize)
        self._population = None

    @property
    def _assisted(self) -> bool:
        alone = self.wanted is None and not self.incumbent.constrained
        return alone and self.integers is None

    def _frame(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the mean, the axes in which the distribution is a sphere, and its deviations."""
        unit = self.sigma * self._width
        with np.errstate(all="ignore"):  # of tiny boxes: then there is no model
            axes = self._basis / np.linalg.norm(self._factor, axis=1)[:, None] / unit
            return self.mean.copy(), axes, unit * np.sqrt(np.diagonal(self._C))

    def _draw(self, n: int) -> FloatArray:
        z = super()._draw(n)
        if self._assisted and self._agreed:
            center, axes, _ = self._frame()
            step = self._regression.step(center, axes, self._longest)
            if np.isfinite(step).all():
                z[-1] = step
        return z

    def _propose(self) -> FloatArray:
        if not self._assisted or (self.ended_by and self.settings.restarts != "none"):
            self._population = None
        if self._population is None:
            points = super()._propose()
            if not self._assisted:
                return points
            self._population, self._values = points, np.full(len(points), np.nan)
            least = 1 + int(_LEAST_SHARE * len(points))
            self._choose(max(least, self._needed // 2) if self._agreed else len(points))
        return self._population[self._part]

    def _choose(self, number: int) -> None:
        """Choose what to evaluate of the generation, up to this number of all its points."""
        assert self._population is not None
        order = np.arange(len(self._population))
        if self._regression.fitted:
            order = np.argsort(self._regression(self._population), kind="stable")
        unknown = np.isnan(self._values[order])
        self._part = order[unknown][: number - int((~unknown).sum())]

    def _learn(self, points: FloatArray, values: FloatArray) -> None:
        if self._population is None or not self._assisted:
            self._population = None
            super()._learn(points, values)
            return
        part = self._part[: len(values)]
        self._values[part] = np.where(np.isnan(values), np.inf, values)
        size = len(self._values)
        self._regression.add(points, values, least=size)
        self._regression.fit(*self._frame())
        known = size - int(np.isnan(self._values).sum())
        compared = max(LEAST_COMPARED, min(int(_GROWTH * known), int(_COMPARED * size)))
        agrees = self._regression.agreement(compared) >= _AGREEMENT
        if known < size and not agrees:
            self._choose(math.ceil(_GROWTH * known))
            return
        self._needed, self._agreed = known, agrees
        population, self._population = self._population, None
        super()._learn(population, self._completed(population))

    def _completed(self, population: FloatArray) -> FloatArray:
        """Return the values of a generation: those of the model, if some were not evaluated.

        The best of them is the best one that was evaluated; failed points stay failed.
        """
        if not np.isnan(self._values).any():
            return self._values
        values = self._regression(population)
        values += float(np.nanmin(self._values)) - values.min()
        return np.where(np.isinf(self._values), np.inf, values)
