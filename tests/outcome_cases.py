"""Small made-up runs for the tests of the analysis and of reporting."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from outcome_results import results_of

from uaos.analysis import Results, Runs
from uaos.experiments.plan import Plan
from uaos.experiments.recorder import TARGETS
from uaos.experiments.store import Store
from uaos.experiments.unit import Finished, Outcome, Unit
from uaos.experiments.unit import outcome as made_outcome
from uaos.problems import BBOB, suite

BUDGET = 1000


def outcome(
    method: str = "A", function: int = 1, instance: int = 1, *, solved_at: int | None = None,
    error: float = 1.0, dimension: int = 20, budget: int = BUDGET, **others: Any,
) -> Outcome:  # fmt: skip
    """A run that goes down one target an evaluation, ending at 1e-8 or at `error`."""
    end = 0.0 if solved_at else error
    hits = np.full(len(TARGETS), -1, np.int64)
    reached = int((end * (1 - 1e-9) <= TARGETS).sum())
    last = solved_at or reached
    hits[:reached] = np.maximum(1, last - np.arange(reached)[::-1])
    values = {
        "repetition": 1, "seed": 1, "evaluations": solved_at or budget,
        "error": 1e-9 if solved_at else error, "hits": hits, "seconds": 0.1, "status": "done",
        "reason": "",
    }  # fmt: skip
    values |= others
    problem = BBOB(function, dimension, instance)
    values["best"] = problem.optimum + values["error"]
    unit = Unit(method, problem.name, values["repetition"], values["seed"], budget)
    return made_outcome(unit, problem, **{
        name: value for name, value in values.items() if name not in Unit._fields
    })  # fmt: skip


@pytest.fixture
def made() -> Callable[..., Outcome]:
    return outcome


@pytest.fixture
def three_methods() -> Results:
    """`good` solves all, `uniform` half, `bad` nothing, on f1 and f8 with ten instances each."""
    outcomes = []
    for function in (1, 8):
        for i in range(1, 11):
            outcomes.append(outcome("good", function, i, solved_at=200 + i))
            solved = 400 + i if i % 2 else None
            outcomes.append(outcome("uniform", function, i, solved_at=solved, error=0.01 * i))
            outcomes.append(outcome("bad", function, i, error=1.0 * i))
    configurations = {
        "good": {"method": {"reward": "x"}, "de": {"NP": 1}},
        "uniform": {"method": {}, "de": {"NP": 1}},
        "bad": {"de": {"NP": 1}},
    }
    return results_of(outcomes, configurations)


def runs_with(hits: Any, evaluations: Any, *, target: float = 1e-8, dimension: int = 20) -> Runs:
    """Runs on f1 that hit every target up to `target` at the given evaluation (0: never)."""
    hit = np.asarray(hits, np.int64)
    table = np.full((len(hit), len(TARGETS)), -1, np.int64)
    table[:, target * (1 - 1e-9) <= TARGETS] = np.where(hit > 0, hit, -1)[:, None]
    n = len(hit)
    names = np.array([f"f1 i{i} {dimension}-D" for i in range(1, n + 1)], object)
    return Runs(
        "A", "f1", dimension, "separable", names, np.asarray(evaluations, np.int64), np.ones(n),
        np.ones(n), table, np.full(n, BUDGET), np.zeros(n),
    )  # fmt: skip


@pytest.fixture
def make_runs() -> Callable[..., Runs]:
    return runs_with


@pytest.fixture
def make_store(tmp_path: Path) -> Callable[..., Path]:
    """Write outcomes to a store, as an experiment in one dimension would have left it."""

    def write(outcomes: list[Outcome], name: str = "store.sqlite") -> Path:
        plan = Plan.of(
            list(dict.fromkeys(o.method for o in outcomes)),
            suite(
                "bbob", functions={int(o.function[1:]) for o in outcomes},
                instances={o.instance for o in outcomes}, dimension=outcomes[0].dimension,
            ),
            uniform=False, budget=outcomes[0].budget,
        )  # fmt: skip
        with Store.create_or_resume(tmp_path / name, plan) as store:
            store.record(Finished(o, None) for o in outcomes)
        return tmp_path / name

    return write
