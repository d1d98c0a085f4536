"""The tables of a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from uaos.analysis.art import TABLE_TARGETS, AverageRunningTime
from uaos.analysis.findings import pair_outcome, verdict
from uaos.analysis.focus import Duel, FocusTest, Ratio
from uaos.analysis.profiles import RESTART_HORIZON
from uaos.analysis.scoring import ALPHA, Pair, better_than_all, better_than_reference
from uaos.analysis.sectioning import Section
from uaos.experiments.recorder import FINAL
from uaos.table import BLOCK, METHOD, NUMBER, TEXT, Cell, Column, Row, Table
from uaos.text import count, natural_key, number, p_value, ranges, two_digits

# The problems on which the runs of the first of two methods are better, not different, and worse.
_ON_PROBLEMS = ("problems_better", "problems_level", "problems_worse")


def section_tables(section: Section) -> list[Table]:
    """Return the tables of a section in the order in which they are shown."""
    tables = []
    if section.focus_tests:
        tables.append(focus_table(section))
        if section.tests_each_problem:
            tables.append(focus_problem_table(section))
    tables += [overview_table(section), art_table(section)]
    if section.tests_each_problem:
        tables.append(value_table(section))
    if len(section.methods) > 1 and section.scores.problems:
        if len(section.groups) > 1:
            tables.append(group_table(section))
        if section.focus is None:
            tables.append(pair_table(section))
        tables.append(rank_table(section))
    answer = verdict(section)
    if answer.tests:
        title = f"Against uniform choice, {section.title}"
        tables.append(against_table(section, "adapting", title, answer.tests, answer.note))
    return tables


def focus_table(section: Section) -> Table:
    """Tabulate the method in focus against each of the others."""
    records = [_focus_record(test, section) for test in section.focus_tests]
    columns: dict[str, Column] = {
        "against": (METHOD, "other"), "outcome": (TEXT, "outcome"),
        "better/level/worse": (NUMBER, lambda r: Cell(f"{r['better']}/{r['level']}/{r['worse']}",
                                                      r["better"])),
        "evaluations ×": (NUMBER, lambda r: _ratio_cell(r["evaluations"])),
        "error ×": (NUMBER, lambda r: _ratio_cell(r["error"])),
        "p": (NUMBER, "p_holm", p_value),
        "ahead since": (NUMBER, lambda r: Cell("–" if r["since"] is None else f"{r['since']:.3g}·D",
                                               r["since"])),
    }  # fmt: skip
    note = (
        "Better, level, worse: problems with a significant difference of the runs; where there are "
        "too few runs for that, of medians. Evaluations ×: ratio of the evaluations on the "
        "problems on which all runs of both reached 1e-8; error ×: ratio of the final errors on "
        "the others; geometric means, below 1 is better, with a 95 % confidence interval "
        "(bootstrap). "
        f"p: {focus_test_name(section)}, Holm-corrected for the other methods. Ahead since: "
        "evaluations after which it has always reached more targets."
    )
    table = Table.from_records(
        "focus", f"{section.focus} against the others, {section.title}", columns, records, note
    )
    return replace(table, records=tuple(_plain_ratios(record) for record in records))


def focus_test_name(section: Section) -> str:
    """Return the test behind the statements on the method in focus."""
    if section.has_repetitions:
        return "van Elteren’s test of the runs within problems"
    return "Wilcoxon’s test over the problems"


def _focus_record(test: FocusTest, section: Section) -> dict[str, Any]:
    record = {k: v for k, v in vars(test).items() if k != "duels"}
    return record | {"outcome": test.outcome, "dimension": section.dimension or ""}


def _plain_ratios(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with the numbers of its ratios in columns of their own."""
    plain = {k: v for k, v in record.items() if k not in ("evaluations", "error")}
    for name in ("evaluations", "error"):
        ratio = record[name]
        for part in ("value", "low", "high", "problems"):
            plain[f"{name}_{part}"] = "" if ratio is None else getattr(ratio, part)
    return plain


