"""Least squares in one call."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from uaos.errors import InvalidParameter, shortened
from uaos.minimization import minimize
from uaos.optimizers.catalogue import ConfigurationLike
from uaos.optimizers.configuration import Configuration
from uaos.options import RunOptions, with_options
from uaos.problems.problem import ANONYMOUS
from uaos.problems.residuals import ResidualProblem
from uaos.problems.space import BoundsLike, StartLike, bounds_around
from uaos.result import Result
from uaos.runs.callers import WithArguments
from uaos.runs.search import Seed


@with_options(RunOptions)
def least_squares(
    residuals: Callable[..., ArrayLike],
    x0: StartLike | None = None,
    bounds: BoundsLike | None = None,
    *,
    method: ConfigurationLike | None = None,
    budget: int | str | None = None,
    seed: Seed = None,
    target: float | None = None,
    args: Sequence[object] = (),
    **options: Unpack[RunOptions],
) -> Result:
    """Minimize half the sum of squared residuals.

    Parameters
    ----------
    residuals : callable
        ``residuals(x, *args)`` returns an array of R numbers, the same R at each point. NaN is a
        failed evaluation.
    x0 : array_like, optional
        The point to start from, or several, (m, D); needed unless the box is finite. With names a
        mapping, or several.
    bounds : sequence of pairs, array of shape (D, 2), scipy.optimize.Bounds, or a mapping, optional
        The box; None for no bounds. A mapping of names to variables, or a :class:`uaos.Space`:
        `residuals` gets a dict.
    method : str, path, Method or Configuration, optional
        None is the default: Levenberg-Marquardt with restarts, then CMA-ES and differential
        evolution, which look for other basins. "LM" is the first alone, a local solver. All
        methods of :func:`uaos.minimize` work, but do not see single residuals.
    budget, seed, target
        As in :func:`uaos.minimize`; the target is one of half the sum of squares.
    args : sequence
        Further arguments of `residuals`.

    Returns
    -------
    Result
        As that of :func:`uaos.minimize`: `fun` is half the sum of squares (SciPy's `cost`). Also
        `residuals`, those at `x`, for which the function is called once more; None if it raises
        then, and `on_error` is "fail".

    Other Parameters
    ----------------
    workers, schedule, on_error, noise, rng
        As in :func:`uaos.minimize`: how residuals are evaluated.
    tol, atol, maxiter, maxfun, max_time, callback, disp, polish
        As there: when the run ends, what it shows, and what follows it.
    known, history, record, checkpoint
        As there: what the run starts from and what it keeps.
    popsize, F, CR, NP_schedule, top_NP, boundary, restart
        Settings of :class:`uaos.DifferentialEvolution`.
    operators, center, best_rule, archive, archive_size
        More of them.

    Raises
    ------
    InvalidParameter
        If an argument is not what it should be.

    Examples
    --------
    >>> import numpy as np
    >>> import uaos
    >>> t = np.linspace(0, 10, 50)
    >>> decay = lambda p: p[0] * np.exp(-p[1] * t) - 3 * np.exp(-1.3 * t)
    >>> result = uaos.least_squares(decay, x0=[1, 1], bounds=[(0, 1e4), (0, 1e4)], seed=1)
    >>> result.x.round(6).tolist(), result.success
    ([3.0, 1.3], True)
    """
    if not callable(residuals):
        raise InvalidParameter(
            f"residuals is {shortened(residuals)}; expected a function of a point",
            name="residuals", value=residuals,
        )  # fmt: skip
    function = WithArguments(residuals, tuple(args)) if args else residuals
    problem = ResidualProblem(function, bounds_around(bounds, x0), name=ANONYMOUS)
    if method is None:
        chosen = {"residuals": True}
        method = Configuration("least squares", optimizer="portfolio", settings=chosen)
    result = minimize(
        problem, method=method, budget=budget, seed=seed, x0=x0, target=target, **options
    )
    if result.x is None:
        return result
    try:
        at_best = np.atleast_1d(np.asarray(function(result.x.copy()), float)).ravel()
    except Exception:
        if options.get("on_error") != "fail":
            raise
        return result
    return dataclasses.replace(result, residuals=at_best)
