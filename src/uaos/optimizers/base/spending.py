"""What the evaluations of a run are spent on, and what they leave to its search."""

from dataclasses import dataclass

#: Evaluations per dimension of a run without a budget.
DEFAULT_PER_DIMENSION = 10_000


@dataclass
class Spending:
    """Evaluations of a run beside one for each point of its search.

    A search plans with all points of the budget: a few repeats shorten the run but do not change
    it. Where every point costs more than one evaluation, the plan follows.

    Attributes
    ----------
    repeats, reserved : int
        Evaluations of points that had been evaluated before, and those set aside for it at the end
        of the run.
    recalled : int
        Points whose values were known before; they do not count against the budget.
    cost : float
        Evaluations per point; more than 1 where each value is confirmed by another one.
    planned : int
        Evaluations beside those of points that the plan of the search takes into account.

    Examples
    --------
    >>> spending = Spending(repeats=20, reserved=100)
    >>> spending.total(points=300), spending.left(budget=1000, points=300)
    (320, 580)
    >>> spending.horizon(budget=1000, points=300)
    1000
    >>> spending.plan(cost=2.0)
    >>> spending.horizon(budget=1000, points=300)
    590
    """

    repeats: int = 0
    reserved: int = 0
    recalled: int = 0
    cost: float = 1.0
    planned: int = 0

    def total(self, points: int) -> int:
        """Return the number of evaluations by which the search has got to this many points."""
        return points + self.repeats - self.recalled

    def left(self, budget: int, points: int) -> int:
        """Return the number of points that a budget leaves to the search."""
        return int((budget - self.total(points) - self.reserved) / self.cost)

    def horizon(self, budget: int, points: int) -> int:
        """Return the number of points that the search plans with, from its first to its last."""
        return points + int((budget - points - self.planned) / self.cost)

    def plan(self, cost: float) -> None:
        """Plan with all that has been spent or set aside so far, and with a cost of each point."""
        self.cost, self.planned = cost, self.total(0) + self.reserved
