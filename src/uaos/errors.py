"""What can go wrong, by name.

Every error of this package is a :class:`UaosError`. Each carries the offending thing as attributes,
so that a program can act on it, and prints what was wrong, what is allowed and what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class UaosError(Exception):
    """Base of every error that uaos raises on purpose."""


class InvalidParameter(UaosError, ValueError):
    """A parameter's value is outside what its declaration allows."""

    def __init__(self, name: str, value: object, allowed: str, *, owner: str = "") -> None:
        self.name = name
        self.value = value
        self.allowed = allowed
        self.owner = owner
        of = f" of {owner}" if owner else ""
        super().__init__(f"{name}{of} is {value!r}; allowed: {allowed}")


class Missing(UaosError, ValueError):
    """Something that is needed was not given, or is not there; the message says what."""


class UnknownName(UaosError, LookupError):
    """A name that is not there; the message lists the near misses, or all that exist."""

    def __init__(self, kind: str, name: object, known: Iterable[str], *, hint: str = "") -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        self.near = near_misses(str(name), self.known)
        if self.near:
            advice = "did you mean " + " or ".join(repr(n) for n in self.near) + "?"
        elif self.known:
            advice = "known: " + ", ".join(self.known)
        else:
            advice = f"there is no {kind} to choose from"
        super().__init__(f"unknown {kind} {name!r}; {advice}" + (f" {hint}" if hint else ""))


class InvalidComponent(UaosError, TypeError):
    """A class cannot join a component family; the message says what it lacks."""


class NameClash(UaosError, ValueError):
    """A name is already taken in its family or catalogue."""


class InvalidFeedback(UaosError, ValueError):
    """What was reported to a selector or optimiser does not fit; it was left as it was."""


class InvalidFile(UaosError, ValueError):
    """A saved file is corrupt, foreign, or written by a newer version."""


def near_misses(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The up to three known names closest to `name`, upper and lower case taken as equal."""
    folded = {k.casefold(): k for k in known}
    return tuple(folded[m] for m in get_close_matches(name.casefold(), folded, n=3, cutoff=0.55))
