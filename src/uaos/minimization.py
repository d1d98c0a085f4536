"""Minimize a black box in one call."""

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ParamSpec, TypedDict, Unpack, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import FloatArray, IntArray
from uaos.checks import evaluation_count, parse_budget, real_number, real_numbers, true_or_false
from uaos.errors import InvalidParameter
from uaos.extras import require
from uaos.optimizers.base import Optimizer, optimizer_class
from uaos.optimizers.catalogue import RECOMMENDED, ConfigurationLike, as_configuration
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de.operators import PoolMember
from uaos.optimizers.de.optimizer import DEFAULT_BUDGET
from uaos.optimizers.de.rules import RateRule
from uaos.optimizers.de.settings import Linear, Stagnation
from uaos.problems.derivatives import GradientLike
from uaos.problems.problem import ANONYMOUS, Problem
from uaos.problems.space import BoundsLike, Box, StartLike, bounds_around, start_points
from uaos.problems.variables import Space
from uaos.result import Ending, Result
from uaos.runs.asynchronous import AsynchronousRun
from uaos.runs.callers import WithArguments, Workers
from uaos.runs.checkpoint import Checkpoint, run_identity
from uaos.runs.evaluator import EvaluationInterrupted, Evaluator
from uaos.runs.known import Known, KnownLike
from uaos.runs.noise import noise_meter
from uaos.runs.polish import polished, polished_by
from uaos.runs.progress import ProgressLine
from uaos.runs.run import Polish, Run, described, problem_arguments
from uaos.runs.stopping import (
    HELD,
    INTERRUPTED,
    AllFailed,
    Budget,
    Callback,
    Converged,
    Done,
    Iterations,
    StoppingRule,
    Target,
    Time,
)
from uaos.statefile import SavedState

#: Seeds: what NumPy's generators are made from, as in SciPy.
Seed = (
    int | np.random.Generator | np.random.RandomState | np.random.SeedSequence
    | np.random.BitGenerator | None
)  # fmt: skip

#: The name of the default method.
PORTFOLIO = "portfolio"

# A run without a budget ends when this many evaluations per dimension have all failed.
_FAILURES = 100


class EvolutionOptions(TypedDict, total=False):
    """Settings of :class:`uaos.DifferentialEvolution`; None is the method's own."""

    popsize: int | str | None
    F: float | RateRule | None
    CR: float | RateRule | None
    top_NP: float | str | None
    boundary: str | None
    operators: Sequence[PoolMember | str] | str | None
    center: bool | None
    best_rule: str | None
    archive: str | None
    archive_size: float | None
    schedule: Linear | Mapping[str, object] | IntArray | str | None
    restart: Stagnation | Mapping[str, object] | str | None


class RunOptions(EvolutionOptions, total=False):
    """How a problem is evaluated, when the run ends, and what it shows."""

    rng: Seed
    workers: Workers
    on_error: str
    tol: float | None
    atol: float | None
    maxiter: int | None
    maxfun: float | None
    max_time: float | None
    callback: Callable[..., object] | None
    disp: bool
    polish: bool | Callable[..., object]
    history: bool
    checkpoint: str | os.PathLike[str] | None
    known: KnownLike | None
    record: str | None
    noise: bool | str


class ProblemOptions(TypedDict, total=False):
    """Parts of the problem beside the function and its bounds."""

    args: Sequence[object]
    vectorized: bool
    constraints: object
    integrality: ArrayLike | None
    scale: ArrayLike | None
    jac: GradientLike


class Options(ProblemOptions, RunOptions, total=False):
    """The arguments of :func:`uaos.minimize` that most calls do without."""


# The defaults of options; None for all others.
_DEFAULTS: dict[str, object] = {
    "args": (), "vectorized": False, "workers": 1, "disp": False, "polish": False,
    "history": True, "on_error": "raise", "noise": "auto",
}  # fmt: skip

# What to write instead of arguments of other libraries.
_INSTEAD = {
    "func": "the function is the first argument, fun",
    "strategy": 'name the strategy as the method: method="best/1" for "best1bin"',
    "mutation": "use F=0.8, or for a range F=Uniform(0.5, 1) from uaos.optimizers.de.rules",
    "recombination": "use CR=0.7",
    "init": "pass the points as x0, an array (m, D)",
    "updating": 'omit it: updating is always "deferred", as SciPy calls it',
    "options": "pass options as arguments: budget, maxiter, tol, disp",
    "kwargs": "bind them to the function: functools.partial(fun, name=value)",
    "sigma0": 'pass method=uaos.Configuration("mine", optimizer="CMA-ES", '
    'settings={"sigma0": 0.3}), in units of the width of the bounds',
    **dict.fromkeys(("hess", "hessp"), "omit it: only values and gradients (jac) are used"),
    **dict.fromkeys(
        ("maxfev", "maxfevals", "max_nfev", "max_evals", "n_calls", "n_trials"), "use budget"
    ),
    **dict.fromkeys(("timeout", "time_limit"), "use max_time, in seconds"),
    **dict.fromkeys(("ftol", "fatol", "xtol", "xatol", "tolfun"), "use tol and atol, of values"),
    **dict.fromkeys(("random_state", "random_seed"), "use seed"),
    **dict.fromkeys(("ftarget", "f_min"), "use target"),
    **dict.fromkeys(("verbose", "iprint"), "use disp=True"),
    **dict.fromkeys(("n_jobs", "n_workers"), "use workers"),
}

