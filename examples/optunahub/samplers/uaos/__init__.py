"""Sampler of uaos, as a package of OptunaHub's registry."""

from uaos.adapters import OptunaSampler


__all__ = ["OptunaSampler"]
