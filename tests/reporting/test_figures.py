"""Figures show the numbers of the analysis, and every name can be read."""

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from figure_cases import (
    ONE_FILE,
    check_texts,
    drawn_values,
    history,
    race,
    results,
    shown,
    texts,
    tuning,
)
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from outcome_results import results_of
from raising import raises
from scipy.optimize import isotonic_regression

from uaos.analysis import Results, combined, ecdf, section, sections
from uaos.errors import InvalidFile, InvalidParameter, Missing, NameClash, UnknownName
from uaos.experiments.unit import Outcome
from uaos.history import History
from uaos.reporting import figures
from uaos.reporting.canvas import spread
from uaos.reporting.figures import Figure, draw, save
from uaos.reporting.sources import Course
from uaos.reporting.style import FAINT, LINES, LINES_ON_DARK, OPERATOR_LINES, WIDTHS, Style
from uaos.runs.picture import PALETTE
from uaos.tuning.store import TuningStore
from uaos.tuning.summaries import Importance

STYLES = [Style("column", "serif"), Style("page", "sans")]
# The store of a tuning whose analysis is given.
UNREAD: Any = None
MANY = [f"method-{k}-of-many" for k in range(12)]


def drawn(name: str, results: Results, dimension: int = 20, **options: Any) -> Any:
    return draw(name, section(results, dimension), **options)


def ecdf_overall(results: Results, dimension: int = 20, methods: Any = None, **options: Any) -> Any:
    return drawn("ecdf-overall", results, dimension, methods=methods, **options)


def ecdf_groups(results: Results, dimension: int = 20, methods: Any = None, **options: Any) -> Any:
    return drawn("ecdf-groups", results, dimension, methods=methods, **options)


def ecdf_functions(results: Results, dimension: int = 20, **options: Any) -> Any:
    return drawn("ecdf-functions", results, dimension, **options)


def art_ratio(results: Results, dimension: int = 20, target: float = 1e-7, **options: Any) -> Any:
    return drawn("art-ratio", results, dimension, target=target, **options)


def ranks(results: Results, dimension: int = 20, methods: Any = None, **options: Any) -> Any:
    return drawn("ranks", results, dimension, methods=methods, **options)


def course(of: History, optimum: float | None = None) -> Course:
    return Course("mix", "f8 i1 20-D", "f8", 20, 1, False, of, optimum, "f8 Rosenbrock")


def operators(of: History, optimum: float | None = None, **options: Any) -> Any:
    return draw("operators", course(of, optimum), **options)


def tuning_frequencies(store: Any, number: int, **options: Any) -> Any:
    return draw("tuning-frequencies", (store, number), **options)


def tuning_survival(store: Any, number: int, **options: Any) -> Any:
    return draw("tuning-survival", (store, number), **options)


def tuning_importance(store: Any, number: int, **options: Any) -> Any:
    return draw("tuning-importance", (store, number), **options)


@pytest.fixture(scope="module")
def few() -> Results:
    return results("mix", "RecPM-tuned", "JADE")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TuningStore]:
    with TuningStore.open(tuning(tmp_path / "tuning.db")) as opened:
        yield opened


def ticks(axes: Any) -> list[Any]:
    """The numbers below the axes."""
    low, high = axes.get_xlim()
    return [t.label1 for t in axes.xaxis.get_major_ticks() if low <= t.get_loc() <= high]


def line(axes: Any, label: str) -> Any:
    return next(drawn for drawn in axes.lines if drawn.get_label() == label)


# Runtime profiles


@pytest.mark.parametrize("restarts", [False, True])
def test_a_curve_is_the_profile_of_its_method(three_methods: Results, restarts: bool) -> None:
    axes = ecdf_overall(three_methods, 20, restarts=restarts).axes[0]
    for method in ("good", "uniform", "bad"):
        curve = combined([ecdf(r, restarts=restarts) for r in three_methods.of(method)])
        drawn = line(axes, method)
        assert drawn.get_drawstyle() == "steps-post"
        np.testing.assert_allclose(drawn.get_ydata(), curve.at(drawn.get_xdata()), atol=1e-12)
        # where steps are few none is left out
        if not restarts:
            assert set(curve.times[curve.times < 50]) <= set(drawn.get_xdata())


