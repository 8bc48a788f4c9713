"""Find power products: y = c · Π xᵢ^aᵢ · A^p, with at most one formula A of a pool.

The logarithm of such a law is linear, log|y| = log|c| + Σ aᵢ·log|xᵢ| + p·log|A|, so all exponents come from
one regression. For a whole pool, the inputs and the intercept are projected out once; what is left of log|y|
is then correlated with what is left of each log|A|. Laws such as q·v·B/p (no A), m·r·v·sin(θ) and
m/√(1 − v²/c²) are found at the cost of one matrix product, however many inputs they have.

A relative error of y weighs its logarithm by y², so rows near zero, whose logarithm is mostly noise, hardly
count. The best laws of each complexity are fitted again on the scale of y, because the logarithm of a noisy
target is biased. Their exponents are then rounded to simple fractions where the standard errors allow.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import compute_complexity, evaluate_expression
from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.fitting.laws._kernels import fit_exponential
from symscreen.fitting.laws.exponents import (
    MAX_EXPONENT,
    count_allowed_exponents,
    list_roots,
    measure_exponent,
    restrict_exponents,
    simplify_exponents,
)
from symscreen.fitting.laws.gauss_newton import compute_column_norms, estimate_robust_covariance
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.law_selection import list_operator_names, round_share
from symscreen.fitting.laws.log_scale import compute_log_scale
from symscreen.fitting.laws.parallel import map_in_threads
from symscreen.fitting.laws.power_expressions import build_power_product
from symscreen.fitting.laws.simple_numbers import write_number
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.formula_pool import FormulaPool
    from symscreen.fitting.laws.law import LawData
    from symscreen.fitting.laws.log_scale import LogScale
    from symscreen.grammar import Grammar


_BLOCK_FORMULAS = 1_024  # formulas that are compared together
_MAX_RESCAN_ROWS = 4_000  # rows on which the better formulas A are compared again, and exponents fitted
_SEMIFINALISTS = 5  # formulas A that are compared again for each one that is fitted
_FINALISTS_PER_COMPLEXITY = 40  # formulas A of each complexity that are fitted on all rows
_FORMS_PER_FIT = 3  # formulas A with the same fit, such as v − c and c − v, that are tried
_MAX_LAWS = 60  # laws that are returned
_MAX_STEPS = 30  # largest number of steps of the fit on the scale of y
_STEP_TOLERANCE = 1e-12  # relative decrease of the squared error at which the fit ends
_MIN_SPREAD = 1e-6  # smallest relative part of log|A| that the inputs do not explain
_REAL_ROOTS = (3, 4)  # denominators of exponents of inputs that are written as powers, such as m**(1/3)


def find_power_products(data: LawData) -> list[Law]:
    """Find the best laws of the form y = c · Π xᵢ^aᵢ · A^p.

    Exponents of inputs may be any numbers, which are then fitted constants.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. Products and quotients must be among its operators, else there are no laws
        of this form. Roots are used if the grammar has ``sqrt`` or ``cbrt``.

    Returns
    -------
    list of Law
        Best first; laws without an intercept.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> m, r, v, angle = rng.uniform(1, 5, (4, 200))
    >>> columns = {"m": m, "r": r, "v": v, "angle": angle}
    >>> target = m * r * v * np.sin(angle)
    >>> laws = find_power_products(LawData(columns, target, load_grammar("physics"), pool_limit=2000))
    >>> print(laws[0].terms[0])
    m*r*v*sin(angle)
    """
    scale = compute_log_scale(data.columns, data.target, data.units)
    if not data.has_products or len(data.target) <= scale.design.shape[1] + 2 or not scale.weights.any():
        return []
    monomial = fit_power_product((), 1.0, data, scale)
    laws = [] if monomial is None or not data.allows(monomial[1]) else [monomial[1]]
    monomials = {str(law.terms[0]) for law in laws}
    products = find_best_factors(data.pool, 1.0, data, scale)
    return [*(law for law in products if str(law.terms[0]) not in monomials), *laws]


def find_best_factors(
    pool: FormulaPool,
    n_pools: float,
    data: LawData,
    scale: LogScale,
    n_finalists: int = _FINALISTS_PER_COMPLEXITY,
) -> list[Law]:
    """Find the laws y = c · Πxᵢ^aᵢ · A^p with the best formulas A of a pool.

    Parameters
    ----------
    pool : FormulaPool
        The formulas A, with values on `LawData.pool_rows`.
    n_pools : float
        Number of pools that this one was chosen from.
    data : LawData
        Inputs, target and grammar.
    scale : LogScale
        The logarithms of target and inputs.
    n_finalists : int
        Number of formulas A of each complexity that are fitted.

    Returns
    -------
    list of Law
        Best first; at most 60 laws.
    """
    found: dict[str, tuple[float, Law]] = {}
    for formula, n_formulas in _scan_pool(pool, data, scale, n_finalists):
        for share, law in _fit_variants(formula, n_pools * n_formulas, data, scale):
            if data.allows(law):
                found.setdefault(str(law.terms[0]), (share, law))
    ranked = sorted(found.values(), key=lambda pair: (pair[0], compute_complexity(pair[1].terms[0])))
    return [law for _, law in ranked[:_MAX_LAWS]]


def _scan_pool(
    pool: FormulaPool, data: LawData, scale: LogScale, n_finalists: int
) -> Iterator[tuple[Expression, int]]:
    """Yield the best formulas A of each complexity, and the number of formulas that are not more complex.

    The formulas are compared on the few rows of the pool, and the better ones again on more rows.
    """
    shares = compute_log_shares(pool.values, scale.take(data.pool_rows), pool.units, data.jobs)
    finalists = _select_finalists(shares, pool.complexity, _SEMIFINALISTS * n_finalists)
    formulas = [pool.build_expression(index) for index in finalists.tolist()]
    rows = data.select_rows(_MAX_RESCAN_ROWS)
    if len(rows) > len(data.pool_rows) and formulas:
        columns = {name: values[rows] for name, values in data.columns.items()}
        values = np.array([evaluate_expression(formula, columns) for formula in formulas])
        units = None if pool.units is None else pool.units[finalists]
        shares = compute_log_shares(values, scale.take(rows), units, data.jobs)
    else:
        shares = shares[finalists]
    complexity = pool.complexity[finalists]
    for place in _select_finalists(shares, complexity, n_finalists).tolist():
        yield formulas[place], int((pool.complexity <= complexity[place]).sum())


def compute_log_shares(values: Values, scale: LogScale, units: Values | None = None, jobs: int = 1) -> Values:
    """Compute the share of log|y| that each formula A leaves unexplained besides the inputs, shape (q,).

    It is infinite if log|A| is undefined in some row, or a linear function of the logarithms of the inputs.
    """

    def compute_block(start: int) -> Values:
        """Compute the shares of a block of formulas."""
        block = values[start : start + _BLOCK_FORMULAS]
        block_units = None if units is None else units[start : start + _BLOCK_FORMULAS]
        shares = np.full(len(block), np.inf)
        directions, remainder, indices = project_logarithms(block, scale, block_units)
        if remainder is not None:
            # the norm of the difference is exact to rounding, where 1 − r² would have only half the digits
            residuals = remainder - (directions @ remainder)[:, None] * directions
            shares[indices] = (residuals**2).sum(axis=1)
        return shares

    starts = range(0, len(values), _BLOCK_FORMULAS)
    return np.concatenate([np.zeros(0), *map_in_threads(compute_block, starts, jobs)])


def project_logarithms(
    values: Values, scale: LogScale, units: Values | None = None
) -> tuple[Values, Values | None, NDArray[np.int64]]:
    """Project the logarithms of the inputs out of those of formulas and of the target, with weights.

    With units, only products are projected out that leave the unit of the target as it is.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        Values of the formulas A.
    scale : LogScale
        The logarithms of target and inputs on the same rows.
    units : float64 array, shape (q, D), optional
        Exponents of the units of the formulas; by default they are dimensionless.

    Returns
    -------
    float64 array, shape (s, n)
        What is left of log|A|, of norm 1.
    float64 array, shape (n,), or None
        What is left of log|y|, of norm 1. None if nothing is left.
    int64 array, shape (s,)
        Indices of the formulas with a logarithm in all rows that the inputs do not determine.
    """
    weights = scale.weights
    basis = np.linalg.qr(scale.free_design * weights[:, None])[0]
    remainder = scale.free_target * weights
    remainder = remainder - basis @ (basis.T @ remainder)
    total = np.linalg.norm(remainder)
    with np.errstate(divide="ignore"):
        logarithms = scale.remove_units(np.log(np.abs(values)), units)
    indices = np.flatnonzero(np.isfinite(logarithms).all(axis=1))
    residuals = logarithms[indices] * weights
    sizes = np.linalg.norm(residuals, axis=1)
    for _ in range(2):  # the second time against the rounding of the first
        residuals -= (residuals @ basis) @ basis.T
    norms = np.linalg.norm(residuals, axis=1)
    is_new = norms > _MIN_SPREAD * np.maximum(sizes, 1e-300)
    directions = residuals[is_new] / norms[is_new, None]
    return directions, remainder / total if total > 0.0 else None, indices[is_new]


def _select_finalists(shares: Values, complexity: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the formulas with the smallest shares of each complexity; few of those with equal shares."""
    rounded = np.array([round_share(share) for share in shares.tolist()])
    counts: dict[tuple[int, float], int] = {}
    n_finalists: dict[int, int] = {}
    finalists = []
    for index in np.lexsort((np.arange(len(shares)), rounded, complexity)).tolist():
        size, share = int(complexity[index]), float(rounded[index])
        if not np.isfinite(share) or n_finalists.get(size, 0) >= limit:
            continue
        counts[size, share] = counts.get((size, share), 0) + 1
        if counts[size, share] <= _FORMS_PER_FIT:
            n_finalists[size] = n_finalists.get(size, 0) + 1
            finalists.append(index)
    return np.array(finalists, dtype=np.int64)


