"""The same colour for the same method everywhere, on white and on black."""

import re
from collections.abc import Sequence
from typing import Any

from uaos.optimizers.picture import PALETTE
from uaos.reporting.report.html import Markup, joined, tag
from uaos.reporting.style import DEFAULT, visible_on

# What matplotlib's markers and dashes are called in Plotly.
_SYMBOLS = {
    "o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down",
    "P": "cross", "X": "x",
}  # fmt: skip
_DASHES = ("solid", "dash", "dot", "dashdot")
# A longer name may be wider than a phone.
_LONG = 24

#: The backgrounds that report.css declares.
LIGHT, DARK = "#ffffff", "#14171a"


class Colors:
    """How methods and operators are drawn."""

    def __init__(self, methods: Sequence[str]) -> None:
        #: For figures of some of the methods, so that they have the same colours.
        self.order = tuple(methods)
        self._styles = DEFAULT.line_styles(methods)
        dashes = list(dict.fromkeys(str(style.dash) for style in self._styles.values()))
        self._dashes = {dash: _DASHES[i % len(_DASHES)] for i, dash in enumerate(dashes)}
        self._places = {name: i for i, name in enumerate(self._styles)}
        longest_first = sorted(map(re.escape, methods), key=len, reverse=True)
        self._names = re.compile(rf"(?<![\w-])({'|'.join(longest_first)})(?![\w-])")

    def name(self, method: str) -> Markup:
        """Return a method's name with a dot in its colour before it."""
        look = "method" if len(method) <= _LONG else "method long"
        return tag("span", method, class_=look, style=self.color(method) or None)

    def in_text(self, text: str) -> Markup:
        """Return a sentence with the names of methods as :meth:`name` has them."""
        if not self.order:
            return joined([text])
        parts = self._names.split(text)
        return joined(self.name(part) if i % 2 else part for i, part in enumerate(parts))

    def color(self, method: str) -> str:
        """Return the method's colour as a declaration of the variable --c."""
        place = self._places.get(method)
        return "" if place is None else f"--c:var(--m{place})"

    def data(self) -> list[dict[str, Any]]:
        """Return names, markers and dashes for the script; colours are the style sheet's."""
        return [
            {"name": name, "symbol": _SYMBOLS[style.marker],
             "dash": self._dashes[str(style.dash)]}
            for name, style in self._styles.items()
        ]  # fmt: skip

    def style(self) -> str:
        """Return the style sheet's colours: of methods (m), operators (o) and their lines (l)."""
        plain = {f"m{i}": style.color for i, style in enumerate(self._styles.values())}
        plain |= {f"o{i}": color for i, color in enumerate(PALETTE)}
        lines = {f"l{i}": color for i, color in enumerate(PALETTE)}
        light = plain | {k: visible_on(v, LIGHT) for k, v in lines.items()}
        dark = {k: visible_on(v, DARK) for k, v in (plain | lines).items()}
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
