"""BBOB: the 24 noiseless functions of COCO as a suite.

Hansen, N., Auger, A., Ros, R., Mersmann, O., Tušar, T. & Brockhoff, D. (2021), "COCO: a platform
for comparing continuous optimizers in a black-box setting", Optimization Methods and Software 36.

The reference running times are best2009: for each function, dimension and target the aRT of
whichever of the 31 algorithms entered at the BBOB-2009 workshop reached the target soonest, as
cocopp 2.9.1 (BSD license) gives it: Hansen, N., Auger, A., Ros, R., Finck, S. & Pošík, P. (2010),
"Comparing results of 31 algorithms from the black-box optimization benchmarking BBOB-2009", GECCO
2010 companion.
"""

import csv
import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import SupportsIndex

from uaos.arrays import FloatArray
from uaos.errors import InvalidFile, InvalidParameter, shortened
from uaos.files import as_path, read_text
from uaos.problems.bbob_functions import FUNCTIONS, Instance
from uaos.problems.problem import Problem, Suite, integer_in
from uaos.problems.references import Reference
from uaos.problems.space import Box, FreeSpace

NAME = "bbob"

#: The dimensions of COCO's suite.
DIMENSIONS = (2, 3, 5, 10, 20, 40)

#: The instances of a BBOB experiment, as in the framework's paper.
INSTANCES = tuple(range(1, 16))

#: The five groups of functions.
GROUPS = {
    name: tuple(f"f{f}" for f in numbers)
    for name, numbers in {
        "separable": range(1, 6),
        "moderate": range(6, 10),
        "ill-conditioned": range(10, 15),
        "multi-modal": range(15, 20),
        "weakly structured": range(20, 25),
    }.items()
}

#: The names of the functions.
TITLES = {
    f"f{number}": title
    for number, title in enumerate((
        "sphere", "separable ellipsoid", "separable Rastrigin", "Büche-Rastrigin", "linear slope",
        "attractive sector", "step ellipsoid", "Rosenbrock", "rotated Rosenbrock", "ellipsoid",
        "discus", "bent cigar", "sharp ridge", "different powers", "Rastrigin", "Weierstrass",
        "Schaffer F7", "ill-conditioned Schaffer F7", "Griewank-Rosenbrock", "Schwefel",
        "Gallagher 101 peaks", "Gallagher 21 peaks", "Katsuura", "Lunacek bi-Rastrigin",
    ), 1)
}  # fmt: skip

#: best2009, the tables of the framework's paper, and algorithms of COCO's archive.
REFERENCE = Reference(
    "best 2009",
    "best2009.csv",
    {"paper": "art_published.csv", "archive": "coco_archive.csv.gz"},
    "for each target the best average running time at the BBOB workshop 2009",
)

_NUMBERS = re.compile(r"\s*\d+(?:\s*-\s*\d+)?(?:\s*,\s*\d+(?:\s*-\s*\d+)?)*\s*")
# A set of problems, or the first few of each function: "test", "test:4".
_SET = re.compile(r"\s*(?P<set>train|test|all)(?::(?P<few>\d+))?\s*")
_FILES = (".txt", ".csv")
_SEPARATOR = re.compile(r"\s*,\s*|\s+")
_LINE = "function instance, or function instance dimension, such as 3 7 20"
_HEADERS = (["function", "instance"], ["function", "instance", "dimension"])


