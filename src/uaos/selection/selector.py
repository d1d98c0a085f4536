"""Selector: a method at work.

select → (vary, evaluate) → update: metric → memory → reward → quality → probability → select …
"""

import os
from contextlib import nullcontext
from functools import partial
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from uaos import statefile
from uaos.errors import InvalidComponent, InvalidFeedback, InvalidFile, InvalidParameter
from uaos.selection.compiled import Compute, compiled, has_twin
from uaos.selection.components import Component
from uaos.selection.components.metrics import comparable
from uaos.selection.components.qualities import Evidence
from uaos.selection.components.selections import Draws
from uaos.selection.memory import BestMemory, Floats, Integers, memory_for
from uaos.selection.method import Method
from uaos.selection.steps import (
    JudgeOfOne,
    first_outside,
    judge,
    judge_of_one,
    own,
    settled_probabilities,
    settled_qualities,
    settled_rewards,
    survey,
)

#: Version of the file that :meth:`Selector.save` writes.
FORMAT = 2

_WHOLE = (int, np.integer)

# What a generation of one is taken as without a closer look: exact types, for True is an int.
_ROW = frozenset((list, tuple, np.ndarray))
_OPERATOR = frozenset((int, np.int64))
_FITNESS = frozenset((float, np.float64, int))


