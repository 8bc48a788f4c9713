"""The coefficients of a model: least squares, intervals, and simple numbers where the data allow them.

The formula that terms make on the rows of a table: its coefficients, its predictions, what it leaves.

The tables of a fit: coefficients with intervals, the front, and the rivals.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.tree import compute_complexity, evaluate_expression, to_text
from symscreen.linear_models.gram import compute_unexplained_shares, normalize_rows
from symscreen.targets import NumericTarget
from symscreen.targets.multioutput import MultiOutputTarget
from symscreen.units import format_coefficient_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.model_selection import ScoredModel
    from symscreen.fitting.subset_search import ModelSearchResult
    from symscreen.targets.registry import RegressionTarget
    from symscreen.units import Units


__all__ = [
    "CoefficientEstimates",
    "build_model_table",
    "build_term_table",
    "compute_unexplained_share",
    "estimate_coefficients",
    "evaluate_terms",
    "find_simplest_number",
    "fit_formulas",
    "get_input_columns",
    "get_targets",
    "is_identifiable",
    "predict_on_dataset",
    "snap_coefficients",
]

_RELATIVE_TOLERANCE = (
    1e-12  # of the response's largest magnitude: what a coefficient changes by less is arithmetic
)
_MAX_DENOMINATOR = 12


@dataclass(frozen=True, eq=False)
class CoefficientEstimates:
    """The intercept and the coefficients of a model, fitted by least squares.

    Parameters
    ----------
    coefficients : float64 array, shape (k + 1,)
        The intercept, then one for each term.
    low, high : float64 arrays, shape (k + 1,)
        Ends of their intervals; NaN where no degree of freedom is left.
    level : float
        The intervals' nominal coverage.
    share : float
        1 − R² on the rows used.
    residual : float
        The residual standard deviation; NaN where no degree of freedom is left.
    rows : int
        How many rows were used.
    """

    coefficients: Values
    low: Values
    high: Values
    level: float
    unexplained_share: float
    residual_std: float
    n_rows: int


def _build_design(values: Values) -> tuple[Values, Values]:
    """Return the design's columns, each of norm 1, and their norms; the first is the intercept's."""
    design = np.vstack([np.ones(values.shape[1]), values])
    size = np.abs(design).max(axis=1)
    norms = np.sqrt(((design / size[:, None]) ** 2).sum(axis=1)) * size
    return (design / norms[:, None]).T, norms


def estimate_coefficients(values: Values, target: Values, level: float = 0.95) -> CoefficientEstimates:
    """Fit a model by least squares.

    Parameters
    ----------
    values : float64 array, shape (k, n)
        The terms, linearly independent, none constant.
    target : float64 array, shape (n,)
        The response.
    level : float
        Coverage of the intervals, by Student's t with n − k − 1 degrees of freedom: right for independent
        normal errors of one variance, and only on rows that did not choose the terms.

    Returns
    -------
    Estimates

    Examples
    --------
    >>> x = np.arange(6.0)
    >>> estimate_coefficients(x[None, :], 1 + 2 * x).coefficients.round(9).tolist()
    [1.0, 2.0]
    """
    from scipy.stats import t

    design, norms = _build_design(values)
    n, p = design.shape
    # a power of two rounds nothing, and near 1 squares neither overflow nor vanish
    _, exponent = np.frexp(np.abs(target).max())
    aim = np.ldexp(target, -int(exponent))
    basis, triangle = np.linalg.qr(design)
    solution = np.linalg.solve(triangle, basis.T @ aim)
    # one step of refinement: an exact formula's coefficients come out to the last digits
    solution = solution + np.linalg.solve(triangle, basis.T @ (aim - design @ solution))
    left = aim - design @ solution
    around = aim - aim.mean()
    freedom = n - p
    variance = float((left * left).sum()) / freedom if freedom > 0 else np.nan
    spread = np.sqrt((np.linalg.inv(triangle) ** 2).sum(axis=1) * variance)
    reach = float(t.ppf(0.5 + level / 2, freedom)) if freedom > 0 else np.nan
    own, low, high = (
        np.ldexp(one / norms, int(exponent))
        for one in (solution, solution - reach * spread, solution + reach * spread)
    )
    return CoefficientEstimates(
        coefficients=own,
        low=low,
        high=high,
        level=level,
        unexplained_share=float((left * left).sum() / (around * around).sum()),
        residual_std=float(np.ldexp(np.sqrt(variance), int(exponent))),
        n_rows=n,
    )


def find_simplest_number(low: float, high: float) -> float:
    """Return the simplest number of an interval: the fewest decimals, or a fraction that is shorter still.

    Parameters
    ----------
    low, high : float
        Ends, low ≤ high.

    Returns
    -------
    float
        In [low, high]; the middle where nothing simpler lies in it.

    Examples
    --------
    >>> find_simplest_number(1.93, 2.06), find_simplest_number(0.3329, 0.3337), find_simplest_number(0.0747, 0.0752)
    (2.0, 0.3333333333333333, 0.075)
    """
    return _find_simplest(low, high)[1]


def _find_simplest(low: float, high: float) -> tuple[int, float]:
    """Return the simplest number of an interval behind the number of its digits, 0 for zero."""
    middle = low / 2 + high / 2  # the sum might overflow
    if low <= 0.0 <= high or not np.isfinite(middle):
        return (0, 0.0) if low <= 0.0 <= high else (17, middle)
    # the number of few digits that is nearest to the middle lies inside if any of so few digits does
    decimals = next(
        (digits for digits in range(1, 17) if low <= _round_to_digits(middle, digits) <= high), 17
    )
    for denominator in range(2, _MAX_DENOMINATOR + 1):
        if abs(middle) * denominator >= 10.0**decimals:
            break  # the numerator alone would be as long
        fraction = Fraction(round(middle * denominator), denominator)
        digits = len(str(abs(fraction.numerator))) + len(str(fraction.denominator))
        if low <= float(fraction) <= high and digits < decimals:
            return digits, float(fraction)
    return decimals, _round_to_digits(middle, decimals) if decimals < 17 else min(max(middle, low), high)


def _round_to_digits(number: float, digits: int) -> float:
    return float(f"{number:.{digits - 1}e}")


def snap_coefficients(estimates: CoefficientEstimates, values: Values, target: Values) -> Values | None:
    """Replace each coefficient by the simplest number of its interval, if the data allow all of them.

    The coefficient whose number is the shortest comes first; the others are then estimated again with it
    given, and so on: a slope beside an intercept that has become 0 is known better than it was. What each
    number may be away from its estimate is what the F test leaves after those before it.

    A coefficient whose interval holds 0 stays as it is, an intercept becomes 0.

    Parameters
    ----------
    found : Estimates
        As `estimate_coefficients` gave them for the same terms and rows.
    values : float64 array, shape (k, n)
        The terms.
    target : float64 array, shape (n,)
        The response.

    Returns
    -------
    float64 array, shape (k + 1,), or None
        Each number in its interval; None where no such numbers fit together, or the F test of all
        restrictions together rejects them at the intervals' level.
    """
    from scipy.stats import f

    simple = _snap_sequentially(estimates, values, target)
    if simple is None:
        return None
    largest = np.abs(target).max()
    aim, numbers = target / largest, simple / largest
    left = aim - numbers[0] - (numbers[1:, None] * values).sum(axis=0)
    n, p = len(target), len(simple)
    if np.abs(left).max() <= p * _RELATIVE_TOLERANCE:
        return simple
    centred = aim - aim.mean()
    share = float((left * left).sum() / (centred * centred).sum())
    moved = int((simple != estimates.coefficients).sum())
    if n <= p or not moved or estimates.unexplained_share <= 0.0:
        return None
    statistic = (share - estimates.unexplained_share) / moved / (estimates.unexplained_share / (n - p))
    return simple if statistic <= float(f.ppf(estimates.level, moved, n - p)) else None


def _snap_sequentially(estimates: CoefficientEstimates, values: Values, target: Values) -> Values | None:
    """Choose simple numbers, each given those before; None where one would leave its own interval."""
    from scipy.stats import f

    around = _RELATIVE_TOLERANCE * np.abs(target).max() / np.concatenate(([1.0], np.abs(values).max(axis=1)))
    low = np.fmin(estimates.low, estimates.coefficients - around)
    high = np.fmax(estimates.high, estimates.coefficients + around)
    design, norms = _build_design(values)
    inverse = np.linalg.inv(np.linalg.qr(design)[1])
    covariance = inverse @ inverse.T  # Σ of the columns' coefficients, for residuals of variance 1
    given = estimates.coefficients.copy()
    # a term is never dropped here: which terms there are was chosen before
    waiting = [k for k in range(len(given)) if k == 0 or not low[k] <= 0.0 <= high[k]]
    freedom = estimates.n_rows - len(given)
    # the F test of all restrictions: Σ z² ≤ m·F, z the distance of each, in its error, given those before
    m = len(waiting)
    left = m * float(f.ppf(estimates.level, m, freedom)) if freedom > 0 else 0.0
    while waiting:
        error = estimates.residual_std * np.sqrt(np.fmax(np.diag(covariance), 0.0)) / norms
        reach = np.fmax(error * np.sqrt(left), around)
        ends = {k: (max(low[k], given[k] - reach[k]), min(high[k], given[k] + reach[k])) for k in waiting}
        if any(one > other for one, other in ends.values()):
            return None
        _, k = min((_find_simplest(*ends[k])[0], k) for k in waiting)
        number = _find_simplest(*ends[k])[1]
        waiting.remove(k)
        shift = number - given[k]
        if error[k] > 0.0:
            left = max(left - (shift / error[k]) ** 2, 0.0)
        # normal theory: b given b_k = v has mean b + Σ_·k (v − b_k)/Σ_kk, covariance Σ − Σ_·k Σ_k·/Σ_kk
        column = covariance[:, k] / covariance[k, k]
        given[waiting] += (column / norms * norms[k] * shift)[waiting]
        covariance = covariance - np.outer(column, covariance[k])
        given[k] = number
    return given


_NEGLIGIBLE_TERM_SHARE = 1e-13  # of the response's largest magnitude: an intercept below it is none


def get_input_columns(dataset: Dataset) -> dict[str, NDArray[np.float64]]:
    """Return the inputs of a table by name."""
    return dict(zip(dataset.names, dataset.columns, strict=True))


def get_targets(dataset: Dataset) -> dict[str, NDArray[np.float64]]:
    """Return the targets of a table by name, each of shape (n,), by row."""
    response = dataset.regression_target
    if isinstance(response, MultiOutputTarget):
        return dict(zip(response.names, response.values, strict=True))
    return {response.name: response.values}


def evaluate_terms(terms: Sequence[Expression], dataset: Dataset) -> NDArray[np.float64]:
    """Evaluate terms on a table's rows, shape (k, n); NaN where a term is undefined."""
    columns = get_input_columns(dataset)
    return np.array([evaluate_expression(term, columns) for term in terms]).reshape(
        len(terms), dataset.target.n
    )


