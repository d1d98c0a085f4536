"""Adaptive methods that won competitions, as configurations of the same engine.

Each is made of what every other configuration is made of: operators, rules for F and CR, a
population schedule and, where it selects, a method. A recipe also says what is chosen by which
credit, where its constants come from and where it deviates from the original.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.rules import SuccessHistory, SuccessRate
from uaos.optimizers.de.settings import Linear, Settings
from uaos.selection import bibliography as bib
from uaos.selection.method import Method


@dataclass(frozen=True)
class Recipe:
    """A method of the literature as a configuration, and how faithful it is.

    Parameters
    ----------
    configuration : Configuration
        What runs.
    selects, credit, scope : str
        What is chosen, by which credit, and for how many offspring at a time.
    source : str
        Where the constants come from.
    deviations : tuple of str
        Where the configuration differs from the original.
    """

    configuration: Configuration
    selects: str
    credit: str
    scope: str
    source: str
    deviations: tuple[str, ...]


def _recipe(
    name: str,
    settings: Settings,
    by: bib.Publication,
    what: str,
    *,
    method: Method | None = None,
    selects: str = "F and CR",
    credit: str = "improvement",
    scope: str = "offspring",
    source: str,
    deviations: tuple[str, ...] = (),
) -> Recipe:
    note = f"{what} Constants: {source}."
    if deviations:
        note += f" Deviations: {'; '.join(deviations)}."
    made = Configuration(name, method, settings, str(by), note, "winner")
    return Recipe(made, selects, credit, scope, source, deviations)


def _jso() -> Recipe:
    memory = SuccessHistory(5, F=0.3, CR=0.8, rate=0.5, CR_mean="Lehmer", last=0.9, phases="jSO")
    pool = (Operator("curr-to-pbest-w/1 (archived)", memory, memory),)
    return _recipe(
        "jSO",
        Settings(pool, NP="25sqrt(D) ln(D)", top_NP="0.25 to 0.125", schedule=Linear(4)),
        bib.BREST_2017,
        "L-SHADE with a weighted strategy and limits of F and CR that change over the run.",
        source="the paper",
        deviations=("x_pbest may be the parent itself in the first half of the run",),
    )


def _lsrtde() -> Recipe:
    memory = SuccessHistory(5, CR=1.0, rate=0.5, CR_mean="Lehmer", CR_scale=0.05, learns="taken")
    pool = (Operator("r-new-to-ptop/n/t", SuccessRate(), memory),)
    return _recipe(
        "L-SRTDE",
        Settings(
            pool, NP="20D", top_NP="0.7 exp(-7 S)", schedule=Linear(4), survival="newest",
            rank_pressure=3.0, boundary="resample",
        ),
        bib.STANOVOV_2024,
        "A population of the newest and one of the best points; F and the share of best points "
        "that attract follow the success rate.",
        credit="success rate",
        scope="generation",
        source="the authors' program",
        deviations=(
            "a generation is evaluated as a whole, so that newcomers take part from the next on",
        ),
    )  # fmt: skip


@cache
def recipes() -> Mapping[str, Recipe]:
    """The recipes by name, in the order of their years."""
    made = (_jso(), _lsrtde())
    return MappingProxyType({one.configuration.name: one for one in made})
