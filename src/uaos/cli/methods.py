"""`uaos methods`: show the catalogue, a recipe, or the components."""

from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from uaos.cli.app import app, console
from uaos.optimizers.catalogue import GROUPS, RELATED, cited, configuration, expanded, related
from uaos.optimizers.configuration import DEFAULT_OPTIMIZER, Configuration
from uaos.params import parameters
from uaos.selection import bibliography
from uaos.selection.bibliography import short
from uaos.selection.components import FAMILIES, components
from uaos.selection.descriptions import PLURALS, QUESTIONS, describe, parameter_row
from uaos.selection.method import Method


# fmt: off
@app.command(
    "methods",
    epilog="Example: [bold]uaos methods SaDE[/]  shows the recipe of SaDE with its equations.",
)
def methods_command(
    name: Annotated[str | None, typer.Argument(
        help="Show this method, configuration file (.toml) or group (literature, tuned, winners, "
        "all).")] = None,
    components: Annotated[bool, typer.Option(
        "--components", help="List the components and their parameters.")] = False,
    bibtex: Annotated[bool, typer.Option(
        "--bibtex", help="Print BibTeX entries of what to cite.")] = False,
) -> None:
    # fmt: on
    """Show all methods, the recipe of one, or the components to compose your own."""
    if bibtex:
        entries = map(configuration, expanded([name or "all"]))
        typer.echo(bibliography.bibtex(cited(entries)), nl=False)
    elif components:
        console.print(_families())
    elif name is None or name in GROUPS:
        names = expanded([name or "all"])
        console.print(_catalogue(names))
        console.print(
            "[dim]details of a method: uaos methods NAME · all components: "
            "uaos methods --components[/]"
        )
        if pairs := _pairs(names):
            console.print(Text(pairs, style="dim"))
    else:
        console.print(_recipe(configuration(name)))


def _pairs(names: list[str]) -> str:
    """Return which of the names stand for a selection method, and which for an algorithm."""
    pairs = []
    for group in RELATED:
        methods = [name for name, what in group.items() if "selection method" in what]
        algorithms = [name for name, what in group.items() if what == "the published algorithm"]
        if methods and algorithms and methods[0] in names:
            pairs.append(f"{', '.join(methods)} and {', '.join(algorithms)}")
    title = "a selection method and the published algorithm that contains it: "
    return title + "; ".join(pairs) if pairs else ""


def _catalogue(names: list[str]) -> RenderableType:
    """Return tables of adaptive methods, of single operators, and of other optimizers."""
    table = _plain_table("method", *FAMILIES, "reference")
    single = _plain_table("one operator", "settings", "reference")
    others = _plain_table("optimizer", "description")
    group = ""
    for entry in map(configuration, names):
        cite = short(entry.reference)
        if entry.method is None and entry.settings.operator_texts():
            about = entry.settings.summary() or entry.note.partition(". ")[0]
            single.add_row(entry.name, about, cite)
            continue
        if entry.method is None:
            others.add_row(entry.name, entry.note)
            continue
        if entry.kind != group and group:
            table.add_section()
        group = entry.kind
        # Spaces in place of underscores let a narrow terminal break lines between words.
        parts = [getattr(entry.method, f).name.replace("_", " ") for f in FAMILIES]
        table.add_row(entry.name, *parts, cite)
    tables = [part for part in (table, single, others) if part.row_count]
    return Group(*(line for part in tables for line in (part, Text(""))))


def _plain_table(*columns: str) -> Table:
    """Return an empty table without borders."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, row_styles=("", "dim"))
    for number, column in enumerate(columns):
        width = _MIN_WIDTHS.get(column)
        table.add_column(column, style="" if number else "bold", min_width=width, overflow="fold")
    return table


# The length of the longest word in each column, so that 80 columns break lines between words.
_MIN_WIDTHS = {"metric": 11, "reward": 11, "quality": 10, "probability": 11, "selection": 12,
               "reference": 9}  # fmt: skip


def _recipe(entry: Configuration) -> RenderableType:
    """Return the components, their equations, and the settings of a configuration."""
    parts: list[RenderableType] = [Text(entry.name, style="bold")]
    lines = (entry.reference, related(entry.name), entry.note)
    parts += [Text(line, style="dim") for line in lines if line]
    if entry.method is not None:
        parts += _components(entry.method)
    elif entry.settings.operator_texts():
        parts.append(Text("\nA single operator: there is nothing to select."))
    is_default = entry.optimizer == DEFAULT_OPTIMIZER
    optimizer = "differential evolution" if is_default else entry.optimizer
    parts.append(Text(f"\nsettings of {optimizer}", style="bold"))
    parts.append(Padding(_settings(entry), (0, 0, 0, 3)))
    return Group(*parts)


def _components(method: Method) -> list[RenderableType]:
    """Return each component of a method with its parameters, summary and equation."""
    parts: list[RenderableType] = []
    for number, family in enumerate(FAMILIES, 1):
        component = getattr(method, family)
        description = describe(component)
        values = ", ".join(f"{n} = {getattr(component, n)}" for n in parameters(component))
        title = Text.assemble(
            f"\n{number}. {family}  ", (component.name, "bold cyan"), f"  {values}"
        )
        parts += [title, Padding(Text(description.summary), (0, 0, 0, 3))]
        parts.append(Padding(Text(description.equation, style="green"), (0, 0, 0, 6)))
        if family == "reward":
            scaled = "then scaled to [0, 1]" if method.scale_rewards else "not scaled"
            parts.append(Padding(Text(scaled), (0, 0, 0, 6)))
    return parts


def _settings(entry: Configuration) -> RenderableType:
    """Return the settings of an optimizer and, if it has some, its operators."""
    table, operators = Table.grid(padding=(0, 2)), Table.grid(padding=(0, 2))
    for name, text in entry.settings.texts().items():
        table.add_row(name, Text(text))
    rows = entry.settings.operator_texts()
    if not rows:
        return table
    operators.add_row("[dim]operator", "[dim]strategy", "[dim]F", "[dim]CR")
    for cells in rows:
        operators.add_row(*map(Text, cells))
    return Group(table, Text(""), operators)


def _families() -> RenderableType:
    """Return a table of components and their parameters for each family."""
    parts: list[RenderableType] = []
    for family in FAMILIES:
        members = components(family)
        title = f"{PLURALS[family]} ({len(members)}): {QUESTIONS[family]}"
        table = Table(title=title, title_justify="left", title_style="bold", expand=False)
        for column in ("component", "parameter", "range", "default", "meaning"):
            table.add_column(column)
        for name, cls in members.items():
            rows = [parameter_row(n, p) for n, p in parameters(cls).items()] or [("", "", "", "")]
            for number, row in enumerate(rows):
                table.add_row(Text(name if number == 0 else "", style="bold"), *row)
        parts += [table, Text("")]
    return Group(*parts)
