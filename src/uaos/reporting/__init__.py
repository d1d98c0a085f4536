"""Showing what was analysed: tables, figures, the HTML report."""
