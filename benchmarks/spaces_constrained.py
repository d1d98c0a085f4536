"""Compare searches of spaces with integers under constraints, within few evaluations.

    python benchmarks/spaces_constrained.py --suite report --out runs.csv

The problems are those of engineering textbooks with integers, and small ones made up. `choose` are
those on which the default was chosen. A value of inf means that no feasible point was met.
"""

import argparse
import csv
import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

import uaos
from uaos import Integer, Real


class Task(NamedTuple):
    """Function and constraints, not below 0, of a dict; its variables."""

    value: Callable[..., float]
    margins: Callable[..., Sequence[float]]
    space: dict[str, object]


def vessel_cost(a: int, b: int, r: float, l: float) -> float:  # noqa: E741
    """Return the cost of a pressure vessel; thicknesses are multiples of 1/16."""
    shell, head = a / 16, b / 16
    return 0.6224 * shell * r * l + 1.7781 * head * r**2 + shell**2 * (3.1661 * l + 19.84 * r)


def vessel_margins(a: int, b: int, r: float, l: float) -> list[float]:  # noqa: E741
    """Return by how much the vessel is thick and large enough."""
    volume = math.pi * r**2 * l + 4 / 3 * math.pi * r**3
    return [a / 16 - 0.0193 * r, b / 16 - 0.00954 * r, volume / 1e6 - 1.296]


def spring_margins(d: float, D: float, N: int) -> list[float]:
    """Return the margins of a coil spring."""
    shear = (4 * D**2 - d * D) / (12566 * (D * d**3 - d**4)) + 1 / (5108 * d**2)
    return [D**3 * N / (71785 * d**4) - 1, 1 - shear, 140.45 * d / (D**2 * N) - 1,
            1 - (D + d) / 1.5]  # fmt: skip


#: Areas of steel bars that are sold.
AREAS = (6.0, 6.16, 6.32, 6.6, 7.0, 7.11, 7.2, 7.8, 7.9, 8.0, 8.4)


def beam_margins(a: int, b: int, h: float) -> list[float]:
    """Return the margins of a reinforced concrete beam."""
    return [4 - b / h, AREAS[a] * b - 7.375 * AREAS[a] ** 2 / h - 180]


def reducer_margins(b: float, m: float, z: int, l1: float, l2: float, d1: float, d2: float):  # type: ignore[no-untyped-def]
    """Return the margins of a speed reducer."""
    stress1 = math.hypot(745 * l1 / (m * z), math.sqrt(16.9e6)) / (110 * d1**3)
    stress2 = math.hypot(745 * l2 / (m * z), math.sqrt(157.5e6)) / (85 * d2**3)
    return [1 - 27 / (b * m**2 * z), 1 - 397.5 / (b * m**2 * z**2),
            1 - 1.93 * l1**3 / (m * z * d1**4), 1 - 1.93 * l2**3 / (m * z * d2**4), 1 - stress1,
            1 - stress2, 1 - m * z / 40, b / (5 * m) - 1, 1 - b / (12 * m),
            1 - (1.5 * d1 + 1.9) / l1, 1 - (1.1 * d2 + 1.9) / l2]  # fmt: skip


def reducer_weight(b: float, m: float, z: int, l1: float, l2: float, d1: float, d2: float) -> float:
    """Return the weight of a speed reducer."""
    return (0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
            - 1.508 * b * (d1**2 + d2**2) + 7.4777 * (d1**3 + d2**3)
            + 0.7854 * (l1 * d1**2 + l2 * d2**2))  # fmt: skip


def brake_margins(i: int, o: int, t: int, F: int, Z: int) -> list[float]:
    """Return the margins of a multiple disc clutch brake."""
    volume = (o**3 - i**3) / (o**2 - i**2)
    pressure = F * 10 / (math.pi * (o**2 - i**2))
    speed = math.pi * 2 / 3 * volume * 250 / 30 * 1e-3
    torque = 2 / 3 * 0.5 * F * 10 * Z * volume * 1e-3
    stop = 55 * math.pi * 250 / 30 / (torque + 3)
    return [o - i - 20, 30 - (Z + 1) * (t / 2 + 0.5), 1 - pressure, 10 - pressure * speed,
            10 - speed, 15 - stop, torque / 40 - 1.5, stop]  # fmt: skip


TASKS = {
    "choose": {
        "disc": Task(lambda x, y: x**2 + y**2, lambda x, y: [x + y - 3],
                     {"x": Real(-5, 5), "y": Integer(-5, 5)}),
        "ring": Task(lambda x, y: (x - 2) ** 2 + (y - 1) ** 2,
                     lambda x, y: [2 - abs(x**2 + y**2 - 10)],
                     {"x": Real(-5, 5), "y": Integer(-5, 5)}),
        "vessel": Task(vessel_cost, vessel_margins, {
            "a": Integer(1, 99), "b": Integer(1, 99), "r": Real(10, 200), "l": Real(10, 200)}),
        "spring": Task(lambda d, D, N: (N + 2) * D * d**2, spring_margins, {
            "d": Real(0.05, 2), "D": Real(0.25, 1.3), "N": Integer(2, 15)}),
    },
    "report": {
        "beam": Task(lambda a, b, h: 29.4 * AREAS[a] + 0.6 * b * h, beam_margins, {
            "a": Integer(0, len(AREAS) - 1), "b": Integer(28, 40), "h": Real(5, 10)}),
        "reducer": Task(reducer_weight, reducer_margins, {
            "b": Real(2.6, 3.6), "m": Real(0.7, 0.8), "z": Integer(17, 28), "l1": Real(7.3, 8.3),
            "l2": Real(7.3, 8.3), "d1": Real(2.9, 3.9), "d2": Real(5, 5.5)}),
        "brake": Task(
            lambda i, o, t, F, Z: math.pi * (o**2 - i**2) * (t / 2) * (Z + 1) * 7.8e-6,
            brake_margins, {
            "i": Integer(60, 80), "o": Integer(90, 110), "t": Integer(2, 6), "F": Integer(60, 100),
            "Z": Integer(2, 9)}),
        "tilted": Task(
            lambda x, y, n, m: (x - 1.5) ** 2 + (y + 0.5) ** 2 + (n - x - 3) ** 2 / 2 + abs(m - n),
            lambda x, y, n, m: [x + n - m - 1.2, 9.3 - x * y - n - m, m - 1.5],
            {"x": Real(-4, 4), "y": Real(-4, 4), "n": Integer(0, 12), "m": Integer(0, 12)}),
    },
}  # fmt: skip


def main() -> None:
    """Run all tasks of a suite."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=TASKS, default="choose")
    parser.add_argument("--methods", default="GP,CMA-ES,mix")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    with open(arguments.out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem", "contender", "seed", "budget", "value"])
        for name, (value, margins, space) in TASKS[arguments.suite].items():
            for times in (20, 60):
                for method in arguments.methods.split(","):
                    begin = time.process_time()
                    for seed in range(1, arguments.seeds + 1):
                        result = uaos.minimize(
                            lambda p: value(**p), space, budget=times * len(space), seed=seed,  # noqa: B023
                            method=None if method == "uaos" else method,
                            constraints={"type": "ineq", "fun": lambda p: margins(**p)},  # noqa: B023
                        )  # fmt: skip
                        best = result.fun if result.maxcv == 0 else np.inf
                        writer.writerow([name, method, seed, f"{times}", repr(float(best))])
                    print(name, times, method, f"{time.process_time() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
