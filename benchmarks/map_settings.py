"""Run methods of the better half of the map with other hyper-parameters.

    python benchmarks/map_settings.py replay FOLDER [SECONDS]    on the recorded runs
    python benchmarks/map_settings.py run FOLDER [WHERE]         in real runs
    python benchmarks/map_settings.py describe FOLDER            data files of docs/results

The better half has the methods that remain after round 1 of `map_halving.py`. Each gets two
settings beside its defaults, drawn from the ranges that a tuner searches. `replay` takes all of
them, in an order drawn at random, for SECONDS of processor time (all, if not given); `run` takes
the first of that order, and a method runs on the same problems with each of its settings.
FOLDER/settings.db is a store like any other, FOLDER/settings.npy has the scores in replays; the
same command continues both.

Variances are without the noise of runs: the mean product of scores of a method on two different
problems, with one of its settings (methods and settings), or with two (methods). Scores are less
the mean of all methods on the same problem. Intervals are by a jackknife over problems.
"""

import itertools
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from map import write
from map_effects import Sample, summaries
from map_grid import OPERATORS
from map_halving import better_half
from map_runs import ALL, Round, complete, read_round, relative, scores
from scipy import stats

import uaos
from uaos.errors import UaosError
from uaos.params import parameters
from uaos.problems.variables import Variable
from uaos.scenarios import load_map, traces
from uaos.selection.components import FAMILIES

#: Drawn settings of each method.
DRAWN = 2


