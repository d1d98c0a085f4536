"""`uaos plot`: one figure for a paper."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from uaos.cli.app import app, console
from uaos.cli.options import Overwrite, split_names
from uaos.errors import InvalidFile, InvalidParameter, Missing

if TYPE_CHECKING:
    from uaos.reporting.figures import Figure


# fmt: off
@app.command(
    "plot",
    epilog="Examples: [bold]uaos plot ecdf-overall mine.db -o ecdf.pdf --methods mix,JADE "
    "--font serif[/] and [bold]uaos plot operators mine.db -o run.pdf --method mix --function 8 "
    "--instance 2[/]. [bold]uaos plot[/] alone lists the figures, [bold]uaos plot mine.db[/] those "
    "that can be drawn from a file.",
)
def draw_figure(
    name: Annotated[str | None, typer.Argument(
        metavar="FIGURE", help="The name of a figure.")] = None,
    stores: Annotated[list[Path] | None, typer.Argument(
        metavar="STORE", help="Files that `uaos bench` or `uaos tune` wrote.")] = None,
    output: Annotated[Path | None, typer.Option(
        "-o", "--output", help="Write it here (.png, .svg or .pdf).")] = None,
    dim: Annotated[int | None, typer.Option(help="Choose one of several dimensions.")] = None,
    methods: Annotated[str | None, typer.Option(
        help="Show only these methods or groups, separated by commas (default: all).")] = None,
    method: Annotated[str | None, typer.Option(help="operators: the run's method.")] = None,
    function: Annotated[str | None, typer.Option(help="operators: its function.")] = None,
    instance: Annotated[int | None, typer.Option(
        help="operators: its instance (default: the first).")] = None,
    problem: Annotated[str | None, typer.Option(
        help="operators: its problem (default: the first).")] = None,
    repetition: Annotated[int | None, typer.Option(
        help="operators: its repetition (default: the first).")] = None,
    target: Annotated[float | None, typer.Option(
        help="art-ratio: the error to be reached (default: 1e-7).")] = None,
    no_restarts: Annotated[bool, typer.Option(
        "--no-restarts", help="ecdf-…: end at the budget.")] = False,
    tuning: Annotated[int | None, typer.Option(
        help="tuning-…: its number (default: the last).")] = None,
    parameters: Annotated[str | None, typer.Option(
        help="tuning-frequencies: separated by commas (default: the winner's).")] = None,
    width: Annotated[str | None, typer.Option(
        help="Set the width: column (3.5 inches), page (7.2) or inches.")] = None,
    font: Annotated[str, typer.Option(help="Set the font: sans or serif.")] = "sans",
    order: Annotated[str | None, typer.Option(
        help="Give these methods the first colors, to match other figures.")] = None,
    overwrite: Overwrite = False,
) -> None:
    # fmt: on
    """Draw one figure for a paper: PNG (300 dpi), SVG or PDF, as wide as a column or a page."""
    # Here, because the analysis would slow down the start of every other command.
    from uaos.files import check_output
    from uaos.pictures import PICTURES
    from uaos.reporting.figures import RUN, SECTION, TUNING, figure, figures, save
    from uaos.reporting.style import Style

    paths = stores or []
    if name is None or (name not in figures() and not paths and Path(name).is_file()):
        console.print(_list_of_figures(None if name is None else Path(name)))
        return
    kind = figure(name)
    given = {
        "dim": dim, "methods": methods, "method": method, "function": function,
        "instance": instance, "problem": problem, "repetition": repetition, "target": target,
        "no-restarts": no_restarts or None, "tuning": tuning, "parameters": parameters,
        "order": order,
    }  # fmt: skip
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    for option, value in options.items():
        if option not in kind.options:
            fits = ", ".join(k for k, one in figures().items() if option in one.options)
            raise InvalidParameter(f"--{option}", value, f"nothing with {kind.name}; use it with "
                                   f"{fits}")  # fmt: skip
    _check_stores(kind, paths)
    if output is None:
        raise Missing("Missing option -o FILE: a .png, .svg or .pdf file")
    check_output(output, inputs=paths, suffixes=PICTURES, overwrite=overwrite)
    style = Style(width, font, tuple(split_names(order or "")))
    arguments: dict[str, Any] = {
        key: split_names(options[key]) for key in ("methods", "parameters") if key in options
    }
    arguments |= {} if target is None else {"target": target}
    arguments |= {"restarts": False} if no_restarts else {}
    find = {RUN: _run, TUNING: _tuning, SECTION: _section}.get(kind.source)
    with ExitStack() as opened:
        source = find and find(opened, paths, options, style.order)
        drawing = kind.draw(kind.data(source, **arguments), style)
    save(drawing, output)
    inches = " × ".join(f"{side:.2g}" for side in drawing.get_size_inches())
    console.print(Text(f"drawn: {output} ({kind.name}, {inches} inches)"))


def _section(_: ExitStack, stores: list[Path], options: dict[str, Any], order: Any) -> Any:
    from uaos.analysis import Results, section

    results = Results.read(*stores)
    for name in order:
        if name not in results.configurations:
            console.print(Text(f"{name}: in none of these files; its color is kept", style="dim"))
    part = section(results, options.get("dim"))
    for note in part.notes[: bool(results.relative)]:
        console.print(Text(note, style="dim"))
    return part


def _run(opened: ExitStack, stores: list[Path], options: dict[str, Any], _: Any) -> Any:
    """Return the run that was asked for, or the first that matches."""
    from uaos.experiments import Store
    from uaos.reporting.sources import Experiment, RunFilter, courses_of, numbered

    if "method" not in options:
        raise Missing("Missing option --method NAME: whose run to draw")
    if "function" not in options and "problem" not in options:
        raise Missing("Missing option --function NAME: which run to draw")
    wanted: RunFilter = {}
    for key in ("dim", "function", "problem", "instance", "repetition"):
        if key in options:
            wanted[key] = numbered(options[key]) if key == "function" else options[key]
    experiments = [Experiment(opened.enter_context(Store.open(path))) for path in stores]
    return courses_of(experiments, options["method"], wanted)[0]


def _tuning(opened: ExitStack, stores: list[Path], options: dict[str, Any], _: Any) -> Any:
    from uaos.tuning.store import TuningStore

    if len(stores) > 1:
        raise InvalidParameter("files", len(stores), "one for a figure of a tuning")
    store = opened.enter_context(TuningStore.open(stores[0]))
    numbers = [one.id for one in store.tunings()]
    if not numbers:
        raise Missing(f"{stores[0]}: holds no tuning yet")
    number = options.get("tuning", numbers[-1])
    if number not in numbers:
        there = f"one of those in {stores[0]}: {', '.join(map(str, numbers))}"
        raise InvalidParameter("--tuning", number, there)
    return store, number


def _check_stores(kind: "Figure", stores: list[Path]) -> None:
    """Refuse a file that the figure cannot be drawn from, and say which can."""
    from uaos.reporting.figures import CATALOGUE, TUNING

    if kind.source == CATALOGUE:
        if stores:
            raise InvalidParameter("STORE", str(stores[0]), f"nothing: {kind.name} needs no file")
        return
    if not stores:
        wrote = "uaos tune" if kind.source == TUNING else "uaos bench"
        raise Missing(f"uaos plot {kind.name} needs a file that `{wrote}` wrote")
    for path in stores:
        names = [one.name for one in _fitting(path)]
        if kind.name not in names:
            of = "a benchmark" if kind.source == TUNING else "a tuning"
            raise InvalidFile(
                f"{path}: the store of {of}, from which {kind.name} cannot be drawn; these can: "
                f"{', '.join(names)}"
            )


def _fitting(path: Path) -> list["Figure"]:
    """Return the figures that can be drawn from a file; one that is no store is refused."""
    from uaos.experiments.store import Store, open_store
    from uaos.reporting.figures import CATALOGUE, TUNING, figures
    from uaos.tuning.store import TuningStore

    with open_store(path, Store, TuningStore) as store:
        is_tuning = isinstance(store, TuningStore)
    found = [one for one in figures().values() if one.source != CATALOGUE]
    return [one for one in found if (one.source == TUNING) == is_tuning]


def _list_of_figures(path: Path | None) -> Any:
    """Return a table of all figures, or of those that can be drawn from a file."""
    from uaos.reporting.figures import CATALOGUE, figures
    from uaos.table import TEXT, Table

    rows = []
    for one in figures().values() if path is None else _fitting(path):
        files = "" if one.source == CATALOGUE else f" {path or 'STORE'}"
        output = "FILE" if path is None else f"{one.name}.pdf"
        needed = " --method NAME --function NAME" if "method" in one.options else ""
        rows.append([f"uaos plot {one.name}{files} -o {output}{needed}", one.help])
    table = Table.of("figures", "Figures", {"command": TEXT, "shows": TEXT}, rows)
    return table.to_rich(console.width)
