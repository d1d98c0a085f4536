"""The first page: who did best and where, whether adapting pays, what was run, what is missing."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from uaos.analysis.statistics import ALPHA
from uaos.analysis.tables import Table, pair_table
from uaos.analysis.verdict import outcome
from uaos.reporting.report.chapter import Chapter
from uaos.reporting.report.grid import Cell, Row, from_table, grid
from uaos.reporting.report.html import (
    Markup,
    count,
    duration,
    joined,
    large,
    listed,
    power,
    probability,
    prose,
    tag,
    whole,
)
from uaos.reporting.report.looks import Looks
from uaos.reporting.report.sources import Experiment, Sources
from uaos.reporting.report.words import class_test, findings, headline, tests_said

_NB = "\u00a0"


def overview_section(chapter: Chapter, looks: Looks, first: object, tuned: object) -> Markup:
    """One dimension in words and numbers; `first` stands under the headline, `tuned` at the end."""
    called = looks.called
    parts: list[object] = [tag("p", headline(chapter, called), class_="lead"), first]
    parts += [tag("p", text) for text in findings(chapter, called)]
    parts.append(scoreboard(chapter, looks))
    if len(chapter.methods) > 1 and chapter.overall.problems:
        parts.append(rank_strip(chapter, looks))
        if len(chapter.classes) > 1:
            parts.append(_leaders(chapter, looks))
    parts += [tag("h3", "Does adapting pay?"), *_verdict(chapter, looks), tuned]
    if chapter.pairs and chapter.overall.problems:
        parts.append(tag("details", tag("summary", "Every pair of methods"), pairs(chapter, looks)))
    return joined(parts)


def _verdict(chapter: Chapter, looks: Looks) -> list[Markup]:
    said = chapter.verdict
    first = prose(said.headline).removeprefix("Does adapting pay? ")
    lines = [tag("p", f"{first[0].upper()}{first[1:]}", class_="answer")]
    if not said.tests:
        return lines
    rows = []
    for over, coarse in said.tests:
        times = 10**over.difference
        rows.append(Row((
            Cell(looks.called(over.first), over.first),
            Cell(looks.called(over.second), over.second),
            Cell(outcome(over)), Cell(f"{over.wins}{_NB}/{_NB}{over.problems}", float(over.wins)),
            Cell(f"{times:.2f}", times), Cell(probability(over.p_holm), over.p_holm),
            Cell(probability(coarse.p_holm), coarse.p_holm),
        )))  # fmt: skip
    note = (
        "Effort: in the median over the problems so many times the evaluations of uniform choice, "
        "or its final error where unsolved; below 1 is better. p: Wilcoxon’s test, corrected after "
        f"Holm; of functions: each function once. {prose(said.note)}"
    )
    columns = ("method", "against", "outcome", "problems won", "effort", "p", "p of functions")
    table = grid(
        f"adapting-{chapter.dimension}", f"Against uniform choice, {chapter.dimension}-D", columns,
        rows, texts=3, titled=False, note=note.strip(),
    )  # fmt: skip
    return [*lines, table]


def adapting_records(chapter: Chapter) -> list[dict[str, object]]:
    """The methods against uniform choice, for programs."""
    return [
        {"dimension": chapter.dimension, "method": over.first, "against": over.second,
         "outcome": outcome(over), "wins": over.wins, "ties": over.ties, "losses": over.losses,
         "difference": over.difference, "p_holm": over.p_holm,
         "p_holm_functions": coarse.p_holm}
        for over, coarse in chapter.verdict.tests
    ]  # fmt: skip


# Tables


def scoreboard(chapter: Chapter, looks: Looks) -> Markup:
    """Solved runs by class, the area under the profile and the mean rank; best rank first."""
    several = len(chapter.methods) > 1 and chapter.overall.problems
    one_class = len(chapter.classes) == 1
    shown = (chapter.overall,) if one_class else (*chapter.classes, chapter.overall)
    columns: list[object] = ["method"]
    columns += [c.name if c is not chapter.overall else _all(chapter) for c in shown]
    columns += ["ECDF area", *(["mean rank"] if several else [])]
    rows = []
    for standing in chapter.overall.standings:
        cells = [Cell(looks.called(standing.method), standing.method)]
        for c in shown:
            of = c.standing(standing.method)
            share = of.solved / of.runs if of.runs else np.nan
            text = f"{of.solved}{_NB}/{_NB}{of.runs}" if of.runs else "–"
            most = max((s.solved / s.runs for s in c.standings if s.runs), default=0.0)
            best = "best" if of.runs and share == most > 0 and several else ""
            cells.append(Cell(text, share, f"share {best}".strip(), f"--s:{_tint(share)}"))
        area = area_of(chapter, standing.method)
        cells.append(Cell(f"{area:.3f}", area))
        if several:
            cells.append(Cell(f"{standing.rank:.2f}", standing.rank))
        rows.append(Row(tuple(cells)))
    limit = max(float(r.evaluations.max()) for r in chapter.runs) / chapter.dimension
    note = (
        "Solved: f − f_opt ≤ 10⁻⁸ within the budget. ECDF area: under the profile of the runs as "
        f"they were, evaluations / D from 1 to {whole(limit)} on a logarithmic scale; 1 at most."
    )
    title = f"Runs solved, ECDF area{' and mean rank' if several else ''}, {chapter.dimension}-D"
    return grid(f"overview-{chapter.dimension}", title, columns, rows, note=note)


def _all(chapter: Chapter) -> str:
    return "all" if len(chapter.classes) > 1 else chapter.classes[0].name


def _tint(share: float) -> str:
    return "0%" if np.isnan(share) else f"{100 * share:.0f}%"


def area_of(chapter: Chapter, method: str) -> float:
    """Under the profile of a method's runs; that of several functions is the mean of theirs."""
    limit = max(float(r.evaluations.max()) for r in chapter.runs) / chapter.dimension
    areas = [curve.area(limit) for (m, _), curve in chapter.raw.items() if m == method]
    return float(np.mean(areas))


