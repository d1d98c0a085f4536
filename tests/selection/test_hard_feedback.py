"""Every one of the methods keeps its footing on the feedback that real runs throw at it."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import instances, registered

import uaos

N_OPERATORS = 4
NAN, INF = math.nan, math.inf

#: (parents, offspring) of one generation each; what they are hard for stands beside them.
CASES = [
    ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]),  # all failures from the start
    ([5.0, 5.0, 5.0, 5.0], [5.0, 5.0, 5.0, 5.0]),  # constant fitness
    ([3.0], [2.0]),  # a batch of one
    ([3.0], [3.0]),  # a batch of one, a tie
    ([3.0, 4.0, 5.0, 6.0], [2.0, 3.0, 4.0, 5.0]),  # equal improvements
    ([2.0, 2.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0, 1.0]),  # equal offspring
    ([1.0, 2.0], [NAN, NAN]),
    ([1.0, 2.0, 3.0], [INF, -INF, NAN]),
    ([1.0, 2.0, 3.0, 4.0], [0.5, NAN, -INF, 3.0]),
    ([NAN, NAN], [1.0, 2.0]),  # no parent to compare with
    ([INF, -INF, NAN], [1.0, -1.0, 0.0]),
    ([NAN, 4.0, INF, -INF], [1.0, 2.0, 3.0, 1.0]),  # one parent to compare with
    ([NAN], [NAN]),
    ([1e300, 1e300, -1e300], [-1e300, 1.0, -1.7e308]),  # beyond the limit of a metric
    ([1.7e308, 1.7e308], [-1.7e308, 1.7e308]),  # a difference that overflows
    ([1.7e308, 1.6e308, 1.7e308, 1.7e308], [1.6e308, 1.5e308, 1.7e308, 0.0]),  # a median does
    ([1e-300, 2e-300, 3e-300], [1e-301, 1e-300, 2e-300]),  # next to nothing gained
    ([1e-308, 5e-324], [5e-324, 0.0]),  # subnormal
    ([0.0, 0.0, 1.0], [0.0, -0.0, 0.0]),  # an optimum of 0 is reached
    ([1.0, 1.0, 1e300], [1e-300, -1e-300, 1e-308]),  # quotients that overflow
    ([-1.0, -2.0, -3.0, -4.0], [-2.0, -3.0, -4.0, -5.0]),  # negative fitness
    ([-1e300, -1e-300, 1e-300], [-1.1e300, -1e300, -1e-300]),
    ([1.0, -1.0, 1.0, -1.0], [-1.0, -2.0, -3.0, -1.5]),  # across 0
    ([800.0, 800.0], [0.0, 799.0]),  # an exponential that underflows
    ([1.0, 1.0 + 2.0**-52, 1.0], [1.0 - 2.0**-53, 1.0, 1.0]),  # one unit in the last place
    ([7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0], [6.0, 8.0, NAN, 7.0, 1e300, -1e300, INF]),
    ([0.0, 0.0], [1.0, 1.0]),  # failures after all that
    ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ([9.0, 8.0], [1.7e308, -1.7e308]),
    ([2.0, 3.0, 4.0], [1.0, 2.5, 5.0]),  # and back to ordinary feedback
]


def hard_run():
    """The cases as 30 generations: an operator alone in every fifth, several in the others."""
    run = []
    for number, (parents, offspring) in enumerate(CASES):
        alone = number % 5 == 4
        operators = [number if alone else number + i for i in range(len(parents))]
        run.append(
            (np.array(operators) % N_OPERATORS, np.array(parents), np.array(offspring)),
        )
    return run


RUN = hard_run()
OFFSPRING = sum(len(operators) for operators, _, _ in RUN)
LEARNING = list(itertools.product(registered("quality"), registered("probability"), (True, False)))
SELECTIONS = registered("selection")


def check(selector, n):
    """The probabilities are a distribution, and the operators chosen are operators."""
    p = selector.probabilities
    # A NaN fails both comparisons, an infinity the second.
    assert p.min() >= 0.0
    assert abs(p.sum() - 1.0) <= 1e-12
    chosen = selector.select(n)
    assert chosen.shape == (n,)
    assert chosen.min() >= 0
    assert chosen.max() < N_OPERATORS


def test_the_run_is_as_hard_as_it_claims() -> None:
    """Thirty generations, with batches of one, and every kind of fitness among them."""
    assert len(RUN) == 30
    seen = np.concatenate([np.concatenate(fitness) for _, *fitness in RUN])
    assert {1, 7} <= {len(operators) for operators, _, _ in RUN}
    assert np.isnan(seen).any()
    assert {INF, -INF, 0.0, 1e300, -1e300, 1e-300, 1.7e308} <= set(seen)


@pytest.mark.parametrize("reward", registered("reward"))
@pytest.mark.parametrize("metric", registered("metric"))
def test_every_method_survives_hard_feedback(metric: str, reward: str) -> None:
    """All qualities and probabilities, with and without scaling, starting anywhere in the run.

    What is learned does not depend on the selection, so each combination has one; which one changes
    from test to test.
    """
    turn = registered("metric").index(metric) + registered("reward").index(reward)
    small = {"W": 7, "fix_appl": 3, "max_gen": 4}
    known = uaos.Method(reward=reward).to_dict()["reward"]
    sizes = {name: size for name, size in small.items() if name in known}
    for number, (quality, probability, scale_rewards) in enumerate(LEARNING):
        method = uaos.Method(
            metric,
            {"name": reward, **sizes},
            quality,
            probability,
            SELECTIONS[(number + turn) % len(SELECTIONS)],
            scale_rewards=scale_rewards,
        )
        selector = method.selector(N_OPERATORS, seed=number, budget=OFFSPRING)
        start = number % len(RUN)
        for operators, parents, offspring in RUN[start:] + RUN[:start]:
            selector.update(operators, parents, offspring)
            try:
                check(selector, len(operators))
            except AssertionError as error:
                raise AssertionError(f"{method}: {selector.probabilities}") from error


@pytest.mark.parametrize("reward", registered("reward"))
@pytest.mark.parametrize("quality", registered("quality"))
@settings(max_examples=15)
@given(data=st.data())
def test_no_parameters_break_under_hard_feedback(
    quality: str, reward: str, data: st.DataObject
) -> None:
    """Random parameters, their ends included, and hard generations in random order."""
    names = {"reward": reward, "quality": quality}
    for family in ("metric", "probability", "selection"):
        names[family] = data.draw(st.sampled_from(registered(family)))
    made = {f: data.draw(instances(f, name, N_OPERATORS)) for f, name in names.items()}
    method = uaos.Method(**made, scale_rewards=data.draw(st.booleans()))
    selector = method.selector(N_OPERATORS, seed=1, budget=20)
    for number in data.draw(st.lists(st.integers(0, len(RUN) - 1), min_size=1, max_size=12)):
        selector.update(*RUN[number])
        check(selector, len(RUN[number][0]))
