"""The problems to tune on: named, numbered or from a file, and never the test set by accident."""

from importlib.resources import as_file, files
from pathlib import Path

import pytest

from uaos.errors import InvalidFile, InvalidParameter, UaosError
from uaos.experiments.plan import training_set
from uaos.tuning.instances import Instance, TestInstances, instances


def test_the_training_set_is_the_default() -> None:
    found = instances()
    assert len(found) == 48
    assert {(p.function, p.instance) for p in found} == training_set()
    assert {p.dimension for p in found} == {20}
    assert instances("train", functions="1", dimension=5) == (Instance(1, 5, 1), Instance(1, 5, 7))


def test_an_instance_reads_as_a_problem() -> None:
    assert str(Instance(3, 20, 7)) == "f3 20-D i7"


def test_numbers_are_combined_with_functions() -> None:
    found = instances("16-17", functions="3,5", dimension=2)
    assert found == (
        Instance(3, 2, 16), Instance(3, 2, 17), Instance(5, 2, 16), Instance(5, 2, 17),
    )  # fmt: skip
    assert instances([16, 17], functions=[3, 5], dimension=2) == found


# The test set


@pytest.mark.parametrize("which", ["test", "all", "1-15"])
@pytest.mark.parametrize("dimension", [2, 20, 40])
def test_the_test_set_is_refused_in_any_dimension(which: str, dimension: int) -> None:
    total = 312 if which == "test" else 360
    message = (
        rf"312 of the {total} problems are test problems \(the first: f1 {dimension}-D i2\); a "
        r"method tuned on them .* above 15 are free; --force-test-instances \(force=True\)"
    )
    with pytest.raises(TestInstances, match=message) as error:
        instances(which, dimension=dimension)
    assert isinstance(error.value, UaosError)
    assert isinstance(error.value, ValueError)
    assert len(error.value.found) == 312
    assert len(instances(which, dimension=dimension, force=True)) == total


def test_one_test_problem_is_enough_to_be_refused() -> None:
    # f1 was trained on instances 1 and 7
    assert instances("1,7,16", functions="1")
    with pytest.raises(TestInstances, match=r"1 of the 4 problems is a test problem .*f1 20-D i2"):
        instances("1,2,7,16", functions="1")


def test_instances_above_15_are_nobodys_test_set() -> None:
    assert len(instances("16-20")) == 5 * 24


# Names that are wrong


@pytest.mark.parametrize("which", ["trian", "", "3-1", "0", "1001"])
def test_what_names_no_instances_is_refused_with_all_that_is_allowed(which: str) -> None:
    with pytest.raises(InvalidParameter, match=r'"train".*such as "1-5,8", or a file \(.txt, .csv'):
        instances(which)


def test_functions_and_dimensions_that_are_not_there_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="functions is '25'; allowed: numbers 1 to 24"):
        instances("train", functions="25")
    with pytest.raises(InvalidParameter, match="dimension is 4; allowed: one of 2, 3, 5, 10, 20"):
        instances("train", dimension=4)


# Files


def written(folder: Path, text: str | bytes, name: str = "mine.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_training_set_of_the_package_is_such_a_file() -> None:
    with as_file(files("uaos").joinpath("data/training_set.csv")) as path:
        assert set(instances(path)) == set(instances("train"))
        assert set(instances(str(path), functions="2-3")) == set(instances(functions="2-3"))


def test_blanks_tabs_and_commas_separate_and_comments_are_skipped(tmp_path: Path) -> None:
    text = "\ufeff# mine\n\nFunction, instance ,DIMENSION\r\n3 16\n  4\t17  \n5,18,2 # small\n"
    found = (Instance(3, 20, 16), Instance(4, 20, 17), Instance(5, 2, 18))
    assert instances(written(tmp_path, text)) == found
    assert instances(str(tmp_path / "mine.txt")) == found
    assert instances(written(tmp_path, text, "any.name"), functions="4,5") == found[1:]
    assert instances(tmp_path / "mine.txt", functions="3", dimension=5) == (Instance(3, 5, 16),)


def test_a_file_is_kept_away_from_the_test_set_too(tmp_path: Path) -> None:
    path = written(tmp_path, "1 1\n1 2 3\n1 3\n")
    with pytest.raises(TestInstances, match="2 of the 3 problems are .*first: f1 3-D i2"):
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
        ("0 16", "expected a function 1 to 24"),
        ("25 16", "expected a function 1 to 24"),
        ("3 0", "expected an instance 1 to 1000"),
        ("3 1001", "expected an instance 1 to 1000"),
        ("3 16 4", "expected a dimension of 2, 3, 5, 10, 20, 40"),
        ("4,16", "f4 20-D i16 again, as in line 2; a problem is given once"),
    ],
)
def test_a_wrong_line_is_named_with_what_it_holds(line: str, expected: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"# problems\n4 16\n{line}\n5 16\n")
    with pytest.raises(InvalidFile, match=rf"mine.txt, line 3: .*{expected}") as error:
        instances(path)
    assert "again" in expected or f"{line!r}" in str(error.value)


def test_a_file_has_one_header(tmp_path: Path) -> None:
    path = written(tmp_path, "function instance\nfunction instance\n3 16\n")
    with pytest.raises(InvalidFile, match="line 2: 'function instance'; expected function instanc"):
        instances(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no problem; expected in each line: function instance"),
        (b"function,instance\n# nothing\n", "holds no problem"),
        (b"\xff\xfe3\x00", "not a text file"),
    ],
)
def test_a_file_without_problems_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match=rf"mine.txt: {message}"):
        instances(written(tmp_path, content))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="none.csv: there is no such file"):
        instances(str(tmp_path / "none.csv"))
    with pytest.raises(InvalidFile, match="a folder, where a file is expected"):
        instances(tmp_path)
    with pytest.raises(InvalidParameter, match="a file with problems of these functions"):
        instances(written(tmp_path, "3 16\n"), functions="4")