def is_identifiable(values: ArrayLike) -> bool:
    """Say whether rows determine the coefficients of terms.

    Parameters
    ----------
    values : array, shape (k, n)
        The terms.

    Returns
    -------
    bool
        Whether they are defined in all rows, independent there, and leave a degree of freedom.

    Examples
    --------
    >>> x = np.arange(5.0)
    >>> [is_identifiable(values) for values in ([x, x**2], [x, 3 - x], x ** [[1], [2], [3], [4]])]
    [True, False, False]
    """
    values = np.asarray(values, dtype=np.float64)
    k, n = values.shape
    if k > n - 2 or not np.isfinite(values).all():
        return False
    shares = compute_unexplained_shares(normalize_rows(values), np.zeros(n), np.arange(k)[None, :])
    return bool(np.isfinite(shares[0]))


def fit_formulas(
    terms: Sequence[Expression], dataset: Dataset, level: float, *, snap: bool
) -> tuple[tuple[Formula, CoefficientEstimates, bool], ...]:
    """Fit the coefficients of terms on a table's rows, for each target by itself.

    Parameters
    ----------
    terms : sequence of Expression
        Their coefficients must be determined.
    table : Table
        The rows, with one target or several.
    level : float
        Coverage of the intervals.
    snap : bool
        Whether to try simple numbers.

    Returns
    -------
    tuple of (Formula, Estimates, bool)
        For each target: its formula, in which an intercept that is rounding is 0, and of several targets a
        coefficient, too; the estimates as fitted; and whether the formula's coefficients are simple numbers
        instead.
    """
    values, targets = evaluate_terms(terms, dataset), get_targets(dataset)
    return tuple(
        _fit_formula(terms, values, name, target, level, snap=snap, is_multi_output=len(targets) > 1)
        for name, target in targets.items()
    )


