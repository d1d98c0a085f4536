"""Files of runs that were damaged or altered: refused by name, before anything is changed."""

import copy

import numpy as np
import pytest
from de_stubs import engine, sphere
from raising import raises

from uaos import statefile
from uaos.errors import InvalidFile, InvalidParameter, UnknownName
from uaos.optimizers.base.saving import FORMAT
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.optimizer import DifferentialEvolution
from uaos.optimizers.de.rules import Jade
from uaos.optimizers.de.settings import Linear, Stagnation

BOX = [(-5.0, 5.0)] * 3
NOTHING = object()


def started():
    """An engine between ask and tell, with an archive and a rule that learns."""
    rule = Jade()
    pool = [Operator("curr-to-pbest/1 (archived)", rule, rule), "rand/1"]
    one = engine(pool=pool, budget=500, NP_schedule=Linear(8))
    for _ in range(6):
        one.tell(sphere(one.ask()))
    one.ask()
    return one


def changed(state, place, value):
    """A copy of a state with another value at a place such as "offspring.F"."""
    state = copy.deepcopy(state)
    *path, last = place.split(".")
    part = state
    for name in path:
        part = part[name]
    if value is NOTHING:
        del part[last]
    else:
        part[last] = value(part.get(last)) if callable(value) else value
    return state


def equal(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[k], other[k]) for k in one)
    return np.array_equal(one, other, equal_nan=isinstance(one, np.ndarray) and one.dtype == float)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("population.NP", 10**6),
        ("population.NP", 2),
        ("population.NP_start", 10**6),
        ("population.rows", lambda a: a[:9]),
        ("population.rows", lambda a: a.astype(np.float32)),
        ("population.fitness", lambda a: a[:-1]),
        ("population.order", lambda a: a * 0),
        ("population.order", lambda a: a + 1),
        ("population.counters", lambda a: a + 10**6),
        ("population.latest", 10**6),
        ("population.capacity", 10**6),
        ("offspring.operators", lambda a: a + 2),
        ("offspring.operators", lambda a: a[:3]),
        ("offspring.F", lambda a: a[:3]),
        ("offspring.uniforms", lambda a: a * 0 + 1),
        ("offspring.uniforms", lambda a: a[:, :5]),
        ("_asked", lambda a: a[:, :2]),
        ("rates.turns", lambda a: a + 5),
        ("rates.means", lambda a: a[:, :1]),
    ],
)
def test_a_state_that_the_kernels_cannot_work_with_is_refused_and_changes_nothing(place, value):
    one = started()
    state = one.state()
    with pytest.raises(InvalidFile):
        one.restore(changed(state, place, value))
    assert equal(one.state(), state)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("optimizer", "DEE"),
        ("optimizer", "CMA-ES"),
        ("budget", -3),
        ("target", "low"),
        ("seed", -1),
        ("generator", "Philox"),
        ("generator", "rand"),
        ("generator", ["SFC64"]),
        ("bounds", np.zeros(2)),
        ("bounds", NOTHING),
        ("settings.NP", "x"),
        ("settings.boundry", "clip"),
        ("settings", 3),
        ("method", 3),
        ("state", []),
        ("state.population.NP", "x"),
        ("state.selector", {"rewards": 1}),
        ("state.history", NOTHING),
    ],
)
def test_an_altered_file_is_refused(place, value, tmp_path):
    file = tmp_path / "run.npz"
    one = DifferentialEvolution(BOX, seed=4, budget=400, popsize=20)
    for _ in range(4):
        one.tell(sphere(one.ask()))
    one.save(file)
    content = statefile.read(file, "run", FORMAT)
    statefile.write(file, "run", FORMAT, changed(content, place, value))
    with pytest.raises(InvalidFile) as raised:
        DifferentialEvolution.load(file)
    assert str(raised.value).startswith(str(file))


def test_operators_are_asked_for_in_a_sentence(tmp_path):
    class Own:
        name = "mine"

        def propose(self, state, parents, rng):
            return state.population[parents]

    DifferentialEvolution(BOX, operators=["rand/1", Own()], seed=1).save(tmp_path / "run.npz")
    with pytest.raises(UnknownName):
        DifferentialEvolution.load(tmp_path / "run.npz")
    for wrong in ("mine", 3, [3]):
        with raises(InvalidParameter, name="operators"):
            DifferentialEvolution.load(tmp_path / "run.npz", operators=wrong)
    DifferentialEvolution.load(tmp_path / "run.npz", operators=[Own()])


def test_the_size_of_a_population_that_has_grown_by_restarts_is_accepted():
    one = engine(restart=Stagnation(growth=1.5))
    one.tell(np.zeros(len(one.ask())))  # all alike: restart
    one.tell(sphere(one.ask()))
    other = engine(restart=Stagnation(growth=1.5))
    other.restore(one.state())
    assert other.ask().tolist() == one.ask().tolist()
    assert other.population.NP == 30
