"""The engine against the plain loop, step by step and bit by bit."""

import math

import numpy as np
import pytest
from de_stubs import Uniform
from plain_de import FORMULAS, PlainDE

from uaos.de.engine import Engine
from uaos.de.operators import Operator
from uaos.de.rules import cauchy, jade, normal, success_history, uniform
from uaos.de.schedule import linear
from uaos.de.settings import Settings

LOW, HIGH = [-5.0, -1.0, 0.0, 2.0], [5.0, 1.0, 3.0, 2.5]


def fun(x):
    """A valley with a hole in its domain, so that some evaluations fail."""
    if x[0] > 4.5:
        return math.nan
    return 100.0 * (x[1] - x[0] * x[0]) ** 2 + abs(x[2] - 1.0) + (x[3] - 2.2) ** 2


def compare(pool, operators, memories=(), generations=25, NP=12, seed=3, budget=None, **settings):
    """Run both with the same seed; after every generation they must be equal."""
    plain_settings = dict(settings)
    top = plain_settings.pop("top_NP", 0.05)
    if isinstance(top, str):
        plain_settings |= {"top": 0.2, "top_drawn": True}
    else:
        plain_settings["top"] = top
    schedule = plain_settings.pop("schedule", None)
    plain = PlainDE(
        operators, LOW, HIGH, NP, np.random.default_rng(seed), memories=memories, budget=budget,
        NP_end=schedule.NP_end if schedule else None,
        **{"boundary": "midpoint"} | plain_settings,
    )  # fmt: skip
    fast = Engine(
        Settings(pool=pool, NP=NP, **settings), np.array(LOW), np.array(HIGH),
        make_selector=Uniform, rng=np.random.default_rng(seed), budget=budget,
    )  # fmt: skip
    assert fast.ask().tolist() == plain.X
    plain.evaluate_first(fun)
    fast.tell([fun(x) for x in fast.ask()])
    for _ in range(generations):
        if schedule:
            plain.shrink()
        X = fast.ask()
        n = len(plain.X)
        if len(pool) == 1:
            chosen = [0] * n
        else:
            chosen = (plain.rng.random(n) * len(pool)).astype(int).tolist()
        offspring = plain.vary(chosen)
        assert X.tolist() == offspring
        assert fast._repairs == plain.repairs
        plain.survive(chosen, offspring, [fun(x) for x in offspring])
        fast.tell([fun(x) for x in X])
        assert fast.view.population.tolist() == plain.X
        assert fast.view.fitness.tolist() == plain.f
        if fast.pool.uses_archive:
            assert fast.view.archive.tolist() == plain.archive
        for row, memory in enumerate(plain.memories):
            assert fast._rules.means[row, 0, : memory["H"]].tolist() == memory["F"]
            assert fast._rules.means[row, 1, : memory["H"]].tolist() == memory["CR"]
    return fast


@pytest.mark.parametrize("name", FORMULAS)
def test_a_strategy_alone_equals_the_plain_loop(name):
    compare([Operator(name, 0.5, 0.9)], [(name, 0.5, 0.9)])


@pytest.mark.parametrize("boundary", ["none", "clip", "reflect", "midpoint", "resample"])
@pytest.mark.parametrize("best_rule", ["population", "latest"])
def test_all_nine_with_every_boundary_and_best_rule_equal_the_plain_loop(boundary, best_rule):
    fast = compare(
        [Operator(n, 0.8, 0.6) for n in FORMULAS], [(n, 0.8, 0.6) for n in FORMULAS],
        boundary=boundary, best_rule=best_rule,
    )  # fmt: skip
    assert (fast._repairs > 0) == (boundary != "none")


@pytest.mark.parametrize("archive", ["recent", "history"])
def test_a_full_archive_equals_the_plain_loop(archive):
    name = "curr-to-pbest/1 (archived)"
    fast = compare(
        [Operator(name, 0.5, 0.9)], [(name, 0.5, 0.9)], archive=archive, archive_size=0.5,
        generations=60,
    )  # fmt: skip
    assert len(fast.view.archive) == 6  # 0.5 · 12


def test_sampled_rules_equal_the_plain_loop():
    pool = [
        Operator("rand/1", uniform(0.4, 0.9), normal(0.5, 0.3)),
        Operator("best/1", cauchy(0.5, 0.2), uniform(0, 1)),
    ]
    compare(
        pool,
        [
            ("rand/1", ("uniform", 0.4, 0.9), ("normal", 0.5, 0.3)),
            ("best/1", ("cauchy", 0.5, 0.2), ("uniform", 0.0, 1.0)),
        ],
        generations=40,
    )


def test_adaptive_rules_shared_and_own_equal_the_plain_loop():
    shared, own, history = success_history(3), jade(0.2), success_history(2)
    name = "curr-to-pbest/1 (archived)"
    pool = [
        Operator(name, shared, shared),
        Operator("rand/1", shared, 0.9),
        Operator("curr-to-rand/1", own, own),
        Operator("best/2", 0.5, history),
    ]
    compare(
        pool,
        [
            (name, ("memory", 0), ("memory", 0)),
            ("rand/1", ("memory", 0), 0.9),
            ("curr-to-rand/1", ("memory", 1), ("memory", 1)),
            ("best/2", 0.5, ("memory", 2)),
        ],
        memories=[{"H": 3, "c": None}, {"H": 1, "c": 0.2}, {"H": 2, "c": None}],
        generations=60,
        top_NP="U(2/NP,0.2)",
    )


def test_a_shrinking_population_equals_the_plain_loop():
    name = "curr-to-pbest/1 (archived)"
    fast = compare(
        [Operator(name, 0.5, 0.9), Operator("rand/1", 0.5, 0.9)],
        [(name, 0.5, 0.9), ("rand/1", 0.5, 0.9)],
        NP=20, budget=400, generations=20, schedule=linear(4), archive_size=1.5, best_rule="latest",
    )  # fmt: skip
    assert fast.NP < 15
