"""Every optimizer continues from its state, or its file, as if nothing had happened."""

import copy
import pickle

import numpy as np
import pytest

from uaos.optimizers.base import Optimizer
from uaos.optimizers.registry import optimizer_class, optimizer_classes
from uaos.problems.space import Box

BOX = Box([(-1.0, 5.0)] * 3, outside_allowed=True)
# Settings that reach a restart soon.
SETTINGS = {
    "BFGS": {"boundary": "none"},  # which needs a box that allows it
    "CMA-ES": {"restarts": "BIPOP", "popsize": 9, "sigma0": 0.3},
    "DE": {"method": "mix", "popsize": 20, "restart": "stagnation"},
    "EA4eig": {"popsize": 20},
    "GP": {},
    "L-SRTDE": {"popsize": 20, "restart": "stagnation"},
    "LM": {},
    "MOS-DE": {},
    "QUAD": {},
    "SQP": {},
    "STEP": {"points": 60},
    "jSO": {"popsize": 20, "restart": "stagnation"},
    "lq-CMA-ES": {"restarts": "IPOP", "popsize": 9},
    "mixed-SQP": {},
    "portfolio": {"members": ["BFGS", "CMA-ES", "JADE"]},
}
BUDGET = 2500
BUDGETS = {
    "GP": 60,
    "LM": 500,
    "SQP": 500,
    "mixed-SQP": 500,
}  # whose proposals take a millisecond or more


def rugged(points):
    values = (points**2).sum(axis=1) + 3 * (1 - np.cos(2 * np.pi * points)).sum(axis=1)
    values[points[:, 0] > 4] = np.nan
    return values


def outside(points):
    """How far points are from the band 0.9 <= x0 + x1 <= 1."""
    total = points[:, 0] + points[:, 1]
    return np.maximum(0.9 - total, 0) + np.maximum(total - 1, 0)


def tell(run, points, constrained):
    run.tell(rugged(points), outside(points) if constrained else None)


def cases():
    for name, settings in SETTINGS.items():
        handled = optimizer_class(name).handles
        yield pytest.param(name, settings, False, id=name)
        if "constraints" in handled:
            more = {"constrained": True} if name == "portfolio" else {}
            yield pytest.param(name, settings | more, True, id=f"{name} with constraints")
        if "integrality" in handled:
            yield pytest.param(
                name, settings | {"integrality": [1, 0, 1]}, False, id=f"{name} with integers"
            )


def same(a, b):
    if isinstance(a, dict):
        # An archive that is not full has arbitrary rows.
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a if k != "rows")
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
    return a is b or (type(a) is type(b) and (a == b or (a != a and b != b)))


def test_every_optimizer_is_here():
    """Runs of pycma cannot be saved, and say so; others are of tests."""
    ours = {name for name, cls in optimizer_classes().items() if cls.__module__.startswith("uaos.")}
    assert ours - {"BIPOP-CMA-ES"} == set(SETTINGS)


@pytest.mark.parametrize(("name", "settings", "constrained"), list(cases()))
def test_a_run_loaded_at_any_moment_equals_the_uninterrupted_one(
    name, settings, constrained, tmp_path
):
    """Also between ask and tell, and across restarts, to the last bit."""
    budget = BUDGETS.get(name, BUDGET)
    whole = optimizer_class(name)(BOX, seed=8, budget=budget, **settings)
    part = optimizer_class(name)(BOX, seed=8, budget=budget, **settings)
    moments = np.random.default_rng(3)

    def reload(run):
        run.save(tmp_path / "run")
        loaded = Optimizer.load(tmp_path / "run")
        assert type(loaded) is type(run)
        return loaded

    while not whole.done:
        points = whole.ask()
        if moments.random() < 0.04:
            part = reload(part)
        again = part.ask()
        if moments.random() < 0.04:
            part = reload(part)
        assert np.array_equal(points, again)
        assert np.array_equal(points, part.ask())
        tell(whole, points, constrained)
        tell(part, points, constrained)
    assert whole.evaluations == budget
    assert same(whole.state(), part.state())


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))])
@pytest.mark.parametrize(("name", "settings", "constrained"), list(cases()))
def test_a_copy_of_a_run_goes_on_alone_and_alike(name, settings, constrained, duplicate):
    run = optimizer_class(name)(BOX, seed=8, budget=200, **settings)
    for _ in range(3):
        run.ask()
        tell(run, run.ask(), constrained)
    before, duplicated = run.state(), duplicate(run)
    while not duplicated.done:
        tell(duplicated, duplicated.ask(), constrained)
    assert same(before, run.state())
    while not run.done:
        tell(run, run.ask(), constrained)
    assert same(duplicated.state(), run.state())
