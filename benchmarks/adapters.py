"""Does adapting pay inside other libraries? The table of docs/adapters.md.

    python benchmarks/adapters.py               # the table: about seven minutes of one core
    python benchmarks/adapters.py --choose      # how the default method was chosen

Every problem is run with 30 seeds by the default method, by uniform choice from the same operators,
and with each operator (or pair of operators) alone. Reported is the median of the best objective
found. "Better" and "worse" are those of Mann and Whitney's test, two-sided, α = 0.05, corrected
after Holm for the problems of the table. The problems and seeds of --choose are others.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path

import numpy as np
from adapter_cases import DEVELOPMENT, REPORTED, Case
from rich.console import Console
from rich.progress import track
from scipy.stats import mannwhitneyu

from uaos.adapters.credit import DEFAULT
from uaos.analysis.statistics import ALPHA, holm

PAGE = Path(__file__).parents[1] / "docs" / "adapters.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
CHANCE = "uniform"
SEEDS, OTHER_SEEDS = range(1, 31), range(1001, 1031)
CANDIDATES = ("PDP", "SaDE", "Op-adapt", "Adapt-NN", "mix", "Ex-PM", "U-AOS-FW", "RecPM")

Choice = str | int
Run = tuple[str, int, Choice, int]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--choose", action="store_true", help="rank candidates for the default")
    parser.add_argument("--seeds", type=int, help="fewer seeds; the page is left as it is")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    given = parser.parse_args()
    console = Console()
    if given.choose:
        seeds = list(OTHER_SEEDS)[: given.seeds]
        found = _outcomes("DEVELOPMENT", (CHANCE, *CANDIDATES), seeds, given.jobs, console)
        console.print(_ranking(found), highlight=False, soft_wrap=True)
        return 0
    seeds = list(SEEDS)[: given.seeds]
    found = _outcomes("REPORTED", (DEFAULT, CHANCE), seeds, given.jobs, console)
    page = "\n".join([*_header(len(seeds)), "", *_table(found), "", *_alone(found)])
    console.print(page, highlight=False, markup=False, soft_wrap=True)
    if given.seeds is None:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        after = rest.split(END)[1]
        PAGE.write_text(f"{before}{BEGIN}\n{page}\n{END}{after}", encoding="utf-8")
    return 0


def _cases(which: str) -> Sequence[Case]:
    return {"REPORTED": REPORTED, "DEVELOPMENT": DEVELOPMENT}[which]


def _outcome(run: Run) -> float:
    which, case, choice, seed = run
    return _cases(which)[case].run(choice, seed)


def _outcomes(
    which: str, methods: Sequence[str], seeds: Sequence[int], jobs: int, console: Console
) -> dict[tuple[int, Choice], np.ndarray]:
    """The best objectives of every problem and choice, one for each seed."""
    runs: list[Run] = []
    for number, case in enumerate(_cases(which)):
        alone = range(len(case.operators)) if which == "REPORTED" else ()
        runs += [(which, number, c, s) for c in (*methods, *alone) for s in seeds]
    with ProcessPoolExecutor(jobs) as pool:
        values = track(
            pool.map(_outcome, runs, chunksize=10), f"{len(runs)} runs", len(runs), console=console
        )
        found: dict[tuple[int, Choice], list[float]] = {}
        for (_, case, choice, _), value in zip(runs, values, strict=True):
            found.setdefault((case, choice), []).append(value)
    return {key: np.array(values) for key, values in found.items()}


def _header(seeds: int) -> list[str]:
    packages = ", ".join(f"{name} {version(name)}" for name in ("pymoo", "alns", "deap"))
    return [f"{packages}; {seeds} seeds; default method `{DEFAULT}`."]


def _table(found: dict[tuple[int, Choice], np.ndarray]) -> list[str]:
    columns = [
        "host", "problem", "adaptive", "uniform", "adaptive against uniform", "best alone",
        "adaptive against best alone",
    ]  # fmt: skip
    rows, as_good, verdicts = [], 0, []
    numbers = range(len(REPORTED))
    best = [_best_alone(found, case) for case in numbers]
    against_chance = _verdicts([(found[c, DEFAULT], found[c, CHANCE]) for c in numbers])
    against_best = _verdicts([(found[c, DEFAULT], found[c, best[c]]) for c in numbers])
    for case in numbers:
        ours, chance = np.median(found[case, DEFAULT]), np.median(found[case, CHANCE])
        as_good += ours <= chance
        verdicts.append(against_chance[case])
        shown = REPORTED[case]
        least = f"{shown.operators[best[case]]}: {_shown(found, case, best[case])}"
        rows.append([
            shown.host, shown.problem, _shown(found, case, DEFAULT), _shown(found, case, CHANCE),
            against_chance[case], least, against_best[case],
        ])  # fmt: skip
    better = sum(v.startswith("better") for v in verdicts)
    worse = sum(v.startswith("worse") for v in verdicts)
    lines = [
        f"Adaptive is at least as good as uniform choice in the median on {as_good} of {len(rows)} "
        f"problems; by the test it is better on {better} and worse on {worse}.",
        "",
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
    ]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _best_alone(found: dict[tuple[int, Choice], np.ndarray], case: int) -> int:
    return min(range(len(REPORTED[case].operators)), key=lambda o: np.median(found[case, o]))


def _shown(found: dict[tuple[int, Choice], np.ndarray], case: int, choice: Choice) -> str:
    return f"{REPORTED[case].sign * np.median(found[case, choice]):.5g}"


def _verdicts(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[str]:
    """Whether the first of each pair is smaller, in a word and Holm's p."""
    raw = [mannwhitneyu(ours, theirs).pvalue if not _same(ours, theirs) else 1.0
           for ours, theirs in pairs]  # fmt: skip
    said = []
    for (ours, theirs), p in zip(pairs, holm(raw), strict=True):
        ahead = (ours[:, None] < theirs).mean() - (ours[:, None] > theirs).mean()
        word = "no significant difference" if p >= ALPHA else "better" if ahead > 0 else "worse"
        said.append(f"{word} (p = {p:.2g})" if p < ALPHA else word)
    return said


