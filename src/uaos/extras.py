"""Optional libraries: imported when needed, with an error that names the extra to install."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from uaos.errors import UaosError

# Module → (its library, the extra that installs it).
_EXTRAS = {
    "cocoex": ("coco-experiment", "experiments"),
    "scipy": ("SciPy", "experiments"),
    "matplotlib": ("matplotlib", "plot"),
    "plotly": ("Plotly", "report"),
    "dask": ("dask", "cluster"),
    "distributed": ("dask and distributed", "cluster"),
    "cocopp": ("cocopp", "coco"),
    "pyarrow": ("pyarrow", "parquet"),
    "cma": ("pycma", "peers"),
    "pymoo": ("pymoo", "pymoo"),
    "alns": ("alns", "alns"),
    "deap": ("deap", "deap"),
    "optuna": ("optuna", "optuna"),
    "sklearn": ("scikit-learn", "sklearn"),
}


def as_frame(columns: dict[str, Any]) -> Any:
    """Return columns as a pandas DataFrame; unchanged if pandas is not installed."""
    return import_module("pandas").DataFrame(columns) if find_spec("pandas") else columns


@cache
def _blas() -> Any:
    """Return threadpoolctl's view of the BLAS libraries; None if it is not installed."""
    if not find_spec("threadpoolctl"):
        return None
    return import_module("threadpoolctl").ThreadpoolController().select(user_api="blas")


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit linear algebra to one thread, if threadpoolctl is installed.

    With small matrices, the threads of OpenBLAS gain nothing, and cost more than tenfold where
    other programs use the processors.
    """
    blas = _blas()
    limited: AbstractContextManager[object] = blas.limit(limits=1) if blas else nullcontext()
    return limited


class MissingExtra(UaosError, ImportError):
    """An optional library is not installed; the message names the extra that installs it."""

    def __init__(self, what: str, library: str, extra: str) -> None:
        self.library, self.extra = library, extra
        super().__init__(
            f"{what} needs {library}, which is not installed; install it in the folder of uaos: "
            f'pip install -e ".[{extra}]"'
        )


def optional(module: str, what: str) -> Any:
    """Import and return a module that `what` needs, or raise :class:`MissingExtra`."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(what, *_EXTRAS[module.partition(".")[0]]) from None


def require(module: str, what: str) -> None:
    """Raise :class:`MissingExtra` if a module is not installed."""
    try:
        spec = find_spec(module)
    except ImportError:
        spec = None
    if spec is None:
        raise MissingExtra(what, *_EXTRAS[module])


def missing_extra(error: ImportError) -> MissingExtra | None:
    """Return the error of a command whose import failed because an extra is not installed."""
    extra = _EXTRAS.get((error.name or "").partition(".")[0])
    return MissingExtra("this command", *extra) if extra else None
