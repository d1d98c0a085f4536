"""A search space as the files of R's irace, and irace's rows as candidates of the space.

The files: `parameters.txt`, `forbidden.txt`, `configurations.txt` (initial candidates),
`instances.txt`, `scenario.txt`, and `runner.R`, which lets Python make the runs. They hold
the same space: names and values that R cannot read are encoded, and decoded by :class:`Dialect`.

irace rounds all real numbers, and the ends of their ranges, to one number of `digits`: 0.001 to 1
with two digits becomes 0 to 1. Here `digits` is what the ends need, and the function `rounded` of
the runner rounds each number to its declared digits.
"""

import re
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from urllib.parse import quote

from uaos.errors import InvalidParameter
from uaos.files import check_folder, whole_file
from uaos.params import Categorical, Integer, RealSetting, Value, decimals_of
from uaos.problems.variables import Clause, Space, Values, Variable
from uaos.tuning.search import Search

PARAMETERS, FORBIDDEN, CONFIGURATIONS = "parameters.txt", "forbidden.txt", "configurations.txt"
INSTANCES, SCENARIO, RUNNER = "instances.txt", "scenario.txt", "runner.R"

#: irace's log.
LOG = "irace.Rdata"

# A real number has about 15 digits; irace needs some to spare.
_MOST_DIGITS = 13

# Reserved words of R; and, in the last line, variables of irace 4 that a column of the same name
# would hide.
_RESERVED = {
    "if", "else", "repeat", "while", "function", "for", "next", "break", "in", "TRUE", "FALSE",
    "NULL", "Inf", "NaN", "NA", "NA_integer_", "NA_real_", "NA_complex_", "NA_character_",
    "n", "nx", "param", "idx_satisfied",
}  # fmt: skip

_TESTS = {"friedman": "F-test", "ranks": "F-test", "t-test": "t-test"}


