"""The guard that keeps a tuning away from the problems on which its result is to be judged."""

from collections.abc import Iterable

from uaos.errors import UaosError
from uaos.problems import Problem, Suite


class HeldOutProblems(UaosError, ValueError):
    """A tuning would see problems that are held out to judge its result."""

    def __init__(self, found: Iterable[Problem], total: int) -> None:
        self.found = tuple(found)
        count = len(self.found)
        verb, what = ("is", "a test problem") if count == 1 else ("are", "test problems")
        super().__init__(
            f"{count} of the {total} problems {verb} {what} (the first: {self.found[0]}); a method "
            "tuned on them cannot be compared on them. Instances above 15 are free; "
            "--force-test-instances (force=True) tunes on them all the same"
        )


def check_training(suite: Suite, *, force: bool = False) -> Suite:
    """The suite, if a tuner may train on it.

    Parameters
    ----------
    suite : Suite
    force : bool
        Whether to allow problems that are held out.

    Raises
    ------
    HeldOutProblems
        If problems of the suite are held out for testing.
    """
    held_out = [problem for problem in suite if problem.held_out]
    if held_out and not force:
        raise HeldOutProblems(held_out, len(suite))
    return suite
