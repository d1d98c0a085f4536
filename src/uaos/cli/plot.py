"""`uaos plot`: one figure for a paper."""

from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from uaos.cli.app import app, console
from uaos.cli.options import Overwrite, grouped, split_names
from uaos.errors import InvalidFile, InvalidParameter, Missing

if TYPE_CHECKING:
    from rich.console import RenderableType

    from uaos.analysis import Section
    from uaos.reporting.figures import Figure
    from uaos.reporting.sources import Course
    from uaos.tuning.store import TuningStore

    Source = Section | Course | tuple[TuningStore, int] | None


# fmt: off
@dataclass(frozen=True)
class _Choice:
    """Content; each figure accepts some of these options."""

    dim: Annotated[int | None, typer.Option(help="Choose one of several dimensions.")] = None
    methods: Annotated[str | None, typer.Option(
        help="Show only these methods or groups, separated by commas (default: all).")] = None
    method: Annotated[str | None, typer.Option(help="operators: the method of the run.")] = None
    function: Annotated[str | None, typer.Option(help="operators: the function of the run.")] = None
    instance: Annotated[int | None, typer.Option(
        help="operators: the instance of the run (default: the first).")] = None
    problem: Annotated[str | None, typer.Option(
        help="operators: the problem of the run (default: the first).")] = None
    repetition: Annotated[int | None, typer.Option(
        help="operators: the repetition (default: the first).")] = None
    target: Annotated[float | None, typer.Option(
        help="art-ratio: the target error (default: 1e-7).")] = None
    no_restarts: Annotated[bool, typer.Option(
        "--no-restarts", help="ecdf-…: end the curves at the budget.")] = False
    tuning: Annotated[int | None, typer.Option(
        help="tuning-…: the number of the tuning (default: the last).")] = None
    order: Annotated[str | None, typer.Option(
        help="Give these methods the first colors, to match other figures.")] = None

    def check(self, kind: "Figure") -> None:
        """Raise an error if an option does not apply to the figure."""
        from uaos.reporting.figures import figures

        for field in fields(self):
            option, value = field.name.replace("_", "-"), getattr(self, field.name)
            if value not in (None, False) and option not in kind.options:
                fitting = ", ".join(k for k, f in figures().items() if option in f.options)
                raise InvalidParameter(
                    f"{kind.name} does not accept --{option}; use it with {fitting}",
                    name=f"--{option}", value=value,
                )  # fmt: skip

    def arguments(self) -> dict[str, object]:
        """Return the keyword arguments of the figure's data."""
        arguments: dict[str, object] = {}
        if self.methods is not None:
            arguments["methods"] = split_names(self.methods)
        if self.target is not None:
            arguments["target"] = self.target
        if self.no_restarts:
            arguments["restarts"] = False
        return arguments


@dataclass(frozen=True)
class _Appearance:
    """Appearance."""

    width: Annotated[str | None, typer.Option(
        help="Set the width: column (3.5 inches), page (7.2) or inches.")] = None
    font: Annotated[str, typer.Option(help="Set the font: sans or serif.")] = "sans"


@app.command(
    "plot",
    epilog="Examples: [bold]uaos plot ecdf-overall mine.db -o ecdf.pdf --methods mix,JADE "
    "--font serif[/] and [bold]uaos plot operators mine.db -o run.pdf --method mix --function 8 "
    "--instance 2[/]. [bold]uaos plot[/] lists the figures, [bold]uaos plot mine.db[/] those that "
    "can be drawn from a file.",
)
@grouped
def plot_command(
    choice: _Choice,
    appearance: _Appearance,
    name: Annotated[str | None, typer.Argument(
        metavar="FIGURE", help="Draw this figure; omit it for a list.")] = None,
    stores: Annotated[list[Path] | None, typer.Argument(
        metavar="STORE", help="Read these files, written by `uaos bench` or `uaos tune`.")] = None,
    output: Annotated[Path | None, typer.Option(
        "-o", "--output", help="Write the figure here (.png, .svg or .pdf).")] = None,
    overwrite: Overwrite = False,
) -> None:
    # fmt: on
    """Draw one figure for a paper: PNG (300 dpi), SVG or PDF, one column or page wide."""
    # Here, because the analysis would slow down the start of every other command.
    from uaos.pictures import check_picture
    from uaos.reporting.figures import figure, figures, save
    from uaos.reporting.style import Style

    paths = stores or []
    if name is None:
        console.print(_list_of_figures(None))
        return
    is_file = bool(Path(name).suffix) or Path(name).is_file()
    if name not in figures() and not paths and is_file:
        console.print(_list_of_figures(Path(name)))
        return
    kind = figure(name)
    choice.check(kind)
    _check_stores(kind, paths)
    if output is None:
        raise Missing("Missing option -o FILE, a .png, .svg or .pdf file")
    check_picture(output, inputs=paths, overwrite=overwrite)
    style = Style(
        appearance.width, appearance.font, tuple(split_names(choice.order or ""))
    )
    with ExitStack() as opened:
        source = _source(kind, opened, paths, choice)
        drawing = kind.draw(kind.data(source, **choice.arguments()), style)
    save(drawing, output)
    inches = " × ".join(f"{side:.2g}" for side in drawing.get_size_inches())
    console.print(Text(f"drawn: {output} ({kind.name}, {inches} inches)"))


