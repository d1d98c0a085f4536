"""Settings classes: ranges, plain data, and what configurations and constructors make of them."""

import dataclasses
import inspect
from dataclasses import dataclass
from typing import Any

import pytest
from raising import raises

import uaos
from uaos.errors import InvalidComponent, InvalidParameter, UnknownName
from uaos.optimizers.base.settings import OptimizerSettings
from uaos.optimizers.cma import CMASettings
from uaos.optimizers.coordinate import CoordinateSettings
from uaos.optimizers.de.settings import DifferentialEvolutionSettings, Linear
from uaos.optimizers.least_squares import LeastSquaresSettings
from uaos.optimizers.local import LocalSettings
from uaos.optimizers.portfolio import PortfolioSettings
from uaos.optimizers.pycma import PyCMASettings
from uaos.optimizers.registry import optimizer_classes
from uaos.optimizers.restarting import RestartingSettings
from uaos.optimizers.sqp import SQPSettings
from uaos.optimizers.surrogate import SurrogateSettings
from uaos.optimizers.winners.ea4eig import EA4eigSettings
from uaos.optimizers.winners.jso import JSOSettings
from uaos.optimizers.winners.lsrtde import LSRTDESettings
from uaos.optimizers.winners.mos import TournamentSettings
from uaos.params import parameters

BOX = [(-5.0, 5.0)] * 2

MEMBERS = [
    uaos.Configuration("distribution", optimizer="CMA-ES"),
    uaos.Member(uaos.Configuration("local", optimizer="BFGS"), once=True),
]

#: Settings that all differ from their defaults.
CHANGED: dict[str, OptimizerSettings] = {
    "CMA-ES": CMASettings("IPOP", 0.3, 12, "none", center=True),
    "BFGS": LocalSettings(boundary="none", restarts=False),
    "STEP": CoordinateSettings(points=100, sweeps=3, separable_only=True, restarts=False),
    "BIPOP-CMA-ES": PyCMASettings(0.3, 0.5),
    "DE": DifferentialEvolutionSettings(
        pool=("rand/1",), F=0.7, CR=0.2, NP="3D", NP_schedule=Linear(5), center=True
    ),
    "jSO": JSOSettings(NP=50),
    "EA4eig": EA4eigSettings(NP=50),
    "L-SRTDE": LSRTDESettings(NP=50),
    "MOS-DE": TournamentSettings(NP=50),
    "SQP": SQPSettings(restarts=False),
    "LM": LeastSquaresSettings(restarts=False),
    "lq-CMA-ES": CMASettings("IPOP", 0.3, 12, "none", center=True),
    "mixed-SQP": RestartingSettings(restarts=False),
    "QUAD": RestartingSettings(restarts=False),
    "GP": SurrogateSettings(initial=3.0, batch=2),
    "portfolio": PortfolioSettings(MEMBERS, 20.0, constrained=True),
}


def shipped() -> list[str]:
    """Return the names of the optimizers of the package."""
    return [n for n, cls in optimizer_classes().items() if cls.__module__.startswith("uaos.")]


def test_every_optimizer_has_an_example_here():
    assert set(CHANGED) == set(shipped())


@pytest.mark.parametrize("name", CHANGED)
def test_each_optimizer_has_a_settings_class_with_defaults_and_help(name):
    settings_class = optimizer_classes()[name].settings_class
    assert settings_class is not OptimizerSettings
    settings_class()
    declared = parameters(settings_class)
    assert declared
    assert all(parameter.doc and parameter.range for parameter in declared.values())
    documented = "".join(inspect.getdoc(cls) or "" for cls in settings_class.__mro__)
    assert all(field.name in documented for field in dataclasses.fields(settings_class))


@pytest.mark.parametrize("name", ["CMA-ES", "STEP", "BIPOP-CMA-ES", "DE", "portfolio"])
def test_a_tuner_finds_ranges(name):
    declared = parameters(optimizer_classes()[name].settings_class)
    assert any(parameter.tuned for parameter in declared.values())


@pytest.mark.parametrize("name", CHANGED)
def test_settings_make_the_round_trip(name):
    settings = CHANGED[name]
    assert type(settings).from_dict(settings.to_dict()) == settings
    assert type(settings).from_dict({}) == type(settings)()


@pytest.mark.parametrize("name", CHANGED)
@pytest.mark.parametrize("changed", [False, True])
def test_a_configuration_makes_the_round_trip_through_toml(name, changed, tmp_path):
    method = uaos.Method() if name == "DE" else None
    entry = uaos.Configuration("mine", method, CHANGED[name] if changed else None, optimizer=name)
    entry.to_toml(tmp_path / "mine.toml")
    again = uaos.Configuration.from_toml(tmp_path / "mine.toml")
    assert again == entry
    assert type(again.settings) is optimizer_classes()[name].settings_class


@pytest.mark.parametrize("name", CHANGED)
def test_a_mapping_becomes_settings(name):
    settings = CHANGED[name]
    entry = uaos.Configuration("mine", settings=settings.to_dict(), optimizer=name)
    assert entry.settings == settings
    with raises(InvalidParameter, name="settings", value=3):
        uaos.Configuration("mine", settings=3, optimizer=name)