class BBOB(Problem):
    """One BBOB problem, minimized over the box [-5, 5]^D.

    The function is defined everywhere, and methods without bounds may search outside the box.

    Parameters
    ----------
    function : int
        1 to 24.
    dimension : int
        2, 3, 5, 10, 20 or 40.
    instance : int
        1 to 1000.

    Examples
    --------
    >>> from uaos.problems import BBOB
    >>> BBOB(8, dimension=20, instance=7).name
    'f8 i7 20-D'
    """

    number: int
    instance: int

    def __init__(self, function: int, dimension: int = 20, instance: int = 1) -> None:
        owner = "a BBOB problem"
        number = integer_in("function", function, 1, 24, owner)
        instance = integer_in("instance", instance, 1, 1000, owner)
        dimension = check_dimension(dimension, owner)
        name = f"f{number}"
        self._set(
            number=number,
            instance=instance,
            function=name,
            name=f"{name} i{instance} {dimension}-D",
            group=_group(name),
            space=FreeSpace(Box([(-5.0, 5.0)] * dimension, outside_allowed=True)),
            vectorized=True,
            constraints=None,
            held_out=instance in INSTANCES and (number, instance) not in training_set(),
        )

    @cached_property
    def fun(self) -> Callable[[FloatArray], FloatArray]:  # type: ignore[override]
        """Return the function of points (n, D)."""
        return FUNCTIONS[self.number](self._instance)

    @cached_property
    def optimum(self) -> float:  # type: ignore[override]
        """Return the smallest value of the function."""
        return self._instance.smallest

    @cached_property
    def _instance(self) -> Instance:
        return Instance(self.number, self.dimension, self.instance)

    @property
    def title(self) -> str:
        """Return a description of the problem."""
        function = f"{self.function} {TITLES[self.function]}"
        return f"{function}, {self.dimension}-D, instance {self.instance}"

    @property
    def key(self) -> tuple[int, int, int]:
        """Return function, dimension and instance."""
        return self.number, self.dimension, self.instance

    def __reduce_ex__(
        self, protocol: SupportsIndex
    ) -> tuple[Callable[[int, int, int], "BBOB"], tuple[int, int, int]]:
        # A worker builds each problem once.
        return bbob_problem, self.key


@cache
def bbob_problem(function: int, dimension: int, instance: int) -> BBOB:
    """Return a BBOB problem, which is built only once."""
    return BBOB(function, dimension, instance)


def bbob_suite(
    *,
    dimension: int = 20,
    functions: str | Iterable[int] = "1-24",
    instances: str | Iterable[int] | os.PathLike[str] = "test",
) -> Suite:
    """Return the BBOB suite, or a part of it.

    Parameters
    ----------
    dimension : int
        2, 3, 5, 10, 20 or 40.
    functions : str or iterable of int
        Numbers, or a string such as "1-5,8".
    instances : str, iterable of int or path
        The instances of each function: numbers from 1 to 1000, or a string such as "1-5,8"; "train"
        (the 48 problems that the configurations of the framework's paper were tuned on), "test"
        (the 312 others among the instances 1 to 15) or "all" (both), or "test:4" for the first four
        of each function. Or a file (.txt, .csv) with a problem in each line: function, instance,
        and the dimension if it differs from `dimension`; problems of other functions are skipped.

    Returns
    -------
    Suite

    Raises
    ------
    InvalidParameter
        If the dimension, the functions or the instances do not exist.

    Examples
    --------
    >>> from uaos.problems.bbob import bbob_suite
    >>> bbob_suite(dimension=5, functions="1-3", instances="1-2").names[:2]
    ('f1 i1 5-D', 'f1 i2 5-D')
    """
    dimension = check_dimension(dimension)
    numbers = parse_numbers("functions", functions, 1, 24)
    if isinstance(instances, os.PathLike) or (
        isinstance(instances, str) and instances.strip().lower().endswith(_FILES)
    ):
        place = as_path(instances, "instances")
        keys = [key for key in _read_keys(place, dimension) if key[0] in numbers]
        if not keys:
            message = f"{instances} contains no problem of these functions"
            raise InvalidParameter(message, name="instances", value=str(instances))
    else:
        keys = [(f, dimension, i) for f, i in _pairs(numbers, instances)]
    suite = Suite(NAME, (bbob_problem(*key) for key in keys))
    suite.reference = REFERENCE
    return suite


