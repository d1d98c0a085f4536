"""Problems and suites of users: what they are made of, and that they arrive in other processes."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidFeedback, InvalidFile, InvalidParameter, NameClash, UnknownName
from uaos.loading import load_source, loaded_files
from uaos.problems import Problem, Suite, reference, sphere, suite
from uaos.text import natural_key

BOX = [(-1.0, 2.0), (0.0, 3.0)]


def plane(x: np.ndarray) -> float:
    return float(x[0] + 2 * x[1])


def test_a_problem_knows_its_box_and_takes_its_name_from_the_function() -> None:
    problem = Problem(plane, BOX, optimum=-1)
    assert (problem.name, problem.function, problem.group) == ("plane", "plane", None)
    assert (problem.dimension, problem.optimum, problem.instance) == (2, -1.0, None)
    assert problem.low.tolist() == [-1, 0]
    assert problem.high.tolist() == [2, 3]
    assert problem.key == ("plane",)
    assert problem([1.0, 2.0]) == 5.0
    assert problem.evaluate(np.array([[1.0, 2.0], [0.0, 1.0]])).tolist() == [5.0, 2.0]


def test_a_vectorized_function_gets_the_whole_batch() -> None:
    shapes = []

    def batch(points: np.ndarray) -> np.ndarray:
        shapes.append(points.shape)
        return points.sum(axis=1)

    problem = Problem(batch, BOX, vectorized=True)
    assert problem.evaluate(np.ones((5, 2))).tolist() == [2.0] * 5
    assert problem([1.0, 0.5]) == 1.5
    assert shapes == [(5, 2), (1, 2)]


@pytest.mark.parametrize(
    ("arguments", "options", "name"),
    [
        ((3, BOX), {}, "fun"),
        ((lambda x: 0, BOX), {}, "name"),
        ((plane, BOX), {"name": ""}, "name"),
        ((plane, BOX), {"name": "a\x1b[31mb"}, "name"),
        ((plane, [(1, 0)]), {}, "bounds[0]"),
        ((plane, BOX), {"optimum": float("nan")}, "optimum"),
        ((plane, BOX), {"optimum": "0"}, "optimum"),
    ],
)
def test_what_is_no_problem_is_refused(arguments: tuple, options: dict, name: str) -> None:
    with raises(InvalidParameter, name=name):
        Problem(*arguments, **options)


@pytest.mark.parametrize("returned", ["1.5", 1j, None, [1.0, 2.0], np.datetime64("2020-01-01")])
def test_what_is_no_value_is_refused(returned: object) -> None:
    with pytest.raises(InvalidFeedback):
        Problem(lambda x: returned, BOX, name="odd").evaluate(np.zeros((2, 2)))


def test_an_exception_of_the_function_stays_what_it_is() -> None:
    def domain(x: np.ndarray) -> float:
        raise ValueError("math domain error")

    with pytest.raises(ValueError, match="^math domain error$"):
        Problem(domain, BOX).evaluate(np.zeros((2, 2)))


def test_a_suite_is_a_sequence_with_unique_names() -> None:
    problems = [Problem(plane, BOX), Problem(sphere, BOX, optimum=0, group="easy")]
    made = Suite("mine", problems)
    assert made.names == ("plane", "sphere")
    assert [p.group for p in made] == ["mine", "easy"]
    assert problems[0].group is None  # the user's own object is left alone
    assert {problem.group for problem in made} == {"mine", "easy"}
    assert made[1] is made["sphere"]
    assert (len(made), made.reference, made.hash) == (2, None, "")
    with raises(UnknownName, name="spere", near="sphere"):
        made["spere"]
    with pytest.raises(NameClash):
        Suite("mine", [problems[0], problems[0]])
    with raises(InvalidParameter, name="problems"):
        Suite("mine", [])
    with raises(InvalidParameter, name="problems"):
        Suite("mine", [plane])


def test_a_suite_is_split_by_share_or_by_names() -> None:
    made = Suite("mine", [Problem(plane, BOX, name=f"p{i}") for i in range(7)])
    train, test = made.split(0.5, seed=1)
    assert (len(train), len(test)) == (4, 3)  # round(3.5) is 4
    assert sorted(train.names + test.names) == sorted(made.names)
    assert train.names == made.split(seed=1)[0].names != made.split(seed=2)[0].names
    assert list(train.names) == sorted(train.names)  # in the suite's own order
    train, test = made.split(["p3", "p1"])
    assert train.names == ("p1", "p3")
    assert test.names == ("p0", "p2", "p4", "p5", "p6")
    assert (train.name, train[0].group) == ("mine", "mine")
    for wrong in (0.0, 1.0, [], made.names):
        with pytest.raises(InvalidParameter):
            made.split(wrong)


def test_only_bbob_has_reference_running_times() -> None:
    bbob = suite("bbob", functions="8", instances="1")
    assert bbob.reference is reference("bbob")
    times = bbob.reference.running_times("f8", 20)
    assert (times.shape, times[45]) == ((51,), 4484)  # the target 1e-7
    assert bbob.reference.running_times("f8", 7) is None
    assert reference("mine") is None
    (cell,) = [
        c for c in bbob.reference.published("paper")
        if (c.algorithm, c.function, c.target) == ("U-AOS-FW", "f1", 10.0)
    ]  # fmt: skip
    assert (cell.ratio, cell.art, cell.successes, cell.trials) == (73.0, 73.0 * 43, 13, 13)


def test_names_are_sorted_as_people_do() -> None:
    names = ["f10", "f2", "rosen 20-D", "rosen 3-D", "f1"]
    assert sorted(names, key=natural_key) == ["f1", "f2", "f10", "rosen 3-D", "rosen 20-D"]


# Files

FILE = """
import numpy as np
import uaos

