"""Compare methods in a scenario: all are given the same ranks and rewards.

Their performance is computed from one array, (repetitions, steps): the rank of the operator chosen
at each step, 0 being the best at that moment. Estimates are means over the repetitions, with the
standard error of that mean.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uaos.errors import InvalidParameter
from uaos.experiments.pools import LocalPool, check_pool
from uaos.optimizers.catalogue import expanded
from uaos.scenarios.kinds import Floats, Ranks, Scenario
from uaos.scenarios.recipes import named
from uaos.selection.method import Method

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: References shown beside the methods: uniform choice, and always the best operator.
REFERENCES = ("uniform", "oracle")

# Repetitions drawn and run at a time. Their random numbers depend on it, but not on the process
# that runs them.
_BLOCK = 10


@dataclass(frozen=True)
class ScenarioResult:
    """What the methods chose. Made by :func:`compare`.

    Uniform choice and the oracle, which always takes the best operator, are included.

    Attributes
    ----------
    scenario : Scenario
        What was played.
    ranks : mapping of str to ndarray
        The ranks of the operators that a method chose, (repetitions, steps); 0 is the best.
    methods : tuple of str
        The methods that were asked for.
    """

    scenario: Scenario
    ranks: Mapping[str, Ranks]
    methods: tuple[str, ...]

    def summaries(self) -> "list[Summary]":
        """Share of best choices, regret and reaction time of each, as measured over repetitions."""
        return [summary(name, ranks, self.scenario) for name, ranks in self.ranks.items()]

    def plot(self, path: str | os.PathLike[str] | None = None) -> "Figure":
        """Draw the share of best choices and the regret over time, into a file if one is named."""
        from uaos.scenarios.picture import draw

        return draw(self, path)


def compare(
    methods: Sequence[str] | Mapping[str, Method],
    scenario: Scenario,
    *,
    repetitions: int = 100,
    seed: int = 1,
    jobs: int | None = 1,
    on_progress: Callable[[int], None] | None = None,
) -> ScenarioResult:
    """Run each method in a scenario.

    Parameters
    ----------
    methods : sequence of str, or mapping of str to Method
        Names (AP, PM, MAB, those of the catalogue and its groups literature, tuned, winners and
        all), TOML files, or methods by name.
    scenario : Scenario
    repetitions : int
    seed : int
        The same seed gives the same result on any number of processes.
    jobs : int or None
        Processes; None: one for each processor.
    on_progress : callable, optional
        Called with the number of finished repetitions.

    Returns
    -------
    ScenarioResult
        What each method chose.

    Raises
    ------
    InvalidParameter
        If a name or a number is not what it should be.

    Examples
    --------
    >>> from uaos.scenarios import Uniform, compare
    >>> result = compare(["AP", "PM"], Uniform(operators=3, steps=100), repetitions=2, seed=1)
    >>> result.methods
    ('AP', 'PM')
    """
    for name, value, least in (("repetitions", repetitions, 1), ("seed", seed, 0)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
            raise InvalidParameter(name, value, f"an integer, {least} or more")
    check_pool(None, jobs)
    processes = (os.cpu_count() or 1) if jobs is None else jobs
    chosen = _methods(methods, scenario)
    starts = range(0, int(repetitions), _BLOCK)
    played: list[Ranks] = [np.zeros(0, np.int16)] * len(starts)
    finished = 0
    units = [(tuple(chosen.values()), scenario, int(seed), start) for start in starts]
    for number, ranks in _play_all(units, processes):
        played[number] = ranks
        finished = min(finished + _BLOCK, int(repetitions))
        if on_progress is not None:
            on_progress(finished)
    together = np.concatenate(played, axis=1)[:, :repetitions]
    table = dict(zip(chosen, together, strict=True))
    return ScenarioResult(
        scenario, table | _references(chosen, scenario, seed, repetitions), (*chosen,)
    )


def _methods(
    methods: Sequence[str] | Mapping[str, Method], scenario: Scenario
) -> dict[str, Method]:
    """Return the methods by name, each checked for this number of operators."""
    if not isinstance(scenario, Scenario):
        raise InvalidParameter("scenario", scenario, "a scenario, such as uaos.scenarios.Uniform()")
    if isinstance(methods, Mapping):
        chosen = dict(methods)
    elif isinstance(methods, str):
        raise InvalidParameter("methods", methods, 'a list of names, such as ["AP", "PM"]')
    else:
        chosen = {}
        for name in expanded(methods, selecting=True):
            shown, method = named(name, scenario.operators)
            if shown in chosen:
                raise InvalidParameter("methods", shown, "each method once (two have this name)")
            chosen[shown] = method
    if not chosen:
        raise InvalidParameter("methods", [], "at least one method")
    for name, method in chosen.items():
        if not isinstance(method, Method):
            raise InvalidParameter("methods", method, f"a uaos.Method for {name!r}")
        method.selector(scenario.operators, seed=0, budget=scenario.steps)
    return chosen


_Unit = tuple[tuple[Method, ...], Scenario, int, int]


def _play_all(units: list[_Unit], jobs: int) -> Iterator[tuple[int, Ranks]]:
    """Yield the numbers of the units and their results, as they finish."""
    if jobs == 1 or len(units) == 1:
        yield from ((number, play(*unit)) for number, unit in enumerate(units))
        return
    pool = LocalPool(min(jobs, len(units)))
    running: dict[Future[Any], int] = {}
    waiting = list(enumerate(units))[::-1]
    try:
        while waiting or running:
            while waiting and len(running) < pool.window:
                number, unit = waiting.pop()
                running[pool.submit(play, *unit)] = number
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:
        pool.close(finished=not running)


def play(methods: Sequence[Method], scenario: Scenario, seed: int, start: int) -> Ranks:
    """Run a block of repetitions from number `start` on: (methods, repetitions, steps)."""
    world = scenario.draw(_BLOCK, np.random.default_rng([seed, 0, start]))
    # An application is a generation of one, an improvement by the reward.
    parent, offspring = np.zeros(1), -world.rewards
    chosen = np.empty((len(methods), _BLOCK, scenario.steps), np.int16)
    for m, method in enumerate(methods):
        for repetition in range(_BLOCK):
            rng = np.random.default_rng([seed, 1, start + repetition])
            selector = method.selector(scenario.operators, seed=rng, budget=scenario.steps)
            for step, outcome in enumerate(offspring[repetition]):
                operators = selector.select(1)
                op = int(operators[0])
                chosen[m, repetition, step] = op
                selector.update(operators, parent, outcome[op : op + 1])
    index = chosen[..., None].astype(np.int64)
    ranks: Ranks = np.take_along_axis(world.ranks[None], index, axis=3)[..., 0]
    return ranks


def _references(
    chosen: Mapping[str, Method], scenario: Scenario, seed: int, repetitions: int
) -> dict[str, Ranks]:
    shape = (repetitions, scenario.steps)
    rng = np.random.default_rng([seed, 2])
    # Under uniform choice the rank of the chosen operator is uniform, too.
    anyone = rng.integers(scenario.operators, size=shape, dtype=np.int16)
    made = dict(zip(REFERENCES, (anyone, np.zeros(shape, np.int16)), strict=True))
    return {name: ranks for name, ranks in made.items() if name not in chosen}


# The performance of a method

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
