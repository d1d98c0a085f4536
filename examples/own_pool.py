"""Choose which operators compete: strategies with settings, and products of both."""

import uaos
from uaos.optimizers.de.rules import Cauchy, SuccessHistory
from uaos.problems import rastrigin


def main() -> uaos.Result:
    learned = SuccessHistory(6)  # one object, so that both operators share what it learns
    pool = [
        uaos.Operator("rand/1", F=0.5, CR=0.9),
        uaos.Operator("best/1", F=Cauchy(0.5, 0.1), CR=0.2),
        uaos.Operator("curr-to-pbest/1 (archived)", F=learned, CR=learned),
        uaos.Operator("rand/1", F=learned, CR=learned),
        *uaos.product(["curr-to-rand/1"], F=[0.5, 0.8], CR=[0.1, 0.5]),
    ]
    result = uaos.minimize(
        rastrigin, [(-5, 5)] * 10, method="SaDE", operators=pool, popsize=60, budget=60_000, seed=1,
        vectorized=True,
    )  # fmt: skip
    shares = result.history.counts.sum(axis=0) / result.nfev
    for name, share in sorted(
        zip(result.history.operators, shares, strict=True), key=lambda o: -o[1]
    ):
        print(f"{share:6.1%}  {name}")
    print(f"best value {result.fun:.3g}")
    return result


if __name__ == "__main__":
    main()
