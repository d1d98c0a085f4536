"""Does adapting pay? Every adaptive method against uniform choice, in words from the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uaos.analysis.results import UNIFORM
from uaos.analysis.scores import Scores
from uaos.analysis.statistics import ALPHA, Pair, pairwise


@dataclass(frozen=True)
class Verdict:
    """The answer in one sentence, and a sentence for each adaptive method."""

    headline: str
    details: tuple[str, ...] = ()


def verdict(scores: Scores, configurations: Mapping[str, Mapping[str, Any]]) -> Verdict:
    """Whether the methods that adapt beat uniform choice over the problems.

    A method counts as adaptive if its configuration has a recipe to select operators by (or is not
    known); a single strategy or another library's algorithm does not. "Better" means significantly
    so: Wilcoxon's test over the problems, corrected after Holm for all pairs of the comparison.
    """
    if UNIFORM not in scores.methods:
        return Verdict(
            "Does adapting pay? It cannot be said: there is no run of uniform choice to compare "
            f"with. Run it on the same problems: uaos bench --methods {UNIFORM} …"
        )
    adaptive = [m for m in scores.methods if m != UNIFORM and adapts(configurations.get(m))]
    if not adaptive:
        return Verdict("Does adapting pay? It cannot be said: no method here adapts.")
    if not scores.problems:
        return Verdict("Does adapting pay? It cannot be said: the methods share no problem.")
    over_problems = _against_uniform(pairwise(scores))
    over_functions = _against_uniform(pairwise(scores.by_function()))
    better = [m for m in adaptive if over_problems[m].better == m]
    worse = [m for m in adaptive if over_problems[m].better == UNIFORM]
    undecided = [m for m in adaptive if m not in better and m not in worse]
    details = [_sentence(over_problems[m], over_functions[m]) for m in adaptive]
    if other := [m for m in adaptive if _other_settings(m, configurations)]:
        details.append(
            f"The differential evolution (operators, F, CR, population …) of {', '.join(other)} is "
            f"not that of {UNIFORM}, so more than the choice of operators is compared there."
        )
    return Verdict(_headline(better, worse, undecided), tuple(details))


def adapts(configuration: Mapping[str, Any] | None) -> bool:
    """Whether a configuration selects operators by a recipe."""
    return configuration is None or configuration.get("method") is not None


def _against_uniform(pairs: Sequence[Pair]) -> dict[str, Pair]:
    """Each method's pair with uniform choice, turned so that the method comes first."""
    found = {}
    for pair in pairs:
        if pair.second == UNIFORM:
            found[pair.first] = pair
        elif pair.first == UNIFORM:
            found[pair.second] = Pair(
                pair.second, pair.first, pair.losses, pair.ties, pair.wins, -pair.difference,
                pair.p, pair.p_holm, -pair.lean,
            )  # fmt: skip
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
            parts.append(f"{', '.join(names)} {be} {what} uniform choice")
    return f"Does adapting pay? {answer}: {'; '.join(parts)} (α = {ALPHA:g})."


def _sentence(pair: Pair, functions: Pair) -> str:
    found = {pair.first: "better", UNIFORM: "worse", None: "no difference shown"}[pair.better]
    size = f"in the median {abs(pair.difference):.2g} decades "
    size += "more" if pair.difference > 0 else "less"
    return (
        f"{pair.first} against {UNIFORM}: {found}. Of {pair.problems} problems it wins "
        f"{pair.wins}, loses {pair.losses}, ties {pair.ties}; {size}; p = {pair.p_holm:.2g} over "
        f"the problems, {functions.p_holm:.2g} over the {functions.problems} functions."
    )


def _other_settings(method: str, configurations: Mapping[str, Mapping[str, Any]]) -> bool:
    ours, theirs = configurations.get(method), configurations.get(UNIFORM)
    return ours is not None and theirs is not None and ours.get("de") != theirs.get("de")
