"""SciPy's `differential_evolution`, with its arguments and its words, made of `uaos.minimize`."""

import re

import numpy as np

import uaos
from uaos.errors import InvalidFeedback
from uaos.optimizers.de.rules import Uniform

STRATEGIES = re.compile("(best1|rand1|rand2|best2|randtobest1|currenttobest1)(bin|exp)")
INITS = ("latinhypercube", "sobol", "halton", "random")

# What uaos says, and what SciPy does.
MESSAGES = (
    ("the callback ended the run", "callback function requested stop early"),
    ("the budget of", "Maximum number of iterations has been exceeded."),
)


def differential_evolution(
    func, bounds, args=(), strategy="best1bin", maxiter=None, popsize=15, tol=0.01,
    mutation=(0.5, 1), recombination=0.7, rng=None, callback=None, disp=False, polish=True,
    init="latinhypercube", atol=0, updating="immediate", workers=1, constraints=(), x0=None,
    *, integrality=None, vectorized=False, seed=None, maxfun=None,
):  # fmt: skip
    """Minimize by adaptive differential evolution, which makes `strategy` and the like moot."""
    settings = {"method": "mix"}
    if callable(strategy):
        settings = {"operators": [Strategy(strategy)], "method": "rand/1"}
    elif not STRATEGIES.fullmatch(strategy):
        raise ValueError(strategy)
    if isinstance(init, str) and init not in INITS:
        raise ValueError(init)
    D = np.size(bounds.lb) if hasattr(bounds, "lb") else len(bounds)
    # SciPy's iterations are generations of popsize * D points; the default of both is "many".
    budget = None if maxiter is None else (maxiter + 1) * popsize * D
    if callable(strategy):
        settings["popsize"] = popsize * D
    if vectorized:  # SciPy's have a column for each point
        theirs, func = func, lambda X, *args: theirs(X.T, *args)
        constraints = [Transposed(one) for one in constraints]
    try:
        result = uaos.minimize(
            func, bounds, args=args, budget=budget, maxfun=maxfun, tol=tol, atol=atol, rng=rng,
            seed=seed, callback=callback, disp=disp, polish=polish, workers=workers, x0=x0,
            constraints=constraints, integrality=integrality, vectorized=vectorized, **settings,
        )  # fmt: skip
    except InvalidFeedback as error:
        if "operator" in str(error):
            raise RuntimeError(f"strategy: {error}") from error
        raise RuntimeError("func(x, *args) must return a scalar value") from error
    message = result.message
    for ours, words in MESSAGES:
        if message.startswith(ours):
            message = words
    if result.maxcv:
        message = f"The solution does not satisfy the constraints, MAXCV = {result.maxcv}"
    object.__setattr__(result, "message", message)
    return result


class DifferentialEvolutionSolver:
    """SciPy's solver, as far as its tests use it to solve something."""

    def __init__(self, *args, **settings):
        self.given = args, settings
        self.strategy = settings.get("strategy")
        mutation = settings.get("mutation", 0.5)
        self.dither = list(mutation) if np.ndim(mutation) else None
        self.scale = None if np.ndim(mutation) else mutation
        if self.dither is not None:
            Uniform(*self.dither)  # raises if it must not be

    def solve(self):
        args, settings = self.given
        self.result = differential_evolution(*args, **settings)
        return self.result

    def converged(self):
        return self.result.success

    @property
    def x(self):
        return self.result.x


class Strategy:
    """A strategy of SciPy's kind, which sees the population in the unit cube, the best first."""

    name = "custom"

    def __init__(self, make):
        self._make = make

    def propose(self, state, parents, rng):
        width = state.high - state.low
        order = np.argsort(state.fitness, kind="stable")
        unit = (state.population[order] - state.low) / width
        places = np.argsort(order)
        made = [self._make(int(places[i]), unit, rng=rng) for i in parents]
        return np.array(made) * width + state.low if np.shape(made)[1:] == width.shape else made


class Transposed:
    """A constraint whose function has a column for each point."""

    def __init__(self, given):
        self._given, self.lb, self.ub = given, given.lb, given.ub

    def fun(self, X):
        return self._given.fun(X.T).T
