"""SciPy's own tests of differential evolution, as installed, run against `uaos.minimize`."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

scipy = pytest.importorskip("scipy")
theirs = pytest.importorskip(
    "scipy.optimize.tests.test__differential_evolution", reason="SciPy's tests are not installed"
)
import scipy_shim  # noqa: E402

# Why a test of SciPy's is not run, and where in tests/optimizers its subject is tested.
EXCLUDED = {
    "test__strategy_resolves": "names of internal functions",
    "test__mutate1": "internal; formulas: optimizers/de/test_against_reference_de.py",
    "test__mutate2": "internal; formulas: optimizers/de/test_against_reference_de.py",
    "test__randtobest1": "internal; formulas: optimizers/de/test_against_reference_de.py",
    "test__currenttobest1": "internal; formulas: optimizers/de/test_against_reference_de.py",
    "test__scale_parameters": "internal: the population in the unit cube; ours is in the box",
    "test__unscale_parameters": "internal: the population in the unit cube; ours is in the box",
    "test__ensure_constraint": "an internal function; `boundary`: optimizers/de/test_de_kernels.py",
    "test_select_samples": "an internal function; optimizers/de/test_de_kernels.py",
    "test_quadratic": "the internal population has its best member first; ours keeps its order",
    "test_calculate_population_energies": "an internal function",
    "test_population_initiation": "internal functions; `x0` in place of an array as `init`",
    "test_deferred_updating": "internal attributes; uaos always defers",
    "test_immediate_updating": "internal attributes; uaos always defers",
    "test_parallel_threads": "internal attributes; `workers`: runs/test_evaluator.py",
    "test_parallel_processes": "internal attributes; `workers`: runs/test_evaluator.py",
    "test_constraint_population_feasibilities": "an internal function of points in the unit cube",
    "test_accept_trial": "an internal function; SciPy compares violations singly, uaos their sum",
    "test_integrality_limits": "internal attributes; rounding: problems/test_constraints.py",
    "test_equal_bounds": "an internal function; held coordinates: test_minimization.py",
    "test_impossible_constraint": "internal attributes; problems/test_constraints.py",
    "test_maxfun_stops_solve": "SciPy evaluates one point more than maxfun; uaos keeps it exactly",
}

ORIGINAL = theirs.TestDifferentialEvolutionSolver
ALL = {name for name in dir(ORIGINAL) if name.startswith("test")}
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _in_place_of_scipy(monkeypatch):
    monkeypatch.setattr(theirs, "differential_evolution", scipy_shim.differential_evolution)
    # `setup_method` has run by now, with SciPy's solver.
    solver = scipy_shim.DifferentialEvolutionSolver
    monkeypatch.setattr(theirs, "DifferentialEvolutionSolver", solver)
    monkeypatch.setattr(theirs, "_ConstraintWrapper", scipy_shim.ConstraintWrapper)
    # Where SciPy warns, that polishing goes wrong or one argument overrides another, ours need not.
    monkeypatch.setattr(theirs, "warns", lambda *_, **__: nullcontext())


TestDifferentialEvolution = type("TestDifferentialEvolution", (ORIGINAL,), dict.fromkeys(EXCLUDED))


def test_every_excluded_test_exists_and_every_place_named_too():
    assert set(EXCLUDED) <= ALL
    for reason in EXCLUDED.values():
        for place in re.findall(r"[\w/.]+\.py", reason):
            assert (ROOT / "tests" / place).exists(), place


def test_the_documentation_says_how_many_pass():
    page = (ROOT / "docs" / "from-scipy.md").read_text(encoding="utf-8")
    pattern = r"tests that SciPy ([\d.]+) has.*?`method=\"mix\"` (\d+)\s+of\s+the\s+(\d+)"
    said = re.search(pattern, page, re.S)
    release, passing, number = said.groups()
    if release != ".".join(scipy.__version__.split(".")[:2]):
        pytest.skip(f"the documentation counts the tests of SciPy {release}")
    assert (int(passing), int(number)) == (len(ALL) - len(EXCLUDED), len(ALL))
