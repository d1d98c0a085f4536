"""What custom operators and callbacks see of a run."""

from typing import TYPE_CHECKING

from uaos.optimizers.base import Array
from uaos.optimizers.de import layout
from uaos.optimizers.result import RunView, read_only

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

    @property
    def population(self) -> Array:
        """The parents, (NP, D)."""
        parents = self._run.population
        return read_only(parents.rows[: parents.NP])

    @property
    def fitness(self) -> Array:
        """The parents' fitness, +inf where the evaluation failed."""
        return read_only(self._run.population.fitness)

    @property
    def violations(self) -> Array:
        """By how much each parent violates the constraints, 0 without any."""
        return read_only(self._run.population.excess)

    @property
    def best(self) -> Array:
        """The point that the strategies call x_best."""
        parents = self._run.population
        return read_only(parents.rows[parents.best_index])

    @property
    def archive(self) -> Array:
        """Parents that lost to their offspring, (m, D)."""
        parents = self._run.population
        end = parents.NP_start + int(parents.counters[layout.ARCHIVED])
        return read_only(parents.rows[parents.NP_start : end])

    @property
    def generation(self) -> int:
        """Generations so far, the same as `nit`."""
        return self._run.generation
