"""Timing several contenders in turn, so that a busy moment of the machine hits all of them.

Every round repeats the same work from the same seed. What differs between rounds is therefore the
machine's doing, and the fastest round is the best estimate of what the work costs; the median and
the slowest are shown beside it and tell how disturbed the measurement was. A ratio is taken within
each round, as the machine may be fast in one and slow in another, and the median of them counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

#: A contender runs once and returns the seconds of the part that counts.
Contender = Callable[[], float]


@dataclass(frozen=True)
class Sample:
    """The times of one contender, one a round. Shown as: fastest (median, slowest)."""

    values: tuple[float, ...]

    @property
    def fastest(self) -> float:
        """What an aim is judged by."""
        return min(self.values)

    @property
    def median(self) -> float:
        """What a user of a busy machine sees."""
        return median(self.values)

    def scaled(self, factor: float) -> "Sample":
        """The same in another unit, or for one of many repetitions."""
        return Sample(tuple(v * factor for v in self.values))

    def less(self, other: "Sample") -> "Sample":
        """What is left of each round's time without a part of it."""
        return Sample(tuple(a - b for a, b in zip(self.values, other.values, strict=True)))

    def over(self, other: "Sample") -> "Ratio":
        """How many times the other's."""
        return Ratio(tuple(a / b for a, b in zip(self.values, other.values, strict=True)))

    def text(self, unit: str) -> str:
        """Three significant digits, no exponent."""
        shown = (self.fastest, self.median, max(self.values))
        fastest, middle, slowest = (_short(value) for value in shown)
        return f"{fastest} {unit} ({middle}, {slowest})"

    def verdict(self, aim: float, *, below: bool = False) -> str:
        """Whether the time is at most `aim` (or `below` it); says so where only the fastest is."""

        def met(value: float) -> bool:
            return value < aim if below else value <= aim

        if not met(self.fastest):
            return "no"
        return "yes" if met(self.median) else "yes (median: no)"


@dataclass(frozen=True)
class Ratio:
    """One contender's time over another's, one a round. Shown as: median (lowest, highest)."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """What an aim is judged by."""
        return median(self.values)

    def text(self) -> str:
        """Three significant digits, no exponent."""
        return f"{_short(self.median)} ({_short(min(self.values))}, {_short(max(self.values))})"

    def verdict(self, aim: float) -> str:
        """Whether the ratio is at most `aim`."""
        return "yes" if self.median <= aim else "no"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def interleaved(contenders: Mapping[str, Contender], rounds: int) -> dict[str, Sample]:
    """Each contender once untimed, then `rounds` times in an order that rotates."""
    names = list(contenders)
    for name in names:
        contenders[name]()
    values: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        start = turn % len(names)
        for name in names[start:] + names[:start]:
            values[name].append(contenders[name]())
    return {name: Sample(tuple(v)) for name, v in values.items()}
