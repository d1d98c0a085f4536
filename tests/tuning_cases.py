"""A small tuning, in this process."""

import dataclasses
import functools
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from uaos.tuning.design_space import Design, design_for


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
