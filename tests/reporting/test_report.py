"""A report is one file that says what the stores hold, whole or not at all."""

# ruff: noqa: F811 (fixtures are imported)

import csv
import html
import io
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import OWN_REWARD, run
from outcome_results import results_of
from raising import raises
from report_cases import data, experiment, report, stores, words  # noqa: F401

import uaos
from uaos.analysis import sections
from uaos.errors import InvalidFile, InvalidParameter
from uaos.experiments import Plan, Store, run_unit
from uaos.experiments.unit import Outcome, failed
from uaos.history import History
from uaos.markup import Markup, tag
from uaos.problems import suite
from uaos.reporting.figures import figures
from uaos.reporting.report import page, write_report
from uaos.reporting.report.elements import Colors
from uaos.reporting.report.methods import method_recipe
from uaos.reporting.report.operators import course_data, printed_runs
from uaos.reporting.report.overview import report_title
from uaos.reporting.report.reproduce import figure_commands
from uaos.reporting.sources import Course, Sources, parse_runs, representative_courses


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the one report of the session: no figures, and no Plotly, which is slow to pack."""
    monkeypatch.setattr(page, "_plotly", lambda: "")
    for module in ("elements", "profiles", "operators", "tuning"):
        monkeypatch.setattr(f"uaos.reporting.report.{module}.image", lambda *_: Markup("<i/>"))


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_file_needs_nothing_else(report: Path) -> None:
    page = text(report)
    assert "default-src 'none'" in page
    bare = re.sub(r'<script type="text/plain"[^<]*</script>', "", page)
    assert not re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?!data:|#)[a-z]*:?//?""", bare)
    for image in re.findall(r"<img [^>]*>", page):
        assert 'src="data:image/png;base64,' in image
        assert re.search(r'alt="[^"]{10,}"', image)


def test_every_section_is_there_and_in_the_menu(report: Path) -> None:
    page = text(report)
    wanted = [
        "overview",
        "profiles",
        "convergence",
        "running-times",
        "operators",
        "tuning",
        "methods",
        "reproduce",
    ]
    assert re.findall(r'<section id="([a-z-]+)"><h2', page) == wanted
    assert re.findall(r'<a href="#([a-z-]+)">', page) == wanted
    assert page.count("<h1>") == 1


def test_no_place_of_the_template_is_left_open(report: Path) -> None:
    assert "<!--" not in text(report)


def test_the_curves_cover_all_groups_and_functions(report: Path) -> None:
    found = data(report)
    panels = found["sections"]["2"]["panels"]
    assert list(panels) == ["all", "separable", "moderate", "f1", "f5", "f8"]
    for panel in panels.values():
        assert len(panel["lines"]) == 3
        assert panel["reference"] is not None
        for line in panel["lines"]:
            assert line["end"] == 400
            for kind in ("raw", "again"):
                assert len(line[kind][0]) <= 400


def test_the_runs_shown_are_of_methods_that_select(report: Path) -> None:
    shown = data(report)["courses"]
    assert {run["method"] for run in shown} == {"mix", "uniform"}
    assert {(run["method"], run["function"]) for run in shown} == {
        (m, f) for m in ("mix", "uniform") for f in ("f1", "f5", "f8")
    }
    for course in shown:
        shares = [sum(at) for at in zip(*course["shares"], strict=True)]
        assert all(abs(share - 1000) <= len(course["operators"]) for share in shares)
        assert len(course["best"]) == len(course["evaluations"]) <= 128


def test_every_table_can_be_saved(report: Path) -> None:
    saved = data(report)["csv"]
    assert set(re.findall(r'data-csv="([^"]+)"', text(report))) <= set(saved)
    rows = list(csv.DictReader(io.StringIO(saved["art-2"])))
    assert len(rows) == 3 * 3 * 7  # methods, functions, targets
    assert len(list(csv.DictReader(io.StringIO(saved["pairs-2"])))) == 3


def test_the_tuning_is_told(report: Path) -> None:
    told = data(report)["tunings"]["1"]
    assert list(told["choices"]) == ["power"]
    assert list(told["numbers"]) == ["F"]
    assert told["races"][0]["alive"][0] >= told["races"][0]["alive"][-1] >= 1
    said = words(text(report))
    assert "runs of at most 40D evaluations on 3 training problems (16)" in said
    assert "Survivors, best first" in said
    assert "seed 3, tuner racer" in said


