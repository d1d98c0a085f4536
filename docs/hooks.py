"""Add to the pages of docs/: pages made from other files, their links, drawings.

mkdocs calls the functions named on_…; mkdocs.yml names this file. Nothing is written to docs/.
"""

import ast
import html
import os
import re
import sys
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from rich.text import Text

from uaos.cli import load_commands
from uaos.optimizers.de.strategies import STRATEGIES

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import notebooks  # noqa: E402
import sources  # noqa: E402

#: Pages of the site that are files of the repository outside docs/.
ELSEWHERE = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "benchmarks.md": "benchmarks/results.md",
}
CITATION = "citation.md"
COMMANDS = "reference/commands.md"
EXAMPLES = "examples.md"

# A link to a place outside the page and inside the repository; in code there is none.
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?(\))")
_OPTION = re.compile(r"<code>(?=-[^<]{1,30}</code>)")
_DRAWING = re.compile(r'<img alt="([^"]*)" src="([^"]+\.svg)"[^>]*>')


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from other files."""
    generated = {page: (ROOT / source).read_text("utf-8") for page, source in ELSEWHERE.items()}
    generated |= {CITATION: citation_page(), COMMANDS: commands_page(), EXAMPLES: examples_page()}
    for page, content in [*generated.items(), *notebooks.pages()]:
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn links within the repository into links to the pages of the site."""
    here = page.file.src_uri
    source = Path(ELSEWHERE.get(here, f"docs/{here}"))

    def relinked(link: re.Match[str]) -> str:
        before, target, anchor, after = link.groups()
        destination = place(os.path.normpath(source.parent / target))
        if destination is None:
            return link[0]  # mkdocs warns of it
        name, own = destination
        return before + os.path.relpath(name, Path(here).parent) + (anchor or own) + after

    pieces, end = [], 0
    for code in _CODE.finditer(markdown):
        # GitHub needs an escaped pipe in the code of a table; here the backslash would be shown.
        shown = code[0] if code[0].startswith("```") else code[0].replace("\\|", "|")
        pieces += [_LINK.sub(relinked, markdown[end : code.start()]), shown]
        end = code.end()
    linked = "".join([*pieces, _LINK.sub(relinked, markdown[end:])])
    return sources.included(linked.replace("<!-- strategies -->", strategies_table()))


def place(path: str) -> tuple[str, str] | None:
    """Return the page of the site, and the anchor in it, for a file of the repository."""
    for page, source in ELSEWHERE.items():
        if path == source:
            return page, ""
    if path == "CITATION.cff":
        return CITATION, ""
    if path.startswith("docs/"):
        return path.removeprefix("docs/"), ""
    if path == "examples":
        return EXAMPLES, ""
    if path.startswith("examples/"):
        return EXAMPLES, "#" + anchor(ROOT / path)
    return None


def on_page_content(content: str, page: Page, **_: Any) -> str:
    """Inline drawings, so that they follow the light or dark scheme; mark options in text."""

    def inlined(image: re.Match[str]) -> str:
        alt, source = image.groups()
        path = ROOT / "docs" / os.path.normpath(Path(page.file.src_uri).parent / source)
        drawing = path.read_text("utf-8") if path.is_file() else ""
        if 'class="drawing"' not in drawing:
            return image[0]
        return drawing.replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)

    return _DRAWING.sub(inlined, _OPTION.sub('<code class="option">', content))


def strategies_table() -> str:
    """Return the mutation strategies of differential evolution and their formulas as a table."""
    rows = [f"| `{s.name}` | `{s.formula}` |" for s in STRATEGIES.values()]
    return "\n".join(["| strategy | mutant |", "|---|---|", *rows])


def citation_page() -> str:
    """Return the page of CITATION.cff."""
    text = (ROOT / "CITATION.cff").read_text("utf-8").strip()
    message = re.search(r"^message: (.+)$", text, re.MULTILINE)
    assert message
    return f"# Cite\n\n{message[1]}\n\n```yaml\n{text}\n```\n"


def examples_page() -> str:
    """Return the examples, each with its docstring and its code, by folder."""
    lines = [
        "# Examples",
        "",
        "Programs to start from, as they are in a clone. The tests run every one of them.",
    ]
    folder = ROOT / "examples"
    for path in sorted(folder.rglob("*.py"), key=lambda p: (len(p.parts), p)):
        if path.parent != folder:
            folder = path.parent
            lines += ["", f"## `{folder.name}/` {{ #{anchor(folder)} }}"]
        source = path.read_text("utf-8")
        tree = ast.parse(source)
        about = ast.get_docstring(tree) or ""
        code = "\n".join(source.splitlines()[tree.body[0].end_lineno if about else 0 :]).strip()
        level = "##" if folder.name == "examples" else "###"
        lines += ["", f"{level} `{path.name}` {{ #{anchor(path)} }}", "", about, ""]
        lines += [f'??? example "{path.relative_to(ROOT).as_posix()}"', ""]
        lines += ["    " + line for line in ["```python", *code.split("\n"), "```"]]
    return "\n".join(lines) + "\n"


def anchor(path: Path) -> str:
    """Return the anchor of an example, or of a folder of them."""
    return "-".join(path.relative_to(ROOT / "examples").with_suffix("").parts).replace("_", "-")


def commands_page() -> str:
    """Return the page of all commands with their arguments and options."""
    group: Any = typer.main.get_command(load_commands())
    lines = [
        "# Command line",
        "",
        "`uaos COMMAND --help` shows the same in a terminal. Bad input ends with exit code 2 and",
        "one line that says what is wrong, what is expected and what to do. These options precede",
        "the command:",
        "",
        *_table(group),
    ]
    for name, command in group.commands.items():
        usage = " ".join([f"uaos {name}", *map(_written, _arguments(command)), "[OPTIONS]"])
        lines += ["", f"## uaos {name}", "", *_paragraphs(command.help or "")]
        lines += ["", "```text", usage, "```", ""]
        # The commands of an epilog are its bold parts.
        examples = re.findall(r"\[bold\](.+?)\[/\]", command.epilog or "")
        if examples:
            shown = [Text.from_markup(example).plain for example in examples]
            lines += ["For example:", "", "```sh", *shown, "```", ""]
        lines += _table(command)
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def _arguments(command: Any) -> list[Any]:
    return [p for p in command.params if p.param_type_name == "argument"]


def _written(parameter: Any) -> str:
    """Format an argument for a usage line."""
    name = (parameter.metavar or parameter.name.upper()).removesuffix("...")
    name += "..." if parameter.nargs == -1 else ""
    return name if parameter.required else f"[{name}]"


def _table(command: Any) -> list[str]:
    lines = ["| | meaning | default |", "|---|---|---|"]
    for p in command.params:
        if p.param_type_name == "argument":
            name = _written(p)
        else:
            name = ", ".join(p.opts) + (f" {p.metavar}" if p.metavar else "")
        # Switches, and what depends on something else, say it in their meaning.
        plain = not isinstance(p.default, bool) and isinstance(p.default, str | int | float)
        default = f"`{p.default}`" if plain else ""
        meaning = html.escape(p.help or "", quote=False).replace("|", "\\|")
        lines.append(f"| `{name}` | {meaning} | {default} |")
    return lines
