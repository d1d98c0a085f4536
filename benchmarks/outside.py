"""Compare the default of `uaos.minimize` with other libraries on problems outside BBOB.

    python benchmarks/outside.py run --suite choose --budget 100D,1000D --seeds 5 --out runs.csv
    python benchmarks/outside.py rank runs.csv [more.csv] --suite choose [--csv ranks.csv]

`run` appends one row a run to the CSV file and skips the runs that are in it. `rank` prints, for
each budget, the mean rank of every contender over the problems, and Wilcoxon's test of one
contender (`--of`, default `uaos`) against each other, corrected after Holm. To compare with another
version of uaos, run it by its PYTHONPATH with `--contenders uaos --label "uaos 0.2"`.
Needs minionpy (for the problems too), cma, scipy and pygmo. OPENBLAS_NUM_THREADS=1 makes SciPy and
pycma several times faster, as their matrices are small.

Rules, the same for all contenders:

- The score is the best value within the budget. Evaluations are counted here; what a contender
  evaluates beyond the budget does not count. One that ends early is started again with another
  seed until the budget is spent.
- Points outside the box are moved to its nearest point before they are evaluated. Values that are
  not finite count as 1e100.
- Settings are each library's defaults, with these exceptions. pygmo has no default population (see
  `_pygmo_de1220` and `_pygmo_cmaes`), and its tolerances are 1e-12, as the default ends runs too
  early. pycma searches the unit cube, from a uniform point, with σ0 = 0.25 and BIPOP restarts.

The score of a contender on a problem is its median error over the seeds. Errors are taken from the
known optimum, or from the best value in the files where that is lower or no optimum is known; in
the latter case they are relative to a best value beyond 1. Errors up to 1e-8 are equal, and so are
errors that agree to six digits; equal errors share their rank.
"""

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from outside_problems import Array, Problem, problems
from rich.console import Console
from rich.table import Table

COLUMNS = ("suite", "problem", "dimension", "contender", "budget", "seed", "value", "evaluations",
           "seconds", "version")  # fmt: skip
FAILED = 1e100
SOLVED = 1e-8


class Spent(Exception):
    """Raised when the budget is used up."""


class Objective:
    """A problem that counts its evaluations and remembers the best value within the budget."""

    def __init__(self, problem: Problem, budget: int) -> None:
        self.problem, self.budget = problem, budget
        self.used, self.best = 0, FAILED

    @property
    def left(self) -> int:
        """Number of evaluations left."""
        return self.budget - self.used

    def evaluate(self, X: Any) -> Array:
        """Return values of the points (n, D), FAILED for those beyond the budget."""
        points = np.array(X, dtype=np.float64, ndmin=2)
        values = np.full(len(points), FAILED)
        inside = min(len(points), self.left)
        if inside:
            np.maximum(points, self.problem.low, out=points)
            np.minimum(points, self.problem.high, out=points)
            found = np.asarray(self.problem.values(points[:inside]), dtype=np.float64)
            values[:inside] = np.where(np.isfinite(found), found, FAILED)
            self.used += inside
            self.best = min(self.best, float(values.min()))
        return values

    def values(self, X: Any) -> Array:
        """Return values of the points (n, D).

        Raises
        ------
        Spent
            If there are more points than evaluations left.
        """
        short = len(X) > self.left
        values = self.evaluate(X)
        if short:
            raise Spent
        return values

    def value(self, x: Any) -> float:
        """Return the value of one point: as `values`, with less overhead."""
        if not self.left:
            raise Spent
        point = np.minimum(np.maximum(x, self.problem.low), self.problem.high)
        found = float(self.problem.values(point[None])[0])
        value = found if isfinite(found) else FAILED
        self.used += 1
        self.best = min(self.best, value)
        return value


Contender = Callable[[Objective, int, int], None]
"""Spends some or all of the evaluations left; gets a seed and how often it was started before."""


def _uaos(method: str | None) -> Contender:
    def run(objective: Objective, seed: int, attempt: int) -> None:
        from uaos import minimize

        minimize(
            objective.values, objective.problem.bounds, method=method, budget=objective.left,
            seed=seed, vectorized=True,
        )  # fmt: skip

    return run


def _minion(algorithm: str) -> Contender:
    def run(objective: Objective, seed: int, attempt: int) -> None:
        import minionpy

        # Values beyond the budget instead of an exception, which would have to pass through C++.
        # L-SRTDE crashes where `maxevals` is about its population or less, as in a late restart.
        minionpy.Minimizer(
            lambda X: objective.evaluate(X).tolist(), objective.problem.bounds, algo=algorithm,
            maxevals=max(objective.left, 100 * objective.problem.dimension), seed=seed,
        ).optimize()  # fmt: skip

    return run


