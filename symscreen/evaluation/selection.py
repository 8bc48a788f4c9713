"""What many repeats of an experiment say together: means, their standard errors, and a mean curve.

A choice of a few features: how often it is correct, and how Luo and Li (2024, §6) score it.

A method's choice is the N_selected = 3 features of least loss. What a joint method selects by its own rule
may be fewer or more than three; its losses go on beyond that (the order in which features enter a path, the
share of splits), so that every method gives exactly three, and what it left out in the same way ties. Where
the third place falls into a tie, the tied share what is left of the three in equal parts, each with the
probability that a random one of the tied would be taken: no choice depends on the order of the features.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from symscreen.errors import DataError, OptionError, suggest
from symscreen.evaluation.precision_recall import (
    average_precision,
    compute_precision_at,
    group_ties,
    pr_auc,
    roc_auc,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.evaluation.precision_recall import PrecisionRecallCurve


__all__ = [
    "CurveArea",
    "MeanCurve",
    "ScoreProtocol",
    "TruthMode",
    "aip",
    "average_curves",
    "compute_mean_and_error",
    "compute_paper_auc",
    "draw_paper_scores",
    "score_choice",
    "select_top_features",
]


class MeanCurve(NamedTuple):
    """The mean of precision-recall curves.

    Parameters
    ----------
    recall : float64 array, shape (m,)
        Every recall above 0 that occurs in one of them, ascending to 1; empty where no curve is left.
    precision : float64 array, shape (m,)
        The mean over repeats of the precision with which a recall is reached. It holds from the recall before
        up to its own, so the area under these steps is the mean of the average precisions.
    error : float64 array, shape (m,)
        The standard error of that mean; NaN for a single curve.
    """

    recall: Values
    precision: Values
    error: Values


def compute_mean_and_error(values: Sequence[float] | Values) -> tuple[float, float]:
    """Average a figure over repeats, with the standard error of the mean.

    Parameters
    ----------
    values : sequence of float, length R
        The figure in each repeat; NaN where it is undefined, which leaves that repeat out.

    Returns
    -------
    mean : float
        Σ v / R; NaN where no repeat is left.
    error : float
        s/√R with s² = Σ(v − mean)²/(R − 1); NaN for fewer than two repeats.

    Raises
    ------
    OptionError
        If there is more than one figure a repeat.

    Examples
    --------
    >>> mean, error = compute_mean_and_error([0.9, 1.0, 0.8, float("nan")])
    >>> round(mean, 4), round(error, 4)
    (0.9, 0.0577)
    """
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 1:
        raise OptionError(f"values of shape {given.shape}: give one number a repeat")
    known = given[~np.isnan(given)]
    if known.size == 0:
        return float("nan"), float("nan")
    if known.size == 1:
        return float(known[0]), float("nan")
    return float(known.mean()), float(known.std(ddof=1) / np.sqrt(known.size))


def average_curves(curves: Sequence[PrecisionRecallCurve]) -> MeanCurve:
    """Average precision-recall curves over repeats, at every recall.

    Parameters
    ----------
    curves : sequence of Curve
        One a repeat; those of repeats without a correct feature are left out.

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
    known = [curve for curve in curves if curve.recall.size and not np.isnan(curve.recall[0])]
    if not known:
        return MeanCurve(np.empty(0), np.empty(0), np.empty(0))
    levels = np.unique(np.concatenate([curve.recall for curve in known]))
    levels = levels[levels > 0.0]
    steps = np.stack([compute_precision_at(curve, levels) for curve in known])
    error = np.full(levels.size, np.nan)
    if len(known) > 1:
        error = steps.std(axis=0, ddof=1) / np.sqrt(len(known))
    return MeanCurve(levels, steps.mean(axis=0), error)


CurveArea = Literal["roc", "pr", "ap"]
TruthMode = Literal["one", "all"]
ScoreProtocol = Literal["share", "paper"]

_AREA_FUNCTIONS = {"roc": roc_auc, "pr": pr_auc, "ap": average_precision}
_ROUNDING_TOLERANCE = 1e-9  # of sums of equal parts


