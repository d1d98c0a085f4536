"""Compare the selector of the portfolio with fixed shares, on recorded runs of its members.

    python benchmarks/shares.py record members.db --instances test:5
    python benchmarks/shares.py simulate members.db tuned.toml

`record` runs CMA-ES and differential evolution on their own on BBOB in 20-D, at 100,000·D;
`simulate` replays the leader rule, fixed shares of the two and the selectors of the given files
without evaluations.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import uaos
from uaos.experiments import Plan, run
from uaos.optimizers.portfolio import default_members, leader_method
from uaos.statistics import wilcoxon_test
from uaos.tuning import Recordings

DIMENSION, BUDGET = 20, 2_000_000
SHARES = (0.1, 0.2, 1 / 3, 0.5, 2 / 3, 0.8, 0.9)


@uaos.register
@dataclass(frozen=True)
class FixedShare(uaos.Probability):
    """Give the first of two alternatives a constant share."""

    share: float = uaos.real(0, 1, default=0.5, doc="share of the first alternative")

    def compute(self, qualities, probabilities):
        return np.array([self.share, 1 - self.share])


def record(path: Path, instances: str, jobs: int | None) -> None:
    """Run the members of the portfolio on their own."""
    suite = uaos.suite("bbob", dimension=DIMENSION, instances=instances)
    members = [m.configuration for m in default_members(DIMENSION, BUDGET) if not m.once]
    print(run(Plan.of(members, suite, budget=BUDGET, uniform=False), path, jobs=jobs))


def simulate(path: Path, selectors: list[Path]) -> None:
    """Print how each rule would have shared the recorded runs, compared with the leader rule."""
    recordings = Recordings(path)
    rules = {"the leader four times the other": leader_method(2)}
    for share in SHARES:
        rules[f"{share:.0%} for {recordings.members[0].name}"] = uaos.Method(
            "parent_improvement", "leader", "identity", FixedShare(share), "largest_deficit"
        )
    rules |= {file.stem: uaos.configuration(file).method for file in selectors}
    first = None
    for name, rule in rules.items():
        hits = np.array([outcome.hits[-1] for outcome in recordings.simulate(rule)])
        times = np.log10(np.where(hits > 0, hits, BUDGET))
        first = times if first is None else first
        differences = times - first
        (p,), _ = wilcoxon_test(differences)
        print(
            f"{name:32} solved {np.sum(hits > 0):4} log10 {times.mean():.3f} leader better "
            f"{np.sum(differences > 0):3} worse {np.sum(differences < 0):3} p {p:.1g}"
        )


def main() -> None:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "simulate"))
    parser.add_argument("store", type=Path)
    parser.add_argument("selectors", type=Path, nargs="*")
    parser.add_argument("--instances", default="test:5")
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    if options.what == "record":
        record(options.store, options.instances, options.jobs)
    else:
        simulate(options.store, options.selectors)


if __name__ == "__main__":
    main()
