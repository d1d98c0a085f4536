"""Compare searches of spaces with integers under constraints, within few evaluations.

    python benchmarks/spaces_constrained.py --suite report --out runs.csv
    python benchmarks/spaces_constrained.py --suite categories --methods uaos,tpe --out runs.csv

The problems are those of engineering textbooks with integers, and small ones made up. `choose` are
those on which the default was chosen, `categories` have categories, too. A value of inf means that
no feasible point was met. The method `tpe` is Optuna's.
"""

import argparse
import csv
import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import uaos
from uaos import Categorical, Integer, Real


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


#: Density, price, strength and stiffness of materials; efficiency, price and suction of pumps.
MATERIALS = {"steel": (7.8, 0.8, 250, 210), "aluminium": (2.7, 2.6, 240, 70),
             "titanium": (4.5, 18.0, 830, 114), "wood": (0.6, 0.5, 40, 11),
             "carbon": (1.6, 24.0, 600, 140)}  # fmt: skip
PUMPS = {"radial": (0.78, 900, 4.0), "mixed": (0.84, 1300, 5.5), "axial": (0.7, 700, 7.0),
         "screw": (0.66, 1900, 2.5)}  # fmt: skip
MOTORS = {"small": (30, 600), "medium": (60, 1000), "large": (120, 1900)}
#: Price, hours and emissions of four ways to travel each of six legs.
LEGS = (
    ((9, 14, 3), (12, 9, 5), (21, 4, 9), (6, 22, 2)),
    ((7, 10, 2), (15, 5, 6), (5, 16, 4), (11, 8, 3)),
    ((20, 6, 8), (13, 12, 3), (8, 19, 5), (16, 8, 6)),
    ((4, 9, 2), (6, 7, 4), (10, 3, 7), (3, 13, 1)),
    ((14, 11, 4), (18, 6, 7), (10, 17, 2), (25, 3, 9)),
    ((8, 8, 5), (5, 12, 3), (13, 4, 6), (9, 6, 4)),
)


def frame_cost(**p: Any) -> float:
    """Return the price of three bars of different materials."""
    return sum(MATERIALS[p[f"m{k}"]][0] * MATERIALS[p[f"m{k}"]][1] * p[f"t{k}"] for k in range(3))


def frame_margins(**p: Any) -> list[float]:
    """Return by how much the bars are light, strong and stiff enough."""
    parts = [(MATERIALS[p[f"m{k}"]], p[f"t{k}"]) for k in range(3)]
    weight = sum(material[0] * t for material, t in parts)
    sag = sum((3 - k) * 400 / (material[3] * t**2) for k, (material, t) in enumerate(parts))
    loads = [600 * (k + 1) for k in range(3)]
    stresses = [load / (t * m[2]) for load, (m, t) in zip(loads, parts, strict=True)]
    return [1 - weight / 60, *(1 - stress for stress in stresses), 1.5 - sag]


def pump_cost(kind: str, motor: str, stages: int, speed: float, diameter: float) -> float:
    """Return the price of a pump and of its energy."""
    power = stages * (speed / 1000) ** 3 * (diameter / 100) ** 5 / (8 * PUMPS[kind][0])
    return PUMPS[kind][1] + 120 * stages + MOTORS[motor][1] + 45 * power + 2 * diameter


def pump_margins(kind: str, motor: str, stages: int, speed: float, diameter: float) -> list[float]:
    """Return the margins of head, flow, power and suction."""
    head = stages * (speed / 1000) ** 2 * (diameter / 100) ** 2 * 1.5 * PUMPS[kind][0]
    flow = speed / 1000 * (diameter / 100) ** 3 * (1.6 if kind == "axial" else 1.0)
    power = stages * (speed / 1000) ** 3 * (diameter / 100) ** 5 / (8 * PUMPS[kind][0])
    return [head / 40 - 1, flow / 12 - 1, 1 - power / MOTORS[motor][0],
            1 - (speed / 1000) ** 1.5 / PUMPS[kind][2]]  # fmt: skip


def journey(**p: int) -> Any:
    """Return price, hours and emissions of a journey."""
    return np.sum([LEGS[k][p[f"leg{k}"]] for k in range(6)], axis=0)


def journey_margins(**p: int) -> list[float]:
    """Return what is left of the hours and emissions allowed."""
    _, hours, emissions = journey(**p)
    return [1 - hours / 52, 1 - emissions / 24]


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
    "categories": {
        "frame": Task(frame_cost, frame_margins, {
            **{f"m{k}": Categorical(list(MATERIALS)) for k in range(3)},
            **{f"t{k}": Real(1, 30, log=True) for k in range(3)}}),
        "pump": Task(pump_cost, pump_margins, {
            "kind": Categorical(list(PUMPS)), "motor": Categorical(list(MOTORS), ordered=True),
            "stages": Integer(1, 8), "speed": Real(800, 3600), "diameter": Real(80, 400)}),
        "journey": Task(lambda **p: float(journey(**p)[0]), journey_margins,
                        {f"leg{k}": Categorical(range(4)) for k in range(6)}),
    },
}  # fmt: skip


def best_by_uaos(task: Task, method: str, budget: int, seed: int) -> float:
    """Return the best feasible value of a run of uaos."""
    result = uaos.minimize(
        lambda p: task.value(**p), task.space, budget=budget, seed=seed,
        method=None if method == "uaos" else method,
        constraints={"type": "ineq", "fun": lambda p: task.margins(**p)},
    )  # fmt: skip
    return float(result.fun) if result.maxcv == 0 else np.inf


def best_by_tpe(task: Task, budget: int, seed: int) -> float:
    """Return the best feasible value of a run of Optuna's TPE."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    feasible = [np.inf]

    def objective(trial: Any) -> float:
        p: dict[str, Any] = {}
        for name, v in task.space.items():
            if isinstance(v, Real):
                p[name] = trial.suggest_float(name, v.low, v.high, log=v.log)
            elif isinstance(v, Integer):
                p[name] = trial.suggest_int(name, v.low, v.high, log=v.log)
            else:
                p[name] = trial.suggest_categorical(name, v.choices)
        margins = task.margins(**p)
        trial.set_user_attr("constraints", [-float(margin) for margin in margins])
        value = float(task.value(**p))
        if min(margins) >= 0:
            feasible.append(value)
        return value

    sampler = optuna.samplers.TPESampler(
        seed=seed, constraints_func=lambda trial: trial.user_attrs["constraints"]
    )
    optuna.create_study(sampler=sampler).optimize(objective, n_trials=budget)
    return min(feasible)


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
        for name, task in TASKS[arguments.suite].items():
            for times in (20, 60):
                for method in arguments.methods.split(","):
                    begin = time.process_time()
                    for seed in range(1, arguments.seeds + 1):
                        budget = times * len(task.space)
                        if method == "tpe":
                            best = best_by_tpe(task, budget, seed)
                        else:
                            best = best_by_uaos(task, method, budget, seed)
                        writer.writerow([name, method, seed, f"{times}", repr(best)])
                        file.flush()
                    print(name, times, method, f"{time.process_time() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
