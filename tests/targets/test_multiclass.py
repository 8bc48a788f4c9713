"""Responses that are classes."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import DataError
from symscreen.targets.multiclass import MulticlassTarget


def test_two_classes_are_one_binary_response_and_more_are_one_each():
    two = MulticlassTarget(np.array([1, 0, 1]), ("a", "b"))
    assert two.binary_targets.signs.tolist() == [[1, -1, 1]]
    codes = np.array([2, 0, 1, 1])
    three = MulticlassTarget(codes, ("a", "b", "c")).binary_targets
    for place, signs in zip(three.indices, three.signs, strict=True):
        assert ((signs == 1) == (codes == place)).all()
    assert (three.n_observed == 4).all()


def test_one_class_is_refused():
    with pytest.raises(DataError, match=r"all 3 rows are of one class of 'mail' \('spam'\)"):
        MulticlassTarget(np.zeros(3, dtype=np.int64), ("spam",), "mail")
