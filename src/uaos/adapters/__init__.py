"""Adaptive operator selection inside other libraries' algorithms: pymoo, ALNS and DEAP.

`uaos.adapters.pymoo`, `uaos.adapters.alns` and `uaos.adapters.deap` each import their host library
and name the extra that installs it; this package imports none of them.

Credit is assigned in the same way everywhere (module `credit`). A *slot* is a step of the algorithm
at which one of several operators is applied (crossover, mutation, destroy, …); each slot has its
own selector. An offspring counts as one application of one operator in each slot involved, and each
of them is credited with the full improvement:

- **fitness**: as the host compares it, smaller is better; maximized objectives are negated.
- **parent**: the best of several parents. With several objectives (pymoo) an offspring succeeds if
  it dominates a parent.
- **offspring**: an operator that makes several at once has been applied several times.
- **failures**: an offspring that is infeasible, or whose fitness is NaN or infinite, is a failed
  application. So is a duplicate that the host discards unevaluated.
- **not counted**: offspring that are not evaluated for other reasons, such as those in excess of a
  full generation, or the second child that DEAP's varOr drops.
"""
