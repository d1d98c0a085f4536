"""Named variables: what functions get, what a run returns, and what is refused."""

import math
import pickle
import sys

import numpy as np
import pytest
from raising import raises

import uaos
from uaos import Categorical, Integer, Real, Space
from uaos.errors import InvalidParameter, UnknownName
from uaos.optimizers.catalogue import as_configuration
from uaos.optimizers.mixed import Coordinates


def svm() -> dict[str, object]:
    """The space of the documentation, and one variable of each further kind."""
    return {
        "lr": Real(1e-5, 1e-1, log=True),
        "degree": Integer(2, 5, when={"kernel": "poly"}),  # before what it depends on
        "depth": Integer(1, 12),
        "kernel": Categorical(["rbf", "poly", "linear"]),
        "shrink": Categorical([True, False]),
        "size": Categorical(["S", "M", "L"], ordered=True),
        "width": Integer(1, 1000, log=True),
        "batch": Integer(16, 100, step=16),
        "drop": Real(0.1, 0.65, step=0.1),
        "folds": 3,
    }


def loss(p: dict) -> float:
    """0 at lr = 1e-3, depth = 7, kernel poly of degree 3."""
    miss = abs(p["degree"] - 3) if p["kernel"] == "poly" else 2
    return (math.log10(p["lr"]) + 3) ** 2 + abs(p["depth"] - 7) + miss


# What a function gets


def test_values_have_the_types_that_were_declared() -> None:
    p = Space(svm()).decode(Space(svm()).bounds[:, 1])
    types = {name: type(value) for name, value in p.items()}
    assert types == {
        "lr": float, "depth": int, "kernel": str, "shrink": bool, "size": str, "width": int,
        "batch": int, "drop": float, "folds": int,
    }  # fmt: skip
    assert p["lr"] == 0.1  # exp(log(0.1)) may be above
    assert (p["batch"], p["drop"]) == (
        96,
        0.6,
    )  # 16 + 5 · 16, 0.1 + 5 · 0.1


def test_an_inactive_variable_is_absent() -> None:
    space = Space(svm())
    assert space.names.index("degree") > space.names.index("kernel")
    point = space.encode({"lr": 0.01, "depth": 3, "kernel": "rbf", "shrink": True, "size": "S",
                          "width": 10, "batch": 32, "drop": 0.2})  # fmt: skip
    assert "degree" not in space.decode(point)
    point[[v.name for v in space.searched].index("kernel")] = 1
    assert space.decode(point)["degree"] == 3  # the middle of its range, rounded down


def test_a_point_and_its_values_lead_to_each_other() -> None:
    space = Space(svm())
    rng = np.random.default_rng(1)
    for _ in range(200):
        low, high = space.bounds.T
        values = space.decode(low + (high - low) * rng.random(len(low)))
        again = space.decode(space.encode(values))
        assert math.isclose(again.pop("lr"), values.pop("lr"))
        assert again == values


@pytest.mark.parametrize("nothing", [None, float("nan"), 99])
def test_the_value_of_an_inactive_variable_does_not_count(nothing: object) -> None:
    """A row of a data frame has NaN or None for it."""
    space = uaos.Space({"a": uaos.Integer(0, 1), "b": uaos.Real(0, 1, when={"a": 1})})
    assert space.encode({"a": 0, "b": nothing}).tolist() == [0.0, 0.5]
    with pytest.raises(InvalidParameter, match=r"b of x0 is (None|nan|99); expected 0(.0)? to 1"):
        space.encode({"a": 1, "b": nothing}, "x0")


def test_coordinates_say_what_they_are() -> None:
    space = Space(svm())
    kinds = dict(zip([v.name for v in space.searched], space.integrality.tolist(), strict=True))
    assert kinds == {
        "lr": 0, "depth": 1, "kernel": 2, "shrink": 1, "size": 1, "width": 0, "batch": 1, "drop": 1,
        "degree": 1,
    }  # fmt: skip


