"""View of a run for custom operators and callbacks."""

from typing import TYPE_CHECKING

from uaos.arrays import FloatArray
from uaos.result import RunView, read_only, seen

if TYPE_CHECKING:
    from uaos.optimizers.de.optimizer import DifferentialEvolution


class PopulationView(RunView):
    """Present state of a run of differential evolution.

    Passed to :meth:`CustomOperator.propose` and to callbacks.

    Parameters
    ----------
    run : DifferentialEvolution
        The run.
    """

    _run: "DifferentialEvolution"

    fitness: FloatArray = seen("population.fitness")
    """Fitness of the parents, +inf where the evaluation failed."""
    violations: FloatArray = seen("population.excess")
    """Violation of the constraints by each parent, 0 without constraints."""
    generation: int = seen("iterations")
    """Generations so far, the same as `nit`."""

    @property
    def population(self) -> FloatArray:
        """Parents, (NP, D)."""
        parents = self._run.population
        return read_only(parents.rows[: parents.NP])

    @property
    def best(self) -> FloatArray:
        """Point x_best of the strategies."""
        parents = self._run.population
        return read_only(parents.rows[parents.best_index])

    @property
    def archive(self) -> FloatArray:
        """Parents that lost to their offspring, (m, D)."""
        parents = self._run.population
        first = parents.NP_start
        return read_only(parents.rows[first : first + parents.archived])
