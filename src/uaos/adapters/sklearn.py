"""scikit-learn: a search for hyper-parameters with the interface of RandomizedSearchCV.

search = uaos.adapters.SearchCV(estimator, space, n_iter=50, random_state=1).fit(X, y)
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from uaos.arrays import FloatArray
from uaos.checks import evaluation_count
from uaos.errors import InvalidParameter, shortened
from uaos.extras import MissingExtra
from uaos.optimizers.base import Optimizer
from uaos.optimizers.catalogue import ConfigurationLike, as_configuration
from uaos.problems.space import FreeSpace
from uaos.problems.variables import Space

try:
    from sklearn.exceptions import FitFailedWarning
    from sklearn.model_selection import RandomizedSearchCV
except ImportError as error:
    raise MissingExtra("uaos.adapters.SearchCV", "scikit-learn", "sklearn") from error


# scikit-learn's message where no fold of a call could be fitted.
_ALL_FAILED = re.compile(r"^\s*All the \d+ fits failed")


class _SameSplits:
    """A splitter that divides the data once, and every further time as before.

    scikit-learn divides them anew in every call for candidates. A search calls more than once, and
    shuffled folds would be others for each candidate: noise, by which the luckiest one wins.
    """

    def __init__(self, splitter: Any) -> None:
        self.splitter = splitter
        self._splits: list[tuple[Any, Any]] | None = None

    def split(self, X: Any, y: Any = None, **parameters: Any) -> list[tuple[Any, Any]]:
        """Return the training and test indices of each fold."""
        if self._splits is None:
            self._splits = list(self.splitter.split(X, y, **parameters))
        return self._splits

    def get_n_splits(self, X: Any = None, y: Any = None, **parameters: Any) -> int:
        """Return the number of folds."""
        return int(self.splitter.get_n_splits(X, y, **parameters))


class SearchCV(RandomizedSearchCV):
    """Search hyper-parameters by cross-validation, each candidate chosen from earlier scores.

    Everything but `space` and `method` is as in scikit-learn's RandomizedSearchCV, its attributes
    (`best_params_`, `cv_results_`, …) included.

    Parameters
    ----------
    estimator : estimator object
        The estimator to tune.
    space : mapping or Space
        Names of parameters and their variables: :class:`uaos.Real`, :class:`uaos.Integer`,
        :class:`uaos.Categorical`, or fixed values.
    n_iter : int
        Number of candidates to try. Each is fitted once: in a space of fewer candidates the search
        ends when all of them were tried.
    method : str, Method or Configuration, optional
        The search method; by default the portfolio of :func:`uaos.minimize`.
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in scikit-learn. `n_jobs` fits the folds of a candidate in parallel. With several scores,
        `refit` names the one that is maximized. All candidates are judged on the same folds, those
        that `cv` draws at first.
    random_state : int or RandomState, optional
        Makes the search repeatable.

    Attributes
    ----------
    optimizer_ : Optimizer
        The optimizer after the search; its `result` has the history.

    Raises
    ------
    InvalidParameter
        By `fit`, if an argument is not what it should be.

    Examples
    --------
    >>> import uaos
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> space = {"C": uaos.Real(0.01, 100, log=True), "gamma": uaos.Real(1e-3, 10, log=True)}
    >>> search = uaos.adapters.SearchCV(SVC(), space, n_iter=15, random_state=1)
    >>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.97)
    True
    """

    def __init__(
        self,
        estimator: Any,
        space: Mapping[str, object] | Space,
        *,
        n_iter: int = 50,
        method: ConfigurationLike | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[..., int] = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: int | np.random.RandomState | None = None,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator, space, n_iter=n_iter, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv,
            verbose=verbose, pre_dispatch=pre_dispatch, random_state=random_state,
            error_score=error_score, return_train_score=return_train_score,
        )  # fmt: skip
        self.space = space
        self.method = method

    def _run_search(
        self, evaluate_candidates: Callable[..., Mapping[str, Sequence[float]]], **_: object
    ) -> None:
        """Ask for candidates and tell their scores, as scikit-learn's base class expects."""
        if not isinstance(self.space, Mapping | Space):
            raise InvalidParameter(
                f"space is {shortened(self.space)}; expected a mapping of parameter names to "
                "variables",
                name="space", value=self.space,
            )  # fmt: skip
        space = self.space if isinstance(self.space, Space) else Space(self.space)
        if not space.searched:
            evaluate_candidates([space.decode([])])
            return
        self.optimizer_ = self._optimizer(space)
        splits = _SameSplits(self.cv) if hasattr(self.cv, "split") else None
        failure: ValueError | None = None
        size = FreeSpace(space).size
        values: dict[bytes, float] = {}  # of the candidates so far
        while not self.optimizer_.done and len(values) < size:
            candidates = space.decode(self.optimizer_.ask())
            keys = [space.encode(candidate).tobytes() for candidate in candidates]
            new = {k: x for k, x in zip(keys, candidates, strict=True) if k not in values}
            try:
                if new:
                    results = evaluate_candidates(list(new.values()), cv=splits)
                    values |= zip(new, -self._scores(results)[-len(new) :], strict=True)
            except ValueError as error:
                if not _ALL_FAILED.search(str(error)):
                    raise
                failure = error  # would end scikit-learn's search; here only these candidates fail
                values |= dict.fromkeys(new, np.nan)
            self.optimizer_.tell([values[key] for key in keys])
        if failure is not None:
            if self.optimizer_.best_x is None:
                raise failure
            warnings.warn(f"some candidates are missing: {failure}", FitFailedWarning, stacklevel=3)

    def _scores(self, results: Mapping[str, Sequence[float]]) -> FloatArray:
        """Return the scores so far, of the measure to maximize."""
        score = f"mean_test_{self.refit}" if isinstance(self.refit, str) else "mean_test_score"
        if score not in results:
            raise InvalidParameter(
                f"refit is {shortened(self.refit)}; with several scores it must name the one that "
                'is maximized, such as refit="accuracy"',
                name="refit", value=self.refit,
            )  # fmt: skip
        return np.asarray(results[score], float)

    def _optimizer(self, space: Space) -> Optimizer:
        """Return the optimizer of the search."""
        configuration = as_configuration("portfolio" if self.method is None else self.method)
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31 - 1))
        budget = evaluation_count(self.n_iter, "n_iter")
        return configuration.build(space, seed=seed, budget=budget)
