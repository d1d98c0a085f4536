"""Selections: which operator does each parent get?

A selection is a function of the probabilities and of random numbers that are drawn beforehand
(:class:`Draws`), so that the same draws give the same operators, compiled or not.
"""

import math
from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.jit import njit
from uaos.params import choice, real
from uaos.selection.components.base import Component, register_component


class Draws(NamedTuple):
    """Random numbers in [0, 1), and applications. Passed to :meth:`uaos.Selection.compute`."""

    pick: FloatArray
    """One per parent: which operator."""
    explore: FloatArray
    """One per parent: whether to explore."""
    tie: float
    """One per generation: which of the operators tied for the best."""
    applications: IntArray = np.zeros(0, np.int64)
    """One per operator: its applications reported so far, if the rule counts them."""


class Selection(Component):
    """Base of the selections: one operator for each parent.

    Examples
    --------
    >>> import numpy as np
    >>> import uaos
    >>> @uaos.register
    ... class MostProbable(uaos.Selection):
    ...     def compute(self, probabilities, draws, progress):
    ...         return np.full(len(draws.pick), np.argmax(probabilities))
    """

    family: ClassVar[str] = "selection"
    #: Whether the rule depends on the share of the budget that is spent.
    needs_budget: ClassVar[bool] = False
    #: Whether the rule reads `draws.applications`; counting takes time, so say False if not.
    counts_applications: ClassVar[bool] = True
    #: Whether operators that were never applied come first, whatever the rule says.
    unapplied_first: ClassVar[bool] = True

    @abstractmethod
    def compute(self, probabilities: FloatArray, draws: Draws, progress: float) -> IntArray:
        """Return one operator number per parent; `progress` is the spent share of the budget."""


@njit
def draw_proportionally(probabilities: FloatArray, pick: FloatArray) -> IntArray:
    """Return the operator into whose share of [0, 1) each pick falls."""
    K, n = len(probabilities), len(pick)
    edges = np.empty(K)
    total = 0.0
    for op in range(K):
        total += probabilities[op]
        edges[op] = total
    operators = np.empty(n, np.int64)
    for i in range(n):
        # The last edge may miss 1 by rounding: scaling the pick keeps it within the operators of
        # positive probability.
        x = pick[i] * total
        op = 0
        for edge in range(K - 1):  # all of them: where to stop cannot be predicted
            op += int(edges[edge] <= x)
        operators[i] = op
    return operators


@njit
def most_probable(probabilities: FloatArray, tie: float) -> int:
    """Return the operator of largest probability; `tie` breaks ties."""
    K = len(probabilities)
    largest = probabilities[0]
    equals = 0
    for op in range(K):
        if probabilities[op] > largest:
            largest, equals = probabilities[op], 0
        if probabilities[op] == largest:
            equals += 1
    left = math.floor(tie * equals)
    best = 0
    for op in range(K):
        if probabilities[op] == largest:
            best = op
            if left == 0:
                break
            left -= 1
    return best


def draw_uniformly(n_operators: int, pick: FloatArray) -> IntArray:
    """Draw operators, all with equal chances."""
    return np.floor(pick * n_operators).astype(np.int64)


@register_component
class Proportional(Selection):
    """An operator drawn with the probabilities.

    Equation
    --------
    op ~ p

    References
    ----------
    Thierens, D. (2005), "An adaptive pursuit strategy for allocating operator probabilities",
    GECCO.
    """

    counts_applications: ClassVar[bool] = False

    def compute(self, probabilities: FloatArray, draws: Draws, progress: float) -> IntArray:
        return draw_proportionally(probabilities, draws.pick)


@register_component
class Greedy(Selection):
    """The most probable operator, for all parents of the generation.

    ⚑ One draw per generation breaks ties, for all parents alike; ties = first takes the lowest
    operator number, as the script of the framework's authors did.

    Equation
    --------
    op = argmax_j p[j]

    References
    ----------
    Fialho, Á., Schoenauer, M. & Sebag, M. (2010), "Toward comparison-based adaptive operator
    selection", GECCO.
    """

    counts_applications: ClassVar[bool] = False

    ties: str = choice("random", "first", default="random", tuned=False, doc="how to break ties")

    def compute(self, probabilities: FloatArray, draws: Draws, progress: float) -> IntArray:
        tie = draws.tie if self.ties == "random" else 0.0
        return np.full(len(draws.pick), most_probable(probabilities, tie))


