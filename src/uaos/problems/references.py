"""Published running times of a suite, for comparison with measured ones."""

import csv
import gzip
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from uaos.arrays import FloatArray

#: The targets of a reference's running times: 10^2, 10^1.8, …, 10^-8.
REFERENCE_TARGETS: FloatArray = 10.0 ** np.linspace(2, -8, 51)
REFERENCE_TARGETS.flags.writeable = False


@dataclass(frozen=True)
class Published:
    """A cell of a published table. Made by :meth:`Reference.published`.

    Attributes
    ----------
    algorithm, function, dimension, target
        The algorithm, the problem, and the target precision.
    art : float
        The average running time; infinite if no run reached the target.
    ratio : float
        The running time relative to the reference if the table gives ratios, otherwise NaN.
    successes, trials : int
        The number of runs that reached the target, and of all runs.
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
    """Reference running times of a suite and published tables. Made by :func:`reference`.

    Attributes
    ----------
    name : str
        The name of the reference in tables.
    times_file : str
        The file of the running times, by function and dimension.
    tables : dict of str to str
        The files of published tables by name.
    about : str
        A description for captions.
    """

    name: str
    times_file: str
    tables: dict[str, str]
    about: str = ""

    def running_times(self, function: str, dimension: int) -> FloatArray | None:
        """Return the aRT to each of the 51 targets, infinite if never reached; None if unknown."""
        return _read_times(self.times_file).get((function, dimension))

    def published(self, table: str) -> tuple[Published, ...]:
        """Return the cells of a published table."""
        return _read_table(self.tables[table])


def _lines(file: str) -> list[str]:
    """Return the lines of a data file, which may be compressed."""
    data = files("uaos").joinpath("data", file).read_bytes()
    text = gzip.decompress(data) if file.endswith(".gz") else data
    return text.decode("utf-8").splitlines()


@cache
def _read_times(file: str) -> dict[tuple[str, int], FloatArray]:
    """Return running times by function and dimension."""
    by_problem = {}
    for row in csv.DictReader(_lines(file)):
        times = np.array([float(art) for art in row["art"].split()])
        times.flags.writeable = False
        by_problem[f"f{row['function']}", int(row["dimension"])] = times
    return by_problem


@cache
def _read_table(file: str) -> tuple[Published, ...]:
    """Return the cells of a table."""

    cells = []
    for row in csv.DictReader(_lines(file)):
        ratio = math.nan
        # An empty cell means that the target was never reached.
        art = float(row.get("art") or math.inf)
        if row.get("art_ratio"):
            ratio = float(row["art_ratio"])
            art = ratio * float(row.get("best2009_art") or math.nan)
        cells.append(Published(
            row["algorithm"], f"f{row['function']}", int(row.get("dimension") or 20),
            float(row["target"]), art, ratio, int(row["successes"]), int(row["trials"]),
        ))  # fmt: skip
    return tuple(cells)
