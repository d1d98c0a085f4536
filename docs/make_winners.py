"""Write the table and draw the timeline of winners.md:  python docs/make_winners.py"""

import re
from pathlib import Path
from typing import NamedTuple

from uaos.optimizers.catalogue import methods
from uaos.optimizers.winners import recipes_by_name
from uaos.reporting.style import INK, LINES
from uaos.selection.bibliography import short

PAGE = Path(__file__).parent / "winners.md"
PICTURE = PAGE.parent / "images" / "timeline.png"
#: Baselines that adapt F and CR by success.
_ADAPTIVE = ("JADE", "SHADE", "L-SHADE")
OPERATORS, PARAMETERS, ALGORITHMS = "operators", "F and CR", "algorithms"
#: What selects algorithms rather than operators of one.
_OF_ALGORITHMS = ("MOS", "EA4eig")


class Row(NamedTuple):
    """A line of the table: a configuration of the catalogue, in short."""

    year: int
    name: str
    selects: str
    credit: str
    scope: str
    cite: str


def rows() -> list[Row]:
    """Every method of the literature that the catalogue has, by year."""
    made = []
    for name, entry in methods().items():
        year = re.search(r"\((\d{4})\)", entry.reference)
        if year is None:
            continue
        if name in recipes_by_name():
            one = recipes_by_name()[name]
            said = (one.selects, one.credit, one.scope)
        elif name in _ADAPTIVE:
            said = (PARAMETERS, "improvement" if name != "JADE" else "success", "offspring")
        elif entry.kind == "method" and entry.method is not None:
            credit = f"{entry.method.metric.name}, {entry.method.reward.name}".replace("_", " ")
            said = (OPERATORS, credit, "offspring")
        else:
            continue
        made.append(Row(int(year[1]), name, *said, short(entry.reference)))
    return sorted(made, key=lambda row: row.year)


def table() -> str:
    """The rows as Markdown."""
    lines = ["| year | method | selects | by which credit | for each | source |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    lines += [
        f"| {row.year} | `{row.name}` | {row.selects} | {row.credit} | {row.scope} | {row.cite} |"
        for row in rows()
    ]
    return "\n".join(lines) + "\n"


def details() -> str:
    """Source and deviations of every recipe, as Markdown."""
    lines = ["| recipe | constants from | differs from the original |", "|---|---|---|"]
    lines += [
        f"| `{name}` | {one.source} | {'; '.join(one.deviations) or 'in nothing known'} |"
        for name, one in recipes_by_name().items()
    ]
    return "\n".join(lines) + "\n"


def filled(page: str) -> str:
    """The page with both tables in their places."""
    for name, made in (("table", table()), ("details", details())):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{made}\n{end}{rest.partition(end)[2]}"
    return page


def group(row: Row) -> str:
    """What a method selects, in three groups."""
    if row.name in _OF_ALGORITHMS:
        return ALGORITHMS
    return PARAMETERS if row.selects == PARAMETERS else OPERATORS


def draw() -> None:
    """Draw the methods of each year as a column of names."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    colors = dict(zip((OPERATORS, PARAMETERS, ALGORITHMS), LINES[:3], strict=True))
    years = sorted({row.year for row in rows()})
    figure, axes = plt.subplots(figsize=(10, 4.2), layout="constrained")
    # One column a year that has a method: years without one take no room.
    for x, year in enumerate(years):
        found = sorted((r for r in rows() if r.year == year), key=lambda r: (group(r), r.name))
        for y, row in enumerate(found):
            axes.text(x, y + 0.35, row.name, rotation=0, ha="center", va="bottom", fontsize=6.5,
                      color=colors[group(row)])  # fmt: skip
        axes.plot(x, 0, "o", color=INK, markersize=4)
        axes.text(x, -0.45, str(year), ha="center", va="top", fontsize=8, color=INK)
    axes.axhline(0, color=INK, linewidth=1, zorder=0)
    for name, color in colors.items():
        axes.plot([], [], "s", color=color, label=f"selects {name}")
    axes.legend(loc="upper left", frameon=False, fontsize=8)
    axes.set_xlim(-0.7, len(years) - 0.3)
    axes.set_ylim(-1.2, max(sum(r.year == y for r in rows()) for y in years) + 0.8)
    axes.axis("off")
    figure.savefig(PICTURE, dpi=200)


def main() -> None:
    """Write both."""
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
    draw()


if __name__ == "__main__":
    main()
