"""Minimize a black box in one call."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ParamSpec, TypedDict, Unpack, cast, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import FloatArray
from uaos.checks import evaluation_count, real_number, real_numbers, true_or_false
from uaos.errors import InvalidParameter
from uaos.extras import require
from uaos.optimizers.base import Optimizer, optimizer_class
from uaos.optimizers.catalogue import RECOMMENDED, ConfigurationLike, as_configuration
from uaos.optimizers.de.optimizer import DEFAULT_BUDGET
from uaos.problems.problem import ANONYMOUS, Problem
from uaos.problems.space import start_points
from uaos.result import Result
from uaos.runs import stopping
from uaos.runs.callers import Workers
from uaos.runs.compiled import WithArguments
from uaos.runs.evaluator import Evaluator
from uaos.runs.polish import polished, polished_by
from uaos.runs.progress import ProgressLine
from uaos.runs.run import Polish, Run, described

#: What makes a run repeatable: what NumPy's generators are made from, as in SciPy.
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
    F: Any
    CR: Any
    top_NP: float | str | None
    boundary: str | None
    operators: Sequence[Any] | str | None
    center: bool | None
    best_rule: str | None
    archive: str | None
    archive_size: float | None
    schedule: Any
    restart: Any


class RunOptions(EvolutionOptions, total=False):
    """How a problem is evaluated, when the run ends, and what it shows."""

    rng: Seed
    workers: Workers
    on_error: str
    tol: float | None
    atol: float | None
    maxiter: int | None
    maxfun: int | None
    max_time: float | None
    callback: Callable[..., Any] | None
    disp: bool
    polish: bool | Callable[..., Any]
    history: bool


class ProblemOptions(TypedDict, total=False):
    """Parts of the problem beside the function and its bounds."""

    args: Sequence[Any]
    vectorized: bool
    constraints: Any
    integrality: Any


class Options(ProblemOptions, RunOptions, total=False):
    """The arguments of :func:`uaos.minimize` that most calls do without."""


# The defaults of options; None where nothing is said.
_DEFAULTS: dict[str, Any] = {
    "args": (), "vectorized": False, "workers": 1, "disp": False, "polish": False,
    "history": True, "on_error": "raise",
}  # fmt: skip

# What to write in place of arguments that other libraries have.
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
    **dict.fromkeys(("jac", "hess", "hessp"), "omit it: only values of fun are used"),
    **dict.fromkeys(("maxfev", "maxfevals", "max_nfev", "max_evals", "n_calls"), "use budget"),
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
    """Return what to say of a keyword argument that does not exist."""
    similar = get_close_matches(name, names, n=1)
    advice = _INSTEAD.get(name) or (f"did you mean {similar[0]!r}?" if similar else None)
    return f"minimize() got an unexpected keyword argument {name!r}; " + (
        advice or "help(uaos.minimize) lists the arguments"
    )


@_with_options
def minimize(
    fun: Callable[..., Any],
    bounds: Any,
    *,
    method: ConfigurationLike | None = None,
    budget: int | None = None,
    seed: Seed = None,
    x0: ArrayLike | None = None,
    target: float | None = None,
    **options: Unpack[Options],
) -> Result:
    """Minimize a function over a box.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args) -> float`` of a point, an array of length D; with `vectorized` of many
        points, (n, D), returning n values. NaN and infinite values are failed evaluations. A
        function that numba has compiled is called in a compiled loop over the batch; `workers` are
        threads then.
    bounds : sequence of pairs, array of shape (D, 2), or scipy.optimize.Bounds
        The box. A coordinate with low = high is held there.
    method : str, path, Method or Configuration, optional
        A name that `uaos methods` lists, a TOML file, a method or a configuration. None is the
        default: a portfolio of local search, CMA-ES and differential evolution that suits the
        dimension and the budget (:class:`uaos.Portfolio`), or, where a setting is given that only
        differential evolution has, ``"mix"``.
    budget : int, optional
        The largest number of evaluations, kept exactly; default 10 000·D.
    seed : int, numpy.random.Generator, RandomState, SeedSequence or BitGenerator, optional
        Makes the run repeatable.
    x0 : array_like, optional
        A point to start from, or several, (m, D): differential evolution has them in its first
        population, if it is large enough; otherwise, and with other methods, all are evaluated and
        the search starts from the best.
    target : float, optional
        The run ends once a value at or below it has been found.
    **options
        The other parameters, see :class:`uaos.minimization.Options`.

    Other Parameters
    ----------------
    args : tuple or list
        Further arguments of `fun`.
    vectorized : bool
        Whether `fun` takes all points of a batch at once.
    constraints : NonlinearConstraint, LinearConstraint, Bounds, dict, or a sequence of these
        As in scipy.optimize; other objects with the same attributes will do. Feasible points come
        before infeasible ones, which are compared by their violations. `fun` is called only where
        a point is feasible, but every point counts as an evaluation. An equality (lb = ub) holds
        if it is met to 1e-6; on the way there `fun` is called at points that miss it, too.
    integrality : array_like of bool, optional
        Which coordinates are integers; one value stands for all.
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
        constraints `constr`, `constr_violation` and `maxcv`. `success` is True if the target was
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
    args = options.pop("args", ())
    if not isinstance(args, tuple | list):
        raise InvalidParameter(
            f"args is {args!r}; expected a tuple of further arguments of fun",
            name="args",
            value=args,
        )
    problem = Problem(
        WithArguments(fun, tuple(args)) if args and callable(fun) else fun,
        bounds,
        name=ANONYMOUS,
        vectorized=options.pop("vectorized", False),
        constraints=options.pop("constraints", None),
        integrality=options.pop("integrality", None),
    )
    return minimize_problem(
        problem,
        method=method,
        budget=budget,
        seed=seed,
        x0=x0,
        target=target,
        **cast(RunOptions, options),
    )