def _ratio_cell(ratio: Ratio | None) -> Cell:
    if ratio is None:
        return Cell("–", np.nan)
    interval = (
        f"({two_digits(ratio.low)} to {two_digits(ratio.high)})" if ratio.has_interval else ""
    )
    return Cell(two_digits(ratio.value), ratio.value, minor=interval)


def focus_problem_table(section: Section) -> Table:
    """Tabulate the method in focus against each of the others, problem by problem."""
    tests = section.focus_tests
    each = {test.other: {duel.problem: duel for duel in test.duels} for test in tests}
    problems = list(dict.fromkeys(p for duels_of in each.values() for p in duels_of))
    problems.sort(key=lambda p: (natural_key(p[0]), p[1], natural_key(p[2])))
    rows = [
        [Cell(problem[2]), *(_duel_cell(each[test.other].get(problem)) for test in tests)]
        for problem in problems
    ]
    records = [
        {"problem": duel.problem[2], "method": test.method, "other": test.other,
         "unit": duel.unit, "ratio": duel.ratio.value, "low": duel.ratio.low,
         "high": duel.ratio.high, "outcome": "" if duel.outcome is None else duel.outcome}
        for test in tests for duel in test.duels
    ]  # fmt: skip
    return Table.of(
        "focus-problems", f"{section.focus} against the others, problem by problem, "
        f"{section.title}", {"problem": TEXT, **{test.other: NUMBER for test in tests}}, rows,
        records,
        note="Ratio of evaluations (ev.) if all runs of both reached 1e-8, otherwise of "
        "final errors; below 1 is better. Bold ✓: significantly better; ✗: significantly worse "
        "(rank-sum test of the runs, Holm-corrected over the problems).",
    )  # fmt: skip


def _duel_cell(duel: Duel | None) -> Cell:
    if duel is None:
        return Cell("–", np.nan)
    unit = " ev." if duel.unit == "evaluations" else ""
    sign = {-1: " ✓", 1: " ✗"}.get(duel.outcome or 0, "")
    text = f"{two_digits(duel.ratio.value)}{unit}{sign}"
    return Cell(text, duel.ratio.value, bold=duel.outcome == -1)


def overview_table(section: Section) -> Table:
    """Tabulate solved runs by group, the area under the profile and the mean rank."""
    several = len(section.groups) > 1
    groups = [*(section.groups if several else ()), section.overall]
    limit = section.longest
    most = {g.name: max((s.share for s in g.standings if s.runs), default=0.0) for g in groups}
    rows, records = [], []
    for standing in section.overall.standings:
        method = standing.method
        cells = [Cell(method, method)]
        for group in groups:
            in_group = group.standing(method)
            areas = [
                section.area(method, group.functions, limit * times, restarts)
                for times, restarts in ((1, False), (RESTART_HORIZON, True))
            ]
            bold = len(section.methods) > 1 and in_group.share == most[group.name] > 0
            text = f"{in_group.solved}/{in_group.runs}" if in_group.runs else "–"
            cells.append(Cell(text, in_group.share, bold=bold, share=in_group.share))
            records.append({
                "method": method, "dimension": section.dimension or "", "functions": group.name,
                "solved": in_group.solved, "runs": in_group.runs, "ecdf_area_raw": areas[0],
                "ecdf_area_restarts": areas[1], "mean_rank": in_group.rank,
                "failed": section.results.failed.get(method, 0) if group.name == "all" else "",
            })  # fmt: skip
        cells += [Cell(number(area, ".3f"), area) for area in areas]
        cells.append(Cell(number(standing.rank), standing.rank))
        rows.append(cells)
    columns = {"method": METHOD, **{g.name: NUMBER for g in groups}}
    columns |= {"ECDF area": NUMBER, "with restarts": NUMBER, "mean rank": NUMBER}
    return Table.of(
        "overview", f"Runs solved, ECDF area and mean rank, {section.title}", columns, rows,
        records, note=(
            f"Solved: error at most 1e-8 within the budget. ECDF area: area under the runtime "
            f"profile over 51 targets from 1e2 to 1e-8, evaluations / D from 1 to {limit:,.0f} on "
            "a logarithmic scale, 1 at most; with simulated restarts, to "
            f"{RESTART_HORIZON * limit:,.0f}. {_relative(section)}"
        ).strip(),
    )  # fmt: skip


