"""A portfolio shares the evaluations of one run among optimizers of different families."""

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidFeedback, InvalidParameter
from uaos.optimizers.portfolio import Member, default_members, leader_method

BOX = [(-5.0, 5.0)] * 3


def sphere(x):
    return float(x @ x)


def rastrigin(x):
    turned = np.array([x[0] + x[1], x[1] - x[2], x[2] + x[0]])
    return float(30 + np.sum(turned**2 - 10 * np.cos(2 * np.pi * turned)))


def valley(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def drive(run, fun=rastrigin, until=None):
    while not run.done and (until is None or run.evaluations < until):
        run.tell([fun(x) for x in run.ask()])
    return run


def test_members_that_run_once_come_first_and_retire():
    members = [Member("BFGS", once=True, cap=250), "CMA-ES", "mix"]
    run = drive(uaos.Portfolio(BOX, members=members, seed=1, budget=6000))
    counts = run.history.counts
    assert run.operators == ("BFGS", "CMA-ES", "mix")
    last_of_bfgs = np.flatnonzero(counts[:, 0])[-1]
    assert (counts[: last_of_bfgs + 1, 1:] == 0).all()
    assert counts.sum() == run.evaluations == 6000


def test_a_member_with_a_cap_continues_after_its_introductory_run():
    members = [Member("BFGS", cap=250), "CMA-ES", "mix"]
    run = drive(uaos.Portfolio(BOX, members=members, seed=1, budget=6000))
    used = run.history.counts > 0
    first_of_cma = np.flatnonzero(used[:, 1])[0]
    assert used[:first_of_cma, 0].all()
    assert used[first_of_cma:, 0].any()


def test_an_introduction_that_goes_on_as_expected_is_extended():
    """In Rosenbrock's valley BFGS gains what it expects, on Weierstrass's rough function less."""
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]

    def rough(x):
        waves = 3.0 ** np.arange(8)[:, None] * (rotation @ x - 0.2)
        return float(0.5 ** np.arange(8) @ np.cos(2 * np.pi * waves).sum(axis=1))

    def introduction(fun):
        members = [Member("BFGS", cap=10, steady_cap=30), "CMA-ES"]
        counts = drive(
            uaos.Portfolio([(-5, 5)] * 8, members=members, seed=1, budget=400), fun
        ).history.counts
        return counts[: counts[:, 1].nonzero()[0][0], 0].sum()

    assert introduction(valley) >= 30 * 8
    assert 10 * 8 <= introduction(rough) < 12 * 8


@pytest.mark.parametrize("value", [-1, float("nan")])
def test_a_negative_steady_cap_is_refused(value):
    with raises(InvalidParameter, name="steady_cap"):
        Member("BFGS", steady_cap=value)


def test_the_first_continuing_member_runs_alone_until_its_first_restart():
    run = uaos.Portfolio(BOX, members=["CMA-ES", "mix"], seed=1, budget=20_000)
    cma, mix = run.optimizers
    while not cma.converged:
        assert mix.evaluations == 0
        run.tell([rastrigin(x) for x in run.ask()])
    drive(run)
    assert mix.evaluations > 0


@pytest.mark.parametrize("kappa", [1.5, 3, 4])
def test_the_leader_gets_kappa_times_the_evaluations_of_the_other(kappa):
    method = leader_method(2, kappa)
    run = uaos.Portfolio(BOX, members=["CMA-ES", "mix"], method=method, seed=1, budget=6000)
    cma, mix = run.optimizers
    while not cma.converged:
        run.tell([sphere(x) for x in run.ask()])
    before = cma.evaluations
    drive(run, sphere)
    assert cma.best_fitness < mix.best_fitness  # CMA-ES converged first and kept the lead
    assert (cma.evaluations - before) / mix.evaluations == pytest.approx(kappa, rel=0.05)


def test_a_method_may_be_given_by_its_name():
    """A name of the catalogue stands for its method, as in differential evolution."""
    run = uaos.Portfolio(BOX, members=["CMA-ES", "mix"], method="SaDE", seed=1, budget=600)
    assert run.method == uaos.method("SaDE")


