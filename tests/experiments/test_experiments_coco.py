"""The COCO folders we write give cocopp our own numbers."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from experiment_stubs import small_plan
from raising import raises

from uaos.errors import InvalidParameter
from uaos.experiments import TARGETS, Outcome, Store, run
from uaos.experiments.export import export_coco
from uaos.experiments.unit import failed


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("coco") / "a.db"
    plan = small_plan("mix", "curr-to-pbest/1 (archived)", functions="1,8,10,24", budget=3000)
    with ThreadPoolExecutor(1) as executor:
        run(plan, path, executor)
    return path


def expected_running_time(runs: list[Outcome], target: int) -> float:
    """COCO's definition: all evaluations spent, over the number of successes."""
    successes = [run.hits[target] for run in runs if run.hits[target] > 0]
    failures = [run.evaluations for run in runs if run.hits[target] < 0]
    return (sum(successes) + sum(failures)) / len(successes) if successes else np.inf


@pytest.mark.filterwarnings("ignore")  # cocopp's own
def test_cocopp_computes_our_running_times_from_the_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    pytest.importorskip("six", reason="six is not installed: the extra uaos[coco]")
    cocopp = pytest.importorskip("cocopp", reason="cocopp is not installed: the extra uaos[coco]")
    with Store.open(path) as store:
        outcomes, folders = store.outcomes(), export_coco(store, tmp_path / "data")
    assert len(folders) == 2
    # cocopp's own grid is 10 ** (k / 5), computed otherwise: up to some last digits above ours.
    asked = TARGETS * (1 + 1e-12)
    for folder, method in zip(folders, dict.fromkeys(o.method for o in outcomes), strict=True):
        loaded = cocopp.load(str(folder)).dictByDimFunc()[2]
        assert sorted(loaded) == [1, 8, 10, 24]
        for function, (dataset,) in loaded.items():
            runs = [o for o in outcomes if o.method == method and o.function == f"f{function}"]
            assert dataset.instancenumbers == [run.instance for run in runs]
            assert dataset.readmaxevals == [run.evaluations for run in runs]
            for one, most in zip(runs, dataset.maxevals, strict=True):
                assert most == (one.hits[-1] if one.solved else one.evaluations)
            ours = [expected_running_time(runs, t) for t in range(len(TARGETS))]
            np.testing.assert_array_equal(dataset.detERT(asked), ours)
            evals = np.array(dataset.detEvals(asked))
            table = [1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7]  # as they stand in COCO's tables
            at = [int(np.argmin(abs(np.log10(TARGETS / target)))) for target in table]
            np.testing.assert_array_equal(dataset.detERT(table), np.array(ours)[at])
            hits = np.array([run.hits for run in runs]).T.astype(float)
            np.testing.assert_array_equal(np.nan_to_num(evals, nan=-1), hits)


def test_a_folder_is_never_overwritten(path: Path, tmp_path: Path) -> None:
    (tmp_path / "mix").mkdir()
    with (
        Store.open(path) as store,
        raises(InvalidParameter, name="export-coco"),
    ):
        export_coco(store, tmp_path)
    assert [p.name for p in tmp_path.rglob("*")] == ["mix"]


def test_failed_runs_are_left_out(tmp_path: Path) -> None:
    plan = small_plan()
    with Store.create_or_resume(tmp_path / "a.db", plan) as store:
        unit = next(plan.units())
        store.record([failed(unit, plan.suite[unit.problem], "lost")])
        with raises(InvalidParameter, name="export-coco"):
            export_coco(store, tmp_path / "data")
