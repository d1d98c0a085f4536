"""Format names and numbers: lists of names, ranges of numbers, powers of ten."""

import math
import re
from collections.abc import Iterable

# Narrow no-break space, between the digits of a long number and before a unit.
_THIN = "\u202f"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d{1,9})(?!\w)")
_GROUPS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# Longer numbers in names are text: int() refuses thousands of digits, and names may come from
# untrusted files.
_DIGITS = 19


def natural_key(name: str) -> tuple[tuple[int, str], ...]:
    """Return a key that sorts names by the numbers in them: f2 comes before f10."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple(
        (int(part), "") if part.isdecimal() and len(part) <= _DIGITS else (-1, part)
        for part in parts
    )


def join_names(names: Iterable[str], conjunction: str = "and") -> str:
    """Join names for a sentence: A, B and C."""
    *most, last = names
    return f"{', '.join(most)} {conjunction} {last}" if most else last


def ranges(names: Iterable[object]) -> str:
    """Abbreviate numbers or numbered names, such as f1, f3–f5; list other names in full."""
    runs: list[list[tuple[str, int | None, str]]] = []
    for name in sorted(map(str, names), key=natural_key):
        prefix = name.rstrip("0123456789")
        digits = name[len(prefix) :]
        number = int(digits) if 0 < len(digits) <= _DIGITS else None
        last = runs[-1][-1] if runs else None
        if last and number is not None and last[0] == prefix and last[1] == number - 1:
            runs[-1].append((prefix, number, name))
        else:
            runs.append([(prefix, number, name)])
    return ", ".join("–".join(dict.fromkeys((r[0][2], r[-1][2]))) for r in runs)


def number(value: float, form: str = ".2f") -> str:
    """Format a number, NaN as a dash and infinity as ∞."""
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else format(value, form)


def exact(value: float) -> str:
    """Format a number with as many digits as it takes to read it back: 9, 0.1, 5.0000000001."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def two_digits(value: float) -> str:
    """Format a number with two significant digits: 0.00012, 3,700, 4.4e+07."""
    return format(float(f"{value:.2g}"), ",g") if math.isfinite(value) else number(value)


def p_value(p: float) -> str:
    """Format a p-value, with one more digit where it is close to 0.05."""
    return number(p, ".3g" if 0.045 < p < 0.055 else ".2g")


def count(value: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun: 1 run, 1,560 runs."""
    return f"{value:,} {noun if value == 1 else plural or f'{noun}s'}"


def typeset(text: str) -> str:
    """Typeset the numbers in a string: 3.4 × 10⁻²³ for 3.4e-23, thin spaces in 2,000,000."""

    def power(match: re.Match[str]) -> str:
        mantissa, exponent = match[1], superscript(int(match[2]))
        return f"10{exponent}" if mantissa == "1" else f"{mantissa} × 10{exponent}"

    return _POWER.sub(power, _GROUPS.sub(_THIN, text))


def superscript(exponent: int) -> str:
    """Return an integer in superscript digits."""
    return str(exponent).translate(_SUPERSCRIPT)


def duration(seconds: float) -> str:
    """Format a duration: 12 s, 3 min, 12 h 5 min."""
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 1 else "less than a second"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours:,} h" + (f" {rest} min" if rest else "")


def large(value: float) -> str:
    """Format a large number with few digits: 12,345, 1.9 million, 3.1e9."""
    if value < 1e6:
        return f"{value:,.0f}"
    if value < 1e9:
        return f"{value / 1e6:.3g} million"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"
