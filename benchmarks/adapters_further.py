"""Adaptive choice in pymoo on problems that docs/adapters.md does not report on, and its cost:

python benchmarks/adapters_further.py docs/results/data/adapters-further.csv --seeds 10

Writes one row for each run: value and seconds of processor time. Runs that the file has are kept.
"""

import argparse
import csv
import time
from pathlib import Path

from adapter_cases import Case, differential, several_objectives

CHOICES = ("adaptive", "default", "random")


def cases() -> list[Case]:
    """Return the problems."""
    return [
        *(several_objectives("NSGA-II", name, 5000) for name in ("zdt2", "zdt3")),
        *(several_objectives("MOEA/D", name, 2500) for name in ("zdt2", "zdt3")),
        *(differential(name, 20) for name in ("ackley", "rastrigin", "rosenbrock")),
    ]


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
                    value = case.sign * case.run(choice, seed)
                    seconds = time.process_time() - begin
                    table.writerow([case.host, case.problem, choice, seed, f"{value:.8g}",
                                    f"{seconds:.3f}"])  # fmt: skip
                    file.flush()


if __name__ == "__main__":
    main()
