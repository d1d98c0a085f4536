"""Imports point one way, and the house rules hold."""

import ast
import re
from pathlib import Path

import pytest

import uaos

SOURCE = Path(uaos.__file__).parent

# The layers, lowest first: a module may import from its own layer's package and from lower layers.
# `minimization` and `experiments` both drive optimizers and know nothing of each other.
LAYERS = (
    {
        "arrays",
        "checks",
        "definitions",
        "interrupts",
        "errors",
        "params",
        "extras",
        "files",
        "markup",
        "pictures",
        "history",
        "jit",
        "loading",
        "result",
        "statefile",
        "statistics",
        "table",
        "text",
    },
    {"selection"},
    {"problems"},
    {"optimizers"},
    {"runs"},
    {"experiments"},
    {"tuning"},
    {"analysis"},
    {"reporting"},
    {"adapters", "scenarios", "study", "minimization", "maximization", "fitting", "options"},
)
# What draws itself imports the drawing when it does.
LAZY = {"history": {"runs"}}
# The command line and the list of public names import everything.
EVERYTHING = {"cli", "__init__", "__main__"}


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


LAYERED = [path for path in MODULES if part_of(path) not in EVERYTHING]


@pytest.mark.parametrize("path", LAYERED, ids=[str(p.relative_to(SOURCE)) for p in LAYERED])
def test_imports_point_down_the_layers(path: Path) -> None:
    part = part_of(path)
    level = next((i for i, layer in enumerate(LAYERS) if part in layer), None)
    assert level is not None, f"say in LAYERS where {part} belongs"
    allowed = {part}.union(*LAYERS[:level])
    if level in (0, len(LAYERS) - 1):
        allowed |= LAYERS[level]
    assert imported(path) - allowed - LAZY.get(part, set()) == set()


def test_the_map_of_contributing_is_complete() -> None:
    """Every module, and every folder, stands in the map; and the map names nothing else."""
    text = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line for line in text.split("## Architecture")[1].splitlines() if line[:1] == "|"]
    rows = rows[2 : next(i for i, row in enumerate(rows) if row.startswith("| name"))]
    named, layer = set(), ""
    for row in rows:
        first, second, third = (cell.strip() for cell in row.strip("|").split("|"))
        layer = first or layer
        names = re.findall(r"`([a-z0-9_]+)/?`", f"{second} {third}")
        folder = re.findall(r"`([a-z_]+/)`", second)
        top = "" if layer in ("for all", "on top") else layer.strip("`")
        for name in names:
            places = [f"{top}{name}", *(f"{top}{one}{name}" for one in folder)]
            found = [p for p in places if (SOURCE / p).is_dir() or (SOURCE / f"{p}.py").is_file()]
            assert found or name in ("ask", "tell"), row
            named.update(found)
    modules = {
        str(p.relative_to(SOURCE).with_suffix("")) for p in MODULES if not p.stem.startswith("__")
    }
    assert modules - named == set()


def test_no_package_hides_a_module_behind_another_name_of_its_own() -> None:
    for path in SOURCE.rglob("__init__.py"):
        modules = {p.stem for p in path.parent.iterdir() if p.suffix == ".py" or p.is_dir()}
        package = ".".join(["uaos", *path.parent.relative_to(SOURCE).parts])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module != package:
                names = {alias.asname or alias.name for alias in node.names}
                assert not names & modules, f"{path}: {names & modules}"
