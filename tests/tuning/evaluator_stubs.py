"""Work that fails in chosen ways; importable by worker processes."""

import os
import time
from pathlib import Path

import numpy as np

from uaos.experiments.unit import Outcome, Unit, outcome
from uaos.problems import suite
from uaos.tuning.costs import run_one

#: Six problems that take no time.
PROBLEMS = suite("bbob", functions="1-3", dimension=2, instances=[16, 17])
BUDGET = 200


def each(problem) -> int:
    """The same budget for every problem."""
    return BUDGET


def cheap(configuration, problem, seed, budget) -> Outcome:
    """No run at all: its error is made of what it would have run on."""
    error = problem.number + problem.instance / 100 + seed / 10_000
    hits = np.full(61, -1, np.int64)
    hits[:30] = seed + 1
    return outcome(
        Unit("?", problem.name, 1, 0, 0), problem, evaluations=budget, error=error, best=error,
        hits=hits, seconds=0.5,
    )  # fmt: skip


def raises_on_f3(configuration, problem, seed, budget) -> Outcome:
    if problem.number == 3:
        raise ZeroDivisionError("on purpose")
    return cheap(configuration, problem, seed, budget)


def dies_on_f2(configuration, problem, seed, budget) -> Outcome:
    if problem.number == 2 and problem.instance == 16:
        os._exit(1)
    return cheap(configuration, problem, seed, budget)


def tells_its_process(configuration, problem, seed, budget) -> Outcome:
    with open(os.environ["UAOS_TEST_MARK"], "a") as file:
        file.write(f"{os.getpid()}\n")
    return cheap(configuration, problem, seed, budget)


def takes_a_ticket(configuration, problem, seed, budget) -> Outcome:
    """Makes a run for each file in the folder UAOS_TEST_MARK, which it removes; others hang."""
    for ticket in Path(os.environ["UAOS_TEST_MARK"]).iterdir():
        try:
            ticket.unlink()
        except FileNotFoundError:  # another worker was first
            continue
        return run_one(configuration, problem, seed, budget)
    time.sleep(900)
    raise TimeoutError


def slowly(configuration, problem, seed, budget) -> Outcome:
    time.sleep(0.05)
    return run_one(configuration, problem, seed, budget)
