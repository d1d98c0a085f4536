"""A slow, plain differential evolution, written for reading: the judge of the kernels.

Lists, loops and the standard library. It takes its random numbers from the same generator in the
same layout as the engine (see `uaos.de.layout`), so the two must agree to the last bit. Adaptive
rules are `{"H": 1, "c": 0.1}` (jade) or `{"H": 6, "c": None}` (success history), named by number.
"""

import math
from statistics import NormalDist

FORMULAS = {
    "rand/1": "r1 + r2 - r3",
    "rand/2": "r1 + r2 - r3 + r4 - r5",
    "rand-to-best/2": "r1 + best - r1 + r2 - r3 + r4 - r5",
    "curr-to-rand/1": "i + r1 - i + r2 - r3",
    "curr-to-pbest/1": "i + pbest - i + r1 - r2",
    "curr-to-pbest/1 (archived)": "i + pbest - i + r1 - arch",
    "best/1": "best + r1 - r2",
    "curr-to-best/1": "i + best - i + r1 - r2",
    "best/2": "best + r1 - r2 + r3 - r4",
}
COLUMNS = 12  # before those of the crossover


def distinct_index(u, size, taken):
    """The floor(u · free)-th of the indices 0..size-1 that are not taken."""
    free = [k for k in range(size) if k not in taken]
    return free[int(u * len(free))]


def cauchy(loc, scale, u):
    """The Cauchy distribution truncated to (0, inf) at 1 - u, cut at 1."""
    below = 0.5 - math.atan(loc / scale) / math.pi
    p = 1.0 - u * (1.0 - below)
    value = loc + scale * math.tan(math.pi * (p - 0.5))
    return 1.0 if p >= 1.0 else min(1.0, max(value, 2.2250738585072014e-308))


def normal(loc, scale, u):
    z = NormalDist().inv_cdf(u) if u > 0 else -math.inf
    return min(1.0, max(0.0, loc + scale * z))


def back_inside(v, low, high, parent, boundary, u):
    if boundary == "none" or low <= v <= high:
        return v
    if boundary == "clip":
        return low if v < low else high
    if boundary == "midpoint":
        return (parent + (low if v < low else high)) / 2
    if boundary == "resample":
        return low + u * (high - low)
    width = high - low  # reflect: a triangle wave
    away = (v - low) - 2 * width * math.floor((v - low) / (2 * width))
    return min(max(low + (2 * width - away if away > width else away), low), high)


