"""The performance of a method in a scenario, from the ranks of the operators it chose.

Everything is computed from one array, (repetitions, steps): the rank of the operator chosen at each
step, 0 being the best at that moment. Estimates are means over the repetitions, with the standard
error of that mean.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from uaos.scenarios.kinds import Floats, Ranks, Scenario

#: A change is answered when, of so many applications in a row, more than half went to the new best
#: operator.
WINDOW = 10


class Estimate(NamedTuple):
    """A mean over repetitions. Made by :meth:`ScenarioResult.summaries`.

    Attributes
    ----------
    mean, error : float
        The mean and its standard error, NaN if there is only one repetition.
    """

    mean: float
    error: float

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "–"
        if math.isnan(self.error) or self.error == 0:
            return f"{self.mean:.3g}"
        # As many decimals as the error has, to one digit.
        digits = max(0, -math.floor(math.log10(self.error)))
        return f"{self.mean:.{digits}f} ± {self.error:.{digits}f}"


class Summary(NamedTuple):
    """A method's row of the table. Made by :meth:`ScenarioResult.summaries`.

    Attributes
    ----------
    name : str
    """

    name: str
    share: Estimate
    """Of the applications, how many went to the operator that was then the best."""
    regret: Estimate
    """Mean reward of the best operator less that of the chosen one, per application."""
    reaction: Estimate
    """Applications from a change until it is answered (:func:`reaction_times`)."""
    missed: float
    """The share of changes that were not answered before the next one."""


def estimate(values: Floats) -> Estimate:
    """Return the mean of one value per repetition, and its standard error."""
    if values.size == 0:
        return Estimate(np.nan, np.nan)
    spread = values.std(ddof=1) if len(values) > 1 else np.nan
    return Estimate(float(values.mean()), float(spread / np.sqrt(len(values))))


def regrets(ranks: Ranks, means: Floats) -> Floats:
    """Return the mean loss of each choice against the best operator: (repetitions, steps)."""
    lost: Floats = means[0] - means[ranks]
    return lost


def reaction_times(ranks: Ranks, every: int, window: int = WINDOW) -> Floats:
    """Count the applications after each change until it was answered.

    A change is answered at the first application from which on, over `window` applications, the new
    best operator was chosen more than half of the time; 0 is the best possible. A change that is
    not answered before the next one counts as `every` applications, a lower bound. Returns
    (repetitions, changes); changes with fewer than `every` steps after them are left out.
    """
    changes = max(0, ranks.shape[1] // every - 1)
    hits = ranks[:, every : (changes + 1) * every] == 0
    hits = hits.reshape(len(ranks), changes, every)
    counts = np.lib.stride_tricks.sliding_window_view(hits, window, axis=2).sum(axis=3)
    answered = counts > window / 2
    times: NDArray[np.int64] = np.where(answered.any(axis=2), answered.argmax(axis=2), every)
    return times.astype(np.float64)


def summary(name: str, ranks: Ranks, scenario: Scenario) -> Summary:
    """Return the measures of one method."""
    times = reaction_times(ranks, scenario.every, min(WINDOW, scenario.every))
    reaction = times.mean(axis=1) if times.size else np.zeros(0)
    return Summary(
        name,
        estimate((ranks == 0).mean(axis=1)),
        estimate(regrets(ranks, scenario.means).mean(axis=1)),
        estimate(reaction),
        float((times == scenario.every).mean()) if times.size else np.nan,
    )
