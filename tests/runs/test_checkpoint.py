"""A run that is saved and continued is the run without interruption."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import uaos
from uaos.errors import InvalidFile, InvalidParameter
from uaos.problems import rastrigin
from uaos.runs.checkpoint import CheckpointConflict

BOX = [(-5.0, 5.0)] * 3


def shifted(x):
    return rastrigin(x - 1.234)


def in_pieces(path, fun=shifted, box=BOX, step=23, **arguments):
    """Run until a limit of iterations, resume with a larger one, and so on; return the result."""
    for limit in range(1, 2000, step):
        result = uaos.minimize(fun, box, checkpoint=path, maxiter=limit, **arguments)
        if result.status != 2:
            return result
    raise AssertionError("the run did not end")


@pytest.mark.parametrize(
    "arguments",
    [
        {"budget": 1200},
        {"budget": 400, "method": "mix", "workers": 2},
        {"budget": 600, "x0": [[1.0] * 3, [2.0] * 3, [-1.0] * 3]},
        {"budget": 900, "constraints": SimpleNamespace(fun=lambda x: x.sum(), lb=1.0, ub=2.0)},
        {},
    ],
    ids=["portfolio", "workers", "starts", "constraints", "until converged"],
)
def test_a_run_in_pieces_is_the_whole_run(tmp_path, arguments):
    whole = uaos.minimize(shifted, BOX, seed=3, **arguments)
    pieces = in_pieces(tmp_path / "run.state", seed=3, **arguments)
    assert (pieces.x.tolist(), pieces.fun) == (whole.x.tolist(), whole.fun)
    assert (pieces.nfev, pieces.nit, pieces.message) == (whole.nfev, whole.nit, whole.message)
    assert pieces.history.best.tolist() == whole.history.best.tolist()


def test_a_run_may_be_watched_when_it_continues(tmp_path, capsys):
    """`disp` and a callback are no part of a saved run."""
    path, seen = tmp_path / "run.state", []
    whole = uaos.minimize(shifted, BOX, seed=3, budget=400)
    uaos.minimize(shifted, BOX, seed=3, budget=400, checkpoint=path, maxiter=5)
    result = uaos.minimize(
        shifted, BOX, seed=3, budget=400, checkpoint=path, disp=True, callback=seen.append
    )
    assert result.fun == whole.fun
    assert seen
    assert "400 evaluations" in capsys.readouterr().out
    unwatched = uaos.minimize(shifted, BOX, seed=3, budget=400, checkpoint=path)
    assert unwatched.fun == whole.fun


def test_a_finished_run_is_returned_without_an_evaluation(tmp_path):
    calls = []

    def counted(x):
        calls.append(x)
        return shifted(x)

    first, again = (
        uaos.minimize(counted, BOX, budget=200, checkpoint=tmp_path / "run.state") for _ in range(2)
    )
    assert len(calls) == 200
    assert (again.fun, again.seed, again.message) == (first.fun, first.seed, first.message)


def test_an_exception_and_ctrl_c_lose_nothing(tmp_path):
    path, calls = tmp_path / "run.state", []

    def fails(x):
        calls.append(x)
        if len(calls) in (100, 200):
            raise KeyboardInterrupt if len(calls) == 200 else ArithmeticError
        return shifted(x)

    with pytest.raises(ArithmeticError):
        uaos.minimize(fails, BOX, seed=1, budget=400, checkpoint=path)
    assert uaos.minimize(fails, BOX, seed=1, budget=400, checkpoint=path).status == 6
    resumed = uaos.minimize(fails, BOX, seed=1, budget=400, checkpoint=path)
    assert resumed.x.tolist() == uaos.minimize(shifted, BOX, seed=1, budget=400).x.tolist()


PROGRAM = """
    import hashlib, sys, time
    import uaos
    from uaos.problems import rastrigin

    def slow(x):
        time.sleep(0.001)
        return rastrigin(x - 1.234)

    uaos.runs.checkpoint.INTERVAL = 0.05
    print("begins", flush=True)
    result = uaos.minimize(
        slow, [(-5.0, 5.0)] * 3, seed=5, budget=1500, checkpoint=sys.argv[1], record="points"
    )
    print(result.nfev, hashlib.sha256(result.X.tobytes()).hexdigest(), flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_killed_run_continues_as_if_nothing_had_happened(tmp_path):
    """All of its points are those of the undisturbed run."""
    program, path = tmp_path / "program.py", tmp_path / "run.state"
    program.write_text(textwrap.dedent(PROGRAM))
    command = [sys.executable, program, path]
    moments = np.random.default_rng(1).uniform(0.1, 0.6, 3)
    for moment in moments:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        time.sleep(moment)
        process.kill()
        process.communicate()
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    whole = uaos.minimize(shifted, BOX, seed=5, budget=1500, record="points")
    digest = hashlib.sha256(whole.X.tobytes()).hexdigest()
    assert ended.stdout.splitlines()[-1] == f"1500 {digest}"


@pytest.mark.parametrize("method", ["portfolio", "mix", "BFGS"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ArithmeticError])
def test_a_run_interrupted_amid_a_batch_continues_as_if_nothing_had_happened(
    tmp_path, method, error
):
    """The batch is evaluated again; neither its points nor known values count twice."""
    known = np.random.default_rng(3).uniform(-5, 5, (30, 3))
    options = {
        "seed": 1, "budget": 400, "record": "points", "method": method, "noise": False,
        "known": (known, [shifted(x) for x in known]),
    }  # fmt: skip
    whole = uaos.minimize(shifted, BOX, **options)
    calls = iter(range(10**6))

    def fails(x):
        if next(calls) in (12, 47, 48, 97, 150, 303):
            raise error
        return shifted(x)

    for _ in range(7):
        try:
            result = uaos.minimize(fails, BOX, checkpoint=tmp_path / "run.state", **options)
        except ArithmeticError:
            continue
        if result.status != 6:
            break
        assert len(result.X) == result.nfev
    assert result.nfev == whole.nfev
    np.testing.assert_array_equal(result.X, whole.X)
    np.testing.assert_array_equal(result.F, whole.F)


@pytest.mark.parametrize("method", ["portfolio", "CMA-ES"])
def test_ctrl_c_while_the_optimizer_learns_leaves_the_file_as_it_was(tmp_path, monkeypatch, method):
    """A state in which a batch has been learned in part is not saved."""
    arguments = {"seed": 1, "budget": 900, "method": method}
    whole = uaos.minimize(shifted, BOX, **arguments)
    append, calls = uaos.History.append, iter(range(10**6))

    def interrupted(self, *row):
        if next(calls) == 30:
            raise KeyboardInterrupt
        append(self, *row)

    monkeypatch.setattr(uaos.History, "append", interrupted)
    path = tmp_path / "run.state"
    assert uaos.minimize(shifted, BOX, checkpoint=path, **arguments).status == 6
    resumed = uaos.minimize(shifted, BOX, checkpoint=path, **arguments)
    assert resumed.x.tolist() == whole.x.tolist()
    assert len(resumed.history) == len(whole.history)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"bounds": [(-5.0, 6.0)] * 3}, "bounds is"),
        ({"budget": 201}, "budget is 200 in the file and 201 in this call"),
        ({"seed": 2}, "seed is 1 in the file and 2 in this call"),
        ({"method": "mix"}, "the method or its settings"),
        ({"fun": lambda x: 0.0}, "the code of fun"),
        ({"target": 1.0}, "target is null in the file and 1.0 in this call"),
        ({"x0": [1, 2, 3]}, "x0 is null in the file and [[1.0, 2.0, 3.0]] in this call"),
        ({"constraints": {"type": "ineq", "fun": lambda x: x[0]}}, "the constraints have changed"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, change, reason):
    path = tmp_path / "run.state"
    arguments = {"fun": shifted, "bounds": BOX, "budget": 200, "seed": 1, "checkpoint": path}
    uaos.minimize(**arguments)
    content = path.read_bytes()
    with pytest.raises(CheckpointConflict) as raised:
        uaos.minimize(**arguments | change)
    assert reason in str(raised.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "other",
    [
        {"type": "ineq", "fun": lambda x: x[0] - 2},
        {"type": "eq", "fun": lambda x: x[0] - 1},
        SimpleNamespace(A=[[1, 0, 0]], lb=1, ub=np.inf),
    ],
)
def test_a_checkpoint_with_other_constraints_is_refused(tmp_path, other):
    """The code of a constraint, its limits and its matrix belong to the run."""
    arguments = {"budget": 40, "seed": 1, "checkpoint": tmp_path / "run.state"}
    uaos.minimize(
        shifted, BOX, constraints={"type": "ineq", "fun": lambda x: x[0] - 1}, **arguments
    )
    with pytest.raises(CheckpointConflict, match="the constraints have changed"):
        uaos.minimize(shifted, BOX, constraints=other, **arguments)


