"""The 27 methods of the literature that the framework's paper lists, with their publications."""

from functools import cache
from typing import NamedTuple

from uaos.params import parameters
from uaos.selection import bibliography as bib
from uaos.selection.components import FAMILIES
from uaos.selection.method import Method

_PM, _AP = "probability_matching", "adaptive_pursuit"
_UCB, _WS, _WNS = "upper_confidence_bound", "weighted_sum", "weighted_normalised_sum"
_BETTER = "parent_improvement"
_DRAW, _GREEDY = "proportional", "greedy"
_SR, _AUC, _RANKS = "success_rate", "area_under_curve", "sum_of_ranks"
_BESTS = "normalised_best_sum"
_RATE: dict[str, float | str] = {"power": 1, "frac": 0.0, "noise": 0.0}

# Name, the five components, the hyper-parameters that the framework's paper fixes, those that it
# leaves open and another source states, and the method's publication. That source is in _SOURCES;
# by default it is the code that the framework's authors published later, which records the values
# of these papers. What is still open takes the package's default, and the note says so.
# Rewards are not scaled, as in these papers.
# The framework's paper calls the `error` of Dyn-GEP and Compass their d0, which keeps operators
# alive, and gives no number: their p_min is 0, so that without it operators die out.
_Values = dict[str, float | str]
_Row = tuple[str, str, str, str, str, str, _Values, _Values, str]
_ROWS: tuple[_Row, ...] = (
    # ⚑ Its weights c1 and c2 sum to 1: c1 at its default of 1 leaves c2 = 0.
    # ⚑ elitist: the original rewards the change of the best fitness in an elitist algorithm, which
    # is never negative; the framework's equation alone may reward failure (best_2_generations).
    ("Hybrid", "offspring_fitness", "best_2_generations", "bellman", _PM, _DRAW,
     {"alpha": 0, "beta": 0, "elitist": True, "reward_C": 1.0, "c1": 1.0, "c2": 0.0, "gamma": 0.0,
      "softmax": False, "p_min": 0.0, "error": 0.0}, {}, bib.LOBO_1997),
    ("Op-adapt", "best_parent_improvement", "generation_success_sum", _WNS, "identity", _DRAW,
     {}, {"max_gen": 10, "delta": 0.5, "q_min": 0.1}, bib.IGEL_1999),
    # Its minimum probability is a percentage shared by the operators.
    ("PDP", _BETTER, _SR, "identity", _PM, _DRAW,
     {"power": 2, "max_gen": 1, "frac": 0.0, "noise": 0.0, "error": 0.0, "p_min": "0.2/K"},
     {}, bib.NIEHAUS_2001),
    ("ADOPP", "median_improvement", _SR, "identity", _PM, _DRAW,
     {**_RATE, "max_gen": 1, "p_min": 0.0, "error": 0.0}, {}, bib.JULSTROM_1995),
    ("ADOPP-ext", "median_improvement", _SR, "identity", _PM, _DRAW,
     {"noise": 0.0, "power": 1, "max_gen": 1, "p_min": 0.0, "error": 0.0},
     {"frac": 0.01}, bib.JULSTROM_1997),
    ("Adapt-NN", _BETTER, "success_sum", _WNS, _PM, _DRAW,
     {"q_min": 0.0, "error": 0.0},
     {"max_gen": 4, "delta": 0.3, "p_min": "0.1/K"}, bib.IGEL_2003),
    ("Dyn-GEPv1", _BETTER, "success_sum", "bellman", _PM, _DRAW,
     {"max_gen": 1, "c1": 1.0, "gamma": 0.0, "softmax": False, "p_min": 0.0},
     {"c2": 0.9, "error": 0.001}, bib.VAFAEE_2008),
    ("Dyn-GEPv2", _BETTER, _BESTS, "bellman", _PM, _DRAW,
     {"rho": 3, "alpha": 0, "max_gen": 1, "c1": 1.0, "gamma": 0.0, "softmax": False,
      "p_min": 0.0},
     {"c2": 0.9, "error": 0.001}, bib.VAFAEE_2008),
    ("SaDE", _BETTER, _SR, "identity", _PM, _DRAW,
     {"power": 1, "frac": 0.0, "p_min": 0.0, "error": 0.0}, {"max_gen": 50, "noise": 0.01},
     bib.QIN_2009),
    ("MMRDE", _BETTER, _SR, "identity", _PM, _DRAW,
     {**_RATE, "max_gen": 1, "error": 0.0}, {}, bib.QIAN_2018),
    ("Compass", _BETTER, "compass_projection", "identity", _PM, _DRAW,
     {"p_min": 0.0}, {"fix_appl": 100, "theta": 45, "error": "0.5/K"}, bib.MATURANA_2008),
    ("PD-PM", _BETTER, "pareto_dominance", _WS, _PM, _DRAW, {"error": 0.0}, {}, bib.MATURANA_2010),
    ("PR-PM", _BETTER, "pareto_rank", _WS, _PM, _DRAW, {"error": 0.0}, {}, bib.MATURANA_2010),
    ("Proj-PM", _BETTER, "compass_projection", _WS, _PM, _DRAW,
     {"error": 0.0}, {}, bib.MATURANA_2010),
    ("F-AUC-MAB", _BETTER, _AUC, _UCB, _PM, _GREEDY,
     {"error": 0.0, "p_min": 0.0}, {}, bib.FIALHO_2010),
    ("F-SR-MAB", _BETTER, _RANKS, _UCB, _PM, _GREEDY,
     {"error": 0.0, "p_min": 0.0}, {}, bib.FIALHO_2010),
    ("F-AUC-AP", _BETTER, _AUC, _WS, _AP, _DRAW, {}, {}, bib.FIALHO_2010),
    ("F-SR-AP", _BETTER, _RANKS, _WS, _AP, _DRAW, {}, {}, bib.FIALHO_2010),
    ("F-AUC-PM", _BETTER, _AUC, _WS, _PM, _DRAW, {}, {}, bib.FIALHO_2010),
    ("F-SR-PM", _BETTER, _RANKS, _WS, _PM, _DRAW, {}, {}, bib.FIALHO_2010),
    ("RecPM", _BETTER, "immediate_success", "bellman", _PM, _DRAW,
     {"c1": 1.0, "c2": 0.5, "gamma": 0.46, "error": 0.0, "p_min": 0.11}, {}, bib.SHARMA_2018),
    ("MAENSm", "offspring_fitness", _SR, _UCB, _PM, _DRAW, {**_RATE, "max_gen": 1},
     {}, bib.CONSOLI_2014),
    ("PM-AdapSS-AA", "relative_improvement", "window_success_sum", _WS, _PM, _DRAW,
     {"normalise": 0, "error": 0.0}, {}, bib.GONG_2010),
    ("PM-AdapSS-N", "relative_improvement", "window_success_sum", _WS, _PM, _DRAW,
     {"normalise": 1, "error": 0.0}, {}, bib.GONG_2010),
    ("Ex-PM", _BETTER, _BESTS, _WS, _PM, _DRAW, {"rho": 1, "alpha": 0},
     {"delta": 0.1}, bib.FIALHO_2008),
    ("Ex-AP", _BETTER, _BESTS, _WS, _AP, _DRAW, {"rho": 1, "alpha": 0},
     {"delta": 0.1, "mu": 0.1}, bib.FIALHO_2008),
    ("Ex-MAB", _BETTER, _BESTS, _UCB, _PM, _GREEDY,
     {"rho": 1, "alpha": 0, "error": 0.0, "p_min": 0.0}, {"C": 0.5}, bib.FIALHO_2008),
)  # fmt: skip

