"""Static images: for print, for readers without scripts, and until the script has drawn."""

import base64
import io
from typing import TYPE_CHECKING, Any

from uaos.reporting.report.html import Markup, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Dots across at most, in an inch at most, and colours kept: lines on white need few.
_WIDEST, _DPI, _COLORS = 1500, 200, 128


def image(figure: "Figure", alternative: str) -> Markup:
    """A figure as an element that needs no other file."""
    from PIL import Image  # comes with matplotlib

    drawn = io.BytesIO()
    dots = min(_DPI, _WIDEST / figure.get_figwidth())
    figure.savefig(drawn, format="png", dpi=dots, metadata={"Software": None})
    whole = Image.open(drawn).convert("RGB")
    few = whole.quantize(_COLORS, dither=Image.Dither.NONE)
    written = io.BytesIO()
    few.save(written, format="png", optimize=True)
    data = base64.b64encode(written.getvalue()).decode()
    return tag("img", src=f"data:image/png;base64,{data}", alt=alternative, width=whole.width // 2,
               height=whole.height // 2)  # fmt: skip


def plot(
    kind: str,
    *,
    static: object = "",
    caption: object = "",
    look: str = "",
    before: object = "",
    **data: Any,
) -> Markup:
    """A place that the script draws a plot into, with the image that stands there without it."""
    given = {f"data_{key}": value for key, value in data.items()}
    live = tag("div", class_="live", data_plot=kind, **given)
    still = tag("div", static, class_="static") if static else ""
    said = tag("figcaption", caption) if caption else ""
    return tag("figure", before, live, still, said, class_=" ".join(filter(None, ("plot", look))))
