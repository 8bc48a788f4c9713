"""A sparse logistic model: the l1 path proposes sets of terms, and cross-validation chooses one of them.

The model with the chosen terms is fitted again with an l2 penalty, because the l1 penalty also shrinks the
terms that it keeps (the relaxed lasso, Meinshausen 2007, Comput. Stat. Data Anal. 52, 374).
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import l1_min_c
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values


_N_STRENGTHS = 15  # penalties of the path
_STRENGTH_RANGE = 500.0  # the weakest penalty relative to the strongest, at which all coefficients are 0
_PATH_TOLERANCE = 1e-3
_MAX_PATH_ITERATIONS = 1000
_MAX_ITERATIONS = 5000
# scikit-learn 1.8 replaces `penalty` by `l1_ratio`
_HAS_PENALTY = inspect.signature(LogisticRegression).parameters["penalty"].default == "l2"
_L1: dict[str, Any] = {"penalty": "l1"} if _HAS_PENALTY else {"l1_ratio": 1.0}


@dataclass(frozen=True, eq=False)
class SparseLogisticFit:
    """A logistic model of few terms.

    Parameters
    ----------
    term_indices : tuple of int, length k
        Indices of its terms among the candidates.
    intercepts : float64 array, shape (1,) or (C,)
        The log-odds of the second of two classes, or a score of each class, where all terms are 0.
    coefficients : float64 array, shape (1, k) or (C, k)
        The coefficients of the terms in their own units.
    means : float64 array, shape (k,)
        The means of the terms.
    cv_log_loss : float or None
        The log-loss of cross-validation; None if a class has too few rows.
    """

    term_indices: tuple[int, ...]
    intercepts: Values
    coefficients: Values
    means: Values
    cv_log_loss: float | None


def fit_sparse_logistic(
    values: Values, codes: Integers, *, max_terms: int, n_folds: int, seed: int
) -> SparseLogisticFit:
    """Fit a logistic model of few terms.

    Parameters
    ----------
    values : float64 array, shape (n, q)
        The candidates; finite.
    codes : int64 array, shape (n,)
        The class of each row, from 0 to C − 1; C ≥ 2.
    max_terms : int
        The largest number of terms.
    n_folds : int
        The largest number of folds; a class with fewer rows limits it.
    seed : int
        The seed of the folds.

    Returns
    -------
    SparseLogisticFit
        The smallest model whose log-loss in cross-validation is within one standard error of the best. The
        model may have no terms.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 40)
    >>> values = np.column_stack([x, np.cos(9.0 * x)])
    >>> fit = fit_sparse_logistic(values, (x > 0.2).astype(int), max_terms=1, n_folds=5, seed=0)
    >>> fit.term_indices, bool(fit.coefficients[0, 0] > 0.0)
    ((0,), True)
    """
    with threadpool_limits(1):  # the products are small: threads would wait for each other
        return _fit(values, codes, max_terms, n_folds, seed)


def _fit(values: Values, codes: Integers, max_terms: int, n_folds: int, seed: int) -> SparseLogisticFit:
    """Do the work of `fit_sparse_logistic`."""
    means, scales = values.mean(axis=0), values.std(axis=0)
    varying = np.flatnonzero(scales > 0.0)
    standardized = (values[:, varying] - means[varying]) / scales[varying]
    strengths = _choose_strengths(standardized, codes)
    supports = _propose_supports(standardized, codes, strengths, max_terms)
    index, loss = len(supports) - 1, None
    n_folds = min(n_folds, int(np.bincount(codes).min()))
    if n_folds > 1:
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        losses = np.array(
            [
                _compute_fold_losses(standardized, codes, rows, strengths[: len(supports) - 1], max_terms)
                for rows in folds.split(standardized, codes)
            ]
        )
        index, loss = _choose_index(losses)
    support = supports[index]
    intercepts, coefficients = _fit_terms(standardized[:, support], codes)
    chosen = varying[support]
    coefficients = coefficients / scales[chosen]
    return SparseLogisticFit(
        tuple(chosen.tolist()),
        intercepts - coefficients @ means[chosen],
        coefficients,
        means[chosen],
        loss,
    )


def _choose_strengths(values: Values, codes: Integers) -> Values:
    """Return values of C, ascending, from where no term has a coefficient; none without candidates."""
    if not values.shape[1]:
        return np.zeros(0)
    least = float(l1_min_c(values, codes, loss="log"))
    if not np.isfinite(least):
        return np.zeros(0)
    return least * np.geomspace(1.0, _STRENGTH_RANGE, _N_STRENGTHS)


def _propose_supports(
    values: Values, codes: Integers, strengths: Values, max_terms: int
) -> list[NDArray[np.intp]]:
    """Return the terms along the path, shape (k,) each, until there are more than allowed.

    The first set has no terms. A set that is too large keeps the terms with the largest coefficients.
    """
    supports: list[NDArray[np.intp]] = [np.zeros(0, dtype=np.intp)]
    model = LogisticRegression(
        **_L1,
        solver="saga",
        tol=_PATH_TOLERANCE,
        max_iter=_MAX_PATH_ITERATIONS,
        warm_start=True,
        random_state=0,
    )
    for strength in strengths:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the terms matter here, not their numbers
            model.set_params(C=float(strength)).fit(values, codes)
        sizes = np.abs(model.coef_).max(axis=0)
        largest = np.argsort(-sizes, kind="stable")[:max_terms]
        supports.append(np.sort(largest[sizes[largest] > 0.0]))
        if np.count_nonzero(sizes) > max_terms:
            break
    return supports


def _compute_fold_losses(
    values: Values,
    codes: Integers,
    rows: tuple[NDArray[np.intp], NDArray[np.intp]],
    strengths: Values,
    max_terms: int,
) -> Values:
    """Return the log-loss in the test rows of a fold for each set of terms of the path, shape (s + 1,)."""
    training_rows, test_rows = rows
    training_values, training_codes = values[training_rows], codes[training_rows]
    supports = _propose_supports(training_values, training_codes, strengths, max_terms)
    supports += [supports[-1]] * (len(strengths) + 1 - len(supports))
    losses: dict[tuple[int, ...], float] = {}
    for support in supports:
        key = tuple(support.tolist())
        if key not in losses:
            intercepts, coefficients = _fit_terms(training_values[:, support], training_codes)
            scores = intercepts + values[test_rows][:, support] @ coefficients.T
            probabilities = compute_probabilities(scores)
            labels = np.arange(probabilities.shape[1])
            losses[key] = float(log_loss(codes[test_rows], probabilities, labels=labels))
    return np.array([losses[tuple(support.tolist())] for support in supports])


def _choose_index(losses: Values) -> tuple[int, float]:
    """Return the first set of terms within one standard error of the best, and its log-loss."""
    mean = losses.mean(axis=0)
    error = losses.std(axis=0, ddof=1) / np.sqrt(len(losses))
    best = int(mean.argmin())
    index = int(np.flatnonzero(mean <= mean[best] + error[best])[0])
    return index, float(mean[index])


def _fit_terms(values: Values, codes: Integers) -> tuple[Values, Values]:
    """Fit intercepts and coefficients with an l2 penalty; without terms they are the log-odds of classes."""
    if not values.shape[1]:
        logarithms = np.log(np.bincount(codes) / len(codes))
        is_binary = len(logarithms) == 2
        intercepts = logarithms[1:] - logarithms[:1] if is_binary else logarithms - logarithms.mean()
        return intercepts, np.zeros((len(intercepts), 0))
    model = LogisticRegression(max_iter=_MAX_ITERATIONS).fit(values, codes)
    return model.intercept_, model.coef_


def compute_probabilities(scores: Values) -> Values:
    """Compute the probability of each class, shape (m, C), from scores of shape (m, 1) or (m, C).

    One score is the log-odds of the second of two classes; of several, the softmax is taken.

    Examples
    --------
    >>> compute_probabilities(np.array([[0.0], [np.log(3.0)]])).round(12).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
