"""Draw the pictures of the documentation, from real runs:  python docs/make_images.py"""

from pathlib import Path

import uaos
from uaos.problems import BBOB

FOLDER = Path(__file__).parent / "images"


def main() -> None:
    problem = BBOB(function=8, dimension=20, instance=1)
    result = uaos.minimize(
        problem, problem.bounds, method="Compass", budget=200_000, seed=2,
        target=problem.optimum + 1e-8,
    )  # fmt: skip
    result.history.plot(FOLDER / "operators.png", f_opt=problem.optimum)


if __name__ == "__main__":
    main()
