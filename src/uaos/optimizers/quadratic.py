"""Small dense quadratic programs with penalized constraints, by an interior-point method."""

from typing import NamedTuple

import numpy as np

from uaos.arrays import BoolArray, FloatArray

_MAX_STEPS = 50
_TOLERANCE = 1e-10
# Steps keep this share of the distance to the boundary.
_TO_BOUNDARY = 0.995
# Shorter steps mean that rounding errors prevail.
_LEAST_LENGTH = 1e-6
# Bounds further away than this are ignored.
_FAR = 1e8
# An equality costs its square divided by twice this, beside the price of its last multiplier.
_SOFTNESS = 1e-9
# Violations cost as if the largest entry of g were at least this share of that of B.
_LEAST_SLOPE = 1e-3


class PenaltyProgram(NamedTuple):
    """Quadratic program whose constraints cost their violation.

    Minimize g'd + d'Bd/2 over low <= d <= high under A d + c <= 0, or = 0 where `equal`. A violated
    inequality costs `weight` times its violation, in units of the largest entry of g, and an
    equality its square times a very large number. So there always is a solution, and it is that
    without violations if there is one and the weight is large enough.

    Parameters
    ----------
    B : ndarray, shape (D, D)
        Positive definite.
    g : ndarray, shape (D,)
    A : ndarray, shape (M, D)
        Rows of length 1 or 0.
    c : ndarray, shape (M,)
    equal : ndarray of bool, shape (M,)
    weight : float
    low, high : ndarray, shape (D,)
        Bounds of d, perhaps infinite.
    """

    B: FloatArray
    g: FloatArray
    A: FloatArray
    c: FloatArray
    equal: BoolArray
    weight: float
    low: FloatArray
    high: FloatArray

    def solve(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the solution d and the multipliers of the M constraints; None if that failed."""
        D, M = len(self.g), len(self.c)
        slope, bend = (float(np.abs(each).max(initial=0.0)) for each in (self.g, self.B))
        unit = max(slope, _LEAST_SLOPE * bend, 1e-300)
        below, above = self.low > -_FAR, self.high < _FAR
        eye = np.eye(D)
        rows = np.vstack([self.A, eye[above], -eye[below]])
        offsets = np.concatenate([self.c, -self.high[above], self.low[below]])
        hard = np.arange(len(offsets)) >= M
        equal = np.concatenate([self.equal, np.zeros(len(offsets) - M, bool)])
        method = _InteriorPoint(self.B / unit, self.g / unit, rows, offsets)
        try:
            method.run(equal, hard, self.weight)
            d, multipliers = method.polished()
        except np.linalg.LinAlgError:
            return None
        d = np.minimum(np.maximum(d, self.low), self.high)
        multipliers = multipliers[:M] * unit
        return (d, multipliers) if np.isfinite(d).all() and np.isfinite(multipliers).all() else None


_Step = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


class _InteriorPoint:
    """Mehrotra's method for rows d + offsets = t - s, where s >= 0 is free and t >= 0 has a price.

    s is complementary to the multipliers, t to the rest of the weight. There is no t where a
    constraint is hard, and neither where it is an equality.
    """

    def __init__(self, B: FloatArray, g: FloatArray, rows: FloatArray, offsets: FloatArray) -> None:
        self.B, self.g, self.rows, self.offsets = B, g, rows, offsets

    def run(self, equal: BoolArray, hard: BoolArray, weight: float) -> None:
        """Iterate until the conditions of optimality hold."""
        self.free, self.priced = ~equal, ~equal & ~hard
        self.d = np.zeros(len(self.g))
        self.multipliers = np.where(equal, 0.0, 1.0)
        self.s = np.where(self.free, np.maximum(-self.offsets, 0.0) + 0.1, 0.0)
        self.t = np.where(self.priced, np.maximum(self.offsets, 0.0) + 0.1, 0.0)
        self.rest = np.where(self.priced, weight - 1.0, 1.0)
        count = max(int(self.free.sum() + self.priced.sum()), 1)
        slope = max(float(np.abs(self.g).max(initial=0.0)), 1e-8)
        for _ in range(_MAX_STEPS):
            dual = self.B @ self.d + self.g + self.rows.T @ self.multipliers
            primal = self.rows @ self.d + self.offsets - self.t + self.s
            gap = (
                float(self.s[self.free] @ self.multipliers[self.free] + self.t @ self.rest) / count
            )
            # The slope need not be small: rounding errors make it grow from here on.
            left = max(gap / slope, np.abs(primal).max(initial=0.0))
            if left < _TOLERANCE and np.abs(dual).max() < 1e-2 * slope:
                return
            if not self._iterate(dual, primal, gap, count):
                return

    def _iterate(self, dual: FloatArray, primal: FloatArray, gap: float, count: int) -> bool:
        """Make a predictor and a corrector step; return whether that was possible."""
        divisor = np.where(self.free, self.multipliers, 1.0)
        weights = 1.0 / np.where(self.free, self.s / divisor + self.t / self.rest, _SOFTNESS)
        try:
            matrix = self.B + (self.rows.T * weights) @ self.rows
            inverse = np.asarray(np.linalg.inv(matrix), float)
        except np.linalg.LinAlgError:
            return False
        predictor = self._step(inverse, weights, dual, primal, 0.0, None)
        ahead = self._gap_after(predictor, count)
        target = gap * (ahead / gap) ** 3 if gap > 0 else 0.0
        step = self._step(inverse, weights, dual, primal, target, predictor)
        if self._gap_after(step, count) > 0.9 * gap:  # the correction is too large; only center
            step = self._step(inverse, weights, dual, primal, 0.3 * gap, None)
        length = self._length(step)
        if not (length > _LEAST_LENGTH and np.isfinite(step[0]).all()):
            return False
        dd, ds, dt, dm = step
        self.d, self.multipliers = self.d + length * dd, self.multipliers + length * dm
        self.s, self.t = self.s + length * ds, self.t + length * dt
        self.rest = np.where(self.priced, self.rest - length * dm, 1.0)
        return True

    def _gap_after(self, step: _Step, count: int) -> float:
        """Return the mean complementary product after a step."""
        _, ds, dt, dm = step
        length = self._length(step)
        products = ((self.s + length * ds) * (self.multipliers + length * dm))[self.free].sum()
        products += ((self.t + length * dt) * (self.rest - length * dm))[self.priced].sum()
        return float(products) / count

    def _step(
        self,
        inverse: FloatArray,
        weights: FloatArray,
        dual: FloatArray,
        primal: FloatArray,
        target: float,
        predictor: _Step | None,
    ) -> _Step:
        """Return the Newton step toward complementary products of `target`."""
        for_s = np.where(self.free, target - self.s * self.multipliers, 0.0)
        for_t = np.where(self.priced, target - self.t * self.rest, 0.0)
        if predictor is not None:
            _, ds, dt, dm = predictor
            for_s, for_t = for_s - ds * dm, for_t + dt * dm
        divisor = np.where(self.free, self.multipliers, 1.0)
        residual = primal + for_s / divisor - for_t / self.rest
        dd = inverse @ (-dual - self.rows.T @ (weights * residual))
        dm = weights * (self.rows @ dd + residual)
        ds = np.where(self.free, (for_s - self.s * dm) / divisor, 0.0)
        dt = np.where(self.priced, (for_t + self.t * dm) / self.rest, 0.0)
        return dd, ds, dt, dm

    def _length(self, step: _Step) -> float:
        """Return the longest step up to 1 that keeps all variables positive."""
        _, ds, dt, dm = step
        values = np.concatenate([
            self.s[self.free], self.multipliers[self.free], self.t[self.priced],
            self.rest[self.priced],
        ])  # fmt: skip
        changes = np.concatenate([ds[self.free], dm[self.free], dt[self.priced], -dm[self.priced]])
        shrinking = changes < 0
        ratios = values[shrinking] / -changes[shrinking]
        return min(1.0, _TO_BOUNDARY * float(ratios.min(initial=np.inf)))

    def polished(self) -> tuple[FloatArray, FloatArray]:
        """Return the solution and multipliers, with active constraints met exactly if possible."""
        inside = self.free & (self.multipliers <= self.s)
        broken = self.priced & (self.rest <= self.t)
        tight = ~inside & ~broken
        D, active = len(self.d), self.rows[tight]
        system = np.block([[self.B, active.T], [active, np.zeros((len(active), len(active)))]])
        multipliers = np.where(inside, 0.0, self.multipliers)
        force = self.g + self.rows[broken].T @ multipliers[broken]
        right = -np.concatenate([force, self.offsets[tight]])
        if not (np.isfinite(system).all() and np.isfinite(right).all()):  # LAPACK would print
            return self.d, self.multipliers
        solution = np.linalg.lstsq(system, right, rcond=1e-13)[0]
        d: FloatArray = solution[:D]
        reach = 1e-3 + np.abs(self.d).max()
        excess, before = (
            np.maximum(self.rows @ each + self.offsets, 0.0)[self.free].max(initial=0.0)
            for each in (d, self.d)
        )
        if np.abs(d - self.d).max() > 1e-4 * reach or excess > before + 1e-12 * reach:
            return self.d, self.multipliers
        multipliers[tight] = solution[D:]
        return d, multipliers
