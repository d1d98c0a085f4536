"""The publications that methods and configurations come from, by keys such as `QIN_2009`."""

import csv
import re
from functools import cache
from importlib.resources import files


@cache
def _references() -> dict[str, str]:
    text = files("uaos").joinpath("data/bibliography.csv").read_text(encoding="utf-8")
    return {
        row["key"]: f'{row["authors"]} ({row["year"]}), "{row["title"]}", {row["venue"]}'
        for row in csv.DictReader(text.splitlines())
    }


def __getattr__(key: str) -> str:
    """Return the full reference of a key."""
    if key in _references():
        return _references()[key]
    raise AttributeError(f"data/bibliography.csv has no row {key!r}")


def short(reference: str) -> str:
    """Shorten a full reference as cited in running text: Qin et al. (2009)."""
    match = re.match(r"(.*?) \((\d{4})\)", reference)
    if match is None:
        return reference
    surnames = [name.split(",")[0] for name in match[1].split("; ")]
    people = f"{surnames[0]} et al." if len(surnames) > 2 else " & ".join(surnames)
    return f"{people} ({match[2]})"
