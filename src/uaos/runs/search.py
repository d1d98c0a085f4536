"""Search: builds the optimizer of a run from a method, settings and limits, and starts it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from uaos.arrays import FloatArray
from uaos.checks import real_numbers
from uaos.errors import InvalidParameter
from uaos.optimizers.base import Optimizer
from uaos.optimizers.catalogue import PORTFOLIO, RECOMMENDED, ConfigurationLike, as_configuration
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.registry import optimizer_class
from uaos.problems.problem import Problem
from uaos.problems.space import start_points
from uaos.result import Ending
from uaos.runs.evaluator import EvaluationInterrupted, Evaluator
from uaos.runs.known import Known
from uaos.runs.limits import Limits
from uaos.runs.stopping import BROKEN, INTERRUPTED
from uaos.statefile import SavedState

#: Values that seed NumPy's generators, as in SciPy.
Seed = (
    int | np.random.Generator | np.random.RandomState | np.random.SeedSequence
    | np.random.BitGenerator | None
)  # fmt: skip


@dataclass(frozen=True)
class SearchSetup:
    """Description of the optimizer of a run, from which it is built.

    Parameters
    ----------
    problem : Problem
        The problem.
    method : str, path, Method, Configuration or None
        The method, None for the default.
    settings : mapping
        Settings of the optimizer.
    limits : Limits
        The budget, target and tolerances of the run.
    seed : int, numpy.random.Generator or None
        Makes the run repeatable.
    history : bool
        Whether to record the course of the run.
    """

    problem: Problem
    method: ConfigurationLike | None
    settings: Mapping[str, Any]
    limits: Limits
    seed: int | np.random.Generator | None
    history: bool

    def build(self, x0: ArrayLike | None) -> Optimizer:
        """Return the optimizer, starting from the points x0."""
        # Settings without a method select differential evolution, fitted to the budget.
        fitted = self.method is None and bool(self.settings)
        default = RECOMMENDED if fitted else PORTFOLIO
        configuration = as_configuration(default if self.method is None else self.method)
        kind = optimizer_class(configuration.optimizer)
        arguments = problem_arguments(self.problem, configuration)
        _check_settings(self.settings, configuration)
        if self.limits.end_on_convergence:
            arguments |= kind.single_run
        optimizer = (kind if fitted else configuration.build)(
            x0=x0,
            seed=self.seed,
            budget=self.limits.evaluations(self.problem),
            target=self.limits.target,
            history=self.history,
            **(arguments | dict(self.settings)),
        )
        self.limits.set_tolerances(optimizer)
        return optimizer

    def start(
        self,
        points: ArrayLike | None,
        known: Known | None,
        evaluator: Evaluator,
        saved: SavedState | None,
    ) -> tuple[Optimizer, Ending | None]:
        """Return the optimizer, and how a run ended that was interrupted before its first batch.

        Several points are the first population if they fit into one. Otherwise they are
        evaluated here, so that their values are known, and the search starts from the best; in a
        run that was saved, they have been evaluated already.
        """
        if saved is not None:
            return self.build(saved["run"]["x0"]), None
        starts = _several(points)
        if known is not None:
            return self._start_known(points, known, evaluator), None
        if starts is None:
            return self.build(points), None
        first = self.build(starts[:1])
        if first.starts_together and len(starts) <= (first.capacity or len(starts)):
            return self.build(starts), None
        # Raise an error if they are invalid.
        start_points(starts, first.low, first.high, getattr(first.settings, "boundary", ""))
        starts = self.problem.space.rounded(starts[: first.budget])
        try:
            values, violations, _ = evaluator(starts, first.epsilon)
        except EvaluationInterrupted as interrupt:
            for row, value in interrupt.ready:
                first.count_earlier(
                    starts[[row]], [value], [0.0] if evaluator.constrained else None
                )
            return first, INTERRUPTED if evaluator.broken is None else BROKEN
        evaluated = Known(starts, values, violations)
        optimizer = self.build(evaluated.best(first.capacity))
        evaluated.teach(optimizer, evaluator, counted=True)
        return optimizer, None

    def _start_known(
        self, points: ArrayLike | None, known: Known, evaluator: Evaluator
    ) -> Optimizer:
        """Return an optimizer that starts from the points x0 and from the best of those known."""
        start = known.best(1) if points is None else points
        first = self.build(start if np.size(start) else None)  # which also checks x0
        capacity = first.capacity
        # Half of a population stays random.
        best = known.best(1 if capacity is None else max(1, capacity // 2))
        starts = best
        if points is not None and first.x0 is not None:
            starts = np.vstack([first.x0, best])[:capacity]
        optimizer = self.build(starts if len(starts) else None)
        known.teach(optimizer, evaluator, counted=False)
        return optimizer


def problem_arguments(problem: Problem, configuration: Configuration) -> dict[str, Any]:
    """Return the arguments that tell an optimizer about the problem: box, integers, constraints.

    Raises
    ------
    InvalidParameter
        If there are constraints, and the optimizer cannot handle them.
    """
    kind = optimizer_class(configuration.optimizer)
    space = problem.space
    arguments: dict[str, Any] = {"bounds": space.box, "integrality": space.integrality}
    if not problem.constrained:
        return arguments
    if "constraints" not in kind.handles:
        raise InvalidParameter(
            f"{configuration.name} cannot handle constraints; use the default method, "
            "differential evolution or CMA-ES",
            name="method",
            value=configuration.name,
        )
    if "constrained" in kind.settings_class.keywords():
        arguments["constrained"] = True
    return arguments


def _check_settings(settings: Mapping[str, object], configuration: Configuration) -> None:
    """Raise an error for settings that the optimizer does not have."""
    accepted = optimizer_class(configuration.optimizer).settings_class.keywords()
    for name, value in settings.items():
        if name not in accepted:
            raise InvalidParameter(
                f"{configuration.name} does not accept {name}. Its settings: {', '.join(accepted)}",
                name=name,
                value=value,
            )


def _several(x0: object) -> FloatArray | None:
    """Return x0 as an array if it has several points; otherwise the optimizer checks it."""
    try:
        points = real_numbers(x0)
    except (TypeError, ValueError):
        return None
    return points if points.ndim == 2 and len(points) > 1 else None


def as_numpy_seed(seed: Seed, rng: Seed) -> int | np.random.Generator | None:
    """Return the seed as optimizers take it."""
    if seed is not None and rng is not None:
        raise InvalidParameter(
            "rng and seed are the same argument; pass only one of them", name="rng", value=rng
        )
    seed = rng if seed is None else seed
    if isinstance(seed, np.random.RandomState):
        return _as_generator(seed)
    if isinstance(seed, np.random.SeedSequence | np.random.BitGenerator):
        return np.random.default_rng(seed)
    return seed


def _as_generator(state: np.random.RandomState) -> np.random.Generator:
    """Return a generator that continues a RandomState; before NumPy 2.2, one that it seeds."""
    try:
        return np.random.default_rng(state)
    except TypeError:
        return np.random.default_rng(state.randint(0, 2**32, size=8, dtype=np.uint32))
