"""A selector learns the same in one compiled call and component by component."""

import numpy as np
import pytest

import uaos
from uaos.selection.components import FAMILIES, components
from uaos.selection.learning import interpreted_learner


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return bool(a == b)


def _is_compiled(method):
    parts = (method.metric, method.reward, method.quality, method.probability)
    return method.reward.memory == "generations" and all(part.kernel for part in parts)


def _learn_component_by_component(selector):
    """Make a selector call its components one by one."""
    fitted = selector.method.for_operators(selector.n_operators)
    parts = (fitted.metric, fitted.reward, fitted.quality, fitted.probability)
    selector._learn = interpreted_learner(
        *(part.compute for part in parts), selector._memory,
        counts_observations=False, reuses_rewards=False,
    )  # fmt: skip
    state, _, *flags = selector._learner_inputs
    selector._learner_inputs = (state, ((), (), ()), *flags)


def _methods():
    """Every component that has a kernel, each with the others at their first."""
    first = ("parent_improvement", "success_rate", "bellman", "probability_matching")
    for place, family in enumerate(FAMILIES[:4]):
        for name in components(family):
            parts = [*first[:place], name, *first[place + 1 :]]
            for scale in (False, True):
                method = uaos.Method(*parts, "proportional", scale_rewards=scale)
                if _is_compiled(method):
                    yield method


@pytest.mark.parametrize("method", list(_methods()), ids=repr)
def test_a_selector_learns_the_same_in_one_compiled_call(method):
    rng = np.random.default_rng(1)
    one, other = (method.selector(3, seed=1) for _ in range(2))
    _learn_component_by_component(other)
    for _ in range(30):
        operators = one.select(7)
        parents, offspring = rng.normal(size=(2, 7))
        offspring[rng.random(7) < 0.1] = np.nan
        parents[rng.random(7) < 0.1] = np.inf
        for selector in (one, other):
            selector.update(operators, parents, offspring)
        assert same(one.state() | {"rng": 0}, other.state() | {"rng": 0})
    assert one._learn is not other._learn
