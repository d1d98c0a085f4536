"""What the examples of this folder share: the search, its competitors, the verdict, the picture.

The search is a (1+λ) evolutionary algorithm: of λ offspring of the one parent, each made by an
operator of its own, the best takes the parent's place unless it is worse. Who chooses the operators
is what is compared: methods of the catalogue, uniform choice, and each operator alone.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import mannwhitneyu

import uaos
from uaos.statistics import holm

#: One for each way to reward: success rates, extremes, ranks, expected returns. They are the same
#: for all problems and have the catalogue's settings, tuned for none.
METHODS = ("SaDE", "Ex-AP", "F-AUC-MAB", "RecPM")
ALPHA = 0.05
# Distinguishable with any color vision (Okabe and Ito).
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


@dataclass(frozen=True)
class Problem:
    """Something to minimize, the operators that may help, and how long they may try."""

    name: str
    start: Callable  # (rng) -> a solution
    fitness: Callable  # (solutions, in rows) -> their fitness, smaller is better
    operators: dict[str, Callable]  # name -> (parent, how many, rng) -> offspring, in rows
    offspring: int
    generations: int
    target: float | None = None  # where a run ends; None: it is judged by what it reaches
    unit: str = "fitness"

    @property
    def measure(self) -> str:
        return self.unit if self.target is None else "generations"


class Always:
    """Takes one operator for everything."""

    def __init__(self, operator: int) -> None:
        self.operator = operator

    def select(self, n: int) -> np.ndarray:
        return np.full(n, self.operator)

    def update(self, operators, parent_fitness, offspring_fitness) -> None:
        pass


def search(problem: Problem, chooser, seed: int) -> np.ndarray:
    """The parent's fitness before the first generation and after each one."""
    rng = np.random.default_rng(seed)
    make = list(problem.operators.values())
    parent = problem.start(rng)
    fitness = problem.fitness(parent[None])[0]
    course = [fitness]
    while len(course) <= problem.generations and fitness != problem.target:
        operators = chooser.select(problem.offspring)
        offspring = np.empty((problem.offspring, len(parent)), parent.dtype)
        for op, operator in enumerate(make):
            rows = np.flatnonzero(operators == op)
            if len(rows):
                offspring[rows] = operator(parent, len(rows), rng)
        values = problem.fitness(offspring)
        chooser.update(operators, np.full(len(values), fitness), values)
        best = values.argmin()
        if values[best] <= fitness:
            parent, fitness = offspring[best], values[best]
        course.append(fitness)
    return np.array(course)


@dataclass(frozen=True)
class Outcome:
    """Who took part, with which courses, and what each run scored (smaller is better)."""

    problem: Problem
    courses: dict[str, list[np.ndarray]]
    scores: dict[str, np.ndarray]
    best_single: str

    def compare(self) -> dict[str, dict[str, tuple[str, float]]]:
        """Each method against uniform choice and the best single operator: verdict and p.

        Mann–Whitney tests, two-sided, p-values corrected after Holm for their number. The best
        single operator is the one with the least median, known in hindsight only.
        """
        pairs = [(m, r) for m in METHODS for r in ("uniform", self.best_single)]
        samples = [(self.scores[m], self.scores[r]) for m, r in pairs]
        corrected = holm([mannwhitneyu(a, b).pvalue for a, b in samples])
        verdicts: dict[str, dict[str, tuple[str, float]]] = {m: {} for m in METHODS}
        for (method, rival), (a, b), p in zip(pairs, samples, corrected, strict=True):
            # The share of pairs of runs that the method wins, ties counted half.
            wins = (a[:, None] < b).mean() + (a[:, None] == b).mean() / 2
            word = "no difference" if p >= ALPHA else "better" if wins > 0.5 else "worse"
            verdicts[method][rival] = word, float(p)
        return verdicts


def compete(problem: Problem, seeds: int) -> Outcome:
    """Every competitor from the same starting points."""
    k = len(problem.operators)
    budget = problem.offspring * problem.generations
    choosers: dict[str, Callable] = {
        name: partial(uaos.method(name).selector, k, budget=budget)
        for name in (*METHODS, "uniform")
    }
    for op, name in enumerate(problem.operators):
        choosers[f"only {name}"] = lambda seed, op=op: Always(op)
    courses = {
        name: [search(problem, chooser(seed=seed), seed) for seed in range(seeds)]
        for name, chooser in choosers.items()
    }
    scores = {name: np.array([_score(problem, c) for c in runs]) for name, runs in courses.items()}
    single = min((f"only {name}" for name in problem.operators), key=lambda n: np.median(scores[n]))
    return Outcome(problem, courses, scores, single)


