"""Run a coarse grid of the map's methods in further hosts.

    python benchmarks/map_grid.py run nine FILE         differential evolution, as in map_runs.py
    python benchmarks/map_grid.py run mix FILE          the same with the operators of `mix`
    python benchmarks/map_grid.py run wide FILE         with 27 operators: strategy, F and CR
    python benchmarks/map_grid.py run alns FILE         large neighborhood search (needs alns)
    python benchmarks/map_grid.py run nsga2 FILE        NSGA-II (needs pymoo)
    python benchmarks/map_grid.py record members.db     runs of a portfolio's members
    python benchmarks/map_grid.py run portfolio FILE members.db     a portfolio, simulated
    python benchmarks/map_grid.py alone HOST FILE       one operator only (nine, mix, wide or alns)
    python benchmarks/map_grid.py describe FILE ...     docs/results/data/map-grid.csv

FILE (.csv) gets a row per run: host, problem, number of the method on the map (-1 is uniform
choice, -2 the portfolio's own method, -100 - k the operator k alone), seed, and value, the smaller
the better. The same command
continues it. The value is the logarithm of the final error in differential evolution, the
objective in large neighborhood search, and minus the hypervolume in NSGA-II; in the portfolio it is
the mean over COCO's targets of the logarithm of the evaluations that it took, ten times the budget
for a target that was missed. The score of a run is the share of runs with uniform choice on the
same problem that end with a larger value.
"""

import csv
import dataclasses
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from map import write
from scipy import stats

import uaos
from uaos.scenarios import load_map

#: Methods of the grid, drawn evenly over the selections, and runs with uniform choice per problem.
METHODS, UNIFORM_RUNS = 140, 60
UNIFORM, LEADER, ALONE = -1, -2, -100
#: Runs of each operator alone, per problem, and of uniform choice beside them.
ALONE_RUNS, BESIDE = 5, 40
#: Operators of the recorded runs; the floor of probabilities is below 1 / OPERATORS.
OPERATORS = 9
#: Operators of the wide pool.
WIDE = 27
ZDT = ("zdt1", "zdt2", "zdt3", "zdt6")
POPULATION, GENERATIONS = 40, 40
#: Instance and evaluations per dimension of the runs of differential evolution.
INSTANCE, BUDGET = 7, 500
#: Iterations of large neighborhood search, and of a generation of its methods.
ITERATIONS, SEGMENT = 1000, 25
MEMBERS = ("BFGS", "CMA-ES", "mix", "STEP")
CAUTIOUS, GREEDY = ("proportional", "shares"), ("greedy", "epsilon_greedy")
#: Hosts that ask for one operator at a time, where `shares` always gives the largest share.
SINGLE = ("alns",)


def grid() -> list[int]:
    """Return the numbers of the methods: the same number with each selection, drawn at random."""
    scores = load_map()
    rng = np.random.default_rng(11)
    numbers = np.arange(len(scores)).reshape(scores.shape)
    count = METHODS // scores.shape[-1]
    drawn = [rng.choice(numbers[..., k].ravel(), count, replace=False)
             for k in range(scores.shape[-1])]  # fmt: skip
    return [int(number) for number in np.concatenate(drawn)]


@uaos.register
class Only(uaos.Selection):
    """Always the same operator."""

    unapplied_first: ClassVar[bool] = False
    operator: int = uaos.integer(0, 99, default=0, tuned=False, doc="number of the operator")

    def compute(self, probabilities, draws, progress):  # type: ignore[no-untyped-def]
        """Return this operator for every parent."""
        return np.full(len(draws.pick), self.operator)


def jobs(host: str, problems: list[str]) -> Iterator[tuple[str, int, int]]:
    """Return problems, methods and seeds: runs with uniform choice first."""
    if host == "portfolio":
        yield from ((problem, LEADER, 99) for problem in problems)
    for problem in problems:
        yield from ((problem, UNIFORM, seed) for seed in range(1, UNIFORM_RUNS + 1))
    for number in grid():
        yield from (
            (problem, number, 100 + len(problems) * number + k)
            for k, problem in enumerate(problems)
        )


def method_of(number: int) -> uaos.Method | None:
    """Return a method of the map, uniform choice, or None for the portfolio's own."""
    if number == LEADER:
        return None
    if number <= ALONE:
        return uaos.Method(selection={"name": "only", "operator": ALONE - number})
    return uaos.method("uniform") if number == UNIFORM else load_map().method(number)


