"""Tutorial notebooks as pages: executed when the site is built, with what they print and draw."""

import base64
import html
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/tutorials"

# Seconds that a cell may take.
_PATIENCE = 600
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def pages() -> Iterator[tuple[str, str | bytes]]:
    """Execute all notebooks; yield the name and the content of each page and image."""
    paths = sorted(FOLDER.glob("*.ipynb"))
    with ThreadPoolExecutor(2) as pool:
        for path, cells in zip(paths, pool.map(executed, paths), strict=True):
            yield from _page(path, cells)


def executed(path: Path) -> list[Any]:
    """Return the cells of a notebook with their outputs.

    The notebook runs in a folder of its own that is laid out like the repository, so that it leaves
    nothing behind and finds the examples.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "docs/tutorials"
        place.mkdir(parents=True)
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        programs = os.path.dirname(sys.executable)
        environment = os.environ | {
            "PATH": programs + os.pathsep + os.environ.get("PATH", ""),
            "PYTHONPATH": str(ROOT / "src"),
            "TTY_COMPATIBLE": "0",  # commands show no progress
            "COLUMNS": "100",
        }
        client = NotebookClient(
            notebook, timeout=_PATIENCE, startup_timeout=_PATIENCE,
            resources={"metadata": {"path": place}},
            extra_arguments=["--IPKernelApp.log_level=40",  # errors
                             "--InlineBackend.figure_formats=retina"],
        )  # fmt: skip
        client.execute(env=environment)
    cells: list[Any] = notebook.cells
    return cells


def _page(path: Path, cells: list[Any]) -> Iterator[tuple[str, str | bytes]]:
    """Yield the page of an executed notebook, after its images."""
    lines: list[str] = []
    images = 0
    for cell in cells:
        if cell.cell_type == "markdown":
            lines += [cell.source, ""]
            continue
        lines += ["```python", cell.source, "```", ""]
        text = ""
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}-{images}.png"
                images += 1
                yield f"tutorials/{name}", base64.b64decode(data["image/png"])
                width = output.metadata.get("image/png", {}).get("width")
                size = f'{{ width="{width}" }}' if width else ""
                lines += [f"![What the code above draws]({name}){size}", ""]
            elif output.output_type == "stream":
                text += output.text if output.name == "stdout" else ""
            else:
                text += data.get("text/plain", "") + "\n"
        if text.strip():
            shown = html.escape(_ESCAPES.sub("", text).rstrip(), quote=False)
            lines += [f'<pre class="output">{shown}</pre>', ""]
    lines += [f"[Download this notebook]({path.name})", ""]
    yield f"tutorials/{path.stem}.md", "\n".join(lines)
