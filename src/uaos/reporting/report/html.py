"""HTML from Python: elements whose texts are escaped, and numbers as print sets them."""

import html
import math
import re
from collections.abc import Iterable

from uaos.analysis import wording

# Between the digits of a long number, and before a unit: never broken, narrower than a space.
_THIN = "\u202f"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)(?!\w)")
_GROUPS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def markup(child: object) -> Markup:
    """What may stand inside an element: markup as it is, anything else escaped."""
    return child if isinstance(child, Markup) else Markup(html.escape(str(child)))


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Several pieces as one."""
    return Markup(markup(between).join(markup(part) for part in parts))


def tag(kind: str, /, *children: object, **attributes: object) -> Markup:
    """An element. `class_` is written class, `data_sort` data-sort; None and False are left out."""
    given = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        given.append(f" {key}" if value is True else f' {key}="{html.escape(str(value))}"')
    start = f"<{kind}{''.join(given)}>"
    if kind in ("img", "input", "meta", "br"):
        return Markup(start)
    return Markup(f"{start}{joined(children)}</{kind}>")


def whole(number: float) -> str:
    """A whole number, its digits in threes: 2 000 000."""
    text = f"{number:,.0f}"
    return text.replace(",", _THIN) if abs(number) >= 10_000 else text.replace(",", "")


def count(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun: 1 run, 312 runs."""
    return f"{whole(number)} {noun if number == 1 else plural or noun + 's'}"


def power(number: float, digits: int = 2) -> str:
    """A number as prose has it: 0.0032, or 3.4 × 10⁻²³."""
    if math.isnan(number):
        return "–"
    return prose(f"{number:.{digits}g}")


def probability(p: float) -> str:
    """A p-value, with a digit more where it is close to the 0.05 that it is held against."""
    return power(p, 3 if 0.045 < p < 0.055 else 2)


def prose(text: str) -> str:
    """The same text with its numbers as print sets them: 3.4 × 10⁻²³ for 3.4e-23."""

    def raised(found: re.Match[str]) -> str:
        mantissa, exponent = found[1], str(int(found[2])).translate(_SUPERSCRIPT)
        return f"10{exponent}" if mantissa == "1" else f"{mantissa} × 10{exponent}"

    return _POWER.sub(raised, _GROUPS.sub(_THIN, text))


def listed(names: Iterable[object], conjunction: str = "and") -> Markup:
    """Names in a sentence: A, B and C."""
    parts = [markup(name) for name in names]
    return Markup(wording.listed(parts, conjunction) if parts else "")


def duration(seconds: float) -> str:
    """How long something took: 12 s, 3 min, 12 h 5 min."""
    if seconds < 90:
        return f"{seconds:.0f}{_THIN}s" if seconds >= 1 else "less than a second"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes}{_THIN}min"
    hours, rest = divmod(minutes, 60)
    return f"{whole(hours)}{_THIN}h" + (f" {rest}{_THIN}min" if rest else "")


def large(number: float) -> str:
    """A large number of evaluations in few digits: 12 345, 1.9 million, 3.1 × 10⁹."""
    if number < 1e6:
        return whole(number)
    if number < 1e9:
        return f"{number / 1e6:.3g} million"
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa} × 10{str(int(exponent)).translate(_SUPERSCRIPT)}"
