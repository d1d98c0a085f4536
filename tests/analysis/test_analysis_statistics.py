"""Tests of significance, against textbook values and by hand."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from uaos.analysis import Results, Scores, friedman, holm, pairwise, scores, verdict
from uaos.analysis.scores import decades
from uaos.analysis.statistics import critical_difference
from uaos.experiments.plan import UNIFORM
from uaos.experiments.store import Outcome


def test_the_earlier_hit_is_better_then_the_smaller_error(made: Callable[..., Outcome]) -> None:
    order = [{"solved_at": 100}, {"solved_at": 1000}, {"error": 2e-8}, {"error": 5.0}]
    results = Results.from_outcomes(made(instance=i, **how) for i, how in enumerate(order, 1))
    score = decades(results.runs["A", 20, "f1"], limit=1000)
    assert score == pytest.approx([2, 3, 3 + np.log10(2), 3 + 8 + np.log10(5)])


def test_a_run_without_a_finite_error_is_the_worst(made: Callable[..., Outcome]) -> None:
    results = Results.from_outcomes([made(error=np.inf), made(instance=2, error=1e300)])
    assert np.isfinite(decades(results.runs["A", 20, "f1"], 1000)).all()


def test_problems_that_a_method_lacks_are_left_out(made: Callable[..., Outcome]) -> None:
    outcomes = [made("A", 1, 1), made("A", 1, 2), made("B", 1, 1), made("B", 2, 1)]
    table = scores(Results.from_outcomes(outcomes), 20)
    assert table.methods == ("A", "B")
    assert table.problems == (("f1", 1),)
    assert table.left_out == 2


def test_repetitions_count_by_their_median(made: Callable[..., Outcome]) -> None:
    outcomes = [
        made("A", solved_at=at, repetition=i, seed=i) for i, at in enumerate((10, 100, 1000), 1)
    ]
    assert scores(Results.from_outcomes(outcomes), 20).values.tolist() == [[2.0]]


def test_holm_by_hand() -> None:
    """Of 0.01, 0.04, 0.03, 0.005: 4·0.005, 3·0.01, 2·0.03, and 0.04 lifted to 0.06."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]).tolist() == [1.0, 1.0]
    assert holm([]).size == 0


# Demšar (2006), table 6: the AUC of four classifiers on 14 data sets. On the 13th his ranks tell
# apart two that are printed alike.
DEMSAR = np.array([
    [.763, .599, .954, .628, .882, .936, .661, .583, .775, 1.0, .940, .619, .972, .957],
    [.768, .591, .971, .661, .888, .931, .668, .583, .838, 1.0, .962, .666, .981, .978],
    [.771, .590, .968, .654, .886, .916, .609, .563, .866, 1.0, .965, .614, .9751, .946],
    [.798, .569, .967, .657, .898, .931, .685, .625, .875, 1.0, .962, .669, .975, .970],
]).T  # fmt: skip


def test_friedman_and_nemenyi_as_in_demsar() -> None:
    """Demšar (2006), section 3.2.2: ranks 3.143, 2.000, 2.893, 1.964; CD 1.25 at 0.05."""
    ranking = friedman(Scores(("C4.5", "m", "cf", "m+cf"), tuple((i, 1) for i in range(14)),
                              -DEMSAR))  # fmt: skip
    assert ranking.mean_ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    # His 9.28 is not corrected for ties: three pairs and a quadruple, 3·6 + 60 of 14·60.
    assert ranking.statistic * (1 - 78 / 840) == pytest.approx(9.28, abs=5e-3)
    assert ranking.p == pytest.approx(stats.chi2.sf(ranking.statistic, 3))
    assert ranking.critical_difference == pytest.approx(1.25, abs=5e-3)


@pytest.mark.parametrize(
    ("methods", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (10, 3.164)],
)
def test_critical_values_are_those_of_demsars_table_5(methods: int, q: float) -> None:
    expected = q * np.sqrt(methods * (methods + 1) / 60)
    assert critical_difference(methods, 10) == pytest.approx(expected, rel=5e-4)


def test_wilcoxon_by_hand() -> None:
    """Six differences of one sign: p = 2 / 2^6, exactly."""
    values = np.array([[1.0, 1 + 0.1 * i] for i in range(1, 7)])
    (pair,) = pairwise(Scores(("A", "B"), tuple((i, 1) for i in range(6)), values))
    assert pair.p == pair.p_holm == 2 / 64
    assert (pair.wins, pair.ties, pair.losses) == (6, 0, 0)
    assert pair.difference == pytest.approx(-0.35)
    assert pair.better == "A"


