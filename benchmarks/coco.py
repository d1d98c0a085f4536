"""Measure a run on COCO beside the bare loop that evaluates the same points."""

from time import perf_counter
from typing import Any

import functions
import numpy as np
from table import Row, Section
from timing import Contender, interleaved

from uaos import minimize
from uaos.problems import BBOB

TITLE = "COCO"
NP, EVALUATIONS = 200, 20_000
CASES = ((3, "U-AOS-FW", 1.15), (3, "mix", None), (1, "U-AOS-FW", None))


def run(quick: bool) -> Section:
    rows = []
    for function, method, aim in CASES:
        problem = functions.bbob(function)
        contenders = {"run": _run(problem, method), "bare": _bare(problem, method)}
        found = interleaved(contenders, rounds=5 if quick else 25)
        total, bare = (found[name].scaled(1e6 / EVALUATIONS) for name in ("run", "bare"))
        ratio = total.over(bare)
        rows.append(
            Row(
                f"f{function} 20-D, {method}, NP {NP}", total.text("µs"),
                f"bare loop: {bare.text('µs')}", ratio.text(),
                f"<= {aim:g}" if aim else "", ratio.verdict(aim) if aim else "",
            )
        )  # fmt: skip
    rows.append(_functions(quick))
    how = (
        f"uaos.minimize with the cocoex problem as its function, {EVALUATIONS} evaluations, "
        "default settings (history on); the bare loop is `for x in X: problem(x)` over the points "
        "of that run. Last, the functions themselves: the mean over all 24 of BBOB, in batches of "
        f"{NP}, beside the same loop over COCO's. Per evaluation."
    )
    return Section(TITLE, how, tuple(rows))


def _functions(quick: bool) -> Row:
    """Measure the package's own functions of BBOB beside those of COCO, which return the same."""
    X = np.random.default_rng(1).uniform(-5.0, 5.0, (NP, functions.D))
    ours = [BBOB(number, functions.D).fun for number in range(1, 25)]
    theirs = [functions.bbob(number) for number in range(1, 25)]

    def compiled() -> float:
        start = perf_counter()
        for function in ours:
            function(X)
        return perf_counter() - start

    def coco() -> float:
        start = perf_counter()
        for function in theirs:
            for x in X:
                function(x)
        return perf_counter() - start

    compiled()  # compile the kernels
    found = interleaved({"ours": compiled, "theirs": coco}, rounds=5 if quick else 25)
    mean, bare = (found[name].scaled(1e6 / NP / 24) for name in ("ours", "theirs"))
    ratio = mean.over(bare)
    return Row(
        "the 24 functions, 20-D", mean.text("µs"), f"COCO: {bare.text('µs')}", ratio.text(), "", ""
    )


def _run(problem: Any, method: str) -> Contender:
    def contender() -> float:
        start = perf_counter()
        _minimize(problem, method)
        return perf_counter() - start

    return contender


def _bare(problem: Any, method: str) -> Contender:
    points: list[np.ndarray] = []

    def recorded(x: np.ndarray) -> float:
        points.append(x.copy())
        return problem(x)

    _minimize(recorded, method)
    X = np.array(points)

    def contender() -> float:
        start = perf_counter()
        for x in X:
            problem(x)
        return perf_counter() - start

    return contender


def _minimize(fun: Any, method: str) -> None:
    result = minimize(fun, functions.BOUNDS, method=method, popsize=NP, budget=EVALUATIONS, seed=1)
    if result.nfev < EVALUATIONS:  # Ctrl-C ends minimize with the best so far, and no exception
        raise KeyboardInterrupt
