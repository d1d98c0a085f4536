"""Portfolios simulated on recorded runs of their members go the way that real ones go."""

import math

import numpy as np
import pytest
from raising import raises
from tuning_cases import AtOnce
from typer.testing import CliRunner

import uaos
from uaos.cli import load_commands
from uaos.errors import InvalidFile, InvalidParameter, UnknownName
from uaos.experiments import Plan, recorder, run
from uaos.experiments.plan import PlanConflict
from uaos.experiments.recorder import TARGETS, Trace, pack_trace, unpack_trace
from uaos.experiments.unit import Unit, outcome, run_unit
from uaos.history import History
from uaos.optimizers.portfolio import Member, default_members, leader_method
from uaos.problems.bbob import bbob_problem
from uaos.tuning import HeldOutProblems, RecordedRun, Recordings, narrow, simulate, tune
from uaos.tuning.costs import evaluations_cost

PROBLEM = uaos.Problem(lambda x: float(x @ x), [(-5, 5)] * 2, name="bowl", optimum=0.0)
D, BUDGET = 5, 20_000 * 5

# One free parameter, p_min, and the least runs for that.
FIXED = (
    "metric=parent_improvement", "reward=leader", "quality=identity",
    "probability=probability_matching", "error=0", "selection=largest_deficit",
)  # fmt: skip
LEAST = 80


def made_up(member, improvements, *, batch, restarts=(), budget=1000):
    """A recorded run with batches of one size and these improvements (evaluation, value)."""
    at, values = (np.array(part) for part in zip(*improvements, strict=True))
    hits = np.full(len(TARGETS), -1, np.int64)
    for t, target in enumerate(TARGETS):
        if (values <= target).any():
            hits[t] = at[np.argmax(values <= target)]
    last = int(hits[-1]) if hits[-1] > 0 else budget
    history = History()
    for i in range(math.ceil(last / batch)):
        history.record(evaluations=(i + 1) * batch, best=1.0, iteration=i + 1)
    made = outcome(
        Unit(member, "bowl", 1, 1, budget), PROBLEM, evaluations=last, best=float(values[-1]),
        error=float(values[-1]), hits=hits, trace=Trace(at, values.astype(float)),
    )  # fmt: skip
    return RecordedRun.of(made, history, restarts)


def members_of(seed, members, problem, budget):
    """The runs that the members of a portfolio with this seed make on their own, as stored.

    Of a member that takes part until its first restart, no more than that is run.
    """
    rng = np.random.Generator(np.random.SFC64(seed))
    runs = []
    for member in members:
        spent = budget // 100 if member.once else budget
        unit = Unit(member.name, problem.name, 1, int(rng.integers(2**62)), spent)
        made = run_unit(unit, problem, member.configuration)
        trace = unpack_trace(pack_trace(made.outcome.trace))
        stored = made.outcome._replace(budget=budget, trace=trace)
        restarts = recorder.unpack_course(made.course)[1]
        runs.append(RecordedRun.of(stored, recorder.unpack_course(made.course)[0], restarts))
    return runs


def real(seed, members, problem, budget):
    """A real run: the evaluation that reached the target (or none), and who made how many."""
    portfolio = uaos.Portfolio(
        problem.bounds, members=members, seed=seed, budget=budget, target=problem.optimum + 1e-8
    )
    hit = -1
    while not portfolio.done:
        values = problem.evaluate(portfolio.ask())
        reached = np.flatnonzero(values - problem.optimum <= 1e-8)
        if hit < 0 and len(reached):
            hit = portfolio.evaluations + int(reached[0]) + 1
        portfolio.tell(values)
    return hit, portfolio.history.counts.sum(axis=0)


