"""The engine alone: what ask and tell cost for each evaluation."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import functions
import numpy as np
from table import Row, Section
from timing import Contender, Sample, interleaved

from uaos import CMAES, DifferentialEvolution, configuration
from uaos.optimizers import cma
from uaos.optimizers.de import mutation, sampling, variation
from uaos.optimizers.winners import recipes

TITLE = "engine alone"
AIMS = {("U-AOS-FW", 262): 0.5, ("U-AOS-FW", 50): 1.5}
OTHERS = ("mix", "uniform", "rand/1")
GENERATIONS = 150
#: The recipes run with their own settings, beside mix with its own.
EVALUATIONS, MOST = 40_000, 1.5
#: What updates covariance matrices and multiplies by what was decomposed. The crossover along
#: eigenvectors is one more: see `Split`.
OF_MATRICES = (
    (variation, "eigenvectors"), (sampling.Distribution, "recenter"),
    (sampling.Distribution, "sample"), (sampling.Distribution, "follow"),
    (CMAES, "_decompose"), (cma, "_sample"), (cma, "_update"),
)  # fmt: skip


def run(quick: bool) -> Section:
    cases = [*AIMS, *((name, NP) for name in OTHERS for NP in (262, 50))]
    contenders = {f"{name} {NP}": _engine(name, NP, NP * GENERATIONS) for name, NP in cases}
    seen = {name: Seen() for name in ("mix", *recipes())}
    contenders |= {name: _engine(name, None, EVALUATIONS, seen[name]) for name in seen}
    contenders |= {f"mix as {name}": _mix_in_batches_of(seen[name]) for name in recipes()}
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
        cost, same = found[name].scaled(1e6), found[f"mix as {name}"].scaled(1e6)
        decomposing, multiplying = seen[name].split(cost)
        rest, bare_rest = cost.less(decomposing), cost.less(decomposing).less(multiplying)
        points = f"{seen[name].points:.0f} points a batch"
        measured, aim = cost.text("µs"), f"<= {MOST:g}"
        ratio, beside = cost.over(mix).text(), f"to mix with {points}: {cost.over(same).median:.3g}"
        if decomposing.fastest > 0:
            measured += f", of which decompositions {decomposing.median:.2g} µs"
            ratio += f"; without decompositions {rest.over(mix).median:.3g}"
            aim += " without decompositions"
        if multiplying.fastest > 0:
            measured += f", further work with their matrices {multiplying.median:.2g} µs"
            ratio += f", without that too {bare_rest.over(mix).median:.3g}"
            beside += f", without both {bare_rest.over(same).median:.3g}"
        ratio += f"; {beside}"
        rows.append(
            Row(
                f"{name}, its own NP, {points}", measured,
                f"mix, its own NP, {seen['mix'].points:.0f} points a batch: {mix.text('µs')}",
                ratio, aim, rest.over(mix).verdict(MOST),
            )
        )  # fmt: skip
    how = (
        f"per evaluation, objective not counted: the calls of ask and tell over "
        f"{GENERATIONS} times NP evaluations of a run on the 20-D Rosenbrock function, which is "
        "evaluated between them, whole generations at a time; history on, as it is by default. "
        f"Recipes run with their own settings, over {EVALUATIONS:,} evaluations. The time in "
        "NumPy's eigendecomposition, and in what else is done with the matrices that are "
        "decomposed (their updates, products with their axes, crossover along these), is by its "
        "share in a further run of the same round with the same seed. Much of what a batch costs "
        "does not depend on its size, so that recipes with small batches cost more per "
        "evaluation: beside them, mix runs with a constant population of their mean batch size. "
        "What then remains beyond mix: in NL-SHADE-RSP sorting CR, and a population that shrinks; "
        "in LSHADE-SPACMA a normal number for each coordinate of a sample, and a population that "
        "shrinks in most generations; in EA4eig three further random numbers for each coordinate "
        "of a mutant of IDE, values of F and CR that are drawn again, and caches that four "
        "algorithms share; in MOS the portfolio's own ask and tell around those of its members."
    )
    return Section(TITLE, how, tuple(rows))


class Seen:
    """What else was seen of a contender's runs."""

    def __init__(self) -> None:
        self.points = 0.0  # of a batch, on average
        self._splits: list[Split] = []  # one a round

    def split(self, cost: Sample) -> tuple[Sample, Sample]:
        """What of a cost is decompositions, and what is further work with their matrices.

        Each round by the shares of its own watched run; the first round is not timed.
        """
        rounds = list(zip(cost.values, self._splits[1:], strict=True))
        return (
            Sample(tuple(value * one.decomposing / one.whole for value, one in rounds)),
            Sample(tuple(value * one.multiplying / one.whole for value, one in rounds)),
        )

    @contextmanager
    def watching(self) -> Iterator["Split"]:
        """Measure where the time goes."""
        split, replaced = Split(), []
        watched = [(place, name, split.timed) for place, name in OF_MATRICES]
        watched += [(np.linalg, "eigh", split.decomposed), (mutation, "propose", split.rotated)]
        for place, name, wrapped in watched:
            original = getattr(place, name)
            replaced.append((place, name, original))
            setattr(place, name, wrapped(original))
        try:
            yield split
        finally:
            for place, name, original in replaced:
                setattr(place, name, original)
        self._splits.append(split)


