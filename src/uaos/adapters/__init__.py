"""Adaptive operator selection inside other libraries' algorithms: pymoo, ALNS and DEAP.

`uaos.adapters.pymoo`, `uaos.adapters.alns` and `uaos.adapters.deap` each import their host library,
and say which extra brings it; this package alone imports none of them.

What a method learns from is the same everywhere, and kept in one place (`credit`). A *slot* is a
place of the algorithm where one of several operators is applied (crossover, mutation, destroy …);
each slot has a selector of its own. One offspring is one application of one operator of each slot
that had a part in it, and every one of them gets the credit for the whole:

- **fitness** is as the host compares it, smaller is better; what is maximised is negated.
- **parent**: of several parents, the best one. An operator is credited with what it added.
- **offspring**: an operator that makes several in one go has been applied several times.
- **failures**: an offspring that is infeasible, or whose fitness is NaN or infinite, is a failed
  application. So is a duplicate that the host throws away unevaluated: the operator made nothing.
- **not counted**: offspring that are never evaluated for reasons that are not the operator's, as
  those in excess of a full generation, or the second child that DEAP's varOr drops.
"""