class _PygmoProblem:
    def __init__(self, objective: Objective) -> None:
        self.objective = objective

    def fitness(self, x: Array) -> tuple[float]:
        return (self.objective.value(x),)

    def get_bounds(self) -> tuple[Array, Array]:
        return self.objective.problem.low, self.objective.problem.high

    def __deepcopy__(self, _: Any) -> "_PygmoProblem":
        return self  # pygmo copies problems; the count must stay one


def _pygmo(objective: Objective, seed: int, size: int, name: str, **settings: Any) -> None:
    import pygmo

    population = pygmo.population(pygmo.problem(_PygmoProblem(objective)), size=size, seed=seed)
    # One generation more than the budget allows: the run ends when the budget is spent.
    algorithm = getattr(pygmo, name)(
        gen=objective.left // size + 1, ftol=1e-12, xtol=1e-12, seed=seed, **settings
    )
    pygmo.algorithm(algorithm).evolve(population)


def _pygmo_de1220(objective: Objective, seed: int, attempt: int) -> None:
    """Return the population size: a 200th of the budget, 20 to 100."""
    _pygmo(objective, seed, min(max(objective.budget // 200, 20), 100), "de1220")


def _pygmo_cmaes(objective: Objective, seed: int, attempt: int) -> None:
    """Return the population size: 4 + 3 ln D (at least 5), doubled at each restart as in IPOP."""
    size = max(4 + int(3 * np.log(objective.problem.dimension)), 5) * 2**attempt
    _pygmo(objective, seed, size, "cmaes", force_bounds=True)


def _scipy_de(objective: Objective, seed: int, attempt: int) -> None:
    from scipy.optimize import differential_evolution

    differential_evolution(objective.value, objective.problem.bounds, rng=seed)


def _scipy_da(objective: Objective, seed: int, attempt: int) -> None:
    from scipy.optimize import dual_annealing

    dual_annealing(
        objective.value, objective.problem.bounds, maxfun=objective.left, maxiter=10**9, rng=seed
    )


def _pycma(objective: Objective, seed: int, attempt: int) -> None:
    import cma

    low, width = objective.problem.low, objective.problem.high - objective.problem.low
    rng = np.random.default_rng(seed)
    options = {
        "bounds": [0, 1], "maxfevals": objective.left, "seed": seed, "verbose": -9, "verb_log": 0,
    }  # fmt: skip
    cma.fmin2(
        lambda u: objective.value(low + width * np.asarray(u)),
        lambda: rng.uniform(size=len(low)), 0.25, options, restarts=9, bipop=True,
    )  # fmt: skip


# Fast ones first, so that a run that is cut short has more of them.
CONTENDERS: dict[str, tuple[Contender, str]] = {
    "uaos": (_uaos(None), "uaos"),
    "uaos mix": (_uaos("mix"), "uaos"),
    "uaos CMA-ES": (_uaos("CMA-ES"), "uaos"),
    "ARRDE": (_minion("ARRDE"), "minionpy"),
    "jSO": (_minion("jSO"), "minionpy"),
    "L-SRTDE": (_minion("LSRTDE"), "minionpy"),
    "BIPOP-aCMA-ES": (_minion("BIPOP_aCMAES"), "minionpy"),
    "L-SHADE": (_minion("LSHADE"), "minionpy"),
    "pygmo de1220": (_pygmo_de1220, "pygmo"),
    "pygmo CMA-ES": (_pygmo_cmaes, "pygmo"),
    "SciPy DA": (_scipy_da, "scipy"),
    "SciPy DE": (_scipy_de, "scipy"),
    "pycma": (_pycma, "cma"),
}


def best_value(problem: Problem, contender: str, budget: int, seed: int) -> tuple[float, int]:
    """Return the best value within the budget, and the number of evaluations."""
    objective = Objective(problem, budget)
    run = CONTENDERS[contender][0]
    attempt = 0
    while objective.left:
        used = objective.used
        try:
            run(objective, seed + 1000 * attempt, attempt)
        except Spent:
            break
        if objective.used == used:
            raise RuntimeError(f"{contender} ended without evaluations on {problem.name}")
        attempt += 1
    return objective.best, objective.used


def run(
    listed: list[Problem], suite: str, budgets: Iterable[int], seeds: int,
    contenders: Iterable[str], path: Path, label: str | None = None,
) -> None:  # fmt: skip
    """Append the runs that the file lacks, cheap budgets first."""
    done = {_key(row) for row in _read([path])} if path.exists() else set()
    if not path.exists():
        path.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    for budget in sorted(budgets):
        for contender in contenders:
            start = perf_counter()
            for problem in listed:
                for seed in range(1, seeds + 1):
                    row = {
                        "suite": suite, "problem": problem.name, "dimension": problem.dimension,
                        "contender": label or contender, "budget": f"{budget}D", "seed": seed,
                        "version": _version(CONTENDERS[contender][1]),
                    }  # fmt: skip
                    if _key(row) in done:
                        continue
                    began = perf_counter()
                    value, used = best_value(problem, contender, budget * problem.dimension, seed)
                    seconds = perf_counter() - began
                    row |= {"value": repr(value), "evaluations": used, "seconds": f"{seconds:.3f}"}
                    with path.open("a", encoding="utf-8", newline="") as file:
                        csv.DictWriter(file, COLUMNS).writerow(row)
            print(f"{suite} {budget}D {contender}: {perf_counter() - start:.0f} s", flush=True)


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("suite", "problem", "contender", "budget", "seed"))


def _read(paths: Iterable[Path]) -> list[dict[str, str]]:
    rows = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            rows += list(csv.DictReader(file))
    return rows


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


def rank(
    listed: list[Problem], paths: Iterable[Path], suite: str, of: str, by: str, details: bool,
    output: Path | None,
) -> None:  # fmt: skip
    """Print a table of mean ranks for each budget in the files, and write them to a CSV file."""
    rows = [row for row in _read(paths) if row["suite"] == suite]
    reference = _references(rows, listed)
    console = Console(width=None if sys.stdout.isatty() else 200)
    summaries = []
    for budget in sorted({row["budget"] for row in rows}, key=lambda text: int(text[:-1])):
        of_budget = [row for row in rows if row["budget"] == budget]
        names, errors, missing = _errors(of_budget, listed, reference, by)
        if len(names) > 1:
            ranks = _ranks(names, errors, of)
            title = f"{suite}, {budget}, {len(listed)} problems; Friedman p {_friedman(errors):.2g}"
            console.print(_table(ranks, title, of))
            summaries += [{"budget": budget, **row} for row in ranks]
        if missing:
            console.print(f"incomplete at {budget}, not ranked: {', '.join(missing)}")
        if details and of in names:
            console.print(_losses(names, errors, listed, f"{suite}, {budget}", of))
    if output is not None:
        with output.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, summaries[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(summaries)


def _references(rows: list[dict[str, str]], listed: list[Problem]) -> dict[str, float]:
    reference = {p.name: np.inf if p.optimum is None else p.optimum for p in listed}
    for row in rows:
        if row["problem"] in reference:
            reference[row["problem"]] = min(reference[row["problem"]], float(row["value"]))
    return reference


def _errors(
    rows: list[dict[str, str]], listed: list[Problem], reference: dict[str, float], by: str
) -> tuple[list[str], Array, list[str]]:
    """Return contenders, errors (problems × contenders), and contenders that lack some runs."""
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in rows:
        found[row["contender"], row["problem"]][row["seed"]] = float(row["value"])
    seeds = max(map(len, found.values()))
    labels = {contender for contender, _ in found}
    present = [*(n for n in CONTENDERS if n in labels), *sorted(labels - set(CONTENDERS))]
    complete = [n for n in present if all(len(found[n, p.name]) == seeds for p in listed)]
    errors = np.empty((len(listed), len(complete)))
    summary = np.median if by == "median" else np.mean
    for i, problem in enumerate(listed):
        best = reference[problem.name]
        scale = max(1.0, abs(best)) if problem.optimum is None else 1.0
        for j, name in enumerate(complete):
            values = np.array(list(found[name, problem.name].values())) - best
            error = float(summary(values)) / scale
            errors[i, j] = 0.0 if error <= SOLVED else float(f"{error:.6g}")
    return complete, errors, [name for name in present if name not in complete]


def _ranks(names: list[str], errors: Array, of: str) -> list[dict[str, str]]:
    """Return a row for each contender, the one with the lowest mean rank first."""
    from scipy.stats import rankdata

    from uaos.statistics import holm, wilcoxon_test

    means = rankdata(errors, axis=1).mean(axis=0)
    rivals = [j for j, name in enumerate(names) if name != of]
    own = errors[:, names.index(of)] if of in names else np.full(len(errors), np.nan)
    scores, own_score = np.log10(np.maximum(errors, SOLVED)), np.log10(np.maximum(own, SOLVED))
    p_values = {}
    if of in names:
        raw, _ = wilcoxon_test((own_score[:, None] - scores[:, rivals]).T)
        p_values = dict(zip(rivals, holm(raw), strict=True))
    return [
        {
            "contender": names[j],
            "mean rank": f"{means[j]:.2f}",
            "best on": str((errors[:, j] == errors.min(axis=1)).sum()),
            "solved": str((errors[:, j] == 0).sum()),
            "better": str((own < errors[:, j]).sum()) if j in p_values else "",
            "worse": str((own > errors[:, j]).sum()) if j in p_values else "",
            "p": f"{p_values[j]:.2g}" if j in p_values else "",
        }
        for j in np.argsort(means, kind="stable")
    ]


def _friedman(errors: Array) -> float:
    from scipy.stats import friedmanchisquare

    return float(friedmanchisquare(*errors.T).pvalue) if errors.shape[1] > 2 else np.nan


def _table(ranks: list[dict[str, str]], title: str, of: str) -> Table:
    table = Table(title=title, box=None)
    for column in ranks[0]:
        heading = f"{of}: better" if column == "better" else column
        table.add_column(heading, justify="left" if column == "contender" else "right")
    for row in ranks:
        table.add_row(*row.values())
    return table


def _losses(names: list[str], errors: Array, listed: list[Problem], title: str, of: str) -> Table:
    """Tabulate one contender's rank and error, the best three, and all that beat it."""
    from scipy import stats

    own = names.index(of)
    ranks = stats.rankdata(errors, axis=1)
    table = Table("problem", "rank", "error", "best", "better", title=f"{title}: {of}", box=None)
    for i in np.argsort(-ranks[:, own], kind="stable"):
        order = [j for j in np.argsort(errors[i], kind="stable") if j != own]
        best = ", ".join(f"{names[j]} {errors[i, j]:.2g}" for j in order[:3])
        better = ", ".join(names[j] for j in order if errors[i, j] < errors[i, own])
        table.add_row(
            listed[i].name, f"{ranks[i, own]:g}", f"{errors[i, own]:.3g}", best, better or "-"
        )
    return table


def _budgets(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.endswith("D") and part[:-1].isdigit() and int(part[:-1]) for part in parts):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected for example 100D,1000D")
    return [int(part[:-1]) for part in parts]


def _contenders(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in CONTENDERS]
    if unknown:
        known = ", ".join(CONTENDERS)
        raise argparse.ArgumentTypeError(f"unknown contender {unknown[0]!r}; known: {known}")
    return names


def main() -> None:
    """Parse the command line and run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="append runs to a CSV file")
    running.add_argument("--budget", type=_budgets, default=[100, 1000], help="100D,1000D,10000D")
    running.add_argument("--seeds", type=int, default=5, help="seeds 1 to this number")
    running.add_argument("--contenders", type=_contenders, default=list(CONTENDERS),
                         help=f"with commas between: {','.join(CONTENDERS)}")  # fmt: skip
    running.add_argument("--out", type=Path, required=True, help="CSV file")
    running.add_argument("--label", help="name of a single contender in the file")
    ranking = commands.add_parser("rank", help="print mean ranks")
    ranking.add_argument("files", type=Path, nargs="+", help="CSV files")
    ranking.add_argument("--of", default="uaos", help="contender tested against each other one")
    ranking.add_argument("--by", choices=("median", "mean"), default="median", help="over seeds")
    ranking.add_argument("--csv", type=Path, help="write the mean ranks to this file, too")
    ranking.add_argument("--problems", action="store_true", help="show each problem, worst first")
    for command in (running, ranking):
        command.add_argument("--suite", choices=("choose", "report"), required=True)
        command.add_argument("--max-dimension", type=int, default=30, help="of the problems")
    given = parser.parse_args()
    listed = [p for p in problems(given.suite) if p.dimension <= given.max_dimension]
    if given.command == "run":
        if given.label and len(given.contenders) > 1:
            parser.error("--label names a single contender; add --contenders NAME")
        run(listed, given.suite, given.budget, given.seeds, given.contenders, given.out,
            given.label)  # fmt: skip
    else:
        rank(listed, given.files, given.suite, given.of, given.by, given.problems, given.csv)


if __name__ == "__main__":
    main()
