"""The problems to tune on: named, numbered or from a file, and never the test set by accident."""

from importlib.resources import as_file, files
from pathlib import Path

import pytest
from raising import raises

from uaos.errors import InvalidFile, InvalidParameter, UaosError
from uaos.problems import Suite
from uaos.problems.bbob import BBOB, bbob_suite, parse_numbers, training_set
from uaos.tuning import HeldOutProblems, check_training


def instances(which: object = "train", force: bool = False, **options: object) -> Suite:
    return check_training(bbob_suite(instances=which, **options), force=force)


def test_the_training_set_is_the_default() -> None:
    found = instances()
    assert len(found) == 48
    assert {(p.number, p.instance) for p in found} == training_set()
    assert {p.dimension for p in found} == {20}
    assert instances("train", functions="1", dimension=5).names == ("f1 i1 5-D", "f1 i7 5-D")


def test_the_training_set_is_that_of_the_paper() -> None:
    pairs = """1 7, 9 15, 5 10, 6 8, 1 7, 7 13, 2 5, 3 6, 3 10, 4 11, 2 9, 1 3, 12 13, 11 12, 7 15,
        2 14, 12 15, 9 15, 1 9, 6 10, 5 11, 1 8, 3 15, 4 8"""
    printed = {(f, int(i)) for f, two in enumerate(pairs.split(","), 1) for i in two.split()}
    assert training_set() == printed


def test_an_instance_reads_as_a_problem() -> None:
    assert str(BBOB(3, 20, 7)) == "f3 i7 20-D"


def test_numbers_are_combined_with_functions() -> None:
    found = instances("16-17", functions="3,5", dimension=2)
    assert found.names == ("f3 i16 2-D", "f3 i17 2-D", "f5 i16 2-D", "f5 i17 2-D")
    assert instances([16, 17], functions=[3, 5], dimension=2).names == found.names


# The test set


@pytest.mark.parametrize("which", ["test", "all", "1-15"])
@pytest.mark.parametrize("dimension", [2, 20, 40])
def test_the_test_set_is_refused_in_any_dimension(which: str, dimension: int) -> None:
    total = 312 if which == "test" else 360
    message = (
        rf"test problems \(312 of {total}, the first: f1 i2 {dimension}-D\); a "
        r"method tuned on them .* above 15, or --force-test-instances \(force=True\)"
    )
    with pytest.raises(HeldOutProblems, match=message) as error:
        instances(which, dimension=dimension)
    assert isinstance(error.value, UaosError)
    assert isinstance(error.value, ValueError)
    assert len(error.value.problems) == 312
    assert len(instances(which, dimension=dimension, force=True)) == total


def test_one_test_problem_is_enough_to_be_refused() -> None:
    # f1 was trained on instances 1 and 7
    assert instances("1,7,16", functions="1")
    with pytest.raises(HeldOutProblems):
        instances("1,2,7,16", functions="1")


def test_instances_above_15_are_nobodys_test_set() -> None:
    assert len(instances("16-20")) == 5 * 24


# Names that are wrong


@pytest.mark.parametrize("which", ["trian", "", "3-1", "0", "1001"])
def test_what_names_no_instances_is_refused_with_all_that_is_allowed(which: str) -> None:
    with raises(InvalidParameter, name="instances"):
        instances(which)


def test_functions_and_dimensions_that_are_not_there_are_refused() -> None:
    with raises(InvalidParameter, name="functions", value="25"):
        instances("train", functions="25")
    with raises(InvalidParameter, name="dimension", value=4):
        instances("train", dimension=4)


# Files


