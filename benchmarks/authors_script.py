"""Write the methods of the literature with the settings of the authors' script, as TOML files:

python benchmarks/authors_script.py FOLDER

The script (github.com/mudita11/Tune-AOS-bbob, bin) has other values than this package where the
paper leaves p_min and fix_appl open, CR = 1, rewards scaled to [0, 1], a softmax in `bellman`, the
first of equal operators, and the differential evolution of the configurations tuned in the paper.
Values that the catalogue takes from a publication stay, and so do the equations.
"""

import sys
from dataclasses import replace
from pathlib import Path

import uaos
from uaos.optimizers.catalogue import expanded

#: Defaults of the script where they are not those of this package.
VALUES = {"p_min": 0.1, "fix_appl": 20}


def as_in_the_script(name: str) -> uaos.Configuration:
    """Return a method of the literature with the values and the algorithm of the script."""
    entry = uaos.configuration(name)
    _, _, left_open = entry.note.partition("defaults of this package: ")
    changes = {key: value for key, value in VALUES.items() if f"{key} = " in left_open}
    if entry.method.quality.name == "bellman":
        changes["softmax"] = True
    if entry.method.selection.name == "greedy":
        changes["ties"] = "first"
    method = replace(entry.method.replace(**changes), scale_rewards=True)
    settings = replace(
        uaos.configuration("RecPM-tuned").settings, F=0.5, CR=1.0, NP=200, top_NP=0.05
    )
    return replace(entry, name=f"{name}-script", method=method, settings=settings)


def with_crossover_rate(configuration: uaos.Configuration, CR: float) -> uaos.Configuration:
    """Return a configuration with another CR."""
    settings = replace(configuration.settings, CR=CR)
    return replace(configuration, name=f"{configuration.name}-CR-{CR:g}", settings=settings)


def main(folder: Path) -> None:
    """Write one file for each method and for uniform choice, and two with CR exchanged."""
    (folder / "CR").mkdir(parents=True, exist_ok=True)
    for name in [*expanded(["literature"]), "uniform"]:
        configuration = as_in_the_script(name)
        configuration.to_toml(folder / f"{configuration.name}.toml")
    exchanged = (
        with_crossover_rate(uaos.configuration("uniform"), 1.0),
        with_crossover_rate(as_in_the_script("uniform"), 0.9),
    )
    for configuration in exchanged:
        configuration.to_toml(folder / "CR" / f"{configuration.name}.toml")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
