"""Runtime profiles and running times: figures, tables, and what the script draws."""

from uaos.analysis.sectioning import Section
from uaos.markup import Markup, joined, tag
from uaos.reporting.figures import figure
from uaos.reporting.figures.profiles import (
    DECADE,
    UNIT,
    X_LABEL,
    Y_LABEL,
    InteractivePanel,
    Profiles,
    profile_interactive,
)
from uaos.reporting.report.elements import Colors, image, other_figures, plot_place, shown
from uaos.reporting.style import Style
from uaos.table import Table
from uaos.text import typeset

# Inches of the profile over all functions, which stands alone.
_WIDE = 6.0
_HEADINGS = {"ecdf-groups": "By group of functions", "ecdf-functions": "By function"}


def profile_data(section: Section) -> dict[str, object]:
    """Return all profiles of a section for the script."""
    panels: dict[str, InteractivePanel] = {}
    ends = {}
    for kind, restarts in (("again", True), ("raw", False)):
        for name in _figure_names(section):
            profiles = figure(name).data(section, restarts=restarts)
            ends[kind] = profiles.end
            for key, panel in profile_interactive(profiles).items():
                lines = panels.setdefault(key, panel)["lines"]
                for line, more in zip(lines, panel["lines"], strict=True):
                    if line is not None and more is not None:
                        line |= more
    name = section.reference.name if section.reference else ""
    return {
        "methods": list(section.methods), "decade": DECADE, "unit": UNIT, "panels": panels,
        "end": ends, "x": X_LABEL, "y": Y_LABEL, "reference": name,
    }  # fmt: skip


def _figure_names(section: Section) -> list[str]:
    """Return the names of the figures with runtime profiles of a section."""
    names = ["ecdf-overall"] if section.shared else []
    names += ["ecdf-groups"] if section.shared and len(section.groups) > 1 else []
    return [*names, "ecdf-functions"]


def profile_section(section: Section, colors: Colors) -> Markup:
    """Return the profiles overall, by group and by function."""
    parts: list[object] = [_controls(section.key)]
    style = Style(order=colors.order)
    for name in _figure_names(section):
        kind = figure(name)
        profiles = kind.data(section)
        if name == "ecdf-overall":
            text = f"Runtime profiles, {section.title}"
            still = image(kind.draw(profiles, Style(_WIDE, order=colors.order)), text)
            place = plot_place(
                "profile", static=still, section=section.key, panel="all", label=text
            )
            parts += [place, tag("p", _caption(section), class_="note")]
        elif len(profiles.panels) > 1:
            still = image(kind.draw(profiles, style), f"{kind.help}, {section.title}")
            parts += [tag("h4", _HEADINGS[name]), _multiples(profiles, section, still)]
    return joined([*parts, other_figures("profiles", section, colors)])


def convergence_data(section: Section) -> dict[str, object]:
    """Return the courses of the errors for the script."""
    kind = figure("convergence")
    assert kind.interactive is not None
    data: dict[str, object] = kind.interactive(kind.data(section))
    return data


def convergence_section(section: Section, colors: Colors) -> Markup:
    """Return the course of the errors on each function."""
    kind = figure("convergence")
    courses = kind.data(section)
    still = image(
        kind.draw(courses, Style(order=colors.order)), f"{kind.help}, {section.title}"
    )  # fmt: skip
    keys = tag("div", class_="keys", data_keys="profile", data_section=section.key)
    drawn = [
        _multiple("convergence", function, title, section, first=False)
        for function, title in zip(courses.curves, courses.titles, strict=True)
    ]
    band = " The band holds the middle half of the runs." if courses.banded else ""
    note = (
        "Median of the errors that the runs have reached, over evaluations divided by the "
        f"dimension.{band} Click on a figure to enlarge it."
    )
    return joined([
        tag("div", keys, class_="panel-tools screen"),
        tag("div", *drawn, class_="multiples screen"), tag("div", still, class_="static"),
        tag("p", note, class_="note"),
    ])  # fmt: skip


def running_time_section(section: Section, table: Table, colors: Colors) -> Markup:
    """Return the table of running times with its filters, and further figures."""
    return joined([
        other_figures("running-times", section, colors),
        tag("div", _filters(section), shown(table, colors), class_="filtered running"),
    ])  # fmt: skip


def _controls(key: str) -> Markup:
    """Return switches for all profiles: which methods are shown, and how their runs count."""
    options = (
        ("again", "with restarts", "Runs that failed are continued by simulated restarts"),
        ("raw", "as they were run", "Each run counts up to its end"),
    )
    boxes = [
        tag("label", tag("input", type="radio", name=f"restarts-{key}", value=value,
                         checked=value == "again"), f" {text}", title=title)
        for value, text, title in options
    ]  # fmt: skip
    runs = tag("fieldset", tag("legend", "Runs", class_="hidden"), *boxes, class_="switch")
    keys = tag("div", class_="keys", data_keys="profile", data_section=key)
    return tag("div", keys, runs, class_="panel-tools screen")


def _multiples(profiles: Profiles, section: Section, still: Markup) -> Markup:
    """Return small multiples: buttons that open the profile in full size."""
    starts = {members[0] for members in section.results.groups.values()}
    # The first function of a group begins a row.
    new_row = starts if len(starts) > 1 else ()
    drawn = [
        _multiple("profile", panel.key, panel.title, section, first=panel.key in new_row)
        for panel in profiles.panels
    ]
    grid = tag("div", *drawn, class_="multiples screen")
    return joined([grid, tag("div", still, class_="static")])


def _multiple(kind: str, key: str, title: str, section: Section, *, first: bool) -> Markup:
    """Return a small figure: a button that opens it in full size."""
    return tag(
        "button", tag("span", title, class_="title"),
        tag("div", class_="live", data_plot=kind, data_section=section.key, data_panel=key,
            data_small="1"),
        type="button", class_="multiple first" if first else "multiple", data_enlarge=key,
        data_kind=kind, data_section=section.key, aria_haspopup="dialog",
    )  # fmt: skip


def _caption(section: Section) -> str:
    best = section.reference
    dashed = f" The dashed line is {best.name}, {best.about}." if best else ""
    return typeset(
        "Share of (function, target) pairs reached, over evaluations divided by the dimension; 51 "
        "targets from 1e2 to 1e-8. Higher and further left is better. A cross marks the budget; "
        f"beyond it, failed runs are continued by simulated restarts.{dashed}"
    )


def _filters(section: Section) -> Markup:
    options = [tag("option", "all functions", value="")]
    if len(section.groups) > 1:
        groups = [tag("option", g.name, value=f"group:{g.name}") for g in section.groups]
        options.append(tag("optgroup", *groups, label="groups"))
    single = [
        tag("option", section.function_title(f), value=f"function:{f}") for f in section.functions
    ]
    options.append(tag("optgroup", *single, label="functions"))
    menus = [tag("label", "Functions ", tag("select", *options, data_filter="where"))]
    if len(section.methods) > 1:
        names = [tag("option", "all methods", value="")]
        names += [tag("option", m, value=f"method:{m}") for m in section.methods]
        menus.append(tag("label", "Methods ", tag("select", *names, data_filter="who")))
    return tag("div", *menus, class_="filters screen")
