"""Compare the racer, R's irace and random search on an objective with a known optimum.

    python benchmarks/tuners.py tuners.csv [--seeds 10] [--runs 2000]

A conditional space of 12 parameters; the cost of a run is the candidate's distance from the
optimum, plus the difficulty of the instance, plus noise. Written is the distance itself of what a
tuner returns: 0 is the optimum, and the tuners never see it.
"""

import argparse
import csv
import functools
import hashlib
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from uaos.errors import UaosError
from uaos.params import Categorical, Integer, RealSetting, Value
from uaos.problems.variables import Condition, Space, Variable
from uaos.tuning.irace import irace_version, run_irace
from uaos.tuning.race import Task
from uaos.tuning.racer import iterated_racing
from uaos.tuning.records import Candidate, Event
from uaos.tuning.sampling import uniform_candidates
from uaos.tuning.search import Search, Tuner

NOISE = 0.3
INSTANCES = tuple(range(20))
#: Instances on which random search tries each of its candidates; the best of these is reported.
DEPTHS = (5, 10, 20)


def _real(low: float, high: float, log: bool = False) -> RealSetting:
    return RealSetting(default=low, low=low, high=high, log=log)


def _integer(low: int, high: int, log: bool = False) -> Integer:
    return Integer(default=low, low=low, high=high, log=log)


def _choice(*values: Value) -> Categorical:
    return Categorical(default=values[0], choices=values)


SPACE = Space((
    Variable("kind", _choice("a", "b", "c", "d")),
    Variable("mode", _choice("x", "y", "z")),
    Variable("u", _real(0, 1)),
    Variable("v", _real(0, 1)),
    Variable("rate", _real(0.01, 100, log=True)),
    Variable("size", _integer(1, 100, log=True)),
    Variable("a1", _real(0, 1), (Condition("kind", ("a", "b")),)),
    Variable("a2", _integer(0, 50), (Condition("kind", ("a",)),)),
    Variable("b1", _real(0, 1), (Condition("kind", ("b", "c")),)),
    Variable("x1", _real(0, 1), (Condition("mode", ("x",)),)),
    Variable("y1", _choice(1, 2, 3), (Condition("mode", ("y",)),)),
    Variable("z1", _integer(1, 10), (Condition("mode", ("x", "z")),)),
))  # fmt: skip


def distance(values: Mapping[str, Value]) -> float:
    """Return the distance to the optimum: kind a, mode x, and a best value for each number."""
    apart = {"a": 0.0, "b": 0.4, "c": 0.8, "d": 1.2}[str(values["kind"])]
    apart += {"x": 0.0, "y": 0.3, "z": 0.5}[str(values["mode"])]
    numbers = {name: float(v) for name, v in values.items() if not isinstance(v, str)}
    apart += 3 * (numbers["u"] - 0.7) ** 2 + 3 * (numbers["v"] - 0.2) ** 2
    apart += 0.1 * (math.log10(numbers["rate"]) - 1) ** 2
    apart += 0.3 * (math.log10(numbers["size"]) - math.log10(20)) ** 2
    bowls = {"a1": (2, 0.35, 1), "a2": (1, 33, 50), "b1": (1, 0.5, 1), "x1": (2, 0.9, 1),
             "y1": (0.1, 2, 1), "z1": (1, 4, 10)}  # fmt: skip
    for name, (weight, best, scale) in bowls.items():
        if name in numbers:
            apart += weight * ((numbers[name] - best) / scale) ** 2
    return apart


def cost(task: Task) -> float:
    """Return the cost of a run; equal runs cost the same."""
    text = repr((sorted(task.values.items()), task.instance, task.seed))
    digest = hashlib.sha256(text.encode()).digest()
    noise = np.random.default_rng(int.from_bytes(digest[:8], "big")).standard_normal()
    return distance(task.values) + 0.5 * (task.instance % 7) + NOISE * float(noise)


def costs(tasks: Sequence[Task]) -> list[float]:
    return [cost(task) for task in tasks]


def best_of(tuner: Tuner, search: Search) -> Mapping[str, Value]:
    """Return the values of the candidate that a tuner finds."""
    values: dict[int, Mapping[str, Value]] = {}

    def note(event: Event) -> None:
        if isinstance(event, Candidate):
            values[event.id] = event.values

    return values[tuner(search, costs, note).elites[0].candidate]


def by_racer(seed: int, runs: int) -> float:
    return distance(best_of(iterated_racing, Search(SPACE, INSTANCES, runs, seed)))


def by_irace(seed: int, runs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        tuner = functools.partial(run_irace, folder=folder)
        return distance(best_of(tuner, Search(SPACE, INSTANCES, runs, seed)))


def at_random(depth: int) -> Callable[[int, int], float]:
    """Search at random, trying each candidate on `depth` instances."""

    def search(seed: int, runs: int) -> float:
        rng = np.random.default_rng(seed)
        candidates = uniform_candidates(SPACE, runs // depth, rng, lambda _: True)
        places = [int(i) for i in rng.choice(len(INSTANCES), depth, replace=False)]
        means = [
            np.mean([cost(Task(n, c, INSTANCES[p], p)) for p in places])
            for n, c in enumerate(candidates)
        ]
        return distance(candidates[int(np.argmin(means))])

    return search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=2000)
    given = parser.parse_args()
    contenders: dict[str, Callable[[int, int], float]] = {"built-in racer": by_racer}
    try:
        contenders[f"irace {irace_version()}"] = by_irace
    except UaosError as error:
        print(f"irace is left out: {error}")
    contenders |= {f"random search, {depth} instances each": at_random(depth) for depth in DEPTHS}
    with open(given.out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["tuner", "runs", "seed", "distance"])
        for name, search in contenders.items():
            for seed in range(1, given.seeds + 1):
                writer.writerow([name, given.runs, seed, f"{search(seed, given.runs):.4f}"])
                file.flush()


if __name__ == "__main__":
    main()
