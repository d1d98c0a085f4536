"""Nonsense in calls, files and command lines: an answer or a clear error, never a hang."""

import datetime
import decimal
import fractions
import math
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import run as command_line
from fault_tools import attempt, short_and_long

import uaos
from uaos import statefile
from uaos.errors import InvalidFeedback, InvalidParameter, UaosError
from uaos.experiments import Store
from uaos.optimizers.base.saving import FORMAT
from uaos.problems import sphere

# What an objective may return, and the value that counts.
NUMBERS = [
    (None, math.nan), (True, 1.0), (-1, -1.0), (0, 0.0), (2**70, 2.0**70), (0.5, 0.5),
    (-0.0, 0.0), (math.nan, math.nan), (math.inf, math.nan), (-math.inf, math.nan),
    (1e308, 1e308), (5e-324, 5e-324), ([1], 1.0), ([[1]], 1.0), (np.float32(2), 2.0),
    (np.int8(3), 3.0), (np.array([None]), math.nan), (decimal.Decimal(2), 2.0),
    (fractions.Fraction(1, 3), 1 / 3),
]  # fmt: skip
OTHERS = [
    10**400, "", "1.5", "mix", "\x1b[31m", b"x", (), [], {}, [[0, 1]], [(0, 1), (1, 0)],
    [(math.nan, 1)], [(-math.inf, math.inf)], {"a": 1}, 1j, np.zeros((0, 2)), np.zeros((2, 3)),
    np.array(["a"]), np.array([1j]), np.array("2020-01-01", "M8[D]"), object(), lambda *_: 1.0,
    datetime.date(2020, 1, 1), range(3), "a" * 10_000,
]  # fmt: skip
ODD = [*(number for number, _ in NUMBERS), *OTHERS]


def numbers(x: np.ndarray | dict) -> np.ndarray:
    """Return a point as numbers; bounds that are a mapping have named variables."""
    return np.array([*x.values()] if isinstance(x, dict) else x)


@short_and_long(150, 5000)
def test_odd_arguments_of_minimize(times: int, count) -> None:
    draw, refused = random.Random(1), 0
    names = ["method", "budget", "seed", "x0", "popsize", "vectorized", "callback", "target"]
    for _ in range(times):
        given = {name: draw.choice(ODD) for name in draw.sample(names, draw.choice([1, 1, 2]))}
        # Never without an end: large budgets are allowed, but not waited for.
        budget = given.setdefault("budget", 60)
        if budget is None or (type(budget) in (int, float) and budget > 10_000):
            given["budget"] = 60
        bounds = draw.choice(ODD) if draw.random() < 0.2 else [(-5, 5)] * 2
        fun = draw.choice(ODD) if draw.random() < 0.1 else (lambda x: np.sum(numbers(x) ** 2))
        try:
            result = uaos.minimize(fun, bounds, **given)
        except UaosError:
            refused += 1
        else:
            assert 0 < result.nfev <= int(given["budget"])
            assert (np.abs(numbers(result.x)) <= 5).all()
    assert times / 2 < refused < times
    count("odd calls of minimize", times)


@pytest.mark.filterwarnings("ignore:fun returned None")
def test_odd_numbers_of_an_objective_are_its_values(count) -> None:
    for odd, value in NUMBERS:
        result = uaos.minimize(lambda x, odd=odd: odd, [(-5, 5)] * 2, budget=20, seed=1)
        assert result.fun == pytest.approx(value, rel=0, abs=0, nan_ok=True), odd
    count("odd values of objectives", len(NUMBERS))


def test_a_value_that_is_no_number_is_an_error(count) -> None:
    for odd in OTHERS:
        with pytest.raises(InvalidFeedback):
            uaos.minimize(lambda x, odd=odd: odd, [(-5, 5)] * 2, budget=20, seed=1)
    count("odd values of objectives", len(OTHERS))


def test_stop_iteration_of_an_objective_is_an_error(count) -> None:
    def fun(x: np.ndarray) -> float:
        raise StopIteration

    with pytest.raises(RuntimeError):
        uaos.minimize(fun, [(-5, 5)] * 2, budget=20, seed=1)
    count("odd values of objectives")


