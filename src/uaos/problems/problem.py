"""Problems to minimize, and suites of problems to compare optimizers on."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import ModuleType
from typing import TYPE_CHECKING, Self, SupportsIndex, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import BoolArray, FloatArray, detached
from uaos.checks import as_float, printable_name, real_numbers, true_or_false
from uaos.errors import InvalidFeedback, InvalidParameter, NameClash, UnknownName, shortened
from uaos.loading import module_source, source_hash
from uaos.problems.constraints import as_constraints
from uaos.problems.derivatives import GradientLike, split_gradient
from uaos.problems.named import ByName, constraints_by_name
from uaos.problems.space import BoundsLike, FreeSpace

if TYPE_CHECKING:
    from uaos.problems.references import Reference

#: The name of a problem that was made from arguments, not for a suite.
ANONYMOUS = "fun"


class Problem:
    """A function to minimize over a box; its attributes cannot be changed.

    Parameters
    ----------
    fun : callable
        The function. It gets one point, an array of length D, and returns a number; with
        `vectorized` it gets several, an array (n, D), and returns n numbers. With named variables
        it gets a dict instead of an array, or a list of dicts.
    bounds : array_like of shape (D, 2), Box, :class:`uaos.Space`, or a mapping of names
        The box to search, as pairs (low, high), or named variables. Points outside are not
        evaluated, unless a :class:`uaos.Box` allows it.
    name : str, optional
        Unique within a suite; by default the name of `fun`.
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
        Whether `fun` and the functions of constraints evaluate several points at once.
    constraints : NonlinearConstraint, LinearConstraint, Bounds, dict, or a sequence of these
        As in scipy.optimize. Values of infeasible points do not count. With named variables each is
        a function of a dict.
    integrality : array_like of bool, optional
        Which coordinates are integers; one value stands for all.
    true : callable, optional
        The function without noise, called like `fun`, if `fun` is noisy and this is known.
        Benchmarks then judge the points that a method recommends by their true values; `optimum`
        is the smallest of those.
    x0 : array_like, optional
        The default starting point of runs; needed for infinite bounds.
    jac : callable or bool, optional
        The gradient, a function of a point that returns D numbers (with `vectorized` of many points
        that returns (n, D)), or True if `fun` returns a pair (value, gradient).

    Attributes
    ----------
    fun, true : callable
        The function, and the one without noise or None.
    space : FreeSpace
        Bounds and integer coordinates.
    dimension : int
    low, high : array, shape (D,)
    integrality : array of bool, shape (D,)
        Which free coordinates are integers.
    outside_allowed : bool
        Whether methods may evaluate points outside the bounds.
    instance : int or None
        The number of the instance in suites that number them.
    key : tuple
        Identity from which the seeds of runs are derived.
    held_out : bool
        Whether the problem is for final comparisons only; a tuner does not train on it.

    Raises
    ------
    InvalidParameter
        If `fun` is not a function, a name is missing, or bounds or optimum are not valid numbers.

    Examples
    --------
    >>> import uaos
    >>> problem = uaos.Problem(lambda x: (x**2).sum(), [(-5, 5)] * 3, name="sphere", optimum=0.0)
    >>> problem([1.0, 2.0, 3.0])
    14.0
    """

    name: str
    function: str
    group: str | None
    space: FreeSpace
    optimum: float | None
    vectorized: bool
    constraints: object
    fun: Callable[..., object]
    true: Callable[..., object] | None = None
    jac: Callable[..., ArrayLike] | None = None
    instance: int | None = None
    x0: ArrayLike | None = None
    held_out: bool = False
    _module: str | None = None  # that of the suite file, if the problem came from one

    def __init__(
        self,
        fun: Callable[..., object],
        bounds: BoundsLike,
        *,
        name: str | None = None,
        optimum: float | None = None,
        function: str | None = None,
        group: str | None = None,
        vectorized: bool = False,
        constraints: object = None,
        integrality: ArrayLike | None = None,
        true: Callable[..., object] | None = None,
        x0: ArrayLike | None = None,
        jac: GradientLike = None,
    ) -> None:
        _check_functions(fun, true)
        label = _name_of(fun) if name is None else printable_name(name, "name")
        as_constraints(constraints)  # which checks them
        space = FreeSpace(bounds, integrality)
        vectorized = true_or_false(vectorized, "vectorized")
        fun, gradient = split_gradient(fun, jac, vectorized)
        if space.names is not None:
            if gradient is not None:
                raise InvalidParameter(
                    "jac is for functions of an array; omit it with named variables",
                    name="jac", value=jac,
                )  # fmt: skip
            fun = ByName(fun, space.names, vectorized)
            true = None if true is None else ByName(true, space.names, vectorized)
            constraints = constraints_by_name(constraints, space.names, vectorized)
        self._set(
            name=label,
            function=label if function is None else printable_name(function, "function"),
            group=None if group is None else printable_name(group, "group"),
            space=space,
            optimum=_optimum(optimum),
            vectorized=vectorized,
            constraints=constraints,
            x0=x0,
            fun=fun,
            true=true,
            jac=gradient,
        )

    def _set(self, **attributes: object) -> None:
        """Set attributes, which is possible only here."""
        vars(self).update(attributes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a problem cannot be changed: {name} is fixed when {self.name!r} is made; make "
            "another problem"
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a problem cannot be changed: {name} cannot be deleted")

    def _with(self, **attributes: object) -> Self:
        """Return a copy with other attributes."""
        duplicate = object.__new__(type(self))
        duplicate._set(**{**vars(self), **attributes})
        return duplicate

    def renewed(self) -> "Problem":
        """Return the problem as at the start of a run, for functions that have a state."""
        return self

    @property
    def low(self) -> FloatArray:
        """Lower bounds."""
        return self.space.low

    @property
    def high(self) -> FloatArray:
        """Upper bounds."""
        return self.space.high

    @property
    def outside_allowed(self) -> bool:
        """True if points outside the bounds may be evaluated."""
        return self.space.outside_allowed

    @property
    def constrained(self) -> bool:
        """True if there are constraints."""
        return bool(as_constraints(self.constraints))

    @property
    def integrality(self) -> BoolArray:
        """Mask of the coordinates that are integers or numbers of categories, shape (D,)."""
        chosen = np.zeros(self.dimension, bool)
        if self.space.integrality is not None:
            chosen[self.space.free] = self.space.integrality > 0
        return chosen

    @property
    def bounds(self) -> FloatArray:
        """Box as pairs (low, high), shape (D, 2)."""
        return np.column_stack([self.low, self.high])

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return len(self.low)

    @property
    def key(self) -> tuple[object, ...]:
        """Identity from which the seeds of runs are derived."""
        return (self.name,)

    @property
    def title(self) -> str:
        """Description of the problem."""
        return f"{self.name}, {self.dimension}-D"

    def __call__(self, x: ArrayLike | Mapping[str, object]) -> float:
        """Return the value at one point."""
        if isinstance(x, Mapping) and self.space.names is not None:
            x = self.space.names.encode(x, "x")
        point = np.asarray(x, float)
        if point.shape != (self.dimension,):
            raise InvalidParameter(
                f"x has shape {point.shape}; {self.name} expects a point of length "
                f"{self.dimension}",
                name="x", value=x, owner=self.name,
            )  # fmt: skip
        return float(self.evaluate(point[None])[0])

    def evaluate(self, points: FloatArray) -> FloatArray:
        """Return the values at several points, (n, D), in their order; NaN where there is none."""
        return self._evaluate(self.fun, points)

    def true_values(self, points: FloatArray) -> FloatArray:
        """Return the values without noise, those of `true`, or of `fun` if there is no `true`."""
        return self._evaluate(self.fun if self.true is None else self.true, points)

    def _evaluate(self, fun: Callable[..., object], points: FloatArray) -> FloatArray:
        copies = points.copy()
        returned = fun(copies) if self.vectorized else [detached(fun(x)) for x in copies]
        return self.values(returned, len(points), strict=True)

    def residuals(self, returned: object, n: int) -> FloatArray | None:
        """Return what the function returned as residuals, (n, R); None if it returns values."""
        return None

    def values(self, returned: object, n: int, *, strict: bool) -> FloatArray:
        """Return what the function returned for n points as n numbers.

        Parameters
        ----------
        returned : array_like or list
            An array if the function is vectorized, otherwise a list of n values.
        n : int
            The number of points.
        strict : bool
            Whether to refuse None, which otherwise counts as a failed evaluation.

        Raises
        ------
        InvalidFeedback
            If they are not n real numbers.
        """
        owner = "" if self.name == ANONYMOUS else f"{self.name}: "
        try:
            if strict and isinstance(returned, list) and any(v is None for v in returned):
                raise TypeError("a value is None")
            array = real_numbers(returned)
        except (TypeError, ValueError) as error:
            if not self.vectorized and isinstance(returned, list):
                _check_each(returned, owner)
            raise InvalidFeedback(
                f"{owner}fun returned {shortened(returned, 200)}; expected a real number for each "
                f"point, but {error}"
            ) from None
        if array.size == n:  # some functions return arrays of length one
            return array.reshape(n)
        expected = f"{owner}fun must return one number for each point"
        if self.vectorized:
            raise InvalidFeedback(
                f"{expected}, shape {(n,)}; it returned shape {array.shape}. With vectorized=True "
                "it takes points as the rows of an array, (n, D)"
            )
        raise InvalidFeedback(f"{expected}; it returned shape {array.shape[1:]}")

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        # Functions of a suite file cannot be pickled; workers load the file instead.
        if self._module is not None:
            return _from_module, (self._module, self.name)
        return super().__reduce_ex__(protocol)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        optimum = "" if self.optimum is None else f", optimum {self.optimum:g}"
        return f"{type(self).__name__}({self.name!r}, {self.dimension}-D{optimum})"


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
        If there are no problems, or one of them is not a Problem.
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
        self.name = printable_name(name, "name")
        self.reference: Reference | None = None
        self.file = self.source = self.hash = ""
        by_name: dict[str, Problem] = {}
        for problem in problems:
            if not isinstance(problem, Problem):
                raise InvalidParameter(
                    f"the suite {name} has {shortened(problem)} among its problems; expected "
                    "uaos.Problem objects",
                    name="problems", value=problem, owner=name,
                )  # fmt: skip
            if problem.name in by_name:
                raise NameClash(f"two problems of {name} are called {problem.name!r}; rename one")
            grouped = problem if problem.group is not None else problem._with(group=self.name)
            by_name[problem.name] = grouped
        if not by_name:
            raise InvalidParameter(
                f"the suite {name} is empty; expected at least one problem",
                name="problems", value=[], owner=name,
            )  # fmt: skip
        self._keep(by_name.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the problems."""
        return tuple(self._by_name)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Dimensions of the problems, ascending."""
        return tuple(sorted({p.dimension for p in self}))

    def select(self, names: Iterable[str]) -> "Suite":
        """Return the suite with the problems of these names only, in its own order."""
        selected = {self[name].name for name in names}
        return self._part(p for p in self if p.name in selected)

    def split(self, train: float | Iterable[str] = 0.5, *, seed: int = 1) -> "tuple[Suite, Suite]":
        """Divide the suite into problems to train on and problems to test on.

        `train` is the share of the problems to train on, drawn at random with `seed`, or their
        names.
        """
        if len(self) < 2:
            raise InvalidParameter(
                f"the suite {self.name} has one problem; two or more can be split",
                name="suite", value=self.name,
            )  # fmt: skip
        if isinstance(train, float):
            if not 0 < train < 1:
                raise InvalidParameter(
                    f"train is {train}; expected a share between 0 and 1, or names",
                    name="train", value=train,
                )  # fmt: skip
            count = min(max(round(train * len(self)), 1), len(self) - 1)
            drawn = np.random.default_rng(seed).permutation(len(self))[:count]
            chosen = {self._problems[i].name for i in drawn}
        else:
            chosen = {self[name].name for name in train}
            if not 0 < len(chosen) < len(self):
                raise InvalidParameter(
                    f"train has {len(chosen)} of {len(self)} problems; expected some, but not all",
                    name="train", value=sorted(chosen),
                )  # fmt: skip
        rest = (p for p in self if p.name not in chosen)
        return self.select(chosen), self._part(rest)

    def _part(self, problems: Iterable[Problem]) -> "Suite":
        part = Suite(self.name, problems)
        part.reference, part.file = self.reference, self.file
        part.source, part.hash = self.source, self.hash
        return part

    def locate(self, file: str, source: str, module: str) -> None:
        """Note the file that defines the suite, from which worker processes take its problems."""
        self.file, self.source, self.hash = file, source, source_hash(source)
        self._keep(p._with(_module=module) if type(p) is Problem else p for p in self)

    def _keep(self, problems: Iterable[Problem]) -> None:
        self._by_name = {problem.name: problem for problem in problems}
        self._problems = tuple(self._by_name.values())

    @overload
    def __getitem__(self, key: int | str) -> Problem: ...
    @overload
    def __getitem__(self, key: slice) -> "Sequence[Problem]": ...
    def __getitem__(self, key: int | str | slice) -> "Problem | Sequence[Problem]":
        """Return a problem by its position or its name."""
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


def suite_in(module: ModuleType) -> Suite:
    """Return the suite that a module defines: `suite`, or its problems under the file's name."""
    file, source = module_source(module.__name__)
    suite = getattr(module, "suite", None)
    if not isinstance(suite, Suite):
        problems = {id(p): p for p in vars(module).values() if isinstance(p, Problem)}
        if not problems:
            raise InvalidParameter(
                f"{file} defines no problems; expected suite = uaos.Suite(...) or objects of "
                "uaos.Problem",
                name="suite", value=file,
            )  # fmt: skip
        suite = Suite(PurePath(file).stem, problems.values())
        vars(module)["suite"] = suite
    if not suite.hash:
        suite.locate(file, source, module.__name__)
    return suite


