"""Constrained problems: uaos.minimize beside SciPy's differential evolution at equal evaluations.

    python benchmarks/constraints.py cec2006.csv [--seeds 3] [--evaluations 240000] [g01 …]

The problems are of the CEC 2006 competition (Liang et al. 2006), which has equalities met to 1e-4;
L8 and L9 are SciPy's own versions of g05 and g11, met to 1e-3. SciPy's problems L1 to L7 are g01,
g09, g07, g10, g08, g06 and g04. Every run gets the same number of points; SciPy has its defaults
but for `tol=0`, since it would end too early, and `polish=False`. Both get functions of many points
at once. Runs of uaos end early once they are within 1e-8 of the optimum. A row per run is appended
to the file: the error f - f*, infinite if the run did not end feasible. Runs that are in it are
skipped.
"""

import argparse
import csv
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
CLOSE = 1e-8
COLUMNS = ("problem", "dimension", "evaluations", "solver", "seed", "error")
# SciPy may end this far outside: it evaluates its result alone, and batches round differently.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Problem:
    """Minimize `fun` subject to g <= 0 and |h| <= tolerance; all of many points, (n, D)."""

    name: str
    fun: Callable[[Array], Array]
    bounds: list[tuple[float, float]]
    optimum: float
    g: Callable[[Array], list[Any]] = field(default=lambda X: [])
    h: Callable[[Array], list[Any]] = field(default=lambda X: [])
    tolerance: float = 1e-4

    def values(self, X: Array) -> Array:
        """Return the values of all constraint functions, (n, M)."""
        return np.column_stack([*self.g(X.T), *self.h(X.T)])

    def limits(self) -> tuple[Array, Array]:
        """Return the lower and upper bounds of the constraints."""
        x = np.array([[0.5 * (a + b)] for a, b in self.bounds])
        inequalities, equalities = len(self.g(x)), len(self.h(x))
        low = [-np.inf] * inequalities + [-self.tolerance] * equalities
        return np.array(low), np.array([0.0] * inequalities + [self.tolerance] * equalities)


def _g01(x):
    return 5 * x[:4].sum(0) - 5 * (x[:4] ** 2).sum(0) - x[4:].sum(0)


def _c01(x):
    return [
        2 * x[0] + 2 * x[1] + x[9] + x[10] - 10,
        2 * x[0] + 2 * x[2] + x[9] + x[11] - 10,
        2 * x[1] + 2 * x[2] + x[10] + x[11] - 10,
        -8 * x[0] + x[9],
        -8 * x[1] + x[10],
        -8 * x[2] + x[11],
        -2 * x[3] - x[4] + x[9],
        -2 * x[5] - x[6] + x[10],
        -2 * x[7] - x[8] + x[11],
    ]


def _g02(x):
    c = np.cos(x)
    i = np.arange(1, len(x) + 1)[:, None]
    return -np.abs((c**4).sum(0) - 2 * (c**2).prod(0)) / np.sqrt((i * x**2).sum(0))


def _c04(x):
    u = 85.334407 + 0.0056858 * x[1] * x[4] + 0.0006262 * x[0] * x[3] - 0.0022053 * x[2] * x[4]
    v = 80.51249 + 0.0071317 * x[1] * x[4] + 0.0029955 * x[0] * x[1] + 0.0021813 * x[2] ** 2
    w = 9.300961 + 0.0047026 * x[2] * x[4] + 0.0012547 * x[0] * x[2] + 0.0019085 * x[2] * x[3]
    return [u - 92, -u, v - 110, 90 - v, w - 25, 20 - w]


def _h05(x):
    return [
        1000 * np.sin(-x[2] - 0.25) + 1000 * np.sin(-x[3] - 0.25) + 894.8 - x[0],
        1000 * np.sin(x[2] - 0.25) + 1000 * np.sin(x[2] - x[3] - 0.25) + 894.8 - x[1],
        1000 * np.sin(x[3] - 0.25) + 1000 * np.sin(x[3] - x[2] - 0.25) + 1294.8,
    ]


def _g07(x):
    return (
        x[0] ** 2 + x[1] ** 2 + x[0] * x[1] - 14 * x[0] - 16 * x[1] + (x[2] - 10) ** 2
        + 4 * (x[3] - 5) ** 2 + (x[4] - 3) ** 2 + 2 * (x[5] - 1) ** 2 + 5 * x[6] ** 2
        + 7 * (x[7] - 11) ** 2 + 2 * (x[8] - 10) ** 2 + (x[9] - 7) ** 2 + 45
    )  # fmt: skip


