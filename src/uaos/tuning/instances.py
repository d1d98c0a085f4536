"""Which problems a tuning trains on, and the guard that keeps it away from the test set."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from uaos.errors import InvalidFile, InvalidParameter, UaosError
from uaos.experiments.plan import INSTANCES, numbers, problems, training_set
from uaos.problems.bbob import DIMENSIONS, checked_dimension

_SEPARATOR = re.compile(r"\s*,\s*|\s+")
_FILES = (".txt", ".csv")
_LINE = "function instance, or function instance dimension, such as 3 7 20"
_HEADERS = (["function", "instance"], ["function", "instance", "dimension"])


class Instance(NamedTuple):
    """A BBOB problem."""

    function: int
    dimension: int
    instance: int

    def __str__(self) -> str:
        return f"f{self.function} {self.dimension}-D i{self.instance}"

    @property
    def test(self) -> bool:
        """Whether it is one of the 312 problems that methods are compared on."""
        pair = (self.function, self.instance)
        return self.instance in INSTANCES and pair not in training_set()


class TestInstances(UaosError, ValueError):
    """A tuning would see problems of the test set, on which its result is to be judged."""

    __test__ = False  # pytest would take the class for a test

    def __init__(self, found: Iterable[Instance], total: int) -> None:
        self.found = tuple(found)
        count = len(self.found)
        verb, what = ("is", "a test problem") if count == 1 else ("are", "test problems")
        super().__init__(
            f"{count} of the {total} problems {verb} {what} (the first: {self.found[0]}); a method "
            "tuned on them cannot be compared on them. Instances above 15 are free; "
            "--force-test-instances (force=True) tunes on them all the same"
        )


def instances(
    which: str | Iterable[int] | os.PathLike[str] = "train",
    *,
    functions: str | Iterable[int] = "1-24",
    dimension: int = 20,
    force: bool = False,
) -> tuple[Instance, ...]:
    """The problems to tune on.

    `which`: "train" (the 48 problems of the framework's paper), numbers such as "16-20" for each
    of the `functions`, "test", "all", or a file (.txt, .csv) with a problem in each line: function,
    instance and, if it is not `dimension`, dimension; those of other `functions` are left out. The
    312 test problems, in any dimension, are refused (:class:`TestInstances`) unless `force` is
    True.
    """
    dimension = checked_dimension(dimension)
    if isinstance(which, os.PathLike) or (
        isinstance(which, str) and which.strip().lower().endswith(_FILES)
    ):
        chosen = numbers("functions", functions, 1, 24)
        found = [problem for problem in _read(Path(which), dimension) if problem.function in chosen]
        if not found:
            allowed = "a file with problems of these functions"
            raise InvalidParameter("instances", str(which), allowed)
    else:
        found = [Instance(f, dimension, i) for f, i in _named(functions, which)]
    test = [problem for problem in found if problem.test]
    if test and not force:
        raise TestInstances(test, len(found))
    return tuple(found)


def _named(functions: str | Iterable[int], which: str | Iterable[int]) -> list[tuple[int, int]]:
    try:
        return problems(functions, which)
    except InvalidParameter as error:
        if error.name != "instances" or not isinstance(which, str):
            raise
        allowed = f"{error.allowed}, or a file (.txt, .csv)"
        raise InvalidParameter("instances", which, allowed) from None


def _read(path: Path, dimension: int) -> list[Instance]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InvalidFile(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise InvalidFile(f"{path}: a folder, where a file is expected") from None
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InvalidFile(f"{path}: not a text file (UTF-8) with a problem in each line") from None
    found: dict[Instance, int] = {}
    header = False
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        words = _SEPARATOR.split(content)
        if not (found or header) and [word.lower() for word in words] in _HEADERS:
            header = True
            continue
        problem = _problem(words, dimension, path, number, line)
        if problem in found:
            raise InvalidFile(
                f"{path}, line {number}: {problem} again, as in line {found[problem]}; a problem "
                "is given once"
            )
        found[problem] = number
    if not found:
        raise InvalidFile(f"{path}: holds no problem; expected in each line: {_LINE}")
    return list(found)


def _problem(words: list[str], dimension: int, path: Path, number: int, line: str) -> Instance:
    def wrong(expected: str) -> InvalidFile:
        return InvalidFile(f"{path}, line {number}: {line.strip()[:80]!r}; expected {expected}")

    if len(words) not in (2, 3) or not all(re.fullmatch(r"[0-9]{1,9}", word) for word in words):
        raise wrong(_LINE)
    function, instance, chosen = [*map(int, words), dimension][:3]
    if not 1 <= function <= 24:
        raise wrong("a function 1 to 24")
    if not 1 <= instance <= 1000:
        raise wrong("an instance 1 to 1000")
    if chosen not in DIMENSIONS:
        raise wrong("a dimension of " + ", ".join(map(str, DIMENSIONS)))
    return Instance(function, chosen, instance)
