"""DEAP: its own loops run with adaptive operators, for minimization and maximization."""

import pickle
import random
from copy import deepcopy
from functools import partial
from math import inf
from typing import Any

import pytest
from deap import algorithms, base, tools
from raising import raises
from test_adapters_credit import METHODS

import uaos
from uaos.adapters.deap import AdaptiveVariation, adaptive, fitness_of
from uaos.errors import InvalidFeedback, InvalidParameter, UnknownName


class Maximized(base.Fitness):
    weights = (1.0,)


class Minimized(base.Fitness):
    weights = (-1.0,)


class Constrained(base.ConstrainedFitness):
    weights = (-1.0,)


class Individual(list):
    """As deap.creator makes them, but with a module to be pickled from."""

    kind: type = Maximized

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.fitness = self.kind()


class Least(Individual):
    kind = Minimized


class Bounded(Individual):
    kind = Constrained


def evaluated(kind: type, *values: float) -> list[Any]:
    made = [kind([int(v)] * 4) for v in values]
    for individual, value in zip(made, values, strict=True):
        individual.fitness.values = (value,)
    return made


def mixed(first: Any, second: Any) -> tuple[Any, Any]:
    first[0], second[0] = second[0], first[0]
    return first, second


def swapped(first: Any, second: Any) -> tuple[Any, Any]:
    first[:], second[:] = second[:], first[:]
    return first, second


def risen(individual: Any) -> tuple[Any]:
    individual[0] += 1
    return (individual,)


def fallen(individual: Any) -> tuple[Any]:
    individual[0] -= 1
    return (individual,)


def small(**options: Any) -> tuple[base.Toolbox, AdaptiveVariation]:
    toolbox = base.Toolbox()
    lists = {"mate": [mixed, swapped], "mutate": [risen, fallen]}
    return toolbox, adaptive(toolbox, **(lists | options))


def onemax(kind: type = Individual, **options: Any) -> tuple[base.Toolbox, AdaptiveVariation]:
    sign = kind.kind.weights[0]
    toolbox = base.Toolbox()
    toolbox.register("one_point", tools.cxOnePoint)
    toolbox.register("flip_few", tools.mutFlipBit, indpb=0.05)
    toolbox.register("select", tools.selTournament, tournsize=3)
    toolbox.register("evaluate", lambda individual: (sign * sum(individual),))
    lists: dict[str, Any] = {
        "mate": ["one_point", tools.cxTwoPoint, partial(tools.cxUniform, indpb=0.5)],
        "mutate": ["flip_few", partial(tools.mutFlipBit, indpb=0.5)],
    }
    return toolbox, adaptive(toolbox, **(lists | options))


def population(kind: type = Individual, size: int = 20) -> list[Any]:
    return [kind([random.randint(0, 1) for _ in range(20)]) for _ in range(size)]


def bred(toolbox: base.Toolbox, members: list[Any], generations: int = 6) -> list[Any]:
    algorithms.eaSimple(members, toolbox, 0.6, 0.4, generations, verbose=False)
    return members


# What is fed back


def test_each_child_is_an_application_on_the_better_parent() -> None:
    toolbox, variation = small(method=uaos.method("SaDE", noise=0.0))
    first, second = evaluated(Individual, 3.0, 8.0)
    children = toolbox.mate(first, second)
    assert not any(child.fitness.valid for child in children)
    assert [a.parent for a in variation.credit.pending] == [-8.0, -8.0]  # maximized: 8 is better
    for child, value in zip(children, (9.0, 7.0), strict=True):
        child.fitness.values = (value,)
    assert sum(variation.credit.counts["mate"].values()) == 2
    # Of the chosen operator's two applications one improved (9 on 8); the other was not applied.
    assert sorted(variation.credit.selectors["mate"].rewards) == [0, 0.5]


def test_when_minimizing_the_smaller_parent_is_better() -> None:
    toolbox, variation = small()
    toolbox.mate(*evaluated(Least, 3.0, 8.0))
    assert [a.parent for a in variation.credit.pending] == [3.0, 3.0]


