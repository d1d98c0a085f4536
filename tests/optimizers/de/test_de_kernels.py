"""Indices, sampling, bounds, survival and archive, each on its own."""

import math
from collections import Counter
from statistics import NormalDist

import numpy as np
import pytest
from de_stubs import engine
from hypothesis import given
from hypothesis import strategies as st
from raising import raises

from uaos.errors import InvalidParameter
from uaos.optimizers.base.search_box import LARGEST
from uaos.optimizers.de import layout, population, rates, variation
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.settings import BOUNDARIES
from uaos.optimizers.de.strategies import STRATEGIES

UNIT = st.floats(0, 1, exclude_max=True)


def indices(i, NP, uniforms, count):
    r = np.full(5, -1)
    variation.distinct(i, NP, np.array([uniforms]), 0, count, np.empty(6, np.int64), r, 0)
    return r[:count].tolist()


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
@given(data=st.data())
def test_indices_are_distinct_and_not_i_also_in_the_smallest_population(strategy, data):
    least = strategy.least_population
    NP = data.draw(st.integers(least, least + 5))
    i = data.draw(st.integers(0, NP - 1))
    r = indices(
        i, NP, data.draw(st.lists(UNIT, min_size=5, max_size=5)), strategy.least_population - 1
    )
    assert len({i, *r}) == strategy.least_population
    assert all(0 <= k < NP for k in r)


def test_indices_worked_by_hand():
    # NP 5, i = 2. First: floor(.5·4) = 2, past 2 -> 3. Second: floor(.7·3) = 2, past 2, 3 -> 4.
    # Third: floor(0·2) = 0. Fourth: floor(.9·1) = 0, past 0 -> 1.
    assert indices(2, 5, [0.5, 0.7, 0.0, 0.9, 0.0], 4) == [3, 4, 0, 1]


def test_every_set_of_indices_is_equally_likely():
    # NP 4, i = 0: the 6 orders of (1, 2, 3), one for each cell of a 3 × 2 × 1 grid of uniforms.
    grid = [((a + 0.5) / 3, (b + 0.5) / 2, 0.5, 0, 0) for a in range(3) for b in range(2)]
    assert len({tuple(indices(0, 4, u, 3)) for u in grid}) == 6


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_population_too_small_for_a_strategy_is_an_error_that_names_it(name):
    least = STRATEGIES[name].least_population
    if least > 4:
        with raises(InvalidParameter, name="NP", value=4):
            engine(pool=[name], NP=4)
    one = engine(pool=[name], NP=max(4, least))
    one.tell(np.arange(float(len(one.ask()))))
    for _ in range(5):
        X = one.ask()
        assert np.isfinite(X).all()
        one.tell(np.zeros(len(X)))


@given(loc=st.floats(0, 1), scale=st.floats(0.01, 2), u=UNIT)
def test_cauchy_values_are_positive_and_at_most_one(loc, scale, u):
    assert 0 < rates.cauchy(loc, scale, u) <= 1


def test_cauchy_is_the_distribution_redrawn_while_not_positive():
    # loc 0, scale 1: half of the mass is above 0, and P(X < 0.5 | X > 0) = 2 atan(0.5) / π.
    below = 2 * math.atan(0.5) / math.pi
    assert rates.cauchy(0.0, 1.0, 1 - below) == pytest.approx(0.5)
    # loc 0.5, scale 0.1: the median of the truncated distribution.
    at_zero = 0.5 - math.atan(5) / math.pi
    median = 0.5 + 0.1 * math.tan(math.pi * ((1 + at_zero) / 2 - 0.5))
    assert rates.cauchy(0.5, 0.1, 0.5) == pytest.approx(median)


@given(u=st.floats(1e-300, 1, exclude_max=True))
def test_the_normal_inverse_is_that_of_the_standard_library(u):
    assert rates.standard_normal(u) == pytest.approx(NormalDist().inv_cdf(u), rel=1e-15, abs=1e-16)


def test_normal_values_are_cut_to_the_unit_interval():
    assert rates.normal(0.5, 0.1, 0.5) == 0.5
    assert rates.normal(0.95, 0.1, 0.9) == 1.0  # 0.95 + 0.128
    assert rates.normal(0.05, 0.1, 0.1) == 0.0  # 0.05 - 0.128
    assert rates.normal(0.5, 0.1, 0.0) == 0.0  # u = 0 is minus infinity


@pytest.mark.parametrize(
    ("rule", "v", "expected"),
    [
        ("clip", -3.0, -1.0), ("clip", 9.0, 3.0),
        ("reflect", -1.5, -0.5), ("reflect", 3.5, 2.5),
        ("reflect", 8.0, 0.0),  # 8 -> mirrored at 3: -2 -> mirrored at -1: 0
        ("midpoint", -3.0, 0.0), ("midpoint", 9.0, 2.0),  # parent 1: (1-1)/2, (1+3)/2
        ("resample", 9.0, 0.0),  # -1 + 0.25 · 4
    ],
)  # fmt: skip
def test_bounds_worked_by_hand(rule, v, expected):
    # Box [-1, 3], parent at 1, uniform 0.25.
    assert variation.repaired(v, -1.0, 3.0, 1.0, 0.25, BOUNDARIES[rule]) == expected


