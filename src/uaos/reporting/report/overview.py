"""The first screen: the topic, which method did best, whether adapting and tuning pay."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from uaos.analysis.findings import focus_sentences, headline, verdict
from uaos.analysis.sectioning import Section
from uaos.analysis.tables import against_table
from uaos.markup import Markup, joined, tag
from uaos.reporting.report.duels import duel_section
from uaos.reporting.report.elements import Colors, other_figures, plot_place, shown
from uaos.reporting.sources import Course, Experiment, Sources
from uaos.runs.picture import PALETTE
from uaos.table import Table
from uaos.text import count, duration, join_names, large, typeset

_ABOUT = (
    "Adaptive operator selection: while an evolutionary algorithm runs, a method observes which of "
    "its operators produce improvements and decides which to apply next. This report compares such "
    "methods, and others, on the same problems."
)

_PROFILES = (
    "Each problem has 51 targets, errors from 1e2 to 1e-8. A line shows how many of them a method "
    "has reached within a number of evaluations: higher and further left is better. A cross marks "
    "the end of the runs; beyond it, unsolved runs are continued by simulated restarts."
)


def overview_section(
    section: Section, tables: Mapping[str, Table], colors: Colors, courses: Sequence[Course],
    winners: Sequence[str], remarks: Markup | None,
) -> Markup:  # fmt: skip
    """Return one section in words, figures and tables; the first one has `remarks`."""
    answer = verdict(section).headline.removeprefix("Does adapting pay? ")
    lead, detail = headline(section), ""
    if section.focus_tests:
        lead, detail = focus_sentences(section)
    parts: list[object] = [
        tag("p", colors.in_text(typeset(lead)), class_="lead"),
        tag("p", colors.in_text(typeset(detail)), class_="detail") if detail else "",
        first_figures(section, courses, colors),
        tag("p", _ABOUT, class_="about") if remarks is not None else "",
        remarks or "",
        *(shown(tables[name], colors) for name in ("focus", "focus-problems") if name in tables),
        shown(tables["overview"], colors),
        duel_section(section),
    ]
    if "ranks" in tables:
        parts += [tag("h3", f"Mean ranks over {count(section.ranking.problems, 'problem')}"),
                  other_figures("overview", section, colors),
                  shown(tables["ranks"], colors, titled=False)]  # fmt: skip
    if "groups" in tables:
        parts += [tag("h3", "Best method by group of functions"),
                  shown(tables["groups"], colors, titled=False)]  # fmt: skip
    parts += [tag("h3", "Does adapting pay?"),
              tag("p", colors.in_text(typeset(answer)), class_="answer")]  # fmt: skip
    if "adapting" in tables:
        parts.append(shown(tables["adapting"], colors, titled=False))
    for winner in winners if section.focus is None else ():
        parts += [tag("h3", "Did tuning pay?"), shown(tuned_table(section, winner), colors)]
    # The second is not printed: with many methods it would fill pages.
    for name, title, css_class in (("values", "Each problem", None),
                              ("pairs", "All pairs of methods", "screen")):  # fmt: skip
        if name in tables:
            summary = tag("summary", title)
            parts.append(tag("details", summary, shown(tables[name], colors), class_=css_class))
    return joined(parts)


def tuned_table(section: Section, winner: str) -> Table:
    """Tabulate the result of a tuning against every other method, on problems unseen in it."""
    tests = [
        (section.pairs.pair(winner, other), section.function_pairs.pair(winner, other))
        for other in section.methods
        if other != winner
    ]
    title = f"{winner}, the result of the tuning, against the others, {section.title}"
    return against_table(section, f"tuned-{winner}-{section.key}", title, tests)


def first_figures(section: Section, courses: Sequence[Course], colors: Colors) -> Markup:
    """Return the profile over all functions beside the first of the runs; on screens only.

    Both are shown in full further down.
    """
    parts = []
    if section.shared and len(section.methods) > 1:
        has_reference = section.reference_profile(section.shared) is not None
        best = section.reference if has_reference else None
        dashed = f" The dashed line is {best.name}, {best.about}." if best else ""
        parts.append(_brief(
            "profile", "Share of the targets reached", "#profiles",
            typeset(f"{_PROFILES}{dashed}"),
            map(colors.name, section.methods), section=section.key, panel="all",
        ))  # fmt: skip
    here = [c for c in courses if section.dimension in (None, c.dimension)]
    if here:
        first = here[0]
        what = "value" if first.optimum is None else "error"
        keys = [
            tag("span", name, class_="key operator", style=f"--c:var(--o{k % len(PALETTE)})")
            for k, name in enumerate(first.history.operators[: len(PALETTE)])
        ]
        parts.append(_brief(
            "course", f"What {first.method} used on {first.function}", "#operators",
            f"Above: the share of the evaluations that each operator made. Below: the best {what} "
            "so far.", keys,
            run=str(courses.index(first)),
        ))  # fmt: skip
    return tag("div", *parts, class_="first-figures screen") if parts else Markup("")


def _brief(kind: str, title: str, link: str, caption: str, keys: Iterable[object], **data: str
           ) -> Markup:  # fmt: skip
    head = joined([tag("a", title, href=link, class_="title"), tag("span", *keys, class_="keys")])
    return plot_place(kind, before=head, caption=caption, brief="1", label=title, **data)


# What was run


def data_summary(sources: Sources, sections: Sequence[Section]) -> str:
    """Return how much was run."""
    sentences = []
    for section in sections:
        runs = list(section.runs.values())
        problems = {str(p) for r in runs for p in r.problems}
        sentences.append(
            f"{count(sum(map(len, runs)), 'run')} of {count(len(section.methods), 'method')} on "
            f"{count(len(problems), 'problem')} ({count(len(section.functions), 'function')}, "
            f"{section.dimensions}), each of at most {section.budget_text()} evaluations: "
            f"{large(sum(float(r.evaluations.sum()) for r in runs))} evaluations in total."
        )
    if sentences and sources.results.seconds >= 1:
        sentences.append(f"The runs took {duration(sources.results.seconds)}, added up.")
    return typeset(" ".join(sentences))


def notes(sources: Sources, sections: Sequence[Section]) -> list[str]:
    """Return caveats on the numbers."""
    lines = [line for e in sources.experiments for line in _unfinished(e)]
    for section in sections:
        where = f"{section.dimensions}: " if len(sections) > 1 else ""
        lines += [where + line for line in section.notes]
    for entry in sources.tunings:
        if entry.tuning.finished is None:
            lines.append(f"Tuning {entry.tuning.id} of {entry.name} is not finished.")
    return [typeset(line) for line in lines]


def _unfinished(e: Experiment) -> list[str]:
    lines = []
    total = sum(t.total for t in e.tallies.values())
    left = {m: t.total - t.done - t.failed for m, t in e.tallies.items()}
    if any(left.values()):
        each = ", ".join(f"{m} {n:,}" for m, n in left.items() if n)
        lines.append(f"{e.name}: {sum(left.values()):,} of {count(total, 'planned run')} are not "
                     f"finished ({each}).")  # fmt: skip
    for method, t in e.tallies.items():
        if t.failed:
            reasons = Counter(reason for m, reason in e.failures if m == method)
            reason = reasons.most_common(1)[0][0]
            most = "" if len(reasons) == 1 else f" (the most frequent of {len(reasons)} reasons)"
            lines.append(
                f"{e.name}: {count(t.failed, 'run')} of {method} failed and "
                f"{'is' if t.failed == 1 else 'are'} not included: {reason}{most}."
            )
    return lines


def report_title(sections: Sequence[Section], tunings: int) -> str:
    """Return the heading of a report."""
    if not sections:
        return "A tuning" if tunings == 1 else f"{tunings} tunings"
    methods = list(dict.fromkeys(m for s in sections for m in s.methods))
    names = join_names(methods) if len(methods) <= 3 else f"{len(methods)} methods"
    functions = dict.fromkeys(f for s in sections for f in s.functions)
    suite = {"bbob": "BBOB"}.get(sections[0].results.suite, sections[0].results.suite)
    on = f"{len(functions)} functions of {suite}" if len(functions) > 1 else next(iter(functions))
    return f"{names} on {on}, {join_names(s.dimensions for s in sections)}"
