"""The nine mutation strategies.

Notation: `x_i` the parent, `x_best` the best parent, `x_pbest` one of the
`max(2, round(top_NP·NP))` best parents drawn afresh, `x_r1` .. `x_r5` parents drawn distinct and
different from i, `x_arch` drawn from parents ∪ archive without i.

References: Storn and Price (1997) for the rand and best families; Zhang and Sanderson (2009), JADE,
for curr-to-pbest and its archive; the choice of nine is that of Sharma, López-Ibáñez and Kazakov.
"""

from dataclasses import dataclass

from uaos.errors import UnknownName


@dataclass(frozen=True)
class Strategy:
    """One way to make a mutant: `code` in the kernels, `drawn` of r1..r5, the formula as text."""

    name: str
    code: int
    drawn: int
    formula: str
    pbest: bool = False
    archive: bool = False

    @property
    def least_population(self) -> int:
        """The smallest NP at which i and the drawn indices can be distinct."""
        return self.drawn + 1


_ALL = (
    Strategy("rand/1", 0, 3, "x_r1 + F (x_r2 - x_r3)"),
    Strategy("rand/2", 1, 5, "x_r1 + F (x_r2 - x_r3 + x_r4 - x_r5)"),
    Strategy("rand-to-best/2", 2, 5, "x_r1 + F (x_best - x_r1 + x_r2 - x_r3 + x_r4 - x_r5)"),
    Strategy("curr-to-rand/1", 3, 3, "x_i + F (x_r1 - x_i + x_r2 - x_r3)"),
    Strategy("curr-to-pbest/1", 4, 2, "x_i + F (x_pbest - x_i + x_r1 - x_r2)", pbest=True),
    Strategy(
        "curr-to-pbest/1 (archived)",
        5,
        1,
        "x_i + F (x_pbest - x_i + x_r1 - x_arch)",
        pbest=True,
        archive=True,
    ),
    Strategy("best/1", 6, 2, "x_best + F (x_r1 - x_r2)"),
    Strategy("curr-to-best/1", 7, 2, "x_i + F (x_best - x_i + x_r1 - x_r2)"),
    Strategy("best/2", 8, 4, "x_best + F (x_r1 - x_r2 + x_r3 - x_r4)"),
)

#: The nine by name, in the order in which the authors of the framework ran them.
STRATEGIES = {s.name: s for s in _ALL}


def strategy(name: str) -> Strategy:
    """The strategy called `name`, or :class:`UnknownName` with the near misses."""
    if not isinstance(name, str) or name not in STRATEGIES:
        raise UnknownName("strategy", name, STRATEGIES)
    return STRATEGIES[name]
