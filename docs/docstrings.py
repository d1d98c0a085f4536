"""Convert docstrings for the site: reStructuredText and plain equations become Markdown.

An extension of griffe, which reads the sources without importing them; mkdocs.yml names this file.
"""

import ast
import re
import textwrap
from typing import Any

from griffe import Docstring, ExprKeyword, Extension, Object

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`~?([^`]+)`")
_CODE = re.compile(r"::\n\n((?: {4}.*\n?|\n)+)")
_EQUATION = re.compile(r"^Equation\n-+\n((?:.+\n?)+)", re.MULTILINE)
_REFERENCES = re.compile(r"^(?:References\n-+\n|Reference: )", re.MULTILINE)
_SECTION = re.compile(r"^(Parameters|Attributes|Returns|Yields|Raises|Notes|Examples)\n-+\n", re.M)
_EXAMPLE = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)
_ITEM = re.compile(
    r"^(\*{0,2}\w[\w, *.]*?)(?: : (.+)\n((?:[ \t]+.*\n?)*)|\n((?:[ \t]+.*\n?)+))", re.MULTILINE
)


class Docstrings(Extension):
    """Turn docstrings into Markdown, and `#:` comments above attributes into docstrings."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Convert the docstring of a module, class, function or attribute."""
        if obj.name.startswith("__") and not obj.is_module:
            obj.public = False  # special methods are not part of the interface
        if obj.docstring is None and obj.is_attribute:
            comment = _comment_above(obj) or _declared(obj)
            obj.docstring = Docstring(comment, parent=obj) if comment else None
        if obj.is_class and "__init__" in obj.members:
            for parameter in obj.members["__init__"].parameters:
                parameter.default = _arguments(parameter.default).get("default", parameter.default)
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value, obj)


def markdown(text: str, obj: Object) -> str:
    """Return a docstring as Markdown, the names in it linked."""
    text = _CODE.sub(lambda m: f":\n\n```python\n{_plain(m[1])}\n```\n\n", text)
    text = _EQUATION.sub(lambda m: f"```text\n{_plain(m[1])}\n```\n\n", text)
    text = _REFERENCES.sub("*Reference:* ", text)
    text = _sections(text)
    return _ROLE.sub(lambda m: _link(m[1], obj), text)


def _sections(text: str) -> str:
    """Turn numpydoc sections into bold headings, and their items into a list."""
    first, *rest = _SECTION.split(text)
    parts = [first]
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        if title == "Examples":
            body = _EXAMPLE.sub(lambda m: f"```pycon\n{m[0].rstrip()}\n```\n", body)
        elif title != "Notes":
            body = _ITEM.sub(_item, body if body.endswith("\n") else body + "\n")
        parts.append(f"**{title}**\n\n{body}")
    return "".join(parts)


def _item(item: re.Match[str]) -> str:
    name, kind, *texts = item.groups()
    about = " ".join((texts[0] or texts[1] or "").split())
    return f"- `{name}`{f' ({kind})' if kind else ''}{f': {about}' if about else ''}\n"


def _plain(indented: str) -> str:
    return textwrap.dedent(indented).strip("\n")


def _link(name: str, obj: Object) -> str:
    """Return a link to the target of a role, or its name if the site does not show it."""
    path = name if name.startswith("uaos") else _path(name, obj)
    shown = name.removeprefix("uaos.") if name.count(".") < 2 else name.rsplit(".", 1)[-1]
    return f'<autoref optional identifier="{path}"><code>{shown}</code></autoref>'


def _path(name: str, obj: Object) -> str:
    """Return the path of a name in the scope of `obj`, imports followed."""
    first, _, rest = name.partition(".")
    around: Any = obj
    while around is not None and (around.is_attribute or first not in around.members):
        around = around.parent
    if around is None:
        return name
    member = around.members[first]
    path = member.target_path if member.is_alias else member.path
    return f"{path}.{rest}" if rest else path


def _declared(obj: Any) -> str:
    """Return the description of a parameter declared by `uaos.real(0, 1, default=0.5, doc="…")`.

    Its value is then the default alone, which is what a reader wants to see.
    """
    arguments = _arguments(obj.value)
    text = ast.literal_eval(str(arguments["doc"])) if "doc" in arguments else ""
    obj.value = arguments.get("default", obj.value)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _arguments(call: Any) -> dict[str, Any]:
    """Return the keyword arguments of a declaration by real, integer or choice."""
    if getattr(call, "canonical_name", "") not in ("real", "integer", "choice"):
        return {}
    return {a.name: a.value for a in call.arguments if isinstance(a, ExprKeyword)}


def _comment_above(obj: Object) -> str:
    """Return the `#:` comment on the lines before an attribute."""
    lines, comment = obj.module.lines_collection[obj.filepath], []
    number = (obj.lineno or 1) - 2
    while number >= 0 and lines[number].strip().startswith("#:"):
        comment.append(lines[number].strip().removeprefix("#:").strip())
        number -= 1
    return "\n".join(reversed(comment))
