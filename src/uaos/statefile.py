"""Saved state: a tree of plain values and arrays in one file, written atomically.

The file is a line that names the format, a SHA-256 checksum of what follows, the length of a JSON
header, the header (kind, version, state, and the types and shapes of the arrays), and the bytes of
the arrays. Nothing is compressed or pickled: opening a file runs no code. Arrays take as much
memory as in the file, the header at most about 150 MB. Whatever is wrong with it raises
:class:`~uaos.errors.InvalidFile`.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from uaos.errors import InvalidFile, UaosError, shortened
from uaos.files import as_path, whole_file

#: A tree of numbers, strings, None, arrays, and lists and dicts of these.
State = dict[str, Any]
SavedState = Mapping[str, Any]
_Array = NDArray[np.generic]

_MAGIC = b"uaos saved state 1\n"
_LENGTH = 8
_ARRAY = "__array__"
#: Types of arrays, in little-endian order: flags, integers and floats.
_DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
#: The largest size of a file, in bytes.
LARGEST = 2**31
#: The largest size of the header: as objects, its values take about thirty times their bytes.
LARGEST_HEADER = 2**22

#: The bit generators of NumPy that a saved run may name.
BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (
        np.random.SFC64, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.MT19937,
    )
}  # fmt: skip


def write(path: str | os.PathLike[str], kind: str, version: int, state: State) -> None:
    """Write `state` to `path`; an existing file is replaced only by a complete one."""
    arrays: list[_Array] = []
    header: State = {"kind": kind, "version": version, "state": _pack(state, arrays)}
    header["arrays"] = [{"type": a.dtype.str, "shape": a.shape} for a in arrays]
    text = json.dumps(header).encode()
    if len(text) > LARGEST_HEADER:
        raise TypeError(f"a state of more than {LARGEST_HEADER} bytes besides its arrays")
    body = b"".join([len(text).to_bytes(_LENGTH, "little"), text, *(a.tobytes() for a in arrays)])
    with whole_file(path) as part:
        part.write_bytes(_MAGIC + hashlib.sha256(body).digest() + body)


def read(path: str | os.PathLike[str], kind: str, version: int) -> State:
    """Read a file of :func:`write`, or raise :class:`InvalidFile`."""
    place = as_path(path)
    try:
        header, arrays = _checked(place)
        if header["kind"] != kind:
            raise InvalidFile(f"{path}: holds a {header['kind']}; expected a {kind}")
        if header["version"] != version:
            age = "a newer" if header["version"] > version else "an older"
            raise InvalidFile(
                f"{path}: written in format {header['version']} by {age} uaos; this one reads "
                f"{version}. Update uaos, or save again with this version"
            )
        state: State = _unpack(header["state"], arrays)
    except FileNotFoundError:
        raise InvalidFile(f"{path}: file not found; check the path") from None
    except InvalidFile:
        raise
    except Exception as error:
        raise InvalidFile(
            f"{path}: not a file saved by uaos, or damaged ({type(error).__name__})"
        ) from error
    return state


@contextmanager
def rebuilding(
    path: str | os.PathLike[str], *, except_for: tuple[type[UaosError], ...] = ()
) -> Iterator[None]:
    """Turn any error while an object is rebuilt from a file into :class:`InvalidFile`.

    Errors of the types `except_for`, which the file did not cause, pass unchanged.
    """
    try:
        yield
    except except_for:
        raise
    except UaosError as error:
        raise InvalidFile(f"{path}: {error}") from error
    except Exception as error:
        raise InvalidFile(f"{path}: damaged, {error!r}") from error


def check_kinds(saved: object, fresh: object, name: str = "state") -> None:
    """Refuse a saved state whose values have other types than those of a new one.

    None may become anything but a string, and anything may become None.
    """
    if saved is None or (fresh is None and not isinstance(saved, str)):
        return
    if isinstance(saved, dict) and isinstance(fresh, dict):
        for key in saved.keys() & fresh.keys():
            check_kinds(saved[key], fresh[key], key)
    elif _kind(saved) != _kind(fresh):
        raise InvalidFile(f"{name} is {shortened(saved, 80)}; expected {_kind(fresh)}")


def _kind(value: object) -> str:
    kinds = {
        "an array": np.ndarray, "a mapping": dict, "a list": list | tuple, "a string": str,
        "a number": int | float | np.generic,
    }  # fmt: skip
    return next((name for name, kind in kinds.items() if isinstance(value, kind)), "no string")


def new_generator(name: object) -> np.random.Generator:
    """Return a new generator of the kind that a file names."""
    if not isinstance(name, str) or name not in BIT_GENERATORS:
        raise InvalidFile(
            f"the generator is {shortened(name)}; expected one of {', '.join(BIT_GENERATORS)}"
        )
    return np.random.Generator(BIT_GENERATORS[name]())


@runtime_checkable
class HasState(Protocol):
    """Part of a run that has a state of its own."""

    def state(self) -> State:
        """Return everything that changes during the run, as plain values and copies of arrays."""

    def restore(self, state: SavedState, /) -> None:
        """Continue from what :meth:`state` of a part with the same settings returned."""


class Stateful:
    """Part whose state is the attributes that `state_names` lists.

    The values are numbers, strings, None, arrays, lists and dicts of these, random generators,
    dataclasses, and further parts. A subclass lists those that its base classes do not.
    """

    state_names: ClassVar[tuple[str, ...]] = ()

    def _listed(self) -> list[str]:
        classes = reversed(type(self).__mro__)
        return [name for kind in classes for name in vars(kind).get("state_names", ())]

    def state(self) -> State:
        """Return everything that changes during the run, as plain values and copies of arrays."""
        return {name: _saved(getattr(self, name)) for name in self._listed()}

    def restore(self, state: SavedState) -> None:
        """Continue from what :meth:`state` of an object with the same settings returned."""
        for name in self._listed():
            setattr(self, name, _restored(getattr(self, name), state[name]))


def _saved(value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return value.bit_generator.state
    if isinstance(value, HasState):
        return value.state()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return copied(value)


def _restored(present: Any, saved: Any) -> Any:
    """Return what a value becomes; parts and generators change in place."""
    if isinstance(present, np.random.Generator):
        present.bit_generator.state = saved
        return present
    if isinstance(present, HasState):
        present.restore(saved)
        return present
    if is_dataclass(present) and not isinstance(present, type):
        return type(present)(**copied(saved))
    return copied(saved)


def copied(value: Any) -> Any:
    """Return a copy of a tree: of numbers, strings, arrays, and lists and dicts of these."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: copied(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [copied(v) for v in value]
    return value