def test_equal_methods_are_not_told_apart() -> None:
    values = np.ones((5, 3))
    table = Scores(("A", "B", "C"), tuple((i, 1) for i in range(5)), values)
    assert [(p.p, p.better, p.ties) for p in pairwise(table)] == [(1.0, None, 5)] * 3
    assert friedman(table).p == 1


def test_two_methods_have_ranks_but_no_friedman_test() -> None:
    ranking = friedman(Scores(("A", "B"), ((1, 1), (1, 2)), np.array([[1.0, 2.0], [1.0, 1.0]])))
    assert ranking.mean_ranks.tolist() == [1.25, 1.75]
    assert np.isnan(ranking.p)
    assert np.isnan(ranking.rank("C"))


def test_by_function_each_function_counts_once(three_methods: Results) -> None:
    table = scores(three_methods, 20)
    assert table.values.shape == (20, 3)
    assert table.by_function().values.shape == (2, 3)


def test_a_pair_turned_says_the_same_of_the_other(three_methods: Results) -> None:
    pair = next(p for p in pairwise(scores(three_methods, 20)) if p.first == "good")
    turned = pair.turned()
    assert (turned.first, turned.second) == (pair.second, "good")
    assert (turned.wins, turned.losses, turned.problems) == (pair.losses, pair.wins, 20)
    assert turned.better == pair.better == "good"
    assert turned.turned() == pair


def test_the_verdict_says_that_adapting_pays(three_methods: Results) -> None:
    said = verdict(scores(three_methods, 20), three_methods.configurations)
    assert said.headline == (
        "Does adapting pay? Yes: good is better than uniform choice (α = 0.05)."
    )
    (line,) = said.details  # `bad` is a single strategy: it does not adapt
    assert "Of 20 problems it wins 20, loses 0, ties 0" in line
    assert "over the 2 functions" in line
    assert "more than the choice of operators" not in line


def test_the_verdict_says_that_adapting_does_not_pay(three_methods: Results) -> None:
    configurations = dict(three_methods.configurations)
    configurations["bad"] = {"method": {"reward": "x"}, "de": {"NP": 9}}
    table = scores(three_methods.select(methods=["bad"]), 20)
    said = verdict(table, configurations)
    assert "No: bad is worse than uniform choice" in said.headline
    assert "more than the choice of operators is compared" in said.details[-1]


def test_a_difference_that_rests_on_alike_instances_is_said(made: Callable[..., Outcome]) -> None:
    """A wins every problem of three functions and loses the three others by a hair."""
    outcomes = []
    for f in range(1, 7):
        for i in range(1, 6):
            outcomes.append(made("A", f, i, solved_at=100 if f <= 3 else 401))
            outcomes.append(made(UNIFORM, f, i, solved_at=400))
    said = verdict(scores(Results.from_outcomes(outcomes), 20), {})
    assert "Yes: A is better than uniform choice" in said.headline
    # over six functions the ranks are 5 + 5 + 5 against 2 + 2 + 2: not even p = 0.1
    assert said.note.startswith("Instances of a function are much alike: if each function counts "
                                "once, A is not told apart from uniform choice.")  # fmt: skip


def test_the_effort_is_a_multiple_of_that_of_uniform_choice(made: Callable[..., Outcome]) -> None:
    times = {"A": 100, UNIFORM: 400}
    outcomes = [made(m, 1, i, solved_at=at) for m, at in times.items() for i in range(1, 9)]
    (line,) = verdict(scores(Results.from_outcomes(outcomes), 20), {}).details
    assert "in the median it takes 0.25 times the evaluations" in line  # 100 / 400


def test_what_is_not_told_apart_is_not_called_a_no(made: Callable[..., Outcome]) -> None:
    outcomes = [made(m, 1, i, solved_at=100 + i) for m in ("A", UNIFORM) for i in range(1, 5)]
    said = verdict(scores(Results.from_outcomes(outcomes), 20), {})
    assert "Not shown: A is not told apart from uniform choice" in said.headline


def test_some_pay_and_some_do_not(three_methods: Results) -> None:
    said = verdict(scores(three_methods, 20), {})
    assert "For some: good is better than uniform choice; bad is worse" in said.headline


def test_without_uniform_choice_there_is_no_verdict(three_methods: Results) -> None:
    table = scores(three_methods, 20, ["good", "bad"])
    assert "It cannot be said: there is no run of uniform choice" in verdict(table, {}).headline
    alone = scores(three_methods, 20, [UNIFORM])
    assert "no method here adapts" in verdict(alone, {}).headline
