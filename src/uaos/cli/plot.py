"""`uaos plot`: one figure for a paper, from the file of an experiment or of a tuning."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.table import Table
from rich.text import Text

from uaos.cli.app import app, console
from uaos.cli.options import listed
from uaos.errors import InvalidFile, InvalidParameter, Missing, UaosError, UnknownName

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from uaos.analysis import Results
    from uaos.reporting.style import Style


class _Kind(NamedTuple):
    """A kind of figure: what it shows, of what, and which options it takes beside the common."""

    shows: str
    tuning: bool = False
    options: tuple[str, ...] = ()


_METHODS = ("dim", "methods", "order")
_KINDS = {
    "ecdf-overall": _Kind(
        "runtime profiles over all functions, beside best2009", options=(*_METHODS, "no-restarts")
    ),
    "ecdf-classes": _Kind(
        "the same in each class of functions", options=(*_METHODS, "no-restarts")
    ),
    "ecdf-functions": _Kind("the same on each function", options=(*_METHODS, "no-restarts")),
    "art-ratio": _Kind("aRT in units of best2009's, by function", options=(*_METHODS, "target")),
    "ranks": _Kind("mean ranks with the critical difference", options=_METHODS),
    "operators": _Kind(
        "operators, probabilities and error in one run",
        options=("dim", "method", "function", "instance", "repetition"),
    ),
    "tuning-frequencies": _Kind(
        "values drawn in each race", tuning=True, options=("tuning", "parameters")
    ),
    "tuning-survival": _Kind("candidates left in each race", tuning=True, options=("tuning",)),
    "tuning-importance": _Kind("which parameters mattered", tuning=True, options=("tuning",)),
}


@app.command(
    "plot",
    epilog="Examples: [bold]uaos plot ecdf-overall mine.db -o ecdf.pdf --methods mix,JADE "
    "--font serif[/] and [bold]uaos plot operators mine.db -o run.pdf --method mix --function 8 "
    "--instance 2[/]",
)
def draw_figure(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help=f"{', '.join(_KINDS)}. A file alone lists what fits it."
        ),
    ],
    stores: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="STORE",
            help="Files that `uaos bench` (or, for tuning-…, `uaos tune`) wrote.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The figure: a .png, .svg or .pdf file.")
    ] = None,
    dim: Annotated[int | None, typer.Option(help="Dimension, if there are several.")] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods, with commas (default: all).")
    ] = None,
    method: Annotated[str | None, typer.Option(help="operators: the run's method.")] = None,
    function: Annotated[int | None, typer.Option(help="operators: its function.")] = None,
    instance: Annotated[
        int | None, typer.Option(help="operators: its instance (default: the first).")
    ] = None,
    repetition: Annotated[
        int | None, typer.Option(help="operators: its repetition (default: the first).")
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="art-ratio: the error to be reached (default: 1e-7).")
    ] = None,
    no_restarts: Annotated[
        bool, typer.Option("--no-restarts", help="ecdf-…: end at the budget.")
    ] = False,
    tuning: Annotated[
        int | None, typer.Option(help="tuning-…: its number, if there are several.")
    ] = None,
    parameters: Annotated[
        str | None,
        typer.Option(help="tuning-frequencies: these, with commas (default: the winner's)."),
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(help="column (3.5 inches), page (7.2) or inches (default: what suits)."),
    ] = None,
    font: Annotated[str, typer.Option(help="sans or serif.")] = "sans",
    order: Annotated[
        str | None,
        typer.Option(help="Methods that take the first colours, to match other figures."),
    ] = None,
) -> None:
    """Draw one figure for a paper: PNG (300 dpi), SVG or PDF, in the width of a column or page."""
    places = stores or []
    if kind not in _KINDS and not places and Path(kind).is_file():
        console.print(_offer(Path(kind)))
        return
    name = kind.replace("_", "-")
    if name not in _KINDS:
        raise UnknownName("kind of figure", kind, _KINDS)
    given = {
        "dim": dim, "methods": methods, "method": method, "function": function,
        "instance": instance, "repetition": repetition, "target": target,
        "no-restarts": no_restarts or None, "tuning": tuning, "parameters": parameters,
        "order": order,
    }  # fmt: skip
    asked = {option: value for option, value in given.items() if value is not None}
    for option, value in asked.items():
        if option not in _KINDS[name].options:
            fits = ", ".join(k for k, about in _KINDS.items() if option in about.options)
            raise InvalidParameter(f"--{option}", value, f"nothing with {name}; it is for {fits}")
    _check_stores(name, places)
    if output is None:
        raise Missing("uaos plot needs -o FILE, the figure to draw: a .png, .svg or .pdf file")
    # Here, as scipy and matplotlib would slow down the start of every other command.
    from uaos.reporting.figures import check_path, save
    from uaos.reporting.style import Style

    check_path(output)
    style = Style(width, font, tuple(_listed(order) or ()))
    figure = (_of_tuning if _KINDS[name].tuning else _of_experiment)(name, places, asked, style)
    save(figure, output)
    inches = " × ".join(f"{side:.2g}" for side in figure.get_size_inches())
    console.print(Text(f"drawn: {output} ({name}, {inches} inches)"))


def _of_experiment(
    kind: str, stores: list[Path], asked: dict[str, Any], style: "Style"
) -> "Figure":
    from uaos.analysis import Results
    from uaos.reporting import figures

    if kind == "operators":
        return _of_run(stores, asked, style)
    results = Results.read(*stores)
    _mention_absent(results, style.order)
    dimension = _dimension(results, asked.get("dim"))
    methods = _listed(asked.get("methods"))
    if kind == "ranks":
        return figures.ranks(results, dimension, methods, style=style)
    if kind == "art-ratio":
        target = asked.get("target", 1e-7)
        return figures.art_ratio(results, dimension, target, methods, style=style)
    profiles: dict[str, Callable[..., Figure]] = {
        "ecdf-overall": figures.ecdf_overall,
        "ecdf-classes": figures.ecdf_classes,
        "ecdf-functions": figures.ecdf_functions,
    }
    restarts = "no-restarts" not in asked
    return profiles[kind](results, dimension, methods, restarts=restarts, style=style)


def _of_run(stores: list[Path], asked: dict[str, Any], style: "Style") -> "Figure":
    """The figure of the one run that was asked for, or of the first that fits."""
    from uaos.experiments import Store
    from uaos.problems.bbob import TITLES
    from uaos.reporting.figures import operators

    for option, value in (("method", "NAME"), ("function", "NUMBER")):
        if option not in asked:
            raise Missing(f"uaos plot operators needs --{option} {value}: whose run is to be drawn")
    known: list[str] = []
    finished: list[dict[str, int]] = []
    for path in stores:
        with Store.open(path) as store:
            known += store.methods()
            if asked["method"] not in known:
                continue
            for o in store.outcomes(asked["method"]):
                key = {"dim": o.dimension, "function": int(o.function[1:]),
                       "instance": o.instance or 0, "repetition": o.repetition}  # fmt: skip
                finished.append(key)
                if any(asked.get(option, value) != value for option, value in key.items()):
                    continue
                if (history := store.history(o.method, o.problem, o.repetition)) is None or not len(
                    history
                ):
                    continue
                title = (
                    f"{o.method} on {o.function} {TITLES[o.function]}, {o.dimension}-D, "
                    f"instance {o.instance}"
                )
                return operators(history, o.best - o.error, title, style=style)
    if asked["method"] not in known:
        raise UnknownName("method", asked["method"], dict.fromkeys(known), hint="(in the files)")
    raise _no_run(asked, finished)


def _no_run(asked: dict[str, Any], finished: list[dict[str, int]]) -> UaosError:
    """The first option that leaves no run of the method, and which values there are."""
    left, of = finished, f"finished runs of {asked['method']}"
    for option in ("dim", "function", "instance", "repetition"):
        there = sorted({run[option] for run in left})
        if option in asked and there and asked[option] not in there:
            listed = ", ".join(map(str, there))
            return InvalidParameter(f"--{option}", asked[option], f"one of {listed} ({of})")
        if option in asked:
            left = [run for run in left if run[option] == asked[option]]
            of += f", {option} {asked[option]}"
    return Missing(f"none of the {of} kept its course" if left else f"there are no {of}")


def _of_tuning(kind: str, stores: list[Path], asked: dict[str, Any], style: "Style") -> "Figure":
    from uaos.reporting import figures
    from uaos.tuning.store import TuningStore

    if len(stores) > 1:
        raise InvalidParameter("files", len(stores), f"one for {kind}")
    with TuningStore.open(stores[0]) as store:
        numbers = [one.id for one in store.tunings()]
        number = asked.get("tuning", numbers[0] if len(numbers) == 1 else None)
        if not numbers:
            raise Missing(f"{stores[0]}: holds no tuning yet")
        there = f"one of those in {stores[0]}: {', '.join(map(str, numbers))}"
        if number is None:
            raise Missing(f"uaos plot {kind} needs --tuning NUMBER, {there}")
        if number not in numbers:
            raise InvalidParameter("--tuning", number, there)
        if kind == "tuning-frequencies":
            parameters = _listed(asked.get("parameters"))
            return figures.tuning_frequencies(store, number, parameters, style=style)
        if kind == "tuning-survival":
            return figures.tuning_survival(store, number, style=style)
        return figures.tuning_importance(store, number, style=style)


def _dimension(results: "Results", wanted: int | None) -> int:
    """The dimension asked for, or the only one."""
    if wanted is not None or len(results.dimensions) == 1:
        return results.dimensions[0] if wanted is None else wanted
    if not results.dimensions:
        raise Missing("there are no finished runs to draw")
    there = ", ".join(map(str, results.dimensions))
    raise Missing(f"the runs have several dimensions; name one with --dim: {there}")


def _mention_absent(results: "Results", order: tuple[str, ...]) -> None:
    """A colour may be kept for a method of other files; if it is a slip, it is seen."""
    for name in order:
        if name not in results.configurations:
            console.print(Text(f"{name}: in none of these files; its colour is kept", style="dim"))


def _check_stores(kind: str, stores: list[Path]) -> None:
    """Refuse a file that this kind of figure is not for, and say which are."""
    if not stores:
        wrote = "uaos tune" if _KINDS[kind].tuning else "uaos bench"
        raise Missing(f"uaos plot {kind} needs a file that `{wrote}` wrote")
    for path in stores:
        fits = _fitting(path)
        if kind not in fits:
            of = "an experiment" if _KINDS[kind].tuning else "a tuning"
            raise InvalidFile(
                f"{path}: the store of {of}, which {kind} is not for; these are: {', '.join(fits)}"
            )


def _fitting(path: Path) -> list[str]:
    """The kinds of figures that fit the file; one that is no store of ours is refused."""
    from uaos.experiments.store import TUNING, kind_of

    tuning = kind_of(path) == TUNING
    return [kind for kind, about in _KINDS.items() if about.tuning == tuning]


def _offer(path: Path) -> Table:
    """What can be drawn of a file."""
    table = Table.grid(padding=(0, 2))
    for kind in _fitting(path):
        table.add_row(Text(f"uaos plot {kind} {path} -o FILE"), Text(_KINDS[kind].shows))
    return table


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else listed(text)
