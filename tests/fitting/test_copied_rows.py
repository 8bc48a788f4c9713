from __future__ import annotations

import numpy as np
import pytest

from symscreen.fitting.copied_rows import count_copied_rows


@pytest.mark.parametrize("seed", range(5))
def test_whole_numbers_that_are_equal_by_chance_are_no_copies(seed):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(1, 5, 200).astype(float) for _ in range(3)]
    assert count_copied_rows(columns) == 0


@pytest.mark.parametrize("n_copies", [1, 10, 100])
def test_copies_of_rows_with_levels_and_measurements_are_counted(n_copies, rng):
    columns = [rng.integers(1, 5, 100).astype(float), rng.normal(size=100)]
    copied = [np.concatenate([values, values[:n_copies]]) for values in columns]
    # a single copy among a hundred rows may be chance
    assert count_copied_rows(copied) == (n_copies if n_copies > 3 else 0)
