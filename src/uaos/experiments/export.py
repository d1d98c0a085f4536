"""Outcomes as a table, for other programs: CSV or Parquet."""

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from uaos.errors import InvalidParameter
from uaos.experiments.records import Outcome
from uaos.experiments.targets import TARGETS
from uaos.extras import optional
from uaos.files import MARK, whole_file

_PLAIN = tuple(name for name in Outcome._fields if name not in ("hits", "trace"))

#: The columns: the fields of an outcome, then the evaluation at which each target was reached.
COLUMNS = (*_PLAIN, *(f"hit {target:.3g}" for target in TARGETS))


def export(outcomes: Sequence[Outcome], path: str | os.PathLike[str]) -> None:
    """Write a table with a row for each outcome; -1 stands for a target never reached."""
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise InvalidParameter("export", str(target), "a file in a folder that exists")
    if target.suffix.lower() == ".csv":
        with whole_file(target) as part, open(part, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(_rows(outcomes))
    elif target.suffix.lower() == ".parquet":
        _parquet(outcomes, target)
    else:
        raise InvalidParameter("export", str(target), "a file that ends in .csv or .parquet")


def _rows(outcomes: Iterable[Outcome]) -> Iterable[list[Any]]:
    for outcome in outcomes:
        yield [getattr(outcome, name) for name in _PLAIN] + outcome.hits.tolist()


def _parquet(outcomes: Sequence[Outcome], target: Path) -> None:
    pyarrow = optional("pyarrow", "a Parquet file", "pyarrow", "parquet")
    parquet = optional("pyarrow.parquet", "a Parquet file", "pyarrow", "parquet")
    columns = list(zip(*_rows(outcomes), strict=True)) or [()] * len(COLUMNS)
    table = pyarrow.table([pyarrow.array(column) for column in columns], names=COLUMNS)
    table = table.replace_schema_metadata({"software": MARK})
    with whole_file(target) as part:
        parquet.write_table(table, part)
