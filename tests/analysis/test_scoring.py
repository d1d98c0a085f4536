"""Tests of significance, against textbook values and by hand."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from outcome_results import results_of
from scipy import stats

from uaos.analysis import Results, Scores, friedman, headline, pairwise, section, verdict
from uaos.analysis.scoring import (
    Pair,
    Pairs,
    Ranking,
    better_than_all,
    better_than_reference,
    indistinct_groups,
    on_each_problem,
    score_runs,
)
from uaos.analysis.sectioning import Section
from uaos.experiments.plan import UNIFORM
from uaos.experiments.unit import Outcome


def test_the_earlier_hit_is_better_then_the_smaller_error(made: Callable[..., Outcome]) -> None:
    order = [{"solved_at": 100}, {"solved_at": 1000}, {"error": 2e-8}, {"error": 5.0}]
    results = results_of(made(instance=i, **how) for i, how in enumerate(order, 1))
    score = score_runs(results.runs["A", "f1", 20], limit=50)
    # in evaluations / D, of 20-D; the longest run has 1000 / 20 = 50
    assert 10 ** score[:2] == pytest.approx([5, 50])
    assert score[2:] == pytest.approx(np.log10(50) + np.array([np.log10(2), 8 + np.log10(5)]))


def test_a_run_without_a_finite_error_is_the_worst(made: Callable[..., Outcome]) -> None:
    errors = (np.inf, np.nan, 1e300, 1.7e308)
    results = results_of([made(instance=i, error=error) for i, error in enumerate(errors, 1)])
    assert np.isfinite(score_runs(results.runs["A", "f1", 20], 50)).all()


def test_runs_without_evaluations_have_a_score(made: Callable[..., Outcome]) -> None:
    """They count as if the longest had made one evaluation: 1 / 20 per dimension."""
    results = results_of([made(error=1.0)])
    assert score_runs(results.runs["A", "f1", 20], limit=0) == pytest.approx([8 - np.log10(20)])


def test_problems_that_a_method_lacks_are_left_out(made: Callable[..., Outcome]) -> None:
    outcomes = [made("A", 1, 1), made("A", 1, 2), made("B", 1, 1), made("B", 2, 1)]
    table = section(results_of(outcomes)).scores
    assert table.methods == ("A", "B")
    assert table.problems == (("f1", 20, "f1 i1 20-D"),)
    assert table.omitted == 2


def test_repetitions_count_by_their_median(made: Callable[..., Outcome]) -> None:
    outcomes = [
        made("A", solved_at=at, repetition=i, seed=i) for i, at in enumerate((10, 100, 1000), 1)
    ]
    values = section(results_of(outcomes)).scores.values
    assert 10**values == pytest.approx(np.array([[5.0]]))  # 100 / 20


def test_runs_are_tested_on_each_problem() -> None:
    """Five runs against five: p = 2/252 where all are better, 1 where 13 of 25 pairs are.

    Over three problems Holm makes 0.024 of the first. Two runs against two have no say, nor has a
    problem that one method was not run on.
    """
    low, high, amid = [1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [1.5, 2.5, 6, 7, 0]
    a, b, c, d, e = (("f", 2, name) for name in "abcde")
    ours = {a: low, b: high, c: low, d: [1, 2], e: low}
    theirs = {a: high, b: low, c: amid, d: [3, 4]}
    assert on_each_problem(ours, theirs) == (1, 1, 1)
    assert on_each_problem({d: [1, 2]}, {d: [3, 4]}) == (0, 0, 0)


def problems(count: int) -> tuple[tuple[str, int, str], ...]:
    return tuple(("f1", 20, f"f1 i{i} 20-D") for i in range(count))


# Demšar (2006), table 6: the AUC of four classifiers on 14 data sets. On the 13th his ranks tell
# apart two that are printed alike.
DEMSAR = np.array([
    [.763, .599, .954, .628, .882, .936, .661, .583, .775, 1.0, .940, .619, .972, .957],
    [.768, .591, .971, .661, .888, .931, .668, .583, .838, 1.0, .962, .666, .981, .978],
    [.771, .590, .968, .654, .886, .916, .609, .563, .866, 1.0, .965, .614, .9751, .946],
    [.798, .569, .967, .657, .898, .931, .685, .625, .875, 1.0, .962, .669, .975, .970],
]).T  # fmt: skip


def test_friedman_as_in_demsar() -> None:
    """Demšar (2006), section 3.2.2: ranks 3.143, 2.000, 2.893, 1.964."""
    ranking = friedman(Scores(("C4.5", "m", "cf", "m+cf"), problems(14), -DEMSAR))
    assert ranking.mean_ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    # His 9.28 is not corrected for ties: three pairs and a quadruple, 3·6 + 60 of 14·60.
    assert ranking.statistic * (1 - 78 / 840) == pytest.approx(9.28, abs=5e-3)
    assert ranking.p == pytest.approx(stats.chi2.sf(ranking.statistic, 3))
    assert ranking.order == ("m+cf", "m", "cf", "C4.5")


def test_wilcoxon_by_hand() -> None:
    """Six differences of one sign: p = 2 / 2^6, exactly."""
    values = np.array([[1.0, 1 + 0.1 * i] for i in range(1, 7)])
    (pair,) = pairwise(Scores(("A", "B"), problems(6), values))
    assert pair.p == pair.p_holm == 2 / 64
    assert (pair.wins, pair.ties, pair.losses) == (6, 0, 0)
    assert pair.difference == pytest.approx(-0.35)
    assert pair.better == "A"


def test_many_methods_without_differences_are_one_set() -> None:
    """Sets are found without trying all 2^30 of them."""
    names = [f"m{i}" for i in range(30)]
    ranking = Ranking(tuple(names), np.arange(30.0), 9, np.nan, np.nan)
    pairs = Pairs(Pair(a, b, 1, 0, 0, 0.0, 1.0, 1.0, 0.0) for a, b in combinations(names, 2))
    assert indistinct_groups(ranking, pairs) == [tuple(names)]


def test_equal_methods_do_not_differ() -> None:
    values = np.ones((5, 3))
    table = Scores(("A", "B", "C"), problems(5), values)
    assert [(p.p, p.better, p.ties) for p in pairwise(table)] == [(1.0, None, 5)] * 3
    assert friedman(table).p == 1


def test_two_methods_have_ranks_but_no_friedman_test() -> None:
    ranking = friedman(Scores(("A", "B"), problems(2), np.array([[1.0, 2.0], [1.0, 1.0]])))
    assert ranking.mean_ranks.tolist() == [1.25, 1.75]
    assert np.isnan(ranking.p)
    assert np.isnan(ranking.rank("C"))


def test_by_function_each_function_counts_once(three_methods: Results) -> None:
    table = section(three_methods).scores
    assert table.values.shape == (20, 3)
    assert table.by_function().values.shape == (2, 3)


def test_a_swapped_pair_says_the_same_of_the_other(three_methods: Results) -> None:
    pair = section(three_methods).pairs.pair("good", "uniform")
    swapped = pair.swapped()
    assert (swapped.first, swapped.second) == ("uniform", "good")
    assert (swapped.wins, swapped.losses, swapped.problems) == (pair.losses, pair.wins, 20)
    assert swapped.better == pair.better == "good"
    assert swapped.swapped() == pair


@pytest.mark.parametrize(
    ("differ", "expected"),
    [
        ("ab ac bc", []),
        ("ac", [("a", "b"), ("b", "c")]),
        ("", [("a", "b", "c")]),  # one set, not the smaller ones within it
        ("ab bc", [("a", "c")]),  # not neighbors in rank
    ],
)
def test_sets_without_significant_differences_are_the_largest(
    differ: str, expected: list[tuple[str, ...]]
) -> None:
    ranking = Ranking(("a", "b", "c"), np.array([1.0, 2.0, 3.0]), 9, 1.0, 0.1)
    pairs = Pairs(
        Pair(x, y, 1, 0, 0, -1.0, 0.01, 0.01 if x + y in differ.split() else 0.5, -1.0)
        for x, y in ("ab", "ac", "bc")
    )
    assert indistinct_groups(ranking, pairs) == expected


# Stars and arrows of the tables


def two(made: Callable[..., Outcome], count: int) -> Section:
    """B takes twice as long as A, which is first to every target."""
    outcomes = []
    for i in range(1, count + 1):
        outcomes.append(made("A", 1, i, solved_at=200 + i))
        outcomes.append(made("B", 1, i, solved_at=400 + i))
    return section(results_of(outcomes))


def test_stars_say_how_significantly_a_method_beats_all_others(
    made: Callable[..., Outcome],
) -> None:
    # ten against ten, fully apart: z = (50 - 1/2) / √(10 · 10 · 21 / 12) = 3.74, p = 1.8e-4
    runs = list(two(made, 10).runs.values())
    assert better_than_all(runs, "A", 1e-7, 1) == 3
    assert better_than_all(runs, "A", 1e-7, 10) == 2  # Bonferroni: 1.8e-3
    # three against three: p = 2 / C(6, 3) = 0.1
    assert better_than_all(list(two(made, 3).runs.values()), "A", 1e-7, 1) == 0
    assert better_than_all(runs[:1], "A", 1e-7, 1) == 0  # nobody to beat


def test_a_run_that_missed_the_target_is_worse_than_any_that_did_not(
    made: Callable[..., Outcome],
) -> None:
    outcomes = [made("A", 1, i, solved_at=900) for i in range(1, 9)]
    outcomes += [made("B", 1, i, error=0.5) for i in range(1, 9)]
    runs = list(results_of(outcomes).runs.values())
    assert better_than_all(runs, "A", 1e-7, 1) == 3  # p = 2 / C(16, 8) = 1.6e-4


def test_arrows_say_how_significantly_runs_beat_the_reference(made: Callable[..., Outcome]) -> None:
    (runs, _) = two(made, 10).runs.values()
    # ten runs of about 200 evaluations, all below 300: p = 2 / 2^10 = 0.002
    assert better_than_reference(runs, 1e-8, 300, 1) == 2
    assert better_than_reference(runs, 1e-8, 300, 10) == 1
    assert better_than_reference(runs, 1e-8, 100, 1) == 0  # slower
    assert better_than_reference(runs, 1e-8, np.inf, 1) == 0  # no reference


# The answer in words


def test_the_verdict_says_that_adapting_pays(three_methods: Results) -> None:
    found = verdict(section(three_methods))
    assert found.headline == (
        "Does adapting pay? Yes: good is better than uniform choice (α = 0.05)."
    )
    ((over, coarse),) = found.tests  # `bad` is a single strategy: it does not adapt
    assert (over.wins, over.losses, over.ties) == (20, 0, 0)
    assert coarse.problems == 2
    assert found.note == ""


def test_the_verdict_says_that_adapting_does_not_pay(three_methods: Results) -> None:
    configurations = dict(three_methods.configurations)
    configurations["bad"] = {"method": {"reward": "x"}, "de": {"NP": 9}}
    results = Results(three_methods.runs, {}, configurations).select(methods=["bad"])
    found = verdict(section(results))
    assert "No: bad is worse than uniform choice" in found.headline
    assert "differs from uniform in more than the choice of operators" in found.note


def test_a_portfolio_adapts(three_methods: Results) -> None:
    """Its selector chooses optimizers, whether or not its configuration names a method."""
    configurations = dict(three_methods.configurations)
    configurations["good"] = {"optimizer": {"name": "portfolio"}}
    found = verdict(section(Results(three_methods.runs, {}, configurations)))
    assert "Yes: good is better than uniform choice" in found.headline
    assert "(optimizer, pool, F, CR, population size …)" in found.note


def test_a_difference_that_rests_on_similar_instances_is_noted(
    made: Callable[..., Outcome],
) -> None:
    """A wins every problem of three functions and loses the three others by a hair."""
    outcomes = []
    for f in range(1, 7):
        for i in range(1, 6):
            outcomes.append(made("A", f, i, solved_at=100 if f <= 3 else 401))
            outcomes.append(made(UNIFORM, f, i, solved_at=400))
    found = verdict(section(results_of(outcomes)))
    assert "Yes: A is better than uniform choice" in found.headline
    # over six functions the ranks are 5 + 5 + 5 against 2 + 2 + 2: not even p = 0.1
    assert found.note.startswith(
        "Instances of a function are similar: if each function counts once, there is no "
        "significant difference between A and uniform choice."
    )


def test_no_significant_difference_is_not_called_a_no(made: Callable[..., Outcome]) -> None:
    outcomes = [made(m, 1, i, solved_at=100 + i) for m in ("A", UNIFORM) for i in range(1, 5)]
    found = verdict(section(results_of(outcomes)))
    assert "Not shown: no significant difference between A and uniform choice" in found.headline


def test_some_pay_and_some_do_not(three_methods: Results) -> None:
    found = verdict(section(Results(three_methods.runs)))
    assert "For some: good is better than uniform choice; bad is worse" in found.headline


def test_without_uniform_choice_there_is_no_verdict(three_methods: Results) -> None:
    runs = {key: runs for key, runs in three_methods.runs.items() if key[0] != UNIFORM}
    found = verdict(section(Results(runs)))
    assert "Unknown: there are no runs of uniform choice" in found.headline
    alone = three_methods.select(methods=[])
    assert "Unknown: no method here adapts" in verdict(section(alone)).headline


def timed(made: Callable[..., Outcome], times: dict[str, list[int | None]]) -> Section:
    """A run a number: solved after so many evaluations, or not."""
    return section(results_of(
        made(method, 1, i, solved_at=at, error=0.1 * i)
        for method, each in times.items() for i, at in enumerate(each, 1)
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        # ten problems, all won: Wilcoxon's p = 2 / 2^10 = 0.002, times 3 for the pairs
        ({"A": [200] * 10, "B": [400] * 10, "C": [800] * 10},
         "A did best: it is significantly better than every other method. It solved 10 of 10 "
         "runs."),
        ({"A": [200] * 8, "B": [400] * 8},
         "A did best: it is significantly better than B. It solved 8 of 8 runs."),
        ({"A": [200] * 10, "B": [200] * 9 + [201], "C": [800] * 10},
         "A has the best mean rank and is significantly better than C, with no significant "
         "difference from B. It solved 10 of 10 runs."),
        ({"A": [200, 200], "B": [400, 400]},
         "A has the best mean rank, with no significant difference from B. It solved 2 of 2 runs."),
        ({"A": [200, 200], **{name: [400, 400] for name in "BCDE"}},
         "A has the best mean rank, with no significant difference from any other method. It "
         "solved 2 of 2 runs."),
        ({"A": [200] * 9 + [None], "B": [400] * 10},
         "A has the best mean rank, with no significant difference from B. It solved 9 of 10 runs; "
         "B solved the most, 10 of 10."),
        ({"A": [200, 300], "B": [200, 300]}, "A and B share the same mean rank."),
        ({"A": [200, 400], "B": [400, 200], "C": [800, 800]}, "A and B share the best mean rank."),
        ({"A": [200, None]}, "A solved 1 of 2 runs."),
    ],
)  # fmt: skip
def test_the_headline_says_who_did_best(
    made: Callable[..., Outcome], times: dict[str, list[int | None]], expected: str
) -> None:
    assert headline(timed(made, times)) == expected


def test_methods_without_a_common_problem_are_not_ranked(made: Callable[..., Outcome]) -> None:
    results = results_of([made("A", 1), made("B", 8)])
    assert "cannot be ranked" in headline(section(results))
