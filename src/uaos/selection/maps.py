"""The map of methods: how well every combination of the five components selects.

One file of the package holds the scores of 25,200 methods, in replays of recorded runs and in real
runs. `docs/results/map.md` says how they were measured and what follows from them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from types import MappingProxyType

import numpy as np

from uaos.arrays import FloatArray
from uaos.errors import InvalidParameter
from uaos.selection.components import FAMILIES
from uaos.selection.method import Method

#: Version of the data; scores of different versions cannot be compared.
VERSION = 3

#: BibTeX entry of the data.
CITATION = f"""\
@misc{{uaos-map,
  author = {{{{the uaos authors}}}},
  title = {{The map of adaptive operator selection: scores of 25,200 methods}},
  note = {{version {VERSION}, data of the Python package uaos}},
  year = {{2026}}
}}
"""


@dataclass(frozen=True, eq=False)
class MethodMap:
    """Scores of all combinations of the components, with default hyper-parameters.

    Made by :func:`load_map`. Methods are numbered in the order of `itertools.product` over the
    five families.

    Attributes
    ----------
    components : mapping of str to tuple of str
        The names of the components of each family, at the time of the measurement.
    replays : ndarray, shape (25200, 8)
        The score of each method in each of eight recorded runs: 0 is uniform choice, 1 the best
        operator of each generation.
    runs : ndarray, shape (25200, 8)
        The share of runs with uniform choice that end with a larger error than a real run of the
        method, on each of eight problems: 0.5 is as good as uniform choice. Each method was
        run on two of the problems; the others are NaN.
    estimates : ndarray, shape (25200,)
        The mean of `runs` that the components of a method, and each two of them together, let
        expect.
    replayed, problems : tuple of str
        The names of the recorded runs and of the problems, such as "f15-i1".
    """

    components: Mapping[str, tuple[str, ...]]
    replays: FloatArray
    runs: FloatArray
    estimates: FloatArray
    replayed: tuple[str, ...]
    problems: tuple[str, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Numbers of components in the five families."""
        return tuple(len(names) for names in self.components.values())

    def __len__(self) -> int:
        return len(self.replays)

    def names(self, number: int) -> tuple[str, ...]:
        """Return the names of the five components of a method."""
        places = np.unravel_index(number, self.shape)
        rows = zip(self.components.values(), places, strict=True)
        return tuple(names[place] for names, place in rows)

    def method(self, number: int) -> Method:
        """Return a method by its number."""
        return Method.from_dict(dict(zip(self.components, self.names(number), strict=True)))

    def exchanges(self, number: int) -> dict[str, tuple[str, float]]:
        """Return the best component of each family for a method, and the estimate with it.

        Parameters
        ----------
        number : int
            The number of the method.

        Returns
        -------
        dict of str to (str, float)
            By family: the component with which `estimates` is largest, everything else being the
            method's own, and that estimate.
        """
        estimates = self.estimates.reshape(self.shape)
        places = [int(place) for place in np.unravel_index(number, self.shape)]
        best = {}
        for axis, (family, names) in enumerate(self.components.items()):
            index: list[int | slice] = [*places]
            index[axis] = slice(None)
            own = estimates[tuple(index)]
            best[family] = names[int(own.argmax())], float(own.max())
        return best

    def place(self, scores: Mapping[str, float]) -> int:
        """Return the place of a method among all, 1 for the best, by its scores in replays.

        Parameters
        ----------
        scores : mapping of str to float
            The score on each recorded run of the host "nine", by its name; of those that are not in
            `replayed`, none counts.
        """
        own = np.mean([scores[name] for name in self.replayed])
        return 1 + int((self.replays.mean(axis=1) > own + 1e-6).sum())

    def number(self, method: Method) -> int:
        """Return the number of the method with the same components.

        Raises
        ------
        InvalidParameter
            If a component is not on the map.
        """
        places = []
        for family, names in self.components.items():
            name = getattr(method, family).name
            if name not in names:
                raise InvalidParameter(
                    f"{family} is {name}, which is not on the map; expected one of "
                    f"{', '.join(names)}",
                    name=family,
                    value=name,
                )
            places.append(names.index(name))
        return int(np.ravel_multi_index(places, self.shape))


@cache
def load_map() -> MethodMap:
    """Return the map of methods.

    Examples
    --------
    >>> import uaos
    >>> from uaos.scenarios import load_map
    >>> scores = load_map()
    >>> row = scores.replays[scores.number(uaos.method("SaDE"))]
    >>> row.shape
    (8,)
    """
    with files("uaos").joinpath("data", "map.npz").open("rb") as file, np.load(file) as arrays:
        components = {family: tuple(arrays[family].tolist()) for family in FAMILIES}
        return MethodMap(
            MappingProxyType(components),
            arrays["replays"].astype(np.float64),
            arrays["runs"].astype(np.float64),
            arrays["estimates"].astype(np.float64),
            tuple(arrays["replayed"].tolist()),
            tuple(arrays["problems"].tolist()),
        )