def test_a_mutated_child_is_one_offspring_of_two_operators() -> None:
    toolbox, variation = small()
    first, _ = toolbox.mate(*evaluated(Individual, 3.0, 8.0))
    (first,) = toolbox.mutate(first)
    (first,) = toolbox.mutate(first)
    slots = [[slot for slot, _ in a.operators] for a in variation.credit.pending]
    assert slots == [["mate", "mutate", "mutate"], ["mate"]]
    assert [a.parent for a in variation.credit.pending] == [-8.0, -8.0]
    assert variation.credit.pending[0].offspring is first


def test_a_mutant_is_compared_with_what_it_was() -> None:
    toolbox, variation = small()
    toolbox.mutate(*evaluated(Individual, 4.0))
    assert [(a.parent, a.operators[0][0]) for a in variation.credit.pending] == [(-4.0, "mutate")]


def test_an_operator_that_hands_back_other_objects_is_credited_with_those() -> None:
    toolbox, variation = small(mutate=[lambda i: (deepcopy(i),), lambda i: (deepcopy(i),)])
    (parent,) = evaluated(Individual, 4.0)
    (child,) = toolbox.mutate(parent)
    assert child is not parent
    assert not child.fitness.valid
    assert parent.fitness.valid
    assert variation.credit.pending[0].offspring is child


def test_an_individual_whose_parent_was_never_evaluated_teaches_nothing() -> None:
    toolbox, variation = small()
    toolbox.mutate(Individual([1, 2]))
    assert variation.credit.pending == []


def test_the_child_that_varor_drops_is_not_counted() -> None:
    toolbox, variation = onemax()
    random.seed(1)
    parents = population()
    for p in parents:
        p.fitness.values = (sum(p),)
    offspring = algorithms.varOr(parents, toolbox, 10, cxpb=1.0, mutpb=0.0)
    for child in offspring:
        child.fitness.values = (sum(child),)
    assert sum(variation.credit.counts["mate"].values()) == 10


def test_infeasible_and_infinite_offspring_are_failures() -> None:
    (infinite,) = evaluated(Least, 1.0)
    infinite.fitness.values = (inf,)
    assert fitness_of(infinite) == inf
    bounded = Bounded([1])
    assert fitness_of(bounded) is None
    bounded.fitness.constraint_violation = (0.5,)
    assert fitness_of(bounded) == inf


def test_several_objectives_are_refused() -> None:
    individual = Individual([1])
    individual.fitness = type("Two", (base.Fitness,), {"weights": (1.0, -1.0)})((1.0, 2.0))
    with pytest.raises(InvalidFeedback):
        fitness_of(individual)


# In DEAP's algorithms


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_the_catalogue_serves(method: str) -> None:
    random.seed(1)
    toolbox, variation = onemax(method=method)
    members = bred(toolbox, population(size=12), 4)
    assert max(sum(m) for m in members) > 10
    for chances in variation.credit.probabilities.values():
        assert sum(chances.values()) == pytest.approx(1)


@pytest.mark.parametrize("loop", ["eaSimple", "eaMuPlusLambda", "eaMuCommaLambda"])
def test_deaps_algorithms_run_as_they_are_and_every_evaluation_is_credited(loop: str) -> None:
    random.seed(1)
    toolbox, variation = onemax()
    sizes = () if loop == "eaSimple" else (20, 30)
    members = population()
    _, logbook = getattr(algorithms, loop)(members, toolbox, *sizes, 0.6, 0.4, 8, verbose=False)
    bred_by_mating = sum(variation.credit.counts["mate"].values())
    mutants = sum(variation.credit.counts["mutate"].values())
    born = sum(logbook.select("nevals")[1:])
    # In varAnd an offspring may have been both mated and mutated; in varOr it is one or the other.
    assert bred_by_mating + mutants == born if sizes else bred_by_mating + mutants >= born
    assert max(sum(m) for m in members) > 15


def test_with_one_operator_each_it_is_deaps_own_run() -> None:
    random.seed(3)
    plain = base.Toolbox()
    plain.register("mate", tools.cxTwoPoint)
    plain.register("mutate", tools.mutFlipBit, indpb=0.1)
    plain.register("select", tools.selTournament, tournsize=3)
    plain.register("evaluate", lambda individual: (sum(individual),))
    theirs = bred(plain, population())
    random.seed(3)
    adaptive(plain)  # keeps what the toolbox has
    assert bred(plain, population()) == theirs


