"""Responses that are classes."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.data import read_dataset
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


def test_a_target_of_texts_that_nearly_all_differ_is_no_class_unless_named_so(rng):
    frame = {"a": rng.normal(size=24), "y": [f"{number:.3f} kg" for number in rng.normal(size=24)]}
    with pytest.raises(DataError, match=r"'y' holds 2. different texts in 24 rows, such as .* only numbers"):
        read_dataset(frame, target="y")
    assert len(read_dataset(frame, target="y", target_type="classes").target.classes) > 20
