"""Unified adaptive operator selection."""

__version__ = "0.1.0"
