"""Asynchronous runs: a worker gets its next point as soon as it is free."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import InvalidParameter, shortened
from uaos.optimizers.base import Optimizer
from uaos.optimizers.base.outstanding import Outstanding
from uaos.result import Ending, Result
from uaos.runs.evaluator import Evaluator, PointOutcome, PointTask
from uaos.runs.noise import ExactValues
from uaos.runs.run import DEFAULT_RULES, Observer, Run
from uaos.runs.stopping import StoppingRule
from uaos.statefile import SavedState

#: The number of a point that is evaluated again, beside those of the search.
_PROBE = 2**62


class AsynchronousRun(Run):
    """Run that hands out points one by one and does not wait for the slowest.

    Noise is looked for beside the search. Once a function turns out to be noisy, or is known to be,
    all workers share the repeated evaluations by which noise is measured and candidates are
    compared. Then, and only then, the run waits for the points that are out.

    It depends on the order in which evaluations end, so that the same seed may give a different run
    each time. The result has a log of this order: the number of workers; then, for each time that
    values arrived, how many there were and the numbers of their points. A run that is given a log
    repeats it, point by point in this process.

    Parameters
    ----------
    optimizer, evaluator, rules, observers, ending
        As for every run.
    noise : ExactValues, optional
        As for every run, but outliers are taken for noise.
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
        super().__init__(optimizer, evaluator, rules, observers, ending, noise)
        self._source = evaluator if log is None else _Replay(evaluator, log)
        self._log: list[int] | None = [self._source.workers]
        self._points: Outstanding  # of the search
        self._probing = False  # whether a point is being evaluated again, beside them

    def advance(self) -> None:
        """Ask, evaluate and tell, point by point, until a rule ends the run."""
        gradients = self.evaluator.problem.jac is not None
        self._points = Outstanding(self.optimizer, self._source.workers, gradients)
        while not self._stops():
            self.resumable = False
            probe = self.noise.probe()
            if probe is not None:
                self._probing = True
                with self.evaluator.memory.unused():
                    self._source.submit(_PROBE, probe, 0.0)
            self._fill()
            self._collect()
            self._batches += 1
            self.resumable = True
            for observer in self.observers:
                observer.told(self.optimizer)
        if self.ending is not None and self.noise.goes_on(self.ending):
            self._finish()

    def _measure_noise(self) -> None:
        """Measure noise once the values are known to be noisy, when no point is out."""
        if self.noise.due and (self.noise.expected or self.noise.detected):
            while self._fill(new=False) or self._out:
                self._collect()
            self.noise.check()

    @property
    def _out(self) -> int:
        """Number of points that are being evaluated."""
        return self._points.waiting + self._probing

    def _fill(self, *, new: bool = True) -> int:
        """Give each free worker a point; return how many there were."""
        asked = self._points.ask(self._source.workers - self._out, new=new)
        for number, x in asked:
            gradient = self._points.wants_gradient(number)
            self._source.submit(number, x, self._points.epsilon(number), gradient)
        return len(asked)

    def _collect(self) -> None:
        """Wait for evaluations to end, and tell their values."""
        resumable, self.resumable = self.resumable, True
        finished = self._source.collect()
        self.resumable = resumable
        self.optimizer.spending.recalled = self.evaluator.memory.recalled
        for outcome in finished:
            if outcome.number == _PROBE:
                self._probing = False
                self.noise.probed(outcome.value)
            else:
                self._points.tell(*outcome)
                self.noise.heard(np.array([outcome.value]))
        if self._log is not None:
            self._log += [len(finished), *(outcome.number for outcome in finished)]

    def _finish(self) -> None:
        """Wait for the points that are out."""
        while self._out:
            self._collect()

    def _described(self, result: Result) -> Result:
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

    def submit(
        self, number: int, point: FloatArray, epsilon: float, gradient: bool = False
    ) -> None:
        self._tasks[number] = self._evaluator.task(point, epsilon, gradient)

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
