"""Joint screeners over a space: each is shown the best features, merged as suits it, and judges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.screeners import JointInput
from symscreen.screening.scoring.streaming import add_margin
from symscreen.screening.scoring.top_features import (
    EquivalenceClasses,
    build_merged_classes,
    find_representatives,
    merge_numeric_copies,
    merge_rankings,
    select_best_classes,
)
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets.registry import count_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.screeners import JointScores, JointScreener, Screener
    from symscreen.screening.scoring.top_features import EquivalenceKind, FeatureTable
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.registry import Target


__all__ = ["JointResult", "Shortlist", "build_shortlist", "run_joint_screener", "update_class_sizes"]


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The features that joint screeners of one kind are shown.

    Parameters
    ----------
    kept : Kept
        One entry a feature shown, best first by the screener that chose them.
    values : float64 array, shape (q, n)
        Their values.
    signatures : uint64 array, shape (s,), ascending
        The classes that are shown, those merged for being equal up to rounding among them.
    places : int64 array, shape (s,)
        For each class the place of the feature that stands for it.
    merged : {"ranks", "affine"}
        What makes a class.
    """

    features: FeatureTable
    values: NDArray[np.float64]
    signatures: NDArray[np.uint64]
    positions: NDArray[np.int64]
    equivalence: EquivalenceKind

    def take_first(self, limit: int) -> Shortlist:
        """Return at most the first so many features."""
        if limit >= len(self.features):
            return self
        shown = self.positions < limit
        return Shortlist(
            self.features.take_first(limit),
            self.values[:limit],
            self.signatures[shown],
            self.positions[shown],
            self.equivalence,
        )

    def find_positions(self, block: SortedBlock) -> NDArray[np.int64]:
        """Find who stands for some features.

        Parameters
        ----------
        ordered : Ordered
            m features.

        Returns
        -------
        int64 array, shape (m,)
            Places among the features shown, −1 where a feature's class is not shown.
        """
        return self.classes.find_positions(block)

    @property
    def classes(self) -> EquivalenceClasses:
        """The classes that are shown."""
        return EquivalenceClasses(
            self.equivalence, mirrored=True, signatures=self.signatures, positions=self.positions
        )


@dataclass(frozen=True, eq=False)
class JointResult:
    """A joint screener's verdict on the features it was shown.

    Parameters
    ----------
    screener : JointScreener
        Who judged.
    showing : Showing
        What it was shown.
    verdict : Verdict
        What it said; in the order of the features shown.
    """

    screener: JointScreener
    shortlist: Shortlist
    scores: JointScores


def build_shortlist(
    feature_lists: Sequence[FeatureTable], space: Space, limit: int, equivalence: EquivalenceKind
) -> Shortlist:
    """Choose what joint screeners of one kind are shown.

    Parameters
    ----------
    lists : sequence of Kept
        Lists that were streamed with a margin, merged as suits them; of several the union is shown.
    space : Space
        Where it comes from.
    limit : int
        How many features at most.
    merged : {"ranks", "affine"}
        What makes a class.

    Returns
    -------
    Showing
    """
    margin = add_margin(limit)
    kept = merge_rankings(
        [select_best_classes(kept, margin).take_first(margin) for kept in feature_lists], margin
    )
    stands_for = find_representatives(kept, space.compute_values(kept.number))
    left = merge_numeric_copies(kept, stands_for).take_first(limit)
    behind = build_merged_classes(kept, stands_for, left, equivalence, mirrored=True)
    return Shortlist(
        left, space.compute_values(left.number), behind.signatures, behind.positions, equivalence
    )


@dataclass(frozen=True, eq=False)
class _ClassMemberCounter:
    """Counts the features of a range that each feature shown stands for."""

    shortlist: Shortlist
    space: Space

    def __call__(self, chunk: tuple[int, int]) -> NDArray[np.int64]:
        """Count in a range of numbers; shape (q,)."""
        sizes = np.zeros(len(self.shortlist.features), dtype=np.int64)
        for block in self.space.evaluate_range(*chunk):
            places = self.shortlist.find_positions(sort_block(block.values))
            sizes += np.bincount(places[places >= 0], minlength=len(sizes))
        return sizes


def update_class_sizes(
    shortlist: Shortlist, prescreeners: Sequence[Screener], space: Space, backend: Backend, chunk_size: int
) -> Shortlist:
    """Count how many features of a space stand behind each feature shown.

    A list that was streamed has counted them already, unless a leader tells members of one class apart: it
    may then have dropped some of them before the best one came, so that the count would hang on chunks.

    Parameters
    ----------
    showing : Showing
        What is shown.
    leaders : sequence of Screener
        Who chose it.
    space : Space
        Where it comes from.
    backend : Backend
        Where chunks are computed.
    chunk_size : int
        Candidates a task.

    Returns
    -------
    Showing
        With the sizes of all classes; as it was where they were right.
    """
    if shortlist.equivalence == "affine" or all(one.equivalence == "ranks" for one in prescreeners):
        return shortlist
    sizes = np.zeros(len(shortlist.features), dtype=np.int64)
    for found in backend.map(_ClassMemberCounter(shortlist, space), space.split_chunks(chunk_size)):
        sizes += found
    return replace(shortlist, features=replace(shortlist.features, class_size=sizes))


def run_joint_screener(
    screener: JointScreener, shortlist: Shortlist, target: Target, *, seed: int, jobs: int
) -> JointResult:
    """Let a joint screener judge what it is shown.

    Parameters
    ----------
    screener : JointScreener
        Who judges.
    showing : Showing
        At least one feature; of more than it can take, it is shown the first.
    response : Response, RankingResponse or StagesResponse
        The response.
    seed, jobs : int
        As of `JointInput`.

    Returns
    -------
    Judged
    """
    from threadpoolctl import threadpool_limits

    shortlist = shortlist.take_first(screener.compute_max_features(target.n, count_labels(target)))
    values = shortlist.values.copy()
    values.flags.writeable = False
    # the order of BLAS's sums depends on its threads, and with it the last bits of a verdict
    with threadpool_limits(1):
        verdict = screener.score_features(JointInput(values, target, seed, jobs))
    return JointResult(
        screener, shortlist, replace(verdict, loss=np.round(verdict.loss, 12), score=verdict.score + 0.0)
    )
