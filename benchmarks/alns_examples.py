"""ALNS's own examples in short: their operators on generated instances, compiled with numba.

Traveling salesman, capacitated vehicle routing, cutting stock and permutation flow shop, with the
destroy and repair operators, acceptance criteria and selection schemes of the package's notebooks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from alns import ALNS
from alns.accept import HillClimbing, RecordToRecordTravel, SimulatedAnnealing
from alns.select import AlphaUCB, RandomSelect, RouletteWheel
from alns.stop import MaxIterations
from numba import njit

Rng = np.random.Generator


@dataclass
class Solution:
    """A state as ALNS wants it."""

    parts: Any
    value: float = np.nan
    left: Any = ()

    def objective(self) -> float:
        return self.value


@dataclass(frozen=True)
class Example:
    """An instance with its operators; `scheme` and `accept` are those of the notebook."""

    name: str
    first: Solution
    destroy: tuple[Callable[..., Solution], ...]
    repair: tuple[Callable[..., Solution], ...]
    iterations: int
    scheme: Callable[[int, int], Any]
    accept: Callable[[float, int], Any]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return [(d, r) for d in range(len(self.destroy)) for r in range(len(self.repair))]

    def solve(self, select: Callable[[int, int], Any], seed: int, pair: int | None = None) -> float:
        """Return the best objective with a scheme, or with one pair of operators alone."""
        ds, rs = self.destroy, self.repair
        if pair is not None:
            d, r = self.pairs[pair]
            ds, rs = ds[d : d + 1], rs[r : r + 1]
        search = ALNS(np.random.default_rng(seed))
        for operator in ds:
            search.add_destroy_operator(operator)
        for operator in rs:
            search.add_repair_operator(operator)
        scheme = RandomSelect(1, 1) if pair is not None else select(len(ds), len(rs))
        accept = self.accept(self.first.value, self.iterations)
        found = search.iterate(self.first, scheme, accept, MaxIterations(self.iterations))
        return float(found.best_state.objective())


def wheel(*scores: float) -> Callable[[int, int], Any]:
    return lambda d, r: RouletteWheel(list(scores), 0.8, d, r)


# Traveling salesman: a tour is the successor of every city, -1 where it is open.


def salesman(cities: int, instance: int, iterations: int = 1000) -> Example:
    rng = np.random.default_rng(instance)
    places = rng.random((cities, 2))
    far = np.linalg.norm(places[:, None] - places[None], axis=2)
    n = cities // 10

    def opened(solution: Solution, nodes: np.ndarray) -> Solution:
        tour = solution.parts.copy()
        tour[nodes] = -1
        return Solution(tour)

    def random_removal(solution: Solution, rng: Rng) -> Solution:
        return opened(solution, rng.choice(cities, n, replace=False))

    def path_removal(solution: Solution, rng: Rng) -> Solution:
        return opened(solution, _path(solution.parts, int(rng.integers(cities)), n))

    def worst_removal(solution: Solution, rng: Rng) -> Solution:
        longest = far[np.arange(cities), solution.parts]
        return opened(solution, np.argpartition(-longest, n)[:n])

    def greedy_repair(solution: Solution, rng: Rng) -> Solution:
        tour, length = _close(solution.parts, rng.permutation(cities), far)
        return Solution(tour, length)

    first = greedy_repair(Solution(np.full(cities, -1)), rng)
    return Example(
        f"salesman, {cities} cities", first, (random_removal, path_removal, worst_removal),
        (greedy_repair,), iterations, wheel(3, 2, 1, 0.5), lambda value, n: HillClimbing(),
    )  # fmt: skip


@njit(cache=True)
def _path(tour, start, n):  # type: ignore[no-untyped-def]
    nodes = np.empty(n, np.int64)
    for i in range(n):
        nodes[i] = start
        start = tour[start]
    return nodes


@njit(cache=True)
def _close(opened, order, far):  # type: ignore[no-untyped-def]
    """Join every open city to the nearest one that makes no shorter cycle."""
    tour = opened.copy()
    n = len(tour)
    entered = np.zeros(n, np.bool_)
    missing = 0
    for city in range(n):
        if tour[city] >= 0:
            entered[tour[city]] = True
        else:
            missing += 1
    for city in order:
        if tour[city] >= 0:
            continue
        best = -1
        for other in range(n):
            if entered[other] or (best >= 0 and far[city, other] >= far[city, best]):
                continue
            end = other
            while tour[end] >= 0:
                end = tour[end]
            if end != city or missing == 1:
                best = other
        tour[city] = best
        entered[best] = True
        missing -= 1
    length = 0.0
    for city in range(n):
        length += far[city, tour[city]]
    return tour, length


# Vehicle routing: customers 1..n and one depot node n+1.. for each vehicle, as linked lists.


def vehicles(customers: int, instance: int, iterations: int = 1000) -> Example:
    rng = np.random.default_rng(instance)
    places = rng.integers(0, 1000, (customers + 1, 2))
    far = np.linalg.norm(places[:, None] - places[None], axis=2)
    demand = rng.integers(1, 100, customers + 1)
    capacity = int(demand[1:].sum() / max(4, customers / 12))
    nearest = np.argsort(far, axis=1)

    def without(solution: Solution, gone: np.ndarray) -> Solution:
        return Solution(_unlink(*solution.parts, gone, demand), left=gone)

    def random_removal(solution: Solution, rng: Rng) -> Solution:
        n = max(1, customers // 20)
        return without(solution, rng.choice(np.arange(1, customers + 1), n, replace=False))

    def string_removal(solution: Solution, rng: Rng) -> Solution:
        center = int(rng.integers(1, customers + 1))
        return without(solution, _strings(*solution.parts, nearest[center], rng.random((2, 2))))

    def greedy_repair(solution: Solution, rng: Rng) -> Solution:
        order = rng.permutation(solution.left)
        parts, length = _insert(*solution.parts, order, far, demand, capacity, np.ones(1))
        return Solution(parts, length)

    def greedy_with_blinks(solution: Solution, rng: Rng) -> Solution:
        order = rng.permutation(solution.left)
        parts, length = _insert(
            *solution.parts, order, far, demand, capacity, rng.random(50 * customers)
        )
        return Solution(parts, length)

    n = 2 * customers + 1
    after = np.where(np.arange(n) > customers, np.arange(n), -1)
    route = np.where(np.arange(n) > customers, np.arange(n) - customers - 1, -1)
    empty = (after, after.copy(), route, np.zeros(customers, np.int64))
    sweep = 1 + np.argsort(np.arctan2(*(places[1:] - places[0]).T))
    first = Solution(*_insert(*empty, sweep, far, demand, capacity, np.ones(1)))
    return Example(
        f"vehicle routing, {customers} customers", first, (random_removal, string_removal),
        (greedy_repair, greedy_with_blinks), iterations, wheel(25, 5, 1, 0),
        lambda value, n: RecordToRecordTravel.autofit(value, 0.02, 0, n),
    )  # fmt: skip


@njit(cache=True)
def _unlink(after, before, route, load, gone, demand):  # type: ignore[no-untyped-def]
    after, before, route, load = after.copy(), before.copy(), route.copy(), load.copy()
    for c in gone:
        after[before[c]], before[after[c]] = after[c], before[c]
        load[route[c]] -= demand[c]
        route[c] = -1
    return after, before, route, load


@njit(cache=True)
def _strings(after, before, route, load, nearest, draws):  # type: ignore[no-untyped-def]
    """Remove up to two strings of up to twelve customers, from routes near the center."""
    n = len(load)
    gone = np.empty(24, np.int64)
    size = done = 0
    first_route = -1
    for c in nearest:
        if c == 0 or route[c] == first_route:
            continue
        on_route = 0
        node = after[n + 1 + route[c]]
        while node <= n:
            on_route += 1
            node = after[node]
        length = 1 + int(draws[done, 0] * min(on_route, 12))
        node = c
        for _ in range(int(draws[done, 1] * length)):
            node = before[node] if before[node] <= n else before[before[node]]
        for _ in range(length):
            gone[size] = node
            size += 1
            node = after[node] if after[node] <= n else after[after[node]]
        first_route = route[c]
        done += 1
        if done == 2:
            break
    return gone[:size]


@njit(cache=True)
def _insert(after, before, route, load, order, far, demand, capacity, blinks):  # type: ignore[no-untyped-def]
    """Insert each customer where it costs least; a place is passed over where blinks are < 0.01."""
    n = len(load)
    seen = 0
    for c in order:
        best, least = -1, np.inf
        for p in range(1, len(after)):
            if route[p] < 0 or (p > n and after[p] == p) or load[route[p]] + demand[c] > capacity:
                continue
            seen += 1
            if blinks[seen % len(blinks)] < 0.01:
                continue
            a, b = (0 if p > n else p), (0 if after[p] > n else after[p])
            extra = far[a, c] + far[c, b] - far[a, b]
            if extra < least:
                best, least = p, extra
        if best < 0:
            best = n + 1
            while after[best] != best:
                best += 1
        after[c], before[c], before[after[best]], after[best] = after[best], best, c, c
        route[c] = route[best]
        load[route[c]] += demand[c]
    length = 0.0
    for p in range(1, len(after)):
        length += far[0 if p > n else p, 0 if after[p] > n else after[p]]
    return (after, before, route, load), length


# Cutting stock: the bar of every piece, -1 for none; the objective is the number of bars.


def cutting_stock(pieces: int, instance: int, iterations: int = 1000) -> Example:
    rng = np.random.default_rng(instance)
    length = rng.integers(20, 50, pieces)
    bar = 100

    def without(solution: Solution, bars: np.ndarray) -> Solution:
        parts = np.where(np.isin(solution.parts, bars), -1, solution.parts)
        return Solution(parts, left=np.flatnonzero(parts < 0))

    def random_removal(solution: Solution, rng: Rng) -> Solution:
        used = int(solution.value)
        return without(solution, rng.choice(used, used // 4, replace=False))

    def worst_removal(solution: Solution, rng: Rng) -> Solution:
        used = int(solution.value)
        filled = np.bincount(solution.parts, length, minlength=used)
        return without(solution, np.argsort(filled)[: used // 4])

    def greedy_insert(solution: Solution, rng: Rng) -> Solution:
        return Solution(*_cut(solution.parts, rng.permutation(solution.left), length, bar, False))

    def minimal_wastage(solution: Solution, rng: Rng) -> Solution:
        return Solution(*_cut(solution.parts, rng.permutation(solution.left), length, bar, True))

    start = Solution(np.full(pieces, -1), left=np.arange(pieces))
    return Example(
        f"cutting stock, {pieces} pieces", greedy_insert(start, rng),
        (random_removal, worst_removal), (greedy_insert, minimal_wastage), iterations,
        wheel(3, 2, 1, 0.5), lambda value, n: HillClimbing(),
    )  # fmt: skip


@njit(cache=True)
def _cut(parts, order, length, bar, tight):  # type: ignore[no-untyped-def]
    """Put each piece into the first bar, or the fullest, with room; number the bars anew."""
    parts = parts.copy()
    room = np.full(len(parts), bar)
    used = 0
    number = np.full(len(parts), -1)
    for p in range(len(parts)):
        if parts[p] >= 0:
            if number[parts[p]] < 0:
                number[parts[p]] = used
                used += 1
            parts[p] = number[parts[p]]
            room[parts[p]] -= length[p]
    for p in order:
        best = -1
        for b in range(used):
            if room[b] >= length[p] and (best < 0 or (tight and room[b] < room[best])):
                best = b
        if best < 0:
            best = used
            used += 1
        parts[p] = best
        room[best] -= length[p]
    return parts, float(used)


# Permutation flow shop: the order of the jobs; the objective is the makespan.


def flow_shop(jobs: int, machines: int, instance: int, iterations: int = 600) -> Example:
    rng = np.random.default_rng(instance)
    time = rng.integers(1, 100, (jobs, machines))

    def without(solution: Solution, at: np.ndarray) -> Solution:
        return Solution(np.delete(solution.parts, at), left=solution.parts[at])

    def random_removal(solution: Solution, rng: Rng) -> Solution:
        return without(solution, rng.choice(jobs, 2, replace=False))

    def adjacent_removal(solution: Solution, rng: Rng) -> Solution:
        return without(solution, int(rng.integers(jobs - 1)) + np.arange(2))

    def greedy_repair(solution: Solution, rng: Rng) -> Solution:
        return Solution(*_schedule(solution.parts, rng.permutation(solution.left), time))

    def greedy_and_local_search(solution: Solution, rng: Rng) -> Solution:
        order, value = _schedule(solution.parts, rng.permutation(solution.left), time)
        for job in rng.permutation(jobs)[:5]:
            other, better = _schedule(order[order != job], np.array([job]), time)
            if better < value:
                order, value = other, better
        return Solution(order, value)

    order = rng.permutation(jobs)
    first = Solution(order, _schedule(order[:-1], order[-1:], time)[1])
    return Example(
        f"flow shop, {jobs} jobs", first, (random_removal, adjacent_removal),
        (greedy_repair, greedy_and_local_search), iterations,
        lambda d, r: AlphaUCB([5, 2, 1, 0.5], 0.05, d, r),
        lambda value, n: SimulatedAnnealing.autofit(value, 0.05, 0.5, n),
    )  # fmt: skip


@njit(cache=True)
def _schedule(order, left, time):  # type: ignore[no-untyped-def]
    """Insert each job where the makespan is least."""
    makespan = np.inf
    for job in left:
        best, makespan = 0, np.inf
        for place in range(len(order) + 1):
            ready = np.zeros(time.shape[1])
            for i in range(len(order) + 1):
                j = job if i == place else order[i if i < place else i - 1]
                before = 0.0
                for m in range(time.shape[1]):
                    before = max(before, ready[m]) + time[j, m]
                    ready[m] = before
            if ready[-1] < makespan:
                best, makespan = place, ready[-1]
        longer = np.empty(len(order) + 1, order.dtype)
        longer[:best], longer[best], longer[best + 1 :] = order[:best], job, order[best:]
        order = longer
    return order, makespan