def rank_strip(chapter: Chapter, looks: Looks) -> Markup:
    """Mean ranks as dots on a line; shaded is what the critical difference allows the best."""
    ranking = chapter.ranking
    k = len(chapter.methods)
    best = float(ranking.mean_ranks.min())

    def at(rank: float) -> str:
        return f"{100 * (min(rank, k) - 1) / (k - 1):.1f}%"

    rows = []
    for standing in chapter.overall.standings:
        dot = tag("span", class_="dot", style=f"--x:{at(standing.rank)}")
        band = tag("span", class_="band", style=f"--from:{at(best)};--to:"
                   f"{at(best + ranking.critical_difference)}")  # fmt: skip
        track = tag("div", band, dot, class_="track", aria_hidden="true")
        color = looks.called(standing.method)
        rows.append(tag("div", color, tag("span", f"{standing.rank:.2f}", class_="number"), track,
                        class_="strip", style=looks.color(standing.method)))  # fmt: skip
    axis = tag("div", *(tag("span", i, style=f"--x:{at(i)}") for i in range(1, k + 1)),
               class_="axis", aria_hidden="true")  # fmt: skip
    scale = tag("div", tag("span"), tag("span"), axis, class_="strip scale")
    tested = ""
    if np.isfinite(ranking.p):
        tested = f"Friedman’s test: p = {power(ranking.p)}. "
    note = (
        f"{tested}Shaded: within the critical difference of the best, "
        f"{ranking.critical_difference:.2f} (Nemenyi, α = {ALPHA:g}), which goes by ranks alone; "
        f"Wilcoxon’s test, by sizes too, may see more or less. {tests_said(chapter)}"
    )
    return joined([
        tag("h3", f"Mean ranks over {count(ranking.problems, 'problem')}"),
        tag("div", *rows, scale, class_="strips"),
        tag("p", note, class_="note"),
    ])  # fmt: skip


def _leaders(chapter: Chapter, looks: Looks) -> Markup:
    rows = []
    for c in chapter.classes:
        if not c.problems:
            continue
        first = c.standings[0]
        names = listed(map(looks.called, c.leaders))
        second = next((s for s in c.standings if s.method not in c.leaders), None)
        rows.append(Row((
            Cell(c.name, c.name), Cell(names, first.method),
            Cell(looks.called(second.method) if second else "–", second.method if second else ""),
            Cell(c.problems, float(c.problems)),
            Cell(f"{first.solved}{_NB}/{_NB}{first.runs}", first.solved / max(1, first.runs)),
            Cell(f"{second.solved}{_NB}/{_NB}{second.runs}" if second and second.runs else "–"),
            Cell(class_test(c)),
        )))  # fmt: skip
    return joined([
        tag("h3", "Who leads where"),
        grid(f"classes-{chapter.dimension}",
             f"Best and second mean rank by class of functions, {chapter.dimension}-D",
             ("functions", "best", "second", "problems", "solved by best", "by second", "test"),
             rows, texts=3, titled=False,
             note="Test: best against second, Wilcoxon over the problems of the class, corrected "
             "after Holm for all pairs of methods."),
    ])  # fmt: skip


def overview_records(chapter: Chapter) -> list[dict[str, object]]:
    """The scoreboard, for programs."""
    records = []
    for standing in chapter.overall.standings:
        of: dict[str, object] = {"dimension": chapter.dimension, "method": standing.method}
        for c in (*chapter.classes, chapter.overall):
            one = c.standing(standing.method)
            of |= {f"solved {c.name}": one.solved, f"runs {c.name}": one.runs}
        area = area_of(chapter, standing.method)
        records.append(of | {"ecdf_area": area, "mean_rank": standing.rank})
    return records


