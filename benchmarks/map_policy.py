"""Train a small policy that sees the state of the search, and test it on other problems.

    python benchmarks/map_policy.py train FILE       weights, by CMA-ES (two minutes)
    python benchmarks/map_policy.py test FILE        docs/results/data/map-policy.csv

After DE-DDQN (Sharma et al. 2019) and RL-DAS (Guo et al. 2024), but with few weights. The
probability of an operator is a softmax of a weighted sum of four features of it over the last ten
generations, each relative to the best operator: success rate, metric per application, largest
metric, and success rate in the last generation. In `policy`, each weight is a linear function of
two features of the search: the success rate of the last generation, and whether it rises. In
`policy without state` the weights are constants. Operators have no names, so that a policy works in
any pool. The cost of weights is the mean over eight functions of BBOB in 10-D, instance 5, of the
share of runs with uniform choice that are better at 500·D evaluations, with other seeds each time.

The test is on instances 91 and 92 of all 24 functions: in the algorithm of the training, with the
operators of `mix`, and with 27 operators. FILE (.json) holds the weights; those of the page are
docs/results/data/map-policy.json.
"""

import json
import sys
from pathlib import Path

import numpy as np
from map import write
from map_grid import WIDE, fitted
from map_hosts import wide
from map_runs import DIMENSION, SOME, final_error
from scipy import stats

import uaos

BUDGET, EVALUATIONS, REFERENCES = 500 * DIMENSION, 120, 30
FEATURES = 4
#: What the policies are compared with: published methods, and the best of the rounds.
RIVALS = {
    "SaDE": "SaDE",
    "method of mix-shares": "mix-shares",
    "PDP": "PDP",
}
HOSTS = {"nine": "uniform", "mix": "mix", "wide": wide()}


def weights_of(numbers: list[float]) -> dict[str, float]:
    """Return the settings of the component with these weights."""
    return {f"w{k}": float(number) for k, number in enumerate(numbers)}


@uaos.register
class LearnedPolicy(uaos.GenerationReward):
    """Softmax of the operators' features, weighted according to the state of the search."""

    max_gen: int = uaos.integer(1, 50, default=10, doc="number of generations considered")
    w0: float = uaos.real(-5, 5, default=0, doc="of the success rate")
    w1: float = uaos.real(-5, 5, default=0, doc="of the metric per application")
    w2: float = uaos.real(-5, 5, default=0, doc="of the largest metric")
    w3: float = uaos.real(-5, 5, default=0, doc="of the success rate in the last generation")
    w4: float = uaos.real(-5, 5, default=0, doc="of w0, times the level")
    w5: float = uaos.real(-5, 5, default=0, doc="of w1, times the level")
    w6: float = uaos.real(-5, 5, default=0, doc="of w2, times the level")
    w7: float = uaos.real(-5, 5, default=0, doc="of w3, times the level")
    w8: float = uaos.real(-5, 5, default=0, doc="of w0, times the trend")
    w9: float = uaos.real(-5, 5, default=0, doc="of w1, times the trend")
    w10: float = uaos.real(-5, 5, default=0, doc="of w2, times the trend")
    w11: float = uaos.real(-5, 5, default=0, doc="of w3, times the trend")

    def compute(self, memory):  # type: ignore[no-untyped-def]
        """Return a positive number for each operator."""
        successes, applications = memory.successes, memory.applications
        applied = np.maximum(applications.sum(axis=0), 1)
        features = np.array([
            successes.sum(axis=0) / applied, memory.sums.sum(axis=0) / applied,
            memory.bests.max(axis=0), successes[0] / np.maximum(applications[0], 1),
        ])  # fmt: skip
        features /= np.maximum(features.max(axis=1, keepdims=True), 1e-300)
        level = successes[0].sum() / max(applications[0].sum(), 1)
        mean = successes.sum() / max(applications.sum(), 1)
        trend = (level - mean) / max(level + mean, 1e-12)
        weights = np.array([getattr(self, f"w{k}") for k in range(3 * FEATURES)])
        now = weights.reshape(3, FEATURES).T @ np.array([1.0, 2.0 * level, trend])
        return np.exp(np.clip(now @ features, -30, 30))


