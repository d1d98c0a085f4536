"""The export to ConfigSpace is the same space."""

import sys
from pathlib import Path

import numpy as np
import pytest
from irace_spaces import SMALL, choice, integer, real, variable

from uaos.extras import MissingExtra
from uaos.params import Value
from uaos.tuning.configspace import from_configspace, to_configspace
from uaos.tuning.design import PRESETS, design
from uaos.tuning.space import Clause, Forbidden, ForbiddenCandidate, Space, uniform_candidates

ConfigSpace = pytest.importorskip("ConfigSpace", reason="pip install 'uaos[configspace]'")

SPACES = {preset: design(preset).space for preset in PRESETS} | {
    "small": SMALL,
    "narrowed": design("wide").space.fix("reward", "success_rate").limit("NP", 60, 70),
}


@pytest.fixture(params=SPACES)
def space(request: pytest.FixtureRequest) -> Space:
    return SPACES[request.param]


def candidates(space: Space, count: int) -> list[dict[str, Value]]:
    return uniform_candidates(space, count, np.random.default_rng(1), works=lambda _: True)


def accepts(space: Space, values: dict[str, Value]) -> bool:
    try:
        ConfigSpace.Configuration(to_configspace(space), values=values)
    except (ConfigSpace.exceptions.ForbiddenValueError, ValueError):
        return False
    return True


def test_what_configspace_draws_is_a_candidate_in_our_types(space: Space) -> None:
    for drawn in to_configspace(space, seed=1).sample_configuration(200):
        values = from_configspace(space, drawn)
        assert space.check(values) == values
        assert set(values) == set(drawn)  # the same variables are active
        assert {type(value) for value in values.values()} <= {bool, int, float, str}


def test_a_candidate_is_a_configuration_and_comes_back_as_it_was(space: Space) -> None:
    configspace = to_configspace(space)
    for candidate in candidates(space, 200):
        if "p_max" in candidate and candidate["p_max"] == candidate["p_min"]:
            continue  # ConfigSpace may refuse it, as uaos.tuning.configspace says
        made = ConfigSpace.Configuration(configspace, values=candidate)
        assert from_configspace(space, made) == candidate


def test_it_survives_a_file(space: Space, tmp_path: Path) -> None:
    made = to_configspace(space)
    made.to_json(tmp_path / "space.json")
    read = ConfigSpace.ConfigurationSpace.from_json(tmp_path / "space.json")
    assert read == made
    read.seed(1)
    for drawn in read.sample_configuration(20):
        from_configspace(space, drawn)


def test_ranges_scales_and_constants_are_kept() -> None:
    made = to_configspace(SMALL.fix("kind", "plain"))
    assert (made["n"].lower, made["n"].upper, made["n"].log) == (1, 100, True)
    assert (made["rate"].lower, made["rate"].upper, made["rate"].log) == (0.001, 1, True)
    assert made["kind"].value == "plain"
    assert not made["x"].log


def test_a_seed_decides_what_is_drawn() -> None:
    first, again = (to_configspace(SMALL, seed=3).sample_configuration(5) for _ in range(2))
    assert [dict(c) for c in first] == [dict(c) for c in again]


def test_what_is_drawn_is_rounded_as_declared() -> None:
    space = Space((variable("x", real(0.001, 1)),))
    assert from_configspace(space, {"x": 0.12345}) == {"x": 0.12}
    assert from_configspace(space, {"x": 0.0012}) == {"x": 0.001}  # 0.00 is outside


@pytest.mark.parametrize("relation", ["<", ">", "=="])
@pytest.mark.parametrize("number", [-1, 0, 2, 3, 4])
def test_a_number_is_forbidden_here_where_it_is_forbidden_there(
    relation: str, number: float
) -> None:
    """Also where the number compared with is not in the range."""
    for domain in (integer(0, 3), choice(0, 1, 2, 3)):
        rule = Forbidden((Clause("n", relation, number), Clause("m", "==", 1)), "test")
        space = Space((variable("n", domain), variable("m", integer(0, 1))), (rule,))
        for n in range(4):
            for m in range(2):
                values: dict[str, Value] = {"n": n, "m": m}
                assert accepts(space, values) == (not rule.holds(values))


@pytest.mark.parametrize("relation", ["<", ">", "=="])
def test_a_relation_of_two_variables_is_forbidden_here_where_it_is_there(relation: str) -> None:
    rule = Forbidden((Clause("n", relation, "m", variable=True),), "test")
    space = Space((variable("n", integer(0, 3)), variable("m", integer(0, 3))), (rule,))
    for n in range(4):
        for m in range(4):
            values: dict[str, Value] = {"n": n, "m": m}
            assert accepts(space, values) == (not rule.holds(values))


def test_a_forbidden_default_is_replaced() -> None:
    rule = Forbidden((Clause("n", "<", 2),), "test")  # the default is 0
    made = to_configspace(Space((variable("n", integer(0, 3)),), (rule,)))
    assert made.get_default_configuration()["n"] >= 2


def test_a_configuration_that_the_space_forbids_is_refused() -> None:
    with pytest.raises(ForbiddenCandidate, match="the configuration is forbidden: rate > 0.5"):
        from_configspace(SMALL, {"x": 0.0, "n": 1, "kind": "a b", "rate": 0.7})


def test_without_the_library_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ConfigSpace", None)
    with pytest.raises(MissingExtra, match=r'pip install -e "\.\[configspace\]"'):
        to_configspace(SMALL)
