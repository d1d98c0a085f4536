"""Published numbers beside ours: the paper's table and COCO's archive."""

from collections.abc import Callable

import numpy as np
import pytest
from outcome_results import results_of
from raising import raises

from uaos.analysis import Results, against_paper, archive_names, archive_tables
from uaos.analysis.published import PAPER, PaperCell, paper_summary, paper_table
from uaos.errors import Missing, UnknownName
from uaos.experiments.recorder import TARGETS
from uaos.experiments.unit import Outcome
from uaos.problems import reference

KNOWN = reference("bbob")


def test_the_published_table_has_seven_algorithms() -> None:
    table = KNOWN.published("paper")
    assert len(table) == 7 * 24 * 7
    solved = {
        m: sum(c.successes for c in table if (c.algorithm, c.target) == (name, 1e-7))
        for m, (name, _) in PAPER.items()
    }
    assert solved == {
        "U-AOS-FW": 185, "RecPM-tuned": 183, "PM-AdapSS-tuned": 176, "F-AUC-MAB-tuned": 85,
        "Compass-tuned": 178, "JADE": 174, "SHADE-restart": 152,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "theirs", "off"),
    [(10, 10, False), (20, 10, False), (5, 10, False), (20.1, 10, True), (4.9, 10, True),
     (np.inf, np.inf, False), (np.inf, 10, True), (10, np.inf, True)],
)  # fmt: skip
def test_more_than_a_factor_of_two_is_marked(ours: float, theirs: float, off: bool) -> None:
    assert PaperCell("f1", 10.0, ours, theirs).is_off is off


def _as_published(made: Callable[..., Outcome], method: str, function: int) -> list[Outcome]:
    """Runs that all hit each target of the table exactly at the published aRT."""
    hits = np.full(len(TARGETS), 1, np.int64)
    for cell in KNOWN.published("paper"):
        if (cell.algorithm, cell.function) == (PAPER[method][0], f"f{function}"):
            hits[cell.target * 1.001 >= TARGETS] = round(cell.art)
    return [
        made(method, function, i, hits=hits, evaluations=int(hits[-1]), budget=2_000_000)
        for i in range(1, 16)
    ]


def test_the_published_numbers_agree_with_themselves(made: Callable[..., Outcome]) -> None:
    outcomes = [o for f in (1, 2, 8) for o in _as_published(made, "U-AOS-FW", f)]
    (found,) = against_paper(results_of(outcomes))
    assert (found.within, found.finite) == (21, 21)
    assert found.solved["f8"] == (13, 13, 13, 13)  # of 15 instances the 13 of the paper
    table = paper_table(found)
    assert not [cell for row in table.rows for cell in row.cells if cell.warning]
    assert table.texts()[0][1] == "73 · 73"
    assert "does not reproduce its published table" in table.note


def test_what_is_far_off_is_marked_and_counted(made: Callable[..., Outcome]) -> None:
    """f1 as published, f2 never solved: 7 of 14 finite cells."""
    outcomes = _as_published(made, "JADE", 1)
    outcomes += [made("JADE", 2, i, error=20.0) for i in range(1, 16)]
    (found,) = against_paper(results_of(outcomes))
    assert (found.within, found.finite) == (7, 14)
    assert paper_table(found).texts()[1][1] == "∞ · 28 !"
    assert paper_summary([found]).texts() == [
        ("JADE", "JaDE", "13/26", "26/26", "7 of 14", "50%", "1,000,000")
    ]


def test_our_runs_count_up_to_the_published_budget(made: Callable[..., Outcome]) -> None:
    """JADE had a million evaluations: a hit after 1.5 million does not count."""
    outcomes = [made("JADE", 3, 2, solved_at=1_500_000, budget=2_000_000)]
    (found,) = against_paper(results_of(outcomes))
    assert found.solved["f3"][:2] == (0, 1)
    assert np.isinf(found.cells[-1].ours)


def test_the_archive_has_fifteen_algorithms() -> None:
    assert len(archive_names()) == 15
    assert {"HCMA", "MOS", "NBIPOP-aCMA-ES", "BIPOP-CMA-ES"} <= set(archive_names())
    arts = np.array([c.art for c in KNOWN.published("archive")])
    assert len(arts) == 9338
    # a target that was never reached has an infinite aRT
    assert np.isinf(arts).sum() > 100
    assert (arts > 0).all()


def test_archived_algorithms_stand_beside_ours(made: Callable[..., Outcome]) -> None:
    results = results_of(made("A", 1, i, solved_at=100 + i) for i in (1, 2))
    profile, art = archive_tables(results, ["HCMA", "MOS"])
    assert [row[:2] for row in art.texts()] == [
        ("f1", "A"), ("f1", "HCMA (archive)"), ("f1", "MOS (archive)"),
    ]  # fmt: skip
    assert art.texts()[1][2:] == ("43",) * 7  # HCMA takes 43 evaluations on f1 in 20-D
    # in 20-D 43 evaluations are 2.15 D
    assert profile.texts()[1][:3] == ("HCMA (archive)", "100.0%", "100.0%")


def test_gaps_of_the_archive_show_as_such(made: Callable[..., Outcome]) -> None:
    """HCMA has no runs in 40-D, and the archive none in 3-D."""
    for dimension in (40, 3):
        results = results_of([made("A", dimension=dimension, solved_at=90)])
        profile, art = archive_tables(results, ["HCMA"])
        assert art.texts()[1][2:] == ("–",) * 7
        assert profile.texts()[1][1:] == ("–",) * 7 + ("7",)


def test_unknown_names_of_the_archive_have_near_misses(made: Callable[..., Outcome]) -> None:
    with raises(UnknownName, name="HCAM", near="HCMA"):
        archive_tables(results_of([made()]), ["HCAM"])
    other = Results(results_of([made()]).runs, suite="mine")
    with pytest.raises(Missing):
        archive_tables(other, ["HCMA"])
