"""pymoo: a genetic algorithm that chooses among three crossovers and two mutations.

A pymoo program changes in two lines: the import of `adaptive`, and the call of it.
"""

from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.operators.crossover.pcx import PCX
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.crossover.ux import UX
from pymoo.operators.mutation.pm import PM
from pymoo.optimize import minimize
from pymoo.problems import get_problem

from uaos.adapters.pymoo import adaptive


def main() -> tuple[float, dict[str, dict[str, int]]]:
    algorithm = adaptive(
        GA(pop_size=50),
        crossover=[SBX(), UX(), PCX()],
        mutation=[PM(eta=30), PM(eta=3, name="coarse PM")],
        method={"crossover": "SaDE", "mutation": "PDP"},  # or one for both
    )
    result = minimize(get_problem("rosenbrock", n_var=10), algorithm, ("n_gen", 150), seed=1)
    counts = result.algorithm.mating.credit.counts
    for slot, applied in counts.items():
        for name, times in applied.items():
            print(f"{times / sum(applied.values()):6.1%}  {slot} {name}")
    print(f"best value {result.F[0]:.3g}")
    return float(result.F[0]), counts


if __name__ == "__main__":
    main()
