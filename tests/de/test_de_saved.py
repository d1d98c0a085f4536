"""Files of runs that were damaged or altered: refused by name, before anything is changed."""

import copy

import numpy as np
import pytest
from de_stubs import engine, sphere

from uaos import statefile
from uaos.errors import InvalidFile, InvalidParameter, UnknownName
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.optimizer import FORMAT, DifferentialEvolution
from uaos.optimizers.de.rules import Jade
from uaos.optimizers.de.schedule import linear, stagnation

BOX = [(-5.0, 5.0)] * 3
NOTHING = object()


def started():
    """An engine between ask and tell, with an archive and a rule that learns."""
    rule = Jade()
    pool = [Operator("curr-to-pbest/1 (archived)", rule, rule), "rand/1"]
    one = engine(pool=pool, budget=500, schedule=linear(8))
    for _ in range(6):
        one.tell(sphere(one.ask()))
    one.ask()
    return one


def changed(state, place, value):
    """A copy of a state with another value at a place such as "between._F"."""
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
    ("place", "value", "message"),
    [
        ("NP", "x", "NP is 'x'; expected a whole number 4 to 20"),
        ("NP", 10**6, "NP is 1000000; expected a whole number 4 to 20"),
        ("NP", True, "NP is True"),
        ("NP", NOTHING, "NP is missing"),
        ("NP_start", 10**6, "NP_start is 1000000; expected 20, by the settings"),
        ("_rows", lambda a: a[:9], r"_rows is .* shape \(9, 3\); expected .* shape \(40, 3\)"),
        ("NP_start", 10**12, "NP_start is .* to 10000000"),
        ("evaluations", 501, "evaluations is 501; expected a whole number 0 to 500"),
        ("evaluations", -1, "evaluations is -1"),
        ("generation", 1.5, "generation is 1.5; expected a whole number at least 0"),
        ("best_fitness", "low", "best_fitness is 'low'; expected a number"),
        ("best_fitness", float("nan"), "best_fitness is nan"),
        ("best_x", None, "best_fitness is .*; expected that of best_x"),
        ("best_x", np.zeros(2), r"best_x is an array of float64, shape \(2,\)"),
        ("_started", 1, "_started is 1; expected True or False"),
        ("_latest", 20, "_latest is 20"),
        ("_capacity", 99, "_capacity is 99; expected a whole number, "),
        ("_epoch_start", 10**6, "_epoch_start is 1000000"),
        ("_order", lambda a: a * 0, "_order is .*; expected each of 0 to .* once"),
        ("_order", lambda a: a + 1, "_order is .*; expected whole numbers 0 to"),
        ("_fitness", lambda a: a[1:], "_fitness is an array"),
        ("_fitness", lambda a: a * np.nan, "_fitness is .*; expected numbers that are not NaN"),
        ("_counters", np.array([41, 50]), "_counters is .*; expected at most .* archived"),
        ("rules.turns", np.array([1]), "rules.turns is .*; expected the number of a pair"),
        ("rules.means", np.zeros(3), "rules.means is an array of float64"),
        ("rules", [], r"rules is \[\]; expected a table"),
        ("rng.bit_generator", "MT19937", "rng is not the state of a PCG64"),
        ("rng", 3, "rng is not the state of a PCG64"),
        ("selector", {}, "the selector cannot be restored: KeyError"),
        ("history.stride", 0, "history.stride is 0"),
        ("history.filled", 1, "history.filled is 1"),
        ("history.operators", ["a"], "history.operators is .*; expected those of the pool"),
        ("history.data.best", np.zeros((2, 2)), "history.data is"),
        ("history.data.counts", np.zeros((5, 2)), "history.data.counts is .* whole numbers"),
        ("history.data.more", np.zeros(5), "history.data is .* expected the eight"),
        ("between._asked", lambda a: a[1:], "between._asked is an array"),
        ("between._operators", lambda a: a + 2, "between._operators is .* whole numbers 0 to 1"),
        ("between._uniforms", lambda a: a * 0 + 1, "between._uniforms is .* floats 0 to 1"),
        ("between._repairs", None, "between._repairs is None"),
        ("between", None, "between is None; expected a table"),
    ],
)  # fmt: skip
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(place, value, message):
    one = started()
    state = one.state()
    with pytest.raises(InvalidFile, match=message):
        one.restore(changed(state, place, value))
    assert equal(one.state(), state)


