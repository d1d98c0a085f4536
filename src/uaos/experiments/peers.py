"""Algorithms of other libraries, run as an outside reference through the same runner and store."""

import threading
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from uaos.experiments.hits import Hits
from uaos.extras import optional
from uaos.problems import BBOB


class _Enough(Exception):
    """The final target is reached, or the budget spent."""


# pycma draws from NumPy's global generator, which the threads of a process share.
_global_generator = threading.Lock()


@dataclass(frozen=True)
class Peer:
    """BIPOP-CMA-ES as pycma runs it: no bounds, σ0 = 2, every start uniform in [-4, 4]^D.

    Hansen, N. (2009), "Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed",
    GECCO 2009 Companion, 2389-2396.
    """

    name: str = "BIPOP-CMA-ES"
    sigma0: float = 2.0
    start: float = 4.0

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain data."""
        return {"version": 1, "library": "cma", **asdict(self)}

    def check(self) -> None:
        """Refuse before the experiment, not in each of its units."""
        _pycma()

    def run(self, problem: BBOB, hits: Hits, seed: int, budget: int) -> None:
        """Run until the final target or the budget, restarting as BIPOP does."""
        cma = _pycma()
        evaluate, D = problem._evaluate, problem.dimension

        def counted(x: Any) -> float:
            value: float = evaluate(np.asarray(x, float))
            hits.see_one(value)
            if hits.solved or hits.evaluations >= budget:
                raise _Enough
            return value

        rng = np.random.default_rng(seed)
        # 0 would be a seed from the clock; each restart adds 1, and NumPy takes 32 bits.
        options = {
            "seed": seed % 2**31 + 1, "verbose": -9, "verb_log": 0, "verb_disp": 0,
            "maxfevals": np.inf,
        }  # fmt: skip
        with _global_generator:
            before = np.random.get_state()  # noqa: NPY002
            try:
                cma.fmin2(
                    counted, lambda: rng.uniform(-self.start, self.start, D), self.sigma0,
                    options, restarts=10_000, bipop=True,
                )  # fmt: skip
            except _Enough:
                pass
            finally:
                np.random.set_state(before)  # noqa: NPY002


def _pycma() -> Any:
    return optional("cma", "BIPOP-CMA-ES", "pycma", "peers")


#: The peers by name.
PEERS = {peer.name: peer for peer in (Peer(),)}
