"""OneMax: as many ones as possible.

Far from the optimum many bits are wrong and flipping five of them at a time is fastest; close to it
only single flips help. The best operator changes in the course of the run, and nobody says when:
the textbook case for adaptive operator selection, after Fialho, Á., Da Costa, L., Schoenauer, M. &
Sebag, M. (2008), "Extreme value based adaptive operator selection", PPSN X.

    python examples/discrete/onemax.py --plot onemax.png
"""

from bits import OPERATORS, random_bits
from competition import Problem, main


def problem(quick: bool) -> Problem:
    length = 60 if quick else 500
    return Problem(
        name=f"OneMax, {length} bits",
        start=random_bits(length),
        fitness=lambda bits: (~bits).sum(axis=1),  # the zeros: 0 is the optimum
        operators=OPERATORS,
        offspring=50,
        generations=100 if quick else 1000,
        target=0,
        unit="zeros left",
    )


if __name__ == "__main__":
    main(problem)
