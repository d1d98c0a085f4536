"""`uaos recommend`: choose a method for problems like those in a store."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from uaos.checks import parse_budget
from uaos.cli.app import app, console
from uaos.cli.options import Overwrite
from uaos.errors import InvalidParameter, shortened
from uaos.files import check_output


# fmt: off
@app.command(
    "recommend",
    epilog="Example: [bold]uaos recommend mine.db --budget 200D -o best.toml[/], then "
    '[bold]uaos.minimize(fun, bounds, method="best.toml")[/]',
)
def recommend_command(
    stores: Annotated[list[Path], typer.Argument(
        metavar="STORE", help="Read these files, written by `uaos bench`.")],
    budget: Annotated[str | None, typer.Option(
        help="Choose for this many evaluations, such as 200D (default: the longest run).")] = None,
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", help="Write the method here (.toml), for minimize and bench.")] = None,
    dimension: Annotated[int | None, typer.Option(
        "--dim", help="Choose one of several dimensions.")] = None,
    overwrite: Overwrite = False,
) -> None:
    # fmt: on
    """Recommend a method for problems like those in the stores, with the evidence."""
    # Here, because SciPy's statistics would slow down the start of every other command.
    from uaos.analysis import Results, section
    from uaos.analysis.recommendation import recommend

    if output is not None:
        check_output(output, inputs=stores, suffixes=(".toml",), overwrite=overwrite)
    part = section(Results.read(*stores), dimension)
    recommendation = recommend(part, _per_dimension(budget, part.dimension))
    console.print(recommendation.table().to_rich(console.width))
    console.print(Text(recommendation.reason, style="bold"))
    if output is not None:
        recommendation.configuration().to_toml(output)
        console.print(Text(f'written: {output}; use it with uaos.minimize(…, method="{output}")'))


def _per_dimension(budget: str | None, dimension: int | None) -> float | None:
    """Return a budget in evaluations per dimension."""
    if budget is None:
        return None
    if budget[-1:] in ("D", "d"):
        return float(parse_budget(budget, 1))
    if dimension is None:
        raise InvalidParameter(
            f"budget is {shortened(budget)}, but the problems have different dimensions; expected "
            "a multiple of the dimension, such as 200D",
            name="budget", value=budget,
        )  # fmt: skip
    return parse_budget(budget, dimension) / dimension
