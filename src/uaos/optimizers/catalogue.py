"""The catalogue: configurations by name.

Other modules add groups of entries by :func:`add_group`; every registered optimizer is an entry
with its default settings.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from uaos.errors import InvalidParameter, UnknownName, shortened
from uaos.optimizers.base import Optimizer
from uaos.optimizers.configuration import FOR_ANY_RUN, Configuration
from uaos.optimizers.registry import optimizer_class, optimizer_classes
from uaos.selection.method import Method

#: The name of the default method.
PORTFOLIO = "portfolio"

#: The recommended differential evolution.
RECOMMENDED = "mix"

#: Values of a `method` argument: a name of the catalogue, the path of a TOML file, a method (which
#: runs with default settings) or a configuration.
ConfigurationLike = str | os.PathLike[str] | Method | Configuration

Group = Callable[[], list[Configuration]]

# The group of each name, in the order of the catalogue.
_groups: dict[str, Group] = {}


def add_group(*names: str) -> Callable[[Group], Group]:
    """Add configurations of these names, which the decorated function makes when one is needed."""

    def add(group: Group) -> Group:
        _groups.update(dict.fromkeys(names, group))
        return group

    return add


@cache
def _entries(group: Group) -> dict[str, Configuration]:
    return {entry.name: entry for entry in group()}


def _optimizers() -> dict[str, Configuration]:
    """Return the registered optimizers with default settings, unless they have other entries."""
    return {name: _default(cls) for name, cls in optimizer_classes().items() if cls.listed}


def _default(cls: type[Optimizer]) -> Configuration:
    summary = (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")
    kind = "optimizer" if cls.__module__.startswith("uaos.") else "custom"
    return Configuration(
        cls.name, reference=cls.reference, note=summary, kind=kind, optimizer=cls.name
    )


def methods() -> Mapping[str, Configuration]:
    """Return the catalogue by name: methods, tuned, baselines, winners, registered optimizers.

    Returns
    -------
    mapping of str to Configuration
        The configurations.

    Examples
    --------
    >>> import uaos
    >>> uaos.methods()["JADE"].kind
    'baseline'
    """
    entries = {name: _entries(group)[name] for name, group in _groups.items()}
    return MappingProxyType({**entries, **_optimizers()})


#: Names of groups of entries, with the kind of these; `all` is the whole catalogue.
GROUPS = {"literature": "method", "tuned": "tuned", "winners": "winner", "all": None}


def expanded(names: Iterable[Any], *, selecting: bool = False) -> list[Any]:
    """Replace each group (a key of GROUPS) in a list of names by the names of its entries.

    Anything else is left as it is. `selecting` takes only entries of a group that have a method.
    """
    result: list[Any] = []
    for name in names:
        if not (isinstance(name, str) and name in GROUPS):
            result.append(name)
            continue
        for member, entry in methods().items():
            if GROUPS[name] in (None, entry.kind) and (entry.method or not selecting):
                result.append(member)
    return result


def configuration(name: str | os.PathLike[str] | Configuration) -> Configuration:
    """Return a configuration of the catalogue, or that of a TOML file.

    Parameters
    ----------
    name : str, path-like or Configuration
        A name that :func:`methods` lists, the path of a .toml file, or a configuration, which is
        returned as it is.

    Returns
    -------
    Configuration
        An optimizer with its settings.

    Raises
    ------
    UnknownName
        If there is no such name.

    Examples
    --------
    >>> import uaos
    >>> uaos.configuration("CMA-ES").optimizer
    'CMA-ES'
    """
    if isinstance(name, Configuration):
        return name
    if isinstance(name, str):
        registered = optimizer_classes().get(name)
        if registered is not None and registered.listed:
            return _default(registered)
        if name in _groups:
            return _entries(_groups[name])[name]
    if isinstance(name, os.PathLike) or (isinstance(name, str) and name.endswith(".toml")):
        return Configuration.from_toml(name)
    hint = (
        "(`uaos methods` lists them; a configuration file ends in .toml; on the command line, "
        "--import FILE.py registers custom ones)"
    )
    if isinstance(name, str) and name.lower() in _SCIPY:
        hint = "(a method of SciPy; omit `method`, or name BFGS, or SQP for constraints)"
    raise UnknownName("method", name, methods(), hint=hint)


# Methods of SciPy that users may ask for.
_SCIPY = {
    "nelder-mead", "powell", "cg", "newton-cg", "l-bfgs-b", "tnc", "cobyla", "cobyqa", "slsqp",
    "trust-constr", "dual_annealing", "basinhopping", "shgo", "direct",
}  # fmt: skip

#: Entries that share a name, and what each of them is.
RELATED: tuple[Mapping[str, str], ...] = (
    {"SaDE": "the selection method", "SaDE-DE": "the published algorithm"},
    {"PM-AdapSS-AA": "the selection method with absolute rewards",
     "PM-AdapSS-N": "the selection method with normalized rewards",
     "PM-AdapSS-DE": "the published algorithm",
     "PM-AdapSS-tuned": "tuned in the framework's paper"},
    {"F-AUC-MAB": "the selection method", "F-AUC-MAB-DE": "the published algorithm",
     "F-AUC-MAB-tuned": "tuned in the framework's paper"},
    {"RecPM": "the selection method", "RecPM-DE": "the published algorithm",
     "RecPM-tuned": "tuned in the framework's paper"},
    {"Compass": "the selection method", "Compass-tuned": "tuned in the framework's paper"},
    {"U-AOS-FW": "as printed in the framework's paper",
     "U-AOS-FW-inferred": "with settings inferred from its results"},
    {"uniform": "uniform choice of nine strategies with the settings of the package",
     "DE-uniform": "uniform choice in the published algorithm of 2010",
     "mix-uniform": "uniform choice from the pool of mix"},
    {"mix": "the recommended differential evolution",
     "mix-shares": "the same with another method, for up to 10,000·D evaluations"},
    {"SHADE": "as published", "SHADE-restart": "with restarts of this package"},
    {"CMA-ES": "of this package", "BIPOP-CMA-ES": "of the library pycma"},
)  # fmt: skip


def related(name: str) -> str:
    """Return what the entries are that share a name with this one, itself first; "" if it is alone.

    Examples
    --------
    >>> from uaos.optimizers.catalogue import related
    >>> related("SaDE")
    'SaDE: the selection method; SaDE-DE: the published algorithm.'
    """
    for group in RELATED:
        if name in group:
            order = [name, *(other for other in group if other != name)]
            return "; ".join(f"{n}: {group[n]}" for n in order) + "."
    return ""


def cited(configurations: Iterable[Configuration]) -> list[str]:
    """Return the references of configurations, and of the optimizers that they run with."""
    references = []
    for entry in configurations:
        members = [m.configuration for m in getattr(entry.settings, "members", None) or ()
                   if hasattr(m, "configuration")]  # fmt: skip
        for part in (entry, *members):
            references += [part.reference, optimizer_class(part.optimizer).reference]
    return references


def as_configuration(method: ConfigurationLike) -> Configuration:
    """Return the configuration that a `method` argument stands for."""
    if isinstance(method, Method):
        return Configuration("custom method", method, FOR_ANY_RUN)
    if isinstance(method, str | os.PathLike | Configuration):
        return configuration(method)
    raise InvalidParameter(
        f"method is {shortened(method)}; expected None, a name, a TOML file, a uaos.Method or a "
        "uaos.Configuration",
        name="method", value=method,
    )  # fmt: skip


def method(name: str | os.PathLike[str], **changes: Any) -> Method:
    """Return a method of the catalogue, with components or hyper-parameters exchanged.

    Parameters
    ----------
    name : str or path
        A name of the catalogue, or a TOML file.
    **changes
        Components by family (``reward="area_under_curve"``) and hyper-parameters by name
        (``W=30``).

    Returns
    -------
    Method
        The method.

    Raises
    ------
    InvalidParameter
        If the configuration of this name selects nothing, or a change does not fit.

    Examples
    --------
    >>> import uaos
    >>> uaos.method("SaDE", max_gen=50).reward
    success_rate(max_gen=50, power=1, frac=0.0, noise=0.01)
    """
    entry = configuration(name)
    if entry.method is None:
        raise InvalidParameter(
            f"{entry.name} does not select among operators; expected a method that does. Use it "
            "with uaos.minimize or uaos.configuration",
            name="method", value=name,
        )  # fmt: skip
    return entry.method.replace(**changes)
