"""Compare the selector of the portfolio with fixed shares, on recorded runs of its members.

    python benchmarks/shares.py record members.db --instances 26 --budget 20000
    python benchmarks/shares.py simulate members.db shares.csv

`record` runs CMA-ES and differential evolution on their own on BBOB in 20-D; `simulate` replays the
leader rule and fixed shares of the two without evaluations, and writes after how many evaluations
each problem is solved (0: not within the budget).
"""

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import uaos
from uaos.experiments import Plan, run
from uaos.optimizers.portfolio import default_members, leader_method
from uaos.tuning import Recordings

DIMENSION = 20
SHARES = (0.1, 0.2, 1 / 3, 0.5, 2 / 3, 0.8, 0.9)


@uaos.register
@dataclass(frozen=True)
class FixedShare(uaos.Probability):
    """Give the first of two alternatives a constant share."""

    share: float = uaos.real(0, 1, default=0.5, doc="share of the first alternative")

    def compute(self, qualities, probabilities):
        return np.array([self.share, 1 - self.share])


def record(path: Path, instances: str, budget: int) -> None:
    """Run the members of the portfolio on their own."""
    suite = uaos.suite("bbob", dimension=DIMENSION, instances=instances)
    members = [m.configuration for m in default_members(DIMENSION, budget) if not m.once]
    print(run(Plan.of(members, suite, budget=budget, uniform=False), path, jobs=1))


def simulate(path: Path, out: Path) -> None:
    """Write when each rule would have solved each problem."""
    recordings = Recordings(path)
    rules = {"leader": leader_method(2)}
    for share in SHARES:
        rules[f"{share:.0%}"] = uaos.Method(
            "parent_improvement", "leader", "identity", FixedShare(share), "largest_deficit"
        )
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["share of CMA-ES", "budget", "problem", "evaluations"])
        for name, rule in rules.items():
            for outcome in recordings.simulate(rule):
                writer.writerow([name, outcome.budget, outcome.problem, max(0, outcome.hits[-1])])


def main() -> None:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("store", type=Path)
    recording.add_argument("--instances", default="test:5")
    recording.add_argument("--budget", type=int, default=100_000, help="multiples of D")
    simulation = commands.add_parser("simulate")
    simulation.add_argument("store", type=Path)
    simulation.add_argument("out", type=Path)
    options = parser.parse_args()
    if options.command == "record":
        record(options.store, options.instances, options.budget * DIMENSION)
    else:
        simulate(options.store, options.out)


if __name__ == "__main__":
    main()
