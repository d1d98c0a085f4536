"""Compare methods in a scenario, all with the same ranks and rewards.

Their performance is computed from one array (repetitions, steps): the rank of the operator chosen
at each step, 0 for the best operator at that moment. Estimates are means over the repetitions with
their standard errors.
"""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidParameter
from uaos.experiments.executors import LocalPool, check_pool
from uaos.optimizers.catalogue import expanded
from uaos.scenarios.kinds import Ranks, Scenario
from uaos.scenarios.recipes import find_method
from uaos.selection.method import Method

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Baselines shown beside the methods: uniform choice, and always the best operator.
BASELINES = ("uniform", "oracle")

# The number of repetitions in a block. The random numbers depend on it, but not on the process
# that runs the block.
_BLOCK = 10


@dataclass(frozen=True)
class ScenarioResult:
    """Choices of the methods. Made by :func:`compare_methods`.

    Uniform choice, and the oracle that always takes the best operator, are included.

    Attributes
    ----------
    scenario : Scenario
        The scenario of the comparison.
    ranks : mapping of str to ndarray
        The ranks of the operators that each method chose, (repetitions, steps); 0 is the best.
    methods : tuple of str
        The names of the compared methods, without uniform choice and the oracle.
    """

    scenario: Scenario
    ranks: Mapping[str, Ranks]
    methods: tuple[str, ...]

    def summaries(self) -> "list[Summary]":
        """Return the share of best choices, regret and reaction time of each method."""
        return [summarize(name, ranks, self.scenario) for name, ranks in self.ranks.items()]

    def plot(self, path: str | os.PathLike[str] | None = None) -> "Figure":
        """Draw the share of best choices and the regret over time, and save it if `path` is set."""
        from uaos.scenarios.picture import draw

        return draw(self, path)