def test_shares_follow_probability_matching_by_hand():
    """With kappa = 4 and two members, p_min = 1 / (4 + 2 - 1) = 0.2: shares 0.8 and 0.2."""
    selector = leader_method(2, 4).selector(2, seed=1, bests=[1.0, 2.0])
    selector.update([0], [1.0], [5.0])
    assert selector.probabilities.tolist() == pytest.approx([0.8, 0.2])
    selector.update([1] * 3, [2.0] * 3, [2.5, 0.5, 3.0])
    assert selector.probabilities.tolist() == pytest.approx([0.2, 0.8])


def test_the_budget_is_exact_and_the_target_ends_the_run():
    assert drive(uaos.Portfolio(BOX, seed=1, budget=777)).evaluations == 777
    run = drive(uaos.Portfolio(BOX, seed=1, budget=10_000, target=1e-6), sphere)
    assert run.on_target
    assert run.evaluations < 500


@pytest.fixture(scope="module")
def whole():
    return drive(uaos.Portfolio(BOX, seed=3, budget=9000))


@pytest.mark.parametrize("moment", [5, 300, 1500, 4000, 8860])  # the last while it is finished
def test_a_saved_run_continues_bit_for_bit(whole, moment, tmp_path):
    run = drive(uaos.Portfolio(BOX, seed=3, budget=9000), until=moment)
    run.ask()  # in the middle of a batch
    run.save(tmp_path / "run.npz")
    resumed = drive(uaos.Portfolio.load(tmp_path / "run.npz"))
    assert resumed.best_fitness == whole.best_fitness
    assert (resumed.best_x == whole.best_x).all()
    assert resumed.evaluations == whole.evaluations
    assert (resumed.history.counts == whole.history.counts).all()
    assert resumed.operators == whole.operators


def test_a_configuration_of_a_portfolio_survives_its_file():
    members = [
        {"configuration": "BFGS", "once": True, "cap": 50.0, "finish": 10.0},
        {"configuration": "mix"},
    ]
    made = uaos.Configuration("two", optimizer="portfolio", settings={"members": members})
    again = uaos.Configuration.from_toml(made.to_toml())
    first, second = (drive(c.build(BOX, seed=1, budget=1500)) for c in (made, again))
    assert first.operators == ("BFGS", "mix")
    assert first.best_fitness == second.best_fitness


@pytest.mark.parametrize(
    ("dimension", "budget", "names"),
    [
        (10, 63, ["QUAD", "CMA-ES"]),
        (10, 64, ["BFGS", "STEP", "CMA-ES"]),
        (200, 799, ["CMA-ES"]),
        (200, 800, ["BFGS", "STEP", "CMA-ES"]),
        (10, 4_000, ["STEP", "BFGS", "CMA-ES"]),
        (10, 10_000, ["BFGS", "STEP", "CMA-ES", "mix"]),
        (10, 100_000, ["BFGS", "STEP", "CMA-ES", "mix"]),
        (10, None, ["BFGS", "STEP", "CMA-ES", "mix"]),
        (800, 800, ["mix"]),
        (800, 80_000, ["STEP", "BFGS", "mix"]),
    ],
)
def test_the_default_members_depend_on_dimension_and_budget(dimension, budget, names):
    assert [member.name for member in default_members(dimension, budget)] == names


def test_in_a_short_run_every_member_is_introduced_with_a_share_of_the_budget():
    """Of 10,000 evaluations in 10-D: 1,500 by BFGS and CMA-ES, 2,000 by mix, then the leader's."""
    bfgs, step, cma, mix = default_members(10, 10_000)
    assert [10 * m.cap for m in (bfgs, cma, mix)] == pytest.approx([1500, 1500, 2000])
    assert [m.once for m in (bfgs, step, cma, mix)] == [False, True, False, False]
    run = uaos.Portfolio([(-5, 5)] * 10, seed=1, budget=10_000)
    assert run.method.probability.p_min == pytest.approx(1 / (20 + 3 - 1))  # kappa = 20
    assert (run.optimizers[2].mean == 0).all()  # from the center