def test_convergence_is_the_median_of_the_errors_reached(made: Callable[..., Outcome]) -> None:
    """Three runs go down a target an evaluation, from 1e4 on, and end at 1, 0.1 and 0.01.

    They reach 1 at the 21st evaluation, and the median one stays at 0.1 from the 26th on.
    """
    outcomes = [made("A", instance=i, error=10.0 ** (1 - i)) for i in (1, 2, 3)]
    drawn_at = line(drawn("convergence", results_of(outcomes), 20).axes[0], "A")
    x, y = drawn_at.get_xdata() * 20, drawn_at.get_ydata()
    assert y[0] == pytest.approx(1e4)
    assert y[x < 26].min() > 0.11
    np.testing.assert_allclose(y[x >= 26], 0.1)
    assert x[-1] == 1000  # the budget


def test_a_band_holds_the_middle_half_of_the_runs(made: Callable[..., Outcome]) -> None:
    """Five runs end at 1, 0.1, …, 1e-4: the quartiles are those of the second and the fourth."""
    outcomes = [made("A", instance=i, error=10.0 ** (1 - i)) for i in range(1, 6)]
    convergence = figures.figure("convergence").data(section(results_of(outcomes), 20))
    course = convergence.curves["f1"]["A"]
    assert convergence.banded
    assert (course.low[-1], course.median[-1], course.high[-1]) == pytest.approx((1e-3, 1e-2, 0.1))
    interactive = figures.figure("convergence").interactive(convergence)["panels"]["f1"]["lines"][0]
    assert (interactive["low"][-1], interactive["high"][-1]) == (-3.0, -1.0)
    few = section(results_of(outcomes[:2]), 20)
    assert not figures.figure("convergence").data(few).banded  # two runs have no quartiles


def test_figures_are_about_the_method_in_focus(made: Any) -> None:
    """Its line is wider, and a single bar joins it with those that do not differ from it."""
    outcomes = []
    for i in range(1, 11):
        outcomes += [made("A", 1, i, solved_at=200 + i % 2), made("B", 1, i, solved_at=201 - i % 2),
                     made("C", 1, i, solved_at=800)]  # fmt: skip
    (about,) = sections(results_of(outcomes), focus="C")
    axes = draw("ecdf-overall", about).axes[0]
    assert line(axes, "C").get_linewidth() > line(axes, "A").get_linewidth()
    assert not [d for d in draw("ranks", about).axes[0].lines if d.get_label() == "_bar"]
    (about,) = sections(results_of(outcomes), focus="B")
    assert len([d for d in draw("ranks", about).axes[0].lines if d.get_label() == "_bar"]) == 1


def test_the_label_below_stands_under_the_panels(made: Callable[..., Outcome]) -> None:
    """Also where a single panel leaves the rest of the width to the legend."""
    figure = drawn("convergence", results_of([made("A")]), 20)
    box = figure.axes[0].get_position()
    (label,) = [t for t in figure.texts if t.get_text().startswith("evaluations / dimension")]
    assert label.get_position()[0] == pytest.approx((box.x0 + box.x1) / 2)


def test_a_function_without_a_target_reached_has_an_empty_panel(
    made: Callable[..., Outcome],
) -> None:
    """Errors that were never below the largest target are not drawn."""
    figure = drawn("convergence", results_of([made("A", error=1e12)]), 20)
    assert np.isnan(line(figure.axes[0], "A").get_ydata()).all()


def test_curves_of_many_steps_are_thinned_but_stay_exact() -> None:
    axes = ecdf_overall(results("A", "B"), 20).axes[0]
    curves = [ecdf(r, restarts=True) for r in results("A").of("A")]
    drawn = line(axes, "A")
    assert sum(len(c.times) for c in curves) > 600
    assert len(drawn.get_xdata()) < 1000
    expected = np.mean([c.at(drawn.get_xdata()) for c in curves], axis=0)
    np.testing.assert_allclose(drawn.get_ydata(), expected)


def test_the_cross_stands_where_the_budget_ends(three_methods: Results) -> None:
    axes = ecdf_overall(three_methods, 20).axes[0]
    crosses = [d for d in axes.lines if d.get_marker() == "x"]
    # 1000 evaluations in 20 dimensions; restarts are shown ten times as far
    assert [float(d.get_xdata()[0]) for d in crosses] == [50, 50, 50]
    assert axes.get_xlim() == (1, 500)
    assert float(crosses[0].get_ydata()[0]) == 1.0  # good solves everything
    assert ecdf_overall(three_methods, 20, restarts=False).axes[0].get_xlim() == (1, 50)


