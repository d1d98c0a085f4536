"""SciPy's own tests of differential evolution, as installed, run against `uaos.minimize`."""

from contextlib import nullcontext

import pytest
import scipy_shim

SOLVER = "tests methods or attributes of SciPy's internal solver class"
EXCLUDED = {
    "test__strategy_resolves": SOLVER,
    "test__mutate1": SOLVER,
    "test__mutate2": SOLVER,
    "test__randtobest1": SOLVER,
    "test__currenttobest1": SOLVER,
    "test__scale_parameters": SOLVER,
    "test__unscale_parameters": SOLVER,
    "test__ensure_constraint": SOLVER,
    "test_select_samples": SOLVER,
    "test_quadratic": SOLVER,
    "test_calculate_population_energies": SOLVER,
    "test_iteration": SOLVER,
    "test_convergence": SOLVER,
    "test_population_initiation": SOLVER,
    "test_deferred_updating": SOLVER,
    "test_immediate_updating": SOLVER,
    "test_parallel_threads": SOLVER,
    "test_parallel_processes": SOLVER,
    "test_constraint_violation_fn": SOLVER,
    "test_constraint_population_feasibilities": SOLVER,
    "test_accept_trial": SOLVER,
    "test_constraint_wrapper": SOLVER,
    "test_constraint_wrapper_violation": SOLVER,
    "test_matrix_linear_constraint": SOLVER,
    "test_integrality_limits": SOLVER,
    "test_reference_cycles": SOLVER,
    "test_equal_bounds": SOLVER + "; held coordinates are tested in test_minimize.py",
    "test_impossible_constraint": SOLVER + "; the message test has another such problem",
    "test_intermediate_result": "expects SciPy's result class and a sorted population",
    "test_maxfun_stops_solve": "SciPy evaluates one point more than maxfun; uaos keeps it exactly",
    "test_vectorized": "SciPy counts calls of a vectorized function; uaos counts points",
    "test_polish_function": "uaos takes no polishing function",
}

theirs = pytest.importorskip(
    "scipy.optimize.tests.test__differential_evolution", reason="SciPy's tests are not installed"
)
ORIGINAL = theirs.TestDifferentialEvolutionSolver
ALL = {name for name in dir(ORIGINAL) if name.startswith("test")}


@pytest.fixture(autouse=True)
def _in_place_of_scipy(monkeypatch):
    monkeypatch.setattr(theirs, "differential_evolution", scipy_shim.differential_evolution)
    # `setup_method` has run by now, with SciPy's solver.
    solver = scipy_shim.DifferentialEvolutionSolver
    monkeypatch.setattr(theirs, "DifferentialEvolutionSolver", solver)
    # Where SciPy's polishing warns, ours need not.
    monkeypatch.setattr(theirs, "warns", lambda *_, **__: nullcontext())


TestDifferentialEvolution = type("TestDifferentialEvolution", (ORIGINAL,), dict.fromkeys(EXCLUDED))


def test_every_excluded_test_exists():
    assert set(EXCLUDED) <= ALL
    assert len(ALL) - len(EXCLUDED) >= 30
