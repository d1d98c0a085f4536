"""Replay every combination of the five components on recorded runs.

    python benchmarks/map.py layer nine FILE      all methods on eight runs of a host
    python benchmarks/map.py pack FILE [FOLDER]   the data set, with the real runs of map_runs.py
    python benchmarks/map.py describe             distribution and effects of the components
    python benchmarks/map.py confirm              the best and published methods on other runs
    python benchmarks/map.py save FOLDER          the best 20 and the published ones as TOML
    python benchmarks/map.py page                 the data of the page docs/map.md
    python benchmarks/map.py law                  when does choosing pay?

Hyper-parameters have their defaults. FILE (.npy) holds one score per combination and run, NaN where
it has not been computed; the same command continues it. `pack` writes src/uaos/data/map.npz, which
all others but `layer` and `law` read; they write data files of docs/results, and the page's data.
"""

import csv
import dataclasses
import itertools
import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy import stats

import uaos
from uaos.errors import UaosError
from uaos.scenarios import MethodMap, load_map, traces
from uaos.selection.components import FAMILIES

#: Functions of BBOB, instance 1, that all methods are replayed on: some of every group.
FUNCTIONS = (3, 6, 8, 10, 13, 15, 17, 21)
DATA = Path(__file__).parents[1] / "docs" / "results" / "data"
SEEDS = (1, 2, 3)
#: Recorded generations after which differences between operators count as lasting.
LAG = 5
# Seconds between two saves.
INTERVAL = 20.0


def combinations() -> list[tuple[str, ...]]:
    """Return all combinations of components, in the order of the registry."""
    return list(itertools.product(*(uaos.components(family) for family in FAMILIES)))


def first_layer(host: str, file: Path) -> None:
    """Compute what is missing in a file, in an order that covers all components early."""
    every = combinations()
    runs = [trace for trace in traces.load(host, (1,)) if int(trace.name[1:-3]) in FUNCTIONS]
    scores = np.load(file) if file.exists() else np.full((len(every), len(runs)), np.nan)
    missing = np.random.default_rng(1).permutation(np.flatnonzero(np.isnan(scores[:, 0])))
    saved = time.monotonic()
    for done, k in enumerate(missing, start=1):
        try:
            scores[k] = traces.score(uaos.Method(*every[k]), runs)
        except UaosError as error:
            print(every[k], error)
            scores[k] = -np.inf
        if time.monotonic() - saved > INTERVAL or done == len(missing):
            np.save(file, scores)
            saved = time.monotonic()
            print(f"{host}: {done} of {len(missing)}", flush=True)


# What the layer says


def shaped(scores: np.ndarray) -> np.ndarray:
    """Return scores by metric, reward, quality, probability, selection and run."""
    return scores.reshape(*load_map().shape, -1)


