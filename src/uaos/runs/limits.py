"""Limits of a run: from the arguments of a call to stopping rules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from uaos.checks import evaluation_count, nonnegative_number, parse_budget
from uaos.optimizers.base import Optimizer
from uaos.optimizers.base.spending import DEFAULT_PER_DIMENSION
from uaos.problems.problem import Problem
from uaos.runs.memory import PointMemory
from uaos.runs.stopping import (
    AllFailed,
    Budget,
    Callback,
    Converged,
    Done,
    EveryPoint,
    Iterations,
    StoppingRule,
    Target,
    Time,
)

# A run without a budget ends when this many evaluations per dimension have all failed.
_FAILURES = 100


@dataclass(frozen=True)
class Limits:
    """Limits that end a run; None for no limit."""

    budget: int | None
    target: float | None
    iterations: int | None
    seconds: float | None
    tol: float | None
    atol: float | None

    @classmethod
    def checked(
        cls,
        problem: Problem,
        budget: int | str | None,
        target: float | None,
        values: Mapping[str, object],
    ) -> "Limits":
        """Return the limits among the arguments; `maxfun` is another name for the budget."""
        if isinstance(budget, str):
            budget = parse_budget(budget, problem.dimension)
        # Infinity is SciPy's word for no limit.
        maxfun = values.get("maxfun")
        if isinstance(maxfun, float) and maxfun == float("inf"):
            maxfun = None
        budgets = (evaluation_count(budget), evaluation_count(maxfun, "maxfun"))

        def number(name: str) -> float | None:
            value = values.get(name)
            return None if value is None else nonnegative_number(value, name)

        return cls(
            budget=min((limit for limit in budgets if limit is not None), default=None),
            target=target,
            iterations=evaluation_count(values.get("maxiter"), "maxiter", "iterations"),
            seconds=number("max_time"),
            tol=number("tol"),
            atol=number("atol"),
        )

    @property
    def end_on_convergence(self) -> bool:
        """True if the run ends where it would otherwise restart."""
        tolerances, ends = (self.tol, self.atol), (self.budget, self.target)
        return tolerances != (None, None) or ends == (None, None)

    def evaluations(self, problem: Problem) -> int:
        """Return the budget, by default a multiple of the dimension."""
        return self.budget or DEFAULT_PER_DIMENSION * max(1, problem.space.dimension)

    def rules(
        self, problem: Problem, callback: Callable[..., object] | None, memory: PointMemory
    ) -> list[StoppingRule]:
        """Return the stopping rules; the first that applies ends the run."""
        rules: list[StoppingRule] = []
        if self.budget is None:
            rules.append(AllFailed(_FAILURES * problem.space.dimension))
        if callback is not None:
            rules.append(Callback(callback, problem.space))
        rules += [Target(), EveryPoint(problem.space.size, memory)]
        rules += [Budget(default=self.budget is None), Done()]
        if self.end_on_convergence:
            rules.append(Converged())
        if self.iterations is not None:
            rules.append(Iterations(self.iterations))
        if self.seconds is not None:
            rules.append(Time(self.seconds))
        return rules

    def set_tolerances(self, optimizer: Optimizer) -> None:
        """Hand the tolerances to an optimizer; as in SciPy, `tol` replaces the default `atol`."""
        if self.tol is not None:
            optimizer.tol, optimizer.atol = self.tol, 0.0
        if self.atol is not None:
            optimizer.atol = self.atol
