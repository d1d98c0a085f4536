"""pymoo: adaptive algorithms run, repeat, report and resume as pymoo's own do."""

from copy import deepcopy
from math import inf, nan
from typing import Any

import dill
import numpy as np
import pytest
from pymoo.algorithms.moo.moead import MOEAD, ParallelMOEAD
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.algorithms.soo.nonconvex.de import DE, Variant
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.algorithms.soo.nonconvex.pso import PSO
from pymoo.core.algorithm import Algorithm
from pymoo.core.callback import Callback
from pymoo.core.crossover import Crossover
from pymoo.core.infill import InfillCriterion
from pymoo.core.mating import Mating
from pymoo.core.mutation import Mutation
from pymoo.core.problem import Problem
from pymoo.operators.crossover.dex import DEM
from pymoo.operators.crossover.nox import NoCrossover
from pymoo.operators.crossover.pcx import PCX
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.crossover.ux import UX
from pymoo.operators.mutation.nom import NoMutation
from pymoo.operators.mutation.pm import PM
from pymoo.optimize import minimize
from pymoo.problems import get_problem
from raising import raises
from test_adapters_credit import METHODS

import uaos
from uaos.adapters.pymoo import AdaptiveMating, AdaptiveVariant, adaptive, frrmab, real_operators
from uaos.errors import InvalidParameter, UnknownName

DIRECTIONS = np.column_stack([np.linspace(0, 1, 10), np.linspace(1, 0, 10)])
VARIANTS = ["DE/rand/1/bin", "DE/best/1/bin", "DE/target-to-best/1/exp"]


class Sphere(Problem):
    """Σ x², and a chance to say what is wrong with some of the points."""

    def __init__(self, odd: Any = None, **kwargs: Any) -> None:
        super().__init__(n_var=4, n_obj=1, xl=-5, xu=5, **kwargs)
        self.odd = odd

    def _evaluate(self, x: Any, out: Any, *args: Any, **kwargs: Any) -> None:
        out["F"] = (x**2).sum(axis=1)
        if self.n_ieq_constr:
            out["G"] = 1.0 - x[:, 0]  # feasible from x₀ = 1 on
        elif self.odd is not None:
            out["F"][x[:, 0] < 0] = self.odd


def ga(pop_size: int = 10, **options: Any) -> GA:
    lists = {"crossover": [SBX(), UX(), PCX()], "mutation": [PM(), PM(eta=3)]}
    own = {k: options.pop(k) for k in ("n_offsprings", "eliminate_duplicates") if k in options}
    return adaptive(GA(pop_size=pop_size, **own), **(lists | options))


def de(**options: Any) -> DE:
    return adaptive(DE(pop_size=10), **({"variant": VARIANTS} | options))


KINDS = {"GA": ga, "DE": de}


def solved(algorithm: Algorithm, generations: int = 6, seed: int = 1, **kwargs: Any) -> Any:
    problem = kwargs.pop("problem", None) or Sphere()
    return minimize(problem, algorithm, ("n_gen", generations), seed=seed, **kwargs)


def applications(credit: Any) -> list[int]:
    return [sum(counts.values()) for counts in credit.counts.values()]


