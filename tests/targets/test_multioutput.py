"""Several numeric targets at once."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import DataError
from symscreen.targets.multioutput import build_multi_output_target


def test_rows_and_places_are_inverse_and_values_ascend(rng):
    given = {"b": rng.normal(size=30), "a": rng.integers(0, 4, 30).astype(float)}
    y = build_multi_output_target(given)
    assert y.names == ("a", "b")
    for name, target, rows, places in zip(y.names, y.outputs, y.sort_order, y.sorted_positions, strict=True):
        assert (rows[places] == np.arange(30)).all()
        assert (given[name][rows] == target.values).all()
    assert (y.values == np.stack([given["a"], given["b"]])).all()
    assert y.select_output(1).names == ("b",)
    assert build_multi_output_target({"a,b": given["a"], "c": given["b"]}).name == "`a,b`,c"


def test_a_constant_target_is_refused_by_name():
    with pytest.raises(DataError, match="the target 'b' is constant"):
        build_multi_output_target({"a": np.array([1.0, 2.0]), "b": np.array([1.0, 1.0])})
