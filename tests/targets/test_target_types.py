"""What holds of every target type: each test runs over the registry."""

from __future__ import annotations

import json
import re
from typing import get_args

import numpy as np
import pytest

from symscreen._option_values import TargetTypeChoice
from symscreen.data import TargetSource, detect_target_type, read_source, take_inputs, take_rows
from symscreen.data.dataset import build_dataset
from symscreen.errors import OptionError
from symscreen.screeners import SCREENERS, Screener
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets.registry import TARGET_TYPES

N = 40
ALL = np.ones(N, dtype=np.bool_)


@pytest.fixture(params=TARGET_TYPES)
def target(request, rng):
    return TARGET_TYPES[request.param].build_example(np.sort(np.round(rng.normal(size=N), 1)))


@pytest.fixture
def inputs(rng):
    """Few distinct values, so that the target has to break ties, and others."""
    return {
        "b": rng.integers(0, 3, N).astype(float),
        "a": rng.integers(0, 2, N) - 0.5,
        "c": rng.normal(size=N),
    }


def _build(inputs, target, order=None):
    """Build a dataset from rows of a target in any order."""
    order = np.arange(N) if order is None else order
    columns = {name: column[order] for name, column in inputs.items()}
    return build_dataset(columns, lambda used, rows: target.take_rows(used, order[rows]), ALL[: len(order)])


def test_the_order_of_rows_and_inputs_decides_nothing(target, inputs, rng):
    expected = _build(inputs, target)
    order = rng.permutation(N)
    found = _build(dict(sorted(inputs.items())), target, order)
    assert found.digest == expected.digest
    assert found.columns.tobytes() == expected.columns.tobytes()
    assert np.asarray(found.target.data).tobytes() == np.asarray(expected.target.data).tobytes()
    assert sorted(found.source_rows.tolist()) == list(range(N))
    columns = np.stack([inputs[name] for name in found.names])
    assert (columns[:, order[found.source_rows]] == found.columns).all()


def test_rows_without_ties_among_inputs_come_back_in_the_same_order(target, inputs):
    dataset = _build(inputs, target)
    again = take_rows(dataset, np.arange(N))
    assert (again.digest, again.source_rows.tolist()) == (dataset.digest, dataset.source_rows.tolist())


def test_rows_taken_are_what_is_built_from_these_rows(target, inputs, rng):
    rows = np.sort(rng.choice(N, 30, replace=False))
    dataset = _build(inputs, target)
    part = take_rows(dataset, rows)
    assert part.digest == _build(inputs, target, dataset.source_rows[rows]).digest
    assert part.target.n == 30
    assert sorted(part.source_rows.tolist()) == sorted(dataset.source_rows[rows].tolist())


def test_fewer_inputs_are_what_is_built_from_these_inputs(target, inputs):
    expected = _build({name: inputs[name] for name in ("a", "c")}, target)
    assert take_inputs(_build(inputs, target), ["c", "a"]).digest == expected.digest


def test_the_digest_shows_every_change(target, inputs):
    dataset = _build(inputs, target)
    reversed_rows = np.arange(N)[::-1].copy()
    moved = build_dataset(inputs, lambda used, rows: target.take_rows(used, reversed_rows[rows]), ALL)
    changed = inputs | {"c": inputs["c"] + np.eye(N)[3]}
    renamed = dict(zip("xyz", inputs.values(), strict=True))
    digests = {dataset.digest, moved.digest, _build(changed, target).digest, _build(renamed, target).digest}
    assert len(digests) == 4


def test_a_screen_gets_what_it_needs(target, rng):
    ordered = sort_block(rng.normal(size=(5, target.n)))
    assert target.gini_mean_difference > 0.0
    alignment = target.compute_alignment(ordered)
    assert alignment.shape == (5,)
    assert ((alignment >= 0.0) & (alignment <= 1.0 + 1e-12)).all()
    directions = target.find_directions(ordered, np.ones(5, dtype=np.int8))
    assert directions.dtype == np.int8
    assert set(directions.tolist()) <= {-1, 0, 1}
    supporting = [
        screener
        for screener in SCREENERS.values()
        if isinstance(screener, Screener) and target.target_type in screener.target_types
    ]
    assert supporting or target.combines_outputs
    for screener in supporting:
        assert np.isfinite(screener.score(screener.statistic(ordered, target), target)).all()
    assert target.names
    assert target.n_labels >= 2


def test_records_are_plain_and_named_like_the_type(target):
    assert set(json.loads(json.dumps(target.record))) <= {target.target_type}
    assert json.dumps(target.digest_metadata)
    assert TARGET_TYPES[target.target_type] is type(target)


def test_options_without_meaning_are_refused_with_the_reason(target):
    target.check_options("free", "exact", 1)
    if target.sign_conflict is not None:
        with pytest.raises(OptionError, match=r"sign='positive' has no meaning with .*; leave it out"):
            target.check_options("positive", "exact", 1)
    if not target.supports_inference:
        for options in (("free", "race", 1), ("free", "sieve", 1), ("free", "exact", 2)):
            with pytest.raises(OptionError, match=re.escape(target.description)):
                target.check_options(*options)


SOURCES = {
    "numeric": {"target": "y"},
    "classes": {"target": "word"},
    "several": {"target": "y,x"},
    "ranking": {"ranking": "taste"},
    "stages": {"stages": ["seen", "liked"]},
    "survival": {"target": "x", "event": "liked"},
    "weighted": {"target": "y", "weights": np.array([1.0, 2.0, 1.0, 2.0, 3.0, 1.0])},
}
TABLE = {
    "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "z": [2.0, 1.0, 3.0, 3.0, 1.0, 5.0],
    "y": [3.0, 1.0, 2.0, 6.0, 5.0, 4.0],
    "word": list("aabbab"),
    "taste": ["p>q", "q>p", "p>q", "q>p", "p>q", "q>p"],
    "seen": [1, 1, 1, 1, 1, 0],
    "liked": [1, 0, 1, 0, 1, 0],
}


@pytest.mark.parametrize(("name", "options"), SOURCES.items())
def test_exactly_one_type_is_found_in_a_source(name, options):
    source = TargetSource(TABLE, **options)
    assert detect_target_type(source) is TARGET_TYPES[name]
    assert [key for key, one in TARGET_TYPES.items() if one.matches(source)] == [name] * (name != "numeric")
    dataset = read_source(source, TARGET_TYPES[name], inputs=None, missing="refuse")
    assert dataset.target.target_type == name
    assert set(dataset.names).isdisjoint(dataset.target.names)


def test_every_type_can_be_read():
    assert set(SOURCES) == set(TARGET_TYPES)
    assert set(get_args(TargetTypeChoice)) <= set(TARGET_TYPES)
