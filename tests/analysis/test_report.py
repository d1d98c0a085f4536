"""A report is one file that says what the stores hold, whole or not at all."""

# ruff: noqa: F811 (fixtures are imported)

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from report_cases import data, experiment, report, stores, words  # noqa: F401

import uaos
from uaos.cli.plot import _KINDS
from uaos.errors import InvalidFile, InvalidParameter
from uaos.experiments import Plan, Store, run_unit
from uaos.experiments.records import failed
from uaos.experiments.storefile import connect, insert
from uaos.problems import suite
from uaos.reporting import figures
from uaos.reporting.report import page, write_report
from uaos.reporting.report.courses import courses
from uaos.reporting.report.looks import Looks
from uaos.reporting.report.operators import printed_runs
from uaos.reporting.report.recipes import recipe
from uaos.reporting.report.reproduce import bench_commands, figure_commands, tune_command
from uaos.reporting.report.sources import Sources


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the one report of the session: no figures, and no Plotly, which is slow to pack."""
    monkeypatch.setattr(page, "_plotly", lambda: "")
    for name in ("ecdf_overall", "ecdf_classes", "ecdf_functions", "operators",
                 "tuning_frequencies", "tuning_survival"):  # fmt: skip
        monkeypatch.setattr(figures, name, lambda *_, **__: Figure(figsize=(1, 1)))


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


def test_the_curves_cover_all_classes_and_functions(report: Path) -> None:
    found = data(report)
    panels = found["chapters"]["2"]["panels"]
    assert list(panels) == ["all", "separable", "moderate", "f1", "f5", "f8"]
    for panel in panels.values():
        assert len(panel["lines"]) == 3
        assert panel["best"] is not None
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
    for run in shown:
        shares = [sum(at) for at in zip(*run["shares"], strict=True)]
        assert all(abs(share - 1000) <= len(run["operators"]) for share in shares)
        assert len(run["error"]) == len(run["evaluations"]) <= 128


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


def test_a_recipe_of_unknown_parts_is_shown_as_stored() -> None:
    stored = {"version": 1, "name": "mine", "method": {"reward": {"name": "my_reward"}}, "de": {}}
    said = words(recipe("mine", stored, Looks(["mine"])))
    assert "parts that are not known here (unknown reward 'my_reward'" in said
    assert 'reward = {name = "my_reward"}' in said


def test_another_librarys_algorithm_has_no_recipe() -> None:
    stored = {"version": 1, "library": "cma", "name": "BIPOP-CMA-ES", "sigma0": 2.0}
    assert "library cma, sigma0 2.0" in words(recipe("BIPOP-CMA-ES", stored, Looks(["x"])))


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
    shown = [(r["method"], r["function"], r["instance"]) for r in data(made)["courses"]]
    assert shown == [("uniform", "f8", 2)]
    with pytest.raises(InvalidParameter, match="runs is 'mix:f8:99'; allowed: finished runs"):
        write_report(stores[:1], tmp_path / "r.html", runs="mix:8:99")


def test_several_dimensions_stand_one_after_the_other(tmp_path: Path) -> None:
    paths = [
        experiment(tmp_path / "two.db", "JADE"),
        experiment(tmp_path / "three.db", "mix", dimension=3, uniform=False, functions="1"),
    ]
    made = write_report(paths, tmp_path / "r.html")
    assert list(data(made)["chapters"]) == ["2", "3"]
    assert text(made).count('<h3 class="dimension">') == 6
    said = words(text(made))
    assert "JADE, uniform and mix on 2 BBOB functions, 2-D and 3-D" in said


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    plan = Plan.of(
        ["mix", "JADE"], suite("bbob", functions="1", dimension=2, instances="1-3"), budget=100,
        uniform=False,
    )  # fmt: skip
    units = list(plan.units())
    with Store.create_or_resume(tmp_path / "part.db", plan) as store:
        store.record([
            run_unit(u, plan.suite[u.problem], plan.competitors[u.method]) for u in units[:4]
        ])  # fmt: skip
        problem = plan.suite[units[4].problem]
        store.record([failed(units[4], problem, "ZeroDivisionError: on purpose")])
    said = words(text(write_report([tmp_path / "part.db"], tmp_path / "r.html")))
    assert "part.db: 1 of 6 planned runs are not finished ( JADE 1)" in said
    assert "1 run of JADE failed and is in no number here: ZeroDivisionError: on purpose." in said
    assert "JADE was run on 1 of 3 problems in 2-D." in said


def test_commands_make_the_stores_again(stores: list[Path]) -> None:
    with Sources(stores) as sources:
        assert bench_commands(sources.experiments[0]) == [
            "uaos bench bench.db --methods mix,JADE,uniform --dim 2 --functions 1,5,8 "
            "--instances 1-3 --budget 400D"
        ]
        command, more = tune_command(sources.tunings[0])
        assert command == (
            "uaos tune tuning.db --dim 2 --functions 1-2,8 --instances 16 --runs 96 --budget 40D "
            "--objective error --seed 3"
        )
        assert more == "and the options that shaped its search space"
        drawn = figure_commands(sources, ())
    kinds = [line.split()[2] for line in drawn]
    assert set(kinds) == set(_KINDS) - {"operators"}


def test_some_problems_of_each_function_are_named_by_their_number(tmp_path: Path) -> None:
    path = experiment(tmp_path / "x.db", "JADE", functions="1-3", instances="test:2", budget=20)
    with Sources([path]) as sources:
        (command,) = bench_commands(sources.experiments[0])
    assert "--functions 1-3 --instances test:2" in command


def test_the_runs_of_the_best_method_come_first(stores: list[Path]) -> None:
    with Sources(stores[:1]) as sources:
        for order in (["uniform", "JADE", "mix"], ["mix", "uniform"]):
            shown, left_out = courses(sources.experiments, None, order)
            assert left_out == 0
            ranked = [m for m in order if m != "JADE"]  # a single operator: nothing to show
            assert [c.outcome.method for c in shown[:2]] == ranked
            own = [c.change for c in shown if c.outcome.method == "mix"]
            assert own == sorted(own, reverse=True)


def test_runs_for_which_there_is_no_room_are_counted(
    stores: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three functions of mix and of uniform; the last is the third run of one of them."""
    with Sources(stores[:1]) as sources:
        every, _ = courses(sources.experiments, None, ["uniform", "mix"])
        sizes = [len(json.dumps(c.data, separators=(",", ":"))) for c in every]
        monkeypatch.setattr("uaos.reporting.report.courses.ROOM", sum(sizes) - 1)
        kept, left_out = courses(sources.experiments, None, ["uniform", "mix"])
    assert (len(kept), left_out) == (5, 1)
    assert [c.outcome.method for c in printed_runs(kept)[:2]] == ["uniform", "mix"]
    made = write_report(stores[:1], tmp_path / "r.html")
    assert "There is no room for 1 more." in words(text(made))


