"""The state of a run as plain values and arrays, and back.

What is to be restored may come from a damaged or altered file: all of it is checked first.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.errors import InvalidFile, UaosError
from uaos.optimizers.de import layout
from uaos.optimizers.de.pool import RuleMemory
from uaos.optimizers.de.protocols import Array
from uaos.optimizers.de.schedule import MOST_PARENTS, least_population
from uaos.optimizers.history import History

if TYPE_CHECKING:
    from uaos.optimizers.de.engine import Engine

_PLAIN = (
    "evaluations", "generation", "restarts", "best_fitness", "NP", "NP_start", "_latest",
    "_capacity", "_epoch_start", "_epoch_best", "_since_better", "_started",
)  # fmt: skip
_ARRAYS = ("_rows", "_fitness", "_order", "_counters")
_BETWEEN = ("_asked", "_operators", "_F", "_CR", "_uniforms")


def state(engine: "Engine") -> dict[str, Any]:
    """All that is needed to continue a run, as plain values and arrays."""
    kept: dict[str, Any] = {name: getattr(engine, name) for name in _PLAIN}
    kept |= {name: getattr(engine, name).copy() for name in _ARRAYS}
    kept["rng"] = engine.rng.bit_generator.state
    kept["best_x"] = engine.best_x
    kept["rules"] = engine._rules.state()
    kept["selector"] = engine._selector.state()
    kept["own"] = {}
    for operator in engine.pool.own.values():
        remembered = getattr(operator, "state", None)
        if callable(remembered):
            kept["own"][operator.name] = remembered()
    kept["history"] = None if engine.history is None else engine.history.state()
    if engine._asked is not None:
        # Between ask and tell; the initial population has no operators yet.
        names = _BETWEEN if engine._started else ("_asked",)
        kept["between"] = {name: getattr(engine, name).copy() for name in names}
        if engine._started:
            kept["between"]["_repairs"] = int(engine._repairs)
            if engine.history is not None:
                kept["between"]["_probabilities"] = engine._probabilities
    return kept


def restore(engine: "Engine", state: Mapping[str, Any]) -> None:
    """Continue from what :func:`state` returned, or raise and leave the engine as it was."""
    found = _Saved(state)
    values = _population(engine, found) | _progress(engine, found)
    values |= _between(engine, found, values)
    values["_rules"] = _rules(engine, found.part("rules"))
    values["history"] = _history(engine, found)
    rng = found["rng"]
    _check_generator(engine.rng, rng)
    values["_selector"] = _parts_of_others(engine, found, values)
    for name, value in values.items():
        setattr(engine, name, value)
    # Last, for the selector's part has been using the same generator.
    engine.rng.bit_generator.state = rng


def new_generator(name: Any) -> np.random.Generator:
    """A generator of the kind that a saved run had; its state is restored with the run's."""
    kind = getattr(np.random, name, None) if isinstance(name, str) else None
    if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
        raise InvalidFile(f"generator is {name!r}; expected a bit generator of NumPy, like 'SFC64'")
    return np.random.Generator(kind())


def _population(engine: "Engine", found: "_Saved") -> dict[str, Any]:
    least, D = least_population(engine.pool.members)[0], len(engine.low)
    start = found.whole("NP_start", least, MOST_PARENTS)
    if engine.settings.NP is not None and found["restarts"] == 0:
        given = engine.settings.population_size(D, engine.budget)
        found.require(start == given, "NP_start", f"{given}, by the settings")
    NP = found.whole("NP", least, start)
    most = engine._archive_capacity(start)
    capacity = engine._archive_capacity(NP)
    order = found.array("_order", (NP,), "i", 0, NP - 1)
    found.require((np.sort(order) == np.arange(NP)).all(), "_order", f"each of 0 to {NP - 1} once")
    counters = found.array("_counters", (2,), "i", 0)
    archived = int(counters[layout.ARCHIVED])
    found.require(archived <= capacity, "_counters", f"at most {capacity} archived parents")
    fitness = found.array("_fitness", (NP,), "f")
    found.require(not np.isnan(fitness).any(), "_fitness", "numbers that are not NaN")
    return {
        "NP": NP,
        "NP_start": start,
        "_capacity": found.whole("_capacity", capacity, capacity),
        "_latest": found.whole("_latest", -1, NP - 1),
        "_rows": found.array("_rows", (start + most, D), "f"),
        "_fitness": fitness,
        "_order": order,
        "_counters": counters,
    }


