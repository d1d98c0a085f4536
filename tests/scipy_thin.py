"""Count SciPy's own tests of differential evolution that `uaos.minimize` passes:

python tests/scipy_thin.py

The shim only renames arguments, and polishes by default as SciPy does: no message, type of error,
warning or result is changed, and tests that look inside SciPy's solver do not count as passed.
"""

import inspect

import pytest
import scipy.optimize.tests.test__differential_evolution as theirs

import uaos
from uaos.optimizers.de.rules import Uniform

#: SciPy's names of strategies; those not listed keep their name, which is then unknown.
STRATEGIES = {"best1bin": "best/1", "rand1bin": "rand/1", "rand2bin": "rand/2",
              "best2bin": "best/2", "currenttobest1bin": "curr-to-best/1"}  # fmt: skip


def differential_evolution(func, bounds, **arguments):
    """Call `uaos.minimize` with SciPy's arguments under their names here."""
    arguments.pop("updating", None)
    arguments.setdefault("polish", True)  # as in SciPy
    init = arguments.pop("init", None)
    if init is not None and not isinstance(init, str):
        arguments.setdefault("x0", init)
    strategy = arguments.pop("strategy", None)
    if strategy is not None:
        arguments["method"] = STRATEGIES.get(strategy, strategy)
    mutation = arguments.pop("mutation", None)
    if mutation is not None:
        arguments["F"] = Uniform(*mutation) if isinstance(mutation, tuple | list) else mutation
    if "recombination" in arguments:
        arguments["CR"] = arguments.pop("recombination")
    if "popsize" in arguments:
        arguments["popsize"] = f"{arguments['popsize']}D"
    return uaos.minimize(func, bounds, **arguments)


class Count:
    """Counts the tests of the class that is replaced."""

    def __init__(self):
        self.passed, self.failed = [], []

    def pytest_runtest_logreport(self, report):
        """Note how a test ended."""
        name = report.nodeid.rpartition("::")[2]
        if report.when == "call" and report.passed:
            self.passed.append(name)
        elif report.failed and name not in self.failed:
            self.failed.append(name)


def looks_inside(name):
    """Return whether a test uses SciPy's solver or other internal objects."""
    case = theirs.TestDifferentialEvolutionSolver
    text = inspect.getsource(getattr(case, name.partition("[")[0]))
    return any(word in text for word in ("Solver(", "dummy_solver", "_ConstraintWrapper"))


def main():
    """Run them, and print the count and the names."""
    theirs.differential_evolution = differential_evolution
    count = Count()
    case = f"{theirs.__file__}::TestDifferentialEvolutionSolver"
    folder = theirs.__file__.rpartition("/")[0]
    arguments = ["-q", "--no-header", "-p", "no:cacheprovider", "--tb=line", "-n0", "--rootdir",
                 folder, case]  # fmt: skip
    pytest.main(arguments, plugins=[count])
    inside = {name for name in (*count.passed, *count.failed) if looks_inside(name)}
    passed = [name for name in count.passed if name not in inside]
    failed = [name for name in count.failed if name not in inside]
    print(f"passed {len(passed)} of {len(count.passed) + len(count.failed)}; "
          f"{len(inside)} look inside SciPy's solver")  # fmt: skip
    print("failed:", *failed, sep="\n  ")


if __name__ == "__main__":
    main()
