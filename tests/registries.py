"""Keep what a test registers from the tests that follow."""

from collections.abc import Iterator

import pytest

from uaos.optimizers import base as optimizer_registry
from uaos.selection.components import base


@pytest.fixture(autouse=True)
def _families_as_before() -> Iterator[None]:
    """Restore the registered components and optimizers."""
    before = {family: dict(members) for family, members in base._members.items()}
    optimizers = dict(optimizer_registry._optimizers)
    yield
    optimizer_registry._optimizers.clear()
    optimizer_registry._optimizers.update(optimizers)
    for family, members in before.items():
        base._members[family].clear()
        base._members[family].update(members)