def test_without_restarts_a_shorter_run_is_led_to_its_name_by_dots(made: Any) -> None:
    outcomes = [made("A", budget=1000), made("B", budget=400)]
    axes = ecdf_overall(results_of(outcomes), 20, restarts=False).axes[0]
    beyond = line(axes, "_beyond")
    assert list(beyond.get_xdata()) == [20, 50]  # from 400 / 20 to 1000 / 20
    assert line(axes, "B").get_xdata()[-1] == 20


def test_the_reference_is_best2009(three_methods: Results) -> None:
    drawn = line(ecdf_overall(three_methods, 20).axes[0], "best 2009")
    known = section(three_methods).reference_profile(("f1", "f8"))
    np.testing.assert_allclose(drawn.get_ydata(), known.at(drawn.get_xdata()))
    # to the last target it takes 43 evaluations on f1 and 4,540 on f8, where the first takes more
    assert known.at([43 / 20, 4540 / 20, 4539 / 20]) == pytest.approx([0.5, 1, 1 - 1 / 102])


def test_a_suite_without_reference_has_none(three_methods: Results) -> None:
    own = Results(three_methods.runs, suite="mine", relative=("f1 i1 20-D",))
    for name in ("ecdf-overall", "ecdf-groups", "ecdf-functions", "convergence", "art-ratio",
                 "ranks"):  # fmt: skip
        figure = drawn(name, own)
        assert "best 2009" not in " ".join(shown(figure))
        # and every figure says that targets are relative
        assert "relative targets" in " ".join(shown(figure))
    assert drawn("art-ratio", own).axes[0].get_ylabel() == "aRT / dimension"
    # 200.5 evaluations in 20-D
    assert line(drawn("art-ratio", own).axes[0], "good f1").get_ydata()[0] == pytest.approx(10.025)


def test_only_functions_that_all_methods_have_are_averaged(made: Any) -> None:
    outcomes = [made("A", 1), made("A", 2), made("B", 2, solved_at=100)]
    figure = ecdf_overall(results_of(outcomes), 20)
    assert any(text.startswith("f2, 20-D") for text in shown(figure))


def test_the_classes_and_functions_have_a_panel_each(few: Results) -> None:
    classes = ecdf_groups(few, 20, restarts=False)
    titles = [axes.get_title(loc="left") for axes in classes.axes if axes.axison]
    assert titles[0] == "separable, f1–f5"
    assert len(titles) == 5
    one = ecdf_groups(few.select(functions=["f1", "f2"]), 20, restarts=False)
    assert one.axes[0].get_title(loc="left") == "all functions (f1–f2)"
    functions = ecdf_functions(few, 20, restarts=False)
    titles = [axes.get_title(loc="left") for axes in functions.axes if axes.axison]
    assert titles[7] == "f8 Rosenbrock"
    assert len(titles) == 24
    assert {axes.get_xlim() for axes in functions.axes} == {(1, 500)}  # 10,000 / 20
    curve = ecdf(few.runs["mix", "f8", 20])
    drawn = line(functions.axes[7], "mix")
    np.testing.assert_allclose(drawn.get_ydata(), curve.at(drawn.get_xdata()))


def test_a_figure_shows_exactly_the_methods_asked_for(few: Results) -> None:
    figure = ecdf_overall(few, 20, ["JADE"], restarts=False)
    assert {"JADE", "best 2009"} <= set(shown(figure))
    assert not {"mix", "RecPM-tuned"} & set(shown(figure))


# Ratios


def test_a_point_is_the_ratio_of_running_times(three_methods: Results) -> None:
    axes = art_ratio(three_methods, 20).axes[0]
    # 1e-7 comes five evaluations before 1e-8, at 196 … 205; best2009 takes 43 on f1
    assert line(axes, "good f1").get_ydata()[0] == pytest.approx(200.5 / 43)
    # of uniform's runs, 1, 3 … 9 hit it at 396 … 404, the others spend 1000 each
    half = line(axes, "uniform f1")
    assert half.get_ydata()[0] == pytest.approx((5 * 400 + 5 * 1000) / 5 / 43)
    assert half.get_markerfacecolor() == "white"
    assert line(axes, "good f1").get_markerfacecolor() == line(axes, "good f1").get_color()
    # those that never do stand above the powers of ten
    assert line(axes, "bad f1").get_ydata()[0] > max(axes.get_yticks())
    assert "∞" in shown(axes.figure)


