"""Problems outside BBOB, in two sets that share none: `choose` and `report`.

`choose` is for decisions about the default of `uaos.minimize`, `report` only for reporting what
those decisions led to. The CEC functions and the CEC-2011 tasks come from the package minionpy;
the rest is written here from published definitions:

- Nonlinear regressions of NIST's Statistical Reference Datasets (https://www.itl.nist.gov/div898/strd)
  and Osborne's second function (Moré, Garbow and Hillstrom 1981, problem 19). The objective is the
  residual sum of squares divided by its certified minimum, so that the optimum is 1. NIST publishes
  two starting values for each parameter; the box reaches from 0 to three times the larger of them,
  on its side of 0, and contains every certified solution.
- Lennard-Jones clusters: the energy of n atoms in units of ε, in 3n coordinates within [-2σ, 2σ]
  (minima: Cambridge Cluster Database).
- Thomson's problem: the energy of n charges on the unit sphere, in 2n angles.

Some CEC functions have their optimum, or the local optimum at which most runs end, in the center of
the box, where an optimizer may start. Their boxes are moved: by a tenth to a fifth of half the
width, up or down, which keeps the optimum inside.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Problem:
    """A function of points (n, D) to minimize over a box; `optimum` is None where unknown."""

    name: str
    low: Array
    high: Array
    values: Callable[[Array], Any]
    optimum: float | None = None

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return len(self.low)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Pairs (low, high), one per variable."""
        return list(zip(self.low.tolist(), self.high.tolist(), strict=True))


def problems(suite: str) -> list[Problem]:
    """Return the problems of `choose` or `report`, always in the same order."""
    return {"choose": _choose, "report": _report}[suite]()


def _choose() -> list[Problem]:
    """Return 24 problems, 2 to 20 variables: every third CEC-2014 function in 10-D, and others."""
    return [
        *(_cec(2014, f, 10, moved=f in (25, 28)) for f in range(1, 31, 3)),
        *(_cec(2014, f, 2, moved=f == 23) for f in (8, 23)),
        *(_cec(2014, f, 20) for f in (2, 17)),
        # 5 and 7 to 9 of CEC-2019 are functions that CEC-2014 has too.
        *(_cec(2019, f, None, moved=f in (1, 2)) for f in (1, 2, 3, 4, 6, 10)),
        *(_regression(name) for name in ("MGH10", "MGH17", "Osborne2")),
        _thomson(7, 14.452977414),
    ]


def _report() -> list[Problem]:
    """Return 39 problems, 2 to 30 variables: every third CEC-2017 function in 10-D, and others."""
    return [
        *(_cec(2017, f, 10) for f in range(3, 31, 3)),
        *(_cec(2020, f, 5, moved=f == 4) for f in (2, 4, 6, 8, 10)),
        *(_cec(2020, f, 15) for f in (3, 7)),
        *(_cec(2022, f, 20) for f in (1, 4, 7, 10)),
        # The tasks with 2 to 30 variables; 6, 8, 10 and 21 are left out to save time.
        *(_cec(2011, f, None) for f in (1, 2, 5, 7, 13, 14, 15, 22)),
        *(
            _regression(name)
            for name in (
                "Misra1a", "BoxBOD", "Eckerle4", "Rat43", "MGH09", "Roszman1", "Lanczos3",
                "Thurber",
            )
        ),
        *(_lennard_jones(n, e) for n, e in ((5, -9.103852), (6, -12.712062))),
    ]  # fmt: skip


def _cec(year: int, function: int, dimension: int | None, moved: bool = False) -> Problem:
    import minionpy

    made = getattr(minionpy, f"CEC{year}Functions")(function, dimension)
    bounds = np.array(made.get_bounds(), dtype=np.float64)
    name = f"CEC-{year} f{function} {len(bounds)}-D"
    low, high = bounds.T.copy()
    if moved:
        rng = np.random.default_rng([year, function, len(bounds)])
        signs = rng.choice([-1.0, 1.0], len(bounds))
        shift = signs * rng.uniform(0.1, 0.2, len(bounds)) * (high - low) / 2
        low, high, name = low + shift, high + shift, f"{name} moved"
    return Problem(name, low, high, made, made.get_f_opt())


