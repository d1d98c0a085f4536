"""One line to the user when the kernels are about to be compiled."""

import sys
from typing import Any

from uaos.optimizers.de import kernels

_announced = False


def compiled_before() -> bool:
    """Whether numba's cache holds the kernels as they now stand (or they are not compiled at all).

    numba alone knows, and has no public way to ask; where it cannot be asked, the answer is yes.
    """
    kernel: Any = kernels.propose
    try:
        return bool(kernel._cache._cache_file._load_index())
    except Exception:
        return True


def announce() -> None:
    """Say on stderr, once in a process, that the first run takes longer."""
    global _announced
    if not _announced:
        _announced = True
        if not compiled_before():
            print("uaos: compiling its kernels, once; later runs find them cached", file=sys.stderr)
