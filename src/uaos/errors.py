"""Exceptions.

Every error of this package is a :class:`UaosError`. It carries what was wrong as attributes, so
that a program can act on it; its message says what is wrong, what is expected and what to do.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

# Largest number of names in a message.
_MAX_LISTED = 40
#: Largest number of characters of a value in a message.
LONGEST = 250


class UaosError(Exception):
    """Base class of all errors that uaos raises."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is unpickled with its message as the only argument, which fails in
        # the parent of a worker process if the class takes others.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[UaosError], args: tuple[Any, ...], attributes: dict[str, Any]
) -> UaosError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class InvalidParameter(UaosError, ValueError):
    """A parameter's value is outside what its declaration allows.

    Parameters
    ----------
    message : str
        What is wrong, what is expected, and what to do.
    name : str
        The parameter.
    value : object
        Its value.
    owner : str
        The object that declares the parameter.
    """

    def __init__(self, message: str, *, name: str, value: object, owner: str = "") -> None:
        self.name, self.value, self.owner = name, value, owner
        super().__init__(message)


class Missing(UaosError, ValueError):
    """Something required is missing; the message says what."""


class UnknownName(UaosError, LookupError, ValueError):
    """A name does not exist; the message lists similar names, or all that exist if they are few.

    Parameters
    ----------
    kind : str
        What the name refers to, such as "method".
    name : object
        The name that does not exist.
    known : iterable of str
        The names that exist.
    hint : str
        Added to the message.

    Attributes
    ----------
    near : tuple of str
        Known names that are similar.
    """

    def __init__(self, kind: str, name: object, known: Iterable[str], *, hint: str = "") -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        folded = {_folded(k): k for k in self.known}
        # The time to look for similar names grows with the square of their length.
        folded_name = _folded(name[:LONGEST]) if isinstance(name, str) else ""
        near = (
            [folded_name]
            if folded_name in folded
            else get_close_matches(folded_name, folded, n=3, cutoff=0.55)
        )
        self.near = tuple(folded[match] for match in near)
        if self.near:
            *most, last = map(repr, self.near)
            advice = f"did you mean {', '.join(most)}{' or ' if most else ''}{last}?"
        elif len(self.known) > _MAX_LISTED:
            advice = f"none of the {len(self.known)} known names is similar"
        elif self.known:
            advice = "known: " + ", ".join(self.known)
        else:
            advice = f"there is no {kind} to choose from"
        super().__init__(
            f"unknown {kind} {shortened(name)}; {advice}" + (f" {hint}" if hint else "")
        )


def _folded(name: str) -> str:
    """Return a name without case, spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]", "", name.casefold())


class InvalidComponent(UaosError, TypeError):
    """A class cannot join a component family; the message says what it lacks."""


class NameClash(UaosError, ValueError):
    """A name is already taken in its family or catalogue."""


class InvalidFeedback(UaosError, ValueError, RuntimeError):
    """Feedback to a selector or optimizer is invalid; its state has not changed.

    It is also a RuntimeError, as SciPy raises if a function returns anything but a number.
    """


class InvalidFile(UaosError, ValueError):
    """A file is corrupt, has another format, or was written by a newer version."""


def shortened(value: object, longest: int = LONGEST) -> str:
    """Return the representation of a value for a message.

    It is one line without memory addresses, cut if it is very long.
    """
    try:
        text = re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(value).splitlines()))
    except Exception:  # an integer with thousands of digits, or an error in the user's code
        return f"<{type(value).__name__} that cannot be shown>"
    return text if len(text) <= longest else f"{text[:longest]}…"


def in_one_line(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
