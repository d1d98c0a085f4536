"""ALNS: an adaptive selection scheme for destroy and repair operators.

    select = RouletteWheel([25, 5, 1, 0], 0.8, num_destroy=3, num_repair=2)

becomes

    from uaos.adapters.alns import AdaptiveSelect
    select = AdaptiveSelect(num_destroy=3, num_repair=2)

and works with every acceptance and stopping criterion of ALNS.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from uaos.adapters.credit import DEFAULT, Credit, MethodLike
from uaos.arrays import BoolArray
from uaos.checks import positive_integer
from uaos.errors import InvalidFeedback
from uaos.extras import MissingExtra
from uaos.params import known_only

try:
    from alns import Outcome, State
    from alns.select import OperatorSelectionScheme
except ImportError as error:
    raise MissingExtra("uaos.adapters.alns", "alns", "alns") from error


class AdaptiveSelect(OperatorSelectionScheme):
    """Select pairs of a destroy and a repair operator adaptively.

    Parameters
    ----------
    num_destroy, num_repair : int
        Numbers of operators.
    op_coupling : array_like, shape (num_destroy, num_repair), optional
        Which pairs are allowed; all by default.
    method : Method, str, path, or mapping
        One method for all slots, or a mapping from "pair", or "destroy" and "repair", to methods.
    independent : bool
        Use one selector for the destroy operators and one for the repair operators (where the
        coupling matrix forbids pairs: one for each set of repair operators that a destroy operator
        allows), instead of one selector for the allowed pairs.
    segment : int
        Iterations that make one generation of the method.
    budget : int, optional
        Number of iterations, for methods that change toward the end of a run.

    Raises
    ------
    InvalidParameter
        If `num_destroy`, `num_repair` or `segment` is not a positive integer.

    Notes
    -----
    The parent is the current solution when the pair is chosen, the offspring is the candidate. The
    outcome (best, better, accepted, rejected) is ignored: the two objectives say more. The
    candidate's objective is read after the callbacks of ALNS, so the pair is also credited with the
    effect of a local search in `on_best`. All random numbers come from the generator of the call.
    Further calls of `iterate` with the same scheme continue learning, as with the schemes of ALNS.

    Examples
    --------
    >>> from uaos.adapters.alns import AdaptiveSelect
    >>> select = AdaptiveSelect(num_destroy=2, num_repair=1)
    >>> select.credit.probabilities
    {'pair': {'destroy 0, repair 0': 0.5, 'destroy 1, repair 0': 0.5}}
    """

    def __init__(
        self,
        num_destroy: int,
        num_repair: int,
        op_coupling: ArrayLike | None = None,
        *,
        method: MethodLike | Mapping[str, MethodLike] = DEFAULT,
        independent: bool = False,
        segment: int = 100,
        budget: int | None = None,
    ) -> None:
        num_destroy = positive_integer(num_destroy, "num_destroy")
        num_repair = positive_integer(num_repair, "num_repair")
        super().__init__(num_destroy, num_repair, op_coupling)
        self.segment = positive_integer(segment, "segment")
        self._current_objective: float | None = None
        self._pairs = [(int(d), int(r)) for d, r in np.argwhere(self.op_coupling)]
        # For each destroy operator: the slot and the numbers of its possible repair operators.
        self._repairs: list[tuple[str, list[int]]] = []
        if not independent:
            slots = {"pair": [f"destroy {d}, repair {r}" for d, r in self._pairs]}
        else:
            self._repairs = _repair_slots(self.op_coupling)
            slots = {"destroy": [f"destroy {d}" for d in range(num_destroy)]}
            slots |= {slot: [f"repair {r}" for r in rs] for slot, rs in self._repairs}
            if isinstance(method, Mapping):  # all repair slots use the method of "repair"
                known_only(method, dict.fromkeys(("destroy", "repair")), "method")
                kinds = {slot: slot.split()[0] for slot in slots}
                method = {slot: method[kind] for slot, kind in kinds.items() if kind in method}
        self.credit: Credit[float] = Credit(slots, method, float, budget)

    def __call__(self, rng: np.random.Generator, best: State, curr: State) -> tuple[int, int]:
        """Return the pair to apply to the current solution."""
        self.credit.follow(rng)
        self._current_objective = float(curr.objective())
        if not self._repairs:
            return self._pairs[int(self.credit.choose("pair")[0])]
        destroy = int(self.credit.choose("destroy")[0])
        slot, allowed = self._repairs[destroy]
        return destroy, allowed[int(self.credit.choose(slot)[0])]

    def update(self, candidate: State, d_idx: int, r_idx: int, outcome: Outcome) -> None:
        """Learn from the outcome of a pair."""
        if self._current_objective is None:
            raise InvalidFeedback("no pair has been chosen yet; call the scheme first, then update")
        if not self.op_coupling[d_idx, r_idx]:
            raise InvalidFeedback(f"the coupling matrix forbids the pair ({d_idx}, {r_idx})")
        if self._repairs:
            slot, allowed = self._repairs[d_idx]
            applied = [("destroy", int(d_idx)), (slot, allowed.index(r_idx))]
        else:
            applied = [("pair", self._pairs.index((d_idx, r_idx)))]
        self.credit.note(candidate.objective(), self._current_objective, *applied)
        if len(self.credit.pending) >= self.segment:
            self.credit.settle()


def _repair_slots(coupling: BoolArray) -> list[tuple[str, list[int]]]:
    """Return the slot and the numbers of the repair operators that each destroy operator allows.

    Destroy operators that allow the same repair operators share a slot; without coupling there is
    a single slot.
    """
    allowed = [tuple(np.flatnonzero(row).tolist()) for row in coupling]
    if len(set(allowed)) == 1:
        return [("repair", list(allowed[0]))] * len(allowed)
    return [(f"repair ({', '.join(map(str, numbers))})", list(numbers)) for numbers in allowed]
