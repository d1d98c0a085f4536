"""The mutation strategies.

Notation: `x_i` the parent, `x_best` the best parent, `x_pbest` one of the
`max(2, round(top_NP·NP))` best parents drawn afresh, `x_r1` .. `x_r5` parents drawn distinct and
different from i, `x_arch` drawn from parents ∪ archive without i (it may be x_r1).

References: Storn and Price (1997) for the rand and best families; Zhang and Sanderson (2009), JADE,
for curr-to-pbest and its archive. The choice of nine is that of Sharma, López-Ibáñez and Kazakov.
"""

import re
from dataclasses import dataclass

from uaos.errors import InvalidParameter, UnknownName, shortened

#: The points that a formula may have, in the order of the kernels (`layout`).
ROLES = ("i", "best", "pbest", "arch", "r1", "r2", "r3", "r4", "r5")
_FORMULA = re.compile(r"x_\w+ \+ F \(x_\w+ - x_\w+( \+ x_\w+ - x_\w+){0,2}\)")


@dataclass(frozen=True)
class Strategy:
    """Mutation strategy: a base plus F times the sum of up to three differences.

    Parameters
    ----------
    name : str
        The name of the strategy.
    formula : str
        The mutant, such as "x_i + F (x_pbest - x_i + x_r1 - x_r2)", with the points of
        :data:`ROLES`. This is what the kernels compute, in the order in which it is written.

    Raises
    ------
    InvalidParameter
        If the formula has another form.

    Examples
    --------
    >>> from uaos.optimizers.de.strategies import Strategy
    >>> Strategy("best/1", "x_best + F (x_r1 - x_r2)").roles
    ('best', 'r1', 'r2')
    """

    name: str
    formula: str

    def __post_init__(self) -> None:
        if not _FORMULA.fullmatch(self.formula) or not set(self.roles) <= set(ROLES):
            raise InvalidParameter(
                f"the formula of {self.name} is {shortened(self.formula)}; expected one such as "
                f"'x_r1 + F (x_r2 - x_r3)', with {', '.join(f'x_{role}' for role in ROLES)}",
                name="formula", value=self.formula,
            )  # fmt: skip

    @property
    def roles(self) -> tuple[str, ...]:
        """Points of the formula: base, plus, minus, plus, minus, …"""
        return tuple(re.findall(r"x_(\w+)", self.formula))

    @property
    def archive(self) -> bool:
        """True if the formula has a member of the archive."""
        return "arch" in self.roles

    @property
    def least_population(self) -> int:
        """Smallest NP at which i and the drawn indices can be distinct."""
        return 1 + len({role for role in self.roles if re.fullmatch(r"r\d", role)})


_ALL = (
    Strategy("rand/1", "x_r1 + F (x_r2 - x_r3)"),
    Strategy("rand/2", "x_r1 + F (x_r2 - x_r3 + x_r4 - x_r5)"),
    Strategy("rand-to-best/2", "x_r1 + F (x_best - x_r1 + x_r2 - x_r3 + x_r4 - x_r5)"),
    Strategy("curr-to-rand/1", "x_i + F (x_r1 - x_i + x_r2 - x_r3)"),
    Strategy("curr-to-pbest/1", "x_i + F (x_pbest - x_i + x_r1 - x_r2)"),
    Strategy("curr-to-pbest/1 (archived)", "x_i + F (x_pbest - x_i + x_r1 - x_arch)"),
    Strategy("best/1", "x_best + F (x_r1 - x_r2)"),
    Strategy("curr-to-best/1", "x_i + F (x_best - x_i + x_r1 - x_r2)"),
    Strategy("best/2", "x_best + F (x_r1 - x_r2 + x_r3 - x_r4)"),
    Strategy("curr-to-best/2", "x_i + F (x_best - x_i + x_r1 - x_r2 + x_r3 - x_r4)"),
)

#: All strategies by name.
STRATEGIES = {s.name: s for s in _ALL}

#: Named pools. `paper`: the nine of the framework's paper, in the order in which its authors ran
#: them; it is the default.
POOLS = {
    "paper": (
        "rand/1", "rand/2", "rand-to-best/2", "curr-to-rand/1", "curr-to-pbest/1",
        "curr-to-pbest/1 (archived)", "best/1", "curr-to-best/1", "best/2",
    ),
}  # fmt: skip


def strategy(name: str) -> Strategy:
    """Return the strategy called `name`."""
    if not isinstance(name, str) or name not in STRATEGIES:
        raise UnknownName("strategy", name, STRATEGIES)
    return STRATEGIES[name]
