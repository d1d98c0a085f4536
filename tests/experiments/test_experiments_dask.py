"""The same on a Dask cluster of two worker processes, of which one is killed."""

import gc
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import experiment_stubs as stubs
import pytest
from experiment_stubs import content, small_plan
from raising import raises

from uaos.errors import InvalidParameter
from uaos.experiments import Progress, run
from uaos.extras import MissingExtra

# What Dask says about workers that died, and about its own use of asyncio.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("mortal cluster")]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict:
    path = tmp_path_factory.mktemp("plain") / "plain.db"
    with ThreadPoolExecutor(1) as executor:
        run(small_plan(), path, executor)
    return content(path)


@pytest.fixture(scope="module")
def mortal_cluster():
    """A Dask cluster of two worker processes on this machine, which replaces killed ones."""
    why = "dask and distributed are not installed: the extra uaos[cluster]"
    dask = pytest.importorskip("dask", reason=why)
    distributed = pytest.importorskip("distributed", reason=why)
    settings = {"distributed.scheduler.allowed-failures": 0, "distributed.admin.log-length": 0}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address=None, silence_logs=50,
        ) as running,
    ):  # fmt: skip
        yield running
    # What Dask leaves behind may warn when it is collected: here, where warnings are ignored.
    del running
    gc.collect()


def test_a_cluster_gives_the_same_though_a_worker_is_killed(
    mortal_cluster, expected: dict, tmp_path: Path
) -> None:
    killed = []

    def kill(progress: Progress) -> None:
        if progress.new >= 5 and not killed:
            killed.append(next(w.pid for w in mortal_cluster.workers.values() if w.pid))
            os.kill(killed[0], signal.SIGKILL)

    run(
        small_plan(), tmp_path / "a.db", dask=mortal_cluster.scheduler_address, on_progress=kill,
        work=stubs.slowly,
    )  # fmt: skip
    assert killed
    assert content(tmp_path / "a.db") == expected


def test_a_unit_that_kills_its_workers_is_recorded_and_the_rest_goes_on(
    mortal_cluster, expected: dict, tmp_path: Path
) -> None:
    plan = small_plan("mix", functions="1-2")
    run(plan, tmp_path / "a.db", dask=mortal_cluster.scheduler_address, work=stubs.dies_on_f2)
    found = content(tmp_path / "a.db")
    assert len(found) == 6
    for key, value in found.items():
        if key[1] == "f2 i1 2-D":
            assert value[0][-2] == "failed"
            assert "its worker died every time it was run" in value[0][-1]
        else:
            assert value == expected[key], value[0][-1]


def test_an_address_where_nobody_answers_is_bad_input(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra uaos[cluster] is not installed")
    with raises(InvalidParameter, name="dask", value="nonsense://nowhere"):
        run(small_plan(), tmp_path / "a.db", dask="nonsense://nowhere")


@pytest.mark.parametrize("address", ["nonsense", "tls://127.0.0.1:9"])
def test_an_address_that_is_none_ends_a_command_with_one_line(address: str, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra uaos[cluster] is not installed")
    size = ["--dim", "2", "--functions", "1", "--instances", "1", "--budget", "100"]
    # A process of its own, as a client that is left open is heard of when Python ends.
    done = subprocess.run(
        [sys.executable, "-m", "uaos", "bench", "a.db", "--methods", "mix", *size,
         "--dask", address],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: no Dask scheduler answers at {address}")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())  # no empty store


def test_without_dask_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingExtra):
        run(small_plan(), tmp_path / "a.db", dask="127.0.0.1:8786")
