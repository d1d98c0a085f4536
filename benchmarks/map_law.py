"""When does adapting pay in real runs?

    python benchmarks/map_law.py FOLDER HOST ...

writes docs/results/data/map-alignment.csv, a row per problem. FOLDER has for each host its runs
(`map_grid.py run HOST HOST.csv`), runs with one operator only (`map_grid.py alone HOST
alone-HOST.csv`) and, but for `nine` and `mix`, recorded runs (`map_hosts.py record HOST HOST.npz`).

Columns: the largest immediate gain is that of the operator with the largest mean merit in recorded
runs, relative to the mean of all; `alone` is the chance of a run with this operator only against
uniform choice, `operators` the mean of this over all operators, and `methods` the mean score of the
methods of the grid. The two use different runs with uniform choice, so that these do not make them
agree.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from map import lasting, write
from map_grid import UNIFORM, fitting, read_runs
from map_hosts import recorded

from uaos.scenarios import traces
from uaos.scenarios.traces import OutcomeTrace


def traces_of(host: str, folder: Path) -> dict[str, list[OutcomeTrace]]:
    """Return the recorded runs of a host by function, or by problem where they are no functions."""
    file = folder / f"{host}.npz"
    by_problem: dict[str, list[OutcomeTrace]] = defaultdict(list)
    for trace in recorded(file) if file.exists() else traces.load(host):
        by_problem[key_of(trace.name)].append(trace)
    return by_problem


def key_of(problem: str) -> str:
    """Return the function of BBOB that a problem belongs to, or the problem."""
    is_function = problem[0] == "f" and problem[1].isdigit()
    return problem.split()[0].split("-")[0] if is_function else problem


def chances(file: Path) -> dict[str, np.ndarray]:
    """Return the chance of each operator alone against uniform choice, by problem."""
    values: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with file.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            values[row["problem"]][int(row["method"])].append(float(row["value"]))
    chance: dict[str, np.ndarray] = {}
    for problem, own in values.items():
        uniform = np.array(own.pop(UNIFORM))
        shares = [[(uniform > v).mean() + (uniform == v).mean() / 2 for v in own[number]]
                  for number in sorted(own, reverse=True)]  # fmt: skip
        chance[problem] = np.mean(shares, axis=1)
    return chance


def rows_of(host: str, folder: Path) -> list[dict[str, object]]:
    """Return what is known of each problem of a host."""
    every = read_runs(folder / f"{host}.csv")
    runs, _ = fitting(every)
    scores = runs.scores()
    alone = chances(folder / f"alone-{host}.csv")
    known = traces_of(host, folder)
    rows: list[dict[str, object]] = []
    for column, problem in enumerate(every.problems):
        own = known.get(key_of(problem), [])
        if not own:
            continue
        merits = np.mean([t.merits.mean(axis=0) / t.merits.mean() for t in own], axis=0)
        top = int(merits.argmax())
        numbers = {
            "lasting": np.mean([lasting(t) for t in own]), "gain": merits[top],
            "alone": alone[problem][top], "operators": alone[problem].mean(),
            "methods": scores[:, column].mean(),
        }  # fmt: skip
        rows.append({"host": host, "problem": problem, "operator": top,
                     **{name: f"{value:.4f}" for name, value in numbers.items()}})  # fmt: skip
    return rows


def main() -> None:
    """Write the data file."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    write("map-alignment", [row for host in sys.argv[2:] for row in rows_of(host, folder)])


if __name__ == "__main__":
    main()
