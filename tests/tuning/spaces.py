"""Small search spaces for the tests of tuning."""

from uaos.params import Categorical, Integer, RealSetting, Value
from uaos.problems.variables import Clause, Condition, Forbidden, Space, Variable


def real(name: str, low: float, high: float, *when: Condition, log: bool = False) -> Variable:
    domain = RealSetting(default=low, low=low, high=high, log=log)
    return Variable(name, domain, when)


def whole(name: str, low: int, high: int, *when: Condition, log: bool = False) -> Variable:
    domain = Integer(default=low, low=low, high=high, log=log)
    return Variable(name, domain, when)


def choice(name: str, *choices: Value | Condition) -> Variable:
    when = tuple(c for c in choices if isinstance(c, Condition))
    values = tuple(c for c in choices if not isinstance(c, Condition))
    return Variable(name, Categorical(default=values[0], choices=values), when)


def when(name: str, *values: Value) -> Condition:
    return Condition(name, values)


def cooking() -> Space:
    """A conditional space: a pot or an oven, and what each needs; a fan only in a hot oven."""
    return Space(
        (
            choice("way", "pot", "oven", "raw"),
            whole("water", 1, 9, when("way", "pot")),
            choice("mode", "hot", "mild", when("way", "oven")),
            real("fan", 0, 1, when("mode", "hot")),
            real("salt", 0.01, 100, when("way", "pot"), when("mode", "mild"), log=True),
            real("pepper", 0, 1),
        ),
        (
            Forbidden((Clause("pepper", "<", "fan", variable=True),), "the fan blows it away"),
            Forbidden((Clause("way", "==", "raw"), Clause("pepper", ">", 0.5)), "too hot"),
        ),
    )


def flat(*sizes: int) -> Space:
    """Free choices of so many values each."""
    return Space(tuple(choice(f"c{i}", *range(n)) for i, n in enumerate(sizes)))
