"""Imports point one way, and the house rules hold."""

import ast
from pathlib import Path

import pytest

import uaos

SOURCE = Path(uaos.__file__).parent

# Each part of the package, and the parts it may import from. A part may always import itself.
ALLOWED = {
    "errors": set(),
    "bibliography": set(),
    "extras": {"errors"},
    "files": {"errors"},
    "jit": set(),
    "statefile": {"errors", "files"},
    "params": {"errors"},
    "components": {"errors", "params"},
    "memory": {"errors", "params", "components", "jit"},
    "steps": {"components", "jit"},
    "compiled": {"components", "jit"},
    "method": {"errors", "files", "params", "components"},
    "selector": {
        "errors", "params", "components", "memory", "method", "statefile", "steps", "compiled",
    },
    # the optimiser knows a selector only by what it does
    "de": {"errors", "params", "statefile", "jit"},
    "configuration": {"errors", "params", "components", "method", "de"},
    "catalogue": {"errors", "params", "method", "de", "bibliography", "configuration"},
    "problems": {"errors"},
    "experiments": {
        "errors", "params", "extras", "method", "configuration", "catalogue", "de", "optimize",
        "problems",
    },
    "tuning": {
        "errors", "params", "components", "method", "configuration", "catalogue", "de", "problems",
        "experiments", "extras",
    },
    # of experiments and tunings, the analysis reads what was stored, and the targets; of the
    # differential evolution, the picture of a run; its report shows recipes with their equations
    "analysis": {
        "errors", "files", "params", "problems", "experiments", "tuning", "de", "components",
        "method", "configuration", "describe", "bibliography",
    },
    "adapters": {"errors", "params", "extras", "method", "selector", "catalogue"},
    "scenarios": {"errors", "params", "method", "catalogue", "experiments"},
    # the pipeline from tuning to tables
    "study": {"errors", "method", "configuration", "catalogue", "experiments", "tuning"},
    "describe": {"errors", "params", "components"},
    "optimize": {
        "errors", "params", "statefile", "method", "selector", "configuration", "catalogue", "de",
    },
}  # fmt: skip
# The command line and the list of public names import everything.
EVERYTHING = {"cli", "__init__"}


def part_of(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The parts of the package that a module imports at run time."""
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            names = [f"{module}.{a.name}" for a in node.names] if module == "uaos" else [module]
        for name in names:
            if name.split(".")[0] == "uaos":
                found.add([*name.split("."), "__init__"][1])
    return found


MODULES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=[str(p.relative_to(SOURCE)) for p in MODULES])
def test_imports_point_one_way(path: Path) -> None:
    part = part_of(path)
    if part in EVERYTHING:
        return
    assert part in ALLOWED, f"say in ALLOWED what {part} may import"
    lazily = {"selector"} if part == "method" else set()  # Method.selector makes one
    assert imported(path) - {part} - lazily <= ALLOWED[part]


def test_the_order_of_dependence_has_no_circle() -> None:
    left = {part: set(below) for part, below in ALLOWED.items()}
    while left:
        free = {part for part, below in left.items() if not below & left.keys()}
        assert free, f"circular: {sorted(left)}"
        for part in free:
            del left[part]


@pytest.mark.parametrize("path", MODULES, ids=[str(p.relative_to(SOURCE)) for p in MODULES])
def test_a_file_is_one_idea_of_at_most_400_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_there_is_one_version_number() -> None:
    text = (SOURCE.parents[1] / "pyproject.toml").read_text()
    assert 'dynamic = ["version"]' in text
    assert f'__version__ = "{uaos.__version__}"' in (SOURCE / "__init__.py").read_text()
    assert f"version: {uaos.__version__}" in (SOURCE.parents[1] / "CITATION.cff").read_text()
