"""Check when choosing pays on further algorithms: predict the gain first, then measure it.

    python benchmarks/map_hosts.py record wide FILE     27 operators: strategy, F and CR; BBOB, 10-D
    python benchmarks/map_hosts.py record alns FILE     destroy and repair operators (needs alns)
    python benchmarks/map_hosts.py predict FILE ...     docs/results/data/map-predicted.csv
    python benchmarks/map_hosts.py measure FILE ...     docs/results/data/map-hosts.csv

FILE (.npz) holds recorded runs: at some iterations, every operator made several offspring. The
prediction is that of the line fitted to the runs of `nine` (`benchmarks/map.py law`); it uses the
persistence of the operators' differences, not a selector.
"""

import csv
import dataclasses
import itertools
import sys
from pathlib import Path

import numpy as np
from map import DATA, gain, lasting, write

import uaos
from uaos.scenarios.traces import OutcomeTrace

STRATEGIES = ("rand/1", "best/1", "curr-to-pbest/1")
F_VALUES, CR_VALUES = (0.3, 0.5, 0.8), (0.1, 0.5, 0.9)
#: Recorded iterations of a run, and offspring of each operator; every fifth iteration of all.
GENERATIONS, OFFSPRING, EVERY = 40, 20, 5


def wide() -> uaos.Configuration:
    """Return differential evolution with a wide pool."""
    pool = [
        uaos.Operator(strategy, F=F, CR=CR)
        for strategy, F, CR in itertools.product(STRATEGIES, F_VALUES, CR_VALUES)
    ]
    uniform = uaos.configuration("uniform")
    settings = dataclasses.replace(uniform.settings, pool=pool)
    return uaos.Configuration("wide", uniform.method, settings)


def record_wide() -> dict[str, np.ndarray]:
    """Return recorded runs of differential evolution with a wide pool."""
    from traces import record

    arrays = {}
    for problem in uaos.suite("bbob", dimension=10, instances="3"):
        parents, ratios = record(wide(), problem)
        arrays[f"{problem.name} parents"] = parents
        arrays[f"{problem.name} offspring"] = parents[:, :, None] * 10.0**ratios
        print(f"wide {problem.name}", flush=True)
    return arrays


def record_alns() -> dict[str, np.ndarray]:
    """Return recorded runs of large neighborhood search, with pairs of operators chosen uniformly.

    The offspring of an iteration are made of the current solution, by every pair.
    """
    arrays = {}
    for name, example in alns_problems().items():
        parents, offspring = record_search(example, int(name.rpartition(", ")[2]))
        arrays[f"{name} parents"], arrays[f"{name} offspring"] = parents, offspring
        print(f"alns {name}", flush=True)
    return arrays


def alns_problems():  # type: ignore[no-untyped-def]
    """Return four problems of large neighborhood search, three instances of each."""
    from alns_examples import cutting_stock, flow_shop, salesman, vehicles

    problems = {}
    for instance in (1, 2, 3):
        for example in (salesman(100, instance), vehicles(60, instance),
                        cutting_stock(120, instance), flow_shop(30, 5, instance)):  # fmt: skip
            problems[f"{example.name}, {instance}"] = example
    return problems


def record_search(example, seed: int):  # type: ignore[no-untyped-def]
    """Return objectives of current solutions, (T, N), and of all pairs' offspring, (T, N, K)."""
    rng = np.random.default_rng(seed)
    accept = example.accept(example.first.value, GENERATIONS * EVERY)
    current = best = example.first
    parents, offspring = [], []

    def neighbor(pair):  # type: ignore[no-untyped-def]
        destroy, repair = pair
        return example.repair[repair](example.destroy[destroy](current, rng), rng)

    for iteration in range(GENERATIONS * EVERY):
        if iteration % EVERY == 0:
            rows = [[neighbor(pair).value for pair in example.pairs] for _ in range(OFFSPRING)]
            parents.append(np.full(OFFSPRING, current.value))
            offspring.append(rows)
        candidate = neighbor(example.pairs[rng.integers(len(example.pairs))])
        if accept(rng, best, current, candidate):
            current = candidate
        if candidate.value < best.value:
            best = candidate
    return np.array(parents), np.array(offspring)


def recorded(file: Path) -> list[OutcomeTrace]:
    """Return the recorded runs of a file in which some operator improves."""
    with np.load(file) as arrays:
        names = [key.removesuffix(" parents") for key in arrays if key.endswith(" parents")]
        runs = [OutcomeTrace(n, arrays[f"{n} parents"], arrays[f"{n} offspring"]) for n in names]
    return [run for run in runs if run.baselines.uniform > 0]


def predict(files: list[Path]) -> None:
    """Write the gain that the line fitted to `nine` predicts for each run."""
    with (DATA / "map-law.csv").open(encoding="utf-8") as file:
        known = [row for row in csv.DictReader(file) if row["host"] == "nine"]
    x, y = (np.array([float(row[key]) for row in known]) for key in ("lasting", "gain"))
    slope, intercept = np.polyfit(x, y, 1)
    write("map-predicted", [
        {"host": file.stem, "run": run.name, "lasting": f"{lasting(run):.4f}",
         "predicted": f"{intercept + slope * lasting(run):.4f}"}
        for file in files for run in recorded(file)
    ])  # fmt: skip


def measure(files: list[Path]) -> None:
    """Write the gain of ADOPP beside the prediction."""
    with (DATA / "map-predicted.csv").open(encoding="utf-8") as file:
        predictions = {(row["host"], row["run"]): row for row in csv.DictReader(file)}
    write("map-hosts", [
        {**predictions[file.stem, run.name], "gain": f"{gain(run):.4f}"}
        for file in files for run in recorded(file)
    ])  # fmt: skip


def main() -> None:
    """Run the command that the arguments name."""
    match sys.argv[1:]:
        case ["record", "wide" | "alns" as host, file]:
            arrays = record_wide() if host == "wide" else record_alns()
            np.savez_compressed(file, **arrays)
        case ["predict", *files] if files:
            predict([Path(file) for file in files])
        case ["measure", *files] if files:
            measure([Path(file) for file in files])
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
