"""The royal road: blocks of six bits that count only when complete.

Between two complete blocks the fitness says nothing: the search drifts over a plateau, successes
are rare, and a method learns from few of them. Mitchell, M., Forrest, S. & Holland, J. H. (1992),
"The royal road for genetic algorithms: fitness landscapes and GA performance", ECAL. (There a block
has eight bits, which takes four times as long.)

    python examples/discrete/royal_road.py --plot royal_road.png
"""

from bits import OPERATORS, random_bits
from competition import Problem, main

BLOCK = 6


def problem(quick: bool) -> Problem:
    blocks = 2 if quick else 8

    def incomplete(bits):
        return blocks - bits.reshape(-1, blocks, BLOCK).all(axis=2).sum(axis=1)

    return Problem(
        name=f"royal road, {blocks} blocks of {BLOCK} bits",
        start=random_bits(blocks * BLOCK),
        fitness=incomplete,
        operators=OPERATORS,
        offspring=10,
        generations=200 if quick else 1000,
        target=0,
        unit="incomplete blocks",
    )


if __name__ == "__main__":
    main(problem)
