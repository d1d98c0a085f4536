"""A user's functions of named variables, called with points."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from uaos.arrays import FloatArray
from uaos.errors import InvalidParameter, shortened
from uaos.problems.variables import Space


@dataclass(frozen=True)
class ByName:
    """Function of points that calls a function of dicts.

    Parameters
    ----------
    fun : callable
        A function of a dict of the active variables; if `vectorized`, of a list of dicts.
    space : Space
        The variables.
    vectorized : bool
        Whether points are the rows of an array.
    """

    fun: Callable[..., object]
    space: Space
    vectorized: bool = False

    @property
    def __wrapped__(self) -> Callable[..., object]:
        """Function that is called."""
        return self.fun

    def __call__(self, x: FloatArray, *args: object) -> object:
        """Return the value of a point, or the values of several."""
        try:
            return self.fun(self.space.decode(x), *args)
        except KeyError as error:
            name = error.args[0] if error.args else None
            if name in self.space.names:
                error.add_note(
                    f"{name} does not exist at this point, as its condition does not hold; use "
                    f"get({name!r})"
                )
            raise

    @property
    def __name__(self) -> str:
        """Name of the function."""
        return getattr(self.fun, "__name__", "<lambda>")


@dataclass(frozen=True)
class _Limited:
    """Constraint as SciPy's NonlinearConstraint: lb <= fun(x) <= ub."""

    fun: Callable[..., object]
    lb: ArrayLike
    ub: ArrayLike


def constraints_by_name(constraints: object, space: Space, vectorized: bool) -> object:
    """Return constraints on dicts as constraints on points.

    Raises
    ------
    InvalidParameter
        If one is not a function: a matrix or bounds have no names.
    """
    if constraints is None:
        return None
    if isinstance(constraints, Sequence) and not isinstance(constraints, str):
        return [constraints_by_name(each, space, vectorized) for each in constraints]
    if isinstance(constraints, Mapping):
        return {**constraints, "fun": ByName(constraints["fun"], space, vectorized)}
    fun = getattr(constraints, "fun", None)
    if fun is None or hasattr(constraints, "A"):
        raise InvalidParameter(
            f"constraints has {shortened(constraints)}; with named variables each constraint is a "
            "function of a dict: {'type': 'ineq', 'fun': g} for g(x) >= 0, or a "
            "NonlinearConstraint",
            name="constraints", value=constraints,
        )  # fmt: skip
    lb, ub = constraints.lb, constraints.ub  # type: ignore[attr-defined]
    return _Limited(ByName(fun, space, vectorized), lb, ub)
