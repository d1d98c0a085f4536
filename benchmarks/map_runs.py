"""Run every combination of the five components in differential evolution, by successive halving.

    python benchmarks/map_runs.py round 1 FOLDER     all methods that differ, two runs each
    python benchmarks/map_runs.py round 2 FOLDER     the best of round 1, on more problems
    python benchmarks/map_runs.py round 3 FOLDER     the best of round 2, on all functions, longer
    python benchmarks/map_runs.py sample FOLDER      a sample on all functions, three budgets
    python benchmarks/map_runs.py describe [FOLDER]  data files of docs/results; those that need no
                                                     more than the data set, without a folder
    python benchmarks/map_runs.py save FOLDER OUT    the best 20, published and tuned ones as TOML
    python benchmarks/map_runs.py confirm STORE      their runs on fresh instances, by groups

The algorithm is that of the recorded runs `nine`: the paper's nine strategies, F = 0.5, CR = 0.9,
population 50, BBOB in 10-D. Methods that made the same choices in every replay of the first layer
(`map.npz`) are run once. FOLDER/round-N.db is a store like any other; the same command
continues it. The score of a run is the share of runs with uniform choice, on the same
problem, that end with a larger error: 0.5 is as good as uniform choice.
"""

import dataclasses
import itertools
import math
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from map import literature, write
from scipy import stats

import uaos
from uaos.errors import UaosError
from uaos.experiments import Plan, Progress, Store, Unit, run
from uaos.experiments.recorder import Recorder
from uaos.experiments.unit import Finished, outcome
from uaos.optimizers.configuration import UNIFORM
from uaos.problems import Problem
from uaos.scenarios import MethodMap, load_map

DIMENSION, NP = 10, 50
#: Errors below this are 0 for COCO.
PRECISION = 1e-8


