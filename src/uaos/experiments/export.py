"""Outcomes for other programs: a table (CSV or Parquet), or the data folders that cocopp reads."""

import csv
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
from uaos.files import MARK, check_folder, whole_file, whole_folder
from uaos.problems.bbob import NAME

_PLAIN = tuple(name for name in Outcome._fields if name not in ("hits", "trace"))

#: The columns: the fields of an outcome, then the evaluation at which each target was reached.
COLUMNS = (*_PLAIN, *(f"hit {target:.3g}" for target in TARGETS))


def export_table(outcomes: Sequence[Outcome], path: str | os.PathLike[str]) -> None:
    """Write a table with a row for each outcome; -1 stands for a target never reached."""
    target = Path(path)
    if target.suffix.lower() == ".csv":
        with whole_file(target) as part, open(part, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(_rows(outcomes))
    elif target.suffix.lower() == ".parquet":
        _parquet(outcomes, target)
    else:
        raise InvalidParameter(
            f"{target} must end in .csv or .parquet", name="export", value=str(target)
        )


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
            parent, f"cocopp reads runs on the suite {NAME}, and {store.path} is of {store.suite}"
        )
    done = [o for o in store.outcomes() if o.status == "done" and o.evaluations]
    if not done:
        raise _not_exported(parent, f"{store.path} holds no finished runs")
    places: dict[str, Path] = {}
    for method in dict.fromkeys(outcome.method for outcome in done):
        place = parent / (re.sub(r"[^\w.+-]+", "_", method) or "_")
        while place in places.values():
            place = place.with_name(place.name + "_")
        if place.exists():
            raise _not_exported(place, f"{place} exists; give a new folder")
        places[method] = place
    for method, place in places.items():
        with whole_folder(place) as part:
            _write(method, [outcome for outcome in done if outcome.method == method], part)
    return list(places.values())


def _not_exported(place: Path, why: str) -> InvalidParameter:
    return InvalidParameter(why, name="export-coco", value=str(place))


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
