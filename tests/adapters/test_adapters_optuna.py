"""The sampler for Optuna: Optuna's own tests of samplers, and what they do not cover."""

import pickle
import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import uaos

optuna = pytest.importorskip("optuna")
from optuna.samplers import BaseSampler  # noqa: E402
from optuna.testing.pytest_samplers import (  # noqa: E402
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import TrialState  # noqa: E402

from uaos.adapters import OptunaSampler  # noqa: E402
from uaos.adapters.optuna import _space_of  # noqa: E402
from uaos.errors import InvalidParameter  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)
pytestmark = pytest.mark.filterwarnings("ignore")  # Optuna's, of its experimental features


class TestOptunasOwn(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """Optuna's tests for samplers of one objective."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: OptunaSampler(seed=1, n_startup_trials=3)


@pytest.mark.xfail(raises=InvalidParameter, strict=True, reason="one objective only")
class TestOptunasOwnOfSeveralObjectives(MultiObjectiveSamplerTestCase):
    """Optuna's tests for samplers of several objectives, which the sampler refuses."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: OptunaSampler(seed=1)


def test_the_page_counts_optunas_own_tests(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("keyword") or any("::" in arg for arg in request.config.args):
        pytest.skip("not all tests are collected")
    items = [item for item in request.session.items if "TestOptunasOwn" in item.nodeid]
    others = [item for item in items if "OfSeveralObjectives" in item.nodeid]
    page = (Path(__file__).parents[2] / "docs" / "spaces.md").read_text(encoding="utf-8")
    assert f"Optuna's own {len(items)} tests of samplers" in page
    assert f"{len(items) - len(others)} pass, as" in page
    assert f"The other {len(others)} (`MultiObjectiveSamplerTestCase`)" in page


def mixed(trial: "optuna.Trial") -> float:
    """0 at lr = 1e-3, kernel poly of degree 3; the degree exists with poly only."""
    miss = (np.log10(trial.suggest_float("lr", 1e-5, 1e-1, log=True)) + 3) ** 2
    kernel = trial.suggest_categorical("kernel", ["rbf", "poly", None])
    return miss + (abs(trial.suggest_int("degree", 2, 9) - 3) if kernel == "poly" else 2)


def study_of(objective: Callable, n_trials: int = 40, **options: object) -> "optuna.Study":
    study = optuna.create_study(sampler=OptunaSampler(seed=1, **options))
    study.optimize(objective, n_trials=n_trials)
    return study


def test_a_conditional_space_is_searched_jointly() -> None:
    best = study_of(mixed).best_trial
    assert (best.params["kernel"], best.params["degree"]) == ("poly", 3)
    assert best.value < 0.05


def test_constraints_are_modeled() -> None:
    """Smallest feasible value 0.5, where x + y = 1."""

    def objective(trial: "optuna.Trial") -> float:
        x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
        trial.set_user_attr("constraints", (1 - x - y,))
        return x**2 + y**2

    study = study_of(objective, 30, constraints_func=lambda t: t.user_attrs["constraints"])
    feasible = [t.value for t in study.trials if t.user_attrs["constraints"][0] <= 0]
    assert 0.5 <= min(feasible) < 0.51


def nested(trial: "optuna.Trial") -> float:
    """Choose a model; a net has layers with units, a machine a kernel with a degree."""
    if trial.suggest_categorical("model", ["net", "machine"]) == "net":
        layers = trial.suggest_int("layers", 1, 3)
        return sum(trial.suggest_float(f"units {k}", 0, 1) for k in range(layers))
    kernel = trial.suggest_categorical("kernel", ["rbf", "poly", None])
    return float(trial.suggest_int("degree", 2, 5)) if kernel == "poly" else 2.0


def test_nested_conditions_are_learned() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(nested, n_trials=50)
    distributions = {n: d for trial in study.trials for n, d in trial.distributions.items()}
    space, _ = _space_of(distributions, study.trials)
    when = {v.name: v.domain.when for v in space if v.domain.when}
    assert when == {
        "layers": {"model": [0]}, "units 0": {"model": [0]}, "kernel": {"model": [1]},
        "units 1": {"layers": [2, 3]}, "units 2": {"layers": [3]}, "degree": {"kernel": [1]},
    }  # fmt: skip


def branches(trial: "optuna.Trial") -> float:
    """0 with kind b, rate 0.05, n 7; the rate and n have another range with each kind."""
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    low, high = {"a": (1e-5, 1e-3), "b": (1e-3, 1.0), "c": (1e-5, 1e-3)}[kind]
    rate = trial.suggest_float("rate", low, high, log=True)
    n = trial.suggest_int("n", 1, 4) if kind == "a" else trial.suggest_int("n", 3, 9)
    extra = trial.suggest_float("rate 0", 0, 1) if n > 6 else 1.0
    return (np.log10(rate / 0.05)) ** 2 + abs(n - 7) + extra


def test_ranges_that_depend_on_a_choice_are_learned() -> None:
    study = study_of(branches, 80)
    distributions = {n: d for trial in study.trials for n, d in trial.distributions.items()}
    space, parameters = _space_of(distributions, study.trials)
    ranges = {
        label: (p.distribution.low, p.distribution.high, sorted(space[label].domain.when["kind"]))
        for label, p in parameters.items() if p.one_of_several
    }  # fmt: skip
    assert sorted(ranges.values()) == [
        (1e-5, 1e-3, [0, 2]), (1e-3, 1.0, [1]), (1, 4, [0]), (3, 9, [1, 2]),
    ]  # fmt: skip
    assert not set(ranges) & set(distributions)
    assert study.best_value < 0.01


def test_choices_may_be_lists() -> None:
    study = study_of(lambda trial: len(trial.suggest_categorical("layers", [[8, 8], [16]])), 15)
    assert study.best_params == {"layers": [16]}


def test_a_contradicted_condition_is_dropped() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(nested, n_trials=50)
    distributions = {n: d for trial in study.trials for n, d in trial.distributions.items()}
    contradicting = optuna.trial.create_trial(
        params={"model": "machine", "kernel": None, "degree": 3},
        distributions={n: distributions[n] for n in ("model", "kernel", "degree")}, value=0.0,
    )  # fmt: skip
    space, _ = _space_of(distributions, [*study.trials, contradicting])
    assert space["degree"].domain.when is None


def test_the_same_seed_gives_the_same_study() -> None:
    values = [[trial.value for trial in study_of(mixed, 15).trials] for _ in range(2)]
    assert values[0] == values[1]


def test_maximization_mirrors_minimization() -> None:
    mirrored = optuna.create_study(direction="maximize", sampler=OptunaSampler(seed=1))
    mirrored.optimize(lambda trial: -mixed(trial), n_trials=15)
    assert [-t.value for t in mirrored.trials] == [t.value for t in study_of(mixed, 15).trials]


def test_workers_share_a_study() -> None:
    study = optuna.create_study(sampler=OptunaSampler(seed=1))
    study.optimize(mixed, n_trials=20, n_jobs=2)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 20


def test_a_region_of_failures_is_left() -> None:
    """Of 40 trials, 28 failed when failures were ignored."""

    def objective(trial: "optuna.Trial") -> float:
        x = trial.suggest_float("x", -5, 5)
        if x > 2:
            raise ArithmeticError
        return (x - 1.9) ** 2

    study = optuna.create_study(sampler=OptunaSampler(seed=1))
    study.optimize(objective, n_trials=40, catch=ArithmeticError)
    assert sum(t.state == TrialState.FAIL for t in study.trials) < 20
    assert study.best_value < 0.01


def test_failed_trials_by_chance_are_ignored_and_pruned_ones_count_with_their_last_value() -> None:
    def objective(trial: "optuna.Trial") -> float:
        x = trial.suggest_float("x", 0, 1)
        if trial.number % 5 == 1:
            raise ArithmeticError
        trial.report(x, step=0)
        if x > 0.6:
            raise optuna.TrialPruned
        return x

    study = optuna.create_study(sampler=OptunaSampler(seed=1, n_startup_trials=5))
    study.optimize(objective, n_trials=25, catch=ArithmeticError)
    states = [t.state for t in study.trials]
    assert states.count(TrialState.FAIL) == 5
    assert study.best_value < 0.02


def test_a_study_whose_trials_are_mostly_pruned_is_modeled() -> None:
    """The model starts after ten trials, though halving completes fewer of 60 random ones."""

    def objective(trial: "optuna.Trial") -> float:
        value = sum((trial.suggest_float(name, -5, 5) - 1) ** 2 for name in "abc")
        for step in range(1, 11):
            trial.report(value + 10 / step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    pruner = optuna.pruners.SuccessiveHalvingPruner()
    study = optuna.create_study(sampler=OptunaSampler(seed=1), pruner=pruner)
    study.optimize(objective, n_trials=60)
    states = [t.state for t in study.trials]
    assert states[:10].count(TrialState.COMPLETE) < 10
    assert study.best_value < 0.1


def test_feasible_trials_come_first() -> None:
    def objective(trial: "optuna.Trial") -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.set_user_attr("excess", 0.7 - x)
        return x

    study = study_of(objective, 30, constraints_func=lambda t: (t.user_attrs["excess"],))
    feasible = [t.value for t in study.trials if t.user_attrs["excess"] <= 0]
    assert min(feasible) < 0.75
    assert study.best_value == min(feasible)  # Optuna knows the constraints, too


def test_a_pickled_sampler_continues() -> None:
    study = study_of(mixed, 12)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(mixed, n_trials=3)
    assert len(study.trials) == 15


def test_enqueued_trials_and_fixed_parameters_work() -> None:
    study = optuna.create_study(sampler=OptunaSampler(seed=1, n_startup_trials=3))
    study.enqueue_trial({"lr": 1e-3, "kernel": "poly", "degree": 4})
    study.optimize(mixed, n_trials=10)
    assert study.trials[0].value == 1


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(uaos.UaosError, match="n_startup_trials is 2.5; expected an integer"):
        OptunaSampler(n_startup_trials=2.5)
    with pytest.raises(uaos.UaosError, match="n_startup_trials is -3; expected an integer >= 0"):
        OptunaSampler(n_startup_trials=-3)
    OptunaSampler(n_startup_trials=np.int64(3))
    with pytest.raises(uaos.UaosError, match="constraints_func is 3; expected a function"):
        OptunaSampler(constraints_func=3)
    with pytest.raises(uaos.UaosError, match="seed is -1"):
        OptunaSampler(seed=-1)


def test_the_package_for_optunahub_has_the_sampler_and_its_header() -> None:
    """Its example is a study of a conditional space."""
    folder = Path(__file__).parents[2] / "examples/optunahub/samplers/uaos"
    assert runpy.run_path(str(folder / "__init__.py"))["OptunaSampler"] is OptunaSampler
    header = (folder / "README.md").read_text().split("---\n")[1]
    fields = [line.split(":")[0] for line in header.splitlines()]
    assert fields == ["author", "title", "description", "tags", "optuna_versions", "license"]
    example = runpy.run_path(str(folder / "example.py"))
    study = optuna.create_study(sampler=OptunaSampler(seed=1))
    study.optimize(example["objective"], n_trials=40)
    assert study.best_value < 0.1


@pytest.mark.parametrize("returned", [None, 3, [None], ["a"], [float("nan")], [1j], {"a": 1}])
def test_constraints_that_are_no_numbers_are_named(returned: object) -> None:
    study = optuna.create_study(sampler=OptunaSampler(seed=1, constraints_func=lambda _: returned))
    with pytest.raises(uaos.UaosError, match="constraints_func returned"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)


def test_names_that_uaos_does_not_take_are_drawn_at_random() -> None:
    study = optuna.create_study(sampler=OptunaSampler(seed=1, n_startup_trials=2))
    study.optimize(
        lambda trial: sum(trial.suggest_float(n, 0, 1) for n in ("x", "", "a\nb", "y" * 300)),
        n_trials=6,
    )
    assert len(study.trials) == 6
