"""A tuning: values drawn over the races, who survived, what mattered, and who won."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from uaos.analysis.tuning import Importance, Numbers, Shares, frequencies, importance, survival
from uaos.errors import InvalidFile, UaosError
from uaos.reporting import figures
from uaos.reporting.figures.drawn_values import order
from uaos.reporting.report.grid import Cell, Row, csv_text, grid
from uaos.reporting.report.html import (
    Markup,
    count,
    duration,
    joined,
    listed,
    power,
    prose,
    tag,
    whole,
)
from uaos.reporting.report.looks import Looks
from uaos.reporting.report.pictures import image, plot
from uaos.reporting.report.recipes import recipe
from uaos.reporting.report.sources import TuningEntry
from uaos.selection.components import FAMILIES

# Shares below this are only named.
_LEAST = 0.005


class TuningView:
    """One tuning, read once."""

    def __init__(self, entry: TuningEntry, number: int) -> None:
        self.entry, self.number = entry, number
        store, tuning = entry.store, entry.tuning.id
        try:
            self.frequencies = frequencies(store, tuning)
            self.survival = survival(store, tuning)
            self.importance = importance(store, tuning)
        except UaosError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidFile(
                f"{store.path}: the record of tuning {tuning} cannot be read "
                f"({type(error).__name__}: {error}); it may be of an older uaos"
            ) from error
        self.candidates = {c.id: c for c in store.candidates(tuning)}
        self.steps = store.steps(tuning)
        self.races = store.iterations(tuning)
        elites = store.elites(tuning)
        last = elites[-1].iteration if elites else 0
        self.elites = [e for e in elites if e.iteration == last]

    @property
    def key(self) -> str:
        """What its plots and tables are called."""
        return f"tuning-{self.number}"

    @property
    def best(self) -> Mapping[str, Any] | None:
        """The configuration that won, or leads so far; None before the end of the first race."""
        if not self.elites:
            return None
        stored: Mapping[str, Any] | None = self.entry.tuning.data.get("best")
        if stored is None:
            key = self.candidates[self.elites[0].candidate].configuration
            stored = self.entry.store.configuration(key, "tuned").to_dict()
        return stored

    def data(self) -> dict[str, Any]:
        """For the script."""
        choices = [one for one in self.frequencies.values() if isinstance(one, Shares)]
        numbers = [one for one in self.frequencies.values() if isinstance(one, Numbers)]
        return {
            "choices": {c.name: {
                "values": [str(v) for v in c.values],
                "shares": np.round(c.shares.T, 4).tolist(),
                "winner": None if c.winner is None else str(c.winner),
            } for c in choices},
            "numbers": {n.name: {
                "low": n.low, "high": n.high, "log": n.log, "winner": n.winner,
                "values": [[float(f"{v:.4g}") for v in values] for values in n.values],
            } for n in numbers},
            "races": [
                {"race": s.iteration, "alive": [len(s.candidates), *s.alive]}
                for s in self.survival
            ],
            "problems": [s.instance for s in self.steps],
            "importance": [[one.name, round(one.share, 4)] for one in self.importance],
        }  # fmt: skip

    def csv(self) -> dict[str, str]:
        """The tables for programs: survivors, candidates, importance."""
        survivors = [{**e._asdict(), **self._values(e.candidate)} for e in self.elites]
        candidates = [
            {"candidate": c.id, "race": c.iteration, "parent": c.parent, "origin": c.origin,
             **{name: c.values.get(name, "") for name in self._names()}}
            for c in self.candidates.values()
        ]  # fmt: skip
        mattered = [one._asdict() for one in self.importance]
        return {
            f"{self.key}-survivors": csv_text(survivors),
            f"{self.key}-candidates": csv_text(candidates),
            f"{self.key}-importance": csv_text(mattered),
        }

    def _names(self) -> list[str]:
        setup: list[Mapping[str, Any]] = self.entry.tuning.setup["space"]
        return [v["name"] for v in setup]

    def _values(self, candidate: int) -> dict[str, Any]:
        values = self.candidates[candidate].values
        return {name: values.get(name, "") for name in self._names()}

    def section(self, looks: Looks, several: bool) -> Markup:
        """The tuning on the page."""
        store, tuning = self.entry.store, self.entry.tuning.id
        values = (
            image(figures.tuning_frequencies(store, tuning), self._drawn_words())
            if self.elites
            else ""
        )
        alive = image(figures.tuning_survival(store, tuning), self._survival_words())
        parts: list[object] = [tag("p", self._lead(), class_="lead")]
        if several:
            parts.insert(0, tag("h3", f"Tuning {tuning} of {self.entry.name}"))
        parts += [tag("p", line) for line in self._said(len(self.frequencies))]
        parts += [self._survivors(), self._winner(looks)]
        if self.importance:
            parts += [tag("h4", "What mattered"), self._mattered()]
        parts += [
            tag("h4", "Who survived"),
            plot("survival", static=alive, tuning=self.number, label=self._survival_words(),
                 caption="Candidates left after each problem that was raced on. New ones are drawn "
                 "around the survivors of the race before."),
            tag("h4", "What was drawn"),
            tag("p", "The share of each choice among the candidates drawn for a race, and the "
                "values of each number with their median, race by race. A star marks the "
                "winner’s."),
            self._panels(),
            tag("div", tag("p"), tag("button", "CSV", type="button", class_="csv",
                data_csv=f"{self.key}-candidates", title="Save all candidates as CSV"),
                class_="under"),
            tag("div", values, class_="static") if values else "",
        ]  # fmt: skip
        return tag("section", *parts, id=self.key)

    def _lead(self) -> str:
        if not self.elites:
            return "The first race is not over yet."
        best = self.elites[0]
        values = self.candidates[best.candidate].values
        made = " · ".join(str(values[f]).replace("_", " ") for f in FAMILIES if f in values)
        state = "won" if self.entry.tuning.finished else "leads so far"
        return f"{made or f'Candidate {best.candidate}'} {state}."

    def _said(self, free: int) -> list[str]:
        setup = self.entry.tuning.setup
        used = self.steps[-1].runs_used
        problems, names = len(setup["problems"]), count(free, "free parameter")
        said = (
            f"{whole(used)} of {count(setup['runs'], 'run')} of at most {setup['budget']} "
            f"evaluations on {count(problems, 'training problem')} ({setup['training_set']}), in "
            f"{count(len(self.survival), 'race')}; {count(len(self.candidates), 'candidate')} "
            f"with {names}; objective {setup['objective']}, seed {setup['seed']}, tuner "
            f"{setup['tuner']}."
        )
        seconds = self.steps[-1].elapsed
        lines = [said + (f" It took {duration(seconds)}." if np.isfinite(seconds) else "")]
        if not self.entry.tuning.finished:
            lines.append("The tuning is not finished; the same uaos tune command continues it.")
        return lines

    def _survivors(self) -> Markup:
        if not self.elites:
            return Markup("")
        free = list(self.frequencies)
        rows = []
        for elite in self.elites:
            values = self.candidates[elite.candidate].values
            main = " · ".join(str(values[f]).replace("_", " ") for f in FAMILIES if f in values)
            rest = ", ".join(f"{k} {values[k]}" for k in free if k in values and k not in FAMILIES)
            shown = joined([tag("b", main) if main else "", tag("br") if main else "", rest])
            rows.append(Row((
                Cell(elite.rank, float(elite.rank)), Cell(shown, main + rest, "wrap"),
                Cell(power(elite.mean_cost, 3), elite.mean_cost),
                Cell(elite.instances, float(elite.instances)),
                Cell(elite.candidate, float(elite.candidate)),
            ), "winner" if elite.rank == 1 else ""))  # fmt: skip
        return grid(
            f"{self.key}-survivors", "Survivors, best first",
            ("rank", "configuration", "mean cost", "problems", "candidate"), rows, texts=2,
            note=self._test(),
        )  # fmt: skip

    def _test(self) -> str:
        tested = [s for s in self.steps if np.isfinite(s.pvalue)]
        if not tested:
            return "No test was made: too few problems."
        rule = self.entry.tuning.setup["rules"].get("test", "friedman")
        last = tested[-1]
        return prose(
            f"Last test ({rule}), in race {last.iteration}: p = {last.pvalue:.2g}. Survivors that "
            "a test does not tell apart are ordered by their ranks."
        )

    def _winner(self, looks: Looks) -> Markup:
        if self.best is None:
            return Markup("")
        name = "the winner" if self.entry.tuning.finished else "the leader"
        return recipe(name, self.best, looks)

    def _mattered(self) -> Markup:
        top = max(one.share for one in self.importance) or 1.0
        shown = [one for one in self.importance if one.share >= _LEAST] or self.importance[:1]
        rest = [one.name for one in self.importance if one not in shown]
        rows = [_importance_row(one, top) for one in shown]
        none = f" Less than {_LEAST:.1%} each: {', '.join(rest)}." if rest else ""
        sure = [one.name for one in self.importance if one.share > one.noise]
        said = f"More than noise: {listed(sure)}." if sure else "Nothing is more than noise."
        table = grid(
            f"{self.key}-importance", "Variance of the candidates’ ranks explained by a parameter",
            ("parameter", "share", "noise", ""), rows,
            note="One parameter at a time, less what chance would explain (ε²); parameters that "
            "were inherited together share the credit, so that shares need not add up to 1. Noise: "
            "twice the spread that the share of a parameter which does nothing would have; grey "
            "bars are within it." + none,
            titled=False,
        )  # fmt: skip
        return joined([tag("p", said), table])

    def _panels(self) -> Markup:
        """A plot for each parameter; those that the winner does not have are folded away."""
        ordered = sorted(
            self.frequencies.values(),
            key=lambda one: (order(one.name), not isinstance(one, Shares)),
        )
        own = [one for one in ordered if one.winner is not None]
        rest = [one for one in ordered if one not in own]
        if not own:
            return self._multiples(rest)
        folded = tag("details", tag("summary", f"{count(len(rest), 'parameter')} that the winner "
                     "does not have"), self._multiples(rest), class_="screen")  # fmt: skip
        return joined([self._multiples(own), folded if rest else ""])

    def _multiples(self, shown: list[Shares | Numbers]) -> Markup:
        plots = [
            tag("figure", tag("figcaption", one.name, class_="title"),
                tag("div", class_="live", data_plot="choice" if isinstance(one, Shares) else
                    "number", data_tuning=self.number, data_name=one.name,
                    data_label=_panel_words(one)), class_="multiple")
            for one in shown
        ]  # fmt: skip
        return tag("div", *plots, class_="multiples screen tuning")

    def _drawn_words(self) -> str:
        return "Values drawn in each race: " + " ".join(
            _panel_words(one) for one in self.frequencies.values()
        )

    def _survival_words(self) -> str:
        each = [f"race {s.iteration} from {len(s.candidates)} to {s.alive[-1]}"
                for s in self.survival if s.alive]  # fmt: skip
        return "Candidates left: " + ", ".join(each) + "."


def _panel_words(one: Shares | Numbers) -> str:
    """What a panel shows, for those who do not see it."""
    if one.winner is None:
        return f"{one.name}: the winner does not have it."
    if isinstance(one, Shares):
        at = [str(v) for v in one.values].index(str(one.winner))
        first, last = one.shares[0, at], one.shares[-1, at]
        return (
            f"{one.name}: {one.winner} won, drawn by {first:.0%} at first and {last:.0%} at last."
        )
    return f"{one.name}: the winner has {one.winner:g}, of {one.low:g} to {one.high:g}."


def _importance_row(one: Importance, top: float) -> Row:
    look = "amount" if one.share > one.noise else "amount within"
    bar = tag("span", class_=look, style=f"--w:{100 * one.share / top:.1f}%")
    return Row((
        Cell(one.name, one.name), Cell(f"{100 * one.share:.0f}\u202f%", one.share),
        Cell(f"{100 * one.noise:.0f}\u202f%", one.noise), Cell(bar, one.share, "bars"),
    ))  # fmt: skip
