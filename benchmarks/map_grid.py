"""Run a coarse grid of the map's methods in further hosts: NSGA-II, and a portfolio (simulated).

    python benchmarks/map_grid.py record members.db     runs of the members, by `uaos bench`
    python benchmarks/map_grid.py run nsga2 FILE        real runs (needs pymoo)
    python benchmarks/map_grid.py run portfolio FILE members.db
    python benchmarks/map_grid.py describe FILE ...     docs/results/data/map-grid.csv
    python benchmarks/map_grid.py settings              docs/results/data/map-settings.csv

FILE (.csv) gets a row per run: host, problem, number of the method on the map (-1 is uniform
choice, -2 the portfolio's own method), seed, and value, the smaller the better. The same command
continues it. The value is minus the hypervolume in NSGA-II; in the portfolio it is the mean over
COCO's targets of the logarithm of the evaluations that it took, ten times the budget for a target
that was missed. The score of a run is the share of runs with uniform choice on the same problem
that end with a larger value. `settings` replays methods with other hyper-parameters.
"""

import csv
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from map import write
from scipy import stats

import uaos
from uaos.errors import UaosError
from uaos.params import parameters
from uaos.problems.variables import Variable
from uaos.scenarios import load_map, traces
from uaos.selection.components import FAMILIES

#: Methods of the grid, drawn evenly over the selections, and runs with uniform choice per problem.
METHODS, UNIFORM_RUNS = 56, 15
#: Methods of the upper half that are replayed with other hyper-parameters, and settings of each.
REDRAWN, SETTINGS = 100, 3
UNIFORM, LEADER = -1, -2
#: Operators of the recorded runs; the floor of probabilities is below 1 / OPERATORS.
OPERATORS = 9
ZDT = ("zdt1", "zdt2", "zdt3", "zdt6")
POPULATION, GENERATIONS = 40, 40
MEMBERS = ("BFGS", "CMA-ES", "mix", "STEP")
CAUTIOUS, GREEDY = ("proportional", "shares"), ("greedy", "epsilon_greedy")


def grid() -> list[int]:
    """Return the numbers of the methods: the same number with each selection, drawn at random."""
    scores = load_map()
    rng = np.random.default_rng(11)
    numbers = np.arange(len(scores)).reshape(scores.shape)
    count = METHODS // scores.shape[-1]
    drawn = [rng.choice(numbers[..., k].ravel(), count, replace=False)
             for k in range(scores.shape[-1])]  # fmt: skip
    return [int(number) for number in np.concatenate(drawn)]


def jobs(host: str, problems: list[str]) -> Iterator[tuple[str, int, int]]:
    """Return problems, methods and seeds: runs with uniform choice first."""
    if host == "portfolio":
        yield from ((problem, LEADER, 99) for problem in problems)
    for problem in problems:
        yield from ((problem, UNIFORM, seed) for seed in range(1, UNIFORM_RUNS + 1))
    for number in grid():
        yield from ((problem, number, 100 + k) for k, problem in enumerate(problems))


def method_of(number: int) -> uaos.Method | None:
    """Return a method of the map, uniform choice, or None for the portfolio's own."""
    if number == LEADER:
        return None
    return uaos.method("uniform") if number == UNIFORM else load_map().method(number)


def nsga2(problem: str, method: uaos.Method, seed: int) -> float:
    """Return minus the hypervolume that NSGA-II reaches."""
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.indicators.hv import HV
    from pymoo.optimize import minimize
    from pymoo.problems import get_problem

    from uaos.adapters.pymoo import adaptive, real_operators

    algorithm = adaptive(NSGA2(pop_size=POPULATION), method=method,
                         budget=POPULATION * GENERATIONS, **real_operators())  # fmt: skip
    result = minimize(get_problem(problem, n_var=10), algorithm, ("n_gen", GENERATIONS), seed=seed)
    return -float(HV(ref_point=np.array([2.0, 8.0]))(result.F))


def portfolio(store: str) -> tuple[list[str], Callable[[str, uaos.Method | None, int], float]]:
    """Return the problems of a store, and what simulates a portfolio of its members."""
    from uaos.tuning import Recordings, simulate

    recordings = Recordings(store, MEMBERS)

    def value(problem: str, method: uaos.Method | None, seed: int) -> float:
        runs = recordings.runs(problem)
        outcome = simulate(method, recordings.members, runs, seed=seed)
        hits = np.where(outcome.hits > 0, outcome.hits, 10 * outcome.budget)
        return float(np.log10(hits).mean())

    return [problem.name for problem in recordings.suite], value