#: The names of the methods.
LITERATURE = tuple(row[0] for row in _ROWS)

# The code that the authors of SaDE published has a learning period of 50 generations and ε = 0.01.
_SOURCES = {"SaDE": bib.QIN_2009}

# What the framework's form of a method leaves out of its publication, and other remarks.
_D0 = (
    "error is the constant d0, without which operators die out. The framework adds it to qualities "
    "that sum to 1; the later code adds 0.001/K to the rewards, whose scale is that of the metric."
)
_EXTREME = "The original takes the best of an operator's last 50 applications, not of generations."
_NO_MINIMUM = f"{_EXTREME} The later code has p_min = 0, with which operators die out."
_NOTES = {
    "RecPM": "With nine operators p_min = 0.11 leaves 1 % of the probability to adapt.",
    "Hybrid": "Its weights sum to 1; c1 = 1 and c2 = 0 are this package's reading, where the later "
    "code has a moving average with a rate of 0.1. The original rewards the change of the best "
    "fitness per evaluation in an elitist algorithm; so the best is that of all generations here, "
    "and an operator without success gets 0, never more than one with a success. As p_min = 0, "
    "operators that do not improve their best get no offspring until none does.",
    "PDP": "The original counts successes from the start of the run, not of one generation.",
    "ADOPP": "The original also credits the operators that made the ancestors of an offspring.",
    "ADOPP-ext": "The original also credits the operators that made the ancestors of an offspring.",
    "Op-adapt": "The original adapts once in max_gen generations, not after each.",
    "Adapt-NN": "The original adapts once in max_gen generations, not after each.",
    "SaDE": "The original divides the successes of 50 generations by their applications; the "
    "framework adds up the quotients of the generations.",
    "Compass": "The original measures the diversity of the population where the framework takes "
    "the deviation of the metric, and divides by an operator's running time. It adds a constant to "
    "every value such that the minimum probability is 1/(3 K): error = 1/(2 K) with p_min = 0.",
    "Dyn-GEPv1": _D0, "Dyn-GEPv2": _D0,
    "Ex-PM": _NO_MINIMUM, "Ex-AP": _NO_MINIMUM, "Ex-MAB": _EXTREME,
}  # fmt: skip


class PublishedMethod(NamedTuple):
    """A method of the literature."""

    name: str
    method: Method
    reference: str
    note: str
    """The source of its hyper-parameters, and remarks."""


@cache
def literature() -> tuple[PublishedMethod, ...]:
    """Return the 27 methods, in the order of the framework's paper."""
    published = []
    for name, metric, reward, quality, probability, selection, fixed, added, source in _ROWS:
        bare = Method(metric, reward, quality, probability, selection, scale_rewards=False)
        method = bare.replace(**fixed, **added)
        note = _note(name, method, fixed, added)
        published.append(PublishedMethod(name, method, source, note))
    return tuple(published)


def _note(name: str, method: Method, fixed: _Values, added: _Values) -> str:
    sentences = [_NOTES[name]] if name in _NOTES else []
    if added:
        values = ", ".join(f"{key} = {value}" for key, value in added.items())
        source = bib.short(_SOURCES.get(name, bib.AUTHORS_CODE))
        sentences.append(f"From {source}: {values}.")
    defaults = []
    for family in FAMILIES:
        component = getattr(method, family)
        for key, parameter in parameters(component).items():
            is_set = {key, f"{family}_{key}"} & (fixed.keys() | added.keys())
            if parameter.tuned and not is_set:
                defaults.append(f"{key} = {getattr(component, key)}")
    if defaults:
        sentences.append(f"Left open, so defaults of this package: {', '.join(defaults)}.")
    return " ".join(sentences)
