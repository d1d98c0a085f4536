"""The engine makes, step for step, the run that the plain transcription of the equations makes.

Both are fed the same random numbers and the same fitness values. Everything is compared with `==`;
the one exception is `boundary="reflect"` (see `follow`).
"""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_de import DRAWN, JSO, LSRTDE, Jade, ReferenceDE, SuccessHistory

from uaos.optimizers.de import rules
from uaos.optimizers.de.operators import Operator
from uaos.optimizers.de.optimizer import DifferentialEvolution
from uaos.optimizers.de.pool import SingleOperator
from uaos.optimizers.de.settings import Stagnation
from uaos.optimizers.winners import jso, lsrtde
from uaos.problems.space import Box
from uaos.selection.method import Method

ALL = tuple(name for name in DRAWN if name not in (JSO, LSRTDE))
NINE = ALL[:9]
ARCHIVED = "curr-to-pbest/1 (archived)"
BOUNDARIES = ("none", "clip", "reflect", "midpoint", "resample")
LOW, HIGH = [-5.0, -1.0, 0.0, 2.0], [5.0, 1.0, 3.0, 2.5]


# What both are fed


class Scripted:
    """A selector with a fixed sequence of operators, which draws no random number."""

    def __init__(self, K, budget, rng):
        self.K, self.budget = K, budget
        self.script = random.Random(K)
        self.told = []

    @property
    def probabilities(self):
        return np.full(self.K, 1 / self.K)

    def select(self, n):
        return np.array([self.script.randrange(self.K) for _ in range(n)])

    def learn(self, operators, parents, offspring):
        self.told.append((operators.tolist(), parents.tolist(), offspring.tolist()))


class Extreme:
    """Random numbers of which half are at an end of [0, 1), or a multiple of 1/8."""

    def __init__(self, rng):
        self.rng = rng

    def random(self, size=None, out=None):
        if size is None and out is None:
            return self.random(1)[0]
        u = self.rng.random(size) if out is None else self.rng.random(out=out)
        coarse = (u >= 0.3) & (u < 0.5)
        u[coarse] = np.floor(u[coarse] * 1e6) % 8 / 8
        u[~coarse & (u < 0.15)] = 0.0
        u[~coarse & (u >= 0.15) & (u < 0.3)] = math.nextafter(1.0, 0.0)
        return u


def valley(x, t):
    """Curved and badly scaled."""
    return 100.0 * (x[1] - x[0] * x[0]) ** 2 + abs(x[2] - 1.0) + 1e3 * (x[3] - 2.2) ** 2


def terraces(x, t):
    """With many points of the same value."""
    return float(math.floor(4 * (abs(x[0] - 1.0) + abs(x[2] - 2.0))))