@pytest.mark.parametrize(
    "name", ["budget", "target", "popsize", "max_time", "tol", "maxiter", "bounds", "x0"]
)
def test_integers_beyond_the_range_of_floats_are_refused(name: str, count) -> None:
    huge: object = {"bounds": [(0, 10**400)] * 2, "x0": [10**400, 0]}.get(name, 10**400)
    given = {"bounds": [(-5, 5)] * 2, "budget": 40, "seed": 1} | {name: huge}
    with pytest.raises(InvalidParameter) as caught:
        uaos.minimize(lambda x: float(np.sum(x * x)), **given)
    assert caught.value.name == name
    count("odd calls of minimize")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target", np.zeros(2)),
        ("top_NP", 10**400),
        ("operators", np.array(3)),
        ("restart", np.zeros(2)),
        ("vectorized", np.zeros(2)),
        ("maxfun", np.zeros(2)),
        ("x0", np.zeros((0, 2))),
    ],
)
def test_arrays_and_huge_integers_where_they_do_not_belong_are_refused(
    name: str, value: object, count
) -> None:
    with pytest.raises(UaosError):
        uaos.minimize(sphere, [(-5, 5)] * 2, method="mix", budget=40, **{name: value})
    count("odd calls of minimize")


class Unprintable:
    """An object without a representation."""

    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "name",
    ["F", "CR", "top_NP", "popsize", "budget", "target", "x0", "maxiter", "max_time", "tol", "seed",
     "archive_size", "integrality", "scale", "known", "bounds", "method", "operators", "restart",
     "schedule", "boundary", "jac", "constraints", "callback", "noise", "record"],
)  # fmt: skip
def test_values_that_cannot_be_shown_are_refused_in_one_short_line(name: str, count) -> None:
    odd = [[10**5000, 1], Unprintable(), "a\n" * 5000, np.zeros((1000, 3))]
    for value in [10**5000, *odd]:
        given = {"bounds": [(-5, 5)] * 2, "budget": 40} | {name: value}
        with pytest.raises(UaosError) as caught:
            uaos.minimize(lambda x: float(np.sum(x * x)), **given)
        assert len(str(caught.value).splitlines()) == 1
        assert len(str(caught.value)) < 800
    count("odd calls of minimize", 5)


@pytest.mark.parametrize("method", ["mix", "CMA-ES", "BFGS", "STEP", "portfolio", "EA4eig"])
def test_a_state_with_text_for_numbers_is_refused(method: str, tmp_path: Path, count) -> None:
    engine = uaos.configuration(method).build([(-5, 5)] * 2, seed=1, budget=500)
    engine.tell((engine.ask() ** 2).sum(axis=1))
    path, refused = tmp_path / "run.state", 0
    engine.save(path)
    content = statefile.read(path, "run", FORMAT)
    type(engine).load(path)
    for key, value in content["state"].items():
        if isinstance(value, int | float | np.ndarray):
            crafted = content | {"state": content["state"] | {key: "text"}}
            statefile.write(path, "run", FORMAT, crafted)
            assert attempt(type(engine).load, path)[1], key
            refused += 1
    assert refused > 3
    count("states with text for numbers, refused", refused)


def test_held_coordinates_only_obey_the_same_rules(count) -> None:
    """With every coordinate held there is one point to evaluate, and no search."""
    assert not uaos.minimize(lambda x: math.nan, [(1, 1)]).success
    assert not uaos.minimize(lambda x: 1 / 0, [(1, 1)], on_error="fail").success
    count("runs with NaN only", 2)


def test_nothing_but_nan_is_no_success(count) -> None:
    for target in (math.inf, 1.0, None):
        result = uaos.minimize(lambda x: math.nan, [(-5, 5)] * 2, budget=40, seed=1, target=target)
        assert not result.success, result.message
    count("runs with NaN only", 3)


