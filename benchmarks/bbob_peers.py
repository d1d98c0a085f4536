"""Run optimizers of other libraries on BBOB, and print the share of COCO's 51 targets they reach.

    python benchmarks/bbob_peers.py peers.json --dim 20 --instances test:3 --budget 10000 --jobs 2

All search the box and have their library's defaults. One that ends early is started again, with
another seed, until the budget (evaluations per dimension) is spent. Needs cma and scipy.
"""

import argparse
import json
import warnings
from collections import defaultdict
from itertools import count
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

import uaos

TARGETS = 10.0 ** np.linspace(2, -8, 51)


class Spent(Exception):
    """Raised when the budget is used up or the last target reached."""


class Objective:
    """A problem that notes at which evaluation each target was reached."""

    def __init__(self, problem: Any, budget: int) -> None:
        self.problem, self.budget = problem, budget
        self.used, self.hits = 0, []

    def __call__(self, x: Any) -> float:
        if self.used >= self.budget or len(self.hits) == len(TARGETS):
            raise Spent
        value = float(self.problem(np.clip(x, -5, 5)))
        self.used += 1
        while len(self.hits) < len(TARGETS):
            if value - self.problem.optimum > TARGETS[len(self.hits)]:
                break
            self.hits.append(self.used)
        return value


def pycma(f: Objective, dimension: int, rng: np.random.Generator) -> None:
    import cma

    options = {
        "bounds": [0, 1], "verbose": -9, "seed": int(rng.integers(1, 2**31)),
        "tolfun": 1e-12, "tolfunhist": 1e-12, "maxfevals": np.inf,
    }  # fmt: skip
    cma.fmin2(
        lambda u: f(10 * np.asarray(u) - 5), lambda: rng.random(dimension), 0.25, options,
        restarts=9, bipop=True,
    )  # fmt: skip


def scipy_de(f: Objective, dimension: int, rng: np.random.Generator) -> None:
    from scipy.optimize import differential_evolution

    differential_evolution(f, [(-5, 5)] * dimension, maxiter=10**6, tol=0, atol=1e-12, rng=rng)


def scipy_annealing(f: Objective, dimension: int, rng: np.random.Generator) -> None:
    from scipy.optimize import dual_annealing

    dual_annealing(f, [(-5, 5)] * dimension, maxiter=10**6, rng=rng)


PEERS = {
    "pycma, BIPOP": pycma,
    "SciPy, differential evolution": scipy_de,
    "SciPy, dual annealing": scipy_annealing,
}


def run(job: tuple[str, int, int, int, int]) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    peer, function, dimension, instance, budget = job
    objective = Objective(uaos.problems.BBOB(function, dimension, instance), budget * dimension)
    for attempt in count():
        try:
            PEERS[peer](objective, dimension, np.random.default_rng([attempt, function, instance]))
        except Spent:
            break
    return {"peer": peer, "function": function, "instance": instance, "hits": objective.hits}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--dim", type=int, default=20)
    parser.add_argument("--instances", default="test:3")
    parser.add_argument("--budget", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    suite = uaos.suite("bbob", dimension=given.dim, instances=given.instances)
    jobs = [
        (peer, int(problem.function[1:]), given.dim, problem.instance, given.budget)
        for peer in PEERS
        for problem in suite
    ]
    with Pool(given.jobs) as pool:
        rows = list(pool.imap_unordered(run, jobs, chunksize=1))
    given.out.write_text(json.dumps(rows), encoding="utf-8")
    found = defaultdict(list)
    for row in rows:
        found[row["peer"]].append(row["hits"])
    budgets = [b for b in (100, 1_000, 10_000, 100_000) if b <= given.budget]
    print("optimizer".ljust(30), *(f"{b}D".rjust(8) for b in budgets))
    for peer, runs in found.items():
        reached = [sum(h <= b * given.dim for hits in runs for h in hits) for b in budgets]
        print(peer.ljust(30), *(f"{n / len(runs) / len(TARGETS):8.3f}" for n in reached))


if __name__ == "__main__":
    main()
