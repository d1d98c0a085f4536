"""Selector: choose operators, and learn from their offspring.

select → (vary, evaluate) → update: metric → memory → reward → quality → probability → select …
"""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from uaos import statefile
from uaos.arrays import FloatArray, IntArray
from uaos.checks import integer_seed
from uaos.errors import InvalidComponent, InvalidFeedback, InvalidFile, InvalidParameter, shortened
from uaos.selection.components import Component, Draws, Selection
from uaos.selection.components.selections import Proportional, draw_proportionally
from uaos.selection.learning import (
    LearningState,
    compiled_learner,
    count_applications,
    first_outside,
    interpreted_learner,
)
from uaos.selection.memory import BestMemory, GenerationMemory, memory_for
from uaos.selection.method import Method
from uaos.statefile import SavedState, State

if TYPE_CHECKING:
    from rich.table import Table

#: Version of the file that :meth:`Selector.save` writes.
FORMAT = 2

# The learned arrays, with one number per operator.
_LEARNED = ("rewards", "qualities", "probabilities")

#: The `compute` method of a component.
Compute = Callable[..., Any]

# Exact types for the quick path of an update with one offspring; True, an int, is not among them.
_SEQUENCES = frozenset((list, tuple, np.ndarray))
_OPERATORS = frozenset((int, np.int64))
_NUMBERS = frozenset((float, np.float64, int))


