"""Find the best methods by successive halving: half of them remain after each round.

    python benchmarks/map_halving.py run FOLDER [WHERE]        rounds 2 to 8
    python benchmarks/map_halving.py confirm FOLDER [WHERE]    the best and others, fresh instances
    python benchmarks/map_halving.py describe FOLDER           data files of docs/results

Round 1 is in the package: all methods that differ, two runs of each on one instance. The better
half of a round goes on to the next, with more or longer runs on another instance
of all functions; what counts is
the mean score over all runs so far, less the mean of all methods on the same problem. Algorithm
and scores are those of `map_runs.py`. FOLDER/halving-N.db is a store like any other; the same
command continues it. WHERE is "here" (one process) or the address of a Dask cluster; all
processors by default.
"""

import csv
import itertools
import sys
from pathlib import Path

import numpy as np
from map import DATA, literature, write
from map_runs import (
    ALL,
    TUNED,
    WINNERS,
    Round,
    complete,
    read_round,
    relative,
    sample,
    scores,
)
from map_runs import ROUNDS as FORMER
from scipy import stats

import uaos
from uaos.scenarios import load_map
from uaos.selection.components import FAMILIES
from uaos.statistics import holm

#: Runs of each method and evaluations per dimension, from round 2 on; each has an instance.
SCHEDULE = ((1, 500), (1, 500), (1, 500), (2, 500), (4, 500), (4, 1000), (12, 1000))
ROUNDS = tuple(
    Round(10 + number, ALL, instance=10 + number, budget=budget, runs=runs, references=12,
          methods=-(-FORMER[0].methods // 2 ** (number - 1)))
    for number, (runs, budget) in enumerate(SCHEDULE, start=2)
)  # fmt: skip
#: Fresh instances, and seeds of each method on each of them.
INSTANCES, SEEDS = (93, 94), 2
#: Winners of the former rounds beside them.
FORMER_WINNERS = 10


def all_scores(folder: Path, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the methods of all rounds up to one, and their scores by problem."""
    numbers = sample(load_map().replays, FORMER[0].methods)
    rounds = [(numbers, load_map().runs[numbers])]
    for later in range(2, number + 1):
        content = read_round(folder / f"halving-{later}.db")
        rounds.append((content["methods"], scores(content)))
    return rounds


def ranked(rounds: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the methods of the last round, the best first, by all runs so far."""
    total: dict[int, list[float]] = {}
    for numbers, values in rounds:
        for k, row in zip(numbers, relative(values), strict=True):
            total.setdefault(int(k), []).extend(row[~np.isnan(row)])
    remaining = rounds[-1][0]
    means = np.array([np.mean(total[int(k)]) for k in remaining])
    return np.asarray(remaining[np.argsort(-means, kind="stable")])


def better_half(folder: Path, number: int) -> np.ndarray:
    """Return the methods that remain after a round, in the order of the map."""
    order = ranked(all_scores(folder, number))
    return np.sort(order[: -(-len(order) // 2)])


def run(folder: Path, where: str | None) -> None:
    """Run what is missing of the rounds."""
    for number, this in enumerate(ROUNDS, start=2):
        chosen = better_half(folder, number - 1)
        methods = {int(k): load_map().method(int(k)) for k in chosen}
        complete(folder / f"halving-{number}.db", this, methods, where)


# The best on fresh instances


def contestants(folder: Path) -> dict[str, uaos.Method]:
    """Return the best methods of the halving and of the former rounds, published and tuned ones."""
    order = ranked(all_scores(folder, len(ROUNDS) + 1))[:WINNERS]
    best = {f"half-{place}": load_map().method(int(k)) for place, k in enumerate(order, start=1)}
    with (DATA / "map-winners.csv").open(encoding="utf-8") as file:
        former = {r["method"]: uaos.Method(*r["components"].split(" / "))
                  for r in itertools.islice(csv.DictReader(file), FORMER_WINNERS)}  # fmt: skip
    tuned = {f"{name}-method": uaos.configuration(name).method for name in TUNED}
    return {**best, **former, **literature(), **tuned}  # type: ignore[dict-item]


def confirmations(methods: int) -> list[Round]:
    """Return the rounds of the confirmation: one for each instance and seed."""
    return [
        Round(30 + SEEDS * place + seed, ALL, instance=instance, budget=1000, runs=len(ALL),
              references=16, methods=methods)
        for seed in range(SEEDS) for place, instance in enumerate(INSTANCES)
    ]  # fmt: skip


def confirm(folder: Path, where: str | None) -> None:
    """Run the best and other methods on fresh instances, with several seeds."""
    methods = dict(enumerate(contestants(folder).values()))
    for this in confirmations(len(methods)):
        complete(folder / f"confirm-{this.number}.db", this, methods, where)


def kind(name: str) -> str:
    """Return the group of a method."""
    if name in literature():
        return "published"
    return {"half": "halving", "real": "former rounds"}.get(name.split("-")[0], "tuned")


def half_width(values: np.ndarray) -> float:
    """Return half the 95 % interval of a mean over functions."""
    n = len(values)
    return float(stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))


def describe_confirmation(folder: Path) -> None:
    """Write the scores of single methods and of groups on fresh instances."""
    methods = contestants(folder)
    stores = [folder / f"confirm-{this.number}.db" for this in confirmations(len(methods))]
    contents = [read_round(store) for store in stores]
    every = np.array([scores(one)[np.argsort(one["methods"])] for one in contents])
    by_function = every.mean(axis=0)  # (methods, functions)
    p = np.array([stats.wilcoxon(row - 0.5).pvalue for row in by_function])
    halves = [every[place :: len(INSTANCES)].mean(axis=(0, 2)) for place in range(len(INSTANCES))]
    write("map-halving-methods", [
        {"method": name, "kind": kind(name),
         "components": " / ".join(getattr(method, family).name for family in FAMILIES),
         "score": f"{row.mean():.4f}", "interval": f"{half_width(row):.4f}",
         "ahead": int((row > 0.5).sum()), "functions": len(row), "p": f"{adjusted:.4g}",
         **{f"instance {i}": f"{half[k]:.4f}" for i, half in zip(INSTANCES, halves, strict=True)}}
        for k, ((name, method), row, adjusted)
        in enumerate(zip(methods.items(), by_function, holm(p), strict=True))
    ])  # fmt: skip
    kinds = np.array([kind(name) for name in methods])
    means = {group: by_function[kinds == group].mean(axis=0) for group in dict.fromkeys(kinds)}
    for other in ("former rounds", "published", "tuned"):
        means[f"halving less {other}"] = means["halving"] - means[other]
    write("map-halving-groups", [
        {"group": group, "methods": int((kinds == group).sum()) or "",
         "score": f"{own.mean():.4f}", "interval": f"{half_width(own):.4f}"}
        for group, own in means.items()
    ])  # fmt: skip


def describe(folder: Path) -> None:
    """Write what the rounds and the confirmation say."""
    rounds = all_scores(folder, len(ROUNDS) + 1)
    with (DATA / "map-winners.csv").open(encoding="utf-8") as file:
        names = [row["components"].split(" / ") for row in csv.DictReader(file)]
    former = {load_map().number(uaos.Method(*components)) for components in names}
    rows: list[dict[str, object]] = []
    for number, (numbers, values) in enumerate(rounds, start=1):
        order = ranked(rounds[:number])
        keep = WINNERS if number == len(rounds) else -(-len(order) // 2)
        chosen = np.isin(numbers, order[:keep])
        means, this = np.nanmean(values, axis=1), ROUNDS[number - 2] if number > 1 else FORMER[0]
        seconds = float(read_round(folder / f"halving-{number}.db")["seconds"]) if number > 1 else 0
        earlier = ranked(rounds[: number - 1]) if number > 1 else order
        place = {int(k): rank for rank, k in enumerate(earlier)}
        agreement = stats.spearmanr([-place[int(k)] for k in numbers], relative_means(values))[0]
        rows.append({
            "round": number, "methods": len(numbers), "runs": this.runs, "budget": this.budget,
            "problems": len(this.functions), "mean": f"{means.mean():.4f}", "kept": keep,
            "of those kept": f"{means[chosen].mean():.4f}",
            "agreement": f"{agreement:.4f}" if number > 1 else "",
            "former winners": len(former & {int(k) for k in numbers}),
            "seconds": f"{seconds:.0f}" if number > 1 else "",
        })  # fmt: skip
    write("map-halving", rows)
    describe_confirmation(folder)


def relative_means(values: np.ndarray) -> np.ndarray:
    """Return each method's mean score, less the means of its problems."""
    return np.asarray(np.nanmean(relative(values), axis=1))


def main() -> None:
    """Run the command that the arguments name."""
    match sys.argv[1:]:
        case ["run", folder, *where] if len(where) < 2:
            run(Path(folder), *where or (None,))
        case ["confirm", folder, *where] if len(where) < 2:
            confirm(Path(folder), *where or (None,))
        case ["describe", folder]:
            describe(Path(folder))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
