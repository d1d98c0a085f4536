"""A slow, plain transcription of the framework's equations, written for reading.

It is the judge of the fast implementation, so it shares nothing with it: loops, lists and the
standard library. Section numbers are those of the specification: 1 metric, 2 memory, 3 reward,
4 quality, 5 probability, 6 selection.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

Params = Mapping[str, Any]

LIMIT = 1e100  # metrics, rewards and qualities stay within it, so that their cubes stay finite

REFERENCE_METRICS = ("best_parent_improvement", "best_so_far_improvement", "median_improvement")
RECENT_REWARDS = ("pareto_dominance", "pareto_rank", "compass_projection")
WINDOW_REWARDS = ("area_under_curve", "sum_of_ranks", "window_success_sum")


# Arithmetic that never raises


def saturate(x: float) -> float:
    """The number guard of sections 1, 3 and 4: NaN is 0, everything else is cut to the limit."""
    if math.isnan(x):
        return 0.0
    return max(-LIMIT, min(LIMIT, x))


def quotient(a: float, b: float) -> float:
    """Section 1, notation: a / b, and 0 where b is 0; saturated."""
    if b == 0:
        return 0.0
    return saturate(a / b)


def power(a: float, n: float) -> float:
    """Power a to the n, with 0 to the 0 being 1 and an overflow being infinite; not saturated."""
    try:
        return float(a**n)
    except OverflowError:
        return -math.inf if a < 0 and n % 2 == 1 else math.inf


def mean(values: Sequence[float]) -> float:
    """Mean, 0 of nothing; equal values have exactly that value for a mean."""
    if not values:
        return 0.0
    if min(values) == max(values):
        return values[0]
    return math.fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """Population standard deviation, 0 of nothing; exactly 0 for equal values."""
    if not values or min(values) == max(values):
        return 0.0
    center = mean(values)
    return math.sqrt(math.fsum((x - center) ** 2 for x in values) / len(values))


# 1. Offspring metric


def repaired(parents: Sequence[float]) -> list[float]:
    """Section 1: a parent that is not finite is read as the worst finite one, if there is one."""
    finite = [f for f in parents if math.isfinite(f)]
    if not finite:
        return list(parents)
    return [f if math.isfinite(f) else max(finite) for f in parents]


def improvement(
    name: str, u: float, f: float, parents: Sequence[float], lowest: float, best_so_far: float
) -> float:
    """Section 1, the table: the metric of an improving offspring u of the parent f."""
    if name == "offspring_fitness":
        return saturate(-u)
    if name == "exp_offspring_fitness":
        return saturate(math.exp(-(u - lowest)))
    if name == "parent_improvement":
        return saturate(f - u)
    if name == "best_parent_improvement":
        return saturate(max(0.0, min(parents) - u))
    if name == "best_so_far_improvement":
        return saturate(max(0.0, best_so_far - u))
    if name == "median_improvement":
        return saturate(max(0.0, statistics.median(parents) - u))
    if name == "relative_improvement":
        divisor = sys.float_info.min if u == 0 else u
        return saturate((best_so_far / divisor) * (f - u))
    if name == "parent_relative_improvement":
        return saturate((f - u) / (sys.float_info.min if f == 0 else abs(f)))
    raise ValueError(f"unknown metric {name!r}")


def measure(
    name: str, parents: Sequence[float], offspring: Sequence[float], best_so_far: float
) -> tuple[list[float], list[bool]]:
    """Section 1: metric of every offspring, 0 where it does not improve; and the successes."""
    metrics = [0.0] * len(offspring)
    successes = [False] * len(offspring)
    fitness = repaired(parents)
    finite = [u for u in offspring if math.isfinite(u)]
    for i in range(len(offspring)):
        u, f = offspring[i], fitness[i]
        if not math.isfinite(u) or not math.isfinite(f) or not u < f:
            continue
        metrics[i] = improvement(name, u, f, fitness, min(finite), best_so_far)
        successes[i] = metrics[i] > 0 if name in REFERENCE_METRICS else True
    return metrics, successes


# 2. Memory


class Generation(TypedDict):
    """Section 1, notation: one generation, each list with one value for each operator."""

    s: list[int]
    """Successes."""
    n: list[int]
    """Applications: successes and failures."""
    S: list[float]
    """Sum of the metric over the successes."""
    B: list[float]
    """Maximum of the metric over the successes, 0 without any."""


class Memory:
    """Section 2: the generation memory and the window memory; a size of 0 keeps nothing.

    generations: the last max_gen generations, newest first.
    recent: for each operator the metrics of its last fix_appl successes, oldest first.
    window_entries: at most window successes (operator, metric), oldest first.
    bests: the best finite fitness of each operator's offspring, inf before the first.
    records: per operator and generation, the best metric of its successes so far, -inf if none.
    successes: since the last generation that began with a share of counts below `least`, where an
    operator's count is `start` and its successes.
    """

    def __init__(
        self,
        n_operators: int,
        max_gen: int = 0,
        fix_appl: int = 0,
        window: int = 0,
        start: float = 1,
        least: float = 0,
    ) -> None:
        self.start, self.least = start, least
        self.successes = [0] * n_operators
        self.n_operators = n_operators
        self.max_gen = max_gen
        self.fix_appl = fix_appl
        self.window = window
        self.generations: list[Generation] = []
        self.recent: list[list[float]] = [[] for _ in range(n_operators)]
        self.window_entries: list[tuple[int, float]] = []
        self.bests = [math.inf] * n_operators
        self.records: list[list[float]] = [[] for _ in range(n_operators)]
        self.log: list[tuple[Generation, float, float]] = []

    def record(
        self,
        operators: Sequence[int],
        metrics: Sequence[float],
        successes: Sequence[bool],
        offspring: Sequence[float],
    ) -> None:
        """Section 2: takes in one generation, its successes in order of the population index."""
        if min(self.counts) / sum(self.counts) < self.least:
            self.successes = [0] * self.n_operators
        for op, success in zip(operators, successes, strict=True):
            self.successes[op] += bool(success)
        for op, u in zip(operators, offspring, strict=True):
            if math.isfinite(u):
                self.bests[op] = min(self.bests[op], u)
        self.generations.insert(0, summary(self.n_operators, operators, metrics, successes))
        share = sum(map(bool, successes)) / len(successes)
        finite = [u for u in offspring if math.isfinite(u)]
        self.log.append((self.generations[0], share, min(finite, default=math.inf)))
        for op, record in enumerate(self.records):
            gains = [
                m for o, m, s in zip(operators, metrics, successes, strict=True) if o == op and s
            ]
            record.append(max([-math.inf, *record[-1:], *gains]))
        if len(self.generations) > self.max_gen:
            self.generations.pop()
        for op, metric, success in zip(operators, metrics, successes, strict=True):
            if success:
                self.recent[op].append(metric)
                if len(self.recent[op]) > self.fix_appl:
                    self.recent[op].pop(0)
                self.enter_window(op, metric)

    @property
    def counts(self) -> list[float]:
        """Winners, success_count: c[op]."""
        return [self.start + n for n in self.successes]

    def enter_window(self, op: int, metric: float) -> None:
        """Section 2, window memory: a newest entry, for which another leaves when it is full."""
        if self.window == 0:
            return
        if len(self.window_entries) == self.window:
            leaving = self.leaving(op, metric)
            if leaving is None:
                return
            self.window_entries.pop(leaving)
        self.window_entries.append((op, metric))

    def leaving(self, op: int, metric: float) -> int | None:
        """Section 2: position of the entry that makes room, None if the new one is not stored."""
        for position, (other, _) in enumerate(self.window_entries):
            if other == op:
                return position
        smallest = min(value for _, value in self.window_entries)
        if not smallest < metric:
            return None
        return [value for _, value in self.window_entries].index(smallest)


def summary(
    n_operators: int,
    operators: Sequence[int],
    metrics: Sequence[float],
    successes: Sequence[bool],
) -> Generation:
    """Section 1, notation: s, n, S and B of one generation."""
    generation: Generation = {"s": [], "n": [], "S": [], "B": []}
    for op in range(n_operators):
        own = [i for i in range(len(operators)) if operators[i] == op]
        gains = [metrics[i] for i in own if successes[i]]
        generation["s"].append(len(gains))
        generation["n"].append(len(own))
        generation["S"].append(math.fsum(gains))
        generation["B"].append(max(gains) if gains else 0.0)
    return generation


# 3. Reward


def points(params: Params, memory: Memory) -> list[tuple[float, float] | None]:
    """Section 3: (std, mean) of each operator's last fix_appl success metrics, None without."""
    result: list[tuple[float, float] | None] = []
    for values in memory.recent:
        last = values[-params["fix_appl"] :]
        result.append((deviation(last), mean(last)) if last else None)
    return result