@pytest.mark.parametrize(
    "change",
    [
        {"k": uaos.Categorical(["c", "d"])}, {"x": uaos.Real(1, np.e, log=True)}, {"fixed": 2},
        {"f": uaos.Categorical([max])},
    ],
)  # fmt: skip
def test_a_checkpoint_with_other_variables_is_refused(tmp_path, change):
    """Whatever their coordinates; the address of a function among the choices does not count."""
    arguments = {"budget": 20, "seed": 1, "checkpoint": tmp_path / "run.state"}
    space = {"k": uaos.Categorical(["a", "b"]), "x": uaos.Real(0, 1), "fixed": 1,
             "f": uaos.Categorical([lambda: 1])}  # fmt: skip
    uaos.minimize(lambda p: p["x"], space, **arguments)
    uaos.minimize(lambda p: p["x"], space | {"f": uaos.Categorical([lambda: 1])}, **arguments)
    with pytest.raises(CheckpointConflict, match="the variables have changed"):
        uaos.minimize(lambda p: p["x"], space | change, **arguments)


def powered(x, power):
    return float((np.abs(x) ** power).sum())


def both(x):
    return shifted(x), 2 * x


def both_otherwise(x):
    return shifted(x), 3 * x


@pytest.mark.parametrize(
    ("first", "then", "reason"),
    [
        ({"fun": powered, "args": (2,)}, {"args": (4,)}, "or its args"),
        ({"fun": powered, "args": (np.full(3, 2.0),)}, {"args": (np.full(3, 4.0),)}, "its args"),
        ({"fun": partial(powered, power=2)}, {"fun": partial(powered, power=4)}, "or its args"),
        ({"fun": both, "jac": True}, {"fun": both_otherwise}, "the code of fun has changed"),
        ({"fun": shifted}, {"jac": lambda x: 2 * x}, "jac has changed"),
        ({"fun": shifted}, {"known": ([[0.0, 0, 0]], [1.0])}, "the known points have changed"),
    ],
)
def test_a_checkpoint_with_other_data_is_refused(tmp_path, first, then, reason):
    """The same data continue it."""
    arguments = {"bounds": BOX, "budget": 60, "seed": 1, "checkpoint": tmp_path / "run.state"}
    whole = uaos.minimize(**arguments | first)
    assert uaos.minimize(**arguments | first).fun == whole.fun
    with pytest.raises(CheckpointConflict, match=reason):
        uaos.minimize(**arguments | first | then)