def _same(ours: np.ndarray, theirs: np.ndarray) -> bool:
    return len({*ours.tolist(), *theirs.tolist()}) == 1


def _alone(found: dict[tuple[int, Choice], np.ndarray]) -> list[str]:
    lines = ["Each operator, or pair of operators, alone (medians, best first):", ""]
    for number, case in enumerate(REPORTED):
        order = sorted(range(len(case.operators)), key=lambda o: np.median(found[number, o]))
        shown = ", ".join(f"{case.operators[o]} {_shown(found, number, o)}" for o in order)
        lines.append(f"- {case.host}, {case.problem}: {shown}")
    return lines


def _ranking(found: dict[tuple[int, Choice], np.ndarray]) -> str:
    """For each candidate, how often it beats uniform choice: 0.5 is no difference, 1 always."""
    cases = range(len(DEVELOPMENT))
    rows = []
    for candidate in CANDIDATES:
        wins = []
        for case in cases:
            ours, chance = found[case, candidate][:, None], found[case, CHANCE]
            wins.append(float(((ours < chance) + 0.5 * (ours == chance)).mean()))
        rows.append((float(np.mean(wins)), min(wins), candidate, wins))
    lines = ["mean  least  method         " + " ".join(f"{c:4d}" for c in cases)]
    for mean, least, candidate, wins in sorted(rows, reverse=True):
        lines.append(
            f"{mean:.3f} {least:.3f}  {candidate:14s} " + " ".join(f"{w:.2f}" for w in wins)
        )
    lines += ["", *(f"{c}: {DEVELOPMENT[c].host}, {DEVELOPMENT[c].problem}" for c in cases)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
