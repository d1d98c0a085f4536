"""Random calls of `minimize`: its points, its result and its errors are what they should be."""

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from fault_tools import short_and_long

import uaos
from uaos.errors import UaosError

METHODS = [None, "CMA-ES", "BFGS", "STEP", "portfolio", *uaos.methods()]
FUNCTIONS: dict[str, Callable[[np.ndarray], float]] = {
    "sphere": lambda x: float((x * x).sum()),
    "far": lambda x: float(np.abs(x - 3.0).sum()),
    "waves": lambda x: float((x * x - 10 * np.cos(x)).sum()),
    "steps": lambda x: float(np.floor(np.abs(x)).sum()),
    "constant": lambda x: 1.0,
    "edge": lambda x: float(x.sum()),
    "tiny": lambda x: float(1e-300 * np.abs(x).sum()),
    "huge": lambda x: float(1e300 * np.tanh(x).sum()),
    "holes": lambda x: float("nan") if np.sin(7 * x).sum() > 0.5 else float(np.abs(x).sum()),
    "cliffs": lambda x: float("-inf") if np.cos(5 * x).sum() > 0.9 else float(np.abs(x).sum()),
    "nowhere": lambda x: float("nan"),
}


class OfTheUser(Exception):
    """What the functions below raise."""


@dataclass
class Call:
    """A random call, and what its functions saw."""

    name: str
    bounds: list[tuple[float, float]]
    options: dict[str, Any]
    habit: str  # what the objective does to its argument
    seen: list[np.ndarray] = field(default_factory=list)
    copies: list[np.ndarray] = field(default_factory=list)

    def fun(self, x: np.ndarray) -> float:
        self.note(x)
        if self.habit == "raises" and len(self.seen) % 5 == 0:
            raise OfTheUser
        if self.habit == "re-enters" and len(self.seen) == 1:
            uaos.minimize(FUNCTIONS["sphere"], [(-1, 1)] * 2, budget=20, seed=1)
        value = FUNCTIONS[self.name](x)
        if self.habit == "writes":
            x[:] = 999.0
        return value

    def fun_of_many(self, X: np.ndarray) -> np.ndarray:
        values = np.array([FUNCTIONS[self.name](x) for x in X])
        for x in X:
            self.note(x)
        if self.habit == "writes":
            X[:] = -999.0
        return values

    def constraint(self, x: np.ndarray) -> float:
        self.note(x)
        value = float(x[0] - self.bounds[0][0])  # met everywhere
        if self.habit == "writes":
            x[:] = 999.0
        return value

    def note(self, x: np.ndarray) -> None:
        self.seen.append(x)
        self.copies.append(x.copy())

    def __str__(self) -> str:
        options = {k: v for k, v in self.options.items() if k != "constraints"}
        return f"{self.name}, {self.habit}, {self.bounds}, {options}"


def random_bounds(draw: random.Random) -> list[tuple[float, float]]:
    """Boxes of all sizes, with coordinates that are held."""
    size = draw.choice(["usual", "usual", "usual", "tiny", "wide", "huge", "mixed"])
    sides = {
        "usual": [(-5.0, 5.0), (0.0, 1.0), (2.0, 2.0), (-100.0, -1.0)],
        "tiny": [(0.0, 5e-324), (1.0, 1.0 + 2.0**-52), (-1e-300, 1e-300)],
        "wide": [(-1e12, 1e12), (0.0, 1e150)],
        "huge": [(-8e307, 8e307), (-1e308, 7e307)],
        "mixed": [(-5.0, 5.0), (1.0, 1.0 + 1e-15), (-8e307, 8e307), (0.0, 1e-200)],
    }[size]
    return [draw.choice(sides) for _ in range(draw.choice([1, 2, 2, 3, 5]))]


def random_call(draw: random.Random) -> Call:
    bounds = random_bounds(draw)
    options: dict[str, Any] = {"seed": draw.randrange(2**32), "method": draw.choice(METHODS)}
    few = options["method"] in ("GP", "portfolio", None)  # they may model the function at length
    options["budget"] = draw.choice([1, 2, 7, 30] if few else [1, 2, 7, 30, 60, 150])
    small = max(high - low for low, high in bounds) < 1e6
    habit = draw.choice(["none", "none", "writes", "keeps", "raises", "re-enters"])
    if draw.random() < 0.15:
        options["x0"] = [draw.choice([low, high, low + (high - low) / 3]) for low, high in bounds]
    if draw.random() < 0.1 and small:
        options["integrality"] = [high - low > 1 for low, high in bounds]
    if draw.random() < 0.15 and habit != "raises":
        options["vectorized"] = True
    elif draw.random() < 0.15:
        options["constraints"] = {"type": "ineq"}
    if draw.random() < 0.1:
        options["polish"] = True
    if draw.random() < 0.1:
        options["target"] = draw.choice([0.5, 1e9, -1.0])
    if draw.random() < 0.5:
        options["on_error"] = "fail"
    call = Call(draw.choice(list(FUNCTIONS)), bounds, options, habit)
    if "constraints" in options:
        options["constraints"]["fun"] = call.constraint
    return call


def check(call: Call) -> str:
    """Make the call and check all that it promises; what came of it."""
    low, high = np.array(call.bounds).T
    fun = call.fun_of_many if call.options.get("vectorized") else call.fun
    try:
        result = uaos.minimize(fun, call.bounds, **call.options)
    except UaosError:
        return "refused"
    except OfTheUser:
        assert call.habit == "raises"
        assert call.options.get("on_error") != "fail"
        return "the user's exception"
    finally:
        points = np.array(call.copies).reshape(-1, len(low))
        assert np.isfinite(points).all(), "a point that is not finite"
        outside = ~((low <= points) & (points <= high))
        assert not outside.any(), f"a point outside: {points[outside.any(axis=1)][0]}"
        if call.habit == "keeps":
            kept = all(map(np.array_equal, call.seen, call.copies))
            assert kept, "a point that changed after it was handed out"
    if result.x is None:
        assert np.isnan(result.fun)
        assert not result.success
        return "no value anywhere"
    assert ((low <= result.x) & (result.x <= high)).all(), f"x = {result.x}"
    value = FUNCTIONS[call.name](result.x.copy())
    expected = value if np.isfinite(value) else np.nan
    assert result.fun == expected, f"fun = {result.fun!r}, and {expected!r} at x"
    return "a result"


@short_and_long(200, 10_000)
def test_random_calls_of_minimize(times: int, count) -> None:
    draw, outcomes = random.Random(times), []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of overflows in huge boxes
        for number in range(times):
            call = random_call(draw)
            try:
                outcomes.append(check(call))
            except Exception as error:
                pytest.fail(f"call {number} ({call}): {type(error).__name__}: {error}")
    for outcome in set(outcomes):
        count(f"random calls of minimize: {outcome}", outcomes.count(outcome))
