"""What to run: methods × problems × repetitions."""

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from uaos.errors import InvalidParameter, NameClash, UaosError, UnknownName
from uaos.experiments.peers import PEERS, Peer
from uaos.experiments.records import Unit, derived_seed
from uaos.experiments.units import Competitor
from uaos.optimizers.catalogue import configuration, methods
from uaos.optimizers.configuration import Configuration
from uaos.problems.bbob import checked_dimension

#: What every comparison includes: does adapting pay?
UNIFORM = "uniform"

#: The instances of a BBOB experiment, as in the framework's paper.
INSTANCES = tuple(range(1, 16))

#: Evaluations for each dimension where no budget is given: 2 000 000 in 20-D.
DEFAULT_BUDGET = "100000D"

_NUMBERS = re.compile(r"\s*\d+(?:\s*-\s*\d+)?(?:\s*,\s*\d+(?:\s*-\s*\d+)?)*\s*")
# A set of problems, or so many of each function: "test", "test:4".
_SET = re.compile(r"\s*(?P<set>train|test|all)(?::(?P<few>\d+))?\s*")
_BUDGET = 'a number of evaluations >= 1, or a multiple of the dimension such as "10000D"'


@cache
def training_set() -> frozenset[tuple[int, int]]:
    """The 48 problems (function, instance) that the paper's configurations were tuned on."""
    text = files("uaos").joinpath("data/training_set.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return frozenset((int(row["function"]), int(row["instance"])) for row in rows)


@dataclass(frozen=True)
class Plan:
    """Which runs make up an experiment; :meth:`of` makes one from names and ranges.

    `budget` is in evaluations of one run. The seed of a run is derived from `seed` and from what
    the run is, so that results do not depend on the rest of the plan.
    """

    competitors: Mapping[str, Competitor]
    problems: tuple[tuple[int, int], ...]
    dimension: int
    repetitions: int
    budget: int
    seed: int

    @classmethod
    def of(
        cls,
        methods: Iterable[str | os.PathLike[str] | Competitor],
        *,
        functions: str | Iterable[int] = "1-24",
        dimension: int = 20,
        instances: str | Iterable[int] = "test",
        repetitions: int = 1,
        budget: int | str | None = None,
        seed: int = 1,
        uniform: bool = True,
    ) -> "Plan":
        """A plan from names.

        `methods`: names of the catalogue, TOML files, configurations, or "BIPOP-CMA-ES" (pycma).
        `functions` and `instances`: numbers, or text such as "1-5,8"; `instances` also "train" (the
        48 problems of the framework's paper), "test" (the 312 others of instances 1 to 15) or
        "all", and "test:4" for the first four of each function. `budget`: evaluations, or a
        multiple of the dimension ("100000D", the default). Uniform choice is added unless `uniform`
        is False.
        """
        dimension = checked_dimension(dimension)
        _whole("repetitions", repetitions, 1, 1_000_000)
        _whole("seed", seed, 0, 2**63 - 1)
        wanted = [methods] if isinstance(methods, str | os.PathLike) else list(methods)
        return cls(
            _competitors(wanted, uniform),
            tuple(problems(functions, instances)),
            dimension,
            int(repetitions),
            evaluations(budget, dimension),
            int(seed),
        )

    def units(self) -> Iterator[Unit]:
        """Every run of the plan."""
        for method in self.competitors:
            for function, instance in self.problems:
                for repetition in range(1, self.repetitions + 1):
                    identity = (method, function, self.dimension, instance, repetition)
                    yield Unit(*identity, derived_seed(self.seed, *identity), self.budget)

    def __len__(self) -> int:
        return len(self.competitors) * len(self.problems) * self.repetitions

    def check(self) -> None:
        """Refuse what could not run at all, such as a peer that is not installed."""
        for competitor in self.competitors.values():
            if isinstance(competitor, Peer):
                competitor.check()
            else:
                competitor.check(self.dimension, self.budget)


def competitor(name: str | os.PathLike[str] | Competitor) -> Competitor:
    """What a method's name, file or configuration stands for."""
    if isinstance(name, Configuration | Peer):
        return name
    if isinstance(name, str) and name in PEERS:
        return PEERS[name]
    try:
        found = configuration(name)
    except UnknownName as error:
        if error.kind != "method":
            raise
        known = (*methods(), *PEERS)
        raise UnknownName("method", name, known, hint="(`uaos methods` lists them)") from None
    if found.name == "unnamed":
        return Configuration(
            Path(name).stem, found.method, found.settings, found.reference, found.note
        )
    return found


def _competitors(wanted: Sequence[str | os.PathLike[str] | Competitor], uniform: bool
                 ) -> dict[str, Competitor]:  # fmt: skip
    made: dict[str, Competitor] = {}
    if not wanted:
        raise InvalidParameter("methods", [], "at least one method")
    for name in wanted:
        one = competitor(name)
        if one.name in made and made[one.name].to_dict() != one.to_dict():
            raise NameClash(f"two different methods are called {one.name!r}; rename one of them")
        made[one.name] = one
    if uniform and UNIFORM not in made:
        made[UNIFORM] = configuration(UNIFORM)
    return made


def problems(
    functions: str | Iterable[int], instances: str | Iterable[int]
) -> list[tuple[int, int]]:
    """The problems (function, instance) that are meant, in order."""
    chosen = numbers("functions", functions, 1, 24)
    named = _SET.fullmatch(instances) if isinstance(instances, str) else None
    if named is None:
        return [(f, i) for f in chosen for i in numbers("instances", instances, 1, 1000)]
    which, few = named["set"], int(named["few"] or len(INSTANCES))
    found = []
    for f in chosen:
        every = [(f, i) for i in INSTANCES]
        if which != "all":
            every = [pair for pair in every if (pair in training_set()) == (which == "train")]
        found += every[:few]
    if not found:
        raise InvalidParameter("instances", instances, "a set with problems of these functions")
    return found


def numbers(name: str, given: str | Iterable[int], low: int, high: int) -> list[int]:
    """Numbers from text such as "1-5,8", ascending and each once."""
    words = '"train", "test", "all", "test:4", or ' if name == "instances" else ""
    allowed = f'{words}numbers {low} to {high} such as "1-5,8"'
    if not isinstance(given, str):
        found = {_whole(name, n, low, high) for n in given}
    elif not _NUMBERS.fullmatch(given):
        raise InvalidParameter(name, given, allowed)
    else:
        found = set()
        for part in given.split(","):
            ends = [int(end) for end in part.split("-")]
            if ends[0] > ends[-1] or not (low <= ends[0] and ends[-1] <= high):
                raise InvalidParameter(name, given, allowed)
            found.update(range(ends[0], ends[-1] + 1))
    if not found:
        raise InvalidParameter(name, given, allowed)
    return sorted(found)


def evaluations(budget: int | float | str | None, dimension: int) -> int:
    """A budget in evaluations: 20000, "2e6", or a multiple of the dimension, "10000D"."""
    text = str(DEFAULT_BUDGET if budget is None else budget).strip()
    times = dimension if text[-1:] in ("D", "d") else 1
    try:
        number = float(text.rstrip("Dd") if times > 1 else text)
    except ValueError:
        raise InvalidParameter("budget", budget, _BUDGET) from None
    if not (1 <= number <= 1e12 and number == int(number)):
        raise InvalidParameter("budget", budget, _BUDGET)
    return int(number) * times


def _whole(name: str, value: object, low: int, high: int) -> int:
    try:
        number = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        number = None
    if number is None or number != value or isinstance(value, bool) or not low <= number <= high:
        raise InvalidParameter(name, value, f"a whole number {low} to {high}")
    return int(number)


class PlanConflict(UaosError, ValueError):
    """A plan does not fit the experiment that a file already holds."""
