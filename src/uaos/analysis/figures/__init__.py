"""Figures for a paper, one a function, each a matplotlib `Figure` that :func:`save` writes.

All take `style`, a :class:`~uaos.analysis.style.Style`: the width and the font. A method has the
same colour and marker in every figure of the same results.
"""

from uaos.analysis.figures.course import operators
from uaos.analysis.figures.drawn_values import tuning_frequencies
from uaos.analysis.figures.profiles import ecdf_classes, ecdf_functions, ecdf_overall
from uaos.analysis.figures.ranking import ranks
from uaos.analysis.figures.ratios import art_ratio
from uaos.analysis.figures.saving import FORMATS, check_path, save
from uaos.analysis.figures.tunings import tuning_importance, tuning_survival

__all__ = [
    "FORMATS", "art_ratio", "check_path", "ecdf_classes", "ecdf_functions", "ecdf_overall",
    "operators", "ranks", "save", "tuning_frequencies", "tuning_importance", "tuning_survival",
]  # fmt: skip
