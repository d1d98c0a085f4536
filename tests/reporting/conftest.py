"""Fixtures for the tests of reporting."""

from outcome_cases import made, make_store, three_methods  # noqa: F401
