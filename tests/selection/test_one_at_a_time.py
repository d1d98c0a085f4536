"""One offspring at a time, a selector takes shorter ways, and they lead to the same place."""

import copy
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from test_selector import assert_equal_states

import uaos
from uaos import Method, jit
from uaos.errors import InvalidFeedback

CATALOGUE = [name for name, entry in uaos.methods().items() if entry.method is not None]


def feedback(steps: int) -> list[tuple[float, float]]:
    """Parent and offspring: some equal gains, some failed evaluations, some enormous numbers."""
    rng = np.random.default_rng(4)
    made = []
    for step in range(steps):
        parent = rng.normal(5.0, 2.0)
        gain = round(rng.normal(0.2, 1.0), 1 if step % 3 else 9)
        failed = step % 23 == 22
        offspring = [np.nan, np.inf, -np.inf][step % 3] if failed else parent - gain
        if step % 37 > 34:
            parent = np.inf if step % 2 else 1e308
        made.append((float(parent), -1e308 if step % 41 == 40 else float(offspring)))
    return made


def course(name: str, k: int, steps: int) -> tuple[list[int], list[list[float]]]:
    """The operators that were selected, and the probabilities after each update."""
    selector = uaos.method(name).selector(k, seed=3, budget=1000)
    operators, probabilities = [], []
    for parent, offspring in feedback(steps):
        (operator,) = selector.select(1).tolist()
        selector.update([operator], [parent], [offspring])
        operators.append(operator)
        probabilities.append(selector.probabilities.tolist())
    return operators, probabilities


# A single offspring goes to the largest share, so methods that allot shares are left out.
@pytest.mark.parametrize("k", [5, 9])
@pytest.mark.parametrize(
    "name", [n for n in CATALOGUE if uaos.method(n).selection.name != "shares"]
)
def test_every_operator_is_selected(name: str, k: int) -> None:
    assert len(set(course(name, k, 250)[0])) == k


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_number_and_a_row_of_one_leave_the_same_state(name: str) -> None:
    by_number, by_row = (uaos.method(name).selector(4, seed=3, budget=1000) for _ in range(2))
    for parent, offspring in feedback(120):
        (operator,) = by_number.select(1)
        assert by_row.select(1).tolist() == [operator]
        by_number.update(operator, parent, offspring)
        # A range is none of the sequences that are taken without a closer look.
        by_row.update(range(operator, operator + 1), [parent], [offspring])
        assert_equal_states(by_number.state(), by_row.state())


SCRIPT = """
import json, sys
import numba
from test_one_at_a_time import CATALOGUE, course
report = {n: course(n, 3, 40) for n in CATALOGUE}
json.dump({"interpreted": bool(numba.config.DISABLE_JIT), "report": report}, sys.stdout)
"""


@pytest.fixture(scope="module")
def interpreted() -> dict:
    """Short courses of all methods, in a process without compilation; warnings are errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["interpreted"]
    return found["report"]


@pytest.mark.parametrize("name", CATALOGUE)
def test_compiled_or_not_the_course_is_the_same_to_the_last_bit(
    interpreted: dict, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "PATIENCE", 0.0)
    assert interpreted[name] == list(course(name, 3, 40))


METHOD = Method("relative_improvement", "success_sum", "weighted_sum")


@pytest.mark.parametrize(
    ("operator", "parent", "offspring"),
    [
        (1, 3.0, 2.0),
        (np.int64(1), np.float64(3.0), 2),
        ([1], [3.0], (2.0,)),
        ([1], [3], [2]),
        (1, [3.0], 2.0),
        (np.array([1]), np.array([3.0]), [2.0]),
        (np.array([1], dtype=np.uint8), np.array([3.0], dtype=np.float32), np.array([2])),
        (np.array(1), np.array(3.0), np.array(2.0)),
        (range(1, 2), [np.float32(3.0)], [True + 1.0]),
    ],
)
def test_a_generation_of_one_may_come_in_any_form(
    operator: object, parent: object, offspring: object
) -> None:
    selector, expected = (METHOD.selector(3, seed=1) for _ in range(2))
    expected.update([1], [3.0], [2.0])
    selector.update(operator, parent, offspring)
    assert_equal_states(selector.state(), expected.state())
    # best so far 3 / offspring 2 · (3 - 2) = 1.5, scaled to 1
    assert selector.rewards.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("operator", "parent", "offspring"),
    [
        ([1], 3.0, 2.0),
        ([1], [3.0], 2.0),
        ([[1]], [[3.0]], [[2.0]]),
        (np.array([[1]]), np.array([[3.0]]), np.array([[2.0]])),
        ([1], [3.0], []),
        ({1}, [3.0], [2.0]),
        ({0: 1}, [3.0], [2.0]),
        (b"\x01", [3.0], [2.0]),
        ([True], [3.0], [2.0]),
        (np.array([1], dtype=object), [3.0], [2.0]),
        (np.array([1], dtype="M8[ns]"), [3.0], [2.0]),
        (np.array([1.0]), [3.0], [2.0]),
        (3, 3.0, 2.0),
        (np.array([-1]), [3.0], [2.0]),
        (1, 10**400, 2.0),
        (1, 3.0, "x"),
    ],
)
def test_what_is_no_generation_of_one_is_refused_and_changes_nothing(
    operator: object, parent: object, offspring: object
) -> None:
    selector = METHOD.selector(3, seed=1)
    before = selector.state()
    with pytest.raises(InvalidFeedback):
        selector.update(operator, parent, offspring)
    assert_equal_states(selector.state(), before)


def test_the_best_so_far_is_that_of_finite_fitness() -> None:
    method = Method("best_so_far_improvement", "success_sum", scale_rewards=False)
    selector = method.selector(2, seed=1)
    selector.update(0, np.inf, 9.0)  # no parent to improve on; best so far 9
    selector.update(1, np.nan, np.nan)
    selector.update(1, 12.0, -np.inf)
    selector.update(0, 20.0, 7.0)  # 2 better than the best so far, in 2 applications
    assert selector.rewards.tolist() == [1, 0]
    selector.update(1, 6.0, 5.5)  # the parent is the best so far: 0.5, in 3 applications
    assert selector.rewards.tolist() == [1, pytest.approx(0.5 / 3)]


def test_a_selector_deeply_copied_between_two_offspring_learns_on_its_own() -> None:
    selector = uaos.method("SaDE").selector(3, seed=1)
    selector.update([0, 1, 2], [9.0] * 3, [5.0, 9.0, 9.0])
    copied = copy.deepcopy(selector)
    for one in (selector, copied):
        one.update(1, 9.0, 5.0)
    assert_equal_states(copied.state(), selector.state())
    copied.update(1, 9.0, 5.0)
    assert copied.probabilities[1] > selector.probabilities[1]


def test_a_users_reward_is_computed_at_every_update() -> None:
    asked = []

    class Counting(uaos.WindowReward):
        def compute(self, memory):
            asked.append(int(memory.size))
            return memory.membership().sum(axis=1)

    selector = Method(reward=Counting()).selector(2, seed=1)
    for offspring in (1.0, 3.0, 3.0):
        selector.update(0, 2.0, offspring)
    assert asked == [1, 1, 1]


def test_a_users_metric_gets_its_arrays() -> None:
    class Doubled(uaos.Metric):
        def compute(self, parents, offspring, best_so_far):
            return 2 * (parents - offspring).reshape(1)

    method = Method(Doubled(), "success_sum", scale_rewards=False)
    selector = method.selector(2, seed=1)
    selector.update(0, 3.0, 2.0)
    assert selector.rewards.tolist() == [2, 0]