def fit_power_product(
    formulas: Sequence[Expression], n_choices: float, data: LawData, scale: LogScale
) -> tuple[float, Law] | None:
    """Fit y = c · Π xᵢ^aᵢ · Π Aⱼ^pⱼ with given formulas Aⱼ; None if an exponent p is not simple.

    Exponents a that are not simple are fitted constants.

    Parameters
    ----------
    formulas : sequence of Expression
        The formulas Aⱼ; may be empty.
    n_choices : float
        Number of such lists of formulas that this one was chosen from.
    data : LawData
        Inputs, target and grammar.
    scale : LogScale
        The logarithms of target and inputs.

    Returns
    -------
    float
        The rounded share RSS/TSS of the law, with the best c and no intercept.
    Law
        The law.
    """
    estimate = _estimate_exponents(formulas, data, scale)
    if estimate is None:
        return None
    rounded = _round_exponents(estimate, formulas, data, scale)
    return _build_product_law(rounded, formulas, n_choices, data, scale)


def _fit_variants(
    formula: Expression, n_choices: float, data: LawData, scale: LogScale
) -> Iterator[tuple[float, Law]]:
    """Yield the laws with one formula A whose exponents are the nearest ones, and 0 where errors allow."""
    estimate = _estimate_exponents((formula,), data, scale)
    if estimate is None:
        return
    nearest = _round_exponents(estimate, (formula,), data, scale)
    with_zeros = _round_exponents(estimate, (formula,), data, scale, prefers_zero=True)
    for rounded in [nearest] if with_zeros[1] == nearest[1] else [nearest, with_zeros]:
        fitted = _build_product_law(rounded, (formula,), n_choices, data, scale)
        if fitted is not None:
            yield fitted


