"""The files of irace hold the same space."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from irace_spaces import SMALL, choice, integer, needs_irace, real, variable
from raising import raises

from uaos.errors import InvalidParameter
from uaos.params import Categorical, Integer, Value
from uaos.problems.variables import Clause, Condition, Forbidden, Space, Variable
from uaos.tuning.design_space import PRESETS, design
from uaos.tuning.irace_files import Dialect, write_files
from uaos.tuning.race import Rules
from uaos.tuning.sampling import uniform_candidates
from uaos.tuning.search import Search

LINE = re.compile(r'^(\S+) +"--\1=" +(c|[ir](?:,log)?) +\(([^|]*)\)(?: \| (.*))?$')


def read_back(lines: list[str]) -> Space:
    """The space in a file of parameters whose names and values need no translation."""
    variables: list[Variable] = []
    for line in lines:
        found = LINE.match(line)
        assert found is not None, line
        name, kind, inside, condition = found.groups()
        values = inside.split(",")
        if kind == "c":
            domain = choice(*(text.strip('"') for text in values))
        elif kind.startswith("i"):
            domain = integer(int(values[0]), int(values[1]), log="log" in kind)
        else:
            domain = real(float(values[0]), float(values[1]), log="log" in kind)
        when = []
        for part in (condition or "").split(" | ") if condition else []:
            parent, listed = part.split(" %in% c(")
            when.append(Condition(parent, tuple(re.findall(r'"([^"]*)"', listed))))
        variables.append(Variable(name, domain, tuple(when)))
    return Space(tuple(variables))


def shape(space: Space) -> list[tuple[object, ...]]:
    """What a tuner needs to know of each variable, with choices as texts."""
    return [
        (
            v.name,
            tuple(map(str, v.domain.choices))
            if isinstance(v.domain, Categorical)
            else (isinstance(v.domain, Integer), v.domain.low, v.domain.high, v.domain.log),
            tuple((c.name, tuple(map(str, c.values))) for c in v.when),
        )
        for v in space
    ]


def candidates(space: Space, count: int = 200) -> list[dict[str, Value]]:
    return uniform_candidates(space, count, np.random.default_rng(1), works=lambda _: True)


# Parameters


def test_a_parameter_is_a_line() -> None:
    assert Dialect(SMALL).parameters() == [
        'x    "--x="    r     (-1,1)',
        'X.n  "--X.n="  i,log (1,100)',  # irace 4 has an n of its own
        'kind "--kind=" c     ("plain","a%20b","%23%7C%22")',
        'rate "--rate=" r,log (0.001,1) | kind %in% c("plain", "a%20b")',
    ]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_presets_read_back_as_they_are(preset: str) -> None:
    space = design(preset).space
    assert shape(read_back(Dialect(space).parameters())) == shape(space)


def test_a_narrowed_space_reads_back_as_it_is() -> None:
    space = design("wide").space.fix("reward", "success_rate").limit("NP", 60, 70)
    space = space.only("quality", ["identity", "bellman"])
    read = read_back(Dialect(space).parameters())
    assert shape(read) == shape(space)
    assert read.free == space.free == len(space) - 1


def test_a_variable_may_exist_for_several_reasons() -> None:
    line = next(p for p in Dialect(design("wide").space).parameters() if p.startswith("H "))
    assert line.endswith('| F_rule %in% c("success_history") | CR_rule %in% c("success_history")')


def test_names_that_r_does_not_accept_are_changed() -> None:
    names = ("if", "a-b", "_x", "1st", "NA", "n", "F")
    dialect = Dialect(Space(tuple(variable(name, integer(1, 2)) for name in names)))
    assert list(dialect.names.values()) == ["X.if", "a.b", "X._x", "X.1st", "X.NA", "X.n", "F"]
    assert dialect.values(["1"] * 7) == dict.fromkeys(names, 1)


# Digits


def test_the_digits_are_those_that_the_ends_of_the_ranges_need() -> None:
    assert Dialect(design("paper").space).digits == 3  # C of a reward: 0.001 to 1
    assert Dialect(Space((variable("x", real(0, 1)),))).digits == 2
    assert Dialect(Space((variable("n", integer(1, 9)),))).digits == 1  # irace's least


def test_what_irace_draws_is_rounded_to_the_declared_digits() -> None:
    dialect = Dialect(Space((variable("x", real(0.001, 1)), variable("y", real(0, 1, digits=3)))))
    assert dialect.rounding() == {"x": 2}  # irace gives three digits
    assert dialect.values(["0.126", "0.126"]) == {"x": 0.13, "y": 0.126}
    assert dialect.values(["0.001", "0"]) == {"x": 0.001, "y": 0.0}  # 0.00 is outside


def test_a_range_that_needs_more_digits_than_irace_has_is_refused() -> None:
    space = Space((variable("x", real(1e-14, 1, log=True)),))
    with raises(InvalidParameter, name="x"):
        Dialect(space)


def test_an_end_with_endless_digits_is_cut_in_the_file_alone() -> None:
    dialect = Dialect(Space((variable("x", real(0, 1 / 9, digits=16)),)))
    assert dialect.parameters() == ['x "--x=" r (0,0.1111111111111)']
    assert dialect.row({"x": 1 / 9}) == ["0.1111111111111"]
    assert dialect.values(["0.1111111111111"]) == {"x": 0.1111111111111}


# Candidates


@pytest.mark.parametrize("preset", PRESETS)
def test_a_candidate_survives_as_a_row(preset: str) -> None:
    space = design(preset).space
    dialect = Dialect(space)
    for candidate in candidates(space):
        assert dialect.values(dialect.row(candidate)) == candidate


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5, unique=True))
@example(["NA", "", "a b"])
def test_any_choice_survives_and_its_text_needs_no_quotes(values: list[Value]) -> None:
    dialect = Dialect(Space((variable("x", choice(*values)),)))
    texts = [dialect.text("x", value) for value in values]
    assert len(set(texts)) == len(values)
    for value, text in zip(values, texts, strict=True):
        assert dialect.values([text]) == {"x": value}
        assert re.fullmatch(r"[-\w.~%+/:*=]+", text, re.ASCII)
        assert text != "NA"


def test_initial_candidates_are_a_table_with_na_where_a_variable_is_not_active() -> None:
    start = [{"x": 0.123456, "n": 3, "kind": '#|"'}, {"x": 1, "n": 20, "kind": "a b", "rate": 0.1}]
    assert Dialect(SMALL).configurations(start) == [
        "x        X.n kind      rate",
        "0.123456 3   %23%7C%22 NA",
        "1        20  a%20b     0.1",
    ]


# What is forbidden


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        (Clause("x", ">", 0.5), "x > 0.5"),
        (Clause("word", "==", "a b"), 'word %in% c("a%20b")'),
        (Clause("power", ">", 1), 'power %in% c("2", "3")'),  # its values are texts in irace
        (Clause("x", "<", "y", variable=True), "x < y"),
        (Clause("power", "<", "y", variable=True), "as.numeric(power) < y"),
    ],
)
def test_a_comparison_is_an_expression(comparison: Clause, expected: str) -> None:
    variables = (
        variable("x", real(0, 1)),
        variable("y", real(0, 1)),
        variable("word", choice("a b", "c")),
        variable("power", choice(1, 2, 3)),
    )
    both = Forbidden((comparison, Clause("y", "<", 0.1)), "why")
    assert Dialect(Space(variables, (both,))).forbidden() == [f"({expected}) & (y < 0.1)"]


@needs_irace
def test_r_agrees_on_what_is_active_and_what_is_forbidden(tmp_path: Path) -> None:
    """Conditions and forbidden combinations, evaluated by R on candidates of the wide preset."""
    space = design("wide").space
    dialect = Dialect(space)
    free = Space(space.variables)  # nothing is forbidden: candidates of both kinds
    drawn = candidates(free, 150)
    table = "\n".join("\t".join(row) for row in map(dialect.row, drawn))
    (tmp_path / "rows.tsv").write_text("\t".join(space.names) + "\n" + table + "\n")
    conditions = (line.partition(" | ")[2] or "TRUE" for line in dialect.parameters())
    (tmp_path / "conditions.txt").write_text("\n".join(conditions))
    (tmp_path / "forbidden.txt").write_text("\n".join(dialect.forbidden()))
    script = """
        rows <- read.delim("rows.tsv", check.names = FALSE)
        conditions <- parse("conditions.txt")
        forbidden <- parse("forbidden.txt")
        holds <- function(expression, row) isTRUE(eval(expression, row))
        for (i in seq_len(nrow(rows))) {
          row <- as.list(rows[i, ])
          active <- vapply(conditions, holds, NA, row)
          cat(as.integer(active), as.integer(any(vapply(forbidden, holds, NA, row))), "\\n")
        }
    """
    told = subprocess.run(
        ["Rscript", "-e", script], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    ours = [
        [int(name in c) for name in space.names] + [int(bool(space.why_forbidden(c)))]
        for c in drawn
    ]
    assert [list(map(int, line.split())) for line in told] == ours
    assert 10 < sum(row[-1] for row in ours) < 140  # some are forbidden and some are not


# The files


def test_the_folder_holds_everything(tmp_path: Path) -> None:
    rules = Rules(test="t-test", first_test=6, alpha=0.1, elitist_limit=3)
    folder = tmp_path / "new" / "folder"
    start = {"x": 0, "n": 3, "kind": "plain", "rate": 0.1}
    names = ["f1 20-D i3", "a # b\nc", ""]
    write_files(folder, Search(SMALL, names, 500, 7, [start], rules))
    lines = (folder / "scenario.txt").read_text().splitlines()
    for line in (
        "maxExperiments <- 500",
        "seed <- 7",
        'testType <- "t-test"',
        "firstTest <- 6",
        "confidence <- 0.9",
        "elitistLimit <- 3",
        "digits <- 3",
        'forbiddenFile <- "./forbidden.txt"',
        'configurationsFile <- "./configurations.txt"',
        ".runner$digits <- c(x = 2, rate = 2)",
    ):
        assert line in lines
    assert (folder / "instances.txt").read_text() == "f1 20-D i3\na %23 b c\ninstance 3\n"
    assert (folder / "forbidden.txt").read_text().splitlines()[1:] == [
        '(rate > 0.5) & (kind %in% c("a%20b"))  # too fast'
    ]
    assert (folder / "parameters.txt").read_text().splitlines()[1:] == Dialect(SMALL).parameters()


def test_what_there_is_none_of_is_not_named_in_the_scenario(tmp_path: Path) -> None:
    write_files(tmp_path, Search(Space((variable("n", integer(1, 9)),)), ["one"], 500))
    scenario = (tmp_path / "scenario.txt").read_text()
    for absent in ("forbiddenFile", "configurationsFile", "repairConfiguration"):
        assert absent not in scenario


def test_irace_4_reads_digits_and_what_is_forbidden_with_the_parameters(tmp_path: Path) -> None:
    write_files(tmp_path, Search(SMALL, ["one"], 500), version=4)
    assert (tmp_path / "parameters.txt").read_text().splitlines()[-5:] == [
        "[forbidden]",
        '(rate > 0.5) & (kind %in% c("a%20b"))',
        "",
        "[global]",
        "digits = 3",
    ]
    scenario = (tmp_path / "scenario.txt").read_text()
    assert "digits <- 3" not in scenario.replace("$digits", "")
    assert "forbiddenFile" not in scenario


def test_rules_that_irace_refuses_are_refused(tmp_path: Path) -> None:
    with raises(InvalidParameter, name="first_test", value=5):
        write_files(tmp_path, Search(SMALL, ["one"], 500, rules=Rules(each_test=2)))


def test_a_folder_that_is_a_file_is_one_clear_line(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    with raises(InvalidParameter, name="folder"):
        write_files(place, Search(SMALL, ["one"], 500))
