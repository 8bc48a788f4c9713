"""The lists of exponents agree with a sorted list of all products, and many inputs cost nothing."""

from __future__ import annotations

from itertools import islice, product
from math import gcd

import numpy as np
import pytest

from symscreen.fitting.laws.exponent_lists import list_index_exponents
from symscreen.fitting.laws.two_powers import _list_outer_exponents


def get_order(powers):
    """Return what orders exponents, the simplest first."""
    chosen = [place for place, power in enumerate(powers) if power]
    return sum(map(abs, powers)), len(chosen), chosen, [powers[place] for place in chosen]


@pytest.mark.parametrize("n_inputs", [1, 2, 3, 4])
@pytest.mark.parametrize(("max_factors", "max_total"), [(2, None), (3, 4), (5, None)])
def test_all_products_are_listed_once_the_simplest_first(n_inputs, max_factors, max_total):
    every = [
        powers
        for powers in product((-2, -1, 0, 1, 2), repeat=n_inputs)
        if any(powers)
        and next(filter(None, powers)) > 0
        and np.count_nonzero(powers) <= max_factors
        and sum(map(abs, powers)) <= (max_total or 99)
    ]
    for merges_powers in (False, True):
        expected = [powers for powers in every if not merges_powers or gcd(*powers) == 1]
        listed = list(list_index_exponents(n_inputs, max_factors, max_total, merges_powers=merges_powers))
        assert listed == sorted(expected, key=get_order)


def test_thousands_of_inputs_are_listed_as_far_as_they_are_needed():
    first = list(islice(list_index_exponents(5_000, 5), 5_002))
    assert [np.flatnonzero(powers).tolist() for powers in first[-2:]] == [[0, 1], [0, 1]]
    outer = list(islice(_list_outer_exponents(5_000), 250))
    assert len(set(outer)) == 250
