"""Terms of a fit that are unsafe on new rows: marked, or left out."""

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.errors import ExtrapolationWarning

OPTIONS = {"layers": "ub", "operators": "basic", "unary": "inv,square", "binary": "add,sub,mul,div"}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    x, z = rng.uniform(-2.0, 2.0, 150), rng.uniform(1.0, 3.0, 150)
    return pd.DataFrame({"x": x, "z": z, "target": 2.0 / x + z})


def test_a_law_with_a_pole_is_found_and_marked(frame):
    found = symscreen.fit(frame, **OPTIONS)
    assert found.r2 == pytest.approx(1.0)
    assert "pole" in list(found.terms["unsafe"])
    assert any(notice.startswith("unsafe on new rows: 1/x (pole)") for notice in found.notices)
    assert found.record["safety"]["unsafe"] == {"pole": 1}
    assert found.record["box"]["x"][0] < frame["x"].min()


def test_models_with_unsafe_terms_are_left_out_where_asked(frame):
    found = symscreen.fit(frame, **OPTIONS, unsafe="drop")
    assert found.r2 < 1.0
    assert "unsafe" not in found.terms
    assert found.record["safety"]["unsafe"] == {}
    assert all("/x" not in formula for formula in found.front["formula"])
    kept = symscreen.fit(frame, **OPTIONS, unsafe="keep")
    assert "unsafe" not in kept.terms
    assert "safety" not in kept.record


def test_ranges_make_a_term_safe(frame):
    positive = frame[frame["x"] > 0.5]
    assert "unsafe" not in symscreen.fit(positive, **OPTIONS).terms
    assert "pole" in list(symscreen.fit(positive, **OPTIONS, ranges={"x": (-1, 2)}).terms["unsafe"])


def test_predictions_are_clipped_to_the_box(frame):
    found = symscreen.fit(frame[frame["x"] > 0.5], **OPTIONS)
    low, _ = found.record["box"]["x"]
    rows = {"x": [1e-9, low], "z": [1.5, 1.5]}
    with pytest.warns(ExtrapolationWarning):
        assert found.predict(rows)[0] > 1e6
    first, second = found.predict(rows, clip=True)
    assert first == second


def test_the_regressor_marks_and_keeps(frame):
    model = symscreen.SymbolicRegressor(**OPTIONS).fit(frame[["x", "z"]], frame["target"])
    assert "pole" in list(model.result_.terms["unsafe"])