def dominates(a: tuple[float, float] | None, b: tuple[float, float] | None) -> bool:
    """Section 3: a is >= in both, > in one; no point takes no part."""
    if a is None or b is None:
        return False
    return a[0] >= b[0] and a[1] >= b[1] and (a[0] > b[0] or a[1] > b[1])


def pareto_dominance(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, pareto_dominance: PD / sum PD, PD the number of operators it dominates."""
    p = points(params, memory)
    wins = [sum(dominates(p[op], other) for other in p) for op in range(n_operators)]
    return [quotient(x, sum(wins)) for x in wins]


def pareto_rank(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, pareto_rank: 1 - PR / sum PR, PR the number of operators that dominate it."""
    p = points(params, memory)
    losses = [sum(dominates(other, p[op]) for other in p) for op in range(n_operators)]
    return [
        0.0 if p[op] is None else 1 - quotient(losses[op], sum(losses)) for op in range(n_operators)
    ]


def compass_projection(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, compass_projection: hypot(std, mean) cos(atan2(mean, std) - theta), less min."""
    p = [(0.0, 0.0) if point is None else point for point in points(params, memory)]
    theta = math.radians(params["theta"])
    v = []
    for op in range(n_operators):
        std = quotient(p[op][0], max(point[0] for point in p))
        average = quotient(p[op][1], max(point[1] for point in p))
        v.append(math.hypot(std, average) * math.cos(math.atan2(average, std) - theta))
    return [x - min(v) for x in v]


def tied_groups(memory: Memory) -> list[list[int]]:
    """Section 3: the window's operators ranked by metric, best first, grouped by equal metric."""
    values = sorted({metric for _, metric in memory.window_entries}, reverse=True)
    return [[op for op, metric in memory.window_entries if metric == x] for x in values]


def curve_steps(decay: float, m: int) -> list[float]:
    """Section 3, area_under_curve: the step D^q (m - q) of rank q = 0..m-1; D = 0: all 1."""
    if decay == 0:
        return [1.0] * m
    return [power(decay, q) * (m - q) for q in range(m)]


def area(op: int, groups: Sequence[Sequence[int]], steps: Sequence[float]) -> float:
    """Section 3, area_under_curve: the walk for one operator, group by group of equal metric."""
    x = y = total = 0.0
    rank = 0
    for group in groups:
        step = mean(steps[rank : rank + len(group)])
        up = step * sum(other == op for other in group)
        right = step * sum(other != op for other in group)
        total += y * right + up * right / 2
        x += right
        y += up
        rank += len(group)
    if x > 0 and y > 0:
        return quotient(total, x * y)
    return 1.0 if y > 0 else 0.0


def area_under_curve(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, area_under_curve: area(op) / (final x * final y)."""
    steps = curve_steps(params["D"], len(memory.window_entries))
    groups = tied_groups(memory)
    return [area(op, groups, steps) for op in range(n_operators)]


def sum_of_ranks(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, sum_of_ranks: sum of D^q (W - q) over op's entries / that over all entries."""
    sums = [0.0] * n_operators
    rank = 1
    for group in tied_groups(memory):
        for op in group:
            sums[op] += power(params["D"], rank) * (params["W"] - rank)
        rank += len(group)
    return [quotient(x, math.fsum(sums)) for x in sums]


def success_rate(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, success_rate: sum_t (s[t,op]^power + frac sum_j s[t,j]) / n[t,op], + noise."""
    rewards = []
    for op in range(n_operators):
        terms = []
        for t in memory.generations[: params["max_gen"]]:
            rate = power(t["s"][op], params["power"]) + params["frac"] * sum(t["s"])
            # A generation without an application counts with n = 1.
            terms.append(quotient(rate, max(1, t["n"][op])))
        rewards.append(math.fsum(terms) + params["noise"])
    return rewards


def immediate_success(_params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, immediate_success: s[0,op] / NP."""
    if not memory.generations:
        return [0.0] * n_operators
    last = memory.generations[0]
    return [quotient(last["s"][op], sum(last["n"])) for op in range(n_operators)]


def success_sum(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, success_sum: sum_t S[t,op] / sum_t n[t,op]."""
    last = memory.generations[: params["max_gen"]]
    return [
        quotient(math.fsum(t["S"][op] for t in last), sum(t["n"][op] for t in last))
        for op in range(n_operators)
    ]


def window_success_sum(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, window_success_sum: mean metric in the window, over the largest if normalised."""
    means = []
    for op in range(n_operators):
        means.append(mean([metric for other, metric in memory.window_entries if other == op]))
    if params["normalise"] == 1:
        return [quotient(x, max(means)) for x in means]
    return means


def generation_success_sum(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, generation_success_sum: sum_t S[t,op] / n[t,op]."""
    last = memory.generations[: params["max_gen"]]
    return [math.fsum(quotient(t["S"][op], t["n"][op]) for t in last) for op in range(n_operators)]


def best_2_generations(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, best_2_generations: C (B[0] - B[1]) / (B[1]^alpha abs(n[0] - n[1])^beta).

    With `elitist` (second audit, Hybrid), B is the best so far, and the first success gives 0.
    """
    zero = [0] * n_operators
    empty: Generation = {"s": zero, "n": zero, "S": [0.0] * n_operators, "B": [0.0] * n_operators}
    now, before = [*memory.generations, empty, empty][:2]
    rewards = []
    for op in range(n_operators):
        best, best_before = now["B"][op], before["B"][op]
        if params["elitist"]:
            best_before, best = [-math.inf, *memory.records[op]][-2:]
            if best_before == -math.inf:
                rewards.append(0.0)
                continue
        factor_b = power(best_before, params["alpha"])
        factor_n = power(abs(now["n"][op] - before["n"][op]), params["beta"])
        divisor = (factor_b if factor_b != 0 else 1) * (factor_n if factor_n != 0 else 1)
        rewards.append(quotient(params["C"] * (best - best_before), divisor))
    return rewards


def normalised_best_sum(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3, normalised_best_sum: (1/T) sum_t B[t,op]^rho / (max_j sum_t B[t,j])^alpha."""
    last = memory.generations[: params["max_gen"]]
    best = max(math.fsum(t["B"][op] for t in last) for op in range(n_operators))
    divisor = len(last) * power(best, params["alpha"])
    return [
        quotient(math.fsum(power(t["B"][op], params["rho"]) for t in last), divisor)
        for op in range(n_operators)
    ]


def improvement_sum(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Winners, improvement_sum: sum_t S[t,op]."""
    last = memory.generations[: params["max_gen"]]
    return [math.fsum(t["S"][op] for t in last) for op in range(n_operators)]


def consensus(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Winners, consensus: mean improvements if they rank as the successes do, else these."""
    last, ops = memory.generations[: params["max_gen"]], range(n_operators)
    means = [
        quotient(math.fsum(t["S"][op] for t in last), sum(t["n"][op] for t in last)) for op in ops
    ]
    counts = [sum(t["s"][op] for t in last) for op in ops]
    by_mean, by_count = (sorted(ops, key=lambda op: of[op]) for of in (means, counts))
    distinct = len(set(means)) == len(set(counts)) == n_operators
    return means if distinct and by_mean == by_count else [float(c) for c in counts]


def leader(_params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Additions, leader: 1 for the operator whose best is strictly below every other's."""
    rewards = []
    for op in range(n_operators):
        others = [memory.bests[j] for j in range(n_operators) if j != op]
        rewards.append(1.0 if all(memory.bests[op] < other for other in others) else 0.0)
    return rewards


def success_count(_params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Winners, success_count: c[op]."""
    return memory.counts


class StateValues:
    """Additions, state_value: what all generations so far say of each operator in each state."""

    def __init__(self, params: Params, memory: Memory, n_operators: int) -> None:
        self.value: dict[tuple[object, int], float] = {}
        self.count: dict[tuple[object, int], int] = {}
        self.state: tuple[int, int] = (0, 0)
        best, since = math.inf, 0
        for generation, share, lowest in memory.log:
            before = self.state
            since = 0 if lowest < best else since + 1
            best = min(best, lowest)
            rate = 0 if share < 0.05 else 1 if share < 0.2 else 2
            self.state = (rate, 0 if since < 1 else 1 if since < 10 else 2)
            following = params["gamma"] * max(map(self.estimate, range(n_operators)))
            for op in range(n_operators):
                if generation["n"][op]:
                    gain = generation["S"][op] / generation["n"][op] + following
                    for key in ((before, op), ("any", op)):
                        self.count[key] = self.count.get(key, 0) + 1
                        weight = max(params["rate"], 1 / self.count[key])
                        old = self.value.get(key, 0.0)
                        self.value[key] = old + weight * (gain - old)

    def estimate(self, op: int) -> float:
        """Return Q[s',op], or the value in any state if there is none."""
        return self.value.get((self.state, op), self.value.get(("any", op), 0.0))


def state_value(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Additions, state_value: Q[s',op]."""
    return list(map(StateValues(params, memory, n_operators).estimate, range(n_operators)))


def fitness_rate_rank(params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Additions, fitness_rate_rank: shares of the sums of the metric, decayed by their ranks."""
    last = memory.generations[: params["max_gen"]]
    gained = [math.fsum(t["S"][op] for t in last) for op in range(n_operators)]
    ranks = [sum(other > mine for other in gained) for mine in gained]
    decayed = [power(params["D"], k) * mine for k, mine in zip(ranks, gained, strict=True)]
    return [quotient(mine, math.fsum(decayed)) for mine in decayed]


REWARDS: dict[str, Callable[[Params, Memory, int], list[float]]] = {
    "pareto_dominance": pareto_dominance,
    "pareto_rank": pareto_rank,
    "compass_projection": compass_projection,
    "area_under_curve": area_under_curve,
    "sum_of_ranks": sum_of_ranks,
    "success_rate": success_rate,
    "immediate_success": immediate_success,
    "success_sum": success_sum,
    "window_success_sum": window_success_sum,
    "generation_success_sum": generation_success_sum,
    "best_2_generations": best_2_generations,
    "normalised_best_sum": normalised_best_sum,
    "improvement_sum": improvement_sum,
    "consensus": consensus,
    "leader": leader,
    "success_count": success_count,
    "state_value": state_value,
    "fitness_rate_rank": fitness_rate_rank,
}


def reward(name: str, params: Params, memory: Memory, n_operators: int) -> list[float]:
    """Section 3: the reward of every operator, before any scaling."""
    return [saturate(x) for x in REWARDS[name](params, memory, n_operators)]


def scaled(rewards: Sequence[float]) -> list[float]:
    """Section 3, reward scaling: mapped linearly onto [0, 1]; all equal: all 0."""
    low, high = min(rewards), max(rewards)
    return [quotient(x - low, high - low) for x in rewards]


def depth(reward_name: str, params: Params) -> int:
    """Sections 3 and 4: how many generations a reward looks back on, 0 if it uses none."""
    if reward_name == "immediate_success":
        return 1
    if reward_name == "best_2_generations":
        return 2
    return int(params.get("max_gen", 0))


def looked_at(reward_name: str, params: Params, memory: Memory, n_operators: int) -> list[int]:
    """Section 4, upper_confidence_bound: N, how many successes of each operator the reward saw."""
    if reward_name in WINDOW_REWARDS:
        return [sum(o == op for o, _ in memory.window_entries) for op in range(n_operators)]
    if reward_name in RECENT_REWARDS:
        return [len(memory.recent[op][-params["fix_appl"] :]) for op in range(n_operators)]
    if reward_name == "leader":
        return [1] * n_operators
    if reward_name == "success_count":
        return list(memory.successes)
    if reward_name == "state_value":
        seen = StateValues(params, memory, n_operators)
        return [seen.count.get((seen.state, op), 0) for op in range(n_operators)]
    last = memory.generations[: depth(reward_name, params)]
    counted = "n" if reward_name == "fitness_rate_rank" else "s"
    return [sum(t[counted][op] for t in last) for op in range(n_operators)]


# 4. Quality


def weighted_sum(params: Params, r: Sequence[float], q_old: Sequence[float]) -> list[float]:
    """Section 4, weighted_sum: delta r + (1 - delta) q_old."""
    delta = params["delta"]
    return [delta * r[op] + (1 - delta) * q_old[op] for op in range(len(r))]


def upper_confidence_bound(params: Params, r: Sequence[float], N: Sequence[int]) -> list[float]:
    """Section 4, upper_confidence_bound: r + C sqrt(log(sum_j N_j) / N_op), N_op = 0 being 1."""
    counts = [max(count, 1) for count in N]
    log = math.log(sum(counts))
    return [r[op] + params["C"] * math.sqrt(log / counts[op]) for op in range(len(r))]


def weighted_normalised_sum(
    params: Params, r: Sequence[float], q_old: Sequence[float]
) -> list[float]:
    """Section 4, weighted_normalised_sum: delta max(q_min, r / sum r) + (1 - delta) q_old."""
    delta, total = params["delta"], math.fsum(r)
    result = []
    for op in range(len(r)):
        share = quotient(r[op], total) if total != 0 else 1 / len(r)
        result.append(delta * max(params["q_min"], share) + (1 - delta) * q_old[op])
    return result


def solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Gaussian elimination with partial pivoting."""
    k = len(right)
    rows = [[*matrix[i], right[i]] for i in range(k)]
    for column in range(k):
        pivot = max(range(column, k), key=lambda i: abs(rows[i][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for i in range(column + 1, k):
            factor = rows[i][column] / rows[column][column]
            for j in range(column, k + 1):
                rows[i][j] -= factor * rows[column][j]
    x = [0.0] * k
    for i in reversed(range(k)):
        known = math.fsum(rows[i][j] * x[j] for j in range(i + 1, k))
        x[i] = (rows[i][k] - known) / rows[i][i]
    return x


def softmax(values: Sequence[float]) -> list[float]:
    """exp(x) / sum exp(x), taken relative to the largest so that nothing overflows."""
    weights = [math.exp(x - max(values)) for x in values]
    return [w / math.fsum(weights) for w in weights]


def bellman(
    params: Params, r: Sequence[float], r_old: Sequence[float], p: Sequence[float]
) -> list[float]:
    """Section 4, bellman: (I - gamma P) q = c1 r + c2 r_old, and its softmax unless it is off."""
    k = len(r)
    matrix = []
    for i in range(k):
        row_sum = math.fsum(p[i] + p[j] for j in range(k))
        transitions = [quotient(p[i] + p[j], row_sum) for j in range(k)]
        matrix.append(
            [(1.0 if i == j else 0.0) - params["gamma"] * transitions[j] for j in range(k)]
        )
    right = [params["c1"] * r[op] + params["c2"] * r_old[op] for op in range(k)]
    solution = [saturate(x) for x in solve(matrix, right)]
    return softmax(solution) if params["softmax"] else solution


def normalised(values: Sequence[float]) -> list[float]:
    """Sections 4 and 5, then always: divided by the sum; sum 0: 1/K each."""
    total = math.fsum(values)
    if total == 0:
        return [1 / len(values)] * len(values)
    return [quotient(x, total) for x in values]


def quality(
    name: str,
    params: Params,
    r: Sequence[float],
    r_old: Sequence[float],
    q_old: Sequence[float],
    p: Sequence[float],
    N: Sequence[int],
) -> list[float]:
    """Section 4: the quality of every operator, shifted to be >= 0 and summing to 1."""
    if name == "weighted_sum":
        raw = weighted_sum(params, r, q_old)
    elif name == "upper_confidence_bound":
        raw = upper_confidence_bound(params, r, N)
    elif name == "identity":
        raw = list(r)
    elif name == "weighted_normalised_sum":
        raw = weighted_normalised_sum(params, r, q_old)
    elif name == "bellman":
        raw = bellman(params, r, r_old, p)
    else:
        raise ValueError(f"unknown quality {name!r}")
    raw = [saturate(x) for x in raw]
    shift = min(0.0, min(raw))
    return normalised([x - shift for x in raw])


# 5. Probability


def check_bounds(params: Params, k: int) -> None:
    """Section 5: K p_min >= 1 and p_max < p_min are errors."""
    p_min = params["p_min"]
    if k * p_min >= 1:
        raise ValueError(f"p_min = {p_min} is too large for {k} operators: needs p_min < 1/{k}")
    if params.get("p_max", p_min) < p_min:
        raise ValueError(f"p_max = {params['p_max']} < p_min = {p_min} for {k} operators")


def probability_matching(params: Params, q: Sequence[float]) -> list[float]:
    """Section 5, probability_matching: p_min + (1 - K p_min) (q + error) / sum (q_j + error)."""
    k, p_min = len(q), params["p_min"]
    total = math.fsum(x + params["error"] for x in q)
    return [p_min + (1 - k * p_min) * quotient(x + params["error"], total) for x in q]


def adaptive_pursuit(params: Params, q: Sequence[float], p_old: Sequence[float]) -> list[float]:
    """Section 5, adaptive_pursuit: mu p_max + (1 - mu) p_old for the best, p_min for others."""
    best, mu = list(q).index(max(q)), params["mu"]
    goals = [params["p_max"] if op == best else params["p_min"] for op in range(len(q))]
    return [mu * goals[op] + (1 - mu) * p_old[op] for op in range(len(q))]


def share_transfer(params: Params, q: Sequence[float], p_old: Sequence[float]) -> list[float]:
    """Winners, share_transfer: the best divide what the others hand over, down to p_min."""
    best = [op for op in range(len(q)) if q[op] == max(q)]
    given = []
    for op in range(len(q)):
        part = 0.0 if op in best else params["xi"] * (max(q) - q[op]) / max(q) * p_old[op]
        given.append(min(part, max(0.0, p_old[op] - params["p_min"])))
    each = math.fsum(given) / len(best)
    return [p_old[op] - given[op] + (each if op in best else 0.0) for op in range(len(q))]


def probability(
    name: str, params: Params, q: Sequence[float], p_old: Sequence[float]
) -> list[float]:
    """Section 5: the probability of every operator, divided by the sum."""
    if name == "identity":
        return normalised(q)
    if name == "probability_matching":
        check_bounds(params, len(q))
        return normalised(probability_matching(params, q))
    if name == "adaptive_pursuit":
        check_bounds(params, len(q))
        return normalised(adaptive_pursuit(params, q, p_old))
    if name == "clipped_shares":
        check_bounds(params, len(q))
        if params["even"] and 0 in q:
            return [1 / len(q)] * len(q)
        return normalised([min(params["p_max"], max(params["p_min"], x)) for x in q])
    if name == "share_transfer":
        check_bounds(params, len(q))
        return normalised(share_transfer(params, q, p_old))
    raise ValueError(f"unknown probability {name!r}")


# 6. Selection


def proportional(p: Sequence[float], pick: float) -> int:
    """Section 6, proportional: the first operator whose cumulative probability exceeds pick."""
    cumulative = 0.0
    for op in range(len(p)):
        cumulative += p[op]
        if pick < cumulative:
            return op
    return max((op for op in range(len(p)) if p[op] > 0), default=len(p) - 1)


def greedy(params: Params, p: Sequence[float], tie: float) -> int:
    """Section 6, greedy: the largest p; ties by one draw a generation, or the first of them."""
    largest = [op for op in range(len(p)) if p[op] == max(p)]
    if params.get("ties", "random") == "first":
        return largest[0]
    return largest[math.floor(tie * len(largest))]


def largest_deficit(p: Sequence[float], applications: Sequence[int], n: int) -> list[int]:
    """Additions, largest_deficit: the largest p[op] N - N[op], one parent after the other."""
    counts, chosen = list(applications), []
    for _ in range(n):
        deficits = [p[op] * sum(counts) - counts[op] for op in range(len(p))]
        chosen.append(deficits.index(max(deficits)))
        counts[chosen[-1]] += 1
    return chosen


def apportioned(p: Sequence[float], pick: Sequence[float]) -> list[int]:
    """Winners, shares: as many of each as its share says, the smallest picks to the first."""
    n = len(pick)
    counts = [math.floor(x * n) for x in p]
    by_remainder = sorted(range(len(p)), key=lambda op: (counts[op] - p[op] * n, op))
    for op in by_remainder[: n - sum(counts)]:
        counts[op] += 1
    given = [op for op in range(len(p)) for _ in range(counts[op])]
    places = sorted(range(n), key=lambda i: (pick[i], i))
    return [given[places.index(i)] for i in range(n)]


def choose(
    name: str,
    params: Params,
    p: Sequence[float],
    pick: Sequence[float],
    explore: Sequence[float],
    tie: float,
    progress: float,
    applications: Sequence[int],
) -> list[int]:
    """Section 6: an operator for every parent, from uniform random numbers in [0, 1)."""
    if name == "largest_deficit":
        return largest_deficit(p, applications, len(pick))
    if name == "shares":
        return apportioned(p, pick)
    best = greedy(params, p, tie)
    chosen = []
    for i in range(len(pick)):
        uniform = math.floor(pick[i] * len(p))
        if name == "proportional":
            chosen.append(proportional(p, pick[i]))
        elif name == "greedy":
            chosen.append(best)
        elif name == "epsilon_greedy":
            chosen.append(uniform if explore[i] < params["eps"] else best)
        elif name == "linear_annealed":
            chosen.append(uniform if explore[i] < 1 - progress else best)
        elif name == "proportional_greedy":
            chosen.append(proportional(p, pick[i]) if explore[i] < params["eps"] else best)
        else:
            raise ValueError(f"unknown selection {name!r}")
    return chosen


# The whole method


class Selector:
    """Setting: after each generation metric, memory, reward, quality, probability, in order.

    best_so_far: the best finite fitness seen. rewards (scaled if asked), qualities and
    probabilities: one value for each operator, starting at 0, 1/K and 1/K.
    """

    def __init__(
        self,
        n_operators: int,
        metric: str,
        reward: str,
        reward_params: Params,
        quality: str,
        quality_params: Params,
        probability: str,
        probability_params: Params,
        scale_rewards: bool = True,
    ) -> None:
        self.n_operators = n_operators
        self.metric = metric
        self.reward, self.reward_params = reward, reward_params
        self.quality, self.quality_params = quality, quality_params
        self.probability, self.probability_params = probability, probability_params
        self.scale_rewards = scale_rewards
        self.best_so_far = math.inf
        self.rewards = [0.0] * n_operators
        self.qualities = [1 / n_operators] * n_operators
        self.probabilities = [1 / n_operators] * n_operators
        self.memory = Memory(
            n_operators,
            max_gen=depth(reward, reward_params),
            fix_appl=reward_params["fix_appl"] if reward in RECENT_REWARDS else 0,
            window=reward_params["W"] if reward in WINDOW_REWARDS else 0,
            start=reward_params.get("start", 1),
            least=reward_params.get("least", 0) / n_operators,
        )

    def update(
        self, operators: Sequence[int], parents: Sequence[float], offspring: Sequence[float]
    ) -> None:
        """Setting: what follows the evaluation of a whole generation."""
        self.see(parents)
        metrics, successes = measure(self.metric, parents, offspring, self.best_so_far)
        self.see(offspring)
        self.memory.record(operators, metrics, successes, offspring)
        how = (self.reward, self.reward_params, self.memory, self.n_operators)
        r_old, self.rewards = self.rewards, reward(*how)
        if self.scale_rewards:
            self.rewards = scaled(self.rewards)
        self.qualities = quality(
            self.quality,
            self.quality_params,
            self.rewards,
            r_old,
            self.qualities,
            self.probabilities,
            looked_at(*how),
        )
        self.probabilities = probability(
            self.probability, self.probability_params, self.qualities, self.probabilities
        )

    def see(self, fitness: Sequence[float]) -> None:
        """Setting: f_bsf, the best finite fitness of the run."""
        self.best_so_far = min([self.best_so_far, *(f for f in fitness if math.isfinite(f))])
