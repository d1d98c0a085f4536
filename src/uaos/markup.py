"""Build HTML elements; strings are escaped unless they are markup already."""

import html
from collections.abc import Iterable


class Markup(str):
    """A string of HTML, which is not escaped again."""

    __slots__ = ()


def escaped(child: object) -> Markup:
    """Return the content of an element as HTML: markup unchanged, anything else escaped."""
    return child if isinstance(child, Markup) else Markup(html.escape(str(child)))


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Join pieces of markup and text."""
    return Markup(escaped(between).join(escaped(part) for part in parts))


def tag(kind: str, /, *children: object, **attributes: object) -> Markup:
    """Return an element; `class_` is class, `data_sort` data-sort; None and False are omitted."""
    pairs = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        pairs.append(f" {key}" if value is True else f' {key}="{html.escape(str(value))}"')
    start = f"<{kind}{''.join(pairs)}>"
    if kind in ("img", "input", "meta", "br"):
        return Markup(start)
    return Markup(f"{start}{joined(children)}</{kind}>")
