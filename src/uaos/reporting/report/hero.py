"""The first picture: how far the methods came, and how the best of them chose its operators."""

from collections.abc import Sequence
from typing import Any

from uaos.optimizers.picture import PALETTE
from uaos.reporting.report.chapter import Chapter
from uaos.reporting.report.courses import Course
from uaos.reporting.report.html import Markup, joined, tag
from uaos.reporting.report.pictures import plot


def hero(chapter: Chapter, found: Sequence[Course]) -> Markup:
    """The profile over all functions beside the first of the runs; on screens only.

    Both come again further down, with all that can be said of them.
    """
    parts = []
    if chapter.shared and len(chapter.methods) > 1:
        parts.append(_figure(
            "profile", "Share of (function, target) pairs reached", "#profiles",
            "Over evaluations / dimension; the crosses mark the budget"
            + (", the dashed line is best 2009." if _known(chapter) else "."),
            dimension=chapter.dimension, panel="all",
        ))  # fmt: skip
    runs = [c for c in found if c.outcome.dimension == chapter.dimension]
    if runs:
        first = runs[0]
        keys = [
            tag("span", name, class_="key method", style=f"--c:var(--o{k % len(PALETTE)})")
            for k, name in enumerate(first.history.operators[: len(PALETTE)])
        ]
        parts.append(_figure(
            "course", f"Which operators {first.outcome.method} used on {first.outcome.function}",
            "#operators", joined(["Shares of the offspring above, the error below.",
                                  tag("span", *keys, class_="keys")]),
            run=found.index(first),
        ))  # fmt: skip
    return tag("div", *parts, class_="hero screen") if parts else Markup("")


def _known(chapter: Chapter) -> bool:
    return any(chapter.reference(p) is not None for p in chapter.panels() if p.key == "all")


def _figure(kind: str, title: str, link: str, caption: object, **data: Any) -> Markup:
    head = tag("a", title, href=link, class_="title")
    return plot(kind, before=head, caption=caption, brief="1", label=title, **data)
