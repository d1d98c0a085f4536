"""The findings in sentences, each made from the numbers of the results at hand."""

from collections.abc import Callable, Sequence

import numpy as np

from uaos.analysis.results import column
from uaos.analysis.statistics import ALPHA, TELLING
from uaos.experiments.targets import FINAL
from uaos.reporting.report.chapter import Chapter, Class
from uaos.reporting.report.html import Markup, count, joined, listed, power, prose, whole

# Methods that a sentence lists one by one at most.
_FEW = 4

#: How a method is written in a sentence.
Called = Callable[[str], Markup]


def headline(chapter: Chapter, called: Called) -> Markup:
    """Who did best, in one sentence."""
    overall = chapter.overall
    if len(chapter.methods) == 1:
        only = overall.standings[0]
        if not only.solved:
            return joined([called(only.method), f" solved none of {count(only.runs, 'run')}."])
        return joined([called(only.method), f" solved {whole(only.solved)} of "
                       f"{count(only.runs, 'run')}."])  # fmt: skip
    if not overall.problems:
        return Markup("The methods were run on different problems and cannot be ranked.")
    leaders = overall.leaders
    if len(leaders) == len(chapter.methods):
        return joined([listed(map(called, leaders)), " share the same mean rank."])
    if len(leaders) > 1:
        return joined([listed(map(called, leaders)), " share the best mean rank."])
    leader = leaders[0]
    more = _most_solved(overall, leader, called)
    ahead, level, behind = told_apart(overall, leader, chapter.methods)
    if len(ahead) == len(chapter.methods) - 1:
        than = joined(["than ", called(ahead[0])]) if len(ahead) == 1 else "than every other method"
        return joined([called(leader), " did best, significantly better ", than, more, "."])
    said = [called(leader), " has the best mean rank"]
    if ahead:
        said += [", significantly better than ", listed(map(called, ahead))]
    if level:
        said += ["; " if ahead else ", but ", "is " if not ahead else "it is ",
                 "not told apart from ", listed(map(called, level), "or")]  # fmt: skip
    if behind:
        said += ["; by Wilcoxon’s test ", listed(map(called, behind)),
                 " did better on the whole"]  # fmt: skip
    return joined([*said, more, "."])


def _most_solved(of: Class, leader: str, called: Called) -> Markup:
    """Who solved more than the leader, if anybody did."""
    first = of.standing(leader)
    most = max(of.standings, key=lambda s: _share(s.solved, s.runs))
    if _share(most.solved, most.runs) <= _share(first.solved, first.runs):
        return Markup("")
    return joined([
        ". The most runs were solved by ", called(most.method),
        f", {whole(most.solved)} of {whole(most.runs)}",
    ])  # fmt: skip


def findings(chapter: Chapter, called: Called) -> list[Markup]:
    """What there is to say of the results, most important first."""
    said = [_solved(chapter, called)]
    if len(chapter.methods) > 1 and chapter.overall.problems:
        said += [_function_by_function(chapter, called), _margin(chapter, called)]
        if len(chapter.classes) > 1:
            said.append(_by_class(chapter, called))
    return [sentence for sentence in said if sentence]


def _solved(chapter: Chapter, called: Called) -> Markup:
    standings = sorted(chapter.overall.standings, key=lambda s: -_share(s.solved, s.runs))
    target = prose("f − f_opt ≤ 1e-8")
    if not any(s.solved for s in standings):
        return Markup(
            f"No run came within 10⁻⁸ of the optimum ({target}); what follows rests on how close "
            "the runs came."
        )
    if len(standings) == 1:
        classes = [
            f"{c.standings[0].solved} of {c.standings[0].runs} on the {c.name} functions"
            for c in chapter.classes
        ]
        return joined(["Solved means ", target, ": ", listed(classes), "."])
    # The table has them all.
    shown = standings if len(standings) <= _FEW else [standings[0], standings[-1]]
    parts = [joined([called(s.method), f" {whole(s.solved)} of {whole(s.runs)}"]) for s in shown]
    return joined(
        [f"Solved to {target}: ", joined(parts, ", " if shown is standings else " … "), "."]
    )


def _share(solved: int, runs: int) -> float:
    return solved / runs if runs else 0.0


