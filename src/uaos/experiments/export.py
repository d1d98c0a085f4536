"""Outcomes for other programs: tables (CSV, Parquet), folders for cocopp and IOHanalyzer."""

import csv
import json
import math
import os
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

from uaos.errors import InvalidParameter
from uaos.experiments.recorder import TARGETS
from uaos.experiments.store import Store
from uaos.experiments.unit import Outcome
from uaos.extras import optional
from uaos.files import MARK, as_path, check_folder, whole_file, whole_folder
from uaos.problems.bbob import NAME

_PLAIN = tuple(name for name in Outcome._fields if name not in ("hits", "trace"))

#: The columns: the fields of an outcome, then the evaluation at which each target was reached.
COLUMNS = (*_PLAIN, *(f"hit {target:.3g}" for target in TARGETS))


def export_table(outcomes: Sequence[Outcome], path: str | os.PathLike[str]) -> None:
    """Write a table with a row for each outcome; -1 stands for a target never reached."""
    target = as_path(path)
    if target.suffix.lower() == ".csv":
        with whole_file(target) as part, open(part, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(_rows(outcomes))
    elif target.suffix.lower() == ".parquet":
        _parquet(outcomes, target)
    else:
        raise InvalidParameter(
            f"export is {target}; expected a file that ends in .csv or .parquet",
            name="export", value=str(target),
        )  # fmt: skip


def _rows(outcomes: Iterable[Outcome]) -> Iterable[list[object]]:
    for outcome in outcomes:
        yield [getattr(outcome, name) for name in _PLAIN] + outcome.hits.tolist()


def _parquet(outcomes: Sequence[Outcome], target: Path) -> None:
    pyarrow = optional("pyarrow", "a Parquet file")
    parquet = optional("pyarrow.parquet", "a Parquet file")
    columns = list(zip(*_rows(outcomes), strict=True)) or [()] * len(COLUMNS)
    table = pyarrow.table([pyarrow.array(column) for column in columns], names=COLUMNS)
    table = table.replace_schema_metadata({"software": MARK})
    with whole_file(target) as part:
        parquet.write_table(table, part)


# A value just below its target: printed digits must not lift it above.
_BELOW = 1.0 - 1e-9
# Stands for a first value above all targets; how large it was is not known.
_ABOVE = 1e9


def export_coco(store: Store, folder: str | os.PathLike[str]) -> list[Path]:
    """Write a data folder for each method into `folder`; return their paths.

    Written are the evaluations at which the 61 targets were reached, so that what cocopp computes
    for these targets (aRT, ECDF, success counts) is exact; what lies between two targets, or above
    10^4, is not in the store. Failed runs are left out.
    """
    parent = check_folder(folder)
    if store.suite != NAME or store.suite_file:
        raise _not_exported(
            parent, f"cocopp reads runs on the suite {NAME}, and {store.path} is of {store.suite}; "
            "IOHanalyzer reads any suite (--export-ioh)", "export-coco",
        )  # fmt: skip
    done = [o for o in store.outcomes() if o.status == "done" and o.evaluations]
    places = _places(parent, done, store, "export-coco")
    for method, place in places.items():
        with whole_folder(place) as part:
            _write(method, [outcome for outcome in done if outcome.method == method], part)
    return list(places.values())


def _places(parent: Path, done: Sequence[Outcome], store: Store, option: str) -> dict[str, Path]:
    """Return a new folder for each method."""
    if not done:
        raise _not_exported(parent, f"{store.path} holds no finished runs", option)
    places: dict[str, Path] = {}
    for method in dict.fromkeys(outcome.method for outcome in done):
        place = parent / _file_name(method)
        while place in places.values():
            place = place.with_name(place.name + "_")
        if place.exists():
            raise _not_exported(place, f"{place} exists; choose a new folder", option)
        places[method] = place
    return places


def _file_name(name: str) -> str:
    """Return a name without characters that file names cannot have."""
    return re.sub(r"[^\w.+-]+", "_", name) or "_"


def _not_exported(place: Path, why: str, option: str) -> InvalidParameter:
    return InvalidParameter(why, name=option, value=str(place))


def _write(method: str, outcomes: list[Outcome], place: Path) -> None:
    outcomes.sort(key=lambda o: (int(o.function[1:]), o.dimension, o.repetition, o.instance))
    name = method.replace("'", "’")
    for function, of_function in groupby(outcomes, lambda o: int(o.function[1:])):
        (place / f"data_f{function}").mkdir()
        entries = []
        for dimension, group in groupby(of_function, lambda o: o.dimension):
            runs = list(group)
            stem = f"data_f{function}/bbobexp_f{function}_DIM{dimension}"
            text = "".join(_trial(run) for run in runs)
            for suffix in (".dat", ".tdat"):
                (place / f"{stem}{suffix}").write_text(text, encoding="utf-8")
            trials = ", ".join(
                f"{run.instance}:{run.evaluations}|{_final(run):.1e}" for run in runs
            )
            entries.append(
                f"suite = 'bbob', funcId = {function}, DIM = {dimension}, Precision = 1.000e-08, "
                f"algId = '{name}', coco_version = '{version('coco-experiment')}', "
                f"logger = 'bbob', data_format = 'bbob-new2'\n% \n{stem}.dat, {trials}"
            )
        info = place / f"bbobexp_f{function}.info"
        info.write_text("\n".join(entries) + "\n", encoding="utf-8")


def _trial(run: Outcome) -> str:
    """Return one run: a row where targets were reached, and one where it ended."""
    f_opt = run.best - run.error
    reached = {1: _ABOVE}
    for target, hit in zip(TARGETS, run.hits, strict=True):
        if hit > 0:
            reached[int(hit)] = target * _BELOW  # the last is the smallest of those hit there
    rows = sorted(reached.items())
    if rows[-1][0] < run.evaluations:
        rows.append((run.evaluations, min(_final(run), rows[-1][1])))
    head = (
        "% f evaluations | g evaluations | best noise-free fitness - Fopt "
        f"({f_opt:.12e}) + sum g_i+ | measured fitness | best measured fitness or single-digit "
        "g-values | x1 | x2...\n"
    )
    return head + "".join(
        f"{at} 0 {error:+.16e} {f_opt + error:+.9e} {f_opt + error:+.9e}\n" for at, error in rows
    )


def _final(run: Outcome) -> float:
    """Return the final error, bounded below, as COCO ignores errors below 10^-8."""
    return max(run.error, 1e-9)


# IOHanalyzer


# Stands for evaluations without a value: a run must begin with its first evaluation.
_NO_VALUE = 1e308


def export_ioh(store: Store, folder: str | os.PathLike[str]) -> list[Path]:
    """Write a folder for each method that IOHanalyzer and iohinspector read; return their paths.

    Written are the improvements of each run, as errors where the optimum of a problem is known,
    otherwise as values. Functions and instances without a number are numbered in the order of the
    suite. Failed runs are left out. Points are not in the store.

    Parameters
    ----------
    store : Store
        The runs, on any suite.
    folder : str or path
        The folder for the new folders.

    References
    ----------
    Wang, H., Vermetten, D., Ye, F., Doerr, C. & Bäck, T. (2022), "IOHanalyzer: detailed performance
    analyses for iterative optimization heuristics", ACM Transactions on Evolutionary Learning and
    Optimization 2(1).
    """
    parent = check_folder(folder)
    done = [o for o in store.outcomes(traces=True) if o.status == "done" and o.evaluations]
    places = _places(parent, done, store, "export-ioh")
    numbers = _numbers(store)
    for method, place in places.items():
        runs = [outcome for outcome in done if outcome.method == method]
        runs.sort(key=lambda o: (*numbers[o.problem], o.dimension, o.repetition))
        with whole_folder(place) as part:
            for function, group in groupby(runs, lambda o: (numbers[o.problem][0], o.function)):
                _write_function(store, method, function, list(group), numbers, part)
    return list(places.values())


def _numbers(store: Store) -> dict[str, tuple[int, int]]:
    """Return the numbers of function and instance of each problem."""
    records = store.problems()
    functions = list(dict.fromkeys(record.function for record in records))
    is_numbered = all(re.fullmatch(r"f\d+", name) for name in functions)
    seen: dict[tuple[str, int], int] = {}
    numbers = {}
    for record in records:
        name, kind = record.function, (record.function, record.dimension)
        seen[kind] = seen.get(kind, 0) + 1
        number = int(name[1:]) if is_numbered else 1 + functions.index(name)
        instance = seen[kind] if record.instance is None else record.instance
        numbers[record.name] = number, instance
    return numbers


def _write_function(
    store: Store, method: str, function: tuple[int, str], outcomes: list[Outcome],
    numbers: dict[str, tuple[int, int]], place: Path,
) -> None:  # fmt: skip
    """Write the runs of a method on a function: a file of data for each dimension, and JSON."""
    number, name = function
    stem = f"f{number}_{_file_name(name)}"
    (place / f"data_{stem}").mkdir()
    scenarios = []
    outcomes.sort(key=lambda o: o.dimension)
    for dimension, group in groupby(outcomes, lambda o: o.dimension):
        runs = list(group)
        path = f"data_{stem}/IOHprofiler_f{number}_DIM{dimension}.dat"
        (place / path).write_text("".join(map(_ioh_rows, runs)), encoding="utf-8")
        run_entries = [
            {"instance": numbers[run.problem][1], "evals": run.evaluations,
             "best": {"evals": int(run.trace.evaluations[-1]) if len(run.trace.values) else 1,
                      "y": _ioh_values(run)[-1], "x": []}}
            for run in runs
        ]  # fmt: skip
        scenarios.append({"dimension": dimension, "path": path, "runs": run_entries})
    data = {
        "version": "0.3.22", "suite": store.suite, "function_id": number, "function_name": name,
        "maximization": False, "algorithm": {"name": method, "info": MARK},
        "attributes": ["evaluations", "raw_y"], "scenarios": scenarios,
    }  # fmt: skip
    (place / f"IOHprofiler_{stem}.json").write_text(json.dumps(data, indent=1), encoding="utf-8")


def _ioh_values(run: Outcome) -> list[float]:
    """Return the errors of the improvements of a run, or their values if the optimum is unknown."""
    optimum = 0.0 if math.isnan(run.error) else run.best - run.error
    return [float(value) - optimum for value in run.trace.values] or [_NO_VALUE]


def _ioh_rows(run: Outcome) -> str:
    """Return the rows of one run: its first evaluation, its improvements, and its end."""
    rows = list(zip(run.trace.evaluations.tolist(), _ioh_values(run), strict=False))
    if not rows or rows[0][0] > 1:
        rows.insert(0, (1, _NO_VALUE))
    if rows[-1][0] < run.evaluations:
        rows.append((run.evaluations, rows[-1][1]))
    return "evaluations raw_y\n" + "".join(f"{at} {value!r}\n" for at, value in rows)
