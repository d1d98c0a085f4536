"""What the adapters share: applications are noted, and settled when their outcome is known."""

import importlib
import pickle
import subprocess
import sys
from copy import deepcopy
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raising import raises

import uaos
from uaos.adapters.credit import Credit, best
from uaos.errors import InvalidParameter, UnknownName
from uaos.extras import MissingExtra

METHODS = [name for name, entry in uaos.methods().items() if entry.method is not None]


def known(offspring: float | None) -> float | None:
    """The offspring of these tests are their own fitness."""
    return offspring


#: Counts successes, and nothing else.
COUNTING = uaos.method("SaDE", noise=0.0)


def credit(method: object = COUNTING, **slots: list[str]) -> Credit:
    made = Credit(slots or {"mutation": ["a", "b"]}, method, known)
    made.start(np.random.default_rng(1))
    return made


def test_a_selector_hears_operators_parents_and_offspring_as_they_were_noted() -> None:
    ours, direct = credit(), COUNTING.selector(2, seed=1)
    rows = [(0, 10.0, 8.0), (1, 10.0, 12.0), (1, 5.0, 1.0)]
    for operator, parent, offspring in rows:
        ours.note(offspring, parent, ("mutation", operator))
    ours.settle()
    direct.update(*zip(*rows, strict=True))
    np.testing.assert_array_equal(ours.selectors["mutation"].rewards, direct.rewards)
    np.testing.assert_array_equal(direct.rewards, [1.0, 0.5])  # one of one, one of two improved
    assert ours.counts == {"mutation": {"a": 1, "b": 2}}
    assert ours.pending == []


def test_every_slot_that_had_a_part_gets_the_credit_for_the_whole() -> None:
    ours = credit(crossover=["a", "b"], mutation=["c", "d"])
    ours.note(3.0, 5.0, ("crossover", 1), ("mutation", 0))
    ours.note(4.0, 5.0, ("mutation", 1))
    ours.settle()
    assert ours.counts == {"crossover": {"a": 0, "b": 1}, "mutation": {"c": 1, "d": 1}}
    np.testing.assert_array_equal(ours.selectors["crossover"].rewards, [0, 1])
    np.testing.assert_array_equal(ours.selectors["mutation"].rewards, [1, 1])


def test_what_was_not_evaluated_is_not_counted_and_what_failed_is() -> None:
    ours = credit()
    for offspring in (None, inf, nan, 2.0):
        ours.note(offspring, 5.0, ("mutation", 0))
    ours.settle()
    assert ours.counts["mutation"] == {"a": 3, "b": 0}
    # one success of three applications
    np.testing.assert_allclose(ours.selectors["mutation"].rewards, [1 / 3, 0])


def test_the_best_of_several_parents_is_the_parent() -> None:
    assert best([3.0, 2.0, 7.0]) == 2.0
    assert best([nan, None, inf, 4.0]) == 4.0
    assert best([nan, None]) == inf


def test_a_single_operator_is_used_without_random_numbers_and_counted() -> None:
    ours = credit(mutation=["only"])
    before = ours.rng.bit_generator.state
    assert ours.choose("mutation", 3).tolist() == [0, 0, 0]
    assert ours.rng.bit_generator.state == before
    ours.note(1.0, 2.0, ("mutation", 0))
    ours.settle()
    assert ours.counts == {"mutation": {"only": 1}}
    assert ours.probabilities == {"mutation": {"only": 1.0}}
    assert ours.selectors == {}


def test_operators_of_one_name_are_told_apart() -> None:
    ours = credit(mutation=["PM", "PM", "GM", "PM"])
    assert list(ours.counts["mutation"]) == ["PM", "PM 2", "GM", "PM 3"]


