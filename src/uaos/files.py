"""Read text and TOML; write files atomically, and never over files of other programs."""

import contextlib
import errno
import json
import os
import re
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from uaos.errors import InvalidFile, InvalidParameter, shortened
from uaos.text import join_names


def as_path(path: object, name: str = "path") -> Path:
    """Return a path that was passed as the argument `name`; refuse invalid file names."""
    try:
        place = Path(path)  # type: ignore[arg-type]
        os.stat(place)
    except (TypeError, ValueError):  # a NUL, or a part of a character
        usable = False
    except OSError as error:
        usable = error.errno not in (errno.ENAMETOOLONG, errno.ELOOP)
    else:
        usable = True
    if usable:
        return place
    raise InvalidParameter(
        f"{name} is {shortened(path, 80)}; expected a string or path that can be the name of a "
        "file", name=name, value=path,
    )  # fmt: skip


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and move the file written there to `path` at the end.

    After an error the former file is unchanged and the temporary one is removed. The file is
    flushed to disk before it is moved: a power failure leaves the old file or the new one. Links
    are followed; devices and pipes are written to directly.
    """
    target = as_path(path).resolve()
    special = os.path.exists(target) and not target.is_file()
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
            with contextlib.suppress(OSError):  # it does not exist, or its name is too long
                part.unlink()


@contextlib.contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder beside `path`, and move it to `path`, which is new, at the end."""
    target = as_path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.mkdir(parents=True)
        yield part
        part.rename(target)
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be written ({error.strerror})") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


#: The largest text file that is read, in bytes.
LARGEST_TEXT = 2**24


def read_text(path: Path, kind: str, largest: int = LARGEST_TEXT) -> str:
    """Return the text of a file; `kind`, such as "a TOML file", is for the error message."""
    try:
        with open(path, "rb") as file:
            content = file.read(largest + 1)
        if len(content) > largest:
            raise InvalidFile(f"{path}: larger than the {largest:,} bytes that {kind} may have")
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        raise InvalidFile(f"{path}: file not found; check the path") from None
    except IsADirectoryError:
        raise InvalidFile(f"{path} is a folder; expected {kind}") from None
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InvalidFile(f"{path}: not a text file in UTF-8; expected {kind}") from None


def toml_text(data: Mapping[str, object]) -> str:
    """Return plain values, lists and mappings as TOML; strings and numbers are written as JSON."""
    lines = [f"{k} = {_toml_value(v)}" for k, v in data.items() if not isinstance(v, Mapping)]
    for name, table in data.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{name}]"]
            lines += [f"{k} = {_toml_value(v)}" for k, v in table.items()]
    return "\n".join(lines) + "\n"


def write_toml(data: Mapping[str, object], path: str | os.PathLike[str] | None) -> str:
    """Return data as TOML, and write it to `path` unless that is None."""
    text = toml_text(data)
    if path is not None:
        with whole_file(path) as part:
            part.write_text(text, encoding="utf-8")
    return text


def _toml_value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k} = {_toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml_value(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def read_toml(source: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a TOML file or of a TOML string of several lines."""
    inline = isinstance(source, str) and "\n" in source
    text = str(source) if inline else read_text(as_path(source), "a TOML file", _LARGEST_TOML)
    try:
        _check_size(text)
        return tomllib.loads(text)
    except (RecursionError, ValueError) as error:
        # Beyond syntax errors: invalid dates and numbers, too deep a nesting.
        name = "the text" if inline else source
        raise InvalidFile(f"{name}: not readable as TOML ({error})") from error


# Every part of a dotted key is a mapping, which takes about a hundred times its bytes.
_LARGEST_TOML, _DEEPEST = 2**18, 32


def _check_size(text: str) -> None:
    """Refuse a text that would take much memory as TOML."""
    if len(text) > _LARGEST_TOML:
        raise ValueError(f"larger than {_LARGEST_TOML:,} characters")
    words = re.split(r"[\n=,\[\]{}]", text.translate({ord(" "): None, ord("\t"): None}))
    if any(word.count(".") > _DEEPEST for word in words):
        raise ValueError(f"a key of more than {_DEEPEST} parts")


#: Marks files that uaos wrote, near their beginning or end.
MARK = "made with uaos"

_STORE = b"SQLite format 3\x00"
# Bytes at both ends that may hold the mark, in the metadata; text files begin with it.
_NEAR, _TEXT = 4096, (".md", ".markdown", ".txt", ".tex")


def check_output(
    path: str | os.PathLike[str],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    suffixes: Iterable[str] = (),
    columns: str = "",
    overwrite: bool = False,
) -> Path:
    """Refuse a path that must not be written, before any work is done.

    A new file may be written, and one that uaos wrote before: it has the mark or, as CSV, the same
    first line `columns`. Files that are read (`inputs`) and stores are never replaced, other files
    only with `overwrite`. Without `suffixes` any suffix is allowed.
    """
    place = as_path(path, "output")
    folder = place.absolute().parent
    if place.is_dir() or not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise _refused(place, "cannot be written; choose a file in a folder that exists")
    endings = tuple(suffixes)
    if endings and place.suffix.lower() not in endings:
        raise _refused(place, f"must end in {join_names(endings, 'or')}")
    if any(_is_same(place, as_path(source)) for source in inputs):
        raise _refused(place, "is one of the inputs; choose another file")
    if not place.is_file():
        return place
    content = _both_ends(place)
    if content.startswith(_STORE):
        raise _refused(place, "is a store, which is never replaced; choose another file")
    if content and not overwrite and not _is_ours(place, content, columns):
        raise _refused(place, "was not written by uaos; choose another file, or add --overwrite")
    return place


def _refused(place: Path, why: str) -> InvalidParameter:
    return InvalidParameter(f"output {place} {why}", name="output", value=str(place))


def _both_ends(place: Path) -> bytes:
    """Return the first and the last bytes of a file, where a mark may be."""
    with open(place, "rb") as file:
        head = file.read(_NEAR)
        file.seek(max(file.tell(), os.stat(place).st_size - _NEAR))
        return head + file.read()


def _is_ours(place: Path, content: bytes, columns: str) -> bool:
    if columns:
        return content.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r") == columns
    near = content[:64] if place.suffix.lower() in _TEXT else content[:_NEAR] + content[-_NEAR:]
    return MARK.encode() in near


def check_folder(path: str | os.PathLike[str]) -> Path:
    """Refuse a path that exists and is not a folder."""
    place = as_path(path, "folder")
    if place.exists() and not place.is_dir():
        raise InvalidParameter(
            f"{place} is not a folder; choose a folder, which may be new", name="folder",
            value=str(place),
        )  # fmt: skip
    return place


def _is_same(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:
        return first.absolute() == second.absolute()
