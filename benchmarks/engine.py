"""The engine alone: what ask and tell cost for each evaluation."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import functions
import numpy as np
from table import Row, Section
from timing import Contender, Sample, interleaved

from uaos import DifferentialEvolution, configuration
from uaos.optimizers.winners import recipes

TITLE = "engine alone"
AIMS = {("U-AOS-FW", 262): 0.5, ("U-AOS-FW", 50): 1.5}
OTHERS = ("mix", "uniform", "rand/1")
GENERATIONS = 150
#: The recipes run with their own settings, beside mix with its own.
EVALUATIONS, MOST = 40_000, 1.5


def run(quick: bool) -> Section:
    cases = [*AIMS, *((name, NP) for name in OTHERS for NP in (262, 50))]
    contenders = {f"{name} {NP}": _engine(name, NP, NP * GENERATIONS) for name, NP in cases}
    seen = {name: Seen() for name in ("mix", *recipes())}
    contenders |= {name: _engine(name, None, EVALUATIONS, seen[name]) for name in seen}
    contenders["f1"] = _evaluations()
    found = interleaved(contenders, rounds=5 if quick else 25)
    bare = found["f1"]
    rows = []
    for case in cases:
        name, NP = case
        cost: Sample = found[f"{name} {NP}"].scaled(1e6)
        aim = AIMS.get(case)
        size = f"NP {NP}{' at the start' if name == 'mix' else ''}"
        rows.append(
            Row(
                f"{name}, {size}", cost.text("µs"),
                f"one BBOB f1: {bare.scaled(1e6).text('µs')}", cost.over(bare.scaled(1e6)).text(),
                f"<= {aim:g} µs" if aim else "", cost.verdict(aim) if aim else "",
            )
        )  # fmt: skip
    mix = found["mix"].scaled(1e6)
    for name in recipes():
        cost, decomposing = found[name].scaled(1e6), seen[name].decomposing.scaled(1e6)
        rest = Sample(tuple(a - b for a, b in zip(cost.values, decomposing.values, strict=True)))
        measured, aim = cost.text("µs"), f"<= {MOST:g}"
        batch = cost.over(mix).median * seen[name].points / seen["mix"].points
        ratio = f"{cost.over(mix).text()}; of batches {batch:.2g}"
        if decomposing.fastest > 0:
            measured += f", of which decompositions {decomposing.median:.2g} µs"
            ratio += f"; without decompositions {rest.over(mix).median:.3g}"
            aim += " without decompositions"
        rows.append(
            Row(
                f"{name}, its own NP, {seen[name].points:.0f} points a batch", measured,
                f"mix, its own NP, {seen['mix'].points:.0f} points a batch: {mix.text('µs')}",
                ratio, aim, rest.over(mix).verdict(MOST),
            )
        )  # fmt: skip
    how = (
        f"per evaluation, objective not counted: the calls of ask and tell over "
        f"{GENERATIONS} times NP evaluations of a run on the 20-D Rosenbrock function, which is "
        "evaluated between them, whole generations at a time; history on, as it is by default. "
        f"Recipes run with their own settings, over {EVALUATIONS:,} evaluations; the time in "
        "NumPy's eigendecomposition is measured in the same runs. Much of what a batch costs does "
        "not depend on its size, so that recipes with small batches cost more per evaluation; the "
        "ratio of batches is that of the costs of whole ones."
    )
    return Section(TITLE, how, tuple(rows))


class Seen:
    """What else was seen of a contender's runs."""

    def __init__(self) -> None:
        self.points = 0.0  # of a batch, on average
        self._decomposing: list[float] = []  # seconds per evaluation, one a run

    @property
    def decomposing(self) -> Sample:
        """The time of decompositions per evaluation, without the first run, which is not timed."""
        return Sample(tuple(self._decomposing[1:]))

    @contextmanager
    def watching(self, evaluations: int) -> Iterator[None]:
        """Measure the time in NumPy's eigendecomposition."""
        original, seconds = np.linalg.eigh, 0.0

        def timed(matrix: np.ndarray) -> Any:
            nonlocal seconds
            start = perf_counter()
            found = original(matrix)
            seconds += perf_counter() - start
            return found

        np.linalg.eigh = timed
        try:
            yield
        finally:
            np.linalg.eigh = original
        self._decomposing.append(seconds / evaluations)


def _engine(name: str, NP: int | None, budget: int, seen: Seen | None = None) -> Contender:
    seen = seen or Seen()

    def contender() -> float:
        with seen.watching(budget):
            return run_once()

    def run_once() -> float:
        sized = {} if NP is None else {"popsize": NP}
        made = configuration(name).build(functions.BOUNDS, seed=1, budget=budget, **sized)
        seconds, batches = 0.0, 0
        while not made.done:
            batches += 1
            start = perf_counter()
            X = made.ask()
            seconds += perf_counter() - start
            values = functions.rosenbrock(X)
            start = perf_counter()
            made.tell(values)
            seconds += perf_counter() - start
        seen.points = budget / batches
        return seconds / budget

    return contender


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
