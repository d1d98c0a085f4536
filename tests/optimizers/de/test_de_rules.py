"""Rules for F and CR, operators and pools."""

import math

import numpy as np
import pytest
from de_stubs import engine
from raising import raises

from uaos.errors import InvalidFeedback, InvalidParameter, NameClash, UnknownName
from uaos.optimizers.de.operators import Operator, as_members, paper_pool, product, unique_names
from uaos.optimizers.de.pool import Pool
from uaos.optimizers.de.rates import RateMemory
from uaos.optimizers.de.rules import Cauchy, Constant, Jade, Normal, SuccessHistory, Uniform
from uaos.optimizers.de.settings import DifferentialEvolutionSettings


def learnt(rule, fitness, values, F, CR, memory=None):
    """The rule's memory after a generation in which it made every offspring."""
    settings = DifferentialEvolutionSettings(pool=(Operator("rand/1", rule, rule),))
    pool = Pool(settings)
    memory = memory or RateMemory(pool.rules)
    memory.learn(
        pool.table, np.zeros(len(F), np.int64), np.array(fitness), np.array(values), np.array(F),
        np.array(CR, float),
    )  # fmt: skip
    return memory


def test_jade_learns_from_the_offspring_that_improved():
    memory = learnt(Jade(0.1), [3.0, 3.0, 3.0], [1.0, 2.0, 3.0], [0.4, 0.8, 0.1], [0.2, 0.6, 0.9])
    # F: .9·.5 + .1·(.16 + .64)/(.4 + .8) = .45 + .1·2/3;  CR: .9·.5 + .1·.4. The third only equals.
    assert memory.means[0, :, 0] == pytest.approx([0.45 + 0.1 * 2 / 3, 0.49])


def test_success_history_weighs_by_the_improvement_and_takes_turns():
    rule = SuccessHistory(2)
    memory = learnt(rule, [3.0, 3.0], [0.0, 2.0], [0.4, 0.8], [0.2, 0.6])
    # Weights 3 and 1: F (3·.16 + .64)/(3·.4 + .8) = 1.12/2; CR (3·.2 + .6)/4 = .3.
    assert memory.means[0].tolist() == [pytest.approx([0.56, 0.5]), pytest.approx([0.3, 0.5])]
    memory = learnt(rule, [1.0], [0.0], [0.9], [1.0], memory)
    assert memory.means[0].tolist() == [pytest.approx([0.56, 0.9]), pytest.approx([0.3, 1.0])]
    assert memory.turns.tolist() == [0]


@pytest.mark.parametrize("rule", [Jade(), SuccessHistory(2)])
def test_nothing_is_learnt_from_a_generation_without_improvement(rule):
    memory = learnt(rule, [1.0, 1.0], [1.0, math.nan], [0.9, 0.9], [0.9, 0.9])
    assert (memory.means == 0.5).all()
    assert memory.turns.tolist() == [0]


def test_an_infinite_improvement_weighs_as_the_largest_finite_one():
    memory = learnt(
        SuccessHistory(1), [math.inf, 3.0, 3.0], [9.0, 1.0, 2.0], [0.2, 0.4, 0.8], [0] * 3
    )
    # Weights 2, 2 and 1: (2·.04 + 2·.16 + .64)/(2·.2 + 2·.4 + .8) = 1.04/2.
    assert memory.means[0, 0, 0] == pytest.approx(0.52)
    only = learnt(SuccessHistory(1), [math.inf, math.inf], [9.0, 1.0], [0.2, 0.4], [0.0, 0.5])
    assert only.means[0].tolist() == [pytest.approx([0.2 / 0.6]), pytest.approx([0.25])]


def test_crossover_rates_of_zero_are_learnt_as_zero():
    assert learnt(SuccessHistory(1), [1.0], [0.0], [0.5], [0.0]).means[0, 1, 0] == 0.0


def test_operators_that_name_one_rule_object_share_its_memory():
    one, same = SuccessHistory(6), SuccessHistory(6)
    pool = Pool(
        DifferentialEvolutionSettings(
            pool=[Operator("rand/1", one, one), Operator("best/1", one, same)]
        )
    )
    assert [r is one for r in pool.rules] == [True, False]
    assert one == same  # equal, and yet two memories


def test_sharing_survives_the_plain_form():
    one = SuccessHistory(6)
    settings = DifferentialEvolutionSettings(
        pool=[Operator("rand/1", one, one), Operator("best/1", one, 0.5)]
    )
    data = settings.to_dict()
    assert data["pool"][0]["F"] == {"rule": "success_history", "H": 6, "share": "memory 1"}
    again = DifferentialEvolutionSettings.from_dict(data)
    assert again == settings
    assert len(Pool(again).rules) == 1
    apart = DifferentialEvolutionSettings(
        pool=[
            Operator("rand/1", SuccessHistory(6), SuccessHistory(6)),
            Operator("best/1", SuccessHistory(6), 0.5),
        ]
    )
    assert apart != settings
    assert len(Pool(DifferentialEvolutionSettings.from_dict(apart.to_dict())).rules) == 3


