"""The tour of one run shows the real source, in pieces that can be read."""

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("sources", ROOT / "docs" / "sources.py")
assert _spec is not None
assert _spec.loader is not None
sources = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sources)

PAGE = (ROOT / "docs" / "inside.md").read_text("utf-8")
STOPS = sources.DIRECTIVE.findall(PAGE)
FUNCTIONS = [stop for stop in STOPS if isinstance(sources.definition(*stop), ast.FunctionDef)]


def arguments(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's arguments besides self and cls."""
    spec = function.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    every += [extra for extra in (spec.vararg, spec.kwarg) if extra is not None]
    return [argument.arg for argument in every if argument.arg not in ("self", "cls")]


def is_kernel(file: str, name: str) -> bool:
    """Return whether a definition is compiled, or makes a function that is."""
    return "njit" in sources.source(file, name).split("def ")[0] or name == "compose"


@pytest.mark.parametrize(("file", "name"), FUNCTIONS)
def test_a_function_of_the_tour_is_short(file: str, name: str) -> None:
    """No function has more than 40 lines besides its docstring."""
    shown = sources.source(file, name).splitlines()
    assert len(shown) - 1 <= 40


@pytest.mark.parametrize(("file", "name"), FUNCTIONS)
def test_a_function_of_the_tour_takes_few_arguments(file: str, name: str) -> None:
    """No function takes more than eight arguments, no kernel more than twelve."""
    for node in ast.walk(sources.definition(file, name)):
        if isinstance(node, ast.FunctionDef):
            assert len(arguments(node)) <= (12 if is_kernel(file, name) else 8)


def test_every_stop_of_the_tour_becomes_source_code() -> None:
    """The page shows each definition as it stands in its file."""
    assert len(STOPS) > 15
    page = sources.included(PAGE)
    assert "<!-- source:" not in page
    for file, name in STOPS:
        text = " ".join((sources.PACKAGE / file).read_text("utf-8").split())
        last = sources.source(file, name).splitlines()[-1].strip()
        assert last in page
        assert last in text


def test_a_stop_that_does_not_exist_is_an_error() -> None:
    """A renamed function breaks the build of the page instead of vanishing from it."""
    with pytest.raises(LookupError, match=r"Run\.vanish"):
        sources.included("<!-- source: runs/run.py Run.vanish -->")
