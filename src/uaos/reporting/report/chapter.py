"""One dimension of the results, with everything that the report says or draws of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from uaos.analysis.art import AverageRunningTime, running_times
from uaos.analysis.ecdf import Ecdf, combined, ecdf
from uaos.analysis.results import Results, Runs
from uaos.analysis.scores import Scores, scores
from uaos.analysis.statistics import Pair, Ranking, friedman, pairwise
from uaos.analysis.verdict import Verdict, verdict
from uaos.problems import natural_key
from uaos.problems.bbob import GROUPS, TITLES
from uaos.reporting.figures.choice import spans
from uaos.reporting.figures.reference import profile_2009


@dataclass(frozen=True)
class Panel:
    """A runtime profile to be drawn: a key ("all", a class, "f8"), its title and its functions."""

    key: str
    title: str
    functions: tuple[str, ...]


@dataclass(frozen=True)
class Standing:
    """How a method did on the functions of a class, or on all."""

    method: str
    rank: float
    solved: int
    runs: int


@dataclass(frozen=True)
class Class:
    """A class of functions: the methods, best mean rank first, and the leader's tests."""

    name: str
    functions: tuple[str, ...]
    problems: int
    standings: tuple[Standing, ...]
    pairs: tuple[Pair, ...]

    @property
    def leaders(self) -> tuple[str, ...]:
        """The method with the best mean rank, or those that share it; none without problems."""
        best = min((s.rank for s in self.standings if self.problems), default=0.0)
        return tuple(s.method for s in self.standings if s.rank == best)

    def standing(self, method: str) -> Standing:
        """How a method did."""
        return next(s for s in self.standings if s.method == method)

    def pair(self, first: str, second: str) -> Pair:
        """The test of two methods, turned so that `first` comes first."""
        for p in self.pairs:
            if (p.first, p.second) == (first, second):
                return p
            if (p.second, p.first) == (first, second):
                return p.turned()
        raise LookupError(f"{first} and {second} were not compared")


@dataclass(frozen=True)
class Chapter:
    """The methods in one dimension."""

    dimension: int
    results: Results
    methods: tuple[str, ...]
    scores: Scores
    ranking: Ranking
    pairs: tuple[Pair, ...]
    function_pairs: tuple[Pair, ...]
    overall: Class
    classes: tuple[Class, ...]
    verdict: Verdict
    seed: int

    @cached_property
    def running_times(self) -> Mapping[tuple[str, str], list[AverageRunningTime]]:
        """The cells of COCO's table, by method and function."""
        return {key: running_times(r, seed=self.seed) for key, r in self._by_key()}

    @cached_property
    def raw(self) -> Mapping[tuple[str, str], Ecdf]:
        """Profiles of the runs as they were."""
        return {key: ecdf(r) for key, r in self._by_key()}

    @cached_property
    def restarted(self) -> Mapping[tuple[str, str], Ecdf]:
        """Profiles with simulated restarts."""
        return {key: ecdf(r, restarts=True, seed=self.seed) for key, r in self._by_key()}

    def _by_key(self) -> Iterator[tuple[tuple[str, str], Runs]]:
        return (((r.method, r.function), r) for r in self.runs)

    @property
    def budget(self) -> int:
        """The longest budget of a run."""
        return max(int(r.budgets.max()) for r in self.runs)

    @property
    def runs(self) -> list[Runs]:
        """The runs of every method on every function."""
        return [r for m in self.methods for r in self.results.of(m, self.dimension)]

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions that any method was run on."""
        return tuple(sorted({r.function for r in self.runs}, key=natural_key))

    @property
    def shared(self) -> tuple[str, ...]:
        """The functions that every method was run on."""
        each = [{r.function for r in self.results.of(m, self.dimension)} for m in self.methods]
        return tuple(sorted(set.intersection(*each), key=natural_key))

    def panels(self) -> list[Panel]:
        """The profiles to be drawn: over all functions, by class, by function.

        Over several functions only those count that every method was run on.
        """
        shared = self.shared
        made = [Panel("all", f"all functions ({spans(shared)})", shared)] if shared else []
        for name, members in GROUPS.items():
            if present := tuple(f for f in shared if f in members):
                made.append(Panel(name, f"{name} ({spans(present)})", present))
        return made + [Panel(f, f"{f} {TITLES.get(f, '')}".strip(), (f,)) for f in self.functions]

    def profile(self, method: str, panel: Panel, *, restarts: bool) -> Ecdf | None:
        """A method's profile over those of the functions that it has."""
        curves = self.restarted if restarts else self.raw
        present = [curves[method, f] for f in panel.functions if (method, f) in curves]
        return combined(present) if present else None

    def reference(self, panel: Panel) -> Ecdf | None:
        """The profile of best2009; None where it is not known."""
        return profile_2009(panel.functions, self.dimension)


def chapter(results: Results, dimension: int, *, seed: int = 1) -> Chapter:
    """Compute a chapter; `seed` is for the simulated restarts."""
    part = results.select(dimension=dimension)
    table = scores(part, dimension)
    classes = tuple(
        _class(part, table, name, tuple(members))
        for name, members in GROUPS.items()
        if any(f in members for f in part.functions)
    )
    return Chapter(
        dimension, part, table.methods, table, friedman(table), tuple(pairwise(table)),
        tuple(pairwise(table.by_function())), _class(part, table, "all", part.functions), classes,
        verdict(table, part.configurations), seed,
    )  # fmt: skip


def _class(results: Results, table: Scores, name: str, members: tuple[str, ...]) -> Class:
    rows = [i for i, (function, _) in enumerate(table.problems) if function in members]
    part = Scores(table.methods, tuple(table.problems[i] for i in rows), table.values[rows])
    ranking = friedman(part)
    dimension = results.dimensions[0]
    standings = []
    for method in table.methods:
        of = [r for r in results.of(method, dimension) if r.function in members]
        rank = ranking.rank(method)
        standings.append(Standing(method, rank, sum(r.solved for r in of), sum(map(len, of))))
    present = {f for m in table.methods for f in members if (m, dimension, f) in results.runs}
    return Class(
        name, tuple(sorted(present, key=natural_key)), len(rows),
        tuple(sorted(standings, key=lambda s: (s.rank, -s.solved) if rows else (0.0, -s.solved))),
        tuple(pairwise(part)) if rows else (),
    )  # fmt: skip
