"""The sentences of a report are right for few methods, ties, and nothing solved."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from report_cases import words

from uaos.analysis import Results
from uaos.experiments.store import Outcome
from uaos.reporting.report.chapter import Chapter, chapter
from uaos.reporting.report.html import Markup, markup
from uaos.reporting.report.looks import Looks
from uaos.reporting.report.payoff import payoff
from uaos.reporting.report.words import class_test, findings, headline

Make = Callable[..., Outcome]


def of(outcomes: list[Outcome]) -> Chapter:
    return chapter(Results.from_outcomes(outcomes), 20)


def said(parts: Markup | list[Markup]) -> str:
    joined = parts if isinstance(parts, str) else " ".join(parts)
    return " ".join(words(joined).split())


def runs(made: Make, times: dict[str, list[int | None]], function: int = 1, **more: Any) -> list:
    """A run a number: solved after so many evaluations, or not."""
    return [
        made(method, function, i, solved_at=at, error=0.1 * i, **more)
        for method, each in times.items()
        for i, at in enumerate(each, 1)
    ]


def test_a_method_that_beats_every_other_did_best(made: Make) -> None:
    # ten problems, all won: Wilcoxon's p = 2 / 2^10 = 0.002, times 3 for the pairs
    found = of(runs(made, {"A": [200] * 10, "B": [400] * 10, "C": [800] * 10}))
    assert said(headline(found, markup)) == (
        "A did best, significantly better than every other method."
    )
    text = said(findings(found, markup))
    assert "A 10 of 10, B 10 of 10, C 10 of 10" in text
    assert "Against the second by mean rank, B, it wins 10 of 10 problems, loses 0" in text
    # on one function p cannot be below 1
    assert "p = 0.0059; 1 if each function counts once" in text
    assert "On the 10 problems that both solved it takes 0.5 times the evaluations" in text


def test_with_two_methods_the_loser_is_named(made: Make) -> None:
    found = of(runs(made, {"A": [200] * 8, "B": [400] * 8}))
    assert said(headline(found, markup)) == "A did best, significantly better than B."


def test_what_the_leader_is_not_told_apart_from_is_said(made: Make) -> None:
    # A and B differ on one problem in ten; C is far behind
    times = {"A": [200] * 10, "B": [200] * 9 + [201], "C": [800] * 10}
    assert said(headline(of(runs(made, times)), markup)) == (
        "A has the best mean rank, significantly better than C; it is not told apart from B."
    )


def test_without_significance_nobody_did_best(made: Make) -> None:
    found = of(runs(made, {"A": [200, 200], "B": [400, 400]}))
    assert (
        said(headline(found, markup)) == "A has the best mean rank, but is not told apart from B."
    )


def test_who_solved_more_than_the_leader_is_said(made: Make) -> None:
    # A is faster on nine problems and fails on the tenth
    found = of(runs(made, {"A": [200] * 9 + [None], "B": [400] * 10}))
    assert "The most runs were solved by B, 10 of 10." in said(headline(found, markup))


def test_ties_are_ties(made: Make) -> None:
    found = of(runs(made, {"A": [200, 300], "B": [200, 300]}))
    assert said(headline(found, markup)) == "A and B share the same mean rank."
    found = of(runs(made, {"A": [200, 400], "B": [400, 200], "C": [800, 800]}))
    assert said(headline(found, markup)) == "A and B share the best mean rank."
    assert "Against the second" not in said(findings(found, markup))


def test_where_nothing_is_solved_it_says_so(made: Make) -> None:
    found = of(runs(made, {"A": [None, None], "B": [None, None]}))
    assert "No run came within 10⁻⁸ of the optimum" in said(findings(found, markup))
    assert "evaluations in the median" not in said(findings(found, markup))


def test_one_method_alone_is_not_ranked(made: Make) -> None:
    found = of(runs(made, {"A": [200, None]}))
    assert said(headline(found, markup)) == "A solved 1 of 2 runs."
    assert said(findings(found, markup)) == (
        "Solved means f − f_opt ≤ 10⁻⁸: 1 of 2 on the separable functions."
    )
    found = of(runs(made, {"A": [None]}))
    assert said(headline(found, markup)) == "A solved none of 1 run."


def test_methods_without_a_common_problem_are_not_ranked(made: Make) -> None:
    found = of(runs(made, {"A": [200]}) + runs(made, {"B": [100]}, function=8))
    assert "cannot be ranked" in said(headline(found, markup))
    assert said(findings(found, markup)) == "Solved to f − f_opt ≤ 10⁻⁸: A 1 of 1, B 1 of 1."


def test_each_class_has_its_leader(made: Make) -> None:
    outcomes = runs(made, {"A": [100] * 6, "B": [200] * 6})
    outcomes += runs(made, {"A": [400] * 6, "B": [300] * 6}, function=8)
    outcomes += runs(made, {"A": [300] * 6, "B": [300] * 6}, function=10)
    found = of(outcomes)
    text = said(findings(found, markup))
    assert "A leads on the separable functions" in text
    assert "B leads on the moderate functions" in text
    assert "all methods are level on the ill-conditioned functions" in text
    # six problems, all won: p = 2 / 2^6 = 0.031
    assert [class_test(c) for c in found.classes] == ["p = 0.031", "p = 0.031", "–"]


def test_a_leader_of_every_class_is_said_once(made: Make) -> None:
    outcomes = runs(made, {"A": [100], "B": [200]}) + runs(made, {"A": [1], "B": [2]}, function=8)
    assert "A leads on every class of functions." in said(findings(of(outcomes), markup))


@pytest.mark.parametrize(
    ("times", "much"),
    [([200] * 4, "1 times|as many evaluations"), ([50] * 4, "0.25 times the evaluations")],
)
def test_the_margin_is_the_median_ratio(made: Make, times: list[int], much: str) -> None:
    outcomes = runs(made, {"A": times, "B": [200] * 4})
    outcomes += runs(made, {"A": [100], "B": [None]}, function=2)
    assert re.search(much, said(findings(of(outcomes), markup)))


def test_with_many_methods_the_first_and_the_last_are_named(made: Make) -> None:
    times: dict[str, list[int | None]] = {"A": [9, 9], "B": [9, 9], "C": [9, None], "D": [9, None],
                                          "E": [None, None]}  # fmt: skip
    assert said(findings(of(runs(made, times)), markup)).startswith(
        "Solved to f − f_opt ≤ 10⁻⁸: A 2 of 2 … E 0 of 2."
    )


def tuned(best: dict[str, Any] | None, budget: str = "10D", where: str = "f1 i16 20-D") -> Any:
    """A tuning of which the report needs no more than this."""
    setup = {"problems": [where], "budget": budget}
    return SimpleNamespace(best=best, entry=SimpleNamespace(tuning=SimpleNamespace(setup=setup)))


def test_what_a_tuning_found_is_compared_with_all_others(made: Make) -> None:
    times: dict[str, list[int | None]] = {"mine": [200] * 10, "B": [800] * 10, "C": [100] * 10}
    recipe = {"method": {"reward": "x"}, "de": {"NP": 9}}
    results = Results.from_outcomes(runs(made, times), {"mine": recipe})
    found, looks = chapter(results, 20), Looks(results.methods)
    text = said(payoff(found, [tuned(recipe)], looks))
    assert text.startswith("Did tuning pay? mine , which the tuning found, is better than B ; ")
    assert "worse than C (α = 0.05)." in text
    # After 10 × 20 = 200 evaluations `mine` and C have reached every target, and B, which comes
    # down in the last hundred of 800 evaluations, none.
    assert (
        "After 200 it has reached 100.0% of the (function, target) pairs, the most of all." in text
    )
    # What was tuned as long as it was tested is not looked at half-way, nor in another dimension.
    for view in (tuned(recipe, "50D"), tuned(recipe, where="f1 i16 5-D")):
        assert "It was tuned for" not in payoff(found, [view], looks)
    for view in (tuned(None), tuned(recipe | {"de": {"NP": 8}})):
        assert payoff(found, [view], looks) == ""


def test_a_lead_that_rests_on_alike_instances_is_said(made: Make) -> None:
    """A wins every problem of four functions and loses the two others by a hair; C is behind."""
    outcomes = [
        outcome
        for f in range(1, 7)
        for outcome in runs(
            made, {"A": [100 if f <= 4 else 401] * 5, "B": [400] * 5, "C": [900] * 5}, f
        )
    ]
    text = said(findings(of(outcomes), markup))
    assert "If each function counts once, it is significantly better than no other method." in text
