"""The normal distribution that follows the population, against plain loops."""

import math

import numpy as np
import pytest

from uaos.optimizers.de.sampling import Distribution


class Slow:
    """CMA-ES of a sorted population, coordinate by coordinate, in a box [-100, 100]."""

    def __init__(self, mean, NP):
        self.m, self.sigma, D = list(mean), 0.5, len(mean)
        mu = self.mu_eff(NP)
        self.cc = (4 + mu / D) / (D + 4 + 2 * mu / D)
        self.cs = (mu + 2) / (D + mu + 5)
        self.c1 = 2 / ((D + 1.3) ** 2 + mu)
        self.cmu = min(1 - self.c1, 2 * (mu - 2 + 1 / mu) / ((D + 2) ** 2 + mu))
        self.ds = 1 + 2 * max(0, math.sqrt((mu - 1) / (D + 1)) - 1) + self.cs
        self.C = [[float(i == j) for j in range(D)] for i in range(D)]
        self.whitening = np.eye(D)
        self.ps, self.pc, self.last = [0.0] * D, [0.0] * D, 0

    @staticmethod
    def weights(NP):
        raw = [math.log(NP / 2 + 0.5) - math.log(i) for i in range(1, NP // 2 + 1)]
        return [w / sum(raw) for w in raw]

    def mu_eff(self, NP):
        return 1 / sum(w * w for w in self.weights(NP))

    def follow(self, X, evaluations):
        NP, D = len(X), len(self.m)
        w, mu = self.weights(NP), self.mu_eff(NP)
        old = self.m
        self.m = [sum(w[k] * X[k][j] for k in range(len(w))) for j in range(D)]
        y = [(self.m[j] - old[j]) / self.sigma for j in range(D)]
        g = math.sqrt(self.cs * (2 - self.cs) * mu)
        for i in range(D):
            white = sum(self.whitening[i][j] * y[j] for j in range(D))
            self.ps[i] = (1 - self.cs) * self.ps[i] + g * white
        norm = sum(p * p for p in self.ps)
        h = norm / (1 - (1 - self.cs) ** (2 * evaluations / NP)) / D < 2 + 4 / (D + 1)
        g = h * math.sqrt(self.cc * (2 - self.cc) * mu)
        self.pc = [(1 - self.cc) * self.pc[j] + g * y[j] for j in range(D)]
        for i in range(D):
            for j in range(D):
                rank_one = self.pc[i] * self.pc[j]
                rank_one += (1 - h) * self.cc * (2 - self.cc) * self.C[i][j]
                rank_mu = (
                    sum(w[k] * (X[k][i] - old[i]) * (X[k][j] - old[j]) for k in range(len(w)))
                    / self.sigma**2
                )
                self.C[i][j] *= 1 - self.c1 - self.cmu
                self.C[i][j] += self.c1 * rank_one + self.cmu * rank_mu
        chi = math.sqrt(D) * (1 - 1 / (4 * D) + 1 / (21 * D * D))
        self.sigma *= math.exp(self.cs / self.ds * (math.sqrt(norm) / chi - 1))
        if evaluations - self.last > NP / (self.c1 + self.cmu) / D / 10:
            self.last = evaluations
            values, vectors = np.linalg.eigh(np.array(self.C))
            self.whitening = vectors @ np.diag(values**-0.5) @ vectors.T


def sampled(distribution, z):
    points = np.empty_like(z)
    distribution.sample(z, np.arange(len(z)), points)
    return points


def test_the_distribution_follows_a_shrinking_population():
    """Mean, step size, matrix and paths, while the population contracts and loses members."""
    rng, D = np.random.default_rng(4), 4
    fast = Distribution(np.full(D, -100.0), np.full(D, 100.0), 40)
    fast.mean = rng.random(D)
    slow = Slow(fast.mean, 40)
    for generation in range(1, 40):
        NP = 40 - generation // 2
        X = 3.0 + 60 * 0.9**generation * rng.standard_normal((NP, D))
        X = X[np.argsort((X**2).sum(axis=1))]
        fast.follow(X, np.arange(NP), 40 * generation)
        slow.follow(X.tolist(), 40 * generation)
        assert fast.mean == pytest.approx(slow.m)
        assert fast.sigma == pytest.approx(slow.sigma)
        assert fast.path_sigma == pytest.approx(slow.ps, rel=1e-6)
        assert np.allclose(fast.C, slow.C, rtol=1e-6)


def test_samples_have_the_mean_and_the_covariance_of_the_distribution():
    """In the units of the box, however wide each side is."""
    low, high = np.array([0.0, -1.0]), np.array([200.0, 1.0])
    one = Distribution(low, high, 20)
    one.mean, one.sigma = np.array([10.0, -20.0]), 2.0
    one.C = np.array([[4.0, 1.0], [1.0, 1.0]])
    one._decompose()
    points = sampled(one, np.random.default_rng(2).standard_normal((200_000, 2)))
    # x = center + unit (mean + σ y): centers 100 and 0, units 1 and 0.01.
    assert points.mean(axis=0) == pytest.approx([110, -0.2], rel=1e-2)
    assert np.cov(points.T) == pytest.approx(np.array([[16, 0.04], [0.04, 4e-4]]), rel=3e-2)


def test_a_distribution_that_degenerates_starts_again():
    one = Distribution(np.full(2, -1.0), np.full(2, 1.0), 8)
    one.sigma = 1e99
    one.C = np.full((2, 2), np.inf)
    one.follow(np.zeros((8, 2)), np.arange(8), 8)
    assert one.sigma == 0.5
    assert one.C.tolist() == [[1, 0], [0, 1]]


def test_a_distribution_whose_matrix_overflows_starts_again() -> None:
    one = Distribution(np.full(2, -1.0), np.full(2, 1.0), 8)
    one.C = np.array([[1e308, 9e307], [9e307, 1e308]])  # the larger eigenvalue exceeds a float
    with np.errstate(all="ignore"):
        one._decompose()
    assert np.array_equal(one.C, np.eye(2))
    assert np.isfinite(sampled(one, np.ones((3, 2)))).all()