class Split:
    """The seconds of a run in eigendecompositions, and in further work with their matrices."""

    def __init__(self) -> None:
        self.decomposing = self.multiplying = 0.0
        self.whole = 0.0  # of the run, less what only measures

    def decomposed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Count a function's time as decomposition."""

        def watched(*arguments: Any) -> Any:
            start = perf_counter()
            found = function(*arguments)
            seconds = perf_counter() - start
            self.decomposing += seconds
            return found

        return watched

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Count a function's time as further work, less the functions counted within it."""

        def watched(*arguments: Any) -> Any:
            before = self.decomposing + self.multiplying
            start = perf_counter()
            found = function(*arguments)
            seconds = perf_counter() - start
            self.multiplying += seconds - (self.decomposing + self.multiplying - before)
            return found

        return watched

    def rotated(self, propose: Callable[..., Any]) -> Callable[..., Any]:
        """Count what axes add to the time of making offspring, by making them without axes too."""

        def seconds(arguments: list[Any]) -> float:
            start = perf_counter()
            propose(*arguments)
            return perf_counter() - start

        def watched(*arguments: Any) -> Any:
            start = perf_counter()
            if len(arguments[AXES]):
                # Copies, as results are written to arguments.
                again = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
                without = [*again[:AXES], again[AXES][:0], *again[AXES + 1 :]]
                seconds(again)  # so that both find the caches filled
                self.multiplying += seconds(again) - seconds(without)
            self.whole -= perf_counter() - start
            return propose(*arguments)

        return watched


#: The position of the axes among the arguments of `propose`.
AXES = list(inspect.signature(mutation.propose).parameters).index("basis")


def _engine(name: str, NP: int | None, budget: int, seen: Seen | None = None) -> Contender:
    def contender() -> float:
        sized = {} if NP is None else {"popsize": NP}
        seconds, batches = _run(name, budget, **sized)
        if seen is not None:
            seen.points = budget / batches
            with seen.watching() as split:
                split.whole += _run(name, budget, **sized)[0]
        return seconds / budget

    return contender


def _mix_in_batches_of(seen: Seen) -> Contender:
    """Let mix run with a constant population, as large as the batches that were seen."""

    def contender() -> float:
        NP = round(seen.points)
        return _run("mix", EVALUATIONS, popsize=NP, schedule="constant")[0] / EVALUATIONS

    return contender


def _run(name: str, budget: int, **settings: Any) -> tuple[float, int]:
    """Return the seconds of all calls of ask and tell in a run, and the number of batches."""
    made = configuration(name).build(functions.BOUNDS, seed=1, budget=budget, **settings)
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
    return seconds, batches


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
