"""Tuning: find the best method for a set of problems, by iterated racing."""
