"""Optional libraries: imported when needed, with an error that names the extra to install."""

from importlib import import_module
from typing import Any

from uaos.errors import UaosError


class MissingExtra(UaosError, ImportError):
    """An optional library is not installed; the message names the extra that brings it."""

    def __init__(self, what: str, library: str, extra: str) -> None:
        self.library, self.extra = library, extra
        super().__init__(f"{what} needs {library}: pip install 'uaos[{extra}]'")


def optional(module: str, what: str, library: str, extra: str) -> Any:
    """The module, or :class:`MissingExtra`."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(what, library, extra) from None
