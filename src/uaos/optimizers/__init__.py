"""Optimizers: they propose points (`ask`) and hear their values (`tell`)."""
