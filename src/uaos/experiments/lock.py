"""Lock of a store: one process writes at a time."""

import contextlib
import os
from pathlib import Path

from uaos.errors import InvalidFile, UaosError


class StoreInUse(UaosError):
    """Another process is writing to the store."""


class Lock:
    """Exclusive permission to write a store; the operating system revokes it if the process dies.

    Held on a file beside the store, as SQLite's own locks are lost when any handle of the store's
    file is closed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        while True:
            try:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                raise InvalidFile(f"{path}: cannot be written ({error.strerror})") from None
            if not _try_lock(self._file):
                os.close(self._file)
                raise StoreInUse(
                    f"{path}: another process is writing this store; wait for it, stop it, or use "
                    "another file"
                )
            # The last holder may have removed the file after we opened it; then try again.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._file), os.stat(self._path)):
                    return
            os.close(self._file)

    def release(self) -> None:
        """Release the lock."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            os.close(self._file)
            self._file = -1


def _try_lock(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