def test_a_method_is_given_as_object_name_file_or_one_for_each_slot(tmp_path: Path) -> None:
    method = uaos.method("SaDE", max_gen=7)
    method.to_toml(tmp_path / "mine.toml")
    named = {"crossover": ["a", "b"], "mutation": ["c", "d"]}
    for given_as in (method, tmp_path / "mine.toml", str(tmp_path / "mine.toml")):
        ours = Credit(named, given_as, known)
        assert [s.method for s in ours.selectors.values()] == [method, method]
    mixed = Credit(named, {"mutation": "Compass"}, known).selectors
    assert mixed["mutation"].method == uaos.method("Compass")
    assert mixed["crossover"].method == Credit(named, {}, known).selectors["crossover"].method


@pytest.mark.parametrize(
    ("method", "error", "name"),
    [
        ("SaDEE", UnknownName, "SaDEE"),
        ("JADE", InvalidParameter, "method"),
        (3, InvalidParameter, "method"),
        ({"mutatoin": "SaDE"}, UnknownName, "mutatoin"),
        (uaos.Method(selection="linear_annealed"), InvalidParameter, "budget"),
    ],
)
def test_a_method_that_cannot_serve_is_refused_at_once(
    method: object, error: type[Exception], name: str
) -> None:
    with raises(error, name=name):
        credit(method)


def test_a_slot_without_operators_is_refused() -> None:
    with pytest.raises(InvalidParameter) as error:
        credit(mutation=[])
    assert (error.value.name, error.value.value) == ("operators", [])


def test_a_budget_serves_methods_that_change_toward_the_end() -> None:
    method = uaos.Method(selection="linear_annealed")
    ours = Credit({"mutation": ["a", "b"]}, method, known, budget=100)
    assert ours.selectors["mutation"].budget == 100


def test_a_start_forgets_and_following_another_generator_does_not() -> None:
    ours = credit()
    ours.note(1.0, 2.0, ("mutation", 0))
    ours.settle()
    other = np.random.default_rng(2)
    ours.follow(other)
    assert ours.counts["mutation"]["a"] == 1
    assert ours.selectors["mutation"].rng is ours.rng is other
    ours.note(1.0, 2.0, ("mutation", 0))
    ours.start(np.random.default_rng(1))
    assert ours.counts["mutation"]["a"] == 0
    assert ours.pending == []


def step(ours: Credit, rng: np.random.Generator) -> list[int]:
    """One generation of an algorithm that draws from the generator too."""
    operators = ours.choose("mutation", 6)
    for operator in operators:
        ours.note(float(rng.random()), 0.5, ("mutation", int(operator)))
    return operators.tolist()


@settings(max_examples=20)
@given(
    method=st.sampled_from(METHODS), generations=st.integers(1, 6), settled=st.booleans(),
    copier=st.sampled_from([deepcopy, lambda both: pickle.loads(pickle.dumps(both))]),
)  # fmt: skip
def test_a_copy_continues_as_the_original_wherever_it_was_made(
    method: str, generations: int, settled: bool, copier: object
) -> None:
    ours = credit(method, mutation=["a", "b", "c"])
    for _ in range(generations):
        step(ours, ours.rng)
        if settled:
            ours.settle()
    copy = copier(ours)
    # The generator is still one for all: the copy's, and not the original's.
    assert copy.rng is copy.selectors["mutation"].rng
    assert copy.rng is not ours.rng
    for _ in range(3):
        for each in (ours, copy):
            each.settle()
        assert step(ours, ours.rng) == step(copy, copy.rng)
    assert ours.probabilities == copy.probabilities
    assert ours.counts == copy.counts


def test_importing_uaos_imports_no_host() -> None:
    hosts = {"pymoo", "alns", "deap"}
    code = f"import uaos, uaos.adapters, sys; print(sorted({hosts} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("host", "module"),
    [("pymoo", "pymoo.core.mating"), ("alns", "alns.select"), ("deap", "deap.base")],
)
def test_a_missing_host_is_named_with_its_extra(
    host: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"uaos.adapters.{host}", raising=False)
    with pytest.raises(MissingExtra):
        importlib.import_module(f"uaos.adapters.{host}")
