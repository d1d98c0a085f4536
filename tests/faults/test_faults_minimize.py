"""Random calls of `minimize`: its points, its result and its errors are what they should be."""

import contextlib
import math
import random
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import uaos
from uaos.errors import UaosError

METHODS = [None, None, "CMA-ES", "BFGS", "SQP", "STEP", "portfolio", *uaos.methods()]
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
GRADIENTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sphere": lambda x: 2 * x,
    "far": lambda x: np.sign(x - 3.0),
    "edge": np.ones_like,
    "holes": lambda x: np.full_like(x, np.nan),
}
# What the user's functions do to their arguments, and to what they return.
HABITS = ["none", "none", "writes", "keeps", "raises", "re-enters", "same array", "noisy"]
SPACES: list[dict[str, Any]] = [
    {"a": uaos.Real(-5, 5), "b": uaos.Integer(1, 9)},
    {"a": uaos.Real(1e-8, 1e8, log=True), "kind": uaos.Categorical(["x", "y", "z"])},
    {
        "kind": uaos.Categorical(["x", "y"]),
        "a": uaos.Real(0, 1, when={"kind": "x"}),
        "n": uaos.Integer(1, 1000, log=True, when={"kind": "y"}),
        "fixed": 3,
    },
    {"on": uaos.Categorical([True, False]), "order": uaos.Categorical([1, 2, 4], ordered=True)},
    {"kind": uaos.Categorical(["only"])},
]


class OfTheUser(Exception):
    """What the functions below raise."""


@dataclass
class Call:
    """A random call, and what its functions saw."""

    name: str
    bounds: Any
    options: dict[str, Any]
    habit: str
    form: str = "minimize"  # or "maximize", "least_squares"
    seen: list[Any] = field(default_factory=list)
    copies: list[Any] = field(default_factory=list)
    values: list[float] = field(default_factory=list)  # at `copies`, as far as known
    same: np.ndarray = field(default_factory=lambda: np.zeros(1))
    noise: random.Random = field(default_factory=lambda: random.Random(1))

    @property
    def named(self) -> bool:
        return isinstance(self.bounds, dict)

    def value(self, x: Any) -> float:
        """The value at a point without what the habit adds."""
        if self.form == "least_squares":
            return 0.5 * float(np.sum(self.residuals_at(x) ** 2))
        value = FUNCTIONS[self.name](numbers_of(self.bounds, x) if self.named else x)
        return value if np.isfinite(value) else math.nan

    def residuals_at(self, x: np.ndarray) -> np.ndarray:
        return np.append(FUNCTIONS[self.name](x), x - 3.0)

    def fun(self, x: Any) -> Any:
        self.note(x)
        if self.habit == "raises" and len(self.seen) % 5 == 0:
            raise OfTheUser
        if self.habit == "re-enters" and len(self.seen) == 1:
            uaos.minimize(FUNCTIONS["sphere"], [(-1, 1)] * 2, budget=20, seed=1)
        value = self.value(x) + (self.noise.gauss(0, 1) if self.habit == "noisy" else 0.0)
        self.values.append(value)
        returned: Any = value
        if self.form == "least_squares":
            returned = self.residuals_at(x)
        if self.habit == "same array":
            self.same = np.resize(self.same, np.size(returned))
            self.same[:] = returned
            returned = self.same
        slope = self.slope(x) if self.options.get("jac") is True else None
        self.overwrite(x)
        return returned if slope is None else (returned, slope)

    def fun_of_many(self, X: np.ndarray) -> np.ndarray:
        values = np.array([self.value(x) for x in X])
        for x, value in zip(X, values, strict=True):
            self.note(x)
            self.values.append(value)
        self.overwrite(X)
        return values

    def gradient(self, x: np.ndarray) -> np.ndarray:
        self.note(x)
        self.values.append(self.value(x))
        slope = self.slope(x)
        self.overwrite(x)
        return slope

    def slope(self, x: np.ndarray) -> np.ndarray:
        slope = GRADIENTS[self.name](x)
        if self.habit != "same array":
            return slope
        if not hasattr(self, "_slope"):
            self._slope = np.zeros_like(slope)
        self._slope[:] = slope
        return self._slope

    def constraint(self, x: np.ndarray) -> Any:
        """Two constraints, one of which is met everywhere."""
        self.note(x)
        self.values.append(math.nan)
        margins = self.margins(x)
        if self.habit == "same array":
            if not hasattr(self, "_margins"):
                self._margins = margins
            self._margins[:] = margins
            margins = self._margins
        self.overwrite(x)
        return margins

    def margins(self, x: np.ndarray) -> np.ndarray:
        low, high = (-1.0, 1.0) if self.bounds is None else self.bounds[0]
        middle = 0.5 * max(low, -1e300) + 0.5 * min(high, 1e300)
        return np.array([1.0 + np.tanh(x[0]), x[0] - middle])

    def callback(self, intermediate_result: Any) -> None:
        if self.habit == "writes" and isinstance(intermediate_result.x, np.ndarray):
            with contextlib.suppress(ValueError):  # it may be read-only
                intermediate_result.x[:] = 999.0

    def note(self, x: Any) -> None:
        self.seen.append(x)
        self.copies.append(x.copy())

    def overwrite(self, x: Any) -> None:
        if self.habit == "writes" and isinstance(x, dict):
            x.clear()
        elif self.habit == "writes":
            x[:] = 999.0

    def __str__(self) -> str:
        hidden = ("constraints", "known", "callback")
        options = {k: v for k, v in self.options.items() if k not in hidden}
        return f"{self.form} {self.name}, {self.habit}, {self.bounds}, {options}"