def minimize_problem(
    problem: Problem,
    *,
    method: ConfigurationLike | None = None,
    budget: int | None = None,
    seed: Seed = None,
    x0: ArrayLike | None = None,
    target: float | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Minimize a problem; the arguments are those of :func:`uaos.minimize`."""
    chosen: dict[str, Any] = {**_DEFAULTS, **options}
    limit = _smallest_limit(budget, chosen.get("maxfun"))
    tolerances = _Tolerances.of(chosen.get("tol"), chosen.get("atol"))
    search = _Search(
        problem,
        method,
        settings={
            name: value
            for name in EvolutionOptions.__annotations__
            if (value := chosen.get(name)) is not None
        },
        stops=tolerances.given or (limit is None and target is None),
        tolerances=tolerances,
        arguments={
            "seed": _as_numpy_seed(seed, chosen.get("rng")),
            "target": target,
            "history": chosen["history"],
            "budget": DEFAULT_BUDGET * max(1, problem.space.dimension) if limit is None else limit,
        },
    )
    rules = _rules(problem, chosen, default_budget=limit is None, stops=search.stops)
    polish = _polishing(chosen["polish"])
    observers = [ProgressLine()] if true_or_false(chosen["disp"], "disp") else []
    evaluator = Evaluator(problem, workers=chosen["workers"], on_error=chosen["on_error"])
    with evaluator:
        if problem.space.dimension == 0:
            return _only_point(evaluator)
        first, starts = search.begin(x0)
        run = Run(first, evaluator, rules, observers)
        return run.complete(polish, starts, search.build)


def _smallest_limit(budget: int | None, maxfun: int | None) -> int | None:
    """Return the limit of evaluations, None if there is none."""
    limits = (evaluation_count(budget), evaluation_count(maxfun, "maxfun"))
    return min((limit for limit in limits if limit is not None), default=None)


def _as_numpy_seed(seed: Seed, rng: Seed) -> int | np.random.Generator | None:
    """Return the seed as optimizers take it."""
    if seed is not None and rng is not None:
        raise InvalidParameter(
            "rng and seed are the same argument; pass one of them", name="rng", value=rng
        )
    seed = rng if seed is None else seed
    if isinstance(seed, np.random.RandomState):
        seed = seed._bit_generator
    if isinstance(seed, np.random.SeedSequence | np.random.BitGenerator):
        return np.random.default_rng(seed)
    return seed


def _rules(
    problem: Problem, options: Mapping[str, Any], *, default_budget: bool, stops: bool
) -> list[stopping.Rule]:
    """Return the stopping rules that the arguments ask for, the first to apply first."""
    callback, seconds = options.get("callback"), options.get("max_time")
    iterations = evaluation_count(options.get("maxiter"), "maxiter", "iterations")
    rules: list[stopping.Rule] = []
    if default_budget:
        rules.append(stopping.AllFailed(_FAILURES * problem.space.dimension))
    if callback is not None:
        rules.append(stopping.Callback(callback, problem.space))
    rules += [stopping.Target(), stopping.Budget(default=default_budget), stopping.Done()]
    if stops:
        rules.append(stopping.Converged())
    if iterations is not None:
        rules.append(stopping.Iterations(iterations))
    if seconds is not None:
        rules.append(stopping.Time(real_number(seconds, "max_time", 0.0)))
    return rules


def _polishing(polish: bool | Callable[..., Any]) -> Polish | None:
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
    nothing = np.empty(0)
    feasible = evaluator.violation(nothing) == 0
    result = Result(
        x=nothing, fun=evaluator.objective(nothing) if feasible else np.inf, nfev=1, nit=0,
        success=feasible, status=0, message="", seed=None, history=None,
    )  # fmt: skip
    return described(result, stopping.HELD, evaluator, feasible=feasible)


@dataclass(frozen=True)
class _Tolerances:
    """When a run counts as converged; None is the optimizer's own."""

    tol: float | None
    atol: float | None

    @classmethod
    def of(cls, tol: float | None, atol: float | None) -> "_Tolerances":
        """Return the tolerances, checked."""
        return cls(
            None if tol is None else real_number(tol, "tol", 0.0),
            None if atol is None else real_number(atol, "atol", 0.0),
        )

    @property
    def given(self) -> bool:
        """Whether there is one."""
        return self.tol is not None or self.atol is not None

    def set_on(self, optimizer: Optimizer) -> None:
        """Hand them to an optimizer; `tol` alone stands for itself, as in SciPy."""
        if self.tol is not None:
            optimizer.tol, optimizer.atol = self.tol, 0.0
        if self.atol is not None:
            optimizer.atol = self.atol


@dataclass(frozen=True)
class _Search:
    """Which optimizer searches, and with what.

    Parameters
    ----------
    problem : Problem
        The problem.
    method : str, path, Method, Configuration or None
        What stands for the optimizer.
    settings : mapping
        Settings of the optimizer.
    stops : bool
        Whether the run ends where it would restart.
    tolerances : _Tolerances
        When it has converged.
    arguments : mapping
        Seed, target, history and budget.
    """

    problem: Problem
    method: ConfigurationLike | None
    settings: dict[str, Any]
    stops: bool
    tolerances: _Tolerances
    arguments: dict[str, Any]

    def build(self, x0: Any) -> Optimizer:
        """Return the optimizer, starting from the points x0."""
        built = _optimizer(
            self.method, self.problem, self.stops, dict(self.settings), x0=x0, **self.arguments
        )
        self.tolerances.set_on(built)
        return built

    def begin(self, x0: Any) -> tuple[Optimizer, FloatArray | None]:
        """Return an optimizer and the points to evaluate first, if it cannot take them itself."""
        space = self.problem.space
        points = space.reduced(x0)
        starts = _several(points)
        if starts is None:
            return self.build(points), None
        first = self.build(starts[:1])
        if first.starts_together and len(starts) <= (first.capacity or len(starts)):
            return self.build(starts), None  # its first population
        # Checks them.
        start_points(starts, first.low, first.high, str(self.settings.get("boundary")))
        return first, space.rounded(starts[: first.budget])


def _optimizer(
    method: ConfigurationLike | None,
    problem: Problem,
    stops: bool,
    settings: dict[str, Any],
    **run: Any,
) -> Optimizer:
    """Return the optimizer that `method` stands for."""
    space, constrained = problem.space, problem.constrained
    # A setting asks for differential evolution, which is then fitted to the budget.
    default = method is None and bool(settings)
    name = RECOMMENDED if default else PORTFOLIO
    chosen = as_configuration(name if method is None else method)
    kind = optimizer_class(chosen.optimizer)
    if constrained and "constraints" not in kind.handles:
        raise InvalidParameter(
            f"{chosen.name} cannot handle constraints; use the default method, a differential "
            "evolution or CMA-ES",
            name="method", value=chosen.name,
        )  # fmt: skip
    keywords = kind.settings_class.keywords()
    for name, value in settings.items():
        if name not in keywords:
            raise InvalidParameter(
                f"{chosen.name} does not accept {name}. Its settings: {', '.join(keywords)}",
                name=name, value=value,
            )  # fmt: skip
    if constrained and "constrained" in keywords:
        settings["constrained"] = True
    if stops:
        settings = {**kind.single_run, **settings}
    if default:
        return kind(space.bounds, integrality=space.integrality, **settings, **run)
    return chosen.build(space.bounds, integrality=space.integrality, **settings, **run)


def _several(x0: Any) -> FloatArray | None:
    """Return the points to start from, if there are several; the optimizer checks others."""
    try:
        points = real_numbers(x0)
    except (TypeError, ValueError):
        return None
    return points if points.ndim == 2 and len(points) > 1 else None
