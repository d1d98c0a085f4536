"""Where units run: worker processes of this machine, a Dask cluster, or any executor."""

import logging
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import active_children, connection, get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import Any, Generic, Protocol, TypeVar

from uaos.errors import InvalidParameter, UaosError, in_one_line, shortened
from uaos.experiments.provenance import versions
from uaos.extras import optional
from uaos.loading import load_source, loaded_files
from uaos.problems import Problem
from uaos.runs.callers import executor_workers
from uaos.runs.workers import ctrl_c_held_back
from uaos.text import count

R = TypeVar("R")


class WorkersLost(UaosError):
    """No workers are left to run units; finished runs are in the store."""


class WorkerPool(Protocol):
    """Interface of the pools on which the coordinator runs units."""

    #: How many units may be submitted at a time.
    window: int
    #: Whether the death of a worker loses only its own unit.
    isolating: bool

    def submit(self, work: Callable[..., R], *arguments: object) -> "Future[R]":
        """Run `work` on a worker."""

    def deaths(self, future: "Future[R]", error: BaseException) -> int:
        """Return how often a worker died running a unit; 0 if the pool lost the unit otherwise.

        :data:`NEVER_BEGUN` if the worker died before it could begin.
        """

    def repair(self) -> None:
        """Replace broken workers; raise :class:`WorkersLost` if that is impossible."""

    def check(self) -> None:
        """Raise :class:`WorkersLost` if running units will never end; called periodically."""

    def close(self, *, finished: bool) -> None:
        """Shut the pool down, abandoning units that are still running."""


#: Returned by :meth:`WorkerPool.deaths` for a unit whose worker died while it was starting.
NEVER_BEGUN = -1

# Consecutive failed starts allowed per worker.
_STARTS = 3


class RemoteCall(Generic[R]):
    """A call for a worker, which first loads the users' files from their content.

    A function or a class of such a file can only be unpickled where the file was loaded.
    """

    def __init__(self, work: Callable[..., R], arguments: tuple[object, ...]) -> None:
        self._call = work, arguments

    def __call__(self) -> R:
        """Make the call."""
        return self._call[0](*self._call[1])

    def __reduce__(self) -> tuple[object, ...]:
        return _unpacked, (loaded_files(), pickle.dumps(self._call))


def _unpacked(files: tuple[tuple[str, str], ...], call: bytes) -> RemoteCall[object]:
    """Return the call that was sent; one that raises :class:`WorkersLost` if it cannot be read."""
    try:
        for file, source in files:
            load_source(file, source)
        return RemoteCall(*pickle.loads(call))
    except Exception as error:  # whatever a user's file or class raises
        return RemoteCall(_refuse, (in_one_line(error),))


def _refuse(why: str) -> None:
    raise WorkersLost(
        f"a worker cannot load the problem or the method that it got ({why}). Make what they "
        "import available to the workers, then run the same command again"
    )


class LocalPool:
    """Processes of this machine, one executor each, so that a dying process loses only one unit.

    They are spawned, not forked: compiled code may have threads, which a fork would break.
    """

    isolating = True

    def __init__(self, jobs: int) -> None:
        self.window = jobs
        self._context = get_context("spawn")
        self._failed_starts = 0  # in a row
        self._slots = [self._start() for _ in range(jobs)]

    def _start(self) -> "_Slot":
        executor = ProcessPoolExecutor(1, self._context, initializer=_start_worker)
        others = active_children()
        with ctrl_c_held_back(), _one_thread_each():
            ready = executor.submit(_ready)
        return _Slot(executor, ready, [p for p in active_children() if p not in others])

    def submit(self, work: Callable[..., R], *arguments: object) -> "Future[R]":
        """Run `work` on a worker that is free."""
        slot = next(slot for slot in self._slots if slot.idle)
        task = RemoteCall(work, arguments)
        try:
            slot.current = slot.executor.submit(task)
        except BrokenExecutor:  # its process died, now or at its last unit
            slot.executor.shutdown(wait=False)
            self._slots.remove(slot)
            slot = self._start()
            self._slots.append(slot)
            slot.current = slot.executor.submit(task)
        return slot.current

    def deaths(self, future: "Future[R]", error: BaseException) -> int:
        """Return 1 if the worker died while it ran the unit."""
        if not isinstance(error, BrokenExecutor):
            return 0
        slot = next((slot for slot in self._slots if slot.current is future), None)
        if slot is not None and slot.ready.done() and slot.ready.exception() is not None:
            self._failed_starts += 1
            return NEVER_BEGUN
        self._failed_starts = 0
        return 1

    def repair(self) -> None:
        """Check that processes can be started at all; nothing else needs repair."""
        if any(slot.ready.done() and slot.ready.exception() is None for slot in self._slots):
            self._failed_starts = 0
        if self._failed_starts >= _STARTS * self.window:
            raise WorkersLost(
                f"{self._failed_starts} worker processes in a row died while they were starting. "
                "Their own messages, above, may say why. A script that runs an experiment must do "
                "so under `if __name__ == '__main__':`; a machine may have too little memory for "
                f"{count(self.window, 'process', 'processes')} (--jobs)"
            )

    def check(self) -> None:
        """Do nothing: a process that dies ends its future."""

    def close(self, *, finished: bool) -> None:
        """End the processes, at once if units are still running."""
        for slot in self._slots:
            if not finished and not slot.idle:
                for process in slot.processes:  # one, even if it is still starting
                    process.kill()
        for slot in self._slots:
            slot.executor.shutdown(wait=True, cancel_futures=True)


