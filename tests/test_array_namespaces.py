"""Every component gives the same numbers under JAX, inside `jit` and `vmap`, as under NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from strategies import registered

import uaos
from uaos.params import Choice, parameters
from uaos.selection.components import Component, Draws, Evidence, build, probabilities, qualities
from uaos.selection.components.metrics import comparable, measure
from uaos.selection.components.rewards import scaled
from uaos.selection.memory import memory_for

N_OPERATORS = 5
BATCH = 3
#: Sizes small enough for the memories to be full in some of the inputs and not in others.
SIZES = {"W": 8, "fix_appl": 4, "max_gen": 3}
#: The other end of what a parameter may be, where a component takes another path there.
OTHERS = {"D": 0.0, "error": 0.25, "p_min": "0.2/K", "eps": 0.5, "delta": 1.0, "q_min": 0.0}


@pytest.fixture(autouse=True, scope="module")
def _double_precision():
    """Compute in double precision, as NumPy does."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def variants(family):
    """Every component twice: as it comes, and with its parameters at another value."""
    found = []
    for name in registered(family):
        component = uaos.components(family)[name]
        declared = parameters(component)
        sizes = {key: SIZES[key] for key in declared if key in SIZES}
        changed = {key: OTHERS[key] for key in declared if key in OTHERS}
        choices = {key: p.choices[-1] for key, p in declared.items() if isinstance(p, Choice)}
        found.append(pytest.param(component(**sizes).for_operators(N_OPERATORS), id=name))
        if changed or choices:
            other = component(**{**sizes, **changed, **choices}).for_operators(N_OPERATORS)
            found.append(pytest.param(other, id=f"{name}, other parameters"))
    return found


def same_everywhere(function, *inputs, exact=False):
    """Check `function(xp, *input)` for each input: NumPy, traced by jit, and all at once by vmap.

    An input is a tuple of arrays, or of named tuples of arrays, of the same shapes as the others.
    """
    with np.errstate(all="ignore"):
        expected = [jax.tree.leaves(function(np, *one)) for one in inputs]
    traced = jax.jit(lambda *one: function(jnp, *one))
    apart = [jax.tree.leaves(traced(*one)) for one in inputs]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *inputs)
    together = jax.tree.leaves(jax.jit(jax.vmap(traced))(*stacked))
    tolerance = {"rtol": 0, "atol": 0} if exact else {"rtol": 1e-12, "atol": 1e-14}
    for number, leaves in enumerate(expected):
        for place, leaf in enumerate(leaves):
            assert np.all(np.isfinite(leaf)), "an input that tests nothing"
            np.testing.assert_allclose(apart[number][place], leaf, **tolerance)
            np.testing.assert_allclose(together[place][number], leaf, **tolerance)


def generators():
    """A random generator for each input of a batch."""
    return [np.random.default_rng(seed) for seed in range(BATCH)]


def shares(rng, n=N_OPERATORS):
    """Random positive numbers with sum 1."""
    numbers = rng.random(n) + 0.01
    return numbers / numbers.sum()


# Metric


def generation(rng):
    """Fitness of 12 parents and offspring with failed evaluations, and the best so far."""
    parents, offspring = rng.normal(5.0, 2.0, 12), rng.normal(4.0, 2.0, 12)
    offspring[:3] = np.nan, np.inf, -np.inf
    parents[3:6] = np.inf, np.nan, -np.inf
    offspring[6] = 0.0
    offspring[7] = parents[7]
    return parents, offspring, np.array(min(parents[6:].min(), 1.0))


@pytest.mark.parametrize("metric", variants("metric"))
def test_metrics_are_the_same(metric: Component) -> None:
    """The metric of every offspring and whether it is a success, failed evaluations included."""

    def measured(xp, parents, offspring, best_so_far):
        return measure(metric, *comparable(parents, offspring, xp), best_so_far, xp)

    same_everywhere(measured, *map(generation, generators()))


def test_comparable_fitness_is_the_same() -> None:
    """What stands for a parent whose evaluation failed, and which offspring failed."""

    def finite(xp, parents, offspring, _):
        parents, offspring = comparable(parents, offspring, xp)
        return parents, offspring == xp.inf, xp.where(offspring == xp.inf, 0.0, offspring)

    same_everywhere(finite, *map(generation, generators()), exact=True)


# Reward