@pytest.mark.parametrize(
    ("budget", "finish"), [(990, 0), (1_000, 20), (2_000, 40), (10_000, 50), (1_000_000, 0)]
)
def test_a_local_search_finishes_short_runs(budget, finish):
    """With 20 % of the budget, at most 50 evaluations per dimension; here in 10-D."""
    members = {member.name: member for member in default_members(10, budget)}
    assert members["BFGS"].finish == pytest.approx(finish)


def test_a_member_finishes_the_run_from_the_best_point_of_the_others():
    members = [Member("BFGS", cap=50, finish=100), "CMA-ES", "mix"]
    run = uaos.Portfolio(BOX, members=members, seed=1, budget=3000)
    drive(run, until=2700)
    best = min(run.optimizers[1:], key=lambda member: member.best_fitness)
    assert not run._finishing
    assert (run.ask() == best.best_x).all()
    learn, run._turns.learn = run._turns.learn, None  # the selector does not hear of it
    while not run.optimizers[0].converged:
        assert run.probabilities.tolist() == [1, 0, 0]
        run.tell([rastrigin(x) for x in run.ask()])
    run._turns.learn = learn
    drive(run)
    assert not run._finishing
    assert run.evaluations == run.history.counts.sum() == 3000


def test_a_leader_in_its_first_run_goes_on_instead_of_finishing():
    members = [Member("BFGS", cap=20, finish=20), Member("CMA-ES", cap=5)]
    run = uaos.Portfolio([(-5, 5)] * 8, members=members, seed=1, budget=500)
    drive(run, valley)
    assert run.optimizers[0].restarts == 0


def test_the_introduction_is_not_cut_for_the_finish():
    """On a separable function the coordinate search needs 741 evaluations."""
    run = uaos.Portfolio([(-5, 5)] * 10, seed=1, budget=1000)
    drive(run, lambda x: float(np.sum((x - 0.7) ** 2 - 10 * np.cos(2 * np.pi * (x - 0.7)))))
    assert run.optimizers[run.operators.index("STEP")].best_fitness == pytest.approx(-100)


@pytest.mark.parametrize(("name", "finish"), [("BFGS", -1.0), ("CMA-ES", 10.0)])
def test_a_member_that_cannot_finish_a_run_is_refused(name, finish):
    with raises(InvalidParameter, name="finish"):
        Member(name, finish=finish)


def test_in_a_long_run_the_local_search_retires_and_the_leader_gets_four_times_the_evaluations():
    bfgs, _, cma, mix = default_members(10, 1_000_000)
    assert (bfgs.once, bfgs.cap) == (True, 250)
    assert [m.cap for m in (cma, mix)] == [np.inf, np.inf]
    method = uaos.Portfolio([(-5, 5)] * 10, seed=1, budget=1_000_000).method
    assert method.probability.p_min == pytest.approx(1 / (4 + 2 - 1))


@pytest.mark.parametrize("dimension", [1, 2, 17])
@pytest.mark.parametrize("budget", [1, 2, 7, 60])
def test_a_handful_of_evaluations_is_enough(dimension, budget):
    run = drive(uaos.Portfolio([(-1, 2)] * dimension, seed=1, budget=budget), sphere)
    assert run.evaluations == budget
    assert np.isfinite(run.best_fitness)


def test_failed_evaluations_are_survived():
    run = uaos.Portfolio(BOX, seed=1, budget=4000)
    drive(run, lambda x: np.nan if x[0] > 1 else sphere(x - 0.5))
    assert run.best_fitness < 1e-6


def test_two_members_that_agree_end_the_run():
    run = uaos.Portfolio([(-5, 5)] * 2, seed=1, budget=20_000)
    while not run.done and not run.converged:
        run.tell([100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2 for x in run.ask()])
    assert run.evaluations < 3000
    assert run.best_fitness < 1e-15