# Environment variables that linear algebra libraries read when they are loaded.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Limit linear algebra to one thread in processes started here, unless the user set a limit."""
    unset = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(unset, "1"))
    try:
        yield
    finally:
        for name in unset:
            del os.environ[name]


@dataclass(eq=False)
class _Slot:
    """One worker process."""

    executor: ProcessPoolExecutor
    ready: "Future[int]"  # done once it has started
    processes: list[BaseProcess]
    current: "Future[Any] | None" = None

    @property
    def idle(self) -> bool:
        return self.current is None or self.current.done()


def _ready() -> int:
    """Return the process identifier of a worker, which shows that it has started."""
    return os.getpid()


def _start_worker() -> None:
    """Leave Ctrl-C to the coordinator, and end if the coordinator is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


class SharedPool:
    """Any executor. If the death of a worker breaks it, a function must make a new one."""

    isolating = False

    def __init__(
        self, executor: Executor | Callable[[], Executor], window: int | None = None
    ) -> None:
        self._make = None if isinstance(executor, Executor) else executor
        self._executor = executor if isinstance(executor, Executor) else executor()
        self.window = window or 2 * executor_workers(self._executor)

    def submit(self, work: Callable[..., R], *arguments: object) -> "Future[R]":
        """Run `work` on a worker."""
        task = RemoteCall(work, arguments)
        try:
            return self._executor.submit(task)
        except BrokenExecutor:
            self.repair()
            return self._executor.submit(task)

    def deaths(self, future: "Future[R]", error: BaseException) -> int:
        """Return 1 for an executor that broke."""
        return int(isinstance(error, BrokenExecutor))

    def repair(self) -> None:
        """Make a new executor if this one is broken and there is a function for it."""
        try:
            self._executor.submit(_ready)
            return
        except BrokenExecutor:
            pass
        if self._make is None:
            raise WorkersLost(
                "a worker died and broke the executor. Continue with a new one on the same store, "
                "or pass a function that makes executors instead of an executor"
            )
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor = self._make()

    def check(self) -> None:
        """Do nothing: executors end their futures themselves."""

    def close(self, *, finished: bool) -> None:
        """End the executor, unless it is the user's."""
        if self._make is not None:
            self._executor.shutdown(wait=finished, cancel_futures=True)


# Where Dask and what it is built on report errors of the connection.
_DASK_LOGGERS = ("distributed", "distributed.client", "distributed.core", "tornado", "asyncio")