def test_the_introduction_and_the_shares_by_hand():
    """A runs once (20 evaluations), B alone to its restart at 100; then B leads: 4 of 5 to B.

    C reaches 1e-9 with its 30th evaluation. With shares 0.8 and 0.2 and batches of 10, the selector
    starts with B (no deficit: the lowest index); then C is behind its share, then four batches of B
    for one of C. C's third batch is the 12th after the introduction of 120: at 120 + 110 + 10.
    """
    members = [Member("BFGS", once=True, cap=10.0), "CMA-ES", "mix"]
    runs = [
        made_up("A", [(1, 50.0)], batch=5),
        made_up("B", [(1, 9.0), (50, 2.0)], batch=10, restarts=(100,)),
        made_up("C", [(1, 90.0), (30, 1e-9)], batch=10),
    ]
    found = simulate(leader_method(2, 4), members, runs, resolution=0)
    assert found.hits[-1] == 120 + 110 + 10
    assert found.solved
    assert found.trace.values.tolist() == [50.0, 9.0, 2.0, 1e-9]
    assert found.trace.evaluations.tolist() == [1, 21, 70, 240]


def test_a_run_without_success_spends_the_budget():
    found = simulate(None, ["CMA-ES", "mix"], [
        made_up("A", [(1, 5.0), (40, 3.0)], batch=30, restarts=(60,)),
        made_up("B", [(1, 6.0), (40, 2.0)], batch=30),
    ])  # fmt: skip
    assert (found.evaluations, found.hits[-1]) == (1000, -1)
    assert (found.best, found.error) == (2.0, 2.0)


@pytest.mark.parametrize(("function", "instance"), [(17, 41), (20, 42), (22, 44)])
def test_a_simulated_run_is_the_real_run_within_a_few_batches(function, instance):
    """BBOB 5-D, with the members' seeds those of the real portfolio.

    On f22 both members sit in the same local optimum, and the last digits decide who leads.
    """
    problem, seed = bbob_problem(function, D, instance), 100 * function + instance
    members = default_members(D, BUDGET)
    hit, counts = real(seed, members, problem, BUDGET)
    runs = members_of(seed, members, problem, BUDGET)
    exact = simulate(None, members, runs, resolution=0)
    coarse = simulate(None, members, runs)
    assert counts[:2].tolist() == [run.restarts[0] for run in runs[:2]]  # the introduction
    assert abs(exact.hits[-1] - hit) <= 100
    assert abs(coarse.hits[-1] - hit) <= 0.02 * hit + 100


def test_the_restarts_of_a_run_are_recorded_exactly():
    problem = bbob_problem(24, D, 41)
    made = run_unit(Unit("CMA-ES", problem.name, 1, 7, 5000), problem, uaos.configuration("CMA-ES"))
    optimizer = uaos.configuration("CMA-ES").build(problem.bounds, seed=7, budget=5000)
    while not optimizer.converged:
        optimizer.tell(problem.evaluate(optimizer.ask()))
    assert recorder.unpack_course(made.course)[1][0] == optimizer.evaluations


def test_any_method_can_be_simulated():
    runs = [
        made_up("A", [(1, 5.0), (40, 3.0), (300, 1.0)], batch=10, restarts=(60,)),
        made_up("B", [(1, 6.0), (40, 2.0), (200, 1e-9)], batch=25),
    ]
    for name in uaos.methods():
        method = uaos.configuration(name).method
        if method is not None:
            found = simulate(method, ["CMA-ES", "mix"], runs, seed=1)
            assert found.solved or found.evaluations == 1000, name


def test_the_cost_in_evaluations_tells_unsolved_runs_apart():
    runs = [made_up("A", [(1, 5.0), (100, 1e-9)], batch=10)]
    assert evaluations_cost(runs[0].outcome) == pytest.approx(2.0)  # log10 100
    unsolved = made_up("A", [(1, 1e-6)], batch=10).outcome
    assert evaluations_cost(unsolved) == pytest.approx(3.02)  # log10 1000, and two decades lacking


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("members") / "members.db"
    suite = uaos.suite("bbob", dimension=2, functions="1,3,8", instances=[41, 42])
    plan = Plan.of(["BFGS", "CMA-ES", "mix"], suite, budget="500D", uniform=False)
    run(plan, path, AtOnce())
    return path


