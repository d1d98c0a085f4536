"""The recipe of a method: its components with their equations, its operators, its settings."""

from collections.abc import Mapping
from typing import Any

from uaos.errors import UaosError
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.settings import Settings
from uaos.params import parameters
from uaos.reporting.report.html import Markup, joined, tag
from uaos.reporting.report.looks import Looks
from uaos.selection.bibliography import short
from uaos.selection.components import FAMILIES
from uaos.selection.describe import QUESTIONS, SYMBOLS, describe
from uaos.selection.method import toml_text


def recipe(name: str, stored: Mapping[str, Any], looks: Looks, *, opened: bool = False) -> Markup:
    """A method as its store has it; folded, until somebody asks."""
    if "library" in stored:
        kept = {k: v for k, v in stored.items() if k not in ("version", "name")}
        values = ", ".join(f"{k} {v}" for k, v in kept.items())
        return _folded(name, "another library’s algorithm", tag("p", values), looks, opened)
    try:
        entry = Configuration.from_dict(stored)
    except UaosError as error:
        said = f"Made of parts that are not known here ({error}). As it is stored:"
        body = joined([tag("p", said), _file(toml_text(stored))])
        return _folded(name, "", body, looks, opened)
    parts = [tag("p", text) for text in (entry.note, entry.reference) if text]
    if not isinstance(entry.settings, Settings):
        shown = ", ".join(f"{k} {v}" for k, v in entry.settings.items()) or "default settings"
        parts += [tag("p", f"{entry.optimizer}: {shown}."), _file(entry.to_toml())]
        return _folded(name, entry.optimizer, joined(parts), looks, opened)
    if entry.method is None:
        parts.append(tag("p", "A single operator: there is nothing to select."))
    else:
        parts.append(tag("ol", *_steps(entry), class_="steps"))
    parts += [_operators(entry), _settings(entry), _file(entry.to_toml())]
    return _folded(name, _summary(entry), joined(parts), looks, opened)


def symbols() -> Markup:
    """What the letters of the equations stand for."""
    parts = SYMBOLS.split("`")
    said = [tag("code", part) if i % 2 else part for i, part in enumerate(parts)]
    return tag("p", "In the equations, ", *said, class_="note")


def _folded(name: str, said: str, body: Markup, looks: Looks, opened: bool) -> Markup:
    head = tag("summary", looks.called(name), tag("span", said, class_="said"))
    return tag("details", head, body, class_="recipe", open=opened)


def _summary(entry: Configuration) -> str:
    """The components in one line, and who proposed them."""
    if entry.method is None:
        made = "single operator"
    else:
        made = " · ".join(getattr(entry.method, f).name.replace("_", " ") for f in FAMILIES)
    cited = short(entry.reference) if entry.reference else ""
    return f"{made}; {cited}" if cited else made


def _steps(entry: Configuration) -> list[Markup]:
    steps = []
    for family in FAMILIES:
        component = getattr(entry.method, family)
        about = describe(component)
        declared = parameters(component)
        values = [
            f"{p.symbol or n} = {getattr(component, n)}"
            if not p.symbol or p.symbol == n
            else f"{n} ({p.symbol}) = {getattr(component, n)}"
            for n, p in declared.items()
        ]
        scaled = ""
        if family == "reward" and entry.method is not None:
            scaled = " Then scaled to [0, 1]." if entry.method.scale_rewards else " Not scaled."
        steps.append(tag(
            "li",
            tag("div", tag("span", family, class_="family", title=QUESTIONS[family]),
                tag("b", component.name.replace("_", " ")),
                tag("span", ", ".join(values), class_="values")),
            tag("p", about.summary + scaled),
            tag("pre", about.equation, tabindex="0") if about.equation else "",
            tag("p", about.reference, class_="cited") if about.reference else "",
        ))  # fmt: skip
    return steps


def _operators(entry: Configuration) -> Markup:
    rows = []
    settings = entry.settings
    for name, member in zip(settings.names, settings.members, strict=True):
        cells = (
            (member.strategy, member.F, member.CR) if isinstance(member, Operator) else ("",) * 3
        )
        rows.append(tag("tr", tag("th", name, scope="row", class_="words"),
                        *(tag("td", c, class_="words") for c in cells)))  # fmt: skip
    head = tag("tr", *(tag("th", c, scope="col", class_="words")
                       for c in ("operator", "strategy", "F", "CR")))  # fmt: skip
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="plain")
    return tag("div", table, class_="scroll", tabindex="0", role="region",
               aria_label=f"operators of {entry.name}")  # fmt: skip


def _settings(entry: Configuration) -> Markup:
    own = [m for m in entry.settings.pool or () if isinstance(m, Operator)]
    parts = []
    for key, value in entry.settings.to_dict().items():
        # An F or CR that every operator replaces by its own is not part of the recipe.
        unused = key in ("F", "CR") and own and all(getattr(m, key) is not None for m in own)
        if key != "pool" and not unused:
            table = isinstance(value, Mapping)
            shown = ", ".join(f"{k} {v}" for k, v in value.items()) if table else value
            parts.append(f"{key.replace('_', ' ') if key != 'top_NP' else key} {shown}")
    return tag("p", "Differential evolution: ", ", ".join(parts), ".")


def _file(text: str) -> Markup:
    return tag("details", tag("summary", "As a file (TOML)"), code(text), class_="file")


def code(text: str) -> Markup:
    """Text to be copied, with the button that does it."""
    button = tag("button", "copy", type="button", class_="copy screen", aria_label="Copy this text")
    return tag("div", tag("pre", text, tabindex="0"), button, class_="code")
