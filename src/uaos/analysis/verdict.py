"""Does adapting pay? Every adaptive method against uniform choice, in words from the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uaos.analysis.scores import Scores
from uaos.analysis.statistics import ALPHA, TELLING, Pair, pairwise
from uaos.analysis.wording import listed
from uaos.experiments.plan import UNIFORM


@dataclass(frozen=True)
class Verdict:
    """The answer in one sentence, and each adaptive method against its yardstick.

    A method's tests are two, over the problems and over the functions; `note` is what has to be
    known besides.
    """

    headline: str
    tests: tuple[tuple[Pair, Pair], ...] = ()
    note: str = ""

    @property
    def details(self) -> tuple[str, ...]:
        """A sentence for each adaptive method, and the note."""
        return (*(_sentence(*pair) for pair in self.tests), *filter(None, [self.note]))


def verdict(scores: Scores, configurations: Mapping[str, Mapping[str, Any]]) -> Verdict:
    """Whether the methods that adapt beat uniform choice over the problems.

    A method counts as adaptive if its configuration has a recipe to select operators by (or is not
    known) that is not uniform choice itself; a single strategy or another library's algorithm does
    not. It is compared with uniform choice in the same differential evolution if the results have
    one (`mix` with `mix-uniform`), else with `uniform`. "Better" means significantly so: Wilcoxon's
    test over the problems, corrected after Holm for all pairs of the comparison.
    """
    if UNIFORM not in scores.methods:
        return Verdict(
            "Does adapting pay? It cannot be said: there is no run of uniform choice to compare "
            f"with. Run it on the same problems: uaos bench --methods {UNIFORM} …"
        )
    by_chance = _by_chance(scores.methods, configurations)
    adaptive = [m for m in scores.methods if m not in by_chance and adapts(configurations.get(m))]
    if not adaptive:
        return Verdict("Does adapting pay? It cannot be said: no method here adapts.")
    if not scores.problems:
        return Verdict("Does adapting pay? It cannot be said: the methods share no problem.")
    yardstick = {m: _yardstick(m, by_chance, configurations) for m in adaptive}
    over_problems = _against(pairwise(scores), yardstick)
    over_functions = _against(pairwise(scores.by_function()), yardstick)
    better = [m for m in adaptive if over_problems[m].better == m]
    worse = [m for m in adaptive if over_problems[m].better == yardstick[m]]
    undecided = [m for m in adaptive if m not in better and m not in worse]
    note = ""
    if other := [m for m in adaptive if not _same_settings(m, yardstick[m], configurations)]:
        note = (
            f"The differential evolution (operators, F, CR, population …) of {listed(other)} is "
            f"not that of {UNIFORM}, so more than the choice of operators is compared there."
        )
    lost = [m for m in better + worse if over_functions[m].better != over_problems[m].better]
    if lost and over_functions[lost[0]].problems >= TELLING:
        be = "is" if len(lost) == 1 else "are"
        note = (
            "Instances of a function are much alike: if each function counts once, "
            f"{listed(lost)} {be} not told apart from uniform choice. {note}"
        ).strip()
    tests = tuple((over_problems[m], over_functions[m]) for m in adaptive)
    return Verdict(_headline(better, worse, undecided), tests, note)


def adapts(configuration: Mapping[str, Any] | None) -> bool:
    """Whether a configuration selects operators by a recipe."""
    return configuration is None or configuration.get("method") is not None


def _by_chance(
    methods: Sequence[str], configurations: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """The methods that are uniform choice in some pool: those with the recipe of `uniform`."""
    recipe = (configurations.get(UNIFORM) or {}).get("method")
    return [
        m
        for m in methods
        if m == UNIFORM
        or (recipe is not None and (configurations.get(m) or {}).get("method") == recipe)
    ]


def _yardstick(
    method: str, by_chance: Sequence[str], configurations: Mapping[str, Mapping[str, Any]]
) -> str:
    same = [m for m in by_chance if _same_settings(method, m, configurations)]
    return same[0] if same and UNIFORM not in same else UNIFORM


def _against(pairs: Sequence[Pair], yardstick: Mapping[str, str]) -> dict[str, Pair]:
    """Each method's pair with its yardstick, turned so that the method comes first."""
    found = {}
    for pair in pairs:
        if yardstick.get(pair.first) == pair.second:
            found[pair.first] = pair
        elif yardstick.get(pair.second) == pair.first:
            found[pair.second] = pair.turned()
    return found


def _headline(better: list[str], worse: list[str], undecided: list[str]) -> str:
    total = len(better) + len(worse) + len(undecided)
    answer = "Yes" if len(better) == total else "For some" if better else "No"
    if not better and not worse:
        answer = "Not shown"
    parts = []
    for names, what in (
        (better, "better than"), (worse, "worse than"), (undecided, "not told apart from"),
    ):  # fmt: skip
        if names:
            be = "is" if len(names) == 1 else "are"
            parts.append(f"{listed(names)} {be} {what} uniform choice")
    return f"Does adapting pay? {answer}: {'; '.join(parts)} (α = {ALPHA:g})."


def outcome(pair: Pair) -> str:
    """How the first of a pair did, in a word or three."""
    return {pair.first: "better", pair.second: "worse", None: "no difference shown"}[pair.better]


def _sentence(pair: Pair, functions: Pair) -> str:
    return (
        f"{pair.first} against {pair.second}: {outcome(pair)}. Of {pair.problems} problems it wins "
        f"{pair.wins}, loses {pair.losses}, ties {pair.ties}; in the median it takes "
        f"{10**pair.difference:.3g} times the evaluations, or ends with that much of the error; "
        f"p = {pair.p_holm:.2g} over the problems, {functions.p_holm:.2g} over the "
        f"{functions.problems} functions."
    )


def _same_settings(
    method: str, other: str, configurations: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Whether both run in the same differential evolution, as far as is known."""
    ours, theirs = configurations.get(method), configurations.get(other)
    return ours is None or theirs is None or ours.get("de") == theirs.get("de")