def _relative(section: Section) -> str:
    unknown = section.results.relative
    return f"Errors on {ranges(unknown)} are relative: their optima are unknown." if unknown else ""


def art_table(section: Section) -> Table:
    """Tabulate the average running time to each target, by function and method."""
    rows = [row for function in section.functions for row in _function_rows(section, function)]
    columns = {"function": BLOCK, "method": METHOD}
    columns |= {target_name(t): NUMBER for t in TABLE_TARGETS} | {"solved": NUMBER}
    published = section.reference
    unit = "in evaluations" if published is None else f"divided by that of {published.name}"
    title = f"Average running time (aRT) to each target, {unit}, {section.title}"
    records = [_record(cell, section) for cells in section.running_times.values() for cell in cells]
    return Table.of("art", title, columns, rows, records, note=_art_note(section))


def _function_rows(section: Section, function: str) -> list[Row]:
    methods = [m for m in section.methods if (m, function) in section.runs]
    runs = [section.runs[m, function] for m in methods]
    times = {m: section.running_times[m, function] for m in methods}
    where = {"function": function, "group": runs[0].group}
    tests, rows = len(section.functions), []
    published = section.reference_times(function)
    if section.reference is not None and published is not None:
        arts = [cell.reference for cell in times[methods[0]]]
        cells = [Cell(f"{art:,.0f}" if art < 1e7 else coco_number(art)) for art in arts]
        title = section.function_title(function).removeprefix(function).strip()
        name = Cell(section.reference.name, minor=title)
        rows.append(Row((Cell(function), name, *cells, Cell("")), "reference", where))
    best, marks = [], []
    for i, target in enumerate(TABLE_TARGETS):
        reached = {m: times[m][i].art for m in methods}
        least = min(reached.values())
        leaders = [m for m, art in reached.items() if art == least and np.isfinite(art)]
        best.append(leaders if len(methods) > 1 else [])
        alone = len(leaders) == 1 and len(methods) > 1
        marks.append(better_than_all(runs, leaders[0], target, tests) if alone else 0)
    for method, r in zip(methods, runs, strict=True):
        cells = []
        for i, cell in enumerate(times[method]):
            signs = [("★", marks[i])] if method in best[i] and marks[i] else []
            below = cell.ratio < 1 and better_than_reference(r, cell.target, cell.reference, tests)
            signs += [("↓", int(below))] if below else []
            cells.append(_art_cell(cell, tuple(signs), method in best[i]))
        count, judged = section.solved([r])
        solved = Cell(f"{count}/{judged}", count / judged) if judged else Cell("–", np.nan)
        row = (Cell(function), Cell(method, method), *cells, solved)
        rows.append(Row(row, "", {**where, "method": method}))
    return rows


def _art_cell(cell: AverageRunningTime, marks: tuple[tuple[str, int], ...], bold: bool) -> Cell:
    if np.isinf(cell.art):
        return Cell("∞", np.inf)
    detail = f"{cell.art:,.0f} evaluations; {cell.successes} of {cell.trials} runs"
    in_evaluations = np.isnan(cell.ratio)
    value = cell.art if in_evaluations else cell.ratio
    spread = cell.dispersion if in_evaluations else cell.dispersion_ratio
    minor = f"({dispersion(spread)})" if cell.trials > 1 else ""
    unit = " ev." if in_evaluations and not np.isnan(cell.reference) else ""
    is_count = in_evaluations and value < 10 and value == int(value)
    text = f"{value:.0f}" if is_count else coco_number(value)
    return Cell(text + unit, value, minor, marks, bold, detail=detail)


