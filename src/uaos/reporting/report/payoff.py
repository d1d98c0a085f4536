"""Did tuning pay? What a tuning found, on problems that it had not seen."""

from collections.abc import Mapping, Sequence
from typing import Any

from uaos.analysis.statistics import ALPHA
from uaos.experiments.plan import evaluations
from uaos.reporting.report.chapter import Chapter
from uaos.reporting.report.html import Markup, joined, listed, tag, whole
from uaos.reporting.report.looks import Looks
from uaos.reporting.report.tunings import TuningView
from uaos.reporting.report.words import told_apart


def payoff(chapter: Chapter, tunings: Sequence[TuningView], looks: Looks) -> Markup:
    """The winner of each tuning against the other methods; nothing if none was run."""
    parts = [
        tag("p", sentence)
        for view in tunings
        if (found := _tested(chapter, view)) is not None
        for sentence in (_standing(chapter, found, looks), _at_its_budget(chapter, found, view))
        if sentence
    ]
    return joined([tag("h3", "Did tuning pay?"), *parts]) if parts else Markup("")


def _tested(chapter: Chapter, view: TuningView) -> str | None:
    """The method of the results that the tuning found."""
    best = view.best
    if best is None or len(chapter.methods) < 2 or not chapter.overall.problems:
        return None
    known = chapter.results.configurations
    return next((m for m in chapter.methods if _same(known.get(m, {}), best)), None)


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one.get(part) == other.get(part) for part in ("method", "de"))


def _standing(chapter: Chapter, method: str, looks: Looks) -> Markup:
    better, level, worse = told_apart(chapter.overall, method, chapter.methods)
    called = looks.called
    said = [
        joined([what, listed(map(called, names), word)])
        for names, what, word in (
            (better, "better than ", "and"), (worse, "worse than ", "and"),
            (level, "not told apart from ", "or"),
        )
        if names
    ]  # fmt: skip
    return tag("span", called(method), ", which the tuning found, is ", joined(said, "; "),
               f" (α = {ALPHA:g}).", class_="answer")  # fmt: skip


def _at_its_budget(chapter: Chapter, method: str, view: TuningView) -> Markup:
    """How it stands after as many evaluations as it was tuned for, if those were fewer."""
    setup = view.entry.tuning.setup
    if any(not str(name).endswith(f" {chapter.dimension}-D") for name in setup["problems"]):
        return Markup("")
    spent = evaluations(setup["budget"], chapter.dimension)
    panel = next((p for p in chapter.panels() if p.key == "all"), None)
    if spent >= chapter.budget or panel is None:
        return Markup("")
    reached = {}
    for m in chapter.methods:
        curve = chapter.profile(m, panel, restarts=False)
        reached[m] = 0.0 if curve is None else float(curve.at(spent / chapter.dimension))
    own = reached[method]
    ahead = sorted((m for m in reached if reached[m] > own), key=lambda m: -reached[m])
    place = "the most of all" if not ahead else f"{len(ahead)} of {len(reached) - 1} others more"
    return Markup(
        f"It was tuned for runs of {whole(spent)} evaluations and tested with "
        f"{whole(chapter.budget)}. After {whole(spent)} it has reached {own:.1%} of the "
        f"(function, target) pairs, {place}"
        + (f" ({', '.join(f'{m} {reached[m]:.1%}' for m in ahead[:3])})." if ahead else ".")
    )
