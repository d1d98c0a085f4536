"""The kernels give the same run to the last bit, compiled or interpreted."""

import json
import os
import subprocess
import sys

import pytest

from uaos.optimizers.winners import recipes_by_name

SCRIPT = """
import json, sys
import numba, numpy as np
from uaos import jit
from uaos.minimization import minimize
from uaos.optimizers.winners import recipes_by_name

jit.PATIENCE = 0.0  # compiled at once

def fun(x):
    if x[0] > 4.0:
        return np.nan
    return float(((x - 1.0) ** 2 * [1, 10, 100, 1000, 10000]).sum() + np.abs(np.sin(5 * x)).sum())

def bits(array):
    return [float(v).hex() for v in np.ravel(array)]

report = {"interpreted": bool(numba.config.DISABLE_JIT)}
for method in ("mix", "U-AOS-FW", "SHADE", *recipes_by_name()):
    steps = []
    portfolio = method == "MOS"
    state = ("x", "fun") if portfolio else ("population", "fitness", "archive", "probabilities")
    result = minimize(
        fun, [(-5.0, 5.0)] * 5, method=method, budget=310, seed=11,
        callback=lambda s: steps.append([bits(getattr(s, name)) for name in state]),
        **({} if portfolio else {"popsize": 20}),
    )
    columns = ("counts", "probabilities", "best", "evaluations") + (
        () if portfolio else ("repairs", "generation", "population", "restarts")
    )
    report[method] = {
        "result": [bits(result.x), bits(result.fun), result.nfev, result.nit],
        "history": {name: bits(getattr(result.history, name)) for name in columns},
        "steps": steps,
    }
json.dump(report, sys.stdout)
"""


def start(interpreted):
    """The script in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    if interpreted:
        environment["NUMBA_DISABLE_JIT"] = "1"
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, text=True
    )


@pytest.fixture(scope="module")
def reports():
    """What the compiled and the interpreted run gave; the two run side by side."""
    processes = [start(interpreted) for interpreted in (False, True)]
    try:
        outputs = [process.communicate(timeout=900)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0]
    return [json.loads(output) for output in outputs]


def test_one_run_is_compiled_and_the_other_is_not(reports):
    """Else there would be nothing to compare."""
    assert [report["interpreted"] for report in reports] == [False, True]


@pytest.mark.parametrize("method", ["mix", "U-AOS-FW", "SHADE", *recipes_by_name()])
def test_the_run_is_the_same_to_the_last_bit(reports, method):
    """Result, history, and the state after every generation."""
    compiled, interpreted = (report[method] for report in reports)
    assert compiled["result"] == interpreted["result"]
    assert compiled["history"] == interpreted["history"]
    assert compiled["steps"] == interpreted["steps"]
    assert compiled["result"][2] == 310
    assert len(compiled["steps"]) > 14
