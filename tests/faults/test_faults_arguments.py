"""Odd parts of a problem: spaces, gradients, constraints, and points that are asked and told."""

import itertools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from fault_tools import attempt

import uaos
from uaos import Categorical, Integer, Real

BOX = [(-5, 5)] * 2
HUGE = 10**400


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


def sphere(x: Any) -> float:
    return float((x**2).sum())


CHOICES: dict[str, list[Any]] = {
    "lists": [[1], [2]], "arrays": [np.array([1, 2]), np.array([3, 4])], "numpy": [
        np.float64(1), np.int64(2), np.str_("a")], "nan": [float("nan"), 1.0],
    "unhashable": [Unhashable(), Unhashable()], "functions": [len, max], "mixed": [None, True, 1],
    "many": list(range(5000)), "huge": [HUGE, 1], "signs": [np.inf, -np.inf], "bytes": [b"a", b"b"],
}  # fmt: skip


@pytest.mark.parametrize("kind", CHOICES)
def test_any_values_are_choices(kind: str, count) -> None:
    """Each choice comes to the function as it was declared, and its condition holds there."""
    choices = CHOICES[kind]
    space = {"c": Categorical(choices), "y": Real(0, 1, when={"c": [choices[0]]})}

    def fun(values: dict) -> float:
        assert any(values["c"] is choice for choice in choices)
        assert ("y" in values) == (values["c"] is choices[0])
        return values.get("y", 0.5)

    known = ([{"c": choices[1]}], [0.4])
    result = uaos.minimize(fun, space, x0={"c": choices[0], "y": 0.2}, budget=25, seed=1)
    assert result.fun <= 0.2
    assert uaos.minimize(fun, space, known=known, budget=25, seed=1).fun <= 0.4
    count("odd choices, conditions and spaces", 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Categorical([1, 1.0]), lambda: Categorical([[1], [1]]), lambda: Categorical([]),
        lambda: Categorical("ab"), lambda: Categorical(3), lambda: Real(0, HUGE),
        lambda: Real(-HUGE, 1), lambda: Integer(0, HUGE), lambda: Real(0, 1, step=HUGE),
        lambda: Real(0, 1, step=np.ones(2)), lambda: Real(0, 1, step={}),
        lambda: Real(0, 1, step=0), lambda: Real(1, 2, log=np.ones(2)),
        lambda: Real(1, 2, log="yes"), lambda: Real(True, 2),
        lambda: uaos.Space({"x" * 300: Real(0, 1)}), lambda: uaos.Space({3: Real(0, 1)}),
        *(lambda when=when: uaos.Space({"c": Categorical([1, 2]), "y": Real(0, 1, when=when)})
          for when in (3, 0.5, len, np.array(3), np.ones(2), {"c": 3}, {"d": 1}, [3], {},
                       {"c": []})),
    ],
)  # fmt: skip
def test_what_is_no_variable_is_refused(make: Callable[[], object], count) -> None:
    assert attempt(make)[1]
    count("odd choices, conditions and spaces")


def test_long_chains_of_conditions_take_no_time() -> None:
    """The alternatives of a chain would double with each variable if they were multiplied out."""
    space: dict[str, object] = {f"c{i}": Categorical([1, 2]) for i in range(2)}
    for i in range(2, 60):
        space[f"c{i}"] = Categorical([1, 2], when=[{f"c{i - 1}": 1}, {f"c{i - 2}": 2}])

    def fun(values: dict) -> float:
        for i in range(2, 60):
            exists = values.get(f"c{i - 1}") == 1 or values.get(f"c{i - 2}") == 2
            assert (f"c{i}" in values) == exists
        return float(len(values))

    uaos.minimize(fun, space, budget=40, seed=1)
    activity = uaos.Space(space).activity
    assert sum(map(len, activity.alternatives)) == 2 * 58