def _from_module(module: str, name: str) -> Problem:
    return suite_in(sys.modules[module])[name]


def integer_in(name: str, value: object, low: int, high: int, owner: str = "") -> int:
    """Return the value as an integer, if it is one between `low` and `high`."""
    number = as_float(value)
    if low <= number <= high and number.is_integer():
        return int(cast(float, value))  # exact, where a float would not be
    parameter = f"{name} of {owner}" if owner else name
    raise InvalidParameter(
        f"{parameter} is {shortened(value)}; expected an integer from {low} to {high}",
        name=name, value=value, owner=owner,
    )  # fmt: skip


def _check_each(values: list[object], owner: str) -> None:
    """Raise an error that names the first value that is not a real number, if there is one."""
    for value in values:
        try:
            real_numbers(value)
        except (TypeError, ValueError):
            raise InvalidFeedback(
                f"{owner}fun returned {shortened(value, 200)}, a {type(value).__name__}; "
                "expected a real number"
            ) from None


def _check_functions(fun: object, true: object) -> None:
    """Raise an error if the function, or the one without noise, cannot be called."""
    for argument, function_of_point in (("fun", fun), ("true", true)):
        if not callable(function_of_point) and (argument, function_of_point) != ("true", None):
            raise InvalidParameter(
                f"{argument} is {shortened(function_of_point)}; expected a function of a point, "
                "or with vectorized=True of many",
                name=argument, value=function_of_point,
            )  # fmt: skip


def _name_of(fun: object) -> str:
    """Return the name of a function; raise an error if it has none."""
    name = getattr(fun, "__name__", "<lambda>")
    if name == "<lambda>":
        raise InvalidParameter(
            "the function has no name; give the problem one: name=…", name="name", value=None
        )
    return printable_name(name, "name")


def _optimum(value: object) -> float | None:
    if value is None:
        return None
    if np.isfinite(number := as_float(value)):
        return number
    raise InvalidParameter(
        f"optimum is {shortened(value)}; expected a finite number, or None if it is not known",
        name="optimum", value=value,
    )  # fmt: skip
