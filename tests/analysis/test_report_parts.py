"""The parts of a report: numbers, colours, curves, stars, and the runs worth showing."""

import csv
import io
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_cases import words

from uaos.analysis import Ecdf, Results
from uaos.errors import InvalidParameter
from uaos.experiments.store import Outcome
from uaos.optimizers.history import History
from uaos.optimizers.picture import PALETTE
from uaos.problems.bbob import parse_numbers
from uaos.reporting.report import html
from uaos.reporting.report.chapter import chapter
from uaos.reporting.report.courses import Chosen, change, parsed
from uaos.reporting.report.grid import Cell, Row, csv_text, grid
from uaos.reporting.report.looks import DARK, Looks, _channels, contrast, on_dark
from uaos.reporting.report.profiles import DECADE, curve_data
from uaos.reporting.report.reproduce import spans
from uaos.reporting.report.running import running_section
from uaos.reporting.report.stars import best, possible, stars

# Words and numbers


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (html.whole(1560), "1560"),
        (html.whole(2_000_000), "2\u202f000\u202f000"),
        (html.count(1, "run"), "1 run"),
        (html.count(2, "run"), "2 runs"),
        (html.power(3.4e-23), "3.4 × 10⁻²³"),
        (html.power(0.0032), "0.0032"),
        (html.power(math.nan), "–"),
        (html.probability(0.0504), "0.0504"),
        (html.probability(0.0604), "0.06"),
        (html.prose("p = 1e-05 of 1,560"), "p = 10⁻⁵ of 1\u202f560"),
        (html.prose("curr-to-best/1e3x"), "curr-to-best/1e3x"),
        (html.listed(["A"]), "A"),
        (html.listed(["A", "B", "C"]), "A, B and C"),
        (html.listed(["A", "B"], "or"), "A or B"),
        (html.duration(0.2), "less than a second"),
        (html.duration(61), "61\u202fs"),
        (html.duration(600), "10\u202fmin"),
        (html.duration(10260), "2\u202fh 51\u202fmin"),
        (html.large(12_345), "12\u202f345"),
        (html.large(1.94e6), "1.94 million"),
        (html.large(1.6e9), "1.6 × 10⁹"),
    ],
)
def test_numbers_are_set_as_in_print(written: str, expected: str) -> None:
    assert written == expected


def test_texts_are_escaped_and_markup_is_not() -> None:
    made = html.tag("p", "<b>", html.tag("b", "&"), title='"', hidden=True, data_a=None)
    assert made == '<p title="&quot;" hidden>&lt;b&gt;<b>&amp;</b></p>'


@given(st.sets(st.integers(1, 40), min_size=1))
def test_numbers_are_written_as_the_command_line_reads_them(found: set[int]) -> None:
    assert parse_numbers("instances", spans(found), 1, 40) == sorted(found)


# Looks


@pytest.mark.parametrize("color", PALETTE)
def test_colours_can_be_seen_on_black(color: str) -> None:
    assert contrast(_channels(on_dark(color)), _channels(DARK)) >= 2.95


def test_a_colour_that_can_be_seen_stays_as_it_is() -> None:
    assert on_dark("#E69F00").upper() == "#E69F00"
    assert contrast([255.0] * 3, [0.0] * 3) == pytest.approx(21)  # white on black


def test_a_method_has_one_colour_everywhere() -> None:
    looks = Looks(["mix", "<JADE>"])
    assert looks.called("<JADE>") == (
        '<span class="method" style="--c:var(--m1)">&lt;JADE&gt;</span>'
    )
    assert looks.called("unknown") == '<span class="method">unknown</span>'
    assert [one["symbol"] for one in looks.data()] == ["circle", "square"]
    style = looks.style()
    assert style.count("--m1:") == 3  # light, dark chosen, dark of the system


# Curves


