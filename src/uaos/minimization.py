"""Minimize a black box in one call."""

import dataclasses
import functools
import inspect
import sys
import time
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, ParamSpec

import numpy as np

from uaos.arrays import FloatArray
from uaos.checks import evaluation_count, real_number, real_numbers, true_or_false
from uaos.errors import InvalidParameter
from uaos.extras import require
from uaos.optimizers import feasibility
from uaos.optimizers.base import Optimizer, optimizer_class
from uaos.optimizers.catalogue import RECOMMENDED, ConfigurationLike, as_configuration
from uaos.optimizers.de.optimizer import DEFAULT_BUDGET
from uaos.problems.constraints import Constraints
from uaos.problems.space import FreeSpace, start_points
from uaos.result import INFEASIBLE, Result
from uaos.runs.evaluator import Batch, Evaluator, Interrupted, Objective, Workers, over_batch
from uaos.text import count

#: What makes a run repeatable: what NumPy's generators are made from, as in SciPy.
Seed = (
    int | np.random.Generator | np.random.RandomState | np.random.SeedSequence
    | np.random.BitGenerator | None
)  # fmt: skip

#: The name of the default method.
PORTFOLIO = "portfolio"

# A run without a budget ends when this many evaluations per dimension have all failed.
_FAILURES = 100

#: The message of a result after Ctrl-C.
INTERRUPTED = "interrupted; this is the best so far"

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


