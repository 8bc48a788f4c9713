from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import OptionError
from symscreen.label_ranking.base import encode_categories, find_categories, parse_categorical_features


def test_categories_get_codes_in_ascending_order_and_strangers_the_last_of_all():
    values = np.array([[2.5, -1.0, 7.0], [0.5, 3.0, 7.0], [2.5, 3.0, 9.0], [1.0, 8.0, 7.0]])
    known = find_categories(values, np.array([0, 2]))
    assert [None if one is None else one.tolist() for one in known] == [[0.5, 1.0, 2.5], None, [7.0, 9.0]]
    new = np.array([[0.5, 0.1, 9.0], [-9.0, 0.2, 8.0], [9.0, 0.3, 7.0]])
    assert encode_categories(new, known).tolist() == [[0.0, 3.0, 3.0], [0.1, 0.2, 0.3], [1.0, 3.0, 0.0]]


def test_places_are_read_from_masks_places_and_names():
    names = ["a", "b", "c"]
    for asked in ([0, 2], [-1, 0, 0], ["c", "a"], [True, False, True], np.array([2, 0])):
        assert parse_categorical_features(asked, 3, names).tolist() == [0, 2]
    assert parse_categorical_features(None, 3).tolist() == []
    assert parse_categorical_features([], 3).tolist() == []


@pytest.mark.parametrize("asked", [[3], [-4], [0.5], ["a"], [True, False]])
def test_invalid_indices_are_rejected(asked):
    with pytest.raises(OptionError, match="categorical_features"):
        parse_categorical_features(asked, 3)
