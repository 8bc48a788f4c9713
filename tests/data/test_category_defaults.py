"""Text columns of few levels are used as categories unless the user says otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.data.categories import find_few_levels
from symscreen.data.sources import read_frame
from symscreen.errors import DataError


@pytest.fixture
def sites(rng):
    frame = pd.DataFrame({"site": ["north", "south", "east"] * 20, "x": rng.uniform(1, 2, 60)})
    return frame.assign(y=frame["x"] + 3.0 * (frame["site"] == "south"))


def test_few_levels_become_columns_of_0_and_1_and_are_said(sites):
    result = symscreen.screen(sites, layers="b", binary="add", top=3)
    assert result.record["data"]["inputs"] == ["site = east", "site = north", "site = south", "x"]
    assert "`site = south` + x" in {*result.table["expression"]}
    (notice,) = [each for each in result.notices if each.startswith("categories:")]
    assert notice == (
        "categories: 'site' as columns of 0 and 1, one for each level; leave them out (exclude=), or let "
        "levels "
        "multiply inputs (categorical=['site'])"
    )


def test_new_rows_and_the_record_know_the_categories(sites):
    result = symscreen.screen(sites, layers="b", binary="add", top=3)
    again = symscreen.screen(
        sites, layers="b", binary="add", top=3, categorical=["site"], categorical_as="onehot"
    )
    pd.testing.assert_frame_equal(result.table, again.table)
    assert result.record["options"]["levels"] == {"site": ["east", "north", "south"]}
    pd.testing.assert_frame_equal(result.transform(sites), again.transform(sites))


def test_a_category_may_be_excluded_or_multiply_inputs(sites):
    left_out = symscreen.screen(sites, layers="u", unary="square", exclude=["site"])
    assert left_out.record["data"]["inputs"] == ["x"]
    assert not any(each.startswith("categories:") for each in left_out.notices)
    gated = symscreen.screen(sites, layers="u", unary="square", categorical=["site"])
    assert "x·1[site = south]" in gated.record["data"]["inputs"]
    named = symscreen.screen(sites, layers="u", unary="square", inputs=["x"])
    assert named.record["data"]["inputs"] == ["x"]


def test_a_category_or_one_of_its_levels_may_be_named_as_an_input(sites):
    by_column = symscreen.screen(sites, layers="u", unary="square", inputs=["x", "site"])
    assert by_column.record["data"]["inputs"] == ["site = east", "site = north", "site = south", "x"]
    by_level = symscreen.screen(sites, layers="u", unary="square", inputs=["x", "site = south"])
    assert by_level.record["data"]["inputs"] == ["site = south", "x"]
    with pytest.raises(DataError, match="no column 'site = west'"):
        symscreen.screen(sites, layers="u", unary="square", inputs=["x", "site = west"])


def test_the_inputs_that_matter_are_inputs_of_a_screen(sites):
    selected = symscreen.screen_inputs(sites).selected
    assert selected == ["site = south", "x"]
    result = symscreen.screen(sites, layers="u", unary="square", inputs=selected)
    assert result.record["data"]["inputs"] == selected


def test_levels_that_multiply_inputs_may_be_named(sites):
    options = {"layers": "u", "unary": "square", "categorical": ["site"]}
    result = symscreen.screen(sites, inputs=["x", "x·1[site = south]"], **options)
    assert result.record["data"]["inputs"] == ["x", "x·1[site = south]"]


def test_a_text_target_is_no_category(sites):
    result = symscreen.screen(sites, target="site", layers="u", unary="square")
    assert result.record["data"]["inputs"] == ["x", "y"]


@pytest.mark.parametrize(
    ("texts", "is_category"),
    [
        (["a", "b"] * 30, True),
        (["a"] * 60, False),
        ([f"row {i}" for i in range(60)], False),
        ([*"abcdef"] * 10, True),
        ([*"abcdefg"] * 9, False),
        (["a", "b", None] * 20, False),
        (["a", "b"] * 9, False),
    ],
)
def test_what_counts_as_few_levels(texts, is_category):
    assert find_few_levels(read_frame({"c": texts, "x": np.arange(len(texts))}), []) == ["c"] * is_category


def test_too_many_levels_together_are_left_out():
    columns = {name: [*"abcdef"] * 10 for name in ("c1", "c2", "c3")}
    assert find_few_levels(read_frame(columns), []) == []
    assert find_few_levels(read_frame(columns), ["c3"]) == ["c1", "c2"]


def test_whole_numbers_that_may_be_classes_are_asked_for(rng):
    frame = pd.DataFrame({"x": rng.normal(size=60), "species": [0, 1, 2] * 20})
    (notice,) = symscreen.screen(frame, layers="u", unary="square", target="species").notices
    assert notice == (
        "target: 'species' has the integers 0 to 2 only, and is scored as a number; if they are "
        "classes, "
        "say so: target_type='classes'"
    )
    options = {"layers": "u", "unary": "square", "target": "species", "target_type": "classes"}
    assert symscreen.screen(frame, **options).notices == ()


def test_inputs_that_may_be_codes_are_asked_for(rng):
    origin, cylinders, doors = rng.integers(1, 4, 80), rng.choice([4, 6, 8], 80), rng.integers(0, 5, 80)
    x = rng.normal(size=80)
    frame = pd.DataFrame({"x": x, "origin": origin, "cylinders": cylinders, "y": x})
    options = {"layers": "u", "unary": "square", "target": "y"}
    (notice,) = symscreen.screen(frame, **options).notices
    assert notice == (
        "inputs: 'origin' has the integers 1 to 3 only, and is read as a number; if they are "
        "categories, say so: categorical=['origin']"
    )
    (notice,) = symscreen.screen(frame.assign(doors=doors), **options).notices
    assert notice.startswith("inputs: 'origin', 'doors' have few integers only")
    for said in ({"categorical": ["origin"]}, {"inputs": ["x", "origin"]}, {"exclude": ["origin"]}):
        notices = symscreen.screen(frame, **options, **said).notices
        assert not any(notice.startswith("inputs:") for notice in notices)
