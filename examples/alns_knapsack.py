"""ALNS: destroy and repair operators for a knapsack, selected adaptively.

A program that uses ALNS changes in two lines: the import of `AdaptiveSelect`, and the line that
creates one in place of a RouletteWheel.
"""

from dataclasses import dataclass

import numpy as np
from alns import ALNS
from alns.accept import HillClimbing
from alns.stop import MaxIterations

from uaos.adapters.alns import AdaptiveSelect

instance = np.random.default_rng(1)
weight = instance.integers(10, 100, 120)
profit = weight + instance.integers(-15, 25, 120)
capacity = weight.sum() * 2 // 5


@dataclass(frozen=True)
class Packing:
    chosen: np.ndarray

    def objective(self) -> float:
        """Return the negated profit: ALNS minimizes."""
        return -float(profit[self.chosen].sum())


def drop(packing: Packing, items: np.ndarray) -> Packing:
    chosen = packing.chosen.copy()
    chosen[items] = False
    return Packing(chosen)


def drop_random(packing: Packing, rng: np.random.Generator) -> Packing:
    inside = np.flatnonzero(packing.chosen)
    return drop(packing, rng.choice(inside, len(inside) // 5, replace=False))


def drop_least_profitable(packing: Packing, rng: np.random.Generator) -> Packing:
    inside = np.flatnonzero(packing.chosen)
    density = (profit / weight)[inside] * rng.uniform(0.9, 1.1, len(inside))
    return drop(packing, inside[np.argsort(density)[: len(inside) // 5]])


def pack(packing: Packing, order: np.ndarray) -> Packing:
    chosen = packing.chosen.copy()
    room = capacity - weight[chosen].sum()
    for item in order:
        if not chosen[item] and weight[item] <= room:
            chosen[item] = True
            room -= weight[item]
    return Packing(chosen)


def pack_random(packing: Packing, rng: np.random.Generator) -> Packing:
    return pack(packing, rng.permutation(len(weight)))


def pack_most_profitable(packing: Packing, rng: np.random.Generator) -> Packing:
    return pack(packing, np.argsort(-profit / weight * rng.uniform(0.8, 1.2, len(weight))))


def main() -> tuple[float, dict[str, int]]:
    search = ALNS(np.random.default_rng(1))
    for operator in (drop_random, drop_least_profitable):
        search.add_destroy_operator(operator)
    for operator in (pack_random, pack_most_profitable):
        search.add_repair_operator(operator)
    select = AdaptiveSelect(num_destroy=2, num_repair=2)
    empty = Packing(np.zeros(len(weight), dtype=bool))
    start = pack_random(empty, np.random.default_rng(2))
    result = search.iterate(start, select, HillClimbing(), MaxIterations(1_000))
    counts = select.credit.counts["pair"]
    for pair, times in counts.items():
        print(f"{times:5d}  {pair}")
    print(f"profit {-result.best_state.objective():.0f}, at the start {-start.objective():.0f}")
    return -result.best_state.objective(), counts


if __name__ == "__main__":
    main()
