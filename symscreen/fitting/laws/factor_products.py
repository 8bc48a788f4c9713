"""Find power products with two or three sums or functions: y = c · Π xᵢ^aᵢ · A^p · B^q · C^r.

The logarithm of such a law is linear in log|A| and log|B|. The inputs are projected out of all logarithms
once. The best p and q of every pair then follow from three inner products. The formulas that are most
frequent in the best pairs are also combined with all pairs of others. Besides the simplest formulas and the
best single ones, the factors are waves of multiples of θ, and sums of two power products u ± v, which the
pool has only in part. With the inputs projected out, a sum is 1 ± θ with one product θ = v/u.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import compute_complexity, evaluate_expression
from symscreen.expressions.tree import Column, Constant, apply_operator
from symscreen.fitting.laws.exponent_lists import MAX_LISTED_EXPONENTS, list_index_exponents
from symscreen.fitting.laws.log_scale import compute_log_scale
from symscreen.fitting.laws.parallel import map_in_threads
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers
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
_MAX_FACTORS = 4  # largest number of inputs in θ
_MAX_BINOMIALS = 8_000  # sums and differences that are tried; up to 14 inputs have fewer
_MAX_SCALED_WAVE_INDICES = 40  # products θ whose waves with other numbers than 1 are tried
_BLOCK_FORMULAS = 512  # formulas whose pairs with all others are compared together
_N_PAIRS = 300  # pairs that are compared on more rows
_MAX_ROWS = 2_000  # rows of the second comparison
_N_FITTED = 40  # pairs that are fitted
_N_COMMON_FACTORS = 3  # formulas of the best pairs, with which triples are formed
_N_TRIPLES = 60  # triples of each that are compared on more rows
_MIN_NORM = 1e-4  # smallest norm of what one direction leaves of another
_N_FITTED_TRIPLES = 20  # triples that are fitted
_MAX_CORRELATION = 1.0 - 1e-8  # largest correlation of log|A| and log|B|
_MIN_ROWS = 40


def find_factor_products(data: LawData) -> list[Law]:
    """Find the best laws y = c · Π xᵢ^aᵢ · A^p · B^q and y = c · Π xᵢ^aᵢ · A^p · B^q · C^r.

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
    >>> w, v, a = rng.uniform(1, 2, (3, 100))
    >>> columns = {"w": w, "v": v, "a": a, "c": rng.uniform(3, 9, 100)}
    >>> target = w * np.sqrt(1 - v**2 / columns["c"]**2) / (1 + v / columns["c"] * np.cos(a))
    >>> data = LawData(columns, target, load_grammar("standard"), pool_limit=1000)
    >>> laws = find_factor_products(data)
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
    found: dict[str, tuple[float, Law]] = {}
    for places in _rank_factors(formulas, data, scale) if len(formulas) > 1 else []:
        n_choices = float(math.comb(len(formulas), len(places)))
        fitted = fit_power_product([formulas[place] for place in places], n_choices, data, scale)
        if fitted is not None and data.allows(fitted[1]):
            found.setdefault(str(fitted[1].terms[0]), fitted)
    ranked = sorted(found.values(), key=lambda each: (each[0], compute_complexity(each[1].terms[0])))
    return [law for _, law in ranked]


def _list_formulas(data: LawData, scale: LogScale) -> list[Expression]:
    """Return the formulas A and B, without repetitions."""
    pool = data.pool
    shares = compute_log_shares(pool.values, scale.take(data.pool_rows), pool.units, data.jobs)
    best = np.lexsort((np.arange(len(shares)), pool.complexity, shares))[:_N_BEST]
    places = dict.fromkeys([*range(min(_N_SIMPLE, len(pool))), *np.sort(best).tolist()])
    formulas = [pool.build_expression(place) for place in places if np.isfinite(shares[place])]
    others = [
        *islice(list_binomials(data, scale.names), _MAX_BINOMIALS),
        *list_scaled_waves(data, scale.names),
    ]
    if data.lattice is not None:
        others = [each for each in others if data.lattice.has_unit(each)]
    return list(dict.fromkeys([*formulas, *others]))


def list_scaled_waves(data: LawData, names: Sequence[str]) -> Iterator[Expression]:
    """Yield sines and cosines of θ/2, 2·θ, π·θ and 2·π·θ for products θ of one or two inputs, simplest first.

    Half and double angles, and angles such as 2·π·f·t, are longer than most formulas of the pool.
    """
    waves = [operator for operator in data.grammar.unary if operator.name in {"sin", "cos"}]
    two, pi = Constant(2), Constant(math.pi)
    products: Iterator[list[tuple[str, int]]] = chain(
        ([(name, 1)] for name in names),
        (
            [(left, powers[0]), (right, powers[1])]
            for left, right in combinations(names, 2)
            for powers in ((1, 1), (1, -1), (-1, 1))
        ),
    )
    for powers in islice(products, _MAX_SCALED_WAVE_INDICES):
        theta = build_power_product(list_column_powers(powers))
        numbers = (two, pi, apply_operator(OPERATORS["mul"], two, pi))
        multiples = [apply_operator(OPERATORS["mul"], number, theta) for number in numbers]
        angles = [apply_operator(OPERATORS["div"], theta, two), *multiples]
        yield from (apply_operator(wave, angle) for angle in angles for wave in waves)


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
    exponents = list_index_exponents(len(names), _MAX_FACTORS, _MAX_FACTORS + 1, merges_powers=False)
    if units is None:
        yield from exponents
        return
    lattice = build_unit_lattice(units, tuple(names))
    listed = list(islice(exponents, MAX_LISTED_EXPONENTS))
    is_allowed = lattice.select_dimensionless(np.array(listed, dtype=np.int64).reshape(-1, len(names)))
    yield from (powers for powers, allowed in zip(listed, is_allowed.tolist(), strict=True) if allowed)


