"""Adaptive choice in other libraries on a broader set of problems than adapters.py, and its cost:

python benchmarks/adapters_further.py docs/results/data/adapters-further.csv --seeds 17
python benchmarks/adapters_further.py docs/results/data/adapters-cost.csv --seeds 3

The problems differ from the development problems of adapter_cases.py, in kind, dimension or
instance. Writes one row for each run: value (smaller is better) and seconds of processor time. Runs
that the file has are kept. The values of WFG problems differ a little from one process to the next,
as pymoo draws the points of their fronts at random.
"""

import argparse
import csv
import math
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from adapter_cases import (
    Case,
    bits,
    conflicts,
    differential,
    genetic,
    large_neighborhood,
    orders,
    packed,
    several_objectives,
    symbolic_regression,
    toured,
)
from alns_examples import cutting_stock, flow_shop, salesman, vehicles

CHOICES = ("adaptive", "default", "random")


def cases() -> list[Case]:
    """Return the problems."""
    functions = ("ackley", "griewank", "rastrigin", "rosenbrock", "schwefel", "zakharov")
    two = {"n_var": 12, "n_obj": 2}
    wfg = {**two, "k": 4}
    return [
        *(differential(name, 20) for name in functions),
        *(genetic(name, 20) for name in functions),
        several_objectives("NSGA-II", "zdt2", 5000),
        *(several_objectives("NSGA-II", name, 5000, **two) for name in ("dtlz2", "dtlz4")),
        *(several_objectives("NSGA-II", name, 5000, **wfg) for name in ("wfg5", "wfg6", "wfg8")),
        several_objectives("MOEA/D", "dtlz4", 2500, **two),
        *(several_objectives("MOEA/D", f"wfg{n}", 2500, **wfg) for n in (4, 5, 6, 8)),
        several_objectives("MOEA/D", "kursawe", 2500),
        *map(large_neighborhood, (
            salesman(60, 21), vehicles(50, 22), cutting_stock(100, 23), flow_shop(25, 8, 24),
        )),
        bits("alternating bits, 80", 80, _alternating),
        bits("knapsack, 80 items", 80, packed(80, 24)),
        orders("salesman, 35 cities", 35, toured(35, 25)),
        orders("30 queens", 30, conflicts),
        symbolic_regression(_cubic, "x³ − x + sin x"),
    ]  # fmt: skip


def _alternating(individual: Sequence[int]) -> float:
    """Count the neighbours that differ."""
    return float(sum(a != b for a, b in pairwise(individual)))


def _cubic(x: float) -> float:
    return x**3 - x + math.sin(x)


def main() -> None:
    """Make the runs that are missing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    done = set()
    if options.file.exists():
        with options.file.open(encoding="utf-8", newline="") as file:
            done = {tuple(row[:4]) for row in csv.reader(file)}
    with options.file.open("a", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        if not done:
            table.writerow(["host", "problem", "choice", "seed", "value", "seconds"])
        for seed in range(1, options.seeds + 1):
            for case in cases():
                for choice in CHOICES:
                    if (case.host, case.problem, choice, str(seed)) in done:
                        continue
                    begin = time.process_time()
                    value = case.run(choice, seed)
                    seconds = time.process_time() - begin
                    table.writerow([case.host, case.problem, choice, seed, f"{value:.8g}",
                                    f"{seconds:.3f}"])  # fmt: skip
                    file.flush()


if __name__ == "__main__":
    main()