def _source(kind: "Figure", opened: ExitStack, stores: list[Path], choice: _Choice) -> "Source":
    """Return what the figure is drawn from."""
    from uaos.reporting.figures import RUN, SECTION, TUNING

    if kind.source == SECTION:
        return _section(stores, choice)
    if kind.source == RUN:
        return _course(opened, stores, choice)
    return _tuning(opened, stores, choice.tuning) if kind.source == TUNING else None


def _section(stores: list[Path], choice: _Choice) -> "Section":
    from uaos.analysis import Results, section

    results = Results.read(*stores)
    for name in split_names(choice.order or ""):
        if name not in results.configurations:
            note = f"{name} is in none of these files; its color stays reserved"
            console.print(Text(note, style="dim"))
    part = section(results, choice.dim)
    for note in part.notes[: bool(results.relative)]:
        console.print(Text(note, style="dim"))
    return part


def _course(opened: ExitStack, stores: list[Path], choice: _Choice) -> "Course":
    """Return the run that was chosen, or the first that matches."""
    from uaos.experiments import Store
    from uaos.reporting.sources import Experiment, RunFilter, courses_of, numbered

    if choice.method is None:
        raise Missing("Missing option --method NAME, the method of the run to draw")
    if choice.function is None and choice.problem is None:
        raise Missing("Missing option --function NAME, the function of the run to draw")
    run_filter: RunFilter = {}
    for key in ("dim", "problem", "instance", "repetition"):
        if (value := getattr(choice, key)) is not None:
            run_filter[key] = value
    if choice.function is not None:
        run_filter["function"] = numbered(choice.function)
    files = [opened.enter_context(Store.open(path)) for path in stores]
    experiments = [Experiment(file, file.table()) for file in files]
    return courses_of(experiments, choice.method, run_filter)[0]


def _tuning(
    opened: ExitStack, stores: list[Path], number: int | None
) -> "tuple[TuningStore, int]":
    """Return the store and the number of the tuning, the last one by default."""
    from uaos.tuning.store import TuningStore

    if len(stores) > 1:
        raise InvalidParameter(
            f"uaos plot got {len(stores)} stores for a figure of a tuning; expected one",
            name="STORE", value=len(stores),
        )  # fmt: skip
    store = opened.enter_context(TuningStore.open(stores[0]))
    numbers = [tuning.id for tuning in store.tunings()]
    if not numbers:
        raise Missing(f"{stores[0]} holds no tuning yet; run uaos tune first")
    if number is not None and number not in numbers:
        raise InvalidParameter(
            f"{stores[0]} holds no tuning {number}; choose one of "
            f"{', '.join(map(str, numbers))}", name="--tuning", value=number,
        )  # fmt: skip
    return store, numbers[-1] if number is None else number


def _check_stores(kind: "Figure", stores: list[Path]) -> None:
    """Raise an error if the figure cannot be drawn from a file, and list those that can."""
    from uaos.reporting.figures import CATALOGUE, TUNING

    if kind.source == CATALOGUE:
        if stores:
            raise InvalidParameter(
                f"{kind.name} is drawn from the catalogue; omit {stores[0]}", name="STORE",
                value=str(stores[0]),
            )  # fmt: skip
        return
    if not stores:
        wrote = "uaos tune" if kind.source == TUNING else "uaos bench"
        raise Missing(f"uaos plot {kind.name} needs a file that `{wrote}` wrote")
    for path in stores:
        names = [fitting.name for fitting in _fitting(path)]
        if kind.name not in names:
            content = "a benchmark" if kind.source == TUNING else "a tuning"
            raise InvalidFile(
                f"{path} is the store of {content}; {kind.name} cannot be drawn from it, but "
                f"these figures can: {', '.join(names)}"
            )


def _fitting(path: Path) -> list["Figure"]:
    """Return the figures that can be drawn from a file; raise an error if it is not a store."""
    from uaos.experiments.store import Store, open_store
    from uaos.reporting.figures import CATALOGUE, TUNING, figures
    from uaos.tuning.store import TuningStore

    with open_store(path, Store, TuningStore) as store:
        is_tuning = isinstance(store, TuningStore)
    drawn_from_stores = [kind for kind in figures().values() if kind.source != CATALOGUE]
    return [kind for kind in drawn_from_stores if (kind.source == TUNING) == is_tuning]


def _list_of_figures(path: Path | None) -> "RenderableType":
    """Return a table of all figures, or of those that can be drawn from a file."""
    from uaos.reporting.figures import CATALOGUE, figures
    from uaos.table import TEXT, Table

    rows = []
    for kind in figures().values() if path is None else _fitting(path):
        files = "" if kind.source == CATALOGUE else f" {path or 'STORE'}"
        output = "FILE" if path is None else f"{kind.name}.pdf"
        needed = " --method NAME --function NAME" if "method" in kind.options else ""
        rows.append([f"uaos plot {kind.name}{files} -o {output}{needed}", kind.help])
    table = Table.of("figures", "Figures", {"command": TEXT, "shows": TEXT}, rows)
    return table.to_rich(console.width)