def _score(problem: Problem, course: np.ndarray) -> float:
    """Generations to the target (one more than there were, if it was not reached), or fitness."""
    if problem.target is None:
        return float(course[-1])
    return len(course) - 1 + (course[-1] != problem.target)


def show(outcome: Outcome) -> None:
    """The table, and what it says."""
    problem, verdicts = outcome.problem, outcome.compare()
    seeds = len(outcome.scores["uniform"])
    print(f"{problem.name}: {problem.measure}, {seeds} runs, {problem.offspring} offspring each")
    print(f"{'':22}{'median':>9}{'quartiles':>19}   against uniform / {outcome.best_single}")
    for name, scores in outcome.scores.items():
        low, middle, high = np.percentile(scores, [25, 50, 75])
        row = f"{name:22}{middle:9.5g}{f'{low:.5g} to {high:.5g}':>19}"
        if name in verdicts:
            row += "   " + " / ".join(f"{word} (p={p:.1g})" for word, p in verdicts[name].values())
        if problem.target is not None and (missed := int((scores > problem.generations).sum())):
            row += f"   {missed} not solved"
        print(row)
    for line in verdict(outcome):
        print(line)


def verdict(outcome: Outcome) -> list[str]:
    """Whether adapting pays, in two sentences."""
    found = outcome.compare()

    def those(rival: str, word: str) -> str:
        return ", ".join(m for m in METHODS if found[m][rival][0] == word) or "none"

    better, worse = those("uniform", "better"), those("uniform", "worse")
    pays = "Adapting does not pay here" if better == "none" else "Adapting pays"
    single = outcome.best_single
    return [
        f"{pays}. Better than uniform choice: {better}. Worse: {worse}.",
        f"Better than {single}, the best single operator in hindsight: {those(single, 'better')}. "
        f"Worse: {those(single, 'worse')}.",
    ]


def draw(outcome: Outcome, axes) -> None:
    """The median course of the methods, of uniform choice, and of the best single operator."""
    problem = outcome.problem
    shown = {**dict(zip(METHODS, _COLORS, strict=True)), "uniform": "0.35"}
    shown[outcome.best_single] = "black"
    floor, unit = problem.target, problem.unit
    if floor is None:
        floor = min(course[-1] for runs in outcome.courses.values() for course in runs)
        unit += ", above the best of all runs"
    end = 0
    for name, color in shown.items():
        # A run that has ended stays where it ended.
        runs = np.array([
            np.pad(c, (0, problem.generations + 1 - len(c)), mode="edge")
            for c in outcome.courses[name]
        ])  # fmt: skip
        low, middle, high = np.percentile(runs - floor, [25, 50, 75], axis=0, method="higher")
        # A curve ends where half of the runs have reached the target.
        length = int((middle > 0).sum())
        end = max(end, length)
        style = {"uniform": "--", outcome.best_single: ":"}.get(name, "-")
        axes.plot(middle[:length], style, color=color, label=name, lw=1.8)
        if name in METHODS:
            axes.fill_between(range(len(low)), low, high, color=color, alpha=0.12, lw=0)
    axes.set_yscale("log", subs=(2, 5))
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    if problem.target is not None:
        axes.set_ylim(bottom=0.8)
    axes.set_title(problem.name, loc="left")
    axes.set_xlabel("generation")
    axes.set_ylabel(unit)
    axes.set_xlim(0, end)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)


def main(make: Callable[[bool], Problem], arguments: list[str] | None = None) -> Outcome:
    """The command line of an example: `make(quick)` is its problem."""
    parser = argparse.ArgumentParser(description="Compare choices of operators on a problem.")
    parser.add_argument("--quick", action="store_true", help="a small problem and three runs")
    parser.add_argument("--plot", metavar="FILE", help="draw the courses into this picture")
    given = parser.parse_args(arguments)
    if given.plot and not Path(given.plot).parent.is_dir():
        parser.error(f"--plot {given.plot}: there is no such folder")
    if given.plot and Path(given.plot).suffix not in (".png", ".svg", ".pdf"):
        parser.error(f"--plot {given.plot}: a picture ends in .png, .svg or .pdf")
    outcome = compete(make(given.quick), seeds=3 if given.quick else 30)
    show(outcome)
    if given.plot:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 5), layout="constrained")
        draw(outcome, figure.subplots())
        figure.savefig(given.plot)
        print(f"drawn: {given.plot}")
    return outcome