def numbers_of(space: dict[str, Any], x: dict[str, Any]) -> np.ndarray:
    """The values of a candidate as numbers, 0 for those that are not active."""
    found = []
    for name, variable in space.items():
        if isinstance(variable, uaos.Categorical) and name in x:
            found.append(float(variable.choices.index(x[name])))
        else:
            found.append(float(x.get(name, 0.0)))
    return np.array(found)


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


def infinite_bounds(draw: random.Random) -> tuple[Any, list[float]]:
    """Bounds of which at least one is infinite, or none at all, and a point inside."""
    x0 = [draw.choice([0.0, 1.0, -3.5, 1e-9, 1e6]) for _ in range(draw.choice([1, 2, 3, 5]))]
    if draw.random() < 0.3:
        return None, x0
    bounds = [
        draw.choice([(-math.inf, math.inf), (x, math.inf), (-math.inf, x + 1), (x - 1, x + 1)])
        for x in x0
    ]
    return bounds, x0


def random_call(draw: random.Random, folder: Path) -> Call:
    """A call with any of the arguments that a run depends on."""
    options: dict[str, Any] = {"seed": draw.randrange(2**32), "method": draw.choice(METHODS)}
    few = options["method"] in ("GP", "portfolio", None)  # they may model the function at length
    options["budget"] = draw.choice([1, 2, 7, 30] if few else [1, 2, 7, 30, 60, 150, 400])
    if few and options["method"] != "GP" and draw.random() < 0.05:
        options["budget"] = 300  # so that noise is looked for
    habit, name, form = draw.choice(HABITS), draw.choice(list(FUNCTIONS)), "minimize"
    place = draw.random()
    bounds: Any
    if place < 0.15:
        bounds = draw.choice(SPACES)
    elif place < 0.35:
        bounds, options["x0"] = infinite_bounds(draw)
    else:
        bounds = random_bounds(draw)
    if draw.random() < 0.15:
        form = "maximize"
    elif draw.random() < 0.15 and not isinstance(bounds, dict) and habit != "noisy":
        form = "least_squares"
        options.setdefault("x0", [low for low, _ in bounds or [(1.0, 2.0)]])
    call = Call(name, bounds, options, habit, form)
    if not call.named:
        add_parts_of_the_problem(call, draw)
    add_ways_to_run(call, draw, folder)
    return call


