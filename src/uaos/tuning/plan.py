"""The plan of a tuning, which determines its result."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from uaos.checks import parse_budget
from uaos.errors import InvalidParameter, UaosError, UnknownName
from uaos.experiments.plan import code_hash
from uaos.extras import require
from uaos.optimizers.catalogue import configuration as catalogue_entry
from uaos.params import Categorical, Value
from uaos.problems import Problem, Suite
from uaos.text import count
from uaos.tuning.costs import objective_called
from uaos.tuning.design_space import INITIAL, Design
from uaos.tuning.race import Rules
from uaos.tuning.records import Setup
from uaos.tuning.sampling import space_data
from uaos.tuning.search import Search, races_planned

TUNERS = ("racer", "irace")


class HeldOutProblems(UaosError, ValueError):
    """A tuning would see problems that are held out to judge its result.

    Parameters
    ----------
    problems : iterable of Problem
        Those that are held out.
    total : int
        The number of problems in the suite.
    """

    def __init__(self, problems: Iterable[Problem], total: int) -> None:
        self.problems = tuple(problems)
        super().__init__(
            f"the suite has test problems ({len(self.problems)} of {total}, the first: "
            f"{self.problems[0]}); a method tuned on them cannot be judged on them. Use instances "
            "above 15, or --force-test-instances (force=True) to tune on them anyway"
        )


def check_training(suite: Suite, *, force: bool = False) -> Suite:
    """Return the suite if a tuner may train on it.

    Parameters
    ----------
    suite : Suite
    force : bool
        Whether to allow problems that are held out.

    Returns
    -------
    Suite

    Raises
    ------
    HeldOutProblems
        If problems of the suite are held out for testing.

    Examples
    --------
    >>> import uaos
    >>> from uaos.tuning import check_training
    >>> len(check_training(uaos.suite("bbob", dimension=5, instances="train")))
    48
    """
    held_out = [problem for problem in suite if problem.held_out]
    if held_out and not force:
        raise HeldOutProblems(held_out, len(suite))
    return suite


@dataclass(frozen=True)
class TuningPlan:
    """Plan of a tuning; equal plans give equal results.

    Attributes
    ----------
    design : Design
        The search space; without ``boundary="none"`` if a problem has bounds that must be kept.
    suite : Suite
        The problems to train on.
    training_set : str
        Their name.
    runs : int
        Runs of all candidates together.
    budget : int or str
        Largest number of evaluations of a run, or a multiple of each problem's dimension such as
        "1000D".
    objective : {"error", "evaluations", "anytime"}
        The cost of a run; where the optimum is not known, it is the best value found.
    seed : int
    initial : tuple of mappings
        Candidates that take part in the first race.
    tuner : {"racer", "irace"}
    rules : Rules
        How candidates race. By default costs are ranked; where an optimum is not known, only within
        a problem.

    Raises
    ------
    UnknownName
        If there is no such tuner.
    InvalidParameter
        If the rules do not fit the problems.

    Examples
    --------
    >>> import uaos
    >>> from uaos.tuning import TuningPlan, design
    >>> plan = TuningPlan(design(dimension=5), uaos.suite("bbob", dimension=5, instances="train"))
    >>> plan.evaluations(plan.suite[0]), plan.rules.test
    (5000, 'friedman')
    """

    design: Design
    suite: Suite
    training_set: str = "train"
    runs: int = 3000
    budget: int | str = "1000D"
    objective: str = "error"
    seed: int = 1
    initial: tuple[Mapping[str, Value], ...] = ()
    tuner: str = "racer"
    rules: Rules = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        objective_called(self.objective)  # raises if it is unknown
        if self.tuner not in TUNERS:
            raise UnknownName("tuner", self.tuner, TUNERS)
        self.evaluations(self.suite[0])
        object.__setattr__(self, "design", self.design.suited_to(self.suite))
        if self.rules is None:
            rules = Rules(test="friedman" if self.comparable else "ranks")
            object.__setattr__(self, "rules", rules)
        elif self.rules.test == "t-test" and not self.comparable:
            raise InvalidParameter(
                "the t-test averages costs over problems, which needs the optimum of each of them; "
                "use the test ranks or friedman",
                name="test", value="t-test",
            )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<TuningPlan: {self.design!r} on {count(len(self.suite), 'problem')}, "
            f"{count(self.runs, 'run')} of at most {self.budget} evaluations>"
        )

    @property
    def comparable(self) -> bool:
        """True if costs of different problems can be compared: every optimum is known."""
        return all(problem.optimum is not None for problem in self.suite)

    def evaluations(self, problem: Problem) -> int:
        """Return the evaluations that a run on a problem may use."""
        return parse_budget(self.budget, problem.dimension)

    @property
    def search(self) -> Search:
        """Search that the tuner makes."""
        return Search(
            self.design.space, self.suite, self.runs, self.seed, self.initial, self.rules,
            self.design.works,
        )  # fmt: skip

    def check(self) -> None:
        """Raise an error if the plan cannot run: too few runs, no SciPy, or irace without R."""
        require("scipy", "a tuning")
        if self.tuner == "racer":
            self.search.check()
            return
        from uaos.tuning import irace

        irace.irace_version()
        irace.check_search(self.search)

    def warnings(self) -> list[str]:
        """Return warnings about the plan."""
        space, rules = self.design.space, self.rules
        NP = space["NP"].domain if "NP" in space.names else None
        largest = (
            max(map(int, NP.choices)) if isinstance(NP, Categorical) else getattr(NP, "high", 0)
        )
        evaluations = min(self.evaluations(p) for p in self.suite)
        sentences = []
        if largest > evaluations:
            sentences.append(
                f"with NP = {largest:,}, a run of {evaluations:,} evaluations ends within its "
                "first population; raise --budget, or limit NP with --range"
            )
        # As the racer computes the size of its first race.
        places = self.runs // races_planned(space.free) // (rules.least + rules.each_test)
        if self.tuner == "racer" and len(self.initial) > places:
            sentences.append(
                f"the first race has room for only {count(places, 'candidate')}, so "
                f"{len(self.initial) - places} of the {len(self.initial)} initial configurations "
                "are omitted; raise --runs to include them"
            )
        return sentences

    @property
    def key(self) -> str:
        """Hash of the plan, also written to the files of the configurations that it finds."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_dict(self) -> Setup:
        """Return the plan as plain data, equal for equal plans."""
        base, options = self.design.base.to_dict(), self.design.options.copy()
        if code := code_hash(self.design.base, *self.design.components):
            options["code"] = code
        return {
            "tuner": self.tuner, "runs": self.runs, "budget": self.budget,
            "objective": self.objective, "seed": self.seed, "training_set": self.training_set,
            "suite": self.suite.name, "suite_hash": self.suite.hash,
            "problems": list(self.suite.names), "space": space_data(self.design.space),
            "forbidden": [str(f) for f in self.design.space.forbidden],
            "base": {part: base[part] for part in ("method", "de", "optimizer") if part in base},
            "constants": dict(self.design.constants), "options": options,
            "initial": [dict(c) for c in self.initial], "rules": dataclasses.asdict(self.rules),
        }  # fmt: skip


