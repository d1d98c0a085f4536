"""Optuna: a sampler that proposes trials by a model of all trials so far.

    study = optuna.create_study(sampler=uaos.adapters.OptunaSampler(seed=1))

The sampler has no state but its random numbers: it learns from the trials in the study's storage,
so that studies are resumed and shared by workers as with Optuna's own samplers.
"""

import dataclasses
from collections.abc import Callable, Container, Mapping, Sequence
from numbers import Integral
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from uaos.arrays import BoolArray, FloatArray, IntArray
from uaos.checks import is_printable_name, real_numbers, seeded_generator
from uaos.errors import InvalidFeedback, InvalidParameter, shortened
from uaos.extras import MissingExtra
from uaos.optimizers.gaussian_process import covariance
from uaos.optimizers.mixed import Coordinates
from uaos.optimizers.surrogate import Constrained, Proposer, constrained_values, model_values
from uaos.params import Categorical, Integer, Real
from uaos.problems.variables import Space

try:
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:
    raise MissingExtra("uaos.adapters.OptunaSampler", "optuna", "optuna") from error

#: Trials that show which parameters there are; a failed one may have ended before it had all.
_FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
#: Trials that the model learns from.
_USED = (*_FINISHED, TrialState.RUNNING, TrialState.FAIL)
# The name under which Optuna's samplers store the values of constraints.
_CONSTRAINTS = "constraints"
# Integers with more values are not taken for the number of other parameters.
_MOST_VALUES = 100
# Parameters with more ranges have a range of their own in each trial.
_MOST_RANGES = 10


class OptunaSampler(BaseSampler):
    """Sample trials where a Gaussian process expects the largest improvement.

    Parameters
    ----------
    seed : int, optional
        Makes a study with one worker repeatable.
    n_startup_trials : int
        Trials that are drawn at random before the first model. Complete and pruned ones count, as
        in Optuna's TPESampler; at least two must be complete.
    constraints_func : callable, optional
        Returns for a finished trial a sequence of numbers; the trial is feasible if none is above
        0. Constraints that a trial sets itself are used, too.

    Raises
    ------
    InvalidParameter
        If `seed` or `n_startup_trials` is not an integer in range, or `constraints_func` is not a
        function.

    Notes
    -----
    All parameters that finished trials have are modeled together, conditional ones as well: where a
    trial lacks a parameter, the model has the middle of its range. If another parameter decides
    which of several ranges a parameter has, each range is modeled as a parameter. Parameters that
    no trial has had yet are drawn at random; so are those whose names are not printable or above
    250 characters. A pruned trial counts with its last intermediate value, but as no better than
    the median of the complete ones; a running trial keeps others away from its point. A failed
    trial has the median value if the nearest other trial failed, too, and is ignored otherwise. A
    study with several objectives is refused.

    Examples
    --------
    >>> import optuna
    >>> import uaos
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=uaos.adapters.OptunaSampler(seed=1))
    >>> study.optimize(lambda trial: trial.suggest_float("x", -5, 5) ** 2, n_trials=20)
    >>> study.best_value < 0.01
    True
    """

    def __init__(
        self,
        seed: int | None = None,
        *,
        n_startup_trials: int = 10,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
    ) -> None:
        counted = isinstance(n_startup_trials, Integral) and not isinstance(n_startup_trials, bool)
        if not (counted and n_startup_trials >= 0):
            raise InvalidParameter(
                f"n_startup_trials is {shortened(n_startup_trials)}; expected an integer >= 0",
                name="n_startup_trials", value=n_startup_trials,
            )  # fmt: skip
        if not (constraints_func is None or callable(constraints_func)):
            raise InvalidParameter(
                f"constraints_func is {shortened(constraints_func)}; expected a function of a "
                "finished trial",
                name="constraints_func", value=constraints_func,
            )  # fmt: skip
        self._rng = seeded_generator(seed)[1]
        self._random = RandomSampler(seed=int(self._rng.integers(2**32)))
        self._startup = n_startup_trials
        self._constraints_func = constraints_func
        self._proposer = Proposer()
        self._lock = Lock()

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        self.__dict__.update(state)
        self._lock = Lock()

    def reseed_rng(self) -> None:
        """Draw new seeds, as Optuna asks for in parallel workers."""
        self._rng = np.random.default_rng()
        self._random.reseed_rng()

    # Optuna's protocol

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters of all finished trials, with their latest distributions."""
        _check_single(study)
        space: dict[str, BaseDistribution] = {}
        for finished in study.get_trials(deepcopy=False, states=_FINISHED):
            space |= finished.distributions
        names = [name for name in sorted(space) if is_printable_name(name)]
        return {name: space[name] for name in names if _can_be_modeled(space[name])}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return a value for each parameter; before the first model, at random."""
        if not search_space:
            return {}
        trials = study.get_trials(deepcopy=False, states=_USED)
        finished = [t for t in trials if t.state in _FINISHED]
        space, parameters = _space_of(search_space, finished)
        coordinates = Coordinates.of(space)
        complete = sum(t.state == TrialState.COMPLETE for t in trials)
        with self._lock:
            if len(finished) < self._startup or complete < 2:
                point = coordinates.uniform(1, self._rng)[0]
            else:
                others = [t for t in trials if t.number != trial.number and t.params]
                points = np.array([_as_point(space, parameters, t) for t in others])
                points = coordinates.rounded(points)
                used = _used(coordinates, points, others)
                scores, constrained = self._scores(study, [others[k] for k in used])
                point, _ = self._proposer(coordinates, points[used], scores, self._rng, constrained)
        values = space.decode(point)
        return dict(parameters[label].external(value) for label, value in values.items())

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Draw a value of a parameter that no finished trial has had."""
        _check_single(study)
        with self._lock:
            return self._random.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Store the values of the constraints where Optuna looks for them."""
        if self._constraints_func is not None and state in _FINISHED:
            returned = self._constraints_func(trial)
            try:
                constraints = tuple(real_numbers(returned).tolist())
            except (TypeError, ValueError):
                constraints = (np.nan,)
            if any(map(np.isnan, constraints)):
                raise InvalidFeedback(
                    f"constraints_func returned {shortened(returned)}; expected a sequence of "
                    "numbers"
                )
            study._storage.set_trial_system_attr(trial._trial_id, _CONSTRAINTS, constraints)

    # What the model learns from

    def _scores(
        self, study: Study, trials: Sequence[FrozenTrial]
    ) -> tuple[FloatArray, Constrained | None]:
        """Return the values of trials as the model has them, smaller is better.

        Under constraints, the second one has objective and constraints apart.
        """
        sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
        complete = [sign * t.value for t in trials if t.state == TrialState.COMPLETE]
        middle = float(np.median(complete))
        values = np.full(len(trials), np.nan)
        for k, trial in enumerate(trials):
            if trial.state == TrialState.COMPLETE:
                values[k] = sign * trial.value
            elif trial.state in (TrialState.RUNNING, TrialState.FAIL):
                values[k] = middle
            elif trial.intermediate_values:
                last = sign * trial.intermediate_values[max(trial.intermediate_values)]
                values[k] = max(last, middle)
        values[~np.isfinite(values)] = np.nan
        stored = [_constraints(trial) for trial in trials]
        names = list(dict.fromkeys(name for each in stored for name in each))
        constraints = np.array([[each.get(n, np.nan) for n in names] for each in stored])
        if not (constraints > 0).any():
            return model_values(values), None
        violations = np.nansum(np.maximum(constraints, 0.0), axis=1)
        unknown = np.isnan(constraints).all(axis=1)  # of running, failed and enqueued trials
        return model_values(values, violations), constrained_values(
            values, np.where(unknown, np.nan, violations), constraints
        )


