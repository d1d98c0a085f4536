"""Rules for F and CR: a constant, a distribution, or one that learns from the offspring that won.

A rule is a declaration without running state; a run keeps the state (`pool`). Operators that name
the same adaptive rule *object* share its memory, and an operator that names it for both F and CR
draws the two from the same pair. As plain data, a rule that is named more than once carries a
`share` label; rules with the same label become one object again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from uaos.errors import InvalidParameter, UnknownName
from uaos.optimizers.de import layout
from uaos.params import check_fields, integer, known_only, real


@dataclass(frozen=True)
class Rule:
    """What all rules have: a name, a code in the kernels, and the settings they can serve."""

    rule: ClassVar[str]
    kind: ClassVar[int]
    serves: ClassVar[tuple[str, ...]] = ("F", "CR")
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self, self.rule)

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain data."""
        return {"rule": self.rule} | {f.name: getattr(self, f.name) for f in fields(self)}

    def __str__(self) -> str:
        return f"{self.rule}({', '.join(f'{getattr(self, f.name):g}' for f in fields(self))})"


@dataclass(frozen=True)
class Constant(Rule):
    """The same value for every offspring."""

    rule: ClassVar[str] = "constant"
    kind: ClassVar[int] = layout.CONSTANT

    value: float = real(0, 2, default=0.5, doc="the value")

    def __str__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True)
class Uniform(Rule):
    """Drawn for each offspring, uniformly from [a, b]."""

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
    """F drawn for each offspring from a Cauchy distribution, redrawn while <= 0, cut at 1."""

    rule: ClassVar[str] = "cauchy"
    kind: ClassVar[int] = layout.CAUCHY
    serves: ClassVar[tuple[str, ...]] = ("F",)

    loc: float = real(0, 1, default=0.5, doc="location")
    scale: float = real(0.01, 1, default=0.1, allowed=(1e-6, 10), doc="scale")


@dataclass(frozen=True)
class Normal(Rule):
    """CR drawn for each offspring from a normal distribution, cut to [0, 1]."""

    rule: ClassVar[str] = "normal"
    kind: ClassVar[int] = layout.NORMAL
    serves: ClassVar[tuple[str, ...]] = ("CR",)

    loc: float = real(0, 1, default=0.5, doc="mean")
    scale: float = real(0.01, 1, default=0.1, allowed=(1e-6, 10), doc="standard deviation")


@dataclass(frozen=True)
class Jade(Rule):
    """F ~ cauchy(mu_F, 0.1) and CR ~ normal(mu_CR, 0.1), both mu starting at 0.5.

    After a generation, over the F and CR of the offspring that improved:
    mu_F <- (1-c) mu_F + c ΣF²/ΣF and mu_CR <- (1-c) mu_CR + c mean CR.
    Zhang and Sanderson (2009), JADE.
    """

    rule: ClassVar[str] = "jade"
    kind: ClassVar[int] = layout.ADAPTIVE
    adaptive: ClassVar[bool] = True

    c: float = real(0.01, 1, default=0.1, allowed=(1e-6, 1), doc="learning rate")


@dataclass(frozen=True)
class SuccessHistory(Rule):
    """H pairs (M_F, M_CR), starting at 0.5; an offspring draws a pair k at random.

    F ~ cauchy(M_F[k], 0.1), CR ~ normal(M_CR[k], 0.1). After a generation with improvements the
    next pair in turn becomes the weighted Lehmer mean of F, ΣwF²/ΣwF, and the weighted mean of CR,
    w = f - u. Tanabe and Fukunaga (2013), SHADE.
    """

    rule: ClassVar[str] = "success_history"
    kind: ClassVar[int] = layout.ADAPTIVE
    adaptive: ClassVar[bool] = True

    H: int = integer(2, 200, default=6, allowed=(1, 100_000), doc="number of pairs")


RULES: dict[str, type[Rule]] = {
    r.rule: r for r in (Constant, Uniform, Cauchy, Normal, Jade, SuccessHistory)
}


def as_rule(value: object, role: str, owner: str) -> Rule:
    """`value`, a number or a rule, as a rule that can serve as `role` ("F" or "CR")."""
    most = 2 if role == "F" else 1
    numbers = "a real number > 0 and at most 2" if role == "F" else "a real number 0 to 1"
    if not isinstance(value, Rule):
        try:
            value = Constant(value)  # type: ignore[arg-type]
        except InvalidParameter:
            raise InvalidParameter(role, value, f"{numbers}, or a rule", owner=owner) from None
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
