"""Measure how much faster workers make a run that waits for the slowest of each batch.

    python benchmarks/workers.py speed docs/results/data/workers.csv
    python benchmarks/workers.py filled docs/results/data/filled.csv
    python benchmarks/workers.py dask docs/results/data/dask.csv

`speed` counts by a clock on which every evaluation takes the same time: w workers need ceil(n / w)
times that for a batch of n points. The default of `uaos.minimize` is compared with SciPy's
differential evolution (`workers=`, so that a generation is a batch) on six BBOB functions, and both
with one worker each. A row has the evaluations and the rounds of a run with 100·D evaluations, and
the rounds until the error is below 1 (inf: never within 2,000·D evaluations).

`filled` says what it would cost to fill batches of BFGS: each step of a line search with the D
points of the gradient that follows if the step is taken. The run is the same; only evaluations and
rounds are counted otherwise. A row has the shares of COCO's 51 targets after 20·D and 50·D
evaluations, and after 10·D rounds of eight workers.

`dask` runs `minimize(..., schedule="async")` on a Dask cluster of this machine, where an evaluation
sleeps for a log-normal time, and measures how long the workers are busy.
"""

import argparse
import contextlib
import csv
import math
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import differential_evolution

import uaos

FUNCTIONS = (1, 6, 8, 10, 13, 15)
WORKERS = (1, 2, 4, 8)
SPREAD = 0.5


class Enough(Exception):
    """Raised when the run has spent its evaluations."""


class Rounds:
    """Counts the rounds of workers that batches take."""

    def __init__(self, problem: Any, evaluations: int, error: float = -math.inf) -> None:
        self.problem, self.most, self.error = problem, evaluations, error
        self.sizes: list[int] = []
        self.reached = False

    def __call__(self, points: Any) -> Any:
        """Return the values of a batch."""
        points = points[: self.most - sum(self.sizes)]
        if not len(points) or self.reached:
            raise Enough
        self.sizes.append(len(points))
        values = [float(self.problem(x)) for x in points]
        self.reached = min(values) - self.problem.optimum <= self.error
        return values

    def rounds(self, workers: int) -> int:
        """Return the rounds so far on this many workers."""
        return sum(math.ceil(n / workers) for n in self.sizes)


def search_uaos(count: Rounds, dimension: int, seed: int) -> None:
    """Run the default search."""
    optimizer = uaos.Portfolio([(-5, 5)] * dimension, seed=seed, budget=count.most, history=False)
    while not optimizer.done:
        optimizer.tell(count(optimizer.ask()))


def search_scipy(count: Rounds, dimension: int, seed: int) -> None:
    """Run SciPy's differential evolution, whose batches are generations."""

    def evaluate(_: Callable[..., Any], points: Any) -> list[float]:
        batch = np.array(list(points))
        values = count(batch)
        return [*values, *[math.inf] * (len(batch) - len(values))]

    differential_evolution(
        count.problem, [(-5, 5)] * dimension, rng=seed, workers=evaluate, updating="deferred",
        polish=False, maxiter=10**6, tol=0,
    )  # fmt: skip


SEARCHES = {"uaos": search_uaos, "SciPy DE": search_scipy}


def counted(search: Callable[..., None], count: Rounds, dimension: int, seed: int) -> Rounds:
    """Return the rounds of a run."""
    with contextlib.suppress(Enough):
        search(count, dimension, seed)
    return count


def speed_rows(instances: range) -> Iterator[tuple[Any, ...]]:
    """Return a row for each search, problem and number of workers."""
    for dimension in (5, 10):
        for function in FUNCTIONS:
            for instance in instances:
                problem = uaos.suite("bbob", dimension=dimension, functions=str(function),
                                     instances=str(instance))[0]  # fmt: skip
                for name, search in SEARCHES.items():
                    run = counted(search, Rounds(problem, 100 * dimension), dimension, instance)
                    to_error = Rounds(problem, 2_000 * dimension, 1.0)
                    counted(search, to_error, dimension, instance)
                    for workers in WORKERS:
                        needed = to_error.rounds(workers) if to_error.reached else math.inf
                        yield (name, dimension, function, instance, workers, sum(run.sizes),
                               run.rounds(workers), needed)  # fmt: skip


