"""How often the methods of the literature use each component."""

from uaos.reporting.canvas import axes_with_margins
from uaos.reporting.figures import CATALOGUE, Figure
from uaos.reporting.style import LINES, SMALL, TICK, Drawing, Style, text_width
from uaos.selection.catalogue import literature
from uaos.selection.components import FAMILIES, components
from uaos.selection.descriptions import PLURALS

# Inches: of a row, above a family, at the edges.
_ROW, _HEAD, _EDGE = 0.15, 0.12, 0.08

Frequencies = dict[str, dict[str, int]]


def data(source: None = None) -> Frequencies:
    """Return, for each family, how many of the 27 methods have each component of the paper."""
    counts: Frequencies = {}
    for family in FAMILIES:
        used = [getattr(entry.method, family).name for entry in literature()]
        printed = [name for name, component in components(family).items() if component.printed]
        counts[family] = {name: used.count(name) for name in printed}
    return counts


def draw(frequencies: Frequencies, style: Style) -> Drawing:
    """Draw a bar for each component, the most frequent of a family first."""
    width = style.inches("column")
    rows: list[tuple[str, int | None]] = []
    for family, counts in frequencies.items():
        rows.append((PLURALS[family], None))
        rows += [(name, counts[name]) for name in sorted(counts, key=lambda n: -counts[n])]
    heads = sum(count is None for _, count in rows)
    height = _ROW * len(rows) + _HEAD * heads + 2 * _EDGE
    with style.figure(width, height) as figure:
        left = text_width(figure, [name for name, _ in rows], SMALL) + 0.16
        axes = axes_with_margins(figure, left, _EDGE, 0.3, _EDGE)
        axes.set_axis_off()
        axes.set_xlim(0, max(count or 0 for _, count in rows))
        axes.set_ylim(height - 2 * _EDGE, 0)
        y = 0.0
        for name, count in rows:
            y += _ROW / 2 + (_HEAD if count is None else 0)
            if count is None:
                axes.text(-(left - _EDGE) / (width - left - 0.3) * axes.get_xlim()[1], y, name,
                          fontsize=TICK, fontweight="bold", va="center",
                          clip_on=False)  # fmt: skip
            else:
                axes.barh(y, count, _ROW * 0.7, color=LINES[0], label=name)
                axes.annotate(name, (0, y), (-4, 0), textcoords="offset points", ha="right",
                              fontsize=SMALL, va="center")  # fmt: skip
                axes.annotate(str(count), (count, y), (3, 0), textcoords="offset points",
                              fontsize=SMALL, va="center", annotation_clip=False)  # fmt: skip
            y += _ROW / 2
    return figure


FIGURE = Figure(
    "literature", "components of the 27 methods of the literature", CATALOGUE, data, draw
)