def test_where_best2009_failed_a_success_stands_at_the_bottom(made: Any) -> None:
    outcomes = [made("A", 20, dimension=40, solved_at=500), made("B", 20, dimension=40)]
    axes = art_ratio(results_of(outcomes), 40).axes[0]
    assert line(axes, "A f20").get_ydata()[0] == axes.get_ylim()[0]
    assert line(axes, "B f20").get_ydata()[0] > max(axes.get_yticks())


def test_other_targets_have_their_own_reference(three_methods: Results) -> None:
    axes = art_ratio(three_methods, 20, 1e-8).axes[0]
    # 1e-8 is hit at 201 … 210; best2009's last target takes 43 evaluations, too
    assert line(axes, "good f1").get_ydata()[0] == pytest.approx(205.5 / 43)
    with raises(InvalidParameter, name="target", value=1000.0):
        art_ratio(three_methods, 20, 1e3)
    # 10^-1.6 is nearer to 0.03 than 10^-1.4, in powers of ten
    with raises(InvalidParameter, name="target", value=0.03):
        art_ratio(three_methods, 20, 0.03)


# Ranks


def test_ranks_are_friedmans(three_methods: Results) -> None:
    figure = ranks(three_methods, 20)
    texts = shown(figure)
    # good is first on all 20 problems, bad last
    assert {"good  1.00", "uniform  2.00", "3.00  bad"} <= set(texts)
    assert "mean ranks, 20 problems, 20-D" in texts
    assert "bars: no significant difference (α = 0.05)" in texts
    # all three differ: twenty problems won by the one or the other
    assert not [d for d in figure.axes[0].lines if d.get_label() == "_bar"]
    assert [float(line(figure.axes[0], m).get_xdata()[0]) for m in ("good", "bad")] == [1, 3]


def test_bars_join_methods_that_do_not_differ(made: Any) -> None:
    """A and B take turns on ten problems; C is worse than both on all: p = 2 / 2^10, times 3."""
    outcomes = []
    for i in range(1, 11):
        outcomes += [made("A", 1, i, solved_at=200 + i % 2), made("B", 1, i, solved_at=201 - i % 2),
                     made("C", 1, i, solved_at=800)]  # fmt: skip
    axes = ranks(results_of(outcomes)).axes[0]
    (bar,) = (d for d in axes.lines if d.get_label() == "_bar")
    (members,) = (d for d in axes.lines if d.get_label() == "_members")
    assert list(members.get_xdata()) == [1.5, 1.5]
    assert bar.get_xdata()[0] < 1.5 < bar.get_xdata()[1] < 3


def test_ranks_need_two_methods_and_a_common_problem(made: Any) -> None:
    apart = results_of([made("A", 1), made("B", 2)])
    with pytest.raises(Missing):
        ranks(apart, 20)
    with pytest.raises(Missing):
        ranks(apart, 20, ["A"])
    with pytest.raises(Missing):
        ecdf_overall(apart, 20)


# A run


def test_operators_are_drawn_over_evaluations() -> None:
    of = history(3)
    upper, middle, lower = operators(of, 100.0).axes
    assert upper.get_title(loc="left") == "mix on f8 Rosenbrock i1 20-D"
    assert [band.get_label() for band in upper.collections] == list(of.operators)
    # 50 offspring: 18 by the first operator, 16 by each of the others
    tops = [band.get_paths()[0].vertices[:, 1].max() for band in upper.collections]
    np.testing.assert_allclose(tops, [0.36, 0.68, 1.0])
    for k, drawn in enumerate(middle.lines):
        np.testing.assert_allclose(drawn.get_ydata(), (k + 1) / 6)
        assert drawn.get_color() == OPERATOR_LINES[k]
    np.testing.assert_allclose(lower.lines[0].get_xdata(), 50 * np.arange(1, 41))
    np.testing.assert_allclose(lower.lines[0].get_ydata(), of.best - 100)
    assert (lower.get_ylabel(), lower.get_xlabel()) == ("best error", "evaluations")
    assert lower.get_xlim() == (0, 2000)
    assert operators(of).axes[2].get_ylabel() == "best value"


def test_an_empty_history_cannot_be_drawn() -> None:
    with pytest.raises(Missing):
        operators(History(["a"]))


# Tunings