def test_runs_in_two_stores_count_once(stores: list[Path], tmp_path: Path) -> None:
    again = shutil.copy(stores[0], tmp_path / "again.db")
    with Sources(stores[:1]) as one, Sources([stores[0], again]) as two:
        assert one.seconds == two.seconds > 0


def test_the_saved_overview_has_what_the_table_has(report: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(data(report)["csv"]["overview-2"])))
    assert [r["method"] for r in rows] == sorted(
        (r["method"] for r in rows), key=lambda m: float(next(
            r["mean_rank"] for r in rows if r["method"] == m))
    )  # fmt: skip
    assert {"solved separable", "runs all", "ecdf_area"} <= set(rows[0])
    classes = list(csv.DictReader(io.StringIO(data(report)["csv"]["classes-2"])))
    assert [r["p_holm_against_best"] == "" for r in classes] == [True, False, False] * 3


def test_a_changed_method_is_named_by_its_file(tmp_path: Path) -> None:
    own = uaos.configuration("JADE").to_dict() | {"name": "mine"}
    uaos.Configuration.from_dict(own).to_toml(tmp_path / "mine.toml")
    path = experiment(tmp_path / "x.db", str(tmp_path / "mine.toml"), uniform=False, repetitions=2,
                      functions="1-24", instances="train", budget=20, seed=5)  # fmt: skip
    with Sources([path]) as sources:
        assert bench_commands(sources.experiments[0]) == [
            "uaos bench x.db --methods mine.toml --dim 2 --instances train --budget 10D "
            "--repetitions 2 --seed 5 --without-uniform"
        ]


