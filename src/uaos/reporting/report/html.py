"""HTML from Python: elements whose text is escaped, and places for figures."""

import base64
import html
import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

# Images: pixels across at most, pixels per inch at most, and colours: lines on white need few.
_WIDEST, _DPI, _COLORS = 1500, 200, 128


class Markup(str):
    """A string that is HTML already."""

    __slots__ = ()


def markup(child: object) -> Markup:
    """Return what may stand inside an element: markup as it is, anything else escaped."""
    return child if isinstance(child, Markup) else Markup(html.escape(str(child)))


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Join several pieces."""
    return Markup(markup(between).join(markup(part) for part in parts))


def tag(kind: str, /, *children: object, **attributes: object) -> Markup:
    """Return an element; `class_` is class, `data_sort` data-sort; None and False are omitted."""
    given = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        given.append(f" {key}" if value is True else f' {key}="{html.escape(str(value))}"')
    start = f"<{kind}{''.join(given)}>"
    if kind in ("img", "input", "meta", "br"):
        return Markup(start)
    return Markup(f"{start}{joined(children)}</{kind}>")


def code(text: str) -> Markup:
    """Return text with a button that copies it."""
    button = tag("button", "copy", type="button", class_="copy screen", aria_label="Copy this text")
    return tag("div", tag("pre", text, tabindex="0"), button, class_="code")


def image(drawing: "Drawing", alternative: str) -> Markup:
    """Return a figure as an image that needs no other file."""
    from PIL import Image  # comes with matplotlib

    drawn = io.BytesIO()
    dpi = min(_DPI, _WIDEST / drawing.get_figwidth())
    drawing.savefig(drawn, format="png", dpi=dpi, metadata={"Software": None})
    full = Image.open(drawn).convert("RGB")
    small = io.BytesIO()
    full.quantize(_COLORS, dither=Image.Dither.NONE).save(small, format="png", optimize=True)
    data = base64.b64encode(small.getvalue()).decode()
    return tag("img", src=f"data:image/png;base64,{data}", alt=alternative, width=full.width // 2,
               height=full.height // 2)  # fmt: skip


def plot(
    kind: str,
    *,
    static: object = "",
    caption: object = "",
    look: str = "",
    before: object = "",
    **data: Any,
) -> Markup:
    """Return a place that the script draws into, with the image that stands there without it."""
    given = {f"data_{key}": value for key, value in data.items()}
    live = tag("div", class_="live", data_plot=kind, **given)
    still = tag("div", static, class_="static") if static else ""
    below = tag("figcaption", caption) if caption else ""
    return tag("figure", before, live, still, below, class_=" ".join(filter(None, ("plot", look))))


def picture(img: Markup, caption: str) -> Markup:
    """Return an image that stands on screens, too."""
    return tag("figure", img, tag("figcaption", caption) if caption else "", class_="picture")
