"""Generations made in a compiled loop are those that ask and tell make, to the last bit."""

import sys

import numba
import numpy as np
import pytest

import uaos
from uaos import jit
from uaos.optimizers.de import generations
from uaos.optimizers.de.settings import Stagnation
from uaos.runs.evaluator import CompiledObjective
from uaos.selection.components import FAMILIES, components
from uaos.selection.fused import codes_of

BOX = [(-5.0, 5.0)] * 4
# Every kind of rule, boundary, archive and restart that the loop serves; L-SHADE shrinks.
METHODS = (
    "U-AOS-FW", "mix", "JADE", "SHADE", "L-SHADE", "SaDE-DE", "PM-AdapSS-DE", "RecPM-DE", "rand/1",
)  # fmt: skip


@numba.njit
def rugged(x):
    if x[0] > 4.0:
        return np.nan
    total = 0.0
    for v in x:
        total += v * v + 3.0 * (1.0 - np.cos(2.0 * np.pi * v))
    return total


@numba.njit
def careless(x):
    """A function that writes to its argument."""
    value = (x * x).sum()
    x[:] = 0.0
    return value


@pytest.fixture(scope="module")
def loop():
    return CompiledObjective(rugged, 4, (), 1).loop


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Few generations are worth a loop and compiling it, too, and slow ones."""
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    monkeypatch.setattr(generations, "_WORTHWHILE", 1)
    monkeypatch.setattr(sys.modules["uaos.minimize"], "_MOMENT", 9.0)


def run(method, **settings):
    given = {"popsize": 20, "seed": 3, "budget": 3011} | settings
    return uaos.DifferentialEvolution(BOX, method=method, **given)


def step(de):
    points = de.ask()
    de.tell([rugged(x) for x in points])


def told(de):
    while not de.done:
        step(de)
    return de


def looped(de, loop, most=7):
    made = 0
    while not de.done:
        generations = de.advance(loop, most)
        made += generations
        if generations == 0:
            step(de)
    assert made > 30
    return de


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return bool(a == b)


@pytest.mark.parametrize("method", METHODS)
def test_the_loop_leaves_the_state_that_ask_and_tell_leave(method, loop):
    assert same(looped(run(method), loop).state(), told(run(method)).state())


@pytest.mark.parametrize("method", ["mix", "L-SHADE"])
def test_a_population_that_shrinks_stays_in_the_loop(method, loop):
    """It loses a parent in most of these generations, and members of the archive."""
    de = run(method, popsize=60, budget=2000)
    step(de)
    step(de)  # every operator has been applied
    assert de.advance(loop, 1000) > 30
    assert de.population.NP < 12
    assert de.evaluations > 1980


@pytest.mark.parametrize(
    "settings",
    [
        {"restart": Stagnation(patience=9)},
        {"restart": Stagnation(spread=0.5, growth=1.5)},
        {"target": 1.0},
        {"history": False},
        {"boundary": "resample", "x0": [[1.0] * 4, [2.0] * 4]},
        {"seed": np.random.Generator(np.random.MT19937(5))},
    ],
    ids=("impatient", "alike", "target", "no history", "resample", "another generator"),
)
def test_it_pauses_where_something_else_is_due(settings, loop):
    """The generator of one run must not be that of the other."""
    runs = []
    for _ in range(2):
        if "seed" in settings:
            settings["seed"] = np.random.Generator(np.random.MT19937(5))
        runs.append(run("mix", **settings))
    expected = told(runs[0])
    assert same(looped(runs[1], loop, 50).state(), expected.state())
    if "patience" in str(settings):
        assert expected.restarts > 0


def test_a_saved_run_goes_on_with_or_without_the_loop(tmp_path, loop):
    expected = told(run("mix")).state()
    de = run("mix")
    step(de)
    while de.evaluations < 1000:
        if de.advance(loop, 5) == 0:
            step(de)
    de.save(tmp_path / "run")
    for go_on in (told, lambda loaded: looped(loaded, loop)):
        assert same(go_on(uaos.DifferentialEvolution.load(tmp_path / "run")).state(), expected)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "L-SRTDE"},
        {"method": "jSO"},
        {"method": "F-AUC-MAB"},
        {"method": "mix", "integrality": [1, 0, 0, 0]},
    ],
    ids=str,
)
def test_a_run_that_kernels_alone_cannot_make_is_left_to_ask_and_tell(settings, loop):
    de = run(**settings)
    for _ in range(5):
        assert de.advance(loop, 9) == 0
        step(de)


def test_points_that_were_asked_for_are_not_skipped(loop):
    de = run("rand/1")
    step(de)
    de.ask()
    assert de.advance(loop, 9) == 0


@pytest.mark.parametrize("settings", [{"budget": 4000}, {}, {"maxiter": 77}, {"target": 1e-3}])
@pytest.mark.parametrize("fun", [rugged, careless])
def test_minimize_gives_the_same_result_by_the_loop(fun, settings, monkeypatch):
    """Without a budget the run ends when it has converged."""
    results, made = [], []
    advance = uaos.DifferentialEvolution.advance

    def counted(self, *arguments, **further):
        made.append(advance(self, *arguments, **further))
        return made[-1]

    for method in (counted, lambda *_, **__: 0):
        monkeypatch.setattr(uaos.DifferentialEvolution, "advance", method)
        results.append(uaos.minimize(fun, BOX, method="mix", popsize=20, seed=4, **settings))
    a, b = results
    assert sum(made) > 10
    assert (a.fun, a.nfev, a.nit, a.message) == (b.fun, b.nfev, b.nit, b.message)
    assert np.array_equal(a.x, b.x)
    assert same(a.history.state(), b.history.state())


def test_an_exception_of_the_function_is_raised():
    @numba.njit
    def falls(x):
        if abs(x[0]) < 0.5:
            raise ValueError("too small")
        return x[0] * x[0]

    with pytest.raises(ValueError, match="too small"):
        uaos.minimize(falls, BOX, method="rand/1", budget=20_000, seed=1)


def _methods():
    """Every component that has a kernel, each with the others at their first."""
    first = ("parent_improvement", "success_rate", "bellman", "probability_matching")
    for place, family in enumerate(FAMILIES[:4]):
        for name in components(family):
            parts = [*first[:place], name, *first[place + 1 :]]
            for scale in (False, True):
                method = uaos.Method(*parts, "proportional", scale_rewards=scale)
                if codes_of(method.for_operators(3), 3) is not None:
                    yield method


@pytest.mark.parametrize("method", list(_methods()), ids=repr)
def test_a_selector_learns_the_same_in_one_compiled_call(method):
    rng = np.random.default_rng(1)
    one, other = (method.selector(3, seed=1) for _ in range(2))
    assert one.fused is None  # until every operator has been applied
    other._fused = None  # component by component
    for _ in range(30):
        operators = one.select(7)
        parents, offspring = rng.normal(size=(2, 7))
        offspring[rng.random(7) < 0.1] = np.nan
        parents[rng.random(7) < 0.1] = np.inf
        for selector in (one, other):
            selector.update(operators, parents, offspring)
        assert same(one.state() | {"rng": 0}, other.state() | {"rng": 0})
    assert one.fused is not None
