"""Problems to minimize, and suites of them: BBOB, or a user's Python file.

    import uaos

    suite = uaos.suite("bbob", dimension=5, instances="train")
    suite = uaos.suite("problems.py")

where `problems.py` is, for example,

    import numpy as np
    import uaos

    def valley(x):
        return float(np.sum(np.abs(x) ** 1.5))

    suite = uaos.Suite("mine", [
        uaos.Problem(valley, [(-3, 3)] * d, name=f"valley {d}-D", function="valley", optimum=0.0)
        for d in (2, 10)
    ])
"""

import os
from collections.abc import Iterable, Mapping

from uaos.errors import InvalidParameter, UnknownName
from uaos.files import as_path
from uaos.loading import load_file
from uaos.problems import bbob as _bbob
from uaos.problems import coco as _coco
from uaos.problems.analytic import ackley, rastrigin, rosenbrock, sphere
from uaos.problems.bbob import BBOB
from uaos.problems.problem import Problem, Suite, suite_in
from uaos.problems.references import REFERENCE_TARGETS, Published, Reference

__all__ = [
    "BBOB", "REFERENCE_TARGETS", "Problem", "Published", "Reference", "Suite", "ackley",
    "rastrigin", "reference", "rosenbrock", "sphere", "suite", "titles",
]  # fmt: skip

_BUILT_IN = {_bbob.NAME: _bbob.bbob_suite, **_coco.MAKERS}


def suite(
    name: str | os.PathLike[str] = "bbob",
    *,
    dimension: int | None = None,
    functions: str | Iterable[int] | None = None,
    instances: str | Iterable[int] | os.PathLike[str] | None = None,
) -> Suite:
    """Return a suite of problems, by its name or from a Python file.

    Parameters
    ----------
    name : str or path
        "bbob", "bbob-constrained", "bbob-mixint", "bbob-largescale" or "bbob-noisy", or a Python
        file that defines ``suite = uaos.Suite(...)`` or only `uaos.Problem` objects.
    dimension, functions, instances : optional
        The part of "bbob"; see `uaos.problems.bbob.bbob_suite`. By default 20-D, all functions and
        the 312 test problems. Of COCO's other suites, see `uaos.problems.coco.coco_suite`, by
        default 20-D (80-D if large-scale), all functions and the instances 1 to 15.

    Returns
    -------
    Suite

    Raises
    ------
    UnknownName
        If there is no such suite.
    InvalidParameter
        If `dimension`, `functions` or `instances` are given for another suite.

    Examples
    --------
    >>> import uaos
    >>> len(uaos.suite("bbob", dimension=5, instances="train"))
    48
    """
    part = {"dimension": dimension, "functions": functions, "instances": instances}
    part = {option: value for option, value in part.items() if value is not None}
    if isinstance(name, str) and name in _BUILT_IN:
        return _BUILT_IN[name](**part)  # type: ignore[arg-type]
    if isinstance(name, str) and not (name.endswith(".py") or os.sep in name):
        raise UnknownName("suite", name, _BUILT_IN, hint="(or the path of a Python file)")
    if part:
        option, value = next(iter(part.items()))
        raise InvalidParameter(
            f"{option} is only for COCO's suites; choose problems of {name} by their names "
            "(--problems)",
            name=option,
            value=value,
        )
    return suite_in(load_file(as_path(name, "suite")))


def built_in_suite(name: str, keys: Iterable[tuple[str, int, int | None]]) -> Suite:
    """Return the problems of a built-in suite with these functions, dimensions and instances."""
    if name in _coco.SUITES:
        return _coco.suite_of(
            name, [(int(f.removeprefix("f")), d, int(i or 0)) for f, d, i in keys]
        )
    if name != _bbob.NAME:
        raise UnknownName("suite", name, _BUILT_IN, hint="(it was not loaded from a file)")
    selected = Suite(
        name, (_bbob.bbob_problem(int(f.removeprefix("f")), d, int(i or 0)) for f, d, i in keys)
    )
    selected.reference = _bbob.REFERENCE
    return selected


def reference(suite_name: str) -> Reference | None:
    """Return the published running times of a suite, by its name; None if there are none.

    Parameters
    ----------
    suite_name : str

    Returns
    -------
    Reference or None
        Running times, and published tables.

    Examples
    --------
    >>> from uaos.problems import reference
    >>> reference("bbob").name
    'best 2009'
    """
    return _bbob.REFERENCE if suite_name == _bbob.NAME else None


def titles(suite_name: str) -> Mapping[str, str]:
    """Return descriptive names of the functions of a suite; empty for most suites.

    Parameters
    ----------
    suite_name : str

    Returns
    -------
    mapping of str to str
        Descriptive names by function.

    Examples
    --------
    >>> from uaos.problems import titles
    >>> titles("bbob")["f8"]
    'Rosenbrock'
    """
    if suite_name in _coco.SUITES:
        return _coco.SUITES[suite_name].titles
    return _bbob.TITLES if suite_name == _bbob.NAME else {}
