"""Fixtures for the tests of the analysis."""

from outcome_cases import made, make_runs, make_store, three_methods  # noqa: F401