def test_the_values_of_a_tuning_are_drawn_by_race(store: TuningStore) -> None:
    figure = tuning_frequencies(store, 1)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    assert list(panels) == ["reward", "W", "F"]
    # sixteen candidates take the three rewards by turns, beginning with the second; so do 17 … 20
    heights = [[bar.get_height() for bar in bars] for bars in panels["reward"].containers]
    np.testing.assert_allclose(heights, [[5 / 16, 1 / 4], [6 / 16, 1 / 4], [5 / 16, 2 / 4]])
    bold = [t.get_text() for t in panels["reward"].texts if t.get_fontweight() == "bold"]
    assert bold == ["area_under_curve"]  # the winner is candidate 1
    assert panels["W"].get_yscale() == "log"
    medians = [d.get_ydata()[0] for d in panels["F"].lines if len(d.get_xdata()) == 2][:2]
    np.testing.assert_allclose(medians, [8.5 / 20, 18.5 / 20])
    with raises(UnknownName, name=2):
        tuning_frequencies(store, 2)


def test_survival_falls_from_race_to_race(store: TuningStore) -> None:
    axes = tuning_survival(store, 1).axes[0]
    first, second = (d for d in axes.lines if d.get_drawstyle() == "steps-post")
    # sixteen on each of two problems, and one width more for the three that are left
    assert list(first.get_ydata()) == [16, 16, 3, 3]
    assert list(first.get_xdata()) == [0, 1, 2, 3]
    assert list(second.get_ydata()) == [5, 5, 5]  # the elite and four new ones
    assert list(second.get_xdata()) == [3, 4, 5]
    assert axes.get_xlim() == (0, 5)
    assert list(axes.get_xticks()) == [1.5, 4]
    assert axes.get_title(loc="left") == "2 races, 3 steps"


def test_a_drop_after_the_last_problem_of_a_race_has_a_width(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    races = [race(1, 47, 47, 10, 5), race(2, 46, 10)]
    monkeypatch.setattr("uaos.tuning.summaries.survival", lambda *_: list(races))
    axes = tuning_survival(UNREAD, 1).axes[0]
    first, second = (d for d in axes.lines if d.get_drawstyle() == "steps-post")
    # five of 47 are left from 3 to 4, where the second race begins
    assert list(first.get_xdata()) == [0, 1, 2, 3, 4]
    assert list(first.get_ydata()) == [47, 47, 10, 5, 5]
    assert second.get_xdata()[0] == 4
    # no more is filled than stands below the line
    ends = [band.get_paths()[0].vertices[:, 0].max() for band in axes.collections]
    assert ends == [4, 6]


def test_numbers_of_races_too_narrow_for_them_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 1 + 1 steps wide, 1 + 1, and 97 + 1 of 102 in 2.95 inches: the first two are 0.06 apart
    races = [race(1, 9, 9), race(2, 9, 9), race(3, *[9] * 98)]
    monkeypatch.setattr("uaos.tuning.summaries.survival", lambda *_: list(races))
    axes = tuning_survival(UNREAD, 1).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "", "3"]


def test_importance_is_a_bar_for_each_parameter(store: TuningStore) -> None:
    axes = tuning_importance(store, 1).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[0] == "F"  # costs grow with it
    assert set(names) == {"F", "W", "reward"}
    assert axes.patches[0].get_facecolor()[:3] != axes.patches[2].get_facecolor()[:3]  # noise
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 0.5
    assert len(tuning_importance(store, 1, most=1).axes[0].patches) == 1


def test_numbers_stand_in_a_column_and_the_noise_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        Importance("sure", 0.5, 0.1, 9),
        Importance("apart", 0.2, 0.4, 9),
        Importance("near", 0.0, 0.03, 9),
    ]
    monkeypatch.setattr("uaos.tuning.summaries.importance", lambda *_: found)
    figure = tuning_importance(UNREAD, 1)
    axes = figure.axes[0]
    assert [number.get_text() for number in axes.texts] == ["50%", "20%", "0%"]
    ends = {round(number.get_window_extent().x1) for number in axes.texts}
    assert len(ends) == 1
    assert min(number.get_window_extent().x0 for number in axes.texts) > axes.bbox.x1
    (strokes,) = axes.lines
    np.testing.assert_allclose(strokes.get_xdata(), [0.1, 0.4, 0.03])
    assert "| marks the noise; gray bars lie within it" in shown(figure)
    colors = [to_hex(bar.get_facecolor()) for bar in axes.patches]
    assert colors == [LINES[0].lower(), FAINT, FAINT]


