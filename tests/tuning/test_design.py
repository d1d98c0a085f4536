"""The design space is the declarations: nothing is missing, nothing is twice, and it all runs."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from raising import raises

import uaos
from uaos.errors import InvalidParameter, UnknownName
from uaos.optimizers.catalogue import configuration, methods
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.de.rules import Jade, SuccessHistory
from uaos.params import Categorical, Integer, Real, parameters
from uaos.problems.variables import ForbiddenCandidate, Space
from uaos.selection.components import FAMILIES, components
from uaos.selection.method import Method
from uaos.tuning.design_space import (
    INITIAL,
    PRESETS,
    SETTINGS,
    Design,
    design,
    design_for,
    pools,
)
from uaos.tuning.limits import narrow

DESIGNS = {preset: design(preset) for preset in PRESETS}
DECLARING = ("extended", "wide")  # the presets whose ranges are the declared ones

DECLARED = [
    (family, component, name)
    for family in FAMILIES
    for component, cls in components(family).items()
    for name, parameter in parameters(cls).items()
    if parameter.tuned
]
SELECTING = [name for name, c in methods().items() if c.method is not None]


def narrowed(of: Design, change: Callable[[Space], Space]) -> Design:
    return replace(of, space=change(of.space))


def drawn(of: Design, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return of.space.draw(lambda variable: variable.uniform(rng))


# The declarations


@pytest.mark.parametrize("preset", DECLARING)
@pytest.mark.parametrize(("family", "component", "name"), DECLARED)
def test_every_tuned_parameter_is_a_variable_that_exists_with_its_component(
    preset: str, family: str, component: str, name: str
) -> None:
    made = DESIGNS[preset]
    if preset == "extended" and not components(family)[component].printed:
        assert (family, component, name) not in made.slots
        return
    variable = made.space[made.slots[family, component, name]]
    (condition,) = variable.when
    assert condition.name == family
    assert (component in condition.values) == components(family)[component].searched
    declared = parameters(components(family)[component])[name]
    domain = variable.domain
    assert type(domain) is type(declared)
    if isinstance(declared, Categorical):
        assert domain.choices == declared.choices
        return
    assert isinstance(declared, Real | Integer)
    assert (domain.low, domain.log) == (declared.low, declared.log)
    if not (name == "p_min" or getattr(declared, "open_high", False)):
        assert domain.high == declared.high


@pytest.mark.parametrize("preset", PRESETS)
def test_there_is_nothing_else_and_nothing_twice(preset: str) -> None:
    made = DESIGNS[preset]
    here = {f: [n for n, c in components(f).items() if c.printed or preset == "wide"]
            for f in FAMILIES}  # fmt: skip
    assert sorted(made.slots) == sorted(d for d in DECLARED if d[1] in here[d[0]])
    hyper = {v.name for v in made.space if v.when and v.when[0].name in FAMILIES}
    assert hyper == set(made.slots.values())
    # a variable serves each component once
    served = [(family, component, slot) for (family, component, _), slot in made.slots.items()]
    assert len(set(served)) == len(served)
    for family in FAMILIES:
        # for selecting among optimizers, of FRRMAB, and what sees the state of the search
        left_out = ("leader", "largest_deficit", "fitness_rate_rank", "state_value")
        searched = tuple(n for n in here[family] if n not in left_out)
        assert made.space[family].domain.choices == searched


# Numbers: low and high; ℓ marks a log scale. p_min is below 1/9; gamma is below 1.
EXTENDED: dict[str, Any] = {
    "metric": 7, "reward": 12, "quality": 5, "probability": 3, "selection": 5,
    "fix_appl": (10, 150), "max_gen": (1, 50), "theta": [36, 45, 54, 90], "W": (20, 150),
    "D": (0, 1), "power": [1, 2], "frac": (0, 1), "noise": (0, 1), "normalise": [0, 1],
    "reward_C": (0.001, 1), "alpha": [0, 1], "beta": [0, 1], "rho": [1, 2, 3],
    "delta": (0, 1), "quality_C": (0.01, 100, "ℓ"), "q_min": (0, 1), "c1": (0, 1),
    "c2": (0, 1), "gamma": (0.01, 0.99), "p_min": (0, 0.11), "error": (0, 1), "mu": (0, 1),
    "p_max": (0, 1), "eps": (0, 1),
    "F": (0.1, 2), "CR": (0.1, 1), "NP": (50, 400), "top_NP": (0.02, 1),
}  # fmt: skip
PRINTED = EXTENDED | {"fix_appl": (10, 50), "quality_C": (0, 1), "q_min": (0.01, 1)}


@pytest.mark.parametrize(("preset", "table"), [("paper", PRINTED), ("extended", EXTENDED)])
def test_paper_and_extended_have_33_variables_with_their_ranges(
    preset: str, table: dict[str, Any]
) -> None:
    found: dict[str, Any] = {}
    for variable in DESIGNS[preset].space:
        domain = variable.domain
        if isinstance(domain, Categorical):
            count = len(domain.choices)
            found[variable.name] = count if variable.name in FAMILIES else list(domain.choices)
        else:
            found[variable.name] = (domain.low, domain.high, *(["ℓ"] if domain.log else []))
    assert found == table
    assert len(found) == DESIGNS[preset].space.free == 33
    whole = {v.name for v in DESIGNS[preset].space if isinstance(v.domain, Integer)}
    assert whole == {"fix_appl", "max_gen", "W", "NP"}


def test_extended_is_the_default() -> None:
    assert design() == DESIGNS["extended"]


def test_the_wide_space_adds_what_a_run_can_vary() -> None:
    added = set(DESIGNS["wide"].space.names) - set(DESIGNS["paper"].space.names)
    assert added == {
        "pool", "F_rule", "CR_rule", "H", "best_rule", "archive", "boundary", "schedule", "NP_end",
        "restart", "patience", "scale_rewards", "scope", "even", "start", "least", "xi",
    }  # fmt: skip
    assert set(DESIGNS["paper"].space.names) <= set(DESIGNS["wide"].space.names)


# A user's component


@pytest.mark.parametrize("preset", DECLARING)
def test_a_registered_component_is_in_the_space_at_once(preset: str) -> None:
    @uaos.register
    @dataclass(frozen=True, repr=False)
    class Daring(uaos.GenerationReward):
        max_gen: int = uaos.integer(1, 50, default=5)  # as others declare it: shared
        rho: float = uaos.real(0.5, 2, default=1)  # others have a choice 1, 2, 3
        courage: float = uaos.real(0.1, 10, default=1, log=True)
        F: float = uaos.real(0, 1, default=0.5)  # a name that the differential evolution has
        H: int = uaos.integer(1, 5, default=2)  # and one that the wide space has
        mood: str = uaos.choice("good", "bad", default="good", tuned=False)

        def compute(self, memory):
            return memory.bests.max(axis=0)

    made = design(preset)
    own = {
        name: made.slots["reward", "daring", name] for name in parameters(Daring) if name != "mood"
    }
    assert own == {
        "max_gen": "max_gen", "rho": "daring_rho", "courage": "courage", "F": "reward_F",
        "H": "reward_H",
    }  # fmt: skip
    assert ("reward", "daring", "mood") not in made.slots
    assert len(made.space) == len(DESIGNS[preset].space) + 4
    assert "daring" in made.space["max_gen"].when[0].values
    candidate = drawn(narrowed(made, lambda space: space.fix("reward", "daring")), 1)
    reward = made.configuration(candidate).method.reward
    assert (reward.F, reward.H, reward.rho) == (
        candidate["reward_F"], candidate["reward_H"], candidate["daring_rho"],
    )  # fmt: skip
    assert made.values(made.configuration(candidate)) == candidate
    assert design("paper") == DESIGNS["paper"]  # the printed space stays as printed


def test_a_parameter_of_two_families_says_its_family() -> None:
    @uaos.register
    @dataclass(frozen=True, repr=False)
    class Doubting(uaos.Selection):
        delta: float = uaos.real(0, 1, default=0.5)

        def compute(self, probabilities, draws, progress):
            return np.zeros(len(draws.pick), dtype=int)

    made = design()
    assert made.slots["selection", "doubting", "delta"] == "selection_delta"
    assert made.slots["quality", "weighted_sum", "delta"] == "quality_delta"


def test_what_cannot_run_without_a_rule_that_says_so_does_not_work() -> None:
    values = drawn(DESIGNS["paper"], 1) | {"probability": "probability_matching", "error": 0.0}
    assert DESIGNS["paper"].works(values | {"p_min": 0.11})
    assert not DESIGNS["paper"].works(values | {"p_min": 0.12})  # 9 · 0.12 > 1


# What is forbidden


@pytest.mark.parametrize(
    ("pool", "K", "largest"),
    # the largest number of two decimals below 1/K: 1/9 = 0.111, 1/27 = 0.037, 1/7 = 0.143, 1/2
    [("nine", 9, 0.11), ("nine-by-CR", 27, 0.03), ("mix", 7, 0.14), ("rand/1,best/1", 2, 0.49)],
)
def test_least_probabilities_stay_below_their_share(pool: str, K: int, largest: float) -> None:
    alone = design(pool=pool)
    assert len(alone.base.settings.members) == K
    assert alone.space["p_min"].domain.high == largest
    assert K * largest < 1 <= K * (largest + 0.01)
    if pool in pools():
        wide = narrowed(
            DESIGNS["wide"],
            lambda s: s.fix("pool", pool).fix("probability", "probability_matching"),
        )
        values = drawn(wide, 1) | {"p_min": largest}
        assert wide.space.check(values) == values
        assert wide.works(values)
        with pytest.raises((ForbiddenCandidate, InvalidParameter), match="p_min"):
            wide.space.check(values | {"p_min": round(largest + 0.01, 2)})
        assert not wide.works(values | {"p_min": round(largest + 0.01, 2)})


@pytest.mark.parametrize("preset", PRESETS)
def test_a_largest_probability_below_the_least_is_forbidden(preset: str) -> None:
    made = narrowed(DESIGNS[preset], lambda s: s.fix("probability", "adaptive_pursuit"))
    values = drawn(made, 1)
    assert made.space.check(values | {"p_min": 0.03, "p_max": 0.03})
    with pytest.raises(ForbiddenCandidate):
        made.space.check(values | {"p_min": 0.03, "p_max": 0.02})


def test_a_cauchy_rule_beyond_its_cut_is_forbidden() -> None:
    made = narrowed(DESIGNS["wide"], lambda s: s.fix("pool", "nine").fix("F_rule", "cauchy"))
    values = drawn(made, 1)
    assert made.space.check(values | {"F": 1.0})["F"] == 1.0
    with pytest.raises(ForbiddenCandidate):
        made.space.check(values | {"F": 1.01})


# There and back


@given(st.sampled_from(PRESETS), st.integers(0, 2**32))
def test_a_candidate_runs_and_is_found_again_in_its_configuration(preset: str, seed: int) -> None:
    made = DESIGNS[preset]
    values = drawn(made, seed)
    of = made.configuration(values)
    assert made.works(values)
    assert made.values(of) == values
    assert not made.differences(of)
    assert Configuration.from_toml(of.to_toml()) == of


@pytest.mark.parametrize("name", [n for n, c in methods().items() if c.kind == "tuned"])
def test_the_tuned_configurations_of_the_paper_are_candidates(name: str) -> None:
    made = DESIGNS["extended"]
    entry = configuration(name)
    values = made.values(entry)
    again = made.configuration(values, name)
    assert again.method == entry.method.for_operators(9)
    assert again.settings == entry.settings
    assert not made.differences(entry)
    assert (values["F"], values["NP"]) == (entry.settings.F.value, entry.settings.NP)


def test_of_the_paper_s_configurations_only_compass_is_outside_the_printed_ranges() -> None:
    for name, entry in methods().items():
        if entry.kind != "tuned":
            continue
        if name == "Compass-tuned":  # fix_appl 66, printed 10 to 50
            with raises(InvalidParameter, name="fix_appl", value=66):
                DESIGNS["paper"].values(entry)
        else:
            assert not DESIGNS["paper"].differences(entry)


def test_the_first_race_starts_from_what_was_tuned_by_others() -> None:
    assert INITIAL == ("RecPM-tuned", "PM-AdapSS-tuned", "F-AUC-MAB-tuned", "Compass-tuned")


def test_mix_is_a_candidate_of_the_wide_space() -> None:
    values = DESIGNS["wide"].values(configuration("mix"))
    assert values == {
        "pool": "mix", "best_rule": "population", "archive": "recent", "boundary": "midpoint",
        "schedule": "linear", "NP_end": 40, "restart": "stagnation", "patience": 200,
        "scale_rewards": 1, "scope": "offspring",
        "NP": 200, "top_NP": 0.11, "metric": "parent_improvement",
        "reward": "success_rate", "quality": "bellman", "probability": "probability_matching",
        "selection": "proportional", "max_gen": 1, "power": 1, "frac": 0.01, "noise": 0.0,
        "c1": 1.0, "c2": 0.9, "gamma": 0.46, "p_min": 0.0286, "error": 0.0,
    }  # fmt: skip
    again = DESIGNS["wide"].configuration(values)
    assert again.method == configuration("mix").method.for_operators(7)
    assert again.settings.members == configuration("mix").settings.members
    told = DESIGNS["wide"].differences(configuration("mix"))
    # multiples of the dimension there, here 200 and 40
    assert [text.partition(":")[0] for text in told] == ["NP", "schedule"]


def test_sizes_in_the_dimension_are_those_of_the_problems() -> None:
    values = design("wide", dimension=10).values(configuration("mix"))
    assert (values["NP"], values["NP_end"]) == (100, 20)
    with raises(InvalidParameter, name="NP", value=20):
        design("wide", dimension=2).values(configuration("mix"))


def test_what_is_no_candidate_says_why() -> None:
    with raises(InvalidParameter, name="initial configuration", value="JADE"):
        DESIGNS["paper"].values(configuration("JADE"))
    fixed = narrowed(DESIGNS["paper"], lambda space: space.only("reward", ["success_sum"]))
    with raises(InvalidParameter, name="reward"):
        fixed.values(configuration("SaDE"))
    two = Configuration("two", Method(), uaos.configuration("uniform").settings)
    assert DESIGNS["paper"].values(two)["NP"] == 200  # none given: 10·D


def test_a_difference_is_told_with_both_values() -> None:
    entry = configuration("SaDE")
    told = DESIGNS["paper"].differences(entry)
    assert "scale_rewards: False, here True" in told
    assert "boundary: 'midpoint', here 'none'" in told


def test_a_found_configuration_keeps_how_it_was_found(tmp_path: Any) -> None:
    made = DESIGNS["wide"].configuration(drawn(DESIGNS["wide"], 3), "tuned")
    tuning = {"seed": 3, "training_set": "train", "mean_cost": 0.25, "versions": {"uaos": "1"}}
    told = Configuration(made.name, made.method, made.settings, tuning=tuning)
    told.to_toml(tmp_path / "found.toml")
    again = Configuration.from_toml(tmp_path / "found.toml")
    assert again == told
    assert dict(again.tuning) == tuning
    assert configuration(tmp_path / "found.toml") == told


# What the wide space runs


def wide_with(**fixed: Any) -> Configuration:
    made = DESIGNS["wide"]
    for name, value in fixed.items():
        made = narrowed(made, lambda space, n=name, v=value: space.fix(n, v))
    return made.configuration(drawn(made, 1))


def test_adaptive_rules_for_both_share_one_memory() -> None:
    both = wide_with(pool="nine", F_rule="success_history", CR_rule="success_history", H=9)
    assert isinstance(both.settings.F, SuccessHistory)
    assert both.settings.F is both.settings.CR
    assert both.settings.F.H == 9
    mixed = wide_with(pool="nine", F_rule="jade", CR_rule="success_history")
    assert isinstance(mixed.settings.F, Jade)
    assert isinstance(mixed.settings.CR, SuccessHistory)


def test_rules_exist_where_the_pool_leaves_them_open() -> None:
    for pool, there in (
        ("nine", {"F_rule", "CR_rule"}),
        ("nine-by-CR", {"F_rule"}),
        ("mix", set()),
    ):
        space = DESIGNS["wide"].space.fix("pool", pool)
        assert {"F_rule", "CR_rule"} & set(space.names) == there
        for preset in PRESETS:
            alone = set(design(preset, pool=pool).space.names)
            open_roles = {name.removesuffix("_rule") for name in there}
            assert {"F", "CR"} & alone == open_roles
            assert {"F_rule", "CR_rule"} & alone == (there if preset == "wide" else set())
            assert ("H" in alone) == (preset == "wide" and bool(there))
            assert "pool" not in alone


def test_schedule_and_restart_are_switched() -> None:
    on = wide_with(schedule="linear", NP_end=8, restart="stagnation", patience=30).settings
    assert (on.NP_schedule.NP_end, on.restart.patience) == (8, 30)
    off = wide_with(schedule="constant", restart="none").settings
    assert (off.NP_schedule, off.restart) == (None, None)
    assert wide_with(scale_rewards=0).method.scale_rewards is False


@pytest.mark.parametrize("preset", ["paper", "extended"])
def test_the_paper_s_spaces_keep_the_authors_settings(preset: str) -> None:
    made = DESIGNS[preset]
    of = made.configuration(drawn(narrowed(made, lambda s: s.fix("selection", "greedy")), 1))
    assert of.method.selection.ties == "first"
    assert of.method.scale_rewards
    settings_of = of.settings
    assert (settings_of.boundary, settings_of.best_rule, settings_of.archive) == (
        "none", "latest", "history",
    )  # fmt: skip
    assert settings_of.center
    assert len(settings_of.members) == 9


# Names that are wrong


def test_unknown_presets_and_pools_are_errors_with_near_misses() -> None:
    with raises(UnknownName, name="papper", near="paper"):
        design("papper")
    with raises(UnknownName, name="best/3", near="best/2"):
        design(pool="rand/1,best/3")
    for pool in ("rand/1", "rand/1,rand/1", ["rand/1"]):
        with raises(InvalidParameter, name="pool"):
            design(pool=pool)


# One method's own space


@pytest.mark.parametrize("name", SELECTING)
def test_the_space_of_a_method_is_its_own_hyper_parameters(name: str) -> None:
    made = design_for(name)
    entry = configuration(name)
    own = {
        made.slots[family, getattr(entry.method, family).name, parameter]
        for family in FAMILIES
        for parameter, declared in parameters(getattr(entry.method, family)).items()
        if declared.tuned
    }
    settings = {"step"} if entry.optimizer == "portfolio" else set()  # declared and tuned
    assert {v.name for v in made.space if not v.fixed} == own | settings
    assert {v.name for v in made.space if v.fixed} == set(FAMILIES)
    of = made.configuration(drawn(made, 1))
    changes = {name: getattr(of.settings, name) for name in settings}
    assert of.settings == entry.settings.changed(changes)
    assert of.method.scale_rewards == entry.method.scale_rewards
    for family in FAMILIES:
        mine, theirs = getattr(of.method, family), getattr(entry.method, family)
        assert mine.name == theirs.name
        for parameter, declared in parameters(theirs).items():
            if not declared.tuned:
                assert getattr(mine, parameter) == getattr(theirs, parameter)


@pytest.mark.parametrize("name", SELECTING)
def test_a_method_is_a_candidate_of_its_own_space(name: str) -> None:
    made, entry = design_for(name), configuration(name)
    again = made.configuration(made.values(entry))
    K = entry.settings.alternatives
    assert again.method == entry.method.for_operators(K)  # PDP's p_min is a share, here a number
    assert again.settings == entry.settings


@pytest.mark.parametrize("name", ["Hybrid", "Dyn-GEPv1", "Dyn-GEPv2"])
def test_a_discount_of_zero_extends_the_range_of_a_method_s_own_space(name: str) -> None:
    made = design_for(name)
    assert made.space["gamma"].domain.range == "0 to 0.99"
    assert made.configuration(drawn(made, 1)).method.quality.softmax is False


def test_a_freed_population_size_has_the_method_s_own() -> None:
    assert design_for("mix", ["NP"], dimension=2).space["NP"].domain.range == "20 to 400"  # 10·D


def test_settings_are_freed_on_request() -> None:
    made = design_for("SaDE", ["F", "NP"])
    assert {"F", "NP"} == set(made.space.names) & set(SETTINGS)
    of = made.configuration(drawn(made, 1) | {"F": 0.7, "NP": 60})
    assert (of.settings.F.value, of.settings.NP) == (0.7, 60)
    assert of.settings.CR == configuration("SaDE").settings.CR
    with raises(UnknownName, name="f", near="F"):
        design_for("SaDE", ["f"])
    with raises(InvalidParameter, name="setting to free", value="F"):
        design_for("mix", ["F"])
    with raises(InvalidParameter, name="method", value="JADE"):
        design_for("JADE")


def test_a_share_is_a_number_in_the_space() -> None:
    values = design_for("PDP").values(configuration("PDP"))
    assert math.isclose(values["p_min"], 0.2 / 9)


# What shaped a space


def test_a_design_says_which_options_shaped_it(tmp_path: Any) -> None:
    assert design("wide", pool="mix").options == {"space": "wide", "pool": "mix"}
    assert design(pool=["rand/1", "best/1"]).options["pool"] == "rand/1,best/1"
    assert design_for("SaDE", ["F"]).options == {"method": "SaDE", "free": ["F"]}
    (tmp_path / "limits.toml").write_text("[fix]\nF = 0.5\n[range]\nNP = [60, 90]\n")
    made = narrow(
        design(), fix=["CR=1"], ranges=["reward=success_sum|success_rate"],
        file=tmp_path / "limits.toml",
    )  # fmt: skip
    assert made.options == {
        "space": "extended", "fix": {"CR": "1", "F": "0.5"},
        "range": {"NP": "60..90", "reward": "success_sum|success_rate"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "free", "names"),
    [
        ("CMA-ES", (), ["restarts", "sigma0", "popsize", "center"]),
        ("STEP", (), ["points", "sweeps"]),
        ("JADE", ("NP",), ["NP"]),
    ],
)
def test_an_optimizer_without_a_method_is_searched_by_its_settings(name, free, names):
    """Every candidate is a configuration of the same optimizer."""
    space = design_for(name, free, dimension=5)
    assert [variable.name for variable in space.space] == names
    rng = np.random.default_rng(1)
    for _ in range(20):
        values = space.space.draw(lambda variable: variable.uniform(rng))
        made = space.configuration(values)
        assert (made.optimizer, made.method) == (configuration(name).optimizer, None)
        assert space.values(made) == values


def test_a_space_of_settings_takes_no_configuration_of_another_optimizer():
    """A race cannot start from a configuration without these settings."""
    with pytest.raises(InvalidParameter, match="BFGS is a BFGS, but .* that of CMA-ES"):
        design_for("CMA-ES").values(configuration("BFGS"))


@pytest.mark.parametrize(
    ("name", "match"), [("JADE", "--free F,CR,NP,top_NP"), ("BFGS", "declares no settings")]
)
def test_a_method_without_parameters_has_no_space(name, match):
    """The error says how to get one."""
    with pytest.raises(InvalidParameter, match=match):
        design_for(name)