def _lennard_jones(atoms: int, minimum: float) -> Problem:
    limit = np.full(3 * atoms, 2.0)
    return Problem(f"Lennard-Jones {atoms}", -limit, limit, _lennard_jones_energy, minimum)


@njit(cache=True)
def _lennard_jones_energy(X: Array) -> Array:
    energies = np.zeros(len(X))
    for row in range(len(X)):
        x = X[row]
        for i in range(0, len(x), 3):
            for j in range(0, i, 3):
                d2 = (x[i] - x[j]) ** 2 + (x[i + 1] - x[j + 1]) ** 2 + (x[i + 2] - x[j + 2]) ** 2
                if d2 == 0.0:
                    energies[row] = np.inf
                else:
                    energies[row] += 4.0 * (d2**-6 - d2**-3)
    return energies


def _thomson(charges: int, minimum: float) -> Problem:
    high = np.array([pi, 2 * pi] * charges)
    return Problem(f"Thomson {charges}", np.zeros(2 * charges), high, _thomson_energy, minimum)


@njit(cache=True)
def _thomson_energy(X: Array) -> Array:
    energies = np.zeros(len(X))
    for row in range(len(X)):
        x = X[row]
        for i in range(0, len(x), 2):
            for j in range(0, i, 2):
                cosine = np.cos(x[i]) * np.cos(x[j]) + (
                    np.sin(x[i]) * np.sin(x[j]) * np.cos(x[i + 1] - x[j + 1])
                )
                d2 = 2.0 - 2.0 * cosine
                energies[row] += 1.0 / np.sqrt(d2) if d2 > 0.0 else np.inf
    return energies


@dataclass(frozen=True)
class _Regression:
    """A model y(b, x), its two published starting values, certified minimum and data (x, y)."""

    model: Callable[[Array, Array], Array]
    starts: tuple[tuple[float, ...], ...]
    minimum: float
    data: str


def _regression(name: str) -> Problem:
    made = REGRESSIONS[name]
    numbers = np.array(made.data.split(), dtype=np.float64)
    x, y = numbers[::2], numbers[1::2]
    starts = np.array(made.starts)

    def values(X: Array) -> Array:
        with np.errstate(all="ignore"):  # what is not finite counts as failed
            residuals = made.model(X.T[:, :, None], x) - y
            scaled: Array = np.sum(residuals * residuals, axis=1) / made.minimum
        return scaled

    low = np.minimum(0.0, 3.0 * starts.min(axis=0))
    return Problem(f"NIST {name}", low, np.maximum(0.0, 3.0 * starts.max(axis=0)), values, 1.0)


def _osborne2(b: Array, t: Array) -> Array:
    total: Array = b[0] * np.exp(-t * b[4])
    for k in (1, 2, 3):
        total = total + b[k] * np.exp(-((t - b[k + 7]) ** 2) * b[k + 4])
    return total


