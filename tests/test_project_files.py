"""The files around the package agree with each other."""

import json
import re
from pathlib import Path

import pytest

import uaos

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: the extra uaos[docs]")

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs/tutorials").glob("*.ipynb"))
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere():
    """A release has one number everywhere; between releases the package has that of the next."""
    changelog = _text("CHANGELOG.md")
    number, unreleased, _ = uaos.__version__.partition(".dev")
    release = re.search(r"^## \[(.+?)\]", changelog, re.M)[1]
    if unreleased:
        assert f"## {number.rpartition('.')[0]} (unreleased)" in changelog
        assert number != release
    else:
        assert number == release
    assert yaml.safe_load(_text("CITATION.cff"))["version"] == release
    assert yaml.safe_load(_text("conda/recipe.yaml"))["context"]["version"] == release


def test_the_conda_recipe_needs_what_the_package_needs():
    """The run requirements of the recipe are the base dependencies of pyproject.toml."""
    block = re.search(r"^dependencies = \[(.*?)\]", _text("pyproject.toml"), re.M | re.S)[1]
    base = re.findall(r'"(.+?)"', block)
    run = yaml.safe_load(_text("conda/recipe.yaml"))["requirements"]["run"]
    assert [need.replace(" ", "") for need in run[1:]] == base


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_targets_that_exist(path):
    """Continuous integration runs what a contributor can run: targets of the Makefile."""
    targets = set(re.findall(r"^([a-z]+):", _text("Makefile"), re.M))
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    called = re.findall(r"\bmake ([a-z]+)", str(jobs))
    assert called
    assert set(called) <= targets


def test_every_job_has_a_time_limit_or_only_publishes():
    """A job that hangs must not run for hours."""
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items():
            assert "timeout-minutes" in job or name == "publish", f"{path.name}: {name}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_its_outputs(path):
    """What a notebook prints and draws is made when the site is built, and never out of date."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
