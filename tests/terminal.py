"""A command in a terminal of its own, as a newcomer sees it."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Stopped(NamedTuple):
    """How a command ended, and all that it showed."""

    returncode: int
    shown: str


def interrupted(
    *arguments: str,
    when: Callable[[str], object],
    cwd: Path | None = None,
    patience: float = 60,
    ends_within: float = 30,
) -> Stopped:
    """Run the command until `when` holds of what it showed, and press Ctrl-C."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "uaos.cli", *arguments], stdout=follower, stderr=follower, cwd=cwd,
        env={**os.environ, "COLUMNS": "100", "TERM": "xterm"},
    )  # fmt: skip
    os.close(follower)
    shown = ""
    deadline = time.monotonic() + patience
    while not when(shown) and time.monotonic() < deadline:
        shown += os.read(leader, 65536).decode(errors="replace")
    process.send_signal(signal.SIGINT)
    try:
        while chunk := os.read(leader, 65536):
            shown += chunk.decode(errors="replace")
    except OSError:  # the terminal closes when the program ends
        pass
    os.close(leader)
    return Stopped(process.wait(timeout=ends_within), shown)