def _with_advice(function: Callable[_P, Result]) -> Callable[_P, Result]:
    """The function with errors that say what to use in place of wrong arguments."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def checked(*args: _P.args, **given: _P.kwargs) -> Result:
        if len(args) > 2 or (len(args) == 2 and "bounds" in given):
            raise TypeError(
                "minimize() takes only fun and bounds by position; name the others: "
                "minimize(fun, bounds, x0=x0)"
            )
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                advice = _INSTEAD.get(name) or (f"did you mean {near[0]!r}?" if near else None)
                raise TypeError(
                    f"minimize() got an unexpected keyword argument {name!r}; "
                    + (advice or "help(uaos.minimize) lists the arguments")
                )
        return function(*args, **given)

    return checked


@_with_advice
def minimize(
    fun: Objective,
    bounds: Any,
    *,
    args: tuple[Any, ...] = (),
    method: ConfigurationLike | None = None,
    budget: int | None = None,
    seed: Seed = None,
    rng: Seed = None,
    x0: Any = None,
    popsize: int | str | None = None,
    vectorized: bool = False,
    workers: Workers = 1,
    callback: Callable[..., Any] | None = None,
    target: float | None = None,
    tol: float | None = None,
    atol: float | None = None,
    maxiter: int | None = None,
    maxfun: int | None = None,
    max_time: float | None = None,
    disp: bool = False,
    polish: bool | Callable[..., Any] = False,
    constraints: Any = None,
    integrality: Any = None,
    history: bool = True,
    on_error: str = "raise",
    F: Any = None,
    CR: Any = None,
    top_NP: float | str | None = None,
    boundary: str | None = None,
    operators: Sequence[Any] | str | None = None,
    center: bool | None = None,
    best_rule: str | None = None,
    archive: str | None = None,
    archive_size: float | None = None,
    schedule: Any = None,
    restart: Any = None,
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
    args : tuple or list
        Further arguments of `fun`.
    method : str, path, Method or Configuration, optional
        A name that `uaos methods` lists, a TOML file, a method or a configuration. None is the
        default: a portfolio of local search, CMA-ES and differential evolution that suits the
        dimension and the budget (:class:`uaos.Portfolio`), or, where a setting is given that only
        differential evolution has, ``"mix"``.
    budget : int, optional
        The largest number of evaluations, kept exactly; default 10 000·D.
    seed, rng : int, numpy.random.Generator, RandomState, SeedSequence or BitGenerator, optional
        Make the run repeatable; two names for the same thing.
    x0 : array_like, optional
        A point to start from, or several, (m, D): differential evolution has them in its first
        population, if it is large enough; otherwise, and with other methods, all are evaluated and
        the search starts from the best.
    popsize : int or str, optional
        Population size, or a multiple of the dimension such as "18D".
    vectorized : bool
        Whether `fun` takes all points of a batch at once.
    workers : int, Executor or map-like callable
        Evaluates a batch in parallel: a number of processes (-1: one for each processor), any
        ``concurrent.futures.Executor``, or a function like ``map``.
    callback : callable, optional
        Called after each batch as ``callback(intermediate_result)`` with the state of the run
        (`x`, `fun`, `nfev`, `nit`, and more: :class:`uaos.result.RunView`), or, if it
        takes two arguments, as ``callback(x, convergence)``, or, if its only one is called `xk`,
        as ``callback(xk)`` with the best point. The run ends if it returns a true value or raises
        StopIteration.
    target : float, optional
        The run ends once a value at or below it has been found.
    tol, atol : float, optional
        The run ends when it has converged: for a population when
        ``std f <= atol + tol * |mean f|``, for other methods by their own criterion, or when
        nothing improves any more. Also in force when neither `budget` nor `target` is given.
        Otherwise the run restarts until its budget is spent or its target reached.
    maxiter, maxfun, max_time : optional
        Further limits: iterations, evaluations (the same as `budget`), seconds.
    disp : bool
        Whether to print evaluations, best value and operators in use while the run goes on.
    polish : bool or callable
        Whether to improve the best point at the end with SciPy's L-BFGS-B (under constraints with
        its SLSQP), or a function to do it with, called as in SciPy:
        ``polish(fun, x, bounds=, constraints=)`` returns an object with `x`. Integer coordinates
        stay what they are. Its evaluations come on top of the budget, as in SciPy.
    constraints : NonlinearConstraint, LinearConstraint, Bounds, dict, or a sequence of these
        As in scipy.optimize; other objects with the same attributes will do. Feasible points come
        before infeasible ones, which are compared by their violations. `fun` is called only where
        a point is feasible, but every point counts as an evaluation. An equality (lb = ub) holds
        if it is met to 1e-6; on the way there `fun` is called at points that miss it, too.
    integrality : array_like of bool, optional
        Which coordinates are integers; one value stands for all.
    history : bool
        Whether the result has a history.
    on_error : {"raise", "fail"}
        What an exception in `fun` or a constraint does: end the run, or count as a failed
        evaluation.
    F, CR, top_NP, boundary, operators, center, best_rule, archive, archive_size, schedule, restart
        Settings of :class:`uaos.DifferentialEvolution`.

    Returns
    -------
    Result
        `x`, `fun`, `nfev`, `nit`, `success`, `message`, `seed`, `history`; with constraints
        `constr`, `constr_violation` and `maxcv`. `success` is True if the target was reached or
        the run converged, at a feasible point; a spent budget is no success.

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
    if seed is not None and rng is not None:
        raise InvalidParameter("rng", rng, "None where seed is given: it is the same argument")
    seed = rng if seed is None else seed
    if isinstance(seed, np.random.RandomState):
        seed = seed._bit_generator
    if isinstance(seed, np.random.SeedSequence | np.random.BitGenerator):
        seed = np.random.default_rng(seed)
    if not (isinstance(on_error, str) and on_error in ("raise", "fail")):
        raise InvalidParameter("on_error", on_error, '"raise" or "fail"')
    if callback is not None and not callable(callback):
        raise InvalidParameter("callback", callback, "a function of the run's state, or None")
    if not (callable(polish) or isinstance(polish, bool)):
        raise InvalidParameter("polish", polish, "True, False or a function")
    if polish:
        require("scipy", "polish")  # not only at the end of the run
    args = tuple(args) if isinstance(args, list) else args
    limit = _limit(budget, maxfun)
    iterations = evaluation_count(maxiter, "maxiter", "iterations")
    seconds = None if max_time is None else real_number(max_time, "max_time", 0.0)
    tolerances = {
        name: None if value is None else real_number(value, name, 0.0)
        for name, value in (("tol", tol), ("atol", atol))
    }
    stops = (limit is None and target is None) or any(v is not None for v in tolerances.values())
    space = FreeSpace(bounds, integrality)
    limits = Constraints(
        constraints, vectorized=true_or_false(vectorized, "vectorized"),
        tolerate=on_error == "fail",
    )  # fmt: skip
    settings = {
        "popsize": popsize, "F": F, "CR": CR, "top_NP": top_NP, "boundary": boundary,
        "operators": operators, "center": center, "best_rule": best_rule, "archive": archive,
        "archive_size": archive_size, "schedule": schedule, "restart": restart,
    }  # fmt: skip
    if space.dimension == 0:
        return _only_point(space, limits, fun, args, vectorized)

    def made(x0: Any) -> Optimizer:
        """The run, starting from the points x0."""
        run = _optimizer(
            method, space, stops, bool(limits.each),
            {k: v for k, v in settings.items() if v is not None},
            seed=seed, target=target, x0=x0, history=history,
            budget=DEFAULT_BUDGET * max(1, space.dimension) if limit is None else limit,
        )  # fmt: skip
        for name, value in tolerances.items():
            if value is not None:
                setattr(run, name, value)
        if tolerances["tol"] is not None and tolerances["atol"] is None:
            run.atol = 0.0
        return run

    given = space.reduced(x0)
    starts = _several(given)
    run = made(given if starts is None else starts[:1])
    if starts is not None:
        room = min(len(starts), run.capacity or len(starts))
        if run.starts_together and len(starts) <= room:
            run, starts = made(starts), None  # its first population
        else:
            start_points(starts, run.low, run.high, str(boundary))  # which checks them
            starts = starts[: run.budget]
            if space.integrality is not None:
                starts[:, space.integrality] = np.rint(starts[:, space.integrality])
    batched, processes = vectorized, workers
    # numba's functions have this attribute.
    compiled = hasattr(fun, "py_func") and not vectorized and on_error == "raise"
    if compiled and type(workers) is int and workers >= 1:
        batchwise = over_batch(fun, len(space.low), args, workers)
        if batchwise is not None:
            fun, batched, processes = batchwise, True, 1
    evaluator = Evaluator(
        space.function(fun, args), vectorized=batched, workers=processes,
        tolerate=on_error == "fail", full=space.full,
    )  # fmt: skip
    batch = Batch(space, limits, evaluator, workers)
    progress = _ProgressLine() if true_or_false(disp, "disp") else None
    asks_to_stop = _asking_to_stop(callback) if callback is not None else None
    started = time.monotonic()

    def ending() -> tuple[bool, str] | None:
        """Why the run ends here, before its budget is spent or its target reached."""
        if progress is not None:
            progress.show(run)
        if run.best_x is None:
            if limit is None and run.evaluations >= _FAILURES * space.dimension:
                return False, run.result.message
        elif asks_to_stop is not None and asks_to_stop(space.view(run.view)):
            return False, "the callback ended the run"
        if run.done:
            return None
        if stops and run.best_x is not None and run.converged:
            return True, "converged"
        if iterations is not None and run.iterations >= iterations:
            return False, f"the limit of {count(iterations, 'iteration')} is reached"
        if seconds is not None and time.monotonic() - started >= seconds:
            return False, f"the time limit of {seconds:g} s is reached"
        return None

    with evaluator, batch:
        try:
            if starts is not None:
                values, violations = batch(starts, run.epsilon)
                level = np.zeros(len(starts)) if violations is None else violations
                run = made(starts[feasibility.order(values, level)][:room])
                run.count_earlier(starts, values, violations)
                starts = None
            verdict = None
            while verdict is None and not run.done:
                run.tell(*batch(run.ask(), run.epsilon))
                verdict = ending()
            result = run.result
            if limit is None:  # so that nobody wonders which budget is meant
                message = result.message.replace("the budget", "the default budget", 1)
                result = dataclasses.replace(result, message=message)
            if verdict is not None:
                feasible = run.best_violation == 0
                message = verdict[1] if feasible else f"{verdict[1]}; {INFEASIBLE}"
                result = dataclasses.replace(
                    result, success=verdict[0] and feasible, message=message
                )
            if polish and result.x is not None:
                from uaos.runs.polish import polished, polished_by

                try:
                    result = (
                        polished_by(polish, result, batch, run, constraints) if callable(polish)
                        else polished(result, batch, run)
                    )  # fmt: skip
                except (Interrupted, KeyboardInterrupt):
                    result = dataclasses.replace(result, success=False, message=INTERRUPTED)
        except Interrupted as interrupt:
            asked = run.ask() if starts is None else starts
            result = _interrupted(run, asked, interrupt.ready)
        except KeyboardInterrupt:
            result = _interrupted(run, None, [])
        except Exception as error:
            if run.best_x is not None:
                after, x = count(run.evaluations, "evaluation"), space.full(run.best_x).tolist()
                error.add_note(f"best so far, after {after}: fun = {run.best_fitness!r}, x = {x}")
            raise
        if result.x is not None:
            result = batch.completed(dataclasses.replace(result, x=space.full(result.x)))
    if progress is not None:
        progress.end(result)
    return result


def _optimizer(
    method: ConfigurationLike | None,
    space: FreeSpace,
    stops: bool,
    constrained: bool,
    settings: dict[str, Any],
    **run: Any,
) -> Optimizer:
    """Return the optimizer that `method` stands for."""
    # A setting asks for differential evolution, which is then fitted to the budget.
    default = method is None and bool(settings)
    name = RECOMMENDED if default else PORTFOLIO
    chosen = as_configuration(name if method is None else method)
    kind = optimizer_class(chosen.optimizer)
    if constrained and "constraints" not in kind.handles:
        raise InvalidParameter(
            "method", chosen.name, "with constraints, the default method, a differential "
            "evolution or CMA-ES",
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
    """The points to start from, if there are several; what is wrong with others, the run says."""
    try:
        points = real_numbers(x0)
    except (TypeError, ValueError):
        return None
    return points if points.ndim == 2 and len(points) > 1 else None


def _only_point(
    space: FreeSpace, limits: Constraints, fun: Objective, args: tuple[Any, ...], vectorized: bool
) -> Result:
    """The result where every coordinate is held."""
    applied = space.function(fun, args)
    evaluator = Evaluator(applied, vectorized=vectorized, workers=1, tolerate=False)
    batch, nothing = Batch(space, limits, evaluator, 1), np.empty(0)
    feasible = batch.violation(nothing) == 0
    message = "converged: every coordinate is held by its bounds"
    return batch.completed(Result(
        x=space.low, fun=batch.objective(nothing) if feasible else np.inf, nfev=1, nit=0,
        success=feasible, message=message if feasible else INFEASIBLE, seed=None, history=None,
    ))  # fmt: skip


def _limit(budget: Any, maxfun: Any) -> int | None:
    limits = [
        evaluation_count(value, name) for name, value in (("budget", budget), ("maxfun", maxfun))
    ]
    given = [limit for limit in limits if limit is not None]
    return min(given) if given else None


class _ProgressLine:
    """The line on the terminal that `disp=True` prints while a run goes on."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty() or "ipykernel" in sys.modules
        self._started = self._next = time.monotonic()
        self._width = 0

    def show(self, run: Optimizer) -> None:
        """Print the state of the run, ten times a second at most.

        Into a file, which keeps every line, at times that double up to every ten seconds.
        """
        now = time.monotonic()
        if now >= self._next:
            passed = 0.0 if self._live else now - self._started
            self._next = now + min(max(0.1, passed), 10.0)
            self._write(self._line(run))

    def _line(self, run: Optimizer) -> str:
        found = f"best {run.best_fitness:.6g}"
        if run.best_violation > 0:
            found = f"least violation {run.best_violation:.3g}"
        parts = [count(run.evaluations, "evaluation"), found]
        order = np.argsort(-np.asarray(run.probabilities), kind="stable")[:3]
        if len(run.operators) > 1:
            parts += [f"{run.operators[k]} {run.probabilities[k]:.0%}" for k in order]
        return ", ".join(parts)

    def _write(self, line: str) -> None:
        if self._live:
            print("\r" + line.ljust(self._width), end="", flush=True)
            self._width = len(line)
        else:
            print(line, flush=True)

    def end(self, result: Result) -> None:
        """Print how the run ended."""
        self._write(f"{count(result.nfev, 'evaluation')}, best {result.fun:.6g}: {result.message}")
        if self._width:
            print(flush=True)


