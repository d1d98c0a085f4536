"""Figures for a paper, one a function, each a matplotlib `Figure` that :func:`save` writes.

All take `style`, a :class:`~uaos.reporting.style.Style`: the width and the font. A method has the
same colour and marker in every figure of the same results.
"""

from uaos.reporting.figures.course import operators
from uaos.reporting.figures.drawn_values import tuning_frequencies
from uaos.reporting.figures.profiles import ecdf_classes, ecdf_functions, ecdf_overall
from uaos.reporting.figures.ranking import ranks
from uaos.reporting.figures.ratios import art_ratio
from uaos.reporting.figures.saving import FORMATS, check_path, save
from uaos.reporting.figures.tunings import tuning_importance, tuning_survival

__all__ = [
    "FORMATS", "art_ratio", "check_path", "ecdf_classes", "ecdf_functions", "ecdf_overall",
    "operators", "ranks", "save", "tuning_frequencies", "tuning_importance", "tuning_survival",
]  # fmt: skip
