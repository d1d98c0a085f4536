"""Compare whole runs with other libraries: the same Python function, called the same way."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import functions
import numpy as np
from scipy.optimize import differential_evolution
from table import Row, Section
from timing import Sample, interleaved

from uaos import minimize
from uaos.result import Status

try:
    import pygmo
except ImportError:
    pygmo = None
try:
    from pymoo.algorithms.soo.nonconvex.de import DE
    from pymoo.config import Config
    from pymoo.core.problem import ElementwiseProblem
    from pymoo.optimize import minimize as pymoo_minimize
except ImportError:
    DE = None

TITLE = "peers"
Function = Callable[[np.ndarray], Any]
FUNCTIONS = (functions.sphere, functions.rastrigin)
EVALUATIONS = 20_000
SIZES = (50, 200, 400)
# "Many times faster" in the issue; the number is ours.
MANY = 1 / 3
MISSING = "not installed (the extra `bench` has it)"


class WrongCount(Exception):
    """Raised when a peer evaluates more or fewer points, so that times cannot be compared."""


def run(quick: bool) -> Section:
    rows = [row for f in FUNCTIONS for row in _function(f, quick)]
    for NP in (20, *SIZES):
        rows += _against_cpp(NP, 3 if quick else 15)
    how = (
        f"time per evaluation of a whole run, {EVALUATIONS} evaluations by each, set-up included; "
        "the function takes one point, a 1-D array. sphere is x.dot(x), so nearly free; rastrigin "
        "a few NumPy calls. pygmo and pymoo get the function inside the problem object that they "
        "require; tolerances that would end a run early are off. The compiled function is "
        "Rosenbrock's, by numba and, of pygmo, in C++. For “many times faster” the aim "
        "is a third."
    )
    return Section(TITLE, how, tuple(rows))


def _function(f: Function, quick: bool) -> list[Row]:
    alone = interleaved({"alone": lambda: _alone(f)}, 5)["alone"].scaled(1e6 / EVALUATIONS)
    rows = [Row(f"{f.__name__} alone, in a plain loop", alone.text("µs"))]
    for NP in SIZES:
        rows += _against_pygmo(f, NP, 3 if quick else 15)
    # These take so long that fewer rounds must do.
    return rows + _against_slow(f, 200, 2 if quick else 5)


def _against_pygmo(f: Function, NP: int, rounds: int) -> list[Row]:
    contenders = {name: lambda m=name: _uaos(f, NP, m) for name in ("U-AOS-FW", "rand/1")}
    if pygmo is not None:
        contenders["pygmo de1220"] = lambda: _pygmo(f, NP, pygmo.de1220)
        contenders["pygmo de"] = lambda: _pygmo(f, NP, pygmo.de)
    rivals = (("U-AOS-FW", "pygmo de1220", 1.0), ("rand/1", "pygmo de", None))
    return _rows(f"{f.__name__}, NP {NP}", interleaved(contenders, rounds), rivals)


def _against_cpp(NP: int, rounds: int) -> list[Row]:
    """Compare runs on compiled objectives: no Python is called for a point."""
    f = functions.compiled_rosenbrock
    names = ("U-AOS-FW", "mix", "rand/1")
    contenders = {name: lambda m=name: _uaos(f, NP, m) for name in names}
    if pygmo is not None:
        cpp = pygmo.rosenbrock(functions.D)
        contenders["pygmo de1220"] = lambda: _pygmo_of(cpp, NP, pygmo.de1220)
    rivals = tuple((name, "pygmo de1220", 2.0) for name in names)
    return _rows(f"compiled, NP {NP}", interleaved(contenders, rounds), rivals)


def _against_slow(f: Function, NP: int, rounds: int) -> list[Row]:
    contenders = {"U-AOS-FW": lambda: _uaos(f, NP, "U-AOS-FW"), "scipy": lambda: _scipy(f, NP)}
    if DE is not None:
        contenders["pymoo"] = lambda: _pymoo(f, NP)
    rivals = (("U-AOS-FW", "scipy", MANY), ("U-AOS-FW", "pymoo", MANY))
    return _rows(f"{f.__name__}, NP {NP}", interleaved(contenders, rounds), rivals)


def _rows(
    case: str, found: dict[str, Sample], rivals: tuple[tuple[str, str, float | None], ...]
) -> list[Row]:
    rows = []
    for own, rival, aim in rivals:
        what, cost = f"{case}: {own}", found[own].scaled(1e6 / EVALUATIONS)
        wanted = "" if aim is None else f"<= {aim:.2g}"
        if rival not in found:
            met = "not measured" if wanted else ""
            rows.append(Row(what, cost.text("µs"), f"{rival}: {MISSING}", "", wanted, met))
            continue
        other = found[rival].scaled(1e6 / EVALUATIONS)
        ratio = cost.over(other)
        reference = f"{rival}: {other.text('µs')}"
        met = "" if aim is None else ratio.verdict(aim)
        rows.append(Row(what, cost.text("µs"), reference, ratio.text(), wanted, met))
    return rows


def _check(evaluations: int) -> None:
    if evaluations != EVALUATIONS:
        raise WrongCount(f"{evaluations} evaluations, not {EVALUATIONS}")


def _alone(f: Function) -> float:
    X = np.random.default_rng(1).uniform(-5, 5, (EVALUATIONS, functions.D))
    start = perf_counter()
    for x in X:
        f(x)
    return perf_counter() - start


def _uaos(f: Function, NP: int, method: str) -> float:
    start = perf_counter()
    result = minimize(f, functions.BOUNDS, method=method, popsize=NP, budget=EVALUATIONS, seed=1)
    seconds = perf_counter() - start
    if result.status == Status.INTERRUPTED:  # with the best so far, and no exception
        raise KeyboardInterrupt
    _check(result.nfev)
    return seconds


def _pygmo(f: Function, NP: int, algorithm: Any) -> float:
    class Problem:
        def fitness(self, x: np.ndarray) -> tuple[float]:
            return (f(x),)

        def get_bounds(self) -> tuple[list[float], list[float]]:
            low, high = zip(*functions.BOUNDS, strict=True)
            return list(low), list(high)

    return _pygmo_of(Problem(), NP, algorithm)


def _pygmo_of(problem: Any, NP: int, algorithm: Any) -> float:
    start = perf_counter()
    generations = EVALUATIONS // NP - 1  # the initial population counts too
    population = pygmo.population(pygmo.problem(problem), size=NP, seed=1)
    evolver = pygmo.algorithm(algorithm(gen=generations, ftol=0.0, xtol=0.0, seed=1))
    population = evolver.evolve(population)
    seconds = perf_counter() - start
    _check(population.problem.get_fevals())
    return seconds


def _scipy(f: Function, NP: int) -> float:
    start = perf_counter()
    result = differential_evolution(
        f, functions.BOUNDS, popsize=NP // functions.D, maxiter=EVALUATIONS // NP - 1, tol=0.0,
        atol=0.0, polish=False, rng=1,
    )  # fmt: skip
    seconds = perf_counter() - start
    _check(result.nfev)
    return seconds


def _pymoo(f: Function, NP: int) -> float:
    class Problem(ElementwiseProblem):
        def _evaluate(self, x: np.ndarray, out: dict[str, Any], *_: Any, **__: Any) -> None:
            out["F"] = f(x)

    Config.warnings["not_compiled"] = False
    start = perf_counter()
    problem = Problem(n_var=functions.D, n_obj=1, xl=-5.0, xu=5.0)
    end = ("n_gen", EVALUATIONS // NP)
    result = pymoo_minimize(problem, DE(pop_size=NP), end, seed=1, verbose=False)
    seconds = perf_counter() - start
    _check(result.algorithm.evaluator.n_eval)
    return seconds
