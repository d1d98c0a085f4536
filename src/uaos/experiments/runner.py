"""Running a plan: the coordinator hands units to workers, and what comes back is written."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from os import PathLike

from uaos.experiments.coordinator import Coordinator, Progress, Stopped, stop_signals
from uaos.experiments.plan import Plan
from uaos.experiments.pools import Pool, check_picklable, check_pool, pool_for
from uaos.experiments.records import Finished, Unit, failed
from uaos.experiments.store import Store, Tally
from uaos.experiments.units import run_unit
from uaos.optimizers.configuration import Configuration
from uaos.problems import Problem

__all__ = ["Progress", "Stopped", "run"]


def run(
    plan: Plan,
    path: str | PathLike[str],
    executor: Executor | Callable[[], Executor] | None = None,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    retry_failed: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    work: Callable[[Unit, Problem, Configuration], Finished] = run_unit,
) -> dict[str, Tally]:
    """Run what the store at `path` does not have yet of the plan; how far each method is then.

    Units run in `jobs` processes of this machine (default: one for each processor), on the Dask
    cluster at the address `dask`, or on `executor`; a function that makes executors lets the
    experiment go on when one breaks. Ctrl-C stops it cleanly (:class:`Stopped`).
    """
    plan.check()
    check_pool(executor, jobs)
    if executor is None:
        check_picklable(plan.suite, plan.competitors)
    with Store.create_or_resume(path, plan) as store:
        if retry_failed:
            store.forget_failures()

        def run_missing() -> None:
            if missing := store.missing(plan):
                journal = _Journal(store, len(plan), len(missing), on_progress)
                _run(missing, plan, pool_for(executor, jobs, dask, len(missing)), work, journal)

        run_missing()
        # Last, as it takes longer than to continue where there are very many runs.
        if store.remove_damaged("traces", "courses"):
            run_missing()
        return store.tallies()


def _run(
    units: list[Unit], plan: Plan, pool: Pool, work: Callable[..., Finished], journal: "_Journal"
) -> None:
    coordinator = Coordinator(
        units, pool, work=work, on_results=journal.write,
        failed=lambda unit, reason: failed(unit, plan.suite[unit.problem], reason),
        arguments=lambda unit: (unit, plan.suite[unit.problem], plan.competitors[unit.method]),
    )  # fmt: skip
    finished = False
    try:
        with stop_signals() as stopping:
            journal.report()
            finished = coordinator.run(stopping)
    finally:
        coordinator.drop()
        pool.close(finished=finished)
    if not finished:
        over, total = journal.progress.over, journal.progress.total
        raise Stopped(f"{over} of {total} runs", journal.store.path, journal.progress)


class _Journal:
    """Writes what comes back, and counts it."""

    def __init__(
        self, store: Store, total: int, missing: int,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:  # fmt: skip
        self.store, self._on_progress = store, on_progress
        self.progress = Progress(total, total - missing, 0, 0, store.removed)

    def write(self, results: Sequence[tuple[Unit, Finished]]) -> None:
        """Store the results of units, all of them or none."""
        self.store.record([result for _, result in results])
        bad = sum(result.outcome.status == "failed" for _, result in results)
        before, more = self.progress, len(results)
        self.progress = before._replace(
            over=before.over + more, new=before.new + more, failed=before.failed + bad
        )
        self.report()

    def report(self) -> None:
        """Tell whoever wants to know."""
        if self._on_progress is not None:
            self._on_progress(self.progress)
