"""Saved state comes back as it was, or is refused; opening a file runs no code."""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from uaos import statefile
from uaos.errors import InvalidFile, InvalidParameter

STATE = {
    "numbers": [1, 2.5, None, True, "text", 2**100, float("inf")],
    "arrays": {
        "floats": np.array([[0.1, -0.0], [np.nan, np.inf]]),
        "scalar": np.array(3),
        "flags": np.array([True, False]),
        "none": np.zeros((0, 4)),
        "bytes": np.arange(5, dtype=np.uint32),
    },
}


def forged(header: dict[str, object], data: bytes = b"") -> bytes:
    """A file with a right checksum."""
    text = json.dumps(header).encode()
    body = len(text).to_bytes(8, "little") + text + data
    return statefile._MAGIC + hashlib.sha256(body).digest() + body


def test_values_and_arrays_come_back_bit_for_bit(tmp_path: Path) -> None:
    statefile.write(tmp_path / "f", "thing", 1, STATE)
    again = statefile.read(tmp_path / "f", "thing", 1)
    assert again["numbers"] == STATE["numbers"]
    for name, array in STATE["arrays"].items():
        found = again["arrays"][name]
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()
        assert found.flags.writeable


def test_big_endian_and_strided_arrays_are_saved_by_value(tmp_path: Path) -> None:
    odd = {"a": np.arange(6, dtype=">i4").reshape(2, 3).T, "b": np.arange(9.0)[::2]}
    statefile.write(tmp_path / "f", "thing", 1, odd)
    again = statefile.read(tmp_path / "f", "thing", 1)
    assert again["a"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert again["b"].tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    "array",
    [np.array([object()]), np.array(["x"]), np.array([1j])],
    ids=["object", "string", "complex"],
)
def test_arrays_of_anything_but_numbers_and_flags_are_not_saved(
    array: np.ndarray, tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match="cannot be saved"):
        statefile.write(tmp_path / "f", "thing", 1, {"a": array})
    assert not list(tmp_path.iterdir())


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0), bit=st.integers(0, 7), cut=st.booleans())
def test_one_flipped_bit_or_a_missing_end_is_noticed(
    place: int, bit: int, cut: bool, tmp_path: Path
) -> None:
    path = tmp_path / "f"
    statefile.write(path, "thing", 1, STATE)
    content = bytearray(path.read_bytes())
    place %= len(content)
    if cut:
        del content[place:]
    else:
        content[place] ^= 1 << bit
    path.write_bytes(content)
    with pytest.raises(InvalidFile):
        statefile.read(path, "thing", 1)


GOOD = {"kind": "thing", "version": 1, "state": {}, "arrays": []}


@pytest.mark.parametrize(
    ("header", "data"),
    [
        ([], b""),
        ({}, b""),
        (GOOD, b"rest"),
        (GOOD | {"arrays": [{"type": "|O", "shape": [1]}]}, b"12345678"),
        (GOOD | {"arrays": [{"type": "<M8[s]", "shape": [1]}]}, b"12345678"),
        (GOOD | {"arrays": [{"type": "<f8", "shape": [-1]}]}, b"12345678"),
        (GOOD | {"arrays": [{"type": "<f8", "shape": [2**62, 4]}]}, b"12345678"),
        (GOOD | {"arrays": [{"type": "<f8", "shape": [1.0]}]}, b"12345678"),
        (GOOD | {"arrays": [{"type": "<f8", "shape": 1}]}, b"12345678"),
        (GOOD | {"state": {"a": {"__array__": 0}}}, b""),
        (GOOD | {"state": {"a": {"__array__": "x"}}}, b""),
        (GOOD | {"version": "1"}, b""),
    ],
    ids=str,
)
def test_a_forged_file_is_refused(header: dict[str, object], data: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(forged(header, data))
    with pytest.raises(InvalidFile):
        statefile.read(tmp_path / "f", "thing", 1)


def test_a_header_nested_without_end_is_refused(tmp_path: Path) -> None:
    body = (10**6).to_bytes(8, "little") + b"[" * 10**6
    path = tmp_path / "f"
    path.write_bytes(statefile._MAGIC + hashlib.sha256(body).digest() + body)
    with pytest.raises(InvalidFile):
        statefile.read(path, "thing", 1)


def test_a_zip_bomb_and_a_pickle_are_foreign_files(tmp_path: Path) -> None:
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("uaos.npy", bytes(10**7))
    for content in (bomb.getvalue(), b"cposix\nsystem\n(S'true'\ntR.", b"", b"uaos"):
        (tmp_path / "f").write_bytes(content)
        with pytest.raises(InvalidFile):
            statefile.read(tmp_path / "f", "thing", 1)


def test_a_file_larger_than_any_state_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statefile.write(tmp_path / "f", "thing", 1, STATE)
    monkeypatch.setattr(statefile, "LARGEST", 100)
    with pytest.raises(InvalidFile):
        statefile.read(tmp_path / "f", "thing", 1)


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile):
        statefile.read(tmp_path, "thing", 1)
    with pytest.raises(InvalidFile):
        statefile.read(tmp_path / "none", "thing", 1)


def test_another_kind_or_version_is_named(tmp_path: Path) -> None:
    statefile.write(tmp_path / "f", "thing", 2, {})
    with pytest.raises(InvalidFile):
        statefile.read(tmp_path / "f", "run", 2)
    with pytest.raises(InvalidFile):
        statefile.read(tmp_path / "f", "thing", 1)
    with pytest.raises(InvalidFile):
        statefile.read(tmp_path / "f", "thing", 3)


@pytest.mark.parametrize("error", [KeyError("x"), MemoryError(), RecursionError(), OverflowError()])
def test_whatever_goes_wrong_in_rebuilding_is_an_invalid_file(error: Exception) -> None:
    with pytest.raises(InvalidFile), statefile.rebuilding("f"):
        raise error
    passing = InvalidParameter("a is 1; expected 2", name="a", value=1)
    with pytest.raises(InvalidParameter), statefile.rebuilding("f", except_for=(InvalidParameter,)):
        raise passing


class Counter(statefile.Stateful):
    state_names = ("count", "rng")

    def __init__(self, seed: int) -> None:
        self.count, self.rng = 0, np.random.default_rng(seed)

    def draw(self) -> float:
        self.count += 1
        return float(self.rng.random())


class Pair(Counter):
    state_names = ("first", "best")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.first: Counter = Counter(seed + 1)
        self.best: np.ndarray | None = None


def test_a_state_has_the_parts_and_the_names_of_base_classes() -> None:
    pair, other = Pair(1), Pair(5)
    pair.draw(), pair.first.draw()
    pair.best = np.zeros(2)
    state, part = pair.state(), other.first
    assert list(state) == ["count", "rng", "first", "best"]
    pair.best += 1  # the state has a copy
    other.restore(state)
    assert other.best is not None
    assert (other.count, other.first.count, other.best.tolist()) == (1, 1, [0, 0])
    assert other.first is part
    assert [other.draw(), other.first.draw()] == [pair.draw(), pair.first.draw()]