def test_every_integer_of_a_log_scale_is_reached_from_its_part_of_the_interval() -> None:
    low, high, _ = Integer(1, 4, log=True).coordinate
    assert math.isclose(low, math.log(0.5))
    assert math.isclose(high, math.log(4.5))
    decoded = [Integer(1, 4, log=True).decode(u) for u in np.linspace(low, high, 1000)]
    assert sorted(set(decoded)) == [1, 2, 3, 4]


@pytest.mark.parametrize("method", ["GP", "mix", "CMA-ES"])
def test_integers_on_a_log_scale_are_proposed_as_such(method: str) -> None:
    """An optimizer asks for log n, so that values of equal points are recognized."""
    space = Space({"n": Integer(1, 9, log=True), "x": Real(0, 1)})
    assert uaos.Space({"x": Real(0, 1, log=False), "n": Integer(0, 3)}).log_integers is None
    run = as_configuration(method).build(space, seed=1, budget=60)
    while not run.done:
        points = run.ask()
        decoded = space.decode(points)
        np.testing.assert_allclose(points[:, 0], np.log([p["n"] for p in decoded]), atol=1e-15)
        run.tell([abs(p["n"] - 7) + p["x"] for p in decoded])
    assert space.decode(run.best_x)["n"] == 7


def test_no_point_of_a_space_of_log_integers_is_evaluated_again_and_again() -> None:
    """24 points, one of them twice; 3 are known, given by math.log."""
    space = {"n": Integer(1, 8, log=True), "k": Categorical(["a", "b", "c"])}
    seen = []

    def loss(p: dict) -> float:
        seen.append((p["n"], p["k"]))
        return abs(p["n"] - 5) + (p["k"] != "b")

    result = uaos.minimize(loss, space, budget=100, seed=1)
    assert (result.x, len(seen), len(set(seen))) == ({"n": 5, "k": "b"}, 25, 24)
    known = [{"n": n, "k": "a"} for n in (3, 6, 7)]
    del seen[:]
    uaos.minimize(loss, space, budget=100, seed=1, known=(known, [3.0, 2.0, 3.0]), noise=False)
    assert not {(3, "a"), (6, "a"), (7, "a")} & set(seen[:20])


def test_a_range_of_log_integers_has_all_of_its_values_and_no_more() -> None:
    for low, high in ((1, 2), (1, 9), (7, 10), (10**15, 2 * 10**15), (1, 10**300)):
        coordinates = Coordinates.of(Space({"n": Integer(low, high, log=True), "x": Real(0, 1)}))
        points = coordinates.uniform(200, np.random.default_rng(1))
        points = np.vstack([points, np.column_stack([coordinates.low, coordinates.high]).T])
        rounded = coordinates.rounded(points)
        assert (rounded >= coordinates.low).all()
        assert (rounded <= coordinates.high).all()
        values = [Integer(low, high, log=True).decode(u) for u in rounded[:, 0]]
        np.testing.assert_allclose(rounded[:, 0], [math.log(n) for n in values], rtol=1e-14)
        if high < 10:
            assert set(values) == set(range(low, high + 1))
            np.testing.assert_array_equal(coordinates.rounded(rounded), rounded)


@pytest.mark.parametrize("value", [1e-5, 0.001, 0.3, 1.0, 12345.678])
def test_a_plain_number_on_a_log_scale_is_decoded_as_it_was_encoded(value: float) -> None:
    variable = Real(1e-6, 1e6, log=True)
    assert variable.decode(variable.encode(value)) == value


def test_all_conditions_of_a_mapping_hold_or_those_of_one_of_several() -> None:
    kind = Categorical(["a", "b", "c"])
    both = Integer(0, 9, when={"x": "a", "y": ["a", "b"]})
    either = Integer(0, 9, when=[{"x": "a"}, {"y": "a"}])
    space = Space({"x": kind, "y": kind, "both": both, "either": either})

    def active(x: int, y: int) -> set[str]:
        return set(space.decode([x, y, 0, 0])) - {"x", "y"}

    points = np.array([[0, 1, 0, 0], [0, 2, 0, 0], [1, 1, 0, 0]], float)
    counts = space.activity.of(points)
    assert counts[:, 2:].tolist() == [[True, True], [False, True], [False, False]]
    assert active(0, 1) == {"both", "either"}
    assert active(0, 2) == {"either"}
    assert active(1, 0) == {"either"}
    assert active(1, 1) == set()


