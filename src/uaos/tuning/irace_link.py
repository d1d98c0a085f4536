"""The line between Python and a running irace: what it prints, and the runs it asks for.

R connects to a port of this machine and greets with a token that only this user can read; anybody
else who connects is not listened to. After that both sides speak in lines; `runner.R` says how.
"""

import contextlib
import hmac
import os
import secrets
import selectors
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from uaos.errors import UaosError

CONNECTION = "connection.txt"

# Strangers who may wait at the door, and what one may say before being shown out.
_STRANGERS = 16
_GREETING = 256


class Request(NamedTuple):
    """A run that irace asks for: a candidate, by number and row of values, on an instance."""

    candidate: str
    parent: int | None
    instance: int
    seed: int
    row: tuple[str, ...]


class Link:
    """Listens for irace; :meth:`messages` gives what comes and :meth:`answer` the costs.

    `folder` is where R finds the port and the token.
    """

    def __init__(self, folder: Path) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=_STRANGERS)
        self._token = secrets.token_hex(32)
        self._file = folder / CONNECTION
        self._client: socket.socket | None = None
        self._heard: dict[socket.socket, bytes] = {}
        self._selector = selectors.DefaultSelector()
        port = self._listener.getsockname()[1]
        self._file.unlink(missing_ok=True)
        opened = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(opened, "w", encoding="ascii") as file:
            file.write(f"{port}\n{self._token}\n")

    def __enter__(self) -> "Link":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; R ends when it notices."""
        self._file.unlink(missing_ok=True)
        for one in (self._listener, *self._heard):
            one.close()
        self._selector.close()

    def messages(self, output: IO[bytes]) -> Iterator[str | list[Request]]:
        """The lines of the output and the batches of runs, as they come, until the output ends.

        A line that was printed before a batch was sent comes before it.
        """
        os.set_blocking(output.fileno(), False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(output, selectors.EVENT_READ)
        printed = b""
        while True:
            ready = [key.fileobj for key, _ in self._selector.select()]
            for one in ready:
                if one is self._listener:
                    self._accept()
                elif isinstance(one, socket.socket):
                    self._hear(one)
            more, ended = _read(output)
            *lines, printed = (printed + more).split(b"\n")
            if ended and printed:
                lines, printed = [*lines, printed], b""
            yield from (line.decode(errors="replace") for line in lines)
            if (batch := self._batch()) is not None:
                yield batch
            if ended:
                self._selector.unregister(output)
                return

    def answer(self, costs: Sequence[float]) -> None:
        """Send the costs of the last batch."""
        assert self._client is not None
        # In hexadecimal: R reads that exactly.
        text = "".join(float(cost).hex() + "\n" for cost in costs)
        with contextlib.suppress(OSError):  # R is gone, as the end of its output will tell
            self._client.sendall(text.encode("ascii"))

    # Connections

    def _accept(self) -> None:
        stranger, _ = self._listener.accept()
        if self._client is not None or len(self._heard) >= _STRANGERS:
            stranger.close()
            return
        self._heard[stranger] = b""
        self._selector.register(stranger, selectors.EVENT_READ)

    def _hear(self, one: socket.socket) -> None:
        if one not in self._heard:  # shown out a moment ago
            return
        try:
            said = one.recv(1 << 16)
        except OSError:
            said = b""
        if not said:
            self._drop(one)
            return
        self._heard[one] += said
        if one is self._client:
            return
        greeting, end, rest = self._heard[one].partition(b"\n")
        if end and hmac.compare_digest(greeting, self._token.encode()):
            self._client = one
            self._heard[one] = rest
            for other in [s for s in self._heard if s is not one]:
                self._drop(other)
            self._file.unlink(missing_ok=True)
        elif end or len(greeting) > _GREETING:
            self._drop(one)

    def _drop(self, one: socket.socket) -> None:
        self._selector.unregister(one)
        del self._heard[one]
        one.close()

    def _batch(self) -> list[Request] | None:
        """The next batch, if it has come as a whole."""
        if self._client is None or self._client not in self._heard:
            return None
        count, end, rest = self._heard[self._client].partition(b"\n")
        if not end:
            return None
        if not count.isdigit():
            raise UaosError(f"irace's runner sent {count[:80]!r} where a number was expected")
        lines = rest.split(b"\n", int(count))
        if len(lines) <= int(count):
            return None
        self._heard[self._client] = lines.pop()
        return [_request(line.decode("ascii").split("\t")) for line in lines]


def _request(fields: list[str]) -> Request:
    try:
        candidate, parent, instance, seed, *row = fields
        known = None if parent == "NA" else int(parent)
        return Request(candidate, known, int(instance) - 1, int(seed), tuple(row))
    except ValueError:
        raise UaosError(
            f"irace's runner sent {fields!r}; expected candidate, parent, instance, seed, values"
        ) from None


def _read(output: IO[bytes]) -> tuple[bytes, bool]:
    """What was printed since, and whether that was the end."""
    found: list[bytes] = []
    while True:
        try:
            chunk = os.read(output.fileno(), 1 << 16)
        except BlockingIOError:
            return b"".join(found), False
        if not chunk:
            return b"".join(found), True
        found.append(chunk)
