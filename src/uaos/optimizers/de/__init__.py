"""Differential evolution whose operators compete: one population, many ways to make an offspring.

`strategies`, `rules` and `operators` say what an operator is; `settings` says everything else about
a run; `optimizer` is the loop; `kernels` are its inner loops, compiled.
"""
