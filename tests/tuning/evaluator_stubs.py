"""Work that fails in chosen ways; importable by worker processes."""

import os
import time

import numpy as np

from uaos.experiments.records import Outcome
from uaos.tuning.evaluator import run_one
from uaos.tuning.instances import Instance

#: Six problems that take no time.
PROBLEMS = tuple(Instance(function, 2, instance) for function in (1, 2, 3) for instance in (16, 17))
BUDGET = 200


def cheap(configuration, instance, seed, budget) -> Outcome:
    """No run at all: its error is made of what it would have run on."""
    error = instance.function + instance.instance / 100 + seed / 10_000
    hits = np.full(61, -1, np.int64)
    hits[:30] = seed + 1
    return Outcome("?", 0, 0, 0, 0, 0, 0, budget, error, hits, 0.5, "done", "")


def last_first(configuration, instance, seed, budget) -> Outcome:
    """The higher the seed, the sooner it ends."""
    time.sleep(0.01 * (8 - seed))
    return cheap(configuration, instance, seed, budget)


def raises_on_f3(configuration, instance, seed, budget) -> Outcome:
    if instance.function == 3:
        raise ZeroDivisionError("on purpose")
    return cheap(configuration, instance, seed, budget)


def dies_on_f2(configuration, instance, seed, budget) -> Outcome:
    if instance.function == 2 and instance.instance == 16:
        os._exit(1)
    return cheap(configuration, instance, seed, budget)


def tells_its_process(configuration, instance, seed, budget) -> Outcome:
    with open(os.environ["UAOS_TEST_MARK"], "a") as file:
        file.write(f"{os.getpid()}\n")
    return cheap(configuration, instance, seed, budget)


def slowly(configuration, instance, seed, budget) -> Outcome:
    time.sleep(0.05)
    return run_one(configuration, instance, seed, budget)
