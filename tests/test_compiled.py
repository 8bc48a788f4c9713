from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys

import numba
import pytest
from numba.core import event

from symscreen._numba import COMPILE_MESSAGE, COMPILE_NOTICE, CompileNotice, compile_kernel
from symscreen.statistics.ranks._kernels import pack_long_keys


def test_kernels_work_where_nothing_can_be_cached(monkeypatch):
    def find_no_place(*_):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr("symscreen._numba._KernelCache.__init__", find_no_place)
    assert compile_kernel(lambda a: a + 1)(2) == 3


def _announced(dispatcher, *, silent=False):
    announcement = CompileNotice()
    if silent:
        announcement.mute()
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        for _ in range(3):
            announcement.on_start(
                event.Event("numba:compile", event.EventStatus.START, {"dispatcher": dispatcher})
            )
    return stream.getvalue()


def test_users_are_told_once_that_kernels_are_compiled_on_a_terminal_or_not():
    assert _announced(pack_long_keys) == COMPILE_MESSAGE
    assert _announced(pack_long_keys, silent=True) == ""


def test_the_kernels_of_others_are_not_announced():
    assert _announced(numba.njit(lambda x: x)) == ""


def test_a_kernel_that_is_compiled_is_announced(monkeypatch):
    told = []
    monkeypatch.setattr(COMPILE_NOTICE, "on_start", told.append)
    fresh = numba.njit(lambda x: x + 1)
    assert fresh(1) == 2
    assert fresh(2) == 3
    assert len(told) == 1


@compile_kernel
def _double(number):
    return 2 * number


@compile_kernel
def _add_double(number, other):
    return number + _double(other)


def test_a_kernel_is_made_at_its_first_use_and_may_call_others():
    assert _add_double(1, 2) == 5
    assert _add_double.dispatcher is _add_double.dispatcher
    assert _double(2) == 4  # a cached caller has not loaded it
    assert _double.dispatcher.signatures
    assert _double.__name__ == "_double"
    assert _add_double(other=2, number=1) == 5


@compile_kernel
def _triple(number):
    return 3 * number


@numba.njit
def _add_triple(number, other):
    return number + _triple(other)


def test_a_kernel_that_only_kernels_call_has_no_wrapper_for_python():
    assert _add_triple(1, 2) == 7
    assert _triple._inner_dispatcher.signatures
    assert _triple._dispatcher is None
    assert _triple(2) == 6


def test_a_kernel_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(pack_long_keys)) is pack_long_keys  # noqa: S301  # our own


@pytest.mark.slow
def test_a_kernel_from_the_cache_needs_no_scipy_and_no_definitions_of_functions(tmp_path):
    (tmp_path / "kernels.py").write_text(
        "import numpy as np\n"
        "from symscreen._numba import compile_kernel\n"
        "@compile_kernel\n"
        "def accumulate(a):\n"
        "    total, ones = 0.0, np.ones(a.size)\n"
        "    for i in range(a.size):\n"
        "        total += a[i] * ones[i]\n"
        "    return total\n"
    )
    code = (
        "import sys, numpy as np, kernels\n"
        "print(kernels.accumulate(np.arange(4.0)))\n"
        "print(*(name for name in ('scipy.linalg', 'numba.np.arraymath') if name in sys.modules))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    first, later = (
        subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    )
    assert first == ["6.0", "scipy.linalg numba.np.arraymath"]
    assert later == ["6.0", ""]
