"""Compare optimizers of other families with other libraries: the cost of one evaluation."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import functions
import numpy as np
from table import Row, Section
from timing import interleaved

from uaos import minimize

TITLE = "families"
EVALUATIONS = 20_000
AXES = np.linalg.qr(np.random.default_rng(1).standard_normal((functions.D, functions.D)))[0]
MATRIX = (AXES * np.logspace(0, 4, functions.D)) @ AXES.T
MISSING = "not installed (the extra `bench` has it)"
#: Ours, the peer beside it, and the most times the peer's cost that is aimed at.
PAIRS: tuple[tuple[str, str, float | None], ...] = (
    ("CMA-ES", "pycma", 0.1),
    ("CMA-ES", "pygmo cmaes", None),
    ("CMA-ES", "minionpy BIPOP-aCMA-ES", None),
    ("portfolio", "pycma", None),
    ("portfolio", "minionpy ARRDE", None),
    ("BFGS", "SciPy L-BFGS-B", None),
)


def run(quick: bool) -> Section:
    alone = interleaved({"alone": _alone}, 5)["alone"].scaled(1e6)
    contenders: dict[str, Callable[[], float]] = {
        name: lambda name=name: _uaos(name) for name in ("portfolio", "CMA-ES", "BFGS")
    }
    contenders |= {name: peer for name, peer in PEERS.items() if _works(peer)}
    found = interleaved(contenders, 2 if quick else 7)
    rows = [Row("the function alone, in a plain loop", alone.text("µs"))]
    for own, peer, aim in PAIRS:
        cost, wanted = found[own].scaled(1e6), "" if aim is None else f"<= {aim:g}"
        if peer not in found:
            met = "not measured" if wanted else ""
            rows.append(Row(own, cost.text("µs"), f"{peer}: {MISSING}", "", wanted, met))
            continue
        other = found[peer].scaled(1e6)
        ratio = cost.over(other)
        met = "" if aim is None else ratio.verdict(aim)
        rows.append(Row(own, cost.text("µs"), f"{peer}: {other.text('µs')}", ratio.text(), wanted,
                        met))  # fmt: skip
    how = (
        f"time per evaluation of a whole run on a rotated ellipsoid in {functions.D}-D, "
        f"{EVALUATIONS} evaluations, set-up and the function itself included; the function takes "
        "one point. Runs that end early are started again; a peer's default settings, with bounds."
    )
    return Section(TITLE, how, tuple(rows))


def _works(peer: Callable[[], float]) -> bool:
    try:
        peer()
    except ImportError:
        return False
    return True


class _Counted:
    """Return an ellipsoid, nearly free and not separable, with a count of its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: np.ndarray) -> float:
        self.calls += 1
        return x.dot(MATRIX.dot(x))


def _alone() -> float:
    X = np.random.default_rng(1).uniform(-5, 5, (EVALUATIONS, functions.D))
    f = _Counted()
    start = perf_counter()
    for x in X:
        f(x)
    return (perf_counter() - start) / EVALUATIONS


def _repeated(start_run: Callable[[_Counted, int], Any]) -> float:
    """Run with new seeds until the evaluations are used up; return seconds per evaluation."""
    f, seed = _Counted(), 0
    start = perf_counter()
    while f.calls < EVALUATIONS:
        seed += 1
        start_run(f, seed)
    return (perf_counter() - start) / f.calls


def _uaos(method: str) -> float:
    return _repeated(
        lambda f, seed: minimize(f, functions.BOUNDS, method=method, budget=EVALUATIONS, seed=seed)
    )


def _pycma() -> float:
    import cma

    options = {"bounds": [-5, 5], "maxfevals": EVALUATIONS, "verbose": -9, "verb_log": 0}

    def start_run(f: _Counted, seed: int) -> None:
        x0 = np.random.default_rng(seed).uniform(-4, 4, functions.D)
        cma.fmin2(f, x0, 2.0, options | {"seed": seed})

    return _repeated(start_run)


def _pygmo() -> float:
    import pygmo

    class Problem:
        def __init__(self, f: _Counted) -> None:
            self.f = f

        def fitness(self, x: np.ndarray) -> tuple[float]:
            return (self.f(x),)

        def get_bounds(self) -> tuple[list[float], list[float]]:
            return [-5.0] * functions.D, [5.0] * functions.D

        def __deepcopy__(self, _: Any) -> "Problem":
            return self  # pygmo copies problems; the count must stay one

    def start_run(f: _Counted, seed: int) -> None:
        size = 4 + int(3 * np.log(functions.D))
        population = pygmo.population(pygmo.problem(Problem(f)), size=size, seed=seed)
        generations = EVALUATIONS // size
        pygmo.algorithm(pygmo.cmaes(generations, force_bounds=True, seed=seed)).evolve(population)

    return _repeated(start_run)


def _minion(algorithm: str) -> float:
    import minionpy

    def start_run(f: _Counted, seed: int) -> None:
        minionpy.Minimizer(
            lambda X: [f(x) for x in np.asarray(X)], functions.BOUNDS, algo=algorithm,
            maxevals=EVALUATIONS, seed=seed,
        ).optimize()  # fmt: skip

    return _repeated(start_run)


def _scipy() -> float:
    from scipy.optimize import minimize as scipy_minimize

    def start_run(f: _Counted, seed: int) -> None:
        x0 = np.random.default_rng(seed).uniform(-5, 5, functions.D)
        scipy_minimize(f, x0, method="L-BFGS-B", bounds=functions.BOUNDS)

    return _repeated(start_run)


PEERS: dict[str, Callable[[], float]] = {
    "pycma": _pycma,
    "pygmo cmaes": _pygmo,
    "minionpy BIPOP-aCMA-ES": lambda: _minion("BIPOP_aCMAES"),
    "minionpy ARRDE": lambda: _minion("ARRDE"),
    "SciPy L-BFGS-B": _scipy,
}