def written(folder: Path, text: str | bytes, name: str = "mine.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_training_set_of_the_package_is_such_a_file() -> None:
    with as_file(files("uaos").joinpath("data/training_set.csv")) as path:
        assert set(instances(path).names) == set(instances("train").names)
        few = instances(str(path), functions="2-3")
        assert set(few.names) == set(instances(functions="2-3").names)


def test_blanks_tabs_and_commas_separate_and_comments_are_skipped(tmp_path: Path) -> None:
    text = "\ufeff# mine\n\nFunction, instance ,DIMENSION\r\n3 16\n  4\t17  \n5,18,2 # small\n"
    found = ("f3 i16 20-D", "f4 i17 20-D", "f5 i18 2-D")
    assert instances(written(tmp_path, text)).names == found
    assert instances(str(tmp_path / "mine.txt")).names == found
    assert instances(written(tmp_path, text, "any.name"), functions="4,5").names == found[1:]
    assert instances(tmp_path / "mine.txt", functions="3", dimension=5).names == ("f3 i16 5-D",)


def test_a_file_is_kept_away_from_the_test_set_too(tmp_path: Path) -> None:
    path = written(tmp_path, "1 1\n1 2 3\n1 3\n")
    with pytest.raises(HeldOutProblems):
        instances(path)
    assert len(instances(path, force=True)) == 3


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("3", "expected function instance, or function instance dimension"),
        ("3 16 20 1", "expected function instance"),
        ("3,,16", "expected function instance"),
        ("3 16,", "expected function instance"),
        ("f3 16", "expected function instance"),
        ("-3 16", "expected function instance"),
        ("3 1.5", "expected function instance"),
        ("\u0663 16", "expected function instance"),  # a digit of another script
        ("instance function", "expected function instance"),
        ("function instance", "expected function instance"),  # a header comes first
        ("0 16", "expected a function from 1 to 24"),
        ("25 16", "expected a function from 1 to 24"),
        ("3 0", "expected an instance from 1 to 1000"),
        ("3 1001", "expected an instance from 1 to 1000"),
        ("3 16 4", "expected one of the dimensions 2, 3, 5, 10, 20, 40"),
        ("4,16", "repeats f4 i16 20-D of line 2; list each problem once"),
    ],
)
def test_a_wrong_line_is_named_with_what_it_holds(line: str, expected: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"# problems\n4 16\n{line}\n5 16\n")
    with pytest.raises(InvalidFile) as error:
        instances(path)
    assert "repeats" in expected or f"{line!r}" in str(error.value)


def test_a_file_has_one_header(tmp_path: Path) -> None:
    path = written(tmp_path, "function instance\nfunction instance\n3 16\n")
    with pytest.raises(InvalidFile):
        instances(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "contains no problem; expected in each line: function instance"),
        (b"function,instance\n# nothing\n", "contains no problem"),
        (b"\xff\xfe3\x00", "not a text file"),
    ],
)
def test_a_file_without_problems_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidFile):
        instances(written(tmp_path, content))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile):
        instances(str(tmp_path / "none.csv"))
    with pytest.raises(InvalidFile):
        instances(tmp_path)
    with raises(InvalidParameter, name="instances"):
        instances(written(tmp_path, "3 16\n"), functions="4")


# Sets and numbers


def pairs(functions: object, instances: object) -> list[tuple[int, int]]:
    return [(p.number, p.instance) for p in bbob_suite(functions=functions, instances=instances)]


def test_the_training_set_has_48_problems_and_the_test_set_the_312_others() -> None:
    train, test = pairs("1-24", "train"), pairs("1-24", "test")
    assert (len(train), len(test)) == (48, 312)
    assert sorted(train + test) == pairs("1-24", "all")
    assert {f for f, _ in train} == set(range(1, 25))


def test_the_first_problems_of_each_function_are_named_by_their_number() -> None:
    few = pairs("1-24", "test:4")
    assert len(few) == 24 * 4
    for f in range(1, 25):
        of = [pair for pair in pairs("1-24", "test") if pair[0] == f]
        assert [pair for pair in few if pair[0] == f] == of[:4]
    assert pairs("3", "all:2") == [(3, 1), (3, 2)]
    with raises(InvalidParameter, name="instances", value="test:0"):
        pairs("1-24", "test:0")


@pytest.mark.parametrize(
    ("text", "meant"),
    [("1-5,8", [1, 2, 3, 4, 5, 8]), ("3", [3]), (" 2 , 1 - 2", [1, 2]), ([7, 7, 2], [2, 7])],
)
def test_numbers_are_lists_and_ranges(text: str, meant: list[int]) -> None:
    assert parse_numbers("functions", text, 1, 24) == meant


@pytest.mark.parametrize("text", ["", "0", "25", "5-3", "1,,2", "a", "1-", "-1", "1.5", [0], []])
def test_other_numbers_are_refused(text: str) -> None:
    with raises(InvalidParameter, name="functions"):
        parse_numbers("functions", text, 1, 24)
