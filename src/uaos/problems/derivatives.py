"""Gradients of objectives, as users define them."""

import threading
from collections.abc import Callable, Sequence

from numpy.typing import ArrayLike

from uaos.arrays import FloatArray, detached
from uaos.checks import feedback_numbers
from uaos.errors import InvalidFeedback, InvalidParameter, shortened

#: A gradient: a function of a point, or True if the objective returns (value, gradient).
GradientLike = Callable[..., ArrayLike] | bool | None


class ValueAndGradient:
    """Objective that returns a pair, split in two: calling it returns the value.

    Each thread remembers the gradient at its last point, so that asking for it there costs no call.

    Parameters
    ----------
    function : callable
        Returns a value and a gradient.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = self.__wrapped__ = function
        self._last: dict[int, tuple[bytes, ArrayLike]] = {}  # by thread

    def __call__(self, x: FloatArray) -> object:
        """Return the value."""
        key = x.tobytes()
        returned = self._function(x)
        if not (isinstance(returned, Sequence) and len(returned) == 2):
            raise InvalidFeedback(
                f"fun returned {shortened(returned, 100)}; expected (value, gradient), as jac is "
                "True"
            )
        value, gradient = returned
        self._last[threading.get_ident()] = key, detached(gradient)
        return value

    def gradient(self, x: FloatArray) -> ArrayLike:
        """Return the gradient."""
        key, thread = x.tobytes(), threading.get_ident()
        if thread not in self._last or self._last[thread][0] != key:
            self(x)
        return self._last[thread][1]


def split_gradient(
    fun: Callable[..., object], jac: GradientLike, vectorized: bool
) -> tuple[Callable[..., object], Callable[..., ArrayLike] | None]:
    """Return the objective and its gradient, or None.

    Raises
    ------
    InvalidParameter
        If `jac` is neither a function, True, False nor None, or True for a vectorized function.
    """
    if jac is None or jac is False:
        return fun, None
    if jac is True and not vectorized:
        both = ValueAndGradient(fun)
        return both, both.gradient
    if jac is True or not callable(jac):
        expected = "a function of a point that returns the gradient"
        expected += "" if vectorized else ", or True if fun returns (value, gradient)"
        expected += "; omit it for finite differences" if isinstance(jac, str) else ""
        raise InvalidParameter(
            f"jac is {shortened(jac)}; expected {expected}", name="jac", value=jac
        )
    return fun, jac


def checked_gradients(returned: object, n: int, dimension: int) -> FloatArray:
    """Return gradients as an array (n, D).

    Raises
    ------
    InvalidFeedback
        If they are not n times D real numbers.
    """
    gradients = feedback_numbers(returned, "jac returned")
    if gradients.size != n * dimension:
        raise InvalidFeedback(
            f"jac returned shape {gradients.shape[1:]}; expected ({dimension},), one derivative "
            "for each coordinate"
        )
    return gradients.reshape(n, dimension)
