"""Evaluate the selection of a few features over repeats of an experiment, and average curves.

A method selects the N_selected = 3 features with the smallest loss. The selection rule of a joint method may
return fewer or more than three features. Its losses also order the other features (by the order in which they
enter a path, or by their share of the splits), so every method selects exactly three; features with the same
loss tie. If the third position falls into a tie, the tied features share the remaining positions equally:
each has the probability of a random selection among them. Therefore no selection depends on the order of the
features.

`aip` is the average inclusion probability, and `compute_paper_auc` the score of Luo and Li (2024, section 6).
`compute_mean_and_error` and `average_curves` average metrics and precision-recall curves over repeats.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.evaluation.precision_recall import (
    average_precision,
    compute_precision_at,
    group_ties,
    pr_auc,
    roc_auc,
)
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.evaluation.precision_recall import PrecisionRecallCurve

CurveArea = Literal["roc", "pr", "ap"]
TruthMode = Literal["one", "all"]
ScoreProtocol = Literal["share", "paper"]

_AREA_FUNCTIONS = {"roc": roc_auc, "pr": pr_auc, "ap": average_precision}
_ROUNDING_TOLERANCE = 1e-9  # of sums of probabilities


class MeanCurve(NamedTuple):
    """Mean of precision-recall curves.

    Parameters
    ----------
    recall : float64 array, shape (m,)
        All positive recalls that occur in a curve, ascending to 1; empty without curves.
    precision : float64 array, shape (m,)
        Mean over the repeats of the precision at which a recall is attained. It applies from the previous
        recall to this one, so the area under this step function is the mean of the average precisions.
    error : float64 array, shape (m,)
        Standard error of the mean; NaN for a single curve.
    """

    recall: Values
    precision: Values
    error: Values


def compute_mean_and_error(values: Sequence[float] | Values) -> tuple[float, float]:
    """Compute the mean of a metric over repeats and its standard error.

    Parameters
    ----------
    values : sequence of float, length R
        Metric of each repeat; NaN values are excluded.

    Returns
    -------
    mean : float
        Σ v / R; NaN if no value is left.
    error : float
        s/√R with s² = Σ(v − mean)²/(R − 1); NaN for fewer than two values.

    Raises
    ------
    OptionError
        If there is more than one value per repeat.

    Examples
    --------
    >>> mean, error = compute_mean_and_error([0.9, 1.0, 0.8, float("nan")])
    >>> round(mean, 4), round(error, 4)
    (0.9, 0.0577)
    """
    metric = np.asarray(values, dtype=np.float64)
    if metric.ndim != 1:
        raise OptionError(f"values have shape {metric.shape}: give one number per repeat")
    defined = metric[~np.isnan(metric)]
    if defined.size == 0:
        return float("nan"), float("nan")
    if defined.size == 1:
        return float(defined[0]), float("nan")
    return float(defined.mean()), float(defined.std(ddof=1) / np.sqrt(defined.size))


def average_curves(curves: Sequence[PrecisionRecallCurve]) -> MeanCurve:
    """Average precision-recall curves over repeats at every recall.

    Parameters
    ----------
    curves : sequence of PrecisionRecallCurve
        One curve per repeat. Curves of repeats without a correct feature are excluded.

    Returns
    -------
    MeanCurve

    Examples
    --------
    >>> from symscreen.evaluation.precision_recall import compute_precision_recall_curve
    >>> loss = np.array([0.1, 0.2, 0.3])
    >>> curves = [compute_precision_recall_curve(loss, np.array(labels) > 0) for labels in ([1, 0, 1], [0,
    ...     1, 1])]
    >>> recall, precision, _ = average_curves(curves)
    >>> recall.tolist(), precision.round(2).tolist()
    ([0.5, 1.0], [0.75, 0.67])
    """
    defined = [curve for curve in curves if curve.recall.size and not np.isnan(curve.recall[0])]
    if not defined:
        return MeanCurve(np.empty(0), np.empty(0), np.empty(0))
    recalls = np.unique(np.concatenate([curve.recall for curve in defined]))
    recalls = recalls[recalls > 0.0]
    precisions = np.stack([compute_precision_at(curve, recalls) for curve in defined])
    error = np.full(recalls.size, np.nan)
    if len(defined) > 1:
        error = precisions.std(axis=0, ddof=1) / np.sqrt(len(defined))
    return MeanCurve(recalls, precisions.mean(axis=0), error)


def select_top_features(loss: Values, size: int = 3) -> Values:
    """Select the features with the smallest losses.

    Parameters
    ----------
    loss : float array, shape (q,)
        Smaller is better. Features with NaN or +∞ were not found; they are last and tied.
    size : int
        Number of selected features, from 1 to q.

    Returns
    -------
    float64 array, shape (q,)
        Probability that each feature is selected: 1 for features before the last position, 0 for features
        after it, and equal values for features that tie at this position. For the g-th group of tied features
        it is min(1, max(0, (size − N_{g−1})/(N_g − N_{g−1}))), where N_g is the number of features in the
        first g groups. The sum is `size`.

    Raises
    ------
    OptionError
        If `size` is not an integer from 1 to q.

    Examples
    --------
    >>> select_top_features(np.array([0.1, 0.5, 0.5, 0.2, 0.5])).round(2).tolist()
    [1.0, 0.33, 0.33, 1.0, 0.33]
    """
    distinct, group = group_ties(loss, np.zeros(np.shape(loss), dtype=bool))
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or not 1 <= size <= group.size:
        raise OptionError(f"size is {size!r}; give an integer from 1 to {group.size}, the number of features")
    sizes = np.bincount(group, minlength=distinct.size)
    n_before = np.cumsum(sizes) - sizes
    return np.asarray(np.clip((size - n_before) / sizes, 0.0, 1.0)[group])


def aip(inclusion: Values, correct: Flags) -> float:
    """Compute the average inclusion probability: the share of correct features among the selected ones.

    Luo and Li (2024, section 6.2) count how often each correct feature is selected over the repeats, sum
    these frequencies and divide by N_selected. This is the mean over the repeats of the share of correct
    features in each selection::

        AIP = 1/N_selected · Σ_{j correct} (1/R) Σ_r selected_rj

    Parameters
    ----------
    inclusion : float array, shape (q,) or (R, q)
        Probability that each feature is selected, once or in each of R repeats; see `select_top_features`.
        The sums of the rows are the same integer.
    correct : bool array, shape (q,)
        Which features are correct.

    Returns
    -------
    float
        In [0, 1]; 0 if no feature is correct. The expected value for a random selection is the share of
        correct features.

    Raises
    ------
    DataError
        If the shapes do not match.
    OptionError
        If the rows do not select the same number of features.

    Examples
    --------
    >>> inclusion = np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
    >>> aip(inclusion, np.array([True, True, False, False]))
    0.5
    """
    rows = np.atleast_2d(np.asarray(inclusion, dtype=np.float64))
    size = _check_choice_size(rows, correct)
    return float(rows.mean(axis=0)[np.asarray(correct, dtype=bool)].sum() / size)


def score_choice(
    loss: Values,
    correct: Flags,
    *,
    size: int = 3,
    protocol: ScoreProtocol = "share",
    truth: TruthMode = "one",
) -> float:
    """Score the selection of a few features by one method.

    Parameters
    ----------
    loss : float array, shape (q,)
        Losses; see `select_top_features`.
    correct : bool array, shape (q,)
        Which features are correct.
    size : int
        Number of selected features N_selected.
    protocol : {"share", "paper"}
        "share" is the share of correct features among the selected ones, whose mean over repeats is the AIP.
        "paper" is the expected area under the ROC curve of the random scores of the paper.
    truth : {"one", "all"}
        Features marked in the ground truth of the paper; see `compute_paper_auc`.

    Returns
    -------
    float

    Raises
    ------
    OptionError
        If `protocol` or `truth` is unknown, or there are fewer features than selected.

    Examples
    --------
    >>> loss, correct = np.arange(24.0), np.arange(24) < 12
    >>> score_choice(loss, correct), round(score_choice(loss, correct, protocol="paper"), 4)
    (1.0, 0.5652)
    """
    _check_word(protocol, get_args(ScoreProtocol), "protocol")
    inclusion = select_top_features(loss, size)
    return (
        aip(inclusion, correct) if protocol == "share" else compute_paper_auc(inclusion, correct, truth=truth)
    )


def draw_paper_scores(inclusion: Values, rng: np.random.Generator) -> Values:
    """Draw the random scores with which Luo and Li (2024, section 6.1) convert a selection to a ranking.

    Random scores are drawn for all features. The N_selected largest ones are assigned to the selected
    features, the others to the rest. Thus the selected features come first in random order, followed by the
    others in random order.

    Parameters
    ----------
    inclusion : float array, shape (q,)
        Selection probabilities; see `select_top_features`. Features that tie at the last position are drawn
        at random.
    rng : numpy.random.Generator
        Random generator.

    Returns
    -------
    float64 array, shape (q,)
        In [0, 1); larger is better.

    Raises
    ------
    OptionError
        If the probabilities are not those of a selection.

    Notes
    -----
    The text does not state whether a score that is assigned to a selected feature is also assigned to the
    feature for which it was drawn. Here each score is assigned once; otherwise other features could tie with
    the selected ones or precede them.

    Examples
    --------
    >>> scores = draw_paper_scores(np.array([0.0, 1.0, 0.5, 0.5]), np.random.default_rng(0))
    >>> int(np.argmin(scores)) != 1
    True
    """
    certain, tied, n_tied_selected = _split_choice(inclusion)
    tied_order = rng.permutation(tied)
    selected = rng.permutation(np.concatenate((certain, tied_order[:n_tied_selected])))
    rest = rng.permutation(np.setdiff1d(np.arange(len(inclusion)), selected))
    scores = np.empty(len(inclusion))
    scores[np.concatenate((selected, rest))] = np.sort(rng.uniform(size=len(inclusion)))[::-1]
    return scores


def compute_paper_auc(
    inclusion: Values,
    correct: Flags,
    *,
    truth: TruthMode = "one",
    area: CurveArea = "roc",
    draws: int | None = None,
    seed: int = 0,
) -> float:
    """Compute the score of Luo and Li (2024, section 6.1): the area under a curve of partly random scores.

    In an array ``ground_truth`` of zeros N_true = 1 element is set to one. The array ``predicted_scores``
    is random, with the largest values assigned to the N_selected = 3 selected features (`draw_paper_scores`).
    The score is the area under the curve of these two arrays. The text does not state which feature is the
    true one, nor how this relates to the labels "correct" introduced later. Two readings are supported:

    - ``truth="one"``: the true feature is one of the correct ones, each with the same probability. All other
      features, including the remaining correct ones, are wrong. The true feature cannot be the formula that
      generated the data, which is not among the 24 features of the order ``bu``.
    - ``truth="all"``: the "manually examined" labels are the ground truth; every correct feature is set to
      one.

    Parameters
    ----------
    inclusion : float array, shape (q,)
        Selection probabilities; see `select_top_features`.
    correct : bool array, shape (q,)
        Which features are correct.
    truth : {"one", "all"}
        Reading of the ground truth.
    area : {"roc", "pr", "ap"}
        Area under the ROC curve (footnote 1 of the paper), area under the precision-recall curve with the
        trapezoidal rule, or average precision.
    draws : int, optional
        Number of random draws of scores, true features and ties to average over. By default the exact
        expectation is computed.
    seed : int
        Random seed of the draws.

    Returns
    -------
    float
        In [0, 1]; NaN if no feature is correct, and for "roc" if no label is wrong.

    Raises
    ------
    OptionError
        If `truth` or `area` is unknown, or the probabilities are not those of a selection.
    DataError
        If the shapes do not match.

    Notes
    -----
    The order within the selected features and within the rest is random. The expectation therefore depends
    only on the number m of correct features among the s selected ones: the score is a rescaled AIP to which
    each draw adds noise. With q features, and u = m/C the probability that the true feature is selected (for
    "one")::

        E[ROC-AUC] = u · (q − (s + 1)/2)/(q − 1) + (1 − u) · ((q − s − 1)/2)/(q − 1)

    This holds because a feature at rank r of q has the area (q − r)/(q − 1), and the mean rank is (s + 1)/2
    for selected features and s + (q − s + 1)/2 for the rest. A random selection has u = s/q, which gives 1/2,
    since all orders are equally likely. The score of the best possible selection is only slightly larger. For
    3 correct features selected of 12 among 24 it is 0.565 ("one") or 0.625 ("all"), since the ranks of the
    other nine are random. The areas under precision against recall of a random selection differ from the
    share of correct features too: the average precision is `compute_expected_average_precision` for "all" and
    H_q/q for "one".

    Examples
    --------
    >>> correct = np.arange(24) < 12
    >>> three_correct = select_top_features(np.arange(24.0))
    >>> round(compute_paper_auc(three_correct, correct), 4), compute_paper_auc(three_correct, correct,
    ...     truth="all")
    (0.5652, 0.625)
    >>> round(compute_paper_auc(np.full(24, 3 / 24), correct), 4)  # all tied: a random selection
    0.5
    """
    _check_word(truth, get_args(TruthMode), "truth")
    _check_word(area, get_args(CurveArea), "area")
    _check_choice_size(np.atleast_2d(inclusion), correct)
    is_correct = np.asarray(correct, dtype=bool)
    if not is_correct.any():
        return float("nan")
    if draws is not None:
        return _simulate_area(inclusion, is_correct, truth=truth, area=area, draws=draws, seed=seed)
    q, size, total = is_correct.size, round(float(np.sum(inclusion))), int(is_correct.sum())
    expected = 0.0
    for m, probability in _iterate_correct_counts(inclusion, is_correct):
        if truth == "all":
            value = _compute_expected_area(area, q, size, m, total)
        else:
            selected_area = _compute_expected_area(area, q, size, 1, 1) * m if m else 0.0
            other_area = _compute_expected_area(area, q, size, 0, 1) * (total - m) if total > m else 0.0
            value = (selected_area + other_area) / total
        expected += probability * value
    return expected


def _simulate_area(
    inclusion: Values, correct: Flags, *, truth: TruthMode, area: CurveArea, draws: int, seed: int
) -> float:
    """Average the area over random draws."""
    if draws < 1:
        raise OptionError(f"draws is {draws}; give at least 1, or None for the expectation")
    rng = np.random.default_rng(seed)
    areas = np.empty(draws)
    for draw in range(draws):
        scores = draw_paper_scores(inclusion, rng)
        labels = correct if truth == "all" else np.arange(correct.size) == rng.choice(np.flatnonzero(correct))
        areas[draw] = _AREA_FUNCTIONS[area](-scores, labels)
    return float(areas.mean())


def _iterate_correct_counts(inclusion: Values, correct: Flags) -> Iterator[tuple[int, float]]:
    """Yield the possible numbers of correct selected features with their hypergeometric probabilities."""
    certain, tied, n_tied_selected = _split_choice(inclusion)
    n_certain_correct, n_tied_correct = int(correct[certain].sum()), int(correct[tied].sum())
    for n_drawn in range(min(n_tied_selected, n_tied_correct) + 1):
        n_ways = comb(n_tied_correct, n_drawn) * comb(len(tied) - n_tied_correct, n_tied_selected - n_drawn)
        yield n_certain_correct + n_drawn, n_ways / comb(len(tied), n_tied_selected)


def _compute_expected_area(
    area: CurveArea, n_features: int, size: int, n_chosen_correct: int, n_correct: int
) -> float:
    """Compute the expected area if the selected features and then the rest have random orders."""
    if area == "roc":
        # the two orders of a pair within a block are equally likely
        n_wrong, n_wrong_rest = n_features - n_correct, n_features - size - (n_correct - n_chosen_correct)
        if n_wrong == 0:
            return float("nan")
        pairs = (
            n_chosen_correct * (size - n_chosen_correct) / 2
            + n_chosen_correct * n_wrong_rest
            + (n_correct - n_chosen_correct) * n_wrong_rest / 2
        )
        return pairs / (n_correct * n_wrong)
    ranks = np.arange(1, n_features + 1)
    is_selected = ranks <= size
    n_rest, n_missed = n_features - size, n_correct - n_chosen_correct
    # probability that the feature at rank r is correct, and the expected number of correct ones before it
    correct_probability = np.where(is_selected, n_chosen_correct / size, n_missed / max(n_rest, 1))
    n_before = np.where(
        is_selected,
        (ranks - 1) * (n_chosen_correct - 1) / max(size - 1, 1),
        n_chosen_correct + (ranks - size - 1) * (n_missed - 1) / max(n_rest - 1, 1),
    )
    precision = (1 + n_before) / ranks
    if area == "ap":
        return float((correct_probability * precision).sum() / n_correct)
    preceding = n_before / np.maximum(ranks - 1, 1)
    preceding[0] = 1.0  # first point of scikit-learn's curve
    return float((correct_probability * (preceding + precision) / 2).sum() / n_correct)


def _split_choice(inclusion: Values) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Return the certain features, the tied features, and the number of tied features selected."""
    probability = np.asarray(inclusion, dtype=np.float64)
    certain, tied = (
        np.flatnonzero(probability == 1.0),
        np.flatnonzero((probability > 0.0) & (probability < 1.0)),
    )
    total = float(probability[tied].sum())
    is_equal = tied.size == 0 or np.ptp(probability[tied]) < _ROUNDING_TOLERANCE
    if not (is_equal and abs(total - round(total)) < _ROUNDING_TOLERANCE and np.isfinite(probability).all()):
        raise OptionError(
            "the probabilities are not those of a selection: those between 0 and 1 must be equal and sum to "
            "an integer"
        )
    return certain, tied, round(total)


def _check_choice_size(inclusion: Values, correct: Flags) -> int:
    """Check that all selections, shape (R, q), have the same number of features; return it."""
    if inclusion.ndim != 2 or inclusion.shape[1:] != np.shape(correct):
        raise DataError(
            f"selections have shape {inclusion.shape} and correctness has shape {np.shape(correct)}: "
            "give one value of each per feature"
        )
    sizes = inclusion.sum(axis=1)
    size = round(float(sizes[0])) if inclusion.size and np.isfinite(sizes).all() else 0
    if size < 1 or np.abs(sizes - size).max() > _ROUNDING_TOLERANCE:
        raise OptionError(
            f"the selections have {sizes.min(initial=np.inf):g} to {sizes.max(initial=0.0):g} features; "
            "all must have the same integer number"
        )
    return size


def _check_word(value: str, known: tuple[str, ...], option: str) -> None:
    """Raise `OptionError` for an unknown value of an option."""
    if value not in known:
        raise OptionError(f"{option} is {value!r}{suggest(str(value), known)}")
