"""Several numeric responses at once."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import TableError
from symscreen.response.several import alone, several_of


def test_rows_and_places_are_inverse_and_values_ascend(rng):
    given = {"b": rng.normal(size=30), "a": rng.integers(0, 4, 30).astype(float)}
    y = several_of(given)
    assert y.names == ("a", "b")
    for name, target, rows, places in zip(y.names, y.targets, y.rows, y.places, strict=True):
        assert (rows[places] == np.arange(30)).all()
        assert (given[name][rows] == target.values).all()
    assert (y.values == np.stack([given["a"], given["b"]])).all()
    assert alone(y, 1).names == ("b",)
    assert several_of({"a,b": given["a"], "c": given["b"]}).name == "`a,b`,c"


def test_a_constant_target_is_refused_by_name():
    with pytest.raises(TableError, match="the response 'b' is constant"):
        several_of({"a": np.array([1.0, 2.0]), "b": np.array([1.0, 1.0])})
