"""Small results, stores and runs to draw, and where the texts of a figure stand."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import tuning_cases
from outcome_results import results_of

from uaos.analysis import Results
from uaos.experiments import recorder
from uaos.experiments.plan import Plan
from uaos.experiments.recorder import TARGETS
from uaos.experiments.store import Store
from uaos.experiments.unit import Finished, Outcome, Unit, outcome
from uaos.history import History
from uaos.optimizers.de.optimizer import COLUMNS
from uaos.problems import BBOB, suite
from uaos.tuning.records import Candidate, Cost, Elite, Step
from uaos.tuning.store import TuningStore
from uaos.tuning.summaries import Drawn, Survival

FUNCTIONS = range(1, 25)


def run(method: str, function: int, instance: int, skill: float, dimension: int = 20) -> Outcome:
    """A run of 10,000 evaluations that takes ever longer from target to target."""
    steps = np.arange(1, len(TARGETS) + 1)
    hits = (20 * skill * steps * function**0.5 + 3 * instance * steps).astype(np.int64)
    reached = hits <= 10_000
    solved = bool(reached[-1])
    problem, error = BBOB(function, dimension, instance), float(TARGETS[reached][-1])
    return outcome(
        Unit(method, problem.name, 1, 7, 10_000), problem, error=error,
        best=problem.optimum + error, evaluations=int(hits[-1]) if solved else 10_000,
        hits=np.where(reached, hits, -1), seconds=0.1,
    )  # fmt: skip


def results(*methods: str, functions: Any = FUNCTIONS) -> Results:
    """Methods on two instances of each function, the first one the fastest."""
    return results_of(
        run(name, f, i, 1 + 0.4 * k) for k, name in enumerate(methods) for f in functions
        for i in (1, 2)
    )  # fmt: skip


def history(operators: int = 3, rows: int = 40) -> History:
    """50 offspring a generation; the operators' probabilities grow with their numbers."""
    made = History([f"operator {k}, CR 0.{k}" for k in range(operators)], COLUMNS)
    weights = np.arange(1, operators + 1)
    for g in range(1, rows + 1):
        counts = np.full(operators, 50 // operators)
        counts[0] += 50 - counts.sum()
        made.record(
            evaluations=50 * g, best=100 + 10.0 ** (2 - g / 4), iteration=g, counts=counts,
            probabilities=weights / weights.sum(), population=50, restarts=0, repairs=0,
        )  # fmt: skip
    return made


def experiment(path: Path, *methods: str) -> Path:
    """The store of a small experiment that kept the courses of its runs."""
    plan = Plan.of(
        list(methods), suite("bbob", functions="1,8", instances="1-2"), uniform=False,
        budget=10_000,
    )  # fmt: skip
    packed = recorder.pack_course(history())
    with Store.create_or_resume(path, plan) as store:
        store.record(
            Finished(run(name, f, i, 1 + k), packed)
            for k, name in enumerate(methods) for f in (1, 8) for i in (1, 2)
        )  # fmt: skip
    return path


SPACE = [
    {"name": "reward", "choices": ["success_rate", "area_under_curve", "rank"], "when": ""},
    {"name": "W", "low": 1, "high": 100, "log": True, "whole": True, "when": ""},
    {"name": "F", "low": 0.0, "high": 1.0, "log": False, "whole": False, "when": ""},
]


def tuning(path: Path) -> Path:
    """The store of a tuning with two races, sixteen candidates in the first; costs grow with F."""
    setup = {**tuning_cases.SETUP, "space": SPACE}
    with TuningStore.create_or_resume(path, suite("bbob", dimension=2, instances=[16])) as made:
        number = made.begin(setup)
        with made.database.transaction():
            made.add_methods({"key": "{}"})
        first = range(1, 17)
        made.add(number, *[_candidate(n, 1) for n in first])
        made.add(
            number,
            Step(1, 1, "f1 i16 2-D", 7, 16, 1, 16, position=0),
            *[Cost(n, 0, float(n)) for n in first],
        )
        made.add(
            number,
            Step(1, 2, "f1 i16 2-D", 8, 3, 1, 32, position=1),
            *[Cost(n, 1, float(n)) for n in first],
        )
        made.add(number, Elite(1, 1, 1, 2, 2.0, 1.0))
        made.add(number, *[_candidate(n, 2) for n in range(17, 21)])
        made.add(
            number,
            Step(2, 1, "f1 i16 2-D", 7, 5, 1, 36, position=0),
            *[Cost(n, 0, float(n)) for n in range(17, 21)],
        )
        made.add(number, Elite(2, 1, 1, 3, 3.0, 1.0))
    return path


def _candidate(number: int, iteration: int) -> Candidate:
    reward = SPACE[0]["choices"][number % 3]
    values = {"reward": reward, "W": 1 + 7 * (number % 5), "F": number / 20}
    return Candidate(number, iteration, None, "key", values, "uniform")


# What is drawn of tunings


def drawn_values(races: int = 16) -> dict[str, Drawn]:
    """What a search over the methods of the framework leaves: six choices, eight numbers."""
    sizes = {"metric": 7, "reward": 12, "quality": 5, "probability": 3, "selection": 5, "theta": 4}
    found: dict[str, Drawn] = {}
    for name, count in sizes.items():
        # as long a name as the longest that components have
        values = tuple(f"weighted_normalised_{k:02d}" for k in range(count))
        race = tuple(value for k, value in enumerate(values, start=1) for _ in range(k))
        new = (len(race),) * races
        found[name] = Drawn(name, (race,) * races, new, values[-1], choices=values)
    for name, high in (("F", 2), ("CR", 1), ("NP", 400), ("top_NP", 1), ("fix_appl", 150),
                       ("p_min", 0.11), ("quality_C", 100), ("error", 1)):  # fmt: skip
        race = tuple(np.linspace(0.1, 1, 5) * high)
        found[name] = Drawn(
            name, (race,) * races, (5,) * races, 0.5 * high, low=0.01 * high, high=high,
            log=name == "quality_C",
        )  # fmt: skip
    return found


def race(number: int, *left: int) -> Survival:
    """A race that begins with the first so many candidates, the others being left by and by."""
    return Survival(number, left)


# Texts


def texts(figure: Any) -> list[Any]:
    """The texts that a figure shows: those of axes, ticks within the view, and legends."""
    found = list(figure.texts)
    for legend in figure.legends:
        found += legend.get_texts()
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        found += axes.texts
        if axes.get_legend() is not None:
            found += axes.get_legend().get_texts()
        if not axes.axison:
            continue
        found += [axes.title, axes._left_title, axes._right_title]
        for axis in (axes.xaxis, axes.yaxis):
            found.append(axis.label)
            low, high = sorted(axis.get_view_interval())
            found += [
                tick.label1
                for tick in axis.get_major_ticks() + axis.get_minor_ticks()
                if low - 1e-9 <= tick.get_loc() <= high * (1 + 1e-9) and tick.label1.get_visible()
            ]
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def shown(figure: Any) -> list[str]:
    return [text.get_text().strip() for text in texts(figure)]


def check_texts(figure: Any) -> None:
    """No text leaves the figure, and none covers another."""
    figure.draw_without_rendering()  # which places labels and legends
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    width, height = figure.get_size_inches() * figure.dpi
    for text, box in boxes:
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
        assert inside, f"{text!r} leaves the figure: {box}"
    for (one, a), (other, b) in combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        down = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across < 1 or down < 1, f"{one!r} covers {other!r}: {across:.1f} × {down:.1f}"


# A figure of ones own, in one file

ONE_FILE = """
from matplotlib.figure import Figure as Drawing
from uaos.reporting.figures import SECTION, Figure, register_figure

def data(section, methods=None):
    return {m: sum(map(len, section.results.of(m))) for m in section.methods}

def draw(counts, style):
    with style.figure(style.inches("column"), 2) as figure:
        figure.subplots().bar(list(counts), list(counts.values()))
    return figure

register_figure(Figure("run-counts", "runs of each method", SECTION, data, draw, ("dim", "methods"),
                in_report="running-times", caption="Runs of each method."))
"""
