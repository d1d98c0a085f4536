"""Minimize your own function, in one call.

A practitioner's case: fit the three parameters of a damped oscillation to noisy measurements.
"""

import numpy as np

import uaos

rng = np.random.default_rng(1)
time = np.linspace(0, 10, 80)
measured = 2.0 * np.exp(-0.3 * time) * np.cos(2.5 * time) + 0.05 * rng.standard_normal(80)


def misfit(parameters: np.ndarray) -> float:
    amplitude, damping, frequency = parameters
    model = amplitude * np.exp(-damping * time) * np.cos(frequency * time)
    return float(np.sum((model - measured) ** 2))


def main() -> uaos.Result:
    result = uaos.minimize(misfit, [(0, 10), (0, 2), (0, 10)], budget=6_000, seed=1)
    print(result)
    return result


if __name__ == "__main__":
    main()