_P = ParamSpec("_P")


def _with_options(function: Callable[_P, Result]) -> Callable[_P, Result]:
    """Give a function with ``**options`` a signature that names them, and errors that advise."""
    own = inspect.signature(function)
    parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    parameters += [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS.get(name), annotation=kind
        )
        for name, kind in get_type_hints(Options).items()
    ]
    signature = own.replace(parameters=parameters)

    @functools.wraps(function)
    def checked(*args: _P.args, **keywords: _P.kwargs) -> Result:
        if len(args) > 2 or (len(args) == 2 and "bounds" in keywords):
            raise TypeError(
                "minimize() takes only fun and bounds by position; name the others: "
                "minimize(fun, bounds, x0=x0)"
            )
        for name in keywords:
            if name not in signature.parameters:
                raise TypeError(_advice(name, signature.parameters))
        return function(*args, **keywords)

    checked.__signature__ = signature  # type: ignore[attr-defined]
    return checked


def _advice(name: str, names: Mapping[str, object]) -> str:
    """Return the message for a keyword argument that does not exist."""
    similar = get_close_matches(name, names, n=1)
    advice = _INSTEAD.get(name) or (f"did you mean {similar[0]!r}?" if similar else None)
    return f"minimize() got an unexpected keyword argument {name!r}; " + (
        advice or "help(uaos.minimize) lists the arguments"
    )


