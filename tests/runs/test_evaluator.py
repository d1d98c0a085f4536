"""Evaluating on workers: Ctrl-C keeps what is ready, and nothing waits for what is not."""

import datetime
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from raising import raises

from uaos.errors import InvalidFeedback
from uaos.minimization import minimize
from uaos.problems import Problem
from uaos.runs.evaluator import EvaluationInterrupted, Evaluator

BOX = [(-5.0, 5.0)] * 3


def evaluator(workers, fun=abs, dimension=1):
    return Evaluator(Problem(fun, [(-5.0, 5.0)] * dimension, name="fun"), workers=workers)


def fails_or_sleeps(x):
    """0 fails at once, other points take longer than a test may."""
    if x[0] == 0.0:
        raise ArithmeticError("at 0")
    time.sleep(120)
    return 0.0


_INTERRUPTED = """
    import os, sys, time
    from uaos.minimization import minimize

    calls = []

    def slow(x):
        calls.append(x)
        time.sleep(900 if sys.argv[1] == "hangs" and len(calls) == 3 else 1.5)
        os.write(1, b"evaluated\\n")  # in one piece, which print() does not promise
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
    out, err = run.communicate(timeout=300)  # the 500 points take more
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
        if len(begun) == 10:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.02 if len(begun) < 10 else 0.5)
        return float((x * x).sum())

    with ThreadPoolExecutor(2) as executor:
        result = minimize(slow, BOX, workers=executor, seed=1, popsize=300)
        assert executor.submit(int).result() == 0  # it is the user's, and still at work
    assert not result.success
    assert 0 < result.nfev <= len(begun) < 100
    assert result.fun == float((result.x**2).sum())


def test_ctrl_c_keeps_what_a_lazy_map_has_done():
    def fun(x):
        if x[0] == 3.0:
            raise KeyboardInterrupt
        return "nothing" if x[0] == 1.0 else x * 2  # an array of length one

    for workers in (1, map, lambda f, points: (f(x) for x in points)):
        with pytest.raises(EvaluationInterrupted) as raised, evaluator(workers, fun) as evaluate:
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
    assert time.monotonic() - started < 110  # the others take 120 s


def test_chunks_are_single_points_until_an_objective_proves_quick(monkeypatch):
    ticks = SimpleNamespace(perf_counter=itertools.count().__next__)  # a second between two looks
    with ThreadPoolExecutor(2) as executor, evaluator(executor, fun=lambda x: x[0]) as evaluate:
        X = np.arange(40.0)[:, None]
        assert [len(part) for part in evaluate._objective._parts(40)] == [1] * 40
        assert (evaluate(X)[0] == X[:, 0]).all()
        evaluate._objective._seconds = 1e-5  # four chunks for each of two workers
        assert [len(part) for part in evaluate._objective._parts(40)] == [5] * 8
        assert (evaluate(X)[0] == X[:, 0]).all()
        evaluate._objective._seconds = 0.0015  # three points to five milliseconds
        assert [len(part) for part in evaluate._objective._parts(40)] == [3] * 13 + [1]
        monkeypatch.setattr("uaos.runs.callers.time", ticks)
        assert (evaluate(X)[0] == X[:, 0]).all()
        assert evaluate._objective._seconds == 0.05  # 40 points in a second on two workers


_SCRIPT = """
    import time, uaos

    factor = 2.0
    result = uaos.minimize(
        lambda x: factor * float(x @ x), [(-5.0, 5.0)] * 3, workers=2, seed=1, budget=200
    )
    print("ended", result.nfev, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_a_script_needs_no_guard_and_may_use_a_lambda(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(_SCRIPT))
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=600, check=False
    )
    assert (done.stdout, done.stderr) == ("ended 200\n", "")


