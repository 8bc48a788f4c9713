"""Select distinct and safe features from a ranking. One feature represents all with nearly the same ranks.

The ranking is read from best to worst. A feature whose |Spearman's rank correlation| with a better leader is
above a limit joins the group of the first such leader. Any other feature becomes the leader of a new group.
The simplest feature of a group whose score is within one standard error of the leader's then represents the
group. No two representatives correlate above the limit. Features that are unsafe on new rows may be left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from symscreen.screening.scoring.block_scoring import iterate_values
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expansion import Space
    from symscreen.expressions.safety import SafetyAnalysis
    from symscreen.screening.scoring.top_features import FeatureTable

    Indices = NDArray[np.int64]


_MAX_EXACT_ROWS = 200_000  # rows up to which sums of products of doubled ranks are exact in float64
_BLOCK_VALUES, _BLOCK_CORRELATIONS = 1 << 20, 1 << 22  # values and correlations that are held at a time
_MAX_CANDIDATES = 16  # simpler features of a group that are tried as its representative
_MIN_ROWS = 4  # rows from which a standard error of a difference of correlations exists


@dataclass(frozen=True, eq=False)
class DistinctFeatures:
    """Distinct features of a ranking and the groups that they represent.

    Parameters
    ----------
    group : int64 array, shape (m,)
        Group of each feature examined, from the best to the last one that was needed; −1 for unsafe ones.
    unsafe_reasons : tuple of str, length m
        Why each feature examined is unsafe; empty for safe ones and for those that join a group.
    representatives : int64 array, shape (k,)
        Index in the ranking of the representative of each group; groups are in the order of their leaders.
    shown_groups : int64 array, shape (k,)
        Groups in the order in which their representatives are shown.
    """

    group: Indices
    unsafe_reasons: tuple[str, ...]
    representatives: Indices
    shown_groups: Indices = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def n_examined(self) -> int:
        """Number of features examined."""
        return len(self.group)


@dataclass(frozen=True, eq=False)
class CorrelationCheck:
    """Rank correlations on all rows of a table, for pairs of features that a sample does not decide.

    Parameters
    ----------
    tolerance : float
        Distance from the limit within which the correlation of a sample does not decide.
    compute : callable
        Returns the absolute rank correlation of two features, given their numbers, on all rows.
    """

    tolerance: float
    compute: Callable[[int, int], float]


@dataclass(frozen=True, eq=False)
class _CorrelationLimit:
    """The limit of correlations, for features of a ranking that are named by their indices."""

    features: FeatureTable
    maximum: float
    check: CorrelationCheck | None

    @property
    def tolerance(self) -> float:
        """Distance from the limit within which a correlation is computed on all rows."""
        return 0.0 if self.check is None else self.check.tolerance

    def find_first_above(self, correlations: Values, index: int, others: Sequence[int]) -> int | None:
        """Return the place of the first correlation of a feature with others that is above the limit."""
        for place in np.flatnonzero(correlations > self.maximum - self.tolerance).tolist():
            correlation = float(correlations[place])
            if self.check is not None and correlation <= self.maximum + self.tolerance:
                numbers = self.features.number
                correlation = self.check.compute(int(numbers[others[place]]), int(numbers[index]))
            if correlation > self.maximum:
                return int(place)
        return None


def select_distinct_features(
    space: Space,
    features: FeatureTable,
    n_wanted: int,
    max_correlation: float,
    analysis: SafetyAnalysis | None = None,
    *,
    has_losses: bool,
    n_rows: int | None = None,
    check: CorrelationCheck | None = None,
) -> DistinctFeatures:
    """Select features from best to worst so that no two correlate above a limit.

    Parameters
    ----------
    space : Space
        The space of the features, n rows.
    features : FeatureTable
        Equivalence classes, best first.
    n_wanted : int
        Maximum number of features to select.
    max_correlation : float
        Maximum absolute rank correlation, in (0, 1]; 1 for any.
    analysis : SafetyAnalysis or None
        Decides which features are safe on new rows; None if unsafe ones may be selected.
    has_losses : bool
        Whether 1 − loss is a correlation with the target. Otherwise leaders represent their groups.
    n_rows : int, optional
        Number of rows that the losses are from; by default those of the space.
    check : CorrelationCheck, optional
        Decides where the space has a sample of the rows.

    Returns
    -------
    DistinctFeatures
    """
    from threadpoolctl import threadpool_limits

    limit = _CorrelationLimit(features, max_correlation, check)
    with threadpool_limits(1):  # the products are small: threads of BLAS would only wait for each other
        group, leaders, correlations, ranks, reasons = _group_features(
            space, features, n_wanted, limit, analysis
        )
        representatives = leaders.copy()
        if has_losses:
            _choose_representatives(
                space,
                features,
                group,
                correlations,
                ranks,
                representatives,
                limit,
                analysis,
                space.n_rows if n_rows is None else n_rows,
            )
    return DistinctFeatures(group, reasons, representatives, np.argsort(representatives, kind="stable"))


def _choose_representatives(
    space: Space,
    features: FeatureTable,
    group: Indices,
    correlations: Values,
    ranks: Values,
    representatives: Indices,
    limit: _CorrelationLimit,
    analysis: SafetyAnalysis | None,
    n_rows: int,
) -> None:
    """Replace leaders, in place, by the simplest features of their groups that are within noise of them.

    A representative does not correlate above the limit with those of other groups, nor with their leaders.
    """
    leaders = representatives.copy()
    for index, leader in enumerate(leaders.tolist()):
        members = np.flatnonzero(group == index)
        members = members[features.complexity[members] < features.complexity[leader]]
        is_close = is_within_noise(
            1.0 - features.loss[leader], 1.0 - features.loss[members], correlations[members], n_rows
        )
        candidates = members[is_close]
        candidates = candidates[np.argsort(features.complexity[candidates], kind="stable")][:_MAX_CANDIDATES]
        if analysis is not None:
            numbers = features.number[candidates].tolist()
            is_safe = [not analysis.analyze(space.build_expression(number)).reason for number in numbers]
            candidates = candidates[np.array(is_safe, dtype=np.bool_)]
        if not len(candidates):
            continue
        others = np.delete(representatives, index).tolist()
        candidate_ranks = _compute_centered_ranks(space.compute_values(features.number[candidates]))
        correlations_with_others = _correlate(
            candidate_ranks, np.delete(ranks[: len(leaders)], index, axis=0)
        )
        for candidate, own_ranks, own in zip(
            candidates.tolist(), candidate_ranks, correlations_with_others, strict=True
        ):
            if limit.find_first_above(own, candidate, others) is None:
                representatives[index], ranks[index] = candidate, own_ranks
                break


def _group_features(
    space: Space,
    features: FeatureTable,
    n_wanted: int,
    limit: _CorrelationLimit,
    analysis: SafetyAnalysis | None,
) -> tuple[Indices, Indices, Values, Values, tuple[str, ...]]:
    """Group features until there are `n_wanted` groups.

    Returns
    -------
    group : int64 array, shape (m,)
        Group of each feature up to the last leader; −1 for unsafe features that no group has.
    leaders : int64 array, shape (k,)
        Index of the leader of each group.
    correlations : float64 array, shape (m,)
        Absolute rank correlation of each feature with its leader.
    ranks : float64 array, shape (n_wanted, n)
        Centred ranks of the leaders in the first k rows.
    unsafe_reasons : tuple of str, length m
        Why features without a group are unsafe.
    """
    n_wanted = min(n_wanted, max(1, len(features)))
    ranks = np.zeros((n_wanted, space.n_rows))
    group, leaders, correlations, reasons = list[int](), list[int](), list[float](), list[str]()
    n_correlations = max(1, _BLOCK_CORRELATIONS // n_wanted)  # of a leader with the features of a block
    for part, values in iterate_values(
        space, features.number, min(_BLOCK_VALUES, n_correlations * space.n_rows)
    ):
        block_ranks = _compute_centered_ranks(values)
        to_leaders = np.zeros((n_wanted, len(values)))
        to_leaders[: len(leaders)] = _correlate(ranks[: len(leaders)], block_ranks)
        for index in range(len(values)):
            own = to_leaders[: len(leaders), index]
            leader = limit.find_first_above(own, part.start + index, leaders)
            reason = ""
            if analysis is not None and leader is None:
                number = int(features.number[part.start + index])
                reason = analysis.analyze(space.build_expression(number)).reason
            reasons.append(reason)
            if leader is not None or reason:
                group.append(-1 if leader is None else leader)
                correlations.append(0.0 if leader is None else float(own[leader]))
                continue
            ranks[len(leaders)] = block_ranks[index]
            to_leaders[len(leaders)] = _correlate(block_ranks[index : index + 1], block_ranks)[0]
            group.append(len(leaders))
            correlations.append(1.0)
            leaders.append(part.start + index)
            if len(leaders) == n_wanted:
                return np.array(group), np.array(leaders), np.array(correlations), ranks, tuple(reasons)
    return (
        np.array(group, np.int64),
        np.array(leaders, np.int64),
        np.array(correlations),
        ranks,
        tuple(reasons),
    )


def _compute_centered_ranks(values: Values) -> Values:
    """Compute the centred ranks of features, shape (m, n), as integers in float64."""
    return np.asarray(sort_block(values).doubled_ranks.astype(np.float64) - (values.shape[1] + 1))


def _correlate(first: Values, second: Values) -> Values:
    """Compute |Spearman's rank correlations| from centred ranks, shapes (a, n) and (b, n); shape (a, b).

    Sums of integers are exact, so the order of summation in BLAS does not matter. Beyond `_MAX_EXACT_ROWS`
    rows they are summed in a fixed order.
    """
    if first.shape[1] <= _MAX_EXACT_ROWS:
        products = first @ second.T
        squares = [np.einsum("ij,ij->i", ranks, ranks) for ranks in (first, second)]
    else:
        products = np.array([[(row * other).sum() for other in second] for row in first])
        products = products.reshape(len(first), len(second))
        squares = [(ranks * ranks).sum(axis=1) for ranks in (first, second)]
    norms = np.sqrt(squares[0])[:, None] * np.sqrt(squares[1])
    return np.asarray(np.round(np.abs(products) / norms, 12))


def is_within_noise(
    best: float, others: NDArray[np.float64], correlations: NDArray[np.float64], n: int
) -> NDArray[np.bool_]:
    """Return for each correlation with the target whether it is within a standard error of the best one.

    The standard error is that of a difference of two correlations of dependent features with one target, on
    the scale of Fisher's z (Meng, Rosenthal and Rubin 1992, Psychological Bulletin 111, 172-175).

    Parameters
    ----------
    best : float
        Correlation of the leader with the target, in [-1, 1].
    others : float64 array, shape (m,)
        Correlations of other features with the target.
    correlations : float64 array, shape (m,)
        Correlations of these features with the leader, in [0, 1].
    n : int
        Number of rows.

    Returns
    -------
    bool array, shape (m,)

    Examples
    --------
    >>> is_within_noise(0.6, np.array([0.595, 0.5]), np.array([0.97, 0.97]), 200).tolist()
    [True, False]
    >>> is_within_noise(1.0, np.array([1.0, 0.9999]), np.array([1.0, 0.9999]), 200).tolist()
    [True, False]
    """
    is_equal = np.round(others, 12) >= np.round(best, 12)
    if n < _MIN_ROWS or best >= 1.0:
        return np.asarray(is_equal)
    others = np.clip(others, -1.0 + 1e-12, 1.0 - 1e-12)
    mean_square = (best**2 + others**2) / 2.0
    f = np.minimum((1.0 - correlations) / (2.0 * (1.0 - mean_square)), 1.0)
    h = (1.0 - f * mean_square) / (1.0 - mean_square)
    error = np.sqrt(2.0 * (1.0 - correlations) * h / (n - 3))
    difference = np.arctanh(min(best, 1.0 - 1e-12)) - np.arctanh(others)
    return np.asarray(is_equal | (difference <= error))
