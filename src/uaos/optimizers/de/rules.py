"""Rules for F and CR: a constant, a distribution, or one that learns from the offspring that won.

A rule is a declaration without running state; a run keeps the state (`pool`). Operators that name
the same adaptive rule *object* share its memory, and an operator that names it for both F and CR
draws the two from the same pair. As plain data, a rule that is named more than once carries a
`share` label; rules with the same label become one object again.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from uaos.errors import InvalidParameter, UnknownName
from uaos.jit import njit
from uaos.optimizers.base import Array
from uaos.optimizers.de import layout
from uaos.params import check_fields, choice, integer, known_only, real


@dataclass(frozen=True)
class Rule:
    """What all rules have: a name, a code in the kernels, and the settings they can serve."""

    rule: ClassVar[str]
    kind: ClassVar[int]
    serves: ClassVar[tuple[str, ...]] = ("F", "CR")
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self, self.rule)

    @property
    def numbers(self) -> tuple[float, ...]:
        """What the kernels need to know of a rule that does not adapt: two numbers at most."""
        return tuple(float(getattr(self, f.name)) for f in fields(self))

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain data."""
        return {"rule": self.rule} | {f.name: getattr(self, f.name) for f in fields(self)}

    def __str__(self) -> str:
        return f"{self.rule}({', '.join(f'{getattr(self, f.name):g}' for f in fields(self))})"


@dataclass(frozen=True)
class Constant(Rule):
    """The same value for every offspring.

    Examples
    --------
    >>> from uaos.optimizers.de.rules import Constant
    >>> Constant(0.7).value
    0.7
    """

    rule: ClassVar[str] = "constant"
    kind: ClassVar[int] = layout.CONSTANT

    value: float = real(0, 2, default=0.5, doc="the value")

    def __str__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True)
class Uniform(Rule):
    """Drawn for each offspring, uniformly from [a, b].

    Raises
    ------
    InvalidParameter
        If `a` is above `b`.

    Examples
    --------
    >>> import uaos
    >>> from uaos.optimizers.de.rules import Uniform
    >>> run = uaos.DifferentialEvolution([(-5, 5)] * 3, method="DE-uniform", F=Uniform(0.4, 0.9))
    """

    rule: ClassVar[str] = "uniform"
    kind: ClassVar[int] = layout.UNIFORM

    a: float = real(0, 2, default=0.0, doc="lower end")
    b: float = real(0, 2, default=1.0, doc="upper end")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.a > self.b:
            raise InvalidParameter("a", self.a, f"at most b, which is {self.b:g}", owner="uniform")


@dataclass(frozen=True)
class Cauchy(Rule):
    """F drawn for each offspring from a Cauchy distribution, redrawn while <= 0, cut at 1.

    Examples
    --------
    >>> import uaos
    >>> from uaos.optimizers.de.rules import Cauchy
    >>> run = uaos.DifferentialEvolution([(-5, 5)] * 3, method="DE-uniform", F=Cauchy(loc=0.6))
    """

    rule: ClassVar[str] = "cauchy"
    kind: ClassVar[int] = layout.CAUCHY
    serves: ClassVar[tuple[str, ...]] = ("F",)

    loc: float = real(0, 1, default=0.5, doc="location")
    scale: float = real(0.01, 1, default=0.1, allowed=(1e-6, 10), doc="scale")


@dataclass(frozen=True)
class Normal(Rule):
    """Drawn for each offspring from a normal distribution, cut to [0, 1].

    Examples
    --------
    >>> import uaos
    >>> from uaos.optimizers.de.rules import Normal
    >>> run = uaos.DifferentialEvolution([(-5, 5)] * 3, method="DE-uniform", CR=Normal(0.9, 0.05))
    """

    rule: ClassVar[str] = "normal"
    kind: ClassVar[int] = layout.NORMAL

    loc: float = real(0, 1, default=0.5, doc="mean")
    scale: float = real(0.01, 1, default=0.1, allowed=(1e-6, 10), doc="standard deviation")