@short_and_long(300, 10_000)
def test_odd_feedback_leaves_a_selector_as_it_was(times: int, count) -> None:
    draw, selector = random.Random(2), uaos.method("SaDE").selector(4, seed=1)
    refused = 0
    for _ in range(times):
        before = selector.probabilities.copy()
        given = [
            draw.choice(ODD) if draw.random() < 0.5 else good
            for good in (selector.select(3), np.ones(3), np.array([0.5, 2.0, math.nan]))
        ]
        try:
            selector.update(*given)
        except UaosError:
            refused += 1
            assert (selector.probabilities == before).all()
        assert selector.probabilities.sum() == pytest.approx(1)
    assert 0 < refused < times
    count("odd calls of Selector.update", times)


@short_and_long(300, 10_000)
@pytest.mark.parametrize("method", ["mix", "CMA-ES", "portfolio"])
def test_odd_values_told_to_an_optimizer(method: str, times: int, count) -> None:
    draw, refused = random.Random(3), 0
    engine = uaos.configuration(method).build([(-5, 5)] * 2, seed=1, budget=10**7)
    points = engine.ask()
    for _ in range(times):
        told = draw.choice(ODD) if draw.random() < 0.7 else (points**2).sum(axis=1)
        try:
            engine.tell(told)
        except UaosError:
            refused += 1
            continue
        points = engine.ask()
        assert np.isfinite(points).all()
    assert 0 < refused < times
    count("odd values told to optimizers", times)


@short_and_long(150, 5000)
def test_random_bytes_are_no_file(times: int, tmp_path: Path, count) -> None:
    draw, path = random.Random(4), tmp_path / "f"
    readers = [Store.open, uaos.Selector.load, uaos.DifferentialEvolution.load,
               uaos.Configuration.from_toml, uaos.Method.from_toml]  # fmt: skip
    heads = [b"", b"SQLite format 3\x00", b"uaos saved state 1\n", b"PK\x03\x04", b"[method]\n",
             b"\x80\x04", b"\x93NUMPY"]  # fmt: skip
    for _ in range(times):
        path.write_bytes(draw.choice(heads) + draw.randbytes(draw.choice([0, 10, 200, 5000])))
        line = attempt(draw.choice(readers), path)[1]
        assert line or path.read_bytes() in (b"", b"[method]\n")  # TOML that says nothing
    count("files of random bytes, refused", times)


WORDS = [
    "bench", "compare", "plot", "report", "tune", "methods", "run", "scenario", "study", "a.db",
    "none.db", "--methods", "mix", "JADE,mix", "--dim", "2", "-1", "0", "nan", "1e999", "--budget",
    "10D", "D", "--functions", "1", "25", "1-", "--instances", "test:1", "--seed", "--status",
    "--export", "x.csv", "x.txt", "--merge", "--suite", "none.py", "-o", "x.png", "--help", "",
    "\x1b[31m", "é", "--", "-", "ecdf-overall", "--space", "wide", "--runs", "--fix", "F=0.5",
    "--import", "--jobs", "--dask", "--csv", ".", "/", "--only", "tune", "--folder", "nope/nope",
]  # fmt: skip


@short_and_long(30, 1000)
def test_nonsense_command_lines_end_with_one_line(
    times: int, whole: Path, tmp_path: Path, count
) -> None:
    draw = random.Random(5)
    shutil.copy(whole, tmp_path)
    before = (tmp_path / "a.db").read_bytes()
    for _ in range(times):
        words = [draw.choice(WORDS[:9]), *draw.choices(WORDS, k=draw.randrange(6))]
        if {"study", "tune", "bench"} & set(words) and not {"--status", "--help"} & set(words):
            words.append("--nonsense")  # what may work would take its time
        words += {"run": ["--budget", "50"], "scenario": ["--steps", "50"]}.get(words[0], [])
        done = command_line(*words, cwd=tmp_path)
        assert done.returncode in (0, 1, 2), words
        assert "Traceback" not in done.stderr, words
        if done.returncode == 2 and done.stderr.startswith("error"):
            assert done.stderr.count("\n") == 1, (words, done.stderr)
        assert "\x1b" not in done.stdout + done.stderr
        assert (tmp_path / "a.db").read_bytes() == before
    count("nonsense command lines", times)