def test_squares_before_names_are_hatched_as_bars_are(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "uaos.tuning.summaries.frequencies"
    monkeypatch.setattr(name, lambda *_: drawn_values())
    panels = {a.get_title(loc="left"): a for a in tuning_frequencies(UNREAD, 1).axes}
    axes = panels["reward"]
    bars = [container[0] for container in axes.containers]
    of_bars = {id(bar) for container in axes.containers for bar in container}
    squares = [p for p in axes.patches if id(p) not in of_bars]
    # twelve values, ten colors: the last two have the first two's, hatched
    assert [bar.get_hatch() for bar in bars] == [""] * 10 + ["////"] * 2
    assert [
        (to_hex(s.get_facecolor()), s.get_hatch(), to_hex(s.get_edgecolor())) for s in squares
    ] == [(color.lower(), "////", "#ffffff") for color in PALETTE[:2]]
    plain = [d for d in axes.lines if d.get_marker() == "s"]
    assert [d.get_color() for d in plain] == list(PALETTE)
    # all as large, four points, and one below the other
    assert {d.get_markersize() for d in plain} == {4}
    boxes = [s.get_window_extent() for s in squares]
    np.testing.assert_allclose([(b.width, b.height) for b in boxes], 4 / 72 * 100)
    at = [axes.transAxes.transform((d.get_xdata()[0], d.get_ydata()[0])) for d in plain]
    np.testing.assert_allclose([(b.x0 + b.x1) / 2 for b in boxes], at[0][0])
    # the other choices have no more values than there are colors
    assert not [p for p in panels["metric"].patches if p.get_hatch()]


@pytest.mark.parametrize(
    ("style", "across", "highest"),
    [
        (Style(3.0, "serif"), 3, 7.7),
        (Style("column", "serif"), 4, 7),
        (Style("column", "sans"), 4, 7),
        (Style("page", "sans"), 4, 6),
    ],
    ids=str,
)
def test_drawn_values_fit_a_page_of_a_paper(
    style: Style, across: int, highest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "uaos.tuning.summaries.frequencies"
    monkeypatch.setattr(name, lambda *_: drawn_values())
    figure = tuning_frequencies(UNREAD, 1, style=style)
    assert figure.get_size_inches()[1] <= highest
    check_texts(figure)
    bottoms = [round(axes.get_position().y0, 6) for axes in figure.axes[6:]]
    assert bottoms.count(bottoms[0]) == across
    # six points are read without a glass, five and a half where twelve names stand in a panel
    assert min(text.get_fontsize() for text in texts(figure)) >= 5.5
    # the word stands just below the numbers at the ticks
    word = next(text for text in figure.texts if text.get_text() == "race")
    numbers = [text.get_window_extent() for text in ticks(figure.axes[-1])]
    assert 0 <= numbers[0].y0 - word.get_window_extent().y1 <= 0.06 * figure.dpi
    # which are two at least, and so far apart that none reads like one with the next
    gaps = [after.x0 - before.x1 for before, after in itertools.pairwise(numbers)]
    assert min(gaps) > 0.02 * figure.dpi
    assert "iteration" not in shown(figure)


# What all figures share


def kinds(of: Results) -> list[Any]:
    return [
        lambda style: ecdf_overall(of, 20, restarts=False, style=style),
        lambda style: ecdf_groups(of, 20, restarts=False, style=style),
        lambda style: ecdf_functions(of, 20, restarts=False, style=style),
        lambda style: art_ratio(of, 20, style=style),
        lambda style: ranks(of, 20, style=style),
    ]


@pytest.mark.parametrize("style", STYLES, ids=str)
@pytest.mark.parametrize("kind", range(5))
def test_no_text_covers_another_or_is_cut_off(few: Results, kind: int, style: Style) -> None:
    figure = kinds(few)[kind](style)
    assert figure.get_size_inches()[0] == WIDTHS[style.width]
    check_texts(figure)


@pytest.mark.parametrize("width", [3.0, "page"])
@pytest.mark.parametrize("kind", range(5))
def test_nor_with_many_methods_of_long_names(kind: int, width: Any) -> None:
    check_texts(kinds(results(*MANY, functions=(1, 8, 15)))[kind](Style(width)))


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_nor_in_figures_of_runs_and_tunings(style: Style, store: TuningStore) -> None:
    check_texts(operators(history(3), 100.0, style=style))
    check_texts(operators(history(12), style=style))
    check_texts(tuning_frequencies(store, 1, style=style))
    check_texts(tuning_survival(store, 1, style=style))
    check_texts(tuning_importance(store, 1, style=style))


def test_a_method_has_the_same_color_everywhere(few: Results) -> None:
    style = Style()
    for make in (ecdf_overall, ecdf_groups):
        for methods in (None, ["JADE", "mix"]):
            axes = make(few, 20, methods, restarts=False).axes[0]
            assert line(axes, "mix").get_color() == LINES[0]
            assert line(axes, "JADE").get_color() == LINES[2]
    assert line(art_ratio(few, 20, methods=["JADE"]).axes[0], "JADE f1").get_color() == LINES[2]
    assert line(ranks(few, 20, ["JADE", "mix"]).axes[0], "JADE").get_color() == LINES[2]
    assert style.line_styles(["mix", "JADE"])["mix"].color == LINES[0]
    agreed = Style(order=("JADE", "absent")).line_styles(["mix", "JADE"])
    assert [agreed[m].color for m in ("JADE", "absent", "mix")] == list(LINES[:3])


def test_line_styles_are_distinct_without_color() -> None:
    styles = list(Style().line_styles([str(k) for k in range(70)]).values())
    assert len({(style.color, style.marker) for style in styles}) == 70
    assert {style.color for style in styles} == set(LINES)
    assert len({style.marker for style in styles[:7]}) == 7
    # a study has twelve methods, each with a color of its own
    assert len({style.color for style in styles[:12]}) == 12
    assert {style.dash for style in styles[:12]} == {"-"}


def test_methods_and_operators_have_different_colors() -> None:
    seen = {lightness_and_hue(c, np.eye(3)).tobytes(): c for c in (*LINES, *PALETTE)}
    assert len(seen) == len(LINES) + len(PALETTE)
    nearest = min(
        np.linalg.norm(lightness_and_hue(a, np.eye(3)) - lightness_and_hue(b, np.eye(3)))
        for a in LINES for b in PALETTE
    )  # fmt: skip
    assert nearest > 10


def linear(color: str) -> np.ndarray:
    srgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def luminance(color: str) -> float:
    return float(linear(color) @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize(
    ("background", "color"),
    [("#ffffff", color) for color in OPERATOR_LINES]
    + [("#14171a", color) for color in (*PALETTE, *LINES_ON_DARK)],
)
def test_lines_can_be_seen(background: str, color: str) -> None:
    """The contrast that WCAG 2 asks of graphics is 3 (1.4.11); white on black has 21."""
    low, high = sorted(map(luminance, (background, color)))
    assert (high + 0.05) / (low + 0.05) >= 2.95


# What is left of red, green and blue (linear) for eyes without the cones of the one or the other:
# Machado, Oliveira & Fernandes (2009), severity 1.
EYES = {
    "all cones": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                 [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip


def lightness_and_hue(color: str, eyes: Any) -> np.ndarray:
    """The color in CIELAB, where a distance of 2 is just noticed side by side."""
    seen = np.clip(eyes @ linear(color), 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(xyz @ seen / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", EYES)
def test_the_colors_of_methods_are_distinct(eyes: str) -> None:
    seen = [lightness_and_hue(color, np.array(EYES[eyes])) for color in LINES]
    apart = min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))
    assert apart > 12  # the nearest two are vermilion and olive for eyes without green: 13.5


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"width": "wide"}, "width"),
        ({"width": 1}, "width"),
        ({"width": float("nan")}, "width"),
        ({"font": "Arial"}, "Arial"),
    ],
)
def test_a_style_is_checked(changes: dict[str, Any], name: str) -> None:
    with raises((InvalidParameter, UnknownName), name=name):
        Style(**changes)


def test_widths_are_those_of_a_paper(few: Results) -> None:
    for width, inches in (("column", 3.5), ("page", 7.2), ("5", 5), (4.25, 4.25)):
        assert ranks(few, 20, style=Style(width)).get_size_inches()[0] == inches


def test_what_is_not_in_the_results_cannot_be_drawn(few: Results) -> None:
    with raises(UnknownName, name="JDE", near="JADE"):
        ecdf_overall(few, 20, ["JDE"])
    with raises(InvalidParameter, name="dimension", value=5):
        ranks(few, 5)
    with pytest.raises(Missing):
        art_ratio(few, 20, methods=[])
    with pytest.raises(Missing):
        ecdf_overall(Results({}), 20)


@given(
    wanted=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    share=st.floats(0.01, 1),
)
def test_names_are_moved_apart_in_their_order(wanted: list[float], share: float) -> None:
    gap = share / len(wanted)
    places = spread(np.array(wanted), gap)
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(places[order]) >= gap - 1e-9).all()
    assert places.min() >= -1e-9
    assert places.max() <= 1 + 1e-9
    if len(wanted) > 1 and (np.diff(np.sort(wanted)) >= gap).all() and max(wanted) <= 1:
        np.testing.assert_allclose(places, wanted, atol=1e-9)  # nobody has to move
    steps = gap * np.arange(len(wanted))
    nearest = isotonic_regression(np.sort(wanted) - steps).x
    np.testing.assert_allclose(places[order], np.clip(nearest, 0, 1 - steps[-1]) + steps, atol=1e-9)


