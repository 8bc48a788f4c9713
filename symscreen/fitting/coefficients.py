"""Estimate the coefficients of a model: least squares, confidence intervals and simple numbers.

`estimate_coefficients` and `snap_coefficients` work on arrays. `fit_formulas` applies them to the terms of a
model and the rows of a dataset. `build_term_table` and `build_model_table` make the tables of a fit result.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_complexity, evaluate_expression
from symscreen.fitting.laws.simple_numbers import EVIDENT_LEVEL, find_simple_numbers, measure_number
from symscreen.linear_models.gram import compute_unexplained_shares, normalize_rows
from symscreen.linear_models.row_weights import center_rows, scale_rows
from symscreen.units import format_coefficient_units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.model_selection import ScoredModel
    from symscreen.fitting.subset_search import ModelSearchResult
    from symscreen.linear_models.row_weights import RowWeights
    from symscreen.units import Units

    FormulaFits = Sequence[tuple[Formula, "CoefficientEstimates", bool]]  # one entry per target


_RELATIVE_TOLERANCE = 1e-12  # change of a prediction that is rounding, relative to the target's maximum
_MAX_DENOMINATOR = 12  # largest denominator of a simple fraction


@dataclass(frozen=True, eq=False)
class CoefficientEstimates:
    """Least-squares estimates of the intercept and the coefficients of a model.

    Parameters
    ----------
    coefficients : float64 array, shape (k + 1,)
        The intercept, followed by the coefficient of each term. The intercept of a model without one is 0.
    low, high : float64 arrays, shape (k + 1,)
        Ends of the confidence intervals. NaN without a residual degree of freedom.
    level : float
        Nominal coverage of the intervals, between 0 and 1.
    unexplained_share : float
        1 − R² on the rows used.
    residual_std : float
        Residual standard deviation. NaN without a residual degree of freedom.
    n_rows : int
        Number of rows used.
    has_intercept : bool
        Whether the intercept was fitted.
    """

    coefficients: Values
    low: Values
    high: Values
    level: float
    unexplained_share: float
    residual_std: float
    n_rows: int
    has_intercept: bool = True

    @property
    def n_freedom(self) -> int:
        """Number of residual degrees of freedom."""
        return self.n_rows - len(self.coefficients) + (not self.has_intercept)


def _build_design(values: Values, row_weights: RowWeights | None) -> tuple[Values, Values]:
    """Return the design matrix, shape (n, k + 1), with columns of norm 1, and the norms; intercept first."""
    design = scale_rows(np.vstack([np.ones(values.shape[1]), values]), row_weights)
    magnitude = np.abs(design).max(axis=1)
    norms = np.sqrt(((design / magnitude[:, None]) ** 2).sum(axis=1)) * magnitude
    return (design / norms[:, None]).T, norms


def estimate_coefficients(
    values: Values,
    target: Values,
    level: float = 0.95,
    *,
    has_intercept: bool = True,
    row_weights: RowWeights | None = None,
) -> CoefficientEstimates:
    """Fit a model by least squares.

    Parameters
    ----------
    values : float64 array, shape (k, n)
        Values of the terms. They must be linearly independent and not constant.
    target : float64 array, shape (n,)
        Values of the target.
    level : float
        Coverage of the intervals, from Student's t with n − k − 1 degrees of freedom. The coverage is exact
        for independent normal errors of equal variance, if the terms were not selected on the same rows.
    has_intercept : bool
        Whether the model has an intercept. A law such as y = c·x1/x2 has none.
    row_weights : RowWeights, optional
        Weights of the squared residuals. The intervals assume that the variances of the errors are
        proportional to 1/weight. The number of rows does not depend on the weights.

    Returns
    -------
    CoefficientEstimates

    Examples
    --------
    >>> x = np.arange(6.0)
    >>> estimate_coefficients(x[None, :], 1 + 2 * x).coefficients.round(9).tolist()
    [1.0, 2.0]
    """
    from scipy.special import stdtrit

    design, norms = _build_design(values, row_weights)
    if not has_intercept:
        design, norms = design[:, 1:], norms[1:]
    n, p = design.shape
    # scaling by a power of two is exact, and squares of values near 1 neither overflow nor underflow
    _, exponent = np.frexp(np.abs(target).max())
    centered = center_rows(np.ldexp(target, -int(exponent)), row_weights)
    scaled_target = scale_rows(np.ldexp(target, -int(exponent)), row_weights)
    q, r = np.linalg.qr(design)
    solution = np.linalg.solve(r, q.T @ scaled_target)
    # one step of iterative refinement recovers the coefficients of an exact formula to the last digit
    solution = solution + np.linalg.solve(r, q.T @ (scaled_target - design @ solution))
    residuals = scaled_target - design @ solution
    n_freedom = n - p
    variance = float((residuals * residuals).sum()) / n_freedom if n_freedom > 0 else np.nan
    standard_errors = np.sqrt((np.linalg.inv(r) ** 2).sum(axis=1) * variance)
    t_quantile = float(stdtrit(n_freedom, 0.5 + level / 2)) if n_freedom > 0 else np.nan
    coefficients, low, high = (
        np.concatenate((np.zeros(int(not has_intercept)), np.ldexp(vector / norms, int(exponent))))
        for vector in (
            solution,
            solution - t_quantile * standard_errors,
            solution + t_quantile * standard_errors,
        )
    )
    return CoefficientEstimates(
        coefficients=coefficients,
        low=low,
        high=high,
        level=level,
        unexplained_share=float((residuals * residuals).sum() / (centered * centered).sum()),
        residual_std=float(np.ldexp(np.sqrt(variance), int(exponent))),
        n_rows=n,
        has_intercept=has_intercept,
    )


def find_simplest_number(low: float, high: float) -> float:
    """Return the simplest number in an interval: the fewest significant digits, or a shorter fraction.

    Parameters
    ----------
    low, high : float
        Ends of the interval, low ≤ high.

    Returns
    -------
    float
        A number in [low, high]. The middle of the interval if it contains no simpler number.

    Examples
    --------
    >>> [find_simplest_number(*ends) for ends in ((1.93, 2.06), (0.3329, 0.3337), (0.0747, 0.0752))]
    [2.0, 0.3333333333333333, 0.075]
    """
    return _find_simplest(low, high)[1]


def _find_simplest(low: float, high: float) -> tuple[int, float]:
    """Return the number of digits (0 for zero) and the value of the simplest number in an interval."""
    middle = low / 2 + high / 2  # low + high might overflow
    if low <= 0.0 <= high or not np.isfinite(middle):
        return (0, 0.0) if low <= 0.0 <= high else (17, middle)
    # if any number with this many digits lies inside, the one closest to the middle does
    decimals = next(
        (digits for digits in range(1, 17) if low <= _round_to_digits(middle, digits) <= high), 17
    )
    for denominator in range(2, _MAX_DENOMINATOR + 1):
        if abs(middle) * denominator >= 10.0**decimals:
            break  # the numerator alone would have as many digits
        fraction = Fraction(round(middle * denominator), denominator)
        digits = len(str(abs(fraction.numerator))) + len(str(fraction.denominator))
        if low <= float(fraction) <= high and digits < decimals:
            return digits, float(fraction)
    return decimals, _round_to_digits(middle, decimals) if decimals < 17 else min(max(middle, low), high)


def _round_to_digits(number: float, digits: int) -> float:
    """Round a number to significant digits."""
    return float(f"{number:.{digits - 1}e}")


def snap_coefficients(
    estimates: CoefficientEstimates,
    values: Values,
    target: Values,
    row_weights: RowWeights | None = None,
    *,
    only_simple: bool = False,
) -> Values | None:
    """Replace each coefficient by the simplest number in its interval, if the data allow all of them.

    The coefficient with the shortest number is replaced first. The others are then estimated again with this
    coefficient fixed, and so on. For example, a slope has a smaller error once the intercept is known to be
    0. The distance that each number may have from its estimate is what the F test leaves after the earlier
    ones.

    A slope whose interval contains 0 is not changed. An intercept whose interval contains 0 becomes 0.

    Parameters
    ----------
    estimates : CoefficientEstimates
        Result of `estimate_coefficients` for the same terms and rows.
    values : float64 array, shape (k, n)
        Values of the terms.
    target : float64 array, shape (n,)
        Values of the target.
    row_weights : RowWeights, optional
        The weights that the estimates were computed with.
    only_simple : bool
        Whether to replace only coefficients near integers, simple fractions, roots and multiples of π, as
        constants inside laws are (`symscreen.fitting.laws.simple_numbers.find_simple_numbers`). The others
        stay estimates. The F test of all numbers decides, because with several coefficients the interval of
        one often misses its true value; a number that is hardly near by chance may be farther away.
        Otherwise, each becomes the shortest number in its interval.

    Returns
    -------
    float64 array, shape (k + 1,), or None
        The numbers. None if no such numbers fit together, or if the F test of all restrictions rejects them
        at the level of the intervals.
    """
    from scipy.special import fdtri

    find_number = _find_simple_number if only_simple else _find_shortest_number
    snapped, n_snapped = _snap_sequentially(
        estimates, values, target, row_weights, find_number, keeps_intervals=not only_simple
    )
    if snapped is None or not n_snapped:
        return None
    largest = np.abs(target).max()
    scaled_target, scaled_coefficients = target / largest, snapped / largest
    residuals = scaled_target - scaled_coefficients[0] - (scaled_coefficients[1:, None] * values).sum(axis=0)
    p = len(snapped)
    if np.abs(residuals).max() <= p * _RELATIVE_TOLERANCE:
        return snapped
    centered, residuals = center_rows(scaled_target, row_weights), scale_rows(residuals, row_weights)
    share = float((residuals * residuals).sum() / (centered * centered).sum())
    n_freedom = estimates.n_freedom
    if n_freedom <= 0 or (snapped == estimates.coefficients).all() or estimates.unexplained_share <= 0.0:
        return None
    statistic = (share - estimates.unexplained_share) / n_snapped / (estimates.unexplained_share / n_freedom)
    level = max(estimates.level, EVIDENT_LEVEL) if only_simple else estimates.level
    return snapped if statistic <= float(fdtri(n_snapped, n_freedom, level)) else None


def _snap_sequentially(
    estimates: CoefficientEstimates,
    values: Values,
    target: Values,
    row_weights: RowWeights | None,
    find_number: Callable[[float, float, float], tuple[float, float] | None],
    *,
    keeps_intervals: bool,
) -> tuple[Values | None, int]:
    """Choose numbers, shape (k + 1,), one by one, simplest first; None if one would leave its interval.

    Without `keeps_intervals`, a number may be outside the interval of its coefficient if the F test of
    all numbers allows it. The second result is the number of coefficients that were replaced.
    """
    from scipy.special import fdtri

    tolerance = (
        _RELATIVE_TOLERANCE * np.abs(target).max() / np.concatenate(([1.0], np.abs(values).max(axis=1)))
    )
    low = np.fmin(estimates.low, estimates.coefficients - tolerance)
    high = np.fmax(estimates.high, estimates.coefficients + tolerance)
    is_determined = (low > 0.0) | (high < 0.0)
    if not keeps_intervals:
        low, high = np.full_like(low, -np.inf), np.full_like(high, np.inf)
    design, norms = _build_design(values, row_weights)
    first = 0 if estimates.has_intercept else 1
    inverse = np.linalg.inv(np.linalg.qr(design[:, first:])[1])
    # Σ of the coefficients of scaled columns, for residuals of variance 1; a missing intercept is certain
    covariance = np.pad(inverse @ inverse.T, (first, 0))
    coefficients = estimates.coefficients.copy()
    # terms are never dropped here, so only the intercept may become 0
    pending = [k for k in range(first, len(coefficients)) if k == 0 or is_determined[k]]
    n_freedom = estimates.n_freedom
    # F test of all m restrictions: Σ z² ≤ m·F, z being the change divided by its standard error, given the
    # earlier ones
    m = len(pending)
    remaining = m * float(fdtri(m, n_freedom, estimates.level)) if n_freedom > 0 else 0.0
    while pending:
        error = estimates.residual_std * np.sqrt(np.fmax(np.diag(covariance), 0.0)) / norms
        max_shift = np.fmax(error * np.sqrt(remaining), tolerance)
        ends = {
            k: (max(low[k], coefficients[k] - max_shift[k]), min(high[k], coefficients[k] + max_shift[k]))
            for k in pending
        }
        if any(start > stop for start, stop in ends.values()):
            return None, 0
        numbers = {k: find_number(*ends[k], float(error[k])) for k in pending}
        found = [(number[0], k, number[1]) for k, number in numbers.items() if number is not None]
        if not found:
            break
        _, k, snapped = min(found)
        pending.remove(k)
        shift = snapped - coefficients[k]
        if error[k] > 0.0:
            remaining = max(remaining - (shift / error[k]) ** 2, 0.0)
        # conditional normal distribution: given b_k = v, b has mean b + Σ_·k (v − b_k)/Σ_kk and covariance
        # Σ − Σ_·k Σ_k·/Σ_kk
        column = covariance[:, k] / covariance[k, k]
        coefficients[pending] += (column / norms * norms[k] * shift)[pending]
        covariance = covariance - np.outer(column, covariance[k])
        coefficients[k] = snapped
    return coefficients, m - len(pending)


def _find_shortest_number(low: float, high: float, _error: float) -> tuple[float, float]:
    """Return the length of the shortest number of an interval, and the number."""
    return _find_simplest(low, high)


def _find_simple_number(low: float, high: float, error: float) -> tuple[float, float] | None:
    """Return the cost in bits of the simplest number of an interval, and the number; None without one.

    A number outside is returned if it is evident for an estimate with this standard error.
    """
    numbers = find_simple_numbers((low + high) / 2.0, (high - low) / 2.0, keep=1, error=error)
    return (measure_number(numbers[0]), numbers[0]) if numbers else None


_NEGLIGIBLE_TERM_SHARE = 1e-13  # size of an intercept that is rounding, relative to the target's maximum


def get_input_columns(dataset: Dataset) -> dict[str, NDArray[np.float64]]:
    """Return the inputs of a dataset by name, each of shape (n,)."""
    return dict(zip(dataset.names, dataset.columns, strict=True))


def get_targets(dataset: Dataset) -> dict[str, NDArray[np.float64]]:
    """Return the targets of a dataset by name, each of shape (n,)."""
    target = dataset.regression_target
    return dict(zip(target.names, np.atleast_2d(target.values), strict=True))


def evaluate_terms(terms: Sequence[Expression], dataset: Dataset) -> NDArray[np.float64]:
    """Evaluate terms on the rows of a dataset, shape (k, n); NaN where a term is undefined."""
    columns = get_input_columns(dataset)
    return np.array([evaluate_expression(term, columns) for term in terms]).reshape(
        len(terms), dataset.target.n
    )


def is_identifiable(values: ArrayLike) -> bool:
    """Return whether the rows determine the coefficients of terms.

    Parameters
    ----------
    values : array, shape (k, n)
        Values of the terms.

    Returns
    -------
    bool
        Whether the terms are defined in all rows, do not overflow and are linearly independent, and a degree
        of freedom is left.

    Examples
    --------
    >>> x = np.arange(5.0)
    >>> [is_identifiable(values) for values in ([x, x**2], [x, 3 - x], x ** [[1], [2], [3], [4]])]
    [True, False, False]
    """
    values = np.asarray(values, dtype=np.float64)
    k, n = values.shape
    largest = np.finfo(np.float64).max / (2.0 * np.sqrt(n))  # the norm of larger values may overflow
    if k > n - 2 or not (np.abs(values) < largest).all():  # NaN is not less
        return False
    shares = compute_unexplained_shares(normalize_rows(values), np.zeros(n), np.arange(k)[None, :])
    return bool(np.isfinite(shares[0]))


def fit_formulas(
    terms: Sequence[Expression],
    dataset: Dataset,
    level: float,
    *,
    snap: bool,
    has_intercept: bool = True,
    row_weights: RowWeights | None = None,
) -> FormulaFits:
    """Fit the coefficients of terms on the rows of a dataset, separately for each target.

    Parameters
    ----------
    terms : sequence of Expression
        The terms. The rows must determine their coefficients.
    dataset : Dataset
        The rows, with one or more targets.
    level : float
        Coverage of the intervals.
    snap : bool
        Whether to replace coefficients by short numbers if possible.
    has_intercept : bool
        Whether the model has an intercept. Without one, coefficients become simple numbers if possible, even
        without `snap`.
    row_weights : RowWeights, optional
        Weights of the rows.

    Returns
    -------
    tuple of (Formula, CoefficientEstimates, bool)
        For each target: the formula, the estimates, and whether the coefficients of the formula were replaced
        by simple numbers. An intercept that is only rounding is 0 in the formula. With several targets, so is
        a coefficient.
    """
    values, targets = evaluate_terms(terms, dataset), get_targets(dataset)
    return tuple(
        _build_fit(
            terms,
            values,
            name,
            target,
            estimate_coefficients(
                values, target, level, has_intercept=has_intercept, row_weights=row_weights
            ),
            snap=snap,
            row_weights=row_weights,
            is_multi_output=len(targets) > 1,
        )
        for name, target in targets.items()
    )


def _build_fit(
    terms: Sequence[Expression],
    values: NDArray[np.float64],
    name: str,
    target: NDArray[np.float64],
    estimates: CoefficientEstimates,
    *,
    snap: bool,
    row_weights: RowWeights | None,
    is_multi_output: bool,
) -> tuple[Formula, CoefficientEstimates, bool]:
    """Build the formula of one target from its estimates."""
    snapped = None
    if snap or not estimates.has_intercept:
        snapped = snap_coefficients(estimates, values, target, row_weights, only_simple=not snap)
    coefficients = estimates.coefficients if snapped is None else snapped
    # with several targets, a term may be irrelevant for one of them; with a single target, no term is
    magnitudes = np.abs(values).max(axis=1) if is_multi_output else np.full(len(values), np.inf)
    contributions = np.abs(coefficients) * np.concatenate(([1.0], magnitudes))
    coefficients = np.where(contributions <= _NEGLIGIBLE_TERM_SHARE * np.abs(target).max(), 0.0, coefficients)
    formula = Formula(name, float(coefficients[0]), tuple(coefficients[1:].tolist()), tuple(terms))
    return formula, estimates, snapped is not None


def predict_on_dataset(formula: Formula, dataset: Dataset) -> NDArray[np.float64]:
    """Predict the target on the rows of a dataset, shape (n,); NaN where a term is undefined."""
    return formula.sum_terms(evaluate_terms(formula.terms, dataset))


def compute_unexplained_share(
    formula: Formula, dataset: Dataset, row_weights: RowWeights | None = None
) -> float:
    """Compute RSS/TSS of the formula of one target on the rows of a dataset."""
    actual = get_targets(dataset)[formula.target]
    _, exponent = np.frexp(np.abs(actual).max())  # squares of values near 1 neither overflow nor underflow
    target, predicted = (
        np.ldexp(vector, -int(exponent)) for vector in (actual, predict_on_dataset(formula, dataset))
    )
    if row_weights is None:
        return float(((predicted - target) ** 2).mean() / target.var())
    residuals, centered = row_weights.scale(predicted - target), center_rows(target, row_weights)
    return float((residuals**2).sum() / (centered**2).sum())


TABLE_DIGITS = 6
"""Significant digits of coefficients in tables."""


def build_term_table(fits: FormulaFits, units: Units | None) -> pd.DataFrame:
    """Build the table of coefficients, for one target or for several targets with the same terms.

    Parameters
    ----------
    fits : sequence of (Formula, CoefficientEstimates, bool)
        Result of `fit_formulas`.
    units : Units or None
        Units of the columns, if any.

    Returns
    -------
    pandas.DataFrame
        Table ``terms`` of `FitResult` or, with several targets, of `SharedFitResult`.
    """
    import pandas as pd

    terms = fits[0][0].terms
    first = 0 if fits[0][1].has_intercept else 1
    columns: dict[str, Sequence[object]] = {"term": ["1", *map(to_text, terms)]}
    for formula, estimates, _ in fits:
        suffix = f"[{formula.target}]" if len(fits) > 1 else ""
        columns |= {
            f"coefficient{suffix}": [formula.intercept, *formula.coefficients],
            f"low{suffix}": estimates.low.tolist(),
            f"high{suffix}": estimates.high.tolist(),
        }
        if units is not None:
            columns[f"unit{suffix}"] = format_coefficient_units(terms, formula.target, units)
    columns["complexity"] = [0, *map(compute_complexity, terms)]
    return pd.DataFrame({name: values[first:] for name, values in columns.items()})


def build_model_table(
    search_result: ModelSearchResult,
    dataset: Dataset,
    models: Sequence[ScoredModel],
    criterion: str,
    selected: ScoredModel | None = None,
    *,
    row_weights: RowWeights | None = None,
) -> pd.DataFrame:
    """Build a table of models, with a formula for one target, or the features for several targets.

    Parameters
    ----------
    search_result : ModelSearchResult
        Result of the search.
    dataset : Dataset
        The rows that were searched.
    models : sequence of ScoredModel
        The Pareto front or the alternatives, see `symscreen.fitting.model_selection`.
    criterion : str
        Name of the score.
    selected : ScoredModel, optional
        The selected model. If given, a column marks it.
    row_weights : RowWeights, optional
        Weights of the rows.

    Returns
    -------
    pandas.DataFrame
        Table ``front`` or ``alternatives`` of `FitResult` or, with several targets, of `SharedFitResult`.
    """
    import pandas as pd

    targets = get_targets(dataset)
    text_column = "features" if len(targets) > 1 else "formula"
    rows = []
    for model in models:
        row = {
            "complexity": model.complexity,
            "terms": len(model.term_indices),
            "r2": 1.0 - model.unexplained_share,
            criterion: model.score,
            "rewritings": model.n_rewritings,
            "stage": model.stage or "",
            text_column: _format_features(search_result, model)
            if len(targets) > 1
            else _format_fitted_formula(search_result, targets, model, row_weights),
        }
        rows.append(row if selected is None else row | {"chosen": model is selected})
    columns = ["complexity", "terms", "r2", criterion, "rewritings", "stage", text_column]
    return pd.DataFrame(rows, columns=columns if selected is None else [*columns, "chosen"])


def _format_fitted_formula(
    search_result: ModelSearchResult,
    targets: dict[str, Values],
    model: ScoredModel,
    row_weights: RowWeights | None,
) -> str:
    """Format a model as a formula with coefficients that are fitted to the only target."""
    ((name, target),) = targets.items()
    terms = search_result.terms.take(np.array(model.term_indices, dtype=np.int64))
    estimates = estimate_coefficients(
        terms.values, target, has_intercept=model.has_intercept, row_weights=row_weights
    )
    intercept, *coefficients = estimates.coefficients.tolist()
    return Formula(name, intercept, tuple(coefficients), terms.expressions).round_numbers(TABLE_DIGITS).text


def _format_features(search_result: ModelSearchResult, model: ScoredModel) -> str:
    """Format the features of a model."""
    texts = (to_text(search_result.terms.expressions[index]) for index in model.term_indices)
    return ", ".join(texts) or "1"
