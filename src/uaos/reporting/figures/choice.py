"""What a figure shows of the results: which methods, and the functions that all of them have."""

import re
from collections.abc import Iterable, Sequence

from uaos.analysis.results import Results
from uaos.errors import InvalidParameter, Missing, UnknownName
from uaos.problems import natural_key


def chosen(results: Results, dimension: int, methods: Sequence[str] | None) -> list[str]:
    """The methods to be shown, which have runs in this dimension.

    Exactly the ones asked for: a figure, unlike a comparison, may leave out uniform choice.
    """
    if not results.runs:
        raise Missing("there are no finished runs to draw")
    if dimension not in results.dimensions:
        allowed = f"one of those in the results: {', '.join(map(str, results.dimensions))}"
        raise InvalidParameter("dimension", dimension, allowed)
    known = [m for m in results.methods if results.of(m, dimension)]
    if methods is None:
        return known
    for name in methods:
        if name not in known:
            raise UnknownName("method", name, known, hint=f"(of those with {dimension}-D runs)")
    if not methods:
        raise Missing(f"name at least one method to draw; there are {', '.join(known)}")
    return list(dict.fromkeys(methods))


def shared_functions(results: Results, dimension: int, methods: Sequence[str]) -> tuple[str, ...]:
    """The functions that every one of the methods was run on, ascending."""
    each = [{r.function for r in results.of(m, dimension)} for m in methods]
    shared = tuple(sorted(set.intersection(*each), key=natural_key))
    if not shared:
        raise Missing(f"there is no function that all of {', '.join(methods)} were run on")
    return shared


def spans(
    names: Iterable[str | int], prefix: str = "f", *, dash: str = "–", comma: str = ", "
) -> str:
    """Functions in words: f1–f24, f8, or f1, f3–f5; other names one by one."""
    names = list(names)
    found = [re.fullmatch(r"[a-z]?(\d+)", str(name)) for name in names]
    if not all(found):
        return comma.join(sorted(map(str, names), key=natural_key))
    runs: list[list[int]] = []
    for n in sorted(int(one[1]) for one in found if one):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return comma.join(dash.join(f"{prefix}{n}" for n in dict.fromkeys((r[0], r[-1]))) for r in runs)
