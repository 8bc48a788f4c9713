"""Select a model: information criteria that count the search, the Pareto front, and close alternatives."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from symscreen.fitting.coefficients import estimate_coefficients, is_identifiable
from symscreen.fitting.laws.gauss_newton import estimate_robust_covariance
from symscreen.fitting.stage_names import SUBSETS
from symscreen.linear_models.model_criteria import (
    EXACT_SHARE,
    compute_search_penalty,
    round_unexplained_share,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.fitting.subset_search import ModelSearchResult


Criterion = Literal["ebic", "bic", "aic"]

_SimplicityKey = tuple[int, bool, tuple[int, ...], tuple[int, ...]]

_CRITERION_TOLERANCE = 2.0  # difference of the criterion up to which models are considered equally good
_MIN_ROWS_PER_PARAMETER = 5  # number of rows per parameter of a model
# smallest number of rows that are left out; a model must be better than the mean without them
_N_LEFT_OUT = 5
_MIN_LEFT_ROWS = 4  # smallest number of rows for this rule, as a multiple of the rows that are left out
_MIN_ROBUST_ROWS = 30  # smallest number of rows whose variances are certain enough
# Level of the F test with fewer rows. The penalties count the formulas of one search up to a complexity. A
# law may come from about ten searches with ten complexities each.
_FEW_ROWS_LEVEL = 0.001
_COST_OF_NUMBER = 2  # complexity of a coefficient: the number, and its product or sum


@dataclass(frozen=True, slots=True)
class ScoredModel:
    """A model with its score.

    Parameters
    ----------
    term_indices : tuple of int
        Indices of the terms, ascending.
    unexplained_share : float
        1 − R², in [0, 1].
    complexity : int
        Sum of the complexities of the terms, plus one for each coefficient. 0 for the mean.
    score : float
        Value of the criterion. Lower is better.
    term_complexities : tuple of int
        Complexities of the terms, largest first. If models are equally complex, the one with simpler terms is
        better.
    n_rewritings : int
        Number of other models with as many terms and the same unexplained share. These are other forms of the
        same formula or, if nothing is unexplained, other exact formulas.
    has_intercept : bool
        Whether the model has an intercept.
    stage : str or None
        Name of the stage of the search that found the model. None for the mean.
    n_parameters : int
        Number of coefficients, fitted constants inside terms, and intercepts.
    """

    term_indices: tuple[int, ...]
    unexplained_share: float
    complexity: int
    score: float
    term_complexities: tuple[int, ...] = ()
    n_rewritings: int = 0
    has_intercept: bool = True
    stage: str | None = None
    n_parameters: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether the model leaves nothing but rounding."""
        return self.unexplained_share <= EXACT_SHARE


class _Candidate(NamedTuple):
    """A model before the choice among those with equal shares: the smallest tuple is chosen.

    It is the simplest one, and of equal forms the one of the smallest search.
    """

    complexity: int
    has_intercept: bool
    term_complexities: tuple[int, ...]
    score: float
    term_indices: tuple[int, ...]
    unexplained_share: float
    n_parameters: int


