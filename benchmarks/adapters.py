"""Does adapting pay inside other libraries? The tables of docs/adapters.md.

    python benchmarks/adapters.py                    # all runs and the tables: half an hour
    python benchmarks/adapters.py --host "pymoo DE"  # some of the runs
    python benchmarks/adapters.py --choose PDP,SaDE  # compare methods on the development problems

Each library's own examples are run with 30 seeds in four ways: by this package's default method, as
the library has it, with a random choice of operators, and with the best single operator (or pair of
operators), which was found with other seeds: one run of each, then three more of the four best.
Runs are kept in a file, and runs that it has are not repeated.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from adapter_cases import Case, Choice, development, reported

from uaos.adapters.credit import DEFAULT
from uaos.analysis.scoring import ALPHA
from uaos.statistics import holm, rank_rows, rank_sum_test, wilcoxon_test

PAGE = Path(__file__).parents[1] / "docs" / "adapters.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
SEEDS, OTHER_SEEDS = range(1, 31), range(1001, 1005)
#: With --finished: how many seeds a table takes at least.
FEWEST = 5
OURS, RIVALS = "adaptive", ("default", "random", "best alone")
SHOWN = {"default": "library's default", "random": "random choice", "best alone": "best alone"}

Outcome = Callable[[Case, Choice, int], float]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("adapter-runs.jsonl"), help="the file")
    parser.add_argument("--host", help="run this host's problems only, and print no tables")
    parser.add_argument("--choose", help="methods, separated by commas, to rank on other problems")
    parser.add_argument("--finished", action="store_true", help="run nothing, use what there is")
    options = parser.parse_args()
    outcome = _kept(options.runs, options.finished)
    if options.choose:
        cases = [c for c in development() if options.host in (None, c.host)]
        print(_ranking(cases, options.choose.split(","), outcome))
        return 0
    cases = [c for c in reported() if options.host in (None, c.host)]
    best: dict[Case, int] = {}
    seeds: dict[str, list[int]] = {}
    for host in dict.fromkeys(case.host for case in cases):
        own = [case for case in cases if case.host == host]
        seeds[host] = []
        try:
            best |= {case: _best_alone(case, outcome) for case in own}
            for seed in SEEDS:
                for case, choice in ((c, o) for c in own for o in (OURS, *RIVALS)):
                    outcome(case, best[case] if choice == "best alone" else choice, seed)
                seeds[host].append(seed)
        except LookupError:
            print(f"{host}: {len(seeds[host])} of {len(SEEDS)} seeds")
    if options.host is None:
        cases = [case for case in cases if len(seeds[case.host]) >= FEWEST]
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        tables = "\n".join(_tables(cases, best, seeds, outcome))
        PAGE.write_text(f"{before}{BEGIN}\n{tables}\n{END}{rest.split(END)[1]}", encoding="utf-8")
        print(tables)
    return 0


def _kept(path: Path, finished: bool) -> Outcome:
    """Return a function that runs what the file does not have, or raises KeyError if `finished`."""
    found: dict[tuple[str, str, str, int], float] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            host, problem, choice, seed, value = json.loads(line)
            found[host, problem, choice, seed] = value

    def outcome(case: Case, choice: Choice, seed: int) -> float:
        key = case.host, case.problem, str(choice), seed
        if key not in found and not finished:
            found[key] = case.run(choice, seed)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([*key, found[key]], ensure_ascii=False) + "\n")
        return found[key]

    return outcome


def _best_alone(case: Case, outcome: Outcome) -> int:
    """Return the best single operator: one run of each, then three more of the four best."""
    if case.best_alone is not None:
        return case.best_alone
    left = sorted(
        range(len(case.operators)), key=lambda o: outcome(case, o, OTHER_SEEDS[0])
    )[:4]  # fmt: skip
    return min(left, key=lambda o: np.median([outcome(case, o, s) for s in OTHER_SEEDS]))


def _tables(
    cases: Sequence[Case], best: dict[Case, int], seeds: dict[str, list[int]], outcome: Outcome
) -> list[str]:
    def runs(case: Case, choice: str) -> np.ndarray:
        which = best[case] if choice == "best alone" else choice
        return np.array([outcome(case, which, seed) for seed in seeds[case.host]])

    packages = ", ".join(f"{name} {version(name)}" for name in ("pymoo", "alns", "deap"))
    methods = f"default method `{DEFAULT}`, in pymoo's DE with p_min = 0.02, in MOEA/D FRRMAB"
    lines = [f"{packages}; {methods}.", ""]
    hosts = list(dict.fromkeys(case.host for case in cases))
    lines += ["| mean rank | " + " | ".join([OURS, *SHOWN.values()]) + " |"]
    lines += ["|---" * 5 + "|"]
    for host in hosts:
        own = [case for case in cases if case.host == host]
        ranks = np.concatenate(
            [rank_rows(np.array([runs(case, c) for c in (OURS, *RIVALS)]).T) for case in own]
        )
        lines.append(f"| {host}, {len(seeds[host])} seeds | " + " | ".join(_marked(ranks)) + " |")
    columns = ["problem", OURS, *SHOWN.values()]
    for host in hosts:
        own = [case for case in cases if case.host == host]
        pairs = [(runs(case, OURS), runs(case, rival)) for case in own for rival in RIVALS]
        verdicts = iter(_verdicts(pairs))
        lines += ["", f"{host}:", "", "| " + " | ".join(columns) + " |", "|---" * 5 + "|"]
        for case in own:
            cells = [case.problem, f"{case.sign * np.median(runs(case, OURS)):.5g}"]
            for rival in RIVALS:
                name = f" ({case.operators[best[case]]})" if rival == "best alone" else ""
                value = case.sign * np.median(runs(case, rival))
                cells.append(f"{value:.5g}{name}; {next(verdicts)}")
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def _marked(ranks: np.ndarray) -> list[str]:
    """Return the mean ranks; an asterisk: differs from the first one's (Wilcoxon, Holm)."""
    p = holm(wilcoxon_test((ranks[:, :1] - ranks[:, 1:]).T)[0])
    marks = ["", *("*" if value < ALPHA else "" for value in p)]
    return [f"{mean:.2f}{mark}" for mean, mark in zip(ranks.mean(axis=0), marks, strict=True)]


def _verdicts(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[str]:
    """Describe how the first of each pair compares: effect size and Holm's p.

    A12 is the chance that a run of the first is smaller, ties counting half (Vargha and Delaney).
    """
    raw = [rank_sum_test(ours, theirs)[0][0] for ours, theirs in pairs]
    verdicts = []
    for (ours, theirs), p in zip(pairs, holm(raw), strict=True):
        a12 = ((ours[:, None] < theirs) + 0.5 * (ours[:, None] == theirs)).mean()
        word = "" if p >= ALPHA else "**better**, " if a12 > 0.5 else "**worse**, "
        verdicts.append(f"{word}A12 {a12:.2f}, p {p:.1g}")
    return verdicts


def _ranking(cases: Sequence[Case], methods: Sequence[str], outcome: Outcome) -> str:
    """Return each method's mean rank, host by host."""
    names = ["default", "random", OURS, *methods]
    lines = []
    for host in dict.fromkeys(case.host for case in cases):
        own = [case for case in cases if case.host == host]
        ranks = [
            rank_rows(np.array([[outcome(c, name, s) for name in names] for s in OTHER_SEEDS]))
            for c in own
        ]
        mean = np.concatenate(ranks).mean(axis=0)
        order = sorted(zip(mean, names, strict=True))
        lines.append(f"{host}: " + ", ".join(f"{name} {rank:.2f}" for rank, name in order))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