def _progress(engine: "Engine", found: "_Saved") -> dict[str, Any]:
    spent = found.whole("evaluations", 0, engine.budget)
    best, best_x = found.number("best_fitness"), found["best_x"]
    if best_x is not None:
        best_x = found.array("best_x", (len(engine.low),), "f")
    found.require((best_x is None) == (best == math.inf), "best_fitness", "that of best_x")
    started = found["_started"]
    found.require(isinstance(started, bool), "_started", "True or False")
    return {
        "evaluations": spent,
        "generation": found.whole("generation", 0),
        "restarts": found.whole("restarts", 0),
        "best_fitness": best,
        "best_x": best_x,
        "_epoch_start": found.whole("_epoch_start", 0, spent),
        "_epoch_best": found.number("_epoch_best"),
        "_since_better": found.whole("_since_better", 0),
        "_started": started,
    }


def _between(engine: "Engine", found: "_Saved", values: Mapping[str, Any]) -> dict[str, Any]:
    """What there is between `ask` and `tell`."""
    if "between" not in found.data:
        return {"_asked": None}
    part = found.part("between")
    n, D, K = values["NP"], len(engine.low), len(engine.pool.members)
    if engine.budget is not None:
        n = min(n, engine.budget - values["evaluations"])
    made: dict[str, Any] = {"_asked": part.array("_asked", (n, D), "f")}
    if values["_started"]:
        made["_operators"] = part.array("_operators", (n,), "i", 0, K - 1)
        # An own operator's F and CR are never set, so they may be anything.
        made["_F"], made["_CR"] = part.array("_F", (n,), "f"), part.array("_CR", (n,), "f")
        below = float(np.nextafter(1, 0))  # indices are made of them
        made["_uniforms"] = part.array("_uniforms", (n, engine._columns), "f", 0, below)
        made["_repairs"] = part.whole("_repairs", 0)
        if found["history"] is not None:
            made["_probabilities"] = part.array("_probabilities", (K,), "f")
    return made


def _rules(engine: "Engine", found: "_Saved") -> RuleMemory:
    memory = RuleMemory(engine.pool.rules)
    turns = found.array("turns", memory.turns.shape, "i", 0)
    found.require((turns < memory.lengths).all(), "turns", "the number of a pair for each rule")
    memory.restore({"means": found.array("means", memory.means.shape, "f", 0, 2), "turns": turns})
    return memory


def _history(engine: "Engine", found: "_Saved") -> History | None:
    if found["history"] is None:
        return None
    part = found.part("history")
    names, K = engine.pool.names, len(engine.pool.names)
    part.require(
        isinstance(part["operators"], list | tuple) and tuple(part["operators"]) == names,
        "operators",
        f"those of the pool, {', '.join(names)}",
    )
    part.whole("max_rows", 2)
    part.whole("filled", 0, part.whole("stride", 1) - 1)
    columns = part.part("data")
    shape = np.shape(columns["best"])
    part.require(len(shape) == 1 and shape[0] <= part["max_rows"], "data", "at most max_rows")
    columns.array("best", shape, "f")
    columns.array("probabilities", (*shape, K), "f")
    columns.array("counts", (*shape, K), "i", 0)
    for name in ("repairs", "evaluations", "iteration", "population", "restarts"):
        columns.array(name, shape, "i", 0)
    part.require(len(columns.data) == 8, "data", "the eight columns of a history")
    part.require(len(part["columns"]) == 3, "columns", "three names")
    part.require(shape[0] > 0 or not part["filled"], "filled", "0, as there are no rows")
    return History.from_state(dict(part.data))


