"""Differential evolution whose operators compete: one population, many ways to make an offspring.

`strategies`, `rules` and `operators` say what an operator is; `schedules` and `settings` say
everything else about a run. `optimizer` is the loop over its parts: `pool`, `epoch`, `population`,
`variation`, `relaxation` and `local_phase`. `kernels` are its inner loops, compiled.
"""
