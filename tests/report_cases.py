"""Small stores to report on, and what a report says."""

import base64
import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tuning_cases import AtOnce, sade_with

from uaos.experiments import Plan, Store, run_unit
from uaos.problems import suite
from uaos.tuning.plan import TuningPlan
from uaos.tuning.tuner import tune


def experiment(path: Path, *methods: str, **changes: Any) -> Path:
    """The store of a small experiment in 2-D, run in this process."""
    chosen = {"functions": "1,8", "dimension": 2, "instances": "1-2", "budget": "50D"} | changes
    part = {name: chosen.pop(name) for name in ("functions", "dimension", "instances")}
    plan = Plan.of(methods, suite("bbob", **part), **chosen)
    with Store.create_or_resume(path, plan) as store:
        store.record([
            run_unit(u, plan.suite[u.problem], plan.competitors[u.method]) for u in plan.units()
        ])  # fmt: skip
    return path


def tuning(path: Path, **changes: Any) -> Path:
    """The store of a small tuning, run in this process."""
    problems = suite("bbob", functions="1,2,8", dimension=2, instances=[16])
    given = {"runs": 96, "budget": "40D", "seed": 3, "training_set": "16"} | changes
    tune(TuningPlan(sade_with("F", "power"), problems, **given), path, AtOnce())
    return path


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An experiment of three methods, one of them with a single operator, and a tuning."""
    folder = tmp_path_factory.mktemp("report")
    bench = experiment(
        folder / "bench.db", "mix", "JADE", functions="1,5,8", instances="1-3", budget="400D"
    )
    return [bench, tuning(folder / "tuning.db")]


@pytest.fixture(scope="session")
def report(stores: list[Path]) -> Path:
    """Their report."""
    from uaos.reporting.report import write_report

    return write_report(stores, stores[0].parent / "report.html")


def packed(path: Path, name: str) -> str:
    """What lies compressed in a report."""
    text = path.read_text(encoding="utf-8")
    found = re.search(rf'<script type="text/plain" id="{name}">([^<]*)</script>', text)
    assert found
    return gzip.decompress(base64.b64decode(found[1])).decode()


def data(path: Path) -> dict[str, Any]:
    """The data of a report."""
    return json.loads(packed(path, "data"))


def words(markup: str) -> str:
    """The text of HTML, as it is read."""
    bare = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", markup, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare)))