def _used(coordinates: Coordinates, points: FloatArray, trials: Sequence[FrozenTrial]) -> IntArray:
    """Return the numbers of the trials that the model learns from.

    A failed trial is used if the nearest other one failed, too: otherwise it may be by chance.
    """
    failed = np.array([trial.state == TrialState.FAIL for trial in trials])
    if failed.any():
        scaled = coordinates.scaled(points)
        near = covariance(scaled, scaled, coordinates.categories, np.ones(scaled.shape[1]))
        np.fill_diagonal(near, -1.0)
        failed &= ~failed[near.argmax(axis=1)]
    return np.flatnonzero(~failed)


def _check_single(study: Study) -> None:
    """Raise an error if a study has several objectives."""
    if len(study.directions) > 1:
        raise InvalidParameter(
            "OptunaSampler minimizes or maximizes one objective; for several, use a sampler such "
            "as optuna.samplers.NSGAIISampler",
            name="directions", value=study.directions,
        )  # fmt: skip


class _Parameter(NamedTuple):
    """A parameter, or one of several ranges that it has in different branches of an objective."""

    name: str
    distribution: BaseDistribution
    one_of_several: bool = False

    def is_in(self, trial: FrozenTrial) -> bool:
        """Return whether a trial has the parameter, with this range if it has several."""
        same = not self.one_of_several or trial.distributions.get(self.name) == self.distribution
        return same and self.name in trial.params

    def external(self, value: Any) -> tuple[str, Any]:
        """Return the name and a value of the variable as Optuna has it."""
        if isinstance(self.distribution, CategoricalDistribution):
            value = self.distribution.choices[value]
        return self.name, value


