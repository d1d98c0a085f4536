"""Average running times function by function, as ratios to the reference where there is one."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from uaos.analysis.art import average_running_time, reference_time
from uaos.analysis.results import target_index
from uaos.analysis.sectioning import Section
from uaos.errors import InvalidParameter
from uaos.experiments.recorder import ECDF_TARGETS, TARGETS
from uaos.reporting.canvas import axes_with_margins, decades, handle, legend, legend_size
from uaos.reporting.figures import SECTION, Figure
from uaos.reporting.figures.profiles import chosen_methods
from uaos.reporting.style import FAINT, GRAY, SMALL, TICK, Axes, Drawing, Style, text_width

# The markers of a function take this share of the way to the next one.
_SPREAD = 0.76
# Inches of the strip of methods that missed the target.
_STRIP = 0.34


class Point(NamedTuple):
    """A method on a function; `every` says whether every run reached the target."""

    method: str
    function: str
    value: float
    every: bool


@dataclass(frozen=True)
class Ratios:
    """The points, and what they are relative to."""

    points: tuple[Point, ...]
    functions: tuple[str, ...]
    groups: dict[str, str]
    methods: tuple[str, ...]
    shown: tuple[str, ...]
    target: float
    label: str
    section: str


def data(section: Section, methods: Sequence[str] | None = None, target: float = 1e-7) -> Ratios:
    """Return the aRT of each method to the target on each function.

    It is divided by the reference's aRT, or by the dimension where the suite has no reference.
    """
    shown = chosen_methods(section, methods)
    if target_index(target) < len(TARGETS) - len(ECDF_TARGETS):
        raise InvalidParameter(
            f"target {target:g} is too large; expected one of {len(ECDF_TARGETS)} from "
            f"{ECDF_TARGETS[0]:g} to {ECDF_TARGETS[-1]:g}", name="target", value=target,
        )  # fmt: skip
    published = section.reference
    points, groups = [], {}
    for function in section.functions:
        times = section.reference_times(function)
        for method in shown:
            if (method, function) not in section.runs:
                continue
            runs = section.runs[method, function]
            groups[function] = runs.group
            hits = runs.evaluations_to([target])
            art = float(average_running_time(hits, runs.evaluations)[0])
            unit = runs.dimension if published is None else reference_time(times, target)
            value = art / unit if np.isfinite(art) else np.inf
            points.append(Point(method, function, value, bool(np.isfinite(hits).all())))
    label = "aRT / dimension" if published is None else f"aRT / aRT of {published.name}"
    return Ratios(
        tuple(points), tuple(f for f in section.functions if f in groups), groups,
        section.methods, shown, target, label, section.title,
    )  # fmt: skip


def draw(ratios: Ratios, style: Style) -> Drawing:
    """Draw a marker for each method on each function.

    A filled marker: every run reached the target; a hollow one: some did. Methods of which no run
    did stand in the strip at the top. Where the reference never reached it, a method that did
    stands at the bottom.
    """
    functions, names = ratios.functions, ratios.shown
    styles = style.line_styles(ratios.methods)
    width = style.inches("page")
    with style.figure(width, 1.0) as figure:
        left, right, top = 0.50, 0.08, 0.24
        below = 0.04 + legend_size(figure, names, width)[2]
        slot = 72 * (width - left - right) / len(functions)
        labels, turned = _labels(figure, functions, slot / 72)
        bottom = 0.36 + below + (text_width(figure, labels, SMALL) - 0.1 if turned else 0)
        figure.set_size_inches(width, top + bottom + min(2.6, max(1.8, 0.34 * width)))
        axes = axes_with_margins(figure, left, bottom, right, top)
        size = max(2.4, min(4.0, slot / 5))
        low, high, missed = _background(axes, ratios)
        for p in ratios.points:
            i = names.index(p.method)
            offset = _SPREAD * ((i + 0.5) / len(names) - 0.5)
            y = np.clip(p.value, low, high) if np.isfinite(p.value) else missed[i % 2]
            color = styles[p.method].color
            axes.plot(
                [functions.index(p.function) + offset], [y], styles[p.method].marker, color=color,
                markerfacecolor=color if p.every else "white", markeredgewidth=size / 6,
                markersize=size, label=f"{p.method} {p.function}",
            )  # fmt: skip
        title = f"error $\\leq {_power(ratios.target)}$, {ratios.section}"
        note = "  (hollow: not reached in every run)"
        fits = text_width(figure, [title + note], TICK) < width - left - right
        axes.set_title(title + note if fits else title, fontsize=TICK)
        axes.set_ylabel(ratios.label)
        axes.set_xlabel("function")
        axes.set_xticks(range(len(functions)), labels, rotation=90 if turned else 0)
        ticks = SMALL if turned else min(TICK, max(SMALL - 1.5, 0.7 * slot))
        axes.tick_params(axis="x", labelsize=ticks, length=0)
        handles = [handle(name, styles[name], line=False) for name in names]
        legend(figure, handles, width / 2, below, width)
    return figure


def _labels(figure: Drawing, functions: Sequence[str], slot: float) -> tuple[list[str], bool]:
    """Return the names at the ticks, and whether they must be turned to fit."""
    if all(f.startswith("f") and f[1:].isdigit() for f in functions):
        return [f[1:] for f in functions], False
    return list(functions), text_width(figure, functions, TICK) > 0.9 * slot


def _background(axes: Axes, ratios: Ratios) -> tuple[float, float, tuple[float, float]]:
    """Draw the axes without points; return the range, and two heights for methods that missed."""
    values = [p.value for p in ratios.points if np.isfinite(p.value) and p.value > 0] or [1.0]
    low = 10 ** np.floor(min(0, np.log10(min(values)) * 1.001))
    high = 10 ** np.ceil(max(1, np.log10(max(values)) * 1.001))
    tall = axes.get_window_extent().height / axes.figure.dpi
    strip = (high / low) ** (_STRIP / (tall - _STRIP))
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    decades(axes.yaxis, 8)
    axes.set_ylim(low, high * strip)
    axes.set_xlim(-0.5, len(ratios.functions) - 0.5)
    axes.grid(True, axis="y")
    if ratios.label != "aRT / dimension":
        axes.axhline(1, color=GRAY, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
    axes.axhspan(high, high * strip, color=FAINT, alpha=0.5, linewidth=0, zorder=0)
    # Alternately higher and lower, because many methods may stand there.
    missed = (float(high * strip**0.68), float(high * strip**0.32))
    axes.text(-0.01, high * strip**0.62, "∞", transform=axes.get_yaxis_transform(), ha="right",
              va="center", fontsize=TICK + 2)  # fmt: skip
    # A line between functions, a stronger one between groups.
    for i, (function, other) in enumerate(pairwise(ratios.functions)):
        apart = ratios.groups[function] != ratios.groups[other]
        axes.axvline(i + 0.5, color=GRAY if apart else FAINT, linewidth=0.5 if apart else 0.4,
                     zorder=0)  # fmt: skip
    return float(low), float(high), missed


def _power(target: float) -> str:
    """Return a target as a power of ten in mathematical notation."""
    exponent = np.log10(target)
    shown = f"{exponent:.0f}" if abs(exponent - round(exponent)) < 1e-6 else f"{exponent:.1f}"
    return f"10^{{{shown}}}"


FIGURE = Figure(
    "art-ratio", "average running time (aRT) to a target, function by function", SECTION, data,
    draw, options=("dim", "methods", "order", "target"), in_report="running-times",
    caption="Average running time (aRT) to the target 10⁻⁷ on each function. Hollow markers: not "
    "reached in every run; in the strip at the top: never reached.",
)  # fmt: skip
