"""Which of two runs is better, as one number, and the table of problems × methods."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uaos.analysis.results import Results, Runs, column
from uaos.experiments.targets import FINAL
from uaos.problems import natural_key


def decades(runs: Runs, limit: float) -> NDArray[np.float64]:
    """How well each run did, in powers of ten; smaller is better.

        s = log10(evaluations to 1e-8)             if the final target was reached
        s = log10(limit) + log10(error / 1e-8)     if not

    `limit` is the longest run of the comparison. So a run that hits the final target earlier is
    better, any that hits it beats any that does not, and among those the smaller final error wins;
    ten times the evaluations weigh as much as a ten times larger error.
    """
    hits = runs.hits[:, column(FINAL)]
    errors = np.nan_to_num(runs.errors, nan=1e300, posinf=1e300)
    missed = np.log10(limit) + np.log10(np.maximum(errors, FINAL) / FINAL)
    return np.where(hits > 0, np.log10(np.maximum(hits, 1)), missed)


@dataclass(frozen=True)
class Scores:
    """Scores of the methods (columns) on the problems that all of them were run on (rows).

    A problem is (function, instance), its score the median over repetitions; `left_out` counts the
    problems that some method lacks.
    """

    methods: tuple[str, ...]
    problems: tuple[tuple[str, int], ...]
    values: NDArray[np.float64]
    left_out: int = 0

    def by_function(self) -> "Scores":
        """One row a function: the median over its instances, which are much alike."""
        functions = np.array([function for function, _ in self.problems])
        kinds = list(dict.fromkeys(functions.tolist()))
        rows = [np.median(self.values[functions == f], axis=0) for f in kinds]
        values = np.array(rows).reshape(len(kinds), len(self.methods))
        return Scores(self.methods, tuple((str(f), 0) for f in kinds), values)


def scores(results: Results, dimension: int, methods: Sequence[str] | None = None) -> Scores:
    """Score every method on every problem that all of them were run on."""
    names = tuple(results.methods if methods is None else methods)
    names = tuple(name for name in names if results.of(name, dimension))
    limit = max((r.evaluations.max() for n in names for r in results.of(n, dimension)), default=1)
    found: list[dict[tuple[str, int], float]] = []
    for name in names:
        of: dict[tuple[str, int], float] = {}
        for runs in results.of(name, dimension):
            score = decades(runs, float(limit))
            for instance in np.unique(runs.instances):
                at = runs.instances == instance
                of[runs.function, int(instance)] = float(np.median(score[at]))
        found.append(of)
    every = set().union(*found)
    shared = sorted(every.intersection(*found), key=lambda p: (natural_key(p[0]), p[1]))
    values = np.array([[of[p] for of in found] for p in shared]).reshape(len(shared), len(names))
    return Scores(names, tuple(shared), values, len(every) - len(shared))