def policy(numbers: list[float]) -> uaos.Method:
    """Return the method with these weights."""
    reward = {"name": LearnedPolicy.name, **weights_of(numbers)}
    return uaos.Method("parent_relative_improvement", reward, "identity", "probability_matching",
                       "proportional", scale_rewards=False)  # fmt: skip


def problems(
    instances: str, functions: tuple[int, ...] = tuple(range(1, 25))
) -> list[uaos.Problem]:
    """Return problems of BBOB."""
    names = ",".join(map(str, functions))
    return list(uaos.suite("bbob", dimension=DIMENSION, functions=names, instances=instances))


def references(
    chosen: list[uaos.Problem], n: int, algorithm: str | uaos.Configuration = "uniform"
) -> np.ndarray:
    """Return the errors of runs with uniform choice, (problems, n)."""
    uniform = uaos.method("uniform")
    return np.array([
        [final_error(uniform, p, BUDGET, 10**6 + 1000 * k + j, algorithm) for j in range(n)]
        for k, p in enumerate(chosen)
    ])  # fmt: skip


def share(reference: np.ndarray, error: float) -> float:
    """Return the share of runs with uniform choice that end with a larger error."""
    return float(np.mean((reference > error) + 0.5 * (reference == error)))


def train(file: Path) -> None:
    """Write the weights of both policies."""
    chosen = problems("5", SOME)
    known = references(chosen, REFERENCES)
    trained = {}
    for name, size in (("policy", 3 * FEATURES), ("policy without state", FEATURES)):
        calls = 0

        def cost(x: np.ndarray, size: int = size) -> float:
            nonlocal calls
            calls += 1
            numbers = [*x, *[0.0] * (3 * FEATURES - size)]
            method = policy(numbers)
            return -np.mean([
                share(known[k], final_error(method, p, BUDGET, 1000 * calls + k))
                for k, p in enumerate(chosen)
            ])  # fmt: skip

        result = uaos.minimize(cost, [(-5, 5)] * size, x0=np.zeros(size), method="CMA-ES",
                               budget=EVALUATIONS, seed=1, noise=True)  # fmt: skip
        trained[name] = [*result.x.tolist(), *[0.0] * (3 * FEATURES - size)]
        print(name, np.round(result.x, 2), result.fun, flush=True)
        file.write_text(json.dumps(trained), "utf-8")


def interval(values: np.ndarray) -> str:
    """Return the half-width of the 95 % interval of a mean over functions, two instances each."""
    functions = values.reshape(2, -1).mean(axis=0)
    half = stats.t.ppf(0.975, len(functions) - 1) * functions.std(ddof=1)
    return f"{half / np.sqrt(len(functions)):.4f}"


def test(file: Path) -> None:
    """Write the scores on other problems, in both hosts."""
    weights = json.loads(file.read_text("utf-8"))
    constants = weights["policy"][:FEATURES]
    weights["policy, its state hidden"] = [*constants, *[0.0] * (2 * FEATURES)]
    methods = {name: policy(numbers) for name, numbers in weights.items()}
    methods |= {name: uaos.configuration(known).method for name, known in RIVALS.items()}
    rows = []
    for host, algorithm in HOSTS.items():
        chosen = problems("91-92")
        if host == "wide":
            methods = {name: fitted(method, WIDE) for name, method in methods.items()}
        known = references(chosen, REFERENCES // 2, algorithm)
        scores = {
            name: np.array([
                np.mean([share(known[k], final_error(method, p, BUDGET, 7 + 100 * k + j, algorithm))
                         for j in range(2)])
                for k, p in enumerate(chosen)
            ])
            for name, method in methods.items()
        }  # fmt: skip
        for name, own in scores.items():
            less = scores["policy"] - own
            rows.append({"host": host, "method": name, "score": f"{own.mean():.4f}",
                         "interval": interval(own), "policy less it": f"{less.mean():.4f}",
                         "its interval": interval(less)})  # fmt: skip
            print(rows[-1], flush=True)
    write("map-policy", rows)


def main() -> None:
    """Run the command that the arguments name."""
    match sys.argv[1:]:
        case ["train", file]:
            train(Path(file))
        case ["test", file]:
            test(Path(file))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
