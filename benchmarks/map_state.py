"""Compare methods that see the state of the search with the same methods without it, in real runs.

    python benchmarks/map_state.py run FOLDER        the runs
    python benchmarks/map_state.py describe FOLDER   docs/results/data/map-state.csv
    python benchmarks/map_state.py save FOLDER OUT   the best of each kind as TOML files

`state_value` learns what `success_sum` computes, the mean metric of an application, for each of
nine states. A random sample of combinations of the other components is run with both, and with
`state_value` over one state's successor: Q-learning that chooses an operator for a generation.
Problems, budget and scores are those of round 2 of `map_runs.py`, whose runs are continued by the
same command.
"""

import dataclasses
import itertools
import sys
from pathlib import Path

import numpy as np
from map import write
from map_runs import NP, ROUNDS, complete, read_round, scores
from scipy import stats

import uaos
from uaos.scenarios import load_map

SAMPLE = 60
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


def save(folder: Path, out: Path) -> None:
    """Write the best three methods of each kind that sees the state, in the recorded algorithm."""
    values, every = mean_scores(folder), methods()
    host = dataclasses.replace(uaos.configuration("uniform").settings, NP=NP)
    paired, learned = np.arange(0, 2 * SAMPLE, 2), np.arange(2 * SAMPLE, len(every))
    for kind, own in (("state", paired), ("q", learned)):
        for place, k in enumerate(own[np.argsort(-values[own])][:3], start=1):
            name = f"{kind}-{place}"
            uaos.Configuration(name, every[k], host).to_toml(out / f"{name}.toml")


def main() -> None:
    """Run the command that the arguments name."""
    match sys.argv[1:]:
        case ["run", folder]:
            run(Path(folder))
        case ["describe", folder]:
            describe(Path(folder))
        case ["save", folder, out]:
            save(Path(folder), Path(out))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