def _space_of(
    distributions: Mapping[str, BaseDistribution], trials: Sequence[FrozenTrial]
) -> tuple[Space, dict[str, _Parameter]]:
    """Return the parameters as named variables, with the conditions that the trials show.

    A parameter that some trials lack depends on another one if that decides in all trials whether
    they have it: a categorical parameter by its choice, an integer by being small or large enough.
    Likewise another one may decide which of several ranges a parameter has. Each range is a
    variable then.
    """
    ranges = {
        name: list(dict.fromkeys(t.distributions[name] for t in trials if name in t.params))
        for name, distribution in distributions.items()
        if not isinstance(distribution, CategoricalDistribution)  # whose choices do not change
    }
    parameters = {name: _Parameter(name, d) for name, d in distributions.items()}
    parents = [parameter for name, parameter in parameters.items() if len(ranges.get(name, ())) < 2]
    variables: dict[str, Real | Integer | Categorical] = {}
    for name, own in ranges.items():
        if 1 < len(own) <= _MOST_RANGES and all(map(_can_be_modeled, own)):
            several = {
                _unused(f"{name[:200]} {k}", {**distributions, **parameters}): _Parameter(
                    name, distribution, True
                )
                for k, distribution in enumerate(own)
            }
            conditional = _with_conditions(several, parents, trials)
            if all(variable.when for variable in conditional.values()):
                variables |= conditional
                parameters |= several
                del parameters[name]
    single = {name: p for name, p in parameters.items() if not p.one_of_several}
    variables |= _with_conditions(single, list(single.values()), trials)
    return Space(variables), parameters


def _unused(label: str, names: Container[str]) -> str:
    """Return a label that is not the name of a parameter."""
    while label in names:
        label += "'"
    return label


def _with_conditions(
    parameters: Mapping[str, _Parameter],
    others: Sequence[_Parameter],
    trials: Sequence[FrozenTrial],
) -> dict[str, Real | Integer | Categorical]:
    """Return parameters as variables, with conditions on other parameters."""
    kinds = CategoricalDistribution, IntDistribution
    parents = [p for kind in kinds for p in others if isinstance(p.distribution, kind)]
    exists = {p.name: np.array([p.is_in(trial) for trial in trials]) for p in parents}
    parents.sort(key=lambda p: -exists[p.name].sum())  # those that exist in most trials first
    variables = {label: _as_variable(p.distribution) for label, p in parameters.items()}
    for label, parameter in parameters.items():
        present = np.array([parameter.is_in(trial) for trial in trials])
        for parent in parents if not all(present) else ():
            there = exists[parent.name]
            # One that always exists with the parameter, and in other trials, too: no cycles.
            if there.sum() > present.sum() and all(there[present]):
                values = _deciding(parent.distribution, parent.name, trials, present)
                if values:
                    when = {parent.name: values}
                    variables[label] = dataclasses.replace(variables[label], when=when)
                    break
    return variables


def _deciding(
    parent: BaseDistribution, name: str, trials: Sequence[FrozenTrial], present: BoolArray
) -> Sequence[int]:
    """Return the values of a parameter with which another one is present; none if others decide."""
    values = [
        (int(parent.to_internal_repr(trial.params[name])), bool(there))
        for trial, there in zip(trials, present, strict=True)
        if name in trial.params
    ]
    having = {value for value, there in values if there}
    lacking = {value for value, there in values if not there}
    if isinstance(parent, CategoricalDistribution):
        others = [c for c in range(len(parent.choices)) if c not in lacking]
        return others if having.isdisjoint(lacking) else ()
    assert isinstance(parent, IntDistribution)
    values_in_range = range(parent.low, parent.high + 1, parent.step)
    if not having or not lacking or len(values_in_range) > _MOST_VALUES:
        return ()
    if max(lacking) < min(having):
        return [value for value in values_in_range if value > max(lacking)]
    if max(having) < min(lacking):
        return [value for value in values_in_range if value < min(lacking)]
    return ()


def _constraints(trial: FrozenTrial) -> dict[str, float]:
    """Return the constraints of a trial by name, feasible where they are at most 0."""
    stored = getattr(trial, "constraints", None)  # of Optuna 5
    if stored is None:
        stored = {str(k): c for k, c in enumerate(trial.system_attrs.get(_CONSTRAINTS) or ())}
    return dict(stored)


def _can_be_modeled(distribution: BaseDistribution) -> bool:
    """Return whether a parameter has more than one value, and a range that can be searched."""
    if distribution.single():
        return False
    if isinstance(distribution, FloatDistribution):
        return bool(np.isfinite(distribution.high - distribution.low))
    return isinstance(distribution, IntDistribution | CategoricalDistribution)


def _as_variable(distribution: BaseDistribution) -> Real | Integer | Categorical:
    """Return the variable that stands for a distribution; a choice is its number."""
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(tuple(range(len(distribution.choices))))
    if isinstance(distribution, FloatDistribution):
        return Real(distribution.low, distribution.high, distribution.log, distribution.step)
    assert isinstance(distribution, IntDistribution)
    step = distribution.step if distribution.step > 1 else None
    return Integer(distribution.low, distribution.high, distribution.log, step)


def _as_point(space: Space, parameters: Mapping[str, _Parameter], trial: FrozenTrial) -> FloatArray:
    """Return the coordinates of a trial, the middle of the range for parameters it lacks."""
    point = []
    for variable in space:
        low, high, kind = variable.domain.coordinate
        number = 0.5 * (low + high)
        parameter = parameters[variable.name]
        if parameter.is_in(trial):
            internal = parameter.distribution.to_internal_repr(trial.params[parameter.name])
            number = min(max(variable.domain.encode(internal), low), high)
        point.append(number if kind == "real" else np.floor(number))
    return np.array(point)
