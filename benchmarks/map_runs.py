"""Run every combination of the five components in differential evolution, by successive halving.

    python benchmarks/map_runs.py round 1 FOLDER     a random sample of the methods, two runs each
    python benchmarks/map_runs.py round 2 FOLDER     the best of round 1, on more problems
    python benchmarks/map_runs.py round 3 FOLDER     the best of round 2, on all functions, longer
    python benchmarks/map_runs.py describe FOLDER    data files of docs/results
    python benchmarks/map_runs.py save FOLDER OUT    the best 20, published and tuned ones as TOML
    python benchmarks/map_runs.py confirm STORE      their runs on fresh instances, by groups

The algorithm is that of the recorded runs `nine`: the paper's nine strategies, F = 0.5, CR = 0.9,
population 50, BBOB in 10-D. Methods that made the same choices in every replay of the first layer
(`map.npz`) are run once. FOLDER/round-N.npz holds the logarithm of each run's final error; the
same command continues it. The score of a run is the share of runs with uniform choice, on the same
problem, that end with a larger error: 0.5 is as good as uniform choice.
"""

import dataclasses
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from map import literature, write
from scipy import stats

import uaos
from uaos.experiments import Store
from uaos.problems import Problem
from uaos.scenarios import MethodMap, load_map
from uaos.selection.components import FAMILIES

DIMENSION, NP = 10, 50
#: Errors below this are 0 for COCO.
PRECISION = 1e-8
# Seconds between two saves.
INTERVAL = 20.0


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

        All combinations of `runs` problems are equally frequent, whatever the components.
        """
        problems = len(self.functions)
        combinations = list(itertools.combinations(range(problems), self.runs))
        order = np.random.default_rng(1).permutation(n_methods)
        assigned = np.zeros((n_methods, problems), bool)
        for place, method in enumerate(order):
            assigned[method, combinations[place % len(combinations)]] = True
        return assigned


#: Some functions of every group, then all of them; another instance in every round.
SOME, ALL = (3, 6, 8, 10, 13, 15, 17, 21), tuple(range(1, 25))
ROUNDS = (
    Round(1, SOME, instance=3, budget=500, runs=2, references=100, methods=1500),
    Round(2, SOME, instance=4, budget=500, runs=8, references=100, methods=200),
    Round(3, ALL, instance=5, budget=1000, runs=24, references=40, methods=40),
)


#: Methods of the last round that are confirmed on fresh instances.
WINNERS = 20
#: Configurations whose methods were tuned.
TUNED = ("U-AOS-FW", "RecPM-tuned", "PM-AdapSS-tuned", "F-AUC-MAB-tuned", "Compass-tuned", "mix")


def final_error(
    method: uaos.Method, problem: Problem, budget: int, seed: int, algorithm: str = "uniform"
) -> float:
    """Return the logarithm of the error that a run with an algorithm's operators ends with."""
    host = dataclasses.replace(uaos.configuration(algorithm).settings, NP=NP)
    run = uaos.Configuration("map", method, host).build(
        problem.bounds, seed=seed, history=False, budget=budget
    )
    best = np.inf
    while run.evaluations < budget:
        values = problem.evaluate(run.ask())
        best = min(best, float(values.min()))
        run.tell(values)
    assert problem.optimum is not None
    return float(np.log10(max(best - problem.optimum, PRECISION)))


def complete(
    file: Path, this: Round, methods: np.ndarray, method: Callable[[int], uaos.Method]
) -> None:
    """Make the runs of a round that are missing in its file."""
    problems = this.problems()
    content = {
        "methods": methods,
        "errors": np.full((len(methods), len(problems)), np.nan, np.float32),
        "references": np.full((this.references, len(problems)), np.nan, np.float32),
        "seconds": np.zeros(()),
    }
    if file.exists():
        with np.load(file) as saved:
            content = dict(saved)
    uniform = [uaos.method("uniform")] * this.references
    planned = np.ones((this.references, len(problems)), bool)
    tables = (
        ("references", uniform, range(10**6, 10**6 + this.references), planned),
        ("errors", list(map(method, methods)), methods, this.assignment(len(methods))),
    )
    for table, chosen, seeds, assigned in tables:
        missing = np.argwhere(np.isnan(content[table]) & assigned)
        np.random.default_rng(2).shuffle(missing)
        begin, saved_at = time.process_time(), time.monotonic()
        for done, (row, column) in enumerate(missing, start=1):
            content[table][row, column] = final_error(
                chosen[row],
                problems[column],
                this.budget * DIMENSION,
                this.number * 10**8 + 24 * int(seeds[row]) + int(column),
            )
            if time.monotonic() - saved_at > INTERVAL or done == len(missing):
                now = time.process_time()
                content["seconds"] = content["seconds"] + (now - begin)
                begin, saved_at = now, time.monotonic()
                temporary = file.with_suffix(".part.npz")
                np.savez_compressed(temporary, **content)
                temporary.replace(file)
                print(f"round {this.number}, {table}: {done} of {len(missing)}, "
                      f"{float(content['seconds']):.0f} s", flush=True)  # fmt: skip


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
    """Return the `n` methods of a round with the best mean score over all runs so far."""
    total: dict[int, list[float]] = {}
    for earlier in range(1, number + 1):
        with np.load(folder / f"round-{earlier}.npz") as saved:
            content = dict(saved)
        for k, row in zip(content["methods"], scores(content), strict=True):
            total.setdefault(int(k), []).extend(row[~np.isnan(row)])
    remaining = content["methods"]
    means = np.array([np.mean(total[int(k)]) for k in remaining])
    return np.asarray(remaining[np.argsort(-means, kind="stable")][:n])


