"""Our numbers beside the published ones: aRT ratios and successes of three methods in 20-D.

The published table gives aRT as ratios to best2009 on the 13 test instances of each function:
Sharma, M., López-Ibáñez, M. & Kazakov, D. (2020), "Unified framework for the adaptive operator
selection of discrete parameters".
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from uaos.analysis.art import running_times
from uaos.analysis.results import Results
from uaos.problems import Published
from uaos.problems.bbob import REFERENCE, bbob

#: Where the published runs were made.
DIMENSION = 20
#: Our names for the published methods, and theirs.
NAMES = {"RecPM-tuned": "RecPM-AOS", "JADE": "JaDE", "U-AOS-FW": "U-AOS-FW"}
#: The published budgets: JADE's data came from an earlier study.
BUDGETS = {"RecPM-tuned": 2_000_000, "JADE": 1_000_000, "U-AOS-FW": 2_000_000}
#: Cells further apart than this factor are flagged.
FACTOR = 2.0
#: What has to be said wherever a method is compared.
NOTES = {
    "U-AOS-FW": "The printed configuration of U-AOS-FW does not reproduce its published table on "
    "the ill-conditioned functions, f10 to f14; the authors' own program does not solve f10 either."
}


@dataclass(frozen=True)
class Cell:
    """Our aRT ratio beside the published one."""

    method: str
    function: str
    target: float
    ours: float
    published: float

    @property
    def factor(self) -> float:
        """Ours over published; 1 if both are infinite."""
        if np.isinf(self.ours) and np.isinf(self.published):
            return 1.0
        return self.ours / self.published

    @property
    def is_off(self) -> bool:
        """Whether the two are more than a factor 2 apart."""
        return not 1 / FACTOR <= self.factor <= FACTOR


@dataclass(frozen=True)
class PaperComparison:
    """One method against its published table.

    `solved` has, by function, (our successes at 1e-8, our trials, theirs, their trials). `budget`
    is what our runs were cut to, and `largest` what the longest of ours was allowed.
    """

    method: str
    cells: tuple[Cell, ...]
    solved: dict[str, tuple[int, int, int, int]]
    budget: int
    largest: int

    @property
    def finite(self) -> int:
        """Finite published cells that we have runs for."""
        return sum(np.isfinite(c.published) for c in self.cells)

    @property
    def within(self) -> int:
        """Of those, how many of ours lie within the factor."""
        return sum(np.isfinite(c.published) and not c.is_off for c in self.cells)

    def total(self, column: int) -> int:
        """A column of `solved`, summed over the functions."""
        return sum(row[column] for row in self.solved.values())


def against_paper(results: Results, *, seed: int = 1) -> list[PaperComparison]:
    """Every method of ours that has a published table, on the published test instances.

    Our runs are read as if they had stopped at the published budget, so that a longer one of ours
    does not look better for its length.
    """
    return [c for method in NAMES if (c := _compared(results, method, seed)).cells]


def _compared(results: Results, method: str, seed: int) -> PaperComparison:
    budget, largest = BUDGETS[method], 0
    cells: list[Cell] = []
    solved: dict[str, tuple[int, int, int, int]] = {}
    for whole in results.of(method, DIMENSION):
        runs = whole.on(held_out_instances(whole.function)).cut(budget)
        if not len(runs):
            continue
        largest = max(largest, int(whole.budgets.max()))
        for cell in running_times(runs, seed=seed):
            known = published()[method, runs.function, cell.target]
            cells.append(Cell(method, runs.function, cell.target, cell.ratio, known.ratio))
            solved[runs.function] = (runs.solved, len(runs), known.successes, known.trials)
    return PaperComparison(method, tuple(cells), solved, budget, largest)


def held_out_instances(function: str) -> tuple[int, ...]:
    """The 13 of the instances 1 to 15 that were not used for tuning."""
    return tuple(p.instance for p in bbob(functions=[int(function[1:])]) if p.instance)


@cache
def published() -> dict[tuple[str, str, float], Published]:
    """The published table, by (our name of the method, function, target)."""
    ours = {theirs: name for name, theirs in NAMES.items()}
    return {
        (ours[cell.algorithm], cell.function, cell.target): cell
        for cell in REFERENCE.published("paper")
    }
