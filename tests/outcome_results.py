"""Results of outcomes that no store holds, for tests of the analysis."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from uaos.analysis import Results
from uaos.analysis.results import arranged
from uaos.experiments.recorder import TARGETS
from uaos.experiments.run_table import ProblemRecord, RunTable
from uaos.experiments.unit import Outcome


def results_of(
    outcomes: Iterable[Outcome],
    configurations: Mapping[str, Mapping[str, Any]] | None = None,
    suite: str = "bbob",
) -> Results:
    """Arrange outcomes as those of a store are; the same run met twice counts once."""
    every = list(outcomes)
    methods = list(dict.fromkeys(o.method for o in every))
    problems: dict[str, ProblemRecord] = {}
    for o in every:
        optimum = np.nan if np.isnan(o.error) else o.best - o.error
        record = ProblemRecord(o.problem, o.function, o.group, o.dimension, o.instance, optimum)
        problems.setdefault(o.problem, record)

    def column(name: str, kind: Any = np.int64) -> Any:
        return np.array([getattr(o, name) for o in every], kind)

    table = RunTable(
        tuple(methods), tuple(problems.values()), np.arange(len(every)),
        np.array([methods.index(o.method) for o in every], np.int32),
        np.array([list(problems).index(o.problem) for o in every], np.int32),
        column("repetition"), column("seed"), column("budget"), column("evaluations"),
        column("best", float), column("error", float), column("seconds", float),
        column("status", str) == "failed", column("hits").reshape(len(every), len(TARGETS)),
    )  # fmt: skip
    return arranged(table, lambda rows: [every[r].trace for r in rows], configurations or {}, suite)