@dataclasses.dataclass(frozen=True)
class Round:
    """One round: how many methods run, and on which problems."""

    number: int
    functions: tuple[int, ...]
    instance: int
    budget: int  # evaluations per dimension
    runs: int  # of each method
    references: int  # runs with uniform choice, per problem
    methods: int

    def problems(self) -> list[Problem]:
        """Return the problems."""
        names = ",".join(map(str, self.functions))
        suite = uaos.suite(
            "bbob", dimension=DIMENSION, functions=names, instances=str(self.instance)
        )
        return list(suite)

    def assignment(self, n_methods: int) -> np.ndarray:
        """Return which methods run on which problems, (methods, problems).

        All combinations of `runs` problems are equally frequent, whatever the components; all
        problems, where there are more combinations than methods.
        """
        problems, rng = len(self.functions), np.random.default_rng(1)
        order = rng.permutation(n_methods)
        if math.comb(problems, self.runs) <= n_methods:
            combinations = list(itertools.combinations(range(problems), self.runs))
        else:  # one permutation of the problems after the other, cut into parts
            parts = problems // self.runs
            permutations = [rng.permutation(problems) for _ in range(-(-n_methods // parts))]
            combinations = [
                tuple(part) for drawn in permutations
                for part in drawn[: parts * self.runs].reshape(parts, self.runs)
            ]  # fmt: skip
        assigned = np.zeros((n_methods, problems), bool)
        for place, method in enumerate(order):
            assigned[method, combinations[place % len(combinations)]] = True
        return assigned


#: Some functions of every group, then all of them; another instance in every round.
SOME, ALL = (3, 6, 8, 10, 13, 15, 17, 21), tuple(range(1, 25))
ROUNDS = (
    Round(1, SOME, instance=3, budget=500, runs=2, references=100, methods=14_350),
    Round(2, SOME, instance=4, budget=500, runs=8, references=100, methods=600),
    Round(3, ALL, instance=5, budget=1000, runs=24, references=40, methods=60),
)


#: Runs of a random sample of the methods on all functions, by budget.
SAMPLES = (
    Round(5, ALL, instance=8, budget=100, runs=2, references=60, methods=2208),
    Round(6, ALL, instance=8, budget=500, runs=2, references=60, methods=2208),
    Round(7, ALL, instance=8, budget=2000, runs=2, references=30, methods=276),
)
#: Methods of the last round that are confirmed on fresh instances.
WINNERS = 20
#: Configurations whose methods were tuned.
TUNED = ("U-AOS-FW", "RecPM-tuned", "PM-AdapSS-tuned", "F-AUC-MAB-tuned", "Compass-tuned", "mix")


def generations(
    configuration: uaos.Configuration, problem: Problem, budget: int, seed: int
) -> Iterator[np.ndarray]:
    """Yield the values of a run, generation by generation."""
    optimizer = configuration.build(problem.bounds, seed=seed, history=False, budget=budget)
    while optimizer.evaluations < budget:
        values = problem.evaluate(optimizer.ask())
        yield values
        optimizer.tell(values)


def final_error(
    method: uaos.Method, problem: Problem, budget: int, seed: int,
    algorithm: str | uaos.Configuration = "uniform",
) -> float:  # fmt: skip
    """Return the logarithm of the error that a run with an algorithm's operators ends with."""
    if isinstance(algorithm, str):
        algorithm = uaos.configuration(algorithm)
    host = dataclasses.replace(algorithm.settings, NP=NP)
    configuration = uaos.Configuration("map", method, host)
    best = min(float(v.min()) for v in generations(configuration, problem, budget, seed))
    assert problem.optimum is not None
    return float(np.log10(max(best - problem.optimum, PRECISION)))


def run_without_course(unit: Unit, problem: Problem, configuration: uaos.Configuration) -> Finished:
    """Make one run of a plan as `run_unit` does, but keep neither its trace nor its course.

    Its time is that of the processor.
    """
    begin, recorder = time.thread_time(), Recorder(problem.optimum)
    for values in generations(configuration, problem, unit.budget, unit.seed):
        if values.min() < recorder.best:
            recorder.see(values)
        else:
            recorder.evaluations += len(values)
        if recorder.solved:
            break
    return Finished(
        outcome(unit, problem, evaluations=recorder.evaluations, best=recorder.best,
                error=recorder.error, hits=recorder.hits, seconds=time.thread_time() - begin),
        None,
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class RoundPlan(Plan):
    """The runs of a round: some combinations of methods and problems, and uniform choice."""

    this: Round

    @classmethod
    def of_methods(cls, this: Round, methods: Mapping[int, uaos.Method]) -> "RoundPlan":
        """Return the plan of a round for numbered methods."""
        host = dataclasses.replace(uaos.configuration(UNIFORM).settings, NP=NP)
        named = {UNIFORM: uaos.method(UNIFORM), **{f"m{k}": m for k, m in methods.items()}}
        competitors = {n: uaos.Configuration(n, method, host) for n, method in named.items()}
        suite = uaos.Suite("bbob", this.problems())
        return cls(competitors, suite, this.references, f"{this.budget}D", this.number, this)

    def combinations(self) -> Iterator[tuple[str, Problem, int]]:
        """Yield uniform choice several times on every problem, a method once on its problems."""
        problems = list(self.suite)
        yield from itertools.product((UNIFORM,), problems, range(1, self.repetitions + 1))
        methods = [name for name in self.competitors if name != UNIFORM]
        for row, column in np.argwhere(self.this.assignment(len(methods))):
            yield methods[row], problems[column], 1

    def unit(self, method: str, problem: Problem, repetition: int) -> Unit:
        """Return one run, with a seed of its own."""
        number = 10**6 + repetition - 1 if method == UNIFORM else int(method[1:])
        column = self.this.functions.index(int(problem.function[1:]))
        seed = self.this.number * 10**8 + 24 * number + column
        return Unit(method, problem.name, repetition, seed, self.evaluations(problem))


def complete(
    file: Path, this: Round, methods: Mapping[int, uaos.Method], where: str | None = None
) -> None:
    """Make the runs of a round that are missing in its store.

    On all processors, in this process ("here"), or on Dask by its address.
    """
    executor = ThreadPoolExecutor(1) if where == "here" else None
    dask = None if executor else where

    def show(progress: Progress) -> None:
        print(f"round {this.number}: {progress.over} of {progress.total}", end="\r", flush=True)

    try:
        plan = RoundPlan.of_methods(this, methods)
        run(plan, file, executor, dask=dask, on_progress=show, work=run_without_course)
    except UaosError as error:
        sys.exit(f"\n{error}")


def read_round(file: Path) -> dict[str, np.ndarray]:
    """Return the numbers of a round's methods, the errors of their runs and of uniform choice.

    An error is the logarithm of the final one, NaN where there is no run.
    """
    with Store.open(file) as store:
        table = store.table()
    uniform = table.methods.index(UNIFORM)
    errors = np.log10(np.maximum(table.error, PRECISION))
    rows = np.delete(np.arange(len(table.methods)), uniform)
    by_method = np.full((len(table.methods), len(table.problems)), np.nan)
    references = np.full((int(table.repetition.max()), len(table.problems)), np.nan)
    own = table.method != uniform
    by_method[table.method[own], table.problem[own]] = errors[own]
    references[table.repetition[~own] - 1, table.problem[~own]] = errors[~own]
    return {
        "methods": np.array([int(table.methods[row][1:]) for row in rows]),
        "errors": by_method[rows], "references": references,
        "seconds": np.array(table.seconds.sum()),
    }  # fmt: skip


def scores(content: dict[str, np.ndarray]) -> np.ndarray:
    """Return the score of each run, (methods, problems); NaN where there is none."""
    errors, references = content["errors"], content["references"]
    worse = (references[None] > errors[:, None]).mean(axis=1)
    equal = (references[None] == errors[:, None]).mean(axis=1)
    return np.where(np.isnan(errors), np.nan, worse + equal / 2)


def sample(replays: np.ndarray, n: int) -> np.ndarray:
    """Return a random sample of the methods that differ in at least one of their replays."""
    _, first = np.unique(replays, axis=0, return_index=True)
    return np.sort(np.random.default_rng(3).permutation(first)[:n])


def survivors(folder: Path, number: int, n: int) -> np.ndarray:
    """Return the `n` methods of a round with the best mean score over all runs so far.

    Scores are relative to the means of the problems, since methods run on different ones.
    """
    total: dict[int, list[float]] = {}
    for earlier in range(1, number + 1):
        content = read_round(folder / f"round-{earlier}.db")
        for k, row in zip(content["methods"], relative(scores(content)), strict=True):
            total.setdefault(int(k), []).extend(row[~np.isnan(row)])
    remaining = content["methods"]
    means = np.array([np.mean(total[int(k)]) for k in remaining])
    return np.asarray(remaining[np.argsort(-means, kind="stable")][:n])


def relative(values: np.ndarray) -> np.ndarray:
    """Return scores less the mean of all methods on the same problem."""
    return np.asarray(values - np.nanmean(values, axis=0))


# What the runs say


def equal_methods(replays: np.ndarray) -> np.ndarray:
    """Return the number of each method's class: methods with equal replays share one."""
    _, classes = np.unique(replays, axis=0, return_inverse=True)
    return np.asarray(classes).ravel()


def first_runs(replays: np.ndarray, folder: Path) -> np.ndarray:
    """Return the scores of round 1, (all methods, problems); NaN where there is no run.

    Methods with equal replays share the runs of one of them.
    """
    content, classes = read_round(folder / "round-1.db"), equal_methods(replays)
    by_class = np.full((classes.max() + 1, content["errors"].shape[1]), np.nan)
    by_class[classes[content["methods"]]] = scores(content)
    return np.asarray(by_class[classes])


def indicators(numbers: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Return which components, and which pairs of them, each method has: a row of 0 and 1."""
    places = np.unravel_index(numbers, sizes)
    columns = [(place, size) for place, size in zip(places, sizes, strict=True)]
    for (a, n), (b, m) in itertools.combinations(columns.copy(), 2):
        columns.append((a * m + b, n * m))
    return np.hstack([np.eye(size, dtype=np.float32)[place] for place, size in columns])


def fit(x: np.ndarray, y: np.ndarray, weights: np.ndarray, ridge: float) -> np.ndarray:
    """Return the coefficients of a weighted ridge regression."""
    weighted = x * weights[:, None]
    return np.asarray(np.linalg.solve(x.T @ weighted + ridge * np.eye(x.shape[1]), weighted.T @ y))


def regression(
    replays: np.ndarray, runs: np.ndarray, sizes: tuple[int, ...]
) -> tuple[np.ndarray, float]:
    """Return estimates of all methods, and the correlation of estimates with left-out methods.

    A method's mean score, relative to the means of its problems, is regressed on its components
    and pairs of them. The penalty is chosen by cross-validation over methods that differ.
    """
    measured = np.flatnonzero(~np.isnan(runs).all(axis=1))
    y = np.nanmean(runs[measured] - np.nanmean(runs, axis=0), axis=1)
    _, classes, counts = np.unique(
        equal_methods(replays)[measured], return_inverse=True, return_counts=True
    )
    weights = 1.0 / counts[classes]
    folds = np.random.default_rng(4).integers(5, size=len(counts))[classes]
    x = indicators(measured, sizes)
    held_out = {}
    for ridge in (1.0, 3.0, 10.0, 30.0, 100.0):
        estimates = np.empty(len(y))
        for fold in range(5):
            train = folds != fold
            coefficients = fit(x[train], y[train], weights[train], ridge)
            estimates[~train] = x[~train] @ coefficients
        held_out[ridge] = estimates
    errors = {r: np.average((y - e) ** 2, weights=weights) for r, e in held_out.items()}
    ridge = min(errors, key=errors.__getitem__)
    every = indicators(np.arange(len(runs)), sizes)
    estimates = every @ fit(x, y, weights, ridge) + np.nanmean(runs)
    covariance = np.cov(held_out[ridge], y, aweights=weights)
    agreement = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    return estimates, float(agreement)


def spread(method_map: MethodMap) -> list[dict[str, object]]:
    """Return the mean of the methods' scores, their true deviation, and the share above 0.5.

    The runs of a method on different problems are independent but for the method, so their
    covariance is the variance of the methods; the share assumes a normal distribution. Methods that
    share their runs count once. Intervals are by a jackknife over problems.
    """
    _, first = np.unique(equal_methods(method_map.replays), return_index=True)
    values = method_map.runs[first]
    P = values.shape[1]

    def summary(columns: np.ndarray) -> np.ndarray:
        chosen = values[:, columns]
        own = relative(chosen)
        n, sums = (~np.isnan(own)).sum(axis=1), np.nansum(own, axis=1)
        products = (sums**2 - np.nansum(own**2, axis=1)).sum() / (n * (n - 1)).sum()
        mean, deviation = np.nanmean(chosen, axis=0).mean(), np.sqrt(max(1e-6, products))
        return np.array([mean, deviation, (mean - 0.5) / deviation])

    every = summary(np.arange(P))
    without = [summary(np.delete(np.arange(P), k)) for k in range(P)]
    half = stats.t.ppf(0.975, P - 1) * np.std(without, axis=0) * np.sqrt(P - 1)
    limits = np.array([every, every - half, every + half])
    limits[:, 2] = stats.norm.cdf(limits[:, 2])
    quantities = ("mean", "deviation of the methods", "share above 0.5")
    return [
        {"quantity": name, "value": f"{value:.4f}", "low": f"{max(0, low):.4f}",
         "high": f"{high:.4f}"}
        for name, (value, low, high) in zip(quantities, limits.T, strict=True)
    ]  # fmt: skip


def error_of_estimates(method_map: MethodMap, deviation: float, agreement: float) -> float:
    """Return the standard error of expected scores: what they leave of the methods' deviation.

    Both are known by the methods' own means, whose reliability is the share of their variance that
    is not noise.
    """
    _, first = np.unique(equal_methods(method_map.replays), return_index=True)
    means = np.nanmean(relative(method_map.runs[first]), axis=1)
    reliability = deviation**2 / means.var()
    return float(deviation * np.sqrt(max(0.0, 1 - agreement**2 / reliability)))


def regression_to_the_mean(folder: Path) -> list[dict[str, object]]:
    """Return the mean score of each round's survivors when they were chosen, and afterwards."""
    rows: list[dict[str, object]] = []
    contents = [read_round(folder / f"round-{number}.db") for number in range(1, len(ROUNDS) + 1)]
    for number, content in enumerate(contents, start=1):
        values = np.nanmean(scores(content), axis=1)
        row: dict[str, object] = {
            "round": number, "methods": len(values), "runs": ROUNDS[number - 1].runs,
            "mean": f"{values.mean():.4f}", "seconds": f"{float(content['seconds']):.0f}",
        }  # fmt: skip
        following = contents[number]["methods"] if number < len(contents) else None
        chosen = (
            np.isin(content["methods"], following)
            if following is not None
            else np.isin(content["methods"], survivors(folder, number, WINNERS))
        )
        rows.append(row | {"of those chosen": f"{values[chosen].mean():.4f}"})
    return rows


def published(method_map: MethodMap) -> list[dict[str, object]]:
    """Return what real runs let expect of published methods, and of exchanging a component.

    The methods have the components of the publications, and default hyper-parameters. The column
    of a family has what the best of its components would add.
    """
    rows: list[dict[str, object]] = []
    for name, method in literature().items():
        number = method_map.number(method)
        expected, best = method_map.estimates[number], method_map.exchanges(number)
        family = max(best, key=lambda one: best[one][1])
        rows.append({"method": name, "expected": f"{expected:.3f}",
                     **{one: f"{after - expected:.3f}" for one, (_, after) in best.items()},
                     "exchange": f"{family}: {best[family][0]}",
                     "after it": f"{best[family][1]:.3f}"})  # fmt: skip
    return rows


def save(folder: Path, out: Path) -> None:
    """Write the best methods, the published and the tuned ones, all in the recorded algorithm.

    The three best are also written with the pool and the settings of `mix`.
    """
    numbers = survivors(folder, len(ROUNDS), WINNERS)
    best = {f"real-{n}": load_map().method(int(k)) for n, k in enumerate(numbers, start=1)}
    write("map-winners", [
        {"method": f"real-{n}", "components": " / ".join(load_map().names(int(k)))}
        for n, k in enumerate(numbers, start=1)
    ])  # fmt: skip
    tuned = {f"{name}-method": uaos.configuration(name).method for name in TUNED}
    uniform = {"uniform": uaos.method("uniform")}
    host = dataclasses.replace(uaos.configuration("uniform").settings, NP=NP)
    for name, method in {**uniform, **best, **literature(), **tuned}.items():
        uaos.Configuration(name, method, host).to_toml(out / f"{name}.toml")
    mix = uaos.configuration("mix").settings
    for name in ("real-1", "real-2", "real-3"):
        uaos.Configuration(f"mix-{name}", best[name], mix).to_toml(out / f"mix-{name}.toml")


def confirm(store: Path) -> None:
    """Write how often groups of methods are better than uniform choice on fresh instances.

    Runs are compared by their final error, or by the evaluations if both solve the problem. The
    interval is a bootstrap over functions.
    """
    with Store.open(store) as opened:
        runs = opened.outcomes()
    ends: dict[tuple[str, str, int | None], list[tuple[float, int]]] = {}
    for one in runs:
        end = (one.error if one.error > PRECISION else 0.0, one.evaluations)
        ends.setdefault((one.method, one.function, one.instance), []).append(end)
    names = sorted({one.method for one in runs} - {"uniform"})
    groups: dict[str, list[str]] = {
        "best of the rounds": [name for name in names if name.startswith("real-")],
        "published": [name for name in names if name in literature()],
        "tuned": [name for name in names if name.endswith("-method")],
    }
    functions = sorted({one.function for one in runs})
    instances = sorted({one.instance for one in runs})

    def share(own: list[str], function: str) -> float:
        pairs = [
            pair
            for name in own
            for i in instances
            for pair in itertools.product(ends[name, function, i], ends["uniform", function, i])
        ]
        return float(np.mean([(a < b) + (a == b) / 2 for a, b in pairs]))

    shares = {
        group: np.array([share(own, function) for function in functions])
        for group, own in groups.items()
        if own
    }
    shares["best of the rounds less published"] = shares["best of the rounds"] - shares["published"]
    drawn = np.random.default_rng(8).integers(len(functions), size=(2000, len(functions)))
    rows: list[dict[str, object]] = []
    for group, values in shares.items():
        low, high = np.quantile(values[drawn].mean(axis=1), (0.025, 0.975))
        rows.append({"group": group, "methods": len(groups.get(group, ())) or "",
                     "share": f"{values.mean():.4f}", "low": f"{low:.4f}",
                     "high": f"{high:.4f}"})  # fmt: skip
    write("map-final-groups", rows)


def describe(folder: Path | None) -> None:
    """Write what the first round says, and with a folder, what the other rounds say."""
    method_map = load_map()
    if folder is not None:
        write("map-rounds", regression_to_the_mean(folder))
    write("map-published", published(method_map))
    estimates, agreement = regression(method_map.replays, method_map.runs, method_map.shape)
    replays, rows = method_map.replays.mean(axis=1), spread(method_map)
    error = error_of_estimates(method_map, float(str(rows[1]["value"])), agreement)
    write("map-run-spread", [
        *rows,
        {"quantity": "standard error of expected scores", "value": f"{error:.4f}"},
        {"quantity": "correlation with methods left out", "value": f"{agreement:.4f}"},
        {"quantity": "rank correlation with replays",
         "value": f"{stats.spearmanr(estimates, replays).statistic:.4f}"},
    ])  # fmt: skip


def main() -> None:
    """Run the command that the arguments name."""
    match sys.argv[1:]:
        case ["sample", folder]:
            method_map = load_map()
            for this in SAMPLES:
                numbers = sample(method_map.replays, this.methods)
                methods = {int(k): method_map.method(int(k)) for k in numbers}
                complete(Path(folder) / f"sample-{this.budget}.db", this, methods)
        case ["round", number, folder, *dask]:
            method_map = load_map()
            this = ROUNDS[int(number) - 1]
            numbers = (
                sample(method_map.replays, this.methods)
                if this.number == 1
                else survivors(Path(folder), this.number - 1, this.methods)
            )
            methods = {int(k): method_map.method(int(k)) for k in numbers}
            complete(Path(folder) / f"round-{number}.db", this, methods, *dask)
        case ["save", folder, out]:
            save(Path(folder), Path(out))
        case ["confirm", store]:
            confirm(Path(store))
        case ["describe", *folder] if len(folder) < 2:
            describe(Path(folder[0]) if folder else None)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
