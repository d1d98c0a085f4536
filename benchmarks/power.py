"""False positives and power of the tests behind `uaos compare`, on simulated data.

    python benchmarks/power.py

Problems have scales of their own; the run of a method is normal around 0, or around -EFFECT for the
better one, in units of its standard deviation. Four methods are compared, so that Holm's correction
is for six pairs, or for the three other methods if one is in focus.
"""

import argparse

import numpy as np

from uaos.statistics import holm, stratified_rank_sum_test, wilcoxon_test

DESIGNS = ((6, 5), (20, 3), (48, 1))
EFFECT = 1.0


def p_values(problems: int, repetitions: int, effect: float, draws: int) -> dict[str, float]:
    """Return the share of draws in which any difference of the first method is significant."""
    rng = np.random.default_rng(1)
    counts = {"all pairs": 0, "in focus": 0}
    for _ in range(draws):
        runs = rng.normal(size=(4, problems, repetitions))
        runs[0] -= effect
        runs *= 10.0 ** rng.normal(size=(problems, 1))  # the scale of each problem
        medians = np.median(runs, axis=2)
        first, second = np.triu_indices(4, 1)
        all_pairs = holm(wilcoxon_test(medians[first] - medians[second])[0])
        counts["all pairs"] += bool((all_pairs[first == 0] < 0.05).any())
        if repetitions >= 3:
            tests = [stratified_rank_sum_test(runs[0], runs[k])[0] for k in (1, 2, 3)]
        else:
            tests = wilcoxon_test(medians[:1] - medians[1:])[0]
        counts["in focus"] += bool((holm(tests) < 0.05).any())
    return {name: count / draws for name, count in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10_000)
    draws = parser.parse_args().draws
    print("| problems × runs | test | false positives | power |\n|---|---|--:|--:|")
    for problems, repetitions in DESIGNS:
        level = p_values(problems, repetitions, 0.0, draws)
        power = p_values(problems, repetitions, EFFECT, draws)
        for name, share in level.items():
            print(f"| {problems} × {repetitions} | {name} | {share:.1%} | {power[name]:.1%} |")


if __name__ == "__main__":
    main()
