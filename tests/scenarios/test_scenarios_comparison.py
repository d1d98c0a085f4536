"""Methods are given the same world, through their selectors, and are compared."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import uaos
from uaos.errors import InvalidParameter, UnknownName
from uaos.scenarios import (
    KINDS,
    RECIPES,
    Scenario,
    ScenarioResult,
    UniformScenario,
    compare_methods,
    find_method,
)
from uaos.scenarios.comparison import run_block

SMALL = UniformScenario(operators=3, every=5, steps=12)


def test_adaptive_pursuit_finds_the_best_operator_clearly_more_often_than_matching() -> None:
    """The result of Thierens (2005): five operators, a change every 50 applications."""
    outcome = compare_methods(["AP", "PM"], UniformScenario(5, 50, 200), repetitions=40, seed=1)
    share = {row.name: row.share for row in outcome.summaries()}
    pursuit, matching = share["AP"], share["PM"]
    # 0.49 and 0.26, in theory at most 0.6 and 0.27; the errors are below 0.01
    assert pursuit.error + matching.error < 0.02
    assert pursuit.mean - matching.mean > 0.15
    assert matching.mean > 0.22  # uniform choice: 0.2


def test_a_selector_sees_one_application_after_the_other() -> None:
    method, scenario = uaos.method("Ex-AP"), UniformScenario(3, 5, 12)
    world = scenario.draw(10, np.random.default_rng([7, 0, 0]))
    selector = method.selector(3, seed=np.random.default_rng([7, 1, 2]), budget=12)
    ranks = []
    for step in range(12):
        op = selector.select(1)
        ranks.append(world.ranks[2, step, op[0]])
        selector.update(op, [0.0], [-world.rewards[2, step, op[0]]])
    assert (
        compare_methods({"a": method}, scenario, seed=7, repetitions=3).ranks["a"][2].tolist()
        == ranks
    )


def test_a_reward_of_nothing_is_a_failure() -> None:
    class OnlyTheBest(Scenario):
        def rewards(self, ranks, rng):
            return np.where(ranks == 0, 1.0, 0.0)

    # SaDE counts successes: with failures told from successes, and without its noise, it keeps to
    # the only operator that has any.
    method = uaos.method("SaDE", noise=0.0)
    outcome = compare_methods({"SaDE": method}, OnlyTheBest(3, 1000, 40), repetitions=3)
    assert (outcome.ranks["SaDE"][:, 3:] == 0).all()


def test_all_methods_meet_the_same_world_whoever_else_is_there() -> None:
    together = compare_methods(["AP", "PM", "uniform"], SMALL, repetitions=3, seed=5)
    alone = compare_methods(["PM"], SMALL, repetitions=3, seed=5)
    assert (together.ranks["PM"] == alone.ranks["PM"]).all()
    assert tuple(together.ranks) == ("AP", "PM", "uniform", "oracle")
    assert tuple(alone.ranks) == ("PM", "uniform", "oracle")
    assert (alone.ranks["oracle"] == 0).all()
    assert set(alone.ranks["uniform"].ravel()) == {0, 1, 2}


def test_the_seed_decides_and_more_repetitions_go_on_where_fewer_ended() -> None:
    few, more = (compare_methods(["AP"], SMALL, repetitions=n, seed=3).ranks["AP"] for n in (4, 14))
    assert few.shape == (4, 12)
    assert (more[:4] == few).all()
    assert (more[:4] != more[10:]).any()
    assert (compare_methods(["AP"], SMALL, repetitions=4, seed=4).ranks["AP"] != few).any()


def test_processes_give_the_same_as_one() -> None:
    seen: list[int] = []
    one = compare_methods(["AP", "PM"], SMALL, repetitions=23, seed=2)
    two = compare_methods(
        ["AP", "PM"], SMALL, repetitions=23, seed=2, jobs=2, on_progress=seen.append
    )
    for name in ("AP", "PM"):
        assert (one.ranks[name] == two.ranks[name]).all()
    assert seen == [10, 20, 23]


@pytest.mark.parametrize("name", [n for n, c in uaos.methods().items() if c.method])
def test_every_method_of_the_catalogue_can_be_tested(name: str) -> None:
    ranks = run_block((uaos.method(name),), KINDS["outlier"](4, 3, 6), 1, 0)
    assert ranks.shape == (1, 10, 6)
    assert ((ranks >= 0) & (ranks < 4)).all()


@pytest.mark.parametrize("selection", uaos.components("selection"))
def test_a_selection_that_follows_the_budget_gets_one(selection: str) -> None:
    method = uaos.Method(selection=selection)
    assert compare_methods({"it": method}, SMALL, repetitions=1).methods == ("it",)


@pytest.mark.parametrize("k", [2, 5, 30])
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_serves_any_number_of_operators(recipe: str, k: int) -> None:
    name, method = find_method(recipe, k)
    assert name == recipe
    rule = method.for_operators(k).probability
    assert rule.p_min in (0, pytest.approx(0.5 / k))
    if recipe == "AP":
        assert rule.p_max + (k - 1) * rule.p_min == pytest.approx(1)


def test_the_recipes_have_the_bounds_of_the_paper_for_five_operators() -> None:
    rule = find_method("AP", 5)[1].probability
    assert (rule.p_min, rule.p_max, rule.mu) == (pytest.approx(0.1), pytest.approx(0.6), 0.8)


def test_a_component_of_ones_own_takes_part_by_name_and_by_file(tmp_path: Path) -> None:
    @uaos.register
    @dataclass(frozen=True)
    class Newest(uaos.GenerationReward):
        def compute(self, memory):
            return memory.sums[0]

    mine = uaos.method("Ex-AP", reward="newest")
    mine.to_toml(tmp_path / "mine.toml")
    by_file = compare_methods([str(tmp_path / "mine.toml")], SMALL, repetitions=2)
    by_object = compare_methods({"mine": mine}, SMALL, repetitions=2)
    assert by_file.methods == ("mine",)
    (tmp_path / "nameless.toml").write_text('[method]\nreward = "newest"\n')
    assert find_method(str(tmp_path / "nameless.toml"), 3)[0] == "nameless"
    assert (by_file.ranks["mine"] == by_object.ranks["mine"]).all()


@pytest.mark.parametrize(
    ("methods", "options", "name", "value"),
    [
        (["JADE"], {}, "method", "JADE"),
        (["AP", "AP"], {}, "methods", "AP"),
        ([], {}, "methods", []),
        ("AP", {}, "methods", "AP"),
        ([3], {}, "methods", 3),
        ({"x": 3}, {}, "methods", 3),
        ({"x": uaos.Method().replace(p_min=0.4)}, {}, "p_min", 0.4),
        (["AP"], {"repetitions": 0}, "repetitions", 0),
        (["AP"], {"seed": -1}, "seed", -1),
        (["AP"], {"jobs": 0}, "jobs", 0),
    ],
)
def test_what_cannot_be_compared_is_refused(methods, options, name, value) -> None:
    with pytest.raises(InvalidParameter) as error:
        compare_methods(methods, SMALL, **{"repetitions": 1} | options)
    assert (error.value.name, error.value.value) == (name, value)


@pytest.mark.parametrize(("name", "near"), [("SaED", "SaDE"), ("ap", "AP")])
def test_an_unknown_method_is_refused_with_similar_names(name: str, near: str) -> None:
    with pytest.raises(UnknownName) as error:
        compare_methods([name], SMALL, repetitions=1)
    assert near in error.value.near


def test_only_a_scenario_can_be_played() -> None:
    with pytest.raises(InvalidParameter) as error:
        compare_methods(["AP"], "uniform")
    assert (error.value.name, error.value.value) == ("scenario", "uniform")


@pytest.fixture(scope="module")
def outcome() -> ScenarioResult:
    return compare_methods(["AP", "PM"], UniformScenario(3, 8, 30), repetitions=4, seed=1)


def test_the_picture_shows_every_method_the_references_and_the_changes(
    outcome: ScenarioResult, tmp_path: Path
) -> None:
    figure = outcome.plot(tmp_path / "it.png")
    assert (tmp_path / "it.png").read_bytes().startswith(b"\x89PNG")
    upper, lower = figure.axes
    labels = [line.get_label() for line in upper.lines if not line.get_label().startswith("_")]
    assert labels == ["AP", "PM", "uniform choice", "always the best"]
    marks = [line.get_xdata()[0] for line in upper.lines if line.get_color() == "0.85"]
    assert marks == [8, 16, 24]
    pursuit = next(line for line in upper.lines if line.get_label() == "AP")
    # stretches of one application, as eight of them are fewer than ten points
    hits = (outcome.ranks["AP"] == 0).mean(axis=0)
    assert pursuit.get_ydata() == pytest.approx(hits)
    lost = (outcome.ranks["AP"]).sum(axis=1).mean()  # the means differ by 1 from rank to rank
    curve = next(line for line in lower.lines if line.get_label() == "AP")
    assert curve.get_ydata()[-1] == pytest.approx(lost)


def test_a_curve_never_reaches_over_a_change() -> None:
    made = UniformScenario(2, 25, 60)
    ranks = np.zeros((1, 60), np.int16)
    ranks[:, 25:50] = 1
    shown = ScenarioResult(made, {"it": ranks}, ("it",)).plot().axes[0]
    line = next(line for line in shown.lines if line.get_label() == "it")
    # stretches of three; the last of 25 has one application, and 60 ends with one of ten
    assert line.get_xdata()[:9].tolist() == [1.5, 4.5, 7.5, 10.5, 13.5, 16.5, 19.5, 22.5, 24.5]
    assert set(line.get_ydata()) == {0, 1}
