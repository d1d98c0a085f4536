"""Work that fails in chosen ways; importable by worker processes."""

import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

from uaos.experiments import Outcome, Plan, Store, run_unit
from uaos.problems import suite

#: Two methods on four functions in 2-D, with so few evaluations that workers do without numba.
SMALL = {"functions": "1-4", "dimension": 2, "instances": "1-3", "budget": 120, "uniform": False}

_OF_THE_SUITE = ("functions", "dimension", "instances")


def small_plan(*methods, **changes):
    options = SMALL | changes
    problems = suite("bbob", **{name: options.pop(name) for name in _OF_THE_SUITE})
    return Plan.of(methods or ("mix", "JADE"), problems, **options)


def essence(outcome: Outcome) -> tuple:
    """Everything but the time it took."""
    trace = tuple(column.tobytes() for column in outcome.trace)
    error = None if outcome.error != outcome.error else outcome.error  # NaN is not equal to itself
    return tuple(outcome._replace(hits=tuple(outcome.hits), trace=trace, seconds=0.0, error=error))


def content(path: Path) -> dict:
    """What a store holds, unit by unit, with the courses of the runs."""
    with Store.open(path) as store:
        return {
            o.unit.key: (essence(o), store.packed_course(o.unit.key))
            for o in store.outcomes(traces=True)
        }


def wait_for(process: subprocess.Popen, path: Path, count: int) -> None:
    """Until a store has so many finished units, or the process is over."""
    while process.poll() is None:
        if path.exists() and len(content(path)) >= count:
            return
        time.sleep(0.02)


def dies_on_f2(unit, problem, competitor):
    if problem.function == "f2" and problem.instance == 1:
        os._exit(1)
    return run_unit(unit, problem, competitor)


def dies_once(unit, problem, competitor):
    """Dies at the first unit of f2 that is run, and notes that in the file UAOS_TEST_MARK."""
    if problem.function == "f2":
        try:
            os.close(os.open(os.environ["UAOS_TEST_MARK"], os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os._exit(1)
    return run_unit(unit, problem, competitor)


def dies_while_starting():
    """A worker's start: the first two die, which the files UAOS_TEST_MARK.0 and .1 note."""
    for number in range(2):
        try:
            os.close(os.open(f"{os.environ['UAOS_TEST_MARK']}.{number}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        os._exit(1)


def always_dies_while_starting():
    os._exit(1)


def raises_on_f3(unit, problem, competitor):
    if problem.function == "f3":
        raise ZeroDivisionError("on purpose")
    return run_unit(unit, problem, competitor)


def exits_on_f3(unit, problem, competitor):
    if problem.function == "f3":
        sys.exit("on purpose")
    return run_unit(unit, problem, competitor)


class Unloadable:
    """Work of a module that the workers do not have."""

    def __call__(self, unit, problem, competitor):
        return run_unit(unit, problem, competitor)

    def __reduce__(self):
        return import_module, ("a_module_of_the_coordinator",)


def slowly(unit, problem, competitor):
    time.sleep(0.05)
    return run_unit(unit, problem, competitor)


def takes_a_ticket(unit, problem, competitor):
    """Runs a unit for each file in the folder UAOS_TEST_MARK, which it removes; others hang."""
    for ticket in Path(os.environ["UAOS_TEST_MARK"]).iterdir():
        try:
            ticket.unlink()
        except FileNotFoundError:  # another worker was first
            continue
        return run_unit(unit, problem, competitor)
    time.sleep(900)
    raise TimeoutError


def tells_its_process(unit, problem, competitor):
    with open(os.environ["UAOS_TEST_MARK"], "a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(0.05)
    return run_unit(unit, problem, competitor)