class Heard:
    """The feedback of a run: slot by slot, one row for each application."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: list[tuple[int, float, float]] = []
        update = uaos.Selector.update

        def listening(selector: uaos.Selector, *feedback: Any) -> None:
            if selector.n_operators == 3:  # the crossovers, or the variants
                self.rows += list(zip(*feedback, strict=True))
            update(selector, *feedback)

        monkeypatch.setattr(uaos.Selector, "update", listening)


# The contract of pymoo


@pytest.mark.parametrize(("algorithm", "made"), [(GA, ga), (DE, de)])
def test_the_parts_are_what_pymoo_expects(algorithm: type, made: Any) -> None:
    adapted = made()
    assert type(adapted) is algorithm
    assert isinstance(adapted.mating, Mating if algorithm is GA else InfillCriterion)
    assert isinstance(adapted.mating, AdaptiveMating if algorithm is GA else AdaptiveVariant)


@pytest.mark.parametrize("plain", [GA, DE])
@pytest.mark.parametrize("size", [10, 11])
def test_with_one_operator_each_it_is_pymoos_own_run_to_the_last_bit(
    plain: type, size: int
) -> None:
    one = {"variant": "DE/best/1/bin"} if plain is DE else {}
    theirs, ours = solved(plain(pop_size=size)), solved(adaptive(plain(pop_size=size), **one))
    np.testing.assert_array_equal(theirs.pop.get("X"), ours.pop.get("X"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_the_catalogue_serves(method: str, kind: str) -> None:
    found = solved(KINDS[kind](method=method), generations=4)
    credit = found.algorithm.mating.credit
    for slot, chances in credit.probabilities.items():
        assert sum(chances.values()) == pytest.approx(1)
        assert sum(credit.counts[slot].values()) >= 30  # three generations of ten, and duplicates


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_repeats_a_run(kind: str) -> None:
    algorithm = KINDS[kind]()
    first, again, other = (solved(algorithm, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.pop.get("X"), again.pop.get("X"))
    assert first.algorithm.mating.credit.counts == again.algorithm.mating.credit.counts
    assert not np.array_equal(first.X, other.X)


def test_a_mating_that_is_used_again_starts_afresh() -> None:
    mating = ga().mating
    runs = [solved(GA(pop_size=10, mating=mating), copy_algorithm=False) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].pop.get("X"), runs[1].pop.get("X"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_callback_sees_what_was_learned_so_far_and_changes_nothing_by_looking(kind: str) -> None:
    class Looking(Callback):
        def notify(self, algorithm: Algorithm) -> None:
            born = algorithm.evaluator.n_eval - algorithm.pop_size
            credit = algorithm.mating.credit
            assert all(n >= born for n in applications(credit))
            assert credit.pending == []

    looked = solved(KINDS[kind](), callback=Looking())
    np.testing.assert_array_equal(looked.pop.get("X"), solved(KINDS[kind]()).pop.get("X"))


def test_the_history_keeps_what_was_known_in_each_generation() -> None:
    found = solved(de(), save_history=True)
    assert [applications(a.mating.credit) for a in found.history] == [
        [0], [10], [20], [30], [40], [50],
    ]  # fmt: skip
    np.testing.assert_array_equal(found.pop.get("X"), solved(de()).pop.get("X"))


def continued(algorithm: Algorithm, generations: int) -> Any:
    for _ in range(generations):
        algorithm.next()
    return algorithm


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "copier", [deepcopy, lambda a: dill.loads(dill.dumps(a))], ids=["deepcopy", "dill"]
)
@pytest.mark.parametrize("method", ["Ex-AP", "F-AUC-MAB", "SaDE"])
def test_a_run_resumed_from_a_checkpoint_equals_an_uninterrupted_one(
    kind: str, copier: Any, method: str
) -> None:
    algorithm = KINDS[kind](method=method)
    algorithm.setup(Sphere(), termination=("n_gen", 12), seed=1)
    stored = copier(continued(algorithm, 4))
    # As pymoo's documentation does it: what was stored is given to minimize again.
    through, resumed = (minimize(Sphere(), a, copy_algorithm=False) for a in (algorithm, stored))
    through, resumed = through.algorithm, resumed.algorithm
    assert resumed.n_gen == through.n_gen == 13
    np.testing.assert_array_equal(through.pop.get("X"), resumed.pop.get("X"))
    assert through.mating.credit.probabilities == resumed.mating.credit.probabilities


def test_ask_and_tell_learns_when_told() -> None:
    algorithm = ga(mutation=PM(), eliminate_duplicates=False)
    algorithm.setup(Sphere(), termination=("n_gen", 9), seed=1)
    for generation in range(3):
        asked = algorithm.ask()
        # Asked, and not told: nothing is known of these yet.
        assert applications(algorithm.mating.credit) == [10 * max(0, generation - 1)] * 2
        algorithm.evaluator.eval(algorithm.problem, asked)
        algorithm.tell(infills=asked)
        assert applications(algorithm.mating.credit) == [10 * generation] * 2


# What is fed back


class Marking(Crossover):
    """Offspring x = (anything, best parent's fitness on the sphere, 0, 0), `n` of each mating."""

    def __init__(self, n_parents: int, n: int) -> None:
        super().__init__(n_parents, n, prob=1.0)

    def _do(self, problem: Any, X: Any, *args: Any, random_state: Any = None, **kwargs: Any) -> Any:
        made = np.zeros((self.n_offsprings, *X.shape[1:]))
        made[..., 0] = random_state.uniform(-1, 1, made.shape[:2])
        made[..., 1] = (X**2).sum(axis=2).min(axis=0)
        return made


def test_the_parent_is_the_best_of_the_mating_whatever_the_crossover_takes_and_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard = Heard(monkeypatch)
    crossovers = [Marking(2, 2), Marking(3, 1), Marking(1, 3)]
    algorithm = ga(crossover=crossovers, mutation=NoMutation(), n_offsprings=13)
    solved(algorithm, generations=2).algorithm.mating.credit
    assert {operator for operator, *_ in heard.rows} == {0, 1, 2}
    assert len(heard.rows) == 13
    for _, parent, offspring in heard.rows:
        # The sphere of (x₀, parent, 0, 0) is x₀² + parent², of which |x₀| <= 1.
        assert parent**2 <= offspring <= parent**2 + 1


def test_offspring_come_in_the_order_of_the_matings_so_that_no_operator_is_cut_off_first() -> None:
    class Numbered(Crossover):
        def __init__(self, number: int) -> None:
            super().__init__(2, 2, prob=1.0)
            self.number = number

        def _do(self, problem: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
            made = X.copy()
            made[..., 0] = np.arange(2)[:, None]
            made[..., 1] = self.number
            return made

    crossovers = [Numbered(k) for k in range(3)]
    algorithm = ga(crossover=crossovers, mutation=NoMutation(), eliminate_duplicates=False)
    algorithm.setup(Sphere(), termination=("n_gen", 5), seed=1)
    algorithm.next()
    made = algorithm.ask().get("X")
    assert made[:, 0].tolist() == [0] * 5 + [1] * 5  # the first child of every mating, the second
    chosen = made[:5, 1].tolist()
    assert chosen == made[5:, 1].tolist()
    assert chosen != sorted(chosen)


def test_offspring_in_excess_of_a_generation_are_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard = Heard(monkeypatch)
    crossovers = [SBX(), SBX(eta=3), SBX(eta=30)]
    found = solved(ga(crossover=crossovers, n_offsprings=7, segment=7), generations=4)
    assert found.algorithm.mating.credit is not None
    finite = [row for row in heard.rows if np.isfinite(row[2])]
    assert len(finite) == found.algorithm.evaluator.n_eval - 10 == 3 * 7


def test_a_duplicate_is_a_failed_application(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard(monkeypatch)
    crossovers = [SBX(prob=1.0, prob_var=1.0), NoCrossover(), NoCrossover(n_parents=2)]
    found = solved(ga(crossover=crossovers, mutation=NoMutation()), generations=3)
    assert found.algorithm.mating.credit is not None
    # Without mutation, copies of parents are duplicates; SBX makes what is evaluated.
    assert {operator for operator, *_ in heard.rows} == {0, 1, 2}
    assert all(offspring == inf for operator, _, offspring in heard.rows if operator > 0)
    born = [row for row in heard.rows if np.isfinite(row[2])]
    assert len(born) == found.algorithm.evaluator.n_eval - 10


def test_a_crossover_that_hands_back_its_parents_leaves_them_alone() -> None:
    algorithm = ga(crossover=[NoCrossover(), NoCrossover(n_parents=2), SBX()], mutation=PM())
    algorithm.setup(Sphere(), termination=("n_gen", 5), seed=1)
    algorithm.next()
    before = algorithm.pop.get("X").copy()
    algorithm.ask()
    np.testing.assert_array_equal(algorithm.pop.get("X"), before)


@pytest.mark.parametrize("odd", [nan, inf])
@pytest.mark.parametrize("kind", KINDS)
def test_fitness_that_is_not_finite_is_a_failure_and_no_parent(
    odd: float, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard(monkeypatch)
    found = solved(KINDS[kind](), generations=4, problem=Sphere(odd))
    credit = found.algorithm.mating.credit
    assert all(sum(c.values()) == pytest.approx(1) for c in credit.probabilities.values())
    assert any(not np.isfinite(offspring) for *_, offspring in heard.rows)
    assert not any(np.isnan(parent) for _, parent, _ in heard.rows)


@pytest.mark.parametrize("kind", KINDS)
def test_infeasible_offspring_fail_and_infeasible_parents_are_infinitely_bad(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard(monkeypatch)
    found = solved(KINDS[kind](), generations=4, problem=Sphere(n_ieq_constr=1))
    assert found.algorithm.mating.credit.pending == []
    offspring = np.array([row[2] for row in heard.rows])
    parents = np.array([row[1] for row in heard.rows])
    assert np.isinf(offspring).any()
    # x₀ >= 1 makes the sphere at least 1: what is finite is feasible.
    assert (offspring[np.isfinite(offspring)] >= 1).all()
    assert (parents[np.isfinite(parents)] >= 1).all()


def test_in_differential_evolution_the_parent_is_the_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard = Heard(monkeypatch)
    algorithm = de()
    algorithm.setup(Sphere(), termination=("n_gen", 5), seed=1)
    algorithm.next()
    targets = algorithm.pop.get("F")[:, 0].tolist()
    asked = algorithm.ask()
    algorithm.evaluator.eval(algorithm.problem, asked)
    algorithm.tell(infills=asked)
    assert algorithm.mating.credit.pending == []
    assert [parent for _, parent, _ in heard.rows] == targets
    assert [offspring for *_, offspring in heard.rows] == asked.get("F")[:, 0].tolist()


# What is given


def test_it_learns_which_operator_helps() -> None:
    class Spoiling(Mutation):
        def _do(self, problem: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
            return np.full_like(X, 5.0) * np.linspace(0.9, 1, len(X))[:, None]

    found = solved(ga(30, mutation=[Spoiling(), PM()], method="Ex-AP"), generations=15)
    assert found.algorithm.mating.credit.probabilities["mutation"]["PM"] > 0.8


def test_each_slot_may_have_a_method_of_its_own() -> None:
    selectors = ga(method={"crossover": "SaDE", "mutation": "Compass"}).mating.credit.selectors
    assert selectors["crossover"].method == uaos.method("SaDE")
    assert selectors["mutation"].method == uaos.method("Compass")
    with raises(UnknownName, name="mutatio", near="mutation"):
        ga(method={"mutatio": "SaDE"})


def test_variants_in_words_take_their_settings_from_the_algorithm() -> None:
    algorithm = adaptive(DE(CR=0.77, F=0.66), variant=["DE/rand/2/exp", Variant(CR=0.1)])
    words, own = algorithm.mating.variants
    assert [getattr(words, n).get() for n in ("selection", "n_diffs", "crossover")] == [
        "rand", 2, "exp",
    ]  # fmt: skip
    assert (words.CR.get(), words.F.get(), own.CR.get()) == (0.77, 0.66, 0.1)
    names = ["DE/rand/2/exp CR 0.77", "DE/best/1/bin CR 0.1"]
    assert list(algorithm.mating.credit.counts["variant"]) == names


def test_by_default_differential_evolution_chooses_its_crossover_rate() -> None:
    own, other = adaptive(DE(F=0.66)).mating.variants
    assert (own.CR.get(), other.CR.get(), own.F.get(), other.F.get()) == (0.2, 0.9, 0.66, 0.66)


@pytest.mark.parametrize("kind", KINDS)
def test_an_adaptive_algorithm_may_be_adapted_again(kind: str) -> None:
    once, twice = KINDS[kind](method="PDP"), adaptive(KINDS[kind](), method="PDP")
    np.testing.assert_array_equal(solved(once).pop.get("X"), solved(twice).pop.get("X"))


class OwnMating(Mating):
    def _do(self, *args: Any, **kwargs: Any) -> Any:
        return super()._do(*args, **kwargs)


@pytest.mark.parametrize(
    ("call", "name", "parameter"),
    [
        (lambda: adaptive(PSO(), crossover=[SBX(), UX()]), "algorithm", "algorithm"),
        (lambda: adaptive(GA(mating=OwnMating(None, SBX(), PM()))), "algorithm", "algorithm"),
        (lambda: adaptive(GA(), variant=VARIANTS), "variant", "variant"),
        (lambda: adaptive(DE(), mutation=[PM()]), "mutation", "mutation"),
        (lambda: adaptive(DE(), variant=["rand/1/bin"]), "variant", "variant"),
        (lambda: adaptive(DE(), variant=["DE/rnd/1/bin"]), "selection", "selection"),
        (lambda: ga(crossover=[]), "operators", "operators"),
        (lambda: de(variant=[]), "operators", "operators"),
        (lambda: de(segment=0), "segment", "segment"),
        (lambda: de(segment=2.5), "segment", "segment"),
        (lambda: ga(crossover=[SBX, UX]), "crossover", "crossover"),
        (lambda: ga(crossover=["SBX", "UX"]), "crossover", "crossover"),
        (lambda: ga(crossover=[SBX(), PM()]), "crossover", "crossover"),
        (lambda: ga(mutation=[PM(), SBX()]), "mutation", "mutation"),
        (lambda: ga(mutation=PM), "mutation", "mutation"),
        (lambda: de(variant=[Variant]), "variant", "variant"),
        (lambda: de(variant=[3]), "variant", "variant"),
        (lambda: real_operators(n_obj=0), "n_obj", "n_obj"),
        (lambda: real_operators(n_obj="2"), "n_obj", "n_obj"),
    ],
)
def test_what_does_not_fit_is_refused_at_once(call: Any, name: str, parameter: str) -> None:
    with raises(InvalidParameter, name=parameter) as error:
        call()
    assert error.value.name == name


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        (
            {"crossover": [SBX]},
            r"crossover contains the class SBX; expected an object of it.*SBX\(\)",
        ),
        ({"crossover": [PM()]}, "crossover contains PM, which is a mutation; expected crossovers"),
        ({"mutation": ["PM"]}, "mutation contains 'PM'; expected objects of pymoo's Mutation"),
    ],
)
def test_the_error_names_the_operator_and_what_is_expected(operators: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        ga(**operators)


def test_integers_of_numpy_are_integers() -> None:
    assert de(segment=np.int64(10)).mating.segment == 10
    assert len(real_operators(n_obj=np.int64(2))["mutation"]) == 3


class TwoSpheres(Problem):
    """Σ x² and Σ (x - 1)², feasible from x₀ = 0 on."""

    def __init__(self) -> None:
        super().__init__(n_var=4, n_obj=2, n_ieq_constr=1, xl=-5, xu=5)

    def _evaluate(self, x: Any, out: Any, *args: Any, **kwargs: Any) -> None:
        out["F"] = np.column_stack([(x**2).sum(axis=1), ((x - 1) ** 2).sum(axis=1)])
        out["G"] = -x[:, 0]


def test_with_several_objectives_the_credit_is_the_share_of_parents_dominated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Copying(Crossover):
        """Both offspring are near the first parent, one closer to 0.5 and one further away."""

        def __init__(self) -> None:
            super().__init__(2, 2, prob=1.0)

        def _do(self, problem: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
            return np.array([0.5 + 0.99 * (X[0] - 0.5), 0.5 + 1.01 * (X[0] - 0.5)])

    heard = Heard(monkeypatch)
    made = adaptive(
        NSGA2(10, eliminate_duplicates=False), mutation=NoMutation(),
        crossover=[Copying(), Copying(), Copying()],
    )  # fmt: skip
    algorithm = solved(made, problem=TwoSpheres(), generations=8).algorithm
    assert algorithm.mating.credit.pending == []
    assert [parent for _, parent, _ in heard.rows] == [0.0] * 70
    # What moves toward 0.5 from where 0 and 1 are both in the same direction improves on both;
    # the other parent may be dominated as well. Infeasible offspring fail.
    outcomes = {float(offspring) for *_, offspring in heard.rows}
    assert {-0.5, -1.0} <= outcomes <= {0.0, -0.5, -1.0, inf}


def test_offspring_are_learned_from_a_population_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard(monkeypatch)
    solved(ga(n_offsprings=4, eliminate_duplicates=False), generations=4)  # 3 times 4 offspring
    assert len(heard.rows) == 0  # pending when the last 4 were made: 8 of a population of 10
    solved(ga(n_offsprings=4, eliminate_duplicates=False, segment=4), generations=4)
    assert len(heard.rows) == 8


# The last offspring of MOEA/D have no credit yet: that comes when the next ones are made.
@pytest.mark.parametrize(
    ("made", "least"),
    [
        (NSGA2(10), 70),
        (NSGA3(DIRECTIONS), 70),
        (MOEAD(DIRECTIONS, n_neighbors=4), 69),
        (ParallelMOEAD(DIRECTIONS, n_neighbors=4), 60),
    ],
)
def test_algorithms_for_several_objectives_adapt(made: Algorithm, least: int) -> None:
    found = solved(
        adaptive(made, **real_operators(n_obj=2)), problem=get_problem("zdt1", n_var=5),
        generations=8,
    )  # fmt: skip
    credit = found.algorithm.mating.credit
    assert applications(credit)[0] >= least
    assert list(credit.counts["crossover"]) == ["SBX", "wide SBX", "UX", "DEM"]
    assert any(p != 0.25 for p in credit.probabilities["crossover"].values())


def test_moead_with_one_operator_each_is_pymoos_own_run_to_the_last_bit() -> None:
    problem = get_problem("zdt1", n_var=5)
    runs = [
        solved(made, problem=problem)
        for made in (MOEAD(DIRECTIONS, n_neighbors=4), adaptive(MOEAD(DIRECTIONS, n_neighbors=4)))
    ]
    np.testing.assert_array_equal(*(run.pop.get("X") for run in runs))


def test_in_moead_the_credit_is_the_fitness_improvement_rate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For each subproblem taken over: how much smaller its value is, divided by what it was."""
    expected = []

    class Observed(MOEAD):
        def _replace(self, k: int, off: Any) -> None:
            near = self.neighbors[k]
            weights, ideal = self.ref_dirs[near], self.ideal
            old = (weights * abs(self.pop[near].get("F") - ideal)).max(axis=1)  # Tchebycheff
            new = (weights * abs(off.F - ideal)).max(axis=1)
            expected.append(-sum((o - n) / o for o, n in zip(old, new, strict=True) if n < o))
            super()._replace(k, off)

    heard = Heard(monkeypatch)
    made = adaptive(Observed(DIRECTIONS, n_neighbors=4), crossover=[SBX(), UX(), DEM()], segment=1)
    solved(made, problem=get_problem("zdt1", n_var=5), generations=5)
    outcomes = [offspring for *_, offspring in heard.rows]
    assert len(outcomes) == len(expected) - 1 > 30
    np.testing.assert_allclose(outcomes, expected[:-1])
    assert sum(outcome < 0 for outcome in outcomes) > 5


def test_moead_learns_from_half_a_population_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    updates = []
    monkeypatch.setattr(uaos.Selector, "update", lambda *feedback: updates.append(feedback))
    made = adaptive(MOEAD(DIRECTIONS, n_neighbors=4), crossover=[SBX(), UX()], method="PDP")
    solved(made, problem=get_problem("zdt1", n_var=5), generations=3)
    assert {len(operators) for _, operators, *_ in updates} == {5}


def test_by_default_moead_learns_by_frrmab_from_one_offspring_at_a_time() -> None:
    """Not in ParallelMOEAD, which makes all offspring of a generation at once."""
    one = adaptive(MOEAD(DIRECTIONS, n_neighbors=4), crossover=[SBX(), UX()]).mating
    many = adaptive(ParallelMOEAD(DIRECTIONS, n_neighbors=4), crossover=[SBX(), UX()]).mating
    assert one.credit.slots["crossover"].method == frrmab(len(DIRECTIONS))
    assert (one.segment, many.segment) == (1, None)
    assert many.credit.slots["crossover"].method == uaos.method("PDP")
    # W is half a population; C = 5 outside the root of 2 ln Σ N / N.
    made = frrmab(100)
    assert (made.to_dict()["quality"]["C"], made.to_dict()["reward"]["max_gen"]) == (5 * 2**0.5, 50)
