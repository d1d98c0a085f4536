"""What every test process needs."""

import signal

import pytest

# A job in a shell's background starts with Ctrl-C ignored, and so would all that it starts; some
# tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster of two worker processes on this machine."""
    why = "dask and distributed are not installed: the extra uaos[cluster]"
    dask = pytest.importorskip("dask", reason=why)
    distributed = pytest.importorskip("distributed", reason=why)
    settings = {"distributed.scheduler.allowed-failures": 0, "distributed.admin.log-length": 0}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address=None, silence_logs=50,
        ) as made,
    ):  # fmt: skip
        yield made