def evolution(host: str) -> tuple[list[str], Callable[[str, uaos.Method, int], float]]:
    """Return the problems of differential evolution, and what runs it with a pool."""
    from map_hosts import wide
    from map_runs import DIMENSION, final_error

    suite = uaos.suite("bbob", dimension=DIMENSION, instances=str(INSTANCE))
    problems = {problem.name: problem for problem in suite}
    algorithm = wide() if host == "wide" else {"nine": "uniform", "mix": "mix"}[host]

    def value(problem: str, method: uaos.Method, seed: int) -> float:
        fitting = fitted(method, WIDE) if host == "wide" else method
        return final_error(fitting, problems[problem], BUDGET * DIMENSION, seed, algorithm)

    return list(problems), value


def fitted(method: uaos.Method, n_operators: int) -> uaos.Method:
    """Return a method with floors of probabilities for more operators than the paper's nine."""
    content = method.to_dict()
    own = content["probability"]
    if isinstance(own.get("p_min"), float):  # others are relative to the number of operators
        own["p_min"] *= OPERATORS / n_operators
    return uaos.Method.from_dict(content)


def alns() -> tuple[list[str], Callable[[str, uaos.Method, int], float]]:
    """Return the problems of large neighborhood search, and what runs it."""
    from map_hosts import alns_problems

    from uaos.adapters.alns import AdaptiveSelect

    problems = alns_problems()

    def value(problem: str, method: uaos.Method, seed: int) -> float:
        example = dataclasses.replace(problems[problem], iterations=ITERATIONS)
        return example.solve(
            lambda d, r: AdaptiveSelect(d, r, method=method, segment=SEGMENT, budget=ITERATIONS),
            seed,
        )

    return list(problems), value


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


def alone(host: str, problems: list[str]) -> Iterator[tuple[str, int, int]]:
    """Return problems, operators and seeds of runs with one operator, and with uniform choice."""
    from map_hosts import alns_problems

    examples = alns_problems() if host == "alns" else {}
    sizes = {"nine": OPERATORS, "mix": 7, "wide": WIDE}
    for problem in problems:
        K = len(examples[problem].pairs) if host == "alns" else sizes[host]
        yield from ((problem, UNIFORM, 10**6 + seed) for seed in range(BESIDE))
        yield from ((problem, ALONE - k, 10**7 + ALONE_RUNS * k + seed)
                    for k in range(K) for seed in range(ALONE_RUNS))  # fmt: skip


