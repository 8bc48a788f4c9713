"""Find power products with two sums or functions: y = c · Π xᵢ^aᵢ · A^p · B^q.

The logarithm of such a law is linear in log|A| and log|B|. The inputs are projected out of all logarithms
once. The best p and q of every pair then follow from three inner products. Beside the simplest formulas and
the best single ones, A and B are sums of two power products u ± v, which the pool has only in part. With the
inputs projected out, these are 1 ± θ with one product θ = v/u.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, islice, product
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import compute_complexity, evaluate_expression
from symscreen.expressions.tree import Column, Constant, apply_operator
from symscreen.fitting.laws.log_scale import compute_log_scale
from symscreen.fitting.laws.power_expressions import build_power_product
from symscreen.fitting.laws.power_products import compute_log_shares, fit_power_product, project_logarithms
from symscreen.fitting.laws.unit_lattice import build_unit_lattice
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import Law, LawData
    from symscreen.fitting.laws.log_scale import LogScale
    from symscreen.units import Units


_N_SIMPLE = 800  # simplest formulas of the pool
_N_BEST = 400  # formulas of the pool that explain most on their own
_MAX_INDICES = 600  # products θ of the inputs
_MAX_WAVE_INDICES = 60  # products θ that are multiplied by a sine or cosine of an input
_MAX_FACTORS = 4  # inputs in θ
_BLOCK_FORMULAS = 512  # formulas whose pairs with all others are compared together
_N_PAIRS = 300  # pairs that are compared on more rows
_MAX_ROWS = 2_000  # rows of the second comparison
_N_FITTED = 40  # pairs that are fitted
_MAX_CORRELATION = 1.0 - 1e-8  # of log|A| and log|B|
_MIN_ROWS = 40


def find_two_factor_products(data: LawData) -> list[Law]:
    """Find the best laws y = c · Π xᵢ^aᵢ · A^p · B^q.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. Products, quotients and sums must be among its operators, else there are
        no laws of this form.

    Returns
    -------
    list of Law
        Laws without an intercept, best first.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> w, v, a = rng.uniform(1, 2, (3, 300))
    >>> columns = {"w": w, "v": v, "a": a, "c": rng.uniform(3, 9, 300)}
    >>> target = w * np.sqrt(1 - v**2 / columns["c"]**2) / (1 + v / columns["c"] * np.cos(a))
    >>> laws = find_two_factor_products(LawData(columns, target, load_grammar("standard")))
    >>> print(f"{abs(evaluate_expression(laws[0].terms[0], columns) / target).std():.6f}")
    0.000000
    """
    scale = compute_log_scale(data.columns, data.target, data.units)
    operators = {operator.name for operator in data.grammar.binary}
    if (
        not {"mul", "div", "add", "sub"} <= operators
        or len(data.target) < _MIN_ROWS
        or not scale.weights.any()
    ):
        return []
    formulas = _list_formulas(data, scale)
    pairs = _rank_pairs(formulas, data, scale) if len(formulas) > 1 else []
    found: dict[str, tuple[float, Law]] = {}
    n_choices = len(formulas) * (len(formulas) - 1) / 2.0
    for pair in pairs[:_N_FITTED]:
        fitted = fit_power_product([formulas[place] for place in pair], n_choices, data, scale)
        if fitted is not None and data.allows(fitted[1]):
            found.setdefault(str(fitted[1].terms[0]), fitted)
    ranked = sorted(found.values(), key=lambda each: (each[0], compute_complexity(each[1].terms[0])))
    return [law for _, law in ranked]


def _list_formulas(data: LawData, scale: LogScale) -> list[Expression]:
    """Return the formulas A and B, without repetitions."""
    pool = data.pool
    shares = compute_log_shares(pool.values, scale.take(data.pool_rows), pool.units)
    best = np.lexsort((np.arange(len(shares)), pool.complexity, shares))[:_N_BEST]
    places = dict.fromkeys([*range(min(_N_SIMPLE, len(pool))), *np.sort(best).tolist()])
    formulas = [pool.build_expression(place) for place in places if np.isfinite(shares[place])]
    if data.lattice is None:
        return list(dict.fromkeys([*formulas, *list_binomials(data, scale.names)]))
    binomials = [each for each in list_binomials(data, scale.names) if data.lattice.has_unit(each)]
    return list(dict.fromkeys([*formulas, *binomials]))


def list_binomials(data: LawData, names: Sequence[str]) -> Iterator[Expression]:
    """Yield u + v and u − v for products of powers, and with a sine or cosine in one, simplest first."""
    unary = {operator.name for operator in data.grammar.unary}
    waves = [
        apply_operator(OPERATORS[name], Column(column))
        for name in ("sin", "cos")
        if name in unary
        for column in data.columns
    ]
    indices = list(islice(_list_indices(names, data.units), _MAX_INDICES))
    for place, powers in enumerate(indices):
        numerator, denominator = (
            [
                (Column(name), Fraction(abs(power)))
                for name, power in zip(names, powers, strict=True)
                if sign * power > 0
            ]
            for sign in (1, -1)
        )
        left = build_power_product(denominator) if denominator else Constant(1)
        right = build_power_product(numerator) if numerator else Constant(1)
        yield from _combine(left, right)
        if place < _MAX_WAVE_INDICES:
            for wave in waves:
                for first, second in ((left, right), (right, left)):
                    factor = wave
                    if second != Constant(1):
                        factor = apply_operator(OPERATORS["mul"], second, wave)
                    yield from _combine(first, factor)


def _combine(left: Expression, right: Expression) -> Iterator[Expression]:
    for name in ("add", "sub"):
        yield apply_operator(OPERATORS[name], left, right)


def _list_indices(names: Sequence[str], units: Units | None) -> Iterator[tuple[int, ...]]:
    """Yield exponents of θ, simplest first; with units, those of dimensionless products alone."""
    if units is None:
        yield from _list_exponents(len(names))
        return
    lattice = build_unit_lattice(units, tuple(names))
    listed = list(_list_exponents(len(names)))
    is_allowed = lattice.select_dimensionless(np.array(listed, dtype=np.int64).reshape(-1, len(names)))
    yield from (powers for powers, allowed in zip(listed, is_allowed.tolist(), strict=True) if allowed)


def _list_exponents(n_inputs: int) -> Iterator[tuple[int, ...]]:
    """Yield exponents of θ, simplest first; of θ and 1/θ, only one."""
    sizes = range(1, min(n_inputs, _MAX_FACTORS) + 1)
    candidates = (
        (sum(map(abs, powers)), len(chosen), chosen, powers)
        for size in sizes
        for chosen in combinations(range(n_inputs), size)
        for powers in product((1, -1, 2, -2), repeat=size)
        if powers[0] > 0 and sum(map(abs, powers)) <= _MAX_FACTORS + 1
    )
    for _, _, chosen, powers in sorted(candidates):
        exponents = [0] * n_inputs
        for place, power in zip(chosen, powers, strict=True):
            exponents[place] = power
        yield tuple(exponents)


def _rank_pairs(formulas: Sequence[Expression], data: LawData, scale: LogScale) -> list[tuple[int, int]]:
    """Return the pairs of formulas that leave least of log|y|, best first."""
    rows = data.pool_rows
    directions, target, kept = _evaluate(formulas, range(len(formulas)), rows, data, scale)
    if target is None:
        return []
    candidates: list[tuple[float, int, int]] = []
    strength = directions @ target
    for start in range(0, len(kept), _BLOCK_FORMULAS):
        block = slice(start, start + _BLOCK_FORMULAS)
        correlations = directions[block] @ directions[start:].T
        own, other = strength[block, None], strength[start:]
        with np.errstate(divide="ignore", invalid="ignore"):
            explained = (own**2 + other**2 - 2.0 * own * other * correlations) / (1.0 - correlations**2)
        explained[np.abs(correlations) > _MAX_CORRELATION] = -1.0
        explained[np.tril_indices(len(explained), 0, explained.shape[1])] = -1.0
        flat = explained.ravel()
        best = np.argpartition(-flat, min(_N_PAIRS, len(flat) - 1))[:_N_PAIRS]
        lefts, rights = np.unravel_index(best, explained.shape)
        candidates += [
            (-float(value), int(left) + start, int(right) + start)
            for value, left, right in zip(flat[best], lefts, rights, strict=True)
            if value >= 0.0
        ]
    candidates.sort()
    pairs = [(int(kept[left]), int(kept[right])) for _, left, right in candidates[:_N_PAIRS]]
    return _rank_again(pairs, formulas, data, scale)


def _rank_again(
    pairs: Sequence[tuple[int, int]], formulas: Sequence[Expression], data: LawData, scale: LogScale
) -> list[tuple[int, int]]:
    """Rank pairs on more rows."""
    places = sorted({place for pair in pairs for place in pair})
    rows = data.select_rows(_MAX_ROWS)
    directions, target, kept = _evaluate(formulas, places, rows, data, scale)
    if target is None:
        return []
    position = {int(place): index for index, place in enumerate(kept)}
    ranked = []
    for number, (left, right) in enumerate(pairs):
        if left in position and right in position:
            design = directions[[position[left], position[right]]].T
            solution = np.linalg.lstsq(design, target, rcond=None)[0]
            residuals = target - design @ solution
            ranked.append((float(residuals @ residuals), number))
    return [pairs[number] for _, number in sorted(ranked)]


def _evaluate(
    formulas: Sequence[Expression],
    places: Sequence[int],
    rows: NDArray[np.int64],
    data: LawData,
    scale: LogScale,
) -> tuple[Values, Values | None, NDArray[np.int64]]:
    """Evaluate the logarithms of some formulas without the inputs.

    Returns
    -------
    float64 array, shape (q, m)
        Directions of the logarithms, of norm 1.
    float64 array, shape (m,), or None
        The same for the target; None if the inputs explain it.
    int64 array, shape (q,)
        Places of the formulas that are defined in all rows and not products of powers.
    """
    columns = {name: values[rows] for name, values in data.columns.items()}
    with np.errstate(all="ignore"):
        values = np.array(
            [evaluate_expression(formulas[place], columns) * np.ones(len(rows)) for place in places]
        )
    units = None
    if data.lattice is not None:
        units = data.lattice.compute_units([formulas[place] for place in places])
    directions, target, indices = project_logarithms(values, scale.take(rows), units)
    return directions, target, np.array(list(places), dtype=np.int64)[indices]
