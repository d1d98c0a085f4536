"""One method against each of the others."""

import numpy as np
import pytest
from raising import raises
from tuning_cases import AtOnce

import uaos
from uaos.analysis import Results, compare, sectioning
from uaos.analysis.findings import focus_sentences
from uaos.analysis.focus import duels_by_problem
from uaos.analysis.recommendation import recommend
from uaos.analysis.sectioning import sections
from uaos.errors import InvalidParameter, UnknownName
from uaos.experiments import Plan, Store, run
from uaos.problems import ackley, rastrigin, rosenbrock, sphere
from uaos.statistics import stratified_rank_sum_test


def test_the_stratified_test_by_hand():
    """Ranks 1, 2 of 4 in both strata: W - 5 = -2 each, Var W = 5/3, divided by 5 and 25."""
    p, z = stratified_rank_sum_test([[1, 2], [10, 20]], [[3, 4], [30, 40]])
    assert z == pytest.approx(-2 * 0.4 / np.sqrt(2 * (5 / 3) / 25))
    assert p == pytest.approx(0.0284, abs=1e-4)
    assert stratified_rank_sum_test([[1, 1]], [[1, 1]]) == (1.0, 0.0)


def test_the_stratified_test_keeps_its_level():
    """Six problems of different scales, five runs each, no difference: at most 5 % significant."""
    rng = np.random.default_rng(1)
    scale = 10.0 ** np.arange(6)[:, None]
    p = [
        stratified_rank_sum_test(*(list(scale * rng.random((6, 5))) for _ in range(2)))[0]
        for _ in range(1000)
    ]
    assert np.mean(np.array(p) < 0.05) < 0.065


def ellipsoid(x):
    return float(np.sum(10.0 ** np.linspace(0, 4, len(x)) * x**2))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    functions = (sphere, ellipsoid, rosenbrock, rastrigin, ackley)
    suite = uaos.Suite("five", [uaos.Problem(f, [(-4, 5)] * 3, optimum=0.0) for f in functions])
    path = tmp_path_factory.mktemp("focus") / "five.db"
    methods = ["CMA-ES", "best/1", "rand/1", "uniform"]
    run(Plan.of(methods, suite, repetitions=4, budget=600), path, AtOnce())
    return Results.read(path)


def test_few_problems_with_several_runs_can_be_significant(results):
    """Over all pairs of five problems, no difference could be."""
    (section,) = sections(results, focus="CMA-ES")
    assert section.has_repetitions
    by_other = {test.other: test for test in section.focus_tests}
    assert set(by_other) == {"best/1", "rand/1", "uniform"}
    slow = by_other["rand/1"]
    assert slow.outcome == "better"
    assert slow.evaluations is None  # rand/1 does not solve any of them in all runs
    assert slow.error.low < slow.error.value < slow.error.high < 1
    assert slow.error.problems == slow.better + slow.level + slow.worse == 5
    assert section.pairs.pair("CMA-ES", "rand/1").better is None


def test_the_other_side_of_a_pair_has_the_opposite_outcome(results):
    (section,) = sections(results, focus="rand/1")
    test = {t.other: t for t in section.focus_tests}["CMA-ES"]
    assert test.outcome == "worse"
    assert test.error.value > 1
    assert test.since is None


def test_headline_and_first_table_are_about_the_method(results):
    part = compare(results, focus="CMA-ES").sections[0]
    assert part.headline.startswith("CMA-ES is significantly better than")
    assert [table.name for table in part.tables[:2]] == ["focus", "focus-problems"]
    assert "pairs" not in {table.name for table in part.tables}  # it would correct for all pairs
    assert "against CMA-ES" in {name for table in part.tables for name, _ in table.columns}
    assert compare(results).sections[0].tables[0].name == "overview"


def test_the_headline_says_where_by_how_much_and_since_when(results):
    """The numbers are those of the best other method."""
    (section,) = sections(results, focus="CMA-ES")
    rival = next(t for t in section.focus_tests if t.other == "best/1")
    _, details = focus_sentences(section)
    assert f"better on {rival.better or 'none'} of 5 problems, worse on none" in details
    assert f"{rival.error.value:.2g} times the error (95 %: " in details
    assert f"ahead from {rival.since:.3g}·D evaluations on" in details


