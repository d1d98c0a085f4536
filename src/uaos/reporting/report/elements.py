"""Elements that the sections of a report share: places for figures, colors, tables."""

import base64
import io
import re
from collections.abc import Sequence

from uaos.analysis.sectioning import Section
from uaos.markup import Markup, joined, tag
from uaos.reporting.figures import figures
from uaos.reporting.style import DEFAULT, LINES, LINES_ON_DARK, OPERATOR_LINES, Drawing, Style
from uaos.runs.picture import PALETTE
from uaos.table import Table

# Images: pixels across at most, pixels per inch at most, and colors: lines on white need few.
_WIDEST, _DPI, _COLORS = 1500, 200, 128


def code(text: str) -> Markup:
    """Return text with a button that copies it."""
    button = tag("button", "copy", type="button", class_="copy screen", aria_label="Copy this text")
    return tag("div", tag("pre", text, tabindex="0"), button, class_="code")


def image(drawing: Drawing, alternative: str) -> Markup:
    """Return a figure as an embedded image."""
    from PIL import Image  # comes with matplotlib

    drawn = io.BytesIO()
    dpi = min(_DPI, _WIDEST / drawing.get_figwidth())
    drawing.savefig(drawn, format="png", dpi=dpi, pil_kwargs={"compress_level": 0})
    full = Image.open(drawn).convert("RGB")
    small = io.BytesIO()
    full.quantize(_COLORS, dither=Image.Dither.NONE).save(small, format="png")
    data = base64.b64encode(small.getvalue()).decode()
    return tag("img", src=f"data:image/png;base64,{data}", alt=alternative, width=full.width // 2,
               height=full.height // 2)  # fmt: skip


def plot_place(
    kind: str,
    *,
    static: object = "",
    caption: object = "",
    look: str = "",
    before: object = "",
    **data: str | int,
) -> Markup:
    """Return an element for the script to draw into, with an image for pages without scripts."""
    attributes = {f"data_{key}": value for key, value in data.items()}
    live = tag("div", class_="live", data_plot=kind, **attributes)
    still = tag("div", static, class_="static") if static else ""
    below = tag("figcaption", caption) if caption else ""
    return tag("figure", before, live, still, below, class_=" ".join(filter(None, ("plot", look))))


# Colors

# Plotly's names of matplotlib's markers and dashes.
_SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down",
    "P": "cross", "X": "x",
}  # fmt: skip
_DASHES = ("solid", "dash", "dot", "dashdot")
# A longer name may be wider than a phone.
_LONG = 24


class Colors:
    """How methods and operators are drawn."""

    def __init__(self, methods: Sequence[str]) -> None:
        #: For figures of some of the methods, so that they have the same colors.
        self.order = tuple(methods)
        self._styles = DEFAULT.line_styles(methods)
        dashes = list(dict.fromkeys(str(style.dash) for style in self._styles.values()))
        self._dashes = {dash: _DASHES[i % len(_DASHES)] for i, dash in enumerate(dashes)}
        self._places = {name: i for i, name in enumerate(self._styles)}
        longest_first = sorted(map(re.escape, methods), key=len, reverse=True)
        self._names = re.compile(rf"(?<![\w-])({'|'.join(longest_first)})(?![\w-])")

    def name(self, method: str) -> Markup:
        """Return a method's name with a dot in its color before it."""
        look = "method" if len(method) <= _LONG else "method long"
        if method in self._styles and self._styles[method].dash != "-":
            look += " dashed"
        return tag("span", method, class_=look, style=self.color(method) or None)

    def in_text(self, text: str) -> Markup:
        """Return a sentence with the names of methods as :meth:`name` has them."""
        if not self.order:
            return joined([text])
        parts = self._names.split(text)
        return joined(self.name(part) if i % 2 else part for i, part in enumerate(parts))

    def color(self, method: str) -> str:
        """Return the method's color as a declaration of the variable --c."""
        place = self._places.get(method)
        return "" if place is None else f"--c:var(--m{place})"

    def data(self) -> list[dict[str, object]]:
        """Return names, markers and dashes for the script; colors are the style sheet's."""
        return [
            {"name": name, "symbol": _SYMBOLS[style.marker],
             "dash": self._dashes[str(style.dash)]}
            for name, style in self._styles.items()
        ]  # fmt: skip

    def style(self) -> str:
        """Return the style sheet's colors: of methods (m), operators (o) and their lines (l)."""
        methods = [style.color for style in self._styles.values()]
        dark = [LINES_ON_DARK[LINES.index(color)] for color in methods]
        bright, dim = (
            " ".join(f"--{k}{i}: {c};" for k, colors in kinds.items() for i, c in enumerate(colors))
            for kinds in ({"m": methods, "o": PALETTE, "l": OPERATOR_LINES},
                          {"m": dark, "o": PALETTE, "l": PALETTE})
        )  # fmt: skip
        # Always print in light colors.
        return (
            f":root {{ {bright} }}\n"
            f"@media screen {{ :root[data-theme=dark] {{ {dim} }} }}\n"
            "@media screen and (prefers-color-scheme: dark) "
            f"{{ :root:not([data-theme]) {{ {dim} }} }}\n"
        )


def shown(table: Table, colors: Colors, *, titled: bool = True) -> Markup:
    """Return a table as HTML."""
    return table.to_html(method=colors.name, show_title=titled)


def other_figures(place: str, section: Section, colors: Colors) -> Markup:
    """Return the figures of a part of the report that are images only."""
    style, parts = Style("page", order=colors.order), []
    for kind in figures().values():
        if kind.in_report == place and kind.interactive is None:
            still = image(kind.draw(kind.data(section), style), f"{kind.help}, {section.title}")
            drawn = tag("div", still, class_="scroll", tabindex="0")
            caption = tag("figcaption", kind.caption) if kind.caption else ""
            parts.append(tag("figure", drawn, caption, class_="picture"))
    return joined(parts)
