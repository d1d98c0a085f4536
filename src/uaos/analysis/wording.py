"""Names in sentences."""

from collections.abc import Iterable


def listed(names: Iterable[str], conjunction: str = "and") -> str:
    """Names as a sentence has them: A, B and C."""
    *most, last = names
    return f"{', '.join(most)} {conjunction} {last}" if most else last
