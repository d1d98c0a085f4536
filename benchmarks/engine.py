"""The engine alone: what ask and tell cost for each evaluation."""

from time import perf_counter

import functions
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
    contenders |= {name: _engine(name, None, EVALUATIONS) for name in ("mix", *recipes())}
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
        cost = found[name].scaled(1e6)
        ratio = cost.over(mix)
        rows.append(
            Row(
                f"{name}, its own NP", cost.text("µs"), f"mix, its own NP: {mix.text('µs')}",
                ratio.text(), f"<= {MOST:g}", ratio.verdict(MOST),
            )
        )  # fmt: skip
    how = (
        f"per evaluation, objective not counted: the calls of ask and tell over "
        f"{GENERATIONS} times NP evaluations of a run on the 20-D Rosenbrock function, which is "
        "evaluated between them, whole generations at a time; history on, as it is by default. "
        f"Recipes run with their own settings, over {EVALUATIONS:,} evaluations. LSHADE-SPACMA, "
        "EA4eig and MOS decompose matrices; a generation of NL-SHADE-RSP costs as much as one of "
        "mix, but its population falls to 4 and makes three times as many."
    )
    return Section(TITLE, how, tuple(rows))


def _engine(name: str, NP: int | None, budget: int) -> Contender:
    def contender() -> float:
        sized = {} if NP is None else {"popsize": NP}
        made = configuration(name).build(functions.BOUNDS, seed=1, budget=budget, **sized)
        seconds = 0.0
        while not made.done:
            start = perf_counter()
            X = made.ask()
            seconds += perf_counter() - start
            values = functions.rosenbrock(X)
            start = perf_counter()
            made.tell(values)
            seconds += perf_counter() - start
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
