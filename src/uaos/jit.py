"""Numba's compiler: what is worth it is compiled, and cached where that is possible."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import thread_time
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import config
from numba.core.caching import FunctionCache
from numba.misc import appdirs

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

#: How many seconds a kernel that is not in the cache is interpreted before it is compiled, which
#: takes several times as long. Short runs need no compiler: both give the same bits.
PATIENCE = 0.3
#: With more numbers than these in its arguments, it is compiled at once.
FEW = 20_000

# Set when numba is imported, so mypy does not know it.
_settings: Any = config


def keep_somewhere() -> None:
    """Set a cache folder if numba would not find one, because it fails without.

    Numba looks beside the source and in the user's cache; on clusters and in containers both may be
    read-only. The folder holds code, so nobody but the user may write to it. Child processes use
    the same folder.
    """
    if _settings.CACHE_DIR or any(map(_writable, usual_folders())):
        return
    folder = Path(tempfile.gettempdir()) / f"uaos-{_user()}"
    if not (_writable(folder) and _own(folder)):
        folder = Path(tempfile.mkdtemp(prefix="uaos-"))
    _settings.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(folder)


def usual_folders() -> tuple[Path, Path]:
    """Return the folders in which numba caches by default."""
    user_cache: str = appdirs.user_cache_dir("numba", False)  # type: ignore[no-untyped-call]
    return Path(__file__).parent / "__pycache__", Path(user_cache)


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _own(folder: Path) -> bool:
    """Return whether only the user can write to or replace the folder."""
    found = folder.lstat()
    return found.st_uid == _user() and not (folder.is_symlink() or found.st_mode & 0o077)


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else -1


keep_somewhere()


class _Cache(FunctionCache):
    """Numba's cache, without which a run goes on where files cannot be read or written."""

    def load_overload(self, *key: Any) -> Any:
        with suppress(OSError):
            return super().load_overload(*key)  # type: ignore[no-untyped-call]

    def save_overload(self, *entry: Any) -> None:
        with suppress(OSError):
            super().save_overload(*entry)  # type: ignore[no-untyped-call]


def njit(function: Kernel) -> Kernel:
    """Compile a kernel once it has proved worth it: see `PATIENCE`."""
    # Overflow, 0/0 and the like are masked where they matter, and compiled code does not warn.
    interpreted: Any = np.errstate(all="ignore")(function)
    if _settings.DISABLE_JIT:
        return interpreted  # type: ignore[no-any-return]
    kernel: Any = numba.njit(nogil=True, error_model="numpy")(function)
    kernel._cache = _Cache(function)  # type: ignore[no-untyped-call]
    compiled = kernel._compile_for_args
    cached: bool | None = None
    spent = 0.0

    def timed(*args: Any) -> Any:
        nonlocal spent
        start = thread_time()
        try:
            return interpreted(*args)
        finally:
            spent += thread_time() - start

    # Numba calls this for arguments of types for which it has no code, and then what it returns.
    def choose(*args: Any) -> Any:
        nonlocal cached
        if cached is None:
            cached = is_cached(kernel, args)
        if not cached and spent < PATIENCE and sum(np.size(a) for a in args) <= FEW:
            return timed
        return compiled(*args)

    kernel._compile_for_args = choose
    return kernel  # type: ignore[no-any-return]


def is_cached(kernel: Any, args: tuple[Any, ...] = ()) -> bool:
    """Whether numba's cache holds the kernel as it now stands, for these arguments or for any.

    Numba alone knows, and has no public way to ask; where it cannot be asked, the answer is yes.
    """
    try:
        entries = kernel._cache._cache_file._load_index()
        types = tuple(map(kernel.typeof_pyval, args))
        key = kernel._cache._index_key(types, kernel.targetctx.codegen())
    except Exception:
        return True
    return key in entries if args else bool(entries)


def is_compiled(kernel: Any) -> bool:
    """Whether a kernel has proved worth compiling, in this process or before."""
    return bool(getattr(kernel, "signatures", True)) or is_cached(kernel)


def linked(function: Callable[..., Any]) -> Any:
    """Compile, as `njit` does, a function that calls kernels of other modules.

    What is cached includes them, but numba would compile it anew only when the file of the
    function itself has changed, not when theirs has.
    """
    kernel: Any = njit(function)
    if hasattr(kernel, "_cache"):  # not so without numba's compiler
        kernel._cache._cache_file._source_stamp = _kernel_files()
    return kernel


@cache
def _kernel_files() -> tuple[tuple[float, int], ...]:
    """Time and size of the files with kernels that others call."""
    package = Path(__file__).parent
    files = [package / "optimizers" / "base.py"]
    for folder in ("selection", "optimizers/de"):
        files += sorted((package / folder).rglob("*.py"))
    return tuple((found.st_mtime, found.st_size) for found in map(os.stat, files))
