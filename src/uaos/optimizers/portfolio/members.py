"""Members of a portfolio: an optimizer each, with limits on its evaluations."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uaos.errors import InvalidParameter, shortened
from uaos.optimizers import catalogue
from uaos.optimizers.configuration import Configuration
from uaos.optimizers.registry import optimizer_class
from uaos.params import known_only


@dataclass(frozen=True, init=False)
class Member:
    """Optimizer of a portfolio.

    Parameters
    ----------
    configuration : Configuration, str or mapping
        A configuration, the name of one in the catalogue, or one as plain data.
    once : bool
        Whether the member retires after its introductory run. All other members continue to the
        end of the run.
    cap : float
        The largest number of evaluations in the member's introductory run, in multiples of the
        dimension. A member with a cap has such a run, and so has one that runs once.
    finish : float
        The evaluations at the end of a run with a budget, in multiples of the dimension, that the
        member may use to improve the best point of the others: it restarts from there, and the
        selector takes over once this has ended. It does not do so during the introduction, nor
        while it leads in its first run. For optimizers with a method `restart_from`, such as BFGS.
    restarts : bool
        Whether the introductory run includes restarts, until the cap or until independent starts
        confirm its result.
    steady_cap : float
        The cap, if larger, while the first run goes on as well as expected: its optimizer's
        attribute `steady` is true.

    Raises
    ------
    InvalidParameter
        If `cap` is not positive, `finish` or `steady_cap` is negative, or the optimizer cannot
        finish a run.

    Examples
    --------
    >>> import uaos
    >>> members = [uaos.Member("BFGS", once=True, cap=100), "CMA-ES", "mix"]
    >>> run = uaos.Portfolio([(-5, 5)] * 3, members=members, seed=1)
    """

    configuration: Configuration
    once: bool
    cap: float
    finish: float
    restarts: bool
    steady_cap: float

    def __init__(
        self,
        configuration: Configuration | str | Mapping[str, Any],
        once: bool = False,
        cap: float = np.inf,
        finish: float = 0.0,
        restarts: bool = False,
        steady_cap: float = 0.0,
    ) -> None:
        if isinstance(configuration, Mapping):
            configuration = Configuration.from_dict(configuration)
        entry = catalogue.configuration(configuration)
        if not cap > 0:
            raise InvalidParameter(
                f"cap of {entry.name} is {shortened(cap)}; expected a positive number",
                name="cap", value=cap,
            )  # fmt: skip
        can_finish = hasattr(optimizer_class(entry.optimizer), "restart_from")
        if not (finish == 0 or (finish > 0 and can_finish)):
            expected = (
                "a number >= 0" if can_finish else "0, as the optimizer has no `restart_from`"
            )
            raise InvalidParameter(
                f"finish of {entry.name} is {shortened(finish)}; expected {expected}",
                name="finish", value=finish,
            )  # fmt: skip
        if not steady_cap >= 0:
            raise InvalidParameter(
                f"steady_cap of {entry.name} is {shortened(steady_cap)}; expected a number >= 0",
                name="steady_cap", value=steady_cap,
            )  # fmt: skip
        values = (entry, once, cap, finish, restarts, steady_cap)
        for part, value in zip(dataclasses.fields(self), values, strict=True):
            object.__setattr__(self, part.name, value)

    @property
    def name(self) -> str:
        """Name of the configuration."""
        return self.configuration.name

    @classmethod
    def of(cls, value: "MemberLike") -> "Member":
        """Return a member from a member, a configuration, a name or plain data."""
        if isinstance(value, Member):
            return value
        if isinstance(value, Mapping) and "configuration" in value:
            known_only(value, {f.name: f for f in dataclasses.fields(cls)}, "a portfolio's member")
            return cls(**value)
        return cls(value)

    def handles(self, needed: Sequence[str]) -> bool:
        """Return whether the optimizer handles all that is needed.

        Parameters
        ----------
        needed : sequence of str
            Any of "constraints", "integrality" and "noise".
        """
        return set(needed) <= set(optimizer_class(self.configuration.optimizer).handles)

    def text(self) -> str:
        """Return name, strategies and settings in one line."""
        settings = self.configuration.settings
        parts = [strategy or name for name, strategy, _, _ in settings.operator_texts()]
        return f"{self.name}: {', '.join([*parts, settings.summary()])}"

    def to_dict(self) -> dict[str, object]:
        """Return the member as plain data."""
        data: dict[str, object] = {"configuration": self.configuration.to_dict()}
        if self.once:
            data["once"] = True
        if np.isfinite(self.cap):
            data["cap"] = self.cap
        if self.finish:
            data["finish"] = self.finish
        if self.restarts:
            data["restarts"] = True
        if self.steady_cap:
            data["steady_cap"] = self.steady_cap
        return data


#: Values that :meth:`Member.of` accepts.
MemberLike = Member | Configuration | str | Mapping[str, Any]


def continuing(members: Sequence[Member]) -> list[int]:
    """Return the positions of the members that do not retire.

    Raises
    ------
    InvalidParameter
        If all members run once, or two have the same name.
    """
    names = [member.name for member in members]
    if len(set(names)) != len(names):
        raise InvalidParameter(
            f"two members have the same name: {', '.join(names)}; give each its own",
            name="members", value=names,
        )  # fmt: skip
    places = [k for k, member in enumerate(members) if not member.once]
    if not places:
        raise InvalidParameter(
            f"all members retire after one run: {', '.join(names) or 'none is given'}; expected "
            "at least one without `once`",
            name="members", value=names,
        )  # fmt: skip
    return places