def _c07(x):
    return [
        -105 + 4 * x[0] + 5 * x[1] - 3 * x[6] + 9 * x[7],
        10 * x[0] - 8 * x[1] - 17 * x[6] + 2 * x[7],
        -8 * x[0] + 2 * x[1] + 5 * x[8] - 2 * x[9] - 12,
        3 * (x[0] - 2) ** 2 + 4 * (x[1] - 3) ** 2 + 2 * x[2] ** 2 - 7 * x[3] - 120,
        5 * x[0] ** 2 + 8 * x[1] + (x[2] - 6) ** 2 - 2 * x[3] - 40,
        x[0] ** 2 + 2 * (x[1] - 2) ** 2 - 2 * x[0] * x[1] + 14 * x[4] - 6 * x[5],
        0.5 * (x[0] - 8) ** 2 + 2 * (x[1] - 4) ** 2 + 3 * x[4] ** 2 - x[5] - 30,
        -3 * x[0] + 6 * x[1] + 12 * (x[8] - 8) ** 2 - 7 * x[9],
    ]


def _g08(x):
    return -(np.sin(2 * np.pi * x[0]) ** 3 * np.sin(2 * np.pi * x[1])) / (x[0] ** 3 * (x[0] + x[1]))


def _g09(x):
    return (
        (x[0] - 10) ** 2 + 5 * (x[1] - 12) ** 2 + x[2] ** 4 + 3 * (x[3] - 11) ** 2
        + 10 * x[4] ** 6 + 7 * x[5] ** 2 + x[6] ** 4 - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6]
    )  # fmt: skip


def _c09(x):
    return [
        -127 + 2 * x[0] ** 2 + 3 * x[1] ** 4 + x[2] + 4 * x[3] ** 2 + 5 * x[4],
        -282 + 7 * x[0] + 3 * x[1] + 10 * x[2] ** 2 + x[3] - x[4],
        -196 + 23 * x[0] + x[1] ** 2 + 6 * x[5] ** 2 - 8 * x[6],
        4 * x[0] ** 2 + x[1] ** 2 - 3 * x[0] * x[1] + 2 * x[2] ** 2 + 5 * x[5] - 11 * x[6],
    ]


def _c10(x):
    return [
        -1 + 0.0025 * (x[3] + x[5]),
        -1 + 0.0025 * (x[4] + x[6] - x[3]),
        -1 + 0.01 * (x[7] - x[4]),
        -x[0] * x[5] + 833.33252 * x[3] + 100 * x[0] - 83333.333,
        -x[1] * x[6] + 1250 * x[4] + x[1] * x[3] - 1250 * x[3],
        -x[2] * x[7] + 1250000 + x[2] * x[4] - 2500 * x[4],
    ]


def _c12(x):
    centers = np.arange(1.0, 10.0)
    away = [((np.asarray(x[j])[..., None] - centers) ** 2).min(axis=-1) for j in range(3)]
    return [sum(away) - 0.0625]


def _g18(x):
    return -0.5 * (
        x[0] * x[3] - x[1] * x[2] + x[2] * x[8] - x[4] * x[8] + x[4] * x[7] - x[5] * x[6]
    )


def _c18(x):
    return [
        x[2] ** 2 + x[3] ** 2 - 1,
        x[8] ** 2 - 1,
        x[4] ** 2 + x[5] ** 2 - 1,
        x[0] ** 2 + (x[1] - x[8]) ** 2 - 1,
        (x[0] - x[4]) ** 2 + (x[1] - x[5]) ** 2 - 1,
        (x[0] - x[6]) ** 2 + (x[1] - x[7]) ** 2 - 1,
        (x[2] - x[4]) ** 2 + (x[3] - x[5]) ** 2 - 1,
        (x[2] - x[6]) ** 2 + (x[3] - x[7]) ** 2 - 1,
        x[6] ** 2 + (x[7] - x[8]) ** 2 - 1,
        x[1] * x[2] - x[0] * x[3],
        -x[2] * x[8],
        x[4] * x[8],
        x[5] * x[6] - x[4] * x[7],
    ]


def _g05(x):
    return 3 * x[0] + 1e-6 * x[0] ** 3 + 2 * x[1] + 2e-6 / 3 * x[1] ** 3


def _c05(x):
    return [x[2] - x[3] - 0.55, x[3] - x[2] - 0.55]


def _g11(x):
    return x[0] ** 2 + (x[1] - 1) ** 2


def _h11(x):
    return [x[1] - x[0] ** 2]


