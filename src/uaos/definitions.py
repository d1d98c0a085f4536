"""Hashes of definitions in users’ files: of a class with what it uses, not of the whole file."""

import ast
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from uaos.loading import module_source, was_loaded


def definition_hash(cls: type) -> str | None:
    """Hash the definition of a class in a loaded file, with everything in the file that it uses.

    The hash covers the class, the functions, classes, constants and imports of the file that it
    uses, directly or through others, and the statements of the file that may change these. Other
    definitions, comments, docstrings and the layout do not count. A name that is only computed, for
    example by ``globals()[...]``, is not seen.

    Parameters
    ----------
    cls : type
        A class.

    Returns
    -------
    str or None
        The hash; None if the class is not from a file that was loaded by its content.
    """
    if not was_loaded(cls.__module__):
        return None
    statements = _statements(module_source(cls.__module__)[1])
    used = _used_by(cls.__qualname__.split(".")[0], statements)
    text = "\n".join(statement.text for statement in used)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class _Statement:
    """Statement at the top of a file: its text, the names that it binds, and those it mentions."""

    text: str
    binds: frozenset[str]
    mentions: frozenset[str]
    imports: bool


@lru_cache(maxsize=16)
def _statements(source: str) -> tuple[_Statement, ...]:
    """Return the statements of a file, without what runs only if the file is a program."""
    body = [_without_docstrings(node) for node in ast.parse(source).body if not _is_program(node)]
    return tuple(
        _Statement(
            ast.unparse(node), frozenset(_bound(node)), frozenset(_mentioned(node)),
            isinstance(node, ast.Import | ast.ImportFrom),
        )
        for node in body
    )  # fmt: skip


def _is_program(node: ast.stmt) -> bool:
    """Return whether a statement is ``if __name__ == "__main__":``."""
    return isinstance(node, ast.If) and "__name__" in _mentioned(node.test)


def _without_docstrings(node: ast.stmt) -> ast.stmt:
    """Empty the docstrings of a statement."""
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            match part.body[0]:
                case ast.Expr(value=ast.Constant(value=str())) as docstring:
                    docstring.value = ast.Constant("")
    return node


def _mentioned(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _bound(node: ast.stmt) -> Iterable[str]:
    """Yield the names that a statement binds in the file; "*" for an import of all names."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield part.name
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.alias):
            yield (part.asname or part.name).split(".")[0]


def _used_by(name: str, statements: Sequence[_Statement]) -> list[_Statement]:
    """Return the statements that define a name and everything that it uses, in their order."""
    own = {bound for s in statements if not s.imports for bound in s.binds}
    reached = {name, "*"}
    while True:
        used = [s for s in statements if s.binds & reached or _affects(s, reached, own)]
        further = reached.union(*(s.mentions | s.binds for s in used))
        if further == reached:
            return used
        reached = further


def _affects(statement: _Statement, reached: set[str], own: set[str]) -> bool:
    """Return whether a statement that binds nothing may change what is reached.

    It may if it mentions a definition that is reached, or no definition of the file at all, such as
    ``numpy.seterr(...)``.
    """
    if statement.binds:
        return False
    mentioned = statement.mentions & own
    return not mentioned or bool(mentioned & reached)