def test_a_curve_is_noted_where_it_rises() -> None:
    # half of the pairs after 10 evaluations / D, all after 100; the grid has DECADE places a decade
    curve = Ecdf(np.array([10.0, 100.0]), np.array([0.5, 1.0]))
    assert curve_data(curve, 1000) == [[DECADE, 2 * DECADE], [5000, 10000]]
    assert curve_data(curve, 50) == [[DECADE], [5000]]
    assert curve_data(Ecdf(np.zeros(0), np.zeros(0)), 50) == [[], []]


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=400))
def test_a_noted_curve_is_short_and_never_falls(times: list[float]) -> None:
    found = np.unique(times)
    curve = Ecdf(found, np.arange(1, len(found) + 1) / len(found))
    places, shares = curve_data(curve, 1e6)
    assert len(places) <= 6 * DECADE + 1
    assert shares == sorted(shares)
    assert 0 < shares[0] <= shares[-1] <= 10_000
    for place, share in zip(places, shares, strict=True):
        assert share == round(10_000 * float(curve.at(10.0 ** (place / DECADE))))


def test_profiles_of_several_functions_take_those_that_all_methods_have(
    made: Callable[..., Outcome],
) -> None:
    def panels(*runs: tuple[str, int]) -> dict[str, tuple[str, ...]]:
        results = Results.from_outcomes([made(m, f, 1, solved_at=99) for m, f in runs])
        return {p.key: p.functions for p in chapter(results, 20).panels()}

    assert panels(("A", 1), ("A", 2), ("B", 1), ("B", 8)) == {
        "all": ("f1",), "separable": ("f1",), "f1": ("f1",), "f2": ("f2",), "f8": ("f8",),
    }  # fmt: skip
    assert panels(("A", 1), ("B", 8)) == {"f1": ("f1",), "f8": ("f8",)}


# Tables


def test_a_table_can_be_sorted_filtered_and_saved() -> None:
    made = grid("t", "Numbers", ("name", "value"), [
        Row((Cell("A"), Cell("∞", math.inf)), "x", {"method": "A"}),
        Row((Cell("B"), Cell("–", math.nan))),
    ], note="n")  # fmt: skip
    assert '<tr class="x" data-method="A"><th class="words" scope="row">A</th>' in made
    assert '<td data-sort="inf">∞</td>' in made
    assert '<td data-sort="">–</td>' in made
    assert made.count("data-column") == 2
    assert 'data-csv="t"' in made


def test_records_come_back_from_csv() -> None:
    text = csv_text([{"a": "x, y", "b": 1.5}, {"a": "z", "b": math.inf}])
    assert list(csv.DictReader(io.StringIO(text))) == [
        {"a": "x, y", "b": "1.5"}, {"a": "z", "b": "inf"},
    ]  # fmt: skip
    assert csv_text([]) == ""


# Running times


def two(made: Callable[..., Outcome], count: int) -> Results:
    """B takes twice as long as A, which is first to every target."""
    outcomes = []
    for i in range(1, count + 1):
        outcomes.append(made("A", 1, i, solved_at=200 + i))
        outcomes.append(made("B", 1, i, solved_at=400 + i))
    return Results.from_outcomes(outcomes)


def test_the_least_running_time_is_best_and_stars_say_how_sure(
    made: Callable[..., Outcome],
) -> None:
    found = chapter(two(made, 10), 20)
    assert best(found, "f1", 6) == {"A"}
    # ten against ten, fully apart: z = (50 - 1/2) / √(10 · 10 · 21 / 12) = 3.74, p = 1.8e-4
    assert stars(found, "f1", 6) == 3
    # three against three: p = 2 / C(6, 3) = 0.1
    assert stars(chapter(two(made, 3), 20), "f1", 6) == 0


def test_stars_are_corrected_for_the_number_of_functions(made: Callable[..., Outcome]) -> None:
    outcomes = [
        made(m, f, i, solved_at=at + i)
        for m, at in (("A", 200), ("B", 400)) for f in range(1, 11) for i in range(1, 6)
    ]  # fmt: skip
    # five against five: p = 2 / C(10, 5) = 0.0079, times ten functions
    assert stars(chapter(Results.from_outcomes(outcomes), 20), "f1", 6) == 0
    one = [o for o in outcomes if o.function == "f1"]
    assert stars(chapter(Results.from_outcomes(one), 20), "f1", 6) == 2


