"""Telling, while a space streams by, how far it is and what is best so far."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expression import to_text
from symscreen.result.course import Standing
from symscreen.result.kept import joined, none_kept

if TYPE_CHECKING:
    from symscreen.result.course import Course
    from symscreen.result.merging import Merged
    from symscreen.result.scoring import Scored, Scorer

__all__ = ["Teller"]


class Teller:
    """Tells those who want to know, after each part.

    Parameters
    ----------
    scorer : Scorer
        Whose first list has the best.
    course : Course
        Who is told.
    done : int
        How many numbers an earlier run looked at.
    """

    def __init__(self, scorer: Scorer, course: Course, done: int) -> None:
        self._scorer, self._course, self._before = scorer, course, done
        self._began = monotonic()
        self._best = none_kept(len(scorer.screeners))
        self._formula: str | None = None

    def tell(self, part: Scored, merged: Merged) -> None:
        """Tell how far it is, now that a part has come."""
        total = self._scorer.space.total
        if self._course.progress is not None:
            self._course.progress(merged.done, total)
        if self._course.tell is not None:
            self._look(part)
            self._course.tell(self._standing(merged, total))

    def _look(self, part: Scored) -> None:
        """Compare the best so far with the best of a part, in the order that a ranking has."""
        kept = part.kept[0]
        if not len(kept):
            return
        both = joined([self._best, kept.take(np.flatnonzero(kept.loss == kept.loss.min()))])
        best = both.take(both.member_order()).first(1)
        if not len(self._best) or best.number[0] != self._best.number[0]:
            self._formula = to_text(self._scorer.space.expression(int(best.number[0])))
        self._best = best

    def _standing(self, merged: Merged, total: int) -> Standing:
        seconds, by = monotonic() - self._began, self._scorer.keeps[0].by
        rate = (merged.done - self._before) / seconds if seconds > 0 else 0.0
        return Standing(
            done=merged.done,
            total=total,
            scored=merged.scored,
            seconds=seconds,
            rate=rate,
            seconds_left=(total - merged.done) / rate if rate > 0 else None,
            best=self._formula,
            score=float(self._best.scores[0, by]) if len(self._best) else None,
            screener=self._scorer.screeners[by].name,
        )
