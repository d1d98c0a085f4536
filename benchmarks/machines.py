"""Do runs depend on the processor? The same seed with the code OpenBLAS has for several:

python benchmarks/machines.py

OpenBLAS, which NumPy brings, has its own code for each type of processor, and rounds differently in
each. `OPENBLAS_CORETYPE` chooses among them, so that one machine can stand for several.
"""

import hashlib
import os
import subprocess
import sys
from itertools import pairwise

METHODS = ("mix", "JADE", "jSO", "STEP", "BFGS", "CMA-ES", "EA4eig", "portfolio")
CORES = ("Haswell", "Nehalem", "SkylakeX", "Zen")


def rosenbrock(x):
    """Return the value at a point, without NumPy's sums."""
    a = x.tolist()
    return sum(100 * (v - u * u) ** 2 + (1 - u) ** 2 for u, v in pairwise(a))


def run():
    """Print a digest of the best point of each method."""
    import uaos

    for method in METHODS:
        result = uaos.minimize(rosenbrock, [(-5, 5)] * 10, method=method, budget=6000, seed=1)
        print(hashlib.sha256(result.x.tobytes()).hexdigest()[:8])


def main():
    """Print which methods give the same run with each processor's code."""
    digests = {}
    for core in CORES:
        environment = os.environ | {"OPENBLAS_CORETYPE": core}
        output = subprocess.run([sys.executable, __file__, "run"], env=environment, check=True,
                                capture_output=True, text=True)  # fmt: skip
        digests[core] = output.stdout.split()
    print("| method |", " | ".join(CORES), "| same |\n|---|" + "---|" * (len(CORES) + 1))
    for k, method in enumerate(METHODS):
        found = [digests[core][k] for core in CORES]
        print(f"| {method} |", " | ".join(found), f"| {'yes' if len(set(found)) == 1 else 'no'} |")


if __name__ == "__main__":
    run() if sys.argv[1:] == ["run"] else main()
