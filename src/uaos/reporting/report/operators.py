"""Operator use: menus of the runs that are in the report, and the plot of the chosen one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from uaos.markup import Markup, joined, tag
from uaos.reporting.figures import figure
from uaos.reporting.report.elements import Colors, image, plot_place, shown
from uaos.reporting.sources import Course
from uaos.reporting.style import DEFAULT
from uaos.table import METHOD, NUMBER, TEXT, Column, Table
from uaos.text import count

# Number of runs that are printed, and of those with buttons: per method, and in total.
_PRINTED, _EACH, _ALL = 2, 3, 8
# Operator use that changes less than this counts as constant.
_CONSTANT = 0.005
_CAPTION = (
    "Above: the share of the evaluations that each operator made. Middle: the method’s "
    "probabilities, from which its selection chooses: at random, or, if it is greedy, the largest. "
    "Below: the best error so far. All over the evaluations; dotted lines are restarts."
)


def operator_section(
    courses: Sequence[Course], colors: Colors, *, chosen: bool, omitted: int
) -> Markup:
    """Return the menus, the plot, and images of the first runs for print."""
    if not courses:
        return tag("p", "No run in these stores has a history of several operators.")
    kind = figure("operators")
    still = [image(kind.draw(kind.data(c), DEFAULT), c.title) for c in printed_runs(courses)]
    several = len({c.dimension for c in courses}) > 1
    buttons = []
    for c in courses if chosen else changing_runs(courses):
        where = f" on {c.function}" + (f", {c.dimension}-D" if several else "")
        name = joined([colors.name(c.method), where])
        buttons.append(tag("button", name, type="button", data_run=courses.index(c)))
    menus = [
        tag("label", text + " ", tag("select", data_menu=key))
        for key, text in (("method", "Method"), ("function", "Function"), ("instance", "Problem"))
    ]
    lead = "Chosen runs" if chosen else "Operator use changes most in"
    return joined([
        tag("p", _introduction(courses, chosen, omitted)), shown(use_table(courses), colors),
        tag("div", tag("p", f"{lead}: ", joined(buttons, " "), class_="picks"),
            tag("div", *menus, class_="filters"), class_="screen"),
        plot_place("course", static=joined(still), look="tall", caption=_CAPTION,
             before=tag("div", class_="keys screen")),
    ])  # fmt: skip


def course_data(course: Course) -> dict[str, object]:
    """Return a run for the script."""
    kind = figure("operators")
    drawn: dict[str, object] = kind.interactive(kind.data(course))  # type: ignore[misc]
    return drawn | {
        "method": course.method, "function": course.function, "dimension": course.dimension,
        "problem": course.problem, "repetition": course.repetition,
        "name": course.function_title or course.function,
        "solved": None if course.optimum is None else course.solved,
    }  # fmt: skip


def use_table(courses: Sequence[Course]) -> Table:
    """Return how unevenly each method uses its operators, and how much that changes."""
    records: list[dict[str, Any]] = []
    for method, of_method in _by_method(courses).items():
        names = of_method[0].history.operators
        shares = np.array([c.shares for c in of_method if c.history.operators == names])
        mean = shares.mean(axis=0)
        records.append({
            "method": method, "most_used": names[int(mean.argmax())], "share": float(mean.max()),
            "operators": len(names),
            "from_uniform": float(np.abs(shares - 1 / len(names)).sum(axis=1).mean() / 2),
            "change": float(np.mean([c.change for c in of_method])), "runs": len(of_method),
        })  # fmt: skip
    records.sort(key=lambda record: -record["change"])
    columns: dict[str, Column] = {
        "method": (METHOD, "method"), "most used operator": (TEXT, "most_used"),
        "its share": (NUMBER, "share", "{:.0%}".format), "operators": (NUMBER, "operators"),
        "from uniform use": (NUMBER, "from_uniform", "{:.3f}".format),
        "change in a run": (NUMBER, "change", "{:.3f}".format), "runs": (NUMBER, "runs"),
    }  # fmt: skip
    return Table.from_records(
        "operators", "How unevenly operators are used, and how much that changes", columns,
        records,
        note="Means over the runs. From uniform use: total variation distance of a run’s shares "
        "from equal shares. Change: mean distance between the sixths of a run, minus what chance "
        "alone would give. 0: none, 1: complete.",
    )  # fmt: skip


def _by_method(courses: Sequence[Course]) -> dict[str, list[Course]]:
    by_method: dict[str, list[Course]] = {}
    for course in courses:
        by_method.setdefault(course.method, []).append(course)
    return by_method


def printed_runs(courses: Sequence[Course]) -> list[Course]:
    """Return one run of each method, then more, to be printed."""
    first = [runs[0] for runs in _by_method(courses).values()]
    return [*first, *(c for c in courses if c not in first)][:_PRINTED]


def changing_runs(courses: Sequence[Course]) -> list[Course]:
    """Return the first few runs of each method, fewer where there are many methods.

    Methods whose operator use does not change are omitted, unless there is no other.
    """
    by_method = _by_method(courses)
    changing = [runs for runs in by_method.values() if any(c.change >= _CONSTANT for c in runs)]
    if not changing:
        return [runs[0] for runs in by_method.values()]
    few = min(_EACH, max(1, _ALL // len(changing)))
    return [course for runs in changing for course in runs[:few]]


def _introduction(courses: Sequence[Course], chosen: bool, omitted: int) -> str:
    runs = count(len(courses), "run")
    if chosen:
        return f"{runs}, chosen with --runs."
    methods = len({c.method for c in courses})
    more = f" {count(omitted, 'run')} omitted to limit the file size." if omitted else ""
    return (
        f"{runs} of {count(methods, 'method')} that {'selects' if methods == 1 else 'select'} "
        f"among operators: on each function the median run, of the solved ones if any.{more}"
    )