def valley(x):
    return float(np.sum(np.abs(x) ** 1.5))

class Shifted:
    def __init__(self, by): self.by = by
    def __call__(self, x): return float(np.sum((x - self.by) ** 2))

suite = uaos.Suite("mine", [
    uaos.Problem(valley, [(-3, 3)] * 2, optimum=0.0),
    uaos.Problem(lambda x: float(x[0]), [(0, 1)] * 3, name="line", group="easy"),
    uaos.Problem(Shifted(0.5), [(-3, 3)] * 4, name="shifted", function="valley"),
])
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "json.py"  # a name that a module of the library has, too
    path.write_text(FILE)
    return path


def test_a_file_defines_a_suite(file: Path) -> None:
    made = suite(file)
    assert (made.name, made.names) == ("mine", ("valley", "line", "shifted"))
    assert made.source == FILE
    assert len(made.hash) == 32
    assert made.select(["line"]).hash == made.hash
    assert suite(str(file))["line"] is made["line"]  # the same content is run once
    import json

    assert json.dumps([1]) == "[1]"


def test_a_file_may_just_define_problems(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(
        "from uaos import Problem\n"
        "one = Problem(abs, [(0, 1)])\nother = Problem(max, [(0, 1)] * 2)\nagain = one\n"
    )
    made = uaos.suite(path)
    assert (made.name, made.names, made[0].group) == ("two", ("abs", "max"), "two")


def test_a_problem_of_a_file_is_found_again_where_the_file_was_loaded(file: Path) -> None:
    made = suite(file)
    data = [pickle.dumps(problem) for problem in made]
    assert all(pickle.loads(one) is problem for one, problem in zip(data, made, strict=True))
    code = (
        "import pickle, sys\n"
        "from uaos.loading import load_source\n"
        "files, problems = pickle.load(sys.stdin.buffer)\n"
        "for one in files: load_source(*one)\n"
        "print([pickle.loads(p)([0.5] * d) for p, d in zip(problems, (2, 3, 4))])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps((loaded_files(), data)),
        capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.decode() == f"[{2 * 0.5**1.5}, 0.5, 0.0]\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x = 1", "suite"),
        ("import uaos\nuaos.Problem(3, 4)", None),
        ("1 +", None),
        ("\n\nimport no_such_module", None),
    ],
)
def test_a_file_without_a_suite_is_refused(text: str, name: str | None, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with raises((InvalidParameter, InvalidFile), name=name):
        suite(path)


def test_a_file_that_exits_is_refused(tmp_path: Path) -> None:
    """Otherwise a command would end with the exit code of the file, and without a word."""
    (tmp_path / "script.py").write_text("import sys\nsys.exit(0)\n")
    with pytest.raises(InvalidFile, match="script.py, line 2: cannot be loaded"):
        suite(tmp_path / "script.py")


def test_names_that_mean_nothing_are_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidFile):
        suite("none.py")
    with raises(UnknownName, name="bob", near="bbob"):
        suite("bob")
    with raises(InvalidParameter, name="dimension", value=5):
        suite(file, dimension=5)


def test_sources_that_differ_are_different_modules() -> None:
    one, other = load_source("a.py", "number = 1"), load_source("a.py", "number = 2")
    assert (one.number, other.number) == (1, 2)
    assert load_source("b.py", "number = 1") is one


def test_a_problem_says_which_coordinates_are_integers() -> None:
    """A held coordinate is not searched, and so is none of them."""
    bounds = [(0, 9), (0, 1), (2, 2), (0, 4)]
    problem = uaos.Problem(sum, bounds, name="mixed", integrality=[True, False, True, True])
    assert problem.integrality.tolist() == [True, False, False, True]
    assert uaos.Problem(sum, bounds, name="real").integrality.tolist() == [False] * 4
