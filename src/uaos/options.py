"""Optional arguments of `minimize` that most calls omit: types, defaults and advice."""

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ParamSpec, TypedDict, get_type_hints

from numpy.typing import ArrayLike

from uaos.arrays import IntArray
from uaos.optimizers.de.operators import PoolMember
from uaos.optimizers.de.rules import RateRule
from uaos.optimizers.de.settings import Linear, Stagnation
from uaos.problems.derivatives import GradientLike
from uaos.result import Result
from uaos.runs.callers import Workers
from uaos.runs.known import KnownLike
from uaos.runs.search import Seed


class EvolutionOptions(TypedDict, total=False):
    """Settings of :class:`uaos.DifferentialEvolution`; None keeps that of the method."""

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
    NP_schedule: Linear | Mapping[str, object] | str | None
    restart: Stagnation | Mapping[str, object] | str | None


class RunOptions(EvolutionOptions, total=False):
    """Options for evaluation, stopping and output."""

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
    schedule: str | IntArray | None


class ProblemOptions(TypedDict, total=False):
    """Parts of the problem besides the function and its bounds."""

    args: Sequence[object]
    vectorized: bool
    constraints: object
    integrality: ArrayLike | None
    scale: ArrayLike | None
    jac: GradientLike


class Options(ProblemOptions, RunOptions, total=False):
    """Optional arguments of :func:`uaos.minimize` that most calls omit."""


# The defaults of options; None for all others.
DEFAULTS: dict[str, object] = {
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
    # Of least squares.
    "jac": "omit it: differences of the residuals are used",
    **dict.fromkeys(("loss", "f_scale"), "omit it, and transform the residuals themselves"),
    **dict.fromkeys(
        ("constraints", "integrality", "vectorized"),
        "use minimize, with half the sum of squares as the function",
    ),
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


def with_options(
    options: type,
) -> Callable[[Callable[_P, Result]], Callable[_P, Result]]:
    """Give a function with ``**options`` a signature that names them, and errors that advise."""
    return functools.partial(_with_options, options)


def _with_options(options: type, function: Callable[_P, Result]) -> Callable[_P, Result]:
    name = function.__name__
    declared = inspect.signature(function)
    parameters = [p for p in declared.parameters.values() if p.kind is not p.VAR_KEYWORD]
    parameters += [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS.get(name), annotation=kind
        )
        for name, kind in get_type_hints(options).items()
    ]
    signature = declared.replace(parameters=parameters)
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    example = "seed=1" if "x0" in positional else "x0=x0"

    @functools.wraps(function)
    def checked(*args: _P.args, **keywords: _P.kwargs) -> Result:
        if len(args) > len(positional) or set(positional[: len(args)]) & set(keywords):
            raise TypeError(
                f"{name}() takes only {', '.join(positional[:-1])} and {positional[-1]} by "
                f"position; name the others: {name}({', '.join(positional)}, {example})"
            )
        for keyword in keywords:
            if keyword not in signature.parameters:
                raise TypeError(_advice(name, keyword, signature.parameters))
        return function(*args, **keywords)

    checked.__signature__ = signature  # type: ignore[attr-defined]
    return checked


def _advice(function: str, name: str, names: Mapping[str, object]) -> str:
    """Return the message for a keyword argument that does not exist."""
    similar = get_close_matches(name, names, n=1)
    advice = _INSTEAD.get(name) or (f"did you mean {similar[0]!r}?" if similar else None)
    return f"{function}() got an unexpected keyword argument {name!r}; " + (
        advice or f"help(uaos.{function}) lists the arguments"
    )


def evolution_settings(values: Mapping[str, object]) -> dict[str, Any]:
    """Return the settings of differential evolution among the options."""
    names = EvolutionOptions.__annotations__
    return {name: values[name] for name in names if values.get(name) is not None}
