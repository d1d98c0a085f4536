"""The folders we write for IOHanalyzer have our own numbers, on any suite."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidParameter
from uaos.experiments import Outcome, Plan, Store, run
from uaos.experiments.export import export_ioh
from uaos.problems import rastrigin, sphere


def late(x):
    """Return a value only near the optimum, so that runs may begin with failed evaluations."""
    return float(x @ x) if x @ x < 9 else np.nan


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ioh") / "own.db"
    suite = uaos.Suite("my own", [
        uaos.Problem(sphere, [(-4, 5)] * 2, name="bowl", optimum=0.0),
        uaos.Problem(late, [(-40, 50)] * 2, name="late", optimum=0.0),
        uaos.Problem(rastrigin, [(-4, 5)] * 3, name="hills", function="waves"),
        uaos.Problem(rastrigin, [(-3, 5)] * 3, name="more hills", function="waves"),
    ])  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        run(Plan.of(["CMA-ES", "rand/1"], suite, repetitions=2, budget=150), path, pool)
    return path


def final_value(outcome: Outcome) -> float:
    """Return the error, or the value; a large number for a run without any."""
    return min(outcome.best if np.isnan(outcome.error) else outcome.error, 1e308)


def test_every_run_is_there_with_its_improvements(path: Path, tmp_path: Path) -> None:
    """Rows are those of the trace: errors with a known optimum, otherwise values."""
    with Store.open(path) as store:
        folders, outcomes = export_ioh(store, tmp_path / "ioh"), store.outcomes(traces=True)
    assert [folder.name for folder in folders] == ["CMA-ES", "rand_1", "uniform"]
    seen = 0
    for file in sorted((tmp_path / "ioh" / "rand_1").glob("*.json")):
        data = json.loads(file.read_text())
        assert (data["suite"], data["algorithm"]["name"]) == ("my own", "rand/1")
        (scenario,) = data["scenarios"]
        runs = (file.parent / scenario["path"]).read_text().split("evaluations raw_y\n")[1:]
        ours = [o for o in outcomes if (o.method, o.function) == ("rand/1", data["function_name"])]
        assert len(runs) == len(scenario["runs"]) == len(ours)
        for text, listed, outcome in zip(runs, scenario["runs"], ours, strict=True):
            rows = [line.split() for line in text.splitlines()]
            assert rows[0][0] == "1"  # by which readers tell runs apart
            assert int(rows[-1][0]) == listed["evals"] == outcome.evaluations
            final = final_value(outcome)
            assert float(rows[-1][1]) == pytest.approx(final)
            assert listed["best"]["y"] == pytest.approx(final)
            seen += 1
    assert seen == 8


def test_functions_and_instances_are_numbered(path: Path, tmp_path: Path) -> None:
    """Problems of one function are its instances."""
    with Store.open(path) as store:
        export_ioh(store, tmp_path)
    data = json.loads((tmp_path / "CMA-ES" / "IOHprofiler_f3_waves.json").read_text())
    assert (data["function_id"], data["function_name"]) == (3, "waves")
    assert [run["instance"] for run in data["scenarios"][0]["runs"]] == [1, 1, 2, 2]


def test_folders_are_not_replaced(path: Path, tmp_path: Path) -> None:
    """An existing folder of a method is refused."""
    with Store.open(path) as store:
        export_ioh(store, tmp_path)
        with raises(InvalidParameter, name="export-ioh"):
            export_ioh(store, tmp_path)


def test_iohinspector_reads_our_numbers(path: Path, tmp_path: Path) -> None:
    """The best values that it reads are those of the store."""
    iohinspector = pytest.importorskip("iohinspector")
    with Store.open(path) as store:
        export_ioh(store, tmp_path)
        outcomes = [o for o in store.outcomes() if o.evaluations]
    manager = iohinspector.DataManager()
    manager.add_folder(str(tmp_path))
    assert len(manager.overview) == len(outcomes)
    read = manager.load(monotonic=False, include_meta_data=True)
    least = read.group_by("data_id").agg(iohinspector.data.pl.col("raw_y").min())
    expected = sorted(map(final_value, outcomes))
    np.testing.assert_allclose(sorted(least["raw_y"].to_list()), expected)
