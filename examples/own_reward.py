"""A reward of your own, compared with a published one on a real benchmark function."""

import numpy as np

import uaos
from uaos.problems import BBOB


@uaos.register
class RecentBest(uaos.GenerationReward):
    """Sum the best metric of each generation, discounted by age.

    Equation
    --------
    r[op] = Σ_t decay^t B[t,op]
    """

    max_gen: int = uaos.integer(1, 50, default=10, doc="number of generations")
    decay: float = uaos.real(0, 1, default=0.8, doc="weight of a generation, to the power of age")

    def compute(self, memory):
        age = np.arange(memory.bests.shape[0])[:, None]
        return (self.decay**age * memory.bests).sum(axis=0)


def main() -> dict[str, float]:
    problem = BBOB(function=6, dimension=5, instance=1)
    published = uaos.method("SaDE")
    mine = uaos.method("SaDE", reward="recent_best", decay=0.5)
    medians = {}
    for name, method in {"SaDE": published, "SaDE with my reward": mine}.items():
        evaluations = [
            uaos.minimize(
                problem, problem.bounds, method=method, budget=50_000, seed=seed,
                target=problem.optimum + 1e-8,
            ).nfev
            for seed in range(5)
        ]  # fmt: skip
        medians[name] = float(np.median(evaluations))
        print(f"{medians[name]:8.0f} evaluations in the median of five runs: {name}")
    return medians


if __name__ == "__main__":
    main()
