"""Look into single runs of U-AOS-FW, as printed and inferred, as the paper does on f5 and f7:

python benchmarks/single_runs.py docs/results/data/single-runs.csv

On instance 1, with at most 10,000·D evaluations. Columns: generations to 1e-8 or to the end, and
the error there; the smallest and largest probability of an operator in any generation; the
operator with the most offspring, and its share.
"""

import csv
import sys
from itertools import product
from pathlib import Path

import uaos

METHODS = ("U-AOS-FW-inferred", "U-AOS-FW")
SEEDS = range(1, 11)


def main(path: Path) -> None:
    """Make the runs and write the table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["method", "function", "seed", "generations", "error", "least", "most",
                        "operator", "share"])  # fmt: skip
        for method, function, seed in product(METHODS, (5, 7), SEEDS):
            (problem,) = uaos.suite("bbob", dimension=20, functions=str(function), instances="1")
            result = uaos.minimize(
                problem, method=method, budget=200_000, seed=seed, target=problem.optimum + 1e-8
            )
            history = result.history
            counts = history.counts.sum(axis=0)
            first = int(counts.argmax())
            table.writerow([
                method, f"f{function}", seed, result.nit, f"{result.fun - problem.optimum:.1e}",
                f"{history.probabilities.min():.3f}", f"{history.probabilities.max():.3f}",
                history.operators[first], f"{counts[first] / counts.sum():.3f}",
            ])  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]))
