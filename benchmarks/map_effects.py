"""What the components contribute to real runs, by function group, budget and host.

    python benchmarks/map_effects.py FOLDER FILE ...

writes map-deviations.csv, map-component-effects.csv and map-exchanges.csv of docs/results/data.
Round 1 is read from the package. FOLDER has the stores of `map_runs.py budgets`, if any; each FILE
is a host of the coarse grid (`map_grid.py run`). The deviation of a source (a family of
components, or what two families do together) is the standard deviation of its effects on the
score, without the noise of runs: the methods are split at random into halves, and the variance is
the covariance of the effects that both halves show. Methods that share their runs count once.
Intervals are over methods, so they hold for these problems.
"""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from map import write
from map_grid import fitting, read_runs
from map_runs import BUDGETS, ROUNDS, equal_methods, read_round, scores
from scipy import stats

from uaos.scenarios import load_map
from uaos.selection.components import FAMILIES

#: Random halves of the methods, groups of a jackknife, and passes of the fit of additive models.
HALVES, GROUPS, PASSES = 20, 20, 5
#: Components whose mean scores differ by less than this can be exchanged for each other.
MARGIN = 0.05
#: The sum of what each two families do together.
TOGETHER = "two families together"
#: Two families are looked at together where there are more methods than this.
PAIRS_FROM = 400


class Sample(NamedTuple):
    """Scores of some methods on some problems."""

    name: str
    functions: str
    scores: np.ndarray  # (methods, problems), NaN where there is no run
    places: np.ndarray  # (families, methods), the number of the component in its family
    classes: np.ndarray  # (methods,), equal for methods that share their runs

    def part(self, name: str, functions: str, columns: list[int]) -> "Sample":
        """Return the runs on some of the problems."""
        chosen = self.scores[:, columns]
        rows = ~np.isnan(chosen).all(axis=1)
        return Sample(name, functions, chosen[rows], self.places[:, rows], self.classes[rows])


def first_round() -> Sample:
    """Return round 1, all methods."""
    scale = load_map()
    places = np.array(np.unravel_index(np.arange(len(scale)), scale.shape))
    return Sample("all", "all eight", scale.runs, places, equal_methods(scale.replays))


def drawn(name: str, functions: str, numbers: np.ndarray, values: np.ndarray) -> Sample:
    """Return a sample of methods, each with runs of its own."""
    places = np.array(np.unravel_index(numbers, load_map().shape))
    return Sample(name, functions, values, places, np.arange(len(numbers)))


def samples(folder: Path, files: list[Path]) -> Iterator[Sample]:
    """Yield round 1, its groups of functions, other budgets, and other hosts."""
    first, this = first_round(), ROUNDS[0]
    yield first
    groups = [problem.group for problem in this.problems()]
    for group in dict.fromkeys(groups):
        columns = [k for k, own in enumerate(groups) if own == group]
        functions = ", ".join(f"f{this.functions[k]}" for k in columns)
        yield first.part(str(group), functions, columns)
    for budget in BUDGETS:
        store = folder / f"budget-{budget.budget}.db"
        if not store.exists():
            continue
        content, name = read_round(store), f"{budget.budget:,}·D"
        yield drawn(name, "all eight", content["methods"], scores(content))
    for file in files:
        runs, _ = fitting(read_runs(file))
        yield drawn(runs.host, f"{runs.values.shape[1]} problems", runs.numbers, runs.scores())


# Deviations of effects


