"""Kernels may be compiled by the first example of a property, which is no reason to fail it."""

from hypothesis import settings

settings.register_profile("kernels", deadline=None)
settings.load_profile("kernels")
