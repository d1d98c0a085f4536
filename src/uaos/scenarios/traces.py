"""Recorded runs to replay selectors on: the outcome of every operator is known.

A trace holds a run of differential evolution that chose its operators uniformly. At every fifth
generation each operator made an offspring of each of 20 parents. In a replay, a selector chooses
one of these offspring for each parent and learns from it; the next generation is that of the
recorded run, whatever was chosen. So all selectors are judged on the same outcomes, without
evaluating the function, and the best possible choice is known.

The gain of an offspring is the number of orders of magnitude by which its error is below that of
its parent: 0 if it is not better, and at most 3. The merit of an operator is the mean gain of its
offspring in a generation, whether they were chosen or not. The score of a selector is the mean
merit of the operators that it chose, on a scale from uniform choice (0) to the oracle (1), which
knows the best operator of each generation.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple
from zlib import crc32

import numpy as np

from uaos.arrays import FloatArray
from uaos.checks import integer_seed
from uaos.errors import InvalidParameter, shortened
from uaos.scenarios.own import OwnSelector
from uaos.selection.method import Method

#: Version of the recorded runs; scores of different versions cannot be compared.
VERSION = 1

#: The recorded algorithms: the paper's nine strategies with fixed F and CR, and the seven operators
#: of `mix` with self-adapting F and CR.
HOSTS = ("nine", "mix")

#: Largest gain of an offspring, in orders of magnitude.
LARGEST_GAIN = 3.0

# The phases of a run that the best fixed schedule chooses an operator for.
_PHASES = 4


@dataclass(frozen=True, eq=False)
class OutcomeTrace:
    """Outcomes of all operators in a recorded run.

    Attributes
    ----------
    name : str
        Function and instance of BBOB in 10-D, such as "f15-i1".
    parents : ndarray, shape (T, N)
        The errors of N parents in T generations.
    offspring : ndarray, shape (T, N, K)
        The errors of the offspring that each of K operators made of them.
    """

    name: str
    parents: FloatArray
    offspring: FloatArray

    @cached_property
    def gains(self) -> FloatArray:
        """Gain of each offspring, (T, N, K)."""
        ratio = np.log10(self.parents[:, :, None] / self.offspring)
        return np.clip(ratio, 0.0, LARGEST_GAIN)

    @cached_property
    def merits(self) -> FloatArray:
        """Mean gain of each operator in each generation, (T, K)."""
        merits: FloatArray = self.gains.mean(axis=1)
        return merits

    @cached_property
    def baselines(self) -> "Baselines":
        """Mean merits of choices that need no learning."""
        merits = self.merits
        phases = [part.mean(axis=0).max() * len(part) for part in np.array_split(merits, _PHASES)]
        return Baselines(
            uniform=float(merits.mean()),
            best_single=float(merits.mean(axis=0).max()),
            best_schedule=float(sum(phases) / len(merits)),
            oracle=float(merits.max(axis=1).mean()),
        )

    def replay(self, method: Method | OwnSelector, seed: int = 1) -> float:
        """Return the mean merit of the operators that a method chooses.

        Parameters
        ----------
        method : Method or OwnSelector
            The method, or a class of yours.
        seed : int
            The seed of its choices.

        Examples
        --------
        >>> import uaos
        >>> from uaos.scenarios.traces import load
        >>> trace = load("nine")[0]
        >>> trace.replay(uaos.method("PM-AdapSS-N")) > 0
        True
        """
        T, N, K = self.offspring.shape
        rng = np.random.default_rng([integer_seed(seed), crc32(self.name.encode())])
        selector = method.selector(K, seed=rng, budget=T * N)
        rows = np.arange(N)
        merits, total = self.merits, 0.0
        for t in range(T):
            operators = selector.select(N)
            selector.learn(operators, self.parents[t], self.offspring[t, rows, operators])
            total += float(merits[t, operators].mean())
        return float(total / T)


class Baselines(NamedTuple):
    """Mean merits of choices that need no learning."""

    uniform: float
    best_single: float
    best_schedule: float  # the best operator in each quarter of the run
    oracle: float  # the best operator of each generation

    def score(self, merit: float) -> float:
        """Return a mean merit on the scale from uniform choice (0) to the oracle (1)."""
        return (merit - self.uniform) / max(self.oracle - self.uniform, 1e-12)


def score(
    method: Method | OwnSelector, traces: Sequence[OutcomeTrace], seed: int = 1
) -> FloatArray:
    """Return the score of a method on each trace: 0 is uniform choice, 1 the oracle."""
    return np.array([trace.baselines.score(trace.replay(method, seed)) for trace in traces])


@cache
def load(host: str, instances: Sequence[int] = (1, 2)) -> tuple[OutcomeTrace, ...]:
    """Return the recorded runs of a host, by function and instance.

    Parameters
    ----------
    host : {"nine", "mix"}
        The algorithm.
    instances : tuple of int
        The instances of BBOB's functions, 1 and 2.

    Raises
    ------
    InvalidParameter
        If there is no such host.
    """
    if host not in HOSTS:
        raise InvalidParameter(
            f"host is {shortened(host)}; expected {' or '.join(HOSTS)}", name="host", value=host
        )
    with files("uaos").joinpath("data", f"traces-{host}.npz").open("rb") as file:
        arrays = np.load(file)
        return tuple(
            _trace(arrays, f"f{function}-i{instance}")
            for instance in instances
            for function in range(1, 25)
        )


@cache
def published() -> Mapping[str, float]:
    """Return the scores of the literature's methods, means over the recorded runs of both hosts.

    Examples
    --------
    >>> from uaos.scenarios import traces
    >>> len(traces.published())
    27
    """
    text = files("uaos").joinpath("data", "traces-published.csv").read_text("utf-8")
    return MappingProxyType({
        row["method"]: sum(float(row[host]) for host in HOSTS) / len(HOSTS)
        for row in csv.DictReader(text.splitlines())
    })  # fmt: skip


def _trace(arrays: Mapping[str, FloatArray], name: str) -> OutcomeTrace:
    parents = arrays[f"{name} parents"].astype(np.float64)
    ratio = arrays[f"{name} offspring"].astype(np.float64)
    return OutcomeTrace(name, parents, parents[:, :, None] * 10.0**ratio)