class Shared(Round):
    """A round in which all settings of a method run on the same problems."""

    def assignment(self, n_methods: int) -> np.ndarray:
        """Return which settings run on which problems, (settings of all methods, problems)."""
        each = DRAWN + 1
        return np.repeat(super().assignment(n_methods // each), each, axis=0)


#: The real runs: 96 methods with three settings each.
RUNS = Shared(20, ALL, instance=11, budget=500, runs=len(ALL), references=40, methods=96)


def numbers_in_order() -> np.ndarray:
    """Return the better half of the methods, in the order in which they get other settings."""
    return np.random.default_rng(29).permutation(better_half(Path(), 1))


def redrawn(method: uaos.Method, rng: np.random.Generator) -> uaos.Method:
    """Return a method with hyper-parameters drawn from the ranges that a tuner searches."""
    content = method.to_dict()
    while True:
        for family in FAMILIES:
            for name, domain in parameters(type(getattr(method, family))).items():
                if getattr(domain, "tuned", False):
                    content[family][name] = Variable(name, domain).uniform(rng)
        content["probability"].update(
            {name: value / OPERATORS for name, value in content["probability"].items()
             if name == "p_min"}
        )  # fmt: skip
        with suppress(UaosError):  # values that do not fit together are drawn again
            drawn = uaos.Method.from_dict(content)
            drawn.selector(OPERATORS, budget=OPERATORS)
            return drawn


def settings_of(number: int) -> list[uaos.Method]:
    """Return a method with its defaults and with drawn settings, which depend on it only."""
    method, rng = load_map().method(number), np.random.default_rng((29, number))
    return [method, *(redrawn(method, rng) for _ in range(DRAWN))]


def run(folder: Path, where: str | None) -> None:
    """Make the runs that are missing."""
    chosen = map(int, numbers_in_order()[: RUNS.methods])
    every = {10 * k + j: method for k in chosen for j, method in enumerate(settings_of(k))}
    complete(folder / "settings.db", RUNS, every, where)


def replay(folder: Path, seconds: float) -> None:
    """Compute scores in replays that are missing, by method, setting and recorded run."""
    numbers, file = numbers_in_order(), folder / "settings.npy"
    runs = [trace for trace in traces.load("nine", (1,)) if trace.name in load_map().replayed]
    shape = len(numbers), DRAWN + 1, len(runs)
    values = np.load(file) if file.exists() else np.full(shape, np.nan)
    for row in np.flatnonzero(np.isnan(values).any(axis=(1, 2))):
        values[row] = [traces.score(method, runs) for method in settings_of(int(numbers[row]))]
        if time.process_time() > seconds:
            break
    np.save(file, values)
    print(f"{(~np.isnan(values).any(axis=(1, 2))).sum()} of {len(values)} methods")


# What they say


def pair_mean(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mean product of scores of the same method on two different problems."""
    there = ~np.isnan(a) & ~np.isnan(b)
    a, b = np.where(there, a, 0.0), np.where(there, b, 0.0)
    n = there.sum(axis=1)
    return float((a.sum(axis=1) * b.sum(axis=1) - (a * b).sum(axis=1)).sum() / (n * (n - 1)).sum())


def quantities(default: np.ndarray, drawn: np.ndarray) -> dict[str, float]:
    """Return what defaults (methods, problems) and settings (methods, settings, problems) say.

    Of standard deviations their squares, which may be negative.
    """
    means = np.nanmean(default), np.nanmean(drawn)
    y0, y = relative(default), [relative(drawn[:, j]) for j in range(drawn.shape[1])]
    both = [pair_mean(a, b) for a, b in itertools.combinations(y, 2)]
    methods = float(np.mean(both))
    settings = float(np.mean([pair_mean(a, a) for a in y])) - methods
    defaults = pair_mean(y0, y0)
    shared = float(np.mean([pair_mean(y0, a) for a in y]))
    every = np.concatenate([default[:, None], drawn], axis=1)
    halves = [np.nan_to_num(every[..., ::2]).sum(-1), np.nan_to_num(every[..., 1::2]).sum(-1)]
    counts = [(~np.isnan(every[:, 0, first::2])).sum(axis=-1) for first in (0, 1)]
    rows, gains, chosen = np.arange(len(every)), [], []
    for a, b in ((0, 1), (1, 0)):  # chosen on one half of the problems, judged on the other
        best, there = halves[a].argmax(axis=1), (counts[a] > 0) & (counts[b] > 0)
        for means_of, half in ((chosen, a), (gains, b)):
            gain = halves[half][rows, best] - halves[half][:, 0]
            means_of.append((gain[there] / counts[half][there]).mean())
    return {
        "mean score with defaults": float(means[0]),
        "mean score with drawn settings": float(means[1]),
        "drawn settings less defaults": float(means[1] - means[0]),
        "standard deviation between methods, defaults": defaults,
        "standard deviation between methods, mean of their settings": methods,
        "standard deviation between settings of a method": settings,
        "share of settings in the variance of drawn methods": settings / (settings + methods),
        "correlation of a method's defaults with its other settings":
            shared / np.sqrt(max(defaults * methods, 1e-12)),
        "best of three settings less defaults, where it was chosen": float(np.mean(chosen)),
        "best of three settings less defaults, on other problems": float(np.mean(gains)),
    }  # fmt: skip


def with_intervals(default: np.ndarray, drawn: np.ndarray) -> dict[str, tuple[float, float, float]]:
    """Return the quantities with the limits of their 95 % intervals."""
    P = default.shape[1]
    every = quantities(default, drawn)
    without = [
        quantities(np.delete(default, k, axis=1), np.delete(drawn, k, axis=2)) for k in range(P)
    ]
    limits = {}
    for name, value in every.items():
        error = np.std([one[name] for one in without]) * np.sqrt(P - 1)
        half = float(stats.t.ppf(0.975, P - 1) * error)
        limits[name] = value, value - half, value + half
        if name.startswith("standard deviation"):
            limits[name] = tuple(float(np.sqrt(max(0.0, limit))) for limit in limits[name])
    return limits


def hyperparameters(methods: list[uaos.Method], values: np.ndarray) -> list[dict[str, object]]:
    """Return how the score depends on each hyper-parameter that is a number.

    The slope is that of the score from the smallest to the largest value drawn, on each problem;
    its interval is over problems, its p corrected for the number of hyper-parameters.
    """
    drawn: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for row, method in enumerate(methods):
        for family in FAMILIES:
            component = getattr(method, family)
            for name, domain in parameters(type(component)).items():
                value = getattr(component, name)
                if getattr(domain, "tuned", False) and isinstance(value, int | float):
                    drawn.setdefault((family, component.name, name), []).append((row, value))
    rows: list[dict[str, object]] = []
    for (family, component, name), pairs in drawn.items():
        places, numbers = np.array([r for r, _ in pairs]), np.array([v for _, v in pairs], float)
        if len(set(numbers)) < 2:
            continue
        ranks = (stats.rankdata(numbers) - 0.5) / len(numbers)
        slopes = np.array([stats.linregress(ranks, column).slope for column in values[places].T])
        mean, error = slopes.mean(), slopes.std(ddof=1) / np.sqrt(len(slopes))
        half = stats.t.ppf(0.975, len(slopes) - 1) * error
        p = 2 * stats.t.sf(abs(mean) / error, len(slopes) - 1) if error > 0 else 1.0
        rows.append({"family": family, "component": component, "hyper-parameter": name,
                     "settings": len(pairs), "slope": f"{mean:.4f}", "interval": f"{half:.4f}",
                     "p": p})  # fmt: skip
    for row in rows:
        row["p"] = f"{min(1.0, float(str(row['p'])) * len(rows)):.4g}"
    return rows


def describe(folder: Path) -> None:
    """Write what other hyper-parameters change, in replays and in real runs."""
    replayed = np.load(folder / "settings.npy")
    replayed = replayed[~np.isnan(replayed).any(axis=(1, 2))]
    content = read_round(folder / "settings.db")
    values = scores(content)[np.argsort(content["methods"])]
    real = values.reshape(-1, DRAWN + 1, values.shape[1])
    write("map-settings", [
        {"runs": name, "methods": len(every), "quantity": quantity, "value": f"{value:.4f}",
         "low": f"{low:.4f}", "high": f"{high:.4f}"}
        for name, every in (("replays", replayed), ("real runs", real))
        for quantity, (value, low, high) in with_intervals(every[:, 0], every[:, 1:]).items()
    ])  # fmt: skip
    numbers = np.sort(content["methods"])[:: DRAWN + 1] // 10
    places = np.array(np.unravel_index(numbers, load_map().shape))
    parts = [
        Sample("defaults", real[:, 0], places, numbers, True),
        Sample("drawn settings", real[:, 1:].reshape(-1, real.shape[2]),
               np.repeat(places, DRAWN, axis=1), np.repeat(numbers, DRAWN), True),
    ]  # fmt: skip
    write("map-settings-contrasts", [summaries(part)[1] for part in parts])
    drawn = [m for k in numbers_in_order()[: len(replayed)] for m in settings_of(int(k))[1:]]
    write("map-settings-slopes", hyperparameters(
        drawn, relative(replayed[:, 1:].reshape(len(drawn), -1))
    ))  # fmt: skip


def main() -> None:
    """Run the command that the arguments name."""
    match sys.argv[1:]:
        case ["run", folder, *where] if len(where) < 2:
            run(Path(folder), *where or (None,))
        case ["replay", folder, *seconds] if len(seconds) < 2:
            replay(Path(folder), *map(float, seconds or ("inf",)))
        case ["describe", folder]:
            describe(Path(folder))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
