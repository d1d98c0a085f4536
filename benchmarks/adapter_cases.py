"""The problems of adapters.py: what runs, with which operators, in which host.

`REPORTED` are those of the table in docs/adapters.md; `DEVELOPMENT` are others, on which the
default method was chosen. A case runs with a seed and with a method (which chooses among all
operators) or with one operator alone, and returns the best objective found, smaller being better.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from alns import ALNS
from alns.accept import RecordToRecordTravel
from alns.stop import MaxIterations
from deap import algorithms, base, creator, tools
from deap.benchmarks.binary import chuang_f1, royal_road1
from pymoo.algorithms.soo.nonconvex.de import DE
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.operators.crossover.pcx import PCX
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.crossover.ux import UX
from pymoo.operators.mutation.pm import PM
from pymoo.optimize import minimize
from pymoo.problems import get_problem

import uaos
import uaos.adapters.deap as for_deap
import uaos.adapters.pymoo as for_pymoo
from uaos.adapters.alns import AdaptiveSelect

Method = uaos.Method | str


@dataclass(frozen=True)
class Case:
    """A problem, the names of its operators, and `run(choice, seed)`.

    A choice is a method, or the number of the operator that is to be used alone. `sign` is -1 where
    the problem is one of maximization.
    """

    host: str
    problem: str
    operators: tuple[str, ...]
    run: Callable[[Method | int, int], float]
    sign: int = 1


# pymoo


def genetic(problem: str, n_var: int, generations: int = 60, size: int = 40) -> Case:
    """Three crossovers and two mutations; alone means one pair of them."""
    crossovers = {"SBX": SBX(eta=15), "UX": UX(), "PCX": PCX()}
    mutations = {"fine PM": PM(eta=30), "coarse PM": PM(eta=3, prob_var=0.3)}
    pairs = list(product(crossovers, mutations))

    def run(choice: Method | int, seed: int) -> float:
        which = [pairs[choice]] if isinstance(choice, int) else pairs
        algorithm = for_pymoo.adaptive(
            GA(pop_size=size),
            crossover=[crossovers[c] for c in dict.fromkeys(c for c, _ in which)],
            mutation=[mutations[m] for m in dict.fromkeys(m for _, m in which)],
            method="uniform" if isinstance(choice, int) else choice,
        )
        found = minimize(
            get_problem(problem, n_var=n_var), algorithm, ("n_gen", generations), seed=seed
        )
        return float(found.F[0])

    names = tuple(f"{c} + {m}" for c, m in pairs)
    return Case("pymoo GA", f"{problem} {n_var}-D", names, run)


def differential(problem: str, n_var: int, generations: int = 60, size: int = 40) -> Case:
    variants = ("DE/rand/1/bin", "DE/best/1/bin", "DE/rand/1/exp", "DE/target-to-best/1/bin")

    def run(choice: Method | int, seed: int) -> float:
        algorithm = for_pymoo.adaptive(
            DE(pop_size=size, CR=0.7, F=0.5),
            variant=[variants[choice]] if isinstance(choice, int) else list(variants),
            method="uniform" if isinstance(choice, int) else choice,
        )
        found = minimize(
            get_problem(problem, n_var=n_var), algorithm, ("n_gen", generations), seed=seed
        )
        return float(found.F[0])

    return Case("pymoo DE", f"{problem} {n_var}-D", variants, run)


# ALNS

Operator = Callable[..., "Solution"]


@dataclass
class Solution:
    """A state as the package wants it; `parts` is a set, a tour, a list of bars or an order."""

    parts: Any
    value: float
    left: Any = ()

    def objective(self) -> float:
        return self.value


def little_and_much(*removals: Operator) -> list[Operator]:
    """Each removal of 5 % and of 30 % of what is there."""
    made: list[Operator] = []
    for removal, (size, share) in product(removals, (("little", 0.05), ("much", 0.3))):

        def operator(
            solution: Solution, rng: np.random.Generator, removal: Operator = removal,
            share: float = share,
        ) -> Solution:  # fmt: skip
            return removal(solution, share, rng)

        operator.__name__ = f"{size} {removal.__name__}"
        made.append(operator)
    return made


def large_neighbourhood(
    problem: str, first: Solution, destroy: Sequence[Operator], repair: Sequence[Operator],
    iterations: int, sign: int = 1,
) -> Case:  # fmt: skip
    """Record-to-record travel; alone means one pair of a destroy and a repair operator."""
    pairs = list(product(destroy, repair))
    threshold = 0.02 * abs(first.value)

    def run(choice: Method | int, seed: int) -> float:
        alone = isinstance(choice, int)
        ds, rs = ([pairs[choice][0]], [pairs[choice][1]]) if alone else (destroy, repair)
        search = ALNS(np.random.default_rng(seed))
        for operator in ds:
            search.add_destroy_operator(operator)
        for operator in rs:
            search.add_repair_operator(operator)
        select = AdaptiveSelect(len(ds), len(rs), method="uniform" if alone else choice)
        accept = RecordToRecordTravel(threshold, 0.0, threshold / iterations)
        found = search.iterate(first, select, accept, MaxIterations(iterations))
        return float(found.best_state.objective())

    names = tuple(f"{d.__name__} + {r.__name__}" for d, r in pairs)
    return Case("ALNS", problem, names, run, sign)


def how_many(share: float, n: int) -> int:
    return max(1, round(share * n))


def smaller(solution: Solution, dropped: np.ndarray) -> Solution:
    """A subset without some of its members."""
    chosen = solution.parts.copy()
    chosen[dropped] = False
    return Solution(chosen, 0.0)


def random_members(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
    """A subset without a random share of its members."""
    inside = np.flatnonzero(solution.parts)
    return smaller(solution, rng.choice(inside, how_many(share, len(inside)), replace=False))


def knapsack(items: int, iterations: int, instance: int) -> Case:
    """Subsets of correlated items; the objective is the profit, negated."""
    rng = np.random.default_rng(instance)
    weight = rng.integers(10, 100, items)
    profit = weight + rng.integers(-15, 25, items)
    capacity = int(weight.sum() * 0.4)
    ratio = profit / weight

    def random_items(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
        return random_members(solution, share, rng)

    def worst_items(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
        inside = np.flatnonzero(solution.parts)
        noisy = ratio[inside] * rng.uniform(0.8, 1.2, len(inside))
        return smaller(solution, inside[np.argsort(noisy)[: how_many(share, len(inside))]])

    def filled(solution: Solution, order: np.ndarray) -> Solution:
        chosen = solution.parts.copy()
        room = capacity - int(weight[chosen].sum())
        for item in order[~chosen[order]].tolist():
            if weight[item] <= room:
                chosen[item] = True
                room -= weight[item]
        return Solution(chosen, -float(profit[chosen].sum()))

    def random_order(solution: Solution, rng: np.random.Generator) -> Solution:
        return filled(solution, rng.permutation(items))

    def best_first(solution: Solution, rng: np.random.Generator) -> Solution:
        return filled(solution, np.argsort(-ratio * rng.uniform(0.8, 1.2, items)))

    first = random_order(Solution(np.zeros(items, dtype=bool), 0.0), rng)
    destroy = little_and_much(random_items, worst_items)
    return large_neighbourhood(
        f"knapsack, {items} items", first, destroy, (random_order, best_first), iterations, -1
    )


def salesman(cities: int, iterations: int, instance: int) -> Case:
    rng = np.random.default_rng(instance)
    places = rng.random((cities, 2))
    far = np.linalg.norm(places[:, None] - places[None], axis=2)

    def state(tour: list[int]) -> Solution:
        return Solution(tour, float(far[tour, tour[1:] + tour[:1]].sum()))

    def without(solution: Solution, left: list[int]) -> Solution:
        gone = set(left)
        return Solution([c for c in solution.parts if c not in gone], 0.0, left)

    def random_cities(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
        n = how_many(share, cities)
        return without(solution, rng.choice(cities, n, replace=False).tolist())

    def path(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
        start = int(rng.integers(cities))
        turned = solution.parts[start:] + solution.parts[:start]
        return without(solution, turned[: how_many(share, cities)])

    def neighbours(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
        near = np.argsort(far[rng.integers(cities)])
        return without(solution, near[: how_many(share, cities)].tolist())

    def cheapest_insertion(solution: Solution, rng: np.random.Generator) -> Solution:
        tour = list(solution.parts)
        for city in rng.permutation(solution.left).tolist():
            here = np.array(tour)
            after = np.array([*tour[1:], tour[0]])
            extra = far[here, city] + far[city, after] - far[here, after]
            tour.insert(int(extra.argmin()) + 1, city)
        return state(tour)

    def random_insertion(solution: Solution, rng: np.random.Generator) -> Solution:
        tour = list(solution.parts)
        for city in solution.left:
            tour.insert(int(rng.integers(len(tour) + 1)), city)
        return state(tour)

    first = state(rng.permutation(cities).tolist())
    destroy = little_and_much(random_cities, path, neighbours)
    return large_neighbourhood(
        f"salesman, {cities} cities", first, destroy, (cheapest_insertion, random_insertion),
        iterations,
    )  # fmt: skip


def cutting_stock(pieces: int, iterations: int, instance: int) -> Case:
    """Cut pieces from few bars; of equally many, those are better whose waste is in one place."""
    rng = np.random.default_rng(instance)
    length = rng.integers(15, 60, pieces).tolist()
    bar = 100

    def waste(bars: list[list[int]]) -> list[int]:
        return [bar - sum(length[p] for p in b) for b in bars]

    def state(bars: list[list[int]]) -> Solution:
        return Solution(bars, len(bars) - sum(w * w for w in waste(bars)) / (len(bars) * bar**2))

    def without(solution: Solution, gone: np.ndarray) -> Solution:
        out = set(gone.tolist())
        kept = [list(b) for i, b in enumerate(solution.parts) if i not in out]
        return Solution(kept, 0.0, [p for i in sorted(out) for p in solution.parts[i]])

    def random_bars(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
        n = len(solution.parts)
        return without(solution, rng.choice(n, how_many(share, n), replace=False))

    def wasteful_bars(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
        noisy = np.array(waste(solution.parts)) + rng.uniform(0, 10, len(solution.parts))
        return without(solution, np.argsort(-noisy)[: how_many(share, len(noisy))])

    def fitted(solution: Solution, order: Sequence[int], tight: bool) -> Solution:
        bars = [list(b) for b in solution.parts]
        room = waste(bars)
        for piece in order:
            fits = [i for i, r in enumerate(room) if r >= length[piece]]
            if not fits:
                bars.append([])
                room.append(bar)
                fits = [len(bars) - 1]
            i = min(fits, key=room.__getitem__) if tight else fits[0]
            bars[i].append(piece)
            room[i] -= length[piece]
        return state(bars)

    def first_fit(solution: Solution, rng: np.random.Generator) -> Solution:
        return fitted(solution, rng.permutation(solution.left).tolist(), tight=False)

    def longest_first(solution: Solution, rng: np.random.Generator) -> Solution:
        noise = dict(zip(solution.left, rng.uniform(0, 8, len(solution.left)), strict=True))
        order = sorted(solution.left, key=lambda p: -(length[p] + noise[p]))
        return fitted(solution, order, tight=True)

    first = fitted(Solution([], 0.0), range(pieces), tight=False)
    destroy = little_and_much(random_bars, wasteful_bars)
    return large_neighbourhood(
        f"cutting stock, {pieces} pieces", first, destroy, (first_fit, longest_first), iterations
    )


def covering(sets: int, elements: int, iterations: int, instance: int) -> Case:
    """Cover all elements by the cheapest sets."""
    rng = np.random.default_rng(instance)
    holds = rng.random((sets, elements)) < 0.04
    holds[rng.integers(sets, size=elements), np.arange(elements)] = True
    cost = rng.integers(5, 50, sets)

    def random_sets(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
        return random_members(solution, share, rng)

    def costly_sets(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
        inside = np.flatnonzero(solution.parts)
        noisy = cost[inside] * rng.uniform(0.5, 1.5, len(inside))
        return smaller(solution, inside[np.argsort(-noisy)[: how_many(share, len(inside))]])

    def greedy_cover(solution: Solution, rng: np.random.Generator) -> Solution:
        chosen = solution.parts.copy()
        bare = ~holds[chosen].any(axis=0)
        while bare.any():
            gain = (holds[:, bare]).sum(axis=1) / cost * rng.uniform(0.8, 1.0, sets)
            s = int(gain.argmax())
            chosen[s] = True
            bare &= ~holds[s]
        return Solution(chosen, float(cost[chosen].sum()))

    def random_cover(solution: Solution, rng: np.random.Generator) -> Solution:
        chosen = solution.parts.copy()
        bare = ~holds[chosen].any(axis=0)
        while bare.any():
            s = rng.choice(np.flatnonzero(holds[:, rng.choice(np.flatnonzero(bare))]))
            chosen[s] = True
            bare &= ~holds[s]
        return Solution(chosen, float(cost[chosen].sum()))

    first = random_cover(Solution(np.zeros(sets, dtype=bool), 0.0), rng)
    destroy = little_and_much(random_sets, costly_sets)
    return large_neighbourhood(
        f"set covering, {sets} sets", first, destroy, (greedy_cover, random_cover), iterations
    )


def flow_shop(jobs: int, machines: int, iterations: int, instance: int) -> Case:
    """Order jobs so that the last one is finished early."""
    rng = np.random.default_rng(instance)
    time = rng.integers(1, 100, (jobs, machines)).tolist()

    def makespan(order: Sequence[int]) -> float:
        ready = [0] * machines
        for job in order:
            before = 0
            for m, t in enumerate(time[job]):
                before = ready[m] = max(before, ready[m]) + t
        return float(ready[-1])

    def without(solution: Solution, left: list[int]) -> Solution:
        return Solution([j for j in solution.parts if j not in set(left)], 0.0, left)

    def random_jobs(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
        return without(solution, rng.choice(jobs, how_many(share, jobs), replace=False).tolist())

    def adjacent_jobs(solution: Solution, share: float, rng: np.random.Generator) -> Solution:
        n = how_many(share, jobs)
        start = int(rng.integers(jobs - n + 1))
        return without(solution, solution.parts[start : start + n])

    def best_of_three(solution: Solution, rng: np.random.Generator) -> Solution:
        order = list(solution.parts)
        for job in rng.permutation(solution.left).tolist():
            places = rng.integers(len(order) + 1, size=3).tolist()
            order = min(([*order[:i], job, *order[i:]] for i in places), key=makespan)
        return Solution(order, makespan(order))

    def anywhere(solution: Solution, rng: np.random.Generator) -> Solution:
        order = list(solution.parts)
        for job in solution.left:
            order.insert(int(rng.integers(len(order) + 1)), job)
        return Solution(order, makespan(order))

    order = rng.permutation(jobs).tolist()
    destroy = little_and_much(random_jobs, adjacent_jobs)
    return large_neighbourhood(
        f"flow shop, {jobs} jobs", Solution(order, makespan(order)), destroy,
        (best_of_three, anywhere), iterations,
    )  # fmt: skip


# DEAP

for _name, _weight in (("Largest", 1.0), ("Least", -1.0)):
    creator.create(f"{_name}Fitness", base.Fitness, weights=(_weight,))
    creator.create(_name, list, fitness=getattr(creator, f"{_name}Fitness"))

Operators = dict[str, Callable[..., Any]]


def evolution(
    problem: str,
    kind: type,
    genome: Callable[[], Any],
    evaluate: Callable[[Any], float],
    mates: Operators,
    mutates: Operators,
    generations: int,
    size: int,
) -> Case:
    """eaSimple, with a hall of fame; alone means one pair of a crossover and a mutation."""
    pairs = list(product(mates, mutates))

    def run(choice: Method | int, seed: int) -> float:
        which = [pairs[choice]] if isinstance(choice, int) else pairs
        random.seed(seed)
        toolbox = base.Toolbox()
        toolbox.register("evaluate", lambda individual: (evaluate(individual),))
        toolbox.register("clone", copied)
        toolbox.register("select", tools.selTournament, tournsize=3)
        for_deap.adaptive(
            toolbox,
            mate=[mates[c] for c in dict.fromkeys(c for c, _ in which)],
            mutate=[mutates[m] for m in dict.fromkeys(m for _, m in which)],
            method="uniform" if isinstance(choice, int) else choice,
        )
        best = tools.HallOfFame(1)
        population = [kind(genome()) for _ in range(size)]
        algorithms.eaSimple(
            population, toolbox, 0.7, 0.3, generations, halloffame=best, verbose=False
        )
        return -float(best[0].fitness.wvalues[0])

    sign = -1 if kind is creator.Largest else 1
    return Case("DEAP", problem, tuple(f"{c} + {m}" for c, m in pairs), run, sign)


def copied(individual: Any) -> Any:
    """Faster than deepcopy, and enough for lists of numbers."""
    copy = type(individual)(individual)
    copy.fitness.wvalues = individual.fitness.wvalues
    return copy


def bits(
    problem: str, n: int, evaluate: Callable[[Any], float], generations: int, size: int
) -> Case:
    mates = {
        "one-point": tools.cxOnePoint, "two-point": tools.cxTwoPoint,
        "uniform": partial(tools.cxUniform, indpb=0.5),
    }  # fmt: skip
    mutates = {
        "flip 1/n": partial(tools.mutFlipBit, indpb=1 / n),
        "flip 10/n": partial(tools.mutFlipBit, indpb=10 / n),
        "shuffle": partial(tools.mutShuffleIndexes, indpb=0.05),
    }
    return evolution(
        problem, creator.Largest, lambda: [random.randint(0, 1) for _ in range(n)], evaluate,
        mates, mutates, generations, size,
    )  # fmt: skip


def orders(
    problem: str, n: int, evaluate: Callable[[Any], float], generations: int, size: int
) -> Case:
    mates = {
        "partially matched": tools.cxPartialyMatched, "ordered": tools.cxOrdered,
        "uniform partially matched": partial(tools.cxUniformPartialyMatched, indpb=0.2),
    }  # fmt: skip
    mutates = {
        "inversion": tools.mutInversion,
        "little shuffle": partial(tools.mutShuffleIndexes, indpb=1 / n),
        "much shuffle": partial(tools.mutShuffleIndexes, indpb=0.3),
    }
    return evolution(
        problem, creator.Least, lambda: random.sample(range(n), n), evaluate, mates, mutates,
        generations, size,
    )  # fmt: skip


def packed(n: int, instance: int) -> Callable[[Any], float]:
    """A knapsack whose excess weight is charged."""
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
    """Pairs of queens on one diagonal of the board."""
    n = len(queens)
    up, down = [0] * (2 * n), [0] * (2 * n)
    for column, row in enumerate(queens):
        up[column + row] += 1
        down[n - 1 - column + row] += 1
    return float(sum(c - 1 for c in up + down if c > 1))


def assigned(n: int, instance: int) -> Callable[[Any], float]:
    """Quadratic assignment: flows between offices, distances between places."""
    rng = np.random.default_rng(instance)
    flow, distance = rng.integers(0, 10, (2, n, n))
    return lambda order: float((flow * distance[np.ix_(order, order)]).sum())


def real_valued(problem: str, n: int, generations: int, size: int) -> Case:
    mates = {
        "blend": partial(tools.cxBlend, alpha=0.3), "two-point": tools.cxTwoPoint,
    }  # fmt: skip
    mutates = {
        f"Gauss {s}": partial(tools.mutGaussian, mu=0, sigma=s, indpb=0.2) for s in (0.01, 0.1, 1)
    }
    return evolution(
        problem, creator.Least, lambda: [random.uniform(-5, 5) for _ in range(n)],
        lambda x: sum(i * v * v for i, v in enumerate(x, 1)), mates, mutates, generations, size,
    )  # fmt: skip


REPORTED = (
    genetic("rastrigin", 10),
    genetic("ackley", 10),
    genetic("griewank", 10),
    genetic("rosenbrock", 10),
    differential("rastrigin", 10),
    differential("rosenbrock", 10),
    knapsack(200, 300, instance=1),
    salesman(60, 300, instance=2),
    cutting_stock(80, 300, instance=3),
    bits("OneMax, 200 bits", 200, lambda b: float(sum(b)), 40, 60),
    bits("knapsack, 60 items", 60, packed(60, 4), 40, 60),
    orders("salesman, 25 cities", 25, toured(25, 5), 60, 60),
    orders("20 queens", 20, conflicts, 40, 60),
)

DEVELOPMENT = (
    genetic("schwefel", 8),
    genetic("zakharov", 8),
    genetic("sphere", 15),
    differential("schwefel", 8),
    differential("ackley", 8),
    covering(150, 100, 300, instance=11),
    flow_shop(20, 5, 300, instance=12),
    bits("royal road, 64 bits", 64, lambda b: float(royal_road1(b, 8)[0]), 40, 60),
    bits("deceptive blocks, 40 bits", 40, lambda b: float(chuang_f1([*b, 0])[0]), 40, 60),
    orders("assignment, 15 offices", 15, assigned(15, 13), 40, 60),
    real_valued("weighted sphere, 10-D", 10, 60, 60),
)
