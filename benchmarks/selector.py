"""Measure select(262) and update at K = 9, beside 262 evaluations of BBOB's cheapest function."""

from time import perf_counter

import functions
import numpy as np
from table import Row, Section
from timing import Contender, interleaved

import uaos

TITLE = "selector"
K, N = 9, 262
WARM_UP, GENERATIONS = 100, 200
AIMS = {
    "U-AOS-FW": 60.0,
    "F-AUC-MAB": 150.0,
    "F-AUC-MAB-tuned": 150.0,
    "Compass": 150.0,
    "Compass-tuned": 150.0,
    "SaDE": 150.0,
}


def run(quick: bool) -> Section:
    feedback = _feedback(WARM_UP + GENERATIONS)
    contenders = {name: _selector(name, feedback) for name in AIMS}
    contenders["f1"] = _evaluations()
    found = interleaved(contenders, rounds=5 if quick else 25)
    rows = []
    for name, aim in AIMS.items():
        cost, bare = found[name].scaled(1e6 / GENERATIONS), found["f1"].scaled(1e6 / GENERATIONS)
        rows.append(
            Row(
                name, cost.text("µs"), f"262 × BBOB f1: {bare.text('µs')}",
                cost.over(bare).text(), f"< {aim:g} µs", cost.verdict(aim, below=True),
            )
        )  # fmt: skip
    how = (
        f"one select({N}) and update at K = {K}: mean of {GENERATIONS} generations after "
        f"{WARM_UP} to fill the memories, fitness falling with three offspring in ten "
        "better than their parents."
    )
    return Section(TITLE, how, tuple(rows))


def _feedback(generations: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw parents and offspring of a run: fitness falls, most offspring fail to improve."""
    rng = np.random.default_rng(1)
    parents = rng.lognormal(3.0, 1.0, N)
    made = []
    for _ in range(generations):
        better = rng.random(N) < 0.3
        factor = np.where(better, rng.uniform(0.8, 1.0, N), rng.uniform(1.0, 2.0, N))
        offspring = parents * factor
        made.append((parents, offspring))
        parents = np.minimum(parents, offspring)
    return made


def _selector(name: str, feedback: list[tuple[np.ndarray, np.ndarray]]) -> Contender:
    def contender() -> float:
        selector = uaos.method(name).selector(K, seed=1, budget=N * len(feedback))
        for parents, offspring in feedback[:WARM_UP]:
            selector.update(selector.select(N), parents, offspring)
        timed = feedback[WARM_UP:]
        start = perf_counter()
        for parents, offspring in timed:
            selector.update(selector.select(N), parents, offspring)
        return perf_counter() - start

    return contender


def _evaluations() -> Contender:
    problem = functions.bbob(1)
    X = np.random.default_rng(1).uniform(-5, 5, (N, functions.D))

    def contender() -> float:
        start = perf_counter()
        for _ in range(GENERATIONS):
            for x in X:
                problem(x)
        return perf_counter() - start

    return contender