def memories(reward, tied):
    """A memory after 1, after 2 and after 9 generations; operator 4 never succeeds in the first."""
    views = []
    for rng, generations in zip(generators(), (1, 2, 9), strict=True):
        memory = memory_for(reward, N_OPERATORS)
        for number in range(generations):
            operators = rng.integers(0, N_OPERATORS - (number == 0), 10)
            metrics = rng.integers(0, 4, 10).astype(float) if tied else rng.exponential(size=10)
            successes = rng.random(10) < 0.5
            memory.record(operators, np.where(successes, metrics, 0.0), successes)
        views.append((memory.view(),))
    return views


@pytest.mark.parametrize("tied", [False, True], ids=["distinct metrics", "tied metrics"])
@pytest.mark.parametrize("reward", variants("reward"))
def test_rewards_are_the_same(reward: Component, tied: bool) -> None:
    """The memory's view passes through as it is, being a named tuple of arrays."""
    same_everywhere(lambda xp, memory: reward.compute(memory, xp), *memories(reward, tied))


@pytest.mark.parametrize("name", ["success_sum", "pareto_rank", "sum_of_ranks"])
def test_observations_are_the_same(name: str) -> None:
    """One reward for each of the three memories."""
    size = {key: SIZES[key] for key in SIZES if key in parameters(uaos.components("reward")[name])}
    reward = build("reward", {"name": name, **size})
    views = memories(reward, tied=True)
    same_everywhere(lambda xp, memory: memory.observations(xp), *views, exact=True)


def test_scaling_is_the_same() -> None:
    """Rewards on [0, 1]; all equal: all 0."""
    inputs = [(rng.normal(size=N_OPERATORS),) for rng in generators()]
    same_everywhere(lambda xp, rewards: scaled(rewards), *inputs, (np.full(N_OPERATORS, 0.1),))


# Quality


def evidence(rng):
    """What a quality looks at, with an operator that was not seen."""
    observations = rng.integers(0, 20, N_OPERATORS).astype(float)
    observations[0] = 0.0
    rewards, previous = rng.random(N_OPERATORS), rng.random(N_OPERATORS)
    return (Evidence(rewards, previous, shares(rng), shares(rng), observations),)


def nothing_rewarded():
    """What a quality looks at when no operator succeeded."""
    (now,) = evidence(np.random.default_rng(BATCH))
    return (now._replace(rewards=np.zeros(N_OPERATORS)),)


@pytest.mark.parametrize("quality", variants("quality"))
def test_qualities_are_the_same(quality: Component) -> None:
    """Before and after they are divided by their sum; all rewards 0 among the inputs."""

    def both(xp, now):
        raw = quality.compute(now, xp)
        return raw, qualities.normalised(raw, xp)

    same_everywhere(both, *map(evidence, generators()), nothing_rewarded())


def test_the_normalisation_of_qualities_is_the_same() -> None:
    """Negative and infinite values, NaN, and values whose sum is 0."""
    inputs = [
        np.array([-1.0, 2.0, 0.5, 0.0, -0.25]),
        np.array([np.inf, -np.inf, np.nan, 1.0, 0.0]),
        np.zeros(N_OPERATORS),
        np.full(N_OPERATORS, -3.0),
    ]
    same_everywhere(lambda xp, raw: qualities.normalised(raw, xp), *((raw,) for raw in inputs))


# Probability


@pytest.mark.parametrize("probability", variants("probability"))
def test_probabilities_are_the_same(probability: Component) -> None:
    """Before and after they are divided by their sum; a tie of qualities among the inputs."""

    def both(xp, quality, old):
        raw = probability.compute(quality, old, xp)
        return raw, probabilities.normalised(raw)

    tied = (np.array([0.125, 0.25, 0.25, 0.25, 0.125]), np.full(N_OPERATORS, 0.2))
    same_everywhere(both, *((shares(rng), shares(rng)) for rng in generators()), tied)


def test_the_normalisation_of_probabilities_is_the_same() -> None:
    """The sum may be 0."""
    inputs = [(shares(rng) * 3.0,) for rng in generators()]
    same_everywhere(
        lambda xp, raw: probabilities.normalised(raw), *inputs, (np.zeros(N_OPERATORS),)
    )


# Selection


@pytest.mark.parametrize("selection", variants("selection"))
def test_selections_are_the_same(selection: Component) -> None:
    """The same draws give the same operators; equal probabilities among the inputs."""

    def chosen(xp, p, draws, progress):
        return selection.compute(p, draws, progress, xp)

    def drawn(rng, p):
        draws = Draws(rng.random(40), rng.random(40), np.array(rng.random()))
        return p, draws, np.array(rng.random())

    inputs = [drawn(rng, shares(rng)) for rng in generators()]
    ties = [drawn(rng, np.array([0.1, 0.35, 0.35, 0.2, 0.0])) for rng in generators()]
    same_everywhere(chosen, *inputs, *ties, exact=True)