def _art_note(section: Section) -> str:
    notes = []
    if any(len(runs) > 1 for runs in section.runs.values()):
        notes.append(
            "In brackets: half the distance from the 10th to the 90th percentile of run lengths "
            "with simulated restarts, in the same unit."
        )
    notes.append("∞: never reached.")
    if section.reference is not None:
        name = section.reference.name
        notes.append(
            f"{name}: {section.reference.about}; its rows are in evaluations. ev.: in evaluations, "
            f"because {name} never reached the target. ↓: significantly faster than {name} "
            "(Wilcoxon’s test against its aRT, corrected for the number of functions, p < 0.05; "
            "↓² for p < 1e-2, …)."
        )
    if len(section.methods) > 1:
        notes.append(
            "Bold: the smallest aRT. ★: its runs are significantly better than those of every "
            "other method (rank-sum test, corrected for the number of functions; ★² for p < 1e-2, "
            "…)."
        )
    return " ".join(filter(None, (*notes, _relative(section))))


def _record(cell: AverageRunningTime, section: Section) -> dict[str, object]:
    record = {
        "method": cell.method, "dimension": cell.dimension, "function": cell.function,
        "target": cell.target, "art": cell.art, "successes": cell.successes,
        "trials": cell.trials, "percentile_10": cell.low, "percentile_90": cell.high,
    }  # fmt: skip
    if section.reference is not None:
        record |= {
            "reference": cell.reference, "ratio": cell.ratio,
            "dispersion_ratio": cell.dispersion_ratio,
        }  # fmt: skip
    return record


def value_table(section: Section) -> Table:
    """Tabulate the final errors on each problem, or values if the optimum is not known."""
    unknown = section.results.relative
    records = _final_values(section)
    several = len(section.methods) > 1
    least: dict[str, float] = {}
    for r in records:
        least[r["problem"]] = min(r["median"], least.get(r["problem"], np.inf))

    def median(r: Mapping[str, Any]) -> Cell:
        is_least = several and r["median"] == least[r["problem"]]
        return Cell(f"{r['median']:.6g}", r["median"], bold=is_least)

    columns: dict[str, Column] = {
        "problem": (BLOCK, "problem"), "method": (METHOD, "method"),
        "best": (NUMBER, "best", "{:.6g}".format), "median": (NUMBER, median),
        "worst": (NUMBER, "worst", "{:.6g}".format), "mean": (NUMBER, "mean", "{:.6g}".format),
        "std": (NUMBER, "std", lambda std: "–" if np.isnan(std) else f"{std:.2g}"),
        "runs": (NUMBER, "runs"),
    }  # fmt: skip
    note = "Over the runs on a problem, at their end: the error, 0 up to 1e-8"
    if unknown:
        note += f", or the best value where the optimum is not known ({ranges(unknown)})"
    return Table.from_records(
        "values", f"How the runs ended on each problem, {section.dimensions}", columns, records,
        note=f"{note}. std: standard deviation of the sample. Bold: the lowest median.",
    )  # fmt: skip


def _final_values(section: Section) -> list[dict[str, Any]]:
    """Return statistics of the final errors or values of each method on each problem."""
    records: list[dict[str, Any]] = []
    for (method, function), runs in section.runs.items():
        for problem in dict.fromkeys(runs.problems.tolist()):
            is_here = runs.problems == problem
            finals = runs.best[is_here]
            if problem not in section.results.relative:  # errors of solved runs count as 0
                finals = np.where(runs.errors[is_here] > FINAL, runs.errors[is_here], 0.0)
            finite = bool(np.isfinite(finals).all())
            records.append({
                "problem": problem, "method": method, "function": function, "best": finals.min(),
                "median": float(np.median(finals)), "worst": finals.max(),
                "mean": finals.mean() if finite else np.inf,
                "std": finals.std(ddof=1) if finite and len(finals) > 1 else np.nan,
                "runs": len(finals),
            })  # fmt: skip
    return sorted(records, key=lambda r: (natural_key(r["function"]), natural_key(r["problem"])))


