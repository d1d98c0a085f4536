"""Include source code in pages: `<!-- source: runs/run.py Run.advance -->` becomes that code.

The first word is a file of `src/uaos`, the second a function, method or class in it. A class is
shown without its methods. A docstring is shortened to its summary line; everything else is as it
stands in the file.
"""

import ast
import re
import textwrap
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "uaos"
DIRECTIVE = re.compile(r"^<!-- source: (\S+) (\S+) -->$", re.MULTILINE)

Definition = ast.FunctionDef | ast.ClassDef


def definition(file: str, name: str) -> Definition:
    """Return the syntax tree of a function, method or class by its qualified name."""
    node: ast.AST = ast.parse((PACKAGE / file).read_text("utf-8"))
    for part in name.split("."):
        matches = [
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, Definition) and child.name == part
        ]
        if not matches:
            raise LookupError(f"{file} does not define {name}; correct the directive in the page")
        node = matches[0]
    assert isinstance(node, Definition)
    return node


def source(file: str, name: str) -> str:
    """Return the source code of a definition, its docstring shortened."""
    node = definition(file, name)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    last = node.end_lineno or first
    if isinstance(node, ast.ClassDef):
        methods = [child for child in node.body if isinstance(child, ast.FunctionDef)]
        if methods:
            last = min([methods[0].lineno, *(d.lineno for d in methods[0].decorator_list)]) - 1
    lines = (PACKAGE / file).read_text("utf-8").splitlines()
    shown = lines[first - 1 : last]
    if ast.get_docstring(node) and (docstring := node.body[0]).end_lineno != docstring.lineno:
        begin, end = docstring.lineno - first, (docstring.end_lineno or first) - first + 1
        shown[begin:end] = [shown[begin].rstrip() + '"""']
    return textwrap.dedent("\n".join(shown)).rstrip()


def included(markdown: str) -> str:
    """Replace every directive of a page by the code it names."""

    def block(match: re.Match[str]) -> str:
        file, name = match.groups()
        return f'```python title="src/uaos/{file}"\n{source(file, name)}\n```'

    return DIRECTIVE.sub(block, markdown)