class Selector:
    """Choose the next operators by a method, and learn from their offspring.

    Made by :meth:`uaos.Method.selector`. The loop of any algorithm needs two calls: :meth:`select`,
    and :meth:`update` when the offspring are evaluated. Smaller fitness is better. Batches may have
    any size; an update with one offspring is a generation of one. An invalid update raises
    :class:`uaos.errors.InvalidFeedback` and changes nothing.

    Parameters
    ----------
    method : Method
        The method to follow.
    n_operators : int
        The number of operators.
    seed : int or numpy.random.Generator, optional
        Makes the choices repeatable.
    budget : int, optional
        Number of offspring, for methods that change toward the end of a run.
    bests : array_like, optional
        The best fitness that each operator starts with; inf for none.

    Raises
    ------
    InvalidParameter
        If the method needs a budget, or its parameters do not allow this number of operators.

    Examples
    --------
    >>> import uaos
    >>> selector = uaos.method("SaDE").selector(n_operators=3, seed=1)
    >>> operators = selector.select(4)  # one for each of four parents
    >>> selector.update(operators, parent_fitness=[5, 5, 5, 5], offspring_fitness=[4, 3, 5, 6])
    >>> len(selector.probabilities)
    3
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
        if not _is_integer(n_operators) or n_operators < 2:
            message = f"n_operators is {shortened(n_operators)}; expected an integer, 2 or more"
            raise InvalidParameter(message, name="n_operators", value=n_operators)
        fitted = method.for_operators(int(n_operators))
        if budget is None and method.selection.needs_budget:
            message = (
                f"the selection {method.selection.name} needs a budget: pass the number of "
                "offspring of the run"
            )
            raise InvalidParameter(message, name="budget", value=budget)
        if budget is not None and not (_is_integer(budget) and budget > 0):
            message = (
                f"budget is {shortened(budget)}; expected a positive number of offspring, or None"
            )
            raise InvalidParameter(message, name="budget", value=budget)
        self.method = method
        self._fitted = fitted
        self.n_operators = int(n_operators)
        self._metric = _checked_compute(fitted.metric)
        self._reward, self._quality, self._probability = (
            _checked_compute(component, self.n_operators)
            for component in (fitted.reward, fitted.quality, fitted.probability)
        )
        self._selection = _checked_selection(fitted.selection, self.n_operators)
        self._proportional = type(fitted.selection) is Proportional
        self._counts_applications = fitted.selection.counts_applications
        self._single = (np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1))
        self.budget = budget
        if not (seed is None or isinstance(seed, np.random.Generator)):
            seed = integer_seed(seed)
        self.rng = np.random.default_rng(seed)
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
            message = (
                f"bests is {shortened(bests)}; expected {k} numbers, one per operator (inf: none "
                "yet)"
            )
            raise InvalidParameter(message, name="bests", value=bests)
        if isinstance(self._memory, BestMemory):
            self._memory.record(np.arange(k), np.zeros(k), np.zeros(k, dtype=bool), values)

    def _restart(self) -> None:
        k = self.n_operators
        self._memory = memory_for(self._fitted.reward, k)
        self._rewards = np.zeros(k)
        self._qualities = np.full(k, 1.0 / k)
        self._probabilities = np.full(k, 1.0 / k)
        self._best_so_far = np.inf
        self._reported = 0  # offspring
        self._applications = np.zeros(k, dtype=np.int64)
        self._unapplied = np.full(k, self.method.selection.unapplied_first)
        self._all_applied = not self._unapplied.any()
        self._prepare_learning()

    def _prepare_learning(self) -> None:
        """Choose the compiled or the interpreted learner, and collect what it reads and updates."""
        method, memory = self._fitted, self._memory
        parts = (method.metric, method.reward, method.quality, method.probability)
        self._learn: Compute
        table, count = np.zeros((4, 0, 0)), np.zeros(())
        values: tuple[tuple[float, ...], ...] = ((), (), ())
        if isinstance(memory, GenerationMemory) and all(map(_is_compiled, parts)):
            self._learn = compiled_learner(*map(type, parts))
            table, count = memory.table, memory.count
            values = tuple(part.values for part in parts[1:])
        else:
            self._learn = interpreted_learner(
                self._metric, self._reward, self._quality, self._probability, memory,
                counts_observations=method.quality.counts_observations,
                reuses_rewards=_is_builtin(method.reward),
            )  # fmt: skip
        estimates = (self._rewards, self._qualities, self._probabilities)
        state: LearningState = (table, count, *estimates)
        flags = (method.metric.by_reference, method.scale_rewards)
        self._learner_inputs = (state, values, *flags)

    @property
    def probabilities(self) -> FloatArray:
        """Probabilities of the operators; their sum is 1."""
        return self._probabilities.copy()

    @property
    def qualities(self) -> FloatArray:
        """Estimated qualities of the operators; their sum is 1."""
        return self._qualities.copy()

    @property
    def rewards(self) -> FloatArray:
        """Rewards of the operators in the last generation, scaled if the method scales them."""
        return self._rewards.copy()

    def select(self, n: int = 1) -> IntArray:
        """Choose an operator for each of `n` parents, or one for all of them (`Method.scope`).

        Until every operator has been applied once, the first parents get those that have not, in
        random order (except with the selections `largest_deficit` and `shares`).

        Returns
        -------
        numpy.ndarray of int
            `n` operator numbers, 0 to K - 1.
        """
        if (type(n) is not int and not _is_integer(n)) or n < 0:
            raise InvalidParameter(
                f"n is {shortened(n)}; expected an integer >= 0", name="n", value=n
            )
        if self.method.scope == "generation" and n > 1:
            operators = np.empty(n, np.int64)
            operators.fill(self._choose(1)[0])
            return operators
        return self._choose(n)

    def _choose(self, n: int) -> IntArray:
        """Choose `n` operators; those that have never been applied come first."""
        # Every selection gets the same number of uniforms, whether it needs them or not.
        uniforms = self.rng.random(2 * n + 1)
        operators: IntArray
        if self._proportional:  # the common case, without the cost of `Draws`
            operators = draw_proportionally(self._probabilities, uniforms[:n])
        else:
            draws = Draws(uniforms[:n], uniforms[n : 2 * n], uniforms[2 * n], self._applications)
            progress = min(1.0, self._reported / self.budget) if self.budget else 0.0
            operators = self._selection(self._probabilities, draws, progress)
        if self._all_applied:
            return operators
        first = self.rng.permutation(np.flatnonzero(self._unapplied))[:n]
        operators[: len(first)] = first
        self._note_selected(operators)
        return operators

    def update(
        self, operators: ArrayLike, parent_fitness: ArrayLike, offspring_fitness: ArrayLike
    ) -> None:
        """Learn from one generation.

        Parameters
        ----------
        operators : array_like of int
            The operator that made each offspring.
        parent_fitness, offspring_fitness : array_like of float
            The fitness of each parent and of its offspring; smaller is better. NaN and infinite
            offspring are failed applications. A parent that is not finite is read as the worst
            finite one; where there is none, nothing improves.

        Raises
        ------
        InvalidFeedback
            If lengths differ or an operator does not exist; the selector is then unchanged.
        """
        single = _single_application(operators, parent_fitness, offspring_fitness, self.n_operators)
        if single is not None:
            applied, parents, offspring = self._single
            applied[0], parents[0], offspring[0] = single
        else:
            applied, parents, offspring = self._checked(
                operators, parent_fitness, offspring_fitness
            )
            if len(applied) == 0:
                return
        self.learn(applied, parents, offspring)

    def learn(self, operators: IntArray, parents: FloatArray, offspring: FloatArray) -> None:
        """Learn like :meth:`update`, without checks: for contiguous arrays of equal length."""
        if not self._all_applied:
            self._note_selected(operators)
        if self._counts_applications:
            count_applications(self._applications, operators)
        self._best_so_far = self._learn(
            *self._learner_inputs, self._best_so_far, operators, parents, offspring
        )
        self._reported += len(operators)

    def _note_selected(self, operators: IntArray) -> None:
        """Mark operators as applied."""
        self._unapplied[operators] = False
        self._all_applied = not self._unapplied.any()

    def _checked(
        self, operators: ArrayLike, parent_fitness: ArrayLike, offspring_fitness: ArrayLike
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        try:
            applied = np.asarray(operators)
        except ValueError as error:
            raise InvalidFeedback(f"operators must be a 1-D array of integers: {error}") from error
        if applied.dtype.kind not in "iu" and applied.size:
            raise InvalidFeedback(
                f"operators has type {applied.dtype}; expected integers 0 to {self.n_operators - 1}"
            )
        try:
            parents, offspring = np.asarray(parent_fitness), np.asarray(offspring_fitness)
            for values in (parents, offspring):
                if values.dtype.kind in "cmMSU":  # NumPy would convert them to numbers
                    raise TypeError(f"they have type {values.dtype}")
            # Copies: kernels are compiled for plain, writable arrays.
            parents, offspring = parents.astype(np.float64), offspring.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidFeedback(f"fitness values must be numbers: {error}") from error
        if applied.ndim == 0:
            applied, parents, offspring = (np.atleast_1d(a) for a in (applied, parents, offspring))
        if not (applied.ndim == 1 and applied.shape == parents.shape == offspring.shape):
            raise InvalidFeedback(
                "operators, parent_fitness and offspring_fitness have the shapes "
                f"{applied.shape}, {parents.shape} and {offspring.shape}; expected three 1-D "
                "arrays of equal length"
            )
        applied = np.ascontiguousarray(applied, dtype=np.int64)
        wrong = first_outside(applied, self.n_operators)
        if wrong >= 0:
            raise InvalidFeedback(
                f"operator {applied[wrong]} does not exist; there are {self.n_operators}, "
                f"numbered 0 to {self.n_operators - 1}"
            )
        return applied, parents, offspring

    def state(self) -> State:
        """Return everything that changes, as plain values and copies of arrays."""
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

    def restore(self, state: SavedState) -> None:
        """Continue from a :meth:`state` of a selector of the same method and operators."""
        k = self.n_operators
        try:
            arrays = [np.array(state[name], dtype=np.float64) for name in _LEARNED]
            unapplied = np.array(state["unapplied"], dtype=bool)
            applications = np.array(state["applications"], dtype=np.int64)
            if any(array.shape != (k,) for array in (*arrays, unapplied, applications)):
                raise InvalidFile("the state belongs to a selector with other operators")
            best, reported = float(state["best_so_far"]), int(state["reported"])
            type(self.rng.bit_generator)().state = state["rng"]  # raises if it is not valid
            self._memory.restore(state["memory"])
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            if isinstance(error, InvalidFile):
                raise
            raise InvalidFile(f"not the state of a selector: {error!r}") from error
        learned = (self._rewards, self._qualities, self._probabilities)
        for array, restored in zip(learned, arrays, strict=True):
            array[:] = restored
        self._best_so_far, self._reported = best, reported
        self._unapplied, self._applications = unapplied, applications
        self._all_applied = not unapplied.any()
        self.rng.bit_generator.state = state["rng"]
        self._prepare_learning()  # without the rewards of the former memory

    def __getstate__(self) -> State:
        """Return what a copy or a pickle is made from; learners refer to arrays of their own."""
        header = {"method": self.method, "n_operators": self.n_operators, "budget": self.budget}
        return header | {"rng": self.rng, "state": self.state()}

    def __setstate__(self, saved: SavedState) -> None:
        seed, budget = saved["rng"], saved["budget"]
        Selector.__init__(self, saved["method"], saved["n_operators"], seed=seed, budget=budget)
        self.restore(saved["state"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the selector to a file, from which :meth:`load` continues it bit for bit."""
        header = {"method": self.method.to_dict(), "n_operators": self.n_operators}
        generator = type(self.rng.bit_generator).__name__
        content = {**header, "budget": self.budget, "generator": generator, "state": self.state()}
        statefile.write(path, "selector", FORMAT, content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Selector":
        """Return a selector that continues from the saved state.

        Raises
        ------
        InvalidFile
            If the file is missing, damaged, of another kind or of another version. Loading runs no
            code.
        """
        content = statefile.read(path, "selector", FORMAT)
        with statefile.rebuilding(path):
            method, state = Method.from_dict(content["method"]), content["state"]
            if content["n_operators"] != len(state["probabilities"]):
                raise InvalidFile("the number of operators does not fit the state")
            selector = cls(
                method, content["n_operators"], budget=content["budget"],
                seed=statefile.new_generator(content["generator"]),
            )  # fmt: skip
            selector.restore(state)
        return selector

    def __repr__(self) -> str:
        shown = np.array2string(self._probabilities, precision=3, separator=", ")
        return f"Selector({self.n_operators} operators, probabilities={shown}, {self.method!r})"

    def __rich__(self) -> "Table":
        """Show rewards, qualities and probabilities, with a bar for each probability."""
        from rich.table import Table

        table = Table(title=f"selector after {self._reported} offspring", title_justify="left")
        for column in ("operator", "reward", "quality", "probability", ""):
            table.add_column(column, justify="left" if column == "" else "right")
        for op in range(self.n_operators):
            p = self._probabilities[op]
            row = (self._rewards[op], self._qualities[op], p)
            table.add_row(str(op), *(f"{v:.3g}" for v in row), "█" * round(20 * p))
        return table


def _single_application(
    operator: Any, parent: Any, offspring: Any, n_operators: int
) -> tuple[int, float, float] | None:
    """Return the numbers of an update with one offspring; None if it needs the full check."""
    if type(operator) in _SEQUENCES:
        if type(parent) not in _SEQUENCES or type(offspring) not in _SEQUENCES:
            return None
        operator, parent, offspring = _only(operator), _only(parent), _only(offspring)
    if type(parent) not in _NUMBERS or type(offspring) not in _NUMBERS:
        return None
    if type(operator) not in _OPERATORS or not 0 <= operator < n_operators:
        return None
    try:
        return operator, float(parent), float(offspring)
    except OverflowError:
        return None


def _only(sequence: Any) -> Any:
    """Return the number in a sequence of one, or None."""
    if type(sequence) is np.ndarray:
        return sequence.item() if sequence.shape == (1,) and sequence.dtype.kind in "iuf" else None
    return sequence[0] if len(sequence) == 1 else None


def _is_compiled(component: Component) -> bool:
    """Return whether the component's equation is one of this package's kernels."""
    return component.kernel is not None and _is_builtin(component)


def _is_builtin(component: Component) -> bool:
    """Return whether the component belongs to this package; a user's subclass does not."""
    return type(component).__module__.startswith("uaos.selection.components.")


def _checked_compute(component: Component, length: int | None = None) -> Compute:
    """Return the component's `compute`; check the shape of what a custom one returns."""
    compute: Compute = component.compute  # type: ignore[attr-defined]
    if _is_builtin(component):
        return compute

    def checked(*inputs: Any) -> FloatArray:
        if length is None:  # a metric, which may write to the fitness values
            inputs = (inputs[0].copy(), inputs[1].copy(), *inputs[2:])
        values = np.array(compute(*inputs), dtype=np.float64, order="C")
        expected = len(inputs[0]) if length is None else length
        if values.shape != (expected,):
            raise InvalidComponent(
                f"compute of the {component.family} {component.name!r} returned an array of shape "
                f"{values.shape}; expected ({expected},)"
            )
        return values

    return checked


def _checked_selection(selection: Selection, n_operators: int) -> Compute:
    """Return the selection's `compute`; check the operators that a custom one returns."""
    if _is_builtin(selection):
        return selection.compute

    def checked(probabilities: FloatArray, draws: Draws, progress: float) -> IntArray:
        chosen = np.asarray(selection.compute(probabilities, draws, progress))
        n = len(draws.pick)
        if chosen.shape != (n,) or chosen.dtype.kind not in "iu":
            raise InvalidComponent(
                f"compute of the selection {selection.name!r} returned an array of shape "
                f"{chosen.shape} and type {chosen.dtype}; expected ({n},) integers"
            )
        operators = np.array(chosen, dtype=np.int64)
        wrong = first_outside(operators, n_operators)
        if wrong >= 0:
            raise InvalidComponent(
                f"compute of the selection {selection.name!r} returned operator "
                f"{operators[wrong]}; expected 0 to {n_operators - 1}"
            )
        return operators

    return checked


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