def _estimate_exponents(
    formulas: Sequence[Expression], data: LawData, scale: LogScale
) -> tuple[Values, Values] | None:
    """Estimate k exponents of inputs and formulas, and their covariance; None if they are not determined."""
    rows = data.select_rows(_MAX_RESCAN_ROWS)
    target, scale = data.target[rows], scale.take(rows)
    design, signs = scale.design, []
    for formula in formulas:
        values = evaluate_expression(formula, data.columns)
        is_zero = values == 0.0
        if not np.isfinite(values).all() or (is_zero & (data.target != 0.0)).any():
            return None
        # the sign 0 makes the prediction 0, as the target is
        design = np.column_stack([design, np.log(np.where(is_zero, 1.0, np.abs(values)))[rows]])
        signs.append(np.sign(values[rows]))
    offset, directions = restrict_exponents(formulas, scale)
    if directions is None:
        return None
    logs = design[:, 1:]
    free_design = np.column_stack([design[:, :1], logs @ directions])
    free_exponents, covariance = _fit_exponents(
        free_design, logs @ offset, _choose_signs(signs, target), target, scale
    )
    covariance = directions @ covariance @ directions.T
    return (offset + directions @ free_exponents, covariance) if np.isfinite(covariance).all() else None


def _round_exponents(
    estimate: tuple[Values, Values],
    formulas: Sequence[Expression],
    data: LawData,
    scale: LogScale,
    *,
    prefers_zero: bool = False,
) -> tuple[Values, list[Fraction | None]]:
    """Round k exponents to fractions that the grammar and the units allow.

    With `prefers_zero`, those of inputs become 0 where their errors allow, rather than the nearest fraction.
    """
    exponents, covariance = estimate
    roots = list_roots(data.grammar)
    has_more_roots = bool(formulas) and _has_real_powers(data.grammar) and not _has_units(scale)
    more_roots = [root for root in _REAL_ROOTS if root not in roots] if has_more_roots else []
    return simplify_exponents(
        exponents,
        covariance,
        [*roots, *more_roots],
        has_decided=scale.lattice is not None,
        n_preferring_zero=len(scale.names) if prefers_zero else 0,
    )