def score_models(
    search_result: ModelSearchResult, n_rows: float, criterion: Criterion, n_targets: int = 1
) -> list[ScoredModel]:
    """Score the models of a search and the mean; of models with equal shares, only the simplest.

    Parameters
    ----------
    search_result : ModelSearchResult
        Result of a search.
    n_rows : float
        Number of rows n of the search; with row weights, the effective number, see
        `symscreen.linear_models.row_weights.count_effective_rows`.
    criterion : {"ebic", "bic", "aic"}
        With k terms, c fitted constants inside them and an intercept, BIC is
        n·log(1 − R²) + (k + c + 1)·log n (Schwarz 1978). AIC has the penalty 2·(k + c + 1) (Akaike 1974).
        EBIC adds 2·Σ log p_j·n/(n − k − c − 1) to BIC, where p_j is the number of features that term j was
        chosen from (see `symscreen.linear_models.model_criteria.compute_search_penalty`). A search over many
        formulas can fit noise, and only EBIC accounts for the size of the search.
    n_targets : int
        Number of targets K whose shares are averaged. The first term is then n·K·log of the mean share, the
        likelihood of n·K errors of equal variance, with each target in units of its standard deviation. The
        number of parameters is K·(k + 1) + c. The terms are chosen once, so Σ log p_j is not multiplied by K.

    Returns
    -------
    list of ScoredModel
        Best first. Exact formulas come before all others, simplest first. A model that is not exact and has
        more than one term is dropped if it has fewer than five target values per parameter. The criteria are
        asymptotic, and with few rows they prefer models that interpolate. A model without an intercept is
        dropped if it is not better than the mean by log n, the cost of one parameter.
    """
    terms = search_result.terms
    complexities, n_constants = terms.complexity.tolist(), terms.n_constants.tolist()
    log_sizes = list(map(log, terms.search_sizes.tolist()))
    parameter_cost = 2.0 if criterion == "aic" else log(n_rows)
    groups: dict[tuple[int, float], list[_Candidate]] = {}
    for members, share in [((), 1.0), *search_result.models.items()]:
        has_intercept = members not in search_result.models_without_intercept
        n_parameters = n_targets * (has_intercept + len(members)) + sum(n_constants[i] for i in members)
        if (
            share > EXACT_SHARE
            and len(members) > 1
            and _MIN_ROWS_PER_PARAMETER * n_parameters > n_targets * n_rows
        ):
            continue
        term_complexities = tuple(sorted((complexities[index] for index in members), reverse=True))
        penalty = n_parameters * parameter_cost
        if criterion == "ebic":
            log_choices = sum(log_sizes[index] for index in members)
            penalty += compute_search_penalty(log_choices, n_targets * n_rows, n_parameters)
        score = n_targets * n_rows * log(max(share, EXACT_SHARE)) + penalty
        complexity = sum(term_complexities) + len(term_complexities)
        groups.setdefault((len(members), round_unexplained_share(share)), []).append(
            _Candidate(complexity, has_intercept, term_complexities, score, members, share, n_parameters)
        )
    _drop_laws_like_the_mean(groups, n_rows)
    simplest = [
        _build_scored_model(min(group), len(group) - 1, search_result.stages) for group in groups.values()
    ]
    return sorted(simplest, key=_build_rank_key)


def _build_scored_model(
    candidate: _Candidate, n_rewritings: int, stages: Mapping[tuple[int, ...], str]
) -> ScoredModel:
    """Build the model that stands for others with an equal share."""
    return ScoredModel(
        candidate.term_indices,
        candidate.unexplained_share,
        candidate.complexity,
        candidate.score,
        candidate.term_complexities,
        n_rewritings,
        has_intercept=candidate.has_intercept,
        stage=stages.get(candidate.term_indices, SUBSETS) if candidate.term_indices else None,
        n_parameters=candidate.n_parameters,
    )


def _drop_laws_like_the_mean(groups: dict[tuple[int, float], list[_Candidate]], n_rows: float) -> None:
    """Drop models without an intercept that are not better than the mean by the cost of one parameter.

    The mean has as many parameters as y = c·x. Without this rule, a law would be claimed for noise around 0
    wherever its one coefficient gains more than the cost of its search.
    """
    (mean,) = groups[0, 1.0]
    for key, group in groups.items():
        groups[key] = [
            candidate
            for candidate in group
            if candidate.has_intercept
            or candidate.unexplained_share <= EXACT_SHARE
            or candidate.score + log(n_rows) < mean.score
        ]
    for key in [key for key, group in groups.items() if not group]:
        del groups[key]


def _build_rank_key(model: ScoredModel) -> tuple[float, _SimplicityKey]:
    """Return the sort key of a model: score, then simplicity; exact formulas first, by simplicity alone.

    Exact formulas count their numbers, too, so 2*U*(1 - cos(x)) comes before 2*U - 2*U*cos(x). The score of
    other models counts them already.
    """
    key = _build_simplicity_key(model)
    if not model.is_exact:
        return round(model.score, 6), key
    return -np.inf, (_compute_size(model), *key[1:])


def _compute_size(model: ScoredModel) -> int:
    """Return the complexity of a formula with all its numbers, also its coefficients."""
    return model.complexity + _COST_OF_NUMBER * model.n_parameters


def _build_simplicity_key(model: ScoredModel) -> _SimplicityKey:
    """Return the sort key of a model by simplicity."""
    return model.complexity, model.has_intercept, model.term_complexities, model.term_indices


