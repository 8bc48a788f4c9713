import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.data.text_cells import TextCells


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.lists(st.none() | st.sampled_from(["", "a", "b", "nan"])))
def test_cells_come_back_as_they_went_in(texts):
    cells = TextCells.from_objects(texts)
    assert cells.to_list() == texts
    assert cells.n_missing == texts.count(None)
    assert list(cells.distinct) == list(dict.fromkeys(text for text in texts if text is not None))
    assert cells.count_cells().tolist() == [texts.count(text) for text in [*cells.distinct, None]]


def test_every_kind_of_gap_is_missing():
    assert TextCells.from_objects(["a", None, np.nan, pd.NA, pd.NaT]).codes.tolist() == [0, -1, -1, -1, -1]
