"""Run the command line in this process."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from uaos.cli import main

# A user's file with a reward.
OWN_REWARD = """
from dataclasses import dataclass
import uaos

@uaos.register
@dataclass(frozen=True)
class ShareOfBest(uaos.GenerationReward):
    def compute(self, memory):
        return memory.bests[0]
"""


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str, cwd: Path | None = None) -> Done:
    """The command in this process, which saves starting another one."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["uaos", *arguments])
        patch.chdir(cwd or Path.cwd())
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
            except SystemExit as end:
                code = end.code or 0
    return Done(int(code), out.getvalue(), err.getvalue())
