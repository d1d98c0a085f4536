"""Maximizing is minimizing the negative, with the values of the function shown."""

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidParameter

BOX = [(-5.0, 5.0)] * 2


def hill(x):
    return 3.0 - float((x - 1) @ (x - 1))


def test_the_result_has_the_values_of_the_function():
    result = uaos.maximize(hill, BOX, seed=1, budget=300)
    negative = uaos.minimize(lambda x: -hill(x), BOX, seed=1, budget=300)
    assert result.x.tolist() == negative.x.tolist()
    assert result.fun == hill(result.x) == -negative.fun
    assert result.history.best.tolist() == (-negative.history.best).tolist()


def test_target_and_callback_are_in_values_of_the_function():
    seen = []
    result = uaos.maximize(
        hill, BOX, seed=1, target=2.9, callback=lambda state: seen.append(state.fun)
    )
    assert result.success
    assert result.fun >= 2.9
    assert result.message == "the target 2.9 was reached"
    assert seen
    assert seen == sorted(seen)


@pytest.mark.parametrize("jac", [lambda x: list(-2 * (x - 1)), True])
def test_the_gradient_is_that_of_the_function(jac):
    def fun(x):
        return (hill(x), -2 * (x - 1)) if jac is True else hill(x)

    same = {"x0": [-3, 4], "seed": 1, "budget": 30}
    result = uaos.maximize(fun, BOX, jac=jac, **same)
    negative = uaos.minimize(lambda x: -hill(x), BOX, jac=lambda x: 2 * (x - 1), **same)
    assert result.x.tolist() == negative.x.tolist()
    assert result.njev == negative.njev > 0


def test_a_vectorized_function_and_a_missing_value():
    result = uaos.maximize(lambda X: -(X**2).sum(axis=1), BOX, vectorized=True, seed=1, budget=100)
    assert result.fun == pytest.approx(0)
    with pytest.warns(RuntimeWarning, match="returned None"):
        assert np.isnan(uaos.maximize(lambda x: None, BOX, budget=20).fun)


def test_a_problem_is_not_maximized():
    with raises(InvalidParameter, name="fun"):
        uaos.maximize(uaos.Problem(hill, BOX))


def test_a_maximum_of_zero_has_no_sign() -> None:
    """The value is 0.0, not -0.0."""
    result = uaos.maximize(lambda x: -((x[0] - 1) ** 2), [(-5, 5)], seed=1)
    assert str(result.fun) == "0.0"


def test_a_bool_is_a_number():
    """A game that returns whether it was won can be maximized."""
    rng = np.random.default_rng(1)

    def won(x):
        return rng.random() < np.exp(-np.sum((x - 1) ** 2))

    result = uaos.maximize(won, [(-5, 5)] * 2, budget=400, seed=1, noise=True)
    assert 0 < result.fun <= 1
    assert result.fun_std > 0
