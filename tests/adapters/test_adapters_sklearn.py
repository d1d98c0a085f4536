"""The search for scikit-learn: scikit-learn's interface, with names, conditions and scores."""

import warnings

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidParameter

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from uaos.adapters import SearchCV

X, Y = make_classification(n_samples=80, n_features=5, random_state=1)
SPACE = {
    "C": uaos.Real(0.01, 100, log=True),
    "kernel": uaos.Categorical(["rbf", "poly", "linear"]),
    "degree": uaos.Integer(2, 4, when={"kernel": "poly"}),
}


def search(**options: object) -> SearchCV:
    return SearchCV(SVC(), SPACE, **{"n_iter": 12, "random_state": 1, "cv": 3} | options)


def test_it_finds_candidates_and_refits_the_best() -> None:
    fitted = search().fit(X, Y)
    scores = fitted.cv_results_["mean_test_score"]
    assert len(scores) == 12
    assert fitted.best_score_ == max(scores)
    assert fitted.best_estimator_.get_params()["C"] == fitted.best_params_["C"]
    assert fitted.predict(X).shape == Y.shape
    assert fitted.optimizer_.result.fun == -fitted.best_score_


def test_inactive_parameters_are_not_set() -> None:
    for candidate in search().fit(X, Y).cv_results_["params"]:
        assert ("degree" in candidate) == (candidate["kernel"] == "poly")
        assert isinstance(candidate["C"], float)


def test_the_same_state_gives_the_same_search() -> None:
    first, second = (search().fit(X, Y).cv_results_["params"] for _ in range(2))
    assert first == second


def test_it_can_be_cloned_and_put_into_a_pipeline() -> None:
    copied = clone(search(n_iter=4))
    assert copied.get_params()["n_iter"] == 4
    assert copied.space == SPACE
    assert make_pipeline(StandardScaler(), copied).fit(X, Y).score(X, Y) > 0.7


def test_names_of_a_pipeline_have_its_prefix() -> None:
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    space = {"logisticregression__C": uaos.Real(0.01, 100, log=True)}
    fitted = SearchCV(pipeline, space, n_iter=5, random_state=1, cv=3).fit(X, Y)
    assert set(fitted.best_params_) == set(space)


def test_a_random_state_of_numpy_is_a_seed() -> None:
    seeds = [np.random.RandomState(1) for _ in range(2)]
    first, second = (search(random_state=seed, n_iter=4).fit(X, Y) for seed in seeds)
    assert first.best_params_ == second.best_params_


def test_refit_names_the_score_that_is_maximized() -> None:
    fitted = search(scoring=["accuracy", "f1"], refit="f1", n_iter=4).fit(X, Y)
    assert fitted.best_score_ == max(fitted.cv_results_["mean_test_f1"])
    with raises(InvalidParameter, name="refit"):
        search(scoring=["accuracy", "f1"], refit=False, n_iter=4).fit(X, Y)


def test_failed_fits_are_failed_evaluations() -> None:
    space = {"strategy": uaos.Categorical(["stratified", "uniform", "wrong"])}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = SearchCV(DummyClassifier(), space, n_iter=6, random_state=1, cv=3).fit(X, Y)
    assert fitted.best_params_["strategy"] != "wrong"
    wrong = {"strategy": uaos.Categorical(["wrong", "bad"])}
    with pytest.raises(ValueError, match="All the [0-9]+ fits failed"):
        SearchCV(DummyClassifier(), wrong, n_iter=3, random_state=1, cv=3).fit(X, Y)


def test_no_candidate_is_fitted_twice() -> None:
    """The space has 2 + 3 candidates; a log scale is searched as a real interval."""
    space = {
        "strategy": uaos.Categorical(["most_frequent", "stratified", "prior"]),
        "random_state": uaos.Integer(0, 2, when={"strategy": "stratified"}),
    }
    few = SearchCV(DummyClassifier(), space, n_iter=60, random_state=1, cv=3).fit(X, Y)
    candidates = few.cv_results_["params"]
    assert len(candidates) == len({tuple(p.items()) for p in candidates}) == 5
    space = {"degree": uaos.Integer(1, 5, log=True)}
    candidates = search(n_iter=20).set_params(space=space).fit(X, Y).cv_results_["params"]
    assert len(candidates) == len({p["degree"] for p in candidates})


def test_fixed_values_are_one_candidate() -> None:
    assert SearchCV(SVC(), {"C": 2.0}, cv=3).fit(X, Y).best_params_ == {"C": 2.0}


@pytest.mark.parametrize(
    ("options", "name"), [({"n_iter": 0}, "n_iter"), ({"random_state": "a"}, "random_state")]
)
def test_wrong_arguments_are_named(options: dict, name: str) -> None:
    with pytest.raises(ValueError, match=name):  # scikit-learn's own check
        search(**options).fit(X, Y)


def test_a_space_is_a_mapping() -> None:
    with raises(InvalidParameter, name="space"):
        SearchCV(SVC(), [1, 2]).fit(X, Y)


def test_candidates_share_shuffled_folds():
    """A splitter without a seed draws its folds once: equal estimators have equal scores."""
    search = SearchCV(
        DummyClassifier(strategy="constant", constant=True),
        {"random_state": uaos.Integer(0, 1000)}, n_iter=12, cv=ShuffleSplit(2, test_size=0.4),
    )  # fmt: skip
    scores = search.fit(X, Y == 1).cv_results_["mean_test_score"]
    assert len(scores) == 12
    assert np.ptp(scores) == 0
