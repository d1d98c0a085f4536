"""Compile kernels with numba when it pays off, and cache the compiled code.

A kernel is a function of numbers and plain arrays. Interpreted or compiled, it gives the same bits.
Numba takes most of a second to import, and seconds to compile, so a kernel has three stages:

1. It is interpreted, without numba, until all kernels of the process have taken `WARM_UP` seconds.
2. It is interpreted until it has taken `PATIENCE` seconds of a run (the share `SHORT` of that once
   all kernels have taken `LONG` seconds of the run), or `RUNS` times that over several runs. This
   stage is left out if numba's cache has the kernel.
3. It is compiled.

With a `LARGE` argument a kernel is compiled at once. Kernels that an interpreted one calls are part
of it. Only numba's public interface is used; where a version lacks part of it, the second stage is
left out, and kernels are compiled by plain `numba.njit(cache=True)`.
"""

import glob
import math
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from multiprocessing import parent_process
from pathlib import Path
from threading import Timer, local
from time import monotonic, perf_counter, sleep
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

#: Seconds for which a process interprets its kernels, all together, before it imports numba.
WARM_UP = 0.1
#: Seconds of a run for which a kernel is interpreted before it is compiled.
PATIENCE = 0.5
#: Over several runs, a kernel is compiled after this multiple of `PATIENCE`.
RUNS = 2
#: Seconds of a run for which kernels are interpreted, all together, before patience is short.
LONG = 3.0
#: Share of `PATIENCE` that is left then.
SHORT = 0.2
#: With more numbers than this in one of its arguments, a kernel is compiled at once.
LARGE = 20_000
#: Seconds of compiling before a terminal shows a message.
SILENCE = 2.0
#: Seconds for which a process waits for another one that compiles into the same cache.
LOCK_SECONDS = 20.0

# Raised by reading or writing a cache if a file is damaged or the disk is full.
_CACHE_ERRORS = (OSError, EOFError, pickle.UnpicklingError)


@cache
def _numba() -> Any:
    """Import numba, and let compiled code call a kernel of :func:`njit` by its dispatcher."""
    import numba
    from numba.extending import typeof_impl

    typeof: Any = numba.typeof  # mypy does not know its type

    @typeof_impl.register(FunctionType)
    def type_in_compiled_code(function: Any, _context: Any) -> Any:
        if not hasattr(function, "dispatcher"):
            return None
        dispatcher = function.dispatcher()
        if _is_lazy(dispatcher):
            _cache_folder(dispatcher)  # what is compiled with its caller is cached, too
        return typeof(dispatcher)

    return numba


def njit(function: Kernel) -> Kernel:
    """Return a kernel that is interpreted at first, and compiled when it pays off.

    The attribute `dispatcher` of the kernel is a function that returns its numba dispatcher.
    """
    caller = _Caller(function)

    @wraps(function)
    def kernel(*args: Any) -> Any:
        try:
            return caller.call(*args)
        except _CACHE_ERRORS:  # raised before the kernel has run: do without a cache
            caller.call = _dispatcher(function)
            return caller.call(*args)

    kernel.dispatcher = caller.dispatcher  # type: ignore[attr-defined]
    return kernel  # type: ignore[return-value]