def test_a_label_stands_for_one_rule():
    rule = {"rule": "jade", "c": 0.1, "share": "a"}
    with raises(InvalidParameter, name="share", value="a"):
        DifferentialEvolutionSettings.from_dict({"F": rule, "CR": {**rule, "c": 0.2}})


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"F": 0}, "F"),
        ({"F": 2.1}, "F"),
        ({"F": math.nan}, "F"),
        ({"CR": 1.1}, "CR"),
        ({"CR": "much"}, "CR"),
        ({"CR": Cauchy(0.5, 0.1)}, "CR"),
        ({"CR": Uniform(0.5, 1.5)}, "CR"),
        ({"name": ""}, "name"),
    ],
)
def test_settings_outside_their_range_are_refused(given, name):
    with raises(InvalidParameter, name=name):
        Operator("rand/1", **given)


def test_a_normal_rule_serves_for_both_settings():
    assert str(Operator("rand/1", F=Normal(0.5, 0.3)).F) == "normal(0.5, 0.3)"


def test_rules_refuse_what_makes_no_sense():
    with raises(InvalidParameter, name="a", value=0.9):
        Uniform(0.9, 0.1)
    with raises(InvalidParameter, name="H", value=0):
        SuccessHistory(0)
    with raises(UnknownName, name="success_histry", near="success_history"):
        DifferentialEvolutionSettings.from_dict({"F": {"rule": "success_histry", "H": 6}})
    with raises(UnknownName, name="d"):
        DifferentialEvolutionSettings.from_dict({"F": {"rule": "jade", "d": 6}})


def test_unknown_strategies_are_answered_with_near_misses():
    with raises(UnknownName, name="curr-to-pbest/2", near="curr-to-best/2"):
        Operator("curr-to-pbest/2")


def test_a_product_has_every_combination():
    pool = product(["rand/1", "best/1"], F=[0.5, 0.9], CR=[0.1, 0.5, 0.9])
    assert len(pool) == 12
    assert pool[0] == Operator("rand/1", 0.5, 0.1)
    assert unique_names(pool)[5] == "rand/1 F=0.9 CR=0.9"


def test_the_default_pool_is_the_nine_in_the_authors_order():
    assert [o.strategy for o in paper_pool()] == [
        "rand/1", "rand/2", "rand-to-best/2", "curr-to-rand/1", "curr-to-pbest/1",
        "curr-to-pbest/1 (archived)", "best/1", "curr-to-best/1", "best/2",
    ]  # fmt: skip


def test_names_are_unique_and_given_names_must_differ():
    assert unique_names(as_members(["rand/1", "rand/1"])) == ("rand/1", "rand/1 (2)")
    assert unique_names([Operator("best/1"), Operator("rand/1", name="best/1")]) == (
        "best/1 (2)",
        "best/1",
    )
    with pytest.raises(NameClash):
        DifferentialEvolutionSettings(
            pool=[Operator("rand/1", name="a"), Operator("best/1", name="a")]
        )


@pytest.mark.parametrize("pool", [[], "rand/1", [3], [object()]])
def test_pools_that_are_none_are_refused(pool):
    with raises(InvalidParameter, name="operators"):
        as_members(pool)


def test_open_settings_take_the_run_s_own():
    members = DifferentialEvolutionSettings(
        pool=["rand/1", Operator("best/1", F=0.3)], F=0.7, CR=0.2
    ).members
    assert [(m.F, m.CR) for m in members] == [
        (Constant(0.7), Constant(0.2)),
        (Constant(0.3), Constant(0.2)),
    ]


class Gauss:
    """A user's own operator: normal around the best."""

    name = "gauss"

    def __init__(self):
        self.heard = []

    def propose(self, state, parents, rng):
        assert not state.population.flags.writeable
        return state.best + rng.normal(scale=3.0, size=(len(parents), len(state.low)))

    def learn(self, state, parents, offspring, fitness, improved):
        assert (improved == (fitness < state.fitness[parents])).all()
        self.heard.append(len(parents))


def test_a_user_s_own_operator_competes_with_the_others():
    own = Gauss()
    one = engine(pool=["rand/1", own], boundary="clip")
    for _ in range(30):
        X = one.ask()
        assert ((X >= -5) & (X <= 5)).all()
        one.tell((X**2).sum(axis=1))
    assert one.pool.names == ("rand/1", "gauss")
    assert sum(own.heard) == one.history.counts[:, 1].sum() > 200
    assert one.history.repairs.sum() > 0


def test_a_user_s_operator_that_returns_nonsense_is_named():
    class Bad:
        name = "bad"

        def propose(self, state, parents, rng):
            return np.zeros(3)

    one = engine(pool=[Bad()])
    one.tell(np.zeros(len(one.ask())))
    with pytest.raises(InvalidFeedback):
        one.ask()