def test_recordings_have_the_problems_and_the_members_of_a_store(store):
    recordings = Recordings(store)
    assert [m.name for m in recordings.members] == ["BFGS", "CMA-ES", "mix"]
    assert recordings.members[0].cap < np.inf
    assert recordings.budget == "500D"
    assert len(recordings.suite) == 6
    found = recordings.simulate()
    assert [o.problem for o in found] == list(recordings.suite.names)
    assert all(o.solved for o in found if o.function == "f1")


def test_members_can_be_chosen_by_name(store):
    recordings = Recordings(store, ["mix", "CMA-ES"])
    assert [m.name for m in recordings.members] == ["mix", "CMA-ES"]
    with raises(UnknownName, name="JADE"):
        Recordings(store, ["JADE"])


def test_what_cannot_be_simulated_is_refused(store, tmp_path):
    run_of_a = made_up("A", [(1, 5.0)], batch=10)
    with raises(InvalidParameter, name="runs"):
        simulate(None, ["CMA-ES", "mix"], [run_of_a])
    other = made_up("B", [(1, 5.0)], batch=10, budget=500)
    with raises(InvalidParameter, name="runs"):
        simulate(None, ["CMA-ES", "mix"], [run_of_a, other])
    with pytest.raises(InvalidFile):
        Recordings(tmp_path / "missing.db")


def test_a_selector_is_tuned_by_simulation_and_its_file_runs(store, tmp_path):
    recordings = Recordings(store)
    plan = recordings.plan(design=narrow(recordings.design, FIXED), runs=LEAST)
    tuned = tune(plan, tmp_path / "selector.db", AtOnce(), work=recordings.simulation)
    tuned.best.to_toml(tmp_path / "tuned.toml")
    found = uaos.configuration(tmp_path / "tuned.toml")
    assert found.optimizer == "portfolio"
    assert (found.method.reward.name, found.method.selection.name) == ("leader", "largest_deficit")
    result = uaos.minimize(
        lambda x: float(x @ x), [(-5, 5)] * 2, method=tmp_path / "tuned.toml", budget=900, seed=1
    )
    assert result.fun < 1e-8
    assert result.history.operators == ("BFGS", "CMA-ES", "mix")


def test_the_space_of_a_portfolio_has_every_component_and_the_default_selector(store):
    recordings = Recordings(store)
    space = recordings.design.space
    assert "leader" in space["reward"].domain.choices
    assert "largest_deficit" in space["selection"].domain.choices
    assert space["p_min"].domain.high < 1 / 2  # two members share the evaluations
    start = recordings.plan().initial[0]
    assert (start["reward"], start["selection"]) == ("leader", "largest_deficit")


def test_other_recordings_need_another_store(store, tmp_path):
    recordings = Recordings(store)
    design = narrow(recordings.design, FIXED)
    tune(
        recordings.plan(design=design, runs=LEAST), tmp_path / "selector.db", AtOnce(),
        work=recordings.simulation,
    )  # fmt: skip
    other = Recordings(store, ["mix", "CMA-ES"])
    with pytest.raises(PlanConflict):
        tune(other.plan(design=design, runs=LEAST), tmp_path / "selector.db", work=other.simulation)


def test_selectors_are_not_tuned_on_runs_on_test_problems(tmp_path):
    suite = uaos.suite("bbob", dimension=2, functions="1", instances="test:1")
    run(Plan.of(["CMA-ES", "mix"], suite, budget=50, uniform=False), tmp_path / "m.db", AtOnce())
    with pytest.raises(HeldOutProblems):
        Recordings(tmp_path / "m.db").plan()


def test_the_command_tunes_a_selector(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    limits = [word for fixed in FIXED for word in ("--fix", fixed)]
    words = ["tune", "selector.db", "--simulate", str(store), "--runs", str(LEAST), "--jobs", "1"]
    done = CliRunner().invoke(load_commands(), [*words, *limits])
    assert done.exit_code == 0, done.output
    assert "portfolio with BFGS, CMA-ES, mix" in done.output
    assert uaos.configuration("selector.toml").optimizer == "portfolio"
    refused = CliRunner().invoke(load_commands(), [*words, *limits, "--budget", "100D"])
    assert refused.exit_code != 0
