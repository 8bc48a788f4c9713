from __future__ import annotations

import pandas as pd
import pytest
from helpers.bundle_cases import FEATURES, MODEL

from symscreen.errors import DataError
from symscreen.export import apply_bundle
from symscreen.expressions.traversal import evaluate_expression

ROWS = pd.DataFrame({"x1": [1.0, 2.0, 0.3], "a b": [0.1, 0.7, 3.0]}, index=[5, 6, 7])


def test_predictions_stand_under_the_target_with_the_index_kept():
    table = apply_bundle(MODEL, ROWS)
    assert list(table.columns) == ["y"]
    assert table.index.tolist() == [5, 6, 7]
    assert table["y"].tolist() == MODEL.predict(ROWS).tolist()
    assert apply_bundle(MODEL, dict(ROWS)).index.tolist() == [0, 1, 2]


def test_features_stand_under_their_texts_even_twice():
    table = apply_bundle((*FEATURES, FEATURES[0]), ROWS)
    assert list(table.columns) == ["x1**3", "log(`a b`)", "x1**3"]
    assert (
        table.iloc[:, 2].tolist()
        == table.iloc[:, 0].tolist()
        == evaluate_expression(FEATURES[0], {"x1": ROWS["x1"].to_numpy()}).tolist()
    )
    assert table.index.tolist() == [5, 6, 7]


def test_undefined_values_are_counted():
    rows = ROWS.assign(x1=0.0, **{"a b": [1.0, -1.0, 0.0]})
    with pytest.warns(
        UserWarning, match=r"1 of 2 features .* 3 rows and NaN there; 'log\(`a b`\)' in 2"
    ) as caught:
        assert apply_bundle(FEATURES, rows).isna().to_numpy().sum() == 2
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="undefined in 3 of the 3 rows") as caught:
        assert apply_bundle(MODEL, rows)["y"].isna().all()
    assert caught[0].filename == __file__
    with pytest.raises(DataError, match="no column 'a b'"):
        apply_bundle(MODEL, ROWS[["x1"]])