def test_duels_by_hand():
    """Evaluations where all runs reached the target (score up to log10 of 100), else errors."""
    solved, missed = ("a", 2, "a"), ("b", 2, "b")
    first = {solved: [1.0, 1.0, 1.0], missed: [1.5, 4.0, 4.0]}
    second = {solved: [2.0, 2.0, 2.0], missed: [5.0, 5.0, 6.0]}
    ours = duels_by_problem(first, second, longest=100.0)
    assert [duel.unit for duel in ours] == ["evaluations", "error"]
    assert ours[0].ratio.value == pytest.approx(0.1)
    assert (ours[0].ratio.low, ours[0].ratio.high) == (ours[0].ratio.value,) * 2  # no variation
    # log10 of errors / 1e-8: 0, 2, 2 against 3, 3, 4
    assert ours[1].ratio.value == pytest.approx(10 ** (4 / 3 - 10 / 3))
    assert ours[1].ratio.low < ours[1].ratio.value < ours[1].ratio.high
    theirs = duels_by_problem(second, first, longest=100.0)
    assert theirs[1].ratio.value == pytest.approx(1 / ours[1].ratio.value)
    assert [duel.outcome for duel in ours] == [None, None]  # three runs are too few


def test_tests_are_computed_once(results, monkeypatch):
    """Headline and tables share the tests of a section."""
    calls = []
    original = sectioning.focus_tests
    monkeypatch.setattr(
        sectioning, "focus_tests", lambda *given: calls.append(1) or original(*given)
    )
    compare(results, focus="CMA-ES")
    assert len(calls) == 1


def test_an_unknown_method_is_named(results):
    with pytest.raises(UnknownName) as raised:
        compare(results, focus="CMAES")
    assert "CMA-ES" in str(raised.value)


def test_a_method_is_recommended_for_a_budget(results, tmp_path):
    (section,) = sections(results)
    late, early = recommend(section), recommend(section, 30)
    assert late.method == "CMA-ES"
    assert late.reason.startswith("CMA-ES reaches ")
    assert early.budget == 30
    assert early.budgets[-1] == late.budget == section.longest
    shares = {r["method"]: r["share"] for r in late.table().records if r["budget"] == late.budget}
    assert max(shares, key=shares.get) == "CMA-ES"
    late.configuration().to_toml(tmp_path / "best.toml")
    found = uaos.minimize(sphere, [(-5, 5)] * 2, method=tmp_path / "best.toml", budget=50, seed=1)
    assert (
        found.x.tolist()
        == uaos.minimize(sphere, [(-5, 5)] * 2, method="CMA-ES", budget=50, seed=1).x.tolist()
    )


@pytest.mark.parametrize("budget", [0, -1, 1e9])
def test_a_budget_beyond_the_runs_is_refused(results, budget):
    with raises(InvalidParameter, name="budget"):
        recommend(sections(results)[0], budget)


def test_bench_and_compare_count_solved_runs_alike(tmp_path):
    """A run on a problem without a known optimum is not solved in either."""
    suite = uaos.Suite("mixed", [
        uaos.Problem(sphere, [(-4, 5)] * 2, name="known", optimum=0.0),
        uaos.Problem(sphere, [(-4, 5)] * 2, name="unknown"),
    ])  # fmt: skip
    path = tmp_path / "mixed.db"
    methods = ["CMA-ES", "rand/1"]
    tallies = run(Plan.of(methods, suite, repetitions=3, budget=600), path, AtOnce())
    (section,) = sections(Results.read(path))
    counted = {s.method: (s.solved, s.runs) for s in section.overall.standings}
    assert {m: t.solved for m, t in tallies.items()} == {m: n for m, (n, _) in counted.items()}
    assert counted["CMA-ES"] == (3, 3)  # of six runs, three with a known optimum
    with Store.open(path) as store:
        assert {m: t.solved for m, t in store.tallies().items()}["CMA-ES"] == 3


def test_representations_fit_a_screen(results):
    """Results of an analysis say what they are, not all their numbers."""
    (section,) = sections(results, focus="CMA-ES")
    comparison = compare(results)
    shown = (
        results, next(iter(results.runs.values())), section, comparison, comparison.sections[0],
        comparison.tables[0], section.focus_tests[0], recommend(section),
    )  # fmt: skip
    for value in shown:
        assert len(repr(value)) < 300
    assert repr(results) == "<Results of 4 methods on five: 80 runs>"