class Dialect:
    """Encoding of a space in R: the names of its variables, and the values of its choices."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.names = {v.name: _name(v.name) for v in space}
        self._levels = {v.name: _levels(v) for v in space}
        self.digits = max([1, *(_digits(v) for v in space)])

    def text(self, name: str, value: Value | None) -> str:
        """Return a variable's value in irace's notation; "NA" if the variable is not active."""
        if value is None:
            return "NA"
        if levels := self._levels[name]:
            return next(text for text, level in levels.items() if level == value)
        low, high = self._bounds(self.space[name])
        return repr(min(max(value, low), high))

    def row(self, values: Values) -> list[str]:
        """Return a candidate as a row of a table."""
        return [self.text(name, values.get(name)) for name in self.space.names]

    def values(self, row: Sequence[str]) -> dict[str, Value]:
        """Return the candidate of a row, rounded as the space declares it."""
        pairs = zip(self.space, row, strict=True)
        return {v.name: self._value(v, text) for v, text in pairs if text != "NA"}

    def _value(self, variable: Variable, text: str) -> Value:
        domain = variable.domain
        if levels := self._levels[variable.name]:
            return levels[text]
        assert isinstance(domain, RealSetting | Integer)
        digits = domain.digits if isinstance(domain, RealSetting) else None
        return min(max(round(float(text), digits), domain.low), domain.high)

    # The lines of the files

    def parameters(self) -> list[str]:
        """Return a line for each variable: name, switch, type, range, condition."""
        rows = []
        for variable in self.space:
            name, (kind, values) = self.names[variable.name], self._type(variable)
            when = "".join(f" | {self._one_of(c.name, c.values)}" for c in variable.when)
            rows.append([name, f'"--{name}="', kind, values + when])
        return _aligned(rows)

    def forbidden(self) -> list[str]:
        """Return an R expression for each forbidden combination, NA for inactive variables."""
        return [
            " & ".join(f"({self._comparison(clause)})" for clause in rule.clauses)
            for rule in self.space.forbidden
        ]

    def configurations(self, initial: Iterable[Values]) -> list[str]:
        """Return the table of initial candidates."""
        return _aligned([list(self.names.values()), *map(self.row, initial)])

    def rounding(self) -> dict[str, int]:
        """Return the digits of real numbers that have fewer than irace's, by their names in R."""
        return {
            self.names[v.name]: v.domain.digits
            for v in self.space
            if isinstance(v.domain, RealSetting) and not self._levels[v.name]
            and v.domain.digits < self.digits
        }  # fmt: skip

    def _type(self, variable: Variable) -> tuple[str, str]:
        """Return type and range."""
        domain = variable.domain
        if levels := self._levels[variable.name]:
            return "c", "(" + ",".join(f'"{text}"' for text in levels) + ")"
        assert isinstance(domain, RealSetting | Integer)
        kind = ("i" if isinstance(domain, Integer) else "r") + (",log" if domain.log else "")
        return kind, "({!r},{!r})".format(*self._bounds(variable))

    def _bounds(self, variable: Variable) -> tuple[float, float]:
        """Return the bounds of a number, rounded to the digits of irace."""
        domain = variable.domain
        if isinstance(domain, RealSetting):
            return round(domain.low, self.digits), round(domain.high, self.digits)
        assert isinstance(domain, Integer)
        return domain.low, domain.high

    def _one_of(self, name: str, values: Iterable[Value]) -> str:
        """Return an expression that is FALSE where the variable is not active."""
        levels = self._levels[name].values()
        texts = (f'"{self.text(name, v)}"' for v in values if v in levels)
        return f"{self.names[name]} %in% c({', '.join(texts)})"

    def _comparison(self, clause: Clause) -> str:
        name, relation, other = clause.name, clause.relation, clause.other
        if clause.variable:
            return f"{self._number(name)} {relation} {self._number(str(other))}"
        if levels := self._levels[name].values():
            return self._one_of(name, [v for v in levels if clause.holds({name: v})])
        return f"{self.names[name]} {relation} {other!r}"

    def _number(self, name: str) -> str:
        """Return a variable for a comparison with another; irace has choices as strings."""
        levels = self._levels[name].values()
        numbers = levels and all(isinstance(v, int | float) for v in levels)
        return f"as.numeric({self.names[name]})" if numbers else self.names[name]


def write_files(folder: Path, search: Search, *, version: int = 3) -> Dialect:
    """Write the files of a scenario for irace, and return the encoding of the space.

    irace 4 (`version`) reads `digits` and the forbidden combinations in `parameters.txt`; the runs
    and the race are the same.
    """
    dialect, rules = Dialect(search.space), search.rules
    if rules.first_test % rules.each_test:
        raise InvalidParameter(
            f"irace needs a first_test that is a multiple of each_test, {rules.each_test}, not "
            f"{rules.first_test}",
            name="first_test", value=rules.first_test,
        )  # fmt: skip
    initial = search.initial_candidates()
    files: dict[str, Iterable[str]] = {
        PARAMETERS: _parameters(dialect, version),
        FORBIDDEN: ["# Combinations that cannot work, and why.", *_forbidden(dialect)],
        CONFIGURATIONS: dialect.configurations(initial),
        INSTANCES: [
            quote(" ".join(str(instance).split()), safe=" +/:*=,()") or f"instance {number}"
            for number, instance in enumerate(search.instances, start=1)
        ],
        SCENARIO: _scenario(dialect, search, version),
    }
    texts = {name: "\n".join(lines) + "\n" for name, lines in files.items()}
    texts[RUNNER] = resources.files("uaos").joinpath("data", "irace_runner.R").read_text("utf-8")
    check_folder(folder).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with whole_file(folder / name) as part:
            part.write_text(text, encoding="ascii")
    return dialect


def _parameters(dialect: Dialect, version: int) -> list[str]:
    """Return the lines of the parameter file."""
    lines = ["# name, switch, type, range | condition", *dialect.parameters()]
    if version >= 4:
        forbidden = dialect.forbidden()
        lines += ["", "[forbidden]", *forbidden] if forbidden else []
        lines += ["", "[global]", f"digits = {dialect.digits}"]
    return lines


