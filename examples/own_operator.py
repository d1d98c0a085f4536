"""An operator of another family in the pool: Gaussian steps around the best point.

Any object with a `name` and `propose(state, parents, rng)` will do. `learn` is optional; here it
makes the steps longer when many of them improve, and shorter when few do.
"""

import numpy as np

import uaos
from uaos.problems import rosenbrock


class GaussianAroundBest:
    name = "gaussian around best"

    def __init__(self) -> None:
        self.sigma = 0.3

    def propose(self, state, parents, rng):
        """Offspring for the parents (row numbers of the population) assigned to this operator."""
        steps = rng.standard_normal((len(parents), len(state.best)))
        return state.best + self.sigma * (state.high - state.low) * steps

    def learn(self, state, parents, offspring, fitness, improved):
        """Hear the outcome: more than a fifth better than their parents, be bolder."""
        if len(parents):
            self.sigma *= np.exp(0.3 * (np.mean(improved) - 0.2))
            self.sigma = min(max(self.sigma, 1e-12), 0.5)


def main() -> uaos.Result:
    pool = ["rand/1", "curr-to-pbest/1", GaussianAroundBest()]
    result = uaos.minimize(
        rosenbrock, [(-5, 5)] * 5, method="RecPM", operators=pool, popsize=40, budget=40_000,
        seed=1, vectorized=True,
    )  # fmt: skip
    use = result.history.counts.sum(axis=0) / result.nfev
    for name, share in zip(result.history.operators, use, strict=True):
        print(f"{share:6.1%}  {name}")
    print(f"best value {result.fun:.3g}")
    return result


if __name__ == "__main__":
    main()