def initial_candidates(
    design: Design, names: Sequence[str] | None = None
) -> tuple[dict[str, dict[str, Value]], list[str]]:
    """Return named configurations as candidates of a search space.

    Parameters
    ----------
    design : Design
    names : sequence of str, optional
        The configurations; by default the method whose parameters the space has, or those tuned in
        the paper, if the space contains them.

    Returns
    -------
    candidates : dict of str to dict
        Their values, by name; duplicates are left out.
    remarks : list of str
        How the space changes them.

    Examples
    --------
    >>> from uaos.tuning import design, initial_candidates
    >>> candidates, remarks = initial_candidates(design(dimension=5), ["U-AOS-FW"])
    >>> len(candidates)
    1
    """
    candidates: dict[str, dict[str, Value]] = {}
    remarks: list[str] = []
    method = design.options.get("method")
    defaults = INITIAL if method is None else (method,)
    for name in defaults if names is None else names:
        entry = catalogue_entry(name)
        try:
            values = design.values(entry)
        except UaosError as error:
            if names is not None:
                raise
            remarks.append(f"{name} is not in this search space ({error})")
            continue
        if names is not None and (differences := design.differences(entry)):
            remarks.append(
                f"{name} takes part with the search space's own " + "; ".join(differences)
            )
        if values not in candidates.values():
            candidates[name] = values
    return candidates, remarks
