"""One line to the user when the kernels are about to be compiled."""

import sys
from pathlib import Path

from uaos.optimizers.de import kernels

_announced = False


def compiled_before() -> bool:
    """Whether numba's cache holds the kernels as they now stand (or they are not compiled at all).

    Looked up by file name and age. A cache that is there but was written by another version of
    numba counts as one, though it will not be used.
    """
    stats = getattr(kernels.propose, "stats", None)
    if stats is None:  # NUMBA_DISABLE_JIT
        return True
    source = Path(kernels.__file__).stat().st_mtime
    index = Path(stats.cache_path).glob("kernels.propose-*.nbi")
    return any(file.stat().st_mtime >= source for file in index)


def announce() -> None:
    """Say on stderr, once in a process, that the first run takes longer."""
    global _announced
    if not _announced:
        _announced = True
        if not compiled_before():
            print("uaos: compiling its kernels, once; later runs find them cached", file=sys.stderr)
