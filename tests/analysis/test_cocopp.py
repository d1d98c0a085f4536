"""The same data through cocopp and through us: the same numbers, to the last printed digit."""

import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import cocoex
import numpy as np
import pytest
from outcome_results import results_of
from scipy import stats

import uaos
from uaos.analysis import Results, Runs, ecdf, running_times, simulated_restarts
from uaos.analysis.art import TABLE_TARGETS, reference_time
from uaos.analysis.tables import coco_number
from uaos.experiments.recorder import ECDF_TARGETS, TARGETS
from uaos.experiments.unit import Outcome, Unit, outcome
from uaos.problems import BBOB, reference

# cocopp keeps targets as its own powers of ten, an ulp or so away from ours.
NEARLY = 1 + 1e-10
WHY = "cocopp is not installed: pip install uaos[coco]"


class Both(NamedTuple):
    """What we counted, and the folder that COCO's observer wrote meanwhile, as cocopp reads it."""

    results: Results
    data: Any
    folder: str

    def pairs(self) -> list[tuple[Runs, Any]]:
        found = self.data.dictByDimFunc()
        return [(runs, found[d][int(f[1:])][0]) for (_, f, d), runs in self.results.runs.items()]


@pytest.fixture(scope="module")
def cocopp() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # among others: it wants the network
        return pytest.importorskip("cocopp", reason=WHY)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def both(cocopp: Any, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """f1, f8 and f15 in 2-D and 5-D, five instances: all, some, and none of the runs succeed."""
    place = tmp_path_factory.mktemp("coco")
    observer = cocoex.Observer("bbob", f"outer_folder:{place} result_folder:data algorithm_name:u")
    suite = cocoex.Suite("bbob", "instances:1-5", "dimensions:2,5 function_indices:1,8,15")
    outcomes = []
    for problem in suite:
        problem.observe_with(observer)
        outcomes.append(_observed(problem))
        problem.free()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = cocopp.load(observer.result_folder)
    return Both(results_of(outcomes), data, observer.result_folder)


def _observed(problem: Any) -> Outcome:
    """One run, its hits counted plainly."""
    f, d, i = problem.id_function, problem.dimension, problem.id_instance
    f_opt = cocoex.BareProblem("bbob", f, d, i).best_value()
    values: list[float] = []

    def function(x: Any) -> float:
        values.append(problem(x))
        return values[-1]

    budget = 1500 if i <= 3 else 3000  # failed runs of different lengths
    uaos.minimize(
        function, [(-5, 5)] * d, method="uniform", budget=budget, seed=i, popsize=20,
        target=f_opt + 1e-8,
    )  # fmt: skip
    errors = np.array(values) - f_opt
    reached = errors[:, None] <= TARGETS
    hits = np.where(reached.any(axis=0), reached.argmax(axis=0) + 1, -1)
    problem = BBOB(f, d, i)
    return outcome(
        Unit("u", problem.name, 1, i, budget), problem, evaluations=len(values), hits=hits,
        error=errors.min(), best=min(values),
    )  # fmt: skip


def test_the_data_have_every_kind_of_outcome(both: Both) -> None:
    solved = {runs.solved for runs in both.results.runs.values()}
    assert {0, 5} < solved


def test_art_and_successes_equal_cocopps_at_every_target(both: Both) -> None:
    for runs, data in both.pairs():
        ours = running_times(runs, list(TARGETS))
        assert [c.art for c in ours] == data.detERT(list(TARGETS * NEARLY))
        assert [c.successes for c in ours] == data.detSuccesses(list(TARGETS * NEARLY))


def test_evaluations_equal_cocopps_run_by_run(both: Both) -> None:
    for runs, data in both.pairs():
        theirs = np.array(data.detEvals(list(TARGETS * NEARLY)))
        theirs = theirs[:, np.argsort(data.instancenumbers)]
        np.testing.assert_array_equal(runs.evaluations_to(TARGETS), theirs)


def test_simulated_restarts_equal_cocopps_draw_by_draw(cocopp: Any) -> None:
    """With the same first draws and the same generator for the others: the same sample."""
    evaluations, failures = np.array([120.0, 33, 80, 54]), np.array([700.0, 1500, 900])
    times = np.concatenate([evaluations, np.full(3, np.nan)])
    totals = np.concatenate([evaluations, failures]).astype(int)
    rng = np.random.default_rng(3)
    theirs = cocopp.toolsstats.simulated_evals(
        totals.astype(float), 3, 1003,
        randint=lambda low, high, size: np.concatenate(
            [np.tile(np.arange(high), size // high), rng.permutation(high)[: size % high]]),
        randintrest=rng.integers,
    )  # fmt: skip
    ours = simulated_restarts(times, totals, 1003, np.random.default_rng(3))
    assert ours.tolist() == [float(t) for t in theirs]


def test_percentiles_equal_cocopps(cocopp: Any, both: Both) -> None:
    """Exactly while all runs succeed; else to what two random samples of 1000 can agree to."""
    cocopp.set_seed(1)
    random = 0
    for runs, data in both.pairs():
        for cell in running_times(runs):
            if not cell.successes:
                continue
            (low, high), _ = cocopp.toolsstats.drawSP_from_dataset(
                data, cell.target * NEARLY, (10, 90), 1000
            )
            if cell.successes == cell.trials:
                assert (cell.low, cell.high) == pytest.approx((low, high), rel=1e-12)
            else:
                random += 1
                assert (cell.low, cell.high) == pytest.approx((low, high), rel=0.5)
    assert random


def test_profiles_equal_cocopps(cocopp: Any, both: Both) -> None:
    cocopp.set_seed(1)
    for runs, data in both.pairs():
        theirs = data.evals_with_simulated_restarts(list(ECDF_TARGETS * NEARLY), samplesize=1000)
        pooled = np.concatenate(theirs) / runs.dimension
        ours = ecdf(runs, restarts=True)
        grid = np.unique(pooled[np.isfinite(pooled)])
        shares = np.searchsorted(np.sort(pooled), grid, side="right") / len(pooled)
        every = runs.evaluations_to(ECDF_TARGETS)
        if (np.isnan(every).all(axis=1) | np.isfinite(every).all(axis=1)).all():
            np.testing.assert_allclose(ours.at(grid), shares, rtol=1e-12)
        else:
            assert np.abs(ours.at(grid) - shares).max() < 0.01


def test_raw_hits_are_distributed_like_cocopps(both: Both) -> None:
    for runs, data in both.pairs():
        theirs = np.array(data.detEvals(list(ECDF_TARGETS * NEARLY))).ravel() / runs.dimension
        curve = ecdf(runs)
        reached = theirs[np.isfinite(theirs)]
        grid = np.unique(reached)
        shares = stats.ecdf(reached).cdf.probabilities * len(reached) / len(theirs)
        np.testing.assert_allclose(curve.at(grid), shares, rtol=1e-12)


def test_the_printed_table_and_its_reference_are_cocopps(
    cocopp: Any, both: Both, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cell of cocopp's own table, as text: ratio, percentiles, successes; and best2009."""
    from cocopp import bestalg, pproc, testbedsettings
    from cocopp.compall import pptables

    testbedsettings.load_current_testbed("bbob", pproc.TargetValues)
    name = testbedsettings.current_testbed.reference_algorithm_filename
    best2009 = bestalg.load_reference_algorithm(name)
    for (dimension, function), entry in best2009.items():
        art = [float(t) for t in entry.detERT(TABLE_TARGETS)]
        known = reference("bbob").running_times(f"f{function}", dimension)
        assert [reference_time(known, target) for target in TABLE_TARGETS] == art

    # cocopp fills places in a page that it has made before.
    (tmp_path / "pptables.html").write_text("<!--pptablesHtml_2-->\n<!--pptablesHtml_5-->\n")
    monkeypatch.setattr(pptables, "samplesize", 1000)
    pptables.main(
        {both.folder: both.data}, [both.folder], str(tmp_path),
        latex_commands_file=str(tmp_path / "commands.tex"),
    )  # fmt: skip
    page = (tmp_path / "pptables.html").read_text()
    found = {}
    for table in page.split("<table")[1:]:
        function, dimension = map(int, re.search(r"<b>f(\d+), (\d+)-D</b>", table).groups())
        found[dimension, function] = re.findall(r'<td[^>]*sorttable_customkey="[^"]*">(.*?)</td>',
                                                table, re.DOTALL)  # fmt: skip
    assert len(found) == 6
    for (_, function, dimension), runs in both.results.runs.items():
        *cells, successes = found[dimension, int(function[1:])]
        known = reference("bbob").running_times(function, dimension)
        assert successes == f"{runs.solved}/{len(runs)}"
        for cell, theirs in zip(running_times(runs, reference=known), cells, strict=True):
            _assert_same_cell(cocopp, cell, theirs)


def _assert_same_cell(cocopp: Any, cell: Any, html: str) -> None:
    if not cell.successes:
        assert "&infin;" in html
        return
    bare = re.sub(r"</?b>", "", html).replace("&thinsp;", " ")
    text = re.sub(r"<[^>]*>", " ", bare).split()
    if cell.successes < cell.trials:
        # The success rate stands before the ratio, and the percentiles are random.
        assert text[:2] == [f".{10 * cell.successes // cell.trials}", coco_number(cell.ratio)]
        return
    relative = (cell.low / cell.art, cell.high / cell.art)
    assert text[:3] == [coco_number(cell.ratio), *map(cocopp.toolsdivers.ratio2html, relative)]