def test_recipes_show_equations_values_and_references(report: Path) -> None:
    said = words(text(report))
    assert "s[t,op]" in said
    assert "Zhang, J.; Sanderson, A. C. (2009)" in said
    assert "A single operator: there is nothing to select." in said
    assert "curr-to-pbest/1, F and CR learnt" in said


def test_a_recipe_has_its_place_on_the_map() -> None:
    """The numbers are those of the page docs/map.md; uniform choice has no place."""
    said = words(method_recipe("SaDE", uaos.configuration("SaDE").to_dict(), Colors(["SaDE"])))
    assert "with a chance of 0.50 (place 1,058)" in said
    assert "quality weighted_sum, gives 0.55" in said
    uniform = words(method_recipe("x", uaos.configuration("uniform").to_dict(), Colors(["x"])))
    assert "On the map" not in uniform


def test_a_recipe_of_unknown_parts_is_shown_as_stored() -> None:
    stored = {"version": 1, "name": "mine", "method": {"reward": {"name": "my_reward"}}, "de": {}}
    said = words(method_recipe("mine", stored, Colors(["mine"])))
    assert "components that are not registered here (unknown reward 'my_reward'" in said
    assert 'reward = {name = "my_reward"}' in said


def test_another_librarys_algorithm_has_no_recipe() -> None:
    stored = {"version": 1, "library": "cma", "name": "BIPOP-CMA-ES", "sigma0": 2.0}
    assert "library cma, sigma0 2.0" in words(method_recipe("BIPOP-CMA-ES", stored, Colors(["x"])))


def test_the_same_stores_give_the_same_bytes(
    stores: list[Path],
    tmp_path: Path,
) -> None:
    first, again = (write_report(stores, tmp_path / f) for f in ("a.html", "b.html"))
    assert first.read_text().replace("a.html", "b.html") == again.read_text()


def test_title_and_texts_are_escaped(stores: list[Path], tmp_path: Path) -> None:
    made = write_report(
        stores[1:], tmp_path / "r.html", title="<script>alert(1)</script> & <!--data-->"
    )
    assert "<script>alert(1)" not in text(made)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;!--data--&gt;" in text(made)


def test_a_tuning_alone_makes_a_report(stores: list[Path], tmp_path: Path) -> None:
    made = write_report(stores[1:], tmp_path / "r.html")
    assert re.findall(r'<section id="([a-z-]+)"><h2', text(made)) == ["tuning", "reproduce"]


def test_chosen_runs_are_the_ones_shown(stores: list[Path], tmp_path: Path) -> None:
    made = write_report(stores[:1], tmp_path / "r.html", runs="uniform:8:2")
    shown = [(r["method"], r["problem"]) for r in data(made)["courses"]]
    assert shown == [("uniform", "f8 i2 2-D")]
    made = write_report(stores[:1], tmp_path / "r.html", runs=[("mix", "f1 i3 2-D")])
    assert [r["problem"] for r in data(made)["courses"]] == ["f1 i3 2-D"]
    with raises(InvalidParameter, name="instance", value=99):
        write_report(stores[:1], tmp_path / "r.html", runs="mix:8:99")


def test_only_chosen_methods_are_shown(stores: list[Path], tmp_path: Path) -> None:
    """Uniform choice stays; the commands of figures name the methods."""
    made = write_report(stores[:1], tmp_path / "r.html", methods=["JADE"])
    assert [m["name"] for m in data(made)["methods"]] == ["JADE", "uniform"]
    assert "mix" not in words(text(made)).split()
    with Sources(stores[:1], ["JADE"]) as sources:
        (experiment,) = sources.experiments
        assert list(experiment.tallies) == ["JADE", "uniform"]
        # 9 problems each
        assert len(experiment.table) == 18
        assert all("--methods JADE,uniform" in line for line in figure_commands(sources, ())
                   if "--tuning" not in line)  # fmt: skip


