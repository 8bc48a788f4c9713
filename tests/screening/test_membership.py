from __future__ import annotations

import numpy as np
import pandas as pd

import symscreen
from symscreen.screening.class_members import RELATIONS, classify_relations


def test_each_relation_is_told(rng):
    head = rng.uniform(1, 2, 50)
    swapped = head.copy()
    low, high = np.argsort(head)[:2]
    swapped[[low, high]] = head[[high, low]]
    others = np.array([head, head * (1 + 1e-15), -head, 3 - 2 * head, np.exp(head), 1 / head, swapped])
    named = "same values,same values,affine copy,affine copy,same ranks,mirrored ranks,rounding"
    assert classify_relations(head, others) == named.split(",")
    assert set(classify_relations(head, others)) < set(RELATIONS)


def test_a_formula_equal_by_algebra_is_told_from_one_that_is_equal_on_these_rows(rng):
    x = rng.uniform(1, 2, 40)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(0, 0.1, 40)})
    # both columns of values are equal to x up to rounding, but abs(x) is another formula where x < 0
    result = symscreen.screen(frame, layers="uu", unary="exp,log,abs", top=1)
    members = symscreen.classes(result, frame)
    relations = dict(zip(members.expression, members.relation, strict=True))
    assert relations.pop(result.table.expression[0]) == "shown"
    assert {relations[text] for text in relations if text in {"x", "abs(x)"}} <= {"same values", "same ranks"}
    also = symscreen.screen(frame, layers="u", unary="cube", also=["log(exp(x)*exp(1))", "abs(x)"], top=1)
    relations = symscreen.classes(also, frame).set_index("expression").relation
    assert relations["x"] == "shown"
    assert relations["abs(x)"] == "same values"
    assert relations["x**3"] == "same ranks"
