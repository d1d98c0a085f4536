"""A command in a terminal of its own, as a newcomer sees it."""

import codecs
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

# Seconds after which a command is taken for stuck; kernels may have to be compiled.
PATIENCE = 600


class Stopped(NamedTuple):
    """How a command ended, and all that it showed."""

    returncode: int
    shown: str


def interrupted(
    *arguments: str,
    when: Callable[[str], object],
    cwd: Path | None = None,
    **environment: str,
) -> Stopped:
    """Run the command until `when` holds of what it showed, and press Ctrl-C."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "uaos", *arguments], stdout=follower, stderr=follower, cwd=cwd,
        env={**os.environ, "COLUMNS": "100", "TERM": "xterm", **environment},
    )  # fmt: skip
    os.close(follower)
    shown, decode = "", codecs.getincrementaldecoder("utf-8")("replace").decode
    deadline = time.monotonic() + PATIENCE
    while not when(shown) and time.monotonic() < deadline:
        shown += decode(os.read(leader, 65536))
    process.send_signal(signal.SIGINT)
    try:
        while chunk := os.read(leader, 65536):
            shown += decode(chunk)
    except OSError:  # the terminal closes when the program ends
        pass
    os.close(leader)
    return Stopped(process.wait(timeout=PATIENCE), shown)


def screen(shown: str, columns: int = 100) -> list[str]:
    """The lines that a terminal has in the end, after cursor movements and erased lines."""
    lines: dict[int, dict[int, str]] = {}
    x = y = 0
    for control, number, action, sign in re.findall(
        r"(\x1b\[\??([0-9;]*)([A-Za-z]))|(.)", shown, re.S
    ):
        if control:
            y -= int(number or 1) if action == "A" else 0
            if action == "K":
                lines[y] = {} if number == "2" else {k: c for k, c in lines[y].items() if k < x}
        elif sign == "\r":
            x = 0
        elif sign == "\n":
            y += 1
        else:
            x, y = (0, y + 1) if x >= columns else (x, y)
            lines.setdefault(y, {})[x] = sign
            x += 1
    return ["".join(lines.get(i, {}).values()) for i in range(max(lines) + 1)]
