"""Asynchronous runs: a worker gets its next point as soon as it is free."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidParameter, shortened
from uaos.optimizers.base import Optimizer
from uaos.optimizers.outstanding import Outstanding
from uaos.result import Ending, Result
from uaos.runs.evaluator import Evaluator, PointOutcome, PointTask
from uaos.runs.noise import ExactValues
from uaos.runs.run import DEFAULT_RULES, Observer, Run
from uaos.runs.stopping import StoppingRule
from uaos.statefile import SavedState


class AsynchronousRun(Run):
    """Run that hands out points one by one and never waits for the slowest.

    It depends on the order in which evaluations end, so that the same seed may give a different run
    each time. The result has a log of this order: the number of workers; then, for each time that
    values arrived, how many there were and the numbers of their points. A run that is given a log
    repeats it, point by point in this process.

    Parameters
    ----------
    optimizer, evaluator, rules, observers, ending
        As for every run.
    noise : ExactValues, optional
        Values are taken as they are; if they are expected to be noisy, the message says so.
    log : array_like of int, optional
        The log of the run to repeat.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        evaluator: Evaluator,
        rules: Sequence[StoppingRule] = DEFAULT_RULES,
        observers: Sequence[Observer] = (),
        ending: Ending | None = None,
        noise: ExactValues | None = None,
        log: Sequence[int] | IntArray | None = None,
    ) -> None:
        expected = noise is not None and noise.expected
        super().__init__(
            optimizer, evaluator, rules, observers, ending, ExactValues(expected=expected)
        )
        self._source = evaluator if log is None else _Replay(evaluator, log)
        self._log: list[int] | None = [self._source.workers]

    def advance(self) -> None:
        """Ask, evaluate and tell, point by point, until a rule ends the run."""
        source = self._source
        points = Outstanding(self.optimizer, source.workers)
        while not self._stops():
            for number, x in points.ask(source.workers - points.waiting):
                source.submit(number, x, points.epsilon(number))
            finished = source.collect()
            self.optimizer.spending.recalled = self.evaluator.memory.recalled
            for outcome in finished:
                points.tell(*outcome)
            if self._log is not None:
                self._log += [len(finished), *(outcome.number for outcome in finished)]
            self._batches += 1
            for observer in self.observers:
                observer.told(self.optimizer)

    def _described(self, result: Result) -> Result:
        if self.noise.expected and self.ending is not None:
            self.ending = self.ending.without_estimate()
        described = super()._described(result)
        log = None if self._log is None else np.array(self._log)
        return dataclasses.replace(described, log=log)

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` returned; the log of such a run is not complete."""
        super().restore(state)
        self._log = None


class _Replay:
    """Evaluator that returns values in the order of a log."""

    def __init__(self, evaluator: Evaluator, log: Sequence[int] | IntArray) -> None:
        numbers = np.asarray(log)
        if numbers.ndim != 1 or numbers.dtype.kind != "i" or not len(numbers) or numbers.min() < 0:
            raise InvalidParameter(
                f'schedule is {shortened(log, 80)}; expected "sync", "async" or the log of a '
                'result',
                name="schedule", value=log,
            )  # fmt: skip
        self._evaluator = evaluator
        self._log = iter(numbers.tolist())
        self._tasks: dict[int, PointTask] = {}
        self.workers = next(self._log)

    def submit(self, number: int, point: FloatArray, epsilon: float) -> None:
        self._tasks[number] = self._evaluator.task(point, epsilon)

    def collect(self) -> list[PointOutcome]:
        try:
            numbers = [next(self._log) for _ in range(next(self._log))]
            tasks = [self._tasks.pop(number) for number in numbers]
        except (StopIteration, KeyError):
            raise InvalidParameter(
                "schedule is the log of another run; repeat it with the arguments of that run",
                name="schedule", value=None,
            ) from None  # fmt: skip
        return [
            self._evaluator.outcome(number, task, self._evaluator.perform(task))
            for number, task in zip(numbers, tasks, strict=True)
        ]