def select_top_features(loss: Values, size: int = 3) -> Values:
    """Choose the features of least loss.

    Parameters
    ----------
    loss : float array, shape (q,)
        Smaller is better; NaN or +∞ where a feature was never found: last and tied.
    size : int
        How many to choose, from 1 to q.

    Returns
    -------
    float64 array, shape (q,)
        The probability with which each feature is chosen: 1 before the edge, 0 behind it, and an equal part
        for those that tie across it: min(1, max(0, (size − N_{g−1})/(N_g − N_{g−1}))) for the g-th group of
        tied features, N_g features having come until its end. The sum is `size`.

    Raises
    ------
    OptionError
        If there are fewer features than that.

    Examples
    --------
    >>> select_top_features(np.array([0.1, 0.5, 0.5, 0.2, 0.5])).round(2).tolist()
    [1.0, 0.33, 0.33, 1.0, 0.33]
    """
    distinct, group = group_ties(loss, np.zeros(np.shape(loss), dtype=bool))
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or not 1 <= size <= group.size:
        raise OptionError(
            f"size is {size!r}; give a whole number from 1 to {group.size}, the features there are"
        )
    sizes = np.bincount(group, minlength=distinct.size)
    before = np.cumsum(sizes) - sizes
    return np.asarray(np.clip((size - before) / sizes, 0.0, 1.0)[group])


