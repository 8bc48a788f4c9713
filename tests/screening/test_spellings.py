from __future__ import annotations

import numpy as np
import pytest
from helpers.screening_oracles import space_of, table_of

import symscreen
from symscreen.backends import Threads
from symscreen.errors import OptionError
from symscreen.expansion import CandidateStatus
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_key
from symscreen.expressions.tree import parse_expression
from symscreen.screening.class_members import find_equivalent_forms

CHANGES = {"operators": "basic", "unary": ("id", "neg", "cube"), "binary": ("add", "sub", "mul")}


def test_each_duplicate_of_the_last_layer_is_a_spelling_of_its_feature(rng):
    space = space_of(table_of(rng, rows=12), "bb", **CHANGES)
    duplicates = space.n_materialized + np.flatnonzero(space.statuses == CandidateStatus.DUPLICATE)
    by_key = {}
    for number in duplicates.tolist():
        one = space.build_expression(number)
        by_key.setdefault(compute_key(one), set()).add(to_text(one))
    numbers = space.numbers
    found = find_equivalent_forms(space, numbers, 10**6, Threads(2))
    assert len(duplicates) > 50
    for number, texts in zip(numbers.tolist(), found, strict=True):
        own = space.build_expression(number)
        assert set(texts) == by_key.get(compute_key(own), set()) - {to_text(own)}
    few = find_equivalent_forms(space, numbers[::-1], 2, Threads(1))
    for short, texts in zip(few[::-1], found, strict=True):
        assert len(short) <= 2
        assert set(short) <= set(texts)


def test_spellings_are_equal_by_algebra_and_no_members(frame):
    result = symscreen.screen(frame, layers="bb", binary="mul", top=12, max_correlation=1)
    plain = symscreen.classes(result, frame, class_members=3)
    table = symscreen.classes(result, frame, class_members=3, equivalent_forms=4)
    assert table.drop(columns="equivalent_forms").equals(plain)
    assert table.equivalent_forms.map(len).sum() > 3
    for text, others in zip(table.expression, table.equivalent_forms, strict=True):
        assert all(
            compute_key(parse_expression(other)) == compute_key(parse_expression(text)) for other in others
        )
    with pytest.raises(OptionError, match="equivalent_forms are not stored"):
        symscreen.classes(symscreen.screen(frame, layers="u", class_members=2), equivalent_forms=1)
