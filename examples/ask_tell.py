"""Drive the loop yourself: an external simulator evaluates; the run is saved and resumed.

The "simulator" is another program that reads points from one file and writes values to another.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import uaos

SIMULATOR = """
import sys, numpy as np
points = np.load(sys.argv[1])
np.save(sys.argv[2], ((points - 1.5) ** 2).sum(axis=1))
"""


def simulate(folder: Path, points: np.ndarray) -> np.ndarray:
    np.save(folder / "points.npy", points)
    files = [str(folder / "points.npy"), str(folder / "values.npy")]
    subprocess.run([sys.executable, "-c", SIMULATOR, *files], check=True)
    return np.load(folder / "values.npy")


def main() -> uaos.Result:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        de = uaos.DifferentialEvolution([(-5, 5)] * 3, budget=400, popsize=40, seed=1)
        while not de.done:
            points = de.ask()
            de.tell(simulate(folder, points))
            # Save after every generation: a power cut costs at most one generation.
            de.save(folder / "run.state")
            de = uaos.DifferentialEvolution.load(folder / "run.state")
    print(de.result)
    return de.result


if __name__ == "__main__":
    main()