# The registry


def test_every_module_of_the_package_has_figures() -> None:
    folder = Path(figures.__file__).parent
    drawn_in = {one.draw.__module__.rpartition(".")[2] for one in figures.figures().values()}
    assert drawn_in == {p.stem for p in folder.glob("[a-z]*.py")}
    assert len(figures.figures()) == 11


def test_the_literature_figure_counts_the_components_of_27_methods() -> None:
    counts = figures.figure("literature").data()
    assert [len(one) for one in counts.values()] == [7, 12, 5, 3, 5]
    assert {sum(one.values()) for one in counts.values()} == {27}
    assert counts["reward"]["success_rate"] == 6  # PDP, ADOPP, ADOPP-ext, SaDE, MMRDE, MAENSm
    assert counts["selection"]["greedy"] == 3  # F-AUC-MAB, F-SR-MAB, Ex-MAB
    drawing = figures.draw("literature", None)
    assert sum(bar.get_width() for bar in drawing.axes[0].patches) == 5 * 27


@pytest.fixture
def run_counts(tmp_path: Path) -> Path:
    path = tmp_path / "run_counts.py"
    path.write_text(ONE_FILE)
    return path


def test_a_figure_is_added_in_one_file(few: Results, run_counts: Path) -> None:
    exec(compile(run_counts.read_text(), run_counts, "exec"), {})
    assert "run-counts" in figures.figures()
    heights = [bar.get_height() for bar in drawn("run-counts", few).axes[0].patches]
    assert heights == [48, 48, 48]  # two instances of 24 functions
    with pytest.raises(NameClash):
        figures.register_figure(Figure("run-counts", "", figures.SECTION, len, len))


