"""The state of a running optimization, and its result."""

import html
import os
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import IntEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from uaos.arrays import FloatArray, IntArray
from uaos.errors import Missing
from uaos.extras import as_frame
from uaos.history import History
from uaos.text import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from uaos.optimizers.base import Optimizer

# Largest number of named variables that are shown.
_LINES = 20


class Status(IntEnum):
    """Why a run ended, as an integer: :attr:`Result.status`."""

    UNFINISHED = -1
    """The run is not finished."""
    SUCCESS = 0
    """The target was reached, or the run converged."""
    BUDGET = 1
    """The budget of evaluations is spent."""
    ITERATIONS = 2
    """The limit of iterations is reached."""
    TIME = 3
    """The time limit is reached."""
    INFEASIBLE = 4
    """The run converged, but no feasible point was found."""
    FAILED = 5
    """No evaluation gave a finite value."""
    INTERRUPTED = 6
    """Ctrl-C ended the run, or the executor of the user broke."""
    STALLED = 7
    """The run no longer improved, and nothing shows that its best point is an optimum."""
    CALLBACK = 99
    """The callback ended the run."""


@dataclass(frozen=True)
class Ending:
    """Why a run ended: a status and a message.

    Parameters
    ----------
    status : Status
        The reason.
    message : str
        The reason in words.

    Examples
    --------
    >>> from uaos.result import Ending
    >>> Ending.of_budget(200).message
    'the budget of 200 evaluations is spent'
    >>> Ending.converged().at_infeasible_point(maxcv=0.5).message
    'converged; no feasible point was found (maxcv = 0.5)'
    """

    status: Status
    message: str

    @property
    def success(self) -> bool:
        """True if the target was reached or the run converged."""
        return self.status is Status.SUCCESS

    def at_infeasible_point(self, maxcv: float | None = None) -> "Ending":
        """Return the ending of a run whose best point violates the constraints, by `maxcv`."""
        status = Status.INFEASIBLE if self.success else self.status
        largest = "" if maxcv is None else f" (maxcv = {maxcv:.6g})"
        return Ending(status, f"{self.message}; no feasible point was found{largest}")

    def of_noisy_function(self, evaluations: int) -> "Ending":
        """Return the ending of a run on a noisy function, with an estimate of its value."""
        several = f"fun is the mean of {count(evaluations, 'evaluation')} at x"
        what = several if evaluations > 1 else "fun is a single value"
        return Ending(self.status, f"{self.message}; the function is noisy: {what}")

    def with_outliers(self) -> "Ending":
        """Return the ending of a run on a function some of whose values are off."""
        why = "some values of the function are off: fun was found twice at x"
        return Ending(self.status, f"{self.message}; {why}")

    @classmethod
    def unfinished(cls) -> "Ending":
        """Return the ending of a run that is not finished."""
        return cls(Status.UNFINISHED, "the run is not finished")

    @classmethod
    def converged(cls, doubt: str = "") -> "Ending":
        """Return the ending of a run that has converged, or only stalled if there is a doubt."""
        return cls(Status.STALLED, doubt) if doubt else cls(Status.SUCCESS, "converged")

    @classmethod
    def of_target(cls, target: float) -> "Ending":
        """Return the ending of a run that reached its target."""
        return cls(Status.SUCCESS, f"the target {target:g} was reached")

    @classmethod
    def of_budget(cls, budget: int, *, default: bool = False) -> "Ending":
        """Return the ending of a run that spent its budget, or the default one."""
        name = "default budget" if default else "budget"
        return cls(Status.BUDGET, f"the {name} of {count(budget, 'evaluation')} is spent")

    @classmethod
    def of_failures(cls, evaluations: int) -> "Ending":
        """Return the ending of a run without any finite value."""
        return cls(
            Status.FAILED,
            f"none of {count(evaluations, 'evaluation')} gave a finite value; check what the "
            "function, and constraints if there are any, return inside the bounds",
        )


