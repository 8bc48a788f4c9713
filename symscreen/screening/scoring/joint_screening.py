"""Run joint screeners on a shortlist of the best features of a space.

A joint screener scores many features together, so it cannot stream a space. Column screeners choose its
shortlist. Features that it cannot distinguish are merged in the shortlist.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.screeners import JointInput
from symscreen.screening.scoring.block_scoring import iterate_sorted_blocks
from symscreen.screening.scoring.final_classes import add_margin
from symscreen.screening.scoring.top_features import (
    EquivalenceClasses,
    build_merged_classes,
    find_representatives,
    merge_numeric_copies,
    merge_rankings,
    select_best_classes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.screeners import JointScores, JointScreener, Screener
    from symscreen.screening.scoring.top_features import EquivalenceKind, FeatureTable
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets import Target


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The features that joint screeners of one equivalence kind score.

    Parameters
    ----------
    features : FeatureTable, length q
        One entry per feature, best first by the column screeners.
    values : float64 array, shape (q, n)
        Their values.
    signatures : uint64 array, shape (s,), ascending
        Signatures of the classes in the shortlist, including those that were merged as equal up to rounding.
    positions : int64 array, shape (s,)
        Index of the entry that represents each class.
    equivalence : {"ranks", "affine"}
        Which features form a class.
    """

    features: FeatureTable
    values: NDArray[np.float64]
    signatures: NDArray[np.uint64]
    positions: NDArray[np.int64]
    equivalence: EquivalenceKind

    def take_first(self, limit: int) -> Shortlist:
        """Return at most the first `limit` features."""
        if limit >= len(self.features):
            return self
        included = self.positions < limit
        return Shortlist(
            self.features.take_first(limit),
            self.values[:limit],
            self.signatures[included],
            self.positions[included],
            self.equivalence,
        )

    def find_positions(self, block: SortedBlock) -> NDArray[np.int64]:
        """Find the representatives of features.

        Parameters
        ----------
        block : SortedBlock
            m features.

        Returns
        -------
        int64 array, shape (m,)
            Index in the shortlist, or −1 if the feature's class is not in the shortlist.
        """
        return self.classes.find_positions(block)

    @property
    def classes(self) -> EquivalenceClasses:
        """The classes in the shortlist."""
        # Joint screeners do not distinguish a feature and its mirror image (`JointScreener.merges_mirrored`).
        return EquivalenceClasses(
            self.equivalence, mirrored=True, signatures=self.signatures, positions=self.positions
        )


@dataclass(frozen=True, eq=False)
class JointResult:
    """Scores of a joint screener for a shortlist.

    Parameters
    ----------
    screener : JointScreener
        The screener.
    shortlist : Shortlist
        The features that it scored.
    scores : JointScores
        Its scores, in the order of the shortlist.
    """

    screener: JointScreener
    shortlist: Shortlist
    scores: JointScores


def build_shortlist(
    feature_lists: Sequence[FeatureTable], space: Space, limit: int, equivalence: EquivalenceKind
) -> Shortlist:
    """Build the shortlist of joint screeners of one equivalence kind.

    Parameters
    ----------
    feature_lists : sequence of FeatureTable
        Streamed top-K lists with a margin (see `add_margin`) and the same equivalence. Several lists are
        united by the best rank in any of them.
    space : Space
        The space.
    limit : int
        Maximum number of features.
    equivalence : {"ranks", "affine"}
        Which features form a class.

    Returns
    -------
    Shortlist
    """
    margin = add_margin(limit)
    ranking = merge_rankings(
        [select_best_classes(features, margin).take_first(margin) for features in feature_lists], margin
    )
    representatives = find_representatives(ranking, space.compute_values(ranking.number))
    merged = merge_numeric_copies(ranking, representatives).take_first(limit)
    # these are the classes that `Shortlist.classes` has, too
    classes = build_merged_classes(ranking, representatives, merged, equivalence, mirrored=True)
    values = space.compute_values(merged.number)
    return Shortlist(merged, values, classes.signatures, classes.positions, equivalence)


@dataclass(frozen=True, eq=False)
class _ClassMemberCounter:
    """Count the features of a range in each class of a shortlist."""

    shortlist: Shortlist
    space: Space

    def __call__(self, chunk: tuple[int, int]) -> NDArray[np.int64]:
        """Return the counts of a range of numbers, shape (q,)."""
        sizes = np.zeros(len(self.shortlist.features), dtype=np.int64)
        for _, block in iterate_sorted_blocks(self.space, chunk):
            positions = self.shortlist.find_positions(block)
            sizes += np.bincount(positions[positions >= 0], minlength=len(sizes))
        return sizes


def _have_equal_losses_in_classes(prescreeners: Sequence[Screener], equivalence: EquivalenceKind) -> bool:
    """Return whether each prescreener gives equal losses to the members of a class.

    Every screener does for affine copies, which have the same ranks too. Only rank statistics do for features
    with the same ranks.
    """
    return equivalence == "affine" or all(screener.equivalence == "ranks" for screener in prescreeners)


def update_class_sizes(
    shortlist: Shortlist, prescreeners: Sequence[Screener], space: Space, backend: Backend, chunk_size: int
) -> Shortlist:
    """Recount the class sizes of a shortlist if the streamed counts may be wrong.

    Streaming counts the members of each class, except if a prescreener gives different losses to members of
    one class. It may then have dropped members before the best one was found, and the count would depend on
    the chunks.

    Parameters
    ----------
    shortlist : Shortlist
        The shortlist.
    prescreeners : sequence of Screener
        The screeners that chose it.
    space : Space
        The space.
    backend : Backend
        Backend that computes the features.
    chunk_size : int
        Number of candidates per task.

    Returns
    -------
    Shortlist
        The shortlist with correct class sizes.
    """
    if _have_equal_losses_in_classes(prescreeners, shortlist.equivalence):
        return shortlist
    sizes = np.zeros(len(shortlist.features), dtype=np.int64)
    for chunk_sizes in backend.map(_ClassMemberCounter(shortlist, space), space.split_chunks(chunk_size)):
        sizes += chunk_sizes
    return replace(shortlist, features=replace(shortlist.features, class_size=sizes))


def run_joint_screener(
    screener: JointScreener, shortlist: Shortlist, target: Target, *, seed: int, jobs: int
) -> JointResult:
    """Score a shortlist by a joint screener.

    Parameters
    ----------
    screener : JointScreener
        The screener.
    shortlist : Shortlist
        At least one feature. If the screener cannot handle all of them, it scores the first ones.
    target : Target
        The target.
    seed, jobs : int
        Random seed and number of threads, see `JointInput`.

    Returns
    -------
    JointResult
        Losses are rounded to 12 decimals.
    """
    from threadpoolctl import threadpool_limits

    shortlist = shortlist.take_first(screener.compute_max_features(target.n, target.n_labels))
    values = shortlist.values.copy()
    values.flags.writeable = False
    # the summation order of BLAS, and with it the last bits of the scores, depends on its threads
    with threadpool_limits(1):
        scores = screener.score_features(JointInput(values, target, seed, jobs))
    # adding 0.0 turns -0.0 into 0.0
    scores = replace(scores, loss=np.round(scores.loss, 12), score=scores.score + 0.0)
    return JointResult(screener, shortlist, scores)
