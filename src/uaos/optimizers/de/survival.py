"""Survival, compiled: who takes whose place, who enters the archive, who leaves a population.

Arrays are those of :class:`~uaos.optimizers.de.population.Population`.
"""

import numpy as np

from uaos.jit import njit
from uaos.optimizers.base import Array
from uaos.optimizers.de import layout as at


@njit
def sort_again(order: Array, fitness: Array, NP: int) -> None:
    """Bring `order` (best first, ties by index) up to date by insertion: few parents have moved."""
    for k in range(1, NP):
        moved = order[k]
        f = fitness[moved]
        m = k - 1
        while m >= 0:
            other = order[m]
            g = fitness[other]
            if g > f or (g == f and other > moved):
                order[m + 1] = other
                m -= 1
            else:
                break
        order[m + 1] = moved


@njit
def survive(
    rows: Array,
    fitness: Array,
    offset: int,
    capacity: int,
    reservoir: bool,
    counters: Array,
    offspring: Array,
    values: Array,
    uniforms: Array,
    operators: Array,
    counts: Array,
    order: Array,
    ordered: int,
) -> int:
    """Let each offspring with u <= f take its parent's place, parents that lost enter the archive.

    A value that is not finite never survives; a failed parent has fitness +inf and yields to any
    finite value. Returns the index of the best offspring, -1 if all failed. A full archive gives
    up a random member (`recent`) or is a reservoir of all parents that ever lost (`history`). The
    first `ordered` of `order` are sorted again.
    """
    n, D = offspring.shape
    best = -1
    for i in range(n):
        counts[operators[i]] += 1
        u = values[i]
        if not np.isfinite(u):
            continue
        if best < 0 or u < values[best]:
            best = i
        if u > fitness[i]:
            continue
        if u < fitness[i] and capacity > 0:
            counters[at.EVER_LOST] += 1
            place = counters[at.ARCHIVED]
            if place < capacity:
                counters[at.ARCHIVED] += 1
            elif reservoir:
                place = int(uniforms[i, at.KEEP] * counters[at.EVER_LOST])
            else:
                place = int(uniforms[i, at.KEEP] * capacity)
            if place < capacity:
                for j in range(D):
                    rows[offset + place, j] = rows[i, j]
        for j in range(D):
            rows[i, j] = offspring[i, j]
        fitness[i] = u
    sort_again(order, fitness, ordered)
    return best


@njit
def survive_newest(
    rows: Array,
    fitness: Array,
    parents: Array,
    counters: Array,
    offspring: Array,
    values: Array,
    operators: Array,
    counts: Array,
    successful: Array,
) -> int:
    """Let each offspring with u <= f of its parent take the place that was renewed longest ago.

    One after the other, so that a parent's fitness is that of who stands in its place by then.
    Marks the successful, and returns the index of the best offspring, -1 if all failed.
    """
    n, D = offspring.shape
    best = -1
    for m in range(n):
        counts[operators[m]] += 1
        u = values[m]
        if not np.isfinite(u):
            continue
        if best < 0 or u < values[best]:
            best = m
        if u > fitness[parents[m]]:
            continue
        successful[m] = True
        place = counters[at.PLACE]
        counters[at.PLACE] = (place + 1) % fitness.shape[0]
        for j in range(D):
            rows[place, j] = offspring[m, j]
        fitness[place] = u
    return best


@njit
def keep_best(
    rows: Array,
    start: int,
    elite: Array,
    points: Array,
    values: Array,
    order: Array,
    fitness: Array,
) -> None:
    """Merge points into an archive that is sorted by fitness; the best `len(fitness)` stay.

    `elite` is the fitness of the archive, from row `start` on; `order` sorts those points that
    take part by `values`. Of equals, members come first. The fitness goes to `fitness`.
    """
    D = rows.shape[1]
    old, new = 0, 0
    while old + new < fitness.shape[0]:
        if new == len(order) or (old < len(elite) and elite[old] <= values[order[new]]):
            old += 1
        else:
            new += 1
    # From the end on, so that no member is overwritten before it has moved.
    for place in range(fitness.shape[0] - 1, -1, -1):
        if new == 0 or (old > 0 and elite[old - 1] > values[order[new - 1]]):
            old -= 1
            fitness[place] = elite[old]
            if old == place:
                for k in range(place):
                    fitness[k] = elite[k]
                return
            for j in range(D):
                rows[start + place, j] = rows[start + old, j]
        else:
            new -= 1
            fitness[place] = values[order[new]]
            for j in range(D):
                rows[start + place, j] = points[order[new], j]


@njit
def against_worst(fitness: Array, values: Array, places: Array, compared: Array) -> None:
    """Let each value in turn compete with the worst of `fitness`, whose place it takes if better.

    `places` becomes where it goes, -1 if nowhere, and `compared` what it competed with.
    """
    for i in range(len(values)):
        worst = 0
        for k in range(1, len(fitness)):
            if fitness[k] > fitness[worst]:
                worst = k
        compared[i] = fitness[worst]
        places[i] = -1
        if values[i] < fitness[worst]:
            places[i] = worst
            fitness[worst] = values[i]


@njit
def take_places(rows: Array, fitness: Array, points: Array, values: Array, places: Array) -> int:
    """Let points take their places, -1 being none; return the best's index, -1 if all failed."""
    best = -1
    for i in range(len(values)):
        if np.isfinite(values[i]) and (best < 0 or values[i] < values[best]):
            best = i
        if places[i] >= 0:
            fitness[places[i]] = values[i]
            for j in range(rows.shape[1]):
                rows[places[i], j] = points[i, j]
    return best


@njit
def shrink(
    rows: Array,
    fitness: Array,
    excess: Array,
    order: Array,
    NP: int,
    latest: int,
    stay: Array,
    offset: int,
    counters: Array,
    uniforms: Array,
) -> int:
    """Keep the best NP parents: they move to the first rows, in the order of their places.

    Writes their former places to `stay`, and returns the new place of `latest`, -1 if it is gone.
    A random member of the archive leaves for each of `uniforms`; the last takes its place.
    """
    D = rows.shape[1]
    place = np.full(fitness.shape[0] + 1, -1)  # the last is for latest = -1
    for k in range(NP):
        place[order[k]] = 0
    new = 0
    for i in range(fitness.shape[0]):
        if place[i] == 0:
            place[i] = new
            stay[new] = i
            for j in range(D):
                rows[new, j] = rows[i, j]
            fitness[new], excess[new] = fitness[i], excess[i]
            new += 1
    for k in range(NP):
        order[k] = place[order[k]]
    for k in range(len(uniforms)):
        counters[at.ARCHIVED] -= 1
        last = counters[at.ARCHIVED]
        gap = int(uniforms[k] * (last + 1))
        for j in range(D):
            rows[offset + gap, j] = rows[offset + last, j]
    return int(place[latest])