def class_records(chapter: Chapter) -> list[dict[str, object]]:
    """The standings in every class, and Holm's p against its best, for programs."""
    return [
        {"dimension": chapter.dimension, "functions": c.name, "method": s.method,
         "problems": c.problems, "mean_rank": s.rank, "solved": s.solved, "runs": s.runs,
         "p_holm_against_best": c.pair(c.standings[0].method, s.method).p_holm
         if c.pairs and s is not c.standings[0] else ""}
        for c in (*chapter.classes, chapter.overall)
        for s in c.standings
    ]  # fmt: skip


def pairs(chapter: Chapter, looks: Looks) -> Markup:
    """Every pair of methods, tested."""
    return from_table(
        pair_records(chapter), f"pairs-{chapter.dimension}", looks.called,
        texts=("first", "second", "better"),
    )  # fmt: skip


def pair_records(chapter: Chapter) -> Table:
    """The table of pairs."""
    return pair_table(chapter.pairs, chapter.function_pairs, chapter.dimension)


# What was run


def data_words(sources: Sources, chapters: Sequence[Chapter]) -> list[Markup]:
    """How much was run."""
    said = []
    for chapter in chapters:
        runs = sum(map(len, chapter.runs))
        spent = sum(float(r.evaluations.sum()) for r in chapter.runs)
        every = {(r.function, int(i)) for r in chapter.runs for i in r.instances}
        budgets = sorted({int(b) for r in chapter.runs for b in np.unique(r.budgets)})
        each = " or ".join(whole(b) for b in budgets[:3]) + (" or more" if budgets[3:] else "")
        said.append(Markup(
            f"{count(runs, 'run')} of {count(len(chapter.methods), 'method')} on "
            f"{count(len(every), 'problem')} ({count(len(chapter.functions), 'function')}) in "
            f"{chapter.dimension}-D, each of at most {each} evaluations: {large(spent)} "
            "evaluations in all."
        ))  # fmt: skip
    seconds = sources.seconds
    if said and seconds >= 1:
        said.append(Markup(f"They took {duration(seconds)} of processor time."))
    return said


def missing_words(sources: Sources, chapters: Sequence[Chapter], looks: Looks) -> list[Markup]:
    """What has to be known before the numbers are trusted; empty if nothing."""
    said = [line for e in sources.experiments for line in _unfinished(e, looks)]
    for chapter in chapters:
        said += _uneven(chapter, looks)
    for entry in sources.tunings:
        if entry.tuning.finished is None:
            said.append(Markup(f"Tuning {entry.tuning.id} of {entry.name} is not finished."))
    return said


def _unfinished(e: Experiment, looks: Looks) -> list[Markup]:
    said = []
    total = sum(t.total for t in e.tallies.values())
    if e.waiting:
        each = [
            joined([looks.called(m), f" {whole(left)}"])
            for m, t in e.tallies.items()
            if (left := t.total - t.done - t.failed)
        ]
        said.append(joined([
            f"{e.name}: {whole(e.waiting)} of {count(total, 'planned run')} are not finished (",
            joined(each, ", "), ").",
        ]))  # fmt: skip
    for method, t in e.tallies.items():
        if t.failed:
            reasons = Counter(o.reason for o in e.failures if o.method == method)
            reason = reasons.most_common(1)[0][0]
            most = "" if len(reasons) == 1 else f" (the most frequent of {len(reasons)} reasons)"
            be = "is" if t.failed == 1 else "are"
            said.append(joined([
                f"{e.name}: {count(t.failed, 'run')} of ", looks.called(method),
                f" failed and {be} in no number here: {reason}{most}.",
            ]))  # fmt: skip
    return said


def _uneven(chapter: Chapter, looks: Looks) -> list[Markup]:
    each: dict[str, set[tuple[str, int]]] = {m: set() for m in chapter.methods}
    budgets: dict[int, list[str]] = {}
    for method in chapter.methods:
        runs = chapter.results.of(method, chapter.dimension)
        each[method] = {(r.function, int(i)) for r in runs for i in r.instances}
        budgets.setdefault(max(int(r.budgets.max()) for r in runs), []).append(method)
    every = set().union(*each.values())
    said = [
        joined([looks.called(m), f" was run on {whole(len(of))} of {count(len(every), 'problem')} "
                f"in {chapter.dimension}-D."])
        for m, of in each.items()
        if len(of) < len(every)
    ]  # fmt: skip
    if len(budgets) > 1:
        parts = [
            joined([whole(b), " for ", listed(map(looks.called, names))])
            for b, names in sorted(budgets.items())
        ]
        said.append(joined([f"The budgets differ in {chapter.dimension}-D: ",
                            joined(parts, "; "), "."]))  # fmt: skip
    return said
