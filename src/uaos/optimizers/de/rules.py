"""Rules for F and CR: a constant, a distribution, or one that learns from successful offspring.

A rule is a declaration without running state; a run keeps the state (`rates`). Operators that name
the same adaptive rule *object* share its memory, and an operator that names it for both F and CR
draws the two from the same pair. As plain data, a rule that is named more than once carries a
`share` label; rules with the same label become one object again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

from uaos.errors import InvalidParameter, UnknownName, shortened
from uaos.optimizers.de import layout
from uaos.params import check_fields, choice, integer, known_only, real


@dataclass(frozen=True)
class RateRule:
    """Base class of rules for F and CR: a name, a kind in the kernels, the settings it serves."""

    rule: ClassVar[str]
    kind: ClassVar[int]
    serves: ClassVar[tuple[str, ...]] = ("F", "CR")
    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self, self.rule)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Parameters of a rule that does not adapt, for the kernels: at most two."""
        return tuple(float(getattr(self, f.name)) for f in fields(self))

    def to_dict(self) -> dict[str, object]:
        """Return the rule as plain data."""
        return {"rule": self.rule} | {f.name: getattr(self, f.name) for f in fields(self)}

    def __str__(self) -> str:
        return f"{self.rule}({', '.join(f'{getattr(self, f.name):g}' for f in fields(self))})"


@dataclass(frozen=True)
class Constant(RateRule):
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
class Uniform(RateRule):
    """Drawn for each offspring, uniformly from [a, b].

    Raises
    ------
    InvalidParameter
        If `a` is above `b`.

    Examples
    --------
    >>> import uaos
    >>> from uaos.optimizers.de.rules import Uniform
    >>> run = uaos.DifferentialEvolution([(-5, 5)] * 3, method="uniform", F=Uniform(0.4, 0.9))
    """

    rule: ClassVar[str] = "uniform"
    kind: ClassVar[int] = layout.UNIFORM

    a: float = real(0, 2, default=0.0, doc="lower end")
    b: float = real(0, 2, default=1.0, doc="upper end")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.a > self.b:
            raise InvalidParameter(
                f"a of uniform is {self.a:g}; expected at most b, which is {self.b:g}",
                name="a", value=self.a,
            )  # fmt: skip


@dataclass(frozen=True)
class Cauchy(RateRule):
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
class Normal(RateRule):
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


class Adaptation(NamedTuple):
    """Parameters of an adaptive rule, which learns pairs of locations of F and CR in turn."""

    pairs: int = 1
    F: float = 0.5
    """Initial locations."""
    CR: float = 0.5
    rate: float = 1.0
    """Weight of the new mean in a pair."""
    weighted: bool = True
    """True if the mean is weighted by the improvements."""
    lehmer: bool = False
    """True if the mean of CR is Lehmer's, as that of F always is."""
    fixed: float | None = None
    """Both locations of the last pair, if that stays as it is."""
    CR_scale: float = 0.1
    """Standard deviation of CR."""


@dataclass(frozen=True)
class AdaptiveRule(RateRule):
    """Base class of rules that learn locations of F and CR from offspring that improved."""

    kind: ClassVar[int] = layout.ADAPTIVE
    adaptive: ClassVar[bool] = True

    @property
    def adaptation(self) -> Adaptation:
        """Parameters of the learning."""
        raise NotImplementedError


@dataclass(frozen=True)
class Jade(AdaptiveRule):
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

    c: float = real(0.01, 1, default=0.1, allowed=(1e-6, 1), doc="learning rate")

    @property
    def adaptation(self) -> Adaptation:  # noqa: D102 (see AdaptiveRule)
        return Adaptation(rate=self.c, weighted=False)


