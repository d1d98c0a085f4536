"""Look into single runs of U-AOS-FW-inferred, as the paper does on f5 and f7, instance 1:

python benchmarks/single_runs.py docs/results/data/single-runs.csv

Columns: generations to 1e-8; the smallest and largest probability of an operator in any generation;
the operator with the most offspring, and its share.
"""

import csv
import sys
from pathlib import Path

import uaos

SEEDS = range(1, 11)


def main(path: Path) -> None:
    """Make the runs and write the table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["function", "seed", "generations", "least", "most", "operator", "share"])
        for function in (5, 7):
            (problem,) = uaos.suite("bbob", dimension=20, functions=str(function), instances="1")
            for seed in SEEDS:
                result = uaos.minimize(
                    problem, method="U-AOS-FW-inferred", budget=200_000, seed=seed,
                    target=problem.optimum + 1e-8,
                )  # fmt: skip
                history = result.history
                counts = history.counts.sum(axis=0)
                first = int(counts.argmax())
                table.writerow([
                    f"f{function}", seed, result.nit, f"{history.probabilities.min():.3f}",
                    f"{history.probabilities.max():.3f}", history.operators[first],
                    f"{counts[first] / counts.sum():.3f}",
                ])  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