def add_parts_of_the_problem(call: Call, draw: random.Random) -> None:
    """Add starting points, integers, constraints and gradients to a call without names."""
    options, bounds = call.options, call.bounds
    finite = bounds is not None and bool(np.isfinite(bounds).all())
    if draw.random() < 0.15 and finite:
        options["x0"] = [draw.choice([low, high, low + (high - low) / 3]) for low, high in bounds]
    if call.form == "least_squares":
        return
    if draw.random() < 0.1 and finite and max(high - low for low, high in bounds) < 1e6:
        options["integrality"] = [high - low > 1 for low, high in bounds]
    if draw.random() < 0.1 and not finite:
        options["scale"] = draw.choice([1e-3, 1.0, 1e5])
    if draw.random() < 0.15 and call.habit not in ("raises", "noisy", "same array"):
        options["vectorized"] = True
    elif draw.random() < 0.15:
        options["constraints"] = {"type": "ineq", "fun": call.constraint}
    if draw.random() < 0.2 and call.name in GRADIENTS and "vectorized" not in options:
        options["jac"] = True if call.form == "minimize" and draw.random() < 0.5 else call.gradient


def add_ways_to_run(call: Call, draw: random.Random, folder: Path) -> None:
    """Add what a run knows, how it is evaluated, when it ends and what it keeps."""
    options = call.options
    if draw.random() < 0.1 and not call.named and "constraints" not in options:
        X = np.array([known_point(call, draw) for _ in range(draw.choice([1, 3]))])
        options["known"] = X, [call.value(x) for x in X]
    if draw.random() < 0.1:
        options["polish"] = True
    if draw.random() < 0.1:
        options["target"] = draw.choice([0.5, 1e9, -1.0])
    if draw.random() < 0.5:
        options["on_error"] = "fail"
    if draw.random() < 0.2:
        options["noise"] = draw.choice([True, False])
    if draw.random() < 0.15:
        options["record"] = "points"
    if draw.random() < 0.15 and "vectorized" not in options:
        options["schedule"] = "async"
    if draw.random() < 0.1 and "vectorized" not in options:
        options["workers"] = "threads"
    if draw.random() < 0.1:
        options["callback"] = call.callback
    if draw.random() < 0.05:
        options["checkpoint"] = folder / "run.state"


def known_point(call: Call, draw: random.Random) -> list[float]:
    """A point inside the bounds, or sometimes outside."""
    x0 = call.options.get("x0")
    pairs = call.bounds or [(x - 1, x + 1) for x in x0]
    ends = [(max(low, -1e300), min(high, 1e300)) for low, high in pairs]
    return [draw.choice([low, high, 7.0 if draw.random() < 0.1 else low]) for low, high in ends]


def make(call: Call, **more: Any) -> uaos.Result:
    """Make the call, with threads as workers if it asks for them."""
    options = call.options | more
    fun = call.fun_of_many if options.get("vectorized") else call.fun
    with ThreadPoolExecutor(2) as threads:
        if options.get("workers") == "threads":
            options["workers"] = threads
        if call.form == "least_squares":
            return uaos.least_squares(fun, options.pop("x0"), call.bounds, **options)
        return getattr(uaos, call.form)(fun, call.bounds, **options)


def check_points(call: Call) -> None:
    """Check all points that the user's functions got."""
    if call.habit == "keeps":
        kept = all(map(np.array_equal, call.seen, call.copies))
        assert kept, "a point that changed after it was handed out"
    if call.named:
        for x in call.copies:
            check_candidate(call.bounds, x)
        return
    dimension = len(call.options["x0"] if call.bounds is None else call.bounds)
    points = np.array(call.copies).reshape(-1, dimension)
    assert np.isfinite(points).all(), "a point that is not finite"
    check_inside(call, points)


def check_inside(call: Call, points: np.ndarray) -> None:
    if call.bounds is not None:
        low, high = np.array(call.bounds).T
        outside = ~((low <= points) & (points <= high))
        assert not outside.any(), f"a point outside: {points[outside.any(axis=1)][0]}"
    if "integrality" in call.options:
        whole = points[:, call.options["integrality"]]
        assert (whole == np.round(whole)).all(), "a fraction of an integer coordinate"


def check_candidate(space: dict[str, Any], x: dict[str, Any]) -> None:
    """Check that a candidate has the variables that are active, with values of their domains."""
    for name, variable in space.items():
        when = getattr(variable, "when", None) or {}
        active = all(x.get(other) == needed for other, needed in when.items())
        assert (name in x) == active, f"{name} in {x}"
        if not active:
            continue
        if isinstance(variable, uaos.Categorical):
            assert x[name] in variable.choices
        elif isinstance(variable, uaos.Real | uaos.Integer):
            assert variable.low <= x[name] <= variable.high, f"{name} in {x}"
        else:
            assert x[name] == variable
        assert not isinstance(variable, uaos.Integer) or type(x[name]) is int