@dataclass(frozen=True)
class Result(Mapping[str, Any]):
    """The best point found and how the run went; fields by attribute or, as in SciPy, by key.

    Attributes
    ----------
    x : ndarray, dict or None
        The best point, with named variables a dict of those that are active; None if no evaluation
        succeeded.
    fun : float
        Its value.
    nfev, nit : int
        Evaluations, and iterations (of differential evolution: generations).
    success : bool
        True if the target was reached or the run converged. False if the budget is spent or the
        callback ended the run, at an infeasible point, after Ctrl-C, and while a run driven by ask
        and tell is under way.
    status : int
        Why the run ended: 0 success, 1 budget spent, 2 limit of iterations, 3 time limit,
        4 converged at an infeasible point, 5 no evaluation gave a finite value, 6 Ctrl-C or a
        broken executor, 7 stalled, 99 callback, -1 not finished. See :class:`uaos.result.Status`.
    message : str
        The same in words.
    seed : int or None
        Repeats the run; None if the run used a generator.
    history : History or None
        The course of the run; None if it was not recorded.
    constr : list of ndarray
        By how much `x` violates each constraint. This and the next are only there if the run had
        constraints.
    constr_violation, maxcv : float
        The largest of these; 0 if `x` is feasible, up to the tolerance of equalities.
    fun_std : float
        If the function is noisy, the standard error of `fun`, then the mean of several values at
        `x`; NaN if there is only one. With few values it is enlarged, so that `fun` plus or minus
        twice `fun_std` is a 95 % confidence interval of the mean. This and the next are only there
        in that case.
    fun_evaluations : int
        The number of these values.
    jac : ndarray
        The gradient at `x`; only there if a polishing function found `x` and returned it.
    njev : int
        Evaluations of the gradient; only there if the problem has one.
    residuals : ndarray
        The residuals at `x`, after :func:`uaos.least_squares`.
    X, F, violations : ndarray
        All evaluated points, (n, D), with named variables a list of dicts, and their values, in the
        order of evaluation. They are only there if the run was asked to ``record="points"``;
        the violations if it also had constraints.
    log : ndarray of int
        The order in which evaluations ended, of an asynchronous run: `minimize` repeats the run if
        it gets the log as `schedule`. None if the run was continued from a checkpoint.
    population, population_energies : ndarray
        The last population and its values, the best first; only there after differential evolution
        without named variables.

    Examples
    --------
    >>> import uaos
    >>> from uaos.problems import sphere
    >>> result = uaos.minimize(sphere, [(-5, 5)] * 3, budget=200, seed=1)
    >>> result.nfev, result["success"], result.message
    (200, False, 'the budget of 200 evaluations is spent')
    """

    x: Any  # an array, a dict, or None
    fun: float
    nfev: int
    nit: int
    success: bool
    status: int
    message: str
    seed: int | None
    history: History | None
    constr: list[FloatArray] | None = None
    constr_violation: float | None = None
    jac: FloatArray | None = None
    njev: int | None = None
    residuals: FloatArray | None = None
    fun_std: float | None = None
    fun_evaluations: int | None = None
    log: IntArray | None = None
    population: FloatArray | None = None
    population_energies: FloatArray | None = None
    X: Any = None  # an array or a list of dicts
    F: FloatArray | None = None
    violations: FloatArray | None = None

    @property
    def maxcv(self) -> float | None:
        """Same as `constr_violation`, under SciPy's name."""
        return self.constr_violation

    def __iter__(self) -> Iterator[str]:
        names = [
            f.name
            for f in fields(self)
            if f.default is MISSING or getattr(self, f.name) is not None
        ]
        return iter(names if self.maxcv is None else [*names, "maxcv"])

    def __getitem__(self, key: str) -> Any:
        if key in iter(self):
            return getattr(self, key)
        raise KeyError(key)

    def __len__(self) -> int:
        return sum(1 for _ in self)  # list(self) would ask for the length again

    def to_frame(self) -> Any:
        """Return all evaluated points as a pandas DataFrame; without pandas, a dict of columns.

        Where a named variable is not active, a number is NaN, and any other value None.

        Raises
        ------
        Missing
            If the run has no record of its points.
        """
        if self.F is None:
            raise Missing('the run has no record of its points; run it with record="points"')
        if isinstance(self.X, list):
            names = list(dict.fromkeys(name for x in self.X for name in x))
            columns = {name: _column([x.get(name) for x in self.X]) for name in names}
        else:
            columns = {f"x{j}": self.X[:, j].copy() for j in range(self.X.shape[1])}
        columns["fun"] = self.F.copy()
        if self.violations is not None:
            columns["violation"] = self.violations.copy()
        return as_frame(columns)

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, f_opt: float | None = None
    ) -> "Figure":
        """Draw the course of the run, see :meth:`History.plot`."""
        if self.history is None:
            raise Missing("the run has no history to plot; run it with history=True")
        return self.history.plot(path, f_opt=f_opt)

    def _shown(self) -> dict[str, str]:
        """Return the fields as text that fits a screen."""
        with np.printoptions(threshold=12, edgeitems=4, linewidth=88):
            shown = {
                name: str(getattr(self, name)) for name in self if not name.startswith("population")
            }
        if self.history is not None and np.isfinite(self.fun) and self.fun in self.history.best:
            # To within a row of the history, which in a long run is several iterations.
            first = int(np.argmax(self.history.best == self.fun))
            shown["nfev"] += f" (best found after {self.history.evaluations[first]})"
        for name in ("X", "F", "violations"):
            if name in shown:
                shown[name] = f"of {count(len(getattr(self, name)), 'point')}"
        if isinstance(self.x, dict):
            lines = [f"{name} = {value!r}" for name, value in self.x.items()]
            if len(lines) > _LINES:
                lines[_LINES // 2 : -_LINES // 2] = [f"… {len(lines) - _LINES} more"]
            shown["x"] = "\n".join(lines)
        return shown

    def __repr__(self) -> str:
        shown = self._shown()
        width = max(len(name) for name in shown)
        indent = "\n" + " " * (width + 2)
        return "\n".join(
            f"{name:>{width}}: {value.replace(chr(10), indent)}" for name, value in shown.items()
        )

    def _repr_html_(self) -> str:
        """Return a table for notebooks, with a bar for each operator if there are any."""
        name_cell = "<th style='text-align:right'>"
        cell = "<td style='text-align:left'><pre style='margin:0'>"
        rows = "".join(
            f"<tr>{name_cell}{name}</th>{cell}{html.escape(value)}</pre></td></tr>"
            for name, value in self._shown().items()
            if name != "history"
        )
        return f"<table>{rows}{self._operator_rows()}</table>"

    def _operator_rows(self) -> str:
        if self.history is None or not self.history.operators:
            return ""
        counts = self.history.counts.sum(axis=0)
        shares = counts / max(1, counts.sum())
        bar = "display:inline-block;height:0.7em;background:#0072B2;width"
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td style='text-align:left'>"
            f"<span style='{bar}:{100 * share:.0f}px'></span> {share:.1%}</td></tr>"
            for name, share in zip(self.history.operators, shares, strict=True)
        )
        return (
            "<tr><th style='text-align:right'>operators</th>"
            f"<td style='text-align:left'><table>{rows}</table></td></tr>"
        )


