"""Operator use: menus of the runs that are in the report, and the plot of the one chosen."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from uaos.reporting import figures
from uaos.reporting.report.courses import Course
from uaos.reporting.report.grid import Cell, Row, grid
from uaos.reporting.report.html import Markup, count, joined, tag, whole
from uaos.reporting.report.looks import Looks
from uaos.reporting.report.pictures import image, plot

# Runs that are printed, and those that are pointed out: of one method, of all.
_PRINTED, _TELLING, _ALL = 3, 3, 8
# Operator use that changes less than this is as good as constant.
_STILL = 0.005


def operator_section(
    found: Sequence[Course], looks: Looks, *, chosen: bool = False, left_out: int = 0
) -> Markup:
    """The menus, the plot, and images of the first runs for print."""
    if not found:
        return tag("p", "No run with several operators has its course in these stores, so there "
                        "is nothing to show here.")  # fmt: skip
    first = printed_runs(found)
    still = [image(figures.operators(c.history, c.f_opt, c.title), _alternative(c)) for c in first]
    several = len({c.outcome.dimension for c in found}) > 1
    picks = []
    for c in found if chosen else telling(found):
        where = f" on {c.outcome.function}" + (f", {c.outcome.dimension}-D" if several else "")
        name = joined([looks.called(c.outcome.method), where])
        picks.append(tag("button", name, type="button", data_run=found.index(c)))
    menus = [
        tag("label", text + " ", tag("select", data_menu=key))
        for key, text in (("method", "Method"), ("function", "Function"), ("instance", "Instance"))
    ]
    lead = "Chosen runs" if chosen else "Operator use changes most in"
    return joined([
        tag("p", _said(found, chosen, left_out)),
        _use(found, looks),
        tag("div", tag("p", f"{lead}: ", joined(picks, " "), class_="picks"),
            tag("div", *menus, class_="filters"), class_="screen"),
        plot("course", static=joined(still), look="tall", caption=_CAPTION,
             before=tag("div", class_="keys screen")),
    ])  # fmt: skip


_CAPTION = (
    "Above: the share of the offspring that each operator made, summed over the generations of a "
    "step. Middle: the method’s probabilities, from which its selection chooses: by chance, or, if "
    "it is greedy, the largest. Below: the best error so far. All over the evaluations spent; "
    "dotted lines are restarts."
)


def _use(found: Sequence[Course], looks: Looks) -> Markup:
    """How much each method made of its choice, over the runs at hand."""
    rows = []
    for record in use_records(found):
        rows.append(Row((
            Cell(looks.called(str(record["method"])), str(record["method"])),
            Cell(record["most_used"], str(record["most_used"])),
            Cell(f"{record['share']:.0%}", record["share"]), Cell(record["operators"]),
            Cell(f"{record['from_uniform']:.3f}", record["from_uniform"]),
            Cell(f"{record['change']:.3f}", record["change"]), Cell(record["runs"]),
        )))  # fmt: skip
    return grid(
        "operators", "How unevenly operators are used, and how much that changes",
        ("method", "most used operator", "its share", "operators", "from uniform use",
         "change in a run", "runs"), rows, texts=2,
        note="Means over the runs. From uniform use: total variation distance of the shares of a "
        "run’s offspring from equal shares. Change: that of the sixths of a run from each other, "
        "less what chance makes of it. 0: none, 1: complete.",
    )  # fmt: skip


def use_records(found: Sequence[Course]) -> list[dict[str, Any]]:
    """The same for programs, the most changing first."""
    records = []
    for method in dict.fromkeys(c.outcome.method for c in found):
        of = [c for c in found if c.outcome.method == method]
        shares = np.array([c.shares for c in of])
        mean = shares.mean(axis=0)
        names = of[0].history.operators
        records.append({
            "method": method, "most_used": names[int(mean.argmax())], "share": float(mean.max()),
            "operators": len(names), "from_uniform": float(
                np.abs(shares - 1 / len(names)).sum(axis=1).mean() / 2
            ), "change": float(np.mean([c.change for c in of])), "runs": len(of),
        })  # fmt: skip
    return sorted(records, key=lambda r: -float(r["change"]))


def printed_runs(found: Sequence[Course]) -> list[Course]:
    """One run of each method, then more, to be printed."""
    each: dict[str, Course] = {}
    for course in found:
        each.setdefault(course.outcome.method, course)
    first = list(each.values())
    return [*first, *(c for c in found if c not in first)][:_PRINTED]


def telling(found: Sequence[Course]) -> list[Course]:
    """The first few runs of each method, fewer where there are many methods.

    Methods whose operator use does not change are left out, unless there is no other.
    """
    of: dict[str, list[Course]] = {}
    for course in found:
        of.setdefault(course.outcome.method, []).append(course)
    changing = {m: runs for m, runs in of.items() if any(c.change >= _STILL for c in runs)}
    if not changing:
        return [runs[0] for runs in of.values()]
    few = min(_TELLING, max(1, _ALL // len(changing)))
    return [course for runs in changing.values() for course in runs[:few]]


def _said(found: Sequence[Course], chosen: bool, left_out: int) -> str:
    runs = count(len(found), "run")
    if chosen:
        return f"{runs[0].upper()}{runs[1:]}, as chosen."
    methods = len({c.outcome.method for c in found})
    return (
        f"{runs} of {count(methods, 'method')} that {'selects' if methods == 1 else 'select'} "
        "among operators: on each function the median solved run, or, where none was solved, the "
        "median one." + (f" There is no room for {whole(left_out)} more." if left_out else "")
    )


def _alternative(course: Course) -> str:
    most = sorted(zip(course.shares, course.history.operators, strict=True), reverse=True)[:3]
    used = ", ".join(f"{name} {share:.0%}" for share, name in most)
    end = "solved" if course.outcome.solved else f"error {course.outcome.error:.2g}"
    return (
        f"{course.title}: most used {used}; {end} after {course.outcome.evaluations} evaluations."
    )