def _asking_to_stop(callback: Callable[..., Any]) -> Callable[[Any], bool]:
    """The callback as a function of the run's state that says whether to stop."""
    try:
        given = list(inspect.signature(callback).parameters.values())
    except (TypeError, ValueError):  # of some built-in functions
        given = [inspect.Parameter("state", inspect.Parameter.POSITIONAL_ONLY)]
    names = [p.name for p in given]
    positional = [p for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in positional)
    if not given or needed > 2:
        raise InvalidParameter(
            "callback", callback, "callback(intermediate_result) or callback(x, convergence)"
        )

    def stop(view: Any) -> bool:
        try:
            if "intermediate_result" in names:
                return bool(callback(intermediate_result=view))
            if "convergence" in names:
                return bool(callback(np.array(view.x), convergence=view.convergence))
            if needed == 2:
                return bool(callback(np.array(view.x), view.convergence))
            return bool(callback(np.array(view.x) if names == ["xk"] else view))
        except StopIteration:
            return True

    return stop


def _interrupted(optimizer: Optimizer, asked: Any, ready: list[tuple[int, float]]) -> Result:
    """The best so far, with what was ready of the points that were asked for when Ctrl-C came."""
    result = dataclasses.replace(optimizer.result, success=False, message=INTERRUPTED)
    result = dataclasses.replace(result, nfev=result.nfev + len(ready))
    finite = [(value, row) for row, value in ready if np.isfinite(value)]
    if finite and not min(finite)[0] >= result.fun:  # which may be NaN
        value, row = min(finite)
        return dataclasses.replace(result, x=asked[row], fun=value)
    return result
