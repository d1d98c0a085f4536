"""Reading stores: what counts once, what is refused, and problems without a known optimum."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from outcome_results import results_of
from raising import raises

import uaos
from uaos.analysis import Results, headline, sections
from uaos.analysis.tables import section_tables, value_table
from uaos.errors import InvalidFile, InvalidParameter, Missing, UnknownName
from uaos.experiments import Plan, Store, run_unit
from uaos.experiments.recorder import Trace
from uaos.experiments.unit import Outcome, Unit, outcome


def test_a_store_gives_runs_by_method_function_and_dimension(
    made: Callable[..., Outcome], make_store: Callable[..., Path]
) -> None:
    outcomes = [made(m, f, i, solved_at=60 + i) for m in ("mix", "JADE") for f in (1, 8)
                for i in (1, 2)]  # fmt: skip
    results = Results.read(make_store(outcomes))
    assert results.methods == ("mix", "JADE")
    assert results.functions == ("f1", "f8")
    assert results.groups == {"separable": ("f1",), "moderate": ("f8",)}
    assert (results.dimensions, results.suite) == ((20,), "bbob")
    runs = results.runs["JADE", "f8", 20]
    assert runs.evaluations.tolist() == [61, 62]
    assert runs.evaluations_to([1e-8]).tolist() == [[61, 62]]
    assert results.configurations["mix"]["method"]


def test_a_store_and_its_outcomes_give_the_same(
    made: Callable[..., Outcome], make_store: Callable[..., Path]
) -> None:
    outcomes = [made("mix", f, i, solved_at=60 + i) for f in (8, 1) for i in (2, 1)]
    path = make_store(outcomes)
    with Store.open(path) as store:
        other = results_of(store.outcomes())
    for key, runs in Results.read(path).runs.items():
        assert runs.problems.tolist() == other.runs[key].problems.tolist()
        assert (runs.hits == other.runs[key].hits).all()


def test_the_same_run_in_two_stores_counts_once(
    made: Callable[..., Outcome], make_store: Callable[..., Path]
) -> None:
    first = make_store([made("mix", 1, 1), made("mix", 1, 2)], "one.sqlite")
    second = make_store([made("mix", 1, 2), made("mix", 1, 3)], "two.sqlite")
    results = Results.read(first, second)
    names = ["f1 i1 20-D", "f1 i2 20-D", "f1 i3 20-D"]
    assert results.runs["mix", "f1", 20].problems.tolist() == names


def test_runs_with_another_seed_are_further_repetitions(made: Callable[..., Outcome]) -> None:
    results = results_of([made(seed=1), made(seed=2)])
    assert len(results.runs["A", "f1", 20]) == 2


def test_the_same_run_with_two_budgets_is_refused(made: Callable[..., Outcome]) -> None:
    with pytest.raises(InvalidParameter) as caught:
        results_of([made(), made(budget=2000)])
    assert (caught.value.name, caught.value.value) == ("budget", "1,000 and 2,000")
    assert caught.value.owner == "A on f1 i1 20-D"


def test_two_configurations_of_one_name_are_refused(
    made: Callable[..., Outcome], make_store: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from uaos.experiments import plan

    first = make_store([made("mix")], "one.sqlite")
    other = plan.configuration("JADE").to_dict() | {"name": "mix"}
    changed = plan.Configuration.from_dict(other)
    monkeypatch.setattr(plan, "competitor", lambda name: changed)
    second = make_store([made("mix")], "two.sqlite")
    with raises(InvalidParameter, name="methods", value="mix"):
        Results.read(first, second)


def test_failed_runs_are_counted_and_in_no_number(made: Callable[..., Outcome]) -> None:
    failed = made("B", 1, 2, status="failed", error=np.inf, evaluations=0, reason="died")
    results = results_of([made("B", 1, 1), failed])
    assert results.failed == {"B": 1}
    assert len(results.runs["B", "f1", 20]) == 1
    # Done elsewhere, it has not failed.
    assert not results_of([failed, made("B", 1, 2)]).failed


def test_uniform_choice_stays_in_every_selection(three_methods: Results) -> None:
    assert three_methods.select(methods=["bad"]).methods == ("bad", "uniform")
    assert three_methods.select(functions=["f8"]).functions == ("f8",)
    with raises(UnknownName, name="goood", near="good"):
        three_methods.select(methods=["goood"])


def test_a_group_stands_for_its_members_in_the_results(made: Callable[..., Outcome]) -> None:
    """Of the literature, only SaDE was run; its duration is that of the selection."""
    results = results_of([made("SaDE", seconds=2.0), made("mine", seconds=1.0)])
    assert results.seconds == 3.0
    chosen = results.select(methods=["literature", "mine"])
    assert (chosen.methods, chosen.seconds) == (("SaDE", "mine"), 3.0)
    assert results.select(methods=["literature"]).seconds == 2.0


def test_functions_are_chosen_by_numbers_or_names(three_methods: Results) -> None:
    assert three_methods.matching("1-5,8") == ["f1", "f8"]
    assert three_methods.matching("f8") == ["f8"]
    with raises(UnknownName, name="24"):
        three_methods.matching("1,24")


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile):
        Results.read(tmp_path / "none.sqlite")


def test_sections_are_by_dimension_only_where_a_function_has_several(
    made: Callable[..., Outcome],
) -> None:
    several = [made(function=f, dimension=d) for f in (1, 8) for d in (2, 5)]
    found = sections(results_of(several))
    assert [(s.title, s.key, s.dimension) for s in found] == [("2-D", "2", 2), ("5-D", "5", 5)]
    apart = [made(function=1, dimension=2), made(function=8, dimension=5)]
    (one,) = sections(results_of(apart))
    assert (one.title, one.key, one.dimension) == ("2-D to 5-D", "all", None)
    with pytest.raises(Missing):
        sections(Results({}))


# Problems whose optimum is not known


def traced(method: str, at: list[int], values: list[float]) -> Outcome:
    problem = uaos.Problem(lambda x: 0.0, [(0, 1)] * 4, name="mine", group="own")
    return outcome(
        Unit(method, "mine", 1, 1, 100), problem, evaluations=100, best=values[-1],
        trace=Trace(np.array(at), np.array(values)),
    )  # fmt: skip


def test_targets_are_relative_to_the_best_value_of_any_run() -> None:
    """Runs begin at 130 and 170, so at 150 in the median; the best value is 50.

    The unit is a hundredth of the distance, 1: the error of a value f is f - 50.
    """
    results = results_of([
        traced("A", [1, 20, 40], [130, 60, 50]), traced("B", [1, 30], [170, 51]),
    ], suite="mine")  # fmt: skip
    assert results.relative == ("mine",)
    a, b = results.runs["A", "mine", 4], results.runs["B", "mine", 4]
    assert (a.errors, b.errors) == (0, 1)
    assert (a.solved, b.solved) == (1, 0)
    assert a.evaluations_to([1e2, 1e1, 1e0, 1e-8]).ravel().tolist() == [1, 20, 40, 40]
    np.testing.assert_array_equal(b.evaluations_to([1e2, 1e0, 1e-1]).ravel(), [30, 30, np.nan])
    (part,) = sections(results)
    assert part.title == "4-D, relative targets"
    # Nothing is solved: the best value of the runs may be far from the optimum.
    assert headline(part) == "A has the best mean rank, with no significant difference from B."
    assert part.overall.standing("A").runs == 0
    assert part.notes[0].startswith("Unknown optima: mine.")
    assert part.notes[0].endswith("no run counts as solved.")
    shown = [[cell.text for cell in row.cells] for row in value_table(part).rows]
    assert shown == [
        ["mine", "A", "50", "50", "50", "50", "–", "1"],
        ["mine", "B", "51", "51", "51", "51", "–", "1"],
    ]


def test_each_problem_of_a_small_suite_is_looked_at(made: Callable[..., Outcome]) -> None:
    for count, is_small in ((50, True), (51, False)):
        outcomes = [made(m, 1, i, dimension=2) for m in "AB" for i in range(1, count + 1)]
        (part,) = sections(results_of(outcomes, suite="own"))
        assert part.tests_each_problem == is_small
        assert ("values" in [table.name for table in section_tables(part)]) == is_small


def test_only_sections_with_an_unknown_optimum_have_relative_targets(
    made: Callable[..., Outcome],
) -> None:
    results = results_of([traced("A", [1, 20], [130, 50]), made("A", 1, dimension=2)])
    assert results.select(functions=["mine"]).relative == ("mine",)
    assert results.select(dimension=2).relative == ()


def test_equal_budgets_in_several_dimensions_are_called_by_their_number(
    made: Callable[..., Outcome],
) -> None:
    (equal,) = sections(results_of([made("A", 1, dimension=2), made("A", 8, dimension=5)]))
    assert equal.budget_text() == "1,000"
    (apart,) = sections(results_of([
        made("A", 1, dimension=2, budget=200), made("A", 8, dimension=5, budget=500),
    ]))  # fmt: skip
    assert apart.budget_text("A") == "100·D"


@pytest.mark.parametrize(("shift", "scale"), [(0, 1e-9), (1e3, 1.0), (-5.0, 1e7)])
def test_relative_targets_do_not_depend_on_the_units_of_the_objective(
    shift: float, scale: float
) -> None:
    def hits(values: list[list[float]]) -> list[list[int]]:
        results = results_of(traced(m, [1, 20, 40], v) for m, v in zip("AB", values, strict=True))
        return [results.runs[m, "mine", 4].hits.ravel().tolist() for m in "AB"]

    plain = [[130, 60, 50], [170, 80, 51.0]]
    moved = [[shift + scale * v for v in run] for run in plain]
    assert hits(moved) == hits(plain)


SUITE = """
import uaos
def valley(x): return float(abs(x).sum()) + 3
suite = uaos.Suite("hills", [
    uaos.Problem(valley, [(-3, 3)] * 2, name="valley", optimum=3.0, group="smooth"),
    uaos.Problem(lambda x: float((x**2).sum()), [(-3, 2)] * 3, name="bowl"),
])
"""


def test_a_suite_of_ones_own_has_no_reference(tmp_path: Path) -> None:
    (tmp_path / "hills.py").write_text(SUITE)
    plan = Plan.of(["mix"], uaos.suite(tmp_path / "hills.py"), budget="50D")
    with Store.create_or_resume(tmp_path / "x.db", plan) as store:
        store.record([run_unit(u, plan.suite[u.problem], plan.competitors[u.method])
                      for u in plan.units()])  # fmt: skip
    results = Results.read(tmp_path / "x.db")
    assert (results.suite, results.relative) == ("hills", ("bowl",))
    assert results.groups == {"hills": ("bowl",), "smooth": ("valley",)}
    (part,) = sections(results)
    assert part.reference is None
    assert part.longest == 50
    # the best of all runs reaches its own value at the evaluation of its last improvement
    best = min(results.runs[m, "bowl", 3].errors[0] for m in results.methods)
    assert best == 0