class _Caller:
    """Calls a kernel by `call`, which is replaced as the kernel goes from one stage to the next."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        # Overflow, 0/0 and the like are masked where they matter, and compiled code does not warn.
        self._interpreted: Callable[..., Any] = np.errstate(all="ignore")(function)
        self._clock = _Clock()
        self.dispatcher = cache(lambda: _dispatcher(function))
        self.call: Callable[..., Any] = self._start

    def _start(self, *args: object) -> Any:
        """Interpret the first calls, then decide once how to make the others."""
        if _thread.interprets:
            return self._function(*args)
        if _all_kernels.of_all_runs < min(WARM_UP, PATIENCE) and not _is_large(args):
            return self._interpret(args)
        if _numba().config.DISABLE_JIT:
            self.call = self._interpreted
        elif not _is_lazy(self.dispatcher()):
            self.call = _dispatcher(self._function, cache=True)
        else:
            self.call = self._interpret_or_compile
            if _is_cached(self.dispatcher()):
                self._clock.add(math.inf)  # no more patience
        return self.call(*args)

    def _interpret_or_compile(self, *args: object) -> Any:
        """Interpret calls until compiling pays off, then compile."""
        if _thread.interprets:
            return self._function(*args)
        patience = PATIENCE if _all_kernels.of_run < LONG else SHORT * PATIENCE
        is_patient = self._clock.of_run < patience and self._clock.of_all_runs < RUNS * PATIENCE
        if is_patient and not _is_large(args):
            return self._interpret(args)
        _compile(self.dispatcher(), args)
        self.call = self.dispatcher()
        return self.call(*args)

    def _interpret(self, args: tuple[object, ...]) -> Any:
        """Interpret the kernel, and add the time that it takes to the clocks."""
        begin = perf_counter()
        _thread.interprets = True
        try:
            return self._interpreted(*args)
        finally:
            _thread.interprets = False
            seconds = perf_counter() - begin
            self._clock.add(seconds)
            _all_kernels.add(seconds)


def _is_lazy(dispatcher: Any) -> bool:
    """Return whether the dispatcher has what caching on demand needs."""
    return all(hasattr(dispatcher, name) for name in ("enable_caching", "stats"))


def _dispatcher(function: Callable[..., Any], *, cache: bool = False) -> Any:
    return _numba().njit(nogil=True, error_model="numpy", cache=cache)(function)


# When to compile

_runs = 0  # begun so far


class _Clock:
    """Seconds for which kernels have been interpreted, in this run and in all runs."""

    def __init__(self) -> None:
        self._run, self._seconds, self.of_all_runs = _runs, 0.0, 0.0

    @property
    def of_run(self) -> float:
        return self._seconds if self._run == _runs else 0.0

    def add(self, seconds: float) -> None:
        self._run, self._seconds = _runs, self.of_run + seconds
        self.of_all_runs += seconds


_all_kernels = _Clock()


class _Thread(local):
    """State of a thread."""

    #: Whether a kernel is being interpreted.
    interprets = False


_thread = _Thread()


def begin_run() -> None:
    """Set the clocks of a run to 0, so that a second run like the first compiles nothing more."""
    global _runs
    _runs += 1


@contextmanager
def at_once() -> Iterator[None]:
    """Compile kernels at their first call, as for a measurement of their speed."""
    global PATIENCE
    before, PATIENCE = PATIENCE, 0.0
    try:
        yield
    finally:
        PATIENCE = before


def _is_large(args: tuple[object, ...]) -> bool:
    for value in args:  # noqa: SIM110 (a generator takes three times as long)
        if type(value) is np.ndarray and value.size > LARGE:
            return True
    return False


def _is_cached(dispatcher: Any) -> bool:
    """Return whether numba's cache has an index of the kernel, even an outdated one."""
    folder = _cache_folder(dispatcher)
    if folder is None:
        return False
    function = dispatcher.py_func
    name = function.__qualname__.replace("<", "").replace(">", "")
    place = f"{name}-{function.__code__.co_firstlineno}."
    return any(Path(folder).glob(f"*.{glob.escape(place)}*.nbi"))


# Compiling

_seconds = 0.0  # spent on compiling so far


def _compile(dispatcher: Any, args: tuple[object, ...]) -> None:
    """Load the code for arguments of these types from the cache, or compile and cache it."""
    global _seconds
    start = monotonic()
    with _announced(), _locked(_cache_folder(dispatcher)):
        dispatcher.compile(tuple(map(_numba().typeof, args)))
    _seconds += monotonic() - start


@contextmanager
def _announced() -> Iterator[None]:
    """Announce the compiler in a terminal, after `SILENCE` seconds of compiling in all."""
    if _seconds >= SILENCE or parent_process() is not None or not sys.stderr.isatty():
        yield
        return
    timer = Timer(SILENCE - _seconds, _announce)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _announce() -> None:
    print("compiling, once …", file=sys.stderr, flush=True)


# The cache


def _cache_folder(dispatcher: Any) -> str | None:
    """Enable caching, and return numba's cache folder of the kernel, or None.

    This is done at the first call of a kernel, not at its definition, because numba tries to write
    to the folder.
    """
    if dispatcher.stats.cache_path is None:
        with suppress(RuntimeError):  # no folder can be written to
            try:
                dispatcher.enable_caching()
            except RuntimeError:
                ensure_cache_dir()
                dispatcher.enable_caching()
    return dispatcher.stats.cache_path  # type: ignore[no-any-return]


def ensure_cache_dir() -> None:
    """Choose a temporary cache folder, for when numba finds no writable one.

    On clusters and in containers, the folders of the package and of the user may be read-only. As
    the folder holds code, only the user may write to it. Child processes use the same folder.
    """
    folder = Path(tempfile.gettempdir()) / f"uaos-{_user()}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not _is_private(folder):
        folder = Path(tempfile.mkdtemp(prefix="uaos-"))
    _numba().config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(folder)


def _is_private(folder: Path) -> bool:
    """Return whether only the user can write to or replace the folder."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return status.st_uid == _user() and folder.is_dir() and not status.st_mode & 0o077


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else -1


@contextmanager
def _locked(folder: str | None) -> Iterator[None]:
    """Let one process at a time compile into a cache.

    Numba replaces files as a whole, but two processes that add code for different types at the same
    time may use the same file name. Where files cannot be locked, processes do not wait. One that
    waits for `LOCK_SECONDS` (the other may be suspended) raises TimeoutError, and so does without
    the cache.
    """
    handle = -1
    with suppress(OSError):
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            handle = os.open(Path(folder) / "uaos.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        start = monotonic()
        while handle >= 0 and _is_held(handle):
            if monotonic() - start > LOCK_SECONDS:
                raise TimeoutError("another process has locked the cache")
            sleep(0.02)
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def _is_held(handle: int) -> bool:
    """Lock a file; return whether another process has the lock."""
    with suppress(OSError, ImportError):
        import fcntl  # not on Windows

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
