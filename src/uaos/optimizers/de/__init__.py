"""Differential evolution whose operators compete: one population, many ways to make an offspring.

`strategies`, `rules` and `operators` say what an operator is, `settings` everything else about a
run. `optimizer` is the loop. A generation:

=============  ===================================================================================
ask            what happens
=============  ===================================================================================
`population`   shrinks by its schedule; an epoch that gets nowhere ends, and the run starts afresh
selector       chooses an operator of the `pool` for each parent (:mod:`uaos.selection`)
`rates`        F and CR are drawn
`variation`    partners are chosen, mutants made, crossed over with their parents and repaired
=============  ===================================================================================

=============  ===================================================================================
tell           what happens
=============  ===================================================================================
`population`   says how parents and offspring compare under constraints
selector       learns, and so do the `rates` and `custom` operators
`population`   keeps the survivors, and an archive; its epoch notes whether there is a better best
=============  ===================================================================================

The inner loops are compiled. A subclass of the optimizer may replace any step.
"""