@cache
def training_set() -> frozenset[tuple[int, int]]:
    """Return the 48 problems (function, instance) that the paper's configurations were tuned on."""
    text = files("uaos").joinpath("data/training_set.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return frozenset((int(row["function"]), int(row["instance"])) for row in rows)


def _pairs(functions: Iterable[int], instances: str | Iterable[int]) -> list[tuple[int, int]]:
    """Return the pairs (function, instance) that `instances` selects, in order."""
    match = _SET.fullmatch(instances) if isinstance(instances, str) else None
    if match is None:
        numbers = parse_numbers("instances", instances, 1, 1000)
        return [(f, i) for f in functions for i in numbers]
    subset, few = match["set"], int(match["few"] or len(INSTANCES))
    pairs = []
    for f in functions:
        candidates = [(f, i) for i in INSTANCES]
        if subset != "all":
            trained = subset == "train"
            candidates = [pair for pair in candidates if (pair in training_set()) == trained]
        pairs += candidates[:few]
    if not pairs:
        message = f"the set {instances!r} contains no problem of these functions"
        raise InvalidParameter(message, name="instances", value=instances)
    return pairs


def parse_numbers(name: str, text: str | Iterable[int], low: int, high: int) -> list[int]:
    """Return the numbers in a string such as "1-5,8", in ascending order and without repetition."""
    selected: set[int] = set()
    if isinstance(text, Iterable) and not isinstance(text, str | bytes):
        selected = {integer_in(name, number, low, high) for number in text}
    elif isinstance(text, str) and _NUMBERS.fullmatch(text):
        ranges = [[int(end) for end in part.split("-")] for part in text.split(",")]
        if all(low <= ends[0] <= ends[-1] <= high for ends in ranges):
            selected = {n for ends in ranges for n in range(ends[0], ends[-1] + 1)}
    if not selected:
        expected = f'numbers from {low} to {high} such as "{low}-{low + 4},{low + 7}"'
        if name == "instances":
            expected = f'"train", "test", "all", "test:4", {expected}, or a file (.txt, .csv)'
        message = f"{name} must be {expected}, not {shortened(text)}"
        raise InvalidParameter(message, name=name, value=text)
    return sorted(selected)


def check_dimension(
    dimension: int, owner: str = "the BBOB suite", dimensions: Sequence[int] = DIMENSIONS
) -> int:
    """Return the dimension if a suite of COCO has it, otherwise raise an error."""
    if dimension not in dimensions:
        expected = ", ".join(map(str, dimensions))
        message = (
            f"{owner} does not have the dimension {shortened(dimension)}; choose one of {expected}"
        )
        raise InvalidParameter(message, name="dimension", value=dimension, owner=owner)
    return int(dimension)


@cache
def _group(function: str) -> str:
    """Return the group of a function."""
    return next(group for group, members in GROUPS.items() if function in members)


def _read_keys(path: Path, dimension: int) -> list[tuple[int, int, int]]:
    """Return the problems (function, dimension, instance) in a file."""
    text = read_text(path, "a file with a problem in each line")
    line_of: dict[tuple[int, int, int], int] = {}
    has_header = False
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        words = _SEPARATOR.split(content)
        if not (line_of or has_header) and [word.lower() for word in words] in _HEADERS:
            has_header = True
            continue
        key = _parse_key(words, dimension, f"{path}, line {number}: {line.strip()[:80]!r}")
        if key in line_of:
            raise InvalidFile(
                f"{path}, line {number}: repeats {BBOB(*key).name} of line {line_of[key]}; list "
                "each problem once"
            )
        line_of[key] = number
    if not line_of:
        raise InvalidFile(f"{path}: contains no problem; expected in each line: {_LINE}")
    return list(line_of)


def _parse_key(words: list[str], dimension: int, where: str) -> tuple[int, int, int]:
    """Return the problem (function, dimension, instance) in the words of a line."""
    if len(words) not in (2, 3) or not all(re.fullmatch(r"[0-9]{1,9}", word) for word in words):
        raise InvalidFile(f"{where}; expected {_LINE}")
    function, instance, dimension = [*map(int, words), dimension][:3]
    for value, allowed, description in (
        (function, range(1, 25), "a function from 1 to 24"),
        (instance, range(1, 1001), "an instance from 1 to 1000"),
        (dimension, DIMENSIONS, f"one of the dimensions {', '.join(map(str, DIMENSIONS))}"),
    ):
        if value not in allowed:
            raise InvalidFile(f"{where}; expected {description}")
    return function, dimension, instance
