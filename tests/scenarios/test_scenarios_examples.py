"""The classic discrete problems of examples/discrete are what they say, and run."""

import importlib
from pathlib import Path
from types import ModuleType

import matplotlib
import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "discrete"
PROBLEMS = ("onemax", "royal_road", "long_path", "traveling_salesman")


@pytest.fixture(autouse=True)
def _folder_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib.use("Agg")
    monkeypatch.syspath_prepend(str(FOLDER))


def example(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_example_compares_methods_with_uniform_choice_and_single_operators(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    competition, picture = example("competition"), tmp_path / "it.png"
    outcome = competition.main(example(name).problem, ["--quick", "--plot", str(picture)])
    singles = [f"only {operator}" for operator in outcome.problem.operators]
    assert list(outcome.scores) == [*competition.METHODS, "uniform", *singles]
    medians = {name: np.median(outcome.scores[name]) for name in singles}
    assert medians[outcome.best_single] == min(medians.values())
    shown = capsys.readouterr().out
    assert f"{outcome.problem.name}: " in shown
    assert "Better than uniform choice: " in shown
    assert "the best single operator in hindsight: " in shown
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("file", "message"), [("no/x.png", "there is no such folder"), ("x.abc", "a picture ends in")]
)
def test_a_picture_that_cannot_be_drawn_is_refused_before_the_runs(
    file: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        example("competition").main(None, ["--plot", file])
    assert message in capsys.readouterr().err


def test_every_problem_of_the_folder_is_tested_here() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")}
    assert names == {*PROBLEMS, "bits", "competition"}


def test_a_course_never_gets_worse_and_ends_at_the_target() -> None:
    competition = example("competition")
    problem = example("onemax").problem(quick=True)
    course = competition.search(problem, competition.Always(0), seed=1)
    assert (np.diff(course) <= 0).all()
    assert course[-1] == 0
    assert (course[:-1] > 0).all()
    # a course of g + 1 values is g generations; one that did not arrive counts one more
    assert competition._score(problem, course) == len(course) - 1
    assert competition._score(problem, np.array([5, 4])) == 2


def test_a_verdict_follows_from_the_scores() -> None:
    competition = example("competition")
    low, high = np.arange(30.0), np.arange(30.0) + 100
    scores = dict.fromkeys(competition.METHODS, high) | {"uniform": high, "only x": low}
    best = competition.METHODS[0]
    scores[best] = low
    outcome = competition.Outcome(None, {}, scores, "only x")
    verdicts = outcome.compare()
    assert {word for word, _ in verdicts[best].values()} == {"better", "no difference"}
    assert verdicts["RecPM"]["only x"][0] == "worse"
    pays, hindsight = competition.verdict(outcome)
    assert pays == f"Adapting pays. Better than uniform choice: {best}. Worse: none."
    assert hindsight.endswith("in hindsight: none. Worse: Ex-AP, F-AUC-MAB, RecPM.")
    scores[best] = high
    assert competition.verdict(outcome)[0].startswith("Adapting does not pay here. Better than")


@pytest.mark.parametrize("count", [1, 3, 5])
def test_so_many_bits_are_flipped_each_as_often_as_another(count: int) -> None:
    parent = np.arange(7) % 2 == 0
    flipped = example("bits").flip(count)(parent, 7000, np.random.default_rng(1)) ^ parent
    assert (flipped.sum(axis=1) == count).all()
    assert np.allclose(flipped.mean(axis=0), count / 7, atol=0.03)


def test_every_bit_is_flipped_with_its_share() -> None:
    parent = np.zeros(10, dtype=bool)
    flipped = example("bits").flip_each(parent, 5000, np.random.default_rng(1))
    assert np.allclose(flipped.mean(axis=0), 0.1, atol=0.02)


def test_a_royal_block_counts_only_when_complete() -> None:
    fitness = example("royal_road").problem(quick=True).fitness
    bits = np.ones((3, 12), dtype=bool)
    bits[1, 3] = bits[2, [0, 11]] = False
    assert fitness(bits).tolist() == [0, 1, 2]


@pytest.mark.parametrize("length", [4, 10, 16])
def test_the_long_path_is_a_path_with_short_cuts_of_k_bits_only(length: int) -> None:
    module = example("long_path")
    k, points = module.K, module.path(length)
    # (k + 1) 2^((n − 1)/k) − k + 1 points: 6 for n = 4
    assert len(points) == (k + 1) * 2 ** ((length - 1) // k) - k + 1
    assert not points[0].any()
    apart = (points[:, None] != points).sum(axis=2)
    steps = np.abs(np.subtract.outer(np.arange(len(points)), np.arange(len(points))))
    # i < k steps along the path are i bits; what is further away on it is k bits away or more
    assert (apart[steps < k] == steps[steps < k]).all()
    assert (apart[steps >= k] >= k).all()


def test_the_long_path_leads_to_its_end_and_back_to_its_start() -> None:
    module = example("long_path")
    points, fitness = module.path(10), module.problem(quick=True).fitness
    assert fitness(points).tolist() == list(range(len(points)))[::-1]
    everything = (np.arange(1024)[:, None] >> np.arange(10)) % 2 == 1
    off = fitness(everything) >= len(points)
    assert off.sum() == 1024 - len(points)
    assert (fitness(everything)[off] == len(points) + everything[off].sum(axis=1)).all()


@pytest.mark.parametrize("operator", ["two_opt", "or_opt", "swap"])
def test_a_move_keeps_the_cities_and_changes_few_edges(operator: str) -> None:
    tour = np.random.default_rng(1).permutation(12)
    moved = getattr(example("traveling_salesman"), operator)(tour, 500, np.random.default_rng(2))
    assert (np.sort(moved, axis=1) == np.arange(12)).all()

    def edges(t):
        return {frozenset(pair) for pair in zip(t, np.roll(t, -1), strict=True)}

    new = [len(edges(t) - edges(tour)) for t in moved]
    most = {"two_opt": 2, "or_opt": 3, "swap": 4}[operator]
    assert max(new) == most
    # reversing all cities, or all but one, is the same tour: rarely
    assert np.mean([n == 0 for n in new]) < 0.1
    if operator == "or_opt":
        assert min(new) >= 2


def test_the_length_of_a_tour_is_that_of_its_edges() -> None:
    problem = example("traveling_salesman").problem(quick=True)
    cities = np.random.default_rng(2005).random((12, 2))
    there_and_back = np.arange(12)[None]
    expected = sum(np.hypot(*(cities[i] - cities[i - 1])) for i in range(12))
    assert problem.fitness(there_and_back) == pytest.approx(expected)
