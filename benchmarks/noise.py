"""Noisy functions: the share of COCO's targets, other libraries, calibration, and credit.

    python benchmarks/noise.py coco noisy.csv --dim 5 --budget 1000 --instances 6-10
    python benchmarks/noise.py published cocopp/refalgs/best09-16-bbob-noisy published.csv
    python benchmarks/noise.py singles ppdata-archive/bbob-noisy singles.csv
    python benchmarks/noise.py detect detect.csv --dim 5 --budget 100 --instances 6-7
    python benchmarks/noise.py beside beside.csv --seeds 5 --budget 100
    python benchmarks/noise.py outside outside.csv --seeds 2 --budget 200
    python benchmarks/noise.py calibrate calibrate.csv --runs 1000 --budgets 300
    python benchmarks/noise.py skewed skewed.csv
    python benchmarks/noise.py credit credit.csv --repetitions 100
    python benchmarks/noise.py rewards rewards.csv --instances 1-5

`coco` runs `uaos.minimize` with its default method on bbob-noisy, logged by COCO's own observer:
what counts is the value without noise of the best point evaluated, as a share of the 51 targets
10², 10^1.8, …, 10^-8. `published` writes the same of the best published algorithm of each function,
from COCO's reference data, and `singles` of every published algorithm, from the figures of COCO's
archive. `detect` counts the evaluations of noiseless functions that are
spent on noticing noise, and compares the runs with and without it. `beside` compares the points
that libraries return on noisy versions of functions by their true values, `outside` on the
problems of `noise_problems.py`, or with `--choose` on those by which the default is chosen.
`calibrate` writes by how many standard errors estimates differ from true values, `skewed` how often
other intervals would cover them. `credit` compares
rewards in scenarios with and without noise, `rewards` in differential evolution on functions of
COCO.
"""

import argparse
import csv
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

import uaos
from uaos.runs.noise import PointEstimate

if TYPE_CHECKING:
    from noise_problems import NoisyProblem

TARGETS = 10.0 ** np.linspace(2, -8, 51)
COLUMNS = ("dimension", "budget", "function", "instance", "share")
DIMENSIONS, BUDGETS, FUNCTION_NUMBERS = (5, 10, 20), (100, 300, 1000, 10_000), range(101, 131)


# COCO


def run_coco(arguments: argparse.Namespace) -> None:
    """Run the default on bbob-noisy and append a row for each run that the file lacks."""
    done = _written(arguments.out, 4)
    with _appending(arguments.out, list(COLUMNS)) as (file, writer):
        for function in _numbers(arguments.functions):
            for instance in _numbers(arguments.instances):
                key = [arguments.dim, arguments.budget, function, instance]
                if tuple(map(str, key)) not in done:
                    writer.writerow([*key, f"{_share(arguments, function, instance):.4f}"])
                    file.flush()


def _numbers(ranges: str) -> list[int]:
    """Return the integers of ranges such as 1-3,5."""
    pairs = [[int(n) for n in part.split("-")] for part in ranges.split(",")]
    return [n for pair in pairs for n in range(pair[0], pair[-1] + 1)]


def _share(arguments: argparse.Namespace, function: int, instance: int) -> float:
    """Return the share of targets that a run on a problem of COCO reaches, by COCO's own log."""
    import cocoex

    options = f"dimensions:{arguments.dim} function_indices:{function - 100}"
    # A new suite begins its noise anew, so that a run does not depend on those before; evaluations
    # that are not logged take each run to another part of it.
    suite = cocoex.Suite("bbob-noisy", f"instances:{instance}", options)
    problem = suite.get_problem(0)
    for _ in range(101 * (30 * instance + function - 100)):
        problem(np.zeros(arguments.dim))
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        problem.observe_with(cocoex.Observer("bbob-noisy", "result_folder:uaos outer_folder:."))
        box = list(zip(problem.lower_bounds, problem.upper_bounds, strict=True))
        run_default(problem, box, arguments, 1000 * instance + function)
        problem.free()
        os.chdir(here)
        return logged_share(folder)


def run_default(
    problem: Callable[..., float],
    box: list[tuple[float, float]],
    arguments: argparse.Namespace,
    seed: int,
) -> None:
    """Run the default, or CMA-ES with a larger population if `--enlarged` is given."""
    method, noise = None, "auto"
    if arguments.enlarged is not None:
        settings = {"enlarged": arguments.enlarged, "restarts": "IPOP", "center": True}
        method, noise = uaos.Configuration("IPOP", optimizer="CMA-ES", settings=settings), False
    budget = arguments.budget * len(box)
    uaos.minimize(problem, box, method=method, budget=budget, seed=seed, noise=noise, history=False)