def test_a_condition_may_name_an_integer_and_depend_on_a_condition() -> None:
    space = Space({
        "layers": Integer(1, 3),
        "units 2": Integer(1, 9, when={"layers": range(2, 4)}),
        "skip": Categorical([True, False], when={"units 2": [8, 9]}),
    })  # fmt: skip
    assert space.decode([1, 9, 0]) == {"layers": 1}
    assert space.decode([2, 5, 0]) == {"layers": 2, "units 2": 5}
    assert space.decode([3, 9, 0]) == {"layers": 3, "units 2": 9, "skip": True}


def test_coordinates_count_where_their_variables_are_active() -> None:
    """Conditions on steps, log scales and fixed values, and conditions on conditions."""
    space = Space({
        "layers": Integer(1, 300, log=True),
        "kind": Categorical(["x"], when={"layers": [2, 300]}),  # fixed: no coordinate
        "units": Integer(16, 64, step=16, when={"kind": "x"}),
        "drop": Real(0.1, 0.5, step=0.1, when={"units": [32, 64]}),
        "rate": Real(0, 1, when=[{"drop": 0.5}, {"layers": 1}]),
        "always": Real(0, 1, when={"mode": 3}),
        "mode": 3,
    })  # fmt: skip
    rng = np.random.default_rng(1)
    low, high = space.bounds.T
    points = low + (high - low) * rng.random((3000, len(low)))
    points[:, 0] = np.log(rng.choice([0.6, 1.4, 1.6, 2.4, 2.6, 299.6], 3000))
    points[:, 1:3] = np.rint(points[:, 1:3])
    names = [variable.name for variable in space.searched]
    decoded = [[name in candidate for name in names] for candidate in space.decode(points)]
    assert space.activity.of(points).tolist() == decoded
    assert np.mean(decoded, axis=0)[[1, 2, 3]].min() > 0.05
    assert Space({"a": Real(0, 1), "b": Real(0, 1, when={"c": 1}), "c": 1}).activity is None


def test_a_space_keeps_the_order_of_its_declaration_where_it_can() -> None:
    space = {"a": Integer(1, 2), "b": Real(0, 1, when={"a": 1}), "c": Real(0, 1), "d": 3}
    assert Space(space).names == ("a", "b", "c", "d")
    assert Space(dict(reversed(space.items()))).names == ("d", "c", "a", "b")


def test_what_is_printed_can_be_declared() -> None:
    space = Space(svm())
    assert repr(Real(1e-5, 0.1, log=True)) == "Real(1e-05, 0.1, log=True)"
    assert eval(repr(space)) == space


def test_choices_may_be_any_objects() -> None:
    space = Space({"layers": Categorical([(50,), (50, 50), None]), "f": Categorical([math.sin])})
    assert space.decode([1]) == {"layers": (50, 50), "f": math.sin}
    assert space.encode({"layers": None, "f": math.sin}).tolist() == [2]
    arrays = Categorical([np.array([1, 2]), np.array([3, 4])])
    assert arrays.index(np.array([3, 4]), "x") == 1


def test_numbers_of_numpy_declare_plain_ones() -> None:
    space = Space({
        "n": Integer(np.int8(-100), np.int8(120), step=np.int8(110)),
        "k": Integer(np.int64(1), np.int64(9), log=True),
        "x": Real(np.float32(0), np.float32(1), step=np.float32(0.5)),
        "c": Categorical(np.arange(3)),
    })  # fmt: skip
    values = space.decode(space.bounds[:, 1])
    assert values == {"n": 120, "k": 9, "x": 1.0, "c": 2}
    assert [type(value) for value in values.values()] == [int, int, float, int]


def test_integers_that_floats_do_not_tell_apart_count_from_the_lowest() -> None:
    space = Space({"n": Integer(2**62, 2**62 + 5)})
    assert [space.decode([k])["n"] - 2**62 for k in range(6)] == list(range(6))
    assert space.encode({"n": 2**62 + 3}).tolist() == [3]


