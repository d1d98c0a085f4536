"""Differential evolution as an optimizer: methods and configurations meet the engine."""

import dataclasses
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from uaos import statefile
from uaos.errors import InvalidFile, InvalidParameter, UaosError, UnknownName
from uaos.optimizers.arguments import (
    box,
    generator,
    real_target,
    start_points,
    true_or_false,
    whole_budget,
)
from uaos.optimizers.catalogue import RECOMMENDED, configuration
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de.engine import Engine
from uaos.optimizers.de.operators import OWN, Operator, as_members
from uaos.optimizers.de.protocols import Array, OwnOperator, Selector
from uaos.optimizers.de.saved import new_generator
from uaos.optimizers.de.settings import Settings
from uaos.optimizers.de.view import EngineView
from uaos.optimizers.result import Result
from uaos.selection.method import Method

#: What `method` may be: None for the recommended configuration, a name of the catalogue, the path
#: of a TOML file, a method (which runs with default settings) or a whole configuration.
MethodLike = None | str | os.PathLike[str] | Method | Configuration

#: Evaluations for each dimension where no budget is given.
DEFAULT_BUDGET = 10_000

# The settings that have no argument of their own.
_FURTHER = ("centre", "best_rule", "archive", "archive_size", "schedule", "restart")

#: Version of the file that :meth:`DifferentialEvolution.save` writes.
FORMAT = 1


class DifferentialEvolution:
    """Differential evolution with adaptive operators, driven from outside::

        de = DifferentialEvolution([(-5, 5)] * 10, seed=1, budget=50_000)
        while not de.done:
            X = de.ask()          # points to evaluate, (n, D); the number may change
            de.tell(values)       # one value for each, NaN for a failure
        print(de.result)

    `method`: None for the recommended configuration, the name of one (`uaos methods` lists them), a
    TOML file, a :class:`uaos.Method` or a :class:`uaos.Configuration`. A configuration brings all
    its settings along; arguments that are given win. None also fits the population to a short
    budget, while the recommended configuration given by its name keeps its own size. `operators`:
    strategy names, :class:`uaos.Operator` or own objects with `name` and
    `propose(state, parents, rng)`. `F` and `CR` are for the operators that do not set their own.
    `popsize`: a number, or a multiple of the dimension such as "18D". `boundary`: none, clip,
    reflect, midpoint or resample; if not given, the configuration's, which is midpoint unless it
    says otherwise. `settings`: further fields of
    :class:`uaos.optimizers.de.settings.Settings`: centre, best_rule, archive, archive_size,
    schedule, restart.

    `budget` is exact to the evaluation; None means no limit, and 10 000·D evaluations for a
    population schedule to run over. `done` also becomes true once `target` is reached.
    """

    def __init__(
        self,
        bounds: Any,
        *,
        method: MethodLike = None,
        F: Any = None,
        CR: Any = None,
        popsize: int | str | None = None,
        top_NP: float | str | None = None,
        boundary: str | None = None,
        seed: int | np.random.Generator | None = None,
        operators: Sequence[Any] | None = None,
        budget: int | None = None,
        x0: Any = None,
        target: float | None = None,
        history: bool = True,
        **settings: Any,
    ) -> None:
        known_arguments(settings, "DifferentialEvolution", DifferentialEvolution.__init__)
        low, high = box(bounds)
        budget = whole_budget(budget)
        chosen = _configuration(method)
        if method is None and popsize is None and budget is not None:
            # The recommended NP is 10·D; over few generations a smaller population does better.
            chosen = _fitted(chosen, len(low), budget)
        given = {"F": F, "CR": CR, "NP": popsize, "top_NP": top_NP, "boundary": boundary}
        given["pool"] = operators
        changes = {name: value for name, value in given.items() if value is not None}
        with _called_popsize(popsize):
            final = _changed(chosen, changes | settings)
            self._build(
                name=chosen.name, method=chosen.method, settings=final, low=low, high=high,
                seed=seed, budget=budget, target=real_target(target),
                history=true_or_false(history, "history"),
                x0=start_points(x0, low, high, final.boundary),
            )  # fmt: skip

    def _build(
        self, *, name: str, method: Method | None, settings: Settings, low: Array, high: Array,
        seed: int | np.random.Generator | None, budget: int | None, target: float | None,
        history: bool, x0: Array | None,
    ) -> None:  # fmt: skip
        self.name = name
        self.method = method
        self.settings = settings
        self.target = target
        self.seed, rng = generator(seed)
        horizon = DEFAULT_BUDGET * len(low)

        def make_selector(K: int, left: int | None, shared: np.random.Generator) -> Selector:
            assert method is not None
            return method.selector(K, seed=shared, budget=horizon if left is None else left)

        self._engine = Engine(
            settings, low, high, make_selector=None if method is None else make_selector, rng=rng,
            budget=budget, horizon=horizon, x0=x0, history=history,
        )  # fmt: skip

    # The loop

    def ask(self) -> Array:
        """The points to evaluate next, (n, D); the same again until they are told."""
        return self._engine.ask()

    def tell(self, values: Any) -> None:
        """The objective at the points of :meth:`ask`; NaN and infinite values are failures."""
        self._engine.tell(values)

    @property
    def done(self) -> bool:
        """Whether the budget is spent or the target reached."""
        return self._engine.done or self._on_target

    @property
    def _on_target(self) -> bool:
        return self.target is not None and self._engine.best_fitness <= self.target

    @property
    def state(self) -> EngineView:
        """The run as it is now: population, fitness, probabilities, …; not to be written to."""
        return self._engine.view

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of the operators."""
        return self._engine.pool.names

    @property
    def result(self) -> Result:
        """The best so far; see :class:`Result`."""
        engine = self._engine
        if engine.evaluations and engine.best_x is None:
            success, message = False, (
                f"none of {engine.evaluations} evaluations gave a finite value; check what the "
                "function returns inside the bounds"
            )  # fmt: skip
        elif self._on_target:
            success, message = True, f"the target {self.target:g} was reached"
        elif engine.done:
            success, message = True, f"the budget of {engine.budget} evaluations was spent"
        else:
            success, message = False, "the run is not finished"
        return self._result(success, message)

    def _result(self, success: bool, message: str) -> Result:
        engine = self._engine
        return Result(
            x=None if engine.best_x is None else engine.best_x.copy(),
            fun=engine.best_fitness if engine.best_x is not None else float("nan"),
            nfev=engine.evaluations, nit=engine.generation, success=success, message=message,
            seed=self.seed, history=engine.history,
        )  # fmt: skip

    # Exact resume

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to a file, from which :meth:`load` continues it bit for bit."""
        engine = self._engine
        content = {
            "name": self.name,
            "method": None if self.method is None else self.method.to_dict(),
            "settings": self.settings.to_dict(),
            "low": engine.low,
            "high": engine.high,
            "budget": engine.budget,
            "target": self.target,
            "seed": self.seed,
            "generator": type(engine.rng.bit_generator).__name__,
            "engine": engine.state(),
        }
        statefile.write(path, "run", FORMAT, content)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, operators: Sequence[OwnOperator] = ()
    ) -> "DifferentialEvolution":
        """A run that continues where the saved one stood.

        Code is not saved: own operators of the pool are passed again in `operators`.
        """
        passed = as_members(operators) if operators else ()
        own = {one.name: one for one in passed if not isinstance(one, Operator)}
        content = statefile.read(path, "run", FORMAT)
        try:
            recipe = content["method"]
            low, high = box(np.column_stack([content["low"], content["high"]]))
            seed = content["seed"]
            made = cls.__new__(cls)
            made._build(
                name=str(content["name"]),
                method=None if recipe is None else Method.from_dict(recipe),
                settings=Settings.from_dict(content["settings"], own),
                low=low, high=high, budget=whole_budget(content["budget"]),
                target=real_target(content["target"]),
                history=content["engine"]["history"] is not None,
                seed=new_generator(content["generator"]), x0=None,
            )  # fmt: skip
            made.seed = None if seed is None else generator(seed)[0]
            made._engine.restore(content["engine"])
        except UaosError as error:
            if isinstance(error, UnknownName) and error.kind == OWN:
                raise
            raise InvalidFile(f"{path}: damaged, {error}") from error
        except (LookupError, AttributeError, TypeError, ValueError) as error:
            raise InvalidFile(f"{path}: damaged, {error!r}") from error
        return made

    def __repr__(self) -> str:
        engine = self._engine
        return (
            f"<DifferentialEvolution {self.name}: {len(self.operators)} operators, "
            f"{engine.evaluations} evaluations, best {engine.best_fitness:g}>"
        )


