"""Files that appear whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from uaos.errors import InvalidFile


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A place to write to, beside `path`, whose file then takes the place of what stood there.

    If anything goes wrong before, what stood there stays, and nothing is left behind. The file is
    on the disk before it takes its place: a power cut leaves the old one or the new one. Links are
    followed, and what is no file (a device, a pipe) is written to as it is.
    """
    target = Path(path).resolve()
    special = target.exists() and not target.is_file()
    part = target if special else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        if not special:
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, target)
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        if not special:
            part.unlink(missing_ok=True)
