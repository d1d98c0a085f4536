"""Check what an error carries, whatever its wording."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def raises(
    kind: type[Exception] | tuple[type[Exception], ...], *, near: str | None = None, **others: Any
) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect an error with these attributes, such as `name="F", value=3`.

    `near` is one of the names that the error proposes instead.
    """
    with pytest.raises(kind) as caught:
        yield caught
    found = {name: getattr(caught.value, name, None) for name in others}
    assert found == others, str(caught.value)
    if near is not None:
        assert near in caught.value.near
