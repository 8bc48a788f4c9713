from __future__ import annotations

import numba

from symscreen.compiled import kernel


def test_kernels_work_where_nothing_can_be_cached(monkeypatch):
    plain = numba.njit

    def no_place(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return plain(*args, **options)

    monkeypatch.setattr(numba, "njit", no_place)
    assert kernel(lambda a: a + 1)(2) == 3
