"""Stores of format 1, which held BBOB runs only: read by conversion, in memory, to the present."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from uaos.experiments import storefile
from uaos.experiments.recorder import hits_from_bytes
from uaos.experiments.storefile import insert
from uaos.problems.bbob import NAME, bbob_problem


def converted(path: Path) -> sqlite3.Connection:
    """A database in memory, of the present format, with what an older store holds."""
    application, _ = storefile.format_of(path)
    made = storefile.prepared(sqlite3.connect(":memory:", isolation_level=None))
    storefile.create_tables(made)
    with storefile.reading(path), contextlib.closing(storefile.connect(path)) as old:
        kinds = {kind for (kind,) in old.execute("SELECT DISTINCT type FROM sqlite_master")}
        if not kinds <= {"table", "index"}:
            raise storefile.damaged(path, "it has views or triggers")
        verdict = old.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if verdict != "ok":
            raise storefile.damaged(path, verdict)
        made.execute("BEGIN")
        insert(made, "suite", [(1, NAME, "", "", "")])
        insert(made, "sessions", old.execute("SELECT id, started, versions FROM sessions"))
        if application == storefile.OLD_TUNING:
            _tuning(old, made)
        else:
            _experiment(old, made)
        numbers = made.execute("SELECT id FROM runs").fetchall()
        insert(made, "traces", ((number, b"") for (number,) in numbers))
        made.execute("COMMIT")
    return made


def _runs(
    old: sqlite3.Connection, made: sqlite3.Connection, methods: str, table: str, run: str
) -> tuple[dict[str, int], dict[Any, int]]:
    """Write methods, problems and finished runs; the numbers of the first two.

    `run` are the columns that number a run, name its method, and count its repetition.
    """
    named = old.execute(methods).fetchall()
    insert(made, "methods", ((i, *row) for i, row in enumerate(named, 1)))
    method = {name: i for i, (name, _) in enumerate(named, 1)}
    problem: dict[Any, int] = {}
    rows = []
    for f, d, i in old.execute(
        f"SELECT DISTINCT function, dimension, instance FROM {table} "
        "ORDER BY function, dimension, instance"
    ):
        p = bbob_problem(f, d, i)
        problem[f, d, i] = number = len(problem) + 1
        bounds = p.bounds.astype("<f8").tobytes()
        rows.append((number, p.name, p.function, p.group, d, i, p.optimum, bounds))
    insert(made, "problems", rows)
    finished = old.execute(
        f"SELECT {run}, function, dimension, instance, seed, budget, status, evaluations, error, "
        f"hits, seconds, reason, session FROM {table} WHERE status != 'waiting' ORDER BY rowid"
    )
    insert(made, "runs", (
        (number, method[name], problem[f, d, i], repetition, *_run(f, d, i, row))
        for number, name, repetition, f, d, i, *row in finished
    ))  # fmt: skip
    return method, problem


def _experiment(old: sqlite3.Connection, made: sqlite3.Connection) -> None:
    about = old.execute("SELECT key, value FROM experiment")
    insert(made, "about", [("kind", "benchmark"), *about])
    methods = "SELECT name, configuration FROM methods ORDER BY rowid"
    method, problem = _runs(old, made, methods, "units", "id, method, repetition")
    insert(made, "plan", (
        (method[name], problem[f, d, i], repetitions, budget)
        for name, f, d, i, repetitions, budget in old.execute(
            "SELECT method, function, dimension, instance, MAX(repetition), MAX(budget) "
            "FROM units GROUP BY method, function, dimension, instance"
        )
    ))  # fmt: skip
    insert(made, "courses", old.execute("SELECT unit, data FROM courses"))


def _tuning(old: sqlite3.Connection, made: sqlite3.Connection) -> None:
    insert(made, "about", [("kind", "tuning")])
    methods = "SELECT key, configuration FROM configurations"
    _runs(old, made, methods, "runs", "rowid, configuration, 1")
    tunings = old.execute(
        "SELECT id, key, setup, started, versions, "
        "COALESCE((SELECT MAX(elapsed) FROM steps WHERE tuning = tunings.id), 0), finished, data "
        "FROM tunings"
    )
    insert(made, "tunings", ((i, key, _setup(text), *rest) for i, key, text, *rest in tunings))
    insert(made, "candidates", old.execute(
        "SELECT tuning, id, iteration, parent, configuration, vals, origin FROM candidates"
    ))  # fmt: skip
    for table in ("iterations", "eliminations", "elites", "results"):
        insert(made, table, old.execute(f"SELECT * FROM {table}"))
    insert(made, "steps", (
        (*row[:3], _name(row[3]), *row[4:]) for row in old.execute("SELECT * FROM steps")
    ))  # fmt: skip


def _setup(text: str) -> str:
    """What a tuning was to do, its problems under their present names."""
    setup = storefile.as_mapping(text)
    problems = [_name(name) for name in setup.pop("instances", [])]
    return json.dumps({**setup, "suite": NAME, "suite_hash": "", "problems": problems})


def _name(old: str) -> str:
    """A problem's name: f3 20-D i7 is f3 i7 20-D now."""
    function, dimension, instance = old.split(" ")
    return f"{function} {instance} {dimension}"


def _run(function: int, dimension: int, instance: int, row: list[Any]) -> tuple[Any, ...]:
    """seed, budget, status, evaluations, best, error, hits, …"""
    seed, budget, status, evaluations, error, hits, *rest = row
    hits_from_bytes(hits)
    best = None
    if error is not None and error != float("inf"):
        best = error + bbob_problem(function, dimension, instance).optimum
    return seed, budget, status, evaluations, best, error, hits, *rest
