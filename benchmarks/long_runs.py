"""Compare the order of methods in short runs with that in longer ones, from one store of long runs:

python benchmarks/long_runs.py long.db --short 10000 --csv docs/results/data/long.csv

For methods that do not depend on their budget, the beginning of a long run is the short run. Runs
on a problem are ranked by the targets reached, then by the evaluations to the last of them.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, spearmanr

from uaos.experiments import Store
from uaos.experiments.unit import Outcome

FINAL = 1e-8


def reached(outcome: Outcome, limit: int) -> tuple[int, int]:
    """Return how many targets were reached within a limit, and the evaluations to the last."""
    hits = outcome.hits[(outcome.hits > 0) & (outcome.hits <= limit)]
    return len(hits), int(hits[-1]) if len(hits) else 0


def mean_ranks(outcomes: dict[str, dict[str, Outcome]], limits: dict[str, int]) -> dict[str, float]:
    """Return each method's mean rank over the problems, 1 being best."""
    methods, ranks = list(outcomes), []
    for problem, limit in limits.items():
        results = [reached(outcomes[m][problem], limit) for m in methods]
        # More targets first, then fewer evaluations.
        keys = sorted(set(results), key=lambda result: (-result[0], result[1]))
        ranks.append(rankdata([keys.index(result) for result in results]))
    return dict(zip(methods, np.mean(ranks, axis=0).tolist(), strict=True))


def main() -> None:
    """Write the table, and print how the two orders agree."""
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("--short", type=int, default=10_000, help="evaluations of a short run / D")
    parser.add_argument("--csv", type=Path, required=True)
    options = parser.parse_args()
    outcomes: dict[str, dict[str, Outcome]] = defaultdict(dict)
    with Store.open(options.store) as store:
        for outcome in store.outcomes():
            outcomes[outcome.method][outcome.problem] = outcome
    shared = set.intersection(*(set(own) for own in outcomes.values()))
    first = next(iter(outcomes.values()))
    problems = [name for name in first if name in shared]
    limits = {
        "short": {p: options.short * first[p].dimension for p in problems},
        "long": {p: first[p].budget for p in problems},
    }
    ranks = {name: mean_ranks(outcomes, limit) for name, limit in limits.items()}

    def solved(method: str, name: str) -> int:
        runs = (outcomes[method][p] for p in problems)
        return sum(r.error <= FINAL and r.evaluations <= limits[name][r.problem] for r in runs)

    with options.csv.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["method", "problems", "solved short", "rank short", "solved long",
                        "rank long"])  # fmt: skip
        for method in sorted(outcomes, key=lambda m: ranks["long"][m]):
            table.writerow([
                method, len(problems), solved(method, "short"), f"{ranks['short'][method]:.2f}",
                solved(method, "long"), f"{ranks['long'][method]:.2f}",
            ])  # fmt: skip
    order = [[ranks[name][m] for m in outcomes] for name in limits]
    print(f"{len(problems)} problems, {len(outcomes)} methods; rank correlation of the two orders: "
          f"{spearmanr(*order).statistic:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
