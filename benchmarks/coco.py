"""Measure a run on COCO beside the bare loop that evaluates the same points."""

from time import perf_counter
from typing import Any

import functions
import numpy as np
from table import Row, Section
from timing import Contender, interleaved

from uaos import minimize

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
    how = (
        f"uaos.minimize with the cocoex problem as its function, {EVALUATIONS} evaluations, "
        "default settings (history on); the bare loop is `for x in X: problem(x)` over the points "
        "of that run. Per evaluation."
    )
    return Section(TITLE, how, tuple(rows))


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
