from __future__ import annotations

import io
import sys

import numba
import pytest
from numba.core import event

from symscreen._numba import COMPILE_NOTICE, CompileNotice, compile_kernel
from symscreen.statistics.ranks._kernels import pack_long_keys


def test_kernels_work_where_nothing_can_be_cached(monkeypatch):
    plain = numba.njit

    def no_place(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return plain(*args, **options)

    monkeypatch.setattr(numba, "njit", no_place)
    assert compile_kernel(lambda a: a + 1)(2) == 3


def _announced(dispatcher, *, terminal, silent=False):
    announcement = CompileNotice()
    if silent:
        announcement.mute()
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        for _ in range(3):
            announcement.on_start(
                event.Event("numba:compile", event.EventStatus.START, {"dispatcher": dispatcher})
            )
    return stream.getvalue()


def test_who_sits_at_a_terminal_is_told_once_that_kernels_are_compiled():
    assert _announced(pack_long_keys, terminal=True).count("compiling for this machine") == 1
    assert _announced(pack_long_keys, terminal=False) == ""
    assert _announced(pack_long_keys, terminal=True, silent=True) == ""


def test_the_kernels_of_others_are_not_announced():
    assert _announced(numba.njit(lambda x: x), terminal=True) == ""


def test_a_kernel_that_is_compiled_is_announced(monkeypatch):
    told = []
    monkeypatch.setattr(COMPILE_NOTICE, "on_start", told.append)
    fresh = numba.njit(lambda x: x + 1)
    assert fresh(1) == 2
    assert fresh(2) == 3
    assert len(told) == 1