def _margin(chapter: Chapter, called: Called) -> Markup:
    """By how much the leader is ahead of the next."""
    overall = chapter.overall
    if len(overall.leaders) > 1:
        return Markup("")
    leader, second = (s.method for s in overall.standings[:2])
    pair = overall.pair(leader, second)
    coarse = next(p for p in chapter.function_pairs if {p.first, p.second} == {leader, second})
    said: list[object] = [
        "Against the second by mean rank, ", called(second), f", it wins {whole(pair.wins)} of "
        f"{count(pair.problems, 'problem')}, loses {whole(pair.losses)}",
        f" and ties {whole(pair.ties)}" if pair.ties else "",
        f" (Wilcoxon’s test, corrected after Holm: p = {power(pair.p_holm)}; "
        f"{power(coarse.p_holm)} if each function counts once).",
    ]  # fmt: skip
    ratios = _ratios(chapter, leader, second)
    if len(ratios):
        middle = float(np.median(ratios))
        both = "the problem" if len(ratios) == 1 else f"the {whole(len(ratios))} problems"
        if abs(np.log(middle)) < 0.005:
            much = "as many evaluations"
        elif middle < 1:
            much = f"{middle:.2g} times the evaluations"
        else:
            much = f"{middle:.3g} times the evaluations"
        said.append(f" On {both} that both solved it takes {much} in the median.")
    return joined(said)


def _function_by_function(chapter: Chapter, called: Called) -> Markup:
    """What is left of the leader's significance if each function counts once."""
    overall = chapter.overall
    if len(overall.leaders) > 1 or len(chapter.functions) < TELLING:
        return Markup("")
    leader = overall.leaders[0]
    ahead, _, _ = told_apart(overall, leader, chapter.methods)
    still = [p.first if p.second == leader else p.second for p in chapter.function_pairs
             if leader in (p.first, p.second) and p.better == leader]  # fmt: skip
    gone = [m for m in ahead if m not in still]
    if not gone:
        return Markup("")
    left = [m for m in ahead if m in still]
    return joined([
        "Instances of a function are much alike. If each function counts once, it is significantly "
        "better than ", listed(map(called, left)) if left else "no other method",
        "." if not left else joined([", and not told apart from ", listed(map(called, gone), "or"),
                                     "."]),
    ])  # fmt: skip


def _ratios(chapter: Chapter, first: str, second: str) -> np.ndarray:
    """Evaluations to 1e-8 of the first over those of the second, where both reached it."""
    hits: list[dict[tuple[str, int], float]] = []
    at = column(FINAL)
    for method in (first, second):
        of: dict[tuple[str, int], float] = {}
        for runs in chapter.results.of(method, chapter.dimension):
            for instance in np.unique(runs.instances):
                found = runs.hits[runs.instances == instance, at]
                if (found > 0).all():
                    of[runs.function, int(instance)] = float(np.median(found))
        hits.append(of)
    both = sorted(hits[0].keys() & hits[1].keys())
    return np.array([hits[0][p] / hits[1][p] for p in both])


def _by_class(chapter: Chapter, called: Called) -> Markup:
    led: dict[tuple[str, ...], list[str]] = {}
    for c in chapter.classes:
        if c.problems:
            led.setdefault(c.leaders, []).append(c.name)
    every = tuple(chapter.methods)
    parts = []
    for leaders, names in sorted(led.items(), key=lambda item: -len(item[1])):
        where = joined(["the ", listed(names), " functions"])
        if len(led) == 1 and len(leaders) == 1:
            where = Markup("every class of functions")
        verb = "leads" if len(leaders) == 1 else "lead together"
        if len(leaders) == len(every):
            parts.append(joined(["all methods are level on ", where]))
        else:
            parts.append(joined([listed(map(called, leaders)), f" {verb} on ", where]))
    text = joined(parts, "; ")
    return joined(["By mean rank ", text, "."])


def class_test(of: Class) -> str:
    """Whether the leader of a class is told apart from the next, in a word or two."""
    if len(of.leaders) != 1 or len(of.standings) < 2 or not of.pairs:
        return "–"
    pair = of.pair(of.leaders[0], of.standings[1].method)
    return f"p = {power(pair.p_holm)}"


def told_apart(
    of: Class, leader: str, methods: Sequence[str]
) -> tuple[list[str], list[str], list[str]]:
    """Those a method is significantly better than, not told apart from, and worse than."""
    ahead: list[str] = []
    level: list[str] = []
    behind: list[str] = []
    for other in methods:
        if other != leader:
            better = of.pair(leader, other).better
            (ahead if better == leader else behind if better == other else level).append(other)
    return ahead, level, behind


def tests_said(chapter: Chapter) -> Markup:
    """What the tests are, under the numbers that rest on them."""
    left = chapter.scores.left_out
    shared = len(chapter.scores.problems)
    over = count(shared, "problem") + (f" of {whole(shared + left)}" if left else "")
    more = " that every method was run on" if left else ""
    return Markup(
        f"Ranks and tests take the {over}{more}. On a problem, a function and an instance of it, "
        "the earlier hit of 10⁻⁸ is better, else the smaller final error. “Significant” is "
        f"Wilcoxon’s signed-rank test over the problems, corrected after Holm, at α = {ALPHA:g}."
    )
