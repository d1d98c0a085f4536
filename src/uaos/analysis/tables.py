"""The tables of a comparison: what is shown, and the same numbers as tidy records."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from uaos.analysis.art import AverageRunningTime, printed, running_times
from uaos.analysis.best2009 import TABLE_TARGETS
from uaos.analysis.ecdf import ecdf
from uaos.analysis.restarts import ROOM
from uaos.analysis.results import Results, Runs
from uaos.analysis.statistics import ALPHA, Pair, Ranking
from uaos.files import whole_file
from uaos.problems.bbob import GROUPS


@dataclass(frozen=True)
class Table:
    """A table to be shown: rows of texts under a title, with a note beneath.

    `records` hold the numbers themselves, one observation a row, for files that programs read.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    records: tuple[dict[str, Any], ...]
    note: str = ""

    def to_markdown(self) -> str:
        """The table in Markdown."""
        lines = [f"### {self.title}", "", _row(self.columns)]
        lines.append("|" + "|".join([" :-- "] + [" --: "] * (len(self.columns) - 1)) + "|")
        lines += [_row(row) for row in self.rows]
        return "\n".join([*lines, "", *([self.note, ""] if self.note else [])])


def write_csv(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write the records to `folder`, a file for each name of table; the folder may be new."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in dict.fromkeys(table.name for table in tables):
        records = [r for table in tables if table.name == name for r in table.records]
        if records:
            paths.append(folder / f"{name}.csv")
            with (
                whole_file(paths[-1]) as part,
                part.open("w", newline="", encoding="utf-8") as file,
            ):
                writer = csv.DictWriter(file, list(records[0]))
                writer.writeheader()
                writer.writerows(records)
    return paths


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def overview(results: Results, dimension: int, ranking: Ranking, *, seed: int = 1) -> Table:
    """Solved per class and overall, ECDF areas and mean rank, best rank first."""
    by_method = {m: runs for m in results.methods if (runs := results.of(m, dimension))}
    present = _classes(runs for of in by_method.values() for runs in of)
    limit = max(
        (float(r.evaluations.max()) for of in by_method.values() for r in of), default=1.0
    ) / dimension  # fmt: skip
    rows, records = [], []
    order = sorted(by_method, key=lambda m: np.nan_to_num(ranking.rank(m), nan=np.inf))
    for method in order:
        of = by_method[method]
        cells = [method]
        # The area is linear, so that of several functions is the mean of theirs.
        raw = {r.function: ecdf(r).area(limit) for r in of}
        restarted = {r.function: ecdf(r, restarts=True, seed=seed).area(ROOM * limit) for r in of}
        for name in (*present, "all"):
            members = [r for r in of if name == "all" or r.function in GROUPS[name]]
            solved, trials = sum(r.solved for r in members), sum(map(len, members))
            cells.append(f"{solved}/{trials}" if trials else "–")
            areas = {
                f"ecdf_area_{kind}": float(np.mean([area[r.function] for r in members] or np.nan))
                for kind, area in (("raw", raw), ("restarts", restarted))
            }
            failed = results.failed.get(method, 0) if name == "all" else ""
            records.append(
                {"method": method, "dimension": dimension, "functions": name, "solved": solved,
                 "runs": trials, **areas, "mean_rank": ranking.rank(method), "failed": failed}
            )  # fmt: skip
        cells += [f"{areas['ecdf_area_raw']:.3f}", f"{areas['ecdf_area_restarts']:.3f}"]
        cells.append(_number(ranking.rank(method), ".2f"))
        rows.append(tuple(cells))
    return Table(
        "overview", f"Solved (f - f_opt ≤ 1e-8), ECDF area and mean rank, {dimension}-D",
        ("method", *present, "all", "ECDF area", "with restarts", "mean rank"), tuple(rows),
        tuple(records),
        f"ECDF area: over 51 targets 1e2 … 1e-8, evaluations / D from 1 to {limit:,.0f} (the "
        f"longest run) on a logarithmic scale, 1 at most; with simulated restarts to "
        f"{ROOM * limit:,.0f}.",
    )  # fmt: skip


def _classes(runs: Iterable[Runs]) -> tuple[str, ...]:
    functions = {r.function for r in runs}
    return tuple(name for name, members in GROUPS.items() if functions & set(members))


def art_table(results: Results, dimension: int, *, seed: int = 1) -> Table:
    """The aRT ratio to best2009 for each function, method and table target."""
    rows, records = [], []
    for function in results.functions:
        for method in results.methods:
            if (method, dimension, function) not in results.runs:
                continue
            runs = results.runs[method, dimension, function]
            cells = running_times(runs, seed=seed)
            rows.append((function, method, *map(_cell, cells), f"{runs.solved}/{len(runs)}"))
            records += [_record(cell) for cell in cells]
    return Table(
        "art", f"aRT divided by that of best2009, {dimension}-D",
        ("f", "method", *map(target_name, TABLE_TARGETS), "solved"),
        tuple(rows), tuple(records),
        "In brackets half the distance from the 10 to the 90 %-tile of run lengths with simulated "
        "restarts, in the same unit. ∞: never reached; ev.: in evaluations, as best2009 never "
        "reached the target.",
    )  # fmt: skip


def target_name(target: float) -> str:
    """A target as COCO writes it: 1e1, 1e0, 1e-1 …"""
    mantissa, exponent = f"{target:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _cell(cell: AverageRunningTime) -> str:
    if np.isinf(cell.art):
        return printed(cell.art)
    if np.isnan(cell.ratio):
        return f"{printed(cell.art)} ev."
    return f"{printed(cell.ratio)} ({printed_dispersion(cell.dispersion_ratio)})"


def printed_dispersion(number: float) -> str:
    """A dispersion as the tables print it: one digit below 10, whole numbers from there on."""
    if not 0 < number < 9.5:
        return printed(number) if number >= 10_000 else f"{number:.0f}"
    return f"{number:.1g}" if number >= 1e-4 else f"{number:.0e}"


def _record(cell: AverageRunningTime) -> dict[str, Any]:
    return {
        "method": cell.method, "dimension": cell.dimension, "function": cell.function,
        "target": cell.target, "art": cell.art, "successes": cell.successes,
        "trials": cell.trials, "best2009": cell.reference, "ratio": cell.ratio,
        "percentile_10": cell.low, "percentile_90": cell.high,
        "dispersion_ratio": cell.dispersion_ratio,
    }  # fmt: skip


def pair_table(pairs: Sequence[Pair], by_function: Sequence[Pair], dimension: int) -> Table:
    """Every pair of methods: wins, median difference, Wilcoxon's p before and after Holm."""
    over = {(p.first, p.second): p for p in by_function}
    rows, records = [], []
    for pair in pairs:
        coarse = over[pair.first, pair.second]
        rows.append(
            (pair.first, pair.second, f"{pair.wins}/{pair.ties}/{pair.losses}",
             f"{pair.difference:+.3f}", _p(pair.p), _p(pair.p_holm), _p(coarse.p_holm),
             pair.better or "–")
        )  # fmt: skip
        records.append(
            {"first": pair.first, "second": pair.second, "dimension": dimension,
             "wins": pair.wins, "ties": pair.ties, "losses": pair.losses,
             "difference": pair.difference, "p": pair.p, "p_holm": pair.p_holm,
             "p_holm_functions": coarse.p_holm, "better": pair.better or ""}
        )  # fmt: skip
    problems = pairs[0].problems if pairs else 0
    return Table(
        "pairs", f"Pairwise Wilcoxon tests over {problems} problems, {dimension}-D",
        ("first", "second", "win/tie/loss", "difference", "p", "p (Holm)", "p (functions)",
         "better"),
        tuple(rows), tuple(records),
        "On a problem (function, instance) the earlier hit of 1e-8 is better, else the smaller "
        "error. Difference: median over the problems of log10 of evaluations (of error where "
        "unsolved), negative if the first is better. Instances of a function are much alike, so "
        "the last p takes each function once.",
    )  # fmt: skip


def ranking_table(ranking: Ranking, dimension: int) -> Table:
    """Friedman's mean ranks, with Nemenyi's critical difference."""
    order = np.argsort(ranking.mean_ranks, kind="stable")
    best = float(ranking.mean_ranks[order[0]]) if len(order) else np.nan
    rows, records = [], []
    for i in order:
        name, rank = ranking.methods[i], float(ranking.mean_ranks[i])
        apart = rank - best > ranking.critical_difference
        rows.append((name, _number(rank, ".2f"), "worse than the best" if apart else ""))
        records.append({"method": name, "dimension": dimension, "mean_rank": rank,
                        "worse_than_best": apart})  # fmt: skip
    if np.isfinite(ranking.p):
        said = (
            f"Friedman: χ² = {ranking.statistic:.1f}, p = {_p(ranking.p)} over {ranking.problems} "
            f"problems; critical difference (Nemenyi, α = {ALPHA:g}): "
            f"{ranking.critical_difference:.2f}."
        )
    else:
        said = "Friedman's test needs three methods and two problems at least."
    title = f"Mean ranks, {dimension}-D"
    columns = ("method", "mean rank", "beyond the critical difference")
    return Table("ranks", title, columns, tuple(rows), tuple(records), said)


def _p(p: float) -> str:
    return _number(p, ".2g")


def _number(number: float, form: str) -> str:
    return "–" if np.isnan(number) else format(number, form)