def _build_product_law(
    rounded: tuple[Values, list[Fraction | None]],
    formulas: Sequence[Expression],
    n_choices: float,
    data: LawData,
    scale: LogScale,
) -> tuple[float, Law] | None:
    """Build the law with given exponents, and its share RSS/TSS; None if they are not simple."""
    exponents, fractions = rounded
    n_inputs = len(scale.names)
    factors: list[Expression] = [*map(Column, scale.names), *formulas]
    simple, written = _write_roots(factors, fractions, n_inputs, list_roots(data.grammar), data)
    n_constants = 0
    for place in range(n_inputs, len(factors)):
        power = simple[place]
        # exp(u)^p = exp(p·u) has a meaning for every p
        scaled = None if power == 0 else scale_exponent(factors[place], power, float(exponents[place]))
        if scaled is not None:
            factors[place], simple[place] = scaled, Fraction(1)
            n_constants += power is None
    powers = [(factor, power) for factor, power in zip(factors, simple, strict=True) if power]
    if None in simple[n_inputs:]:
        return None
    if None in simple:
        if formulas and not any(simple[n_inputs:]):
            return None  # the law without formulas is a candidate, too
        real_powers = (
            []
            if _has_units(scale)
            else _write_real_powers(factors[:n_inputs], exponents.tolist(), simple[:n_inputs], data)
        )
        if not real_powers:
            return None
        written = [*written, *((each, Fraction(1)) for each in real_powers)]
        n_constants += len(real_powers)
    if not (powers or written):
        return None
    term = build_power_product([*_make_bases_positive(powers, data.columns), *written])
    values = evaluate_expression(term, data.columns)
    if not np.isfinite(values).all() or not values.any():
        return None
    # a fitted exponent has its cost as a constant
    counted = [Fraction(0) if power is None else power for power in fractions[:n_inputs]]
    choices = count_allowed_exponents(counted, scale, formulas, simple[n_inputs:])
    for power in simple[n_inputs:]:
        choices *= 2.0 * measure_exponent(power) if power else 1.0
    share = round_share(compute_share_without_intercept(values, data.target))
    law = Law((term,), has_intercept=False, search_size=n_choices * choices, n_constants=n_constants)
    return share, law


def _write_roots(
    factors: Sequence[Expression],
    simple: Sequence[Fraction | None],
    n_inputs: int,
    roots: Sequence[int],
    data: LawData,
) -> tuple[list[Fraction | None], list[tuple[Expression, Fraction]]]:
    """Write the inputs whose exponents need a root that the grammar lacks as powers, such as (m/M)**(1/3).

    Their exponents become 0. Formulas have no such powers, so their exponents become None, like those of
    inputs with negative values. The powers are returned with an exponent of 1 or −1.
    """
    kept = list(simple)
    bases: dict[Fraction, list[tuple[Expression, Fraction]]] = {}
    for place, power in enumerate(simple):
        if power is None or power.denominator in roots:
            continue
        is_positive = bool((evaluate_expression(factors[place], data.columns) > 0.0).all())
        kept[place] = Fraction(0) if place < n_inputs and is_positive else None
        if kept[place] is not None:
            bases.setdefault(abs(power), []).append((factors[place], power / abs(power)))
    powers = []
    for power, each in bases.items():
        is_inverse = all(sign < 0 for _, sign in each)
        base = build_power_product([(factor, -sign) for factor, sign in each] if is_inverse else each)
        root = apply_operator(OPERATORS["pow"], base, write_number(float(power)))
        powers.append((root, Fraction(-1 if is_inverse else 1)))
    return kept, powers


def _has_units(scale: LogScale) -> bool:
    """Return whether an input has a unit other than that of a pure number."""
    return scale.lattice is not None and bool(scale.lattice.vectors.any())


def _has_real_powers(grammar: Grammar) -> bool:
    """Return whether a grammar has powers with any exponent, as exp(a·log(x))."""
    return {"exp", "log"} <= list_operator_names(grammar)


