"""Numba's compiler, with a folder for what it compiled wherever there is one to write to."""

import os
import tempfile
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import config
from numba.misc import appdirs

__all__ = ["njit"]

# Made by numba as it is imported, unknown to mypy.
_settings: Any = config


def keep_somewhere() -> None:
    """Give numba a folder of ours if it would find none, for it refuses to work without.

    It looks beside the source and in the user's cache; on clusters and in containers both may be
    read-only. What is kept there is code, so the folder must be the user's own. The processes that
    this one starts use the same.
    """
    if _settings.CACHE_DIR or any(map(_writable, usual_folders())):
        return
    folder = Path(tempfile.gettempdir()) / f"uaos-{_user()}"
    if not (_writable(folder) and _own(folder)):
        folder = Path(tempfile.mkdtemp(prefix="uaos-"))
    _settings.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(folder)


def usual_folders() -> tuple[Path, Path]:
    """Where numba looks for a place by itself."""
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
    """Whether nobody else may write there, or put something in its place."""
    found = folder.lstat()
    return found.st_uid == _user() and not (folder.is_symlink() or found.st_mode & 0o077)


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else -1


keep_somewhere()