class Selector:
    """The running state of a method: which operators to use next, learnt from what they achieved.

    Made by :meth:`uaos.Method.selector`. The loop of any algorithm needs two calls::

        operators = selector.select(n)                # one operator number for each of n parents
        ...                                           # make and evaluate n offspring
        selector.update(operators, parent_fitness, offspring_fitness)

    Smaller fitness is better. Batches may be of any size and change from call to call; an update
    with one offspring is a generation of one. An update that does not fit raises
    :class:`uaos.errors.InvalidFeedback` and changes nothing.
    """

    def __init__(
        self,
        method: Method,
        n_operators: int,
        *,
        seed: int | np.random.Generator | None = None,
        budget: int | None = None,
        bests: ArrayLike | None = None,
    ) -> None:
        if not _whole(n_operators) or n_operators < 2:
            allowed = "a whole number, 2 or more (among fewer there is nothing to select)"
            raise InvalidParameter("n_operators", n_operators, allowed, owner="a selector")
        at_work = method.for_operators(int(n_operators))
        if budget is None and method.selection.needs_budget:
            allowed = "a number of offspring: the selection follows the share of it that is spent"
            raise InvalidParameter("budget", budget, allowed, owner=method.selection.name)
        if budget is not None and not (_whole(budget) and budget > 0):
            raise InvalidParameter("budget", budget, "a positive number of offspring, or None")
        self.method = method
        self._at_work = at_work
        self.n_operators = int(n_operators)
        learning = (at_work.reward, at_work.quality, at_work.probability)
        self._reward, self._quality, self._probability = (
            _computing(component, self.n_operators) for component in learning
        )
        self._selection = compiled(at_work.selection)
        self._judge_of_one = judge_of_one(at_work.metric)
        self._one = (np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1, dtype=bool), np.zeros(1))
        calm = all(map(has_twin, learning))
        self._quiet = nullcontext if calm else partial(np.errstate, all="ignore")
        self._reads_successes = own(at_work.reward) and at_work.reward.memory in (
            "successes", "window",
        )  # fmt: skip
        self.budget = budget
        self.rng = np.random.default_rng(_checked_seed(seed))
        self._restart()
        if bests is not None:
            self._start_from(bests)

    def _start_from(self, bests: ArrayLike) -> None:
        """Give each operator the best fitness it starts with."""
        k = self.n_operators
        try:
            values = np.asarray(bests, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            values = np.empty(0)
        if values.shape != (k,):
            allowed = f"{k} numbers, one for each operator (inf: none yet)"
            raise InvalidParameter("bests", bests, allowed, owner="a selector")
        nothing = np.zeros(k)
        if isinstance(self._memory, BestMemory):
            self._memory.record(np.arange(k), nothing, nothing.astype(bool), values)

    def _restart(self) -> None:
        k = self.n_operators
        self._memory = memory_for(self._at_work.reward, k)
        self._rewards = np.zeros(k)
        self._qualities = np.full(k, 1.0 / k)
        self._probabilities = np.full(k, 1.0 / k)
        self._best_so_far = np.inf
        self._reported = 0
        self._applications = np.zeros(k, dtype=np.int64)
        self._unapplied = np.full(k, self.method.selection.unapplied_first)
        self._all_applied = not self._unapplied.any()

    @property
    def probabilities(self) -> Floats:
        """The chance of each operator, summing to 1."""
        return self._probabilities.copy()

    @property
    def qualities(self) -> Floats:
        """The estimated worth of each operator, summing to 1."""
        return self._qualities.copy()

    @property
    def rewards(self) -> Floats:
        """The last generation's reward of each operator (after scaling, if the method scales)."""
        return self._rewards.copy()

    def select(self, n: int = 1) -> Integers:
        """Choose an operator for each of `n` parents.

        Until every operator has been applied once, the first parents get those that have not, in
        random order (`largest_deficit` needs no such rule, and has none).
        """
        if not _whole(n) or n < 0:
            raise InvalidParameter("n", n, "a whole number, 0 or more", owner="select")
        numbers = self.rng.random(2 * n + 1)
        draws = Draws(numbers[:n], numbers[n : 2 * n], numbers[2 * n], self._applications)
        progress = min(1.0, self._reported / self.budget) if self.budget else 0.0
        chosen = self._selection(self._probabilities, draws, progress)
        if self._all_applied:
            return np.ascontiguousarray(chosen, dtype=np.int64)
        operators = np.array(chosen, dtype=np.int64)
        first = self.rng.permutation(np.flatnonzero(self._unapplied))[:n]
        operators[: len(first)] = first
        self._note_applied(operators)
        return operators

    def update(
        self, operators: ArrayLike, parent_fitness: ArrayLike, offspring_fitness: ArrayLike
    ) -> None:
        """Learn from one generation: the operator, the parent's and the offspring's fitness.

        NaN and infinite offspring are failed applications; see
        :func:`uaos.selection.components.metrics.comparable` for parents.
        """
        # Overflow, 0/0 and the like are masked or saturated where they can arise: no warnings.
        one = _lone(operators, parent_fitness, offspring_fitness, self.n_operators)
        if one is not None and self._judge_of_one is not None:
            self._note_applied(one[0])
            self._applications[one[0]] += 1
            with self._quiet():
                self._learn_from_one(*one, self._judge_of_one)
            return
        applied, parents, offspring = self._checked(operators, parent_fitness, offspring_fitness)
        if len(applied) == 0:
            return
        self._note_applied(applied)
        self._applications += np.bincount(applied, minlength=self.n_operators)
        with np.errstate(all="ignore"):
            self._learn(applied, parents, offspring)

    def _learn(self, operators: Integers, parents: Floats, offspring: Floats) -> None:
        """Metric → memory, of a generation."""
        metric = self._at_work.metric
        least_parent, least_offspring, failed = survey(parents, offspring)
        if failed:
            parents, offspring = comparable(parents, offspring, np)
        best_so_far = min(self._best_so_far, least_parent)
        values = metric.compute(parents, offspring, best_so_far, np)
        values = _floats(values, len(operators), metric)
        metrics, successes = judge(values, parents, offspring, metric.by_reference)
        self._memory.record(operators, metrics, successes, offspring)
        self._adapt()
        self._best_so_far = min(best_so_far, least_offspring)
        self._reported += len(operators)

    def _learn_from_one(
        self, operator: int, parent: float, offspring: float, judge_of_one: JudgeOfOne
    ) -> None:
        """Metric → memory, of a generation of one: in plain numbers, which is faster."""
        best_so_far = min(self._best_so_far, parent) if parent > -inf else self._best_so_far
        metric, success = judge_of_one(parent, offspring, best_so_far)
        operators, metrics, successes, made = self._one
        operators[0], metrics[0], successes[0], made[0] = operator, metric, success, offspring
        self._memory.record(operators, metrics, successes, made)
        # A failure leaves a memory of successes as it was, and so the rewards read from it.
        same = self._reads_successes and not success
        self._adapt(self._rewards if same else None)
        self._best_so_far = min(best_so_far, offspring) if offspring > -inf else best_so_far
        self._reported += 1

    def _adapt(self, rewards: Floats | None = None) -> None:
        """Memory → reward → quality → probability; `rewards` are those already known."""
        method, p, q = self._at_work, self._probabilities, self._qualities
        if rewards is None:
            rewards = settled_rewards(self._reward(self._memory.view()), method.scale_rewards)
        seen = self._memory.observations() if method.quality.counts_observations else p
        q = settled_qualities(self._quality(Evidence(rewards, self._rewards, q, p, seen)))
        p = settled_probabilities(self._probability(q, p))
        self._rewards, self._qualities, self._probabilities = rewards, q, p

    def _note_applied(self, operators: Integers | int) -> None:
        if self._all_applied:
            return
        self._unapplied[operators] = False
        self._all_applied = not self._unapplied.any()

    def _checked(
        self, operators: ArrayLike, parent_fitness: ArrayLike, offspring_fitness: ArrayLike
    ) -> tuple[Integers, Floats, Floats]:
        try:
            applied = np.asarray(operators)
        except ValueError as error:
            raise InvalidFeedback(f"operators must be whole numbers, in a row: {error}") from error
        if applied.dtype.kind not in "iu" and applied.size:
            raise InvalidFeedback(
                f"operators must be whole numbers 0 to {self.n_operators - 1}; "
                f"they are of type {applied.dtype}"
            )
        try:
            parents = np.asarray(parent_fitness, dtype=np.float64)
            offspring = np.asarray(offspring_fitness, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidFeedback(f"fitness values must be numbers: {error}") from error
        if applied.ndim == 0:
            applied, parents, offspring = (np.atleast_1d(a) for a in (applied, parents, offspring))
        if not (applied.ndim == 1 and applied.shape == parents.shape == offspring.shape):
            raise InvalidFeedback(
                "operators, parent fitness and offspring fitness must be of one length; they have "
                f"the shapes {applied.shape}, {parents.shape} and {offspring.shape}"
            )
        applied = np.ascontiguousarray(applied, dtype=np.int64)
        wrong = first_outside(applied, self.n_operators)
        if wrong >= 0:
            raise InvalidFeedback(
                f"operator {applied[wrong]} does not exist; there are {self.n_operators}, "
                f"numbered 0 to {self.n_operators - 1}"
            )
        return applied, parents, offspring

    def state(self) -> dict[str, Any]:
        """Everything that changes, as plain values and copies of arrays."""
        return {
            "rewards": self.rewards,
            "qualities": self.qualities,
            "probabilities": self.probabilities,
            "best_so_far": np.array(self._best_so_far),
            "reported": self._reported,
            "applications": self._applications.copy(),
            "unapplied": self._unapplied.copy(),
            "memory": {name: array.copy() for name, array in self._memory.arrays().items()},
            "rng": self.rng.bit_generator.state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up a :meth:`state` of a selector of the same method and number of operators."""
        k = self.n_operators
        memory = self._memory.arrays()
        try:
            shapes = {name: array.shape for name, array in memory.items()}
            found = {name: np.shape(array) for name, array in state["memory"].items()}
            arrays = [state[name] for name in ("rewards", "qualities", "probabilities")]
            unapplied = np.array(state["unapplied"], dtype=bool)
            applications = np.array(state["applications"], dtype=np.int64)
            counts = (unapplied, applications)
            if shapes != found or any(np.shape(a) != (k,) for a in (*arrays, *counts)):
                raise InvalidFile("the state is of a selector with another shape")
            best, reported = float(state["best_so_far"]), int(state["reported"])
            fresh = np.random.Generator(type(self.rng.bit_generator)())
            fresh.bit_generator.state = state["rng"]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidFile(f"not the state of a selector: {error!r}") from error
        for name, array in memory.items():
            array[...] = state["memory"][name]
        self._rewards, self._qualities, self._probabilities = (np.array(a) for a in arrays)
        self._best_so_far, self._reported = best, reported
        self._unapplied, self._applications = unapplied, applications
        self._all_applied = not unapplied.any()
        self.rng.bit_generator.state = state["rng"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the selector to a file, from which :meth:`load` continues it bit for bit."""
        header = {"method": self.method.to_dict(), "n_operators": self.n_operators}
        generator = type(self.rng.bit_generator).__name__
        content = {**header, "budget": self.budget, "generator": generator, "state": self.state()}
        statefile.write(path, "selector", FORMAT, content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Selector":
        """A selector that continues where the saved one stood."""
        content = statefile.read(path, "selector", FORMAT)
        try:
            generator = getattr(np.random, content["generator"])
            method = Method.from_dict(content["method"])
            seed = np.random.Generator(generator())
            selector = cls(method, content["n_operators"], seed=seed, budget=content["budget"])
            selector.restore(content["state"])
        except InvalidFile as error:
            raise InvalidFile(f"{path}: {error}") from error
        except (KeyError, AttributeError, TypeError) as error:
            raise InvalidFile(f"{path}: damaged, {error!r}") from error
        return selector

    def __repr__(self) -> str:
        shown = np.array2string(self._probabilities, precision=3, separator=", ")
        return f"Selector({self.n_operators} operators, probabilities={shown}, {self.method!r})"

    def __rich__(self) -> Table:
        """The operators' standing, with a bar for each probability."""
        table = Table(title=f"selector after {self._reported} offspring", title_justify="left")
        for column in ("operator", "reward", "quality", "probability", ""):
            table.add_column(column, justify="left" if column == "" else "right")
        for op in range(self.n_operators):
            p = self._probabilities[op]
            row = (self._rewards[op], self._qualities[op], p)
            table.add_row(str(op), *(f"{v:.3g}" for v in row), "█" * round(20 * p))
        return table


def _lone(
    operator: Any, parent: Any, offspring: Any, n_operators: int
) -> tuple[int, float, float] | None:
    """The numbers of a generation of one; None if it is another, or needs the full check."""
    if type(operator) in _ROW:
        if type(parent) not in _ROW or type(offspring) not in _ROW:
            return None
        operator, parent, offspring = _only(operator), _only(parent), _only(offspring)
    if type(parent) not in _FITNESS or type(offspring) not in _FITNESS:
        return None
    if type(operator) not in _OPERATOR or not 0 <= operator < n_operators:
        return None
    try:
        return operator, float(parent), float(offspring)
    except OverflowError:
        return None


def _only(row: Any) -> Any:
    """The number in a row of one."""
    if type(row) is np.ndarray:
        return row.item() if row.shape == (1,) and row.dtype.kind in "iuf" else None
    return row[0] if len(row) == 1 else None


def _computing(component: Component, length: int) -> Compute:
    """The component as the selector runs it, giving `length` floats."""
    compute = compiled(component)
    if has_twin(component):
        return compute
    return lambda *inputs: _floats(compute(*inputs), length, component)


def _floats(values: Any, length: int, component: Component) -> Floats:
    """What a component computed, as the steps after it need it."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != (length,):
        raise InvalidComponent(
            f"compute of the {component.family} {component.name!r} returned an array of shape "
            f"{array.shape}; expected ({length},)"
        )
    return array


def _whole(value: object) -> bool:
    return isinstance(value, _WHOLE) and not isinstance(value, bool)


def _checked_seed(seed: int | np.random.Generator | None) -> int | np.random.Generator | None:
    if seed is None or isinstance(seed, np.random.Generator):
        return seed
    if _whole(seed) and seed >= 0:
        return int(seed)
    raise InvalidParameter("seed", seed, "a whole number >= 0, a numpy Generator, or None")
