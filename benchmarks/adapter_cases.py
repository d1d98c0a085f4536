"""The problems of adapters.py: each library's own examples, run in several ways.

A case runs with a seed and a choice: "adaptive" (this package's default method), "default" (what
the library's example or constructor has), "random" (uniform choice among the operators), the name
of another method, or a number: that operator, or pair of operators, alone. It returns the best
objective found, or for several objectives the inverted generational distance; smaller is better.
"""

import math
import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from alns.select import RandomSelect
from alns_examples import Example, cutting_stock, flow_shop, salesman, vehicles
from deap import algorithms, base, creator, gp, tools
from pymoo.algorithms.moo.moead import MOEAD
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.soo.nonconvex.de import DE
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.indicators.igd import IGD
from pymoo.optimize import minimize
from pymoo.problems import get_problem

import uaos.adapters.deap as for_deap
import uaos.adapters.pymoo as for_pymoo
from uaos.adapters.alns import AdaptiveSelect

Choice = str | int


@dataclass(frozen=True)
class Case:
    """A problem, the names of its operators, and `run(choice, seed)`.

    `sign` is -1 where the problem is one of maximization. `best_alone` is the operator, or pair,
    that was best on the development problems; None: it is to be found on the problem itself.
    """

    host: str
    problem: str
    operators: tuple[str, ...]
    run: Callable[[Choice, int], float]
    sign: int = 1
    best_alone: int | None = None


# pymoo


def differential(problem: str, n_var: int) -> Case:
    """Return DE with pymoo's settings: CR = 0.2 (its default) and 0.9."""
    target = get_problem(problem, n_var=n_var)
    names = tuple(for_pymoo.adaptive(DE()).mating.credit.counts["variant"])

    def run(choice: Choice, seed: int) -> float:
        algorithm = DE()
        if choice != "default":
            variants = for_pymoo.adaptive(DE()).mating.variants
            alone = [variants[choice]] if isinstance(choice, int) else variants
            for_pymoo.adaptive(algorithm, variant=alone, **_method(choice))
        return float(minimize(target, algorithm, ("n_eval", 5000), seed=seed).F[0])

    return Case("pymoo DE", f"{problem} {n_var}-D", names, run)


def genetic(problem: str, n_var: int) -> Case:
    """Return GA with pymoo's settings; alone means one pair of a crossover and a mutation."""
    target = get_problem(problem, n_var=n_var)

    def run(choice: Choice, seed: int) -> float:
        algorithm = _with_operators(GA(), choice, for_pymoo.real_operators())
        return float(minimize(target, algorithm, ("n_eval", 5000), seed=seed).F[0])

    pairs = _pairs(for_pymoo.real_operators())
    return Case("pymoo GA", f"{problem} {n_var}-D", pairs, run)


def several_objectives(kind: str, problem: str, evaluations: int, **settings: Any) -> Case:
    """Return NSGA-II or MOEA/D with pymoo's settings and a population of 100."""
    target = get_problem(problem, **settings)
    weights = np.column_stack([np.linspace(0, 1, 100), np.linspace(1, 0, 100)])
    if problem == "kursawe":
        front = _front_by_grid(target)
    else:
        front = target.pareto_front(weights) if "dtlz" in problem else target.pareto_front()

    def run(choice: Choice, seed: int) -> float:
        algorithm = NSGA2() if kind == "NSGA-II" else MOEAD(weights)
        algorithm = _with_operators(algorithm, choice, for_pymoo.real_operators(n_obj=2))
        found = minimize(target, algorithm, ("n_eval", evaluations), seed=seed)
        return float(IGD(front)(found.F))

    pairs = _pairs(for_pymoo.real_operators(n_obj=2))
    best_alone = pairs.index("UX + coarse PM")
    return Case(f"pymoo {kind}", problem.upper(), pairs, run, best_alone=best_alone)


def _front_by_grid(problem: Any) -> np.ndarray:
    """Return the best values on a grid of three variables: pymoo has to download those of Kursawe.

    Its solutions are between -1.2 and 0.
    """
    sides = np.meshgrid(*[np.linspace(-1.3, 0.1, 141)] * 3)
    values = problem.evaluate(np.column_stack([side.ravel() for side in sides]))
    values = values[np.lexsort(values.T[::-1])]
    below = np.minimum.accumulate(values[:, 1])
    return values[np.append(True, values[1:, 1] < below[:-1])]


def _with_operators(algorithm: Any, choice: Choice, pools: dict[str, list[Any]]) -> Any:
    if choice == "default":
        return algorithm
    if isinstance(choice, int):
        pair = list(product(*pools.values()))[choice]
        pools = {slot: [o] for slot, o in zip(pools, pair, strict=True)}
    return for_pymoo.adaptive(algorithm, **pools, **_method(choice))


def _pairs(pools: dict[str, list[Any]]) -> tuple[str, ...]:
    return tuple(f"{c.name} + {m.name}" for c, m in product(*pools.values()))


