"""What the documentation says runs, and the generated pages are current."""

import re
from pathlib import Path

import matplotlib
import pytest
from test_register import _families_as_before  # noqa: F401 (documentation registers components)

from uaos.components import FAMILIES, components
from uaos.describe import components_page, describe

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def blocks(page: Path) -> str:
    """The Python of a page, its blocks one after the other, at their line numbers."""
    lines = page.read_text(encoding="utf-8").splitlines()
    inside, code = False, []
    for line in lines:
        fence = line.strip()
        if fence.startswith("```"):
            inside = fence == "```python"
            code.append("")
        else:
            code.append(line if inside else "")
    return "\n".join(code)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks(p).strip()], ids=lambda p: str(p.relative_to(ROOT))
)
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    exec(compile(blocks(page), str(page), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", prose):
        assert (page.parent / target).exists(), target


def test_the_page_of_components_is_current() -> None:
    page = (ROOT / "docs" / "components.md").read_text(encoding="utf-8")
    assert page == components_page(), "run: python -m uaos.describe > docs/components.md"


@pytest.mark.parametrize(
    ("family", "name"), [(f, n) for f in FAMILIES for n in components(f)], ids=str
)
def test_every_component_gives_its_equation_and_reference(family: str, name: str) -> None:
    about = describe(components(family)[name])
    assert about.summary
    assert about.equation
    # author, year, title
    assert re.search(r"\w.* \(\d{4}\), \".+\"", about.reference)
