"""The profile of the data on a page."""

from __future__ import annotations

import copy
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symscreen
from symscreen.report.columns import format_typeset_number
from symscreen.report.data_profile import count_ties, list_profile_facts, summarize_columns


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"speed": rng.uniform(1, 2, 40), "n": np.repeat([1.0, 2.5], 20)})
    frame["y"] = frame.speed.round(1)
    frame.loc[[3, 8], "speed"] = np.nan
    return symscreen.screen(frame, target="y", layers="u", unary="square", top=3)


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30))
def test_ties_are_those_of_a_count(values):
    counts = Counter(values)
    n_distinct, tied = count_ties(np.array(values))
    assert n_distinct == len(counts)
    assert tied == pytest.approx(sum(n for n in counts.values() if n > 1) / len(values))


def test_facts_tell_rows_missing_values_and_ties(result):
    facts = {fact.title: fact for fact in list_profile_facts(result)}
    assert facts["rows"].value == "38"
    assert facts["inputs"].value == "2"
    assert facts["missing values"].value == "2 rows dropped"
    assert facts["formulas scored"].value == f"{result.n_scored}"
    n_distinct, tied = count_ties(result.data.target.values)
    assert facts["target"].value == "y"
    assert (
        facts["target"].remark == f"{n_distinct} distinct values; {100 * tied:.0f} % of rows tie with another"
    )


def test_without_data_the_facts_are_those_of_the_record(result):
    facts = {fact.title: fact for fact in list_profile_facts(copy.copy(result))}
    assert facts["rows"].value == "38"
    assert facts["target"].remark == "a numeric target"
    assert summarize_columns(copy.copy(result)) == []


def test_columns_are_summarised_with_their_units():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"mass": rng.uniform(1, 2, 30), "speed": rng.uniform(1, 2, 30)})
    frame["energy"] = frame.mass * frame.speed**2
    units = {"mass": "g", "speed": "m/s", "energy": "J"}
    columns = summarize_columns(symscreen.screen(frame, target="energy", units=units, layers="b", top=2))
    assert [(each.name, each.unit) for each in columns] == [
        ("energy", "kg*m**2/s**2"),
        ("mass", "kg"),
        ("speed", "m/s"),
    ]
    assert columns[1].maximum == format_typeset_number(
        frame.mass.max() / 1000, 4
    )  # in base units, like the formulas
    assert [each.distinct for each in columns] == ["30"] * 3
    assert {each.tied for each in columns} == {"0 %"}