def aip(inclusion: Values, correct: Flags) -> float:
    """Compute the average inclusion probability: the share of correct features among those chosen.

    Luo and Li (2024, §6.2) count how often each correct feature is chosen over the repeats, add these
    frequencies up and divide by N_selected; that is the mean over repeats of the share of correct features
    in each choice::

        AIP = 1/N_selected · Σ_{j correct} (1/R) Σ_r chosen_rj

    Parameters
    ----------
    chosen : float array, shape (q,) or (R, q)
        With which probability each feature is chosen, once or in each of R repeats, as `choose` has it; every
        row adds up to the same whole number.
    correct : bool array, shape (q,)
        Which features are correct.

    Returns
    -------
    float
        In [0, 1]; 0 where no feature is correct. A choice at random scores on average the share of correct
        features.

    Raises
    ------
    TableError
        If the shapes do not match.
    OptionError
        If the rows do not all choose the same number of features.

    Examples
    --------
    >>> chosen = np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
    >>> aip(chosen, np.array([True, True, False, False]))
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
    """Score one method's choice of a few features.

    Parameters
    ----------
    loss : float array, shape (q,)
        As for `choose`.
    correct : bool array, shape (q,)
        Which features are correct.
    size : int
        N_selected.
    protocol : {"share", "paper"}
        The share of correct ones among the chosen, which is AIP once it is averaged over repeats; or the
        area under the ROC curve of the paper's scoring, in expectation over its random scores.
    truth : {"one", "all"}
        Which features the paper's ground truth marks; see `compute_paper_auc`.

    Returns
    -------
    float

    Raises
    ------
    OptionError
        If there is no such protocol or reading, or there are fewer features than are to be chosen.

    Examples
    --------
    >>> loss, correct = np.arange(24.0), np.arange(24) < 12
    >>> score_choice(loss, correct), round(score_choice(loss, correct, protocol="paper"), 4)
    (1.0, 0.5652)
    """
    _check_word(protocol, get_args(ScoreProtocol), "protocol")
    chosen = select_top_features(loss, size)
    return aip(chosen, correct) if protocol == "share" else compute_paper_auc(chosen, correct, truth=truth)


def draw_paper_scores(inclusion: Values, rng: np.random.Generator) -> Values:
    """Draw the scores with which Luo and Li (2024, §6.1) turn a choice into a ranking.

    Every feature gets a random score; the N_selected highest of them are dealt to the chosen features, the
    others to the rest. So the chosen come first, in random order, then all the others, in random order.

    Parameters
    ----------
    chosen : float array, shape (q,)
        As `choose` has it; of those that tie across the edge as many as there is room for are drawn.
    rng : numpy.random.Generator
        Whence the randomness comes.

    Returns
    -------
    float64 array, shape (q,)
        In [0, 1); larger is better.

    Raises
    ------
    OptionError
        If the probabilities are not those of a choice.

    Notes
    -----
    The text does not say whether a score that was given to a chosen feature is also left where it was drawn.
    Here no score is given twice: else others might stand level with, or between, the chosen.

    Examples
    --------
    >>> scores = draw_paper_scores(np.array([0.0, 1.0, 0.5, 0.5]), np.random.default_rng(0))
    >>> int(np.argmin(scores)) != 1
    True
    """
    sure, edge, room = _split_choice(inclusion)
    drawn = rng.permutation(edge)
    first = rng.permutation(np.concatenate((sure, drawn[:room])))
    rest = rng.permutation(np.setdiff1d(np.arange(len(inclusion)), first))
    scores = np.empty(len(inclusion))
    scores[np.concatenate((first, rest))] = np.sort(rng.uniform(size=len(inclusion)))[::-1]
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
    """Score a choice as Luo and Li (2024, §6.1) do: the area under a curve of half-random scores.

    An array `ground_truth` of zeros gets N_true = 1 element set; `predicted_scores` are random, the highest
    dealt to the N_selected = 3 chosen features (`draw_paper_scores`); the area is that under the curve of
    the two.
    The text does not say which feature is the true one, nor how this meets the labels "correct" of which it
    speaks next, so there are two readings:

    - ``truth="one"``: the one true feature is one of the correct ones, each as likely; all others count as
      wrong, the remaining correct ones too. The formula that made the data cannot be meant: it is not among
      the 24 features of the order `bu`.
    - ``truth="all"``: the "manually examined" labels are the ground truth: every correct feature is set.

    Parameters
    ----------
    chosen : float array, shape (q,)
        As `choose` has it.
    correct : bool array, shape (q,)
        Which features are correct.
    truth : {"one", "all"}
        The reading.
    area : {"roc", "pr", "ap"}
        Under the ROC curve (the paper's footnote 1); under precision against recall by the trapezoid, or as
        average precision.
    draws : int, optional
        Average over so many draws of the scores (and of the true feature and of ties); by default the
        expectation, in closed form.
    seed : int
        Of the draws.

    Returns
    -------
    float
        In [0, 1]; NaN where no feature is correct, and for "roc" where no label is wrong.

    Raises
    ------
    OptionError
        If there is no such reading or area, or the probabilities are not those of a choice.
    TableError
        If the shapes do not match.

    Notes
    -----
    What it measures. The order inside the chosen and inside the rest is chance, so the expectation depends
    on nothing but how many of the chosen are correct, m of s: it is a rescaled AIP, with noise added to it
    by every draw. With q features, and for "one" (u = m/C the probability that the true one is chosen)::

        E[ROC-AUC] = u · (q − (s + 1)/2)/(q − 1) + (1 − u) · ((q − s − 1)/2)/(q − 1)

    since a feature at place r of q has the area (q − r)/(q − 1), and the chosen lie at (s + 1)/2 on average,
    the rest at s + (q − s + 1)/2. A choice at random has u = s/q, which gives 1/2, the diagonal: all orders
    are then equally likely, and a pair of features stands either way. The best possible choice scores little
    more: for 3 correct chosen of 12 among 24 it is 0.565 ("one") or 0.625 ("all"), since nine of the correct
    are left to chance. For the areas under precision against recall a choice at random scores no share
    either: as average precision `compute_expected_average_precision` for "all", H_q/q for "one".

    Examples
    --------
    >>> correct = np.arange(24) < 12
    >>> three_correct = select_top_features(np.arange(24.0))
    >>> round(compute_paper_auc(three_correct, correct), 4), compute_paper_auc(three_correct, correct,
    ...     truth="all")
    (0.5652, 0.625)
    >>> round(compute_paper_auc(np.full(24, 3 / 24), correct), 4)  # all tied: a choice at random
    0.5
    """
    _check_word(truth, get_args(TruthMode), "truth")
    _check_word(area, get_args(CurveArea), "area")
    _check_choice_size(np.atleast_2d(inclusion), correct)
    good = np.asarray(correct, dtype=bool)
    if not good.any():
        return float("nan")
    if draws is not None:
        return _simulate_area(inclusion, good, truth=truth, area=area, draws=draws, seed=seed)
    q, size, total = good.size, round(float(np.sum(inclusion))), int(good.sum())
    expected = 0.0
    for m, probability in _iterate_correct_counts(inclusion, good):
        if truth == "all":
            value = _compute_expected_area(area, q, size, m, total)
        else:
            inside = _compute_expected_area(area, q, size, 1, 1) * m if m else 0.0
            outside = _compute_expected_area(area, q, size, 0, 1) * (total - m) if total > m else 0.0
            value = (inside + outside) / total
        expected += probability * value
    return expected


def _simulate_area(
    inclusion: Values, correct: Flags, *, truth: TruthMode, area: CurveArea, draws: int, seed: int
) -> float:
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
    """Yield how many of the chosen may be correct, each with its (hypergeometric) probability."""
    sure, edge, room = _split_choice(inclusion)
    base, tied = int(correct[sure].sum()), int(correct[edge].sum())
    for drawn in range(min(room, tied) + 1):
        ways = comb(tied, drawn) * comb(len(edge) - tied, room - drawn)
        yield base + drawn, ways / comb(len(edge), room)


def _compute_expected_area(
    area: CurveArea, n_features: int, size: int, n_chosen_correct: int, n_correct: int
) -> float:
    """Average an area over all orders of `size` features, m correct, and then the rest with total − m."""
    if area == "roc":
        # a pair inside a block stands either way as often
        wrong, behind = n_features - n_correct, n_features - size - (n_correct - n_chosen_correct)
        if wrong == 0:
            return float("nan")
        pairs = (
            n_chosen_correct * (size - n_chosen_correct) / 2
            + n_chosen_correct * behind
            + (n_correct - n_chosen_correct) * behind / 2
        )
        return pairs / (n_correct * wrong)
    place = np.arange(1, n_features + 1)
    front = place <= size
    rest, missed = n_features - size, n_correct - n_chosen_correct
    # probability that the feature at place r is correct, and how many correct ones are then before it
    correct = np.where(front, n_chosen_correct / size, missed / max(rest, 1))
    before = np.where(
        front,
        (place - 1) * (n_chosen_correct - 1) / max(size - 1, 1),
        n_chosen_correct + (place - size - 1) * (missed - 1) / max(rest - 1, 1),
    )
    precision = (1 + before) / place
    if area == "ap":
        return float((correct * precision).sum() / n_correct)
    preceding = before / np.maximum(place - 1, 1)
    preceding[0] = 1.0  # the point that scikit-learn's curve begins with
    return float((correct * (preceding + precision) / 2).sum() / n_correct)


def _split_choice(inclusion: Values) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Return the features that are surely chosen, those that tie for the rest, and how many of these are."""
    probability = np.asarray(inclusion, dtype=np.float64)
    sure, edge = np.flatnonzero(probability == 1.0), np.flatnonzero((probability > 0.0) & (probability < 1.0))
    left = float(probability[edge].sum())
    equal = edge.size == 0 or np.ptp(probability[edge]) < _ROUNDING_TOLERANCE
    if not (equal and abs(left - round(left)) < _ROUNDING_TOLERANCE and np.isfinite(probability).all()):
        raise OptionError(
            "the probabilities are not those of a choice: those between 0 and 1 are to be equal and add "
            "up to a whole number"
        )
    return sure, edge, round(left)


def _check_choice_size(inclusion: Values, correct: Flags) -> int:
    if inclusion.ndim != 2 or inclusion.shape[1:] != np.shape(correct):
        raise DataError(
            f"choices of shape {inclusion.shape} and correctness of shape {np.shape(correct)}: "
            "give a probability and a truth value for every feature"
        )
    sizes = inclusion.sum(axis=1)
    size = round(float(sizes[0])) if inclusion.size and np.isfinite(sizes).all() else 0
    if size < 1 or np.abs(sizes - size).max() > _ROUNDING_TOLERANCE:
        raise OptionError(
            f"the choices hold {sizes.min(initial=np.inf):g} to {sizes.max(initial=0.0):g} features; "
            "every one is to hold the same whole number"
        )
    return size


def _check_word(value: str, known: tuple[str, ...], option: str) -> None:
    if value not in known:
        raise OptionError(f"{option} is {value!r}{suggest(str(value), known)}")