B05 = [(0, 1200)] * 2 + [(-0.55, 0.55)] * 2
PROBLEMS = (
    Problem("g01", _g01, [(0, 1)] * 9 + [(0, 100)] * 3 + [(0, 1)], -15.0, _c01),
    Problem("g02", _g02, [(0, 10)] * 20, -0.80361910412559,
            lambda x: [0.75 - x.prod(0), x.sum(0) - 150]),
    Problem("g03", lambda x: -(10**5) * x.prod(0), [(0, 1)] * 10, -1.00050010001000,
            h=lambda x: [(x**2).sum(0) - 1]),
    Problem("g04", lambda x: 5.3578547 * x[2] ** 2 + 0.8356891 * x[0] * x[4] + 37.293239 * x[0]
            - 40792.141, [(78, 102), (33, 45)] + [(27, 45)] * 3, -30665.53867178332, _c04),
    Problem("g05", _g05, B05, 5126.4967140071, _c05, _h05),
    Problem("g06", lambda x: (x[0] - 10) ** 3 + (x[1] - 20) ** 3, [(13, 100), (0, 100)],
            -6961.81387558015, lambda x: [-((x[0] - 5) ** 2) - (x[1] - 5) ** 2 + 100,
                                          (x[0] - 6) ** 2 + (x[1] - 5) ** 2 - 82.81]),
    Problem("g07", _g07, [(-10, 10)] * 10, 24.30620906818, _c07),
    Problem("g08", _g08, [(0, 10)] * 2, -0.0958250414180359,
            lambda x: [x[0] ** 2 - x[1] + 1, 1 - x[0] + (x[1] - 4) ** 2]),
    Problem("g09", _g09, [(-10, 10)] * 7, 680.630057374402, _c09),
    Problem("g10", lambda x: x[0] + x[1] + x[2],
            [(100, 10000)] + [(1000, 10000)] * 2 + [(10, 1000)] * 5, 7049.24802052867, _c10),
    Problem("g11", _g11, [(-1, 1)] * 2, 0.7499, h=_h11),
    Problem("g12", lambda x: -(100 - ((x - 5) ** 2).sum(0)) / 100, [(0, 10)] * 3, -1.0, _c12),
    Problem("g13", lambda x: np.exp(x.prod(0)), [(-2.3, 2.3)] * 2 + [(-3.2, 3.2)] * 3,
            0.053941514041898, h=lambda x: [(x**2).sum(0) - 10, x[1] * x[2] - 5 * x[3] * x[4],
                                            x[0] ** 3 + x[1] ** 3 + 1]),
    Problem("g18", _g18, [(-10, 10)] * 8 + [(0, 20)], -0.866025403784439, _c18),
    Problem("g24", lambda x: -x[0] - x[1], [(0, 3), (0, 4)], -5.50801327159536, lambda x: [
        -2 * x[0] ** 4 + 8 * x[0] ** 3 - 8 * x[0] ** 2 + x[1] - 2,
        -4 * x[0] ** 4 + 32 * x[0] ** 3 - 88 * x[0] ** 2 + 96 * x[0] + x[1] - 36]),
    Problem("L8", _g05, B05, 5126.484153725061, _c05, _h05, 1e-3),
    Problem("L9", _g11, [(-1, 1)] * 2, 0.749, h=_h11, tolerance=1e-3),
)  # fmt: skip


def with_uaos(problem: Problem, seed: int, evaluations: int, method: str | None) -> tuple[Any, Any]:
    """Return the error of one run and whether it ended feasible."""
    import uaos

    class Within:
        fun = staticmethod(problem.values)
        lb, ub = problem.limits()

    result = uaos.minimize(
        lambda X: problem.fun(X.T), problem.bounds, constraints=Within, vectorized=True,
        budget=evaluations, target=problem.optimum + CLOSE, seed=seed, method=method, history=False,
    )  # fmt: skip
    return result.fun - problem.optimum, result.maxcv == 0


def with_scipy(problem: Problem, seed: int, evaluations: int, _: Any) -> tuple[Any, Any]:
    """Return the same of SciPy."""
    from scipy.optimize import NonlinearConstraint, differential_evolution

    low, high = problem.limits()
    batch = 15 * len(problem.bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = differential_evolution(
            problem.fun, problem.bounds, rng=seed, vectorized=True, updating="deferred",
            constraints=NonlinearConstraint(lambda x: problem.values(x.T).T, low, high),
            maxiter=evaluations // batch - 1, tol=0, polish=False,
        )  # fmt: skip
    return result.fun - problem.optimum, result.maxcv <= ROUNDING


def main() -> None:
    """Append the runs that the file lacks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("problems", nargs="*", default=[p.name for p in PROBLEMS])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--evaluations", type=int, default=240_000)
    parser.add_argument("--method", default=None, help="of uaos; default: its default")
    parser.add_argument("--only", choices=("uaos", "SciPy"), help="measure one of the two")
    given = parser.parse_args()
    makers = {"uaos": with_uaos, "SciPy": with_scipy}
    makers = {name: make for name, make in makers.items() if given.only in (None, name)}
    done = set()
    if given.out.exists():
        with given.out.open(encoding="utf-8") as file:
            done = {tuple(row[c] for c in COLUMNS[:-1]) for row in csv.DictReader(file)}
    with given.out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if not done:
            writer.writerow(COLUMNS)
        chosen = (problem for problem in PROBLEMS if problem.name in given.problems)
        for seed, problem, name in product(range(1, given.seeds + 1), chosen, makers):
            key = problem.name, len(problem.bounds), given.evaluations, name, seed
            if tuple(map(str, key)) not in done:
                error, feasible = makers[name](problem, seed, given.evaluations, given.method)
                writer.writerow([*key, f"{error:.3g}" if feasible else "inf"])
                file.flush()


if __name__ == "__main__":
    main()
