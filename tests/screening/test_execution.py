"""Notices of a screen about its p-values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen

NOTICE = "p-values are 1: nine tenths of the target are one value"


@pytest.mark.parametrize(
    ("y", "options", "is_expected"),
    [
        (np.maximum(np.arange(3200) - 3000.0, 0.0), {"screener": "xi"}, True),
        (np.maximum(np.arange(3200) - 3000.0, 0.0), {"screener": "xi", "p_values": False}, False),
        (np.maximum(np.arange(3200) - 3000.0, 0.0), {"screener": "t0"}, False),
        ((np.arange(3200) > 3000).astype(float), {"screener": "xi"}, False),  # two values: the law is exact
        (np.maximum(np.arange(150) - 140.0, 0.0), {"screener": "xi"}, False),
    ],
)
def test_p_values_that_are_1_for_want_of_a_null_distribution_say_so(y, options, is_expected):
    frame = pd.DataFrame({"x": np.arange(float(len(y))), "z": np.arange(len(y)) % 7.0, "target": y})
    options = {"layers": "u", "unary": ["id"], "p_values": True, "target_type": "numeric", **options}
    result = symscreen.screen(frame, **options)
    assert any(NOTICE in notice for notice in result.notices) == is_expected
    if options["p_values"]:
        assert (result.table.p_value.to_numpy()[0] == 1.0) == is_expected
