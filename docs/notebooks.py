"""Turn the tutorial notebooks into pages, with what their cells print and draw.

The notebooks are executed when the site is built. Their outputs are cached in build/notebooks, and
used again until a notebook, an example, or the package changes.
"""

import base64
import hashlib
import html
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/tutorials"
CACHE = ROOT / "build/notebooks"

_PROCESSES = 2
# Seconds without a notebook being finished after which the build fails.
_TIMEOUT = 900
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def pages() -> Iterator[tuple[str, str | bytes]]:
    """Execute all notebooks; yield the name and the content of each page and image."""
    paths = sorted(FOLDER.glob("*.ipynb"))
    outputs = {path: CACHE / f"{path.stem}-{_fingerprint(path)}.json" for path in paths}
    _execute({path: target for path, target in outputs.items() if not target.exists()})
    for outdated in set(CACHE.glob("*.json")) - set(outputs.values()):
        outdated.unlink()
    for path, target in outputs.items():
        yield from _page(path, json.loads(target.read_text("utf-8")))


def _fingerprint(path: Path) -> str:
    """Return a hash of a notebook and of everything that it uses."""
    folders = (ROOT / "src/uaos").rglob("*"), (ROOT / "examples").rglob("*")
    digest = hashlib.sha256(sys.version.encode())
    for file in sorted({path, Path(__file__), ROOT / "pyproject.toml", *chain(*folders)}):
        if file.is_file() and file.parent.name != "__pycache__":
            digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _execute(targets: dict[Path, Path]) -> None:
    """Execute notebooks, two at a time, and write their outputs to files."""
    CACHE.mkdir(parents=True, exist_ok=True)
    # A forked process has imported already what most notebooks use.
    for name in ("uaos.cli", "numba", "matplotlib.pyplot", "scipy.special") if targets else ():
        import_module(name)
    context = get_context("fork" if "fork" in get_all_start_methods() else "spawn")
    waiting, running = list(targets.items()), dict[int, tuple[Path, BaseProcess]]()
    while waiting or running:
        while waiting and len(running) < _PROCESSES:
            path, target = waiting.pop(0)
            process = context.Process(target=execute, args=(path, target))
            process.start()
            running[process.sentinel] = path, process
        finished = wait(list(running), timeout=_TIMEOUT)
        for sentinel in finished or list(running):
            path, process = running.pop(sentinel)
            if not finished:
                process.terminate()
            process.join()
            if process.exitcode:
                raise RuntimeError(f"{path.name} failed; the traceback above names the cell")


class _Shell(InteractiveShell):
    """IPython without a terminal."""

    def enable_gui(self, gui: str | None = None) -> None:
        """Accept `%matplotlib inline`, which needs no event loop."""

    def system(self, cmd: str) -> None:
        """Execute a `!command`; raise an error if it fails."""
        super().system(cmd)
        if status := self.user_ns["_exit_code"]:
            raise RuntimeError(f"the command ended with exit status {status}: {cmd}")


def execute(path: Path, target: Path) -> None:
    """Execute a notebook and write its cells, with their outputs, to a file.

    The notebook runs in a temporary folder with the layout of the repository, so that it leaves
    nothing behind and finds the examples.
    """
    cells = json.loads(path.read_text("utf-8"))["cells"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "docs/tutorials"
        place.mkdir(parents=True)
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        os.chdir(place)
        os.environ |= {
            "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", ""),
            "PYTHONPATH": str(ROOT / "src"),
            "TTY_COMPATIBLE": "0",  # commands show no progress
            "COLUMNS": "100",
        }
        sys.path.insert(0, "")
        settings = Config({
            "HistoryManager": {"enabled": False},
            "InlineBackend": {"figure_formats": {"retina"}},
        })  # fmt: skip
        shell = _Shell.instance(config=settings)
        executed = [_executed(cell, shell) for cell in cells]
        os.chdir(ROOT)
    partial = target.with_suffix(".partial")
    partial.write_text(json.dumps(executed), "utf-8")
    partial.replace(target)


def _executed(cell: dict[str, Any], shell: InteractiveShell) -> dict[str, Any]:
    """Return the source of a cell, what it prints, and the images that it draws."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return {"markdown": source}
    with capture_output(stderr=False) as captured:
        # While a cell runs, the shell's own hook would print the value of the last expression.
        silent = source.rstrip().endswith(";")
        shell.display_trap.hook = (lambda value: None) if silent else sys.displayhook
        result = shell.run_cell(source)
    if not result.success:
        print(f"In this cell:\n{source}\n{captured.stdout}", file=sys.stderr)
        result.raise_error()
    texts, images = [captured.stdout], []
    for output in captured.outputs:
        data = output.data
        if "image/png" in data:
            image = data["image/png"]
            if isinstance(image, bytes):
                image = base64.b64encode(image).decode("ascii")
            size = (output.metadata or {}).get("image/png", {})
            images.append({"png": image, "width": size.get("width")})
        else:
            texts.append(data.get("text/plain", "") + "\n")
    return {"source": source, "text": "".join(texts), "images": images}


def _page(path: Path, cells: list[dict[str, Any]]) -> Iterator[tuple[str, str | bytes]]:
    """Yield the page of an executed notebook, after its images."""
    lines: list[str] = []
    number = 0
    for cell in cells:
        if "markdown" in cell:
            lines += [cell["markdown"], ""]
            continue
        lines += ["```python", cell["source"], "```", ""]
        for image in cell["images"]:
            name = f"{path.stem}-{number}.png"
            number += 1
            yield f"tutorials/{name}", base64.b64decode(image["png"])
            size = f'{{ width="{image["width"]}" }}' if image["width"] else ""
            lines += [f"![What the code above draws]({name}){size}", ""]
        if cell["text"].strip():
            shown = html.escape(_ESCAPES.sub("", cell["text"]).rstrip(), quote=False)
            lines += [f'<pre class="output">{shown}</pre>', ""]
    lines += [f"[Download this notebook]({path.name})", ""]
    yield f"tutorials/{path.stem}.md", "\n".join(lines)