def failing(fun, period):
    """`fun`, of which every `period`-th evaluation is NaN, inf or -inf in turn."""

    def fails(x, t):
        if t % period == 0:
            return (math.nan, math.inf, -math.inf)[t // period % 3]
        return fun(x, t)

    return fails


def failing_until(fun, first):
    """`fun`, whose evaluations before the `first`-th fail."""
    return lambda x, t: math.nan if t < first else fun(x, t)


# The two side by side


def rule_of_engine(rule, known):
    """A rule of the reference as one of the engine; the same object for the same object."""
    if isinstance(rule, tuple):
        name, *numbers = rule
        return rules.RULES[name](*numbers)
    if isinstance(rule, Jade):
        return known.setdefault(id(rule), rules.Jade(rule.c))
    if isinstance(rule, SuccessHistory):
        return known.setdefault(id(rule), rules.SuccessHistory(rule.H, **rule.options))
    return rule


def follow(
    pool, fun=valley, *, generations=25, NP=12, seed=3, extreme=False, budget=None, horizon=None,
    top_NP=0.05, top_drawn=False, boundary="midpoint", best_rule="population", archive="recent",
    archive_size=1.0, NP_end=None, restart=None, x0=(), center=False, box=(LOW, HIGH),
    winner=None, top=None,
):  # fmt: skip
    """Run engine and reference, and require that they are equal at every step.

    `winner` is the class of a winner, which has a pool of its own, and `top` its share of leaders
    as a function of progress and success rate. Returns the engine, the reference and what happened
    on the way.
    """
    horizon = horizon or 40_000

    def source():
        rng = np.random.default_rng(seed)
        return Extreme(rng) if extreme else rng

    budgets, selectors, known = [], [], {}

    def make_selector(K, left, rng):
        selectors.append(Scripted(K, left, rng))
        return selectors[-1]

    def new_selector(left):
        budgets.append(left)
        script = random.Random(len(pool))
        return lambda n: [script.randrange(len(pool)) for _ in range(n)]

    low, high = box
    numbers = source()
    slow = ReferenceDE(
        pool, low, high, NP, lambda n: numbers.random(n).tolist(), new_selector=new_selector,
        budget=budget, top_NP=top_NP, top_drawn=top_drawn, boundary=boundary, best_rule=best_rule,
        archive=archive, archive_size=archive_size, NP_end=NP_end, horizon=horizon,
        x0=x0, center=center, top=top, **(restart or {"patience": None}),
    )  # fmt: skip
    if winner is None:
        own = {"top_NP": f"U(2/NP,{top_NP})" if top_drawn else top_NP}
        own["pool"] = [
            Operator(name, rule_of_engine(F, known), rule_of_engine(CR, known))
            for name, F, CR in pool
        ]
    base = DifferentialEvolution if winner is None else winner
    settings = base.settings_class(
        **(own if winner is None else {}), NP=NP, boundary=boundary, best_rule=best_rule,
        archive=archive, archive_size=archive_size, center=center,
        NP_schedule=None if NP_end is None else {"rule": "linear", "NP_end": NP_end},
        restart=None if restart is None else Stagnation(**restart),
    )  # fmt: skip

    class Stubbed(base):
        def _begin(self, *epoch):
            if self.evaluations == 0:
                self.rng, self._horizon = source(), horizon
            super()._begin(*epoch)

        def _new_selector(self, left):
            if len(self.pool.members) == 1:
                return SingleOperator()
            return make_selector(len(self.pool.members), left, self.rng)

    fast = Stubbed(
        Box(np.column_stack([low, high]), outside_allowed=boundary == "none"), settings,
        method=Method(), budget=budget,
        x0=np.array(x0) if len(x0) else None,
    )  # fmt: skip
    seen = {"archive": 0, "repairs": 0, "asked": [], "restarted": []}
    told = []
    for step in range(generations + 1):
        if fast.done:
            break
        restarts = slow.restarts
        found, expected = fast.ask(), slow.ask()
        assert fast.restarts == slow.restarts
        if slow.restarts > restarts:
            seen["restarted"].append(step)
        assert fast.population.NP == slow.NP
        if boundary == "reflect":
            # Mirroring in turn and in one go round differently. So these agree to rounding (of
            # steps many widths long), and the reference goes on with the engine's points.
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
            slow.asked = found.tolist()
        else:
            assert found.tolist() == expected
        varied = slow.evaluated
        if varied:
            assert fast.offspring.operators.tolist() == slow.operators
            assert fast.offspring.F.tolist() == slow.F
            assert fast.offspring.CR.tolist() == slow.CR
            seen["repairs"] += slow.repairs
            parents = [slow.f[i] for i in slow.parents]
        values = [fun(x, slow.evaluations + t) for t, x in enumerate(found.tolist())]
        fast.tell(values)
        slow.tell(values)
        if varied and len(pool) > 1:
            failed = ~np.isfinite(values)  # told as NaN, whatever they were
            told.append((slow.operators, parents, np.where(failed, np.nan, values)))
        seen["asked"].append(len(found))
        seen["archive"] = max(seen["archive"], len(slow.archive))
        assert_equal_states(fast, slow)
        if varied:
            assert_recorded(fast.history, slow)
    if len(pool) > 1:
        assert [s.budget for s in selectors] == budgets
        for one, other in zip([t for s in selectors for t in s.told], told, strict=True):
            assert one[:2] == other[:2]
            np.testing.assert_array_equal(one[2], other[2])
    return fast, slow, seen


def assert_equal_states(fast, slow):
    """All that the next generation depends on, and the best point ever."""
    assert fast.view.population.tolist() == slow.X
    assert fast.view.fitness.tolist() == slow.f
    assert fast.view.archive.tolist() == slow.archive
    assert len(fast.rates.lengths) == len(slow.memories)
    for row, memory in enumerate(slow.memories):
        assert fast.rates.turns[row] == getattr(memory, "turn", 0)
        M_F, M_CR = memory.pairs
        assert fast.rates.means[row, 0, : len(M_F)].tolist() == M_F
        assert fast.rates.means[row, 1, : len(M_CR)].tolist() == M_CR
    assert (None if fast.best_x is None else fast.best_x.tolist()) == slow.best_x
    assert fast.best_fitness == slow.best_f
    assert fast.evaluations == slow.evaluations
    assert fast.generation == slow.generation
    assert fast.done == slow.done


def assert_recorded(history, slow):
    """The last row of the history."""
    counts = [slow.operators.count(k) for k in range(len(slow.pool))]
    assert history.counts[-1].tolist() == counts
    assert history.best[-1] == slow.best_f
    assert history.evaluations[-1] == slow.evaluations
    assert history.generation[-1] == slow.generation
    assert history.population[-1] == slow.NP
    assert history.restarts[-1] == slow.restarts
    assert history.repairs[-1] == slow.repairs


def all_nine(F=0.8, CR=0.6):
    return [(name, F, CR) for name in NINE]


# Strategies and crossover


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_a_strategy_alone_agrees(name, extreme):
    """Its mutants and its crossover, with random numbers of all sizes and at the ends."""
    follow([(name, 0.7, 0.5)], NP=8, extreme=extreme)


@pytest.mark.parametrize("name", ALL)
def test_a_strategy_agrees_at_its_smallest_population(name):
    """Every parent but i is drawn."""
    follow([(name, 0.7, 0.5)], NP=max(4, DRAWN[name] + 1))


@pytest.mark.parametrize("CR", [0.0, 1.0])
def test_crossover_agrees_at_the_ends_of_its_rate(CR):
    """One coordinate from the mutant, and all of them."""
    follow(all_nine(CR=CR), extreme=True)


@pytest.mark.parametrize("D", [1, 2, 9])
def test_any_dimension_agrees(D):
    """Down to a single coordinate, which then always comes from the mutant."""
    box = [-1.0 - j for j in range(D)], [2.0 + j / 3 for j in range(D)]
    follow(all_nine(CR=0.3), lambda x, t: sum((v - 0.7) ** 2 for v in x), box=box)


def test_the_nine_chosen_by_a_selector_agree():
    """The selector hears the parents as they were, and its choice is what is made."""
    fast, _, _ = follow(all_nine())
    assert (fast.history.counts.sum(axis=0) > 0).all()


# Bounds


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_boundary_rule_agrees(boundary, extreme):
    """Long steps leave the box by up to several widths."""
    _, _, seen = follow(all_nine(F=1.9), boundary=boundary, extreme=extreme)
    assert (seen["repairs"] > 50) == (boundary != "none")


# x_best and x_pbest


@pytest.mark.parametrize("fun", [valley, terraces, failing(valley, 3)])
@pytest.mark.parametrize("best_rule", ["population", "latest"])
@pytest.mark.parametrize("name", ["best/1", "best/2", "curr-to-best/1", "rand-to-best/2"])
def test_a_best_rule_agrees(name, best_rule, fun):
    """The best parent, or the place of the last generation's best offspring; ties, failures."""
    follow([(name, 0.6, 0.9)], fun, best_rule=best_rule, generations=40)


def test_the_latest_best_stays_where_it_was_after_a_generation_that_failed():
    """No offspring was the best of it; here every second generation fails."""
    follow(
        [("best/1", 0.6, 0.9), ("rand/1", 0.9, 0.5)],
        lambda x, t: math.nan if t // 12 % 2 else valley(x, t),
        best_rule="latest",
    )


@pytest.mark.parametrize("top_NP", [0.01, 0.21, 0.5, 1.0])
@pytest.mark.parametrize("top_drawn", [False, True])
@pytest.mark.parametrize("fun", [valley, terraces])
def test_a_share_of_best_parents_agrees(fun, top_drawn, top_NP):
    """Fixed or drawn for each offspring; never fewer than two; ties go by position."""
    pool = [("curr-to-pbest/1", 0.6, 0.9), (ARCHIVED, 0.6, 0.9)]
    follow(pool, fun, top_NP=top_NP, top_drawn=top_drawn, NP=14)


@pytest.mark.parametrize("NP", [10, 14, 18])
def test_a_share_that_is_half_a_parent_too_many_agrees(NP):
    """2.5, 3.5 and 4.5 parents are 2, 4 and 4."""
    follow([("curr-to-pbest/1", 0.6, 0.9)], top_NP=0.25, NP=NP, extreme=True)


# Archive


@pytest.mark.parametrize("archive_size", [0.0, 0.25, 1.0, 2.6])
@pytest.mark.parametrize("archive", ["recent", "history"])
def test_an_archive_policy_agrees(archive, archive_size):
    """Filling up, full, and of no size at all."""
    _, _, seen = follow(
        [(ARCHIVED, 0.5, 0.9)], archive=archive, archive_size=archive_size, NP=10, generations=60
    )
    assert seen["archive"] == round(archive_size * 10)


@pytest.mark.parametrize("archive", ["recent", "history"])
def test_an_archive_agrees_where_offspring_equal_their_parents(archive):
    """An offspring as good as its parent takes its place, but the parent did not lose."""
    follow([(ARCHIVED, 0.5, 0.3)], terraces, archive=archive, archive_size=0.5, generations=40)


# Rules of F and CR

MEMORYLESS = {
    "constants": (0.9, 0.2),
    "uniform": (("uniform", 0.2, 1.4), ("uniform", 0.1, 0.8)),
    "cauchy and normal": (("cauchy", 0.5, 0.1), ("normal", 0.5, 0.1)),
    "cauchy and normal, wide": (("cauchy", 0.1, 3.0), ("normal", 0.9, 1.0)),
    "cauchy at zero": (("cauchy", 0.0, 0.01), ("normal", 0.0, 0.01)),
}


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("name", MEMORYLESS)
def test_a_rule_without_memory_agrees(name, extreme):
    """Each offspring's F and CR."""
    F, CR = MEMORYLESS[name]
    follow([("rand/1", F, CR), ("best/2", CR if name == "uniform" else F, 0.5)], extreme=extreme)


def jade_for_both():
    rule = Jade(0.2)
    return [(ARCHIVED, rule, rule)]


def jade_default():
    rule = Jade()
    return [("rand/1", rule, rule)]


def jade_for_each():
    return [("curr-to-pbest/1", Jade(0.1), Jade(0.9))]


def history_for_both():
    rule = SuccessHistory(4)
    return [(ARCHIVED, rule, rule)]


def history_for_each():
    return [("rand/1", SuccessHistory(3), SuccessHistory(5))]


def history_of_one():
    rule = SuccessHistory(1)
    return [("curr-to-best/1", rule, rule)]


def shared_by_operators():
    rule = SuccessHistory(6)
    return [(ARCHIVED, rule, rule), ("rand/1", rule, rule), ("best/1", rule, 0.9)]


def shared_across():
    """Rules that serve F of one operator and CR of another, beside operators of no memory."""
    jade, history = Jade(0.3), SuccessHistory(2)
    return [
        ("rand/1", jade, history),
        ("curr-to-rand/1", history, jade),
        ("best/2", 0.5, history),
        ("rand/2", jade, 0.1),
        ("best/1", ("uniform", 0.1, 0.9), ("normal", 0.3, 0.2)),
    ]


def alike_but_not_shared():
    """Rules that are equal but not the same object have a memory each."""
    return [(ARCHIVED, SuccessHistory(3), Jade(0.1)), ("rand/1", SuccessHistory(3), Jade(0.1))]


ADAPTIVE = (
    jade_for_both, jade_default, jade_for_each, history_for_both, history_for_each, history_of_one,
    shared_by_operators, shared_across, alike_but_not_shared,
)  # fmt: skip


@pytest.mark.parametrize("fun", [valley, terraces, failing(valley, 4)])
@pytest.mark.parametrize("pool", ADAPTIVE)
def test_an_adaptive_rule_agrees(pool, fun):
    """Its memory, after each generation, and what is drawn from it."""
    _, slow, _ = follow(pool(), fun, generations=40)
    learned = [m for memory in slow.memories for m in memory.pairs[0] + memory.pairs[1]]
    assert any(m != 0.5 for m in learned)


@pytest.mark.parametrize("pool", ADAPTIVE)
def test_an_adaptive_rule_agrees_with_random_numbers_at_the_ends(pool):
    """CR of 0 and 1, F at its smallest and cut at 1."""
    follow(pool(), generations=40, extreme=True)


@pytest.mark.parametrize("pool", ADAPTIVE)
def test_an_adaptive_rule_agrees_where_parents_had_failed(pool):
    """An improvement on a failed parent weighs as much as the largest other one."""
    follow(pool(), failing_until(failing(valley, 4), 9))


@pytest.mark.parametrize("pool", ADAPTIVE)
def test_an_adaptive_rule_agrees_where_all_parents_had_failed(pool):
    """With no other improvement, all weigh the same."""
    follow(pool(), failing_until(failing(valley, 2), 40))


@pytest.mark.parametrize("pool", ADAPTIVE)
def test_an_adaptive_rule_agrees_where_differences_overflow(pool):
    """An improvement from near the largest number to near the smallest is not finite."""
    follow(pool(), lambda x, t: math.copysign(1.7e308, 30.0 - t) * (1 + math.sin(t)) / 2)


# Failed evaluations


@pytest.mark.parametrize("archive", ["recent", "history"])
@pytest.mark.parametrize("best_rule", ["population", "latest"])
@pytest.mark.parametrize("period", [2, 3, 7])
def test_failed_evaluations_agree(period, best_rule, archive):
    """NaN, inf and -inf never survive, neither at the start nor later."""
    _, slow, _ = follow(
        all_nine(), failing(valley, period), best_rule=best_rule, archive=archive, archive_size=0.5
    )
    assert math.isfinite(slow.best_f)


@pytest.mark.parametrize("first", [5, 12, 30, 10_000])
def test_parents_with_failed_fitness_agree(first):
    """Some of the initial population, all of it, generations after it, everything."""
    fast, _, _ = follow(all_nine(), failing_until(valley, first), best_rule="latest")
    assert (fast.best_x is None) == (first == 10_000)


# Start and end


def test_given_points_and_the_center_agree():
    """They take the first places of the initial population."""
    points = [[4.0, 0.5, 0.25, 2.5], [-5.0, -1.0, 0.0, 2.0]]
    follow(all_nine(), x0=points, generations=3)
    follow(all_nine(), center=True, generations=3)
    follow(all_nine(), center=True, x0=points, generations=3)


@pytest.mark.parametrize("budget", [1, 5, 12, 13, 40, 49])
@pytest.mark.parametrize("best_rule", ["population", "latest"])
def test_a_budget_that_cuts_a_generation_agrees(best_rule, budget):
    """Only the first parents have offspring in the last one, or a fitness in the first."""
    pool = [*all_nine(), *shared_by_operators()]
    fast, slow, seen = follow(pool, failing(valley, 5), budget=budget, best_rule=best_rule)
    assert fast.done
    assert sum(seen["asked"]) == slow.evaluations == budget


# Population schedule


@pytest.mark.parametrize("archive", ["recent", "history"])
@pytest.mark.parametrize("best_rule", ["population", "latest"])
@pytest.mark.parametrize("fun", [valley, terraces, failing(valley, 3)])
def test_a_linear_schedule_agrees(fun, best_rule, archive):
    """The worst leave, and random members of the archive."""
    rule = SuccessHistory(6)
    pool = [(ARCHIVED, rule, rule), ("best/1", 0.5, 0.9), ("curr-to-best/1", 0.5, 0.9)]
    fast, slow, seen = follow(
        pool, fun, NP=24, NP_end=4, budget=487, archive=archive, archive_size=1.5, top_NP=0.11,
        best_rule=best_rule, generations=1000,
    )  # fmt: skip
    assert fast.done
    assert slow.NP <= 5
    assert seen["archive"] > round(1.5 * slow.NP) >= len(slow.archive)


@pytest.mark.parametrize("NP_end", [2, 12, 19, 40])
def test_a_schedule_agrees_for_other_ends(NP_end):
    """To two parents, by less than half, hardly, and not at all."""
    follow([(ARCHIVED, 0.5, 0.9)], NP=20, NP_end=NP_end, budget=333, generations=1000)


@pytest.mark.parametrize(("NP", "NP_end", "budget"), [(29, 4, 300), (50, 5, 250), (55, 5, 100)])
def test_a_schedule_agrees_where_it_falls_on_half_an_individual(NP, NP_end, budget):
    """round(NP_0 + (NP_end - NP_0) e / budget), of a quotient that is exactly half: to even."""
    follow([("rand/1", 0.5, 0.9)], NP=NP, NP_end=NP_end, budget=budget, generations=1000)


def test_a_schedule_in_an_unlimited_run_agrees():
    """It runs over the horizon, past which the population stays as small as it is."""
    _, slow, _ = follow([(ARCHIVED, 0.5, 0.9)], NP=20, NP_end=4, horizon=150, generations=60)
    assert slow.evaluations > 200


@pytest.mark.parametrize("fun", [valley, terraces])
def test_a_large_population_agrees(fun):
    """More parents than are ranked by insertion, until the schedule has removed enough."""
    pool = [("best/1", 0.5, 0.9), ("curr-to-pbest/1", 0.5, 0.9), (ARCHIVED, 0.5, 0.9)]
    _, slow, _ = follow(pool, fun, NP=1040, NP_end=1000, budget=3900, archive_size=0.3)
    assert slow.NP < 1024


# Restart


def endless(x, t):
    """Nothing improves after the first 60 evaluations of every 200."""
    return valley(x, t) if t % 200 < 60 else 1e9


@pytest.mark.parametrize("growth", [0.5, 1.0, 1.6])
@pytest.mark.parametrize("patience", [1, 4])
def test_a_restart_for_want_of_improvement_agrees(patience, growth):
    """Population, archive, rules and selector start afresh; the best point ever is kept."""
    restart = {"patience": patience, "spread": 0.0, "growth": growth}
    _, _, seen = follow(
        [*shared_by_operators(), *jade_for_each()], endless, restart=restart, budget=900,
        generations=1000, best_rule="latest", archive="history", archive_size=0.5,
    )  # fmt: skip
    assert len(seen["restarted"]) >= 3


@pytest.mark.parametrize("spread", [0.0, 1e-12, 0.2])
def test_a_restart_for_want_of_differences_agrees(spread):
    """The fitness of the whole population has become the same, or nearly."""
    restart = {"patience": 1000, "spread": spread}
    _, _, seen = follow(
        [("best/1", 0.4, 0.9), *history_for_both()], terraces, restart=restart, budget=900,
        generations=1000,
    )  # fmt: skip
    assert seen["restarted"]


@pytest.mark.parametrize("level", [1e6, -1e6])
def test_the_spread_is_relative_to_the_best(level):
    """At a level of a million, a spread of 1e-5 is a difference of ten."""
    _, _, seen = follow(
        [("rand/1", 0.5, 0.9)], lambda x, t: level + terraces(x, t),
        restart={"patience": 1000, "spread": 1e-5}, generations=60,
    )  # fmt: skip
    assert seen["restarted"]


def test_a_failed_parent_keeps_a_population_from_being_alike():
    """Its fitness differs from all others; only patience ends such an epoch."""
    _, _, seen = follow(
        [("rand/1", 0.5, 0.9)], lambda x, t: math.nan if t % 12 == 0 else 1.0,
        restart={"patience": 5}, generations=20,
    )  # fmt: skip
    assert seen["restarted"]


@pytest.mark.parametrize("fun", [endless, terraces, failing(terraces, 9)])
def test_a_restart_under_a_schedule_agrees(fun):
    """A new epoch's schedule runs over what is left of the budget."""
    _, slow, seen = follow(
        shared_by_operators(), fun, restart={"patience": 6}, NP=20, NP_end=5, budget=1111,
        generations=1000, archive_size=2.0,
    )  # fmt: skip
    assert seen["restarted"]
    assert slow.done


def test_a_restart_with_a_larger_population_than_the_budget_agrees():
    """The budget cuts the new initial population."""
    restart = {"patience": 2, "growth": 3.0}
    _, slow, _ = follow(
        all_nine(), lambda x, t: float(t), restart=restart, budget=55, generations=1000
    )
    assert slow.restarts == 1
    assert slow.done


@pytest.mark.parametrize("patience", [1, 2, 5])
def test_patience_counts_generations_where_every_evaluation_fails(patience):
    """The initial population is not a generation."""
    _, _, seen = follow(
        all_nine(), lambda x, t: math.nan, restart={"patience": patience}, generations=12
    )
    assert seen["restarted"][0] == patience + 1


# Winners


@pytest.mark.parametrize("fun", [valley, terraces, failing(valley, 3)])
@pytest.mark.parametrize("NP_end", [None, 5])
@pytest.mark.parametrize("restart", [None, {"patience": 6}])
def test_lsrtde_agrees(fun, NP_end, restart):
    """Parents at random, places in turn, the best points found in the archive."""
    history = SuccessHistory(5, CR=1.0, rate=0.5, CR_mean="Lehmer", CR_scale=0.05)
    _, slow, _ = follow(
        [(LSRTDE, ("success_rate", 0.4, 0.25, 5.0, 0.02), history)], fun, winner=lsrtde.LSRTDE,
        NP=16, NP_end=NP_end, budget=700, generations=1000, boundary="resample", restart=restart,
        top=lambda t, S: 0.7 * math.exp(-7 * S),
    )  # fmt: skip
    assert slow.archive_f == sorted(slow.archive_f)
    assert slow.done


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("fun", [valley, terraces, failing(valley, 3)])
def test_jso_agrees(fun, extreme):
    """Weights, limits and leaders by the share of the run that is over."""
    rule = SuccessHistory(5, **LIKE_JSO, phases=True)
    follow(
        [(JSO, rule, rule)], fun, winner=jso.JSO, budget=600, generations=1000, NP=16, NP_end=4,
        extreme=extreme, top=lambda t, S: 0.25 + (0.125 - 0.25) * min(1.0, t),
    )  # fmt: skip


LIKE_JSO = {"F": 0.3, "CR": 0.8, "rate": 0.5, "CR_mean": "Lehmer", "last": 0.9}
HISTORIES = {
    "jSO": LIKE_JSO,
    "Lehmer": {"CR": 0.0, "CR_mean": "Lehmer"},
    "wide": {"F": 0.2, "CR_scale": 0.3},
}


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("name", HISTORIES)
def test_the_successors_of_success_history_agree(name, extreme):
    """Start, rate and means."""
    rule = SuccessHistory(3, **HISTORIES[name])
    pool = [(ARCHIVED, rule, rule), ("rand/1", 0.5, rule)]
    for fun in (valley, terraces):
        follow(pool, fun, budget=600, generations=1000, NP=16, extreme=extreme)


# Everything at once


@st.composite
def runs(draw):
    """Any pool and settings."""
    shared = [Jade(0.3), SuccessHistory(2), SuccessHistory(5)]
    F = st.sampled_from([*shared, 0.5, 1.3, ("cauchy", 0.5, 0.1), ("uniform", 0.1, 1.9)])
    CR = st.sampled_from([*shared, 0.9, 0.1, ("normal", 0.5, 0.3), ("uniform", 0.0, 1.0)])
    pool = draw(st.lists(st.tuples(st.sampled_from(NINE), F, CR), min_size=1, max_size=6))
    start = draw(st.integers(6, 20))
    restart = st.fixed_dictionaries(
        {"patience": st.integers(1, 8), "spread": st.sampled_from([0.0, 1e-12, 0.1])}
        | {"growth": st.sampled_from([0.5, 1.0, 1.5])}
    )
    fun = draw(st.sampled_from([valley, terraces, endless]))
    period = draw(st.none() | st.integers(2, 9))
    return {
        "pool": pool,
        "fun": fun if period is None else failing(fun, period),
        "NP": start,
        "budget": draw(st.integers(1, 500)),
        "seed": draw(st.integers(0, 10_000)),
        "extreme": draw(st.booleans()),
        "top_NP": draw(st.sampled_from([0.05, 0.2, 0.5])),
        "top_drawn": draw(st.booleans()),
        "boundary": draw(st.sampled_from(BOUNDARIES)),
        "best_rule": draw(st.sampled_from(["population", "latest"])),
        "archive": draw(st.sampled_from(["recent", "history"])),
        "archive_size": draw(st.sampled_from([0.3, 1.0, 2.6])),
        "NP_end": draw(st.none() | st.integers(6, 12)),
        "restart": draw(st.none() | restart),
    }


@given(run=runs())
def test_any_pool_with_any_settings_agrees(run):
    """All of the above in combination."""
    follow(**run, generations=1000)
