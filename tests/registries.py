"""Keep what a test registers from the tests that follow."""

from collections.abc import Iterator

import pytest

from uaos.optimizers import registry as optimizer_registry
from uaos.selection.components import base


@pytest.fixture(autouse=True)
def _families_as_before() -> Iterator[None]:
    """Restore the registered components, optimizers and operators."""
    registries = [
        *base._members.values(), optimizer_registry._optimizers, optimizer_registry._operators
    ]  # fmt: skip
    before = [dict(registry) for registry in registries]
    yield
    for registry, members in zip(registries, before, strict=True):
        registry.clear()
        registry.update(members)
