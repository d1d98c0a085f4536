"""Figure of a comparison: share of best choices and regret over time."""

from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.files import save_figure
from uaos.reporting.style import DEFAULT
from uaos.runs.picture import panels
from uaos.scenarios.comparison import regrets
from uaos.scenarios.kinds import Floats, Ranks, Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from uaos.scenarios.comparison import ScenarioResult

# Points of a curve between two changes: the noise of single applications hides what changes.
_POINTS = 10
# The most changes that are marked; more would fill the figure.
_MARKS = 60


def draw(comparison: "ScenarioResult", path: Any) -> "Figure":
    """Share of best choices above, regret so far below, over the applications."""
    figure, (upper, lower) = panels((3, 2))
    scenario = comparison.scenario
    for change in scenario.changes if len(scenario.changes) <= _MARKS else ():
        for axes in (upper, lower):
            axes.axvline(change, color="0.85", linewidth=1, zorder=0)
    for name, style in DEFAULT.line_styles(comparison.methods).items():
        look = {"label": name, "color": style.color, "linestyle": style.dash, "linewidth": 1.8}
        ranks = comparison.ranks[name]
        _share(upper, ranks, scenario.every, look)
        total = regrets(ranks, scenario.means).cumsum(axis=1)
        _curve(lower, np.arange(1, scenario.steps + 1), total, look)
    _references(upper, lower, scenario)
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


def _references(upper: Any, lower: Any, scenario: Scenario) -> None:
    """Draw the expectation for uniform choice, and for always choosing the best operator."""
    loss = scenario.means[0] - scenario.means.mean()
    look: dict[str, Any] = {"color": "0.35", "linewidth": 1.2}
    ends = (0, scenario.steps)
    upper.plot(ends, [1 / scenario.operators] * 2, "--", label="uniform choice", **look)
    upper.plot(ends, (1, 1), ":", label="always the best", **look)
    lower.plot(ends, (0, loss * scenario.steps), "--", **look)
    lower.plot(ends, (0, 0), ":", **look)


def _share(axes: Any, ranks: Ranks, every: int, look: dict[str, Any]) -> None:
    """Draw the share over intervals that contain no change, each at its middle."""
    steps = ranks.shape[1]
    size = -(-min(every, steps) // _POINTS)
    starts = np.concatenate(
        [np.arange(at, min(at + every, steps), size) for at in range(0, steps, every)]
    )
    ends = np.append(starts[1:], steps)
    hits = np.add.reduceat((ranks == 0).astype(np.float64), starts, axis=1) / (ends - starts)
    _curve(axes, (starts + ends) / 2, hits, look)


def _curve(axes: Any, x: Floats | Any, values: Floats, look: dict[str, Any]) -> None:
    """Draw the mean over repetitions with a band of two standard errors on either side."""
    mean = values.mean(axis=0)
    axes.plot(x, mean, **look)
    if len(values) > 1:
        error = 2 * values.std(axis=0, ddof=1) / np.sqrt(len(values))
        axes.fill_between(x, mean - error, mean + error, color=look["color"], alpha=0.15, lw=0)