def group_table(section: Section) -> Table:
    """Tabulate the best and second mean rank in each group of functions."""
    rows = []
    for group in (g for g in section.groups if g.problems):
        leaders = group.leaders
        first = group.standing(leaders[0])
        second = next((s for s in group.standings if s.method not in leaders), None)
        test = Cell("–")
        if second is not None and len(leaders) == 1:
            tested = group.pairs.pair(first.method, second.method).p_holm
            test = Cell(p_value(tested), tested)
        rows.append([
            Cell(group.name), Cell(", ".join(leaders)),
            Cell(second.method, second.method) if second else Cell("–"),
            Cell(str(group.problems), float(group.problems)),
            *(Cell(f"{s.solved}/{s.runs}", s.share) if s and s.runs else Cell("–")
              for s in (first, second)),
            test,
        ])  # fmt: skip
    records = []
    for group in (*section.groups, section.overall):
        best = group.standings[0].method
        for s in group.standings:
            p = group.pairs.pair(best, s.method).p_holm if group.pairs and s.method != best else ""
            records.append({
                "dimension": section.dimension or "", "functions": group.name, "method": s.method,
                "problems": group.problems, "mean_rank": s.rank, "solved": s.solved,
                "runs": s.runs, "p_holm_against_best": p,
            })  # fmt: skip
    columns = {"functions": TEXT, "best": METHOD, "second": METHOD, "problems": NUMBER,
               "solved by best": NUMBER, "by second": NUMBER, "p": NUMBER}  # fmt: skip
    return Table.of(
        "groups", f"Best and second mean rank by group of functions, {section.title}", columns,
        rows, records,
        note="p: best against second, Wilcoxon’s test over the problems of the group, "
        "Holm-corrected for all pairs of methods.",
    )  # fmt: skip


def pair_table(section: Section) -> Table:
    """Tabulate pairs of methods: wins, median difference, Wilcoxon's p, and Holm-corrected p."""
    records = [
        {"first": p.first, "second": p.second, "dimension": section.dimension or "",
         "wins": p.wins, "ties": p.ties, "losses": p.losses, "difference": p.difference,
         "p": p.p, "p_holm": p.p_holm,
         "p_holm_functions": section.function_pairs.pair(p.first, p.second).p_holm,
         "better": p.better or "", **_on_problems(section, p)}
        for p in section.pairs
    ]  # fmt: skip
    columns: dict[str, Column] = {
        "first": (METHOD, "first"), "second": (METHOD, "second"),
        "win/tie/loss": (NUMBER, lambda r: Cell(f"{r['wins']}/{r['ties']}/{r['losses']}",
                                                r["wins"])),
        "difference": (NUMBER, "difference", "{:+.3f}".format), "p": (NUMBER, "p", p_value),
        "p (Holm)": (NUMBER, "p_holm", p_value),
        "p (functions)": (NUMBER, "p_holm_functions", p_value),
        "better": (METHOD, "better", lambda name: name or "–"),
    }  # fmt: skip
    note = ""
    if section.problem_tests:
        columns["on problems"] = (
            NUMBER, lambda r: Cell("/".join(str(r[k]) for k in _ON_PROBLEMS), r["problems_better"])
        )  # fmt: skip
        note = (
            " On problems: where the runs of the first are significantly better, not different, "
            f"and worse (rank-sum test, Holm-corrected over the problems, α = {ALPHA:g})."
        )
    return Table.from_records(
        "pairs",
        f"Pairwise Wilcoxon tests over {count(len(section.scores.problems), 'problem')}, "
        f"{section.title}",
        columns, records,
        note="On a problem, the earlier hit of 1e-8 is better, otherwise the smaller error. "
        "Difference: median over the problems of the difference in log10 of evaluations (of error "
        "where unsolved), negative if the first is better. Instances of a function are similar, so "
        f"the last p counts each function once.{note}",
    )  # fmt: skip


def _on_problems(section: Section, pair: Pair) -> dict[str, int]:
    counts = section.problem_tests.get((pair.first, pair.second))
    return {} if counts is None else dict(zip(_ON_PROBLEMS, counts, strict=True))