class PlainDE:
    """One epoch: population, archive and rule memories as lists."""

    def __init__(self, operators, low, high, NP, rng, *, boundary="none", top=0.05, top_drawn=False,
                 best_rule="population", archive="recent", archive_size=1.0, memories=(),
                 budget=None, NP_end=None):  # fmt: skip
        self.operators, self.low, self.high, self.rng = operators, low, high, rng
        self.boundary, self.top, self.top_drawn = boundary, top, top_drawn
        self.best_rule, self.archive_rule, self.archive_size = best_rule, archive, archive_size
        self.budget, self.NP_start, self.NP_end, self.spent = budget, NP, NP_end, 0
        D = range(len(low))
        u = rng.random((NP, len(low))).tolist()
        self.X = [[low[j] + u[i][j] * (high[j] - low[j]) for j in D] for i in range(NP)]
        self.f, self.archive, self.ever_lost, self.latest = None, [], 0, None
        self.memories = [
            {**m, "F": [0.5] * m["H"], "CR": [0.5] * m["H"], "turn": 0} for m in memories
        ]

    def evaluate_first(self, fun):
        self.f = [fun(x) for x in self.X]
        self.f = [v if math.isfinite(v) else math.inf for v in self.f]
        self.spent += len(self.f)

    def ranking(self):
        return sorted(range(len(self.X)), key=lambda i: (self.f[i], i))

    def value(self, rule, which, u, u_memory):
        """A number, ("uniform", a, b), ("cauchy", loc, scale), ("normal", …) or ("memory", k)."""
        if not isinstance(rule, tuple):
            return rule
        if rule[0] == "uniform":
            return rule[1] + u * (rule[2] - rule[1])
        if rule[0] == "memory":
            memory = self.memories[rule[1]]
            loc, scale = memory[which][int(u_memory * memory["H"])], 0.1
        else:
            loc, scale = rule[1:]
        return cauchy(loc, scale, u) if which == "F" else normal(loc, scale, u)

    def vary(self, chosen):
        """The offspring of the first parents, one for each operator number in `chosen`."""
        NP, D = len(self.X), len(self.low)
        width = COLUMNS + D + self.top_drawn + (D if self.boundary == "resample" else 0)
        self.U = self.rng.random((len(chosen), width)).tolist()
        order = self.ranking()
        best = order[0]
        if self.best_rule == "latest" and self.latest is not None:
            best = self.latest
        offspring, self.F, self.CR, self.repairs = [], [], [], 0
        for i, k in enumerate(chosen):
            strategy, F_rule, CR_rule = self.operators[k]
            u = self.U[i]
            F = self.value(F_rule, "F", u[8], u[10])
            CR = self.value(CR_rule, "CR", u[9], u[10])
            who = {"i": self.X[i], "best": self.X[best]}
            taken = [i]
            for r in range(min(5, NP - 1)):
                taken.append(distinct_index(u[r], NP, taken))
                who[f"r{r + 1}"] = self.X[taken[-1]]
            top = self.top
            if self.top_drawn:
                top = 2.0 / NP + u[COLUMNS + D] * (self.top - 2.0 / NP)
            who["pbest"] = self.X[order[int(u[5] * min(NP, max(2, round(top * NP))))]]
            others = [x for j, x in enumerate(self.X) if j != i] + self.archive
            who["arch"] = others[int(u[6] * len(others))]

            base, _, *rest = FORMULAS[strategy].split()
            j_rand = int(u[7] * D)
            child, left = [], False
            for j in range(D):
                step = who[rest[0]][j]
                for sign, name in zip(rest[1::2], rest[2::2], strict=True):
                    step = step + who[name][j] if sign == "+" else step - who[name][j]
                v = who[base][j] + F * step
                if not (u[COLUMNS + j] < CR or j == j_rand):
                    v = self.X[i][j]
                again = u[COLUMNS + D + self.top_drawn + j] if self.boundary == "resample" else 0.0
                w = back_inside(v, self.low[j], self.high[j], self.X[i][j], self.boundary, again)
                left |= self.boundary != "none" and not (self.low[j] <= v <= self.high[j])
                child.append(w)
            self.repairs += left
            offspring.append(child)
            self.F.append(F)
            self.CR.append(CR)
        return offspring

    def learn(self, chosen, values):
        gains = {
            i: self.f[i] - v for i, v in enumerate(values) if v < self.f[i] and math.isfinite(v)
        }
        largest = max([g for g in gains.values() if math.isfinite(g)], default=0.0)
        for number, memory in enumerate(self.memories):
            weights = {
                i: 1.0 if memory["c"] or not math.isfinite(g) else g / largest
                for i, g in gains.items()
            }
            of_F = [i for i in gains if self.operators[chosen[i]][1] == ("memory", number)]
            of_CR = [i for i in gains if self.operators[chosen[i]][2] == ("memory", number)]
            k, c = memory["turn"], memory["c"] or 1.0
            if of_F:
                once = twice = 0.0
                for i in of_F:
                    once += weights[i] * self.F[i]
                    twice += weights[i] * self.F[i] * self.F[i]
                memory["F"][k] = (1.0 - c) * memory["F"][k] + c * (twice / once)
            if of_CR:
                total = share = 0.0
                for i in of_CR:
                    share += weights[i] * self.CR[i]
                    total += weights[i]
                memory["CR"][k] = (1.0 - c) * memory["CR"][k] + c * (share / total)
            if of_F or of_CR:
                memory["turn"] = (k + 1) % memory["H"]

    def survive(self, chosen, offspring, values):
        self.learn(chosen, values)
        capacity = round(self.archive_size * len(self.X))
        finite = [(v, i) for i, v in enumerate(values) if math.isfinite(v)]
        for v, i in sorted(finite, key=lambda pair: pair[1]):
            if v < self.f[i]:
                self.ever_lost += 1
                if len(self.archive) < capacity:
                    self.archive.append(self.X[i])
                else:
                    lots = self.ever_lost if self.archive_rule == "history" else capacity
                    place = int(self.U[i][11] * lots)
                    if place < capacity:
                        self.archive[place] = self.X[i]
            if v <= self.f[i]:
                self.X[i], self.f[i] = offspring[i], v
        if finite:
            self.latest = min(finite)[1]
        self.spent += len(values)

    def shrink(self):
        """The linear schedule."""
        NP = round(self.NP_start + (self.NP_end - self.NP_start) * (self.spent / self.budget))
        NP = max(self.NP_end, NP)
        if len(self.X) <= NP:
            return
        stay = sorted(self.ranking()[:NP])
        self.latest = stay.index(self.latest) if self.latest in stay else None
        self.X, self.f = [self.X[i] for i in stay], [self.f[i] for i in stay]
        excess = len(self.archive) - round(self.archive_size * NP)
        for u in self.rng.random(max(0, excess)).tolist():
            gap = int(u * len(self.archive))
            self.archive[gap] = self.archive[-1]
            self.archive.pop()