@register_component
class EpsilonGreedy(Selection):
    """Mostly the most probable operator, sometimes any.

    Equation
    --------
    with probability ε: op uniform over the K operators, else op = argmax_j p[j]

    References
    ----------
    Sutton, R. S. & Barto, A. G. (1998), "Reinforcement Learning: An Introduction", MIT Press; in
    this framework: Sharma, M., López-Ibáñez, M. & Kazakov, D. (2020), "Unified framework for the
    adaptive operator selection of discrete parameters", arXiv 2005.05613.
    """

    counts_applications: ClassVar[bool] = False

    eps: float = real(0, 1, default=0.1, symbol="ε", doc="chance of exploring")

    def compute(self, probabilities: FloatArray, draws: Draws, progress: float) -> IntArray:
        explored = draw_uniformly(len(probabilities), draws.pick)
        best = most_probable(probabilities, draws.tie)
        return np.where(draws.explore < self.eps, explored, best)


@register_component
class LinearAnnealed(Selection):
    """Epsilon-greedy whose ε falls linearly from 1 at the start to 0 when the budget is spent.

    Equation
    --------
    ε = 1 − evaluations / budget
    with probability ε: op uniform over the K operators, else op = argmax_j p[j]

    References
    ----------
    Sharma, M., López-Ibáñez, M. & Kazakov, D. (2020), "Unified framework for the adaptive operator
    selection of discrete parameters", arXiv 2005.05613.
    """

    counts_applications: ClassVar[bool] = False
    needs_budget: ClassVar[bool] = True

    def compute(self, probabilities: FloatArray, draws: Draws, progress: float) -> IntArray:
        explored = draw_uniformly(len(probabilities), draws.pick)
        best = most_probable(probabilities, draws.tie)
        return np.where(draws.explore < 1.0 - progress, explored, best)


@register_component
class ProportionalGreedy(Selection):
    """Mostly the most probable operator, sometimes drawn with the probabilities.

    Equation
    --------
    with probability ε: op ~ p, else op = argmax_j p[j]

    References
    ----------
    Sharma, M., López-Ibáñez, M. & Kazakov, D. (2020), "Unified framework for the adaptive operator
    selection of discrete parameters", arXiv 2005.05613.
    """

    counts_applications: ClassVar[bool] = False

    eps: float = real(0, 1, default=0.1, symbol="ε", doc="chance of following the probabilities")

    def compute(self, probabilities: FloatArray, draws: Draws, progress: float) -> IntArray:
        drawn = draw_proportionally(probabilities, draws.pick)
        best = most_probable(probabilities, draws.tie)
        return np.where(draws.explore < self.eps, drawn, best)


@register_component
class LargestDeficit(Selection):
    """The operator furthest behind its share of the applications; nothing is drawn.

    N[op] counts the applications of op reported so far and N is their sum; parents are
    served in turn, and each choice is counted at once. Ties: the lowest operator number.

    Equation
    --------
    op = argmax_j (p[j] · N − N[j])

    References
    ----------
    this package; it is not part of the framework's paper.
    """

    unapplied_first: ClassVar[bool] = False
    searched: ClassVar[bool] = False
    printed: ClassVar[bool] = False

    def compute(self, probabilities: FloatArray, draws: Draws, progress: float) -> IntArray:
        return _by_deficit(probabilities, np.array(draws.applications), len(draws.pick))


@njit
def _by_deficit(probabilities: FloatArray, applications: IntArray, n: int) -> IntArray:
    total = 0
    for op in range(len(applications)):
        total += applications[op]
    operators = np.empty(n, np.int64)
    for i in range(n):
        chosen, largest = 0, -np.inf
        for op in range(len(applications)):
            deficit = probabilities[op] * total - applications[op]
            if deficit > largest:
                chosen, largest = op, deficit
        operators[i] = chosen
        applications[chosen] += 1
        total += 1
    return operators


@register_component
class Shares(Selection):
    """For each operator a number of parents proportional to its probability, in random order.

    What rounding down leaves over goes to the largest remainders; ties: the lowest operator number.
    It suits steps of many parents: a single one always goes to the largest share.

    Equation
    --------
    n[op] = ⌊p[op] n⌋, and 1 more for the operators of largest p[op] n − ⌊p[op] n⌋

    References
    ----------
    LaTorre, A., Muelas, S. & Peña, J. M. (2010), "Benchmarking a MOS-based algorithm on the
    BBOB-2010 noiseless function testbed", GECCO workshop.
    """

    counts_applications: ClassVar[bool] = False
    unapplied_first: ClassVar[bool] = False
    printed: ClassVar[bool] = False

    def compute(self, probabilities: FloatArray, draws: Draws, progress: float) -> IntArray:
        n = len(draws.pick)
        exact = probabilities * n
        counts = np.floor(exact).astype(np.int64)
        left = n - int(counts.sum())
        counts[np.argsort(counts - exact, kind="stable")[:left]] += 1
        operators = np.empty(n, np.int64)
        operators[np.argsort(draws.pick, kind="stable")] = np.repeat(np.arange(len(counts)), counts)
        return operators