def rank_table(section: Section) -> Table:
    """Tabulate mean ranks, and which methods differ significantly from the best, or the focus."""
    ranking, compared = section.ranking, section.focus or section.ranking.order[0]
    where = "the best" if section.focus is None else section.focus
    records = [
        {"method": method, "dimension": section.dimension or "", "mean_rank": ranking.rank(method),
         "against_best" if section.focus is None else "against_focus":
         "" if method == compared else _outcome_against(section, method, compared)}
        for method in ranking.order
    ]  # fmt: skip
    name = "Wilcoxon’s test" if section.focus is None else focus_test_name(section)
    note = f"Against {where}: {name}, Holm-corrected, α = {ALPHA:g}."
    if np.isfinite(ranking.p):
        note = (
            f"Friedman’s test: χ² = {ranking.statistic:.1f}, p = {p_value(ranking.p)} over "
            f"{count(ranking.problems, 'problem')}. {note}"
        )
    key = "against_best" if section.focus is None else "against_focus"
    columns: dict[str, Column] = {
        "method": (METHOD, "method"), "mean rank": (NUMBER, "mean_rank", number),
        f"against {where}": (TEXT, key),
    }  # fmt: skip
    return Table.from_records("ranks", f"Mean ranks, {section.title}", columns, records, note)


def _outcome_against(section: Section, method: str, compared: str) -> str:
    """Return how a method did against the best, or against the method in focus."""
    if section.focus is None:
        return pair_outcome(section.pairs.pair(method, compared))
    test = next((t for t in section.focus_tests if t.other == method), None)
    opposite = {"better": "worse", "worse": "better"}
    return "" if test is None else opposite.get(test.outcome, test.outcome)


def against_table(
    section: Section, name: str, title: str, tests: Sequence[tuple[Pair, Pair]], note: str = ""
) -> Table:
    """Tabulate methods against others: each test over the problems, and over the functions."""
    records = [
        {"dimension": section.dimension or "", "method": over.first, "against": over.second,
         "outcome": pair_outcome(over), "wins": over.wins, "ties": over.ties, "losses": over.losses,
         "difference": over.difference, "p_holm": over.p_holm, "p_holm_functions": coarse.p_holm}
        for over, coarse in tests
    ]  # fmt: skip
    problems = tests[0][0].problems if tests else 0
    columns: dict[str, Column] = {
        "method": (METHOD, "method"), "against": (METHOD, "against"), "outcome": (TEXT, "outcome"),
        "problems won": (NUMBER, "wins", lambda wins: f"{wins}/{problems}"),
        "effort": (NUMBER, lambda r: Cell(f"{10 ** r['difference']:.2g}", 10 ** r["difference"])),
        "p": (NUMBER, "p_holm", p_value), "p (functions)": (NUMBER, "p_holm_functions", p_value),
    }  # fmt: skip
    effort_note = (
        "Effort: median over the problems of the ratio of evaluations, or of final errors where "
        "unsolved; below 1 is better. p: Wilcoxon’s test, Holm-corrected; p (functions): "
        "each function counts once."
    )
    note = f"{effort_note} {note}".strip()
    return Table.from_records(name, title, columns, records, note)


def target_name(target: float) -> str:
    """Return a target as COCO writes it: 1e1, 1e0, 1e-1 …"""
    mantissa, exponent = f"{target:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def coco_number(value: float) -> str:
    """Format a ratio as COCO's tables do: two digits at least, and 1.2e4 from 10,000 on."""
    if not np.isfinite(value):
        return number(value)
    if value == 1:
        return "1"
    if 0.01 <= value < 10_000:
        digits = len(f"{value:.0f}") - (value < 1)
        return f"{value:.{max(2 - digits, 0)}f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}" if int(exponent) else mantissa


def dispersion(value: float) -> str:
    """Format a dispersion as COCO does: one digit below 10, integers from there on."""
    if not 0 < value < 9.5:
        return coco_number(value) if value >= 10_000 else f"{value:.0f}"
    return f"{value:.1g}" if value >= 1e-4 else f"{value:.0e}"
