"""Showing what was analyzed: tables, figures, the HTML report."""