@_with_options
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
        as |x0|, the first steps fit x0 instead of the box, and the search widens from there. With
        named variables a mapping or a list of mappings; by
        default the defaults of the variables, if each has one.
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
    workers : int, Executor or map-like callable
        Evaluates a batch in parallel: a number of processes (-1: one for each processor), any
        ``concurrent.futures.Executor``, or a function like ``map``.
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
        find out, with at most 1 % of the budget and not at all in runs of less than 200
        evaluations. If it does, the search is one that averages, and the result is the point that
        is best on average; `polish` is not applied. False takes every value as it is.
    schedule : {"sync", "async"} or log
        "sync" evaluates whole batches, so that a seed gives the same run with any number of
        workers. "async" gives each worker its next point as soon as it is free, which keeps all of
        them busy where evaluations take different times; the run then depends on these times. Its
        `result.log`, given here, repeats it. It takes no constraints and does not notice noise.
        (Other values are the population schedule of differential evolution.)
    rng
        Another name of `seed`.
    popsize : int or str, optional
        Population size, or a multiple of the dimension such as "18D".
    F, CR, top_NP, boundary, operators, center, best_rule, archive, archive_size, schedule, restart
        Settings of :class:`uaos.DifferentialEvolution`.

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
    budget ends a run after a whole batch. Ctrl-C returns the best so far.

    Examples
    --------
    >>> import uaos
    >>> result = uaos.minimize(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [(-5, 5)] * 2, seed=1)
    >>> result.success, bool(result.fun < 1e-12)
    (True, True)
    """
    problem = _as_problem(fun, bounds, x0, options)
    x0 = problem.x0 if x0 is None else x0
    values: dict[str, Any] = {**_DEFAULTS, **options}
    new_run = _run_class(values)
    limits = _Limits.checked(problem, budget, target, values)
    search = _Search.of(problem, method, seed, limits, values)
    meter = noise_meter(values["noise"])
    rules = limits.rules(problem, values.get("callback"))
    polish = _polishing(values["polish"])
    observers = [ProgressLine()] if true_or_false(values["disp"], "disp") else []
    checkpoint = Checkpoint(values.get("checkpoint"))
    known = Known.checked(values.get("known"), problem)
    evaluator = _evaluator(problem, values)
    with evaluator, checkpoint:
        if problem.space.dimension == 0:
            return _only_point(evaluator)
        saved = checkpoint.saved()
        optimizer, ending = search.start(x0, known, evaluator, saved)
        run = new_run(optimizer, evaluator, rules, [*observers, checkpoint], ending, meter)
        checkpoint.attach(run, run_identity(problem, optimizer, search.seed), saved)
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
            f"args is {args!r}; expected a tuple of further arguments of fun",
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
    )


def _run_class(values: dict[str, Any]) -> Callable[..., Run]:
    """Return what makes the run for the `schedule` among the arguments, and take it out of them.

    Other values of `schedule` are for differential evolution.
    """
    schedule = values.get("schedule")
    if isinstance(schedule, np.ndarray | list):
        del values["schedule"]
        return functools.partial(AsynchronousRun, log=schedule)
    if not isinstance(schedule, str) or schedule not in ("sync", "async"):
        return Run
    del values["schedule"]
    workers = values["workers"]
    if schedule == "async" and callable(workers) and not hasattr(workers, "submit"):
        raise InvalidParameter(
            'workers is a function; expected a number of processes or an executor with '
            'schedule="async"',
            name="workers", value=workers,
        )  # fmt: skip
    return AsynchronousRun if schedule == "async" else Run


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


def _evolution_settings(values: Mapping[str, object]) -> dict[str, Any]:
    """Return the settings of differential evolution among the options."""
    names = EvolutionOptions.__annotations__
    return {name: values[name] for name in names if values.get(name) is not None}


def _as_numpy_seed(seed: Seed, rng: Seed) -> int | np.random.Generator | None:
    """Return the seed as optimizers take it."""
    if seed is not None and rng is not None:
        raise InvalidParameter(
            "rng and seed are the same argument; pass only one of them", name="rng", value=rng
        )
    seed = rng if seed is None else seed
    if isinstance(seed, np.random.RandomState):
        return _as_generator(seed)
    if isinstance(seed, np.random.SeedSequence | np.random.BitGenerator):
        return np.random.default_rng(seed)
    return seed


def _as_generator(state: np.random.RandomState) -> np.random.Generator:
    """Return a generator that continues a RandomState; before NumPy 2.2, one that it seeds."""
    try:
        return np.random.default_rng(state)
    except TypeError:
        return np.random.default_rng(state.randint(0, 2**32, size=8, dtype=np.uint32))


def _recording(record: object) -> bool:
    """Return whether the result has all points."""
    if record is not None and not (isinstance(record, str) and record == "points"):
        raise InvalidParameter(
            f'record is {record!r}; expected "points" or None', name="record", value=record
        )
    return record is not None


def _polishing(polish: bool | Callable[..., object]) -> Polish | None:
    """Return what polishes the result, None for nothing."""
    if not (callable(polish) or isinstance(polish, bool)):
        raise InvalidParameter(
            f"polish is {polish!r}; expected True, False or a function",
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


@dataclass(frozen=True)
class _Limits:
    """Limits that end a run; None for no limit."""

    budget: int | None
    target: float | None
    iterations: int | None
    seconds: float | None
    tol: float | None
    atol: float | None

    @classmethod
    def checked(
        cls,
        problem: Problem,
        budget: int | str | None,
        target: float | None,
        values: Mapping[str, object],
    ) -> "_Limits":
        """Return the limits among the arguments; `maxfun` is another name of the budget."""
        if isinstance(budget, str):
            budget = parse_budget(budget, problem.dimension)
        # Infinity is SciPy's word for no limit.
        maxfun = None if values.get("maxfun") == float("inf") else values.get("maxfun")
        budgets = (evaluation_count(budget), evaluation_count(maxfun, "maxfun"))

        def number(name: str) -> float | None:
            value = values.get(name)
            return None if value is None else real_number(value, name, 0.0)

        return cls(
            budget=min((limit for limit in budgets if limit is not None), default=None),
            target=target,
            iterations=evaluation_count(values.get("maxiter"), "maxiter", "iterations"),
            seconds=number("max_time"),
            tol=number("tol"),
            atol=number("atol"),
        )

    @property
    def end_on_convergence(self) -> bool:
        """True if the run ends where it would otherwise restart."""
        tolerances, ends = (self.tol, self.atol), (self.budget, self.target)
        return tolerances != (None, None) or ends == (None, None)

    def evaluations(self, problem: Problem) -> int:
        """Return the budget, by default a multiple of the dimension."""
        return self.budget or DEFAULT_BUDGET * max(1, problem.space.dimension)

    def rules(self, problem: Problem, callback: Callable[..., object] | None) -> list[StoppingRule]:
        """Return the stopping rules; the first that applies ends the run."""
        rules: list[StoppingRule] = []
        if self.budget is None:
            rules.append(AllFailed(_FAILURES * problem.space.dimension))
        if callback is not None:
            rules.append(Callback(callback, problem.space))
        rules += [Target(), Budget(default=self.budget is None), Done()]
        if self.end_on_convergence:
            rules.append(Converged())
        if self.iterations is not None:
            rules.append(Iterations(self.iterations))
        if self.seconds is not None:
            rules.append(Time(self.seconds))
        return rules

    def set_tolerances(self, optimizer: Optimizer) -> None:
        """Hand the tolerances to an optimizer; as in SciPy, `tol` replaces the default `atol`."""
        if self.tol is not None:
            optimizer.tol, optimizer.atol = self.tol, 0.0
        if self.atol is not None:
            optimizer.atol = self.atol


@dataclass(frozen=True)
class _Search:
    """The optimizer of a run before it is built: the method, its settings and its limits."""

    problem: Problem
    method: ConfigurationLike | None
    settings: Mapping[str, Any]
    limits: _Limits
    seed: int | np.random.Generator | None
    history: bool
    noisy: bool

    @classmethod
    def of(
        cls,
        problem: Problem,
        method: ConfigurationLike | None,
        seed: Seed,
        limits: _Limits,
        values: Mapping[str, Any],
    ) -> "_Search":
        """Return the search that the arguments and options describe."""
        return cls(
            problem,
            method,
            settings=_evolution_settings(values),
            limits=limits,
            seed=_as_numpy_seed(seed, values.get("rng")),
            history=values["history"],
            noisy=values["noise"] is True,
        )

    def build(self, x0: ArrayLike | None) -> Optimizer:
        """Return the optimizer, starting from the points x0."""
        # Settings without a method select differential evolution, fitted to the budget.
        fitted = self.method is None and bool(self.settings)
        default = RECOMMENDED if fitted else PORTFOLIO
        configuration = as_configuration(default if self.method is None else self.method)
        kind = optimizer_class(configuration.optimizer)
        arguments = problem_arguments(self.problem, configuration)
        _check_settings(self.settings, configuration)
        if self.limits.end_on_convergence:
            arguments |= kind.single_run
        if self.noisy and "noisy" in kind.settings_class.keywords():
            arguments["noisy"] = True
        optimizer = (kind if fitted else configuration.build)(
            x0=x0,
            seed=self.seed,
            budget=self.limits.evaluations(self.problem),
            target=self.limits.target,
            history=self.history,
            **(arguments | dict(self.settings)),
        )
        self.limits.set_tolerances(optimizer)
        return optimizer

    def start(
        self,
        x0: StartLike | None,
        known: Known | None,
        evaluator: Evaluator,
        saved: SavedState | None,
    ) -> tuple[Optimizer, Ending | None]:
        """Return the optimizer, and how the run ended if Ctrl-C came before its first batch.

        Several points x0 are the first population if they fit into one. Otherwise they are
        evaluated here, so that their values are known, and the search starts from the best; in a
        run that was saved, they have been evaluated already.
        """
        if saved is not None:
            return self.build(saved["run"]["x0"]), None
        points = self.problem.space.reduced(x0)
        starts = _several(points)
        if known is not None:
            return self._start_known(points, known, evaluator), None
        if starts is None:
            return self.build(points), None
        first = self.build(starts[:1])
        if first.starts_together and len(starts) <= (first.capacity or len(starts)):
            return self.build(starts), None
        # Raise an error if they are invalid.
        start_points(starts, first.low, first.high, getattr(first.settings, "boundary", ""))
        starts = self.problem.space.rounded(starts[: first.budget])
        try:
            values, violations, _ = evaluator(starts, first.epsilon)
        except EvaluationInterrupted as interrupt:
            for row, value in interrupt.ready:
                first.count_earlier(
                    starts[[row]], [value], [0.0] if evaluator.constrained else None
                )
            return first, INTERRUPTED
        evaluated = Known(starts, values, violations)
        optimizer = self.build(evaluated.best(first.capacity))
        evaluated.teach(optimizer, evaluator, counted=True)
        return optimizer, None

    def _start_known(
        self, points: ArrayLike | None, known: Known, evaluator: Evaluator
    ) -> Optimizer:
        """Return an optimizer that starts from the points x0 and from the best of those known."""
        capacity = self.build(None).capacity
        # Half of a population is left to chance.
        best = known.best(1 if capacity is None else max(1, capacity // 2))
        if points is not None and not isinstance(points, np.ndarray):
            points = self.build(points).x0  # checked
        starts = best if points is None else np.vstack([np.atleast_2d(points), best])[:capacity]
        optimizer = self.build(starts if len(starts) else None)
        known.teach(optimizer, evaluator, counted=False)
        return optimizer


def _check_settings(settings: Mapping[str, object], configuration: Configuration) -> None:
    """Refuse settings that the optimizer does not have."""
    accepted = optimizer_class(configuration.optimizer).settings_class.keywords()
    for name, value in settings.items():
        if name not in accepted:
            raise InvalidParameter(
                f"{configuration.name} does not accept {name}. Its settings: {', '.join(accepted)}",
                name=name,
                value=value,
            )


def _several(x0: object) -> FloatArray | None:
    """Return the points to start from, if there are several; the optimizer checks others."""
    try:
        points = real_numbers(x0)
    except (TypeError, ValueError):
        return None
    return points if points.ndim == 2 and len(points) > 1 else None