# Runs


def test_minimize_speaks_in_names() -> None:
    seen: list[object] = []
    result = uaos.minimize(
        loss, svm(), budget=120, seed=1,
        x0={"lr": 1e-2, "depth": 3, "kernel": "rbf", "shrink": True, "size": "S", "width": 10,
            "batch": 32, "drop": 0.2},
        callback=lambda x, convergence: seen.append(x),
    )  # fmt: skip
    assert result.fun < 0.01
    assert {name: result.x[name] for name in ("kernel", "degree", "depth", "folds")} == {
        "kernel": "poly", "degree": 3, "depth": 7, "folds": 3,
    }  # fmt: skip
    assert loss(result.x) == result.fun
    assert all(isinstance(x, dict) for x in seen)
    assert "kernel = 'poly'" in repr(result)


def test_constraints_get_names_too() -> None:
    constraint = {"type": "ineq", "fun": lambda p: p["depth"] - 9 + p.get("degree", 0) * 0}
    result = uaos.minimize(loss, svm(), budget=60, seed=1, constraints=constraint)
    assert result.x["depth"] == 9
    assert result.maxcv == 0


def test_a_vectorized_function_gets_a_list_of_dicts() -> None:
    result = uaos.minimize(
        lambda batch: [loss(p) for p in batch], svm(), budget=30, seed=1, vectorized=True
    )
    assert result.fun == uaos.minimize(loss, svm(), budget=30, seed=1).fun


def test_workers_get_names_and_give_the_same_run() -> None:
    alone = uaos.minimize(loss, svm(), budget=30, seed=1)
    assert uaos.minimize(loss, svm(), budget=30, seed=1, workers=2).x == alone.x


def test_an_exception_names_the_values() -> None:
    def fails(p: dict) -> float:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        uaos.minimize(fails, {"a": Real(0, 1), "b": 3}, seed=1)
    assert "'b': 3" in caught.value.__notes__[0]


def test_an_exception_says_that_a_variable_does_not_exist() -> None:
    space = {"k": Categorical(["a", "b"]), "n": Integer(1, 3, when={"k": "b"})}
    for arguments in (
        {"fun": lambda p: p["n"]},
        {"fun": lambda p: 0.0, "constraints": {"type": "ineq", "fun": lambda p: p["n"]}},
    ):
        with pytest.raises(KeyError) as caught:
            uaos.minimize(bounds=space, seed=1, budget=20, **arguments)
        assert "n does not exist at this point" in caught.value.__notes__[0]


def test_a_run_starts_from_the_defaults_if_each_active_variable_has_one() -> None:
    space = {
        "a": Real(0, 1, default=0.25),
        "b": Categorical(["x", "y"], default="x"),
        "c": Integer(1, 9, when={"b": "y"}),
    }
    points: list[dict] = []
    uaos.minimize(lambda p: points.append(p) or 1.0, space, budget=5, seed=1)
    assert points[0] == {"a": 0.25, "b": "x"}


def test_several_starting_points_are_a_list_of_dicts() -> None:
    points: list[dict] = []
    starts = [{"a": 0.5}, {"a": 0.25}]
    uaos.minimize(
        lambda p: points.append(p) or p["a"], {"a": Real(0, 1)}, x0=starts, budget=4, seed=1
    )
    assert points[:2] == starts


def test_a_frame_has_a_column_for_each_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that is not active is NaN, another value None; choices may be sequences."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    space = {
        "layers": Categorical([(64,), (32, 32), (16, 16)]), "on": Categorical([True, False]),
        "k": Integer(1, 3, when={"on": True}), "mode": Categorical(["a", "b"]),
        "early": Categorical([True, False], when={"on": True}),
    }  # fmt: skip
    result = uaos.minimize(lambda p: len(p), space, budget=20, seed=1, record="points")
    columns = result.to_frame()
    assert set(columns) == {*space, "fun"}
    for k, x in enumerate(result.X):
        assert columns["layers"][k] == x["layers"]
        assert (columns["k"][k] == x["k"]) if x["on"] else np.isnan(columns["k"][k])
        assert columns["early"][k] is x.get("early")
    assert columns["on"].dtype == bool


