"""Keep what a test registers and loads from the tests that follow."""

import sys
from collections.abc import Iterator

import pytest

from uaos import loading
from uaos.optimizers import registry as optimizer_registry
from uaos.reporting import figures
from uaos.selection.components import base


@pytest.fixture(autouse=True)
def _registries_as_before() -> Iterator[None]:
    """Restore the registered components, optimizers, operators and figures, and forget files.

    A loaded file would be sent to the workers of every later test.
    """
    registries = [
        *base._members.values(), optimizer_registry._optimizers, optimizer_registry._operators,
        figures._REGISTERED, loading._loaded,
    ]  # fmt: skip
    before = [dict(registry) for registry in registries]
    yield
    for name in loading._loaded.keys() - before[-1].keys():
        sys.modules.pop(name, None)
    for registry, members in zip(registries, before, strict=True):
        registry.clear()
        registry.update(members)