def _check_generator(rng: np.random.Generator, state: Any) -> None:
    kind = type(rng.bit_generator)
    try:
        kind().state = state
    except Exception as error:
        raise InvalidFile(
            f"rng is not the state of a {kind.__name__} generator: {error}"
        ) from error


def _parts_of_others(engine: "Engine", found: "_Saved", values: Mapping[str, Any]) -> Any:
    """The selector, restored; and own operators, if they remember anything."""
    own = found.part("own").data
    left = None
    if engine.budget is not None:
        left = max(1, engine.budget - values["_epoch_start"] - values["NP_start"])
    before = engine.rng.bit_generator.state
    restoring = "the selector"
    try:
        selector = engine._new_selector(left)
        selector.restore(found["selector"])
        for operator in engine.pool.own.values():
            if operator.name in own and hasattr(operator, "restore"):
                restoring = f"operator {operator.name!r}"
                operator.restore(own[operator.name])
    except Exception as error:
        engine.rng.bit_generator.state = before
        if isinstance(error, UaosError):
            raise
        raise InvalidFile(f"{restoring} cannot be restored: {error!r}") from error
    return selector


class _Saved:
    """Saved values by name, each checked as it is read."""

    def __init__(self, data: Any, where: str = "") -> None:
        if not isinstance(data, Mapping):
            raise InvalidFile(
                f"{where or 'the state'} is {_shown(data)}; expected a table of values"
            )
        self.data = data
        self._where = where

    def __getitem__(self, name: str) -> Any:
        if name not in self.data:
            raise InvalidFile(f"{self._full(name)} is missing")
        return self.data[name]

    def part(self, name: str) -> "_Saved":
        """A table in this one."""
        return _Saved(self[name], self._full(name))

    def require(self, fits: Any, name: str, expected: str) -> None:
        """Raise :class:`InvalidFile` that shows the value and what was expected."""
        if not fits:
            raise InvalidFile(f"{self._full(name)} is {_shown(self[name])}; expected {expected}")

    def whole(self, name: str, low: int, high: int | None = None) -> int:
        """A whole number from `low` to `high`."""
        value = self[name]
        fits = isinstance(value, int | np.integer) and not isinstance(value, bool)
        fits = fits and low <= value and (high is None or value <= high)
        most = f" at least {low}" if high is None else f" {low} to {high}"
        self.require(fits, name, "a whole number" + (f", {low}" if low == high else most))
        return int(value)

    def number(self, name: str) -> float:
        """A number that is not NaN; it may be infinite."""
        value = self[name]
        fits = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
        self.require(fits and value == value, name, "a number")
        return float(value)

    def array(
        self,
        name: str,
        shape: tuple[int, ...],
        kind: str,
        low: float | None = None,
        high: float | None = None,
    ) -> Array:
        """A copy of an array of floats ("f") or whole numbers ("i"), all from `low` to `high`."""
        value = self[name]
        what = "floats" if kind == "f" else "whole numbers"
        fits = isinstance(value, np.ndarray) and value.dtype.kind == kind and value.shape == shape
        self.require(fits, name, f"an array of {what}, shape {shape}")
        if low is not None:
            top = math.inf if high is None else high
            inside = bool(((value >= low) & (value <= top)).all())
            least = f" of at least {low:g}" if high is None else f" {low:g} to {high:g}"
            self.require(inside, name, what + least)
        return np.array(value, np.float64 if kind == "f" else np.int64, order="C")

    def _full(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}, shape {value.shape}"
    if isinstance(value, Mapping):
        return f"a table of {', '.join(map(str, value))}"[:200]
    return repr(value)[:80]
