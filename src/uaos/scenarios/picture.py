"""Figure of a comparison: share of best choices and regret over time."""

import os
from typing import TYPE_CHECKING

import numpy as np

from uaos.arrays import FloatArray
from uaos.pictures import save_figure
from uaos.reporting.style import DEFAULT, LineStyle
from uaos.runs.picture import panels
from uaos.scenarios.comparison import regrets
from uaos.scenarios.kinds import Ranks, Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from uaos.scenarios.comparison import ScenarioResult

# The number of points of a curve between two changes: averages over intervals reduce the noise.
_POINTS = 10
# Changes are marked by lines only up to this number; more would fill the figure.
_MOST_MARKS = 60


def draw(comparison: "ScenarioResult", path: str | os.PathLike[str] | None) -> "Figure":
    """Draw the share of best choices above and the regret so far below, over the applications."""
    figure, (upper, lower) = panels((3, 2))
    scenario = comparison.scenario
    for change in scenario.changes if len(scenario.changes) <= _MOST_MARKS else ():
        for axes in (upper, lower):
            axes.axvline(change, color="0.85", linewidth=1, zorder=0)
    for name, style in DEFAULT.line_styles(comparison.methods).items():
        ranks = comparison.ranks[name]
        middles, shares = _shares(ranks, scenario.every)
        _draw_curve(upper, middles, shares, name, style)
        regret = regrets(ranks, scenario.means).cumsum(axis=1)
        _draw_curve(lower, np.arange(1.0, scenario.steps + 1), regret, name, style)
    _draw_baselines(upper, lower, scenario)
    every = f", the best one changes every {scenario.every} applications"
    changes = every if scenario.changes else ""
    upper.set_title(
        f"{scenario.name} scenario: {scenario.operators} operators{changes}", loc="left"
    )
    upper.set_ylabel("share of best-operator choices")
    upper.set_ylim(0, 1.03)
    lower.set_ylabel("regret so far")
    lower.set_ylim(bottom=0)
    lower.set_xlabel("application")
    lower.set_xlim(0, scenario.steps)
    figure.legend(
        *upper.get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False,
        fontsize=10,
    )  # fmt: skip
    if path is not None:
        save_figure(figure, path)
    return figure


def _draw_baselines(upper: "Axes", lower: "Axes", scenario: Scenario) -> None:
    """Draw the expected curves of uniform choice and of always choosing the best operator."""
    loss = scenario.means[0] - scenario.means.mean()
    share = 1 / scenario.operators
    for axes, uniform, best in ((upper, (share, share), 1), (lower, (0, loss * scenario.steps), 0)):
        for label, dash, values in (
            ("uniform choice", "--", uniform), ("always the best", ":", (best, best)),
        ):  # fmt: skip
            axes.plot((0, scenario.steps), values, dash, label=label, color="0.35", linewidth=1.2)


def _shares(ranks: Ranks, every: int) -> tuple[FloatArray, FloatArray]:
    """Return the middles of intervals without a change, and the shares of best choices in them."""
    steps = ranks.shape[1]
    size = -(-min(every, steps) // _POINTS)
    starts = np.concatenate(
        [np.arange(start, min(start + every, steps), size) for start in range(0, steps, every)]
    )
    ends = np.append(starts[1:], steps)
    shares = np.add.reduceat((ranks == 0).astype(np.float64), starts, axis=1) / (ends - starts)
    return (starts + ends) / 2, shares


def _draw_curve(
    axes: "Axes", x: FloatArray, values: FloatArray, label: str, style: LineStyle
) -> None:
    """Draw the mean over repetitions with a band of two standard errors on either side."""
    mean = values.mean(axis=0)
    axes.plot(x, mean, label=label, color=style.color, linestyle=style.dash, linewidth=1.8)
    if len(values) > 1:
        error = 2 * values.std(axis=0, ddof=1) / np.sqrt(len(values))
        axes.fill_between(x, mean - error, mean + error, color=style.color, alpha=0.15, lw=0)
