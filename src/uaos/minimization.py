"""Minimize a black box in one call."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from uaos.checks import true_or_false
from uaos.errors import InvalidParameter, shortened
from uaos.extras import require
from uaos.optimizers.catalogue import ConfigurationLike
from uaos.options import DEFAULTS, Options, ProblemOptions, evolution_settings, with_options
from uaos.problems.derivatives import GradientLike
from uaos.problems.problem import ANONYMOUS, Problem
from uaos.problems.space import BoundsLike, Box, StartLike, bounds_around
from uaos.problems.variables import Space
from uaos.result import Ending, Result
from uaos.runs.asynchronous import AsynchronousRun
from uaos.runs.callers import WithArguments
from uaos.runs.checkpoint import Checkpoint, run_identity
from uaos.runs.evaluator import Evaluator
from uaos.runs.known import Known
from uaos.runs.limits import Limits
from uaos.runs.noise import noise_meter
from uaos.runs.polish import polished, polished_by
from uaos.runs.progress import ProgressLine
from uaos.runs.run import Polish, Run, described
from uaos.runs.search import SearchSetup, Seed, as_numpy_seed
from uaos.runs.stopping import HELD


@with_options(Options)
def minimize(
    fun: Callable[..., object] | Problem,
    bounds: BoundsLike | None = None,
    *,
    method: ConfigurationLike | None = None,
    budget: int | str | None = None,
    seed: Seed = None,
    x0: StartLike | None = None,
    target: float | None = None,
    **options: Unpack[Options],
) -> Result:
    """Minimize a function over a box.

    Parameters
    ----------
    fun : callable or Problem
        ``fun(x, *args) -> float`` of a point, an array of length D; with `vectorized` of many
        points, (n, D), returning n values. NaN and infinite values are failed evaluations. A
        function that numba has compiled is called in a compiled loop over the batch; `workers` are
        threads then. With named variables `fun` gets a dict of those that are active, in their own
        types, and with `vectorized` a list of dicts. A :class:`uaos.Problem` without `bounds`
        stands for its function, bounds and constraints.
    bounds : sequence of pairs, array of shape (D, 2), scipy.optimize.Bounds, or mapping
        The box; no point outside is evaluated. A coordinate with low = high is held there. Bounds
        may be infinite, or missing altogether, if there is an `x0`. A mapping of names to
        :class:`uaos.Real`, :class:`uaos.Integer`, :class:`uaos.Categorical` or fixed values, or a
        :class:`uaos.Space`, has named variables.
    method : str, path, Method or Configuration, optional
        A name that `uaos methods` lists, a TOML file, a method or a configuration. None is the
        default: a portfolio of local search, CMA-ES and differential evolution that suits the
        dimension and the budget (:class:`uaos.Portfolio`), or, where a setting is given that only
        differential evolution has, ``"mix"``.
    budget : int or str, optional
        The largest number of evaluations, kept exactly, or a multiple of the dimension such as
        "500D"; default 10 000·D.
    seed : int, numpy.random.Generator, RandomState, SeedSequence or BitGenerator, optional
        Makes the run repeatable.
    x0 : array_like, optional
        A point to start from, or several, (m, D): differential evolution has them in its first
        population, if it is large enough; otherwise, and with other methods, all are evaluated and
        the search starts from the best. Where the box is infinite, or more than 100 times as wide
        as |x0| in all coordinates of that width, the first steps fit x0 instead of the box, and the
        search widens from there. With named variables a mapping or a list of mappings; by default
        the defaults of the variables, if each has one.
    target : float, optional
        The run ends once a value at or below it has been found.

    Other Parameters
    ----------------
    args : tuple or list
        Further arguments of `fun`.
    vectorized : bool
        Whether `fun` takes all points of a batch at once.
    constraints : NonlinearConstraint, LinearConstraint, Bounds, dict, or a sequence of these
        As in scipy.optimize; other objects with the same attributes will do. Feasible points come
        before infeasible ones, which are compared by their violations. The default method and
        "SQP" call `fun` at infeasible points, too, where an exception counts as a failed
        evaluation whatever `on_error` says; other methods only where a point is feasible or almost
        so. Every point counts as an evaluation. An equality (lb = ub) holds if it is met to 1e-6.
    integrality : array_like of bool, optional
        Which coordinates are integers; one value stands for all.
    scale : array_like of float, optional
        The length of a typical step from `x0`, a number or one for each coordinate; by default the
        width of the box, or 4 |x0| where that is infinite or more than 100 times |x0|.
    jac : callable or bool, optional
        The gradient, ``jac(x, *args)``, an array of length D (with `vectorized` of many points,
        (n, D)), or True if `fun` returns a pair (value, gradient). Local members of the default
        method, "BFGS" and "SQP" use it instead of differences; others ignore it. Its evaluations
        are counted as `njev`, not as evaluations of `fun`.
    workers : int, Executor, Client or map-like callable
        Evaluates a batch in parallel: a number of processes (-1: one for each processor), any
        ``concurrent.futures.Executor``, a ``dask.distributed.Client``, or a function like ``map``.
    on_error : {"raise", "fail"}
        What an exception in `fun` or a constraint does: end the run, or count as a failed
        evaluation.
    tol, atol : float, optional
        The run ends when it has converged: for a population when
        ``std f <= atol + tol * |mean f|``, for other methods by their own criterion, or when
        nothing improves any more. Also in force when neither `budget` nor `target` is given.
        Otherwise the run restarts until its budget is spent or its target reached.
    maxiter, maxfun, max_time : optional
        Further limits: iterations, evaluations (the same as `budget`), seconds.
    callback : callable, optional
        Called after each batch as ``callback(intermediate_result)`` with the state of the run
        (`x`, `fun`, `nfev`, `nit`, and more: :class:`uaos.result.RunView`), or, if it
        takes two arguments, as ``callback(x, convergence)``, or, if its only one is called `xk`,
        as ``callback(xk)`` with the best point. The run ends if it returns a true value or raises
        StopIteration.
    disp : bool
        Whether to print evaluations, best value and operators in use while the run goes on.
    polish : bool or callable
        Whether to improve the best point at the end with SciPy's L-BFGS-B (under constraints with
        its SLSQP), or a function to do it with, called as in SciPy:
        ``polish(fun, x, bounds=, constraints=)`` returns an object with `x`. Integer coordinates
        stay what they are. Its evaluations come on top of the budget, as in SciPy.
    history : bool
        Whether the result has a history.
    checkpoint : path, optional
        A file to save the run to, every two seconds and at the end. If it exists, the run that it
        holds is continued: the same call resumes after a crash, Ctrl-C or `max_time`, and gives
        the same result as a run without interruption. A checkpoint of another problem is refused.
    known : (X, f) or (X, f, violations), optional
        Points, (n, D), whose values are known. They are not evaluated again and do not count
        against the budget. The search starts from the best of them; differential evolution has
        them in its first population. Under constraints `violations` has one number per point, 0
        if it is feasible. Points outside the bounds are left out.
    record : "points", optional
        Whether the result has all evaluated points, `X` and `F`, and a method `to_frame`.
    noise : bool or "auto"
        Whether `fun` returns different values at one point. "auto" evaluates a few points again to
        find out, with at most 1 % of the budget, and so not at all in runs of less than 100
        evaluations. If it does, the search is one that averages, and the result is the point that
        is best on average; `polish` is not applied. False takes every value as it is.
    schedule : {"sync", "async"} or log
        "sync" evaluates whole batches, so that a seed gives the same run with any number of
        workers. "async" gives each worker its next point as soon as it is free, which keeps all of
        them busy where evaluations take different times; the run then depends on these times. Its
        `result.log`, given here, repeats it. Outliers count as noise.
    rng
        Another name of `seed`.
    popsize : int or str, optional
        Population size, or a multiple of the dimension such as "18D".
    F, CR, NP_schedule, top_NP, boundary, restart
        Settings of :class:`uaos.DifferentialEvolution`.
    operators, center, best_rule, archive, archive_size
        More of them.

    Returns
    -------
    Result
        `x`, `fun`, `nfev`, `nit`, `success`, `status`, `message`, `seed`, `history`; with
        constraints `constr`, `constr_violation` and `maxcv`; of a noisy function `fun_std` and
        `fun_evaluations`; with `record` also `X` and `F`. `success` is True if the target was
        reached or the run converged, at a feasible point; exhausting the budget does not count as
        success.

    Raises
    ------
    InvalidParameter
        If an argument is not what it should be; the message says what is allowed.

    Notes
    -----
    The same seed gives the same result with any number of workers, so that everything but the
    budget ends a run after a whole batch. Ctrl-C returns the best so far, and so does
    the end of a worker process of your own executor.

    Examples
    --------
    >>> import uaos
    >>> result = uaos.minimize(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [(-5, 5)] * 2, seed=1)
    >>> result.success, bool(result.fun < 1e-12)
    (True, True)
    """
    problem = _as_problem(fun, bounds, x0, options)
    x0 = problem.x0 if x0 is None else x0
    values: dict[str, Any] = {**DEFAULTS, **options}
    new_run = _run_class(values.get("schedule"), values["workers"])
    limits = Limits.checked(problem, budget, target, values)
    search = SearchSetup(
        problem, method, evolution_settings(values), limits,
        seed=as_numpy_seed(seed, values.get("rng")),
        history=values["history"],
    )  # fmt: skip
    meter = noise_meter(values["noise"])
    polish = _polishing(values["polish"])
    observers = [ProgressLine()] if true_or_false(values["disp"], "disp") else []
    checkpoint = Checkpoint(values.get("checkpoint"))
    known = Known.checked(values.get("known"), problem)
    starts = problem.space.starts(x0)
    evaluator = _evaluator(problem, values)
    with evaluator, checkpoint:
        rules = limits.rules(problem, values.get("callback"), evaluator.memory)
        if problem.space.dimension == 0:
            return _only_point(evaluator)
        saved = checkpoint.saved()
        optimizer, ending = search.start(starts, known, evaluator, saved)
        run = new_run(optimizer, evaluator, rules, [*observers, checkpoint], ending, meter)
        identity = run_identity(problem, optimizer, search.seed, starts, known)
        checkpoint.attach(run, identity, saved)
        return run.complete(polish)


def _as_problem(
    fun: Callable[..., object] | Problem,
    bounds: BoundsLike | None,
    x0: StartLike | None,
    options: Options,
) -> Problem:
    """Return the problem that the arguments of `minimize` describe."""
    if isinstance(fun, Problem) and bounds is None:
        for name in ProblemOptions.__annotations__:
            if name in options:
                raise InvalidParameter(
                    f"{name} belongs to the problem; give it to uaos.Problem",
                    name=name,
                    value=dict(options)[name],
                )
        return fun.renewed()
    if bounds is None and x0 is None:
        raise InvalidParameter(
            "bounds is missing; expected a pair (low, high) for each coordinate, or without bounds "
            "a point to start from: minimize(fun, x0=x0)",
            name="bounds",
            value=None,
        )
    args = options.get("args", ())
    if not isinstance(args, tuple | list):
        raise InvalidParameter(
            f"args is {shortened(args)}; expected a tuple of further arguments of fun, "
            "also for a single one: args=(data,)",
            name="args",
            value=args,
        )
    jac: GradientLike = options.get("jac")
    return Problem(
        WithArguments(fun, tuple(args)) if args and callable(fun) else fun,
        _with_scale(bounds_around(bounds, x0), options.get("scale")),
        name=ANONYMOUS,
        vectorized=options.get("vectorized", False),
        constraints=options.get("constraints"),
        integrality=options.get("integrality"),
        jac=_gradient_with(jac, tuple(args)),
    )


def _gradient_with(jac: GradientLike, args: tuple[object, ...]) -> GradientLike:
    """Return a gradient with its further arguments."""
    if not args or isinstance(jac, bool) or not callable(jac):
        return jac
    function = jac
    return lambda x: function(x, *args)


def _evaluator(problem: Problem, values: Mapping[str, Any]) -> Evaluator:
    """Return the evaluator of a problem by the options."""
    return Evaluator(
        problem,
        workers=values["workers"],
        on_error=values["on_error"],
        record=_recording(values.get("record")),
        remember=values["noise"] is not True,
    )


def _run_class(schedule: object, workers: object) -> Callable[..., Run]:
    """Return what makes the run for a `schedule`: a name, or the log of an asynchronous run."""
    if schedule is None or (isinstance(schedule, str) and schedule == "sync"):
        return Run
    if isinstance(schedule, np.ndarray | list):
        return functools.partial(AsynchronousRun, log=schedule)
    if not (isinstance(schedule, str) and schedule == "async"):
        raise InvalidParameter(
            f'schedule is {shortened(schedule)}; expected "sync", "async" or the log of an '
            "asynchronous run. (The population of differential evolution shrinks by NP_schedule.)",
            name="schedule", value=schedule,
        )  # fmt: skip
    if callable(workers) and not hasattr(workers, "submit"):
        raise InvalidParameter(
            'workers is a function; expected a number of processes or an executor with '
            'schedule="async"',
            name="workers", value=workers,
        )  # fmt: skip
    return AsynchronousRun


def _with_scale(bounds: BoundsLike, scale: ArrayLike | None) -> BoundsLike:
    """Return the bounds, as a box with a scale if one is given."""
    if scale is None:
        return bounds
    if isinstance(bounds, Mapping | Space):
        raise InvalidParameter(
            "scale is for bounds without names; with named variables, give narrower bounds or "
            "log=True",
            name="scale",
            value=scale,
        )
    return Box(bounds, scale=scale, outside_allowed=Box.of(bounds).outside_allowed)


def _recording(record: object) -> bool:
    """Return whether the result has all points."""
    if record is not None and not (isinstance(record, str) and record == "points"):
        raise InvalidParameter(
            f'record is {shortened(record)}; expected "points" or None', name="record", value=record
        )
    return record is not None


def _polishing(polish: bool | Callable[..., object]) -> Polish | None:
    """Return what polishes the result, None for nothing."""
    if not (callable(polish) or isinstance(polish, bool)):
        raise InvalidParameter(
            f"polish is {shortened(polish)}; expected True, False or a function",
            name="polish",
            value=polish,
        )
    if not polish:
        return None
    require("scipy", "polish")  # not only at the end of the run
    return functools.partial(polished_by, polish) if callable(polish) else polished


def _only_point(evaluator: Evaluator) -> Result:
    """Return the result where every coordinate is held."""
    point = np.empty(0)
    violation = evaluator.violation(point)
    value = evaluator.objective(point) if violation == 0 else np.inf
    failed = not np.isfinite(value if violation == 0 else violation)
    ending = Ending.of_failures(1) if failed else HELD
    result = Result(
        x=None if failed else point, fun=np.nan if failed else value, nfev=1, nit=0,
        success=False, status=0, message="", seed=None, history=None,
    )  # fmt: skip
    return described(result, ending, evaluator, feasible=violation == 0)
