"""Outliers: some values are off, the search confirms each, and the result is exact."""

import numpy as np
import pytest

import uaos
from uaos.runs.evaluator import Evaluator
from uaos.runs.noise import NoiseMeter
from uaos.runs.outliers import Confirmation, agreed_value
from uaos.runs.run import Run
from uaos.runs.stopping import Iterations

BOX = [(-5.0, 5.0)] * 3


def rosenbrock(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


class WithOutliers:
    """Rosenbrock's function, with Cauchy noise in a share of its values."""

    def __init__(self, share=0.2, seed=1):
        self.share, self.rng, self.evaluations = share, np.random.default_rng(seed), 0

    def __call__(self, x):
        self.evaluations += 1
        off = self.rng.random() < self.share
        return rosenbrock(x) + (self.rng.standard_cauchy() if off else 0.0)


@pytest.mark.parametrize(
    ("values", "agreed"),
    [
        ([3.0, -9.0, 3.0], 3.0),
        ([3.0, 3.0 + 1e-15, 5.0], 3.0),
        ([1.0, 2.0, 1.0, 2.0, 2.0], 2.0),
        ([1.0, 2.0, 3.0], np.nan),
        ([1.0], np.nan),
    ],
)
def test_agreed_value(values, agreed):
    """The most frequent value counts if it occurs twice, up to rounding."""
    assert agreed_value(np.array(values)) == pytest.approx(agreed, nan_ok=True)


def confirmed(answers, first, allowed=np.inf):
    """Confirm first values of as many points, with lists of what each returns then."""
    confirmation, answers = Confirmation(), [list(values) for values in answers]

    def evaluate(points):
        return np.array([answers[int(x[0])].pop(0) for x in points])

    points = np.arange(len(first), dtype=float)[:, None]
    return confirmation, confirmation(points, np.array(first), allowed, evaluate)


def test_points_are_evaluated_until_two_values_agree():
    """Two, three and four values: (1, 1), (-7, 2, 2) and (3, 9, 8, 3)."""
    confirmation, values = confirmed([[1.0], [2.0, 2.0], [9.0, 8.0, 3.0]], [1.0, -7.0, 3.0])
    np.testing.assert_array_equal(values, [1.0, 2.0, 3.0])
    assert (confirmation.points, confirmation.evaluations) == (3, 9)
    assert (confirmation.compared, confirmation.agreeing) == (3, 1)
    assert confirmation.cost == pytest.approx((22 + 9) / 13)


def test_the_lowest_are_confirmed_first():
    """Where evaluations run out, the other points count as failed."""
    confirmation, values = confirmed([[5.0], [1.0], [3.0]], [5.0, 1.0, 3.0], allowed=2)
    np.testing.assert_array_equal(values, [np.nan, 1.0, 3.0])
    assert confirmation.evaluations == 5


def test_the_median_of_many_that_differ():
    """A point has twelve values at most."""
    _, values = confirmed([range(1, 12)], [0.0])
    assert values[0] == 5.5


def test_confirmation_fails_where_values_keep_differing():
    """It does once first values have differed five times more than half of the points."""
    confirmation, values = confirmed([[k + 0.5] for k in range(11)], np.arange(11.0))
    assert confirmation.fails
    np.testing.assert_array_equal(values, np.arange(11) + 0.25)


@pytest.mark.parametrize("share", [0.05, 0.2])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_outliers_do_not_keep_the_search_from_the_optimum(share, seed):
    """The result is exact, within the budget, and the message says what was seen."""
    fun = WithOutliers(share, seed)
    result = uaos.minimize(fun, BOX, budget=1500, seed=seed)
    assert result.fun == rosenbrock(result.x) < 1e-6
    assert 1480 <= result.nfev == fun.evaluations <= 1500
    assert result.fun_std is None
    assert "some values of the function are off" in result.message
    assert result.history.best[-1] == result.fun


def test_false_does_not_confirm():
    """With noise=False the lowest value is an outlier."""
    result = uaos.minimize(WithOutliers(), BOX, budget=1500, seed=1, noise=False)
    assert result.fun < -1


def test_noise_of_few_values_is_no_outlier():
    """Values of a game that is won or lost agree by chance; they are averaged."""
    rng = np.random.default_rng(1)

    def lost(x):
        return float(rng.random() < 0.1 + 0.8 * min(1.0, rosenbrock(x) / 500))

    result = uaos.minimize(lost, BOX, budget=1000, seed=1)
    assert result.fun_std is not None
    assert "the function is noisy" in result.message


@pytest.mark.parametrize("seed", range(3))
def test_outliers_on_plateaus(seed):
    """Points of a plateau have the same value; the outliers do not."""
    rng = np.random.default_rng(seed)

    def steps(x):
        value = float(np.sum(np.floor(2 * np.abs(x - 1))))
        return value + 10 * rng.standard_cauchy() if rng.random() < 0.2 else value

    result = uaos.minimize(steps, BOX, budget=1000, seed=seed)
    assert "values of the function are off" in result.message
    assert result.fun >= 0


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_noise(seed):
    """Noisy values rounded to integers often agree; outliers far from them are still found."""
    rng = np.random.default_rng(seed)

    def counted(x):
        return float(round(10 * np.sum((x - 1) ** 2) + rng.standard_normal()))

    def disturbed(x):
        return float(round(100 * np.sum((x - 1) ** 2)) - 1000.5 * (rng.random() < 0.2))

    result = uaos.minimize(counted, [(-5, 5)] * 3, budget=500, seed=seed)
    assert "the function is noisy" in result.message
    assert result.fun_std > 0
    assert (
        "values of the function are off"
        in uaos.minimize(disturbed, [(-5, 5)] * 3, budget=500, seed=seed).message
    )


def test_rounded_noise_ends_confirmation():
    """Values rounded to a hundredth agree now and then; noise is noticed in the end."""
    rng = np.random.default_rng(3)

    def rounded(x):
        return round(float(np.sum(x**2)) + 0.05 * rng.standard_normal(), 2)

    for seed in range(5):
        result = uaos.minimize(rounded, BOX, budget=1000, seed=seed)
        assert result.fun_std is not None
        assert result.nfev == 1000


def test_other_methods_take_outliers_as_noise():
    """Only the portfolio starts over."""
    result = uaos.minimize(WithOutliers(), BOX, method="CMA-ES", budget=1500, seed=1)
    assert result.fun_std is not None


def test_constraints_leave_outliers_to_noise():
    """Values of a constrained problem are not confirmed."""
    result = uaos.minimize(
        WithOutliers(), BOX, budget=1000, seed=1,
        constraints={"type": "ineq", "fun": lambda x: x[1] - 1.5},
    )  # fmt: skip
    assert result.x[1] >= 1.5
    assert result.nfev <= 1000


def test_confirmation_resumes():
    """A restored run confirms the same values and gives the same result."""

    def built(fun):
        optimizer = uaos.Portfolio(BOX, seed=1, budget=1200)
        return Run(optimizer, Evaluator(uaos.Problem(fun, BOX, name="f")), noise=NoiseMeter())

    whole = built(WithOutliers(seed=5)).complete()
    again = WithOutliers(seed=5)
    first = built(again)
    first.rules = [Iterations(60)]
    first.advance()
    assert first.noise.confirmation is not None
    second = built(again)
    second.restore(first.state())
    result = second.complete()
    np.testing.assert_array_equal(result.x, whole.x)
    assert (result.fun, result.nfev, result.message) == (whole.fun, whole.nfev, whole.message)
