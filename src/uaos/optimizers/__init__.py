"""Optimizers: they propose points (`ask`) and hear their values (`tell`)."""

# The modules that add entries to the catalogue.
from uaos.optimizers import entries as entries
from uaos.optimizers import winners as winners
