"""Measure the engine alone: the cost of ask and tell per evaluation."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import functions
import numpy as np
from table import Row, Section
from timing import Contender, Sample, interleaved

from uaos import CMAES, DifferentialEvolution, configuration
from uaos.arrays import FloatArray
from uaos.optimizers import cma
from uaos.optimizers.winners import ea4eig, recipes_by_name

TITLE = "engine alone"
AIMS = {("U-AOS-FW", 262): 0.5, ("U-AOS-FW", 50): 1.5}
OTHERS = ("mix", "uniform", "rand/1")
GENERATIONS = 150
#: The recipes run with their own settings, beside mix with its own.
EVALUATIONS, MOST = 40_000, 1.5
#: Functions that update covariance matrices, multiply by their axes, or cross over along these.
OF_MATRICES = (
    (ea4eig, "eigenvectors"), (ea4eig.EA4eig, "_cross"), (CMAES, "_decompose"), (cma, "_sample"),
    (cma, "_recombine"), (cma, "_follow"), (cma, "_adapt"),
)  # fmt: skip


HOW = (
    f"per evaluation, objective not counted: the calls of ask and tell over {GENERATIONS} times NP "
    "evaluations of a run on the 20-D Rosenbrock function, which is evaluated between them, whole "
    "generations at a time; history on, as it is by default. Recipes run with their own settings, "
    f"over {EVALUATIONS:,} evaluations. The time in NumPy's eigendecomposition, and in further "
    "work with the decomposed matrices (their updates, products with their axes, crossover along "
    "these), is measured in a further run of each round with the same seed. As all rounds repeat "
    "the same run, each of its batches counts with its fastest round; these parts and the ratios "
    "are of their sums. Much of the cost of a batch does not depend on its size, so that recipes "
    "with small batches cost more per evaluation, as mix itself does: beside them, it runs with a "
    "constant population of their mean batch size, and the aim is for the ratio to that where "
    "their batches are smaller than those of mix. What then remains beyond mix: in EA4eig a "
    "further random number for each coordinate of a mutant of IDE, values of F and CR that are "
    "drawn again, and caches that four algorithms share; in MOS the portfolio's own ask and tell "
    "around those of its members."
)


def run(quick: bool) -> Section:
    """Measure methods of differential evolution with two population sizes, and the recipes."""
    cases = [*AIMS, *((name, NP) for name in OTHERS for NP in (262, 50))]
    contenders = {f"{name} {NP}": _engine(name, NP, NP * GENERATIONS) for name, NP in cases}
    seen = {name: Seen() for name in ("mix", *recipes_by_name())}
    contenders |= {name: _engine(name, None, EVALUATIONS, seen[name]) for name in seen}
    for name in recipes_by_name():
        same = seen[f"mix as {name}"] = Seen()
        contenders[f"mix as {name}"] = _mix_in_batches_of(seen[name], same)
    contenders["f1"] = _evaluations()
    samples = {
        name: sample.scaled(1e6)
        for name, sample in interleaved(contenders, rounds=5 if quick else 25).items()
    }
    rows = [_method_row(name, NP, samples[f"{name} {NP}"], samples["f1"]) for name, NP in cases]
    rows += [_recipe_row(name, seen, samples) for name in recipes_by_name()]
    return Section(TITLE, HOW, tuple(rows))


def _method_row(name: str, NP: int, cost: Sample, bare: Sample) -> Row:
    """Return the row of a method with a population size, beside one evaluation of BBOB's f1."""
    aim = AIMS.get((name, NP))
    size = f"NP {NP}{' at the start' if name == 'mix' else ''}"
    return Row(
        f"{name}, {size}", cost.text("µs"), f"one BBOB f1: {bare.text('µs')}",
        cost.over(bare).text(), f"<= {aim:g} µs" if aim else "", cost.verdict(aim) if aim else "",
    )  # fmt: skip


def _recipe_row(name: str, seen: "dict[str, Seen]", samples: dict[str, Sample]) -> Row:
    """Return the row of a recipe, beside mix with its own batches and with those of the recipe."""
    recipe, mix = seen[name], seen["mix"]
    cost, usual, alike = (s.cost * 1e6 for s in (recipe, mix, seen[f"mix as {name}"]))
    decomposing, multiplying = recipe.parts * 1e6
    rest = cost - decomposing
    points = f"{recipe.points:.0f} points per batch"
    measured, aim = samples[name].text("µs"), f"<= {MOST:g}"
    ratio, beside = f"{cost / usual:.3g}", f"{cost / alike:.3g}"
    if decomposing > 0:
        measured += f", of which decompositions {decomposing:.2g} µs"
        ratio += f"; without decompositions {rest / usual:.3g}"
        aim += " without decompositions"
    if multiplying > 0:
        rest -= multiplying
        measured += f", further work with their matrices {multiplying:.2g} µs"
        ratio += f", without that too {rest / usual:.3g}"
        beside += f", without both {rest / alike:.3g}"
        aim += " and their matrices"
    reference = usual
    if recipe.points < mix.points:
        reference = alike
        aim += ", to mix in such batches"
    return Row(
        f"{name}, its own NP, {points}", measured,
        f"mix, its own NP, {mix.points:.0f} points per batch: {samples['mix'].text('µs')}",
        f"{ratio}; to mix with {points} ({alike:.3g} µs): {beside}", aim,
        "yes" if rest / reference <= MOST else "no",
    )  # fmt: skip


