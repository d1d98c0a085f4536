"""Models by regression: exact on quadratics, predictions without a value, steps in a radius."""

import numpy as np
import pytest

from uaos.optimizers.regression import MOST_WITH_CROSS_TERMS, MOST_WITH_SQUARES, Regression, kendall


def fitted(fun, D=2, count=20, seed=1, **frame):
    """Return a regression of a function at random points."""
    points = np.random.default_rng(seed).uniform(-1, 1, (count, D))
    regression = Regression(D)
    regression.add(points, np.array([fun(x) for x in points]), least=0)
    center, axes, scale = frame.get("center", np.zeros(D)), np.eye(D), np.ones(D)
    regression.fit(center, frame.get("axes", axes), frame.get("scale", scale))
    return regression


def test_kendall_by_hand():
    """Of three pairs, two are in the same order and one in the opposite; then one is a tie."""
    assert kendall(np.array([1.0, 2, 3]), np.array([1.0, 5, 4])) == pytest.approx(1 / 3)
    assert kendall(np.array([1.0, 2, 3]), np.array([1.0, 5, 5])) == pytest.approx(2 / 3)


def test_a_quadratic_is_found_in_any_frame():
    """x'Ax with A = [[3, 1], [1, 2]] around (.3, -.2): values and step, from skew axes as well."""
    A, optimum = np.array([[3.0, 1], [1, 2]]), np.array([0.3, -0.2])
    axes, center = np.array([[2.0, 0.5], [0, 3]]), np.array([0.1, 0.4])
    regression = fitted(lambda x: 7 + (x - optimum) @ A @ (x - optimum), center=center, axes=axes)
    assert regression(np.zeros((1, 2)))[0] == pytest.approx(7 + optimum @ A @ optimum, abs=1e-8)
    step = regression.step(center, axes, radius=10.0)
    np.testing.assert_allclose(center + np.linalg.solve(axes, step), optimum, atol=1e-7)


@pytest.mark.parametrize(
    ("count", "diagonal", "cross"),
    [(2, 0, 0), (4, 0, 0), (7, 0, 0), (8, 1, 0), (9, 1, 1)],
)
def test_terms_come_with_points(count, diagonal, cross):
    """In 2-D: none below 3, squares (5 coefficients) from 1.1 · 5 / .75 on, then a product (6)."""
    regression = fitted(lambda x: 5 * x[0] ** 2 + 3 * x[0] * x[1] + x[1] ** 2, count=count)
    assert regression.fitted == (count > 2)
    assert bool(np.diagonal(regression.curvature).any()) == bool(diagonal)
    assert bool(regression.curvature[0, 1]) == bool(cross)


@pytest.mark.parametrize(
    ("D", "coefficients"),
    [
        (MOST_WITH_CROSS_TERMS, 91),  # 1 + 12 + 12 + 66
        (MOST_WITH_CROSS_TERMS + 1, 27),
        (MOST_WITH_SQUARES, 201),
        (MOST_WITH_SQUARES + 1, 102),
    ],
)
def test_many_variables_have_smaller_models(D, coefficients):
    """Twice as many points as coefficients are kept."""
    regression = Regression(D)
    regression.add(np.zeros((1000, D)), np.arange(1000.0), least=0)
    assert len(regression.values) == 2 * coefficients


def test_new_points_come_first_and_failures_are_left_out():
    regression = Regression(1)
    regression.add(np.array([[1.0], [2.0], [3.0]]), np.array([5.0, np.nan, 4.0]), least=0)
    regression.add(np.array([[4.0], [5.0]]), np.array([7.0, 6.0]), least=0)
    assert regression.points[:, 0].tolist() == [5, 4, 3, 1]
    assert regression.values.tolist() == [6, 7, 4, 5]


def test_a_prediction_does_not_use_its_own_value():
    """The same as a fit without that point, with the weights that the others had."""
    rng = np.random.default_rng(2)
    points, values = rng.uniform(-1, 1, (12, 1)), rng.standard_normal(12)
    regression = Regression(1)
    regression.add(points, values, least=12)
    regression.fit(np.zeros(1), np.eye(1), np.ones(1))
    chosen = np.argsort(regression.values, kind="stable")[:9]  # three quarters of 12
    weights = np.linspace(5, 1, 9)
    z = regression.points[chosen, 0]
    design, y = np.column_stack([np.ones(9), z, z**2 / 2]), regression.values[chosen]
    for k in (0, 4, 8):
        others = np.arange(9) != k
        left = np.linalg.lstsq((design * weights[:, None])[others], (y * weights)[others])[0]
        assert regression._left_out[chosen[k]] == pytest.approx(design[k] @ left, rel=1e-6)


def test_noise_alone_does_not_agree_with_a_model():
    """With its own values, a model of six coefficients and nine points would agree well."""
    rng = np.random.default_rng(1)
    models = [fitted(lambda x: rng.standard_normal(), count=12, seed=k) for k in range(20)]
    taus = [model.agreement(12) for model in models]
    assert np.mean(taus) < 0.2


def test_steps_stay_in_the_radius():
    """A linear function has its minimum against the slope; a saddle along its falling axis."""
    linear = fitted(lambda x: 3 * x[0] + 4 * x[1], count=6)
    np.testing.assert_allclose(linear.step(np.zeros(2), np.eye(2), 1.0), [-0.6, -0.8], atol=1e-6)
    saddle = fitted(lambda x: x[0] ** 2 - x[1] ** 2 + 0.1 * x[1])
    step = saddle.step(np.zeros(2), np.eye(2), 2.0)
    np.testing.assert_allclose(step, [0, -2], atol=1e-4)


def test_a_fit_that_fails_leaves_no_model():
    """Axes of a distribution that has collapsed."""
    regression = Regression(2)
    points = np.random.default_rng(1).uniform(-1, 1, (20, 2))
    regression.add(points, np.linspace(0, 1, 20), least=0)
    regression.fit(np.zeros(2), np.full((2, 2), np.nan), np.full(2, np.nan))
    assert not regression.fitted
    assert regression.agreement(15) == 0.0


def test_a_step_that_overflows_is_none():
    """In axes of a huge box, and in a box so tiny that its axes are infinite."""
    regression = fitted(lambda x: float(x @ x))
    assert np.isnan(regression.step(np.full(2, 1e308), 1e-308 * np.eye(2), radius=1.0)).all()
    assert np.isnan(regression.step(np.zeros(2), np.full((2, 2), np.inf), radius=1.0)).all()
    assert np.isinf(regression(np.full((1, 2), 1e308))).all()