def test_integers_of_a_frame_may_be_floats() -> None:
    """A column has floats where a variable is not active everywhere."""
    space = {"a": Integer(0, 1), "b": Integer(2, 5, when={"a": 1})}
    rows = [{"a": 1, "b": np.float64(3.0)}, {"a": 0, "b": math.nan}]
    points: list[dict] = []
    uaos.minimize(lambda p: points.append(p) or 1.0, space, x0=rows, budget=2)
    assert points == [{"a": 1, "b": 3}, {"a": 0}]
    assert type(points[0]["b"]) is int


def test_a_callback_sees_a_run_in_one_line() -> None:
    seen = []
    uaos.minimize(loss, svm(), budget=20, seed=1, callback=lambda view: seen.append(repr(view)))
    assert seen[-1].startswith("<20 evaluations, best ")


def test_a_space_of_fixed_values_is_a_single_point() -> None:
    result = uaos.minimize(lambda p: p["a"] ** 2, {"a": 3, "b": None})
    assert (result.x, result.fun, result.nfev) == ({"a": 3, "b": None}, 9, 1)


def test_ask_and_tell_take_a_space_and_return_points(tmp_path) -> None:
    space = Space(svm())
    run = uaos.Portfolio(svm(), budget=60, seed=1)
    run.tell([loss(p) for p in space.decode(run.ask())])
    run.save(tmp_path / "run")
    loaded = uaos.Portfolio.load(tmp_path / "run")
    assert loaded.integrality.tolist() == space.integrality.tolist()
    assert loaded.activity == run.optimizers[0].activity == space.activity
    for made in (loaded, run.optimizers[0], Space(svm())):
        assert [space.searched[j].name for j in np.flatnonzero(made.log_integers)] == ["width"]
    np.testing.assert_array_equal(run.ask(), loaded.ask())


def test_a_problem_has_names_and_can_be_sent_to_workers() -> None:
    problem = pickle.loads(pickle.dumps(uaos.Problem(loss, svm(), name="svm", optimum=0)))
    best = {"lr": 1e-3, "depth": 7, "kernel": "poly", "degree": 3, "shrink": True, "size": "S",
            "width": 10, "batch": 32, "drop": 0.2}  # fmt: skip
    assert math.isclose(problem(best), 0, abs_tol=1e-12)
    assert uaos.Suite("mine", [problem])[0].dimension == 9


# What is refused


