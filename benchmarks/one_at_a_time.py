"""Measure select(1) and update with one offspring, as in a steady-state algorithm."""

from itertools import product
from time import perf_counter

import numpy as np
from table import Row, Section
from timing import Contender, interleaved

import uaos

TITLE = "one offspring at a time"
FEW, MANY = 5, 9
WARM_UP, STEPS = 400, 400
AIM, AIM_COMPILED = 60.0, 15.0
#: The usual loops outside the catalogue: a rule and a reward, with a moving average between them.
RULES = ("probability_matching", "adaptive_pursuit")
REWARDS = ("success_sum", "window_success_sum", "immediate_success", "success_rate")
#: Nothing is new to a reward over successes after a failure; these are dear if there is none.
DEAREST = ("F-AUC-MAB-tuned", "F-SR-MAB", "Compass-tuned", "PR-PM", "PM-AdapSS-tuned")


def run(quick: bool) -> Section:
    usual, improving = _feedback(0.3), _feedback(1.0)
    methods = {n: c.method for n, c in uaos.methods().items() if c.kind in ("method", "tuned")}
    for rule, reward in product(RULES, REWARDS):
        recipe = uaos.Method(reward=reward, quality="weighted_sum", probability=rule)
        methods[f"{rule}, {reward}"] = recipe
    cases = {name: (method, usual) for name, method in methods.items()}
    for name in DEAREST:
        cases[f"{name}, every offspring better"] = (methods[name], improving)
    found = interleaved(
        {f"{name}, K = {k}": _loop(*case, k) for name, case in cases.items() for k in (FEW, MANY)},
        rounds=3 if quick else 15,
    )
    costs = {label: sample.scaled(1e6 / STEPS) for label, sample in found.items()}
    rows = []
    for name, (method, feedback) in cases.items():
        cost, smaller = costs[f"{name}, K = {MANY}"], costs[f"{name}, K = {FEW}"]
        aim = AIM_COMPILED if feedback is usual and _compiled(method) else AIM
        rows.append(
            Row(
                name, cost.text("µs"), f"K = {FEW}: {smaller.text('µs')}",
                cost.over(smaller).text(), f"< {aim:g} µs", cost.verdict(aim, below=True),
            )
        )  # fmt: skip
    how = (
        f"one select(1) and update([operator], [parent], [offspring]) at K = {MANY}, beside "
        f"K = {FEW}: mean of {STEPS} steps after {WARM_UP} to fill the memories, three offspring "
        "in ten better than their parents unless all are. The lower aim is for methods whose "
        "reward, quality and probability are compiled and rank no window."
    )
    return Section(TITLE, how, tuple(rows))


def _compiled(method: uaos.Method) -> bool:
    """Return whether reward, quality and probability are one kernel each and rank no window."""
    return method.reward.name in REWARDS and method.quality.name != "weighted_normalised_sum"


def _feedback(share: float) -> list[tuple[list[float], list[float]]]:
    """Draw a parent and its offspring, which is better with probability `share`."""
    rng = np.random.default_rng(1)
    made = []
    for _ in range(WARM_UP + STEPS):
        parent = rng.lognormal(3.0, 1.0)
        low = 0.8 if rng.random() < share else 1.0
        made.append(([float(parent)], [float(parent * rng.uniform(low, low + 0.2))]))
    return made


def _loop(
    method: uaos.Method, feedback: list[tuple[list[float], list[float]]], k: int
) -> Contender:
    def contender() -> float:
        selector = method.selector(k, seed=1, budget=len(feedback))
        for parent, offspring in feedback[:WARM_UP]:
            selector.update(selector.select(1), parent, offspring)
        timed = feedback[WARM_UP:]
        start = perf_counter()
        for parent, offspring in timed:
            selector.update(selector.select(1), parent, offspring)
        return perf_counter() - start

    return contender