def marginal(scores: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return the means over all components but those of some axes."""
    others = tuple(axis for axis in range(len(FAMILIES)) if axis not in axes)
    return np.nanmean(scores, axis=others, keepdims=True)


def variance_shares(scores: np.ndarray) -> dict[str, float]:
    """Return the shares of the variance of mean scores by components and pairs of them."""
    means = scores.mean(axis=-1)
    total = float(np.var(means))
    shares, effects = {}, {}
    for axis, family in enumerate(FAMILIES):
        effects[axis] = marginal(means, (axis,)) - means.mean()
        shares[family] = float(np.var(effects[axis])) / total
    for a, b in itertools.combinations(range(len(FAMILIES)), 2):
        joint = marginal(means, (a, b)) - means.mean() - effects[a] - effects[b]
        shares[f"{FAMILIES[a]} × {FAMILIES[b]}"] = float(np.var(joint)) / total
    shares["higher interactions"] = 1.0 - sum(shares.values())
    return shares


def level_means(scores: np.ndarray) -> list[dict[str, object]]:
    """Return the mean score of each component, and its effect with a 95 % interval over the runs.

    The effect is the difference from the mean of all methods on the same run.
    """
    rows: list[dict[str, object]] = []
    for axis, family in enumerate(FAMILIES):
        others = tuple(other for other in range(len(FAMILIES)) if other != axis)
        by_run = scores.mean(axis=others)  # (components, runs)
        effects = by_run - by_run.mean(axis=0)
        runs = by_run.shape[1]
        half = stats.t.ppf(0.975, runs - 1) * effects.std(axis=1, ddof=1) / np.sqrt(runs)
        for k, name in enumerate(load_map().components[family]):
            numbers = {"score": by_run[k].mean(), "effect": effects[k].mean(), "interval": half[k]}
            texts = {quantity: f"{value:.4f}" for quantity, value in numbers.items()}
            rows.append({"family": family, "component": name, **texts})
    return rows


def write(name: str, rows: list[dict[str, object]]) -> None:
    """Write rows to a data file of docs/results."""
    with (DATA / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{name}.csv: {len(rows)} rows")


def describe(nine: np.ndarray) -> None:
    """Write how scores are distributed, and how they depend on the components."""
    scores = shaped(nine)
    means = nine.mean(axis=1)
    error = nine.std(axis=1, ddof=1) / np.sqrt(nine.shape[1])
    write("map-scores", [
        {"quantity": "methods", "value": str(len(means))},
        {"quantity": "above 0", "value": f"{(means > 0).mean():.3f}"},
        {"quantity": "clearly above 0", "value": f"{(means > 2 * error).mean():.3f}"},
        {"quantity": "clearly below 0", "value": f"{(means < -2 * error).mean():.3f}"},
        *({"quantity": f"quantile {q}", "value": f"{np.quantile(means, q):.3f}"}
          for q in (0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)),
    ])  # fmt: skip
    write("map-variance", [{"source": source, "share": f"{share:.4f}"}
                           for source, share in variance_shares(scores).items()])  # fmt: skip
    write("map-components", level_means(scores))


def best_methods(nine: np.ndarray, n: int = 20) -> dict[str, uaos.Method]:
    """Return the best methods of the layer, named by their place.

    Methods that made the same choices, as those whose reward ignores the metric, count once.
    """
    _, first = np.unique(nine, axis=0, return_index=True)
    order = first[np.argsort(-nine[first].mean(axis=1))][:n]
    return {f"map-{place}": load_map().method(int(k)) for place, k in enumerate(order, start=1)}


def literature() -> dict[str, uaos.Method]:
    """Return the methods of the catalogue that select among operators."""
    entries = uaos.methods().items()
    return {
        name: entry.method for name, entry in entries if entry.kind == "method" and entry.method
    }


def confirm(nine: np.ndarray) -> None:
    """Write scores of the best and of published methods, on runs that chose them and on others."""
    first, second = (traces.load("nine", (i,)) for i in (1, 2))
    chosen = [trace for trace in first if int(trace.name[1:-3]) in FUNCTIONS]
    hosts = {"chosen on": chosen, "nine, instance 2": second, "mix": traces.load("mix", (2,))}
    rows = []
    for name, method in {**best_methods(nine), **literature()}.items():
        parts = [getattr(method, family).name for family in FAMILIES]
        cells = {}
        for host, runs in hosts.items():
            scores = np.mean([traces.score(method, runs, seed) for seed in SEEDS], axis=0)
            cells[host] = f"{scores.mean():.3f}"
            cells[f"{host}, error"] = f"{scores.std(ddof=1) / np.sqrt(len(scores)):.3f}"
        rows.append({"method": name, "components": " / ".join(parts), **cells})
        print(rows[-1], flush=True)
    write("map-confirmed", rows)


def lasting(trace: traces.OutcomeTrace) -> float:
    """Return how lasting the differences between operators are, relative to uniform choice.

    Equation
    --------
    lasting = √(mean over t and k of d_k(t) d_k(t + 5)) / u,  d_k(t) = m_k(t) - mean over k

    with the merits m_k(t) of operators in recorded generations, and their mean u: the part of the
    differences that is still there after five recorded generations, relative to uniform choice.
    """
    deviation = trace.merits - trace.merits.mean(axis=1, keepdims=True)
    product = float((deviation[LAG:] * deviation[:-LAG]).mean())
    return float(np.sqrt(max(0.0, product)) / trace.baselines.uniform)


def gain(trace: traces.OutcomeTrace) -> float:
    """Return how much larger the mean merit of ADOPP is than that of uniform choice."""
    merits = [trace.replay(uaos.method("ADOPP"), seed) for seed in SEEDS]
    return float(np.mean(merits)) / trace.baselines.uniform - 1


def law() -> None:
    """Write how lasting differences between operators are in each run, and what choosing gains."""
    write("map-law", [
        {"host": host, "run": trace.name, "lasting": f"{lasting(trace):.4f}",
         "gain": f"{gain(trace):.4f}"}
        for host in traces.HOSTS for trace in traces.load(host)
    ])  # fmt: skip


def save(nine: np.ndarray, folder: Path) -> None:
    """Write the best and the published methods as TOML files, all in the recorded algorithm."""
    host = dataclasses.replace(uaos.configuration("uniform").settings, NP=50)
    uniform = {"uniform": uaos.method("uniform")}
    for name, method in {**uniform, **best_methods(nine), **literature()}.items():
        uaos.Configuration(name, method, host).to_toml(folder / f"{name}.toml")


def pack(layer: Path, folder: Path | None) -> None:
    """Write the data set: scores in replays, in real runs, and what these say of all methods.

    The first round of real runs needs the replays; without a folder, real runs are NaN.
    """
    from map_runs import ROUNDS, first_runs, regression

    replays, first = np.load(layer).astype(np.float32), ROUNDS[0]
    names = {family: list(uaos.components(family)) for family in FAMILIES}
    runs = np.full((len(replays), len(first.functions)), np.nan)
    estimates = np.full(len(replays), np.nan)
    if folder is not None:
        runs = first_runs(replays, folder)
        estimates = regression(replays, runs, tuple(map(len, names.values())))[0]
    np.savez_compressed(
        Path(traces.__file__).parents[1] / "data" / "map.npz",
        replays=replays,
        runs=runs.astype(np.float16),
        estimates=estimates.astype(np.float16),
        replayed=np.array([f"f{function}-i1" for function in FUNCTIONS]),
        problems=np.array([f"f{function}-i{first.instance}" for function in first.functions]),
        **{family: np.array(components) for family, components in names.items()},
    )


def write_page(method_map: MethodMap) -> None:
    """Write what the page docs/map.md shows: scores in thousandths, effects by group, methods."""
    scores = method_map.replays.mean(axis=1), method_map.estimates
    replays, runs = (np.rint(1000 * values).astype(int).tolist() for values in scores)

    def places(method: uaos.Method) -> list[int]:
        return [int(k) for k in np.unravel_index(method_map.number(method), method_map.shape)]

    effects: dict[str, list[list[int]]] = {}  # by sample of runs: effect and half its interval
    with (DATA / "map-component-effects.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            pair = [round(1000 * float(row[key])) for key in ("effect", "interval")]
            effects.setdefault(row["runs"], []).append(pair)
    content = {
        "components": {family: list(names) for family, names in method_map.components.items()},
        "published": {name: places(method) for name, method in literature().items()},
        "start": "SaDE",
        "scores": {"replays": replays, "runs": runs},
        "effects": effects,
    }
    (DATA.parents[1] / "assets" / "map-data.js").write_text(
        f"window.uaosMap = {json.dumps(content, separators=(',', ':'))};\n", "utf-8"
    )


def main() -> None:
    """Run the command that the arguments name."""
    match sys.argv[1:]:
        case ["layer", host, file]:
            first_layer(host, Path(file))
        case ["pack", file, *folder] if len(folder) < 2:
            pack(Path(file), Path(folder[0]) if folder else None)
        case ["describe"]:
            describe(load_map().replays)
        case ["confirm"]:
            confirm(load_map().replays)
        case ["page"]:
            write_page(load_map())
        case ["law"]:
            law()
        case ["save", folder]:
            save(load_map().replays, Path(folder))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
