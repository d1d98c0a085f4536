"""Compare methods that see the state of the search with the same methods without it, in real runs.

    python benchmarks/map_state.py run FOLDER        the runs
    python benchmarks/map_state.py describe FOLDER   docs/results/data/map-state.csv
    python benchmarks/map_state.py race FOLDER OUT   the rounds of map_runs.py, only with methods
                                                     that see the state; the best as TOML files

`state_value` learns what `success_sum` computes, the mean metric of an application, for each of
nine states. A random sample of combinations of the other components is run with both, and with
`state_value` over one state's successor: Q-learning that chooses an operator for a generation.
Problems, budget and scores are those of round 2 of `map_runs.py`, whose runs are continued by the
same command.
"""

import csv
import dataclasses
import itertools
import sys
from pathlib import Path

import numpy as np
from map import DATA, write
from map_runs import NP, ROUNDS, complete, read_round, scores, survivors
from scipy import stats

import uaos
from uaos.scenarios import load_map
from uaos.selection.components import FAMILIES

SAMPLE = 60
#: Methods with state that go on to round 2, and to round 3 and the comparison after it.
STATE_SURVIVORS, CONFIRMED = 50, 5
DISCOUNTS = (0.0, 0.5, 0.9)
SCALE_FREE = ("exp_offspring_fitness", "median_improvement", "relative_improvement",
              "parent_relative_improvement")  # fmt: skip


def pairs() -> list[tuple[uaos.Method, uaos.Method]]:
    """Return the sampled methods, with `state_value` and with `success_sum`."""
    names = load_map().components
    others = list(itertools.product(
        names["metric"], ("identity", "weighted_sum", "upper_confidence_bound"),
        names["probability"], names["selection"],
    ))  # fmt: skip
    chosen = np.random.default_rng(7).choice(len(others), SAMPLE, replace=False)
    return [
        tuple(uaos.Method(m, reward, q, p, s) for reward in ("state_value", "success_sum"))
        for m, q, p, s in (others[k] for k in chosen)
    ]


def q_learning() -> list[uaos.Method]:
    """Return methods that choose one operator per generation, with several discounts."""
    selections = ("greedy", "epsilon_greedy", "proportional_greedy", "linear_annealed")
    return [
        uaos.Method(metric, {"name": "state_value", "gamma": gamma}, "identity", "identity",
                    selection, scope="generation")
        for metric, selection, gamma in itertools.product(SCALE_FREE, selections, DISCOUNTS)
    ]  # fmt: skip


def methods() -> list[uaos.Method]:
    """Return all methods: pairs one after the other, then Q-learning."""
    return [*itertools.chain.from_iterable(pairs()), *q_learning()]


def run(folder: Path) -> None:
    """Make the runs that are missing."""
    complete(folder / "state.db", ROUNDS[1], dict(enumerate(methods())))


def mean_scores(folder: Path) -> np.ndarray:
    """Return the mean score of each method over the problems."""
    return np.asarray(scores(read_round(folder / "state.db")).mean(axis=1))


def interval(values: np.ndarray) -> str:
    """Return a mean with the half-width of its 95 % interval."""
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{half:.4f}"


def describe(folder: Path) -> None:
    """Write the mean scores of the kinds, and the difference that the state makes."""
    values = mean_scores(folder)
    state, stateless = values[: 2 * SAMPLE].reshape(-1, 2).T
    learned = values[2 * SAMPLE :].reshape(-1, len(DISCOUNTS)).T
    kinds = {"state_value": state, "success_sum": stateless, "difference": state - stateless}
    kinds |= {f"one operator per generation, γ = {discount}": own
              for discount, own in zip(DISCOUNTS, learned, strict=True)}  # fmt: skip
    write("map-state", [
        {"kind": kind, "methods": len(own), "mean": f"{own.mean():.4f}", "interval": interval(own),
         "best": f"{own.max():.4f}"}
        for kind, own in kinds.items()
    ])  # fmt: skip


def race(folder: Path, out: Path) -> None:
    """Run the rounds of the map with methods that see the state, and write the best.

    With each go the five best without state, in the same algorithm.
    """
    scale = load_map()
    _, first = np.unique(scale.replays, axis=0, return_index=True)
    chosen = np.array([k for k in np.sort(first) if scale.names(int(k))[1] == "state_value"])
    for this, n in zip(ROUNDS, (STATE_SURVIVORS, CONFIRMED, CONFIRMED), strict=True):
        methods = {int(k): scale.method(int(k)) for k in chosen}
        file = folder / f"round-{this.number}.db"
        complete(file, dataclasses.replace(this, methods=len(methods)), methods)
        chosen = survivors(folder, this.number, n)
    best = {f"state-{place}": scale.method(int(k)) for place, k in enumerate(chosen, start=1)}
    with (DATA / "map-winners.csv").open(encoding="utf-8") as file:
        for row in itertools.islice(csv.DictReader(file), CONFIRMED):
            best[row["method"]] = uaos.Method(*row["components"].split(" / "))
    host = dataclasses.replace(uaos.configuration("uniform").settings, NP=NP)
    for name, method in {"uniform": uaos.method("uniform"), **best}.items():
        uaos.Configuration(name, method, host).to_toml(out / f"{name}.toml")
    write("map-state-winners", [
        {"method": name, "components": " / ".join(getattr(m, f).name for f in FAMILIES)}
        for name, m in best.items() if name.startswith("state-")
    ])  # fmt: skip


def main() -> None:
    """Run the command that the arguments name."""
    match sys.argv[1:]:
        case ["run", folder]:
            run(Path(folder))
        case ["describe", folder]:
            describe(Path(folder))
        case ["race", folder, out]:
            race(Path(folder), Path(out))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