def _forbidden(dialect: Dialect) -> list[str]:
    """Return a line for each forbidden combination, with its reason as a comment."""
    return [
        f"{line}  # {rule.why.encode('ascii', 'replace').decode()}"
        for line, rule in zip(dialect.forbidden(), dialect.space.forbidden, strict=True)
    ]


def _scenario(dialect: Dialect, search: Search, version: int) -> list[str]:
    """Return the lines of the scenario file, which is R code."""
    settings = _settings(dialect, search, version)
    lines = [f'{k} <- "{v}"' if isinstance(v, str) else f"{k} <- {v}" for k, v in settings.items()]
    lines += [
        "# uaos makes the runs. To make them otherwise, set targetRunner in place of these lines.",
        ".runner <- new.env()",
        f'sys.source("{RUNNER}", .runner)',
        "targetRunnerParallel <- .runner$evaluate",
    ]
    if rounding := dialect.rounding():
        digits = ", ".join(f"{name} = {count}" for name, count in rounding.items())
        lines += [f".runner$digits <- c({digits})", "repairConfiguration <- .runner$rounded"]
    return lines


def _settings(dialect: Dialect, search: Search, version: int) -> dict[str, str | float]:
    """Return irace's options."""
    rules = search.rules
    alike = max([2, *(v.domain.digits for v in dialect.space if isinstance(v.domain, RealSetting))])
    settings: dict[str, str | float] = {
        "execDir": ".",
        "logFile": f"./{LOG}",
        "parameterFile": f"./{PARAMETERS}",
        "trainInstancesDir": "",
        "trainInstancesFile": f"./{INSTANCES}",
        "maxExperiments": search.runs,
        "seed": search.seed,
        "deterministic": 0,
        "testType": _TESTS[rules.test],
        "firstTest": rules.first_test,
        "eachTest": rules.each_test,
        "confidence": 1 - rules.alpha,
        "elitist": 1,
        "elitistNewInstances": rules.new_instances,
        "elitistLimit": rules.elitist_limit,
        "mu": rules.mu,
        "postselection": 0,
        "softRestartThreshold": 10.0**-alike,
        "debugLevel": 1,  # so that irace prints why a race ended
    }
    if search.initial:
        settings["configurationsFile"] = f"./{CONFIGURATIONS}"
    if version < 4:
        settings["digits"] = dialect.digits
        if dialect.space.forbidden:
            settings["forbiddenFile"] = f"./{FORBIDDEN}"
    return settings


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as aligned lines."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [" ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _name(name: str) -> str:
    """Return a name that R accepts."""
    plain = re.sub(r"[^A-Za-z0-9._]", ".", name)
    return plain if plain[0].isalpha() and plain not in _RESERVED else f"X.{plain}"


def _levels(variable: Variable) -> dict[str, Value]:
    """Return the strings that stand for the values of a choice."""
    domain = variable.domain
    if not isinstance(domain, Categorical):
        return {}
    # Percent-encoded, as blanks, quotes, "#" and "|" have a meaning in irace's files.
    texts = {quote(str(value), safe="+/:*="): value for value in domain.choices}
    return {f"%{text}" if text in ("", "NA") else text: value for text, value in texts.items()}


def _digits(variable: Variable) -> int:
    """Return the decimals that a real number and the ends of its range need."""
    domain = variable.domain
    if not isinstance(domain, RealSetting):
        return 0
    if domain.log and domain.low < 10.0**-_MOST_DIGITS:
        raise InvalidParameter(
            f"irace needs a range of {variable.name} that begins at 1e-{_MOST_DIGITS} or above, "
            f"not {domain.range}",
            name=variable.name, value=domain.range,
        )  # fmt: skip
    needed = max(domain.digits, decimals_of(float(domain.low)), decimals_of(float(domain.high)))
    return min(needed, _MOST_DIGITS)
