"""The progress line that `disp=True` prints."""

import sys
import time

import numpy as np

from uaos.optimizers.base import Optimizer
from uaos.result import Result
from uaos.runs.run import Observer
from uaos.text import count, duration

# The time left is shown once this many seconds have passed.
_PATIENCE = 1.0


class ProgressLine(Observer):
    """Prints evaluations, best value, operators in use and the time left while a run goes on.

    Ten times a second at most; into a file, which keeps every line, at intervals that double up to
    ten seconds.
    """

    def __init__(self) -> None:
        self._live = sys.stdout.isatty() or "ipykernel" in sys.modules
        self._started = self._next = time.monotonic()
        self._earlier: int | None = None  # evaluations at the first look: a run may be resumed
        self._width = 0

    def told(self, optimizer: Optimizer) -> None:
        """Print the state of the run, if it is time to."""
        now = time.monotonic()
        if self._earlier is None:
            self._earlier = optimizer.evaluations
        if now >= self._next:
            passed = now - self._started
            self._next = now + min(max(0.1, 0.0 if self._live else passed), 10.0)
            done = optimizer.evaluations - self._earlier
            pace = passed / done if done and passed > _PATIENCE else None
            self._write(_line(optimizer, pace))

    def ended(self, result: Result) -> None:
        """Print how the run ended."""
        self._write(f"{count(result.nfev, 'evaluation')}, best {result.fun:.6g}: {result.message}")
        if self._width:
            print(flush=True)

    def _write(self, line: str) -> None:
        if self._live:
            print("\r" + line.ljust(self._width), end="", flush=True)
            self._width = len(line)
        else:
            print(line, flush=True)


def _line(optimizer: Optimizer, pace: float | None) -> str:
    """Return the state of a run in one line; `pace` is in seconds per evaluation."""
    spent, budget = optimizer.evaluations, optimizer.budget
    best = f"best {optimizer.best_fitness:.6g}"
    if optimizer.best_violation > 0:
        best = f"least violation {optimizer.best_violation:.3g}"
    share = "" if budget is None else f" ({spent / budget:.0%} of the budget)"
    parts = [count(spent, "evaluation") + share, best]
    names, shares = optimizer.operators, np.asarray(optimizer.probabilities)
    if len(names) > 1:
        most_used = np.argsort(-shares, kind="stable")[:3]
        parts += [f"{names[k]} {shares[k]:.0%}" for k in most_used if shares[k] > 0]
    if budget is not None and pace is not None:
        left = pace * (budget - spent)
        parts.append(f"{'at most ' if left >= 1 else ''}{duration(left)} left")
    return ", ".join(parts)
