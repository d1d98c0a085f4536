"""A report: one HTML file that shows what came out of experiments and tunings.

    from uaos.reporting.report import write_report

    write_report(["first.db", "tuning.db"], "report.html")

The file needs no network and nothing beside it. Plots are interactive where scripts run, and images
where they do not and in print.
"""

from uaos.reporting.report.courses import Chosen
from uaos.reporting.report.write import write_report

__all__ = ["Chosen", "write_report"]
