"""Compare what optimizers achieve on BBOB with 5·D to 100·D evaluations.

    python benchmarks/few.py run few.csv --contenders uaos,slsqp --dims 2,5,10 --instances 6-10
    python benchmarks/few.py means few.csv docs/results/data/few.csv --contenders uaos,slsqp
    python benchmarks/few.py means few.csv docs/results/data/few-6.csv --instances 6

`run` appends a row per contender, dimension, function, instance and budget: the share of COCO's 51
targets, 10² to 1e-8, that are reached. `means` writes the mean shares, with the number of instances
(python docs/make_results.py makes the table). The default of `uaos.minimize` depends on the budget:
each budget is a run of its own. The others run once, with the largest budget. Local methods start
from the center of the box and are restarted from uniform random points. Evaluations are counted
here, and points outside the box are moved to its nearest point.

Needs the extra `experiments`; the contenders need scipy, Py-BOBYQA, cma, optuna (GP: torch),
scikit-optimize and nevergrad (1.0.12 ends with a TypeError with numpy 2.4).
"""

import argparse
import csv
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import uaos

TARGETS = 10.0 ** np.linspace(2, -8, 51)
BUDGETS = (5, 10, 20, 30, 50, 100)
FIELDS = ("contender", "dimension", "function", "instance", "budget", "share")


class Spent(Exception):
    """Raised when the budget is used up."""


class Objective:
    """Problem that records the error of each evaluation."""

    def __init__(self, problem: Any, budget: int) -> None:
        self.problem, self.budget = problem, budget
        self.errors: list[float] = []

    def __call__(self, x: Any) -> float:
        if len(self.errors) >= self.budget:
            raise Spent
        value = float(self.problem(np.clip(x, -5, 5)))
        self.errors.append(value - self.problem.optimum)
        return value

    @property
    def left(self) -> int:
        """Number of evaluations left."""
        return self.budget - len(self.errors)

    def share(self, evaluations: int) -> float:
        """Return the share of the targets reached after this many evaluations."""
        return float(np.mean(min(self.errors[:evaluations], default=np.inf) <= TARGETS))


Contender = Callable[[Objective, int, np.random.Generator], None]


def _uaos(method: str | None) -> Contender:
    def run(f: Objective, D: int, rng: np.random.Generator) -> None:
        seed = int(rng.integers(2**31))
        uaos.minimize(f, [(-5, 5)] * D, method=method, budget=f.budget, seed=seed, history=False)

    return run


def _restarted(search: Callable[[Objective, Any, int], None]) -> Contender:
    def run(f: Objective, D: int, rng: np.random.Generator) -> None:
        x = np.zeros(D)
        while f.left:
            search(f, x, D)
            x = rng.uniform(-4, 4, D)

    return run


def _slsqp(f: Objective, x: Any, D: int) -> None:
    from scipy.optimize import minimize

    options = {"ftol": 1e-15, "maxiter": 10**6}
    minimize(f, x, method="SLSQP", bounds=[(-5, 5)] * D, options=options)


def _cobyqa(f: Objective, x: Any, D: int) -> None:
    from scipy.optimize import minimize

    options = {"maxfev": f.left + 1}
    minimize(f, x, method="COBYQA", bounds=[(-5, 5)] * D, options=options)


def _pybobyqa(f: Objective, x: Any, D: int) -> None:
    import pybobyqa

    box = (np.full(D, -5.0), np.full(D, 5.0))
    pybobyqa.solve(f, x, bounds=box, rhobeg=1.0, maxfun=f.left + 1, do_logging=False)


def _lq_cma(f: Objective, D: int, rng: np.random.Generator) -> None:
    import cma

    while f.left:
        options = {"bounds": [-5, 5], "verbose": -9, "seed": int(rng.integers(1, 2**31))}
        cma.fmin_lq_surr2(f, rng.uniform(-4, 4, D), 2, options | {"maxfevals": f.left + 1})


def _optuna(name: str) -> Contender:
    def run(f: Objective, D: int, rng: np.random.Generator) -> None:
        import optuna

        def value(trial: Any) -> float:
            return f([trial.suggest_float(f"x{j}", -5, 5) for j in range(D)])

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = getattr(optuna.samplers, name)(seed=int(rng.integers(2**31)))
        optuna.create_study(sampler=sampler).optimize(value, n_trials=f.budget)

    return run


def _skopt(f: Objective, D: int, rng: np.random.Generator) -> None:
    from skopt import gp_minimize

    seed = int(rng.integers(2**31))
    gp_minimize(f, [(-5.0, 5.0)] * D, n_calls=f.budget, x0=[0.0] * D, random_state=seed)


