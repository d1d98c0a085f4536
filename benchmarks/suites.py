"""Compare the default of `uaos.minimize` with other libraries on COCO's suites beside BBOB.

    python benchmarks/suites.py bbob-mixint --dim 5 --instances 6-10 --out runs.csv
    python benchmarks/suites.py bbob-largescale --dim 80 --instances 6 --of uaos,L-BFGS-B

Prints the share of COCO's 51 targets, 10² to 10⁻⁸ above the optimum, that the runs reach within a
budget per variable, on all functions and in each group. With `--out`, each run is a row of that
file, and runs that are in it are skipped. All contenders start from the same seeds,
are stopped exactly at the budget, and are started again with another seed when they end early.

- `uaos`: `uaos.minimize` with a budget, else defaults.
- `pycma`: BIPOP restarts from random points, σ0 a fifth of the box, its own treatment of bounds and
  of integers.
- `cmaes`: CMA-ES with margin of the library cmaes, restarted with a doubled population (IPOP).
- `scipy-de`: `scipy.optimize.differential_evolution` with its integrality.
- `L-BFGS-B`: SciPy's, from random points (no integers).
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

import uaos
from uaos.experiments import ECDF_TARGETS
from uaos.problems import Problem

Array = np.ndarray
COLUMNS = ("suite", "problem", "dimension", "contender", "evaluations_per_dimension", "share")


class Spent(Exception):
    """Raised when the budget is used up."""


class Objective:
    """A problem that counts its evaluations and remembers the best value."""

    def __init__(self, problem: Problem, budget: int) -> None:
        self.problem, self.left, self.best = problem, budget, np.inf
        self.integers = np.zeros(problem.dimension, bool)
        if problem.space.integrality is not None:
            self.integers = problem.space.integrality > 0

    def __call__(self, x: Array) -> float:
        """Return the value at a point, moved into the box, with integers rounded."""
        if self.left <= 0:
            raise Spent
        self.left -= 1
        x = np.clip(x, self.problem.low, self.problem.high)
        x = np.where(self.integers, np.rint(x), x)
        value = float(self.problem.fun(x))
        self.best = min(self.best, value)
        return value


def _uaos(objective: Objective, seed: int) -> None:
    bounds = objective.problem.bounds
    chosen = objective.integers if objective.integers.any() else None
    uaos.minimize(
        objective, bounds, integrality=chosen, budget=objective.left, seed=seed, history=False
    )


def _pycma(objective: Objective, seed: int) -> None:
    import cma

    low, high, rng = objective.problem.low, objective.problem.high, np.random.default_rng(seed)
    width, integers = high - low, np.flatnonzero(objective.integers).tolist()
    options = {
        "bounds": [low.tolist(), high.tolist()], "seed": seed + 1, "verbose": -9, "verb_log": 0,
        "CMA_stds": width / width.mean(), "integer_variables": integers,
        "maxfevals": objective.left,
    }  # fmt: skip
    cma.fmin2(
        objective, lambda: rng.uniform(low, high), 0.2 * width.mean(), options, restarts=9,
        bipop=True,
    )  # fmt: skip


def _cmaes(objective: Objective, seed: int) -> None:
    from cmaes import CMAwM

    low, high, rng = objective.problem.low, objective.problem.high, np.random.default_rng(seed)
    D, steps = len(low), objective.integers.astype(float)
    width, popsize = high - low, 4 + int(3 * np.log(len(low)))
    while True:
        # In units of the width, but for integers, whose steps are 1.
        unit = np.where(objective.integers, 1.0, width)
        bounds = np.column_stack([low / unit, high / unit])
        search = CMAwM(
            mean=rng.uniform(low, high) / unit, sigma=0.2 * float(np.mean(width / unit)),
            bounds=bounds, steps=steps, population_size=popsize, seed=int(rng.integers(2**31)),
            cov=np.diag((width / unit / np.mean(width / unit)) ** 2) if D > 1 else None,
        )  # fmt: skip
        while not search.should_stop():
            told = []
            for _ in range(search.population_size):
                evaluated, point = search.ask()
                told.append((point, objective(evaluated * unit)))
            search.tell(told)
        popsize *= 2


def _scipy_de(objective: Objective, seed: int) -> None:
    from scipy.optimize import differential_evolution

    differential_evolution(
        objective, objective.problem.bounds, integrality=objective.integers, rng=seed,
        maxiter=10**6, polish=False,
    )  # fmt: skip


def _lbfgsb(objective: Objective, seed: int) -> None:
    from scipy.optimize import minimize

    low, high = objective.problem.low, objective.problem.high
    start = np.random.default_rng(seed).uniform(low, high)
    minimize(objective, start, bounds=list(zip(low, high, strict=True)), method="L-BFGS-B")


CONTENDERS: dict[str, Callable[[Objective, int], None]] = {
    "uaos": _uaos, "pycma": _pycma, "cmaes": _cmaes, "scipy-de": _scipy_de, "L-BFGS-B": _lbfgsb,
}  # fmt: skip


def share(problem: Problem, contender: str, budget: int, seed: int) -> float:
    """Return the share of targets that a contender reaches on a problem."""
    objective = Objective(problem.renewed(), budget * problem.dimension)
    assert problem.optimum is not None
    while objective.left > 0 and objective.best - problem.optimum > ECDF_TARGETS[-1]:
        try:
            CONTENDERS[contender](objective, seed)
        except Spent:
            break
        seed += 1000
    error = objective.best - problem.optimum
    return float(np.mean(error <= np.array(ECDF_TARGETS) * (1 + 1e-9)))


def main() -> None:
    """Run the contenders and print their shares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite")
    parser.add_argument("--dim", type=int)
    parser.add_argument("--instances", default="6-10")
    parser.add_argument("--functions")
    parser.add_argument("--budget", type=int, default=100, help="evaluations per variable")
    parser.add_argument("--of", default="uaos,pycma,cmaes,scipy-de")
    parser.add_argument("--out", help="file of runs, with a row for each")
    chosen = parser.parse_args()
    suite = uaos.suite(
        chosen.suite, dimension=chosen.dim, functions=chosen.functions, instances=chosen.instances
    )
    names = chosen.of.split(",")
    done = {tuple(row[:-1]): row[-1] for row in read(chosen.out)}
    shares: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in names}
    for (k, problem), contender in product(enumerate(suite, 1), names):
        key = (chosen.suite, problem.name, str(problem.dimension), contender, str(chosen.budget))
        if key not in done:
            with np.errstate(all="ignore"):
                done[key] = f"{share(problem, contender, chosen.budget, k):.4f}"
            if chosen.out:
                write(chosen.out, [*key, done[key]])
        for group in ("all", str(problem.group)):
            shares[contender][group].append(float(done[key]))
    for contender, groups in shares.items():
        text = ", ".join(f"{group} {np.mean(each):.3f}" for group, each in groups.items())
        print(f"{contender} {chosen.budget}·D ({len(suite)} runs): {text}")


def read(path: str | None) -> list[list[str]]:
    """Return the rows of a file of runs, none if there is no such file."""
    if path is None or not Path(path).exists():
        return []
    with Path(path).open() as file:
        return list(csv.reader(file))[1:]


def write(path: str, row: list[str]) -> None:
    """Append a run to a file."""
    new = not Path(path).exists()
    with Path(path).open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        writer.writerow(row)


if __name__ == "__main__":
    main()