@pytest.mark.parametrize(
    ("declare", "name"),
    [
        (lambda: Real(0, 1, default=3), "default"),
        (lambda: Integer(1, 5, default=9), "default"),
        (lambda: Integer(1, 9, step=2, default=4), "default"),
        (lambda: Categorical(["a", "b"], default="c"), "default"),
        (lambda: Categorical(["a", "b", "a"]), "choices"),
        (lambda: Categorical([1, 1.0]), "choices"),
        (lambda: Categorical([math.nan, float("nan")]), "choices"),
        (lambda: Categorical({"a", "b"}), "choices"),  # in another order in each process
        (lambda: Categorical("abc"), "choices"),
        (lambda: Categorical([]), "choices"),
        (lambda: Categorical(["a", "b"], ordered="no"), "ordered"),
        (lambda: Real(1, 2, log="yes"), "log of Real(1, 2)"),
        (lambda: Real(1, 1), "high"),
        (lambda: Real(0, math.inf), "high"),
        (lambda: Real(-1.7e308, 1.7e308), "high"),
        (lambda: Integer(5, 1), "high"),
        (lambda: Integer(1.5, 3), "low"),
        (lambda: Real(0, 1, log=True), "low"),
        (lambda: Integer(0, 9, log=True), "low"),
        (lambda: Real(0, 1, step=2), "step"),
        (lambda: Real(0, 1e308, step=1e-5), "step"),
        (lambda: Integer(0, 10**400), "high"),
        (lambda: Categorical([np.array([1, 2]), np.array([1, 2])]), "choices"),
        (lambda: Real(1, 2, step=0.1, log=True), "step"),
        (lambda: Space({}), "space"),
        (lambda: Space({3: Real(0, 1)}), "space"),
        (lambda: Space(None), "variables"),
        (lambda: Space([Real(0, 1)]), "variables"),
        (lambda: Space({"a": (0, 1)}), "a"),
        (lambda: Space({"a": Integer(0, 1)}).decode([math.nan]), "points"),
        (lambda: Space({"a": Integer(0, 1)}).decode("1"), "points"),
        (lambda: Space({"a": Integer(0, 1)}).only("a", [0]), "a"),
        (lambda: Space({"a": Categorical(["x", "y"])}).limit("a", 0, 1), "a"),
        (lambda: Space({"a": Categorical(["x", "y"])}).only("a", []), "choices"),
        (lambda: uaos.Portfolio({"a": 3}), "bounds"),
        (lambda: uaos.minimize(loss, [Real(0, 1)]), "bounds"),
        (lambda: Space({"a": Real(0, 1, when={"a": 1})}), "when"),
        (lambda: Space({"a": Real(0, 1, when="b"), "b": 1}), "when"),
        (lambda: Space({"a": Real(0, 1, when=3), "b": 1}), "when"),
        (lambda: Space({"a": Real(0, 1, when=[]), "b": 1}), "when"),
        (lambda: Space({"a": Real(0, 1, when={"b": 0.5}), "b": Real(0, 1)}), "when"),
        (lambda: Space({"a": Real(0, 1, when={"b": 7}), "b": Integer(0, 3)}), "when"),
        (lambda: Space({"a": Real(0, 1, when={"b": []}), "b": Integer(0, 3)}), "when"),
        (lambda: uaos.minimize(loss, svm(), integrality=True), "integrality"),
        (lambda: uaos.minimize(loss, {"a": Real(0, 1)}, x0=[0.5]), "x0"),
        (lambda: uaos.minimize(loss, {"a": Real(0, 1)}, x0={}), "a"),
        (lambda: uaos.minimize(loss, {"a": Real(0, 1)}, x0={"a": 2.0}), "a"),
        (lambda: uaos.minimize(loss, {"a": Real(0, 1)}, known=([{}], [1.0])), "a"),
        (lambda: uaos.minimize(loss, {"a": Real(0, 1)}, known=([[0.5]], [1.0])), "known[0]"),
        (lambda: uaos.least_squares(loss, {"a": Real(0, 1)}), "x0"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(declare, name: str) -> None:
    with raises(InvalidParameter, name=name) as caught:
        declare()
    message = str(caught.value)
    assert "\n" not in message
    assert ". " not in message


def test_a_condition_on_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with raises(UnknownName, name="kernle", near="kernel"):
        Space({"kernel": Categorical(["a", "b"]), "n": Integer(0, 3, when={"kernle": "a"})})


@pytest.mark.parametrize("argument", ["x0", "known"])
def test_an_unknown_name_of_a_point_is_refused_with_where_it_is(argument: str) -> None:
    points = [{"kernel": "a"}, {"kernle": "b"}]
    value = points if argument == "x0" else (points, [1.0, 2.0])
    with raises(UnknownName, name="kernle", near="kernel") as caught:
        uaos.minimize(loss, {"kernel": Categorical(["a", "b"])}, **{argument: value})
    assert argument in str(caught.value)


def test_a_cycle_of_conditions_is_refused() -> None:
    """What depends on the cycle without being a part of it is not named."""
    space = {
        "z": Integer(0, 1, when={"a": 1}), "a": Integer(0, 1, when={"b": 1}),
        "b": Integer(0, 1, when={"a": 1}), "c": 1,
    }  # fmt: skip
    with raises(InvalidParameter, name="when", value=("a", "b")) as caught:
        Space(space)
    assert "form a cycle" in str(caught.value)


def test_constraints_without_names_are_refused() -> None:
    with raises(InvalidParameter, name="constraints"):
        uaos.minimize(loss, svm(), constraints=type("Linear", (), {"A": [[1]], "lb": 0, "ub": 1})())
