"""Differential evolution whose operators compete: one population, many ways to make an offspring.

`strategies`, `rules` and `operators` say what an operator is; `settings` says everything else about
a run; `engine` is the loop, as a pair `ask` and `tell`; `kernels` are its inner loops, compiled.
A selector is known here only by what it does (`protocols`).
"""