# What the arguments mean


def _configuration(method: MethodLike) -> Configuration:
    if isinstance(method, Configuration):
        return method
    if isinstance(method, Method):
        return Configuration("own method", method, Settings(NP=None))
    if method is None or isinstance(method, str | os.PathLike):
        return configuration(RECOMMENDED if method is None else method)
    raise InvalidParameter(
        "method", method, "None, a name, a TOML file, a uaos.Method or a uaos.Configuration"
    )


def _fitted(chosen: Configuration, dimension: int, budget: int) -> Configuration:
    fitted = dataclasses.replace(chosen.settings, NP=None)
    usual = chosen.settings.population_size(dimension, budget)
    if fitted.population_size(dimension, budget) >= usual:
        return chosen
    return dataclasses.replace(chosen, settings=fitted)


def known_arguments(
    settings: Mapping[str, Any], owner: str, *functions: Callable[..., Any]
) -> None:
    """Refuse keywords that are neither further settings nor arguments of one of `functions`."""
    known = list(_FURTHER)
    for function in functions:
        given = inspect.signature(function).parameters.values()
        known += [p.name for p in given if p.kind is p.KEYWORD_ONLY and p.name not in known]
    for name in settings:
        if name not in known:
            raise UnknownName(f"argument of {owner}", name, known)


@contextmanager
def _called_popsize(popsize: int | str | None) -> Iterator[None]:
    """What was given as popsize is called so, while in a configuration it is NP."""
    try:
        yield
    except InvalidParameter as error:
        if popsize is None or error.name != "NP":
            raise
        raise InvalidParameter("popsize", error.value, error.allowed) from None


def _changed(chosen: Configuration, changes: dict[str, Any]) -> Settings:
    """The configuration's settings with what was given in their place."""
    settings = dataclasses.replace(chosen.settings, **changes)
    pool = settings.pool or ()
    if chosen.method is None and len(settings.members) > 1:
        raise InvalidParameter(
            "operators", list(settings.names), f"one operator: {chosen.name} has no method to "
            "choose among several. Give one, or another method=",
        )  # fmt: skip
    for role in ("F", "CR"):
        if role in changes and pool and not any(_open(m, role) for m in pool):
            raise InvalidParameter(
                role, changes[role], f"nothing here: every operator of {chosen.name!r} has its own "
                f"{role}. Give operators= as well, or another method",
            )  # fmt: skip
    return settings


def _open(member: object, role: str) -> bool:
    return isinstance(member, Operator) and getattr(member, role) is None