@pytest.mark.parametrize("rule", ["reflect", "resample"])
def test_where_a_bound_is_missing_coordinates_are_mirrored_at_the_other(rule):
    boundary = BOUNDARIES[rule]
    assert variation.repaired(-1.5, -1.0, LARGEST, 1.0, 0.25, boundary) == -0.5
    assert variation.repaired(9.0, -LARGEST, 3.0, 1.0, 0.25, boundary) == -3.0
    assert variation.repaired(9e307, -LARGEST, LARGEST, 1.0, 0.25, boundary) < LARGEST


@given(
    rule=st.sampled_from(["clip", "reflect", "midpoint", "resample"]),
    v=st.floats(-1e12, 1e12), u=UNIT, parent=st.floats(-1, 3),
)  # fmt: skip
def test_a_repaired_coordinate_is_inside(rule, v, u, parent):
    assert -1 <= variation.repaired(v, -1.0, 3.0, parent, u, BOUNDARIES[rule]) <= 3


@pytest.mark.parametrize("boundary", ["clip", "reflect", "midpoint", "resample"])
def test_offspring_stay_in_the_box_and_repairs_are_counted(boundary):
    one = engine(F=1.9, boundary=boundary)
    one.ask()
    one.tell(np.arange(20.0))
    for _ in range(10):
        X = one.ask()
        assert ((X >= -5) & (X <= 5)).all()
        one.tell(np.arange(20.0))
    assert one.history.repairs.sum() > 0


def told(fitness, values, **settings):
    """An engine of four after a generation with the given parents' and offspring's fitness."""
    one = engine(NP=4, pool=["curr-to-pbest/1 (archived)"], **settings)
    first = one.ask()
    one.tell(fitness)
    X = one.ask()
    one.tell(values)
    return one, first, X


def test_survival_is_by_less_or_equal_and_only_losers_enter_the_archive():
    one, first, X = told([1.0, 2.0, 3.0, 4.0], [1.0, 1.5, 3.5, 5.0])
    # The first is as good as its parent and replaces it, without having beaten it.
    assert one.view.fitness.tolist() == [1.0, 1.5, 3.0, 4.0]
    assert one.view.population.tolist() == [*X[:2].tolist(), *first[2:].tolist()]
    assert one.view.archive.tolist() == first[1:2].tolist()


def test_values_that_are_not_finite_never_survive_and_failed_parents_yield():
    one, first, X = told([1.0, math.nan, -math.inf, 4.0], [math.nan, 9.0, math.inf, -math.inf])
    assert one.view.fitness.tolist() == [1.0, 9.0, math.inf, 4.0]
    assert one.view.population[1].tolist() == X[1].tolist()
    assert one.view.population[3].tolist() == first[3].tolist()
    assert one.best_fitness == 1.0


def test_the_latest_best_stands_where_the_best_offspring_was_made():
    one, *_ = told([1.0, 2.0, 3.0, 4.0], [9.0, 9.0, 7.0, 8.0], best_rule="latest")
    assert one.population.best_index == 2
    one, *_ = told([1.0, 2.0, 3.0, 4.0], [math.nan] * 4, best_rule="latest")
    assert one.population.best_index == 0
    one, *_ = told([1.0, 2.0, 3.0, 4.0], [9.0, 9.0, 7.0, 8.0])
    assert one.population.best_index == 0


def survive_in_turn(reservoir, losers, capacity, uniforms):
    """Let one-dimensional parents 0, 1, 2, … lose one after another; return the archive."""
    rows = np.zeros((1 + capacity, 1))
    counters = np.zeros(2, np.int64)
    fitness = np.array([1e9])
    for k in range(losers):
        rows[0, 0] = k
        u = np.zeros((1, layout.CROSS))
        u[0, layout.KEEP] = uniforms[k]
        values = np.array([1e8 - k])
        population.archive_losers(rows, fitness, values, u, 1, capacity, counters, reservoir)
        population.replace_parents(rows, fitness, np.zeros((1, 1)), values)
    return rows[1 : 1 + counters[layout.ARCHIVED], 0].astype(int).tolist()


def test_a_reservoir_keeps_every_loser_with_equal_probability():
    # Capacity 2, four losers. Loser 2 takes place floor(3u), loser 3 place floor(4u), if below 2:
    # over the 3 · 4 = 12 equally likely cells every loser must be kept in 12 · 2/4 = 6.
    kept = Counter()
    for a in range(3):
        for b in range(4):
            kept.update(survive_in_turn(True, 4, 2, [0, 0, (a + 0.5) / 3, (b + 0.5) / 4]))
    assert kept == {0: 6, 1: 6, 2: 6, 3: 6}


def test_a_recent_archive_always_takes_the_newest_in_a_random_place():
    assert survive_in_turn(False, 2, 2, [0, 0]) == [0, 1]
    assert survive_in_turn(False, 3, 2, [0, 0, 0.4]) == [2, 1]
    assert survive_in_turn(False, 3, 2, [0, 0, 0.6]) == [0, 2]


@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, math.inf]), min_size=1, max_size=30), st.data()
)
def test_sorting_again_gives_the_stable_order(fitness, data):
    order = np.array(data.draw(st.permutations(range(len(fitness)))))
    population.sort_again(order, np.array(fitness))
    assert order.tolist() == np.argsort(fitness, kind="stable").tolist()


def test_a_large_population_is_ordered_like_a_small_one():
    one = engine(NP=1100, pool=[Operator("best/1")], D=2)
    for _ in range(3):
        one.tell((one.ask() ** 2).sum(axis=1))
    assert (
        one.population.order.tolist() == np.argsort(one.population.fitness, kind="stable").tolist()
    )
