"""What every test shares: a random generator seeded by the test's own name, and small tables."""

from __future__ import annotations

import gc
import hashlib
import os

# Each of several processes computes with one thread of BLAS. More threads than cores would wait for each
# other and use processor time. The variable counts only before numpy is imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from symscreen._numba import COMPILE_NOTICE

pytest_plugins = ["helpers.selection", "helpers.fresh_examples"]

# Properties are tried on the same examples on every run and every machine; `make fuzz` tries fresh ones.
settings.register_profile("symscreen", derandomize=True, deadline=None)
settings.load_profile("symscreen")


def pytest_collection_finish():
    """Let the collector come seldom, and not look through all that was imported, half a second each time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)


@pytest.fixture(scope="session", autouse=True)
def _known_writers():
    """Tests that read what they just wrote need not wait whether somebody writes more."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("symscreen.data.readers.file_bytes._QUIET_PERIOD_S", 0.0)
        yield


@pytest.fixture(scope="session", autouse=True)
def _short_calibrations():
    """Plans predict a time from a short measurement: no test looks at how good it is."""
    with pytest.MonkeyPatch.context() as patched:
        for module in ("plan", "search.modes"):
            patched.setattr(f"symscreen.screening.{module}._CALIBRATION_S", 0.005)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_compile_notice():
    """Only the first run on a machine compiles kernels: tests compare what the later ones write."""
    COMPILE_NOTICE.mute()


@pytest.fixture(scope="session", autouse=True)
def default_comparison():
    """Fits of the command line are not compared with other regressors by default, which takes seconds.

    Tests of the default put the function back that this fixture yields.
    """
    from symscreen.cli import fit

    original = fit.compare_by_default
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fit, "compare_by_default", lambda *_: [])
        yield original


@pytest.fixture
def rng(request) -> np.random.Generator:
    name = request.node.nodeid.encode()
    return np.random.default_rng(int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little"))


@pytest.fixture(scope="session")
def shared_frame() -> pd.DataFrame:
    """Sixty rows of three positive inputs, one with ties, and a noisy target; not to be changed."""
    rng = np.random.default_rng(60)
    x1, x2 = rng.uniform(0.5, 2.0, (2, 60))
    x3 = rng.integers(1, 5, 60).astype(float)
    return pd.DataFrame({"x1": x1, "x2": x2, "x3": x3, "target": x1**2 + x2 / x3 + rng.normal(0, 0.1, 60)})


@pytest.fixture
def frame(shared_frame) -> pd.DataFrame:
    """A copy of the shared table, which may be changed; screens of one target share the table of its null."""
    return shared_frame.copy()
