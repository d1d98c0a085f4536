"""What the components contribute to real runs, by function group, budget and host.

    python benchmarks/map_effects.py FOLDER FILE ...

writes map-component-effects.csv, map-run-contrasts.csv, map-exchanges.csv and map-deviations.csv
of docs/results/data. Round 1 is read from the package. FOLDER has the stores of
`map_runs.py sample`, if any; each FILE is a host of the coarse grid (`map_grid.py run`).

Problems are the unit of replication: the effects of the components are computed on each problem,
and intervals are those of their mean over problems. Where methods are a sample, a jackknife over
methods adds its variance. The deviation of a source (a family of components, or what two families
do together) is the standard deviation of its effects, without noise: the mean product of effects
on two different problems, of two halves of the methods. Methods that share their runs count once.
"""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from map import write
from map_grid import CAUTIOUS, GREEDY, fitting, read_runs
from map_runs import ROUNDS, SAMPLES, equal_methods, read_round, scores
from scipy import stats

from uaos.scenarios import load_map
from uaos.selection.components import FAMILIES

#: Random halves of the methods, groups of a jackknife, and passes of the fit of additive models.
HALVES, GROUPS, PASSES = 20, 20, 5
#: Components whose mean scores differ by less than this can be exchanged for each other.
MARGIN = 0.05
#: The sum of what each two families do together.
TOGETHER = "two families together"


class Sample(NamedTuple):
    """Scores of some methods on some problems."""

    name: str
    scores: np.ndarray  # (methods, problems), NaN where there is no run
    places: np.ndarray  # (families, methods), the number of the component in its family
    classes: np.ndarray  # (methods,), equal for methods that share their runs
    drawn: bool  # whether the methods are a sample of all

    def distinct(self) -> int:
        """Return how many methods with runs there are, those that share theirs counted once."""
        return len(np.unique(self.classes[~np.isnan(self.scores).all(axis=1)]))


def samples(folder: Path, files: list[Path]) -> Iterator[Sample]:
    """Yield round 1, the sample on all functions with its groups and budgets, and other hosts."""
    scale = load_map()

    def sample(name: str, numbers: np.ndarray, values: np.ndarray, classes: np.ndarray) -> Sample:
        places = np.array(np.unravel_index(numbers, scale.shape))
        return Sample(name, values, places, classes, name != "all")

    yield sample("all", np.arange(len(scale)), scale.runs, equal_methods(scale.replays))
    for this in SAMPLES:
        file = folder / f"sample-{this.budget}.db"
        if not file.exists():
            continue
        content = read_round(file)
        numbers = content["methods"]
        every = sample(f"{this.budget:,}·D", numbers, scores(content), numbers)
        yield every
        groups = [str(problem.group) for problem in this.problems()]
        for group in dict.fromkeys(groups) if this.budget == ROUNDS[0].budget else ():
            columns = [k for k, own in enumerate(groups) if own == group]
            yield every._replace(name=group, scores=every.scores[:, columns])
    for file in files:
        runs, _ = fitting(read_runs(file))
        yield sample(runs.host, runs.numbers, runs.scores(), runs.numbers)


# Effects on each problem


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


