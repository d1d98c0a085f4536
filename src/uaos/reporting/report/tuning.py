"""A tuning: winner, survivors, importance of parameters, and the values drawn."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from uaos.analysis.sectioning import Section
from uaos.experiments.storefile import reading
from uaos.markup import Markup, joined, tag
from uaos.reporting.figures import figure
from uaos.reporting.figures.tuning import in_order
from uaos.reporting.report.elements import Colors, image, plot_place, shown
from uaos.reporting.report.methods import method_recipe
from uaos.reporting.sources import TuningEntry
from uaos.reporting.style import DEFAULT
from uaos.selection.components import FAMILIES
from uaos.table import NUMBER, TEXT, Cell, Column, Table
from uaos.text import count, duration
from uaos.tuning.summaries import Drawn, frequencies, importance, survivors_table


class TuningView:
    """One tuning, read once."""

    def __init__(self, entry: TuningEntry, number: int) -> None:
        self.entry, self.number = entry, number
        store, tuning = entry.store, entry.tuning.id
        with reading(store.path):
            self.frequencies = frequencies(store, tuning)
            self.races = figure("tuning-survival").data((store, tuning))
            self.importance = importance(store, tuning)
        self.candidates = {c.id: c for c in store.candidates(tuning)}
        self.steps = store.steps(tuning)
        self.elites = store.survivors(tuning)

    @property
    def key(self) -> str:
        """Return the name of its plots and tables."""
        return f"tuning-{self.number}"

    @property
    def best(self) -> Mapping[str, object] | None:
        """Return the configuration that won or leads so far; None during the first race."""
        if not self.elites:
            return None
        stored: Mapping[str, object] | None = self.entry.tuning.data.get("best")
        if stored is None:
            key = self.candidates[self.elites[0].candidate].configuration
            stored = self.entry.store.configuration(key, "tuned").to_dict()
        return stored

    def tested_in(self, section: Section) -> str | None:
        """Return the method of the results that the tuning found."""
        best, configurations = self.best, section.results.configurations
        if best is None or len(section.methods) < 2 or not section.scores.problems:
            return None
        return next((m for m in section.methods if _same(configurations.get(m, {}), best)), None)

    def data(self) -> dict[str, object]:
        """Return what the script draws."""
        drawn = tuple(self.frequencies.values())
        frequencies: dict[str, object] = figure("tuning-frequencies").interactive(drawn)  # type: ignore[misc]
        survival = figure("tuning-survival").interactive(self.races)  # type: ignore[misc]
        return frequencies | {"races": survival, "problems": [s.instance for s in self.steps]}

    def tables(self) -> list[Table]:
        """Return survivors and importance; and all candidates, for files only."""
        names = [variable["name"] for variable in self.entry.tuning.setup["space"]]
        candidates = [
            {"candidate": c.id, "race": c.iteration, "parent": c.parent, "origin": c.origin,
             **{name: c.values.get(name, "") for name in names}}
            for c in self.candidates.values()
        ]  # fmt: skip
        every = Table.of(f"{self.key}-candidates", "Candidates", {}, [], candidates)
        tables = [every]
        if self.importance:
            tables.insert(0, self._importance())
        if self.elites:
            survivors = survivors_table(self.entry.store, self.entry.tuning.id)
            tables.insert(0, replace(survivors, name=f"{self.key}-survivors"))
        return tables

    def _importance(self) -> Table:
        top = max(parameter.share for parameter in self.importance) or 1.0
        columns: dict[str, Column] = {
            "parameter": (TEXT, "name"),
            "share": (NUMBER, lambda r: Cell(f"{r['share']:.0%}", r["share"],
                                             share=r["share"] / top)),
            "noise": (NUMBER, "noise", "{:.0%}".format),
            "more than noise": (TEXT, lambda r: Cell("yes" if r["share"] > r["noise"] else "no")),
        }  # fmt: skip
        return Table.from_records(
            f"{self.key}-importance",
            "Variance of the candidates’ ranks explained by each parameter", columns,
            [parameter._asdict() for parameter in self.importance],
            note="One parameter at a time, less what chance would explain (ε²). Parameters that "
            "were inherited together share the credit, so shares need not add up to 1. Noise: "
            "twice the standard deviation of the share of a parameter without effect.",
        )  # fmt: skip

    def section(self, colors: Colors, several: bool) -> Markup:
        """Return the tuning on the page."""
        store, tuning = self.entry.store, self.entry.tuning.id
        tables = {t.name.removeprefix(f"{self.key}-"): t for t in self.tables()}
        survival, drawn = figure("tuning-survival"), figure("tuning-frequencies")
        parts: list[object] = [tag("p", self._lead(), class_="lead")]
        if several:
            parts.insert(0, tag("h3", f"Tuning {tuning} of {self.entry.name}"))
        parts += [tag("p", line) for line in self._summary()]
        if "survivors" in tables:
            parts.append(shown(tables["survivors"], colors))
        if self.best is not None:
            name = "the winner" if self.entry.tuning.finished else "the leader"
            parts.append(method_recipe(name, self.best, colors))
        if "importance" in tables:
            parts += [tag("h4", "Which parameters mattered"), shown(tables["importance"], colors)]
        title = "Candidates left in each race"
        parts += [
            tag("h4", title),
            plot_place("survival", static=image(survival.draw(self.races, DEFAULT), title),
                 tuning=self.number, label=title, caption=survival.caption),
            tag("h4", "Values drawn"),
            tag("p", "The share of each choice among the candidates drawn for a race, and the "
                "values of each number with their median, race by race. A star marks the "
                "winner’s."),
            self._panels(),
            tag("div", tag("p"), tag("button", "CSV", type="button", class_="csv",
                data_csv=f"{self.key}-candidates", title="Save all candidates as CSV"),
                class_="under"),
        ]  # fmt: skip
        if self.elites:
            still = image(drawn.draw(drawn.data((store, tuning)), DEFAULT), drawn.help)
            parts.append(tag("div", still, class_="static"))
        return tag("section", *parts, id=self.key)

    def _lead(self) -> str:
        if not self.elites:
            return "The first race is not over yet."
        best = self.elites[0]
        winner = _components(self.candidates[best.candidate].values)
        state = "won" if self.entry.tuning.finished else "leads so far"
        return f"{winner or f'Candidate {best.candidate}'} {state}."

    def _summary(self) -> list[str]:
        setup, used = self.entry.tuning.setup, self.steps[-1].runs_used
        problems = setup["problems"]
        text = (
            f"{used:,} of {count(setup['runs'], 'run')} of at most {setup['budget']} evaluations "
            f"on {count(len(problems), 'training problem')} ({setup['training_set']}), in "
            f"{count(len(self.races), 'race')}; {count(len(self.candidates), 'candidate')} with "
            f"{count(len(self.frequencies), 'free parameter')}; objective {setup['objective']}, "
            f"seed {setup['seed']}, tuner {setup['tuner']}."
        )
        seconds = self.steps[-1].elapsed
        lines = [text + (f" It took {duration(seconds)}." if np.isfinite(seconds) else "")]
        if not self.entry.tuning.finished:
            lines.append("The tuning is not finished; the same uaos tune command continues it.")
        return lines

    def _panels(self) -> Markup:
        every = in_order(self.frequencies.values())
        used = [panel for panel in every if panel.winner is not None]
        rest = [panel for panel in every if panel.winner is None]
        if not used:
            return _multiples(rest, self.number)
        folded = tag("details", tag("summary", f"{count(len(rest), 'parameter')} that the winner "
                     "does not have"), _multiples(rest, self.number), class_="screen")  # fmt: skip
        return joined([_multiples(used, self.number), folded if rest else ""])


def _components(values: Mapping[str, object]) -> str:
    return " · ".join(str(values[f]).replace("_", " ") for f in FAMILIES if f in values)


def _same(first: Mapping[str, object], second: Mapping[str, object]) -> bool:
    parts = ("method", "de", "optimizer")
    return all(first.get(part) == second.get(part) for part in parts)


def _multiples(panels: list[Drawn], tuning: int) -> Markup:
    plots = [
        tag("figure", tag("figcaption", panel.name, class_="title"),
            tag("div", class_="live", data_plot="choice" if panel.choices else "number",
                data_tuning=tuning, data_name=panel.name, data_label=panel.name),
            class_="multiple")
        for panel in panels
    ]  # fmt: skip
    return tag("div", *plots, class_="multiples screen tuning")