def select_model(models: Sequence[ScoredModel]) -> ScoredModel:
    """Select the simplest of the models whose score is close to the best.

    Parameters
    ----------
    models : sequence of ScoredModel
        Models, best first, as returned by `score_models`.

    Returns
    -------
    ScoredModel
        The least complex model within 2 points of the best, and of equally complex ones the best. All fitted
        numbers count, so m/sqrt(1 - v**2) comes before m/sqrt(cos(1.45*v)). Such a difference is "not worth
        more than a bare mention" (Kass and Raftery 1995, J. Am. Stat. Assoc. 90, 773-795). If there are exact
        formulas, the first of them.
    """
    best = models[0]
    if best.is_exact:
        return best
    close_models = (model for model in models if model.score <= best.score + _CRITERION_TOLERANCE)
    return min(close_models, key=lambda model: (_compute_size(model), _build_rank_key(model)))


def explains_many_rows(model: ScoredModel, mean: ScoredModel, values: Values, target: Values) -> bool:
    """Return whether a model is better than the mean also without the rows that it explains best.

    A target with heavy tails has a few rows that make up most of its variance. Among millions of formulas,
    some have a peak in just these rows, and so a large R². They explain nothing of the other rows.

    Parameters
    ----------
    model, mean : ScoredModel
        The model and the mean, with their scores by the same criterion.
    values : float64 array, shape (k, n)
        Values of the terms.
    target : float64 array, shape (n,)
        The target.

    Returns
    -------
    bool
        Whether the criterion prefers the model after five rows, or 1 % of them if that is more, are left out.
        These are the rows whose squared error the model reduces most. The penalties stay as they are. True
        for the mean, for exact formulas, and if hardly more rows than parameters would be left.

    Examples
    --------
    >>> target = np.append(np.random.default_rng(0).normal(size=99), 50.0)
    >>> peak = np.zeros(100)
    >>> peak[-1] = 1.0
    >>> share = 1.0 - np.corrcoef(peak, target)[0, 1] ** 2
    >>> model = ScoredModel((0,), share, 5, 100 * log(share) + 30.0)
    >>> explains_many_rows(model, ScoredModel((), 1.0, 0, log(100)), peak[None], target)
    False
    """
    n = len(target)
    n_left_out = max(_N_LEFT_OUT, n // 100)
    if not model.term_indices or model.is_exact or n < _MIN_LEFT_ROWS * n_left_out + len(values):
        return True
    target = target / np.abs(target).max()  # huge values have no squares
    estimates = estimate_coefficients(values, target, has_intercept=model.has_intercept)
    residuals = target - estimates.coefficients[0] - estimates.coefficients[1:] @ values
    gains = (target - target.mean()) ** 2 - residuals**2
    rows = np.sort(np.argsort(-gains, kind="stable")[n_left_out:])
    rest, rest_values = target[rows], values[:, rows]
    if np.ptp(rest) == 0.0 or not is_identifiable(rest_values):
        return False
    rest_estimates = estimate_coefficients(rest_values, rest, has_intercept=model.has_intercept)
    share = min(1.0, max(rest_estimates.unexplained_share, EXACT_SHARE))
    return model.score + len(rows) * log(share) - n * log(model.unexplained_share) < mean.score


def is_robust(
    model: ScoredModel, mean: ScoredModel, values: Values, target: Values, n_constants: int = 0
) -> bool:
    """Return whether a model is better than the mean also with unequal variances, or with few rows.

    Where the errors are large in a few rows, a formula that is large in the same rows correlates with them by
    chance much more often than with equal errors. With few rows, the likelihood ratio of the criterion
    overstates the evidence, and an F test replaces it.

    Parameters
    ----------
    model, mean : ScoredModel
        The model and the mean, with their scores by the same criterion.
    values : float64 array, shape (k, n)
        Values of the terms.
    target : float64 array, shape (n,)
        The target.
    n_constants : int
        Number of fitted constants inside the terms.

    Returns
    -------
    bool
        Whether the criterion prefers the model if its gain is n·log(1 + W/(n − k − 1)), with Wald's statistic
        W for robust variances (`symscreen.fitting.laws.gauss_newton.estimate_robust_covariance`). With fewer
        than 30 rows the gain is −2·log(p/0.001), with the p-value of the F test of the terms and constants.
        True for the mean, for exact formulas, and where the rows do not determine the variances.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(1.0, 5.0, 200)
    >>> target = 2.0 * x + rng.normal(size=200)
    >>> share = 1.0 - np.corrcoef(x, target)[0, 1] ** 2
    >>> model, mean = ScoredModel((0,), share, 2, 200 * log(share) + 30.0), ScoredModel((), 1.0, 0, log(200))
    >>> is_robust(model, mean, x[None], target)
    True
    """
    n = len(target)
    if not model.term_indices or model.is_exact:
        return True
    if n < _MIN_ROBUST_ROWS:
        gain = _compute_exact_gain(model.unexplained_share, n, len(values) + n_constants)
        gain += 2.0 * log(_FEW_ROWS_LEVEL)
        return model.score - gain - n * log(model.unexplained_share) < mean.score
    scaled = values / np.abs(values).max(axis=1, keepdims=True)  # huge values have no squares
    response = target / np.abs(target).max()
    coefficients = estimate_coefficients(scaled, response).coefficients
    slopes = coefficients[1:]
    residuals = response - coefficients[0] - slopes @ scaled
    covariance = estimate_robust_covariance(np.column_stack([np.ones(n), *scaled]), residuals)
    if covariance is None:
        return True
    wald = float(slopes @ np.linalg.lstsq(covariance[1:, 1:], slopes, rcond=None)[0])
    gain = n * log(1.0 + max(wald, 0.0) / (n - len(slopes) - 1))
    return model.score - gain - n * log(model.unexplained_share) < mean.score


def _compute_exact_gain(share: float, n: int, n_parameters: int) -> float:
    """Compute −2·log p of the F test of parameters besides the mean; 0 without degrees of freedom."""
    from scipy.special import betainc  # importing scipy.stats takes longer than a small fit

    n_freedom = n - 1 - n_parameters
    if n_freedom <= 0:
        return 0.0
    p_value = float(betainc(n_freedom / 2.0, n_parameters / 2.0, share))
    return -2.0 * log(max(p_value, np.finfo(np.float64).tiny))


def explains_rows(
    model: ScoredModel, mean: ScoredModel, values: Values, target: Values, n_constants: int
) -> bool:
    """Return whether a model passes `explains_many_rows` and `is_robust`: values (k, n), target (n,)."""
    return explains_many_rows(model, mean, values, target) and is_robust(
        model, mean, values, target, n_constants
    )


def find_pareto_front(models: Iterable[ScoredModel]) -> list[ScoredModel]:
    """Return the Pareto front of error and complexity, simplest first.

    Parameters
    ----------
    models : iterable of ScoredModel
        Models in any order.

    Returns
    -------
    list of ScoredModel
        Each has a lower unexplained share than all simpler models.

    Examples
    --------
    >>> simple, worse = ScoredModel((0,), 0.5, 2, 0.0), ScoredModel((1,), 0.6, 3, 0.0)
    >>> [one.complexity for one in find_pareto_front([worse, simple])]
    [2]
    """
    front: list[ScoredModel] = []
    for model in sorted(
        models,
        key=lambda model: (
            model.complexity,
            max(model.unexplained_share, EXACT_SHARE),
            model.term_complexities,
            model.term_indices,
        ),
    ):
        if not front or max(model.unexplained_share, EXACT_SHARE) < max(
            front[-1].unexplained_share, EXACT_SHARE
        ) * (1 - 1e-9):
            front.append(model)
    return front


def find_alternatives(
    selected: ScoredModel, models: Sequence[ScoredModel], margin: float, limit: int
) -> list[ScoredModel]:
    """Return the models whose score is close to that of the selected one, each function once.

    Parameters
    ----------
    selected : ScoredModel
        The selected model.
    models : sequence of ScoredModel
        All models, best first.
    margin : float
        Maximum difference of the score. An alternative at the margin has posterior odds of e^(−margin/2).
    limit : int
        Maximum number of alternatives.

    Returns
    -------
    list of ScoredModel
        Alternatives, best first.
    """
    alternatives = [
        model for model in models if model is not selected and model.score <= selected.score + margin
    ]
    if selected.is_exact:
        # an exact formula with additional terms is the same formula plus rounding
        alternatives = [
            model for model in alternatives if not set(selected.term_indices) < set(model.term_indices)
        ]
    else:
        # equal errors are those of two forms of one function
        distinct: dict[float, ScoredModel] = {}
        for model in (selected, *alternatives):
            distinct.setdefault(round_unexplained_share(model.unexplained_share), model)
        alternatives = list(distinct.values())[1:]
    return alternatives[:limit]