def test_minimizing_the_negative_is_maximizing() -> None:
    runs = []
    for kind in (Individual, Least):
        random.seed(2)
        toolbox, variation = onemax(kind)
        members = bred(toolbox, population(kind))
        runs.append(([list(m) for m in members], variation.credit.probabilities))
    assert runs[0] == runs[1]


def test_a_seed_repeats_a_run_that_begins_anew() -> None:
    toolbox, variation = onemax()
    runs = []
    for seed in (1, 1, 2):
        random.seed(seed)
        variation.restart()
        runs.append(bred(toolbox, population()))
    assert runs[0] == runs[1] != runs[2]


def test_a_run_resumed_from_a_checkpoint_equals_an_uninterrupted_one() -> None:
    random.seed(1)
    toolbox, variation = onemax(method="Ex-AP")
    through = bred(toolbox, population(), 9)
    random.seed(1)
    toolbox, variation = onemax(method="Ex-AP")
    members = bred(toolbox, population(), 4)
    stored = pickle.dumps((members, variation.credit, random.getstate()))
    bred(toolbox, members, 2)  # the power goes
    toolbox, variation = onemax(method="Ex-AP")
    members, variation.credit, state = pickle.loads(stored)
    random.setstate(state)
    assert bred(toolbox, members, 5) == through


def test_a_variation_may_be_pickled_within_a_generation() -> None:
    _, variation = small()
    (child,) = variation.mutate(*evaluated(Individual, 4.0))
    copy, other = pickle.loads(pickle.dumps((variation, child)))
    other.fitness.values = (5.0,)
    assert sum(copy.credit.counts["mutate"].values()) == 1
    assert sum(variation.credit.counts["mutate"].values()) == 0


def test_looking_at_what_was_learned_changes_nothing() -> None:
    def run(looks: bool) -> list[Any]:
        random.seed(1)
        toolbox, variation = onemax()
        statistics = tools.Statistics(lambda individual: individual.fitness.values)
        statistics.register("chances", lambda _: variation.credit.probabilities if looks else None)
        members = population()
        algorithms.eaSimple(members, toolbox, 0.6, 0.4, 6, statistics, verbose=False)
        return members

    assert run(looks=True) == run(looks=False)


def test_operators_are_functions_or_names_that_the_toolbox_has() -> None:
    _, variation = onemax()
    assert list(variation.credit.counts["mate"]) == ["one_point", "cxTwoPoint", "cxUniform"]
    assert list(variation.credit.counts["mutate"]) == ["flip_few", "mutFlipBit"]
    with raises(InvalidParameter, name="mate", value="two_point") as error:
        onemax(mate=["one_point", "two_point"])
    assert (error.value.name, error.value.value) == ("mate", "two_point")


def no_tuple(individual: Any) -> Any:
    return individual


def nothing(individual: Any) -> None:
    pass


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mate": tools.cxOnePoint}, "mate is the function cxOnePoint; expected a list"),
        ({"mutate": "flip_few"}, "mutate is 'flip_few'; expected a list"),
        ({"mate": [tools.cxOnePoint, base.Toolbox]}, "mate contains the class Toolbox"),
        ({"mate": [no_tuple]}, "mate contains no_tuple, which cannot be called with 2 individuals"),
        ({"mutate": [tools.mutFlipBit]}, "mutate contains mutFlipBit, .* with 1 individual alone"),
    ],
)
def test_wrong_operators_are_refused_at_once(changes: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        onemax(**changes)


@pytest.mark.parametrize(
    ("mutation", "returned"), [(no_tuple, "an individual"), (nothing, "a NoneType")]
)
def test_a_mutation_returns_a_tuple(mutation: Any, returned: str) -> None:
    toolbox, _ = onemax(mutate=[mutation])
    member = population()[0]
    with pytest.raises(InvalidFeedback, match=f"{mutation.__name__} of mutate returned {returned}"):
        toolbox.mutate(member)


def test_each_slot_may_have_a_method_of_its_own() -> None:
    _, variation = onemax(method={"mate": "SaDE", "mutate": "Compass"})
    assert variation.credit.selectors["mate"].method == uaos.method("SaDE")
    assert variation.credit.selectors["mutate"].method == uaos.method("Compass")
    with raises(UnknownName, name="mutation", near="mutate"):
        onemax(method={"mutation": "SaDE"})
