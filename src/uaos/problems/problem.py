"""Problems and suites: what optimizers are compared on."""

import numbers
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uaos.checks import as_float
from uaos.errors import InvalidFeedback, InvalidParameter, NameClash, UnknownName
from uaos.loading import module_source, source_hash
from uaos.problems.space import box

if TYPE_CHECKING:
    from uaos.problems.references import Reference

Array = NDArray[np.float64]


class Problem:
    """A function to minimize over a box.

    Parameters
    ----------
    fun : callable
        The function. It gets one point, an array of length D, and returns a number; with
        `vectorized` it gets several, an array (n, D), and returns n numbers.
    bounds : array_like, shape (D, 2)
        The box to search, as pairs (low, high).
    name : str, optional
        Unique within a suite; the name of `fun` unless given.
    optimum : float, optional
        The smallest value of the function, if it is known. Runs then end when they are within
        1e-8 of it. Without it they end with their budget and are compared with the best value that
        any run found.
    function : str, optional
        Problems with the same `function` are instances of it and are pooled in tables and figures.
        Default: `name`.
    group : str, optional
        Functions of a group are summarized together. Default: the name of the suite.
    vectorized : bool
        Whether `fun` evaluates several points at once.

    Attributes
    ----------
    dimension : int
    low, high : array, shape (D,)
    instance : int or None
        The number of the instance in suites that number them.
    key : tuple
        What seeds of runs are derived from.
    held_out : bool
        Whether the problem is for final comparisons only; a tuner does not train on it.

    Raises
    ------
    InvalidParameter
        If `fun` is no function, a name is missing, or bounds or optimum are no finite numbers.

    Examples
    --------
    >>> import uaos
    >>> problem = uaos.Problem(lambda x: (x**2).sum(), [(-5, 5)] * 3, name="sphere", optimum=0.0)
    >>> problem([1.0, 2.0, 3.0])
    14.0
    """

    instance: int | None = None
    held_out: bool = False

    def __init__(
        self,
        fun: Callable[[Any], Any],
        bounds: ArrayLike,
        *,
        name: str | None = None,
        optimum: float | None = None,
        function: str | None = None,
        group: str | None = None,
        vectorized: bool = False,
    ) -> None:
        if not callable(fun):
            raise InvalidParameter("fun", fun, "a function of a point")
        if name is None:
            name = getattr(fun, "__name__", "<lambda>")
            if name == "<lambda>":
                raise InvalidParameter("name", None, "a name, as the function has none")
        self.name = _label("name", name)
        self.function = self.name if function is None else _label("function", function)
        self.group = None if group is None else _label("group", group)
        self.low, self.high = box(bounds)
        self.optimum = _optimum(optimum)
        self.vectorized = bool(vectorized)
        self._fun = fun
        self._module: str | None = None  # the suite file's, if it came from one

    @property
    def bounds(self) -> Array:
        """The box as pairs (low, high), shape (D, 2)."""
        return np.column_stack([self.low, self.high])

    @property
    def dimension(self) -> int:
        """The number of variables."""
        return len(self.low)

    @property
    def key(self) -> tuple[Any, ...]:
        """What seeds of runs are derived from."""
        return (self.name,)

    @property
    def title(self) -> str:
        """The problem in words."""
        return f"{self.name}, {self.dimension}-D"

    def __call__(self, x: ArrayLike) -> float:
        """The value at one point."""
        point = np.asarray(x, float)
        if point.shape != (self.dimension,):
            raise InvalidParameter(
                "x", f"an array of shape {point.shape}", f"a point of length {self.dimension}",
                owner=self.name,
            )  # fmt: skip
        return float(self.evaluate(point[None])[0])

    def evaluate(self, points: Array) -> Array:
        """The values at several points, (n, D), in their order; NaN where there is none."""
        fun = self._fun
        returned = fun(points) if self.vectorized else [fun(x) for x in points]
        try:
            values = _real(returned)
        except (TypeError, ValueError) as error:
            raise InvalidFeedback(
                f"{self.name}: {error}; the function must return "
                + ("one number for each point" if self.vectorized else "a number")
            ) from error
        if values.shape != (len(points),):
            if not self.vectorized and values.size == len(points):
                return values.reshape(len(points))  # arrays of one number
            raise InvalidFeedback(
                f"{self.name}: the values have shape {values.shape}; expected {(len(points),)}, "
                + ("one number for each point" if self.vectorized else "one number for a point")
            )
        return values

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Functions of a suite file cannot be pickled; a worker that has loaded it has them, too.
        if self._module is not None:
            return _from_module, (self._module, self.name)
        return super().__reduce_ex__(protocol)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        known = "" if self.optimum is None else f", optimum {self.optimum:g}"
        return f"{type(self).__name__}({self.name!r}, {self.dimension}-D{known})"