def _write_real_powers(
    inputs: Sequence[Expression],
    exponents: Sequence[float],
    simple: Sequence[Fraction | None],
    data: LawData,
) -> list[Expression]:
    """Write the inputs whose exponents are no simple fractions as x^a with a fitted constant a.

    The list is empty if the grammar or the signs of these inputs do not allow it, or an exponent is so large
    that an exponential is more likely.
    """
    chosen = [place for place, power in enumerate(simple) if power is None]
    is_positive = all((evaluate_expression(inputs[place], data.columns) > 0.0).all() for place in chosen)
    is_small = all(abs(exponents[place]) <= MAX_EXPONENT for place in chosen)
    if not _has_real_powers(data.grammar) or not (is_positive and is_small):
        return []
    return [
        apply_operator(OPERATORS["pow"], inputs[place], Constant(exponents[place], fitted=True))
        for place in chosen
    ]


def _choose_signs(signs: Sequence[Values], target: Values) -> Values:
    """Return the product of those signs that agrees best with a target; each sign counts or does not."""
    products = [np.ones(len(target))]
    for values in signs:
        products = [*(product * values for product in products), *products]
    # if products are equally good, the first is returned, which has the most factors
    return max(products, key=lambda product: abs(float(product @ target)))


def compute_share_without_intercept(values: Values, target: Values) -> float:
    """Return RSS/TSS of y = c·values with the best c; TSS is around the mean."""
    scaled = values / np.abs(values).max()
    residuals = target - float(scaled @ target) / float(scaled @ scaled) * scaled
    centered = target - target.mean()
    return min(float(residuals @ residuals) / float(centered @ centered), 1.0)


def _fit_exponents(
    design: Values, offset: Values, signs: Values, target: Values, scale: LogScale
) -> tuple[Values, Values]:
    """Fit y = ±signs·exp(offset + design·b) by least squares; return k exponents and their robust covariance.

    The regression of log|y| gives the start of a Gauss-Newton iteration with step halving.
    """
    k = design.shape[1] - 1
    undefined = np.full(k, np.nan), np.full((k, k), np.nan)
    logarithms = (scale.target - offset) * scale.weights
    solution = _solve_normal_equations(design * scale.weights[:, None], logarithms)
    if solution is None:
        return undefined
    with np.errstate(over="ignore", invalid="ignore"):
        predictions = signs * np.exp(offset + design @ solution)
        if float(predictions @ target) < 0.0:
            signs = -signs
    residuals = np.empty(len(target))
    arrays = (np.ascontiguousarray(design), offset, signs, target, solution, residuals)
    if not fit_exponential(*arrays, _MAX_STEPS, _STEP_TOLERANCE):
        return undefined
    jacobian = design * (target - residuals)[:, None]
    covariance = estimate_robust_covariance(jacobian, residuals)
    return undefined if covariance is None else (solution[1:], covariance[1:, 1:])


def _solve_normal_equations(design: Values, target: Values) -> Values | None:
    """Solve a least-squares problem fast, to about half the digits; None if columns are dependent."""
    norms = compute_column_norms(design)
    if not np.isfinite(norms).all() or not norms.all():
        return None
    scaled = design / norms
    try:
        return np.asarray(np.linalg.solve(scaled.T @ scaled, scaled.T @ target) / norms)
    except np.linalg.LinAlgError:
        return None


def scale_exponent(formula: Expression, power: Fraction | None, value: float) -> Expression | None:
    """Return exp(p·u) if a formula is exp(u), else None; p is a fraction, or a fitted number without one."""
    if not isinstance(formula, Call) or formula.operator.name != "exp":
        return None
    if power is None:
        factor = Constant(value, fitted=True)
        return apply_operator(formula.operator, apply_operator(OPERATORS["mul"], factor, *formula.arguments))
    (exponent,) = formula.arguments
    if abs(power.numerator) != 1:
        exponent = apply_operator(OPERATORS["mul"], Constant(abs(power.numerator)), exponent)
    if power.denominator != 1:
        exponent = apply_operator(OPERATORS["div"], exponent, Constant(power.denominator))
    return apply_operator(formula.operator, _negate(exponent) if power < 0 else exponent)


def _make_bases_positive(
    powers: Sequence[tuple[Expression, Fraction]], columns: Mapping[str, Values]
) -> list[tuple[Expression, Fraction]]:
    """Change the signs of negative bases of roots, so that the roots are defined."""
    return [
        (_negate(base), power)
        if power.denominator == 2 and (evaluate_expression(base, columns) < 0.0).all()
        else (base, power)
        for base, power in powers
    ]


def _negate(base: Expression) -> Expression:
    """Return −base; the arguments of a difference are exchanged."""
    if isinstance(base, Call) and base.operator.name == "sub":
        return apply_operator(base.operator, *reversed(base.arguments))
    return apply_operator(OPERATORS["neg"], base)
