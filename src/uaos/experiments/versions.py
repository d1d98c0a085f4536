"""The versions that a result may depend on."""

import platform
from importlib.metadata import PackageNotFoundError, version


def versions() -> dict[str, str]:
    """Python and the packages that compute, as installed here."""
    found = {"python": platform.python_version()}
    for package in ("uaos", "numpy", "numba", "coco-experiment", "cma"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
