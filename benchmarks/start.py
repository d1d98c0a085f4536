"""Measure how soon a fresh process does its work."""

import tempfile

from processes import output_of, seconds_to_end, seconds_to_line
from table import Row, Section
from timing import Sample, interleaved

TITLE = "start of a process"
METHODS = ("mix", "U-AOS-FW")
AIM = 1.5
#: How much longer a long run may take than one that compiles all kernels beforehand.
LONG_AIM = 1.2
# The callback hears of the initial population too; the first generation is the one after it.
FIRST_GENERATION = """
from uaos import jit, minimize

if {compiled}:
    jit.PATIENCE = 0.0

def first(state):
    if state.generation >= 1:
        print("ready", flush=True)
        return True

minimize(lambda x: x.dot(x), [(-5, 5)] * 20, method={method!r}, seed=1, callback=first)
"""
WHOLE_RUN = """
from uaos import minimize

minimize(lambda x: x.dot(x), [(-5, 5)] * 5, method={method!r}, seed=1, budget=5000)
"""
# Without the time to import and to load the first compiled code.
LONG_RUN = """
from time import process_time
from uaos import jit, minimize
from uaos.problems import rosenbrock

if {compiled}:
    jit.PATIENCE = 0.0
minimize(rosenbrock, [(-5, 5)] * 20, seed=1, budget=5000)
start = process_time()
minimize(rosenbrock, [(-5, 5)] * 20, seed=1, budget=100_000, history=False)
print(process_time() - start)
"""


def run(quick: bool) -> Section:
    cold = {}
    rounds = 3 if quick else 9
    with tempfile.TemporaryDirectory() as cache:
        for method in METHODS:
            with tempfile.TemporaryDirectory() as empty:
                cold[method] = Sample((_first_generation(method, empty),))
            _first_generation(method, cache, compiled=True)  # fills it for the processes after it
        whole = {m: Sample((_whole_run(m),)) for m in ("portfolio", *METHODS)}
        contenders = {m: lambda m=m: _first_generation(m, cache) for m in METHODS}
        contenders["import"] = lambda: seconds_to_end("-c", "import uaos", cache=cache)
        contenders["methods"] = lambda: seconds_to_end("-m", "uaos", "methods", cache=cache)
        contenders["python"] = lambda: seconds_to_end("-c", "pass")
        contenders["numba"] = lambda: seconds_to_end("-c", "import numba")
        found = interleaved(contenders, rounds)
    python, numba = found["python"], found["numba"]
    numba_text = f"`import numba`: {numba.text('s')}"
    rows = [
        Row(
            f"first generation, {m}, kernels cached", found[m].text("s"), numba_text,
            found[m].over(numba).text(), f"< {AIM} s", found[m].verdict(AIM, below=True),
        )
        for m in METHODS
    ]  # fmt: skip
    rows += [
        Row(
            f"first generation, {m}, empty cache", f"{cold[m].fastest:.3g} s (one round)",
            f"kernels cached: {found[m].text('s')}", f"{cold[m].fastest / found[m].fastest:.3g}",
        )
        for m in METHODS
    ]  # fmt: skip
    rows += [
        Row(f"5000 evaluations, {m}, empty cache", f"{whole[m].fastest:.3g} s (one round)")
        for m in whole
    ]
    rows.append(_long_runs(rounds))
    named = (("`import uaos`", "import"), ("`uaos methods`", "methods"))
    rows += [
        Row(
            what, found[name].text("s"), f"bare Python: {python.text('s')}",
            found[name].over(python).text(),
        )
        for what, name in named
    ]  # fmt: skip
    how = (
        "to the end of the first generation after the initial population, of uaos.minimize on a "
        "20-D sphere; the others to the end of the process, those of 5000 evaluations on a 5-D "
        "sphere. The cache is a directory of the benchmark's own; with an empty one kernels are "
        "interpreted for a moment, and compiled if they go on. Those of 100,000 evaluations on a "
        "20-D Rosenbrock function are in processor time, in a process that follows another one "
        "like it."
    )
    return Section(TITLE, how, tuple(rows))


def _first_generation(method: str, cache: str, *, compiled: bool = False) -> float:
    script = FIRST_GENERATION.format(method=method, compiled=compiled)
    return seconds_to_line("-c", script, cache=cache)


def _whole_run(method: str) -> float:
    with tempfile.TemporaryDirectory() as empty:
        return seconds_to_end("-c", WHOLE_RUN.format(method=method), cache=empty)


def _long_runs(rounds: int) -> Row:
    """Compare long runs of the default with and without interpreted kernels."""
    with tempfile.TemporaryDirectory() as usual, tempfile.TemporaryDirectory() as whole:
        found = interleaved(
            {
                "usual": lambda: _long_run(usual, compiled=False),
                "compiled": lambda: _long_run(whole, compiled=True),
            },
            rounds,
        )
    usual_run, compiled = found["usual"].scaled(10), found["compiled"].scaled(10)
    ratio = usual_run.over(compiled)
    return Row(
        "100,000 evaluations, portfolio", usual_run.text("µs each"),
        f"all kernels compiled: {compiled.text('µs each')}",
        ratio.text(), f"<= {LONG_AIM}", ratio.verdict(LONG_AIM),
    )  # fmt: skip


def _long_run(cache: str, *, compiled: bool) -> float:
    return float(output_of("-c", LONG_RUN.format(compiled=compiled), cache=cache))
