"""A pool made ready to run: its operators as a table for the kernels, its rules with memory."""

from typing import Any

import numpy as np

from uaos.optimizers.base import Array
from uaos.optimizers.de import layout as at
from uaos.optimizers.de.operators import CustomOperator, Operator
from uaos.optimizers.de.rules import Jade, Rule, SuccessHistory
from uaos.optimizers.de.settings import Settings
from uaos.optimizers.de.strategies import role_table, strategy

_START = 0.5


class Pool:
    """The operators of a run: tables for the kernels, and the custom ones by number."""

    def __init__(self, settings: Settings) -> None:
        self.members = settings.members
        self.names = settings.names
        self.table = np.full((len(self.members), at.TABLE), -1.0)
        self.role_table = role_table()
        self.custom: dict[int, CustomOperator] = {}
        self.rules: list[Rule] = []
        self.uses_archive = False
        for k, member in enumerate(self.members):
            if isinstance(member, Operator):
                chosen = strategy(member.strategy)
                self.table[k, at.STRATEGY] = chosen.code
                self.uses_archive |= chosen.archive
                self._enter(k, at.F_KIND, member.F)
                self._enter(k, at.CR_KIND, member.CR)
            else:
                # A custom operator may look at the archive, so one is kept for it.
                self.custom[k] = member
                self.uses_archive = True

    def _enter(self, k: int, column: int, rule: Any) -> None:
        """Write a rule's kind, two numbers and memory row to the table, from `column` on."""
        numbers = [] if rule.adaptive else [float(v) for v in vars(rule).values()]
        self.table[k, column] = rule.kind
        self.table[k, column + 1 : column + 1 + len(numbers)] = numbers
        if rule.adaptive:
            rows = [row for row, known in enumerate(self.rules) if known is rule]
            if not rows:
                self.rules.append(rule)
                rows = [len(self.rules) - 1]
            self.table[k, column + 3] = rows[0]


class RuleMemory:
    """The running state of a pool's adaptive rules, one row for each rule object.

    `means[row, OF_F or OF_CR, k]` is mu of `jade` (k = 0) or the k-th pair of `success_history`.
    """

    def __init__(self, rules: list[Rule]) -> None:
        self.lengths = np.array([r.H if isinstance(r, SuccessHistory) else 1 for r in rules], int)
        self.rates = np.array([r.c if isinstance(r, Jade) else 0.0 for r in rules], float)
        self.means = np.full((len(rules), 2, max([1, *self.lengths.tolist()])), _START)
        self.turns = np.zeros(len(rules), int)

    def state(self) -> dict[str, Array]:
        """What changes in a run."""
        return {"means": self.means.copy(), "turns": self.turns.copy()}

    def restore(self, state: dict[str, Array]) -> None:
        """Continue from what :meth:`state` returned."""
        self.means[:] = state["means"]
        self.turns[:] = state["turns"]