REGRESSIONS = {
    "Misra1a": _Regression(
        lambda b, x: b[0] * (1 - np.exp(-b[1] * x)),
        ((500, 0.0001), (250, 0.0005)),
        1.2455138894e-01,
        """77.6 10.07 114.9 14.73 141.1 17.94 190.8 23.93 239.9 29.61 289 35.18 332.8 40.02
        378.4 44.82 434.8 50.76 477.3 55.05 536.8 61.01 593.1 66.4 689.1 75.47 760 81.78""",
    ),
    "BoxBOD": _Regression(
        lambda b, x: b[0] * (1 - np.exp(-b[1] * x)),
        ((1, 1), (100, 0.75)),
        1.1680088766e03,
        "1 109 2 149 3 149 5 191 7 213 10 224",
    ),
    "Eckerle4": _Regression(
        lambda b, x: b[0] / b[1] * np.exp(-0.5 * ((x - b[2]) / b[1]) ** 2),
        ((1, 10, 500), (1.5, 5, 450)),
        1.4635887487e-03,
        """400 0.0001575 405 0.0001699 410 0.000235 415 0.0003102 420 0.0004917 425 0.000871
        430 0.0017418 435 0.00464 436.5 0.0065895 438 0.0097302 439.5 0.0149002 441 0.023731
        442.5 0.0401683 444 0.0712559 445.5 0.1264458 447 0.2073413 448.5 0.2902366 450 0.3445623
        451.5 0.3698049 453 0.3668534 454.5 0.3106727 456 0.2078154 457.5 0.1164354 459 0.0616764
        460.5 0.03372 462 0.0194023 463.5 0.0117831 465 0.0074357 470 0.0022732 475 0.00088
        480 0.0004579 485 0.0002345 490 0.0001586 495 0.0001143 500 7.1e-05""",
    ),
    "Rat43": _Regression(
        lambda b, x: b[0] / (1 + np.exp(b[1] - b[2] * x)) ** (1 / b[3]),
        ((100, 10, 1, 1), (700, 5, 0.75, 1.3)),
        8.7864049080e03,
        """1 16.08 2 33.83 3 65.8 4 97.2 5 191.55 6 326.2 7 386.87 8 520.53 9 590.03 10 651.92
        11 724.93 12 699.56 13 689.96 14 637.56 15 717.41""",
    ),
    "MGH09": _Regression(
        lambda b, x: b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3]),
        ((25, 39, 41.5, 39), (0.25, 0.39, 0.415, 0.39)),
        3.0750560385e-04,
        """4 0.1957 2 0.1947 1 0.1735 0.5 0.16 0.25 0.0844 0.167 0.0627 0.125 0.0456 0.1 0.0342
        0.0833 0.0323 0.0714 0.0235 0.0625 0.0246""",
    ),
    "Roszman1": _Regression(
        lambda b, x: b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / pi,
        ((0.1, -0.00001, 1000, -100), (0.2, -0.000005, 1200, -150)),
        4.9484847331e-04,
        """-4868.68 0.252429 -4868.09 0.252141 -4867.41 0.251809 -3375.19 0.297989
        -3373.14 0.296257 -3372.03 0.295319 -2473.74 0.339603 -2472.35 0.337731 -2469.45 0.33382
        -1894.65 0.38951 -1893.4 0.386998 -1497.24 0.438864 -1495.85 0.434887 -1493.41 0.427893
        -1208.68 0.471568 -1206.18 0.461699 -1206.04 0.461144 -997.92 0.513532 -996.61 0.506641
        -996.31 0.505062 -834.94 0.535648 -834.66 0.533726 -710.03 0.568064 -530.16 0.612886
        -464.17 0.624169""",
    ),
    "Lanczos3": _Regression(
        lambda b, x: sum(b[k] * np.exp(-b[k + 1] * x) for k in (0, 2, 4)),
        ((1.2, 0.3, 5.6, 5.5, 6.5, 7.6), (0.5, 0.7, 3.6, 4.2, 4, 6.3)),
        1.6117193594e-08,
        """0 2.5134 0.05 2.0443 0.1 1.6684 0.15 1.3664 0.2 1.1232 0.25 0.9269 0.3 0.7679
        0.35 0.6389 0.4 0.5338 0.45 0.4479 0.5 0.3776 0.55 0.3197 0.6 0.272 0.65 0.2325 0.7 0.1997
        0.75 0.1723 0.8 0.1493 0.85 0.1301 0.9 0.1138 0.95 0.1 1 0.0883 1.05 0.0783 1.1 0.0698
        1.15 0.0624""",
    ),
    "Thurber": _Regression(
        lambda b, x: (
            (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3)
            / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)
        ),
        ((1000, 1000, 400, 40, 0.7, 0.3, 0.03), (1300, 1500, 500, 75, 1, 0.4, 0.05)),
        5.6427082397e03,
        """-3.067 80.574 -2.981 84.248 -2.921 87.264 -2.912 87.195 -2.84 89.076 -2.797 89.608
        -2.702 89.868 -2.699 90.101 -2.633 92.405 -2.481 95.854 -2.363 100.696 -2.322 101.06
        -1.501 401.672 -1.46 390.724 -1.274 567.534 -1.212 635.316 -1.1 733.054 -1.046 759.087
        -0.915 894.206 -0.714 990.785 -0.566 1090.109 -0.545 1080.914 -0.4 1122.643
        -0.309 1178.351 -0.109 1260.531 -0.103 1273.514 0.01 1288.339 0.119 1327.543
        0.377 1353.863 0.79 1414.509 0.963 1425.208 1.006 1421.384 1.115 1442.962 1.572 1464.35
        1.841 1468.705 2.047 1447.894 2.2 1457.628""",
    ),
    "MGH10": _Regression(
        lambda b, x: b[0] * np.exp(b[1] / (x + b[2])),
        ((2, 400000, 25000), (0.02, 4000, 250)),
        8.7945855171e01,
        """50 34780 55 28610 60 23650 65 19630 70 16370 75 13720 80 11540 85 9744 90 8261 95 7030
        100 6005 105 5147 110 4427 115 3820 120 3307 125 2872""",
    ),
    "MGH17": _Regression(
        lambda b, x: b[0] + b[1] * np.exp(-x * b[3]) + b[2] * np.exp(-x * b[4]),
        ((50, 150, -100, 1, 2), (0.5, 1.5, -1, 0.01, 0.02)),
        5.4648946975e-05,
        """0 0.844 10 0.908 20 0.932 30 0.936 40 0.925 50 0.908 60 0.881 70 0.85 80 0.818 90 0.784
        100 0.751 110 0.718 120 0.685 130 0.658 140 0.628 150 0.603 160 0.58 170 0.558 180 0.538
        190 0.522 200 0.506 210 0.49 220 0.478 230 0.467 240 0.457 250 0.448 260 0.438 270 0.431
        280 0.424 290 0.42 300 0.414 310 0.411 320 0.406""",
    ),
    "Osborne2": _Regression(
        _osborne2,
        ((1.3, 0.65, 0.65, 0.7, 0.6, 3.0, 5.0, 7.0, 2.0, 4.5, 5.5),),
        4.0137736294e-02,
        """0 1.366 0.1 1.191 0.2 1.112 0.3 1.013 0.4 0.991 0.5 0.885 0.6 0.831 0.7 0.847 0.8 0.786
        0.9 0.725 1 0.746 1.1 0.679 1.2 0.608 1.3 0.655 1.4 0.616 1.5 0.606 1.6 0.602 1.7 0.626
        1.8 0.651 1.9 0.724 2 0.649 2.1 0.649 2.2 0.694 2.3 0.644 2.4 0.624 2.5 0.661 2.6 0.612
        2.7 0.558 2.8 0.533 2.9 0.495 3 0.5 3.1 0.423 3.2 0.395 3.3 0.375 3.4 0.372 3.5 0.391
        3.6 0.396 3.7 0.405 3.8 0.428 3.9 0.429 4 0.523 4.1 0.562 4.2 0.607 4.3 0.653 4.4 0.672
        4.5 0.708 4.6 0.633 4.7 0.668 4.8 0.645 4.9 0.632 5 0.591 5.1 0.559 5.2 0.597 5.3 0.625
        5.4 0.739 5.5 0.71 5.6 0.729 5.7 0.72 5.8 0.636 5.9 0.581 6 0.428 6.1 0.292 6.2 0.162
        6.3 0.098 6.4 0.054""",
    ),
}