def _checked(path: Path) -> tuple[State, list[_Array]]:
    """Return the header and the arrays of a file, after checks of sizes and checksum."""
    size = path.stat().st_size
    if size > LARGEST:
        raise InvalidFile(f"{path}: larger than the {LARGEST} bytes that a saved state may have")
    with open(path, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("foreign")
        checksum, head = file.read(hashlib.sha256().digest_size), file.read(_LENGTH)
        length = int.from_bytes(head, "little")
        if length > LARGEST_HEADER:
            raise ValueError("header")
        text = file.read(length)
        summed = hashlib.sha256(head + text)
        header: State = json.loads(text)
        if file.tell() + sum(map(_declared_bytes, header["arrays"])) != size:
            raise ValueError("array")
        arrays = [np.empty(layout["shape"], layout["type"]) for layout in header["arrays"]]
        for array in arrays:
            content = array.reshape(-1).view(np.uint8).data
            if file.readinto(content) != array.nbytes:
                raise ValueError("array")
            summed.update(content)
    if summed.digest() != checksum:
        raise ValueError("checksum")
    return header, arrays


def _declared_bytes(layout: State) -> int:
    """Return the size of an array that a header declares."""
    shape = layout["shape"]
    if layout["type"] not in _DTYPES or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError("array")
    return math.prod(shape) * np.dtype(layout["type"]).itemsize


def _pack(value: object, arrays: list[_Array]) -> object:
    if isinstance(value, np.ndarray):
        little = value.astype(value.dtype.newbyteorder("<"), order="C", copy=False)
        if little.dtype.str not in _DTYPES:
            raise TypeError(f"an array of type {value.dtype} cannot be saved")
        arrays.append(little)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(k): _pack(v, arrays) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(v, arrays) for v in value]
    return value


def _unpack(value: object, arrays: list[_Array]) -> Any:
    if isinstance(value, dict):
        if _ARRAY in value:
            return arrays[value[_ARRAY]]
        return {k: _unpack(v, arrays) for k, v in value.items()}
    if isinstance(value, list):
        return [_unpack(v, arrays) for v in value]
    return value