def _nevergrad(f: Objective, D: int, rng: np.random.Generator) -> None:
    import nevergrad

    box = nevergrad.p.Array(shape=(D,)).set_bounds(-5, 5)
    box.random_state.seed(int(rng.integers(2**31)))
    nevergrad.optimizers.registry["NGOpt"](box, budget=f.budget).minimize(f)


CONTENDERS: dict[str, Contender] = {
    "uaos": _uaos(None),
    "uaos BFGS": _uaos("BFGS"),
    "uaos GP": _uaos("GP"),
    "uaos QUAD": _uaos("QUAD"),
    "slsqp": _restarted(_slsqp),
    "cobyqa": _restarted(_cobyqa),
    "pybobyqa": _restarted(_pybobyqa),
    "lq-cma": _lq_cma,
    "optuna": _optuna("TPESampler"),
    "optuna GP": _optuna("GPSampler"),
    "nevergrad": _nevergrad,
    "skopt": _skopt,
}
#: Contenders whose runs depend on the budget.
BY_BUDGET = ("uaos", "uaos QUAD", "nevergrad")


def _numbers(text: str) -> list[int]:
    """Return the numbers of a list such as "2,5,6-10"."""
    ranges = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return [number for ends in ranges for number in range(ends[0], ends[-1] + 1)]


def rows(
    name: str, dimension: int, function: int, instance: int, most: int
) -> list[tuple[Any, ...]]:
    """Return the rows of one contender on one problem, up to a budget of most·D evaluations."""
    problem = uaos.suite("bbob", dimension=dimension, functions=str(function),
                         instances=str(instance))[0]  # fmt: skip
    affordable = [budget for budget in BUDGETS if budget <= most]
    found = []
    for budgets in [[b] for b in affordable] if name in BY_BUDGET else [affordable]:
        objective = Objective(problem, budgets[-1] * dimension)
        try:
            rng = np.random.default_rng([function, dimension, instance])
            CONTENDERS[name](objective, dimension, rng)
        except Spent:
            pass
        found += [
            (name, dimension, function, instance, b, round(objective.share(b * dimension), 5))
            for b in budgets
        ]
    return found


def run(arguments: argparse.Namespace) -> None:
    """Append the rows that the file does not have yet."""
    path = Path(arguments.path)
    done = set()
    if path.exists():
        with path.open() as file:
            done = {tuple(row[k] for k in FIELDS[:4]) for row in csv.DictReader(file)}
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if not done:
            writer.writerow(FIELDS)
        for dimension in _numbers(arguments.dims):
            for name in arguments.contenders.split(","):
                for instance in _numbers(arguments.instances):
                    for function in _numbers(arguments.functions):
                        key = (name, str(dimension), str(function), str(instance))
                        if key not in done:
                            writer.writerows(
                                rows(name, dimension, function, instance, arguments.most)
                            )
                            file.flush()


def means(arguments: argparse.Namespace) -> None:
    """Write the mean shares of each contender, dimension and budget, on some instances."""
    contenders, chosen = arguments.contenders.split(","), _numbers(arguments.instances)
    shares: dict[tuple[int, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    instances = defaultdict(set)
    with arguments.path.open() as file:
        for row in csv.DictReader(file):
            if row["contender"] not in contenders or int(row["instance"]) not in chosen:
                continue
            key = int(row["dimension"]), row["contender"]
            shares[key][int(row["budget"])].append(float(row["share"]))
            instances[key].add(row["instance"])
    with arguments.target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("dimension", "contender", "instances", *BUDGETS))
        for key in sorted(shares, key=lambda k: (k[0], list(CONTENDERS).index(k[1]))):
            found = [shares[key][b] for b in BUDGETS]
            cells = [f"{np.mean(values):.4f}" if values else "" for values in found]
            writer.writerow((*key, len(instances[key]), *cells))


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    runs = commands.add_parser("run")
    runs.add_argument("path")
    runs.add_argument("--contenders", default="uaos,slsqp")
    runs.add_argument("--dims", default="2,5,10,20")
    runs.add_argument("--instances", default="6-10")
    runs.add_argument("--functions", default="1-24")
    runs.add_argument("--most", type=int, default=BUDGETS[-1], help="largest budget, per D")
    summary = commands.add_parser("means")
    summary.add_argument("path", type=Path)
    summary.add_argument("target", type=Path)
    summary.add_argument("--contenders", default=",".join(CONTENDERS))
    summary.add_argument("--instances", default="6-10")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.command == "run":
        run(arguments)
    else:
        means(arguments)


if __name__ == "__main__":
    main()
