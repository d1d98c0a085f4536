"""The map of methods, and the page that shows it."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import uaos
from uaos.errors import InvalidParameter
from uaos.scenarios import load_map, traces
from uaos.selection.maps import CITATION

DOCS = Path(__file__).parents[2] / "docs"


def test_the_map_has_every_combination_of_its_components() -> None:
    """8 · 18 · 5 · 5 · 7 methods, each replayed on eight recorded runs."""
    scores = load_map()
    assert scores.shape == (8, 18, 5, 5, 7)
    assert scores.replays.shape == scores.runs.shape == (25_200, 8)
    assert np.isfinite(scores.replays).all()
    assert np.isfinite(scores.estimates).all()


def test_numbers_name_methods() -> None:
    """A number gives a method, and the method its number, whatever its hyper-parameters."""
    scores = load_map()
    for number in (0, 4_711, len(scores) - 1):
        assert scores.number(scores.method(number)) == number
    assert scores.names(scores.number(uaos.method("SaDE", max_gen=3)))[1] == "success_rate"


def test_a_component_that_is_not_on_the_map_is_refused() -> None:
    """A component of the user's."""

    @uaos.register
    class Halves(uaos.Metric):
        def compute(self, parents, offspring, best_so_far):  # type: ignore[no-untyped-def]
            return np.maximum(parents - offspring, 0.0) / 2

    with pytest.raises(InvalidParameter, match="metric is halves, which is not on the map"):
        load_map().number(uaos.Method(metric="halves"))


def test_scores_are_those_of_a_replay() -> None:
    """The first and the last recorded run, replayed again."""
    scores = load_map()
    runs = [run for run in traces.load("nine", (1,)) if run.name in scores.replayed]
    assert tuple(run.name for run in runs) == scores.replayed
    number = 12_345
    again = traces.score(scores.method(number), [runs[0], runs[-1]])
    assert again == pytest.approx(scores.replays[number, [0, -1]], abs=1e-6)


def test_an_exchange_is_the_best_of_its_family() -> None:
    """For SaDE: the largest estimate of the methods that differ in the quality only."""
    scores = load_map()
    number = scores.number(uaos.method("SaDE"))
    others = [uaos.method("SaDE", quality=name) for name in scores.components["quality"]]
    estimates = {m.quality.name: scores.estimates[scores.number(m)] for m in others}
    assert scores.exchanges(number)["quality"] == ("weighted_sum", estimates["weighted_sum"])
    assert max(estimates.values()) == estimates["weighted_sum"]


def test_the_place_of_a_method_counts_those_that_are_better() -> None:
    scores = load_map()
    order = np.argsort(-scores.replays.mean(axis=1))
    best = dict(zip(scores.replayed, scores.replays[order[0]].tolist(), strict=True))
    assert scores.place({**best, "f1-i2": -9.0}) == 1
    assert scores.place(dict.fromkeys(scores.replayed, -1.0)) == len(scores) + 1


def test_runs_are_shares_of_two_problems_each() -> None:
    """Every method has two shares between 0 and 1."""
    runs = load_map().runs
    counts = np.isfinite(runs).sum(axis=1)
    assert set(counts) == {2}
    assert 0 <= np.nanmin(runs) <= np.nanmax(runs) <= 1


def test_the_page_shows_the_map() -> None:
    """Component names and both scores, in thousandths."""
    text = (DOCS / "assets" / "map-data.js").read_text("utf-8")
    page = json.loads(text.removeprefix("window.uaosMap = ").removesuffix(";\n"))
    scores = load_map()
    assert page["components"] == {f: list(names) for f, names in scores.components.items()}
    for name, values in (("replays", scores.replays.mean(axis=1)), ("runs", scores.estimates)):
        assert np.abs(np.array(page["scores"][name]) - 1000 * values).max() <= 0.5
    start = np.ravel_multi_index(page["published"][page["start"]], scores.shape)
    assert start == scores.number(uaos.method("SaDE"))
    assert len(page["published"]) == 27


def test_the_page_has_the_effects_of_the_components() -> None:
    """In thousandths, in the order of the components, beside half their intervals."""
    text = (DOCS / "assets" / "map-data.js").read_text("utf-8")
    page = json.loads(text.removeprefix("window.uaosMap = ").removesuffix(";\n"))
    names = [name for names in load_map().components.values() for name in names]
    with (DOCS / "results" / "data" / "map-component-effects.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for runs, effects in page["effects"].items():
        own = [row for row in rows if row["runs"] == runs]
        assert [row["component"] for row in own] == names
        expected = [[float(row["effect"]), float(row["interval"])] for row in own]
        assert np.array(effects) / 1000 == pytest.approx(np.array(expected), abs=6e-4)


def test_the_page_has_the_citation() -> None:
    """The BibTeX entry of the page is that of the package."""
    assert CITATION in (DOCS / "map.md").read_text("utf-8")
