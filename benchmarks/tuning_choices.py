"""Compare what several tunings of one space drew and kept: does another seed find the same method?

python benchmarks/tuning_choices.py irace-1.db irace-2.db --csv docs/results/data/irace

Writes irace-races.csv, the best candidate after each race; irace-components.csv, the share of each
component among the candidates that were drawn after the first race, and among the elites of all
races (a candidate that is an elite of several races counts in each of them); and
irace-importance.csv, the share of the variance of ranks that each parameter explains.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from uaos.selection.components import FAMILIES
from uaos.tuning import TuningStore
from uaos.tuning.records import Candidate
from uaos.tuning.summaries import candidate_words, importance

RACES = ("tuning", "race", "runs", "instances", "origin", "components", "settings")
COMPONENTS = ("tuning", "family", "component", "drawn", "elites")
IMPORTANCE = ("tuning", "parameter", "share", "noise", "candidates")


def races(name: str, store: TuningStore, tuning: int) -> list[Sequence[object]]:
    """Return the best candidate after each race."""
    candidates = {c.id: c for c in store.candidates(tuning)}
    rows: list[Sequence[object]] = []
    for elite in store.elites(tuning):
        if elite.rank == 1:
            own = candidates[elite.candidate]
            used = max(s.runs_used for s in store.steps(tuning) if s.iteration == elite.iteration)
            components, _, settings = candidate_words(own.values).partition(" | ")
            rows.append((name, elite.iteration, used, elite.instances, own.origin, components,
                         settings))  # fmt: skip
    return rows


def components(name: str, store: TuningStore, tuning: int) -> list[Sequence[object]]:
    """Return the shares of each component, drawn and kept."""
    candidates = {c.id: c for c in store.candidates(tuning)}
    groups = (
        [c for c in candidates.values() if c.iteration > 1],
        [candidates[e.candidate] for e in store.elites(tuning)],
    )
    rows: list[Sequence[object]] = []
    for family in FAMILIES:
        drawn, kept = (shares(family, group) for group in groups)
        for component in sorted(drawn | kept, key=lambda c: (-kept[c], -drawn[c])):
            rows.append((name, family, component, f"{drawn[component]:.3f}",
                         f"{kept[component]:.3f}"))  # fmt: skip
    return rows


def parameters(name: str, store: TuningStore, tuning: int) -> list[Sequence[object]]:
    """Return how much each parameter mattered."""
    return [
        (name, p.name, f"{p.share:.3f}", f"{p.noise:.3f}", p.candidates)
        for p in importance(store, tuning)
    ]


def shares(family: str, group: Sequence[Candidate]) -> Counter[str]:
    """Return the share of each component of a family in a group of candidates."""
    counts = Counter(str(c.values[family]) for c in group)
    return Counter({component: n / len(group) for component, n in counts.items()})


def write(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("stores", type=Path, nargs="+")
    parser.add_argument("--csv", required=True, help="the beginning of the names of the files")
    options = parser.parse_args()
    parts = {"races": (RACES, races), "components": (COMPONENTS, components),
             "importance": (IMPORTANCE, parameters)}  # fmt: skip
    for part, (names, make) in parts.items():
        rows: list[Sequence[object]] = []
        for path in options.stores:
            with TuningStore.open(path) as store:
                for entry in store.tunings():
                    rows += make(path.stem, store, entry.id)
        write(Path(f"{options.csv}-{part}.csv"), names, rows)


if __name__ == "__main__":
    main()