def compare_methods(
    methods: Sequence[str] | Mapping[str, Method],
    scenario: Scenario,
    *,
    repetitions: int = 100,
    seed: int = 1,
    jobs: int | None = 1,
    on_progress: Callable[[int], None] | None = None,
) -> ScenarioResult:
    """Run methods in a scenario, and record which operators they choose.

    Parameters
    ----------
    methods : sequence of str, or mapping of str to Method
        Names (AP, PM, MAB, those of the catalogue and its groups literature, tuned, winners and
        all), TOML files, or methods by name.
    scenario : Scenario
        The simulated operators.
    repetitions : int
        The number of repetitions of each method.
    seed : int
        The same seed gives the same result on any number of processes.
    jobs : int or None
        The number of processes; None: one per processor.
    on_progress : callable, optional
        Called with the number of finished repetitions.

    Returns
    -------
    ScenarioResult
        The choices of each method.

    Raises
    ------
    InvalidParameter
        If an argument is invalid.

    Examples
    --------
    >>> from uaos.scenarios import UniformScenario, compare_methods
    >>> scenario = UniformScenario(operators=3, steps=100)
    >>> result = compare_methods(["AP", "PM"], scenario, repetitions=2, seed=1)
    >>> result.methods
    ('AP', 'PM')
    """
    for name, value, least in (("repetitions", repetitions, 1), ("seed", seed, 0)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
            message = f"{name} is {value!r}; expected an integer of at least {least}"
            raise InvalidParameter(message, name=name, value=value)
    check_pool(None, jobs)
    processes = (os.cpu_count() or 1) if jobs is None else jobs
    by_name = _methods_by_name(methods, scenario)
    blocks = [
        (tuple(by_name.values()), scenario, int(seed), start)
        for start in range(0, int(repetitions), _BLOCK)
    ]
    ranks: list[Ranks] = [np.zeros(0, np.int16)] * len(blocks)
    finished = 0
    for number, block_ranks in _run_blocks(blocks, processes):
        ranks[number] = block_ranks
        finished = min(finished + _BLOCK, int(repetitions))
        if on_progress is not None:
            on_progress(finished)
    all_ranks = np.concatenate(ranks, axis=1)[:, :repetitions]
    ranks_by_name = dict(zip(by_name, all_ranks, strict=True))
    # A method called "uniform" or "oracle" takes the place of the baseline.
    baselines = _baselines(scenario, seed, repetitions)
    baselines = {name: rows for name, rows in baselines.items() if name not in by_name}
    return ScenarioResult(scenario, ranks_by_name | baselines, tuple(by_name))


def _methods_by_name(
    methods: Sequence[str] | Mapping[str, Method], scenario: Scenario
) -> dict[str, Method]:
    """Return the methods by name, each checked for this number of operators."""
    if not isinstance(scenario, Scenario):
        message = (
            f"scenario is {scenario!r}; expected a Scenario, such as "
            "uaos.scenarios.UniformScenario()"
        )
        raise InvalidParameter(message, name="scenario", value=scenario)
    by_name = dict(methods) if isinstance(methods, Mapping) else _find_methods(methods, scenario)
    if not by_name:
        raise InvalidParameter(
            "methods is empty; pass at least one method", name="methods", value=[]
        )
    for name, method in by_name.items():
        if not isinstance(method, Method):
            message = f"method {name!r} must be a uaos.Method, not {method!r}"
            raise InvalidParameter(message, name="methods", value=method)
        # Building a selector checks the settings of the method.
        method.selector(scenario.operators, seed=0, budget=scenario.steps)
    return by_name


def _find_methods(names: Sequence[str], scenario: Scenario) -> dict[str, Method]:
    """Return the methods that names, groups and files stand for."""
    if isinstance(names, str):
        message = f'methods must be a list of names, such as ["AP", "PM"], not {names!r}'
        raise InvalidParameter(message, name="methods", value=names)
    by_name: dict[str, Method] = {}
    for name in expanded(names, selecting=True):
        title, method = find_method(name, scenario.operators)
        if title in by_name:
            message = f"two methods are called {title!r}; pass each method once"
            raise InvalidParameter(message, name="methods", value=title)
        by_name[title] = method
    return by_name


_Block: TypeAlias = tuple[tuple[Method, ...], Scenario, int, int]


def _run_blocks(blocks: list[_Block], jobs: int) -> Iterator[tuple[int, Ranks]]:
    """Yield the number and the result of each block as it finishes."""
    if jobs == 1 or len(blocks) == 1:
        yield from ((number, run_block(*block)) for number, block in enumerate(blocks))
        return
    pool = LocalPool(min(jobs, len(blocks)))
    running: dict[Future[Ranks], int] = {}
    waiting = deque(enumerate(blocks))
    try:
        while waiting or running:
            while waiting and len(running) < pool.window:
                number, block = waiting.popleft()
                running[pool.submit(run_block, *block)] = number
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:
        pool.close(finished=not running)


def run_block(methods: Sequence[Method], scenario: Scenario, seed: int, start: int) -> Ranks:
    """Run a block of repetitions from number `start` on.

    Returns the ranks of the chosen operators, (methods, repetitions, steps).
    """
    world = scenario.draw(_BLOCK, np.random.default_rng([seed, 0, start]))
    # An application is a generation of one, an improvement by the reward.
    parent, offspring = np.zeros(1), -world.rewards
    chosen = np.empty((len(methods), _BLOCK, scenario.steps), np.int64)
    for m, method in enumerate(methods):
        for repetition in range(_BLOCK):
            rng = np.random.default_rng([seed, 1, start + repetition])
            selector = method.selector(scenario.operators, seed=rng, budget=scenario.steps)
            for step, outcome in enumerate(offspring[repetition]):
                operators = selector.select(1)
                operator = int(operators[0])
                chosen[m, repetition, step] = operator
                selector.update(operators, parent, outcome[operator : operator + 1])
    return np.take_along_axis(world.ranks[None], chosen[..., None], axis=3)[..., 0]


def _baselines(scenario: Scenario, seed: int, repetitions: int) -> dict[str, Ranks]:
    """Return the ranks under uniform choice and under always choosing the best operator."""
    shape = (repetitions, scenario.steps)
    rng = np.random.default_rng([seed, 2])
    # Under uniform choice the rank of the chosen operator is uniform, too.
    uniform = rng.integers(scenario.operators, size=shape, dtype=np.int16)
    return dict(zip(BASELINES, (uniform, np.zeros(shape, np.int16)), strict=True))


# The performance of a method

#: A change is answered when more than half of this many consecutive applications go to the new best
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
        """Return the mean and its error, rounded to the first digit of the error."""
        if math.isnan(self.mean):
            return "–"
        if math.isnan(self.error) or self.error == 0:
            return f"{self.mean:.3g}"
        digits = max(0, -math.floor(math.log10(self.error)))
        return f"{self.mean:.{digits}f} ± {self.error:.{digits}f}"


class Summary(NamedTuple):
    """Performance of a method. Made by :meth:`ScenarioResult.summaries`.

    Attributes
    ----------
    name : str
        The method.
    """

    name: str
    share: Estimate
    """The share of applications that went to the best operator at the time."""
    regret: Estimate
    """Mean reward of the best operator minus that of the chosen one, per application."""
    reaction: Estimate
    """Applications from a change until it is answered (:func:`reaction_times`)."""
    missed: float
    """The share of changes that were not answered before the next one."""


def estimate(values: FloatArray) -> Estimate:
    """Return the mean of values, one per repetition, with its standard error."""
    if values.size == 0:
        return Estimate(np.nan, np.nan)
    spread = values.std(ddof=1) if len(values) > 1 else np.nan
    return Estimate(float(values.mean()), float(spread / np.sqrt(len(values))))


def regrets(ranks: Ranks, means: FloatArray) -> FloatArray:
    """Return how far the mean of each chosen operator is below the best: (repetitions, steps)."""
    losses: FloatArray = means[0] - means[ranks]
    return losses


def reaction_times(ranks: Ranks, every: int, window: int = WINDOW) -> FloatArray:
    """Count the applications from each change until it was answered, (repetitions, changes).

    A change is answered at the first application that starts a window of `window` applications of
    which more than half went to the new best operator; 0 is the best possible. A change that is not
    answered before the next one counts as `every` applications, a lower bound. Changes with fewer
    than `every` steps after them are left out.
    """
    changes = max(0, ranks.shape[1] // every - 1)
    hits = ranks[:, every : (changes + 1) * every] == 0
    hits = hits.reshape(len(ranks), changes, every)
    counts = np.lib.stride_tricks.sliding_window_view(hits, window, axis=2).sum(axis=3)
    answered = counts > window / 2
    times: IntArray = np.where(answered.any(axis=2), answered.argmax(axis=2), every)
    return times.astype(np.float64)


def summarize(name: str, ranks: Ranks, scenario: Scenario) -> Summary:
    """Compute the performance of a method from its ranks."""
    times = reaction_times(ranks, scenario.every, min(WINDOW, scenario.every))
    reaction = times.mean(axis=1) if times.size else np.zeros(0)
    return Summary(
        name,
        share=estimate((ranks == 0).mean(axis=1)),
        regret=estimate(regrets(ranks, scenario.means).mean(axis=1)),
        reaction=estimate(reaction),
        missed=float((times == scenario.every).mean()) if times.size else np.nan,
    )
