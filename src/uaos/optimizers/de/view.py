"""What custom operators and callbacks see of a run."""

from typing import TYPE_CHECKING

from uaos.arrays import FloatArray
from uaos.optimizers.de import layout
from uaos.result import RunView, read_only, seen

if TYPE_CHECKING:
    from uaos.optimizers.de.optimizer import DifferentialEvolution


class PopulationView(RunView):
    """A run of differential evolution as it is now.

    Passed to :meth:`CustomOperator.propose` and to callbacks.

    Parameters
    ----------
    run : DifferentialEvolution
        The run.
    """

    _run: "DifferentialEvolution"

    fitness: FloatArray = seen("population.fitness")
    """The parents' fitness, +inf where the evaluation failed."""
    violations: FloatArray = seen("population.excess")
    """By how much each parent violates the constraints, 0 without any."""
    generation: int = seen("iterations")
    """Generations so far, the same as `nit`."""

    @property
    def population(self) -> FloatArray:
        """The parents, (NP, D)."""
        parents = self._run.population
        return read_only(parents.rows[: parents.NP])

    @property
    def best(self) -> FloatArray:
        """The point that the strategies call x_best."""
        parents = self._run.population
        return read_only(parents.rows[parents.best_index])

    @property
    def archive(self) -> FloatArray:
        """Parents that lost to their offspring, (m, D)."""
        parents = self._run.population
        end = parents.NP_start + int(parents.counters[layout.ARCHIVED])
        return read_only(parents.rows[parents.NP_start : end])
