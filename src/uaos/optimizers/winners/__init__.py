"""Adaptive methods that won competitions.

Each is a subclass of :class:`uaos.DifferentialEvolution` that replaces single steps of a
generation, in a module of its own; `recipes` has them as configurations, with their sources and
deviations.
"""

from uaos.optimizers.winners.recipes import Recipe as Recipe
from uaos.optimizers.winners.recipes import recipes_by_name as recipes_by_name
