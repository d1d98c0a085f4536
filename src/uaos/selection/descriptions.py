"""Descriptions of components for `uaos methods`, the report and docs/components.md.

Equation, reference and parameters are read from the classes.
"""

import inspect
import re
from typing import NamedTuple

from uaos.params import Setting
from uaos.selection.components import FAMILIES, Component

#: The question that each family answers, for headings.
QUESTIONS = {
    "metric": "How good is one offspring, compared with what was there before?",
    "reward": "How well has each operator done recently?",
    "quality": "How good is each operator overall?",
    "probability": "How likely is each operator to be selected?",
    "selection": "Which operator does each parent get?",
}
PLURALS = {name: f"{name[:-1]}ies" if name.endswith("y") else f"{name}s" for name in FAMILIES}


class Description(NamedTuple):
    """The parts of a component's docstring."""

    summary: str
    details: str
    equation: str
    reference: str


def describe(component: type[Component] | Component) -> Description:
    """Return summary, details, equation and reference of a component, from its docstring."""
    cls = component if isinstance(component, type) else type(component)
    text = inspect.cleandoc(cls.__doc__ or "")
    # The docstring of a dataclass is its signature by default.
    if text.startswith(f"{cls.__name__}("):
        text = ""
    sections = {title: body.strip("\n") for title, body in _SECTION.findall(text)}
    rest = _SECTION.sub("", text)
    summary, *details = [" ".join(p.split()) for p in rest.split("\n\n") if p.strip()] or [""]
    return Description(
        summary,
        "\n\n".join(details),
        sections.get("Equation", ""),
        " ".join(sections.get("References", "").split()),
    )


#: A section of numpydoc: a title, a line of dashes, and the lines up to an empty one.
_SECTION = re.compile(r"^(Equation|References)\n-+\n((?:.+\n?)+)", re.MULTILINE)


def parameter_row(name: str, parameter: Setting) -> tuple[str, str, str, str]:
    """Return name (and symbol), range, default and meaning of a parameter."""
    title = name
    if parameter.symbol and parameter.symbol != name:
        title += f" ({parameter.symbol})"
    return title, parameter.range, format(parameter.default, ""), parameter.doc


#: The meaning of the letters in the equations.
SYMBOLS = (
    "`f_i` is the fitness of parent i, `u_i` that of its offspring; smaller is better. `s[t,op]`, "
    "`n[t,op]`, `S[t,op]` and `B[t,op]` are the successes, the applications, the sum and the "
    "maximum of the metric over the successes of operator op in the t-th last generation; there "
    "are K operators."
)
