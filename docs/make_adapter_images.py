"""Draw the picture of adapters.md:  python docs/make_adapter_images.py"""

from pathlib import Path

import matplotlib
import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.callback import Callback
from pymoo.optimize import minimize
from pymoo.problems import get_problem

from uaos.adapters.pymoo import adaptive, real_operators

matplotlib.use("Agg")
import matplotlib.pyplot as plt

FILE = Path(__file__).parent / "images" / "multi-objective.png"
GENERATIONS = 80


class Shares(Callback):
    """The probabilities of the operators in each generation."""

    def notify(self, algorithm: NSGA2) -> None:
        """Note them."""
        self.data.setdefault("shares", []).append(algorithm.mating.credit.probabilities)


def main() -> None:
    """Draw NSGA-II on ZDT6, with and without adaptive operators."""
    problem = get_problem("zdt6")
    stop = ("n_gen", GENERATIONS)
    plain = minimize(problem, NSGA2(), stop, seed=1)
    algorithm = adaptive(NSGA2(), **real_operators(n_obj=problem.n_obj))
    ours = minimize(problem, algorithm, stop, seed=1, callback=Shares())
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    front = problem.pareto_front()
    axes[0].plot(*front.T, color="0.6", label="Pareto front")
    axes[0].scatter(*plain.F.T, s=12, color="C1", label="pymoo's operators")
    axes[0].scatter(*ours.F.T, s=12, color="C0", label="adaptive operators")
    axes[0].set(title="NSGA-II on ZDT6, 8,000 evaluations", xlabel="f₁", ylabel="f₂")
    axes[0].legend(frameon=False)
    shares = ours.algorithm.callback.data["shares"]
    for axis, slot in zip(axes[1:], ("crossover", "mutation"), strict=True):
        names = list(shares[0][slot])
        rows = np.array([[s[slot][name] for s in shares] for name in names])
        axis.stackplot(np.arange(1, len(shares) + 1), rows, labels=names, alpha=0.85)
        axis.set(title=f"probability of each {slot}", xlabel="generation", ylim=(0, 1))
        axis.set_xlim(1, len(shares))
        axis.legend(loc="upper right", fontsize="small")
    figure.savefig(FILE, dpi=110)


if __name__ == "__main__":
    main()