@dataclass(frozen=True)
class SuccessHistory(AdaptiveRule):
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

    H: int = integer(2, 200, default=6, allowed=(1, 100_000), doc="number of pairs")
    F: float = real(0, 1, default=0.5, tuned=False, doc="M_F at the start")
    CR: float = real(0, 1, default=0.5, tuned=False, doc="M_CR at the start")
    rate: float = real(0, 1, default=1.0, tuned=False, doc="share of the new mean in a pair")
    CR_mean: str = choice(
        "arithmetic", "Lehmer", default="arithmetic", tuned=False,
        doc="mean of CR; Lehmer's is ΣwCR²/ΣwCR",
    )  # fmt: skip
    CR_scale: float = real(
        0.01, 1, default=0.1, allowed=(1e-6, 10), tuned=False, doc="standard deviation of CR"
    )
    last: float = real(0, 1, default=0.0, tuned=False, doc="fixed last pair (0: none)")

    @property
    def adaptation(self) -> Adaptation:  # noqa: D102 (see AdaptiveRule)
        return Adaptation(
            self.H, self.F, self.CR, self.rate, lehmer=self.CR_mean == "Lehmer",
            fixed=self.last or None, CR_scale=self.CR_scale,
        )  # fmt: skip

    def to_dict(self) -> dict[str, object]:
        """Return the rule as plain data: H, and what differs from SHADE."""
        usual = SuccessHistory()
        return {"rule": self.rule, "H": self.H} | {
            f.name: getattr(self, f.name)
            for f in fields(self)[1:]
            if getattr(self, f.name) != getattr(usual, f.name)
        }

    def __str__(self) -> str:
        further = [
            f"{name}={value if isinstance(value, str) else f'{value:g}'}"
            for name, value in self.to_dict().items()
            if name not in ("rule", "H")
        ]
        return f"{self.rule}({', '.join([str(self.H), *further])})"


#: The rules by their names in files.
RULES: dict[str, type[RateRule]] = {
    rule.rule: rule for rule in (Constant, Uniform, Cauchy, Normal, Jade, SuccessHistory)
}


def as_rule(value: object, role: str, owner: str) -> RateRule:
    """Return `value`, a number or a rule, as a rule that can serve as `role` ("F" or "CR")."""
    most = 2 if role == "F" else 1
    numbers = "a number in (0, 2]" if role == "F" else "a number in [0, 1]"

    def invalid(value: object, expected: str) -> InvalidParameter:
        message = f"{role} of {owner} is {shortened(value)}; expected {expected}"
        return InvalidParameter(message, name=role, value=value, owner=owner)

    if not isinstance(value, RateRule):
        try:
            value = Constant(value)  # type: ignore[arg-type]
        except InvalidParameter:
            example = "uaos.optimizers.de.rules.Uniform(0.5, 1)"
            raise invalid(value, f"{numbers}, or a rule such as {example}") from None
    if role not in value.serves:
        names = ", ".join(r.rule for r in RULES.values() if role in r.serves)
        raise invalid(str(value), f"{numbers}, or one of {names}")
    if isinstance(value, Constant) and not (value.value <= most and (role == "CR" or value.value)):
        raise invalid(value.value, f"{numbers}, or a rule")
    if isinstance(value, Uniform) and value.b > most:
        raise invalid(str(value), f"uniform(a, b) with b <= {most}")
    return value


def share_labels(rules: Iterable[RateRule]) -> dict[int, str]:
    """Return a label for each adaptive rule object that is named more than once, by its `id`."""
    seen: set[int] = set()
    labels: dict[int, str] = {}
    for rule in rules:
        if rule.adaptive and id(rule) in seen and id(rule) not in labels:
            labels[id(rule)] = f"memory {len(labels) + 1}"
        seen.add(id(rule))
    return labels


def rule_to_data(rule: RateRule, labels: Mapping[int, str]) -> float | dict[str, object]:
    """Return a rule as plain data: a constant as its number, a shared one with its label."""
    if isinstance(rule, Constant):
        return rule.value
    data = rule.to_dict()
    if id(rule) in labels:
        data["share"] = labels[id(rule)]
    return data


def rule_from_data(data: object, shared: dict[str, RateRule]) -> object:
    """Return the rule that :func:`rule_to_data` described; `shared` collects the labeled ones."""
    if not isinstance(data, Mapping):
        return data
    values = dict(data)
    name = values.pop("rule", None)
    label = values.pop("share", None)
    if not isinstance(name, str) or name not in RULES:
        raise UnknownName("rule for F or CR", name, RULES)
    known_only(values, {f.name: f for f in fields(RULES[name])}, name)
    rule = RULES[name](**values)
    if label is None:
        return rule
    first = shared.setdefault(str(label), rule)
    if first != rule:
        raise InvalidParameter(
            f"share {label!r} stands for {first} and for {rule}; expected one rule per label",
            name="share", value=label,
        )  # fmt: skip
    return first