def _fit_formula(
    terms: Sequence[Expression],
    values: NDArray[np.float64],
    name: str,
    target: NDArray[np.float64],
    level: float,
    *,
    snap: bool,
    is_multi_output: bool,
) -> tuple[Formula, CoefficientEstimates, bool]:
    estimates = estimate_coefficients(values, target, level)
    simple = snap_coefficients(estimates, values, target) if snap else None
    numbers = estimates.coefficients if simple is None else simple
    # a term that is there for another target's sake may be nothing to this one; one's own never is
    sizes = np.abs(values).max(axis=1) if is_multi_output else np.full(len(values), np.inf)
    reach = np.abs(numbers) * np.concatenate(([1.0], sizes))
    numbers = np.where(reach <= _NEGLIGIBLE_TERM_SHARE * np.abs(target).max(), 0.0, numbers)
    formula = Formula(name, float(numbers[0]), tuple(numbers[1:].tolist()), tuple(terms))
    return formula, estimates, simple is not None


def predict_on_dataset(formula: Formula, dataset: Dataset) -> NDArray[np.float64]:
    """Predict the response on a table's rows, shape (n,); NaN where a term is undefined."""
    total = np.full(dataset.target.n, formula.intercept)
    for coefficient, values in zip(formula.coefficients, evaluate_terms(formula.terms, dataset), strict=True):
        total = total + coefficient * values
    return total


