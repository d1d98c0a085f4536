"""uaos inside other libraries: adaptive operators for pymoo, ALNS and DEAP, a sampler for Optuna.

`uaos.adapters.pymoo`, `uaos.adapters.alns` and `uaos.adapters.deap` each import their host library
and name the extra that installs it; this package imports none of them. `OptunaSampler` and
`SearchCV` (for scikit-learn) import theirs when they are first used.

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

from importlib import import_module

# Public names, and the modules that import their host libraries.
_MODULES = {"OptunaSampler": "optuna", "SearchCV": "sklearn"}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"uaos.adapters.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
