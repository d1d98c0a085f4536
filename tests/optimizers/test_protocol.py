"""What every optimizer gets from the base class: the loop, single values, files, registration."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidComponent, InvalidFeedback, InvalidFile, NameClash, UnknownName
from uaos.optimizers import registry
from uaos.optimizers.base import Optimizer, RunFinished
from uaos.optimizers.base.settings import OptimizerSettings

BOX = [(-2.0, 2.0)] * 3


@dataclass(frozen=True)
class StepSettings(OptimizerSettings):
    step: float = uaos.real(0, 10, default=1.0)


class Steps(Optimizer):
    """Three random points around the best one; the step is halved where nothing was better."""

    name = "test-steps"
    settings_class = StepSettings
    state_names = ("_step", "_before")

    def _start(self):
        self._step = self.settings.step
        self._before = math.inf

    def _propose(self):
        center = np.zeros(self.dimension) if self.best_x is None else self.best_x
        points = center + self._step * self.rng.normal(size=(3, self.dimension))
        return np.clip(points, self.low, self.high)

    def _learn(self, points, values):
        self._step *= 1.0 if self.best_fitness < self._before else 0.5
        self._before = self.best_fitness

    @property
    def converged(self):
        return self._step < 1e-9


@pytest.fixture
def registered():
    return uaos.register(Steps)


def sphere(X):
    return ((X - 1.0) ** 2).sum(axis=1)


def run(one, fun=sphere):
    while not one.done:
        one.tell(fun(one.ask()))
    return one


def test_points_that_were_evaluated_earlier_count():
    one = Steps(BOX, seed=1, budget=10)
    points = np.array([[0.5, 0.5, 0.5], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    one.count_earlier(points, [0.75, 0.0, math.nan])
    assert (one.evaluations, one.iterations, one.best_fitness) == (3, 0, 0.0)
    assert one.best_x.tolist() == [1.0, 1.0, 1.0]
    assert run(one).evaluations == 10
    with pytest.raises(InvalidFeedback):
        one.count_earlier(np.zeros((2, 3)), [1.0])


def test_the_last_batch_is_cut_to_the_budget():
    one = run(Steps(BOX, seed=1, budget=10))
    assert one.evaluations == 10
    assert one.iterations == 4  # 3 + 3 + 3 + 1
    with pytest.raises(RunFinished):
        one.ask()


def test_points_are_the_same_until_they_are_told_and_may_be_written_to():
    one = Steps(BOX, seed=1)
    X = one.ask()
    kept = X.copy()
    X[:] = 99
    assert (one.ask() == kept).all()


def test_the_best_point_is_kept_and_failures_are_not():
    one = Steps(BOX, seed=1)
    X = one.ask()
    one.tell([2.0, math.nan, -math.inf])
    assert one.best_fitness == 2.0
    assert one.best_x.tolist() == X[0].tolist()


def test_values_may_be_told_singly_in_any_order():
    one, other = Steps(BOX, seed=1, budget=30), Steps(BOX, seed=1, budget=30)
    while not one.done:
        one.tell(sphere(one.ask()))
        X = other.ask()
        values = sphere(X)
        for index in (2, 0, 1):
            assert other.evaluations == one.evaluations - 3
            other.tell_one(index, values[index])
    assert one.best_x.tolist() == other.best_x.tolist()


def test_single_values_are_saved_with_the_run(tmp_path, registered):
    one = Steps(BOX, seed=1)
    one.ask()
    one.tell_one(1, 0.5)
    one.save(tmp_path / "run.npz")
    other = Optimizer.load(tmp_path / "run.npz")
    for index, value in ((0, 3.0), (2, 4.0)):
        other.tell_one(index, value)
    assert (other.evaluations, other.best_fitness) == (3, 0.5)


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (3, 1.0),
        (-1, 1.0),
        (1.0, 1.0),
        (0, "a"),
        (0, [1.0]),
        (1, 7.0),
    ],
)
def test_single_values_that_do_not_fit_change_nothing(index, value):
    one = Steps(BOX, seed=1)
    with pytest.raises(InvalidFeedback):
        one.tell_one(0, 1.0)
    one.ask()
    one.tell_one(1, 5.0)
    before = one.state()
    with pytest.raises(InvalidFeedback):
        one.tell_one(index, value)
    assert one.state()["_replies"]["told"].tolist() == before["_replies"]["told"].tolist()


def test_values_that_do_not_fit_change_nothing():
    one = Steps(BOX, seed=1)
    with pytest.raises(InvalidFeedback):
        one.tell([1.0])
    one.ask()
    for wrong in (np.zeros(2), ["a"] * 3):
        with pytest.raises(InvalidFeedback):
            one.tell(wrong)
    assert one.evaluations == 0


def test_an_optimizer_without_a_history_of_its_own_gets_one():
    one = run(Steps(BOX, seed=1, budget=9))
    assert one.history.evaluations.tolist() == [3, 6, 9]
    assert one.history.best[-1] == one.best_fitness
    assert run(Steps(BOX, seed=1, budget=9, history=False)).history is None


def test_the_result_says_why_the_run_ended():
    assert Steps(BOX).result.message == "the run is not finished"
    spent = run(Steps(BOX, seed=1, budget=9)).result
    assert (spent.success, spent.message) == (False, "the budget of 9 evaluations is spent")
    hit = run(Steps(BOX, seed=1, target=0.5)).result
    assert (hit.success, hit.message) == (True, "the target 0.5 was reached")
    failed = run(Steps(BOX, seed=1, budget=9, target=math.inf), lambda X: np.full(len(X), np.nan))
    assert not failed.result.success
    assert "none of 9 evaluations gave a finite value" in failed.result.message


@pytest.mark.parametrize("make", [Steps, uaos.CMAES])
@pytest.mark.parametrize("between", [False, True])
def test_a_saved_run_continues_bit_for_bit(make, between, tmp_path, registered):
    settings = {"step": 0.7} if make is Steps else {"restarts": "BIPOP", "sigma0": 0.3}
    one = make(BOX, seed=5, budget=600, x0=[0.5, 0.5, 0.5], **settings)
    for _ in range(7):
        one.tell(sphere(one.ask()))
    if between:
        one.ask()
    one.save(tmp_path / "run.npz")
    for other in (make.load(tmp_path / "run.npz"), Optimizer.load(tmp_path / "run.npz")):
        assert type(other) is make
        assert other.seed == 5
        run(other)
        run(one) if not one.done else None
        assert one.best_x.tolist() == other.best_x.tolist()
        assert one.history.best.tolist() == other.history.best.tolist()
        assert one.rng.bit_generator.state["state"]["state"].tolist() == (
            other.rng.bit_generator.state["state"]["state"].tolist()
        )


def test_a_run_of_another_optimizer_is_refused(tmp_path, registered):
    Steps(BOX, seed=1).save(tmp_path / "run.npz")
    with pytest.raises(InvalidFile):
        uaos.CMAES.load(tmp_path / "run.npz")


def test_a_run_of_an_optimizer_that_is_not_registered_is_refused(tmp_path):
    Steps(BOX, seed=1).save(tmp_path / "run.npz")
    with pytest.raises(InvalidFile):
        Optimizer.load(tmp_path / "run.npz")
    assert Steps.load(tmp_path / "run.npz").evaluations == 0  # its own class needs no name


def test_only_complete_optimizers_with_a_name_are_registered(registered):
    with pytest.raises(InvalidComponent):
        uaos.register(type("Nameless", (Optimizer,), {}))
    with pytest.raises(InvalidComponent):
        uaos.register(type("Empty", (Optimizer,), {"name": "empty"}))
    with pytest.raises(NameClash):
        uaos.register(type("Other", (Steps,), {}))
    assert uaos.register(Steps) is Steps  # again: a cell that is run twice
    with raises(UnknownName, name="test-step", near="test-steps"):
        registry.optimizer_class("test-step")


def test_a_callback_sees_the_run_and_cannot_change_it():
    one = Steps(BOX, seed=1)
    one.tell(sphere(one.ask()))
    view = one.view
    assert (view.nfev, view.nit, view.restarts, view.fun) == (3, 1, 0, one.best_fitness)
    assert view.operators == ()
    assert view.convergence == 0
    with pytest.raises(ValueError, match="read-only"):
        view.x[0] = 0
