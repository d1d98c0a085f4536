"""Recommend a method for problems like these and a budget."""

from dataclasses import dataclass, replace

import numpy as np

from uaos.analysis.sectioning import Section
from uaos.arrays import FloatArray
from uaos.errors import InvalidParameter, Missing
from uaos.files import MARK
from uaos.optimizers.configuration import Configuration
from uaos.table import METHOD, NUMBER, Cell, Table
from uaos.text import join_names

#: Budgets of the table, in evaluations per dimension.
_BUDGETS = tuple(m * 10.0**e for e in range(0, 7) for m in (1, 3))


@dataclass(frozen=True)
class Recommendation:
    """A method for a budget, with its evidence. Made by :func:`recommend`.

    Attributes
    ----------
    method : str
        The method.
    budget : float
        The budget, in evaluations per dimension.
    budgets : tuple of float
        Budgets up to the longest run.
    shares : ndarray, shape (methods, budgets)
        The share of targets that each method reached within each of them.
    methods : tuple of str
        The methods, in the order of `shares`.
    reason : str
        Why this method, in a sentence.
    section : Section
        The runs.
    """

    method: str
    budget: float
    budgets: tuple[float, ...]
    shares: FloatArray
    methods: tuple[str, ...]
    reason: str
    section: Section

    def __repr__(self) -> str:
        return f"<Recommendation: {self.reason}>"

    def configuration(self) -> Configuration:
        """Return the method's configuration, which :func:`uaos.minimize` takes."""
        data = self.section.results.configurations.get(self.method)
        if data is None:
            raise InvalidParameter(
                f"the stores do not have the configuration of {self.method}; name it in `method=`",
                name="method", value=self.method,
            )  # fmt: skip
        configuration = Configuration.from_dict(data)
        note = f"Recommended for about {self.budget:g}·D evaluations; {MARK}."
        return replace(configuration, note=note)

    def table(self) -> Table:
        """Tabulate the share of targets reached by each method at each budget, the best bold."""
        order = np.argsort(-self.shares[:, -1], kind="stable")
        best = self.shares.max(axis=0)
        rows = [
            [Cell(self.methods[k], self.methods[k]),
             *(Cell(f"{share:.1%}", float(share), bold=share == most > 0)
               for share, most in zip(self.shares[k], best, strict=True))]
            for k in order
        ]  # fmt: skip
        columns = {"method": METHOD, **{f"{b:,g}·D": NUMBER for b in self.budgets}}
        records = [
            {"method": self.methods[k], "budget": b, "share": float(self.shares[k, i])}
            for k in order
            for i, b in enumerate(self.budgets)
        ]
        return Table.of(
            "recommendation", "Share of the targets reached within a budget", columns, rows,
            records,
            note="51 targets from 1e2 to 1e-8 on every problem that all methods were run on.",
        )  # fmt: skip


def recommend(section: Section, budget: float | None = None) -> Recommendation:
    """Return the method that reaches most targets within a budget.

    Parameters
    ----------
    section : Section
        The runs.
    budget : float, optional
        Evaluations per dimension, at most the longest run, which is the default.

    Returns
    -------
    Recommendation

    Raises
    ------
    InvalidParameter
        If the budget is not positive, or longer than the runs.
    Missing
        If there is no problem on which all methods were run.
    """
    if not section.shared:
        raise Missing(
            f"no problem has runs of all of {join_names(section.methods)}; finish the runs with "
            "`uaos bench`"
        )
    longest = section.longest
    chosen = longest if budget is None else budget
    if not 0 < chosen <= longest:
        raise InvalidParameter(
            f"budget is {chosen:g}·D; expected at most {longest:g}·D, the longest run",
            name="budget", value=budget,
        )  # fmt: skip
    budgets = tuple(sorted({b for b in _BUDGETS if b < longest} | {chosen, longest}))
    curves = [section.profile(m, section.shared, restarts=False) for m in section.methods]
    shares = np.array([np.zeros(len(budgets)) if c is None else c.at(budgets) for c in curves])
    column = shares[:, budgets.index(chosen)]
    best = int(np.argmax(column))
    method = section.methods[best]
    return Recommendation(
        method, chosen, budgets, shares, section.methods, _reason(section, method, column, chosen),
        section,
    )  # fmt: skip


def _reason(section: Section, method: str, shares: FloatArray, budget: float) -> str:
    """Return why the method was chosen."""
    others = [s for m, s in zip(section.methods, shares, strict=True) if m != method]
    share = float(shares.max())
    text = f"{method} reaches {share:.1%} of the targets within {budget:,g}·D evaluations"
    if others:
        text += f", the next best {max(others):.1%}"
        tests = replace(section, focus=method).focus_tests
        if level := [test.other for test in tests if test.outcome != "better"]:
            others_alike = join_names(level)
            text += f". At the end of the runs it does not differ significantly from {others_alike}"
    return text + "."
