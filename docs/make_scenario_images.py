"""Draw the pictures of scenarios.md and own-algorithm.md:  python docs/make_scenario_images.py"""

import sys
from pathlib import Path

from matplotlib.figure import Figure

from uaos.scenarios import UniformScenario, compare_methods

FOLDER = Path(__file__).parent / "images"
EXAMPLES = Path(__file__).parents[1] / "examples" / "discrete"


def scenario() -> None:
    """The command of scenarios.md."""
    outcome = compare_methods(["AP", "PM", "MAB"], UniformScenario(), repetitions=100, seed=1)
    outcome.plot(FOLDER / "scenario.png")


def discrete() -> None:
    """Two of the examples: where adapting pays, and where it does not."""
    sys.path.insert(0, str(EXAMPLES))
    import long_path
    import onemax
    from competition import compete, draw

    figure = Figure(figsize=(12, 5), dpi=100, layout="constrained")
    for axes, module in zip(figure.subplots(1, 2), (onemax, long_path), strict=True):
        draw(compete(module.problem(quick=False), seeds=30), axes)
    figure.savefig(FOLDER / "discrete.png")


if __name__ == "__main__":
    scenario()
    discrete()