def _method(choice: Choice) -> dict[str, Any]:
    """Return the argument `method` for a choice."""
    if choice == "adaptive" or isinstance(choice, int):
        return {}
    return {"method": "uniform" if choice == "random" else choice}


# ALNS


def large_neighborhood(example: Example) -> Case:
    """Return an example of the package; alone means one pair of destroy and repair operators."""

    def run(choice: Choice, seed: int) -> float:
        if isinstance(choice, int):
            return example.solve(example.scheme, seed, pair=choice)
        schemes = {"default": example.scheme, "random": RandomSelect}
        ours = partial(AdaptiveSelect, **_method(choice))
        return example.solve(schemes.get(choice, ours), seed)

    names = tuple(
        f"{example.destroy[d].__name__} + {example.repair[r].__name__}" for d, r in example.pairs
    )
    return Case("ALNS", example.name, names, run)


# DEAP

for _name, _weight in (("Largest", 1.0), ("Least", -1.0)):
    creator.create(f"{_name}Fitness", base.Fitness, weights=(_weight,))
    creator.create(_name, list, fitness=getattr(creator, f"{_name}Fitness"))
creator.create("Formula", gp.PrimitiveTree, fitness=creator.LeastFitness)

Operators = dict[str, Callable[..., Any]]


def evolution(
    problem: str, kind: type, genome: Callable[[], Any], evaluate: Callable[[Any], float],
    mates: Operators, mutates: Operators, *, cxpb: float = 0.5, mutpb: float = 0.2,
    generations: int = 40, size: int = 100,
) -> Case:  # fmt: skip
    """Return eaSimple; the example's own operators come first in the pools."""
    pairs = list(product(mates, mutates))

    def run(choice: Choice, seed: int) -> float:
        number = 0 if choice == "default" else choice
        which = [pairs[number]] if isinstance(number, int) else pairs
        random.seed(seed)
        toolbox = base.Toolbox()
        toolbox.register("evaluate", lambda individual: (evaluate(individual),))
        toolbox.register("clone", _copy)
        toolbox.register("select", tools.selTournament, tournsize=3)
        for_deap.adaptive(
            toolbox,
            mate=[mates[c] for c in dict.fromkeys(c for c, _ in which)],
            mutate=[mutates[m] for m in dict.fromkeys(m for _, m in which)],
            **_method(number),
        )
        best = tools.HallOfFame(1)
        population = [kind(genome()) for _ in range(size)]
        algorithms.eaSimple(
            population, toolbox, cxpb, mutpb, generations, halloffame=best, verbose=False
        )
        return -float(best[0].fitness.wvalues[0])

    sign = -1 if kind is creator.Largest else 1
    return Case("DEAP", problem, tuple(f"{c} + {m}" for c, m in pairs), run, sign)


def _copy(individual: Any) -> Any:
    """Copy a list: faster than deepcopy."""
    copy = type(individual)(individual)
    copy.fitness.wvalues = individual.fitness.wvalues
    return copy


def bits(problem: str, n: int, evaluate: Callable[[Any], float]) -> Case:
    mates = {
        "two-point": tools.cxTwoPoint, "one-point": tools.cxOnePoint,
        "uniform": partial(tools.cxUniform, indpb=0.5),
    }  # fmt: skip
    mutates = {
        "flip 0.05": partial(tools.mutFlipBit, indpb=0.05),
        "flip 1/n": partial(tools.mutFlipBit, indpb=1 / n),
        "shuffle": partial(tools.mutShuffleIndexes, indpb=0.05),
    }
    genome = lambda: [random.randint(0, 1) for _ in range(n)]  # noqa: E731
    return evolution(problem, creator.Largest, genome, evaluate, mates, mutates)


def orders(problem: str, n: int, evaluate: Callable[[Any], float]) -> Case:
    mates = {
        "partially matched": tools.cxPartialyMatched, "ordered": tools.cxOrdered,
        "uniform partially matched": partial(tools.cxUniformPartialyMatched, indpb=0.2),
    }  # fmt: skip
    mutates = {
        "shuffle": partial(tools.mutShuffleIndexes, indpb=0.05),
        "inversion": tools.mutInversion,
        "much shuffle": partial(tools.mutShuffleIndexes, indpb=0.3),
    }
    genome = lambda: random.sample(range(n), n)  # noqa: E731
    return evolution(problem, creator.Least, genome, evaluate, mates, mutates, cxpb=0.7)


def packed(n: int, instance: int) -> Callable[[Any], float]:
    """Return a knapsack whose excess weight is charged."""
    rng = random.Random(instance)
    weight = [rng.randint(10, 100) for _ in range(n)]
    profit = [w + rng.randint(-15, 25) for w in weight]
    capacity = 0.4 * sum(weight)

    def evaluate(individual: Any) -> float:
        load = sum(w for w, b in zip(weight, individual, strict=True) if b)
        gain = sum(p for p, b in zip(profit, individual, strict=True) if b)
        return gain - 5 * max(0.0, load - capacity)

    return evaluate


