"""Signals that end the command `uaos`: no traceback while it is starting, no lock left behind."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

#: Signals that ask a program to end, beside Ctrl-C; Windows has no SIGHUP.
ENDING = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # fmt: skip


def handle_while_starting() -> None:
    """Let Ctrl-C end the process at once while the command imports what it needs."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def handle_from_now_on() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if _is_command() and signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    """Return whether this process is the command, and not a program that imports uaos."""
    script = Path(sys.argv[0]).stem if sys.argv else ""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and (script == "uaos" or sys.orig_argv[1:3] == ["-m", "uaos"])


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Turn signals that would end the process at once into SystemExit, so that files are closed.

    Signals that are ignored, as under `nohup`, or already handled are left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [number for number in ENDING if signal.getsignal(number) == signal.SIG_DFL]
    for number in handled:
        signal.signal(number, _exit)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _exit(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)
