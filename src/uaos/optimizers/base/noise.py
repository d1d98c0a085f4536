"""What is known of the noise of a function."""

import math
from dataclasses import dataclass

#: Noise hides the differences between points if its standard deviation is more than this share of
#: the interquartile range of their values.
STRONG_NOISE = 0.1


@dataclass
class Noise:
    """Noise of the values that an optimizer is told, as far as it is known.

    Attributes
    ----------
    level : float
        Standard deviation of the values at one point.
    strong : bool
        Whether it hides the differences between the points that the search compares.
    estimate : float
        The mean of several values at the best candidate plus its standard error; infinite before
        there is one.
    """

    level: float = 0.0
    strong: bool = False
    estimate: float = math.inf

    @property
    def known(self) -> bool:
        """True if values are known to be noisy."""
        return self.strong or self.level > 0

    def measured(self, level: float, spread: float) -> None:
        """Take in a measurement; noise that has once been strong stays so."""
        self.level, self.strong = level, self.strong or level > STRONG_NOISE * spread
