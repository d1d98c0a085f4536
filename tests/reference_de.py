"""A slow, plain transcription of the differential evolution, written for reading.

It is the judge of the fast engine, so it shares nothing with it: loops, lists and the standard
library. It is driven like the engine, by `ask` and `tell`, and takes its random numbers, uniform in
[0, 1), from a function `draw(n) -> n of them`, in the order in which
`uaos.optimizers.de.layout` lists them.

An operator is (strategy, F, CR). F and CR are a number, ("uniform", a, b), ("cauchy", loc, scale),
("normal", loc, scale), ("success_rate", base, gain, slope, scale), or an object of `Jade` or
`SuccessHistory`; to name one object twice is to
share its memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

Point = list[float]
Draw = Callable[[int], list[float]]
Choose = Callable[[int], list[int]]

SMALLEST = 2.0**-1022  # the smallest normal number, which F is at least

#: How many of r1..r5 a strategy draws.
DRAWN = {
    "rand/1": 3,
    "rand/2": 5,
    "rand-to-best/2": 5,
    "curr-to-rand/1": 3,
    "curr-to-pbest/1": 2,
    "curr-to-pbest/1 (archived)": 1,
    "best/1": 2,
    "best/2": 4,
    "curr-to-best/1": 2,
    "curr-to-best/2": 4,
    "curr-to-pbest-w/1 (archived)": 1,
    "r-new-to-ptop/n/t": 1,
}
#: Those of winners: of jSO, and of L-SRTDE.
JSO, LSRTDE = "curr-to-pbest-w/1 (archived)", "r-new-to-ptop/n/t"
#: Those with an archive.
ARCHIVED = ("curr-to-pbest/1 (archived)", JSO, LSRTDE)


# Choosing with a uniform


def pick(u: float, candidates: Sequence[Any]) -> Any:
    """One of the candidates, all equally likely."""
    return candidates[math.floor(u * len(candidates))]


def distinct(us: Sequence[float], i: int, NP: int) -> list[int]:
    """Distinct parents other than i, each picked from those that are left, in their order."""
    chosen: list[int] = []
    for u in us:
        chosen.append(pick(u, [k for k in range(NP) if k != i and k not in chosen]))
    return chosen


# Distributions, by their inverse distribution functions


def uniform(a: float, b: float, u: float) -> float:
    """Uniform in [a, b]."""
    return a + u * (b - a)


def cauchy(loc: float, scale: float, u: float) -> float:
    """Cauchy, redrawn while <= 0 and cut at 1.

    To redraw is to take a probability p uniform in (P(0), 1], P the distribution function.
    """
    P_0 = 0.5 - math.atan(loc / scale) / math.pi
    p = 1.0 - u * (1.0 - P_0)
    if p == 1.0:
        return 1.0
    value = loc + scale * math.tan(math.pi * (p - 0.5))
    return min(1.0, max(SMALLEST, value))


def normal(loc: float, scale: float, u: float) -> float:
    """Normal, cut to [0, 1]."""
    z = -math.inf if u == 0.0 else NormalDist().inv_cdf(u)
    return min(1.0, max(0.0, loc + scale * z))


# Adaptive rules


class Jade:
    """F ~ cauchy(mu_F, 0.1), CR ~ normal(mu_CR, 0.1); both mu start at 0.5 and drift by c."""

    def __init__(self, c: float = 0.1) -> None:
        self.c = c
        self.reset()

    def reset(self) -> None:
        """As at the start of a run."""
        self.mu_F = self.mu_CR = 0.5

    @property
    def pairs(self) -> tuple[list[float], list[float]]:
        """The memory for F and the memory for CR."""
        return [self.mu_F], [self.mu_CR]

    def learn(self, F: list[tuple[float, float]], CR: list[tuple[float, float]]) -> None:
        """From the (weight, value) of those that improved; the weights do not matter here."""
        c = self.c
        if F:
            self.mu_F = (1 - c) * self.mu_F + c * lehmer_mean([(1.0, v) for _, v in F])
        if CR:
            self.mu_CR = (1 - c) * self.mu_CR + c * mean([(1.0, v) for _, v in CR])


class SuccessHistory:
    """H pairs (M_F, M_CR) that start at 0.5; an offspring draws a pair, a generation renews one.

    `options`: the further settings of the engine's rule, by its names.
    """

    def __init__(self, H: int, **options: Any) -> None:
        self.H, self.options = H, options
        self.reset()

    def reset(self) -> None:
        """As at the start of a run."""
        self.M_F = [self.options.get("F", 0.5)] * self.H
        self.M_CR = [self.options.get("CR", 0.5)] * self.H
        if self.options.get("last"):
            self.M_F[-1] = self.M_CR[-1] = self.options["last"]
        self.turn = 0

    @property
    def pairs(self) -> tuple[list[float], list[float]]:
        """The memory for F and the memory for CR."""
        return self.M_F, self.M_CR

    def learn(self, F: list[tuple[float, float]], CR: list[tuple[float, float]]) -> None:
        """From the (weight, value) of those that improved."""
        k, c = self.turn, self.options.get("rate", 1.0)
        if not (F or CR):
            return
        self.turn = (k + 1) % self.H
        if self.options.get("last") and k == self.H - 1:
            return
        if F:
            self.M_F[k] = (1 - c) * self.M_F[k] + c * lehmer_mean(F)
        if CR:
            if self.options.get("CR_mean") != "Lehmer":
                new = mean(CR)
            elif self.M_CR[k] == -1:
                new = -1.0  # for good, as all draws around it are cut to 0
            elif total([w * v for w, v in CR]) == 0:
                new = -1.0
            else:
                new = lehmer_mean(CR)
            self.M_CR[k] = (1 - c) * self.M_CR[k] + c * new


def mean(weighted: list[tuple[float, float]]) -> float:
    """Σ w v / Σ w."""
    return total([w * v for w, v in weighted]) / total([w for w, _ in weighted])


def lehmer_mean(weighted: list[tuple[float, float]]) -> float:
    """Σ w v² / Σ w v."""
    return total([w * v * v for w, v in weighted]) / total([w * v for w, v in weighted])


def total(values: list[float]) -> float:
    """The sum from left to right; `sum` compensates for rounding in newer Pythons."""
    result = 0.0
    for v in values:
        result += v
    return result


def weights(gains: list[float]) -> list[float]:
    """Proportional to the improvement; one that is not finite counts as the largest that is."""
    finite = [g for g in gains if math.isfinite(g)]
    if not finite:
        return [1.0] * len(gains)
    largest = max(finite)
    return [g / largest if math.isfinite(g) else 1.0 for g in gains]


def sample(
    rule: Any, of_F: bool, u: float, u_memory: float, progress: float, success_rate: float
) -> float:
    """An offspring's F or CR, at a share of the run and after a share of survivors.

    The option `phases` of a memory stands for the limits of jSO.
    """
    options = getattr(rule, "options", {})
    if isinstance(rule, Jade | SuccessHistory):
        location = pick(u_memory, rule.pairs[0 if of_F else 1])
        scale = 0.1 if of_F else options.get("CR_scale", 0.1)
        value = cauchy(location, scale, u) if of_F else normal(location, scale, u)
        if options.get("phases"):
            if of_F and progress < 0.6:
                value = min(value, 0.7)
            if not of_F and progress < 0.5:
                value = max(value, 0.7 if progress < 0.25 else 0.6)
        return value
    if isinstance(rule, tuple) and rule[0] == "success_rate":
        _, base, gain, slope, scale = rule
        return normal(base + gain * math.tanh(slope * success_rate), scale, u)
    if isinstance(rule, tuple):
        name, a, b = rule
        return {"uniform": uniform, "cauchy": cauchy, "normal": normal}[name](a, b, u)
    return float(rule)


# Variation


def mutant(
    strategy: str, F: float, i: Point, best: Point, pbest: Point, arch: Point, r: list[Point],
    rank: Point, stored: Point, elite: Point, progress: float,
) -> Point:  # fmt: skip
    """The table of strategies, coordinate by coordinate."""
    made = []
    w = 0.7 if progress < 0.2 else 0.8 if progress < 0.4 else 1.2
    for j in range(len(i)):
        x_i, x_best, x_pbest, x_arch = i[j], best[j], pbest[j], arch[j]
        x_r1, x_r2, x_r3, x_r4, x_r5 = [x[j] for x in r] + [math.nan] * (5 - len(r))
        match strategy:
            case "rand/1":
                v = x_r1 + F * (x_r2 - x_r3)
            case "rand/2":
                v = x_r1 + F * (x_r2 - x_r3 + x_r4 - x_r5)
            case "rand-to-best/2":
                v = x_r1 + F * (x_best - x_r1 + x_r2 - x_r3 + x_r4 - x_r5)
            case "curr-to-rand/1":
                v = x_i + F * (x_r1 - x_i + x_r2 - x_r3)
            case "curr-to-pbest/1":
                v = x_i + F * (x_pbest - x_i + x_r1 - x_r2)
            case "curr-to-pbest/1 (archived)":
                v = x_i + F * (x_pbest - x_i + x_r1 - x_arch)
            case "best/1":
                v = x_best + F * (x_r1 - x_r2)
            case "best/2":
                v = x_best + F * (x_r1 - x_r2 + x_r3 - x_r4)
            case "curr-to-best/1":
                v = x_i + F * (x_best - x_i + x_r1 - x_r2)
            case "curr-to-best/2":
                v = x_i + F * (x_best - x_i + x_r1 - x_r2 + x_r3 - x_r4)
            case "curr-to-pbest-w/1 (archived)":
                v = x_i + F * (w * (x_pbest - x_i) + x_r1 - x_arch)
            case "r-new-to-ptop/n/t":
                v = x_i + F * (elite[j] - x_i + rank[j] - stored[j])
            case _:
                raise ValueError(strategy)
        made.append(v)
    return made


def repair(boundary: str, v: float, low: float, high: float, parent: float, u: float) -> float:
    """A coordinate of an offspring, with the bounds enforced."""
    if low <= v <= high or boundary == "none":
        return v
    bound = low if v < low else high
    if boundary == "clip":
        return bound
    if boundary == "midpoint":
        return (parent + bound) / 2
    if boundary == "resample":
        return low + u * (high - low)
    if boundary == "reflect":
        while not low <= v <= high:  # a long step is mirrored at both bounds in turn
            v = low + (low - v) if v < low else high - (v - high)
        return v
    raise ValueError(boundary)


# The loop


class ReferenceDE:
    """One run. `new_selector(budget)` returns a function from n to n operator numbers."""

    def __init__(
        self,
        pool: Sequence[tuple[str, Any, Any]],
        low: Point,
        high: Point,
        NP: int,
        draw: Draw,
        *,
        new_selector: Callable[[int | None], Choose],
        budget: int | None = None,
        top_NP: float = 0.05,
        top_drawn: bool = False,
        boundary: str = "midpoint",
        best_rule: str = "population",
        archive: str = "recent",
        archive_size: float = 1.0,
        NP_end: int | None = None,
        horizon: int | None = None,
        patience: int | None = None,
        spread: float = 1e-12,
        growth: float = 1.0,
        x0: Sequence[Point] = (),
        center: bool = False,
        top: Callable[[float, float], float] | None = None,
    ) -> None:
        self.top = top
        #: Whether the newest replace the oldest, with half as many offspring as parents.
        self.newest = any(strategy == LSRTDE for strategy, _, _ in pool)
        self.pool, self.low, self.high, self.draw = pool, low, high, draw
        self.new_selector, self.budget = new_selector, budget
        self.top_NP, self.top_drawn, self.boundary = top_NP, top_drawn, boundary
        self.best_rule, self.archive_rule, self.archive_size = best_rule, archive, archive_size
        self.NP_end, self.horizon = NP_end, horizon
        self.patience, self.spread, self.growth = patience, spread, growth
        self.memories: list[Any] = []
        for _, *rules in pool:
            for rule in rules:
                if isinstance(rule, Jade | SuccessHistory) and rule not in self.memories:
                    self.memories.append(rule)
        self.evaluations = self.generation = self.restarts = 0
        self.best_x: Point | None = None
        self.best_f = math.inf
        self.begin(NP, x0, center)

    def begin(self, NP: int, x0: Sequence[Point], center: bool) -> None:
        """A new population, archive, rules and selector."""
        D = len(self.low)
        us = self.draw(NP * D)
        self.X = [
            [
                min(self.high[j], self.low[j] + us[i * D + j] * (self.high[j] - self.low[j]))
                for j in range(D)
            ]
            for i in range(NP)
        ]
        if center and not x0:
            self.X[0] = [(a + b) / 2 for a, b in zip(self.low, self.high, strict=True)]
        for i, x in enumerate(x0):
            self.X[i] = list(x)
        self.f = [math.inf] * NP
        self.NP_start = NP
        self.archive: list[Point] = []
        self.archive_f: list[float] = []  # where it is the elite
        self.lost = self.place = 0
        self.success_rate = 0.5
        self.latest: int | None = None
        for memory in self.memories:
            memory.reset()
        self.epoch_start = self.evaluations
        self.epoch_best = math.inf
        self.generations_without_better = 0
        self.evaluated = False
        left = None if self.budget is None else max(1, self.budget - self.evaluations - NP)
        self.choose = self.new_selector(left)

    @property
    def NP(self) -> int:  # noqa: N802
        """The size of the population."""
        return len(self.X)

    @property
    def done(self) -> bool:
        """Whether the budget is spent."""
        return self.budget is not None and self.evaluations >= self.budget

    def ranking(self) -> list[int]:
        """The parents, best first; of equals the first."""
        return sorted(range(self.NP), key=lambda i: (self.f[i], i))

    def capacity(self) -> int:
        """How many the archive may hold; there is none where no strategy draws from it."""
        used = any(strategy in ARCHIVED for strategy, _, _ in self.pool)
        return round(self.archive_size * self.NP) if used else 0

    def span(self) -> tuple[int, int]:
        """Evaluations since the epoch's start, and from it to the end."""
        limit = self.budget if self.budget is not None else self.horizon
        assert limit is not None
        if limit <= self.epoch_start:  # without a budget: past the horizon, another one
            limit = self.epoch_start + self.horizon
        return self.evaluations - self.epoch_start, limit - self.epoch_start

    def ask(self) -> list[Point]:
        """The points to evaluate: the initial population, or the offspring of a generation."""
        if self.evaluated:
            self.shrink()
            if self.stagnant():
                self.restarts += 1
                least = max([4, *(DRAWN[strategy] + 1 for strategy, _, _ in self.pool)])
                self.begin(max(least, round(self.NP_start * self.growth)), (), False)
        n = max(1, round(self.NP / 2)) if self.newest and self.evaluated else self.NP
        if self.budget is not None:
            n = min(n, self.budget - self.evaluations)
        self.asked = self.vary(n) if self.evaluated else [list(x) for x in self.X[:n]]
        return self.asked

    def vary(self, n: int) -> list[Point]:
        """An offspring for each of the first n parents."""
        NP, D = self.NP, len(self.low)
        self.operators = self.choose(n) if len(self.pool) > 1 else [0] * n
        spent, whole = self.span()
        progress = spent / whole
        width = 12 + D + int(self.top_drawn) + 2 * int(self.newest)
        width += D if self.boundary == "resample" else 0
        us = self.draw(n * width)
        rows = [us[i * width : (i + 1) * width] for i in range(n)]
        order = self.ranking()
        x_best = self.X[order[0]]
        if self.best_rule == "latest" and self.latest is not None:
            x_best = self.X[self.latest]
        # The random numbers that only some runs take.
        tops = [row.pop(12 + D) if self.top_drawn else 0.0 for row in rows]
        u_ranks = [row.pop(12 + D) if self.newest else 0.0 for row in rows]
        u_parents = [row.pop(12 + D) if self.newest else 0.0 for row in rows]
        self.parents = [pick(u, range(NP)) if self.newest else m for m, u in enumerate(u_parents)]
        self.F, self.CR, self.keep, self.repairs = [], [], [], 0
        for m, row in enumerate(rows):
            _, F_rule, CR_rule = self.pool[self.operators[m]]
            state = (row[10], progress, self.success_rate)
            self.F.append(sample(F_rule, True, row[8], *state))
            self.CR.append(sample(CR_rule, False, row[9], *state))
            self.keep.append(row[11])
        offspring = []
        for m, row in enumerate(rows):
            strategy, _, _ = self.pool[self.operators[m]]
            i, F, CR = self.parents[m], self.F[m], self.CR[m]
            u_pbest, u_arch, u_j = row[5:8]
            crossing, resampling = row[12 : 12 + D], row[12 + D :] or [math.nan] * D
            top_NP = self.top_NP if self.top is None else self.top(progress, self.success_rate)
            if self.top_drawn:
                top_NP = uniform(2 / NP, top_NP, tops[m])
            # L-SRTDE's program cuts the number, the others round it.
            few = max(2, int(top_NP * NP) if self.newest else round(top_NP * NP))
            x_i = self.X[i]
            best = order[:few]
            pbest = pick(u_pbest, best)
            if pbest == i and strategy == JSO and progress < 0.5:
                # Drawn again from the others, with what the number has after its first digit.
                pbest = pick(u_pbest * len(best) % 1, [k for k in best if k != i])
            x_pbest = self.X[pbest]
            x_arch = pick(u_arch, self.X[:i] + self.X[i + 1 :] + self.archive)
            drawn = distinct(row[: DRAWN[strategy]], i, NP)
            r = [self.X[k] for k in drawn]
            x_rank = x_stored = x_elite = x_i
            if self.newest:
                # A rank with chance exp(-3k/NP), one of the best of the archive, another of it.
                k = min(int(-math.log1p(u_ranks[m] * math.expm1(-3.0)) * (NP / 3.0)), NP - 1)
                x_rank, others = self.X[order[k]], list(self.archive)
                x_elite = others.pop(pick(u_pbest, range(len(self.archive[:few]))))
                x_stored = pick(u_arch, others)
            v = mutant(
                strategy, F, x_i, x_best, x_pbest, x_arch, r, x_rank, x_stored, x_elite, progress
            )
            j_rand = pick(u_j, range(D))
            taken = [j for j in range(D) if crossing[j] < CR or j == j_rand]
            made, repaired = [], False
            for j in range(D):
                if j in taken:
                    low, high = self.low[j], self.high[j]
                    made.append(repair(self.boundary, v[j], low, high, x_i[j], resampling[j]))
                    repaired = repaired or not low <= v[j] <= high
                else:
                    made.append(x_i[j])
            offspring.append(made)
            if self.newest:  # the memory learns what was taken
                self.CR[m] = len(taken) / D
            self.repairs += repaired and self.boundary != "none"
        return offspring

    def tell(self, values: Sequence[float]) -> None:
        """The objective at the points asked for; not finite means failed."""
        self.evaluations += len(values)
        if not self.evaluated:
            for i, u in enumerate(values):
                self.f[i] = u if math.isfinite(u) else math.inf
            self.evaluated = True
            self.note(values)
            if self.newest:
                self.keep_best(list(zip(self.f, self.X, strict=True)))
            return
        self.generation += 1
        self.learn(values)
        survivors = []
        for m, u in enumerate(values):
            i = self.parents[m]
            if math.isfinite(u) and u <= self.f[i]:
                survivors.append((u, self.asked[m]))
                if self.newest:
                    i, self.place = self.place, (self.place + 1) % self.NP
                elif u < self.f[i]:
                    self.keep_loser(self.X[i], self.keep[m])
                self.X[i], self.f[i] = self.asked[m], u
        self.success_rate = len(survivors) / len(values)
        if self.newest:
            self.keep_best(survivors)
        finite = [u for u in values if math.isfinite(u)]
        if finite:  # else no offspring was the best, and the position stays
            self.latest = list(values).index(min(finite))
        if not self.note(values):
            self.generations_without_better += 1

    def learn(self, values: Sequence[float]) -> None:
        """The adaptive rules, from the offspring that improved on their parents."""
        f = [self.f[i] for i in self.parents]
        improved = [m for m, u in enumerate(values) if math.isfinite(u) and u < f[m]]
        w = weights([f[m] - values[m] for m in improved])
        for memory in self.memories:
            of_F, of_CR = [], []
            for weight, i in zip(w, improved, strict=True):
                _, F_rule, CR_rule = self.pool[self.operators[i]]
                if F_rule is memory:
                    of_F.append((weight, self.F[i]))
                if CR_rule is memory:
                    of_CR.append((weight, self.CR[i]))
            memory.learn(of_F, of_CR)

    def keep_best(self, found: list[tuple[float, Point]]) -> None:
        """The archive as the best points found; of equals the earlier one comes first."""
        known = [*zip(self.archive_f, self.archive, strict=True), *found]
        known = sorted(known, key=lambda one: one[0])[: self.capacity()]
        self.archive_f, self.archive = [f for f, _ in known], [x for _, x in known]

    def keep_loser(self, parent: Point, u: float) -> None:
        """A parent that lost enters the archive."""
        self.lost += 1
        if len(self.archive) < self.capacity():
            self.archive.append(parent)
        elif self.archive_rule == "recent":  # a random one leaves
            if self.archive:
                self.archive[pick(u, range(len(self.archive)))] = parent
        else:  # a reservoir: of all that ever lost, each is in it with equal probability
            place = pick(u, range(self.lost))
            if place < len(self.archive):
                self.archive[place] = parent

    def note(self, values: Sequence[float]) -> bool:
        """Keep the best ever; return whether this epoch has a better best than before."""
        finite = [u for u in values if math.isfinite(u)]
        if not finite:
            return False
        best = min(finite)
        if best < self.best_f:
            self.best_f, self.best_x = best, list(self.asked[list(values).index(best)])
        better = best < self.epoch_best
        if better:
            self.epoch_best = best
            self.generations_without_better = 0
        return better

    def shrink(self) -> None:
        """The linear schedule: the worst leave, and as many of the archive as are now too many."""
        if self.NP_end is None:
            return
        end = min(self.NP_end, self.NP_start)
        spent, whole = self.span()
        NP = max(end, round(self.NP_start + (end - self.NP_start) * spent / whole))
        if NP >= self.NP:
            return
        stay = sorted(self.ranking()[:NP])
        self.latest = stay.index(self.latest) if self.latest in stay else None
        self.X = [self.X[i] for i in stay]
        self.f = [self.f[i] for i in stay]
        if self.newest:
            self.place %= NP
            self.keep_best([])
            return
        for u in self.draw(max(0, len(self.archive) - self.capacity())):
            gap = pick(u, range(len(self.archive)))
            last = self.archive.pop()
            if gap < len(self.archive):
                self.archive[gap] = last

    def stagnant(self) -> bool:
        """Whether to restart: no better best for long, or hardly any difference in fitness."""
        if self.patience is None:
            return False
        best, worst = min(self.f), max(self.f)
        alike = math.isfinite(worst) and worst - best <= self.spread * (1 + abs(best))
        return alike or self.generations_without_better >= self.patience