def check_value(call: Call, x: Any, fun: float) -> None:
    """Check a value: it is that at x, or between those that the function returned at x."""
    if call.habit == "noisy":
        at_x = [v for y, v in zip(call.copies, call.values, strict=False) if np.array_equal(x, y)]
        at_x += [call.value(x)] if "known" in call.options else []
        at_x = [value for value in at_x if np.isfinite(value)]
        assert at_x or math.isnan(fun), f"fun = {fun!r}, where there is no value"
        rounding = 1e-12 * max(map(abs, at_x), default=0.0)
        between = not at_x or min(at_x) - rounding <= fun <= max(at_x) + rounding
        assert between, f"fun = {fun!r}, not between {at_x}"
        return
    expected = call.value(x)
    if call.options.get("noise") is True:  # the mean of equal values, which may be rounded
        expected = fun if math.isclose(fun, expected, rel_tol=1e-12) else expected
    same = fun == expected or (math.isnan(fun) and math.isnan(expected))
    assert same, f"fun = {fun!r}, and {expected!r} at x"


def check_repeated(call: Call, result: uaos.Result) -> None:
    """Check that a checkpoint changed nothing, and that a log repeats an asynchronous run."""
    if call.habit not in ("none", "writes", "keeps", "same array"):
        return
    again = None
    if result.log is not None and "known" not in call.options:
        again = make(call, schedule=result.log, workers=1, checkpoint=None)
    elif "checkpoint" in call.options and "schedule" not in call.options:
        again = make(call, checkpoint=None)
    if again is not None:
        assert np.array_equal(result.x, again.x), f"x = {result.x}, and {again.x} the second time"
        assert result.nfev == again.nfev


def ends_run(intermediate_result: Any) -> bool:
    """A callback that ends a run after some batches."""
    return bool(intermediate_result.nit >= 2)


def check(call: Call) -> str:
    """Make the call and check all that it promises; what came of it."""
    checkpoint = call.options.get("checkpoint")
    try:
        if checkpoint is not None:
            make(call, callback=ends_run)
        result = make(call)
    except UaosError:
        return "refused"
    except OfTheUser:
        assert call.habit == "raises"
        assert call.options.get("on_error") != "fail"
        return "the user's exception"
    finally:
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
        check_points(call)
    if result.X is not None and not call.named:
        check_inside(call, result.X)
        for x, fun in zip(result.X, result.F, strict=True):
            if call.habit != "raises" and not (math.isnan(fun) and "constraints" in call.options):
                check_value(call, x, float(fun))
    if result.x is None:
        assert np.isnan(result.fun)
        assert not result.success
        return "no value anywhere"
    if call.named:
        check_candidate(call.bounds, result.x)
    else:
        check_inside(call, result.x[None])
    feasible = "constraints" not in call.options or (call.margins(result.x) >= 0).all()
    assert feasible or result.maxcv > 0, "infeasible, although maxcv = 0"
    if feasible or abs(result.fun) != math.inf:  # as in SciPy, fun may not be called there
        check_value(call, result.x, result.fun)
    check_repeated(call, result)
    if call.form == "least_squares" and call.habit != "raises" and np.isfinite(result.fun):
        assert np.array_equal(result.residuals, call.residuals_at(result.x))
    return "a result"


@pytest.mark.parametrize(
    ("times", "seed"),
    [(200, 1), *(pytest.param(2500, k, marks=pytest.mark.faults_long) for k in range(2, 6))],
)
def test_random_calls_of_minimize(times: int, seed: int, tmp_path: Path, count) -> None:
    draw, outcomes = random.Random(seed), []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of overflows in huge boxes
        for number in range(times):
            call = random_call(draw, tmp_path)
            try:
                outcomes.append(check(call))
            except Exception as error:
                pytest.fail(f"call {number} ({call}): {type(error).__name__}: {error}")
    assert outcomes.count("refused") < times / 4
    for outcome in set(outcomes):
        count(f"random calls of minimize: {outcome}", outcomes.count(outcome))
