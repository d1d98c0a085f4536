"""The hash of a definition changes with what the definition uses, and with nothing else."""

import pytest

from uaos.definitions import definition_hash
from uaos.loading import load_source

FILE = '''
import math
import numpy as np

SCALE = 2.0
OFFSET = 1.0
TABLE = {}


def helper(x):
    return SCALE * x


def other_helper(x):
    return OFFSET + x


class Base:
    """A base class."""

    def value(self, x):
        return helper(x)


class First(Base):
    rate = 0.5


class Second:
    def value(self, x):
        return other_helper(math.sqrt(x)) + len(TABLE)


TABLE["a"] = 1


if __name__ == "__main__":
    print(First().value(3))
'''


def hashes(source: str) -> tuple[str | None, str | None]:
    """Return the hashes of both classes."""
    module = load_source("my.py", source)
    return definition_hash(module.First), definition_hash(module.Second)


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("rate = 0.5", "rate = 0.6", (True, False)),
        ("SCALE * x", "SCALE / x", (True, False)),  # through the base class
        ("SCALE = 2.0", "SCALE = 3.0", (True, False)),
        ("math.sqrt(x)", "math.exp(x)", (False, True)),
        ("OFFSET = 1.0", "OFFSET = 2.0", (False, True)),
        ('TABLE["a"] = 1', 'TABLE["b"] = 1', (False, True)),  # a statement that changes it
        ("import math", "import cmath as math", (False, True)),
        ("import numpy as np", "import numpy as np\nnp.seterr()", (True, True)),
        ("A base class.", "Another docstring.", (False, False)),
        ("rate = 0.5", "rate  =  0.5  # a comment", (False, False)),
        ("value(3)", "value(4)", (False, False)),  # only if the file is a program
        ("class First(Base)", "class Third:\n    pass\n\nclass First(Base)", (False, False)),
    ],
)
def test_a_hash_covers_what_a_class_uses(old, new, changes):
    """Only the classes whose runs may differ get another hash."""
    assert old in FILE
    before, after = hashes(FILE), hashes(FILE.replace(old, new))
    assert tuple(a != b for a, b in zip(before, after, strict=True)) == changes


def test_a_class_of_a_package_has_none():
    """Installed classes are identified by the versions of their packages."""
    assert definition_hash(dict) is None
