"""Tables of the members that suit each kind of problem, and of how much the leader is favored.

A row of a table is a range of budgets. The traits of the problem decide which table applies.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from uaos.optimizers import catalogue
from uaos.optimizers.portfolio.members import Member

#: The leader's evaluations relative to those of each other member, unless a run is short.
KAPPA = 4.0


@dataclass(frozen=True)
class Seat:
    """Member of the table below, with a cap that depends on the budget.

    Parameters
    ----------
    name : str
        The configuration of the catalogue.
    settings : mapping
        Settings that differ from those of the catalogue.
    share, cap : float
        The largest number of evaluations in the introductory run, as a share of the budget and in
        multiples of the dimension.
    once : bool
        Whether the member retires after its introductory run.
    finish_share, finish_cap : float
        The largest number of evaluations at the end of the run with which the member may finish it,
        in the same units.
    restarts : bool
        Whether the introductory run includes restarts.
    steady_cap : float
        The largest number of evaluations, in multiples of the dimension, in an introductory run
        that goes on as well as expected.
    """

    name: str
    settings: Mapping[str, object] = field(default_factory=dict)
    share: float = np.inf
    cap: float = np.inf
    once: bool = False
    finish_share: float = 0.0
    finish_cap: float = 0.0
    restarts: bool = False
    steady_cap: float = 0.0

    def member(self, evaluations: float) -> Member:
        """Return the member for a number of evaluations per dimension."""
        base = catalogue.configuration(self.name)
        return Member(
            dataclasses.replace(base, settings=base.settings.changed(self.settings)),
            once=self.once,
            cap=min(self.share * evaluations, self.cap),
            finish=(
                min(self.finish_share * evaluations, self.finish_cap) if self.finish_cap else 0.0
            ),
            restarts=self.restarts,
            steady_cap=self.steady_cap,
        )


#: Above this dimension CMA-ES, whose steps cost D² operations, gives way to differential evolution.
LARGE = 500


class Kind(NamedTuple):
    """Kind of problem, with the members and the selector that suit it.

    The selector is :func:`leader_method` with `kappa`. The members are those of `first`, then those
    of `then` up to `most` variables and those of `large` beyond. Members that cannot handle
    constraints or integers are left out where a problem has them.
    """

    least: float  # smallest number of evaluations per dimension
    kappa: float
    first: tuple[Seat, ...]
    then: tuple[Seat, ...]
    large: tuple[Seat, ...]
    most: int = LARGE


# Above this dimension the steps of a quadratic model of 2·D + 1 points take too long.
_MANY = 100

_QUADRATIC = Seat("QUAD", cap=250)
_LOCAL = Seat("BFGS", cap=250)
_FINISHING = Seat("BFGS", share=0.15, cap=250, finish_share=0.2, finish_cap=50)
_FINISHING_STEADY = dataclasses.replace(_FINISHING, steady_cap=250)
_LOCAL_ONCE = Seat("BFGS", cap=250, once=True)
_STEP_ONCE = Seat("STEP", {"separable_only": True}, cap=800, once=True)
_CMA_SHARE, _CMA = Seat("CMA-ES", {"center": True}, share=0.15), Seat("CMA-ES")
_DE_2D, _DE_5D = (Seat("mix", {"NP": size}, share=0.2) for size in ("2D", "5D"))
_DE = Seat("mix", {"NP": "5D"})

#: The first gradient takes 2·D evaluations, so there is no BFGS below 4·D. Above, it comes first:
#: on smooth functions nothing is as fast, and elsewhere it soon ends. Coordinate search continues
#: only if a handful of evaluations show that the function is separable; from 40·D on it has a
#: chance to solve such functions. In a long run, from 20,000·D evaluations on, both retire, and
#: CMA-ES searches alone until its first restart. A run of 100·D or more introduces each member
#: with a share of the budget, then favors the leader more, and ends with a local search from the
#: best point. Below 500·D the introduction of the local search goes on while it gains what it
#: expects: CMA-ES has too little left to overtake it there.
KINDS = (
    #    least  kappa  first                            then                  large
    Kind(     0, 20.0, (),                              (_CMA_SHARE,),        (_DE_2D,)),
    Kind(     4, 20.0, (_LOCAL, _STEP_ONCE),            (_CMA_SHARE,),        (_DE_2D,)),
    Kind(    40, 20.0, (_STEP_ONCE, _LOCAL),            (_CMA_SHARE,),        (_DE_2D,)),
    Kind(   100, 20.0, (_STEP_ONCE, _FINISHING_STEADY), (_CMA_SHARE,),        (_DE_2D,)),
    Kind(   500, 20.0, (_FINISHING, _STEP_ONCE),        (_CMA_SHARE, _DE_2D), (_DE_2D,)),
    Kind( 3_000, 20.0, (_FINISHING, _STEP_ONCE),        (_CMA_SHARE, _DE_5D), (_DE_5D,)),
    Kind(20_000, KAPPA, (_LOCAL_ONCE, _STEP_ONCE),      (_CMA, _DE),          (_DE,)),
)  # fmt: skip

#: The same where the budget is scarce: steps of a quadratic model take one evaluation each.
SCARCE_KINDS = (Kind(0, 20.0, (_QUADRATIC,), (_CMA_SHARE,), (_DE_2D,)),)

_NOISY_SETTINGS = {"center": True, "restarts": "IPOP"}
_LQ_1, _LQ_2, _LQ_3, _LQ_6 = (
    Seat("lq-CMA-ES", {**_NOISY_SETTINGS, "enlarged": factor}) for factor in (1.0, 2.0, 3.0, 6.0)
)
_IPOP_2, _IPOP_16, _IPOP_48 = (
    Seat("CMA-ES", {**_NOISY_SETTINGS, "enlarged": factor}) for factor in (2.0, 16.0, 48.0)
)

#: Kinds where noise hides the differences between points. Gradients are noise then, and one
#: lucky value keeps a bad point in the population of differential evolution. CMA-ES averages over
#: its population: the larger the budget, the larger it is. Where noise fades toward the optimum, a
#: quadratic model averages over more points; large populations do without.
NOISY_KINDS = (
    #    least  kappa  first  then         large
    Kind(     0, 20.0, (),    (_LQ_1,),    (_DE_2D,)),
    Kind(    60, 20.0, (),    (_LQ_2,),    (_DE_2D,)),
    Kind(   200, 20.0, (),    (_LQ_3,),    (_DE_2D,)),
    Kind(   700, 20.0, (),    (_LQ_6,),    (_DE_5D,)),
    Kind( 2_000, 20.0, (),    (_IPOP_16,), (_DE_5D,)),
    Kind( 5_000, 20.0, (),    (_IPOP_48,), (_DE_5D,)),
)  # fmt: skip

#: Kinds where noise hides the differences only later in a run, as near an optimum.
LATE_NOISE_KINDS = (
    #    least  kappa  first  then         large
    Kind(     0, 20.0, (),    (_LQ_2,),    (_DE_2D,)),
    Kind( 2_000, 20.0, (),    (_IPOP_2,),  (_DE_2D,)),
)  # fmt: skip

_SQP = Seat("SQP", share=0.8, cap=500, finish_share=0.1, finish_cap=50, restarts=True)
_SQP_LONG = dataclasses.replace(_SQP, cap=np.inf)

#: Kinds under constraints. Sequential quadratic programming comes first, with its restarts, and
#: alone in a short run: methods without a model of the constraints need ten times the evaluations.
#: Above 2,000 variables its quadratic programs take too long.
CONSTRAINED_KINDS = (
    #    least  kappa  first     then                        large
    Kind(     0, 20.0, (),       (Seat("SQP"),),             (_DE_2D,), most=2_000),
    Kind(   500, 20.0, (_SQP_LONG,), (_CMA_SHARE, _DE_2D),   (_DE_2D,)),
    Kind( 3_000, 20.0, (_SQP,),  (_CMA_SHARE, _DE_5D),       (_DE_5D,)),
    Kind(20_000, KAPPA, (_SQP,), (_CMA, _DE),                (_DE,)),
)  # fmt: skip

_SQP_NOISY = Seat("SQP", share=0.4, restarts=True)

#: Kinds under constraints and noise: sequential quadratic programming, whose differences are wide
#: enough for the noise, keeps to equalities, which CMA-ES hardly ever meets.
CONSTRAINED_NOISY_KINDS = (
    #    least  kappa  first          then            large
    Kind(     0, 20.0, (),            (Seat("SQP"),), (_DE_2D,)),
    Kind(   100, 20.0, (_SQP_NOISY,), (_IPOP_2,),     (_DE_2D,)),
)  # fmt: skip

_MIXED_SQP = Seat("mixed-SQP", share=0.5, cap=500, restarts=True)

#: Kinds under constraints with integers, but without categories.
CONSTRAINED_INTEGER_KINDS = (
    #    least  kappa  first          then                   large
    Kind(     0, 20.0, (),            (Seat("mixed-SQP"),),  (_DE_2D,)),
    Kind(   100, 20.0, (_MIXED_SQP,), (_CMA_SHARE,),         (_DE_2D,)),
    Kind(   500, 20.0, (_MIXED_SQP,), (_CMA_SHARE, _DE_2D),  (_DE_2D,)),
    Kind( 3_000, 20.0, (_MIXED_SQP,), (_CMA_SHARE, _DE_5D),  (_DE_5D,)),
    Kind(20_000, KAPPA, (_MIXED_SQP,), (_CMA, _DE),          (_DE,)),
)  # fmt: skip

_LM = Seat("LM", share=0.5, cap=300, finish_share=0.1, finish_cap=20, restarts=True)
_LM_STEADY = dataclasses.replace(_LM, steady_cap=2_000)

#: Kinds of sums of squares whose residuals are known.
RESIDUAL_KINDS = (
    #    least  kappa  first    then                   large
    Kind(     0, 20.0, (),      (Seat("LM"),),         (Seat("LM"),)),
    Kind(   500, 20.0, (_LM,),  (_CMA_SHARE, _DE_2D),  (_DE_2D,)),
    Kind( 3_000, 20.0, (_LM_STEADY,), (_CMA_SHARE, _DE_5D), (_DE_5D,)),
)  # fmt: skip


_MODEL, _MODEL_ONCE = Seat("GP"), Seat("GP", cap=40, once=True)

#: Kinds with categories, with noise or without; under constraints, also those with logarithms of
#: integers or with conditions. At first most improvements come from a model, later
#: from moves of the best points. In a long run differential evolution, which crosses categories,
#: then goes on.
CATEGORICAL_KINDS = (
    #    least  kappa  first            then       large
    Kind(     0, 20.0, (),              (_MODEL,), (_DE_2D,)),
    Kind(   300, 20.0, (_MODEL_ONCE,),  (_DE,),    (_DE_2D,)),
)  # fmt: skip

#: Kinds with integers beside more real numbers, without categories or constraints: from 100·D
#: evaluations on as for real numbers.
INTEGER_KINDS = (CATEGORICAL_KINDS[0], *(kind for kind in KINDS if kind.least >= 100))

#: Kinds where most variables are integers: from 300·D evaluations on as for real numbers.
DISCRETE_KINDS = (
    CATEGORICAL_KINDS[0], KINDS[3]._replace(least=300),
    *(kind for kind in KINDS if kind.least >= 500),
)  # fmt: skip


class Traits(NamedTuple):
    """Traits of a problem that decide which table of members applies."""

    noisy: bool = False  # noise hides the differences between points
    late: bool = False  # only after the beginning of the run
    constrained: bool = False
    residuals: bool = False  # the residuals of a sum of squares are known
    integers: bool = False
    categories: bool = False  # or what else is searched like them
    discrete: bool = False  # at least half of the variables are integers
    scarce: bool = False  # too few evaluations for gradients


#: The table for each kind of problem: the first whose condition holds.
TABLES: tuple[tuple[Callable[[Traits], bool], tuple[Kind, ...]], ...] = (
    (lambda problem: problem.categories, CATEGORICAL_KINDS),
    (
        lambda problem: problem.noisy and problem.constrained and not problem.integers,
        CONSTRAINED_NOISY_KINDS,
    ),
    (lambda problem: problem.noisy and problem.late, LATE_NOISE_KINDS),
    (lambda problem: problem.noisy, NOISY_KINDS),
    (lambda problem: problem.residuals and not problem.integers, RESIDUAL_KINDS),
    (lambda problem: problem.constrained and problem.integers, CONSTRAINED_INTEGER_KINDS),
    (lambda problem: problem.constrained, CONSTRAINED_KINDS),
    (lambda problem: problem.discrete, DISCRETE_KINDS),
    (lambda problem: problem.integers, INTEGER_KINDS),
    (lambda problem: problem.scarce, SCARCE_KINDS),
    (lambda problem: True, KINDS),
)

_PLAIN = Traits()


def kind_of(dimension: int, budget: int | None, traits: Traits = _PLAIN) -> Kind:
    """Return the row of the table that applies to a dimension, a budget and traits."""
    evaluations = _per_variable(dimension, budget)
    traits = traits._replace(scarce=_is_scarce(dimension, budget))
    kinds = next(kinds for applies, kinds in TABLES if applies(traits))
    return [kind for kind in kinds if kind.least <= evaluations][-1]


def default_members(
    dimension: int, budget: int | None, traits: Traits = _PLAIN
) -> tuple[Member, ...]:
    """Return the members for a problem, according to :data:`TABLES`.

    Parameters
    ----------
    dimension : int
        The number of variables.
    budget : int or None
        The evaluations of the run; None means no limit.
    traits : Traits
        The traits of the problem.

    Returns
    -------
    tuple of Member

    Examples
    --------
    >>> [member.name for member in default_members(10, 10_000, Traits(constrained=True))]
    ['SQP', 'CMA-ES', 'mix']
    """
    kind = kind_of(dimension, budget, traits)
    seats = kind.first + (kind.then if dimension <= kind.most else kind.large)
    return tuple(seat.member(_per_variable(dimension, budget)) for seat in seats)


def _is_scarce(dimension: int, budget: int | None) -> bool:
    """Return whether a quadratic model achieves more than gradients, in up to 100 variables."""
    return budget is not None and budget < 5 * dimension + 14 and dimension <= _MANY


def _per_variable(dimension: int, budget: int | None) -> float:
    """Return the evaluations per variable; infinity without a budget."""
    return np.inf if budget is None else budget / dimension