@pytest.mark.parametrize(
    ("settings_class", "name", "value"),
    [
        (CMASettings, "restarts", "IPOPP"),
        (CMASettings, "sigma0", 0.0),
        (CMASettings, "sigma0", "wide"),
        (CMASettings, "popsize", 1),
        (CMASettings, "popsize", 6.5),
        (CMASettings, "boundary", "clip"),
        (CMASettings, "center", 1),
        (LocalSettings, "boundary", "penalty"),
        (LocalSettings, "restarts", "no"),
        (CoordinateSettings, "points", 2),
        (CoordinateSettings, "sweeps", 0),
        (CoordinateSettings, "separable_only", None),
        (PyCMASettings, "sigma0", -1),
        (PyCMASettings, "start", 1.5),
        (PortfolioSettings, "step", -1),
        (PortfolioSettings, "constrained", "yes"),
        (DifferentialEvolutionSettings, "boundary", "penalty"),
        (DifferentialEvolutionSettings, "NP", 3),
    ],
)
def test_a_bad_value_is_named(settings_class, name, value):
    with raises(InvalidParameter, name=name, value=value):
        settings_class(**{name: value})
    with raises(InvalidParameter, name=name, value=value):
        settings_class.from_dict({name: value})


@pytest.mark.parametrize(
    ("name", "unknown", "near"),
    [
        ("CMA-ES", "popsiz", "popsize"),
        ("BFGS", "restart", "restarts"),
        ("STEP", "sweep", "sweeps"),
        ("BIPOP-CMA-ES", "sigma", "sigma0"),
        ("DE", "boundry", "boundary"),
        ("portfolio", "member", "members"),
    ],
)
def test_an_unknown_name_is_answered_with_a_similar_one(name, unknown, near):
    cls = optimizer_classes()[name]
    unknown_setting: dict[str, Any] = {unknown: 1}
    with raises(UnknownName, name=unknown, near=near):
        cls.settings_class.from_dict(unknown_setting)
    with raises(UnknownName, name=unknown, near=near):
        cls(BOX, **unknown_setting)
    with raises(UnknownName, name=unknown, near=near):
        uaos.configuration("JADE" if name == "DE" else name).build(BOX, **unknown_setting)


def test_keywords_replace_settings_and_none_leaves_them():
    run = uaos.CMAES(BOX, CMASettings(popsize=6, sigma0=0.1), popsize=8, sigma0=None)
    assert run.settings == CMASettings(popsize=8, sigma0=0.1)
    run = uaos.DifferentialEvolution(BOX, method="JADE", popsize=20, operators=["rand/1"])
    assert (run.settings.NP, run.settings.names) == (20, ("rand/1",))


def test_settings_of_differential_evolution_bring_no_method_along():
    single, several = (
        DifferentialEvolutionSettings(pool=("rand/1",)),
        DifferentialEvolutionSettings(pool=("rand/1", "best/1")),
    )
    assert uaos.DifferentialEvolution(BOX, single).method is None
    run = uaos.DifferentialEvolution(BOX, several, method="SaDE")
    assert run.settings == several
    assert run.method == uaos.method("SaDE")
    with raises(InvalidParameter, name="operators"):
        uaos.DifferentialEvolution(BOX, several)


@pytest.mark.parametrize("name", ["CMA-ES", "BFGS", "STEP"])
def test_an_optimizer_that_does_not_select_takes_no_method(name):
    with raises(InvalidParameter, name="method"):
        optimizer_classes()[name](BOX, method=uaos.Method())
    with raises(InvalidParameter, name="method"):
        uaos.Configuration("mine", uaos.Method(), optimizer=name)


@pytest.mark.parametrize("name", CHANGED)
def test_keywords_are_the_names_of_fields_and_aliases(name):
    keywords = optimizer_classes()[name].settings_class.keywords()
    names = {field.name for field in dataclasses.fields(CHANGED[name])}
    assert len(keywords) == len(names)
    if isinstance(CHANGED[name], DifferentialEvolutionSettings):
        assert {"popsize", "operators"} <= set(keywords)
    else:
        assert set(keywords) == names


def test_tables_show_settings():
    assert CHANGED["BFGS"].texts() == {"boundary": "none", "restarts": "False"}
    texts = ("restarts False", "points 100", "sweeps 3", "separable_only True")
    assert CHANGED["STEP"].summary() == ", ".join(texts)
    assert CHANGED["CMA-ES"].operator_texts() == []
    assert [row[:2] for row in CHANGED["DE"].operator_texts()] == [("rand/1", "rand/1")]
    assert CHANGED["portfolio"].texts()["members"].startswith("distribution: ")


def test_the_constructor_of_a_custom_optimizer_takes_no_undeclared_settings():
    with pytest.raises(InvalidComponent, match="settings_class"):

        @uaos.register
        class Undeclared(uaos.Optimizer):
            name = "undeclared"

            def __init__(self, bounds, *, batch=4, **run):
                super().__init__(bounds, **run)

            def _propose(self):
                return [self.low]

            def _learn(self, points, values):
                pass


@dataclass(frozen=True)
class BatchSettings(uaos.OptimizerSettings):
    """One setting."""

    batch: int = uaos.integer(1, 100, default=4, doc="points per batch")


class Batches(uaos.Optimizer):
    """Copies of the center."""

    name = "test-batches"
    settings_class = BatchSettings

    def _propose(self):
        return [(self.low + self.high) / 2] * self.settings.batch

    def _learn(self, points, values):
        pass


def test_a_custom_settings_class_serves_constructor_configuration_and_file(tmp_path):
    uaos.register(Batches)
    assert Batches(BOX).ask().shape == (4, 2)
    assert Batches(BOX, {"batch": 3}).ask().shape == (3, 2)
    run = uaos.Configuration("mine", optimizer="test-batches").build(BOX, batch=2)
    assert run.ask().shape == (2, 2)
    run.tell([1.0, 2.0])
    run.save(tmp_path / "run.state")
    again = uaos.Optimizer.load(tmp_path / "run.state")
    assert again.settings == BatchSettings(2)
    with raises(InvalidParameter, name="batch", value=0):
        Batches(BOX, batch=0)
