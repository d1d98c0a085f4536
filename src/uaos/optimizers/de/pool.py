"""A pool made ready to run: operators as tables for the kernels, rules with their memory."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from uaos.optimizers.base import Array
from uaos.optimizers.de import layout
from uaos.optimizers.de.operators import CustomOperator, Operator
from uaos.optimizers.de.rules import (
    BimodalCauchy,
    Constant,
    Jade,
    Rule,
    SuccessHistory,
    SuccessRate,
)
from uaos.optimizers.de.settings import Settings
from uaos.optimizers.de.strategies import role_table, strategy
from uaos.selection.fused import Fused, learn_nothing


class Kept(NamedTuple):
    """Values of F or CR that individuals keep for the same operators."""

    having: Array
    """Which operators these are."""
    rows: Array
    """Where the values are among the rates of individuals."""
    numbers: Array
    """What :func:`redraw` needs to know of their rules."""


class Pool:
    """The operators of a run: tables for the kernels, and the custom ones by number."""

    def __init__(self, settings: Settings) -> None:
        self.members = settings.members
        self.names = settings.names
        self.table = np.full((len(self.members), layout.TABLE), -1.0)
        self.role_table = role_table()
        self.custom: dict[int, CustomOperator] = {}
        self.rules: list[Rule] = []
        self.uses_archive = settings.survival == "newest"
        self.uses_ranks = False
        self.weighted = False
        #: Whose strategies use the archive.
        self.archived = np.zeros(len(self.members), np.bool_)
        #: Which operators have each model, and each rule whose values individuals keep.
        self.models: dict[str, Array] = {}
        self.individual_rates: list[tuple[BimodalCauchy, str, Array]] = []
        #: Operators whose F follows the success rate, or is uniform in the first half of the run.
        self.moving: dict[int, Any] = {}
        #: Strategies whose x_pbest is not the parent, up to a share of the run.
        self.apart: dict[int, float] = {}
        for k, member in enumerate(self.members):
            if isinstance(member, Operator):
                chosen = strategy(member.strategy)
                self.table[k, layout.STRATEGY] = chosen.code
                self.uses_archive |= chosen.archive
                self.uses_ranks |= chosen.ranked
                self.weighted |= chosen.weighted
                self.archived[k] = chosen.archive
                self.table[k, layout.CROSSED] = Constant(1.0) != member.CR
                if chosen.sampled:
                    nobody = np.zeros(len(self.members), np.bool_)
                    self.models.setdefault(chosen.model, nobody)[k] = True
                if chosen.other_until > 0.0:
                    self.apart[chosen.code] = chosen.other_until
                self._enter(k, layout.F_KIND, member.F)
                self._enter(k, layout.CR_KIND, member.CR)
                self.table[k, layout.TOP] = -1.0 if member.top_NP is None else member.top_NP
                self.table[k, layout.TAKEN] = getattr(member.CR, "learns", "") == "taken"
                if isinstance(member.F, SuccessRate) or getattr(member.F, "phases", "") == "SPA":
                    self.moving[k] = member.F
            else:
                # A custom operator may look at the archive, so one is kept for it.
                self.custom[k] = member
                self.uses_archive = True
        #: Whether F or top_NP depends on the share of offspring that survived.
        self.follows_success = settings.top(success_rate=0.0) != settings.top(
            success_rate=1.0
        ) or any(isinstance(rule, SuccessRate) for rule in self.moving.values())

    def models_of(self, operators: Sequence[int]) -> list[str]:
        """The models that any of some operators has."""
        chosen = list(operators)
        return [name for name, having in self.models.items() if having[chosen].any()]

    def kept_by(self, operators: Sequence[int]) -> list[Kept]:
        """What individuals keep for any of some operators, those with the same owners together."""
        found: dict[bytes, list[int]] = {}
        for row, (_, _, having) in enumerate(self.individual_rates):
            if having[list(operators)].any():
                found.setdefault(having.tobytes(), []).append(row)
        return [self._kept(rows) for rows in found.values()]

    def _kept(self, rows: list[int]) -> Kept:
        chosen = [self.individual_rates[row] for row in rows]
        numbers = np.array([rule.numbers_of(role) for rule, role, _ in chosen])
        return Kept(chosen[0][2], np.array(rows), numbers)

    def _enter(self, k: int, column: int, rule: Any) -> None:
        """Write a rule's kind, two numbers and memory row to the table, from `column` on."""
        if isinstance(rule, BimodalCauchy):
            role = "F" if column == layout.F_KIND else "CR"
            if not any(one is rule and of == role for one, of, _ in self.individual_rates):
                self.individual_rates.append((rule, role, np.zeros(len(self.members), np.bool_)))
            values: tuple[float, ...] = ()
            for row, (one, of, having) in enumerate(self.individual_rates):
                if one is rule and of == role:
                    having[k], values = True, (row,)
        else:
            values = () if rule.adaptive else rule.numbers
        self.table[k, column] = rule.kind
        self.table[k, column + 1 : column + 1 + len(values)] = values
        if rule.adaptive:
            rows = [row for row, known in enumerate(self.rules) if known is rule]
            if not rows:
                self.rules.append(rule)
                rows = [len(self.rules) - 1]
            self.table[k, column + 3] = rows[0]

    @property
    def steady(self) -> bool:
        """Whether nothing depends on the stage of the run or on the success rate."""
        phased = any(getattr(rule, "phases", "none") != "none" for rule in self.rules)
        return not (self.moving or self.apart or self.weighted or phased)

    def move(self, progress: float) -> None:
        """Set what depends on the stage of the run: the F of some rules, who x_pbest may be."""
        for code, until in self.apart.items():
            self.role_table[code, layout.OTHER] = progress < until
        for k, rule in self.moving.items():
            if not isinstance(rule, SuccessRate):
                kind = layout.UNIFORM if progress <= 0.5 else layout.ADAPTIVE
                self.table[k, layout.F_KIND : layout.F_B + 1] = kind, 0.45, 0.55

    def follow_success(self, success_rate: float) -> None:
        """Set the F of the rules that depend on the success rate."""
        for k, rule in self.moving.items():
            if isinstance(rule, SuccessRate):
                self.table[k, layout.F_A] = rule.location(success_rate)