SPEED = ("search", "dimension", "function", "instance", "workers", "evaluations", "rounds",
         "rounds to 1")  # fmt: skip


def batches(problem: Any, dimension: int, seed: int) -> Iterator[tuple[int, float]]:
    """Return the sizes of the batches of BFGS and the least errors after them, without an end."""
    optimizer = uaos.LocalSearch([(-5, 5)] * dimension, seed=seed, history=False)
    while True:
        points = optimizer.ask()
        optimizer.tell([float(problem(x)) for x in points])
        yield len(points), optimizer.best_fitness - problem.optimum


def filled_rows(instances: range) -> Iterator[tuple[Any, ...]]:
    """Return two rows for each problem: batches as they are, and filled."""
    targets = 10.0 ** np.linspace(2, -8, 51)
    for dimension in (5, 10):
        for function in range(1, 25):
            for instance in instances:
                problem = uaos.suite("bbob", dimension=dimension, functions=str(function),
                                     instances=str(instance))[0]  # fmt: skip
                for way in ("as they are", "filled"):
                    limits = (20 * dimension, 50 * dimension, 10 * dimension)
                    spent, shares = np.zeros(3), [0.0] * 3
                    for n, error in batches(problem, dimension, instance):
                        if way == "filled":  # a gradient's first D points came with the step
                            n = 1 + dimension if n == 1 else n - dimension
                        spent += (n, n, math.ceil(n / 8))
                        reached = float(np.mean(error <= targets))
                        shares = [reached if used <= limit else share for used, limit, share
                                  in zip(spent, limits, shares, strict=True)]  # fmt: skip
                        if (spent >= limits).all():
                            break
                    yield (dimension, function, instance, way, *(round(v, 5) for v in shares))


FILLED = ("dimension", "function", "instance", "batches", "20·D", "50·D", "rounds")


def dask_rows(numbers: tuple[int, ...], seconds: float, each: int) -> Iterator[Any]:
    """Return a row for each number of workers."""
    from distributed import Client

    def evaluate(x: Any) -> float:
        # The time depends on the point only, so that it can be added up here.
        time.sleep(duration(x))
        return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))

    def duration(x: Any) -> float:
        seed = int.from_bytes(sha256(x.tobytes()).digest()[:4])
        return float(np.random.default_rng(seed).lognormal(math.log(seconds), SPREAD))

    for workers in numbers:
        with Client(n_workers=1, threads_per_worker=workers, processes=False,
                    dashboard_address=None, host="tcp://127.0.0.1") as client:  # fmt: skip
            started = time.perf_counter()
            result = uaos.minimize(evaluate, [(-5, 5)] * 10, budget=each * workers, seed=1,
                                   workers=client, schedule="async", record="points")  # fmt: skip
            elapsed = time.perf_counter() - started
        slept = sum(duration(x) for x in result.X)
        yield (workers, result.nfev, round(elapsed, 2), round(slept / (workers * elapsed), 4))


DASK = ("workers", "evaluations", "seconds", "busy")


def write(path: Path, header: tuple[str, ...], rows: Iterator[Any]) -> None:
    """Write rows as they come."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for row in rows:
            writer.writerow(row)
            file.flush()


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    speed = commands.add_parser("speed")
    speed.add_argument("path", type=Path)
    speed.add_argument("--instances", type=int, default=3, help="instances 6, 7, …")
    filled = commands.add_parser("filled")
    filled.add_argument("path", type=Path)
    filled.add_argument("--instances", type=int, default=1, help="instances 6, 7, …")
    dask = commands.add_parser("dask")
    dask.add_argument("path", type=Path)
    dask.add_argument("--seconds", type=float, default=2.0, help="median of an evaluation")
    dask.add_argument("--each", type=int, default=50, help="evaluations per worker")
    chosen = parser.parse_args()
    if chosen.command == "speed":
        write(chosen.path, SPEED, speed_rows(range(6, 6 + chosen.instances)))
    elif chosen.command == "filled":
        write(chosen.path, FILLED, filled_rows(range(6, 6 + chosen.instances)))
    else:
        write(chosen.path, DASK, dask_rows((8, 32), chosen.seconds, chosen.each))


if __name__ == "__main__":
    main()
