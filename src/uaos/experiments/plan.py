"""Plans of experiments: methods × problems × repetitions."""

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from uaos.checks import parse_budget
from uaos.definitions import definition_hash
from uaos.errors import InvalidParameter, NameClash, UaosError, UnknownName
from uaos.experiments.unit import Unit, derived_seed
from uaos.optimizers.catalogue import configuration, expanded
from uaos.optimizers.configuration import UNIFORM, Configuration
from uaos.optimizers.registry import optimizer_classes
from uaos.problems import Problem, Suite
from uaos.problems import suite as suite_called
from uaos.problems.problem import integer_in
from uaos.selection.components import FAMILIES
from uaos.text import count

#: Kinds of controls: "uniform" for the same algorithm with uniform choice.
CONTROLS = (UNIFORM,)

#: Default budget: 2 000 000 evaluations in 20-D.
DEFAULT_BUDGET = "100000D"

#: The properties that all parts of an experiment share, by name.
Identity = dict[str, object]

#: Name of the hash of a suite's file in an identity.
CONTENT = "content of the suite's file"

#: Prefix of the names of hashes of the definitions of a method's custom classes.
CODE = "code of "


@dataclass(frozen=True)
class Plan:
    """The runs of an experiment; :meth:`of` makes a plan from names.

    The seed of a run is a hash of `seed`, its method, problem and repetition, so that results do
    not depend on the rest of the plan.

    Parameters
    ----------
    competitors : mapping of str to Configuration
        The methods.
    suite : Suite
        The problems.
    repetitions : int
        Runs of each method on each problem.
    budget : int or str
        Largest number of evaluations of a run, or a multiple of each problem's dimension such as
        "1000D".
    seed : int
        Seed of the experiment.

    Examples
    --------
    >>> from uaos.experiments import Plan
    >>> from uaos.problems import suite
    >>> problems = suite("bbob", dimension=2, functions="1-3", instances="1-2")
    >>> plan = Plan.of(["JADE", "SaDE"], problems, budget="100D")
    >>> list(plan.competitors), len(list(plan.units()))
    (['JADE', 'SaDE', 'uniform'], 18)
    """

    competitors: Mapping[str, Configuration]
    suite: Suite
    repetitions: int
    budget: int | str
    seed: int

    @classmethod
    def of(
        cls,
        methods: "str | os.PathLike[str] | Iterable[str | os.PathLike[str] | Configuration]",
        suite: str | os.PathLike[str] | Suite = "bbob",
        *,
        repetitions: int = 1,
        budget: int | str | None = None,
        seed: int = 1,
        uniform: bool = True,
        control: str | None = None,
    ) -> "Plan":
        """Make a plan from names.

        Parameters
        ----------
        methods : iterable of str, path or Configuration
            Names of the catalogue or of its groups (literature, tuned, winners, all), TOML files,
            or configurations.
        suite : Suite, str or path
            The problems: a suite, or what `uaos.suite` takes.
        repetitions : int
            Runs of each method on each problem.
        budget : int or str
            Largest number of evaluations of a run, or a multiple of each problem's dimension;
            default "100000D".
        seed : int
        uniform : bool
            Whether to add uniform choice, which shows whether adapting pays.
        control : {"uniform"}, optional
            Whether to add a control for each method that selects: the same algorithm with uniform
            choice (:meth:`uaos.Configuration.with_uniform_choice`).
        """
        repetitions = integer_in("repetitions", repetitions, 1, 1_000_000)
        seed = integer_in("seed", seed, 0, 2**63 - 1)
        names = [methods] if isinstance(methods, str | os.PathLike) else list(methods)
        problems = suite if isinstance(suite, Suite) else suite_called(suite)
        limit = DEFAULT_BUDGET if budget is None else budget
        parse_budget(limit, 1)
        competitors = _competitors(names, uniform, control)
        return cls(competitors, problems, repetitions, limit, seed)

    def combinations(self) -> Iterator[tuple[str, Problem, int]]:
        """Yield method, problem and repetition of every run.

        All combinations; a subclass may leave some out.
        """
        repetitions = range(1, self.repetitions + 1)
        return itertools.product(self.competitors, self.suite, repetitions)

    def units(self) -> Iterator[Unit]:
        """Yield every run of the plan."""
        return itertools.starmap(self.unit, self.combinations())

    def unit(self, method: str, problem: Problem, repetition: int) -> Unit:
        """Return one run of the plan."""
        seed = derived_seed(self.seed, method, *problem.key, repetition)
        return Unit(method, problem.name, repetition, seed, self.evaluations(problem))

    def evaluations(self, problem: Problem) -> int:
        """Return the budget of a run on a problem, in evaluations."""
        return parse_budget(self.budget, problem.dimension)

    def __len__(self) -> int:
        return sum(1 for _ in self.combinations())

    def __repr__(self) -> str:
        methods, problems = len(self.competitors), len(self.suite)
        return (
            f"<Plan: {count(methods, 'method')} on {count(problems, 'problem')} of "
            f"{self.suite.name}, {count(len(self), 'run')} of at most {self.budget} evaluations>"
        )

    def identity(self) -> Identity:
        """Return the properties that every store of this plan, or of a part of it, shares."""
        identity = suite_identity(self.suite) | {"seed": self.seed}
        identity |= {f"budget on {p.name}": self.evaluations(p) for p in self.suite}
        identity |= self.codes()
        return identity | {f"method {n}": as_json(c.to_dict()) for n, c in self.competitors.items()}

    def codes(self) -> dict[str, str]:
        """Return the hash of the definitions of each method's custom classes."""
        hashes = {name: code_hash(entry) for name, entry in self.competitors.items()}
        return {CODE + name: code for name, code in hashes.items() if code}

    def check(self) -> None:
        """Check that every method can run, for example that its optimizer is installed."""
        for competitor in self.competitors.values():
            for problem in {p.dimension: p for p in self.suite}.values():
                competitor.check(problem.dimension, self.evaluations(problem))