def test_unknown_figures_have_near_misses() -> None:
    with raises(UnknownName, name="ecdf-overal", near="ecdf-overall"):
        draw("ecdf-overal", None)
    assert figures.figure("ecdf_overall").name == "ecdf-overall"


# Files


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".PDF"])
def test_equal_figures_are_equal_files(few: Results, suffix: str, tmp_path: Path) -> None:
    one = save(ranks(few, 20), tmp_path / f"one{suffix}").read_bytes()
    assert save(ranks(few, 20), tmp_path / f"two{suffix}").read_bytes() == one
    assert not re.search(rb"20\d\d-\d\d-\d\d|D:20\d\d|[Mm]atplotlib v", one)
    assert b"made with uaos" in one
    starts = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    assert one.startswith(starts[suffix.lower()])


def test_files_are_as_journals_ask_for(few: Results, tmp_path: Path) -> None:
    figure = ranks(few, 20, style=Style("column", "serif"))
    png = save(figure, tmp_path / "x.png").read_bytes()
    assert int.from_bytes(png[16:20], "big") == 1050  # 3.5 inches of 300 dots
    svg = save(figure, str(tmp_path / "x.svg")).read_text()
    assert "RecPM-tuned" in svg  # text that can be searched and edited
    assert "STIXGeneral" in svg
    pdf = save(figure, tmp_path / "x.pdf").read_bytes()
    assert b"/CIDFontType2" in pdf  # TrueType, embedded
    assert b"/Type3" not in pdf
    assert b"STIXGeneral" in pdf


@pytest.mark.parametrize("name", ["x.gif", "x", ".png"])
def test_other_formats_are_refused(few: Results, name: str, tmp_path: Path) -> None:
    with raises(InvalidParameter, name="output"):
        save(ranks(few, 20), tmp_path / name)


def test_a_file_appears_whole_or_not_at_all(
    few: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = ranks(few, 20)
    with raises(InvalidParameter, name="output"):
        save(figure, tmp_path / "no" / "x.png")
    old = tmp_path / "x.svg"
    old.write_text("old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", refuse)
        with pytest.raises(InvalidFile):
            save(figure, old)
    assert old.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.svg"]
