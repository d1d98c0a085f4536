"""Draw the pictures of the documentation, from real runs:  python docs/make_images.py"""

from pathlib import Path

import numpy as np

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
    draw_constraints(FOLDER / "constraints.png")
    draw_noise(FOLDER / "noise.png")


def draw_noise(path: Path) -> None:
    """Draw the run of docs/noise.md."""
    rng = np.random.default_rng(1)

    def measured(x: np.ndarray) -> float:
        return float(np.sum((x - 1) ** 2) + 0.5 * rng.standard_normal())

    uaos.minimize(measured, [(-5, 5)] * 4, budget=2_000, seed=1).plot(path)


def draw_constraints(path: Path) -> None:
    """Draw the points of a run on the problem of docs/constraints.md, in their order."""
    import matplotlib.pyplot as plt

    points: list[np.ndarray] = []

    class Area:
        lb, ub = 12, np.inf

        @staticmethod
        def fun(x: np.ndarray) -> float:
            points.append(np.array(x))
            return float(x[0] * x[1])

    uaos.minimize(lambda x: 2 * (x[0] + x[1]), [(0, 20)] * 2, constraints=Area, seed=1, budget=600)
    X = np.array(points)
    figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
    width = np.linspace(0.01, 20, 2000)
    axes.fill_between(width, 0, np.minimum(20, 12 / width), color="0.9", label="infeasible")
    x, y = np.meshgrid(np.linspace(0, 20, 50), np.linspace(0, 20, 50))
    axes.contour(x, y, 2 * (x + y), 14, colors="0.8", linewidths=0.8)
    inside = X[:, 0] * X[:, 1] >= 12
    order = np.arange(len(X))
    for chosen, marker in ((~inside, "x"), (inside, "o")):
        shown = axes.scatter(
            *X[chosen].T, c=order[chosen], cmap="viridis", s=14, marker=marker, vmin=0,
            vmax=300, linewidths=1,
        )  # fmt: skip
    axes.plot(12**0.5, 12**0.5, "*", color="#D55E00", markersize=15, label="optimum")
    figure.colorbar(shown, label="evaluation")
    axes.set(xlim=(0, 20), ylim=(0, 20), xlabel="width", ylabel="length")
    axes.legend(loc="upper right")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
