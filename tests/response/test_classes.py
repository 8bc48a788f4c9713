"""Responses that are classes."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import TableError
from symscreen.response.classes import ClassesResponse


def test_two_classes_are_one_binary_response_and_more_are_one_each():
    two = ClassesResponse(np.array([1, 0, 1]), ("a", "b"))
    assert two.binary.signs.tolist() == [[1, -1, 1]]
    codes = np.array([2, 0, 1, 1])
    three = ClassesResponse(codes, ("a", "b", "c")).binary
    for place, signs in zip(three.places, three.signs, strict=True):
        assert ((signs == 1) == (codes == place)).all()
    assert (three.counted == 4).all()


def test_one_class_is_refused():
    with pytest.raises(TableError, match=r"all 3 rows are of one class of 'mail' \('spam'\)"):
        ClassesResponse(np.zeros(3, dtype=np.int64), ("spam",), "mail")