def logged_share(folder: str) -> float:
    """Return the share of targets reached by the best value that COCO logged without noise."""
    (path,) = Path(folder).rglob("data_f*/*.dat")
    lines = path.read_text(encoding="utf-8").splitlines()
    best = min(float(line.split()[2]) for line in lines if not line.startswith("%"))
    return float(np.mean(best <= TARGETS * (1 + 1e-9)))


def run_published(arguments: argparse.Namespace) -> None:
    """Write the shares of targets that the best published algorithm of each problem reaches.

    `folder` is `refalgs/best09-16-bbob-noisy` of the source distribution of cocopp. A target counts
    if its average running time, that of the best of 45 algorithms for it, is within the budget.
    """
    with open(arguments.out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([name for name in COLUMNS if name != "instance"])
        for dimension in DIMENSIONS:
            for function in FUNCTION_NUMBERS:
                path = Path(arguments.folder) / f"bbob-bestalg_f{function}_d{dimension:02d}.dat"
                lines = path.read_text(encoding="utf-8").splitlines()
                times = np.array([line.split()[:2] for line in lines if line[0] != "%"], float)
                for budget in BUDGETS:
                    reached = times[times[:, 0] <= budget * dimension, 1]
                    best = reached.min(initial=np.inf)
                    share = float(np.mean(best <= TARGETS * (1 + 1e-9)))
                    writer.writerow([dimension, budget, function, f"{share:.4f}"])


def run_singles(arguments: argparse.Namespace) -> None:
    """Write the shares of targets that each published algorithm reaches, function by function.

    `folder` is `bbob-noisy` of COCO's archive of post-processed data (:mod:`coco_figures`). A
    function that an algorithm was not run on has the share 0, as in COCO's own means.
    """
    from coco_figures import shares

    with open(arguments.out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["algorithm", "year", "dimension", "budget", *FUNCTION_NUMBERS])
        for year in (2009, 2010, 2012, 2016):
            folder = Path(arguments.folder) / str(year) / "pprldmany-single-functions"
            for dimension in DIMENSIONS:
                figures = [
                    shares(folder / f"pprldmany_f{function}_{dimension:02d}D.svg", BUDGETS)
                    for function in FUNCTION_NUMBERS
                ]
                for name in sorted(set().union(*figures) - {"best 2009"}):
                    reached = [figure.get(name, [0.0] * len(BUDGETS)) for figure in figures]
                    for budget, row in zip(BUDGETS, zip(*reached, strict=True), strict=True):
                        formatted = [f"{abs(share):.3f}" for share in row]
                        writer.writerow([name, year, dimension, budget, *formatted])


# What detection costs


def run_detect(arguments: argparse.Namespace) -> None:
    """Write, for noiseless functions, evaluations spent on detection and what changes."""
    from outside_problems import problems

    part = {"dimension": arguments.dim, "instances": arguments.instances}
    sets = {
        "BBOB": list(uaos.suite("bbob", **part)),
        "outside": [
            uaos.Problem(p.values, p.bounds, name=p.name, vectorized=True)
            for p in problems("report")
        ],
    }
    with open(arguments.out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["set", "problem", "budget", "seed", "repeats", "noisy", "auto", "false"])
        for name, chosen in sets.items():
            for k, problem in enumerate(chosen):
                budget = arguments.budget * problem.dimension
                auto, false = (
                    uaos.minimize(problem, budget=budget, seed=1 + k, noise=noise, history=False)
                    for noise in ("auto", False)
                )
                noisy = auto.fun_std is not None or "are off" in auto.message
                repeats = _repeats(problem, budget, 1 + k)
                row = [name, problem.name, budget, 1 + k, repeats, noisy, auto.fun, false.fun]
                writer.writerow(row)
                file.flush()


def _repeats(problem: uaos.Problem, budget: int, seed: int) -> int:
    """Return how many evaluations of a run are of points that had been evaluated before."""
    from uaos.runs.evaluator import Evaluator
    from uaos.runs.noise import NoiseMeter
    from uaos.runs.run import Run

    optimizer = uaos.Portfolio(problem.bounds, budget=budget, seed=seed, history=False)
    with Evaluator(problem) as evaluator:
        Run(optimizer, evaluator, noise=NoiseMeter()).complete()
    return optimizer.spending.repeats


# Beside other libraries


class Noisy:
    """A function with noise, which counts its evaluations and knows its true value."""

    def __init__(
        self, name: str, dimension: int, deviation: float, seed: int, kind: str = "normal"
    ) -> None:
        self.rng = np.random.default_rng([seed, dimension])
        self.true = FUNCTIONS[name]
        self.shift = self.rng.uniform(-2, 2, dimension)
        # The noise is a share of the range of values over the box.
        values = [self.value(x) for x in self.rng.uniform(-5, 5, (200, dimension))]
        self.spread = float(np.subtract(*np.percentile(values, [75, 25])))
        self.deviation, self.noise = deviation * self.spread, KINDS[kind]
        self.dimension, self.evaluations = dimension, 0
        self.bounds = [(-5.0, 5.0)] * dimension

    def value(self, x: Iterable[float]) -> float:
        """Return the value without noise."""
        return float(self.true(np.asarray(x, float) - self.shift))

    def __call__(self, x: Iterable[float]) -> float:
        self.evaluations += 1
        return float(self.noise(self, self.value(x)))


def _counted(fun: Noisy, value: float) -> float:
    """Return a noisy value rounded to multiples of two deviations, as counts are."""
    step = 2 * fun.deviation
    return step * round((value + fun.deviation * fun.rng.standard_normal()) / step)


#: Kinds of noise, all with the mean 0: what is measured at a point with a true value.
KINDS: dict[str, Callable[[Noisy, float], float]] = {
    "normal": lambda f, v: v + f.deviation * f.rng.standard_normal(),
    "growing with the value": lambda f, v: (
        v + f.deviation * (0.2 + v / f.spread) * f.rng.standard_normal()
    ),
    "heavy tails (Student, 3)": lambda f, v: v + f.deviation * f.rng.standard_t(3),
    "skewed (exponential)": lambda f, v: v + f.deviation * (f.rng.standard_exponential() - 1),
    "rounded to few values": _counted,
}


def _ellipsoid(z: np.ndarray) -> float:
    return float(np.sum(10 ** (3 * np.arange(len(z)) / max(1, len(z) - 1)) * z**2))


def _rosenbrock(z: np.ndarray) -> float:
    y = 0.5 * z + 1
    return float(np.sum(100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2))


def _rastrigin(z: np.ndarray) -> float:
    return float(np.sum(z**2 + 3 * (1 - np.cos(2 * np.pi * z))))


def _absolute(z: np.ndarray) -> float:
    return float(np.sum(np.abs(z)) + np.max(np.abs(z)))


def _steps(z: np.ndarray) -> float:
    return float(np.sum(np.floor(np.abs(z) * 2) / 2) + 0.01 * np.sum(z**2))


FUNCTIONS: dict[str, Callable[[np.ndarray], float]] = {
    "sphere": lambda z: float(np.sum(z**2)), "ellipsoid": _ellipsoid, "rosenbrock": _rosenbrock,
    "rastrigin": _rastrigin, "absolute": _absolute, "steps": _steps,
}  # fmt: skip

Solver = Callable[["Noisy | NoisyProblem", int, int], Iterable[float]]


def _uaos(fun: "Noisy | NoisyProblem", budget: int, seed: int) -> Iterable[float]:
    return uaos.minimize(fun, fun.bounds, budget=budget, seed=seed).x


def _uaos_false(fun: "Noisy | NoisyProblem", budget: int, seed: int) -> Iterable[float]:
    return uaos.minimize(fun, fun.bounds, budget=budget, seed=seed, noise=False).x


def _pycma(fun: "Noisy | NoisyProblem", budget: int, seed: int) -> Iterable[float]:
    import cma

    low, high = np.array(fun.bounds).T

    def scaled(u: np.ndarray) -> float:
        return fun(low + np.asarray(u) * (high - low))

    options = {"bounds": [0, 1], "seed": seed + 1, "verbose": -9, "maxfevals": budget,
               "tolstagnation": 0, "tolfun": 0, "tolflatfitness": 10**9}  # fmt: skip
    strategy = cma.CMAEvolutionStrategy(fun.dimension * [0.5], 0.2, options)
    handler = cma.NoiseHandler(fun.dimension)
    while not strategy.stop() and fun.evaluations < budget:
        X, values = strategy.ask_and_eval(scaled, evaluations=handler.evaluations)
        strategy.tell(X, values)
        strategy.sigma *= handler(X, values, scaled, strategy.ask)
        strategy.countevals += handler.evaluations_just_done
    return low + np.clip(strategy.result.xfavorite, 0, 1) * (high - low)


def _nevergrad(name: str) -> Solver:
    def solve(fun: "Noisy | NoisyProblem", budget: int, seed: int) -> Iterable[float]:
        import nevergrad

        low, high = np.array(fun.bounds).T
        space = nevergrad.p.Array(init=(low + high) / 2, lower=low, upper=high)
        space.random_state.seed(seed)
        space.function.deterministic = False
        optimizer = nevergrad.optimizers.registry[name](space, budget=budget)
        return optimizer.minimize(fun).value

    return solve


def _optuna(fun: "Noisy | NoisyProblem", budget: int, seed: int) -> Iterable[float]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    names = {f"x{i}": bounds for i, bounds in enumerate(fun.bounds)}
    study.optimize(
        lambda trial: fun([trial.suggest_float(name, *box) for name, box in names.items()]),
        n_trials=budget,
    )
    return [study.best_params[name] for name in names]


def _scipy(fun: "Noisy | NoisyProblem", budget: int, seed: int) -> Iterable[float]:
    from scipy.optimize import differential_evolution

    # The population is 15·D, and smaller where the budget allows less than five generations.
    size = min(15, max(1, budget // (5 * fun.dimension)))
    generations = max(1, budget // (size * fun.dimension) - 1)
    return differential_evolution(
        fun, fun.bounds, rng=seed, tol=0, polish=False, maxiter=generations, popsize=size
    ).x


def _nelder_mead(fun: "Noisy | NoisyProblem", budget: int, seed: int) -> Iterable[float]:
    from scipy.optimize import minimize

    return minimize(
        fun, np.mean(fun.bounds, axis=1), method="Nelder-Mead", bounds=fun.bounds,
        options={"maxfev": budget},
    ).x  # fmt: skip


SOLVERS: dict[str, Solver] = {
    "uaos": _uaos, "uaos, noise=False": _uaos_false, "pycma, NoiseHandler": _pycma,
    "nevergrad TBPSA": _nevergrad("TBPSA"), "nevergrad NGOpt": _nevergrad("NGOpt"),
    "nevergrad OptimisticNoisyOnePlusOne": _nevergrad("OptimisticNoisyOnePlusOne"),
    "Optuna TPE": _optuna, "SciPy differential_evolution": _scipy,
    "SciPy Nelder-Mead": _nelder_mead,
}  # fmt: skip


@contextmanager
def _appending(path: str, names: list[str]) -> Iterator[tuple[TextIO, Any]]:
    """Open a CSV file to append rows to; a new one gets a row of names first."""
    new = not Path(path).exists()
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(names)
        yield file, writer


def _written(path: str, columns: int) -> set[tuple[str, ...]]:
    """Return the first columns of the rows of a CSV file, to leave out what it has already."""
    if not Path(path).exists():
        return set()
    with open(path, newline="", encoding="utf-8") as file:
        return {tuple(row[:columns]) for row in csv.reader(file)}


def run_beside(arguments: argparse.Namespace) -> None:
    """Run libraries on noisy functions, and append the true value of what each returns."""
    names = ["solver", "function", "dimension", "noise", "seed", "value", "nfev"]
    with _appending(arguments.out, names) as (file, writer):
        for solver in arguments.solvers or SOLVERS:
            if solver == "Optuna TPE" and arguments.budget * arguments.dim > 1000:
                continue  # takes minutes for a run
            started = time.perf_counter()
            for name in FUNCTIONS:
                for noise in (0.01, 0.1):
                    for seed in range(arguments.first, arguments.first + arguments.seeds):
                        fun = Noisy(name, arguments.dim, noise, seed)
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            x = SOLVERS[solver](fun, arguments.budget * arguments.dim, seed)
                        value = fun.value(np.clip(x, -5, 5))
                        row = [solver, name, arguments.dim, noise, seed, value, fun.evaluations]
                        writer.writerow(row)
            file.flush()
            print(solver, f"{time.perf_counter() - started:.0f} s", file=sys.stderr)


def run_outside(arguments: argparse.Namespace) -> None:
    """Run libraries on problems from outside, and append the true value of what each returns."""
    from noise_problems import outside, with_noise

    names = ["solver", "problem", "dimension", "budget", "seed", "value", "nfev"]
    done = _written(arguments.out, 5)
    with _appending(arguments.out, names) as (file, writer):
        for solver in arguments.solvers or SOLVERS:
            started = time.process_time()
            for seed in range(arguments.first, arguments.first + arguments.seeds):
                chosen = with_noise("choose", seed) if arguments.choose else outside(seed)
                for problem in chosen[slice(*arguments.part)]:
                    key = [solver, problem.name, problem.dimension, arguments.budget, seed]
                    if tuple(map(str, key)) in done:
                        continue
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        x = SOLVERS[solver](problem, arguments.budget, seed)
                        value = problem.value(list(x))
                    writer.writerow([*key, value, problem.evaluations])
                    file.flush()
            print(solver, f"{time.process_time() - started:.0f} s", file=sys.stderr)


# Calibration


def run_calibrate(arguments: argparse.Namespace) -> None:
    """Append by how many standard errors estimates differ from true values, or NaN without one."""
    names = ["noise", "budget", "function", "seed", "errors"]
    done = _written(arguments.out, 4)
    with _appending(arguments.out, names) as (file, writer):
        for place, kind in enumerate(KINDS):
            for budget in arguments.budgets:
                for seed in range(arguments.runs):
                    name = list(FUNCTIONS)[seed % len(FUNCTIONS)]
                    key = [kind, budget, name, seed]
                    if tuple(map(str, key)) in done:
                        continue
                    fun = Noisy(name, 4, 0.1, arguments.runs * place + seed, kind)
                    result = uaos.minimize(fun, fun.bounds, budget=budget, seed=seed, history=False)
                    deviation = result.fun_std or np.nan  # None if noise was not noticed
                    error = (result.fun - fun.value(result.x)) / deviation
                    writer.writerow([*key, f"{error:.4f}"])
                file.flush()


def run_skewed(arguments: argparse.Namespace) -> None:
    """Write how often intervals around means of a few values cover the true mean, by formula.

    The formulas are the package's, and Johnson's (1978) t with its constant term, and with both.
    """
    n, rng = 15, np.random.default_rng(1)
    samples = {
        "normal": rng.standard_normal((arguments.runs, n)),
        "heavy tails (Student, 3)": rng.standard_t(3, (arguments.runs, n)),
        "skewed (exponential)": rng.standard_exponential((arguments.runs, n)) - 1,
    }
    with open(arguments.out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["noise", "values", "runs", "present", "constant", "both"])
        for kind, values in samples.items():
            estimate = PointEstimate(np.zeros(1))
            estimate.include(values[0])
            mean, deviation = values.mean(axis=1), values.std(axis=1, ddof=1)
            error = estimate.error() / estimate.deviation * deviation
            cubes = np.sum((values - mean[:, None]) ** 3, axis=1) * n / (n - 1) / (n - 2)
            constant = mean + cubes / (6 * n * deviation**2)
            both = constant + cubes / (3 * deviation**4) * mean**2
            covered = [np.mean(np.abs(m) <= 2 * error) for m in (mean, constant, both)]
            writer.writerow([kind, n, arguments.runs, *(f"{share:.4f}" for share in covered)])


# Credit


def methods_by_reward() -> dict[str, uaos.Method]:
    """Return adaptive pursuit with each reward of the catalogue that has defaults for it."""
    from uaos.scenarios.recipes import pursuit
    from uaos.selection.components import components

    methods = {}
    for name in components("reward"):
        try:
            method = uaos.Method(
                reward=name, quality="identity", probability=pursuit(5).probability,
                scale_rewards=True,
            )  # fmt: skip
            method.selector(5, seed=1, budget=100)
        except Exception as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        methods[name] = method
    return methods


def run_credit(arguments: argparse.Namespace) -> None:
    """Write how often the best operator is chosen, by reward and scenario."""
    from uaos.scenarios import UniformScenario, compare_methods
    from uaos.scenarios.kinds import CauchyScenario, NoisyScenario

    kinds = {"none": UniformScenario, "normal": NoisyScenario, "Cauchy": CauchyScenario}
    methods = methods_by_reward()
    with open(arguments.out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["reward", "noise", "repetitions", "share", "error"])
        for noise, kind in kinds.items():
            scenario = kind(every=100, steps=500)
            found = compare_methods(methods, scenario, repetitions=arguments.repetitions)
            for row in found.summaries():
                share = f"{row.share.mean:.4f}", f"{row.share.error:.4f}"
                writer.writerow([row.name, noise, arguments.repetitions, *share])


#: Functions of BBOB, and those of bbob-noisy that are the same with severe noise.
PAIRS = {
    "none": (1, 8, 7, 14, 17, 21),
    "Gaussian": (107, 110, 113, 119, 122, 128),
    "Cauchy": (109, 112, 115, 121, 124, 130),
}


def run_rewards(arguments: argparse.Namespace) -> None:
    """Append the errors of differential evolution by reward, pool, and kind of noise."""
    from uaos.optimizers.configuration import uniform_method

    names = ["pool", "dimension", "reward", "noise", "problem", "instance", "error"]
    methods = {"uniform": uniform_method(), **methods_by_reward()}
    pools = {"nine": None, "mix": uaos.configuration("mix").settings}
    done = _written(arguments.out, 4)
    with _appending(arguments.out, names) as (file, writer):
        for pool, settings in pools.items():
            for name, method in methods.items():
                for noise, numbers in PAIRS.items():
                    block = [pool, arguments.dim, name, noise]
                    if tuple(map(str, block)) in done:
                        continue
                    suite = uaos.suite(
                        "bbob" if noise == "none" else "bbob-noisy", dimension=arguments.dim,
                        functions=",".join(map(str, numbers)), instances=arguments.instances,
                    )  # fmt: skip
                    rows = []
                    for k, problem in enumerate(suite):
                        method_in_pool = uaos.Configuration(name, method, settings)
                        result = uaos.minimize(
                            problem, method=method_in_pool, budget=arguments.budget * arguments.dim,
                            seed=k + 1, history=False,
                        )  # fmt: skip
                        error = problem.true_values(result.x[None])[0] - problem.optimum
                        place = [k // (len(suite) // len(numbers)), problem.instance]
                        rows.append([*block, *place, f"{max(error, 1e-8):.6g}"])
                    writer.writerows(rows)
                    file.flush()


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)

    def command(name: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        added = commands.add_parser(name)
        added.set_defaults(run=run)
        return added

    coco = command("coco", run_coco)
    coco.add_argument("out")
    coco.add_argument("--dim", type=int, default=5)
    coco.add_argument("--instances", default="6-10")
    coco.add_argument("--budget", type=int, default=100)
    coco.add_argument("--functions", default="101-130")
    coco.add_argument("--enlarged", type=float)
    published = command("published", run_published)
    published.add_argument("folder")
    published.add_argument("out")
    singles = command("singles", run_singles)
    singles.add_argument("folder")
    singles.add_argument("out")
    detect = command("detect", run_detect)
    detect.add_argument("out")
    detect.add_argument("--dim", type=int, default=5)
    detect.add_argument("--instances", default="6-10")
    detect.add_argument("--budget", type=int, default=1000)
    beside = command("beside", run_beside)
    beside.add_argument("out")
    beside.add_argument("--dim", type=int, default=5)
    beside.add_argument("--budget", type=int, default=100)
    beside.add_argument("--first", type=int, default=100)
    beside.add_argument("--seeds", type=int, default=5)
    beside.add_argument("--solvers", nargs="*")
    outside = command("outside", run_outside)
    outside.add_argument("out")
    outside.add_argument("--budget", type=int, default=200)
    outside.add_argument("--first", type=int, default=100)
    outside.add_argument("--seeds", type=int, default=2)
    outside.add_argument("--part", type=int, nargs=2, default=[None, None])
    outside.add_argument("--solvers", nargs="*")
    outside.add_argument("--choose", action="store_true")
    calibrate = command("calibrate", run_calibrate)
    calibrate.add_argument("out")
    calibrate.add_argument("--runs", type=int, default=1000)
    calibrate.add_argument("--budgets", type=int, nargs="+", default=[300, 1000])
    skewed = command("skewed", run_skewed)
    skewed.add_argument("out")
    skewed.add_argument("--runs", type=int, default=100_000)
    credit = command("credit", run_credit)
    credit.add_argument("out")
    credit.add_argument("--repetitions", type=int, default=100)
    rewards = command("rewards", run_rewards)
    rewards.add_argument("out")
    rewards.add_argument("--dim", type=int, default=5)
    rewards.add_argument("--budget", type=int, default=200)
    rewards.add_argument("--instances", default="1-5")
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
