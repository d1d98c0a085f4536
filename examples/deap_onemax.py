"""DEAP: eaSimple, unchanged, on OneMax with three crossovers and two mutations.

A DEAP program changes in two places: the import of `adaptive`, and the call that registers `mate`
and `mutate`.
"""

import random
from functools import partial

from deap import algorithms, base, creator, tools

from uaos.adapters.deap import adaptive

creator.create("ManyOnes", base.Fitness, weights=(1.0,))
creator.create("Bits", list, fitness=creator.ManyOnes)


def main() -> tuple[float, dict[str, dict[str, int]]]:
    random.seed(1)
    toolbox = base.Toolbox()
    toolbox.register("bit", random.randint, 0, 1)
    toolbox.register("individual", tools.initRepeat, creator.Bits, toolbox.bit, 200)
    toolbox.register("evaluate", lambda bits: (sum(bits),))
    toolbox.register("select", tools.selTournament, tournsize=3)
    variation = adaptive(
        toolbox,
        mate=[tools.cxOnePoint, tools.cxTwoPoint, partial(tools.cxUniform, indpb=0.5)],
        mutate=[partial(tools.mutFlipBit, indpb=0.005), tools.mutInversion],
    )
    population = tools.initRepeat(list, toolbox.individual, 100)
    best = tools.HallOfFame(1)
    algorithms.eaSimple(population, toolbox, 0.6, 0.3, 60, halloffame=best, verbose=False)
    counts = variation.credit.counts
    for slot, applied in counts.items():
        for name, times in applied.items():
            print(f"{times / sum(applied.values()):6.1%}  {slot} {name}")
    print(f"{best[0].fitness.values[0]:.0f} ones of 200")
    return best[0].fitness.values[0], counts


if __name__ == "__main__":
    main()
