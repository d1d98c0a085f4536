"""COCO's suites beside BBOB: constraints, integers, many variables, noise (coco-experiment).

Hansen, N., Auger, A., Ros, R., Mersmann, O., Tušar, T. & Brockhoff, D. (2021), "COCO: a platform
for comparing continuous optimizers in a black-box setting", Optimization Methods and Software 36.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from types import SimpleNamespace
from typing import Protocol, SupportsIndex

import numpy as np

from uaos.arrays import FloatArray
from uaos.errors import InvalidParameter, UaosError, shortened
from uaos.extras import optional, require
from uaos.problems import bbob
from uaos.problems.problem import Problem, Suite
from uaos.problems.space import Box, FreeSpace

#: A problem of COCO: function, dimension, instance.
Key = tuple[int, int, int]


class _CocoProblem(Protocol):
    """The part of COCO's problems that is used here."""

    lower_bounds: FloatArray
    upper_bounds: FloatArray
    initial_solution: FloatArray
    number_of_constraints: int
    number_of_integer_variables: int

    def __call__(self, x: FloatArray) -> float: ...
    def constraint(self, x: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class CocoSuite:
    """Suite of COCO.

    Parameters
    ----------
    name : str
        COCO's name.
    functions : range
        The numbers of the functions.
    dimensions : tuple of int
        The dimensions that COCO has.
    dimension : int
        The dimension unless another is chosen.
    groups : mapping
        The numbers of the functions in each group.
    titles : mapping
        The names of the functions, by "f1", …
    enforced : bool
        Whether the bounds must be kept. Otherwise the functions are defined everywhere.
    """

    name: str
    functions: range
    dimensions: tuple[int, ...]
    dimension: int
    groups: Mapping[str, Iterable[int]]
    titles: Mapping[str, str]
    enforced: bool = False

    @property
    def first(self) -> int:
        """Number of the first function, which COCO calls the first by its index."""
        return self.functions[0]


_OBJECTIVES = (
    "sphere", "separable ellipsoid", "linear slope", "ellipsoid", "discus", "bent cigar",
    "different powers", "separable Rastrigin", "Rastrigin",
)  # fmt: skip
_CONSTRAINTS = (
    "1 constraint",
    *(f"{count} constraints" for count in ("3", "9", "9 + 3D/4", "9 + 3D/2", "9 + 9D/2")),
)
_NOISY = (
    *(("sphere", "moderate"), ("Rosenbrock", "moderate")),
    *((name, "severe") for name in (
        "sphere", "Rosenbrock", "step ellipsoid", "ellipsoid", "different powers", "Schaffer F7",
        "Griewank-Rosenbrock", "Gallagher 101 peaks",
    )),
)  # fmt: skip
#: The functions of bbob-noisy come in threes: one function with Gaussian, uniform and Cauchy noise.
#: Most values with Cauchy noise are exact but for a constant, so that the median of this many is
#: the value without noise. The constant is one thousand times the factor of noise, and 1.01e-8.
_CAUCHY_VALUES = 41
_MODERATE, _SEVERE, _ADDED = 10.0, 1000.0, 1.01e-8
_BBOB_GROUPS = {
    group: [int(name.removeprefix("f")) for name in names] for group, names in bbob.GROUPS.items()
}

#: The suites by name.
SUITES = {
    suite.name: suite
    for suite in (
        CocoSuite(
            "bbob-constrained",
            range(1, 55),
            (2, 3, 5, 10, 20, 40),
            20,
            {name: range(6 * k + 1, 6 * k + 7) for k, name in enumerate(_OBJECTIVES)},
            {
                f"f{6 * k + j + 1}": f"{name}, {count}"
                for k, name in enumerate(_OBJECTIVES)
                for j, count in enumerate(_CONSTRAINTS)
            },
        ),
        CocoSuite(
            "bbob-mixint",
            range(1, 25),
            (5, 10, 20, 40, 80, 160),
            20,
            _BBOB_GROUPS,
            bbob.TITLES,
            enforced=True,
        ),
        CocoSuite(
            "bbob-largescale",
            range(1, 25),
            (20, 40, 80, 160, 320, 640),
            80,
            _BBOB_GROUPS,
            bbob.TITLES,
        ),
        CocoSuite(
            "bbob-noisy",
            range(101, 131),
            (2, 3, 5, 10, 20, 40),
            20,
            {
                "moderate noise": range(101, 107),
                "severe noise": range(107, 122),
                "severe noise, multi-modal": range(122, 131),
            },
            {
                f"f{101 + 3 * k + j}": f"{name}, {level} {kind} noise"
                for k, (name, level) in enumerate(_NOISY)
                for j, kind in enumerate(("Gaussian", "uniform", "Cauchy"))
            },
        ),
    )
}


class CocoProblem(Problem):
    """Problem of a suite of COCO.

    Constraints and integers are those of COCO, and so is the point `x0` to start from under
    constraints, which is feasible. Values of noisy functions have noise; `true` is the function
    without it.

    Parameters
    ----------
    suite : str
        The name of the suite.
    function, dimension, instance : int
        The problem.
    optimum : float
        The smallest value, without noise.
    """

    suite: str
    number: int
    instance: int

    def __init__(
        self, suite: str, function: int, dimension: int, instance: int, optimum: float
    ) -> None:
        about, name = SUITES[suite], f"f{function}"
        self._set(suite=suite, number=function, instance=instance)
        coco = _coco_problem(suite, (function, dimension, instance))
        count = coco.number_of_integer_variables
        box = Box(
            np.column_stack([coco.lower_bounds, coco.upper_bounds]),
            outside_allowed=not about.enforced,
        )
        self._set(
            function=name,
            name=f"{name} i{instance} {dimension}-D",
            group=next(group for group, members in about.groups.items() if function in members),
            space=FreeSpace(box, np.arange(dimension) < count if count else None),
            optimum=optimum,
            vectorized=False,
            x0=np.array(coco.initial_solution) if coco.number_of_constraints else None,
        )

    @cached_property
    def _coco(self) -> _CocoProblem:
        return _coco_problem(self.suite, (self.number, self.dimension, self.instance))

    @property
    def fun(self) -> _CocoProblem:  # type: ignore[override]
        """Return COCO's function."""
        return self._coco

    @property
    def true(self) -> Callable[[FloatArray], float] | None:  # type: ignore[override]
        """Return the function without noise, None if there is none."""
        return self._noiseless if self.suite == "bbob-noisy" else None

    def _noiseless(self, x: FloatArray) -> float:
        """Return the value without noise, by that of the same function with Cauchy noise."""
        values = sorted(self._cauchy(x) for _ in range(_CAUCHY_VALUES))
        return float(values[_CAUCHY_VALUES // 2]) - _cauchy_constant(self.number)

    @cached_property
    def _cauchy(self) -> _CocoProblem:
        number = self.number + 2 - (self.number - SUITES[self.suite].first) % 3
        return _coco_problem(self.suite, (number, self.dimension, self.instance))

    @property
    def constraints(self) -> object:  # type: ignore[override]
        """Return COCO's constraints, None if there are none."""
        if not self._coco.number_of_constraints:
            return None
        return SimpleNamespace(fun=self._coco.constraint, lb=-np.inf, ub=0.0)

    @property
    def title(self) -> str:
        """Return a description of the problem."""
        described = f"{self.function} {SUITES[self.suite].titles[self.function]}"
        return f"{described}, {self.dimension}-D, instance {self.instance}"

    @property
    def key(self) -> tuple[str, int, int, int]:
        """Return suite, function, dimension and instance."""
        return self.suite, self.number, self.dimension, self.instance

    def renewed(self) -> "CocoProblem":
        """Return the problem with its noise as at the start."""
        duplicate = self._with()
        vars(duplicate).pop("_coco", None)
        return duplicate

    def __reduce_ex__(
        self, protocol: SupportsIndex
    ) -> tuple[Callable[..., "CocoProblem"], tuple[str, int, int, int, float | None]]:
        # COCO's objects cannot be pickled; a worker builds each problem once.
        return _problem, (*self.key, self.optimum)


@cache
def _problem(
    suite: str, function: int, dimension: int, instance: int, optimum: float
) -> CocoProblem:
    """Return a problem, which is built only once."""
    return CocoProblem(suite, function, dimension, instance, optimum)


def _cauchy_constant(function: int) -> float:
    """Return what Cauchy noise adds to most values of a function and those it shares noise with."""
    return (
        _MODERATE if function in SUITES["bbob-noisy"].groups["moderate noise"] else _SEVERE
    ) + _ADDED


def _coco_problem(suite: str, key: Key) -> _CocoProblem:
    """Return COCO's object for a problem."""
    function, dimension, instance = key
    cocoex = optional("cocoex", f"the suite {suite}")
    index = function - SUITES[suite].first + 1
    chosen = cocoex.Suite(
        suite, f"instances:{instance}", f"dimensions:{dimension} function_indices:{index}"
    )
    problem: _CocoProblem = chosen.get_problem_by_function_dimension_instance(*key)
    return problem


def coco_suite(
    name: str,
    *,
    dimension: int | None = None,
    functions: str | Iterable[int] | None = None,
    instances: str | Iterable[int] = "1-15",
) -> Suite:
    """Return a suite of COCO, or a part of it.

    Parameters
    ----------
    name : str
        "bbob-constrained", "bbob-mixint", "bbob-largescale" or "bbob-noisy".
    dimension : int, optional
        One of COCO's dimensions; by default 20, of "bbob-largescale" 80.
    functions : str or iterable of int, optional
        Numbers, or a string such as "1-5,8"; by default all.
    instances : str or iterable of int
        Numbers from 1 to 1000, likewise.

    Returns
    -------
    Suite

    Raises
    ------
    InvalidParameter
        If the dimension, the functions or the instances do not exist.

    Examples
    --------
    >>> from uaos.problems.coco import coco_suite
    >>> suite = coco_suite("bbob-mixint", dimension=5, functions="1", instances="1-2")
    >>> suite.names
    ('f1 i1 5-D', 'f1 i2 5-D')
    """
    about = SUITES[name]
    require("cocoex", f"the suite {name}")
    chosen = about.dimension if dimension is None else dimension
    chosen = bbob.check_dimension(chosen, name, about.dimensions)
    first, last = about.functions[0], about.functions[-1]
    numbers = bbob.parse_numbers("functions", functions or f"{first}-{last}", first, last)
    if isinstance(instances, str) and not instances[:1].isdigit():
        raise InvalidParameter(
            f'instances is {shortened(instances)}; expected numbers from 1 to 1000 such as "1-5,8"',
            name="instances", value=instances, owner=name,
        )  # fmt: skip
    chosen_instances = bbob.parse_numbers("instances", instances, 1, 1000)
    return suite_of(name, [(f, chosen, i) for f in numbers for i in chosen_instances])


def suite_of(name: str, keys: Sequence[Key]) -> Suite:
    """Return the suite of these problems."""
    optima = _optima(name, tuple(keys))
    return Suite(name, (_problem(name, *key, optima[key]) for key in keys))


# COCO does not return the optimum of these suites, but writes it to a file in the working folder:
# a process of its own does this in a folder of its own.
_SCRIPT = """
import json, sys
import cocoex
import numpy as np

name, first, keys = json.load(sys.stdin)
values = []
for function, dimension, instance in keys:
    index = function - first + 1
    suite = cocoex.Suite(
        name, f"instances:{instance}", f"dimensions:{dimension} function_indices:{index}"
    )
    problem = suite.get_problem_by_function_dimension_instance(function, dimension, instance)
    problem._best_parameter("print")
    values.append(float(problem(np.loadtxt("._bbob_problem_best_parameter.txt", ndmin=1))))
json.dump(values, sys.stdout)
"""


@cache
def _optima(name: str, keys: tuple[Key, ...]) -> dict[Key, float]:
    """Return the optimal values of problems."""
    with tempfile.TemporaryDirectory() as folder:
        finished = subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            input=json.dumps([name, SUITES[name].first, keys]),
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if finished.returncode != 0:
        reason = finished.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise UaosError(f"COCO has no optima of {name}: {reason[0]}")
    values = json.loads(finished.stdout)
    if name == "bbob-noisy":  # what noise adds at the optimum; optima have two decimals
        cauchy = [(key[0] - SUITES[name].first) % 3 == 2 for key in keys]
        added = [
            _cauchy_constant(key[0]) if c else _ADDED for key, c in zip(keys, cauchy, strict=True)
        ]
        values = [round(value - more, 2) for value, more in zip(values, added, strict=True)]
    return dict(zip(keys, values, strict=True))


#: The functions that return the suites, by name.
MAKERS: Mapping[str, Callable[..., Suite]] = {name: partial(coco_suite, name) for name in SUITES}