_SESSION = """
    import threading
    import uaos
    threading.Thread(target=threading.Event().wait, daemon=True).start()  # as in a notebook
    def fun(x): return float(x @ x)

    result = uaos.minimize(fun, [(-5.0, 5.0)] * 3, workers=2, seed=1, budget=200)
    print("ended", result.nfev, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_a_function_of_an_interactive_session_is_evaluated_by_workers():
    done = subprocess.run(
        [sys.executable, "-"], input=textwrap.dedent(_SESSION), capture_output=True, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("ended 200\n", "")


def dies_at_large_values(x):
    if x[0] > 4.0:
        os._exit(7)
    return float(x @ x)


@pytest.mark.parametrize("threads", [0, 1])
def test_a_worker_that_dies_costs_its_evaluation(threads):
    """Forked, or spawned beside a thread."""
    stop = threading.Event()
    beside = [threading.Thread(target=stop.wait, daemon=True) for _ in range(threads)]
    for thread in beside:
        thread.start()
    X = np.array([[1.0], [5.0], [2.0], [3.0], [4.5], [0.0]])
    with evaluator(2, dies_at_large_values) as evaluate:
        evaluate._objective._seconds = 1e-5  # several points to a chunk
        with pytest.warns(RuntimeWarning, match=r"a worker process died \(exit code 7\)"):
            values, *_ = evaluate(X)
        assert values == pytest.approx([1.0, np.nan, 4.0, 9.0, np.nan, 0.0], nan_ok=True)
        assert evaluate(X[:1])[0].tolist() == [1.0]
    stop.set()


def test_the_run_is_the_same_with_workers_that_die():
    def fails(x):
        return float("nan") if x[0] > 4.0 else float(x @ x)

    given = {"seed": 1, "budget": 300, "popsize": 20}
    with pytest.warns(RuntimeWarning, match="a worker process died"):
        dying = minimize(dies_at_large_values, BOX, workers=2, **given)
    assert dying.x.tolist() == minimize(fails, BOX, **given).x.tolist()


def test_an_exception_of_a_worker_says_where_it_was_raised():
    with evaluator(2, fails_or_sleeps) as evaluate, pytest.raises(ArithmeticError) as raised:
        evaluate(np.array([[0.0]]))
    assert "in fails_or_sleeps" in raised.value.__notes__[0]


def test_workers_of_one_pool_end_beside_those_of_another():
    """A forked worker that kept the pipes of another pool open would have to be killed."""
    with evaluator(2, np.sum, dimension=3) as one, evaluator(2, np.sum, dimension=3) as other:
        for evaluate in (one, other):
            assert evaluate(np.ones((4, 3)))[0].tolist() == [3.0] * 4
        processes = list(one._objective.pool._workers.values())
        one.__exit__()
    assert [process.exitcode for process in processes] == [0, 0]


class DiesOnce:
    """The sum of squares, which ends its process the first time that it is below 0.1."""

    def __init__(self, marker):
        self.marker = marker

    def __call__(self, x):
        if x @ x < 0.1 and not self.marker.exists():
            self.marker.touch()
            os._exit(7)
        return float(x @ x)


@pytest.mark.parametrize("schedule", ["sync", "async"])
def test_a_broken_executor_ends_the_run_which_keeps_what_it_has(schedule, tmp_path):
    """All values are kept, and a new executor continues the checkpoint."""
    box = [(-4.0, 5.0)] * 3  # whose middle has the value 0.75
    given = {
        "seed": 1, "budget": 300, "schedule": schedule, "record": "points",
        "checkpoint": tmp_path / "run.state",
    }  # fmt: skip
    fun = DiesOnce(tmp_path / "marker")
    with ProcessPoolExecutor(2) as pool:
        result = minimize(fun, box, workers=pool, **given)
    assert (result.status, result.success) == (6, False)
    assert result.message.startswith("the executor broke; this is the best so far.")
    assert result.fun == min(result.F)
    assert 0 < len(result.F) == result.nfev < 300
    with ProcessPoolExecutor(2) as pool:
        assert minimize(fun, box, workers=pool, **given).nfev == 300


def dies_always(x):
    os._exit(7)


def test_an_executor_that_breaks_before_the_first_value_raises_its_error():
    """There is no result to return."""
    with ProcessPoolExecutor(2) as pool, pytest.raises(BrokenProcessPool):
        minimize(dies_always, BOX, workers=pool, seed=1)


def raises_at_three(x):
    if x[0] == 3:
        raise ArithmeticError("no mesh")
    return x[0]


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_exception_on_an_executor_says_at_which_point_it_was_raised(kind):
    """With one worker the chunks of six points are two, two and two: 3 is second in its chunk."""
    with kind(1) as pool, evaluator(pool, raises_at_three) as evaluate:
        evaluate._objective._seconds = 1e-5  # several points to a chunk
        with pytest.raises(ArithmeticError, match="no mesh") as raised:
            evaluate(np.arange(6.0)[:, None])
    assert raised.value.__notes__[-1].startswith("raised by fun at x = [3.]; on_error")


def raises_always(x):
    raise ArithmeticError("no mesh")


@pytest.mark.parametrize("workers", [1, 2, "threads"])
def test_an_exception_of_an_asynchronous_run_says_at_which_point_it_was_raised(workers):
    """The first point is the middle of the box; the second one may fail before it does."""
    with ThreadPoolExecutor(1) as pool:
        workers = pool if workers == "threads" else workers
        with pytest.raises(ArithmeticError, match="no mesh") as raised:
            minimize(raises_always, BOX, seed=1, workers=workers, schedule="async")
    assert raised.value.__notes__[-1].startswith("raised by fun at x = [")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("held", [False, True])
def test_an_exception_says_at_which_point_it_was_raised(held, workers):
    def fun(x):
        raise ArithmeticError("no mesh")

    box = [(2, 2), (0, 1)] if held else [(1.5, 2.5), (0, 1)]
    with pytest.raises(ArithmeticError, match="no mesh") as raised:
        minimize(fun, box, seed=1, workers=workers)
    assert raised.value.__notes__[-1].startswith("raised by fun at x = [2.  0.5]; on_error")


def test_the_point_of_an_exception_is_the_one_of_several():
    def fun(x):
        if x[0] == 3:
            raise ArithmeticError
        return x[0]

    pool = evaluator(2, fun)._objective.pool
    with pytest.raises(ArithmeticError):
        pool.evaluate(np.arange(6.0)[:, None], [range(2), range(2, 6)], {})
    pool.close(at_once=True)
    assert pool.failed_row == 3


@pytest.mark.parametrize("workers", [1, 2])
def test_a_function_without_a_return_is_warned_of_once(workers):
    with pytest.warns(RuntimeWarning, match="fun returned None, .* is `return` missing?") as seen:
        result = minimize(lambda x: None, BOX, seed=1, workers=workers, budget=20)
    assert len(seen) == 1
    assert (result.x, result.nfev, result.success) == (None, 20, False)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3 + 1j, r"fun returned \(3\+1j\), a complex; expected a real number"),
        ("3.0", "fun returned '3.0', a str; expected a real number"),
        ((3.0, {"cost": 1}), r"fun returned \(3.0, {'cost': 1}\), a tuple; expected a real number"),
    ],
    ids=["complex", "string", "tuple"],
)
def test_a_value_that_is_no_real_number_is_named_alone(value, message):
    """Not the batch, which the function of a single point has never seen."""
    with pytest.raises(InvalidFeedback, match=message):
        minimize(lambda x: value, BOX, seed=1, budget=20)


def test_none_now_and_then_is_a_failed_evaluation_like_others():
    def fun(x):
        return None if x[0] > 1 else float(((x - 0.9) ** 2).sum())

    assert minimize(fun, BOX, seed=1, budget=500).fun < 1e-6


def test_workers_inside_a_worker_are_refused():
    def nested(x):
        return minimize(np.sum, BOX, budget=5, workers=3).fun

    with raises(ValueError, name="workers", value=3):
        minimize(nested, BOX, budget=5, workers=2)


class Unreadable:
    """Pickled as int("mesh")."""

    def __reduce__(self):
        return int, ("mesh",)


class Crash(Exception):
    """An exception that can be pickled, and not be read back."""

    def __init__(self, code, where):
        super().__init__(f"code {code} in {where}")
        self.state = Unreadable()


def test_an_exception_that_cannot_be_read_back_is_shown():
    def fun(x):
        raise Crash(3, "mesh")

    with pytest.raises(TypeError, match="cannot be sent .*code 3 in mesh") as raised:
        minimize(fun, BOX, budget=5, workers=2)
    assert "in fun" in raised.value.__notes__[0]


def test_what_cannot_be_sent_back_is_shown():
    with evaluator(2, lambda x: lambda: x) as evaluate, pytest.raises(TypeError) as raised:
        evaluate(np.array([[0.0]]))
    assert "the value of fun cannot be sent from a worker process" in str(raised.value)


@pytest.mark.parametrize("workers", [1, 2, map])
def test_stop_iteration_of_an_objective_is_an_error_of_the_objective(workers):
    def fun(x):
        raise StopIteration

    with pytest.raises(RuntimeError, match="fun raised StopIteration"):
        minimize(fun, BOX, workers=workers, budget=50, seed=1)


@pytest.mark.parametrize(
    "value",
    [
        "1.5",
        b"1.5",
        1.5 + 0j,
        np.datetime64("2026-01-01"),
        np.timedelta64(3, "s"),
        datetime.date(2026, 1, 1),
        10**400,
        {"f": 1.0},
        [1.0, 2.0],
        (1.0, np.zeros(3)),
    ],
)
@pytest.mark.parametrize("vectorized", [False, True])
def test_values_that_are_no_real_numbers_are_refused(value, vectorized):
    def fun(x):
        return [value] * len(x) if vectorized else value

    with pytest.raises(InvalidFeedback):
        minimize(fun, BOX, vectorized=vectorized, budget=50, seed=1)


@pytest.mark.parametrize(
    "value", [1, True, np.float32(1), Fraction(1, 2), Decimal("0.5"), np.ones((1, 1))]
)
def test_any_kind_of_real_number_will_do(value):
    assert minimize(lambda x: value, BOX, budget=50, seed=1).fun == value


# Compiled objectives


def test_a_compiled_function_is_called_without_python_and_gives_the_same_run():
    calls = []

    @numba.njit
    def bowl(x, center):
        total = 0.0
        for value in x:
            total += (value - center) ** 2
        return total

    def in_python(x, center):
        calls.append(1)
        return bowl(x, center)

    given = {"args": (1.5,), "method": "mix", "budget": 300, "seed": 1}
    box = [(-5, 5), (2, 2), (-5, 5)]  # one is held
    slow = minimize(in_python, box, **given)
    for workers in (1, 2):
        quick = minimize(bowl, box, workers=workers, **given)
        assert quick.x.tolist() == slow.x.tolist()
        assert quick.nfev == len(calls) == 300


def test_a_compiled_function_that_returns_no_number_is_named():
    @numba.njit
    def pair(x):
        return x[:2]

    with pytest.raises(InvalidFeedback):
        minimize(pair, [(-5, 5)] * 3, budget=100)


def test_no_more_processes_start_than_there_are_points():
    """workers=1000 for three points starts three processes, not a thousand."""
    with evaluator(1000, lambda x: float(os.getpid()), dimension=2) as evaluate:
        used = set(evaluate(np.zeros((3, 2)))[0])
        assert len(evaluate._objective.pool._workers) == 3
    assert float(os.getpid()) not in used


def test_an_exception_of_a_compiled_function_is_raised():
    @numba.njit
    def falls(x):
        if abs(x[0]) < 0.5:
            raise ValueError("too small")
        return x[0] * x[0]

    with pytest.raises(ValueError, match="too small"):
        minimize(falls, [(-5.0, 5.0)] * 4, method="rand/1", budget=20_000, seed=1)
