"""Minimise a black box in one call."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from uaos.errors import InvalidParameter
from uaos.optimizers.arguments import box
from uaos.optimizers.de.optimizer import (
    DEFAULT_BUDGET,
    DifferentialEvolution,
    MethodLike,
    known_arguments,
)
from uaos.optimizers.de.view import EngineView
from uaos.optimizers.evaluation import Evaluator, Interrupted, Objective, Workers
from uaos.optimizers.result import Result


def minimize(
    fun: Objective,
    bounds: Any,
    *,
    method: MethodLike = None,
    budget: int | None = None,
    seed: int | np.random.Generator | None = None,
    x0: Any = None,
    popsize: int | str | None = None,
    vectorized: bool = False,
    workers: Workers = 1,
    callback: Callable[[EngineView], Any] | None = None,
    target: float | None = None,
    boundary: str | None = None,
    history: bool = True,
    on_error: str = "raise",
    **settings: Any,
) -> Result:
    """Minimise `fun` over a box.

    `fun` gets a point, an array of length D, and returns a number; with `vectorized` it gets a
    whole generation, (n, D), and returns n numbers. `workers` evaluates a generation in parallel: a
    number of processes (-1: one for each processor; `fun` must then be importable), any
    `concurrent.futures.Executor`, or a function like `map`. The same seed gives the same result in
    every mode, so whatever ends a run does so after a whole generation: the `target` (a fitness at
    or below which the run ends), the `callback`, which gets the state of the run and ends it by
    returning True or raising StopIteration. Only the `budget` is exact to the evaluation (default:
    10 000 for each dimension).

    `boundary=None` means the configuration's own rule, which is "midpoint" by default. NaN and
    infinite values are failures, which never survive; with `on_error="fail"`, exceptions of `fun`
    are too. Ctrl-C returns the best so far. `method=None` is the recommended configuration with its
    population fitted to a short budget; given by its name, it keeps its own population size. For
    `method`, `popsize` and further settings (`F`, `CR`, `top_NP`, `operators`, …) see
    :class:`DifferentialEvolution`, for `success` and `message` :class:`Result`.
    """
    known_arguments(settings, "minimize", minimize, DifferentialEvolution.__init__)
    low, _ = box(bounds)
    if not (isinstance(on_error, str) and on_error in ("raise", "fail")):
        raise InvalidParameter("on_error", on_error, '"raise" or "fail"')
    if callback is not None and not callable(callback):
        raise InvalidParameter("callback", callback, "a function of the run's state, or None")
    de = DifferentialEvolution(
        bounds, method=method, popsize=popsize, boundary=boundary, seed=seed, x0=x0, target=target,
        budget=DEFAULT_BUDGET * len(low) if budget is None else budget, history=history, **settings,
    )  # fmt: skip
    evaluator = Evaluator(fun, vectorized=vectorized, workers=workers, tolerate=on_error == "fail")
    with evaluator as evaluate:
        try:
            while not de.done:
                de.tell(evaluate(de.ask()))
                if de.state.x is None:
                    break
                if callback is not None and _says_stop(callback, de.state):
                    return de._result(True, "the callback ended the run")
        except Interrupted as interrupt:
            return _interrupted(de, interrupt.ready)
        except KeyboardInterrupt:
            return _interrupted(de, [])
    return de.result


def _says_stop(callback: Callable[[EngineView], Any], state: EngineView) -> bool:
    try:
        verdict = callback(state)
    except StopIteration:
        return True
    return isinstance(verdict, bool | np.bool_) and bool(verdict)


def _interrupted(de: DifferentialEvolution, ready: list[tuple[int, float]]) -> Result:
    """The best so far, with what was ready of the generation that Ctrl-C cut short."""
    result = de._result(False, "interrupted; this is the best so far")
    result = dataclasses.replace(result, nfev=result.nfev + len(ready))
    finite = [(value, row) for row, value in ready if np.isfinite(value)]
    if finite and not min(finite)[0] >= result.fun:  # which may be NaN
        value, row = min(finite)
        return dataclasses.replace(result, x=de.ask()[row], fun=value)
    return result
