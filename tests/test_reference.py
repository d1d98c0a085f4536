"""The reference is complete: every name that docs/reference shows has a numpydoc docstring.

Its parameters are those of the signature, what it raises is named, and its example runs.
"""

import ast
import doctest
import functools
import importlib
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from report_cases import experiment
from tuning_cases import AtOnce

import uaos
from uaos.problems import suite
from uaos.tuning import TuningPlan, design_for, tune

ROOT = Path(__file__).parents[1]
SECTIONS = ("Parameters", "Other Parameters", "Attributes", "Returns", "Raises", "Examples")


def resolved(path: str) -> Any:
    """The object at a dotted path: of the longest module in it, then by attributes."""
    names = path.split(".")
    for count in range(len(names), 0, -1):
        try:
            module = importlib.import_module(".".join(names[:count]))
        except ModuleNotFoundError:
            continue
        try:
            return functools.reduce(getattr, names[count:], module)
        except AttributeError:
            continue
    raise LookupError(path)


def shown() -> dict[str, Any]:
    """The functions and classes of the reference, each once, by the path that it is shown by."""
    pages = sorted((ROOT / "docs/reference").glob("*.md"))
    paths = re.findall(r"^::: (\S+)", "\n".join(p.read_text("utf-8") for p in pages), re.M)
    found: dict[int, tuple[str, Any]] = {}
    for path in paths:
        thing = resolved(path)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            found.setdefault(id(thing), (path, thing))
    return dict(found.values())


SHOWN = shown()


def docstring(thing: Any) -> dict[str, str]:
    """The sections of a docstring by their titles; what stands before them has the title ""."""
    first, *rest = re.split(rf"^({'|'.join(SECTIONS)}|Notes|References|Equation)\n-+\n",
                            inspect.cleandoc(thing.__doc__ or ""), flags=re.M)  # fmt: skip
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}


def names(section: str) -> set[str]:
    """What the items of a section are called."""
    heads = re.findall(r"^(\*{0,2}\w[\w, *.]*?)(?: : .*)?$", section, re.M)
    return {name.strip() for head in heads for name in head.split(",")}


def documented_fields(cls: type) -> set[str]:
    """Fields that say what they are where they are declared: `doc=`, a string, or a `#:` above."""
    found = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("uaos"):
            continue
        lines = textwrap.dedent(inspect.getsource(base)).splitlines()
        body = ast.parse("\n".join(lines)).body[0].body
        for node, after in zip(body, [*body[1:], None], strict=True):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                call = node.value if isinstance(node.value, ast.Call) else None
                is_declared = call is not None and any(k.arg == "doc" for k in call.keywords)
                is_followed = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                is_below = lines[node.lineno - 2].strip().startswith("#:")
                if is_declared or is_followed or is_below:
                    found.add(node.target.id)
    return found


def parameters(thing: Any) -> set[str]:
    """The parameters of a call, with their stars."""
    if inspect.isclass(thing):
        if issubclass(thing, tuple):
            return set(thing._fields)
        own = any("__init__" in vars(c) for c in thing.__mro__ if c.__module__[:4] == "uaos")
        if not own or getattr(thing, "_is_protocol", False):
            return set()
        if issubclass(thing, uaos.Optimizer) and thing is not uaos.Optimizer:
            return optimizer_parameters(thing)
        thing = thing.__init__
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    given = inspect.signature(thing).parameters.values()
    return {stars.get(p.kind, "") + p.name for p in given} - {"self"}


def optimizer_parameters(kind: type[uaos.Optimizer]) -> set[str]:
    """The parameters that an optimizer accepts: its settings stand for ``**changes``."""
    accepted = parameters(kind.__init__) - {"**changes", "method", "integrality"}
    accepted |= set(kind.settings_class.keywords())
    accepted |= {"integrality"} & set(kind.handles)
    return accepted | ({"method"} if kind.selects else set())


def raised(thing: Any) -> set[str]:
    """The errors that a function, or the construction of a class, raises itself."""
    makers = [vars(thing).get("__init__"), vars(thing).get("__post_init__")]
    found = set()
    for function in makers if inspect.isclass(thing) else [thing]:
        if not inspect.isfunction(function) or "uaos" not in function.__code__.co_filename:
            continue  # made by dataclasses or typing
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                found.add(ast.unparse(node.exc.func))
    return found


@pytest.mark.parametrize("path", SHOWN)
def test_a_docstring_follows_numpydoc(path: str) -> None:
    thing = SHOWN[path]
    sections = docstring(thing)
    wanted = parameters(thing)
    described = names(sections.get("Parameters", "") + sections.get("Other Parameters", ""))
    if inspect.isclass(thing):
        either = described | names(sections.get("Attributes", "")) | documented_fields(thing)
        assert wanted <= either, f"not documented: {sorted(wanted - either)}"
    else:
        assert wanted <= described, f"not documented: {sorted(wanted - described)}"
        returns = inspect.signature(thing).return_annotation
        assert "Returns" in sections or returns in (None, "None")
    assert described <= wanted, f"no parameters: {sorted(described - wanted)}"
    said = sections.get("Raises", "")
    assert all(error in said for error in raised(thing)), f"Raises: {sorted(raised(thing))}"
    # What raises an error, makes an object or is passed one shows how in its own example.
    is_error = inspect.isclass(thing) and issubclass(thing, Exception)
    is_made = inspect.isclass(thing) and re.search(r"Made by :|Passed to :", sections[""])
    assert is_error or is_made or ">>> " in sections.get("Examples", ""), "no example"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the examples run: with the stores that pages of the reference say how to make."""
    made = tmp_path_factory.mktemp("reference")
    experiment(made / "mine.db", "JADE", functions="1,3,8", instances="1-2", budget="200D")
    design = design_for("SaDE", ["F"], dimension=2)
    problems = suite("bbob", functions="1,2,8", dimension=2, instances=[16])
    tune(TuningPlan(design, problems, runs=200, budget="40D"), made / "tuning.db", AtOnce())
    return made


@pytest.mark.parametrize("path", SHOWN)
def test_an_example_of_the_reference_runs(
    path: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    matplotlib.use("Agg")
    text = docstring(SHOWN[path]).get("Examples", "")
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, path, path, 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test, out=said.append).failed == 0, "".join(said)
