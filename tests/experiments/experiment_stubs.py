"""Work that fails in chosen ways; importable by worker processes."""

import os
import time
from pathlib import Path

from uaos.experiments import Outcome, Plan, Store, run_unit

#: Small enough for a test: two methods on four functions in 2-D.
SMALL = {"functions": "1-4", "dimension": 2, "instances": "1-3", "budget": 400, "uniform": False}


def small_plan(*methods, **changes):
    return Plan.of(methods or ("mix", "JADE"), **(SMALL | changes))


def essence(outcome: Outcome) -> tuple:
    """Everything but the time it took."""
    plain = outcome._replace(hits=tuple(outcome.hits), seconds=0.0)
    return tuple(plain)


def content(path: Path) -> dict:
    """What a store holds, unit by unit, with the courses of the runs."""
    with Store.open(path) as store:
        return {o[:5]: (essence(o), store.packed_course(o[:5])) for o in store.outcomes()}


def dies_on_f2(unit, competitor):
    if unit.function == 2 and unit.instance == 1:
        os._exit(1)
    return run_unit(unit, competitor)


def dies_once(unit, competitor):
    """Dies at the first unit of f2 that is run, and notes that in the file UAOS_TEST_MARK."""
    if unit.function == 2:
        try:
            os.close(os.open(os.environ["UAOS_TEST_MARK"], os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os._exit(1)
    return run_unit(unit, competitor)


def raises_on_f3(unit, competitor):
    if unit.function == 3:
        raise ZeroDivisionError("on purpose")
    return run_unit(unit, competitor)


def slowly(unit, competitor):
    time.sleep(0.05)
    return run_unit(unit, competitor)


def tells_its_process(unit, competitor):
    with open(os.environ["UAOS_TEST_MARK"], "a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(0.05)
    return run_unit(unit, competitor)
