from __future__ import annotations

import re

import numpy as np
import pytest

import symscreen
from symscreen.errors import OptionError


def test_what_operators_of_time_compute_has_the_unit_of_their_column():
    rng = np.random.default_rng(2)
    width, height = rng.uniform(1.0, 2.0, 40), rng.uniform(1.0, 2.0, 40)
    table = {"t": np.arange(40.0), "width (cm)": width, "height (mm)": height}
    table["y"] = 10.0 * np.concatenate(([1.0], width[:-1])) + height
    options = {"target": "y", "time": "t", "units": "strict", "unary": "lag1,diff", "binary": "add,mul"}
    result = symscreen.screen(table, layers="b", jobs=1, **options)
    assert result.table["expression"][0] == "`height (mm)` + lag1(`width (cm)`)"
    assert result.table["unit"][0] == "m"
    fitted = symscreen.fit(table, layers="b", jobs=1, effort="quick", **options)
    with pytest.warns(UserWarning, match="undefined in 1 of the 40 rows"):
        predicted = np.asarray(fitted.predict(table))
    np.testing.assert_allclose(predicted[1:], table["y"][1:])


def test_differences_of_a_unit_with_an_offset_are_refused():
    table = {"t": np.arange(9.0), "T (degC)": np.arange(9.0) % 4, "y": np.arange(9.0) % 5}
    with pytest.raises(
        OptionError, match=re.escape("'T (degC)' has the unit degC with an offset, which differences")
    ):
        symscreen.screen(table, target="y", time="t", units="strict", unary="diff", layers="b")