ODD: dict[str, Callable[[Any], Any]] = {
    "nan": lambda x: x * np.nan, "inf": lambda x: x * 0 + np.inf, "none": lambda x: None,
    "string": lambda x: "a", "complex": lambda x: 1j * x, "huge": lambda x: [HUGE, 1],
    "empty": lambda x: [], "square": lambda x: np.ones((2, 2)), "dict": lambda x: {"a": 1},
    "object": lambda x: [object(), 1], "ragged": lambda x: [[1], [1, 2]],
    "large": lambda x: [1e308, -1e308], "generator": lambda x: (v for v in x),
    "inside": lambda x: uaos.minimize(sphere, BOX, budget=20, seed=1).x,
}  # fmt: skip


@pytest.mark.parametrize("method", [None, "SQP"])
@pytest.mark.parametrize("kind", ODD)
def test_odd_gradients_and_constraints(kind: str, method: str | None, count) -> None:
    def mutating(x: Any) -> Any:
        returned = ODD[kind](x.copy())
        x[:] = 999
        return returned

    options: list[dict[str, Any]] = [{"jac": mutating}]
    options += [{"constraints": {"type": kind, "fun": mutating}} for kind in ("eq", "ineq")]
    for option in options:
        call = {"budget": 60, "seed": 1, "method": method, **option}
        warned = kind == "none" and "constraints" in option
        expected = pytest.warns(RuntimeWarning, match="returned None") if warned else nullcontext()
        with expected:
            result, _ = attempt(lambda call=call: uaos.minimize(sphere, BOX, **call))
        if result is not None and result.x is not None:
            assert (np.abs(result.x) <= 5).all()
            feasible = "jac" in option or result.constr_violation == 0
            assert result.fun == (sphere(result.x) if feasible else np.inf)
    count("odd gradients and constraints", len(options))


def test_a_constraint_may_have_different_infinite_values() -> None:
    """An infinite value is on the allowed side of an infinite bound."""
    above = {"type": "ineq", "fun": lambda x: np.inf if x[0] > 1 else -np.inf}
    result = uaos.minimize(sphere, BOX, constraints=above, budget=2000, seed=1)
    assert result.x[0] > 1
    assert result.constr_violation == 0


def test_a_constraint_that_returns_different_numbers_of_values_is_refused() -> None:
    sizes = itertools.count()
    ragged = {"type": "ineq", "fun": lambda x: [1.0] * (1 + next(sizes) % 2)}
    line = attempt(lambda: uaos.minimize(sphere, BOX, constraints=ragged, budget=60, seed=1))[1]
    assert "different numbers of values" in line


@pytest.mark.parametrize("kind", [uaos.CMAES, uaos.DifferentialEvolution, uaos.LocalSearch])
def test_odd_numbers_of_points_and_odd_tellings(kind: type, count) -> None:
    """Whatever is refused changes nothing: the points can be told afterwards."""
    optimizer = kind(BOX, seed=1, budget=500)
    for n in (0, -1, 2.5, "a", True, float("nan"), [1], np.array([2, 3])):
        assert attempt(lambda n=n: optimizer.ask(n))[1], n
    points = optimizer.ask(2)
    values = [sphere(x) for x in points]
    twice = np.vstack([points, points[:1]])
    tellings = [
        ([*values, 1.0], points), ([*values, 1.0], twice), (np.ones((len(points), 1)), points),
        (values, points + 9), (["a"] * len(points), points), ([1j] * len(points), points),
        ([HUGE] * len(points), points), (values, points[:, :1]), (values, None), (values, "ab"),
        (values[0] + 1j, points[0]), (values, points * np.nan),
    ]  # fmt: skip
    for told, where in tellings:
        assert attempt(lambda told=told, where=where: optimizer.tell(told, points=where))[1]
        assert optimizer.evaluations == 0
    optimizer.tell(values, points=points)
    assert optimizer.evaluations == len(points)
    assert len(kind(BOX, seed=1, budget=500).ask(HUGE)) <= 500
    count("odd points asked for and told", 8 + len(tellings))
