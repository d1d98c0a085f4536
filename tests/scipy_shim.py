"""SciPy's `differential_evolution`, with its arguments and its words, made of `uaos.minimize`."""

import inspect
import re

import numpy as np
from scipy.optimize import OptimizeResult

import uaos
from uaos.errors import InvalidFeedback
from uaos.optimizers.de.rules import Uniform
from uaos.problems.constraints import Constraint, Constraints
from uaos.result import Status

STRATEGIES = re.compile("(best1|rand1|rand2|best2|randtobest1|currenttobest1)(bin|exp)")
INITS = ("latinhypercube", "sobol", "halton", "random")

# What SciPy says.
MESSAGES = {
    Status.CALLBACK: "callback function requested stop early",
    Status.ITERATIONS: "Maximum number of iterations has been exceeded.",
}
ERRORS = (
    ("the polishing function", ValueError, "The result from a user defined polishing function"),
    ("operator", RuntimeError, "strategy must give a point"),
    ("a constraint", RuntimeError, "An array returned from a Constraint has the wrong shape"),
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
        D = np.size(bounds.lb) if hasattr(bounds, "lb") else len(bounds)
        settings = {
            "operators": [Strategy(strategy)], "method": "rand/1", "popsize": popsize * D
        }  # fmt: skip
    elif not STRATEGIES.fullmatch(strategy):
        raise ValueError(strategy)
    if isinstance(init, str) and init not in INITS:
        raise ValueError(init)
    vectorized = vectorized and workers == 1  # which is how SciPy decides between the two
    calls = 0

    def columns(X, *args):  # SciPy's vectorized functions have a column for each point
        nonlocal calls
        calls += 1
        return func(X.T, *args)

    if vectorized:
        constraints = [Transposed(one) for one in constraints]
    if callback is not None and "intermediate_result" in inspect.signature(callback).parameters:
        callback = _after_generations(callback)
    try:
        result = uaos.minimize(
            columns if vectorized else func, bounds, args=args, maxiter=maxiter, maxfun=maxfun,
            tol=tol, atol=atol, rng=rng, seed=seed, callback=callback, disp=disp, polish=polish,
            workers=workers, x0=x0, constraints=constraints, integrality=integrality,
            vectorized=vectorized, **settings,
        )  # fmt: skip
    except InvalidFeedback as error:
        for ours, kind, words in ERRORS:
            if str(error).startswith(ours):
                raise kind(words) from error
        what = "The vectorized function" if vectorized else "func(x, *args) must return a scalar"
        raise RuntimeError(f"{what} value") from error
    message = MESSAGES.get(result.status, result.message)
    if result.maxcv:
        message = f"The solution does not satisfy the constraints, MAXCV = {result.maxcv}"
    # SciPy counts the calls of a vectorized function, uaos the points.
    counted = {"nfev": calls} if vectorized else {}
    fields = {name: result[name] for name in result if name not in ("history", "seed", "status")}
    return OptimizeResult(fields | {"message": message} | counted)


def _after_generations(callback):
    """SciPy's callback: it is not called after the initial population, and the best comes first."""

    def called(intermediate_result):
        view = intermediate_result
        if view.nit == 0:
            return False
        order = np.argsort(view.fitness, kind="stable")
        return callback(intermediate_result=OptimizeResult(
            x=np.array(view.x), fun=view.fun, nfev=view.nfev, nit=view.nit, success=True,
            message="in progress", population=view.population[order],
            population_energies=view.fitness[order],
        ))  # fmt: skip

    return called


class DifferentialEvolutionSolver:
    """SciPy's solver, as far as its tests use it to solve something."""

    def __init__(self, func, bounds, **settings):
        self.func, self.given = func, ((func, bounds), settings)
        self.strategy = settings.get("strategy")
        self.vectorized = settings.get("vectorized", False)
        self.constraints = settings.get("constraints", ())
        mutation = settings.get("mutation", 0.5)
        self.dither = list(mutation) if np.ndim(mutation) else None
        self.scale = None if np.ndim(mutation) else mutation
        if self.dither is not None:
            Uniform(*self.dither)  # raises if it must not be
        self.run = uaos.DifferentialEvolution(
            bounds, method="best/1", popsize=settings.get("popsize", 15) * len(bounds),
            budget=settings.get("maxfun"),
        )  # fmt: skip

    def solve(self):
        args, settings = self.given

        def watch(view):
            self.convergence = settings.get("tol", 0.01) / max(view.convergence, 1e-99)

        self.result = differential_evolution(*args, callback=watch, **settings)
        return self.result

    def converged(self):
        return self.result.success

    @property
    def x(self):
        return self.result.x

    def __iter__(self):
        return self

    def __next__(self):
        """Make a generation; the first time the initial population as well."""
        first = self.run.evaluations == 0
        for _ in range(1 + first):
            if self.run.done:
                raise StopIteration
            self.run.tell([self.func(x) for x in self.run.ask()])
        return self.run.best_x, self.run.best_fitness

    @property
    def _nfev(self):
        return self.run.evaluations

    def _constraint_violation_fn(self, X):
        given = [Transposed(one) if self.vectorized else one for one in self.constraints]
        try:
            found = Constraints(given, vectorized=self.vectorized).components(np.atleast_2d(X))
        except InvalidFeedback as error:
            raise RuntimeError(ERRORS[-1][-1]) from error
        return np.concatenate(found, axis=1)


class ConstraintWrapper:
    """A constraint whose violations are measured, of a point or of one for each column."""

    def __init__(self, given, x0):
        self._violation = Constraint(Transposed(given) if hasattr(given, "fun") else given)
        self.bounds, self.fun = (given.lb, given.ub), getattr(given, "fun", None)
        self.num_constr, self.parameter_count = len(self.violation(x0)), len(x0)

    def violation(self, x):
        x = np.asarray(x, dtype=float)
        found = self._violation(x.T if x.ndim == 2 else x[None], vectorized=True)
        return found.T if x.ndim == 2 else found[0]


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
        return np.asarray(self._given.fun(X.T)).T
