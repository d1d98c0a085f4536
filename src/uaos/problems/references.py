"""Published running times of a suite, which tables and figures show beside ours."""

import csv
import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

#: The targets of a reference's running times: 10^2, 10^1.8, …, 10^-8.
REFERENCE_TARGETS: NDArray[np.float64] = 10.0 ** np.linspace(2, -8, 51)
REFERENCE_TARGETS.flags.writeable = False


@dataclass(frozen=True)
class Published:
    """One cell of a published table. Made by :meth:`Reference.published`.

    Attributes
    ----------
    algorithm, function, dimension, target
        What it is of.
    art : float
        The average running time; infinite where the target was never reached.
    ratio : float
        Relative to the reference, where the table gives ratios; otherwise NaN.
    successes, trials : int
        How many of the runs reached the target.
    """

    algorithm: str
    function: str
    dimension: int
    target: float
    art: float
    ratio: float
    successes: int
    trials: int


@dataclass(frozen=True)
class Reference:
    """The reference running times of a suite, and published tables. Made by :func:`reference`.

    Attributes
    ----------
    name : str
        What it is called in tables.
    times_file : str
        The file of the running times, by function and dimension.
    tables : dict of str to str
        The files of published tables by name.
    about : str
        What it is, for captions.
    """

    name: str
    times_file: str
    tables: dict[str, str]
    about: str = ""

    def running_times(self, function: str, dimension: int) -> NDArray[np.float64] | None:
        """The aRT to each of the 51 targets, infinite if never reached; None if unknown."""
        return _times(self.times_file).get((function, dimension))

    def published(self, table: str) -> tuple[Published, ...]:
        """The cells of a published table."""
        return _published(self.tables[table])


def _lines(file: str) -> list[str]:
    data = files("uaos").joinpath("data", file).read_bytes()
    text = gzip.decompress(data) if file.endswith(".gz") else data
    return text.decode("utf-8").splitlines()


@cache
def _times(file: str) -> dict[tuple[str, int], NDArray[np.float64]]:
    found = {}
    for row in csv.DictReader(_lines(file)):
        times = np.array([float(art) for art in row["art"].split()])
        times.flags.writeable = False
        found[f"f{row['function']}", int(row["dimension"])] = times
    return found


@cache
def _published(file: str) -> tuple[Published, ...]:
    def number(row: dict[str, str], *names: str) -> float:
        return next((float(row[n]) for n in names if row.get(n)), float("nan"))

    cells = []
    for row in csv.DictReader(_lines(file)):
        ratio = number(row, "art_ratio")
        # An empty cell: the target was never reached.
        art = number(row, "art") if row.get("art") else float("inf")
        if row.get("art_ratio"):
            art = ratio * number(row, "best2009_art")
        cells.append(Published(
            row["algorithm"], f"f{row['function']}", int(row.get("dimension") or 20),
            float(row["target"]), art, ratio, int(row["successes"]), int(row["trials"]),
        ))  # fmt: skip
    return tuple(cells)
