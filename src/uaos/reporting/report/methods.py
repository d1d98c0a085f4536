"""The recipe of a method: its components with their equations, its operators, its settings."""

from collections.abc import Iterable, Mapping

from uaos.errors import InvalidParameter, UaosError
from uaos.files import toml_text
from uaos.markup import Markup, joined, tag
from uaos.optimizers.catalogue import cited
from uaos.optimizers.configuration import Configuration, uniform_method
from uaos.params import parameters
from uaos.reporting.report.elements import Colors, code
from uaos.selection.bibliography import bibtex, short
from uaos.selection.components import FAMILIES
from uaos.selection.descriptions import QUESTIONS, SYMBOLS, describe
from uaos.selection.maps import load_map
from uaos.selection.method import Method
from uaos.table import TEXT, Table


def method_recipe(
    name: str, stored: Mapping[str, object], colors: Colors, *, opened: bool = False
) -> Markup:
    """Return a method as its store has it, folded."""
    if "library" in stored:
        rest = {k: v for k, v in stored.items() if k not in ("version", "name")}
        values = ", ".join(f"{k} {v}" for k, v in rest.items())
        return _folded(name, "another library’s algorithm", tag("p", values), colors, opened)
    try:
        entry = Configuration.from_dict(stored)
    except UaosError as error:
        text = f"It has components that are not registered here ({error}). As stored:"
        body = joined([tag("p", text), _file(toml_text(stored))])
        return _folded(name, "", body, colors, opened)
    parts = [tag("p", text) for text in (entry.note, entry.reference) if text]
    if entry.method is not None:
        parts.append(tag("ol", *_steps(entry), class_="steps"))
        parts += _on_the_map(entry.method) if entry.settings.operator_texts() else []
    elif entry.settings.operator_texts():
        parts.append(tag("p", "A single operator: there is nothing to select."))
    if entry.settings.operator_texts():
        parts += [_operators(entry), _settings(entry)]
    else:
        values = entry.settings.summary().replace("_", " ")
        parts.append(tag("p", f"Optimizer: {entry.optimizer}. {values}".strip()))
    parts.append(_file(entry.to_toml()))
    return _folded(name, _summary(entry), joined(parts), colors, opened)


def citations(configurations: Iterable[Mapping[str, object]]) -> Markup:
    """Return BibTeX entries of all methods, folded."""
    references: list[str] = []
    for stored in configurations:
        try:
            references += cited([Configuration.from_dict(stored)])
        except UaosError:  # with components that are not registered here
            references.append(str(stored.get("reference", "")))
    summary = tag("summary", "What to cite (BibTeX)")
    return tag("details", summary, code(bibtex(references)), class_="file screen")


def symbols() -> Markup:
    """Return what the symbols of the equations stand for."""
    parts = SYMBOLS.split("`")
    text = [tag("code", part) if i % 2 else part for i, part in enumerate(parts)]
    return tag("p", "In the equations, ", *text, class_="note")


def _folded(name: str, summary: str, body: Markup, colors: Colors, opened: bool) -> Markup:
    head = tag("summary", colors.name(name), tag("span", summary, class_="said"))
    return tag("details", head, body, class_="recipe", open=opened)


def _summary(entry: Configuration) -> str:
    """Return the components in one line, and the reference."""
    if entry.method is None:
        summary = "single operator" if entry.settings.operator_texts() else entry.optimizer
    else:
        summary = " · ".join(getattr(entry.method, f).name.replace("_", " ") for f in FAMILIES)
    cited = short(entry.reference) if entry.reference else ""
    return f"{summary}; {cited}" if cited else summary


def _steps(entry: Configuration) -> list[Markup]:
    steps = []
    for family in FAMILIES:
        component = getattr(entry.method, family)
        about = describe(component)
        values = [
            f"{p.symbol or n} = {getattr(component, n)}"
            if not p.symbol or p.symbol == n
            else f"{n} ({p.symbol}) = {getattr(component, n)}"
            for n, p in parameters(component).items()
        ]
        scaled = ""
        if family == "reward" and entry.method is not None:
            scaled = " Then scaled to [0, 1]." if entry.method.scale_rewards else " Not scaled."
        steps.append(tag(
            "li",
            tag("div", tag("span", family, class_="family", title=QUESTIONS[family]),
                tag("b", component.name.replace("_", " ")),
                tag("span", ", ".join(values), class_="values")),
            tag("p", about.summary + scaled),
            tag("pre", about.equation, tabindex="0") if about.equation else "",
            tag("p", about.reference, class_="cited") if about.reference else "",
        ))  # fmt: skip
    return steps


def _on_the_map(method: Method) -> list[Markup]:
    """Return what the map of methods says of the components, if it has them."""
    scale = load_map()
    try:
        number = scale.number(method)
    except InvalidParameter:  # a custom component
        return []
    if method == uniform_method(method):
        return []
    expected, best = scale.estimates[number], scale.exchanges(number)
    family = max(best, key=lambda one: best[one][1])
    place = 1 + int((scale.estimates > expected).sum())
    text = (
        f"On the map of {len(scale):,} methods, these components with default hyper-parameters "
        f"beat uniform choice among the paper’s nine strategies with a chance of {expected:.2f} "
        f"(place {place:,})"
    )
    name, after = best[family]
    if after > expected:
        text += f"; the best exchange of one component, {family} {name}, gives {after:.2f}"
    return [tag("p", f"{text}. Other pools of operators, other places.", class_="note")]


def _operators(entry: Configuration) -> Markup:
    columns = dict.fromkeys(("operator", "strategy", "F", "CR"), TEXT)
    table = Table.of(
        "operators", f"operators of {entry.name}", columns, entry.settings.operator_texts()
    )  # fmt: skip
    return table.to_html(show_title=False, download=False)


def _settings(entry: Configuration) -> Markup:
    parts = (
        f"{name if name == 'top_NP' else name.replace('_', ' ')} {text}"
        for name, text in entry.settings.texts().items()
    )
    return tag("p", "Differential evolution: ", ", ".join(parts), ".")


def _file(text: str) -> Markup:
    return tag("details", tag("summary", "As a file (TOML)"), code(text), class_="file")
