"""The rules that the scenarios were designed for, as recipes of the framework.

All three estimate the worth of an operator by its mean reward over the last applications, failures
included (`success_sum`), so that they differ only in how they choose. In the papers the estimate is
an exponential average over the applications of the operator; a sliding window is its closest
equivalent in the framework. The smallest and largest probabilities are those of Thierens (2005):
0.1 and 0.6 with five operators.
"""

from collections.abc import Callable
from pathlib import Path

from uaos.errors import InvalidParameter, UnknownName, shortened
from uaos.optimizers.catalogue import configuration, methods
from uaos.selection.method import Method


def pursuit(n_operators: int) -> Method:
    """Return adaptive pursuit: the operator with the largest mean is pushed toward p_max.

    Reference: Thierens, D. (2005), "An adaptive pursuit strategy for allocating operator
    probabilities", GECCO.
    """
    p_min = 0.5 / n_operators
    p_max = 1.0 - (n_operators - 1) * p_min
    rule = {"name": "adaptive_pursuit", "p_min": p_min, "p_max": p_max, "mu": 0.8}
    return Method(reward=_mean(2 * n_operators), quality="identity", probability=rule,
                  scale_rewards=False)  # fmt: skip


def matching(n_operators: int) -> Method:
    """Return probability matching: probabilities in proportion to the means.

    Reference: Goldberg, D. E. (1990), "Probability matching, the magnitude of reinforcement, and
    classifier system bidding", Machine Learning 5.
    """
    rule = {"name": "probability_matching", "p_min": 0.5 / n_operators}
    return Method(reward=_mean(2 * n_operators), quality="identity", probability=rule,
                  scale_rewards=False)  # fmt: skip


def bandit(n_operators: int) -> Method:
    """Return a bandit with a sliding window: largest mean plus a bonus for rare operators.

    Reference: Fialho, Á., Da Costa, L., Schoenauer, M. & Sebag, M. (2010), "Analyzing bandit-based
    adaptive operator selection mechanisms", Annals of Mathematics and Artificial Intelligence 60.
    """
    return Method(
        reward=_mean(10 * n_operators),
        quality={"name": "upper_confidence_bound", "C": 1.0},
        probability={"name": "probability_matching", "p_min": 0.0},
        selection="greedy",
    )


def _mean(applications: int) -> dict[str, object]:
    """Return the reward that is the mean of an operator's metric over the last applications."""
    return {"name": "success_sum", "max_gen": applications}


#: The recipes by name, each for a number of operators.
RECIPES: dict[str, Callable[[int], Method]] = {"AP": pursuit, "PM": matching, "MAB": bandit}


def find_method(name: str, n_operators: int) -> tuple[str, Method]:
    """Return a method by its name, for a number of operators.

    Parameters
    ----------
    name : str
        A recipe ("AP", "PM", "MAB"), a name of the catalogue, or a TOML file.
    n_operators : int
        The number of operators to select from.

    Returns
    -------
    name : str
        Its name in tables.
    method : Method

    Raises
    ------
    UnknownName
        If there is no such method.
    InvalidParameter
        If it does not select among operators.

    Examples
    --------
    >>> from uaos.scenarios import find_method
    >>> name, method = find_method("AP", 5)
    >>> method.probability
    adaptive_pursuit(p_min=0.1, p_max=0.6, mu=0.8)
    """
    if not isinstance(name, str):
        message = (
            f"methods contains {shortened(name)}; expected names, or a mapping of names to methods"
        )
        raise InvalidParameter(message, name="methods", value=name)
    if name in RECIPES:
        return name, RECIPES[name](n_operators)
    selecting = [n for n, entry in methods().items() if entry.method is not None]
    if not name.endswith(".toml") and name not in methods():
        hint = "(besides AP, PM and MAB, `uaos methods` lists them; or pass a .toml file)"
        raise UnknownName("method", name, [*RECIPES, *selecting], hint=hint)
    config = configuration(name)
    if config.method is None:
        message = (
            f"{name} has a single operator, so it does not select; choose a method that selects "
            "among operators"
        )
        raise InvalidParameter(message, name="method", value=name)
    # A file need not contain a name.
    return Path(name).stem if config.name == "unnamed" else config.name, config.method
