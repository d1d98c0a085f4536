"""The published table beside ours."""

from collections.abc import Callable

import numpy as np
import pytest

from uaos.analysis import Results, against_paper
from uaos.analysis.best2009 import best2009
from uaos.analysis.paper import NAMES, Cell, held_out_instances, published
from uaos.analysis.paper_tables import paper_summary, paper_table
from uaos.experiments.store import Outcome
from uaos.experiments.targets import TARGETS


def test_the_published_table_is_complete() -> None:
    table = published()
    assert len(table) == 3 * 24 * 7
    solved = {m: sum(table[m, f"f{f}", 1e-7].successes for f in range(1, 25)) for m in NAMES}
    assert solved == {"RecPM-tuned": 183, "JADE": 174, "U-AOS-FW": 185}


def test_thirteen_instances_of_each_function_are_held_out() -> None:
    assert all(len(held_out_instances(f"f{f}")) == 13 for f in range(1, 25))
    assert 1 not in held_out_instances("f1")


@pytest.mark.parametrize(
    ("ours", "theirs", "off"),
    [(10, 10, False), (20, 10, False), (5, 10, False), (20.1, 10, True), (4.9, 10, True),
     (np.inf, np.inf, False), (np.inf, 10, True), (10, np.inf, True)],
)  # fmt: skip
def test_more_than_a_factor_two_is_flagged(ours: float, theirs: float, off: bool) -> None:
    assert Cell("JADE", "f1", 10.0, ours, theirs).is_off is off


def _as_published(made: Callable[..., Outcome], method: str, function: int) -> list[Outcome]:
    """Runs that all hit each table target exactly at the published aRT."""
    hits = np.full(len(TARGETS), 1, np.int64)
    for target, art in best2009(f"f{function}", 20).items():
        ratio = published()[method, f"f{function}", target].ratio
        hits[target * 1.001 >= TARGETS] = round(ratio * art)
    return [
        made(method, function, i, hits=hits, evaluations=int(hits[-1]), budget=2_000_000)
        for i in range(1, 16)
    ]


def test_the_published_numbers_agree_with_themselves(made: Callable[..., Outcome]) -> None:
    outcomes = [o for f in (1, 2, 8) for o in _as_published(made, "U-AOS-FW", f)]
    (found,) = against_paper(Results.from_outcomes(outcomes))
    assert (found.within, found.finite) == (21, 21)
    assert found.solved["f8"] == (13, 13, 13, 13)  # of 15 instances the 13 of the paper
    table = paper_table(found)
    assert not [cell for row in table.rows for cell in row if cell.endswith("!")]
    assert table.rows[0][1] == "73 · 73"
    assert "does not reproduce its published table" in table.note


def test_what_is_far_off_is_marked_and_counted(made: Callable[..., Outcome]) -> None:
    """f1 as published, f2 never solved: 7 of 14 finite cells."""
    outcomes = _as_published(made, "JADE", 1)
    outcomes += [made("JADE", 2, i, error=20.0) for i in range(1, 16)]
    (found,) = against_paper(Results.from_outcomes(outcomes))
    assert (found.within, found.finite) == (7, 14)
    assert paper_table(found).rows[1][1] == "∞ · 28 !"
    assert paper_summary([found]).rows == (
        ("JADE", "7 of 14", "50%", "13/26", "26/26", "1,000,000"),
    )


def test_our_runs_count_up_to_the_published_budget(made: Callable[..., Outcome]) -> None:
    """JADE had a million evaluations: a hit after 1.5 million is none."""
    outcomes = [made("JADE", 3, 2, solved_at=1_500_000, budget=2_000_000)]
    (found,) = against_paper(Results.from_outcomes(outcomes))
    assert found.solved["f3"][:2] == (0, 1)
    assert np.isinf(found.cells[-1].ours)