def test_a_run_that_missed_the_target_is_worse_than_any_that_did_not(
    made: Callable[..., Outcome],
) -> None:
    outcomes = [made("A", 1, i, solved_at=900) for i in range(1, 9)]
    outcomes += [made("B", 1, i, error=0.5) for i in range(1, 9)]
    found = chapter(Results.from_outcomes(outcomes), 20)
    assert best(found, "f1", 6) == {"A"}
    assert stars(found, "f1", 6) == 3  # eight against eight: p = 2 / C(16, 8) = 1.6e-4
    # nobody but A reached 1e-7; both reached 1e0 and then A is not alone
    assert best(found, "f1", 1) != set()


def test_no_method_is_best_where_none_came(made: Callable[..., Outcome]) -> None:
    outcomes = [made(m, 1, i, error=50.0) for m in "AB" for i in (1, 2)]
    found = chapter(Results.from_outcomes(outcomes), 20)
    assert best(found, "f1", 0) == set()
    assert stars(found, 1, 0) == 0
    assert "★" not in running_section(found, Looks(["A", "B"])).split("</table>")[0]


def test_the_published_values_stand_beside_ours(made: Callable[..., Outcome]) -> None:
    found = chapter(Results.from_outcomes([made("JADE", 1, 1, solved_at=5000)]), 20)
    text = words(running_section(found, Looks(["JADE"])))
    # published: aRT ratio 48 to 1e1 on f1, 13 of 13 runs
    assert "JaDE, published 48 94 144" in text
    assert "sphere best 2009" in text
    elsewhere = chapter(Results.from_outcomes([made("JADE", 1, 1, solved_at=500, dimension=5)]), 5)
    assert "published" not in words(running_section(elsewhere, Looks(["JADE"])))


# Operator use


def history(counts: list[list[int]]) -> History:
    made = History([f"o{k}" for k in range(len(counts[0]))])
    for g, row in enumerate(counts, 1):
        made.record(
            evaluations=g * sum(row), best=1.0, iteration=g, counts=row,
            probabilities=np.full(len(row), 1 / len(row)),
        )  # fmt: skip
    return made


def test_change_is_none_for_constant_use_and_all_for_a_switch() -> None:
    assert change(history([[500, 500]] * 12)) == 0.0
    # one operator in the first half, the other in the second: of 15 pairs of sixths 9 are wholly
    # apart; chance takes nearly nothing from a million offspring
    switched = history([[10**6, 0]] * 6 + [[0, 10**6]] * 6)
    assert change(switched) == pytest.approx(9 / 15, abs=1e-3)
    assert change(history([[3, 5]])) == 0.0


def test_change_is_more_than_what_chance_makes_of_few_offspring() -> None:
    rng = np.random.default_rng(1)
    drawn = [history(rng.multinomial(20, [0.5, 0.5], 12).tolist()) for _ in range(40)]
    # raw distances would be about √(4 · 0.25 / 40 / π) = 0.09
    assert np.mean([change(h) for h in drawn]) < 0.03


@pytest.mark.parametrize(
    "given",
    ["mix:8:3, a:b:1:2", ["mix:8:3", "a:b:1:2"], [("mix", 8, 3), Chosen("a:b", "f1", 2)]],
)
def test_chosen_runs_are_read(given: object) -> None:
    assert parsed(given) == [("mix", "f8", 3), ("a:b", "f1", 2)]
    assert parsed(None) is None


@pytest.mark.parametrize("given", ["", "mix", "mix:8", "mix:x:1", ["mix:8:3", 7], []])
def test_runs_that_are_none_are_refused(given: object) -> None:
    with pytest.raises(InvalidParameter, match="method:function:instance, such as mix:8:3"):
        parsed(given)


@pytest.mark.parametrize(
    ("runs", "functions", "expected"), [(4, 1, True), (4, 2, False), (7, 24, True)]
)
def test_a_star_needs_runs_enough(
    made: Callable[..., Outcome], runs: int, functions: int, expected: bool
) -> None:
    """Least p: 2 / C(8, 4) = 0.029 for four runs against four, 2 / C(14, 7) = 0.00058 for seven."""
    outcomes = [
        made(m, f, i, solved_at=100 + i)
        for m in ("A", "B") for f in range(1, functions + 1) for i in range(1, runs + 1)
    ]  # fmt: skip
    assert possible(chapter(Results.from_outcomes(outcomes), 20)) == expected