@dataclass(frozen=True)
class Jade(Rule):
    """F ~ cauchy(mu_F, 0.1) and CR ~ normal(mu_CR, 0.1), both mu starting at 0.5.

    After a generation, over the F and CR of the offspring that improved:
    mu_F <- (1-c) mu_F + c ΣF²/ΣF and mu_CR <- (1-c) mu_CR + c mean CR.
    Zhang and Sanderson (2009), JADE.

    Examples
    --------
    >>> import uaos
    >>> from uaos.optimizers.de.rules import Jade
    >>> rule = Jade()  # one memory for F and CR
    >>> run = uaos.DifferentialEvolution([(-5, 5)] * 3, method="DE-uniform", F=rule, CR=rule)
    """

    rule: ClassVar[str] = "jade"
    kind: ClassVar[int] = layout.ADAPTIVE
    adaptive: ClassVar[bool] = True

    c: float = real(0.01, 1, default=0.1, allowed=(1e-6, 1), doc="learning rate")


@dataclass(frozen=True)
class SuccessHistory(Rule):
    """H pairs (M_F, M_CR); an offspring draws a pair k at random.

    F ~ cauchy(M_F[k], 0.1), CR ~ normal(M_CR[k], 0.1). After a generation with improvements the
    next pair in turn becomes the weighted Lehmer mean of F, ΣwF²/ΣwF, and the weighted mean of CR,
    w = f - u. Tanabe and Fukunaga (2013), SHADE; the further settings are those of its successors.

    Examples
    --------
    >>> import uaos
    >>> from uaos.optimizers.de.rules import SuccessHistory
    >>> rule = SuccessHistory(H=100)
    >>> run = uaos.DifferentialEvolution([(-5, 5)] * 3, method="DE-uniform", F=rule, CR=rule)
    """

    rule: ClassVar[str] = "success_history"
    kind: ClassVar[int] = layout.ADAPTIVE
    adaptive: ClassVar[bool] = True

    H: int | str = integer(
        2, 200, default=6, allowed=(1, 100_000), doc='number of pairs, or in dimensions, "20D"'
    )
    F: float = real(0, 1, default=0.5, tuned=False, doc="M_F at the start")
    CR: float = real(0, 1, default=0.5, tuned=False, doc="M_CR at the start")
    rate: float = real(0, 1, default=1.0, tuned=False, doc="share of the new mean in a pair")
    CR_mean: str = choice(
        "arithmetic", "Lehmer", default="arithmetic", tuned=False,
        doc="mean of CR; Lehmer's is ΣwCR²/ΣwCR",
    )  # fmt: skip
    CR_zero: float = real(
        -1, 1, default=-1.0, tuned=False,
        doc="what stands for Lehmer's mean of CR where all CR are 0 (-1: the pair stays at CR = 0)",
    )  # fmt: skip
    CR_scale: float = real(
        0.01, 1, default=0.1, allowed=(1e-6, 10), tuned=False, doc="standard deviation of CR"
    )
    last: float = real(0, 1, default=0.0, tuned=False, doc="fixed last pair (0: none)")
    idle: float = real(
        0, 1, default=0.0, tuned=False,
        doc="what the pair in turn becomes after a generation without improvement (0: it stays)",
    )  # fmt: skip
    learns: str = choice(
        "drawn", "taken", default="drawn", tuned=False,
        doc="learn from the CR drawn, or from the share of coordinates that the offspring took",
    )  # fmt: skip
    phases: str = choice(
        "none", "jSO", "SPA", default="none", tuned=False,
        doc="by the share of the run that is over. jSO: F <= 0.7 up to 0.6, CR >= 0.7 up to 0.25 "
        "and >= 0.6 up to 0.5. SPA: F ~ U(0.45, 0.55) up to 0.5",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if isinstance(self.H, str):
            self.length(1)
            check_fields(replace(self, H=6), self.rule)
        else:
            super().__post_init__()

    def length(self, dimension: int) -> int:
        """H in a dimension."""
        if not isinstance(self.H, str):
            return self.H
        match = re.fullmatch(r"(\d{1,4})D", self.H)
        if not match:
            allowed = 'an integer 1 to 100000, or a multiple of the dimension such as "20D"'
            raise InvalidParameter("H", self.H, allowed, owner=self.rule)
        return max(1, int(match[1]) * dimension)

    def limits(self, progress: float) -> tuple[float, float]:
        """The largest F and the smallest CR at a share of the run."""
        if self.phases != "jSO":
            return 1.0, 0.0
        return (0.7 if progress < 0.6 else 1.0,
                0.7 if progress < 0.25 else 0.6 if progress < 0.5 else 0.0)  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain data: H, and what differs from SHADE."""
        usual = SuccessHistory()
        return {"rule": self.rule, "H": self.H} | {
            f.name: getattr(self, f.name)
            for f in fields(self)[1:]
            if getattr(self, f.name) != getattr(usual, f.name)
        }

    def __str__(self) -> str:
        further = [f"{k}={v}" for k, v in self.to_dict().items() if k not in ("rule", "H")]
        return f"{self.rule}({', '.join([str(self.H), *further])})"


@dataclass(frozen=True)
class SuccessRate(Rule):
    """F ~ normal(base + gain tanh(slope S), scale), cut to [0, 1].

    S is the share of the last generation's offspring that survived, 0.5 at the start. Stanovov and
    Semenkin (2024), L-SRTDE.
    """

    rule: ClassVar[str] = "success_rate"
    kind: ClassVar[int] = layout.NORMAL
    serves: ClassVar[tuple[str, ...]] = ("F",)

    base: float = real(0, 1, default=0.4, doc="F without success")
    gain: float = real(0, 1, default=0.25, doc="what is added as successes abound")
    slope: float = real(0, 10, default=5.0, allowed=(0, 100), doc="how soon it is added")
    scale: float = real(0.01, 1, default=0.02, allowed=(1e-6, 10), doc="standard deviation")

    def location(self, success_rate: float) -> float:
        """The mean of F at a success rate."""
        return self.base + self.gain * math.tanh(self.slope * success_rate)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Mean and standard deviation; the first changes from generation to generation."""
        return self.location(0.5), self.scale


@dataclass(frozen=True)
class BimodalCauchy(Rule):
    """F or CR of an individual, kept while its offspring survive, drawn anew when one does not.

    Cauchy around one of two locations, each with probability 1/2; F is redrawn while < 0 and cut at
    1, CR is cut to [0, 1]. Wang, Li, Huang and Li (2014), CoBiDE.
    """

    rule: ClassVar[str] = "bimodal_cauchy"
    kind: ClassVar[int] = layout.KEPT

    first: float = real(0, 1, default=0.65, doc="one location")
    second: float = real(0, 1, default=1.0, doc="the other location")
    scale: float = real(0.01, 1, default=0.1, allowed=(1e-6, 10), doc="scale")

    def numbers_of(self, role: str) -> tuple[float, ...]:
        """What :func:`redraw` needs: the chance of the first location, and the rest of both."""
        low_1 = low_2 = 0.0  # the distribution functions at 0, where F is redrawn
        if role == "F":
            low_1 = 0.5 - math.atan(self.first / self.scale) / math.pi
            low_2 = 0.5 - math.atan(self.second / self.scale) / math.pi
        # Redrawing also chooses the location anew.
        chance = (1.0 - low_1) / (2.0 - (low_1 + low_2))
        return chance, low_1, low_2, self.first, self.second, self.scale


@njit
def redraw(
    rates: Array,
    rows: Array,
    numbers: Array,
    columns: Array,
    uniforms: Array,
    having: Array,
    operators: Array,
    parents: Array,
    survived: Array,
) -> None:
    """Write new values of individuals whose offspring did not survive to some rows of `rates`.

    These are offspring of operators that are `having` such values. Each is the inverse distribution
    function of a rule `bimodal_cauchy` at a uniform number of the offspring; `numbers` and
    `columns` say which rule and number belong to each of `rows`.
    """
    for m in range(len(operators)):
        if not having[operators[m]] or survived[m]:
            continue
        for r in range(len(rows)):
            chance, u = numbers[r, 0], uniforms[m, columns[r]]
            if u < chance:
                low, location, within = numbers[r, 1], numbers[r, 3], u / chance
            else:
                low, location, within = numbers[r, 2], numbers[r, 4], (u - chance) / (1.0 - chance)
            p = low + within * (1.0 - low)
            value = location + numbers[r, 5] * math.tan(math.pi * (p - 0.5))
            rates[rows[r], parents[m]] = min(max(value, 0.0), 1.0)


RULES: dict[str, type[Rule]] = {
    r.rule: r
    for r in (
        Constant, Uniform, Cauchy, Normal, Jade, SuccessHistory, SuccessRate, BimodalCauchy,
    )
}  # fmt: skip


def as_rule(value: object, role: str, owner: str) -> Rule:
    """`value`, a number or a rule, as a rule that can serve as `role` ("F" or "CR")."""
    most = 2 if role == "F" else 1
    numbers = "a real number > 0 and at most 2" if role == "F" else "a real number 0 to 1"
    if not isinstance(value, Rule):
        try:
            value = Constant(value)  # type: ignore[arg-type]
        except InvalidParameter:
            allowed = f"{numbers}, or a rule such as uaos.optimizers.de.rules.Uniform(0.5, 1)"
            raise InvalidParameter(role, value, allowed, owner=owner) from None
    if role not in value.serves:
        names = ", ".join(r.rule for r in RULES.values() if role in r.serves)
        raise InvalidParameter(role, str(value), f"{numbers}, or one of {names}", owner=owner)
    if isinstance(value, Constant) and not (value.value <= most and (role == "CR" or value.value)):
        raise InvalidParameter(role, value.value, f"{numbers}, or a rule", owner=owner)
    if isinstance(value, Uniform) and value.b > most:
        raise InvalidParameter(role, str(value), f"uniform(a, b) with b <= {most}", owner=owner)
    return value


def share_labels(rules: Iterable[Rule]) -> dict[int, str]:
    """A label for each adaptive rule object that is named more than once, by its `id`."""
    seen: set[int] = set()
    labels: dict[int, str] = {}
    for rule in rules:
        if rule.adaptive and id(rule) in seen and id(rule) not in labels:
            labels[id(rule)] = f"memory {len(labels) + 1}"
        seen.add(id(rule))
    return labels


def rule_to_data(rule: Rule, labels: Mapping[int, str]) -> float | dict[str, Any]:
    """A rule as plain data: a constant as its number, a shared one with its label."""
    if isinstance(rule, Constant):
        return rule.value
    data = rule.to_dict()
    if id(rule) in labels:
        data["share"] = labels[id(rule)]
    return data


def rule_from_data(data: object, shared: dict[str, Rule]) -> object:
    """The inverse of :func:`rule_to_data`; `shared` collects the labeled rules of a pool."""
    if not isinstance(data, Mapping):
        return data
    values = dict(data)
    name = values.pop("rule", None)
    label = values.pop("share", None)
    if not isinstance(name, str) or name not in RULES:
        raise UnknownName("rule for F or CR", name, RULES)
    made = RULES[name]
    known_only(values, {f.name: f for f in fields(made)}, str(name))
    rule = made(**values)
    if label is None:
        return rule
    first = shared.setdefault(str(label), rule)
    if first != rule:
        raise InvalidParameter(
            "share", label, f"one rule to a label; {label!r} is both {first} and {rule}"
        )
    return first
