"""Measure fresh Python processes."""

import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

HERE = Path(__file__).parent


def output_of(*arguments: str, cache: str | None = None) -> str:
    """Return what Python prints with these arguments, the first one a script or -c."""
    return _finished([sys.executable, *arguments], cache)


def seconds_to_end(*arguments: str, cache: str | None = None) -> float:
    """Return the seconds from starting Python with these arguments to its end."""
    start = perf_counter()
    _finished([sys.executable, *arguments], cache)
    return perf_counter() - start


def seconds_to_line(*arguments: str, cache: str | None = None) -> float:
    """Return the seconds from starting Python with these arguments to its first line."""
    start = perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=HERE, env=_environment(cache),
    ) as process:  # fmt: skip
        try:
            line = process.stdout.readline()
            seconds = perf_counter() - start
            errors = process.communicate()[1]
        except BaseException:
            process.kill()
            raise
    if not line:
        raise RuntimeError(f"a measured process failed:\n{errors}")
    return seconds


def _finished(command: list[str], cache: str | None = None) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=HERE, env=_environment(cache), check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"a measured process failed:\n{done.stderr}")
    return done.stdout


def _environment(cache: str | None) -> dict[str, str]:
    return dict(os.environ) | ({} if cache is None else {"NUMBA_CACHE_DIR": cache})
