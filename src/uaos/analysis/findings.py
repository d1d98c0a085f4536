"""Findings in words: which method did best, and whether adapting pays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uaos.analysis.focus import SAME, FocusTest, Ratio
from uaos.analysis.scoring import ALPHA, MIN_PROBLEMS, Pair
from uaos.analysis.sectioning import Section
from uaos.optimizers.configuration import UNIFORM
from uaos.text import count, join_names, two_digits

_Configurations = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Verdict:
    """Whether adapting pays. Made by :func:`verdict`.

    Attributes
    ----------
    headline : str
        The answer in one sentence.
    tests : tuple of pairs of Pair
        Each adaptive method against uniform choice, over the problems and over the functions.
    note : str
        Caveats.
    """

    headline: str
    tests: tuple[tuple[Pair, Pair], ...] = ()
    note: str = ""


def verdict(section: Section) -> Verdict:
    """Say whether the methods that adapt beat uniform choice over the problems.

    A method counts as adaptive if its configuration selects operators or optimizers (or is not
    known) and is not uniform choice itself; a single strategy or another library's algorithm does
    not. It is compared with uniform choice in the same optimizer if the results have one (`mix`
    with `mix-uniform`, or what `uaos bench --control uniform` adds), otherwise with `uniform`.
    "Better" means significantly so: Wilcoxon's test over the problems, Holm-corrected for all
    pairs of the comparison.

    Parameters
    ----------
    section : Section
        The runs.

    Returns
    -------
    Verdict
        The answer.

    Examples
    --------
    >>> from uaos.analysis import Results, section, verdict
    >>> verdict(section(Results.read("mine.db"))).headline
    'Does adapting pay? ...'
    """
    methods, configurations = section.methods, section.results.configurations
    if section.focus is not None and not is_adaptive(configurations.get(section.focus)):
        return Verdict(f"Does adapting pay? This does not apply: {section.focus} does not select.")
    uniform = [m for m in methods if m == UNIFORM or _is_uniform(configurations.get(m))]
    if not uniform:
        return Verdict(
            "Does adapting pay? Unknown: there are no runs of uniform choice to compare with. Run "
            f"it on the same problems: uaos bench --methods {UNIFORM} …"
        )
    adaptive = [m for m in methods if m not in uniform and is_adaptive(configurations.get(m))]
    if section.focus is not None:
        adaptive = [m for m in adaptive if m == section.focus]
    if not adaptive:
        return Verdict("Does adapting pay? Unknown: no method here adapts.")
    if not section.scores.problems:
        return Verdict("Does adapting pay? Unknown: the methods have no problem in common.")
    baseline = {m: _baseline(m, uniform, configurations) for m in adaptive}
    adaptive = [m for m in adaptive if baseline[m] in methods]
    if not adaptive:
        return Verdict("Does adapting pay? Unknown: no adaptive method here has a control.")
    if section.focus is not None:
        return _focus_verdict(section, baseline[section.focus])
    tests = tuple(
        (section.pairs.pair(m, baseline[m]), section.function_pairs.pair(m, baseline[m]))
        for m in adaptive
    )
    better = [over.first for over, _ in tests if over.better == over.first]
    worse = [over.first for over, _ in tests if over.better == over.second]
    undecided = [m for m in adaptive if m not in better and m not in worse]
    other = [m for m in adaptive if not _same_optimizer(m, baseline[m], configurations)]
    return Verdict(_answer(better, worse, undecided), tests, _caveats(tests, other))


def _caveats(tests: Sequence[tuple[Pair, Pair]], other: Sequence[str]) -> str:
    """Say what limits the answer; `other` run in another optimizer than their baseline."""
    notes = []
    unconfirmed = [o.first for o, f in tests if o.better is not None and f.better != o.better]
    if unconfirmed and tests[0][1].problems >= MIN_PROBLEMS:
        notes.append(
            "Instances of a function are similar: if each function counts once, there is "
            f"{_same_as_uniform(unconfirmed)}."
        )
    if other:
        notes.append(
            f"{join_names(other)} {'differs' if len(other) == 1 else 'differ'} from {UNIFORM} in "
            "more than the choice of operators (optimizer, pool, F, CR, population size …)."
        )
    return " ".join(notes)


def _focus_verdict(section: Section, baseline: str) -> Verdict:
    """Say whether adapting pays for the method in focus, by its test against uniform choice."""
    test = next(test for test in section.focus_tests if test.other == baseline)
    by_outcome: dict[str, list[str]] = {"better": [], "worse": [], SAME: []}
    by_outcome[test.outcome].append(test.method)
    note = ""
    if not _same_optimizer(test.method, baseline, section.results.configurations):
        note = f"{test.method} differs from {baseline} in more than the choice of operators."
    answer = _answer(by_outcome["better"], by_outcome["worse"], by_outcome[SAME])
    return Verdict(f"{answer} {note}".strip())


def headline(section: Section) -> str:
    """Say in one or two sentences which method did best, or how the method in focus did.

    Parameters
    ----------
    section : Section
        The runs.

    Returns
    -------
    str
        The sentences.

    Examples
    --------
    >>> from uaos.analysis import Results, headline, section
    >>> headline(section(Results.read("mine.db")))
    '... of 6 runs.'
    """
    overall, methods = section.overall, section.methods
    if section.focus is not None and len(methods) > 1:
        return " ".join(filter(None, focus_sentences(section)))
    if len(methods) == 1:
        only = overall.standings[0].method
        return _solved(section, only, only) or f"{only}: the optima of its problems are unknown."
    if not overall.problems:
        return "The methods were run on different problems and cannot be ranked."
    leaders = overall.leaders
    if len(leaders) > 1:
        what = "the same" if len(leaders) == len(methods) else "the best"
        return f"{join_names(leaders)} share {what} mean rank."
    leader = leaders[0]
    ahead, level, behind = section.pairs.compared_with(leader, methods)
    if len(ahead) == len(methods) - 1:
        than = ahead[0] if len(ahead) == 1 else "every other method"
        text = f"{leader} did best: it is significantly better than {than}"
    else:
        text = f"{leader} has the best mean rank"
        text += f" and is significantly better than {join_names(ahead)}" if ahead else ""
        if level:
            all_others = len(level) == len(methods) - 1 > 3
            names = "any other method" if all_others else join_names(level, "or")
            text += f", with {SAME} from {names}"
        if behind:
            text += f"; {join_names(behind)} did better by Wilcoxon’s test"
    return f"{text}. {_solved(section, leader, 'It')}".rstrip()


def _solved(section: Section, method: str, subject: str) -> str:
    """Say how many runs of a method were solved; "" where no optimum is known."""
    first = section.overall.standing(method)
    if not first.runs:
        return ""
    most = max((s for s in section.overall.standings if s.runs), key=lambda s: s.share)
    restriction = " with known optima" if section.results.relative else ""
    text = f"{subject} solved {first.solved:,} of {count(first.runs, 'run')}{restriction}"
    if most.share > first.share:
        text += f"; {most.method} solved the most, {most.solved:,} of {most.runs:,}"
    return text + "."


# One method against the others


def focus_sentences(section: Section) -> tuple[str, str]:
    """Say how the method in focus did against the others, and by how much against the best of them.

    Parameters
    ----------
    section : Section
        The runs, with a method in focus.

    Returns
    -------
    outcomes, details : str
        Two sentences; the second is empty if there is no other method on the same problems.
    """
    tests = section.focus_tests
    if not tests:
        return f"{section.focus} shares no problem with another method.", ""
    parts = []
    for outcome, words in (
        ("better", "is significantly better than"),
        ("worse", "is significantly worse than"),
        (SAME, "does not differ significantly from"),
    ):
        names = [test.other for test in tests if test.outcome == outcome]
        if names:
            parts.append(f"{words} {join_names(names)}")
    order = [standing.method for standing in section.overall.standings]
    rival = min(tests, key=lambda test: order.index(test.other))
    others = "the best of the others: " if len(tests) > 1 else ""
    against = f"Against {rival.other}{', ' + others if others else ': '}"
    return f"{section.focus} {'; it '.join(parts)}.", f"{against}{_by_how_much(rival)}"


def _by_how_much(test: FocusTest) -> str:
    """Say on how many problems a method is better, by how much, and since when."""
    problems = count(len(test.duels), "problem")
    parts = [f"better on {test.better or 'none'} of {problems}, worse on {test.worse or 'none'}"]
    several = test.evaluations is not None and test.error is not None
    if test.evaluations is not None:
        where = " on those that both always solved" if several else ""
        parts.append(_times(test.evaluations, "the evaluations") + where)
    if test.error is not None:
        parts.append(_times(test.error, "the error") + (" on the others" if several else ""))
    if test.since is not None:
        parts.append(f"ahead from {test.since:.3g}·D evaluations on")
    return f"{'; '.join(parts)}."


def _times(ratio: Ratio, what: str) -> str:
    low, high = two_digits(ratio.low), two_digits(ratio.high)
    interval = f" (95 %: {low} to {high})" if ratio.has_interval else ""
    return f"{two_digits(ratio.value)} times {what}{interval}"


def is_adaptive(configuration: Mapping[str, object] | None) -> bool:
    """Return whether a configuration selects operators or, as a portfolio does, optimizers."""
    if configuration is None or configuration.get("method") is not None:
        return True
    optimizer = configuration.get("optimizer")
    return isinstance(optimizer, Mapping) and optimizer.get("name") == "portfolio"


def _is_uniform(configuration: Mapping[str, object] | None) -> bool:
    """Return whether a configuration chooses uniformly: its qualities never change."""
    method = (configuration or {}).get("method")
    if not isinstance(method, Mapping):
        return False
    quality, probability = method.get("quality"), method.get("probability")
    return quality == {"name": "weighted_sum", "delta": 0.0} and probability == {"name": "identity"}


def pair_outcome(pair: Pair) -> str:
    """Return how the first of a pair did."""
    return {pair.first: "better", pair.second: "worse", None: SAME}[pair.better]


def _baseline(method: str, uniform: Sequence[str], configurations: _Configurations) -> str:
    same = [m for m in uniform if _same_optimizer(method, m, configurations)]
    return same[0] if same and UNIFORM not in same else UNIFORM


def _answer(better: list[str], worse: list[str], undecided: list[str]) -> str:
    total = len(better) + len(worse) + len(undecided)
    answer = "Yes" if len(better) == total else "For some" if better else "No"
    if not better and not worse:
        answer = "Not shown"
    parts = []
    for names, what in ((better, "better than"), (worse, "worse than")):
        if names:
            parts.append(f"{join_names(names)} {'is' if len(names) == 1 else 'are'} {what} "
                         "uniform choice")  # fmt: skip
    if undecided:
        parts.append(_same_as_uniform(undecided))
    return f"Does adapting pay? {answer}: {'; '.join(parts)} (α = {ALPHA:g})."


def _same_as_uniform(methods: list[str]) -> str:
    each = "each of " if len(methods) > 1 else ""
    return f"{SAME} between {each}{join_names(methods)} and uniform choice"


def _same_optimizer(method: str, other: str, configurations: _Configurations) -> bool:
    """Return whether both run in the same optimizer, as far as is known."""
    if method not in configurations or other not in configurations:
        return True
    ignored = ("name", "method", "note", "reference", "tuning")
    ours, theirs = ({k: v for k, v in configurations[m].items() if k not in ignored}
                    for m in (method, other))  # fmt: skip
    return ours == theirs
