"""Paths that no file can have: every function that takes one refuses them in one line."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fault_tools import attempt, small_plan

import uaos
from uaos.analysis import Results
from uaos.experiments import Plan, Store, run
from uaos.experiments.export import export_coco, export_ioh, export_table
from uaos.experiments.merge import merge_stores
from uaos.files import check_output
from uaos.problems import sphere, suite
from uaos.reporting.report import write_report
from uaos.study import Study
from uaos.tuning import Recordings, TuningStore

BOX = [(-5, 5)] * 2
NAMES = ["a\0b", "\ud800", "a/" * 3000, "a" * 5000, "loop", "loop/a"]
OTHERS = [Path("a\0b"), b"a", 3, True, 0.5, [], object()]
SUFFIXED = [f"{name}{suffix}" for name in NAMES[:4] for suffix in (".py", ".toml", ".png", ".csv")]


def problems() -> uaos.Suite:
    return suite("bbob", functions="1", dimension=2, instances="1")


ENTRIES: dict[str, Callable[[object], object]] = {
    "checkpoint": lambda p: uaos.minimize(sphere, BOX, budget=20, checkpoint=p),
    "least_squares": lambda p: uaos.least_squares(lambda x: x, [1.0], checkpoint=p),
    "method": lambda p: uaos.minimize(sphere, BOX, budget=20, method=p),
    "save": lambda p: uaos.DifferentialEvolution(BOX, budget=50).save(p),
    "load": uaos.Optimizer.load,
    "Selector.save": lambda p: uaos.method("SaDE").selector(3).save(p),
    "Selector.load": uaos.Selector.load,
    "plot": lambda p: uaos.minimize(sphere, BOX, budget=20, history=True).plot(p),
    "configuration": uaos.configuration,
    "from_toml": uaos.Configuration.from_toml,
    "to_toml": uaos.configuration("mix").to_toml,
    "suite": suite,
    "instances": lambda p: suite("bbob", instances=p),
    "Store.open": Store.open,
    "run": lambda p: run(small_plan(), p, ThreadPoolExecutor(1)),
    "methods": lambda p: Plan.of([p], problems(), budget=20),
    "merged": lambda p: merge_stores(p, ["whole.db"]),
    "merge": lambda p: merge_stores("new.db", [p]),
    "export": lambda p: export_table([], p),
    "export-coco": lambda p: export_coco(Store.open("whole.db"), p),
    "export-ioh": lambda p: export_ioh(Store.open("whole.db"), p),
    "Results": Results.read,
    "report of": lambda p: write_report([p], "new.html"),
    "report": lambda p: write_report(["whole.db"], p),
    "output": check_output,
    "study": lambda p: Study(folder=p),
    "tuning": lambda p: TuningStore.create_or_resume(p, problems()),
    "recordings": Recordings,
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_path_that_no_file_can_have_is_refused(
    entry: str, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("whole.db").write_bytes(whole.read_bytes())
    Path("loop").symlink_to("loop")
    paths = [*NAMES, *OTHERS, *SUFFIXED]
    for path in paths:
        _, line = attempt(ENTRIES[entry], path)
        assert line, path
        assert len(line) < 1000
    assert {file.name for file in tmp_path.iterdir()} == {"whole.db", "loop"}
    count("paths that no file can have, refused", len(paths))