def _column(values: list[Any]) -> Any:
    """Return the values of a variable as an array; None where it is not active."""
    kinds = {type(value) for value in values}
    if kinds <= {int, float, type(None)} and kinds != {type(None)}:
        return np.array([np.nan if value is None else value for value in values])
    if kinds in ({str}, {bool}):
        return np.array(values)
    column = np.empty(len(values), object)
    for k, value in enumerate(values):  # one by one, as a value may be a sequence
        column[k] = value
    return column


def read_only(array: FloatArray) -> FloatArray:
    """Return a view of `array` that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def seen(path: str) -> Any:
    """Return a property: an attribute of the run, or of one of its parts, read-only."""

    def get(view: "RunView") -> Any:
        value = attrgetter(path)(view._run)
        return read_only(value) if isinstance(value, np.ndarray) else value

    return property(get)


class RunView:
    """A run as it is now. Passed to :func:`uaos.minimize`'s callback.

    Copy what you want to keep, as the run changes it.

    Parameters
    ----------
    run : Optimizer
        The run.
    """

    def __init__(self, run: "Optimizer") -> None:
        self._run = run

    def __repr__(self) -> str:
        return f"<{count(self.nfev, 'evaluation')}, best {self.fun:g}>"

    x: FloatArray | None = seen("best_x")
    """The best point so far, None before any evaluation succeeded."""
    fun: float = seen("best_fitness")
    """The best fitness so far, +inf before any evaluation succeeded."""
    constr_violation: float = seen("best_violation")
    """By how much `x` violates the constraints, as one number; 0 if it is feasible."""
    nfev: int = seen("nfev")
    """Evaluations so far."""
    nit: int = seen("iterations")
    """Iterations so far."""
    restarts: int = seen("restarts")
    """Restarts so far."""
    operators: tuple[str, ...] = seen("operators")
    """The names of the operators, or of the members of a portfolio."""
    convergence: float = seen("convergence")
    """How close the run is to convergence: above 1 once it has converged."""
    low: FloatArray = seen("low")
    """Lower bounds."""
    high: FloatArray = seen("high")
    """Upper bounds."""

    @property
    def probabilities(self) -> FloatArray:
        """Current probabilities of the operators."""
        return read_only(np.asarray(self._run.probabilities))
