"""The compiled forms of a selector's step compute what the array-style definitions say."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from uaos.params import Choice, Integer, Real, parameters
from uaos.selection import compiled, steps
from uaos.selection.components import Component, components
from uaos.selection.components.base import LIMIT
from uaos.selection.components.metrics import comparable, measure
from uaos.selection.components.probabilities import normalised as unit
from uaos.selection.components.qualities import Evidence, normalised
from uaos.selection.components.rewards import scaled
from uaos.selection.components.selections import Draws
from uaos.selection.memory import memory_for

FEW = settings(max_examples=60, deadline=None, derandomize=True)
WITH_TWIN = sorted(compiled._TWINS, key=lambda cls: (cls.family, cls.name))
#: Twins that sum in the order of the index where NumPy sums in pairs, or use the C library's exp.
ROUNDED_ANEW = ("bellman", "probability_matching")


def values(cls: type, draw: st.DataObject) -> dict[str, object]:
    """Random hyper-parameters."""
    found = {}
    for name, parameter in parameters(cls).items():
        if isinstance(parameter, Real):
            high = 0.1 if name == "p_min" else 0.99 if parameter.open_high else parameter.high
            low = 0.1 if name == "p_max" else parameter.low
            found[name] = draw.draw(st.floats(low, high))
        elif isinstance(parameter, Integer):
            found[name] = draw.draw(st.integers(1, 4) | st.integers(100, 140))
        elif isinstance(parameter, Choice):
            found[name] = draw.draw(st.sampled_from(parameter.choices))
    return found


def inputs(component: Component, k: int, rng: np.random.Generator) -> tuple:
    # Coarse, so that some are equal.
    p, q = rng.integers(1, 5, (2, k)) / 8
    p, q, r, old = p / p.sum(), q / q.sum(), rng.random(k), rng.random(k)
    if component.family == "reward":
        return (remembered(component, k, rng),)
    if component.family == "quality":
        return (Evidence(r, old, q, p, rng.integers(0, 9, k)),)
    if component.family == "probability":
        return (q, p)
    return (p, Draws(rng.random(20), rng.random(20), np.float64(rng.random())), 0.3)


def remembered(reward: Component, k: int, rng: np.random.Generator) -> tuple:
    """What the reward sees after some generations; metrics are negative at times, or equal."""
    memory = memory_for(reward, k)
    for _ in range(rng.integers(1, 5)):
        n = rng.integers(1, 60)
        metrics = rng.normal(1.0, 1.0, n).round(rng.choice([1, 12]))
        memory.record(rng.integers(0, k, n), metrics, rng.random(n) < 0.6, -metrics)
    return memory.view()


@pytest.mark.parametrize("cls", WITH_TWIN, ids=lambda cls: f"{cls.family} {cls.name}")
@FEW
@given(draw=st.data(), k=st.integers(2, 9), seed=st.integers(0, 999))
def test_a_twin_computes_the_equation_of_its_component(
    cls: type, draw: st.DataObject, k: int, seed: int
) -> None:
    component = cls(**values(cls, draw))
    given_in = inputs(component, k, np.random.default_rng(seed))
    found, expected = compiled.compiled(component)(*given_in), component.compute(*given_in, np)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    if cls.name not in ROUNDED_ANEW:
        np.testing.assert_array_equal(found, expected)


def test_a_component_without_a_twin_computes_with_numpy() -> None:
    component = components("quality")["weighted_normalised_sum"](delta=1.0, q_min=0.3)
    assert not compiled.has_twin(component)
    evidence = Evidence(np.array([1.0, 4.0]), *np.ones((4, 2)))
    # max(0.3, 1/5) and max(0.3, 4/5)
    assert compiled.compiled(component)(evidence).tolist() == [0.3, 0.8]


def test_a_subclass_never_gets_the_twin_of_its_base() -> None:
    class Twice(components("quality")["weighted_sum"]):
        def compute(self, now, xp):
            return 2 * now.rewards

    evidence = inputs(Twice(), 4, np.random.default_rng(1))[0]
    np.testing.assert_array_equal(compiled.compiled(Twice())(evidence), 2 * evidence.rewards)
    assert not compiled.has_twin(Twice())


numbers = st.floats(allow_nan=True, allow_infinity=True)
rows = st.lists(numbers, min_size=2, max_size=9).map(np.array)


@FEW
@given(rows)
def test_settled_rewards_are_finite_and_scaled(raw: np.ndarray) -> None:
    finite = np.clip(np.where(np.isnan(raw), 0, raw), -LIMIT, LIMIT)
    np.testing.assert_array_equal(steps.settled_rewards(raw, False), finite)
    np.testing.assert_allclose(steps.settled_rewards(raw, True), scaled(finite), rtol=1e-12)


@FEW
@given(rows)
def test_settled_qualities_are_shifted_and_divided_by_their_sum(raw: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        expected = normalised(raw, np)
    np.testing.assert_allclose(steps.settled_qualities(raw), expected, rtol=1e-12)


@FEW
@given(st.lists(st.floats(0, 1e100), min_size=2, max_size=9).map(np.array))
def test_settled_probabilities_sum_to_one(raw: np.ndarray) -> None:
    got = steps.settled_probabilities(raw)
    np.testing.assert_allclose(got, unit(raw), rtol=1e-12)
    assert got.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", components("metric"))
@FEW
@given(
    pairs=st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=8),
    best=st.integers(-9, 9),
)
def test_the_judgement_of_offspring_is_that_of_the_definition(
    name: str, pairs: list, best: int
) -> None:
    metric = components("metric")[name]()
    parents, offspring = np.array(pairs, dtype=float).T.copy()
    with np.errstate(all="ignore"):  # as in a selector: what overflows is cut
        raw = np.array(metric.compute(parents, offspring, float(best), np), dtype=float)
        expected, successes = measure(metric, parents, offspring, float(best), np)
    got, success = steps.judge(raw, parents, offspring, metric.by_reference)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(success, successes)


@pytest.mark.parametrize("name", components("metric"))
@FEW
@given(parent=numbers, offspring=numbers, best=st.floats(-1e300, 1e300))
@example(parent=1.0, offspring=0.0, best=3.0)  # relative improvement divides by the offspring
@example(parent=1.7e308, offspring=-1.7e308, best=1.0)  # their difference is no number
def test_a_single_offspring_is_judged_as_a_generation_of_one(
    name: str, parent: float, offspring: float, best: float
) -> None:
    metric = components("metric")[name]()
    best = min(best, parent) if np.isfinite(parent) else best
    with np.errstate(all="ignore"):
        row = comparable(np.array([parent]), np.array([offspring]), np)
        (value,), (success,) = measure(metric, *row, best, np)
    judged = steps.judge_of_one(metric)
    assert judged is not None
    assert judged(parent, offspring, best) == (value, success)


def test_a_users_metric_is_given_arrays_always() -> None:
    class Halved(components("metric")["parent_improvement"]):
        def compute(self, parents, offspring, best_so_far, xp):
            return (parents - offspring)[:] / 2

    assert steps.judge_of_one(Halved()) is None
