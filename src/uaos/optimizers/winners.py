"""Adaptive methods that won competitions, as configurations of the same engine.

Each is made of what every other configuration is made of: operators, rules for F and CR, a
population schedule and, where it selects, a method. A recipe also says what is chosen by which
credit, where its constants come from and where it deviates from the original.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from uaos.optimizers.catalogue import add_group
from uaos.optimizers.configuration import DEFAULT_OPTIMIZER, Configuration
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.rules import BimodalCauchy, SuccessHistory, SuccessRate
from uaos.optimizers.de.settings import Linear, Settings, Stagnation
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
    settings: Any,
    by: str,
    what: str,
    *,
    method: Method | None = None,
    selects: str = "F and CR",
    credit: str = "improvement",
    scope: str = "offspring",
    source: str,
    deviations: tuple[str, ...] = (),
    optimizer: str = DEFAULT_OPTIMIZER,
) -> Recipe:
    note = f"{what} Constants: {source}."
    if deviations:
        note += f" Deviations: {'; '.join(deviations)}."
    made = Configuration(name, method, settings, by, note, "winner", optimizer=optimizer)
    return Recipe(made, selects, credit, scope, source, deviations)


def _jso() -> Recipe:
    memory = SuccessHistory(5, F=0.3, CR=0.8, rate=0.5, CR_mean="Lehmer", last=0.9, phases="jSO")
    pool = (Operator("curr-to-pbest-w/1 (archived)", memory, memory, "current-to-pbest-w/1"),)
    return _recipe(
        "jSO",
        Settings(pool, NP="25sqrt(D) ln(D)", top_NP="0.25 to 0.125", schedule=Linear(4)),
        bib.BREST_2017,
        "L-SHADE with a weighted strategy and limits of F and CR that change over the run.",
        source="the authors' program, bounds (halfway to the parent) included",
        deviations=("x_arch may be x_r1",),
    )


def _mos() -> Recipe:
    pool = (Operator("rand/1 (tournament)", 0.5, 0.5, "DE"),)
    evolution = Settings(pool, NP=15, exponential=1.0, restart=Stagnation(growth=2.0))
    members = (
        Configuration("DE", settings=evolution),
        Configuration("IPOP-CMA-ES", optimizer="CMA-ES",
                      settings={"restarts": "IPOP", "popsize": 15}),
    )  # fmt: skip
    method = Method(
        "parent_improvement", {"name": "consensus", "max_gen": 1}, "identity",
        {"name": "share_transfer", "p_min": 0.05, "xi": 0.05}, "shares", scale_rewards=False,
        scope="step",
    )  # fmt: skip
    settings = {"members": [{"configuration": one.to_dict()} for one in members], "step": 118.0}
    return _recipe(
        "MOS", settings, bib.LATORRE_2010,
        "Differential evolution and CMA-ES share the evaluations of each step by their quality.",
        optimizer="portfolio",
        method=method,
        selects="DE or IPOP-CMA-ES",
        credit="mean improvement where the number of improvements agrees, else that",
        scope="step",
        source="the paper; that its 85 steps are of 10,000·D evaluations, and that DE goes "
        "first, is inferred from its results in COCO's archive",
        deviations=(
            "each member has its own population and restarts on its own, where the paper does not "
            "say what is shared",
            "an improvement is one over the member's own best value, not over a parent",
            "all three points of a mutant come from tournaments, where the paper only says "
            "tournament",
            "DE restarts after 200 generations without a better best, or when all values are alike",
            "no largest population, which is 6,400 in the paper",
            "the CMA-ES has active updates",
        ),
    )  # fmt: skip


def _ea4eig() -> Recipe:
    memory = SuccessHistory(
        5, F=0.3, CR=0.8, rate=0.5, CR_mean="Lehmer", CR_scale=0.1**0.5, last=0.9, phases="jSO"
    )
    pool = (
        Operator("rand/1", BimodalCauchy(0.65, 1.0), BimodalCauchy(0.1, 0.95), "CoBiDE"),
        Operator("individual-dependent", 0.5, 0.5, "IDE"),  # it has its own F and CR
        Operator("CMA-ES sample (own)", 0.5, 1.0, "CMA-ES"),
        Operator("curr-to-pbest-w/1 (archived)", memory, memory, "jSO"),
    )
    return _recipe(
        "EA4eig",
        Settings(
            pool, NP=100, top_NP="0.25 to 0.125", archive_size=2.6, schedule=Linear(10),
            boundary="reflect", eigen=0.4, eigen_CR="kept", j_rand="if none",
        ),
        bib.BUJOK_2022,
        "Four algorithms that take turns on one population, most often those that succeed.",
        method=Method(
            "parent_improvement", {"name": "success_count", "start": 2, "least": 0.2}, "identity",
            "identity", "proportional", scale_rewards=False, scope="generation",
        ),
        selects="CoBiDE, IDE, CMA-ES or jSO",
        credit="number of successes since the last reset",
        scope="generation",
        source="the authors' program",
        deviations=(
            "points outside the box are always repaired, where the program evaluates those of jSO "
            "with eigenvector crossover as they are",
            "each algorithm has one of the first four generations",
            "offspring as good as their parents are not counted as successes, where the program "
            "counts those of CoBiDE and IDE",
            "the memory of jSO learns nothing when the turn comes to its fixed pair, where the "
            "program passes over that",
            "the stages of IDE end with its planned generations, where the original's formula goes "
            "on",
            "IDE takes a random coordinate of the mutant only where crossover takes none",
            "mutants of CoBiDE are not repaired before eigenvector crossover, only after it",
            "x_r2 of jSO may be x_r1, and x_pbest is not the parent in the first half of the run",
            "a CMA-ES that degenerates starts again, where the original ends the run",
        ),
    )  # fmt: skip


def _lsrtde() -> Recipe:
    memory = SuccessHistory(5, CR=1.0, rate=0.5, CR_mean="Lehmer", CR_scale=0.05, learns="taken")
    pool = (Operator("r-new-to-ptop/n/t", SuccessRate(), memory, "r-new-to-ptop/n/t"),)
    return _recipe(
        "L-SRTDE",
        Settings(
            pool, NP="20D", top_NP="0.7 exp(-7 S)", schedule=Linear(4), survival="newest",
            offspring=0.5, rank_pressure=3.0, boundary="resample",
        ),
        bib.STANOVOV_2024,
        "A population of the newest and one of the best points; F and the share of best points "
        "that attract follow the success rate.",
        credit="success rate",
        scope="generation",
        source="the authors' program",
        deviations=(
            "newcomers take part after NP/2 offspring, where the original lets them at once; S and "
            "the memory follow these, where the original's follow NP",
        ),
    )  # fmt: skip


@cache
def recipes() -> Mapping[str, Recipe]:
    """The recipes by name, in the order of their years."""
    made = (_mos(), _jso(), _ea4eig(), _lsrtde())
    return MappingProxyType({one.configuration.name: one for one in made})


@add_group
def _configurations() -> list[Configuration]:
    return [recipe.configuration for recipe in recipes().values()]
