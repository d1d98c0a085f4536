"""Two methods head to head, problem by problem; the reader chooses which."""

from itertools import combinations

import numpy as np

from uaos.analysis.focus import Duel, duels_by_problem
from uaos.analysis.scoring import ProblemKey
from uaos.analysis.sectioning import Section
from uaos.experiments.recorder import FINAL
from uaos.markup import Markup, tag
from uaos.text import natural_key, two_digits, typeset

_NOTE = (
    "What the median run reached: evaluations (ev.) to the final target 1e-8, otherwise the "
    "final error (in percent where the optimum is unknown). The ratio of the first to the second "
    "is of evaluations if all runs of both reached the target, otherwise of errors, as geometric "
    "means, with a 95 % confidence interval; below 1 the first is better. Better and worse are "
    "significant (rank-sum test of the runs, Holm-corrected over the problems)."
)


def duel_section(section: Section) -> Markup:
    """Return the menus and the place of the table; on screens only."""
    if len(section.methods) < 2:
        return Markup("")
    first = section.focus or section.overall.standings[0].method
    second = next(s.method for s in section.overall.standings if s.method != first)
    menus = [
        _menu(section, label, chosen) for label, chosen in (("first", first), ("second", second))
    ]
    parts = [
        tag("h3", "Head to head"),
        tag("div", menus[0], " against ", menus[1], class_="filters"),
        tag("p", class_="answer", data_duel_answer=section.key),
        tag("div", class_="scroll", data_duel=section.key, tabindex="0"),
        tag("p", typeset(_NOTE), class_="note"),
    ]
    return tag("div", *parts, class_="duel screen")


def _menu(section: Section, label: str, chosen: str) -> Markup:
    options = [tag("option", m, value=m, selected=m == chosen) for m in section.methods]
    return tag("label", tag("span", f"{label} method", class_="hidden"),
               tag("select", *options, data_duel_menu=label))  # fmt: skip


def duel_data(section: Section) -> dict[str, object]:
    """Return all pairs of methods on all problems, as the script reads them."""
    scores = section.run_scores
    problems = sorted(
        {problem for of_method in scores.values() for problem in of_method},
        key=lambda p: (natural_key(p[0]), p[1], natural_key(p[2])),
    )
    pairs = {}
    for (i, first), (j, second) in combinations(enumerate(section.methods), 2):
        compared = duels_by_problem(scores[first], scores[second], section.longest)
        each = {duel.problem: duel for duel in compared}
        pairs[f"{i},{j}"] = [_numbers(each.get(problem)) for problem in problems]
    return {
        "problems": [problem[2] for problem in problems],
        "medians": [[_median(section, m, problem) for problem in problems]
                    for m in section.methods],
        "pairs": pairs,
    }  # fmt: skip


def _numbers(duel: Duel | None) -> list[object] | None:
    """Return whether a ratio is of evaluations, the ratio, its interval, and the outcome."""
    if duel is None:
        return None
    ratio = duel.ratio
    ends = [ratio.low, ratio.high] if ratio.has_interval else [None, None]
    rounded = [None if v is None else float(f"{v:.3g}") for v in (ratio.value, *ends)]
    return [int(duel.unit == "evaluations"), *rounded, duel.outcome]


def _median(section: Section, method: str, problem: ProblemKey) -> str:
    """Return what the median run reached, as text."""
    runs = section.run_scores[method].get(problem)
    if not runs:
        return "–"
    middle, longest = float(np.median(runs)), float(np.log10(section.longest))
    if middle <= longest:
        return f"{10**middle * problem[1]:,.0f} ev."
    unit = " %" if problem[2] in section.results.relative else ""
    return typeset(f"{two_digits(FINAL * 10 ** (middle - longest))}{unit}")