def test_several_dimensions_stand_one_after_the_other(tmp_path: Path) -> None:
    paths = [
        experiment(tmp_path / "two.db", "JADE"),
        experiment(tmp_path / "three.db", "mix", dimension=3, uniform=False, functions="1"),
    ]
    made = write_report(paths, tmp_path / "r.html")
    assert list(data(made)["sections"]) == ["2", "3"]
    assert text(made).count('<h3 class="dimension">') == 8
    said = words(text(made))
    assert "JADE, uniform and mix on 2 functions of BBOB, 2-D and 3-D" in said


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    problems = suite("bbob", functions="1", dimension=2, instances="1-3")
    plan = Plan.of(["mix", "JADE"], problems, budget=100, uniform=False)
    units = list(plan.units())
    with Store.create_or_resume(tmp_path / "part.db", plan) as store:
        store.record([run_unit(u, problems[u.problem], plan.competitors[u.method])
                      for u in units[:4]])  # fmt: skip
        problem = problems[units[4].problem]
        store.record([failed(units[4], problem, "ZeroDivisionError: on purpose")])
    said = words(text(write_report([tmp_path / "part.db"], tmp_path / "r.html")))
    assert "part.db: 1 of 6 planned runs are not finished ( JADE 1)" in said
    assert "1 run of JADE failed and is not included: ZeroDivisionError: on purpose." in said
    assert "JADE was run on 1 of 3 problems." in said


def test_the_commands_of_the_figures_are_shown(stores: list[Path]) -> None:
    """Every figure of a section and of a tuning has a command."""
    with Sources(stores) as sources:
        drawn = figure_commands(sources, ())
    kinds = [line.split()[2] for line in drawn]
    assert set(kinds) == set(figures()) - {"operators", "literature"}


def shown_commands(report: Path) -> list[str]:
    """The commands in a report, as its copy buttons have them."""
    blocks = re.findall(r'<div class="code"><pre[^>]*>(.*?)</pre>', text(report), re.DOTALL)
    lines = [line for block in blocks for line in html.unescape(block).splitlines()]
    return [line for line in lines if line.startswith("uaos ")]


def test_a_command_from_the_report_can_be_pasted(tmp_path: Path) -> None:
    """The command is shown as it was given, with the file that it imports, quotes included."""
    (tmp_path / "my reward.py").write_text(OWN_REWARD)
    (tmp_path / "own.toml").write_text('[method]\nreward = "share_of_best"\n')
    given = shlex.join([
        "uaos", "--import", "my reward.py", "bench", "a.db", "--methods", "own.toml", "--dim", "2",
        "--functions", "1", "--instances", "1", "--budget", "20", "--jobs", "1",
    ])  # fmt: skip
    program = shlex.quote(str(Path(sys.executable).parent))
    shell = f"PATH={program}:$PATH {{}}"
    subprocess.run(shell.format(given), shell=True, check=True, cwd=tmp_path)
    done = run("report", "a.db", "-o", "r.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, *_, last = shown_commands(tmp_path / "r.html")
    assert first == given
    assert last == "uaos report a.db -o r.html"
    (tmp_path / "a.db").unlink()
    subprocess.run(shell.format(first), shell=True, check=True, cwd=tmp_path)
    with Store.open(tmp_path / "a.db") as store:
        assert len(store.table()) == 2
        assert store.commands == [given]


def test_runs_started_in_python_have_no_command(report: Path) -> None:
    assert "No command is recorded in bench.db and tuning.db" in words(text(report))
    assert {line.split()[1] for line in shown_commands(report)} == {"plot"}


def test_a_report_connects_to_each_store_once(
    stores: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One connection, one integrity check and one load of the runs for each store."""
    write_report(stores, tmp_path / "warm.html")  # the schema is looked up once in a process
    connect, opened, statements = sqlite3.connect, [], []

    def count(place: str, *rest: Any, **more: Any) -> sqlite3.Connection:
        connection = connect(place, *rest, **more)
        connection.set_trace_callback(statements.append)
        opened.append(place)
        return connection

    monkeypatch.setattr(sqlite3, "connect", count)
    write_report(stores, tmp_path / "r.html")
    assert len(opened) == len(stores) == 2
    assert sum("integrity_check(runs)" in s for s in statements) == 2
    assert sum("checksum FROM runs" in s for s in statements) == 1  # a tuning needs no table


def test_the_runs_of_the_best_method_come_first(stores: list[Path]) -> None:
    with Sources(stores[:1]) as sources:
        for order in (["uniform", "JADE", "mix"], ["mix", "uniform"]):
            shown = representative_courses(sources.experiments, order)
            ranked = [m for m in order if m != "JADE"]  # a single operator: nothing to show
            assert [c.method for c in shown[:2]] == ranked
            own = [c.change for c in shown if c.method == "mix"]
            assert own == sorted(own, reverse=True)


def test_runs_beyond_the_size_limit_are_counted(
    stores: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three functions of mix and of uniform; the last is the third run of one of them."""
    with Sources(stores[:1]) as sources:
        every = representative_courses(sources.experiments, ["mix", "uniform"])
        sizes = [len(json.dumps(course_data(c), separators=(",", ":"))) for c in every]
    monkeypatch.setattr(page, "MAX_HISTORY_SIZE", sum(sizes) - 1)
    made = write_report(stores[:1], tmp_path / "r.html")
    assert len(data(made)["courses"]) == 5
    assert "1 run omitted to limit the file size." in words(text(made))
    assert [c.method for c in printed_runs(every)[:2]] == ["mix", "uniform"]


def test_runs_in_two_stores_count_once(stores: list[Path], tmp_path: Path) -> None:
    again = shutil.copy(stores[0], tmp_path / "again.db")
    with Sources(stores[:1]) as one, Sources([stores[0], again]) as two:
        assert one.results.seconds == two.results.seconds > 0


def test_the_report_and_compare_have_the_same_tables(report: Path, stores: list[Path]) -> None:
    from uaos.analysis import Results, compare

    saved = data(report)["csv"]
    for table in compare(Results.read(stores[0])).tables:
        assert saved[f"{table.name}-2"] == table.to_csv()


# What cannot be written


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("nowhere/r.html", "output"),
        ("r.pdf", "output"),
        (".", "output"),
    ],
)
def test_an_output_that_cannot_be_is_refused(
    name: str,
    parameter: str,
    stores: list[Path],
    tmp_path: Path,
) -> None:
    with raises(InvalidParameter, name=parameter):
        write_report(stores, tmp_path / name)


