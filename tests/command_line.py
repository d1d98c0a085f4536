"""Run the command line in this process, or several commands in another."""

import io
import json
import subprocess
import sys
from collections.abc import Sequence
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


# Runs commands one after the other; see `run_in_one_process`.
_COMMANDS = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout

if __name__ == "__main__":
    from uaos.cli import main

    report = []
    for words in json.loads(sys.argv[1]):
        sys.argv = ["uaos", *words]
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code or 0
        report.append((code, out.getvalue(), err.getvalue()))
    print(json.dumps(report))
"""


def run_in_one_process(
    commands: Sequence[Sequence[str]],
    folder: Path,
    *,
    before: str = "",
    environment: dict[str, str] | None = None,
) -> list[Done]:
    """Run commands one after the other in another process, which starts with code of its own."""
    script = folder / "commands.py"
    script.write_text(before + _COMMANDS)
    done = subprocess.run(
        [sys.executable, str(script), json.dumps(commands)],
        cwd=folder, capture_output=True, text=True, check=False, timeout=900,
        env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [Done(*one) for one in json.loads(done.stdout)]
