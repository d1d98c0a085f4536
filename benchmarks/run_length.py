"""Measure the time per evaluation of the default in runs of different lengths, in 20-D.

    python benchmarks/run_length.py docs/results/data/run-length.csv

Processor time of the whole process, without that of the function, which takes whole batches.
"""

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import uaos
from uaos.problems import rastrigin, rosenbrock

FUNCTIONS = {"Rastrigin": rastrigin, "Rosenbrock": rosenbrock}


def microseconds(fun: Any, budget: int) -> float:
    """Return the microseconds per evaluation of a run."""
    inside = 0.0

    def timed(X: Any) -> Any:
        nonlocal inside
        started = time.process_time()
        values = fun(X)
        inside += time.process_time() - started
        return values

    started = time.process_time()
    uaos.minimize(timed, [(-5, 5)] * 20, budget=budget, seed=1, vectorized=True, noise=False)
    return 1e6 * (time.process_time() - started - inside) / budget


def main() -> None:
    """Parse the command line and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("csv", type=Path)
    parser.add_argument("--budgets", default="100000,500000,2000000")
    arguments = parser.parse_args()
    budgets = [int(number) for number in arguments.budgets.split(",")]
    microseconds(rastrigin, 30_000)  # compiles what all runs need
    with arguments.csv.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("function", *budgets))
        for name, fun in FUNCTIONS.items():
            writer.writerow((name, *(f"{microseconds(fun, n):.1f}" for n in budgets)))


if __name__ == "__main__":
    main()