def load_round(folder: Path, number: int) -> dict[str, np.ndarray]:
    """Return the content of a round's file."""
    with np.load(folder / f"round-{number}.npz") as saved:
        return dict(saved)


# What the runs say


def equal_methods(replays: np.ndarray) -> np.ndarray:
    """Return the number of each method's class: methods with equal replays share one."""
    _, classes = np.unique(replays, axis=0, return_inverse=True)
    return np.asarray(classes).ravel()


def first_runs(replays: np.ndarray, folder: Path) -> np.ndarray:
    """Return the scores of round 1, (all methods, problems); NaN where there is no run.

    Methods with equal replays share the runs of one of them.
    """
    content, classes = load_round(folder, 1), equal_methods(replays)
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


def component_means(method_map: MethodMap) -> tuple[np.ndarray, np.ndarray]:
    """Return the effect of each component in the runs of round 1, and 500 bootstrap replicates.

    The effect is the mean score of the runs with the component, less the mean of all runs on the
    same problem. A replicate draws methods and problems.
    """
    runs = method_map.runs - np.nanmean(method_map.runs, axis=0)
    places = np.unravel_index(np.arange(len(runs)), method_map.shape)
    levels = np.concatenate([
        place + start
        for place, start in zip(places, np.cumsum((0, *method_map.shape[:-1])), strict=True)
    ]).reshape(len(FAMILIES), -1)  # fmt: skip
    measured = np.flatnonzero(~np.isnan(runs).all(axis=1))
    runs, levels = runs[measured], levels[:, measured]
    _, classes = np.unique(equal_methods(method_map.replays)[measured], return_inverse=True)
    n, P, total = classes.max() + 1, runs.shape[1], sum(method_map.shape)

    def means(repeats: np.ndarray, problems: np.ndarray) -> np.ndarray:
        weights = repeats[classes]  # equal methods are drawn together
        part = runs[:, problems]
        sums, counts = weights * np.nansum(part, axis=1), weights * (~np.isnan(part)).sum(axis=1)
        top, bottom = (
            sum(np.bincount(row, weights=values, minlength=total) for row in levels)
            for values in (sums, counts)
        )
        return np.asarray(top / np.maximum(bottom, 1) - sums.sum() / counts.sum())

    rng = np.random.default_rng(5)
    drawn = ((rng.multinomial(n, np.full(n, 1 / n)), rng.integers(P, size=P)) for _ in range(500))
    return means(np.ones(n), np.arange(P)), np.array([means(*chosen) for chosen in drawn])


def effects(method_map: MethodMap) -> list[dict[str, object]]:
    """Return the effect of each component with a 95 % interval, and that of cautious selection."""
    values, replicates = component_means(method_map)
    names = [(family, name) for family, own in method_map.components.items() for name in own]
    cautious, greedy = (
        [names.index(("selection", name)) for name in own]
        for own in (("proportional", "shares"), ("greedy", "epsilon_greedy"))
    )
    contrast = np.zeros(len(names))
    contrast[cautious], contrast[greedy] = 0.5, -0.5
    names.append(("contrast", "proportional and shares less greedy and epsilon_greedy"))
    values = np.append(values, values @ contrast)
    replicates = np.column_stack([replicates, replicates @ contrast])
    low, high = np.quantile(replicates, (0.025, 0.975), axis=0)
    return [
        {"family": family, "component": name, "effect": f"{values[k]:.4f}",
         "low": f"{low[k]:.4f}", "high": f"{high[k]:.4f}"}
        for k, (family, name) in enumerate(names)
    ]  # fmt: skip


