"""Record traces of differential evolution: what every operator would have made of each parent.

    python benchmarks/traces.py record      write src/uaos/data/traces-*.npz
    python benchmarks/traces.py published   write src/uaos/data/traces-published.csv

A run chooses operators uniformly. At every fifth of its generations each operator makes an
offspring of each of the first parents; these offspring are evaluated and do not take part in the
run. So any selector can be replayed (:mod:`uaos.scenarios.traces`).
"""

import csv
import sys
from pathlib import Path

import numpy as np

import uaos
from uaos.optimizers.base import Optimizer
from uaos.problems import Problem
from uaos.scenarios import traces

HOSTS = {"nine": "uniform", "mix": "mix-uniform"}
DIMENSION, NP, PARENTS, GENERATIONS, EVERY = 10, 50, 20, 40, 5
INSTANCES = (1, 2)
# Errors below this are 0 for COCO.
PRECISION = 1e-8


def errors(problem: Problem, points: np.ndarray) -> np.ndarray:
    """Return how far values are above the optimum."""
    assert problem.optimum is not None
    return np.maximum(problem.evaluate(points) - problem.optimum, PRECISION)


def record(configuration: uaos.Configuration, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return errors of parents, (T, N), and log10 of those of offspring over them, (T, N, K)."""
    run = configuration.build(problem.bounds, seed=1, history=False, NP=NP, NP_schedule="constant")
    parents, ratios = [], []
    while len(parents) < GENERATIONS:
        if run.iterations % EVERY == 0 and run.evaluations:
            before = errors(problem, run.population.rows[:PARENTS])
            after = [offspring_errors(run, problem, k) for k in range(len(run.operators))]
            parents.append(before)
            ratios.append(np.log10(np.array(after).T / before[:, None]))
        run.tell(problem.evaluate(run.ask()))
    return np.array(parents), np.array(ratios)


def offspring_errors(run: Optimizer, problem: Problem, operator: int) -> np.ndarray:
    """Return the errors of the offspring that one operator makes of the first parents."""
    points = run._make_offspring(np.full(NP, operator))
    return errors(problem, points[:PARENTS])


def record_host(host: str, folder: Path) -> None:
    """Write the traces of one host."""
    arrays = {}
    for instance in INSTANCES:
        suite = uaos.suite("bbob", dimension=DIMENSION, instances=str(instance))
        for number, problem in enumerate(suite, start=1):
            before, ratio = record(uaos.configuration(HOSTS[host]), problem)
            arrays[f"f{number}-i{instance} parents"] = before.astype(np.float32)
            arrays[f"f{number}-i{instance} offspring"] = ratio.astype(np.float16)
            print(f"{host} f{number} instance {instance}: best {before.min():.1e}", flush=True)
    arrays["operators"] = np.array(uaos.configuration(HOSTS[host]).settings.names)
    arrays["version"] = np.array(traces.VERSION)
    np.savez_compressed(folder / f"traces-{host}.npz", **arrays)


def score_published(folder: Path) -> None:
    """Write the mean score of each method of the literature on the runs of each host."""
    from map import literature

    with (folder / "traces-published.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["method", *HOSTS])
        for name, method in literature().items():
            scores = [traces.score(method, traces.load(host)).mean() for host in HOSTS]
            writer.writerow([name, *(f"{score:.4f}" for score in scores)])


if __name__ == "__main__":
    data = Path(traces.__file__).parents[1] / "data"
    match sys.argv[1:]:
        case ["record"]:
            for host in HOSTS:
                record_host(host, data)
        case ["published"]:
            score_published(data)
        case _:
            sys.exit(__doc__)
