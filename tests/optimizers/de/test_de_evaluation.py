"""Evaluating on workers: Ctrl-C keeps what is ready, and nothing waits for what is not."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from uaos.minimize import minimize
from uaos.optimizers.evaluation import Evaluator, Interrupted

BOX = [(-5.0, 5.0)] * 3


def evaluator(workers, fun=abs):
    return Evaluator(fun, vectorized=False, workers=workers, tolerate=False)


def fails_or_sleeps(x):
    """0 fails at once, other points take longer than a test may."""
    if x[0] == 0.0:
        raise ArithmeticError("at 0")
    time.sleep(60)
    return 0.0


_INTERRUPTED = """
    import sys, time
    from uaos.minimize import minimize

    calls = []

    def slow(x):
        calls.append(x)
        time.sleep(300 if sys.argv[1] == "hangs" and len(calls) == 3 else 0.05)
        print("evaluated", flush=True)
        return float((x * x).sum())

    if __name__ == "__main__":
        result = minimize(slow, [(-5.0, 5.0)] * 3, workers=2, seed=1, popsize=500)
        print("result", result.success, result.nfev, result.fun == float((result.x ** 2).sum()))
        print(result.message, flush=True)
"""


@pytest.mark.parametrize("objective", ["slow", "hangs"])
def test_ctrl_c_ends_worker_processes_at_once_and_keeps_what_is_ready(objective, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(_INTERRUPTED))
    run = subprocess.Popen(
        [sys.executable, program, objective],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, as a terminal makes one
    )
    evaluated = 0
    for line in run.stdout:
        evaluated += line == "evaluated\n"
        if evaluated == 3:
            break
    time.sleep(0.2)
    os.killpg(run.pid, signal.SIGINT)
    started = time.monotonic()
    out, err = run.communicate(timeout=60)
    assert time.monotonic() - started < 10  # of 500 points, 12 s of work or 300 s of hanging
    result = next(line for line in out.splitlines() if line.startswith("result")).split()
    assert (result[1], result[3]) == ("False", "True")
    assert 1 <= int(result[2]) <= 400
    assert "interrupted; this is the best so far" in out
    assert err == ""
    assert run.returncode == 0


def test_ctrl_c_keeps_what_an_executor_has_finished_and_cancels_the_rest():
    begun = []

    def slow(x):
        begun.append(x)
        time.sleep(0.05)
        return float((x * x).sum())

    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with ThreadPoolExecutor(2) as executor:
        timer.start()
        result = minimize(slow, BOX, workers=executor, seed=1, popsize=300)
        assert executor.submit(int).result() == 0  # it is the user's, and still at work
    timer.join()
    assert not result.success
    assert 0 < result.nfev <= len(begun) < 100
    assert result.fun == float((result.x**2).sum())


def test_ctrl_c_keeps_what_a_lazy_map_has_done():
    def fun(x):
        if x[0] == 3.0:
            raise KeyboardInterrupt
        return "nothing" if x[0] == 1.0 else x * 2  # an array of length one

    for workers in (1, map, lambda f, points: (f(x) for x in points)):
        with pytest.raises(Interrupted) as raised, evaluator(workers, fun) as evaluate:
            evaluate(np.arange(5.0)[:, None])
        rows, values = zip(*raised.value.ready, strict=True)
        assert rows == (0, 1, 2)
        assert values == pytest.approx((0.0, np.nan, 4.0), nan_ok=True)


def test_an_exception_does_not_wait_for_the_other_points():
    started = time.monotonic()
    with (
        evaluator(2, fails_or_sleeps) as evaluate,
        pytest.raises(ArithmeticError, match="at 0"),
    ):
        evaluate(np.array([[0.0], [1.0], [2.0]]))
    assert time.monotonic() - started < 30


def test_chunks_are_single_points_until_an_objective_proves_quick():
    with ThreadPoolExecutor(2) as executor, evaluator(executor, fun=lambda x: x[0]) as evaluate:
        X = np.arange(40.0)[:, None]
        assert [len(part) for part in evaluate._parts(40)] == [1] * 40
        assert (evaluate(X) == X[:, 0]).all()
        evaluate._seconds = 1e-5  # four chunks for each of two workers
        assert [len(part) for part in evaluate._parts(40)] == [5] * 8
        assert (evaluate(X) == X[:, 0]).all()
        evaluate._seconds = 0.03  # three points to a tenth of a second
        assert [len(part) for part in evaluate._parts(40)] == [3] * 13 + [1]
        assert (evaluate(X) == X[:, 0]).all()
        assert evaluate._seconds < 0.01  # measured anew
