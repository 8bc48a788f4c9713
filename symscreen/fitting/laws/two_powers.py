"""Find sums of two power products, such as 4·ε·((σ/r)^12 − (σ/r)^6), which may have large exponents.

The law is y = M · (c·θ^p + d·θ^q), with products of powers M and θ of the inputs. Both are simple; p and q
are any integers up to 14, and halves up to 7/2. For one θ, one product of matrices gives the inner
products of M·θ^p with each other, for all M. They determine the fit of every pair of exponents. Unlike the
searches on the scale of logarithms, this one is not disturbed where y changes its sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice, product
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.laws.exponent_lists import list_index_exponents
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import LawData

    _Exponents = tuple[Fraction, ...]


_EXPONENTS = (
    *map(Fraction, range(-14, 15)),
    *(Fraction(numerator, 2) for numerator in range(-7, 8, 2)),
)
_OUTER_EXPONENTS = tuple(Fraction(numerator, 2) for numerator in (-4, -2, -1, 1, 2, 4))
_MAX_FACTORS = 5  # largest number of inputs in θ
_MAX_INDICES, _MAX_OUTER = 30, 250  # products θ and M that are tried, simplest first
_N_SCAN_ROWS = 200
_N_PER_INDEX, _N_COMPARED, _N_FITTED = 6, 60, 6  # pairs that are kept on the scanned rows and on all rows
_MIN_DETERMINANT = 1e-9  # smallest determinant of two products of norm 1; with less they are hardly distinct
_MAX_VALUE = 1e100
_MIN_ROWS = 20


@dataclass(frozen=True, eq=False)
class _Pair:
    """The exponents of the inputs in two power products, and the share of Σ y² that they leave."""

    first: _Exponents
    second: _Exponents
    share: float

    @property
    def key(self) -> frozenset[_Exponents]:
        """What is equal for the same products."""
        return frozenset((self.first, self.second))


def find_sums_of_two_powers(data: LawData) -> list[Law]:
    """Find the best laws y = c·M·θ^p + d·M·θ^q.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. Products and quotients must be among its operators.

    Returns
    -------
    list of Law
        At most six laws of two terms without an intercept, best first.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> r = np.random.default_rng(0).uniform(1, 2, 100)
    >>> data = LawData({"r": r}, 3 / r**12 - 4 / r**6, load_grammar("standard"))
    >>> print(*find_sums_of_two_powers(data)[0].terms)
    1/r**12 1/r**6
    """
    from threadpoolctl import threadpool_limits

    names = [name for name, values in data.columns.items() if (values != 0.0).all()]
    if not data.has_products or not names or len(data.target) < _MIN_ROWS:
        return []
    # powers of inputs near 1 do not overflow, and products differ by a number alone
    inputs = np.array([_divide_by_mean(data.columns[name]) for name in names])
    outer = list(islice(_list_outer_exponents(len(names)), _MAX_OUTER))
    indices = list(islice(list_index_exponents(len(names), _MAX_FACTORS), _MAX_INDICES))
    with threadpool_limits(1):
        ranked = _rank_pairs(indices, outer, inputs, data)
    n_pairs = len(_EXPONENTS) * (len(_EXPONENTS) - 1) / 2.0
    laws = []
    for pair in ranked:
        terms = sorted((_build_product(names, each) for each in (pair.first, pair.second)), key=str)
        law = Law(tuple(terms), has_intercept=False, search_size=n_pairs * len(indices) * len(outer))
        values = [evaluate_expression(term, data.columns) for term in terms]
        if np.isfinite(pair.share) and np.isfinite(values).all() and data.allows(law):
            laws.append(law)
    return laws[:_N_FITTED]


def _divide_by_mean(values: Values) -> Values:
    """Divide an input without zeros by the geometric mean of its sizes, shape (n,)."""
    return np.asarray(values / np.exp(np.log(np.abs(values)).mean()))


def _rank_pairs(
    indices: Sequence[Sequence[int]], outer: Sequence[_Exponents], inputs: Values, data: LawData
) -> list[_Pair]:
    """Rank the best pairs of products of all θ and M by what they leave of all rows; inputs (k, n)."""
    rows = data.select_rows(_N_SCAN_ROWS)
    scanned, target = inputs[:, rows], data.target[rows]
    outer_products = _raise_products(scanned, outer)
    best: dict[frozenset[_Exponents], _Pair] = {}
    for index in indices:
        for pair in _scan_index(index, outer, scanned, outer_products, target):
            best.setdefault(pair.key, pair)
    compared = sorted(best.values(), key=lambda pair: pair.share)[:_N_COMPARED]
    return sorted((_measure_pair(pair, inputs, data.target) for pair in compared), key=_get_order)


def _list_outer_exponents(n_inputs: int) -> Iterator[_Exponents]:
    """Yield the exponents of the inputs in M, simplest first: at most two are not 0."""
    yield (Fraction(0),) * n_inputs
    choices: dict[tuple[Fraction, int], list[_Exponents]] = {}
    for size in (1, 2):
        for powers in sorted(product(_OUTER_EXPONENTS, repeat=size)):
            total = sum((abs(power) * power.denominator for power in powers), Fraction(0))
            choices.setdefault((total, size), []).append(powers)
    for total in sorted({total for total, _ in choices}):
        for first in range(n_inputs):
            for chosen in ((first,), *((first, second) for second in range(first + 1, n_inputs))):
                for powers in choices.get((total, len(chosen)), ()):
                    exponents = [Fraction(0)] * n_inputs
                    for place, power in zip(chosen, powers, strict=True):
                        exponents[place] = power
                    yield tuple(exponents)


def _raise_products(inputs: Values, exponents: Sequence[_Exponents]) -> Values:
    """Evaluate products of powers of inputs, shape (k, n), shape (m, n); NaN or infinite where undefined."""
    with np.errstate(all="ignore"):
        powers = np.array(exponents, dtype=np.float64)[:, :, None]
        return np.asarray((inputs[None] ** powers).prod(axis=1))


def _scan_index(
    index: Sequence[int], outer: Sequence[_Exponents], inputs: Values, outer_products: Values, target: Values
) -> Iterator[_Pair]:
    """Yield the best pairs of products M·θ^p and M·θ^q for one θ."""
    powers = _raise_products(inputs, [tuple(exponent * each for each in index) for exponent in _EXPONENTS])
    is_used = np.isfinite(powers).all(axis=1) & (np.abs(powers) < _MAX_VALUE).all(axis=1)
    is_defined = np.isfinite(outer_products).all(axis=1) & (np.abs(outer_products) < _MAX_VALUE).all(axis=1)
    used, defined = np.flatnonzero(is_used), np.flatnonzero(is_defined)
    pairs = list(combinations(range(len(used)), 2))
    if not pairs:
        return
    shares = _compute_shares(powers[used], outer_products[defined], target, pairs)
    places = np.flatnonzero(shares <= np.partition(shares, _N_PER_INDEX, axis=None)[_N_PER_INDEX - 1])
    for place in places[np.argsort(shares.flat[places], kind="stable")][:_N_PER_INDEX].tolist():
        pair, own = divmod(place, len(defined))
        exponents = [_EXPONENTS[used[each]] for each in pairs[pair]]
        first, second = (
            tuple(power + exponent * each for power, each in zip(outer[defined[own]], index, strict=True))
            for exponent in exponents
        )
        yield _Pair(first, second, float(shares[pair, own]))


def _compute_shares(
    powers: Values, outer_products: Values, target: Values, pairs: Sequence[tuple[int, int]]
) -> Values:
    """Compute the shares of Σ y² that pairs of products leave.

    Parameters
    ----------
    powers : float64 array, shape (k, n)
        θ^p.
    outer_products : float64 array, shape (m, n)
        M.
    target : float64 array, shape (n,)
        y.
    pairs : sequence of (int, int)
        Places of two powers.

    Returns
    -------
    float64 array, shape (pairs, m)
        Infinite where the products are hardly distinct.
    """
    first, second = np.array(pairs, dtype=np.int64).T
    norms = np.sqrt((powers**2) @ (outer_products**2).T)
    with np.errstate(all="ignore"):
        explained = powers @ (outer_products * (target / np.linalg.norm(target))).T / norms
        cosine = (powers[first] * powers[second]) @ (outer_products**2).T / (norms[first] * norms[second])
        own, other = explained[first], explained[second]
        determinant = 1.0 - cosine**2
        shares = 1.0 - own**2 - (other - cosine * own) ** 2 / determinant
    return np.where(determinant > _MIN_DETERMINANT, np.maximum(shares, 0.0), np.inf)


def _measure_pair(pair: _Pair, inputs: Values, target: Values) -> _Pair:
    """Compute the share that a pair leaves of all rows; infinite if a product is undefined."""
    values = _raise_products(inputs, [pair.first, pair.second])
    if not (np.abs(values) < _MAX_VALUE).all():
        return _Pair(pair.first, pair.second, np.inf)
    design = (values / np.linalg.norm(values, axis=1, keepdims=True)).T
    residuals = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return _Pair(pair.first, pair.second, float(residuals @ residuals) / float(target @ target))


def _get_order(pair: _Pair) -> tuple[float, Fraction, _Exponents]:
    """Return what orders pairs: the share up to rounding, then the sizes of the exponents."""
    return round(pair.share, 12), sum(map(abs, (*pair.first, *pair.second)), Fraction(0)), pair.first


def _build_product(names: Sequence[str], exponents: _Exponents) -> Expression:
    """Build a product of powers of inputs."""
    return build_power_product(list_column_powers(zip(names, exponents, strict=True)))
