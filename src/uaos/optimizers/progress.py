"""The line that `disp=True` prints while a run goes on."""

import sys
import time

import numpy as np

from uaos.optimizers.base import Optimizer
from uaos.optimizers.result import Result


class ProgressLine:
    """One line on the terminal that shows how far a run is."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._next = 0.0
        self._width = 0

    def show(self) -> None:
        """Print the state of the run, ten times a second at most."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 0.1
            self._write(self._line())

    def _line(self) -> str:
        run = self._optimizer
        found = f"best {run.best_fitness:.6g}"
        if run.best_violation > 0:
            found = f"least violation {run.best_violation:.3g}"
        parts = [f"{run.evaluations:,} evaluations", found]
        order = np.argsort(-np.asarray(run.probabilities), kind="stable")[:3]
        if len(run.operators) > 1:
            parts += [f"{run.operators[k]} {run.probabilities[k]:.0%}" for k in order]
        return ", ".join(parts)

    def _write(self, line: str) -> None:
        if sys.stdout.isatty() or "ipykernel" in sys.modules:
            print("\r" + line.ljust(self._width), end="", flush=True)
            self._width = len(line)
        else:
            print(line, flush=True)

    def end(self, result: Result) -> None:
        """Print how the run ended."""
        self._write(f"{result.nfev:,} evaluations, best {result.fun:.6g}: {result.message}")
        if self._width:
            print(flush=True)