def spread(folder: Path) -> list[dict[str, object]]:
    """Return the mean of the methods' scores, their true deviation, and the share above 0.5.

    The two runs of a method are independent but for the method, so their covariance is the variance
    of the methods; the share assumes a normal distribution. Intervals are a bootstrap over methods.
    """
    values = scores(load_round(folder, 1))
    values = values - np.nanmean(values, axis=0) + np.nanmean(values)
    pairs = np.array([row[~np.isnan(row)] for row in values])

    def summary(chosen: np.ndarray) -> tuple[float, float, float]:
        mean = float(chosen.mean())
        deviation = float(np.sqrt(max(1e-12, np.cov(chosen.T)[0, 1])))
        return mean, deviation, float(stats.norm.sf(0.5, mean, deviation))

    rng = np.random.default_rng(6)
    replicates = [summary(pairs[rng.integers(len(pairs), size=len(pairs))]) for _ in range(500)]
    low, high = np.quantile(replicates, (0.025, 0.975), axis=0)
    quantities = ("mean", "deviation of the methods", "share above 0.5")
    return [
        {"quantity": name, "value": f"{value:.4f}", "low": f"{a:.4f}", "high": f"{b:.4f}"}
        for name, value, a, b in zip(quantities, summary(pairs), low, high, strict=True)
    ]


def regression_to_the_mean(folder: Path) -> list[dict[str, object]]:
    """Return the mean score of each round's survivors when they were chosen, and afterwards."""
    rows: list[dict[str, object]] = []
    contents = [load_round(folder, number) for number in range(1, len(ROUNDS) + 1)]
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
    """Return what real runs let expect of published methods, and the best exchange of a component.

    The methods have the components of the publications, and default hyper-parameters.
    """
    expected = method_map.estimates.reshape(method_map.shape)
    rows: list[dict[str, object]] = []
    for name, method in literature().items():
        place = np.unravel_index(method_map.number(method), method_map.shape)
        exchanges = {
            f"{family}: {other}": expected[(*place[:f], k, *place[f + 1 :])]
            for f, (family, others) in enumerate(method_map.components.items())
            for k, other in enumerate(others)
        }
        best = max(exchanges, key=exchanges.__getitem__)
        rows.append({"method": name, "expected": f"{expected[place]:.3f}", "exchange": best,
                     "after it": f"{exchanges[best]:.3f}"})  # fmt: skip
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
    ends = {
        (run.method, run.function, run.instance): (run.error, run.evaluations)
        if run.error > PRECISION
        else (0.0, run.evaluations)
        for run in runs
    }
    names = sorted({run.method for run in runs} - {"uniform"})
    groups: dict[str, list[str]] = {
        "best of the rounds": [name for name in names if name.startswith("real-")],
        "published": [name for name in names if name in literature()],
        "tuned": [name for name in names if name.endswith("-method")],
        "seeing the state": [name for name in names if name.startswith(("state-", "q-"))],
    }
    functions = sorted({run.function for run in runs})
    instances = sorted({run.instance for run in runs})

    def share(own: list[str], function: str) -> float:
        pairs = [
            (ends[name, function, i], ends["uniform", function, i])
            for name in own
            for i in instances
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


def describe(folder: Path) -> None:
    """Write what the rounds say."""
    method_map = load_map()
    write("map-run-effects", effects(method_map))
    write("map-rounds", regression_to_the_mean(folder))
    write("map-published", published(method_map))
    estimates, agreement = regression(method_map.replays, method_map.runs, method_map.shape)
    replays = method_map.replays.mean(axis=1)
    write("map-run-spread", [
        *spread(folder),
        {"quantity": "correlation with methods left out", "value": f"{agreement:.4f}"},
        {"quantity": "rank correlation with replays",
         "value": f"{stats.spearmanr(estimates, replays).statistic:.4f}"},
    ])  # fmt: skip


def main() -> None:
    """Run the command that the arguments name."""
    match sys.argv[1:]:
        case ["round", number, folder]:
            method_map = load_map()
            this = ROUNDS[int(number) - 1]
            methods = (
                sample(method_map.replays, this.methods)
                if this.number == 1
                else survivors(Path(folder), this.number - 1, this.methods)
            )
            complete(Path(folder) / f"round-{number}.npz", this, methods, method_map.method)
        case ["save", folder, out]:
            save(Path(folder), Path(out))
        case ["confirm", store]:
            confirm(Path(store))
        case ["describe", folder]:
            describe(Path(folder))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