def compute_unexplained_share(formula: Formula, dataset: Dataset) -> float:
    """Return RSS/TSS of a formula of one of the targets on a table's rows."""
    actual = get_targets(dataset)[formula.target]
    _, exponent = np.frexp(np.abs(actual).max())  # near 1 squares neither overflow nor vanish
    target, other = (np.ldexp(one, -int(exponent)) for one in (actual, predict_on_dataset(formula, dataset)))
    return float(((other - target) ** 2).mean() / target.var())


_TABLE_DIGITS = 6


def build_term_table(
    fits: Sequence[tuple[Formula, CoefficientEstimates, bool]], units: Units | None
) -> pd.DataFrame:
    """Lay out the coefficients of one target's formula, or of several targets' formulas of the same terms.

    Parameters
    ----------
    fits : sequence of (Formula, Estimates, bool)
        As `symscreen.fitting.coefficients.fit_formulas` gives them.
    units : Units or None
        Those of the columns, where they have any.

    Returns
    -------
    pandas.DataFrame
        As of `FitResult`, or of `SharedFitResult` where there are several targets.
    """
    import pandas as pd

    terms = fits[0][0].terms
    columns: dict[str, Sequence[object]] = {"term": ["1", *map(to_text, terms)]}
    for formula, estimates, _ in fits:
        mark = f"[{formula.target}]" if len(fits) > 1 else ""
        columns |= {
            f"coefficient{mark}": [formula.intercept, *formula.coefficients],
            f"low{mark}": estimates.low.tolist(),
            f"high{mark}": estimates.high.tolist(),
        }
        if units is not None:
            columns[f"unit{mark}"] = format_coefficient_units(terms, formula.target, units)
    return pd.DataFrame({**columns, "complexity": [0, *map(compute_complexity, terms)]})


def build_model_table(
    search_result: ModelSearchResult,
    target: RegressionTarget,
    models: Sequence[ScoredModel],
    criterion: str,
    selected: ScoredModel | None = None,
) -> pd.DataFrame:
    """Lay out models: of one target as formulas, of several as their features.

    Parameters
    ----------
    found : Found
        The search.
    response : Response or SeveralResponse
        Of the rows that were searched.
    models : sequence of Candidate
        The front, or the rivals, as `symscreen.fitting.model_selection` finds them.
    criterion : str
        The name of the score.
    chosen : Candidate, optional
        The model chosen; given, a column tells which it is.

    Returns
    -------
    pandas.DataFrame
        As of `FitResult`, or of `SharedFitResult` where there are several targets.
    """
    import pandas as pd

    what = "formula" if isinstance(target, NumericTarget) else "features"
    rows = []
    for one in models:
        row = {
            "complexity": one.complexity,
            "terms": len(one.term_indices),
            "r2": 1.0 - one.unexplained_share,
            criterion: one.score,
            "rewritings": one.n_rewritings,
            what: _format_fitted_formula(search_result, target, one)
            if isinstance(target, NumericTarget)
            else _format_features(search_result, one),
        }
        rows.append(row if selected is None else row | {"chosen": one is selected})
    columns = ["complexity", "terms", "r2", criterion, "rewritings", what]
    return pd.DataFrame(rows, columns=columns if selected is None else [*columns, "chosen"])


def _format_fitted_formula(
    search_result: ModelSearchResult, target: NumericTarget, model: ScoredModel
) -> str:
    places = list(model.term_indices)
    values = search_result.terms.values[places]  # noqa: PD011  # no frame
    numbers = estimate_coefficients(values, target.values).coefficients.tolist()
    terms = tuple(search_result.terms.expressions[place] for place in places)
    return Formula(target.name, numbers[0], tuple(numbers[1:]), terms).round_numbers(_TABLE_DIGITS).text


def _format_features(search_result: ModelSearchResult, model: ScoredModel) -> str:
    texts = (to_text(search_result.terms.expressions[place]) for place in model.term_indices)
    return ", ".join(texts) or "1"
