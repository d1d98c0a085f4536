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
    """Times of one contender, one per round. Shown as: fastest (median, slowest)."""

    values: tuple[float, ...]

    @property
    def fastest(self) -> float:
        """Fastest time, by which an aim is judged."""
        return min(self.values)

    @property
    def median(self) -> float:
        """Median time, as seen by the user of a busy machine."""
        return median(self.values)

    def scaled(self, factor: float) -> "Sample":
        """Return the times in another unit, or for one of many repetitions."""
        return Sample(tuple(v * factor for v in self.values))

    def less(self, other: "Sample") -> "Sample":
        """Subtract a part of the time of each round."""
        return Sample(tuple(a - b for a, b in zip(self.values, other.values, strict=True)))

    def over(self, other: "Sample") -> "Ratio":
        """Return the ratios to the other's times, round by round."""
        return Ratio(tuple(a / b for a, b in zip(self.values, other.values, strict=True)))

    def text(self, unit: str) -> str:
        """Format the values with three significant digits and no exponent."""
        shown = (self.fastest, self.median, max(self.values))
        fastest, middle, slowest = (_short(value) for value in shown)
        return f"{fastest} {unit} ({middle}, {slowest})"

    def verdict(self, aim: float, *, below: bool = False) -> str:
        """Say whether the time is at most `aim` (or `below` it), or only the fastest is."""

        def met(value: float) -> bool:
            return value < aim if below else value <= aim

        if not met(self.fastest):
            return "no"
        return "yes" if met(self.median) else "yes (median: no)"


@dataclass(frozen=True)
class Ratio:
    """Ratios of two contenders' times, one per round. Shown as: median (lowest, highest)."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median ratio, by which an aim is judged."""
        return median(self.values)

    def text(self) -> str:
        """Format the values with three significant digits and no exponent."""
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
