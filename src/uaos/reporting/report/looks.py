"""The same colour for the same method everywhere, on white and on black."""

from collections.abc import Sequence
from typing import Any

from uaos.optimizers.picture import PALETTE
from uaos.reporting.report.html import Markup, tag
from uaos.reporting.style import DEFAULT

# What matplotlib's markers and strokes are called in Plotly.
_SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down",
    "P": "cross", "X": "x",
}  # fmt: skip
# A name with more characters may be wider than a phone.
_LONG = 24
_DASHES = ("solid", "dash", "dot", "dashdot")

#: The backgrounds that report.css declares.
LIGHT, DARK = "#ffffff", "#14171a"
# Contrast that a line needs to be seen (WCAG 2, 1.4.11).
_CONTRAST = 3.0


class Looks:
    """How methods and operators are drawn."""

    def __init__(self, methods: Sequence[str]) -> None:
        #: For figures of some of the methods, so that they have the same colours.
        self.order = tuple(methods)
        self._looks = DEFAULT.looks(methods)
        strokes = list(dict.fromkeys(str(look.stroke) for look in self._looks.values()))
        self._dashes = {stroke: _DASHES[i % len(_DASHES)] for i, stroke in enumerate(strokes)}
        self._places = {name: i for i, name in enumerate(self._looks)}

    def called(self, method: str) -> Markup:
        """A method's name with a dot in its colour before it."""
        look = "method" if len(method) <= _LONG else "method long"
        return tag("span", method, class_=look, style=self.color(method) or None)

    def color(self, method: str) -> str:
        """The method's colour as a declaration of the variable --c."""
        place = self._places.get(method)
        return "" if place is None else f"--c:var(--m{place})"

    def data(self) -> list[dict[str, Any]]:
        """For the script: names, markers and dashes; colours are the style sheet's."""
        return [
            {"name": name, "symbol": _SYMBOLS[look.marker], "dash": self._dashes[str(look.stroke)]}
            for name, look in self._looks.items()
        ]

    def style(self) -> str:
        """The style sheet's variables: a colour for each method and operator, in both themes."""
        light = {f"m{i}": look.color for i, look in enumerate(self._looks.values())}
        light |= {f"o{i}": color for i, color in enumerate(PALETTE)}
        dark = {name: on_dark(color) for name, color in light.items()}
        bright, dim = (
            " ".join(f"--{k}: {v};" for k, v in colors.items()) for colors in (light, dark)
        )
        # Paper is white whatever the screen was.
        return (
            f":root {{ {bright} }}\n"
            f"@media screen {{ :root[data-theme=dark] {{ {dim} }} }}\n"
            "@media screen and (prefers-color-scheme: dark) "
            f"{{ :root:not([data-theme]) {{ {dim} }} }}\n"
        )


def on_dark(color: str) -> str:
    """The colour, lightened as far as it must be to be seen on the dark background."""
    parts = _channels(color)
    for step in range(101):
        lighter = [c + (255 - c) * step / 100 for c in parts]
        if contrast(lighter, _channels(DARK)) >= _CONTRAST:
            break
    return "#" + "".join(f"{round(c):02x}" for c in lighter)


def contrast(first: Sequence[float], second: Sequence[float]) -> float:
    """The contrast of two colours, 1 to 21, by WCAG 2."""
    high, low = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _channels(color: str) -> list[float]:
    return [float(int(color[i : i + 2], 16)) for i in (1, 3, 5)]


def _luminance(channels: Sequence[float]) -> float:
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in channels)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
