"""Winners as configurations, with their credit and their deviations from the originals."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from uaos.optimizers.catalogue import add_group
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.winners.ea4eig import EA4eig
from uaos.optimizers.winners.jso import JSO
from uaos.optimizers.winners.lsrtde import LSRTDE
from uaos.optimizers.winners.mos import TournamentDE
from uaos.selection import bibliography as bib
from uaos.selection.method import Method


@dataclass(frozen=True)
class Recipe:
    """Configuration of a method of the literature, with its source and deviations.

    Parameters
    ----------
    configuration : Configuration
        The configuration.
    selects, credit, scope : str
        The alternatives, the credit, and the number of offspring that a choice is for.
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


def _winner(name: str, note: str, reference: str, method: Method | None = None) -> Configuration:
    """Return the configuration of an optimizer of that name."""
    return Configuration(name, method, None, reference, note, "winner", optimizer=name)


def _recipe(
    configuration: Configuration,
    *,
    selects: str = "F and CR",
    credit: str = "improvement",
    scope: str = "offspring",
    source: str,
    deviations: tuple[str, ...],
) -> Recipe:
    """Return a recipe; the note of its configuration is extended by source and deviations."""
    note = f"{configuration.note} Constants: {source}. Deviations: {'; '.join(deviations)}."
    configuration = dataclasses.replace(configuration, note=note)
    return Recipe(configuration, selects, credit, scope, source, deviations)


def _jso() -> Recipe:
    note = "L-SHADE with a weighted strategy and limits of F and CR that change over the run."
    return _recipe(
        _winner(JSO.name, note, bib.BREST_2017),
        source="the authors' program, bounds (halfway to the parent) included",
        deviations=(
            "x_arch may be x_r1",
            "a learnt mean of CR below 0 is that of a normal distribution cut at 0, where the "
            "program sets CR to 0",
        ),
    )


def _mos() -> Recipe:
    members = (
        Configuration("DE", optimizer=TournamentDE.name),
        Configuration("IPOP-CMA-ES", optimizer="CMA-ES",
                      settings={"restarts": "IPOP", "popsize": 15}),
    )  # fmt: skip
    method = Method(
        "parent_improvement", {"name": "consensus", "max_gen": 1}, "identity",
        {"name": "share_transfer", "p_min": 0.05, "xi": 0.05}, "shares", scale_rewards=False,
        scope="step",
    )  # fmt: skip
    configuration = Configuration(
        "MOS", method,
        {"members": [{"configuration": m.to_dict()} for m in members], "step": 118.0},
        bib.LATORRE_2010,
        "Differential evolution and CMA-ES share the evaluations of each step by their quality.",
        "winner", optimizer="portfolio",
    )  # fmt: skip
    return _recipe(
        configuration,
        selects="DE or IPOP-CMA-ES",
        credit="mean improvement where the number of improvements agrees, otherwise that number",
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
    note = "Four algorithms that take turns on one population, most often those that succeed."
    return _recipe(
        _winner(EA4eig.name, note, bib.BUJOK_2022, EA4eig.default_method),
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
            "a CMA-ES that degenerates starts again, where the original ends the run",
        ),
    )  # fmt: skip


def _lsrtde() -> Recipe:
    note = (
        "A population of the newest and one of the best points; F and the share of best points "
        "that attract follow the success rate."
    )
    return _recipe(
        _winner(LSRTDE.name, note, bib.STANOVOV_2024),
        credit="success rate",
        scope="generation",
        source="the authors' program",
        deviations=(
            "newcomers take part after NP/2 offspring, where the original lets them at once; S and "
            "the memory follow these, where the original's follow NP",
            "x_rank and x_stored may be x_elite or the parent, where the program compares their "
            "numbers in two different populations",
            "the population size is rounded, where the program cuts decimals",
            "F is cut to [0, 1], where the program draws it anew; both are 17 standard deviations "
            "away",
            "a generation whose successes are all as good as their parents leaves the memory of CR "
            "as it is, where the program moves a pair halfway to 1",
        ),
    )  # fmt: skip


@cache
def recipes_by_name() -> Mapping[str, Recipe]:
    """Return the recipes by name, in the order of their years."""
    by_year = (_mos(), _jso(), _ea4eig(), _lsrtde())
    return MappingProxyType({recipe.configuration.name: recipe for recipe in by_year})


@add_group("MOS", JSO.name, EA4eig.name, LSRTDE.name)
def _configurations() -> list[Configuration]:
    return [recipe.configuration for recipe in recipes_by_name().values()]
