"""A full disk: every file is whole or not there, earlier ones stay, and one line says why."""

import resource
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import run as command_line
from fault_tools import BENCH, finish, runs, short_and_long

from uaos.experiments import Store

LONG = pytest.mark.faults_long


def limited(size: int):
    """No file of the process, and of those it starts, can grow beyond a size."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@short_and_long(2, 16)
def test_a_benchmark_on_a_full_disk_ends_with_one_line_and_resumes(
    times: int, tmp_path: Path, count
) -> None:
    sizes = [16_000, 160_000] if times == 2 else [4096 * 2**i for i in range(times // 2)] * 2
    failures = 0
    for number, size in enumerate(sizes):
        folder = tmp_path / str(number)
        folder.mkdir()
        code, _, err = finish(BENCH, folder, preexec_fn=limited(size))
        if code:
            failures += 1
            assert code == 2, err
            assert err.startswith("error: a.db: cannot be "), err
            assert err.count("\n") == 1, err
            assert {p.name for p in folder.iterdir()} <= {"a.db", "a.db-wal", "a.db-shm"}
            if (folder / "a.db").exists():
                with Store.open(folder / "a.db") as store:
                    store.outcomes()
    assert failures
    code, _, err = finish(BENCH, folder)
    assert code == 0, err
    assert len(runs(folder / "a.db")) == 12
    count("benchmarks on a full disk", len(sizes))


def test_a_disk_that_is_full_from_the_start_is_not_called_damage(
    whole: Path, tmp_path: Path, count
) -> None:
    """Opening a store to write needs room for a second file; nothing is wrong with the store."""
    shutil.copy(whole, tmp_path)
    before = runs(tmp_path / "a.db")
    done = on_a_full_disk(*("300" if word == "400" else word for word in BENCH), cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("error: a.db: cannot be "), done.stderr
    assert "damage" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]
    assert runs(tmp_path / "a.db") == before
    count("benchmarks on a full disk")


@pytest.mark.parametrize("kilobytes", [200, *(
    pytest.param(size, marks=LONG) for size in (24, 48, 64, 128, 160, 224)
)])  # fmt: skip
def test_a_small_file_system_that_fills_up_is_not_called_damage(
    kilobytes: int, undisturbed: dict, tmp_path: Path, count
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        for _ in range(2):  # the second time, the disk is full from the start
            code, _, err = finish(BENCH, small)
            assert (code, err.count("\n")) == (2, 1), err
            assert err.startswith("error: a.db: cannot be "), err
            assert not list(small.glob("*.lock"))
        subprocess.run(["mount", "-o", "remount,size=4m", str(small)], check=True)
        code, _, err = finish(BENCH, small)
        assert code == 0, err
        assert runs(small / "a.db") == runs(undisturbed["bench"][0])
    finally:
        subprocess.run(["umount", str(small)], check=True)
    count("benchmarks on a full disk")


def on_a_full_disk(*command: str, cwd: Path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
    try:
        return command_line(*command, cwd=cwd)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    "command", [["a.db", "--export-coco", "coco"], ["b.db", "--merge", "a.db"]], ids=lambda c: c[1]
)
def test_a_full_disk_leaves_no_part_of_a_folder_or_store(
    command: list[str], whole: Path, tmp_path: Path, count
) -> None:
    shutil.copy(whole, tmp_path)
    done = on_a_full_disk("bench", *command, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "cannot be written" in done.stderr
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["a.db"]
    count("output files on a full disk")


@pytest.mark.parametrize(
    ("command", "file"),
    [
        (["bench", "a.db", "--export", "out.csv"], "out.csv"),
        (["compare", "a.db", "--markdown", "out.md"], "out.md"),
        (["report", "a.db", "-o", "out.html"], "out.html"),
        (["plot", "ecdf-overall", "a.db", "-o", "out.png"], "out.png"),
        (["run", "--function", "1", "--dim", "2", "--budget", "50", "--plot", "r.png"], "r.png"),
        (["scenario", "--repetitions", "2", "--plot", "s.png"], "s.png"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_output_on_a_full_disk_leaves_the_earlier_file(
    command: list[str], file: str, whole: Path, tmp_path: Path, count
) -> None:
    shutil.copy(whole, tmp_path)
    # With room it works, and has no kernels to compile and to cache afterward.
    done = command_line(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / file).write_bytes(b"earlier")
    done = on_a_full_disk(*command, "--overwrite", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "cannot be written" in done.stderr
    assert (tmp_path / file).read_bytes() == b"earlier"
    assert {p.name for p in tmp_path.iterdir()} == {"a.db", file}
    count("output files on a full disk")
