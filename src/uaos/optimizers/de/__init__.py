"""Differential evolution whose operators compete: one population, many ways to make an offspring.

`strategies`, `rules` and `operators` say what an operator is, `settings` everything else about a
run. `optimizer` is the loop. A generation goes through its parts in this order:

=============  ===================================================================================
ask            what happens
=============  ===================================================================================
`population`   shrinks by its schedule; an epoch that gets nowhere ends, and the run starts afresh
selector       chooses an operator of the pool for each parent (:mod:`uaos.selection`)
`variation`    draws F and CR, makes mutants (some by `models`), crosses them over, repairs them
=============  ===================================================================================

=============  ===================================================================================
tell           what happens
=============  ===================================================================================
`population`   says how parents and offspring compare under constraints
selector       learns, and so do the rules, models and custom operators of `variation`
`population`   keeps the survivors, and an archive; its epoch notes whether there is a better best
`optimizer`    may search around it with a local search, late in a run
=============  ===================================================================================

The inner loops are compiled: those of `mutation`, and survival in `population`; `generations` makes
whole generations in one loop of these.
"""
