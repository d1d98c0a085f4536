"""A small tuning, in this process."""

import dataclasses
import functools
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from uaos.tuning.design_space import Design, design_for

#: The setup of a tuning, and its result, as a store has them.
SETUP = {
    "tuner": "racer", "runs": 40, "budget": "50D", "objective": "error", "seed": 1,
    "training_set": "16", "suite": "bbob", "suite_hash": "", "problems": ["f1 i16 2-D"],
    "space": [{"name": "F", "low": 0.1, "high": 2.0, "log": False, "whole": False, "when": ""}],
    "forbidden": [], "base": {}, "constants": {}, "options": {}, "initial": [],
    "rules": {"test": "friedman"},
}  # fmt: skip
RESULT = {"used": 4, "iterations": 1, "seconds": 0.5, "best": {}}


class AtOnce(Executor):
    """Runs what is submitted there and then; more workers are written for at once."""

    def __init__(self, workers: int = 32) -> None:
        self._max_workers = workers

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future:
        future: Future = Future()
        future.set_result(work(*arguments, **named))
        return future


@functools.cache
def sade_with(*free: str) -> Design:
    """SaDE in 2-D with these to be tuned, and all else as it is; 96 runs will do for two."""
    made = design_for("SaDE", ["F"], dimension=2)
    for name in made.space.names:
        if not made.space[name].fixed and name not in free:
            value = getattr(made.base.method.reward, name, 0.0)
            made = dataclasses.replace(made, space=made.space.fix(name, value))
    return made
