"""From stores of runs to tidy numbers.

:class:`Results` reads stores; from it come

- :func:`running_times`: aRT by COCO's definition, dispersion, and the ratio to best2009;
- :func:`ecdf` and :func:`profiles`: the share of targets reached over time, raw or with simulated
  restarts, by function, class and overall;
- :func:`scores`, :func:`pairwise` and :func:`friedman`: which method is better, and whether the
  difference is real;
- :func:`against_paper`: our numbers beside the published ones;
- :func:`compare`: all of it as tables, with the answer to "does adapting pay?".
"""

from uaos.analysis.art import AverageRunningTime, average_running_time, running_times
from uaos.analysis.best2009 import TABLE_TARGETS, best2009
from uaos.analysis.comparison import Comparison, compare
from uaos.analysis.ecdf import Ecdf, combined, ecdf, profiles
from uaos.analysis.paper import against_paper
from uaos.analysis.restarts import simulated_restarts
from uaos.analysis.results import Results, Runs
from uaos.analysis.scores import Scores, scores
from uaos.analysis.statistics import Pair, Ranking, friedman, holm, pairwise
from uaos.analysis.tables import Table, write_csv
from uaos.analysis.verdict import Verdict, verdict

__all__ = [
    "TABLE_TARGETS", "AverageRunningTime", "Comparison", "Ecdf", "Pair", "Ranking", "Results",
    "Runs", "Scores", "Table", "Verdict", "against_paper",
    "average_running_time", "best2009", "combined", "compare", "ecdf",
    "friedman", "holm", "pairwise", "profiles",
    "running_times", "scores", "simulated_restarts",
    "verdict", "write_csv",
]  # fmt: skip
