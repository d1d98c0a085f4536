"""BIPOP-CMA-ES of pycma, behind the protocol."""

import gc
import threading

import numpy as np
import pytest
from raising import raises

import uaos
from uaos.errors import InvalidParameter, UaosError

pytest.importorskip("cma", reason="pycma is not installed: the extra uaos[peers]")


def sphere(x):
    return float(((x - 1.0) ** 2).sum())


def test_a_run_repeats_and_leaves_the_global_generator_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    given = {"method": "BIPOP-CMA-ES", "seed": 3, "budget": 600}
    one, other = (uaos.minimize(sphere, [(-5, 5)] * 3, **given) for _ in range(2))
    assert one.x.tolist() == other.x.tolist()
    assert one.fun < 1e-9
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_two_runs_side_by_side_do_not_disturb_each_other():
    def points(*seeds):
        runs = [uaos.PyCMA([(-5, 5)] * 3, seed=seed) for seed in seeds]
        for _ in range(5):
            for run in runs:
                run.tell([sphere(x) for x in run.ask()])
        return [run.ask().tolist() for run in runs]

    assert points(1, 2) == points(1) + points(2)


def test_a_box_of_unequal_widths_is_searched_at_its_scale():
    run = uaos.PyCMA([(-5, 5), (-5e6, 5e6)], seed=1)
    spread = run.ask().std(axis=0)
    assert 1e5 < spread[1] / spread[0] < 1e7


def test_the_thread_ends_with_its_run():
    run = uaos.PyCMA([(-5, 5)] * 3, seed=1)
    run.ask()
    thread = run._thread._thread
    assert thread in threading.enumerate()
    del run
    gc.collect()
    thread.join(300)
    assert not thread.is_alive()


def test_a_run_cannot_be_saved_and_says_so(tmp_path):
    run = uaos.PyCMA([(-5, 5)] * 3, seed=1)
    with pytest.raises(UaosError, match='BIPOP-CMA-ES cannot be saved.*Use method="CMA-ES"'):
        run.save(tmp_path / "run.state")
    assert not (tmp_path / "run.state").exists()


def test_starting_points_are_refused():
    with raises(InvalidParameter, name="x0"):
        uaos.PyCMA([(-5, 5)] * 3, x0=[0.0] * 3)


def test_failed_evaluations_are_survived():
    result = uaos.minimize(
        lambda x: float("nan") if x[0] > 2 else sphere(x), [(-5, 5)] * 3, method="BIPOP-CMA-ES",
        seed=1, budget=1500,
    )  # fmt: skip
    assert result.fun < 1e-6