class DaskPool:
    """A Dask cluster. Dask itself runs the tasks of a dead worker again, three times by default.

    Not `Client.get_executor()`: that reads a result and its status at two moments, and takes a
    result for an error if the worker that held it dies in between.
    """

    isolating = False

    def __init__(self, address: str) -> None:
        distributed = optional("distributed", "--dask")
        self._killed_worker = distributed.KilledWorker
        # Dask logs pages on a lost connection; the error below is one line.
        self._levels = {name: logging.getLogger(name).level for name in _DASK_LOGGERS}
        for name in _DASK_LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        # Made in two steps: a client that fails to start must be closed, or it logs errors when
        # Python exits.
        self._client = distributed.Client.__new__(distributed.Client)
        try:
            self._client.__init__(address, timeout=10, set_as_default=False)
        except (OSError, TypeError, ValueError) as error:
            self._leave(1)
            raise InvalidParameter(
                f"no Dask scheduler answers at {address} ({error}); start one, or correct the "
                "address", name="dask", value=address,
            ) from None  # fmt: skip
        self._remote: dict[Future[Any], Any] = {}
        try:
            self._check_versions(address)
            # Two for each: a worker need not wait for the coordinator.
            self.window = 2 * max(1, sum(self._client.nthreads().values()))
        except OSError as error:
            self._leave(5)
            raise _scheduler_lost() from error
        except UaosError:
            self._leave(5)
            raise

    def _check_versions(self, address: str) -> None:
        """Refuse workers with other versions, which might give other results."""
        try:
            installed = self._client.run(versions)
        except OSError:  # the connection, not a worker
            raise
        except Exception as error:
            wrong = f"uaos cannot be imported on the cluster at {address} ({error!r}); install it"
        else:
            ours = {k: v for k, v in versions().items() if k not in ("python", "cma")}
            other = [
                f"{worker} has {package} {theirs.get(package)} (here {version})"
                for worker, theirs in installed.items()
                for package, version in ours.items()
                if theirs.get(package) != version
            ]
            if not other:
                return
            wrong = (
                f"the workers at {address} have other versions, and would give other results: "
                f"{', '.join(other[:4])}. Install the versions that are used here"
            )
        raise InvalidParameter(wrong, name="dask", value=address)

    def submit(self, work: Callable[..., R], *arguments: object) -> "Future[R]":
        """Run `work` somewhere in the cluster."""
        local: Future[R] = Future()
        local.set_running_or_notify_cancel()
        try:
            remote = self._client.submit(RemoteCall(work, arguments), pure=False)
        except Exception:
            self.repair()
            raise
        self._remote[local] = remote
        remote.add_done_callback(lambda _: self._fetch(local))
        return local

    def _fetch(self, local: "Future[Any]") -> None:
        remote = self._remote.pop(local, None)
        if remote is None:  # the pool was closed
            return
        try:
            local.set_result(remote.result())
        except Exception as error:
            local.set_exception(error)

    def deaths(self, future: "Future[R]", error: BaseException) -> int:
        """Return 3 for a task that Dask gave up: by default it repeats a task three times."""
        return 3 if isinstance(error, self._killed_worker) else 0

    def repair(self) -> None:
        """Check that the scheduler is there; Dask replaces its workers itself."""
        if self._client.status != "running":
            raise _scheduler_lost()

    def check(self) -> None:
        """Check that the scheduler is there."""
        self.repair()

    def close(self, *, finished: bool) -> None:
        """Cancel what was submitted, and disconnect from the cluster."""
        left = list(self._remote.values())
        self._remote.clear()
        if left and self._client.status == "running":
            with suppress(OSError):  # the scheduler died just now
                self._client.cancel(left, force=True)
        self._leave(5)

    def _leave(self, timeout: float) -> None:
        try:
            # All results have arrived: nothing is lost if closing fails or times out.
            with suppress(OSError):
                self._client.close(timeout=timeout)
        finally:
            for name, level in self._levels.items():
                logging.getLogger(name).setLevel(level)


def _scheduler_lost() -> WorkersLost:
    return WorkersLost(
        "the connection to the Dask cluster is lost. What was finished is in the store; start the "
        "scheduler and its workers, then run the same command again"
    )


def check_pool(executor: object, jobs: int | None) -> None:
    """Check the executor and the number of jobs before anything is written."""
    if executor is not None and not (isinstance(executor, Executor) or callable(executor)):
        raise InvalidParameter(
            f"executor is {shortened(executor)}; expected a concurrent.futures.Executor, or a "
            "function that makes one", name="executor", value=executor,
        )  # fmt: skip
    if jobs is not None and (type(jobs) is not int or not 1 <= jobs <= 1024):
        raise InvalidParameter(
            f"jobs is {shortened(jobs)}; expected a number of processes from 1 to 1024",
            name="jobs", value=jobs,
        )  # fmt: skip


def check_picklable(problems: Iterable[Problem], configurations: Mapping[str, object]) -> None:
    """Check that everything can be sent to other processes, before anything is written."""
    named: list[tuple[str, object]] = [
        (f"the problem {problem.name!r}", problem) for problem in problems
    ]
    named += [
        (f"the method {name!r}", configuration) for name, configuration in configurations.items()
    ]
    for name, value in named:
        try:
            pickle.dumps(value)
        except Exception as error:  # whatever a user's object raises
            raise UaosError(
                f"{name} cannot be sent to worker processes ({error}). Define its functions at the "
                "top level of a module, or put the problems into a suite file (uaos.suite)"
            ) from None


def pool_for(
    executor: Executor | Callable[[], Executor] | None,
    jobs: int | None,
    dask: str | None,
    units: int,
) -> WorkerPool:
    """Return the pool that the caller asked for, no larger than the number of units."""
    if dask is not None:
        return DaskPool(dask)
    if executor is not None:
        return SharedPool(executor)
    return LocalPool(min((os.cpu_count() or 1) if jobs is None else jobs, units))
