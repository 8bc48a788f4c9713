from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from symscreen.errors import DataError
from symscreen.multistage import compute_error_rates, count_inconsistencies
from symscreen.targets.stages import list_stage_pairs


def test_every_set_of_predictions_for_two_stages_is_judged_rightly():
    for one, both, two in product((-1, 1), repeat=3):
        found = count_inconsistencies([[one, both, two]])
        assert found.forward == (both > one)
        assert found.backward == (both > two)
        assert found.rows == (both > one or both > two) == found.share


def test_thresholds_of_monotone_scores_are_consistent_and_others_are_not(rng):
    pairs, q = list_stage_pairs(4), rng.random((200, 4))
    f = np.stack([1 - q[:, a:b].sum(axis=1) for a, b in pairs], axis=1)
    assert count_inconsistencies(np.where(f > 0, 1, -1)) == (0.0, 0, 0, 0)
    found = count_inconsistencies(rng.choice([-1, 1], size=(200, len(pairs))))
    assert found.rows > 100
    assert found.forward > 0 < found.backward


def test_errors_are_counted_as_defined(rng):
    outcomes = np.minimum.accumulate(rng.choice([-1, 1, 1], size=(120, 4)), axis=1).astype(np.int8)
    outcomes[rng.random((120, 4)) < 0.2] = 0
    predicted = rng.choice([-1, 1], size=(120, 6))
    found = compute_error_rates(predicted, outcomes)
    wrong, seen, balanced = 0, 0, []
    for p, (present, later) in enumerate(list_stage_pairs(3)):
        rows = [r for r in range(120) if outcomes[r, present] == 1 and outcomes[r, later] != 0]
        errs = [bool(predicted[r, p] != outcomes[r, later]) for r in rows]
        classes = [[e for r, e in zip(rows, errs, strict=True) if outcomes[r, later] == s] for s in (-1, 1)]
        balanced.append(np.mean([np.mean(c) for c in classes if c]))
        assert found.by_pair[p] == pytest.approx(np.mean(errs))
        assert found.balanced_by_pair[p] == pytest.approx(balanced[-1])
        wrong, seen = wrong + sum(errs), seen + len(errs)
    assert found.overall == pytest.approx(wrong / seen)
    assert found.balanced == pytest.approx(np.mean(balanced))


def test_a_pair_never_observed_has_no_error():
    found = compute_error_rates([[1, 1, 1]], np.array([[1, -1, -1]], dtype=np.int8))
    assert np.isnan(found.by_pair[2])
    assert found.overall == 1.0


def test_what_does_not_fit_is_refused():
    with pytest.raises(DataError, match="one column for each pair of stages"):
        count_inconsistencies([[1, 1]])
    with pytest.raises(DataError, match="row 2 of the predictions"):
        count_inconsistencies([[1], [0]])
    with pytest.raises(DataError, match="do not fit"):
        compute_error_rates([[1, 1, 1]], np.ones((1, 2), dtype=np.int8))


def test_lists_will_do_and_ragged_ones_are_refused():
    assert compute_error_rates([[1, -1, 1]], [[1, 1, -1]]).overall == pytest.approx(1 / 3)
    with pytest.raises(DataError, match="rows of the predictions differ in length"):
        count_inconsistencies([[1, 1, 1], [1]])
    with pytest.raises(DataError, match="rows of the outcomes differ in length"):
        compute_error_rates([[1, 1, 1]], [[1, 1, 1], [1]])
    with pytest.raises(DataError, match="row 1 of the outcomes holds a value other"):
        compute_error_rates([[1, 1, 1]], [[1, 2, 1]])