class Suite(Sequence[Problem]):
    """A named sequence of problems with unique names.

    Parameters
    ----------
    name : str
    problems : iterable of Problem

    Attributes
    ----------
    name : str
    names : tuple of str
        The names of the problems.
    reference : Reference or None
        Published running times, if there are any for this suite.
    file, source, hash : str
        Where the suite was loaded from, and its content; empty for other suites.

    Raises
    ------
    InvalidParameter
        If there is no problem, or something else among them.
    NameClash
        If two problems have the same name.

    Examples
    --------
    >>> import uaos
    >>> from uaos.problems import sphere, rastrigin
    >>> box = [(-5, 5)] * 2
    >>> suite = uaos.Suite("two", [uaos.Problem(f, box, optimum=0) for f in (sphere, rastrigin)])
    >>> suite.names
    ('sphere', 'rastrigin')
    """

    def __init__(self, name: str, problems: Iterable[Problem]) -> None:
        self.name = _label("name", name)
        self.reference: Reference | None = None
        self.file = self.source = self.hash = ""
        self._by_name: dict[str, Problem] = {}
        for problem in problems:
            if not isinstance(problem, Problem):
                raise InvalidParameter("problems", problem, "objects of uaos.Problem", owner=name)
            if problem.name in self._by_name:
                raise NameClash(f"two problems of {name} are called {problem.name!r}; rename one")
            if problem.group is None:
                problem = _in_group(problem, self.name)
            self._by_name[problem.name] = problem
        if not self._by_name:
            raise InvalidParameter("problems", [], "at least one problem", owner=name)
        self._problems = tuple(self._by_name.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the problems."""
        return tuple(self._by_name)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimensions of the problems, ascending."""
        return tuple(sorted({p.dimension for p in self}))

    def select(self, names: Iterable[str]) -> "Suite":
        """The suite with the problems of these names only, in its own order."""
        wanted = {self[name].name for name in names}
        return self._with(p for p in self if p.name in wanted)

    def split(self, train: float | Iterable[str] = 0.5, *, seed: int = 1) -> "tuple[Suite, Suite]":
        """Divide the suite into problems to train on and problems to test on.

        `train` is the share of the problems to train on, drawn at random with `seed`, or their
        names.
        """
        if len(self) < 2:
            raise InvalidParameter("suite", self.name, "two problems or more to be split")
        if isinstance(train, float):
            if not 0 < train < 1:
                raise InvalidParameter("train", train, "a share between 0 and 1, or names")
            count = min(max(round(train * len(self)), 1), len(self) - 1)
            drawn = np.random.default_rng(seed).permutation(len(self))[:count]
            chosen = {self._problems[i].name for i in drawn}
        else:
            chosen = {self[name].name for name in train}
            if not 0 < len(chosen) < len(self):
                raise InvalidParameter("train", sorted(chosen), "some of the problems, not all")
        rest = (p for p in self if p.name not in chosen)
        return self.select(chosen), self._with(rest)

    def _with(self, problems: Iterable[Problem]) -> "Suite":
        made = Suite(self.name, problems)
        made.reference, made.file = self.reference, self.file
        made.source, made.hash = self.source, self.hash
        return made

    @overload
    def __getitem__(self, key: int | str) -> Problem: ...
    @overload
    def __getitem__(self, key: slice) -> "Sequence[Problem]": ...
    def __getitem__(self, key: int | str | slice) -> "Problem | Sequence[Problem]":
        """A problem by its position or its name."""
        if not isinstance(key, str):
            return self._problems[key]
        if key not in self._by_name:
            raise UnknownName("problem", key, self.names, hint=f"(of the suite {self.name})")
        return self._by_name[key]

    def __len__(self) -> int:
        return len(self._problems)

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._problems)

    def __repr__(self) -> str:
        return f"Suite({self.name!r}, {len(self)} problems)"


def suite_in(module: Any) -> Suite:
    """The suite that a module defines: `suite`, or its problems under the file's name."""
    file, source = module_source(module.__name__)
    found = getattr(module, "suite", None)
    if not isinstance(found, Suite):
        problems = {id(p): p for p in vars(module).values() if isinstance(p, Problem)}
        if not problems:
            raise InvalidParameter(
                "suite", file, "a Python file that defines suite = uaos.Suite(...) or objects of "
                "uaos.Problem",
            )  # fmt: skip
        found = module.suite = Suite(PurePath(file).stem, problems.values())
    if not found.hash:
        found.file, found.source, found.hash = file, source, source_hash(source)
        for problem in found:
            if type(problem) is Problem:
                problem._module = module.__name__
    return found


def _from_module(module: str, name: str) -> Problem:
    return suite_in(sys.modules[module])[name]


def _in_group(problem: Problem, group: str) -> Problem:
    """The same problem, in a group; the user's object stays as it is."""
    made = object.__new__(type(problem))
    made.__dict__.update(problem.__dict__, group=group)
    return made


def _real(values: Any) -> Array:
    raw = np.asarray(values)
    if raw.dtype.kind not in "fiubO":  # strings would be read, and imaginary parts dropped
        raise TypeError(f"a value of type {raw.dtype}")
    if raw.dtype.kind == "O":  # NumPy would make NaN of None
        raw = np.array([float(value) for value in raw.ravel()]).reshape(raw.shape)
    return np.array(raw, np.float64, order="C")


def integer_in(name: str, value: Any, low: int, high: int, owner: str = "") -> int:
    """The value as an integer, if it is one between `low` and `high`."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if real and low <= value <= high and value == int(value):
        return int(value)
    raise InvalidParameter(name, value, f"an integer {low} to {high}", owner=owner)


def _label(what: str, value: object) -> str:
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value
    raise InvalidParameter(what, value, "a string of printable characters")


def _optimum(value: object) -> float | None:
    if value is None:
        return None
    if np.isfinite(number := as_float(value)):
        return number
    raise InvalidParameter("optimum", value, "a finite number, or None if it is not known")
