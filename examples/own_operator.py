"""An operator of another family in the pool: Gaussian steps around the best point.

Any object with a `name` and a method `propose(state, parents, rng)` is an operator. The method
`learn` is optional; here it lengthens the steps when many of them improve, and shortens them when
few do.
"""

import numpy as np

import uaos
from uaos.problems import rosenbrock


class GaussianAroundBest:
    name = "gaussian around best"

    def __init__(self) -> None:
        self.sigma = 0.3

    def propose(self, state, parents, rng):
        """Return offspring of the parents (rows of the population) assigned to this operator."""
        steps = rng.standard_normal((len(parents), len(state.best)))
        return state.best + self.sigma * (state.high - state.low) * steps

    def learn(self, state, parents, offspring, fitness, improved):
        """Take longer steps if more than a fifth of the offspring improved on their parents."""
        if len(parents):
            self.sigma *= np.exp(0.3 * (np.mean(improved) - 0.2))
            self.sigma = min(max(self.sigma, 1e-12), 0.5)


def main() -> uaos.Result:
    pool = ["rand/1", "curr-to-pbest/1", GaussianAroundBest()]
    result = uaos.minimize(
        rosenbrock, [(-5, 5)] * 5, method="RecPM", operators=pool, popsize=40, budget=40_000,
        seed=1, vectorized=True,
    )  # fmt: skip
    shares = result.history.counts.sum(axis=0) / result.nfev
    for name, share in zip(result.history.operators, shares, strict=True):
        print(f"{share:6.1%}  {name}")
    print(f"best value {result.fun:.3g}")
    return result


if __name__ == "__main__":
    main()
