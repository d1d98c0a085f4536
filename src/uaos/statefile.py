"""Saved state: a tree of plain values and arrays in one file, written whole or not at all.

The file is NumPy's `.npz`: the arrays under their own keys, and a JSON text with everything else,
the kind of the file and its format version. Nothing is pickled, so opening a file runs no code.
"""

import json
import os
import zipfile
from typing import Any

import numpy as np

from uaos.errors import InvalidFile
from uaos.files import whole_file

_HEADER = "uaos"
_ARRAY = "__array__"


def write(path: str | os.PathLike[str], kind: str, version: int, state: dict[str, Any]) -> None:
    """Write `state` to `path`; a file that stood there is replaced only by a complete one."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    header = {"kind": kind, "version": version, "state": _pack(state, arrays)}
    arrays[_HEADER] = np.array(json.dumps(header))
    # A file, not its path: NumPy would add a suffix to that.
    with whole_file(path) as part, open(part, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read(path: str | os.PathLike[str], kind: str, version: int) -> dict[str, Any]:
    """Read what :func:`write` wrote, or raise :class:`InvalidFile` saying what is wrong with it."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            header = json.loads(str(file[_HEADER]))
            found, found_version = header["kind"], header["version"]
            arrays = {name: file[name] for name in file.files if name != _HEADER}
    except FileNotFoundError:
        raise InvalidFile(f"{path}: there is no such file") from None
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidFile(
            f"{path}: not a file saved by uaos, or a damaged one ({type(error).__name__})"
        ) from error
    if found != kind:
        raise InvalidFile(f"{path}: holds a {found}, where a {kind} is expected")
    if not isinstance(found_version, int) or found_version > version:
        raise InvalidFile(
            f"{path}: written in format {found_version} by a newer uaos; this one reads up to "
            f"{version}. Update uaos, or save again with this version"
        )
    try:
        state: dict[str, Any] = _unpack(header["state"], arrays)
    except KeyError as error:
        raise InvalidFile(f"{path}: damaged, the array {error} is missing") from error
    return state


def _pack(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, np.ndarray):
        key = f"a{len(arrays)}"
        arrays[key] = value
        return {_ARRAY: key}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(k): _pack(v, arrays) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(v, arrays) for v in value]
    return value


def _unpack(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, dict):
        if _ARRAY in value:
            return arrays[value[_ARRAY]]
        return {k: _unpack(v, arrays) for k, v in value.items()}
    if isinstance(value, list):
        return [_unpack(v, arrays) for v in value]
    return value
