"""The publications that methods and configurations come from, by keys such as `QIN_2009`."""

import csv
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files


@cache
def _publications() -> dict[str, dict[str, str]]:
    text = files("uaos").joinpath("data/bibliography.csv").read_text(encoding="utf-8")
    return {row["key"]: row for row in csv.DictReader(text.splitlines())}


@cache
def _references() -> dict[str, str]:
    return {
        key: f'{row["authors"]} ({row["year"]}), "{row["title"]}", {row["venue"]}'
        for key, row in _publications().items()
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


def bibtex(references: Iterable[str]) -> str:
    """Return BibTeX entries of uaos, its framework and all publications in some references.

    Parameters
    ----------
    references : iterable of str
        References of configurations; each may name several publications. Those that are not in the
        bibliography of the package, such as a user's, become comments.

    Examples
    --------
    >>> import uaos
    >>> from uaos.selection.bibliography import bibtex
    >>> print(bibtex([uaos.configuration("JADE").reference]).splitlines()[0])
    @misc{uaos,
    """
    texts = list(dict.fromkeys(reference for reference in references if reference))
    keys = dict.fromkeys(["UAOS", "FRAMEWORK"])
    unknown = []
    for text in texts:
        named = [key for key, full in _references().items() if full in text]
        keys |= dict.fromkeys(named)
        unknown += [] if named else [f"% {' '.join(text.split())}"]
    return "\n\n".join([*(_entry(key) for key in keys), *unknown]) + "\n"


# Of a venue: a journal with volume, number and pages; or proceedings with pages.
_ARTICLE = re.compile(r"(?P<journal>.+) (?P<volume>\d+)\((?P<number>[^)]+)\), (?P<pages>[\d–]+)")
_PAGES = re.compile(r"(?P<booktitle>.+), (?P<pages>\d+–\d+)")


def _entry(key: str) -> str:
    """Return the BibTeX entry of a publication."""
    row = _publications()[key]
    kind, fields = "inproceedings", {"booktitle": row["venue"]}
    if match := _ARTICLE.fullmatch(row["venue"]):
        kind, fields = "article", match.groupdict()
    elif row["venue"].startswith("arXiv "):
        number = row["venue"].removeprefix("arXiv ")
        kind, fields = "misc", {"eprint": number, "archiveprefix": "arXiv"}
    elif row["venue"].startswith("Springer"):
        kind, fields = "book", {"publisher": "Springer", "edition": "second"}
    elif key in ("UAOS", "AUTHORS_CODE"):
        kind, fields = "misc", {"howpublished": row["venue"]}
    elif match := _PAGES.fullmatch(row["venue"]):
        fields = match.groupdict()
    # A group of authors is one name.
    authors = " and ".join(a if "," in a else f"{{{a}}}" for a in row["authors"].split("; "))
    fields = {"author": authors, "title": f"{{{row['title']}}}", **fields, "year": row["year"]}
    lines = [f"  {name} = {{{value.replace('–', '--')}}}," for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{key.lower().replace('_', '')},", *lines, "}"])
