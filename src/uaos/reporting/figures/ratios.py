"""Average running times as ratios to best2009, function by function."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uaos.analysis.art import average_running_time
from uaos.analysis.results import Results, column
from uaos.errors import InvalidParameter
from uaos.experiments.targets import ECDF_TARGETS, TARGETS
from uaos.problems import natural_key
from uaos.problems.bbob import DIMENSIONS, GROUPS
from uaos.reporting.figures.canvas import (
    axes_with_margins,
    decades,
    handle,
    legend,
    legend_size,
)
from uaos.reporting.figures.choice import chosen
from uaos.reporting.figures.reference import running_times_2009
from uaos.reporting.style import DEFAULT, FAINT, GREY, SMALL, TICK, Style, text_width

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What the markers of a function take of the way to the next one.
_SPREAD = 0.76
# Inches of the strip of methods that missed the target.
_STRIP = 0.34


class _Point(NamedTuple):
    method: str
    function: str
    ratio: float
    every: bool


def art_ratio(
    results: Results,
    dimension: int,
    target: float = 1e-7,
    methods: Sequence[str] | None = None,
    *,
    style: Style = DEFAULT,
) -> "Figure":
    """How many times best2009's aRT each method takes to the target, function by function.

    A filled marker: every run reached the target; a hollow one: some did. Methods of which no run
    did stand in the strip at the top. Where best2009 never reached it, a method that did stands at
    the bottom.
    """
    names = chosen(results, dimension, methods)
    points = _points(results, dimension, target, names)
    functions = sorted({p.function for p in points}, key=natural_key)
    looks = style.looks(results.methods)
    width = style.inches("page")
    with style.figure(width, 1.0) as figure:
        left, right, top = 0.50, 0.08, 0.24
        below = 0.04 + legend_size(figure, names, width)[2]
        bottom = 0.36 + below
        figure.set_size_inches(width, top + bottom + min(2.6, max(1.8, 0.34 * width)))
        axes = axes_with_margins(figure, left, bottom, right, top)
        slot = 72 * (width - left - right) / len(functions)
        size = max(2.4, min(4.0, slot / 5))
        low, high, missed = _background(axes, functions, points)
        for p in points:
            i = names.index(p.method)
            shift = _SPREAD * ((i + 0.5) / len(names) - 0.5)
            y = np.clip(p.ratio, low, high) if np.isfinite(p.ratio) else missed[i % 2]
            look = looks[p.method]
            axes.plot(
                [functions.index(p.function) + shift], [y], look.marker, color=look.color,
                markerfacecolor=look.color if p.every else "white", markeredgewidth=size / 6,
                markersize=size, label=f"{p.method} {p.function}",
            )  # fmt: skip
        said = f"$f - f_\\mathrm{{opt}} \\leq {_power(target)}$, {dimension}-D"
        note = "  (hollow: not reached in every run)"
        fits = text_width(figure, [said + note], TICK) < width - left - right
        axes.set_title(said + note if fits else said, fontsize=TICK)
        axes.set_ylabel("aRT / aRT of best 2009")
        axes.set_xlabel("function")
        axes.set_xticks(range(len(functions)), [f.removeprefix("f") for f in functions])
        axes.tick_params(axis="x", labelsize=min(TICK, max(SMALL - 1.5, 0.7 * slot)), length=0)
        handles = [handle(name, looks[name], line=False) for name in names]
        legend(figure, handles, width / 2, below, width)
    return figure


def _points(results: Results, dimension: int, target: float, names: Sequence[str]) -> list[_Point]:
    where = column(target) - (len(TARGETS) - len(ECDF_TARGETS))
    if where < 0:
        allowed = f"one of {len(ECDF_TARGETS)} from {ECDF_TARGETS[0]:g} to {ECDF_TARGETS[-1]:g}"
        raise InvalidParameter("target", target, allowed)
    points = []
    for name in names:
        for runs in results.of(name, dimension):
            known = running_times_2009(runs.function, dimension)
            if known is None:
                allowed = f"one that best2009 is known in: {', '.join(map(str, DIMENSIONS))}"
                raise InvalidParameter("dimension", dimension, allowed)
            times = runs.evaluations_to([target])
            art = float(average_running_time(times, runs.evaluations)[0])
            ratio = art / known[where] if np.isfinite(art) else np.inf
            points.append(_Point(name, runs.function, ratio, bool(np.isfinite(times).all())))
    return points


def _background(
    axes: Any, functions: Sequence[str], points: Sequence[_Point]
) -> tuple[float, float, tuple[float, float]]:
    """The axes without points: the range of ratios, and two heights for those who missed."""
    ratios = [p.ratio for p in points if np.isfinite(p.ratio) and p.ratio > 0] or [1.0]
    low = 10 ** np.floor(min(0, np.log10(min(ratios)) * 1.001))
    high = 10 ** np.ceil(max(1, np.log10(max(ratios)) * 1.001))
    tall = axes.get_window_extent().height / axes.figure.dpi
    strip = (high / low) ** (_STRIP / (tall - _STRIP))
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    decades(axes.yaxis, 8)
    axes.set_ylim(low, high * strip)
    axes.set_xlim(-0.5, len(functions) - 0.5)
    axes.grid(True, axis="y")
    axes.axhline(1, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    axes.axhspan(high, high * strip, color=FAINT, alpha=0.5, linewidth=0, zorder=0)
    # By turns higher and lower, as whole rows of methods may stand there.
    missed = (float(high * strip**0.68), float(high * strip**0.32))
    axes.text(-0.01, high * strip**0.62, "∞", transform=axes.get_yaxis_transform(), ha="right",
              va="center", fontsize=TICK + 2)  # fmt: skip
    # A line between functions, a stronger one between classes.
    of = {f: name for name, members in GROUPS.items() for f in members}
    for i, (one, other) in enumerate(pairwise(functions)):
        apart = of.get(one) != of.get(other)
        axes.axvline(i + 0.5, color=GREY if apart else FAINT, linewidth=0.5 if apart else 0.4,
                     zorder=0)  # fmt: skip
    return float(low), float(high), missed


def _power(target: float) -> str:
    """A target as a power of ten, in mathematical notation."""
    exponent = np.log10(target)
    shown = f"{exponent:.0f}" if abs(exponent - round(exponent)) < 1e-6 else f"{exponent:.1f}"
    return f"10^{{{shown}}}"