def by_problem(sample: Sample, kept: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield for each problem: components, scores and weights of the methods with a run there."""
    for column in sample.scores.T:
        rows = ~np.isnan(column) & (True if kept is None else kept)
        _, classes, members = np.unique(
            sample.classes[rows], return_inverse=True, return_counts=True
        )
        yield sample.places[:, rows], column[rows], 1.0 / members[classes]


def component_effects(sample: Sample, kept: np.ndarray | None = None) -> np.ndarray:
    """Return the effect of each component on each problem, (problems, components)."""
    return np.array([np.concatenate(main_effects(*own)) for own in by_problem(sample, kept)])


def mean_scores(sample: Sample, kept: np.ndarray | None = None) -> np.ndarray:
    """Return the mean score on each problem, (problems, 1)."""
    return np.array([[np.average(y, weights=w)] for _, y, w in by_problem(sample, kept)])


def groups_left_out(sample: Sample) -> Iterator[np.ndarray]:
    """Yield which methods remain without each group of a jackknife."""
    _, classes = np.unique(sample.classes, return_inverse=True)
    rng = np.random.default_rng(18)
    group = rng.permutation(np.arange(classes.max() + 1) % GROUPS)[classes]
    for number in range(GROUPS):
        yield group != number


def jackknifed(replicates: np.ndarray) -> np.ndarray:
    """Return the standard errors by replicates without one group each."""
    return np.asarray(np.std(replicates, axis=0) * np.sqrt(len(replicates) - 1))


def half_widths(sample: Sample, values: np.ndarray, left_out: np.ndarray | None) -> np.ndarray:
    """Return half the 95 % interval of means over problems, of methods too where they are drawn.

    `values` are (problems, quantities); `left_out` has their means without groups of methods.
    """
    P = len(values)
    half = stats.t.ppf(0.975, P - 1) * values.std(axis=0, ddof=1) / np.sqrt(P)
    if left_out is None:
        return np.asarray(half)
    return np.asarray(np.hypot(half, stats.t.ppf(0.975, GROUPS - 1) * jackknifed(left_out)))


def summaries(sample: Sample) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Return rows of the components' effects, and of cautious less greedy selections."""
    names = names_of_components()
    contrast = np.array([
        (family == "selection") * ((name in CAUTIOUS) / 2 - (name in GREEDY) / 2)
        for family, name in names
    ])  # fmt: skip

    def quantities(kept: np.ndarray | None = None) -> np.ndarray:
        effects = component_effects(sample, kept)
        return np.hstack([effects, (effects @ contrast)[:, None], mean_scores(sample, kept)])

    values = quantities()
    left_out = (
        np.array([quantities(kept).mean(axis=0) for kept in groups_left_out(sample)])
        if sample.drawn else None
    )  # fmt: skip
    means, halves = values.mean(axis=0), half_widths(sample, values, left_out)
    rows: list[dict[str, object]] = [
        {"runs": sample.name, "family": family, "component": name, "effect": f"{effect:.4f}",
         "interval": f"{half:.4f}"}
        for (family, name), effect, half in zip(names, means, halves, strict=False)
    ]  # fmt: skip
    total: dict[str, object] = {
        "runs": sample.name, "methods": sample.distinct(),
        "mean": f"{means[-1]:.4f}", "mean, interval": f"{halves[-1]:.4f}",
        "difference": f"{means[-2]:.4f}", "interval": f"{halves[-2]:.4f}",
        "problems ahead": int((values[:, -2] > 0).sum()), "problems": len(values),
    }  # fmt: skip
    return rows, total


def names_of_components() -> list[tuple[str, str]]:
    """Return all components with their families."""
    every = load_map().components.items()
    return [(family, name) for family, names in every for name in names]


def exchanges(first: Sample) -> list[dict[str, object]]:
    """Return the difference between each two components of a family, with a 95 % interval.

    Two components are interchangeable if the interval of their difference is within the margin.
    """
    values, names = component_effects(first), names_of_components()
    rows: list[dict[str, object]] = []
    for a, b in itertools.combinations(range(len(names)), 2):
        if names[a][0] != names[b][0]:
            continue
        differences = (values[:, a] - values[:, b])[:, None]
        mean, half = differences.mean(), half_widths(first, differences, None)[0]
        verdict = (
            "interchangeable" if abs(mean) + half < MARGIN
            else "different" if abs(mean) > half else "undecided"
        )  # fmt: skip
        rows.append({"family": names[a][0], "first": names[a][1], "second": names[b][1],
                     "difference": f"{mean:.4f}", "interval": f"{half:.4f}",
                     "verdict": verdict})  # fmt: skip
    return rows


# Deviations of effects


def sources(
    places: np.ndarray, y: np.ndarray, weights: np.ndarray, pairs: bool
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the effects on one problem of each family, and of each two of them together."""
    sizes, single = load_map().shape, main_effects(places, y, weights)
    yield from zip(FAMILIES, single, strict=True)
    if not pairs:
        return
    rest = y - np.average(y, weights=weights)
    rest = rest - sum(e[p] for e, p in zip(single, places, strict=True))
    for a, b in itertools.combinations(range(len(FAMILIES)), 2):
        shape = sizes[a], sizes[b]
        cells = places[a] * sizes[b] + places[b]
        totals = np.bincount(cells, weights, shape[0] * shape[1]).reshape(shape)
        sums = np.bincount(cells, weights * rest, shape[0] * shape[1]).reshape(shape)
        effects = np.divide(sums, totals, np.full(shape, np.nan), where=totals > 0)
        for axis in (0, 1):
            effects = effects - np.nanmean(effects, axis=axis, keepdims=True)
        yield f"{FAMILIES[a]} × {FAMILIES[b]}", np.nan_to_num(effects).ravel()


def products(sample: Sample, pairs: bool, kept: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return the mean products of effects on each two problems, of two halves of the methods."""
    _, classes = np.unique(sample.classes, return_inverse=True)
    n, rng = int(classes.max()) + 1, np.random.default_rng(17)
    sums: dict[str, np.ndarray] = {}
    for _ in range(HALVES):
        half = rng.permutation(np.arange(n) % 2)[classes].astype(bool)
        both: list[dict[str, list[np.ndarray]]] = []
        for own in (half, ~half):
            effects: dict[str, list[np.ndarray]] = {}
            for part in by_problem(sample, own if kept is None else own & kept):
                for source, values in sources(*part, pairs):
                    effects.setdefault(source, []).append(values)
            both.append(effects)
        for source in both[0]:
            first, second = (np.array(effects[source]) for effects in both)
            product = first @ second.T / first.shape[1] / HALVES
            sums[source] = sums.get(source, 0) + product
    if pairs:
        sums[TOGETHER] = sum(v for source, v in sums.items() if "×" in source)
    return sums


def between_problems(product: np.ndarray, kept: np.ndarray | None = None) -> float:
    """Return the mean product of effects on two different problems."""
    chosen = product if kept is None else product[np.ix_(kept, kept)]
    P = len(chosen)
    return float((chosen.sum() - np.trace(chosen)) / (P * (P - 1)))


def deviations(sample: Sample) -> list[dict[str, object]]:
    """Return the standard deviation of the effects of each source, with a 95 % interval.

    Of pairs of families where all methods ran.
    """
    pairs = not sample.drawn
    every, P = products(sample, pairs), sample.scores.shape[1]
    left_out = [
        products(sample, pairs, kept) for kept in (groups_left_out(sample) if sample.drawn else ())
    ]
    rows: list[dict[str, object]] = []
    for source, product in every.items():
        value = between_problems(product)
        without = np.array([between_problems(product, np.arange(P) != k) for k in range(P)])
        half = stats.t.ppf(0.975, P - 1) * float(jackknifed(without))
        if left_out:
            methods = jackknifed(np.array([between_problems(one[source]) for one in left_out]))
            half = float(np.hypot(half, stats.t.ppf(0.975, GROUPS - 1) * methods))
        limits = (value, value - half, value + half)
        rows.append({
            "runs": sample.name, "methods": sample.distinct(),
            "source": source,
            **{key: f"{np.sqrt(max(0.0, limit)):.4f}"
               for key, limit in zip(("deviation", "low", "high"), limits, strict=True)},
        })  # fmt: skip
        print(*rows[-1].values(), flush=True)
    return rows


def main() -> None:
    """Write the data files."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    every = list(samples(Path(sys.argv[1]), [Path(file) for file in sys.argv[2:]]))
    write("map-exchanges", exchanges(every[0]))
    effects, totals = zip(*map(summaries, every), strict=True)
    write("map-component-effects", list(itertools.chain.from_iterable(effects)))
    write("map-run-contrasts", list(totals))
    write("map-deviations", [row for sample in every for row in deviations(sample)])


if __name__ == "__main__":
    main()