def run(
    host: str, file: Path, problems: list[str], value: Callable[..., float],
    chosen: Iterator[tuple[str, int, int]] | None = None,
) -> None:  # fmt: skip
    """Make the runs that are missing in a file."""
    done = set()
    if file.exists():
        with file.open(encoding="utf-8") as lines:
            done = {(r["problem"], int(r["method"]), int(r["seed"])) for r in csv.DictReader(lines)}
    with file.open("a", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        if not done:
            writer.writerow(["host", "problem", "method", "seed", "value"])
        for problem, number, seed in chosen or jobs(host, problems):
            if (problem, number, seed) not in done:
                made = value(problem, method_of(number), seed)
                writer.writerow([host, problem, number, seed, repr(made)])
                out.flush()


class Runs(NamedTuple):
    """The runs of a host."""

    host: str
    problems: tuple[str, ...]
    numbers: np.ndarray  # (methods,), numbers on the map
    values: np.ndarray  # (methods, problems)
    uniform: np.ndarray  # (runs, problems), with uniform choice

    def scores(self) -> np.ndarray:
        """Return the share of runs with uniform choice that are worse, (methods, problems)."""
        worse = (self.uniform > self.values[:, None]).mean(axis=1)
        return np.asarray(worse + (self.uniform == self.values[:, None]).mean(axis=1) / 2)

    def drawn(self, rng: np.random.Generator) -> "Runs":
        """Return a replicate with methods, problems and runs of uniform choice drawn."""
        (n, P), m = self.values.shape, len(self.uniform)
        methods, problems = rng.integers(n, size=n), rng.integers(P, size=P)
        references = self.uniform[rng.integers(m, size=m)]
        names = tuple(self.problems[k] for k in problems)
        return Runs(self.host, names, self.numbers[methods], self.values[methods][:, problems],
                    references[:, problems])  # fmt: skip


def read_runs(file: Path) -> Runs:
    """Return the runs of a file, of all methods that have one on each problem."""
    with file.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    uniform, own = defaultdict(list), defaultdict(dict)
    for row in rows:
        number, value = int(row["method"]), float(row["value"])
        if number == UNIFORM:
            uniform[row["problem"]].append(value)
        else:
            own[number][row["problem"]] = value
    complete = [number for number, by in own.items() if len(by) == len(uniform)]
    values = [[own[number][problem] for problem in uniform] for number in complete]
    return Runs(
        rows[0]["host"], tuple(uniform), np.array(complete), np.array(values),
        np.array(list(uniform.values())).T,
    )  # fmt: skip


def between(scores: np.ndarray) -> float:
    """Return the standard deviation of the methods' scores, without the noise of single runs.

    The variance of the methods is the mean covariance of their scores on two problems.
    """
    covariances = np.cov(scores.T)
    pairs = ~np.eye(len(covariances), dtype=bool)
    return float(np.sqrt(max(0.0, covariances[pairs].mean())))


def summary(runs: Runs) -> dict[str, float]:
    """Return what the runs of a host say, and the rank correlations with scores on the map."""
    scores = runs.scores()
    means, deviation = scores.mean(axis=1), between(scores)
    scale = load_map()
    selections = np.array([scale.names(int(number))[-1] for number in runs.numbers])
    cautious, greedy = (means[np.isin(selections, names)].mean() for names in (CAUTIOUS, GREEDY))
    return {
        "mean score": float(means.mean()), "deviation": deviation,
        "better than uniform": float(stats.norm.sf(0.5, means.mean(), max(deviation, 1e-6))),
        "cautious less greedy": float(cautious - greedy),
        "correlation, replays":
            float(stats.spearmanr(means, scale.replays[runs.numbers].mean(axis=1))[0]),
        "correlation, real runs": float(stats.spearmanr(means, scale.estimates[runs.numbers])[0]),
    }  # fmt: skip


def fitting(every: Runs) -> tuple[Runs, float]:
    """Return the runs of the map's methods that fit the host, and the mean score of `shares`."""
    by_shares = np.array(
        [n >= 0 and load_map().names(int(n))[-1] == "shares" for n in every.numbers]
    )
    own = (every.numbers >= 0) & ~(by_shares & (every.host in SINGLE))
    runs = every._replace(numbers=every.numbers[own], values=every.values[own])
    return runs, float(every.scores()[by_shares].mean())


def describe(files: list[Path]) -> None:
    """Write how the methods do in each host, and whether the map knew."""
    rows = []
    for file in files:
        every = read_runs(file)
        leader = every.scores()[every.numbers == LEADER]
        runs, by_shares = fitting(every)
        means, rng = runs.scores().mean(axis=1), np.random.default_rng(1)
        replicates = [summary(runs.drawn(rng)) for _ in range(500)]
        row: dict[str, object] = {
            "host": runs.host, "problems": runs.values.shape[1], "methods": len(runs.numbers),
        }  # fmt: skip
        for quantity, value in summary(runs).items():
            low, high = np.nanquantile([one[quantity] for one in replicates], (0.025, 0.975))
            row |= {quantity: value, f"{quantity}, from": low, f"{quantity}, to": high}
        row |= {
            "best": means.max(), "shares": by_shares,
            "own method": leader.mean() if len(leader) else "",
        }  # fmt: skip
        rows.append({k: f"{v:.3f}" if isinstance(v, float) else v for k, v in row.items()})
        print(rows[-1], flush=True)
    write("map-grid", rows)


def main() -> None:
    """Run the command that the arguments name."""
    match sys.argv[1:]:
        case ["record", store]:
            subprocess.run([
                sys.executable, "-m", "uaos", "bench", store, "--methods", ",".join(MEMBERS),
                "--without-uniform", "--dim", "5", "--instances", "3", "--budget", "1000D",
                "--jobs", "1",
            ], check=True)  # fmt: skip
        case ["run", ("nine" | "mix" | "wide") as host, file]:
            run(host, Path(file), *evolution(host))
        case ["alone", host, file]:
            problems, value = alns() if host == "alns" else evolution(host)
            run(host, Path(file), problems, value, alone(host, problems))
        case ["run", "alns", file]:
            run("alns", Path(file), *alns())
        case ["run", "nsga2", file]:
            run("nsga2", Path(file), list(ZDT), nsga2)
        case ["run", "portfolio", file, store]:
            run("portfolio", Path(file), *portfolio(store))
        case ["describe", *files] if files:
            describe([Path(file) for file in files])
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