def toured(n: int, instance: int) -> Callable[[Any], float]:
    rng = random.Random(instance)
    at = [complex(rng.random(), rng.random()) for _ in range(n)]
    far = [[abs(a - b) for b in at] for a in at]
    return lambda tour: sum(far[a][b] for a, b in zip(tour, tour[1:] + tour[:1], strict=True))


def conflicts(queens: Any) -> float:
    """Count the pairs of queens on one diagonal of the board."""
    n = len(queens)
    up, down = [0] * (2 * n), [0] * (2 * n)
    for column, row in enumerate(queens):
        up[column + row] += 1
        down[n - 1 - column + row] += 1
    return float(sum(c - 1 for c in up + down if c > 1))


def symbolic_regression(target: Callable[[float], float], name: str) -> Case:
    """Return a genetic program; the objective is the mean squared error at 20 points."""
    primitives = gp.PrimitiveSet("formula", 1)
    for function, arity in (
        (operator.add, 2), (operator.sub, 2), (operator.mul, 2), (_divided, 2), (operator.neg, 1),
        (math.cos, 1), (math.sin, 1),
    ):  # fmt: skip
        primitives.addPrimitive(function, arity)
    primitives.addTerminal(1)
    points = [x / 10 for x in range(-10, 10)]
    wanted = [target(x) for x in points]

    def evaluate(tree: Any) -> float:
        function = gp.compile(tree, primitives)
        return sum((function(x) - y) ** 2 for x, y in zip(points, wanted, strict=True)) / 20

    limited = gp.staticLimit(operator.attrgetter("height"), 17)
    leafy = limited(partial(gp.cxOnePointLeafBiased, termpb=0.1))
    branch = partial(gp.genFull, min_=0, max_=2)
    mutates = {
        "uniform": limited(partial(gp.mutUniform, expr=branch, pset=primitives)),
        "node": limited(partial(gp.mutNodeReplacement, pset=primitives)),
        "insert": limited(partial(gp.mutInsert, pset=primitives)),
        "shrink": limited(gp.mutShrink),
    }
    return evolution(
        f"symbolic regression, {name}", creator.Formula,
        partial(gp.genHalfAndHalf, primitives, min_=1, max_=2), evaluate,
        {"one-point": limited(gp.cxOnePoint), "leaf-biased": leafy}, mutates, generations=25,
    )  # fmt: skip


def _divided(a: float, b: float) -> float:
    return a / b if b else 1.0


# What is reported, and the development problems on which methods and pools were chosen.

_HARDEST = ("ackley", "rastrigin", "rosenbrock", "schwefel")
_FUNCTIONS = ("ackley", "griewank", "rastrigin", "rosenbrock", "schwefel", "sphere", "zakharov")


def _quartic(x: float) -> float:
    return x**4 + x**3 + x**2 + x


def _sextic(x: float) -> float:
    return x**6 - 2 * x**4 + x**2


def _ones(individual: Any) -> float:
    return float(sum(individual))


def reported() -> Sequence[Case]:
    return (
        *(differential(name, 10) for name in _HARDEST),
        *(genetic(name, 10) for name in _HARDEST),
        *(several_objectives("NSGA-II", f"zdt{k}", 5000) for k in (1, 4, 6)),
        several_objectives("MOEA/D", "zdt1", 2500),
        *map(large_neighborhood, (
            salesman(100, 11), salesman(131, 12), vehicles(80, 11), vehicles(120, 12),
            cutting_stock(120, 11), flow_shop(20, 10, 11),
        )),
        bits("OneMax, 100 bits", 100, _ones),
        bits("knapsack, 60 items", 60, packed(60, 4)),
        orders("salesman, 25 cities", 25, toured(25, 5)),
        orders("20 queens", 20, conflicts),
        symbolic_regression(_quartic, "x⁴ + x³ + x² + x"),
    )  # fmt: skip


def development() -> Sequence[Case]:
    wfg = {"n_var": 10, "n_obj": 2, "k": 4}
    return (
        *(differential(name, 8) for name in _FUNCTIONS),
        *(genetic(name, 8) for name in _FUNCTIONS),
        several_objectives("NSGA-II", "zdt1", 8000, n_var=20),
        several_objectives("NSGA-II", "zdt3", 8000, n_var=20),
        several_objectives("NSGA-II", "wfg4", 8000, **wfg),
        several_objectives("NSGA-II", "dtlz1", 8000, n_var=5, n_obj=2),
        several_objectives("MOEA/D", "zdt2", 2500),
        several_objectives("MOEA/D", "zdt3", 2500),
        several_objectives("MOEA/D", "wfg4", 2500, **wfg),
        several_objectives("MOEA/D", "dtlz2", 2500, n_var=11, n_obj=2),
        *map(large_neighborhood, (
            salesman(80, 1), vehicles(60, 2), cutting_stock(120, 1), flow_shop(30, 5, 2)
        )),
        bits("OneMax, 80 bits", 80, _ones),
        bits("knapsack, 40 items", 40, packed(40, 14)),
        orders("salesman, 20 cities", 20, toured(20, 15)),
        symbolic_regression(_sextic, "x⁶ − 2x⁴ + x²"),
    )  # fmt: skip
