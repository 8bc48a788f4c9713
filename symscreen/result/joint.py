"""Joint screeners over a space: each is shown the best features, merged as suits it, and judges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.response.kinds import labels_of
from symscreen.result.classes import Classes, classes_behind
from symscreen.result.kept import best_classes, united
from symscreen.result.stream import with_margin
from symscreen.result.thin import merge_numeric_copies, stand_ins
from symscreen.screeners import Shown
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.response.kinds import AnyResponse
    from symscreen.result.classes import ClassKind
    from symscreen.result.kept import Kept
    from symscreen.screeners import JointScreener, Screener, Verdict
    from symscreen.statistics.order import Ordered

__all__ = ["Judged", "Showing", "judged", "recounted", "show"]


@dataclass(frozen=True, eq=False)
class Showing:
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

    kept: Kept
    values: NDArray[np.float64]
    signatures: NDArray[np.uint64]
    places: NDArray[np.int64]
    merged: ClassKind

    def first(self, limit: int) -> Showing:
        """Return at most the first so many features."""
        if limit >= len(self.kept):
            return self
        shown = self.places < limit
        return Showing(
            self.kept.first(limit),
            self.values[:limit],
            self.signatures[shown],
            self.places[shown],
            self.merged,
        )

    def places_of(self, ordered: Ordered) -> NDArray[np.int64]:
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
        return self.classes.places_of(ordered)

    @property
    def classes(self) -> Classes:
        """The classes that are shown."""
        return Classes(self.merged, mirrored=True, signatures=self.signatures, places=self.places)


@dataclass(frozen=True, eq=False)
class Judged:
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
    showing: Showing
    verdict: Verdict


def show(lists: Sequence[Kept], space: Space, limit: int, merged: ClassKind) -> Showing:
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
    margin = with_margin(limit)
    kept = united([best_classes(kept, margin).first(margin) for kept in lists], margin)
    stands_for = stand_ins(kept, space.values(kept.number))
    left = merge_numeric_copies(kept, stands_for).first(limit)
    behind = classes_behind(kept, stands_for, left, merged, mirrored=True)
    return Showing(left, space.values(left.number), behind.signatures, behind.places, merged)


@dataclass(frozen=True, eq=False)
class _Members:
    """Counts the features of a range that each feature shown stands for."""

    showing: Showing
    space: Space

    def __call__(self, chunk: tuple[int, int]) -> NDArray[np.int64]:
        """Count in a range of numbers; shape (q,)."""
        sizes = np.zeros(len(self.showing.kept), dtype=np.int64)
        for block in self.space.blocks(*chunk):
            places = self.showing.places_of(order_features(block.values))
            sizes += np.bincount(places[places >= 0], minlength=len(sizes))
        return sizes


def recounted(
    showing: Showing, leaders: Sequence[Screener], space: Space, backend: Backend, chunk_size: int
) -> Showing:
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
    if showing.merged == "affine" or all(one.blind_to == "ranks" for one in leaders):
        return showing
    sizes = np.zeros(len(showing.kept), dtype=np.int64)
    for found in backend.map(_Members(showing, space), space.chunks(chunk_size)):
        sizes += found
    return replace(showing, kept=replace(showing.kept, class_size=sizes))


def judged(
    screener: JointScreener, showing: Showing, response: AnyResponse, *, seed: int, jobs: int
) -> Judged:
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
        As of `Shown`.

    Returns
    -------
    Judged
    """
    from threadpoolctl import threadpool_limits

    showing = showing.first(screener.most_features(response.n, labels_of(response)))
    values = showing.values.copy()
    values.flags.writeable = False
    # the order of BLAS's sums depends on its threads, and with it the last bits of a verdict
    with threadpool_limits(1):
        verdict = screener.verdict(Shown(values, response, seed, jobs))
    return Judged(
        screener, showing, replace(verdict, loss=np.round(verdict.loss, 12), score=verdict.score + 0.0)
    )
