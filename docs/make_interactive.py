"""Compute what the page interactive.md shows:  python docs/make_interactive.py

Every method selects among four operators for 90 generations of 50 offspring. The improvement that
an application brings is drawn as in a scenario; every 30 generations another operator is the best.
All methods are given the same world. Writes docs/assets/interactive-data.js.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

import uaos
from uaos.params import parameters
from uaos.scenarios.kinds import KINDS, Scenario
from uaos.selection.bibliography import short
from uaos.selection.components import FAMILIES, components
from uaos.selection.descriptions import describe

OPERATORS, EVERY, GENERATIONS, OFFSPRING, REPETITIONS = 4, 30, 90, 50, 20
# Above every reward, so that all fitness is positive.
PARENT = 100.0
SEED = 1
KINDS_SHOWN = ("method", "tuned", "original")
FILE = Path(__file__).parent / "assets" / "interactive-data.js"


def entries() -> dict[str, uaos.Configuration]:
    """The methods shown: of the literature, tuned, original; then uniform choice and mix."""
    every = uaos.methods()
    shown = {n: c for n, c in every.items() if c.kind in KINDS_SHOWN}
    return shown | {n: every[n] for n in ("uniform", "mix")}


def recipe(entry: uaos.Configuration) -> dict[str, Any]:
    """A method as the page shows it: its five components with their values."""
    method = entry.method
    assert method is not None
    parts = []
    for family in FAMILIES:
        component = getattr(method, family)
        values = {n: getattr(component, n) for n in parameters(component)}
        parts.append([component.name, {n: str(v) for n, v in values.items()}])
    cited = short(entry.reference) if entry.reference else "this package"
    return {"kind": entry.kind, "cited": cited, "note": entry.note, "parts": parts,
            "scaled": method.scale_rewards}  # fmt: skip


def play(method: uaos.Method, scenario: Scenario, repetition: int) -> tuple[Any, Any, Any]:
    """The best operator, the probabilities and the applications in each generation."""
    world = np.random.default_rng([SEED, repetition])
    ranks = scenario.draw(1, world).ranks[0]
    selector = method.selector(OPERATORS, seed=SEED + repetition, budget=GENERATIONS * OFFSPRING)
    probabilities = np.empty((GENERATIONS, OPERATORS))
    counts = np.empty((GENERATIONS, OPERATORS), int)
    for g in range(GENERATIONS):
        probabilities[g] = selector.probabilities
        chosen = selector.select(OFFSPRING)
        counts[g] = np.bincount(chosen, minlength=OPERATORS)
        rewards = scenario.rewards(ranks[g][chosen], world)
        selector.update(chosen, np.full(OFFSPRING, PARENT), PARENT - rewards)
    return ranks.argmin(axis=1), probabilities, counts


def course(method: uaos.Method, scenario: Scenario) -> dict[str, Any]:
    """One run in full, and the share of the best operator over all repetitions."""
    runs = [play(method, scenario, repetition) for repetition in range(REPETITIONS)]
    rows = np.arange(GENERATIONS)
    shares = [counts[rows, best].sum() / counts.sum() for best, _, counts in runs]
    _, probabilities, counts = runs[0]
    return {
        "p": np.rint(1000 * probabilities).astype(int).ravel().tolist(),
        "n": counts.ravel().tolist(),
        "share": round(float(np.mean(shares)), 3),
        "error": round(float(np.std(shares, ddof=1) / np.sqrt(REPETITIONS)), 3),
    }


def data() -> dict[str, Any]:
    """Everything that the page shows."""
    worlds = {k: kind(OPERATORS, EVERY, GENERATIONS) for k, kind in KINDS.items()}
    uniform = uaos.method("uniform")
    return {
        "operators": OPERATORS, "generations": GENERATIONS, "offspring": OFFSPRING,
        "repetitions": REPETITIONS,
        "best": {k: play(uniform, world, 0)[0].tolist() for k, world in worlds.items()},
        "equations": {family: {n: describe(c).equation for n, c in components(family).items()}
                      for family in FAMILIES},
        "recipes": {name: recipe(entry) for name, entry in entries().items()},
        "courses": {name: {k: course(entry.method, world) for k, world in worlds.items()}
                    for name, entry in entries().items() if entry.method is not None},
    }  # fmt: skip


if __name__ == "__main__":
    text = json.dumps(data(), ensure_ascii=False, separators=(",", ":"))
    FILE.write_text(f"window.uaosCourses = {text};\n", encoding="utf-8")
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")