def test_a_maximum_continues_by_the_code_of_its_function(tmp_path):
    arguments = {"bounds": BOX, "budget": 60, "seed": 1, "checkpoint": tmp_path / "run.state"}
    uaos.maximize(shifted, **arguments)
    with pytest.raises(CheckpointConflict, match="the code of fun"):
        uaos.maximize(lambda x: 1.0, **arguments)


def test_an_argument_without_plain_data_continues(tmp_path):
    """Of an object only its type counts: its address would differ in each process."""
    arguments = {"bounds": BOX, "budget": 60, "seed": 1, "checkpoint": tmp_path / "run.state"}
    results = [
        uaos.minimize(lambda x, _: shifted(x), args=(object(),), **arguments) for _ in range(2)
    ]
    assert results[0].fun == results[1].fun


def test_a_start_of_integers_continues_one_of_floats(tmp_path):
    """1 and 1.0 are the same start, and so are a point and an array with one row."""
    arguments = {"budget": 40, "seed": 1, "checkpoint": tmp_path / "run.state"}
    first = uaos.minimize(shifted, BOX, x0=[1, 2, 3], **arguments)
    assert uaos.minimize(shifted, BOX, x0=np.array([[1.0, 2, 3]]), **arguments).fun == first.fun


def test_a_damaged_checkpoint_is_refused_and_stays(tmp_path):
    path = tmp_path / "run.state"
    path.write_bytes(b"uaos saved state 1\nnonsense")
    with pytest.raises(InvalidFile):
        uaos.minimize(shifted, BOX, budget=100, checkpoint=path)
    assert path.read_bytes().endswith(b"nonsense")


def test_a_run_that_cannot_be_saved_any_more_goes_on(tmp_path, monkeypatch):
    """The folder vanishes after ten evaluations."""
    monkeypatch.setattr("uaos.runs.checkpoint.INTERVAL", 0.0)
    folder = tmp_path / "gone"
    folder.mkdir()
    calls = []

    def fun(x):
        calls.append(x)
        if len(calls) == 10:
            shutil.rmtree(folder)
        return shifted(x)

    with pytest.warns(RuntimeWarning, match="the run is not saved: .*cannot be written"):
        result = uaos.minimize(fun, BOX, budget=60, seed=1, checkpoint=folder / "run.state")
    assert result.nfev == 60


@pytest.mark.parametrize("path", [7, os.path.join("no", "such", "folder", "run.state")])
def test_a_path_that_cannot_be_written_is_noticed_before_the_run(path):
    with pytest.raises(InvalidParameter) as raised:
        uaos.minimize(lambda x: pytest.fail("evaluated"), BOX, checkpoint=path)
    assert raised.value.name == "checkpoint"
