"""Decide whether a law leaves nothing that further searches could explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.coefficients import estimate_coefficients
from symscreen.fitting.feature_dictionary import make_empty_dictionary
from symscreen.fitting.lack_of_fit import compute_lack_of_fit
from symscreen.fitting.laws.fitted_laws import add_laws
from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.fitting.laws.nested_laws import extends_law
from symscreen.fitting.model_selection import score_models, select_model
from symscreen.fitting.subset_search import ModelSearchResult
from symscreen.linear_models.row_weights import count_effective_rows, scale_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.fitting.laws.fitted_laws import FittedLaw
    from symscreen.fitting.laws.law import Law, LawData
    from symscreen.fitting.model_selection import ScoredModel


_MIN_SCORE_GAIN = 10.0  # points of the criterion by which a law must be better than the mean
_MIN_LEAD = 6.0  # points of the criterion by which a clear winner is better than all others
_DOUBT_COST = 20.0  # points that a doubtful law must pay less, so that two more searches find none better
_MIN_TESTED_ROWS = 500  # rows; with fewer, the tests of lack of fit do not end a search
_LEVEL = 0.01  # p-value of the tests of lack of fit above which a law needs no better one
_MAX_ENDING_COMPLEXITY = 25  # a longer formula may be an approximation of a law that a later search finds
_N_FORMULAS = 4_000  # formulas that residuals are compared with
_MAX_ROWS = 2_000  # rows on which they are compared
_MIN_ROWS = 10
_BLOCK_FORMULAS = 512  # formulas that are compared together


def is_law_sufficient(laws: Sequence[FittedLaw], data: LawData, *, max_cost: float | None = None) -> bool:
    """Return whether the best law leaves nothing that the inputs explain, so that no search can do better.

    Parameters
    ----------
    laws : sequence of FittedLaw
        The laws found so far, fitted on the rows of `data`.
    data : LawData
        Inputs, target and grammar.
    max_cost : float, optional
        If given, the best law must have at most complexity 25, and pay at most this number of points of the
        criterion for its search and inner constants; otherwise, later stages might find a simpler law. A law
        with fitted numbers besides one coefficient may be an approximation. So it must pay 20 points less,
        and none may be about as good. Any other law must pay 20 points less if one is about as good that does
        not extend it by one or two fitted terms.

    Returns
    -------
    bool
        Whether the best law is exact or, with at least 500 rows, is clearly better than the mean, and no test
        finds a lack of fit. With fewer rows, these tests find little.
    """
    if not laws:
        return False
    n = count_effective_rows(len(data.target), data.row_weights)
    if n < _MIN_TESTED_ROWS and not any(each.is_exact for each in laws):
        return False
    found = add_laws(ModelSearchResult(make_empty_dictionary(len(data.target)), {}, 0, 0), laws)
    models = score_models(found, n, "ebic")
    best = select_model(models)
    if best.is_exact or n < _MIN_TESTED_ROWS:
        return best.is_exact
    mean = next(model for model in models if not model.term_indices)
    if mean.score - best.score < _MIN_SCORE_GAIN:
        return False
    members = list(best.term_indices)
    if max_cost is not None and not _is_clear(best, models, laws, max_cost, n):
        return False
    values = found.terms.values[members]
    coefficients = estimate_coefficients(
        values, data.target, has_intercept=best.has_intercept, row_weights=data.row_weights
    ).coefficients
    residuals = data.target - coefficients[0] - coefficients[1:] @ values
    return (
        compute_lack_of_fit([*data.every_column.values()], residuals, data.row_weights) > _LEVEL
        and compute_pool_lack_of_fit(scale_rows(residuals, data.row_weights), data) > _LEVEL
    )


def _is_clear(
    best: ScoredModel, models: Sequence[ScoredModel], laws: Sequence[FittedLaw], max_cost: float, n: float
) -> bool:
    """Return whether the best model is simple, and pays so little that later searches need not be tried.

    A law with fitted numbers besides one coefficient may approximate another one. It must pay less, and any
    law that is about as good is its rival. The rivals of other laws do not extend them.
    """
    law, *others = _list_close_laws(best, models, laws)
    n_numbers = len(law.terms) + law.has_intercept + law.n_constants
    if n_numbers > 1 and others:
        return False
    is_doubtful = n_numbers > 1 or not all(extends_law(other, law) for other in others)
    cost = 2.0 * float(np.log(law.search_size)) + law.n_constants * float(np.log(n))
    limit = max_cost - _DOUBT_COST if is_doubtful else max_cost
    return best.complexity <= _MAX_ENDING_COMPLEXITY and cost <= limit


def _list_close_laws(
    best: ScoredModel, models: Sequence[ScoredModel], laws: Sequence[FittedLaw]
) -> list[Law]:
    """List the laws of the best model, which is not the mean, and of those that are about as good."""
    starts = np.cumsum([0, *(len(each.law.terms) for each in laws)]).tolist()
    law_of_term = dict(zip(starts, (each.law for each in laws), strict=False))
    close = [best, *(each for each in models if each is not best and each.score - best.score < _MIN_LEAD)]
    return [law_of_term[each.term_indices[0]] for each in close]


def compute_pool_lack_of_fit(residuals: Values, data: LawData) -> float:
    """Compute the p-value of the hypothesis that no formula of the inputs is correlated with residuals.

    Parameters
    ----------
    residuals : float64 array, shape (n,)
        Residuals of a model, in the order of the rows of `data`.
    data : LawData
        Inputs and grammar. The 4,000 simplest formulas are compared on at most 2,000 rows.

    Returns
    -------
    float
        In [0, 1]. The smallest p-value of all formulas, multiplied by their number (Bonferroni). 1 with fewer
        than ten rows or constant residuals.

    Notes
    -----
    The test is more powerful than `symscreen.fitting.lack_of_fit.compute_lack_of_fit` with many inputs, where
    neighbours are far apart, but it only finds what is correlated with a simple formula.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import build_law_data
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> x, z, noise = rng.uniform(1, 3, (3, 200))
    >>> data = build_law_data({"x": x, "z": z}, np.arange(200.0), load_grammar("basic"))
    >>> compute_pool_lack_of_fit(x / z + noise, data) < 1e-3 < compute_pool_lack_of_fit(noise, data)
    True
    """
    from scipy.special import stdtr  # importing scipy.stats takes longer than a small fit

    rows = data.select_rows(_MAX_ROWS)
    centered = residuals[rows] - residuals[rows].mean()
    size = float(np.linalg.norm(centered))
    n_freedom = len(rows) - 2
    if len(rows) < _MIN_ROWS or size <= 0.0:
        return 1.0
    pool = grow_formula_pool(
        {name: values[rows] for name, values in data.every_column.items()}, data.grammar, _N_FORMULAS
    )
    largest = 0.0
    for start in range(0, len(pool), _BLOCK_FORMULAS):
        values = pool.values[start : start + _BLOCK_FORMULAS]
        values = values - values.mean(axis=1, keepdims=True)
        norms = np.linalg.norm(values, axis=1)
        correlations = np.abs(values @ (centered / size)) / np.where(norms > 0.0, norms, np.inf)
        largest = max(largest, float(correlations[np.isfinite(correlations)].max(initial=0.0)))
    if largest >= 1.0:
        return 0.0
    statistic = largest * np.sqrt(n_freedom / (1.0 - largest**2))
    return min(1.0, 2.0 * len(pool) * float(stdtr(n_freedom, -statistic)))