def _rank_factors(formulas: Sequence[Expression], data: LawData, scale: LogScale) -> list[tuple[int, ...]]:
    """Return the pairs of formulas that leave least of log|y|, best first, and then triples."""
    directions, target, kept = _evaluate(formulas, range(len(formulas)), data.pool_rows, data, scale)
    if target is None:
        return []
    pairs = _rank_again(_rank_pairs(directions, target, kept, data.jobs), formulas, data, scale)
    triples: dict[tuple[int, ...], None] = {}
    for place in _find_common_factors(pairs):
        others, left, kept_others = _remove_direction(
            int(np.flatnonzero(kept == place)[0]), directions, target, kept
        )
        for pair in _rank_pairs(others, left, kept_others, data.jobs)[:_N_TRIPLES]:
            triples[tuple(sorted((place, *pair)))] = None
    return [*pairs[:_N_FITTED], *_rank_again(list(triples), formulas, data, scale)[:_N_FITTED_TRIPLES]]


def _find_common_factors(pairs: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the formulas that occur most often in the best pairs; of equals, the first."""
    counts = Counter(place for pair in pairs[:_N_FITTED] for place in pair)
    return [place for place, _ in counts.most_common(_N_COMMON_FACTORS)]


def _remove_direction(
    index: int, directions: Values, target: Values, kept: NDArray[np.int64]
) -> tuple[Values, Values, NDArray[np.int64]]:
    """Project a direction out of the others and of a target; others that are left empty are dropped."""
    own = directions[index]
    others = directions - (directions @ own)[:, None] * own
    norms = np.linalg.norm(others, axis=1)
    is_new = norms > _MIN_NORM
    return others[is_new] / norms[is_new, None], target - float(own @ target) * own, kept[is_new]


def _rank_pairs(
    directions: Values, target: Values, kept: NDArray[np.int64], jobs: int
) -> list[tuple[int, ...]]:
    """Return the pairs of directions that leave least of a target, best first, as their places."""
    strength = directions @ target

    def rank_block(start: int) -> list[tuple[float, int, int]]:
        """Return the best pairs of a block of directions and all that follow."""
        block = slice(start, start + _BLOCK_FORMULAS)
        correlations = directions[block] @ directions[start:].T
        own, other = strength[block, None], strength[start:]
        with np.errstate(divide="ignore", invalid="ignore"):
            explained = (own**2 + other**2 - 2.0 * own * other * correlations) / (1.0 - correlations**2)
        explained[np.abs(correlations) > _MAX_CORRELATION] = -1.0
        explained[:, : len(explained)][np.tri(len(explained), dtype=bool)] = -1.0
        flat = explained.ravel()
        best = np.argpartition(-flat, min(_N_PAIRS, len(flat) - 1))[:_N_PAIRS]
        lefts, rights = np.unravel_index(best, explained.shape)
        return [
            (-float(value), int(left) + start, int(right) + start)
            for value, left, right in zip(flat[best], lefts, rights, strict=True)
            if value >= 0.0
        ]

    blocks = map_in_threads(rank_block, range(0, len(kept), _BLOCK_FORMULAS), jobs)
    candidates = sorted(pair for pairs in blocks for pair in pairs)
    return [(int(kept[left]), int(kept[right])) for _, left, right in candidates[:_N_PAIRS]]


def _rank_again(
    choices: Sequence[tuple[int, ...]], formulas: Sequence[Expression], data: LawData, scale: LogScale
) -> list[tuple[int, ...]]:
    """Rank pairs or triples on more rows."""
    if not choices:
        return []
    places = sorted({place for choice in choices for place in choice})
    rows = data.select_rows(_MAX_ROWS)
    directions, target, kept = _evaluate(formulas, places, rows, data, scale)
    if target is None:
        return []
    position = {int(place): index for index, place in enumerate(kept)}
    ranked = []
    for number, choice in enumerate(choices):
        if all(place in position for place in choice):
            design = directions[[position[place] for place in choice]].T
            solution = np.linalg.lstsq(design, target, rcond=None)[0]
            residuals = target - design @ solution
            ranked.append((float(residuals @ residuals), number))
    return [choices[number] for _, number in sorted(ranked)]


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