class RuleMemory:
    """The running state of a pool's adaptive rules, one row for each rule object.

    `means[row, OF_F or OF_CR, k]` is mu of `jade` (k = 0) or the k-th pair of `success_history`.
    """

    def __init__(self, rules: list[Rule], dimension: int) -> None:
        histories = [r if isinstance(r, SuccessHistory) else SuccessHistory(1) for r in rules]
        self.lengths = np.array([r.length(dimension) for r in histories], int)
        self.means = np.empty((len(rules), 2, max([1, *self.lengths.tolist()])))
        self.numbers = np.zeros((len(rules), layout.NUMBERS))
        for row, rule in enumerate(histories):
            of_jade = rules[row]
            self.means[row, layout.OF_F], self.means[row, layout.OF_CR] = rule.F, rule.CR
            if rule.last:
                self.means[row, :, self.lengths[row] - 1] = rule.last
            self.numbers[row] = (
                of_jade.c if isinstance(of_jade, Jade) else rule.rate,
                not isinstance(of_jade, Jade), rule.CR_mean == "Lehmer", rule.idle, rule.last,
                0.1, rule.CR_scale, rule.CR_zero, *rule.limits(1.0),
            )  # fmt: skip
        self.turns = np.zeros(len(rules), int)
        self._phased = [(row, rule) for row, rule in enumerate(histories) if rule.phases == "jSO"]

    def move(self, progress: float) -> None:
        """Set the limits of F and CR at a share of the run."""
        for row, rule in self._phased:
            F_most, CR_least = rule.limits(progress)
            self.numbers[row, layout.F_MOST], self.numbers[row, layout.CR_LEAST] = F_most, CR_least

    def state(self) -> dict[str, Array]:
        """What changes in a run."""
        return {"means": self.means.copy(), "turns": self.turns.copy()}

    def restore(self, state: dict[str, Array]) -> None:
        """Continue from what :meth:`state` returned."""
        self.means[:] = state["means"]
        self.turns[:] = state["turns"]


class SingleOperator:
    """The selector of a pool of one operator: there is nothing to choose, and nothing to learn."""

    probabilities: Array = np.ones(1)
    #: No component, and one operator.
    fused = Fused(
        np.zeros((0, 0)), False, np.zeros((0, 0, 0)), np.zeros(()),
        *(np.zeros(0), np.zeros(0), np.ones(1), np.zeros(0)),
    )  # fmt: skip
    learner = staticmethod(learn_nothing)

    def select(self, n: int, /) -> Array:
        """Operator 0, n times."""
        return np.zeros(n, np.int64)

    def learn(self, operators: Array, parents: Array, offspring: Array, /) -> None:
        """Nothing to learn."""

    def state(self) -> dict[str, Any]:
        """Nothing to keep."""
        return {}

    def restore(self, state: Mapping[str, Any], /) -> None:
        """Nothing to continue."""