def test_a_state_cannot_set_what_is_no_part_of_it():
    one = started()
    state = one.state()
    state["between"]["budget"] = 10**9
    one.restore(state)
    assert one.budget == 500


def test_own_operators_that_cannot_be_restored_are_named():
    class Own:
        name = "mine"

        def propose(self, state, parents, rng):
            return state.population[parents]

        def state(self):
            return {"kept": 3}

        def restore(self, state):
            self.kept = state["kept"]

    one = engine(pool=["rand/1", Own()])
    state = one.state()
    one.rng.random()
    before = one.rng.bit_generator.state
    with pytest.raises(InvalidFile, match="operator 'mine' cannot be restored: KeyError"):
        one.restore(changed(state, "own.mine", {}))
    assert one.rng.bit_generator.state == before


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("budget", -3, "budget is -3; allowed: a whole number"),
        ("budget", 10, "evaluations is 76; expected a whole number 0 to 10"),
        ("target", "low", "target is 'low'"),
        ("seed", -1, "seed is -1"),
        ("generator", "Philox", "rng is not the state of a Philox"),
        ("generator", "rand", "generator is 'rand'; expected a bit generator of NumPy"),
        ("generator", ["SFC64"], r"generator is \['SFC64'\]"),
        ("low", np.zeros(2), "damaged, "),
        ("low", np.full(3, 9.0), r"bounds\[0\] is \(9.0, 5.0\)"),
        ("settings.NP", "x", "NP is 'x'; allowed"),
        ("settings.NP", 10**5, "NP_start is 20; expected 100000, by the settings"),
        ("settings.boundary", "wrap", "boundary is 'wrap'"),
        ("settings.boundry", "clip", "did you mean 'boundary'"),
        ("settings", 3, "damaged, "),
        ("method.reward", {"name": "x"}, "damaged, "),
        ("method", 3, "damaged, "),
        ("engine", [], "damaged, "),
        ("engine.NP", "x", "damaged, NP is 'x'"),
        ("engine.NP", 10**6, "NP is 1000000"),
        ("engine.selector", {"rewards": 1}, "not the state of a selector"),
        ("engine.history", NOTHING, "history"),
    ],
)
def test_an_altered_file_is_refused(place, value, message, tmp_path):
    file = tmp_path / "run.npz"
    one = DifferentialEvolution(BOX, seed=4, budget=400, popsize=20)
    for _ in range(4):
        one.tell(sphere(one.ask()))
    one.save(file)
    content = statefile.read(file, "run", FORMAT)
    statefile.write(file, "run", FORMAT, changed(content, place, value))
    with pytest.raises(InvalidFile, match=message) as raised:
        DifferentialEvolution.load(file)
    assert str(raised.value).startswith(str(file))


def test_operators_are_asked_for_in_a_sentence(tmp_path):
    class Own:
        name = "mine"

        def propose(self, state, parents, rng):
            return state.population[parents]

    DifferentialEvolution(BOX, operators=["rand/1", Own()], seed=1).save(tmp_path / "run.npz")
    with pytest.raises(
        UnknownName, match=r"'mine'; there is no .* to choose from \(.*operators=\)"
    ):
        DifferentialEvolution.load(tmp_path / "run.npz")
    for wrong in ("mine", 3, [3]):
        with pytest.raises(InvalidParameter, match="operators is"):
            DifferentialEvolution.load(tmp_path / "run.npz", operators=wrong)
    DifferentialEvolution.load(tmp_path / "run.npz", operators=[Own()])


def test_the_size_of_a_population_that_has_grown_by_restarts_is_accepted():
    one = engine(restart=stagnation(growth=1.5))
    one.tell(np.zeros(len(one.ask())))  # all alike: restart
    one.tell(sphere(one.ask()))
    other = engine(restart=stagnation(growth=1.5))
    other.restore(one.state())
    assert other.ask().tolist() == one.ask().tolist()
    assert other.NP == 30
    state = changed(one.state(), "NP_start", 20)
    with pytest.raises(InvalidFile, match="NP is 30; expected a whole number 6 to 20"):
        other.restore(state)
