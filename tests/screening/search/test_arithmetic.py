from __future__ import annotations

import numpy as np
import pytest

from symscreen.grammar import OPERATORS
from symscreen.screening.search.subsamples import (
    UNDEFINED,
    count_arithmetic_discordance,
    count_doubled_discordance,
    is_numpy_arithmetic,
)

FOUR = ["add", "sub", "mul", "div"]


def test_the_four_operators_are_the_shipped_ones():
    found = [name for name, operator in OPERATORS.items() if is_numpy_arithmetic(operator.numeric)]
    assert [name for name in found if OPERATORS[name].arity == 2] == FOUR


@pytest.mark.parametrize("name", FOUR)
@pytest.mark.parametrize("pairs", [1, 3, 8, 65])
def test_counts_are_those_of_the_values(rng, name, pairs):
    numeric = OPERATORS[name].numeric
    pool = rng.integers(-3, 4, (12, 2 * pairs)).astype(float)  # ties, and quotients by zero
    pool[3] = rng.normal(size=2 * pairs) * 1e200  # overflows
    pool[4] = rng.lognormal(size=2 * pairs)
    left, right = (places.ravel() for places in np.meshgrid(np.arange(12), np.arange(12)))
    with np.errstate(all="ignore"):
        expected = count_doubled_discordance(numeric(pool[left], pool[right]))
    assert count_arithmetic_discordance(numeric, pool, left, right).tolist() == expected.tolist()
    if name in {"mul", "div"}:
        assert (expected == UNDEFINED).any()
        assert (expected != UNDEFINED).any()


def test_other_functions_are_not_taken_for_arithmetic():
    assert not is_numpy_arithmetic(np.maximum)
    assert not is_numpy_arithmetic(lambda a, b: a + b)
