"""How soon a fresh process is at work."""

import tempfile

from processes import seconds_to_end, seconds_to_line
from table import Row, Section
from timing import Sample, interleaved

TITLE = "start of a process"
METHODS = ("mix", "U-AOS-FW")
AIM = 1.5
# The callback hears of the initial population too; the first generation is the one after it.
FIRST_GENERATION = """
from uaos import minimize

def first(state):
    if state.generation >= 1:
        print("ready", flush=True)
        return True

minimize(lambda x: x.dot(x), [(-5, 5)] * 20, method={method!r}, seed=1, callback=first)
"""


def run(quick: bool) -> Section:
    cold = {}
    with tempfile.TemporaryDirectory() as cache:
        for method in METHODS:
            with tempfile.TemporaryDirectory() as empty:
                cold[method] = Sample((_first_generation(method, empty),))
            _first_generation(method, cache)  # fills the cache for the processes after it
        contenders = {m: lambda m=m: _first_generation(m, cache) for m in METHODS}
        contenders["import"] = lambda: seconds_to_end("-c", "import uaos", cache=cache)
        contenders["methods"] = lambda: seconds_to_end("-m", "uaos", "methods", cache=cache)
        contenders["python"] = lambda: seconds_to_end("-c", "pass")
        contenders["numba"] = lambda: seconds_to_end("-c", "import numba")
        found = interleaved(contenders, rounds=3 if quick else 9)
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
        "20-D sphere; the two last rows to the end of the process. The cache is a directory of the "
        "benchmark's own; with an empty one the kernels are compiled."
    )
    return Section(TITLE, how, tuple(rows))


def _first_generation(method: str, cache: str) -> float:
    return seconds_to_line("-c", FIRST_GENERATION.format(method=method), cache=cache)