@pytest.mark.parametrize(
    ("members", "name"),
    [
        ([Member("BFGS", once=True)], "members"),
        (["mix", "mix"], "members"),
    ],
)
def test_members_that_make_no_portfolio_are_refused(members, name):
    with raises(InvalidParameter, name=name):
        uaos.Portfolio(BOX, members=members)


# Steps: shares of the evaluations, adapted at the end of each

STEPPED = uaos.Method(
    "parent_improvement", "consensus", "identity", {"name": "share_transfer", "xi": 0.5}, "shares",
    scale_rewards=False, scope="step",
)  # fmt: skip


def stepped(**changes):
    """Two members that share steps of 100 evaluations in two dimensions, in batches of 10."""
    members = [
        {"configuration": uaos.Configuration(name, optimizer="CMA-ES", settings=made).to_dict()}
        for name, made in (("one", {"popsize": 10}), ("two", {"popsize": 10}))
    ]
    given = {"members": members, "method": STEPPED, "step": 50, "seed": 1, "budget": 1000}
    return uaos.Portfolio([(-5, 5)] * 2, **{**given, **changes})


def told(portfolio, values):
    """Tell the same value for all points of a batch, and return whose batch it was."""
    points = portfolio.ask()
    who = portfolio.operators[portfolio._chosen]
    portfolio.tell(np.full(len(points), values[who]))
    return who, len(points)


def test_the_members_of_a_step_have_their_turns_in_order_and_their_shares():
    portfolio = stepped()
    turns = [told(portfolio, {"one": 2.0, "two": 2.0}) for _ in range(20)]
    assert turns == [("one", 10)] * 5 + [("two", 10)] * 5 + [("one", 10)] * 5 + [("two", 10)] * 5


def test_shares_change_at_the_end_of_a_step_only():
    """Member two improves in every batch, member one never: its share falls by half a step."""
    portfolio, best = stepped(), 0.0
    shares = []
    for _ in range(18):
        best -= 1.0
        told(portfolio, {"one": 9.0, "two": best})
        shares.append(portfolio.probabilities[0])
    # From 1/2 it hands over a half: 1/4, so that of 100 evaluations it has 25, in three batches.
    assert shares[:9] == [0.5] * 9
    assert shares[9:17] == [0.25] * 8
    assert portfolio.history.counts[10:17, 0].sum() == 30


def test_a_portfolio_of_steps_continues_exactly_in_the_middle_of_one(tmp_path):
    def run(portfolio, until):
        while portfolio.evaluations < until:
            X = portfolio.ask()
            portfolio.tell((X**2).sum(axis=1))
        return portfolio

    whole, part = run(stepped(), 1000), run(stepped(), 470)
    part.save(tmp_path / "run")
    again = run(uaos.Portfolio.load(tmp_path / "run"), 1000)
    assert again.best_x.tolist() == whole.best_x.tolist()
    assert again.history.probabilities.tolist() == whole.history.probabilities.tolist()


def test_a_step_is_a_positive_number_of_evaluations():
    with raises(InvalidParameter, name="step", value=-1):
        stepped(step=-1)


def test_violations_are_refused_where_members_cannot_handle_them():
    portfolio = uaos.Portfolio([(-2, 2)] * 2, budget=200, seed=1)
    points = portfolio.ask()
    with pytest.raises(InvalidFeedback, match="constrained=True"):
        portfolio.tell(np.ones(len(points)), np.zeros(len(points)))
    assert portfolio.evaluations == 0
    portfolio.tell(np.ones(len(points)))
    assert portfolio.evaluations == len(points)


def test_a_portfolio_for_constraints_takes_violations():
    portfolio = uaos.Portfolio([(-2, 2)] * 2, budget=200, seed=1, constrained=True)
    while not portfolio.done:
        points = portfolio.ask()
        portfolio.tell((points**2).sum(axis=1), np.maximum(1 - points[:, 0], 0))
    assert portfolio.best_fitness == pytest.approx(1, abs=1e-3)
