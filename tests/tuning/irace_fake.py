"""A stand-in for Rscript that replays a recorded session of irace, for machines without R.

In the recording, a line that begins with "> " is a run that irace asked for; runs that follow each
other are one batch. The rest was printed.
"""

import os
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

RECORDING = Path(__file__).parents[1] / "data" / "irace-3.5.txt"


def session() -> Iterator[str | list[list[str]]]:
    """The printed lines, and the batches as rows of fields."""
    lines = RECORDING.read_text().splitlines()
    for is_run, group in groupby(lines, key=lambda line: line.startswith("> ")):
        if is_run:
            yield [line[2:].split("\t") for line in group]
        else:
            yield from group


def replay() -> None:
    mode = os.environ.get("FAKE_IRACE", "")
    batches = 0
    for part in session():
        if isinstance(part, str):
            print(part, flush=True)
            continue
        batches += 1
        if mode == "fails" and batches == 2:
            print("Error: == irace == All is\n lost!\nExecution halted", file=sys.stderr)
            sys.exit(1)
        if mode == "dies" and batches == 2:
            os.kill(os.getpid(), 9)
        print("\n".join([f"@uaos {len(part)}", *map("\t".join, part)]), flush=True)
        if not all(sys.stdin.readline() for _ in part):
            sys.exit(3)


if __name__ == "__main__":
    if "-e" in sys.argv:
        print(os.environ.get("FAKE_VERSION", "3.5"), end="")
    else:
        replay()
