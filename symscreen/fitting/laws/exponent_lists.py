"""List the exponents of products of powers θ = Π xᵢ^aᵢ of inputs, simplest first."""

from __future__ import annotations

from itertools import combinations, product
from math import gcd
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


MAX_LISTED_EXPONENTS = 1_000_000
"""Exponents that are tested for their unit; up to 13 inputs have fewer."""

_EXPONENTS = (1, -1, 2, -2)


def list_index_exponents(
    n_inputs: int, max_factors: int, max_total: int | None = None, *, merges_powers: bool = True
) -> Iterator[tuple[int, ...]]:
    """Yield the exponents ±1 and ±2 of θ, those with the smallest Σ|aᵢ| first; of θ and 1/θ, only one.

    They are yielded as they are needed, because many inputs have too many of them for a list.

    Parameters
    ----------
    n_inputs : int
        Number of inputs.
    max_factors : int
        Maximum number of inputs in θ.
    max_total : int, optional
        Maximum of Σ|aᵢ|.
    merges_powers : bool
        Whether powers of θ, which have the same order of rows, are left out.

    Yields
    ------
    tuple of int
        An exponent for each input.

    Examples
    --------
    >>> list(list_index_exponents(2, 2, max_total=2))
    [(1, 0), (0, 1), (1, -1), (1, 1)]
    """
    max_size = min(n_inputs, max_factors)
    for total in range(1, min(2 * max_size, max_total or 2 * max_size) + 1):
        for size in range((total + 1) // 2, min(total, max_size) + 1):
            choices = sorted(
                powers
                for powers in product(_EXPONENTS, repeat=size)
                if powers[0] > 0
                and sum(map(abs, powers)) == total
                and not (merges_powers and gcd(*powers) > 1)
            )
            for chosen in combinations(range(n_inputs), size):
                for powers in choices:
                    exponents = [0] * n_inputs
                    for place, power in zip(chosen, powers, strict=True):
                        exponents[place] = power
                    yield tuple(exponents)
