"""The compiled forms of a selector's step compute what the array-style definitions say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uaos import compiled, steps
from uaos.components import components
from uaos.components.base import LIMIT
from uaos.components.metrics import measure
from uaos.components.probabilities import normalised as unit
from uaos.components.qualities import Evidence, normalised
from uaos.components.rewards import scaled
from uaos.components.selections import Draws
from uaos.components.views import Generations
from uaos.params import Choice, Integer, Real, parameters

FEW = settings(max_examples=60, deadline=None, derandomize=True)
WITH_TWIN = sorted(compiled._TWINS, key=lambda cls: cls.name)


def values(cls: type, draw: st.DataObject) -> dict[str, object]:
    """Random hyper-parameters."""
    found = {}
    for name, parameter in parameters(cls).items():
        if isinstance(parameter, Real):
            high = 0.1 if name == "p_min" else 0.99 if parameter.open_high else parameter.high
            found[name] = draw.draw(st.floats(parameter.low, high))
        elif isinstance(parameter, Integer):
            found[name] = draw.draw(st.integers(1, 4))
        elif isinstance(parameter, Choice):
            found[name] = draw.draw(st.sampled_from(parameter.choices))
    return found


def inputs(family: str, k: int, rng: np.random.Generator, depth: int) -> tuple:
    p, q, r, old = (rng.random(k) for _ in range(4))
    p, q = p / p.sum(), q / q.sum()
    if family == "reward":
        applications = rng.integers(0, 5, (depth, k)).astype(float)
        applications[0] += 1
        successes = np.floor(applications * rng.random((depth, k)))
        return (Generations(successes, applications, successes, successes, np.array(depth)),)
    if family == "quality":
        return (Evidence(r, old, q, p, p),)
    if family == "probability":
        return (q, p)
    return (p, Draws(rng.random(20), rng.random(20), np.float64(rng.random())), 0.3)


@pytest.mark.parametrize("cls", WITH_TWIN, ids=lambda cls: cls.name)
@FEW
@given(draw=st.data(), k=st.integers(2, 9), seed=st.integers(0, 999))
def test_a_twin_computes_the_equation_of_its_component(
    cls: type, draw: st.DataObject, k: int, seed: int
) -> None:
    component = cls(**values(cls, draw))
    depth = getattr(component, "capacity", 1)
    given_in = inputs(cls.family, k, np.random.default_rng(seed), depth)
    np.testing.assert_allclose(
        compiled.compiled(component)(*given_in), component.compute(*given_in, np), rtol=1e-12
    )


def test_a_component_without_a_twin_computes_with_numpy() -> None:
    component = components("quality")["identity"]()
    evidence = inputs("quality", 4, np.random.default_rng(1), 1)[0]
    assert compiled.compiled(component)(evidence) is evidence.rewards


def test_a_subclass_never_gets_the_twin_of_its_base() -> None:
    class Twice(components("quality")["weighted_sum"]):
        def compute(self, now, xp):
            return 2 * now.rewards

    evidence = inputs("quality", 4, np.random.default_rng(1), 1)[0]
    np.testing.assert_array_equal(compiled.compiled(Twice())(evidence), 2 * evidence.rewards)


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