class Seen:
    """The fastest time of each batch of a contender, whose rounds all repeat one run."""

    def __init__(self) -> None:
        self._costs: FloatArray = np.array([np.inf])
        self._parts: FloatArray = np.array([np.inf])

    @property
    def points(self) -> float:
        """Mean number of points per batch."""
        return EVALUATIONS / len(self._costs)

    @property
    def cost(self) -> float:
        """Seconds of ask and tell per evaluation."""
        return float(self._costs.sum()) / EVALUATIONS

    @property
    def parts(self) -> FloatArray:
        """Seconds per evaluation in decompositions, and in further work with their matrices."""
        return self._parts.sum(axis=0) / EVALUATIONS

    def note(self, costs: FloatArray) -> None:
        """Record the seconds of each batch of a run."""
        self._costs = np.minimum(self._costs, costs)

    def note_parts(self, run: Callable[[Callable[[], None]], object]) -> None:
        """Measure the parts of a run, which calls the function it is given after each batch."""
        split, replaced = Split(), []
        watched = [(place, name, split.timed) for place, name in OF_MATRICES]
        watched += [(np.linalg, "eigh", split.decomposed)]
        for place, name, wrapped in watched:
            original = getattr(place, name)
            replaced.append((place, name, original))
            setattr(place, name, wrapped(original))
        try:
            run(split.end_batch)
        finally:
            for place, name, original in replaced:
                setattr(place, name, original)
        self._parts = np.minimum(self._parts, split.batches)


class Split:
    """Seconds of each batch in eigendecompositions, and in further work with their matrices."""

    def __init__(self) -> None:
        self.decomposing = self.multiplying = 0.0
        self.batches: list[tuple[float, ...]] = []

    def end_batch(self) -> None:
        """Record the times of a batch and start the next one."""
        self.batches.append((self.decomposing, self.multiplying))
        self.decomposing = self.multiplying = 0.0

    def decomposed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Count a function's time as decomposition."""

        def watched(*arguments: Any) -> Any:
            start = perf_counter()
            value = function(*arguments)
            self.decomposing += perf_counter() - start
            return value

        return watched

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Count a function's time as further work, less the functions counted within it."""

        def watched(*arguments: Any) -> Any:
            before = self.decomposing + self.multiplying
            start = perf_counter()
            value = function(*arguments)
            seconds = perf_counter() - start
            self.multiplying += seconds - (self.decomposing + self.multiplying - before)
            return value

        return watched


def _engine(name: str, NP: int | None, budget: int, seen: Seen | None = None) -> Contender:
    def contender() -> float:
        sized = {} if NP is None else {"popsize": NP}
        costs = _run(name, budget, **sized)
        if seen is not None:
            seen.note(costs)
            seen.note_parts(lambda after: _run(name, budget, after, **sized))
        return float(costs.sum()) / budget

    return contender


def _mix_in_batches_of(other: Seen, seen: Seen) -> Contender:
    """Let mix run with a constant population, as large as the batches that were seen."""

    def contender() -> float:
        costs = _run("mix", EVALUATIONS, popsize=round(other.points), NP_schedule="constant")
        seen.note(costs)
        return float(costs.sum()) / EVALUATIONS

    return contender


def _run(
    name: str, budget: int, after: Callable[[], None] | None = None, **settings: Any
) -> FloatArray:
    """Return the seconds of ask and tell for each batch of a run."""
    optimizer = configuration(name).build(functions.BOUNDS, seed=1, budget=budget, **settings)
    costs = []
    while not optimizer.done:
        start = perf_counter()
        X = optimizer.ask()
        seconds = perf_counter() - start
        values = functions.rosenbrock(X)
        start = perf_counter()
        optimizer.tell(values)
        costs.append(seconds + perf_counter() - start)
        if after is not None:
            after()
    return np.array(costs)


def _evaluations() -> Contender:
    problem = functions.bbob(1)
    X = DifferentialEvolution(functions.BOUNDS, popsize=1000, seed=1).ask()

    def contender() -> float:
        start = perf_counter()
        for _ in range(10):
            for x in X:
                problem(x)
        return (perf_counter() - start) / (10 * len(X))

    return contender