def run(host: str, file: Path, problems: list[str], value: Callable[..., float]) -> None:
    """Make the runs that are missing in a file."""
    done = set()
    if file.exists():
        with file.open(encoding="utf-8") as lines:
            done = {(r["problem"], int(r["method"]), int(r["seed"])) for r in csv.DictReader(lines)}
    with file.open("a", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        if not done:
            writer.writerow(["host", "problem", "method", "seed", "value"])
        for problem, number, seed in jobs(host, problems):
            if (problem, number, seed) not in done:
                made = value(problem, method_of(number), seed)
                writer.writerow([host, problem, number, seed, repr(made)])
                out.flush()


def scores_of(rows: list[dict[str, str]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the methods of a host, and their scores by problem."""
    uniform, own = defaultdict(list), defaultdict(dict)
    for row in rows:
        number, value = int(row["method"]), float(row["value"])
        if number == UNIFORM:
            uniform[row["problem"]].append(value)
        else:
            own[number][row["problem"]] = value
    problems = list(uniform)
    complete = [number for number, by in own.items() if len(by) == len(problems)]
    scores = []
    for number in complete:
        pairs = [(np.array(uniform[p]), own[number][p]) for p in problems]
        scores.append([np.mean((u > v) + 0.5 * (u == v)) for u, v in pairs])
    return np.array(complete), np.array(scores)


def describe(files: list[Path]) -> None:
    """Write how the methods do in each host, and whether the map knew."""
    rows = []
    for file in files:
        with file.open(encoding="utf-8") as lines:
            runs = list(csv.DictReader(lines))
        numbers, scores = scores_of(runs)
        leader = scores[numbers == LEADER]
        numbers, scores = numbers[numbers >= 0], scores[numbers >= 0]
        means, scale = scores.mean(axis=1), load_map()
        replayed = scale.replays[numbers].mean(axis=1)
        selections = np.array([scale.names(int(number))[-1] for number in numbers])
        rng = np.random.default_rng(1)
        differences = []
        for drawn in [
            np.arange(scores.shape[1]),
            *rng.integers(0, scores.shape[1], (999, scores.shape[1])),
        ]:
            cells = scores[:, drawn].mean(axis=1)
            groups = [cells[np.isin(selections, names)].mean() for names in (CAUTIOUS, GREEDY)]
            differences.append(groups[0] - groups[1])
        low, high = np.quantile(differences[1:], [0.025, 0.975])
        row = {
            "host": runs[0]["host"], "problems": scores.shape[1], "methods": len(numbers),
            "mean score": means.mean(), "better than uniform": (means > 0.5).mean(),
            "best": means.max(), "own method": leader.mean() if len(leader) else "",
            "cautious less greedy": differences[0], "from": low, "to": high,
            "rank correlation, replays": stats.spearmanr(means, replayed)[0],
            "rank correlation, real runs": stats.spearmanr(means, scale.estimates[numbers])[0],
        }  # fmt: skip
        rows.append({k: f"{v:.3f}" if isinstance(v, float) else v for k, v in row.items()})
        print(rows[-1])
    write("map-grid", rows)


def redrawn(method: uaos.Method, rng: np.random.Generator) -> uaos.Method:
    """Return a method with hyper-parameters drawn from the ranges that a tuner searches."""
    content = method.to_dict()
    while True:
        for family in FAMILIES:
            for name, domain in parameters(type(getattr(method, family))).items():
                if getattr(domain, "tuned", False):
                    content[family][name] = Variable(name, domain).uniform(rng)
        content["probability"].update(
            {name: value / OPERATORS for name, value in content["probability"].items()
             if name == "p_min"}
        )  # fmt: skip
        with suppress(UaosError):  # values that do not fit together are drawn again
            drawn = uaos.Method.from_dict(content)
            drawn.selector(OPERATORS, budget=OPERATORS)
            return drawn


def settings() -> None:
    """Replay methods of the upper half of the map with other hyper-parameters."""
    scale = load_map()
    runs = [trace for trace in traces.load("nine", (1,)) if trace.name in scale.replayed]
    means = scale.replays.mean(axis=1)
    rng = np.random.default_rng(12)
    chosen = rng.choice(np.flatnonzero(means > np.median(means)), REDRAWN, replace=False)
    scores = np.array([
        [means[number], *(traces.score(redrawn(scale.method(int(number)), rng), runs).mean()
                          for _ in range(SETTINGS))]
        for number in chosen
    ])  # fmt: skip
    changed = scores[:, 1:]
    within = changed.var(axis=1, ddof=1).mean()
    between = max(changed.mean(axis=1).var(ddof=1) - within / SETTINGS, 0.0)
    rows = {
        "methods": REDRAWN, "settings of each": SETTINGS,
        "mean score with defaults": scores[:, 0].mean(),
        "mean score with drawn settings": changed.mean(),
        "standard deviation between settings of a method": np.sqrt(within),
        "standard deviation between methods": np.sqrt(between),
        "methods of which one of the drawn settings is better":
            (changed > scores[:, :1]).any(axis=1).mean(),
        "rank correlation of defaults with means of drawn settings":
            stats.spearmanr(scores[:, 0], changed.mean(axis=1))[0],
    }  # fmt: skip
    write("map-settings", [{"quantity": q, "value": f"{v:.3f}" if isinstance(v, float) else v}
                           for q, v in rows.items()])  # fmt: skip
    print(rows)


def main() -> None:
    """Run the command that the arguments name."""
    match sys.argv[1:]:
        case ["record", store]:
            subprocess.run([
                sys.executable, "-m", "uaos", "bench", store, "--methods", ",".join(MEMBERS),
                "--without-uniform", "--dim", "5", "--instances", "3", "--budget", "1000D",
                "--jobs", "1",
            ], check=True)  # fmt: skip
        case ["run", "nsga2", file]:
            run("nsga2", Path(file), list(ZDT), nsga2)
        case ["run", "portfolio", file, store]:
            run("portfolio", Path(file), *portfolio(store))
        case ["settings"]:
            settings()
        case ["describe", *files] if files:
            describe([Path(file) for file in files])
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
