"""What a report is made from: stores of experiments and of tunings, opened by what they are."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from uaos.analysis.results import Results
from uaos.errors import InvalidFile, InvalidParameter
from uaos.experiments.store import TUNING, Outcome, Span, Store, Tally, kind_of
from uaos.tuning.records import Tuning
from uaos.tuning.store import TuningStore


@dataclass(frozen=True)
class Experiment:
    """A store of an experiment, and what the results do not keep of it."""

    store: Store
    span: Span
    tallies: dict[str, Tally]
    outcomes: tuple[Outcome, ...]

    @property
    def name(self) -> str:
        """The file's name; where it lies is nobody's business."""
        return self.store.path.name

    @property
    def failures(self) -> list[Outcome]:
        """Runs that failed."""
        return [o for o in self.outcomes if o.status == "failed"]

    @property
    def waiting(self) -> int:
        """Runs that are planned and neither done nor failed."""
        return sum(t.total - t.done - t.failed for t in self.tallies.values())


@dataclass(frozen=True)
class TuningEntry:
    """One tuning of a store."""

    store: TuningStore
    tuning: Tuning

    @property
    def name(self) -> str:
        """The file's name."""
        return self.store.path.name


class Sources:
    """The open stores of a report; use it in a `with` statement."""

    def __init__(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        if not paths:
            raise InvalidParameter("stores", [], "at least one store, of a bench or of a tuning")
        places = list(dict.fromkeys(Path(p) for p in paths))
        self._open = ExitStack()
        try:
            opened = [self._open.enter_context(_opened(place)) for place in places]
            self.experiments = tuple(_experiment(s) for s in opened if s.kind != TUNING)
            self.results = Results.read(*(e.store.path for e in self.experiments))
            self.tunings = tuple(
                TuningEntry(store, tuning)
                for store in opened
                if isinstance(store, TuningStore)
                for tuning in store.tunings()
                if store.steps(tuning.id)
            )
            self._check(places)
        except BaseException:
            self._open.close()
            raise

    @property
    def seconds(self) -> float:
        """Processor time of the runs; one that is in two stores counts once."""
        each = {o.unit: o.seconds for e in self.experiments for o in e.outcomes}
        return sum(each.values())

    def _check(self, places: list[Path]) -> None:
        if self.results.runs or self.tunings:
            return
        failed = sum(self.results.failed.values())
        more = f" ({failed} failed; uaos bench {places[0]} --status says why)" if failed else ""
        files = ", ".join(map(str, places))
        raise InvalidFile(f"{files}: nothing is finished yet{more}; a report needs finished runs")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()


def _opened(path: Path) -> Store:
    return TuningStore.open(path) if kind_of(path) == TUNING else Store.open(path)


def _experiment(store: Store) -> Experiment:
    return Experiment(store, store.plan, store.tallies(), tuple(store.outcomes()))
