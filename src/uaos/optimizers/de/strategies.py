"""The mutation strategies.

Notation: `x_i` the parent, `x_best` the best parent, `x_pbest` one of the
`max(2, round(top_NP·NP))` best parents drawn afresh, `x_r1` .. `x_r5` parents drawn distinct and
different from i, `x_arch` drawn from parents ∪ archive without i, `x_rank` a parent drawn with a
chance that falls with its rank (not i or r1 where r1 takes part), `x_stored` drawn from the archive
alone (x_rank while that is empty; not x_elite where that takes part), `x_elite` one of the first
`max(2, round(top_NP·NP))` of the archive, `x_center` the middle of the box, `x_sample` a point that
a model with a memory of its own makes (see `models`).

References: Storn and Price (1997) for the rand and best families; Zhang and Sanderson (2009), JADE,
for curr-to-pbest and its archive; Brest et al. (2017), jSO, for the weight F_w; Stanovov et al.
(2021, 2024) for ranks and elite; Sallam et al. (2020), IMODE, for the scaled form; Tang et al.
(2015), IDE, for the individual-dependent one. The choice of nine is that of Sharma, López-Ibáñez
and Kazakov.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from uaos.errors import UnknownName

#: Who can stand in a formula, in the order of the kernels.
CAST = (
    "i", "best", "pbest", "arch", "r1", "r2", "r3", "r4", "r5", "rank", "stored", "elite", "center",
    "sample",
)  # fmt: skip
# A base and at most three differences; then whether the first difference has the weight F_w,
# whether x_r1 and x_elite take part, and whether x_pbest is another than the parent.
_TERMS = 7


@dataclass(frozen=True)
class Strategy:
    """One way to make a mutant: base + F (p1 - m1 + p2 - m2 + p3 - m3).

    Parameters
    ----------
    name : str
        What the strategy is called.
    roles : str
        Who stands in the formula, from :data:`CAST`: base, p1, m1 and further pairs.
    weighted : bool
        Whether p1 - m1 is multiplied by F_w instead of F: 0.7 F in the first fifth of the run,
        0.8 F in the second, then 1.2 F (jSO).
    other_until : float
        The share of the run up to which x_pbest is never the parent itself.
    model : str
        What makes x_sample, from :data:`uaos.optimizers.de.models.MODELS`.
    """

    name: str
    roles: str
    weighted: bool = False
    other_until: float = 0.0
    model: str = ""

    @property
    def formula(self) -> str:
        """The mutant as text."""
        if self.sampled:
            return _FORMULAS[self.model]
        base, *rest = [f"x_{role}" for role in self.roles.split()]
        terms = [f"{p} - {m}" for p, m in zip(rest[::2], rest[1::2], strict=True)]
        if self.weighted:
            return f"{base} + F_w ({terms[0]}) + F ({' + '.join(terms[1:])})"
        return f"{base} + F ({' + '.join(terms)})"

    @property
    def code(self) -> int:
        """The strategy's number in the kernels: its row of :func:`role_table`."""
        return list(STRATEGIES).index(self.name)

    @property
    def archive(self) -> bool:
        """Whether the archive takes part."""
        return not {"arch", "stored", "elite"}.isdisjoint(self.roles.split())

    @property
    def sampled(self) -> bool:
        """Whether the mutant is x_sample."""
        return bool(self.model)

    @property
    def ranked(self) -> bool:
        """Whether x_rank takes part, be it for want of an archive."""
        return not {"rank", "stored"}.isdisjoint(self.roles.split())

    @property
    def least_population(self) -> int:
        """The smallest NP at which i and the drawn indices can be distinct."""
        if self.model in ("IDE", "tournament"):
            return 5 if self.model == "IDE" else 3
        drawn = {role for role in self.roles.split() if role[0] == "r"}
        return 1 + len(drawn | ({"rank"} if self.ranked else set()))


_ALL = (
    Strategy("rand/1", "r1 r2 r3"),
    Strategy("rand/2", "r1 r2 r3 r4 r5"),
    Strategy("rand-to-best/2", "r1 best r1 r2 r3 r4 r5"),
    Strategy("curr-to-rand/1", "i r1 i r2 r3"),
    Strategy("curr-to-pbest/1", "i pbest i r1 r2"),
    Strategy("curr-to-pbest/1 (archived)", "i pbest i r1 arch"),
    Strategy("best/1", "best r1 r2"),
    Strategy("curr-to-best/1", "i best i r1 r2"),
    Strategy("best/2", "best r1 r2 r3 r4"),
    Strategy("curr-to-best/2", "i best i r1 r2 r3 r4"),
    Strategy("curr-to-pbest-w/1 (archived)", "i pbest i r1 arch", weighted=True, other_until=0.5),
    Strategy("curr-to-pbest/1 (ranked)", "i pbest i r1 rank", other_until=1.0),
    Strategy("curr-to-pbest/1 (stored)", "i pbest i r1 stored", other_until=1.0),
    Strategy("r-new-to-ptop/n/t", "i elite i rank stored"),
    Strategy("rand-to-pbest/1 (scaled)", "center r1 center pbest r2"),
    Strategy("CMA-ES sample", "sample", model="CMA-ES of the population"),
    Strategy("CMA-ES sample (own)", "sample", model="CMA-ES"),
    Strategy("individual-dependent", "sample", model="IDE"),
    Strategy("rand/1 (tournament)", "sample", model="tournament"),
)
_FORMULAS = {
    "CMA-ES of the population": "x_sample",
    "CMA-ES": "x_sample",
    "IDE": "x_o + F_o (x_r1 - x_o + x_r2 - x_r3)",
    "tournament": "x_t1 + F (x_t2 - x_t3)",
}

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
    """The strategy called `name`, or :class:`UnknownName` with the near misses."""
    if not isinstance(name, str) or name not in STRATEGIES:
        raise UnknownName("strategy", name, STRATEGIES)
    return STRATEGIES[name]


def role_table() -> np.ndarray[Any, Any]:
    """Who stands in each strategy's formula, as numbers of :data:`CAST`; -1 where nobody does.

    The last four columns say whether the strategy is weighted, has x_r1, has x_elite, and draws
    x_pbest without the parent (:meth:`Pool.move` keeps that up to date).
    """
    table = np.full((len(STRATEGIES), _TERMS + 4), -1)
    for row, one in enumerate(STRATEGIES.values()):
        roles = [CAST.index(role) for role in one.roles.split()]
        table[row, : len(roles)] = roles
        taking_part = one.roles.split()
        table[row, _TERMS:] = one.weighted, "r1" in taking_part, "elite" in taking_part, 0
    return table
