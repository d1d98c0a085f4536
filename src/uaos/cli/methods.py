"""`uaos methods`: the catalogue, one recipe, or the components."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from uaos.cli.app import app, console
from uaos.optimizers.base import optimizer, settings_of
from uaos.optimizers.catalogue import GROUPS, configuration, expanded
from uaos.optimizers.configuration import DE, Configuration
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.rules import Rule
from uaos.optimizers.de.settings import Settings
from uaos.params import parameters
from uaos.selection.bibliography import short
from uaos.selection.components import FAMILIES, components
from uaos.selection.describe import PLURALS, QUESTIONS, describe, parameter_row


# fmt: off
@app.command(
    "methods",
    epilog="Example: [bold]uaos methods SaDE[/]  shows SaDE's recipe with its equations.",
)
def show_methods(
    name: Annotated[str | None, typer.Argument(
        help="A method, a configuration file (.toml), or a group: literature, tuned, winners, "
        "all.")] = None,
    components: Annotated[bool, typer.Option(
        "--components", help="List the components and their parameters.")] = False,
) -> None:
    # fmt: on
    """List the catalogue of methods, one recipe, or the components to compose your own from."""
    if components:
        console.print(_families())
    elif name is None or name in GROUPS:
        console.print(_catalogue(expanded([name or "all"])))
        console.print(
            "[dim]one recipe: uaos methods NAME · what recipes are made of: "
            "uaos methods --components[/]"
        )
    else:
        console.print(_recipe(configuration(name)))


def _catalogue(names: list[str]) -> RenderableType:
    table = _plain_table("method", *FAMILIES, "reference")
    alone = _plain_table("one operator", "settings", "reference")
    others = _plain_table("optimizer", "what it is")
    group = ""
    for entry in map(configuration, names):
        cite = short(entry.reference)
        if entry.optimizer != DE and entry.method is None:
            others.add_row(entry.name, entry.note)
            continue
        if entry.method is None:
            alone.add_row(entry.name, _in_short(entry), cite)
            continue
        if entry.kind != group and group:
            table.add_section()
        group = entry.kind
        # Spaces, where names have underscores, let a narrow terminal break them between words.
        parts = [getattr(entry.method, f).name.replace("_", " ") for f in FAMILIES]
        table.add_row(entry.name, *parts, cite)
    shown = [one for one in (table, alone, others) if one.row_count]
    return Group(*(part for one in shown for part in (one, Text(""))))


def _plain_table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, row_styles=("", "dim"))
    for number, column in enumerate(columns):
        width = _NARROWEST.get(column)
        table.add_column(column, style="" if number else "bold", min_width=width, overflow="fold")
    return table


# The longest word of each column, so that a terminal of 80 columns breaks lines between words.
_NARROWEST = {"metric": 11, "reward": 11, "quality": 10, "probability": 11, "selection": 12,
              "reference": 9}  # fmt: skip


def _in_short(entry: Configuration) -> str:
    """The settings that differ from the defaults."""
    usual = Settings().to_dict()
    given = entry.settings.to_dict()
    only = entry.settings.members[0]
    rule = only.F if isinstance(only, Operator) else None
    parts = [f"F and CR {rule}"] if isinstance(rule, Rule) and rule.adaptive else []
    for key, value in given.items():
        if key != "pool" and value != usual.get(key):
            parts.append(f"{key} {value['rule'] if isinstance(value, dict) else value}")
    return ", ".join(parts) or entry.note


def _recipe(entry: Configuration) -> RenderableType:
    head = Text(entry.name, style="bold")
    parts: list[RenderableType] = [head]
    parts += [Text(line, style="dim") for line in (entry.reference, entry.note) if line]
    if entry.method is None and entry.optimizer == DE:
        parts.append(Text("\nA single operator: there is nothing to select."))
    elif entry.method is not None:
        for number, family in enumerate(FAMILIES, 1):
            component = getattr(entry.method, family)
            about = describe(component)
            values = {n: getattr(component, n) for n in parameters(component)}
            shown = ", ".join(f"{n} = {v}" for n, v in values.items())
            title = Text.assemble(
                f"\n{number}. {family}  ", (component.name, "bold cyan"), f"  {shown}"
            )
            parts += [title, Padding(Text(about.summary), (0, 0, 0, 3))]
            parts.append(Padding(Text(about.equation, style="green"), (0, 0, 0, 6)))
            if family == "reward":
                scaled = "then scaled to [0, 1]" if entry.method.scale_rewards else "not scaled"
                parts.append(Padding(Text(scaled), (0, 0, 0, 6)))
    if entry.optimizer != DE:
        parts += [Text(f"\nsettings of {entry.optimizer}", style="bold"), _keywords(entry)]
        return Group(*parts)
    parts.append(Text("\ndifferential evolution", style="bold"))
    parts.append(Padding(_settings(entry), (0, 0, 0, 3)))
    return Group(*parts)


def _keywords(entry: Configuration) -> RenderableType:
    """The settings of an optimizer, as its constructor takes them."""
    table = Table.grid(padding=(0, 2))
    for name, value in (settings_of(optimizer(entry.optimizer)) | entry.settings).items():
        if name == "method" and entry.method is not None:
            continue
        shown = value
        if isinstance(value, list):  # the members of a portfolio
            shown = "\n".join(_member(one) for one in value)
        table.add_row(name, Text(str(shown)))
    return Padding(table, (0, 0, 0, 3))


def _member(data: Mapping[str, Any]) -> str:
    """A member of a portfolio in a line: its name, and what it is made of."""
    made = Configuration.from_dict(data["configuration"])
    if made.optimizer != DE:
        return f"{made.name}: {', '.join(f'{k} {v}' for k, v in made.settings.items())}"
    made_of = ", ".join(getattr(m, "strategy", m.name) for m in made.settings.members)
    return f"{made.name}: {made_of}, {_in_short(made)}"


def _settings(entry: Configuration) -> RenderableType:
    table, operators = Table.grid(padding=(0, 2)), Table.grid(padding=(0, 2))
    for row in entry.setting_texts().items():
        table.add_row(*row)
    operators.add_row("[dim]operator", "[dim]strategy", "[dim]F", "[dim]CR")
    for cells in entry.operator_texts():
        operators.add_row(*map(Text, cells))
    return Group(table, Text(""), operators)


def _families() -> RenderableType:
    parts: list[RenderableType] = []
    for family in FAMILIES:
        members = components(family)
        title = f"{PLURALS[family]} ({len(members)}): {QUESTIONS[family]}"
        table = Table(title=title, title_justify="left", title_style="bold", expand=False)
        for column in ("component", "parameter", "range", "default", "meaning"):
            table.add_column(column)
        for name, cls in members.items():
            rows = [parameter_row(n, p) for n, p in parameters(cls).items()] or [("", "", "", "")]
            for first, row in enumerate(rows):
                table.add_row(Text(name if first == 0 else "", style="bold"), *row)
        parts += [table, Text("")]
    return Group(*parts)
