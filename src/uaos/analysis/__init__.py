"""From stores of runs to tables and curves.

:class:`Results` reads stores; from it come

- :func:`compare`: tables, tests and the answer to "does adapting pay?";
- :func:`sections`: runs that belong together, with ranks, tests, running times and profiles;
- :func:`running_times`: aRT by COCO's definition, dispersion, and the ratio to a reference;
- :func:`ecdf`: the share of targets reached over time, raw or with simulated restarts;
- :func:`pairwise` and :func:`friedman`: which method is better, and whether significantly so;
- :func:`against_paper` and :func:`archive_tables`: our numbers beside published ones.
"""

from uaos.analysis.art import (
    TABLE_TARGETS,
    AverageRunningTime,
    average_running_time,
    running_times,
)
from uaos.analysis.comparison import Comparison, compare
from uaos.analysis.findings import Verdict, headline, verdict
from uaos.analysis.profiles import Ecdf, combined, ecdf, simulated_restarts
from uaos.analysis.published import against_paper, archive_names, archive_tables
from uaos.analysis.results import Results, Runs
from uaos.analysis.scoring import Pair, Ranking, Scores, friedman, pairwise, scores
from uaos.analysis.sectioning import Section, section, sections
from uaos.statistics import holm
from uaos.table import Table, write_csv

__all__ = [
    "TABLE_TARGETS", "AverageRunningTime", "Comparison", "Ecdf", "Pair", "Ranking", "Results",
    "Runs", "Scores", "Section", "Table", "Verdict", "against_paper", "archive_names",
    "archive_tables", "average_running_time", "combined", "compare", "ecdf", "friedman",
    "headline", "holm", "pairwise", "running_times", "scores", "section", "sections",
    "simulated_restarts", "verdict", "write_csv",
]  # fmt: skip