def test_commands_of_the_caller_come_first(report: Path) -> None:
    said = words(text(report))
    section = said[said.index("Reproduce Everything") :]
    assert section.index("uaos study --small") < section.index("uaos bench")


# What cannot be written


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("nowhere/r.html", "output is '.*nowhere/r.html'; allowed: a file in a folder that exists"),
        ("r.pdf", "allowed: a file that ends in .html"),
        (".", "allowed: a file in a folder that exists"),
    ],
)
def test_an_output_that_cannot_be_is_refused(
    name: str,
    match: str,
    stores: list[Path],
    tmp_path: Path,
) -> None:
    with pytest.raises(InvalidParameter, match=match):
        write_report(stores, tmp_path / name)


def test_stores_are_never_written_over(stores: list[Path], tmp_path: Path) -> None:
    store = tmp_path / "x.html"
    shutil.copy(stores[0], store)
    before = store.read_bytes()
    with pytest.raises(InvalidParameter, match="another file than the stores"):
        write_report([store], store)
    assert store.read_bytes() == before


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="at least one store"):
        write_report([], tmp_path / "r.html")
    with pytest.raises(InvalidFile, match="no.db: there is no such file"):
        write_report([tmp_path / "no.db"], tmp_path / "r.html")
    (tmp_path / "x.db").write_bytes(b"nothing")
    with pytest.raises(InvalidFile, match="x.db: not a store of uaos"):
        write_report([tmp_path / "x.db"], tmp_path / "r.html")


def test_nothing_finished_is_said(tmp_path: Path) -> None:
    plan = Plan.of(
        ["JADE"], suite("bbob", functions="1", dimension=2, instances="1"), uniform=False
    )
    with Store.create_or_resume(tmp_path / "x.db", plan) as store:
        pass
    with pytest.raises(InvalidFile, match="x.db: nothing is finished yet; a report needs"):
        write_report([tmp_path / "x.db"], tmp_path / "r.html")
    with Store.create_or_resume(tmp_path / "x.db", plan) as store:
        store.record([failed(u, plan.suite[u.problem], "no") for u in plan.units()])
    with pytest.raises(InvalidFile, match="finished yet .1 failed; uaos bench .*says why"):
        write_report([tmp_path / "x.db"], tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_a_tuning_that_cannot_be_read_is_refused(stores: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    shutil.copy(stores[1], path)
    connection = connect(path, write=True)
    (row,) = connection.execute("SELECT * FROM tunings").fetchall()
    other = row[2].replace('"space"', '"room"')  # as another version might have written it
    insert(connection, "tunings", [(*row[:2], other, *row[3:-1])], "INSERT OR REPLACE")
    connection.close()
    with pytest.raises(InvalidFile, match="old.db: the record of tuning 1 cannot be read"):
        write_report([path], tmp_path / "r.html")


def test_a_report_that_fails_leaves_the_old_one(
    stores: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / "r.html"
    place.write_text("old")

    def no(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("uaos.reporting.report.write.os.replace", no)
    with pytest.raises(InvalidFile, match="r.html: cannot be written .No space left"):
        write_report(stores[1:], place)
    assert place.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_a_tuning_under_way_is_told_as_such(stores: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "begun.db"
    shutil.copy(stores[1], path)
    connection = connect(path, write=True)
    (row,) = connection.execute("SELECT * FROM tunings").fetchall()
    insert(connection, "tunings", [(*row[:6], None, None)], "INSERT OR REPLACE")
    connection.execute("DELETE FROM elites")
    connection.close()
    said = words(text(write_report([path], tmp_path / "r.html")))
    assert "The first race is not over yet." in said
    assert "Tuning 1 of begun.db is not finished." in said
