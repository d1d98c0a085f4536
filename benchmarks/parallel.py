"""Many workers whose evaluations take different times, by a simulated clock.

    python benchmarks/parallel.py --csv docs/results/data/parallel.csv

Each evaluation takes a log-normal time (sigma 0.5, so that one in six takes more than 1.65 times
the median). Compared are `schedule="async"` of the default search, its default schedule, and pycma
with as many offspring as there are workers, which waits for all of them. Optuna's samplers run only
if `--only` names them. Rows of the file that are not computed again stay.
"""

import argparse
import csv
import heapq
import warnings
from collections.abc import Callable
from pathlib import Path

import cma
import cocoex
import numpy as np

import uaos
from uaos.optimizers.base.outstanding import Outstanding

FUNCTIONS = (1, 2, 6, 8, 10, 13, 15, 21)
WORKERS = (8, 32, 128)
PRECISION = 1e-5
SPREAD = 0.5


class Clock:
    """Draws durations, and adds up how long workers are busy."""

    def __init__(self, workers: int, seed: int) -> None:
        self.rng, self.workers = np.random.default_rng(seed), workers
        self.time = self.busy = 0.0

    def duration(self) -> float:
        seconds = float(self.rng.lognormal(0.0, SPREAD))
        self.busy += seconds
        return seconds

    def batch(self, n: int) -> None:
        """Let the workers evaluate n points, and wait for the last."""
        ends = [0.0] * self.workers
        for _ in range(n):
            heapq.heappush(ends, heapq.heappop(ends) + self.duration())
        self.time += max(ends)

    @property
    def share(self) -> float:
        return self.busy / (self.time * self.workers) if self.time else 0.0


def asynchronous(f: Callable, bounds: list, clock: Clock, target: float, budget: int, seed: int):
    optimizer = uaos.Portfolio(bounds, seed=seed, budget=budget, target=target, history=False)
    points, running = Outstanding(optimizer, clock.workers), []
    while not optimizer.done:
        for number, x in points.ask(clock.workers - len(running)):
            heapq.heappush(running, (clock.time + clock.duration(), number, f(x)))
        clock.time, number, value = heapq.heappop(running)
        points.tell(number, value)
    clock.busy -= sum(end - clock.time for end, _, _ in running)
    return optimizer.evaluations, optimizer.on_target


def synchronous(f: Callable, bounds: list, clock: Clock, target: float, budget: int, seed: int):
    optimizer = uaos.Portfolio(bounds, seed=seed, budget=budget, target=target, history=False)
    while not optimizer.done:
        points = optimizer.ask()
        clock.batch(len(points))
        optimizer.tell([f(x) for x in points])
    return optimizer.evaluations, optimizer.on_target


def pycma(f: Callable, bounds: list, clock: Clock, target: float, budget: int, seed: int):
    low, high = np.array(bounds).T
    x0 = np.random.default_rng(seed).uniform(0.8 * low, 0.8 * high)
    options = {"popsize": max(clock.workers, 4), "seed": seed + 1, "verbose": -9,
               "bounds": [list(low), list(high)]}  # fmt: skip
    search, evaluations = cma.CMAEvolutionStrategy(x0, 2.0, options), 0
    while evaluations < budget:
        points = search.ask()
        clock.batch(len(points))
        values = [f(x) for x in points]
        evaluations += len(points)
        if min(values) <= target:
            return evaluations, True
        search.tell(points, values)
        if search.stop():
            x0 = np.random.default_rng(seed + evaluations).uniform(0.8 * low, 0.8 * high)
            search = cma.CMAEvolutionStrategy(x0, 2.0, options)
    return evaluations, False


def optuna(make: Callable) -> Callable:
    """Return a search with a sampler of Optuna, whose trials are told as they end."""

    def run(f: Callable, bounds: list, clock: Clock, target: float, budget: int, seed: int):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.simplefilter("ignore")
        study = optuna.create_study(sampler=make(optuna.samplers, seed))
        running, evaluations, value = [], 0, np.inf
        while evaluations < budget and not value <= target:
            while len(running) < min(clock.workers, budget - evaluations):
                trial = study.ask()
                x = [trial.suggest_float(f"x{j}", *pair) for j, pair in enumerate(bounds)]
                heapq.heappush(running, (clock.time + clock.duration(), trial.number, f(x)))
            clock.time, number, value = heapq.heappop(running)
            study.tell(number, value)
            evaluations += 1
        clock.busy -= sum(end - clock.time for end, _, _ in running)
        return evaluations, value <= target

    return run


CONTENDERS = {
    "uaos, async": asynchronous,
    "uaos, sync": synchronous,
    "pycma": pycma,
    "Optuna, CMA-ES": optuna(lambda samplers, seed: samplers.CmaEsSampler(seed=seed)),
    "Optuna, TPE": optuna(
        lambda samplers, seed: samplers.TPESampler(seed=seed, constant_liar=True)
    ),
}


def rows(chosen: argparse.Namespace):
    dimension, budget = chosen.dimension, chosen.budget * chosen.dimension
    instances = range(6, 6 + chosen.instances)
    bounds = [(-5.0, 5.0)] * dimension
    for function in chosen.functions:
        for instance in instances:
            f = cocoex.BareProblem("bbob", function, dimension, instance)
            target = f.best_value() + PRECISION
            for workers in (1, *chosen.workers):
                for name in chosen.only:
                    if workers == 1 and name != "uaos, sync":
                        continue
                    clock = Clock(workers, instance)
                    spent, solved = CONTENDERS[name](f, bounds, clock, target, budget, instance)
                    yield (name, workers, function, instance, spent, int(solved),
                           round(clock.time, 2), round(clock.share, 4))  # fmt: skip


HEADER = ("search", "workers", "function", "instance", "evaluations", "solved", "time", "busy")


def numbers(text: str) -> list[int]:
    """Return the numbers of a list such as "8,32"."""
    return [int(part) for part in text.split(",")]


def place(row) -> tuple[int, ...]:
    """Return the place of a row in the file: by function, instance, workers and search."""
    return int(row[2]), int(row[3]), int(row[1]), list(CONTENDERS).index(row[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--instances", type=int, default=3, help="instances 6, 7, …")
    parser.add_argument("--budget", type=int, default=2000, help="evaluations per dimension")
    parser.add_argument("--functions", type=numbers, default=FUNCTIONS)
    parser.add_argument("--workers", type=numbers, default=WORKERS)
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS)[:3])
    chosen = parser.parse_args()
    kept = {}
    if chosen.csv.exists():
        with chosen.csv.open(encoding="utf-8") as file:
            kept = {place(row): row for row in list(csv.reader(file))[1:]}
    for row in rows(chosen):
        kept[place(row)] = row
        with chosen.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(HEADER)
            writer.writerows(kept[key] for key in sorted(kept))
    print(f"written: {chosen.csv}; python docs/make_results.py makes the table")


if __name__ == "__main__":
    main()