def main_effects(places: np.ndarray, y: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
    """Return the effects of the components, by family, of a weighted additive model."""
    sizes = load_map().shape
    fitted = [np.zeros(size) for size in sizes]
    totals = [np.bincount(p, weights, size) for p, size in zip(places, sizes, strict=True)]
    rest = y - np.average(y, weights=weights)
    for _ in range(PASSES):
        for f, place in enumerate(places):
            rest = rest + fitted[f][place]
            sums = np.bincount(place, weights * rest, sizes[f])
            effects = np.divide(sums, totals[f], np.full(sizes[f], np.nan), where=totals[f] > 0)
            fitted[f] = np.nan_to_num(effects - np.nanmean(effects))
            rest = rest - fitted[f][place]
    return fitted


def means_of(sample: Sample, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean score of each method, relative to its problems, and its weight."""
    relative = sample.scores - np.nanmean(sample.scores, axis=0)
    counts = (~np.isnan(relative)).sum(axis=1)
    return np.nansum(relative, axis=1) / counts, weights * counts


def sources(
    sample: Sample, weights: np.ndarray, pairs: bool
) -> Iterator[tuple[str, tuple[int, ...], np.ndarray, np.ndarray]]:
    """Yield each family, and each two of them: name, shape, cell of each method, what is left.

    What is left of a score is without the effects of the other families, or of all; in small
    samples (no pairs), whose effects are too noisy for that, it is the score.
    """
    sizes = load_map().shape
    y, weights = means_of(sample, weights)
    single = main_effects(sample.places, y, weights)
    if not pairs:
        single = [np.zeros_like(e) for e in single]
    own = [e[p] for e, p in zip(single, sample.places, strict=True)]
    rest = y - np.average(y, weights=weights) - sum(own)
    for f, family in enumerate(FAMILIES):
        yield family, (sizes[f],), sample.places[f], rest + own[f]
    if pairs:
        for a, b in itertools.combinations(range(len(FAMILIES)), 2):
            cells = sample.places[a] * sizes[b] + sample.places[b]
            yield f"{FAMILIES[a]} × {FAMILIES[b]}", (sizes[a], sizes[b]), cells, rest


def products(
    shape: tuple[int, ...], keys: np.ndarray, values: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the mean product of the effects in two halves: without each group, then of all.

    `keys` number the cell, the group of the jackknife and the half of each method.
    """
    size = int(np.prod(shape))
    sums, totals = (
        np.bincount(keys, own, size * GROUPS * 2).reshape(*shape, GROUPS, 2)
        for own in (weights * values, weights)
    )
    axis = len(shape)
    every = [x.sum(axis=axis, keepdims=True) for x in (sums, totals)]
    sums, totals = (
        np.concatenate([all_of - x, all_of], axis=axis)
        for all_of, x in zip(every, (sums, totals), strict=True)
    )
    effects = np.divide(sums, totals, np.full(sums.shape, np.nan), where=totals > 1e-9)
    for one in range(axis):
        effects = effects - np.nanmean(effects, axis=one, keepdims=True)
    return np.asarray(np.nanmean(effects[..., 0] * effects[..., 1], axis=tuple(range(axis))))


def variances(sample: Sample, pairs: bool) -> tuple[dict[str, float], dict[str, float]]:
    """Return the variance of the effects of each source, and its standard error.

    The estimate is a mean over random halves; the error is by a jackknife over groups of methods.
    """
    rng = np.random.default_rng(17)
    n = int(sample.classes.max()) + 1
    halves = rng.permuted(np.tile(np.arange(n) % 2, (HALVES, 1)), axis=1)
    group = rng.permutation(np.arange(n) % GROUPS)[sample.classes]
    members = np.bincount(sample.classes)[sample.classes]
    _, weights = means_of(sample, 1.0 / members)
    by_source: dict[str, np.ndarray] = {}
    for source, shape, cells, values in sources(sample, 1.0 / members, pairs):
        keys = 2 * (cells * GROUPS + group)
        by_source[source] = np.mean([
            products(shape, keys + half[sample.classes], values, weights) for half in halves
        ], axis=0)  # fmt: skip
    if pairs:
        by_source[TOGETHER] = sum(v for source, v in by_source.items() if "×" in source)
    errors = {
        source: float(np.std(v[:-1]) * np.sqrt(GROUPS - 1)) for source, v in by_source.items()
    }
    return {source: float(v[-1]) for source, v in by_source.items()}, errors


def deviations(sample: Sample, pairs: bool) -> list[dict[str, object]]:
    """Return the standard deviation of the effects of each source, with a 95 % interval."""
    _, classes = np.unique(sample.classes, return_inverse=True)
    sample = sample._replace(classes=classes)
    values, errors = variances(sample, pairs)
    width = stats.t.ppf(0.975, GROUPS - 1)
    rows: list[dict[str, object]] = []
    for source, value in values.items():
        limits = value, value - width * errors[source], value + width * errors[source]
        rows.append({
            "runs": sample.name, "functions": sample.functions, "methods": int(classes.max()) + 1,
            "source": source,
            **{key: f"{np.sqrt(max(0.0, limit)):.4f}"
               for key, limit in zip(("deviation", "low", "high"), limits, strict=True)},
        })  # fmt: skip
        print(*rows[-1].values(), flush=True)
    return rows


# Effects of single components


def component_effects(sample: Sample) -> list[dict[str, object]]:
    """Return the effect of each component, with a 95 % interval over methods (a jackknife)."""
    _, classes = np.unique(sample.classes, return_inverse=True)
    n = int(classes.max()) + 1
    members = np.bincount(classes)[classes]
    group = np.random.default_rng(18).permutation(np.arange(n) % GROUPS)

    def estimate(kept: np.ndarray) -> np.ndarray:
        y, weights = means_of(sample, kept[classes] / members)
        return np.concatenate(main_effects(sample.places, y, weights))

    left_out = np.array([estimate(group != g) for g in range(GROUPS)])
    half = stats.t.ppf(0.975, GROUPS - 1) * left_out.std(axis=0) * np.sqrt(GROUPS - 1)
    return [
        {"runs": sample.name, "family": family, "component": name, "effect": f"{effect:.4f}",
         "interval": f"{width:.4f}"}
        for (family, name), effect, width in zip(
            names_of_components(), estimate(np.ones(n, bool)), half, strict=True)
    ]  # fmt: skip


def names_of_components() -> list[tuple[str, str]]:
    """Return all components with their families."""
    every = load_map().components.items()
    return [(family, name) for family, names in every for name in names]


def exchanges(first: Sample) -> list[dict[str, object]]:
    """Return the difference between each two components of a family; intervals are over problems.

    Two components are interchangeable if the interval of their difference is within the margin.
    """
    _, classes = np.unique(first.classes, return_inverse=True)
    by_problem = []
    for column in range(first.scores.shape[1]):
        rows = ~np.isnan(first.scores[:, column])
        own = classes[rows]
        y = first.scores[rows, column]
        by_problem.append(np.concatenate(
            main_effects(first.places[:, rows], y, 1.0 / np.bincount(own)[own])))  # fmt: skip
    values, names = np.array(by_problem), names_of_components()
    width = stats.t.ppf(0.975, len(values) - 1) / np.sqrt(len(values))
    rows_: list[dict[str, object]] = []
    for a, b in itertools.combinations(range(len(names)), 2):
        if names[a][0] != names[b][0]:
            continue
        differences = values[:, a] - values[:, b]
        mean, half = differences.mean(), width * differences.std(ddof=1)
        verdict = (
            "interchangeable" if abs(mean) + half < MARGIN
            else "different" if abs(mean) > half else "undecided"
        )  # fmt: skip
        rows_.append({"family": names[a][0], "first": names[a][1], "second": names[b][1],
                      "difference": f"{mean:.4f}", "interval": f"{half:.4f}",
                      "verdict": verdict})  # fmt: skip
    return rows_


def main() -> None:
    """Write the data files."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    every = list(samples(Path(sys.argv[1]), [Path(file) for file in sys.argv[2:]]))
    write("map-exchanges", exchanges(every[0]))
    write("map-component-effects", [row for sample in every for row in component_effects(sample)])
    rows = [row for sample in every for row in deviations(sample, len(sample.scores) > PAIRS_FROM)]
    write("map-deviations", rows)


if __name__ == "__main__":
    main()
