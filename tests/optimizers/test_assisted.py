"""CMA-ES with a model: fewer evaluations, and plain CMA-ES where a model is no use."""

import numpy as np
import pytest

import uaos
from uaos.optimizers.assisted import AssistedCMAES
from uaos.optimizers.cma import CMAES
from uaos.problems import rosenbrock, sphere

BOX = [(-5.0, 4.0)] * 4


def evaluations(optimizer, fun):
    while not optimizer.done:
        optimizer.tell([float(fun(x)) for x in optimizer.ask()])
    return optimizer.evaluations


@pytest.mark.parametrize(("fun", "share"), [(sphere, 0.2), (rosenbrock, 0.5)])
def test_smooth_functions_take_a_fraction_of_the_evaluations(fun, share):
    named = {"seed": 1, "budget": 4000, "target": 1e-8}
    plain, assisted = (evaluations(cls(BOX, **named), fun) for cls in (CMAES, AssistedCMAES))
    assert assisted < share * plain


def test_fading_noise_takes_a_fraction_of_the_evaluations():
    """Multiplicative noise of 1 %."""

    def noisy(x):
        return sphere(x) * np.exp(0.01 * rng.standard_normal())

    spent = []
    for cls in (CMAES, AssistedCMAES):
        rng = np.random.default_rng(1)
        spent.append(evaluations(cls(BOX, seed=1, budget=4000, target=1e-8), noisy))
    assert spent[1] < 0.4 * spent[0]


def test_pure_noise_is_evaluated_in_full():
    """A model of noise predicts nothing, so that hardly a point is left out."""
    rng = np.random.default_rng(1)
    optimizer = AssistedCMAES(BOX, seed=1, budget=400, restarts="IPOP")
    ranked = total = 0
    while not optimizer.done:
        optimizer.tell(rng.standard_normal(len(optimizer.ask())))
        if optimizer._population is None:  # a generation is complete
            ranked += optimizer.popsize - optimizer._needed
            total += optimizer.popsize
    assert ranked < 0.15 * total


@pytest.mark.parametrize(
    ("named", "violations"), [({"integrality": [1, 0, 0, 0]}, None), ({}, np.zeros)]
)
def test_integers_and_constraints_have_no_model(named, violations):
    """Whole generations; the first points are told before constraints are known."""
    optimizer = AssistedCMAES(BOX, seed=1, budget=200, **named)
    sizes = []
    while not optimizer.done:
        points = optimizer.ask()
        sizes.append(len(points))
        optimizer.tell([sphere(x) for x in points], violations and violations(len(points)))
    assert set(sizes[1:-1]) == {optimizer.popsize}


def test_a_failed_point_is_not_ranked_by_the_model():
    optimizer = AssistedCMAES(BOX, seed=1, budget=300)
    while not optimizer.done:
        optimizer.tell([np.nan if x[0] < 0 else sphere(x) for x in optimizer.ask()])
    assert optimizer.best_fitness < 1e-4
    assert np.isfinite(optimizer.mean).all()


def test_the_population_may_grow_within_a_generation():
    optimizer = AssistedCMAES(BOX, seed=1, budget=60)
    optimizer.tell([sphere(x) for x in optimizer.ask()])
    optimizer.continue_from(optimizer.mean, 20)
    evaluations(optimizer, sphere)
    assert optimizer.popsize == 20


def test_points_for_many_workers_need_no_model():
    result = uaos.minimize(
        sphere, BOX, method="lq-CMA-ES", budget=200, seed=1, workers=4, schedule="async"
    )
    assert result.fun < 1.0


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_values_of_any_size(scale):
    """Squares of them under- or overflow."""
    optimizer = AssistedCMAES(BOX, seed=1, budget=600)
    assert evaluations(optimizer, lambda x: scale * sphere(x)) == 600
    assert optimizer.best_fitness < 1e-6 * scale
