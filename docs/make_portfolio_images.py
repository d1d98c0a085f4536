"""Draw the pictures of portfolio.md:  python docs/make_portfolio_images.py"""

from pathlib import Path

import uaos
from uaos.problems import BBOB

FOLDER = Path(__file__).parent / "images"
#: Who ends up in front: CMA-ES on the first function, differential evolution on the second.
FUNCTIONS = {"portfolio-f15.png": 15, "portfolio-f20.png": 20}


def main() -> None:
    """Draw who spent which evaluations on two functions of BBOB in 10-D."""
    for name, function in FUNCTIONS.items():
        problem = BBOB(function, dimension=10, instance=41)
        result = uaos.minimize(
            problem, problem.bounds, budget=200_000, seed=1, target=problem.optimum + 1e-8
        )
        assert result.history is not None
        print(name, result.nfev, result.fun - problem.optimum, result.history.counts.sum(axis=0))
        result.history.plot(FOLDER / name, f_opt=problem.optimum)


if __name__ == "__main__":
    main()