def code_hash(configuration: Configuration, *further: type) -> str:
    """Hash the definitions of a configuration's custom classes and of further classes.

    Only classes from a user's file count; "" if there are none.
    """
    parts = [*further]
    if (optimizer := optimizer_classes().get(configuration.optimizer)) is not None:
        parts.append(optimizer)
    if configuration.method is not None:
        parts += [type(getattr(configuration.method, family)) for family in FAMILIES]
    parts += [type(operator) for operator in getattr(configuration.settings, "pool", None) or ()]
    hashes = {definition_hash(part) for part in parts}
    return ",".join(sorted(value for value in hashes if value is not None))


def competitor(name: str | os.PathLike[str] | Configuration) -> Configuration:
    """Return the configuration that a name, a file or a configuration stands for."""
    if isinstance(name, Configuration):
        return name
    chosen = configuration(name)
    return replace(chosen, name=Path(name).stem) if chosen.name == "unnamed" else chosen


def _competitors(
    methods: Sequence[str | os.PathLike[str] | Configuration], uniform: bool, control: str | None
) -> dict[str, Configuration]:
    competitors: dict[str, Configuration] = {}
    if not methods:
        raise InvalidParameter("no method to run; name at least one", name="methods", value=[])
    if control is not None and control not in CONTROLS:
        raise UnknownName("control", control, CONTROLS)
    entries = [competitor(name) for name in expanded(methods)]
    if control is not None:
        entries += _controls(entries)
    for entry in entries:
        before = competitors.setdefault(entry.name, entry)
        if before.to_dict() != entry.to_dict():
            raise NameClash(f"two different methods are called {entry.name!r}; rename one of them")
    if uniform and UNIFORM not in competitors:
        competitors[UNIFORM] = configuration(UNIFORM)
    return competitors


def _controls(entries: Iterable[Configuration]) -> list[Configuration]:
    """Return the controls of those configurations that adapt their choice."""
    return [
        control
        for entry in entries
        if entry.selects and (control := entry.with_uniform_choice()).method != entry.method
    ]


# Whether two experiments are the same


class PlanConflict(UaosError, ValueError):
    """A plan does not fit the experiment that a file already holds."""


def suite_identity(suite: Suite) -> Identity:
    """Return the properties that experiments on the same suite share."""
    identity: Identity = {"suite": suite.name, CONTENT: suite.hash}
    for p in suite:
        identity[f"problem {p.name}"] = [p.dimension, p.optimum, p.bounds.ravel().tolist()]
    return identity


def differences(there: Identity, here: Identity) -> list[str]:
    """Return why two identities are not those of one experiment, at most four reasons."""
    shared = [key for key in here if key in there]
    if "suite" in shared and there["suite"] != here["suite"]:
        shared = ["suite"]  # problems and budgets differ as well
    return [reason for key in shared for reason in differing(key, there[key], here[key])][:4]


def as_json(data: Mapping[str, object]) -> dict[str, object]:
    """Return data as a store would return them."""
    restored: dict[str, object] = json.loads(json.dumps(data))
    return restored


def differing(where: str, there: object, here: object) -> list[str]:
    """Describe the differences of two configurations that may change a run."""
    if isinstance(there, dict) and isinstance(here, dict):
        reasons = []
        for key in (*there, *(k for k in here if k not in there)):
            if key not in ("note", "reference", "tuning"):
                name = f"{where}.{key}"
                reasons += differing(name, there.get(key, "nothing"), here.get(key, "nothing"))
        return reasons
    if there == here:
        return []
    if where.startswith((CONTENT, CODE)):  # hashes, which tell a reader nothing
        return [f"{where} has changed"]
    return [f"{where}: {repr(there)[:60]} there, {repr(here)[:60]} here"]
