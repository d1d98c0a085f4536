"""pymoo: NSGA-II that chooses among four crossovers and three mutations.

The change to a pymoo program is the import and the call of `adaptive`. An operator is credited with
the offspring that dominate a parent, so nothing more is needed for several objectives.
"""

from statistics import median

from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.indicators.igd import IGD
from pymoo.optimize import minimize
from pymoo.problems import get_problem

from uaos.adapters.pymoo import adaptive, real_operators


def main() -> dict[str, float]:
    problem = get_problem("zdt4")
    distance = IGD(problem.pareto_front())
    plain, ours = NSGA2(pop_size=40), adaptive(NSGA2(pop_size=40), **real_operators(n_obj=2))
    distances = {}
    for name, algorithm in {"pymoo's operators": plain, "adaptive operators": ours}.items():
        runs = [minimize(problem, algorithm, ("n_gen", 100), seed=seed) for seed in range(1, 4)]
        distances[name] = median(float(distance(result.F)) for result in runs)
        print(f"{name}: distance to the front {distances[name]:.3g} (median of three runs)")
    result = runs[0]
    for slot, counts in result.algorithm.mating.credit.counts.items():
        for operator, times in counts.items():
            print(f"{times / sum(counts.values()):6.1%}  {slot} {operator}")
    return distances


if __name__ == "__main__":
    main()