def test_stores_are_never_written_over(stores: list[Path], tmp_path: Path) -> None:
    store = tmp_path / "x.html"
    shutil.copy(stores[0], store)
    before = store.read_bytes()
    with raises(InvalidParameter, name="output"):
        write_report([store], store)
    assert store.read_bytes() == before


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with raises(InvalidParameter, name="stores"):
        write_report([], tmp_path / "r.html")
    with pytest.raises(InvalidFile):
        write_report([tmp_path / "no.db"], tmp_path / "r.html")
    (tmp_path / "x.db").write_bytes(b"nothing")
    with pytest.raises(InvalidFile):
        write_report([tmp_path / "x.db"], tmp_path / "r.html")


def test_nothing_finished_is_said(tmp_path: Path) -> None:
    problems = suite("bbob", functions="1", dimension=2, instances="1")
    plan = Plan.of(["JADE"], problems, uniform=False)
    with Store.create_or_resume(tmp_path / "x.db", plan) as store:
        pass
    with pytest.raises(InvalidFile):
        write_report([tmp_path / "x.db"], tmp_path / "r.html")
    with Store.create_or_resume(tmp_path / "x.db", plan) as store:
        store.record([failed(u, problems[u.problem], "no") for u in plan.units()])
    with pytest.raises(InvalidFile):
        write_report([tmp_path / "x.db"], tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_a_report_that_fails_leaves_the_old_one(
    stores: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / "r.html"
    place.write_text("<!doctype html><!-- made with uaos -->")

    def no(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", no)
    with pytest.raises(InvalidFile):
        write_report(stores[1:], place)
    assert "made with uaos" in place.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_only_reports_are_replaced(stores: list[Path], tmp_path: Path) -> None:
    place = tmp_path / "r.html"
    place.write_text("<html>my page</html>")
    with raises(InvalidParameter, name="output"):
        write_report(stores[1:], place)
    write_report(stores[1:], place, overwrite=True)
    write_report(stores[1:], place)  # its own earlier output


# The parts


def used(counts: list[list[int]]) -> History:
    made = History([f"o{k}" for k in range(len(counts[0]))])
    for g, row in enumerate(counts, 1):
        made.record(evaluations=g * sum(row), best=1.0, iteration=g, counts=np.array(row),
                    probabilities=np.full(len(row), 1 / len(row)))  # fmt: skip
    return made


def change(history: History) -> float:
    """How much operator use changes in a run with this history."""
    return Course("mix", "f1 i1 2-D", "f1", 2, 1, False, history, None).change


def test_change_is_none_for_constant_use_and_all_for_a_switch() -> None:
    assert change(used([[500, 500]] * 12)) == 0.0
    # one operator in the first half, the other in the second: of 15 pairs of sixths 9 are wholly
    # apart; chance takes nearly nothing from a million evaluations
    switched = used([[10**6, 0]] * 6 + [[0, 10**6]] * 6)
    assert change(switched) == pytest.approx(9 / 15, abs=1e-3)
    assert change(used([[3, 5]])) == 0.0


def test_change_is_more_than_what_chance_makes_of_few_evaluations() -> None:
    rng = np.random.default_rng(1)
    drawn = [used(rng.multinomial(20, [0.5, 0.5], 12).tolist()) for _ in range(40)]
    # raw distances would be about √(4 · 0.25 / 40 / π) = 0.09
    assert np.mean([change(h) for h in drawn]) < 0.03


@pytest.mark.parametrize(
    "given",
    ["mix:8:3, a:b:1:2, c:my valley", ["mix:8:3", "a:b:1:2", "c:my valley"],
     [("mix", 8, 3), ("a:b", "f1", 2), ("c", "my valley")]],
)  # fmt: skip
def test_chosen_runs_are_read(given: Any) -> None:
    assert parse_runs(given) == [
        ("mix", {"function": "f8", "instance": 3}), ("a:b", {"function": "f1", "instance": 2}),
        ("c", {"problem": "my valley"}),
    ]  # fmt: skip
    assert parse_runs(None) is None


@pytest.mark.parametrize("given", ["", "mix", "mix:8", ["mix:8:3", 7], []])
def test_runs_that_cannot_be_read_are_refused(given: Any) -> None:
    with raises(InvalidParameter, name="runs"):
        parse_runs(given)


def test_text_is_escaped_and_markup_is_not() -> None:
    made = tag("p", "<b>", tag("b", "&"), title='"', hidden=True, data_a=None)
    assert made == '<p title="&quot;" hidden>&lt;b&gt;<b>&amp;</b></p>'


def test_a_method_has_one_color_everywhere() -> None:
    colors = Colors(["mix", "<JADE>", "mix-uniform"])
    assert colors.name("<JADE>") == (
        '<span class="method" style="--c:var(--m1)">&lt;JADE&gt;</span>'
    )
    many = Colors([str(k) for k in range(13)])  # the last has the color of the first
    assert [many.name(str(k)).count("dashed") for k in (0, 11, 12)] == [0, 0, 1]
    assert colors.name("unknown") == '<span class="method">unknown</span>'
    assert [one["symbol"] for one in colors.data()] == ["circle", "square", "triangle-up"]
    assert colors.style().count("--m1:") == 3  # light, dark chosen, dark of the system
    told = colors.in_text("mix-uniform beats mix, not remix")
    assert re.findall(r">([^<]+)</span>", told) == ["mix-uniform", "mix"]


def test_several_dimensions_are_listed_in_the_heading(made: Callable[..., Outcome]) -> None:
    parts = sections(results_of(made("A", dimension=d) for d in (2, 5, 10)))
    assert report_title(parts, 0) == "A on f1, 2-D, 5-D and 10-D"


HILLS = """
import uaos
def valley(x): return float(abs(x).sum()) + 3
suite = uaos.Suite("hills", [
    uaos.Problem(valley, [(-3, 3)] * 2, name="valley", optimum=3.0, group="smooth"),
    uaos.Problem(lambda x: float((x**2).sum()), [(-3, 2)] * 3, name="bowl"),
    uaos.Problem(lambda x: float((x**4).sum()) - 9, [(-3, 2)] * 5, name="dish"),
])
"""


def test_a_suite_of_ones_own_is_reported_without_a_word_of_others(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(HILLS)
    plan = Plan.of(["mix", "JADE"], uaos.suite(tmp_path / "own.py"), budget="60D", repetitions=2)
    with Store.create_or_resume(tmp_path / "x.db", plan) as store:
        store.record([run_unit(u, plan.suite[u.problem], plan.competitors[u.method])
                      for u in plan.units()])  # fmt: skip
    made = write_report([tmp_path / "x.db"], tmp_path / "r.html")
    said = words(text(made))
    assert "mix, JADE and uniform on 3 functions of hills, 2-D to 5-D" in said
    assert "errors count from the best value of all runs" in said
    assert set(data(made)["sections"]["all"]["panels"]) == {
        "all", "smooth", "hills", "valley", "bowl", "dish",
    }  # fmt: skip
    everything = said + json.dumps(data(made))
    sessions = said.index("Seeds and versions")  # names the packages that were installed
    assert not re.search("bbob|best.?2009", everything, re.IGNORECASE)
    assert not re.search(r"\bcoco\b", said[:sessions], re.IGNORECASE)
