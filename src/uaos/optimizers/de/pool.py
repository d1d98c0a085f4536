"""Pool of operators of a run, as tables for the kernels."""

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.optimizers.de import layout as at
from uaos.optimizers.de.operators import CustomOperator, Operator
from uaos.optimizers.de.rules import AdaptiveRule, RateRule
from uaos.optimizers.de.settings import DifferentialEvolutionSettings
from uaos.optimizers.de.strategies import ROLES, strategy
from uaos.statefile import SavedState, State


class Pool:
    """Operators of a run.

    Attributes
    ----------
    members, names
        The operators, and a unique name for each.
    table : ndarray, shape (K, TABLE)
        The rules for F and CR of each operator.
    roles, differences : ndarray
        The points in the formula of each operator, and the number of its differences.
    rules : list of AdaptiveRule
        The rules that learn, by the row of their memory.
    custom : dict of int to CustomOperator
        The custom operators by number.
    """

    def __init__(self, settings: DifferentialEvolutionSettings) -> None:
        self.members, self.names = settings.members, settings.names
        K = len(self.members)
        self.table = np.zeros((K, at.TABLE))
        # Custom operators make their offspring themselves; the kernels make copies of x_i.
        self.roles = np.full((K, at.PARTNERS), at.PARENT)
        self.differences = np.ones(K, np.int64)
        self.rules: list[AdaptiveRule] = []
        self.custom: dict[int, CustomOperator] = {}
        #: Whether an archive is kept; a custom operator may look at it.
        self.uses_archive = False
        for k, member in enumerate(self.members):
            if isinstance(member, Operator):
                chosen = strategy(member.strategy)
                self.uses_archive |= chosen.archive
                self.roles[k, : len(chosen.roles)] = [ROLES.index(role) for role in chosen.roles]
                self.differences[k] = len(chosen.roles) // 2
                self._enter(k, at.F_KIND, member.F)
                self._enter(k, at.CR_KIND, member.CR)
            else:
                self.custom[k] = member
                self.uses_archive = True

    def _enter(self, k: int, column: int, rule: object) -> None:
        """Write a rule's kind and numbers to the table, from `column` on."""
        assert isinstance(rule, RateRule)  # `members` of the settings has no open F or CR
        if isinstance(rule, AdaptiveRule):
            if not any(other is rule for other in self.rules):
                self.rules.append(rule)
            row = next(row for row, other in enumerate(self.rules) if other is rule)
            numbers: tuple[float, ...] = (row,)
        else:
            numbers = rule.numbers
        self.table[k, column] = rule.kind
        self.table[k, column + 1 : column + 1 + len(numbers)] = numbers

    def state(self) -> State:
        """Return the states of custom operators that have one, by name."""
        return {op.name: op.state() for op in self.custom.values() if hasattr(op, "state")}

    def restore(self, states: SavedState) -> None:
        """Restore custom operators from what :meth:`state` returned."""
        for operator in self.custom.values():
            if operator.name in states and hasattr(operator, "restore"):
                operator.restore(states[operator.name])


class SingleOperator:
    """Selector of a pool with one operator, which neither chooses nor learns."""

    probabilities: FloatArray = np.ones(1)

    def select(self, n: int, /) -> IntArray:
        """Return operator 0, n times."""
        return np.zeros(n, np.int64)

    def learn(self, operators: IntArray, parents: FloatArray, offspring: FloatArray, /) -> None:
        """Do nothing."""

    def state(self) -> State:
        """Return an empty state."""
        return {}

    def restore(self, state: SavedState, /) -> None:
        """Do nothing, as there is no state."""
