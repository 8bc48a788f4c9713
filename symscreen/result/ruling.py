"""A joint screener's verdict with the features that it was shown, for people and programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.brief import in_brief
from symscreen.expression import to_text

if TYPE_CHECKING:
    import pandas as pd

    from symscreen.expansion import Space
    from symscreen.expression import Expression
    from symscreen.result.joint import Judged
    from symscreen.screeners import Verdict

__all__ = ["Ruling", "ruling_of"]


@dataclass(frozen=True, eq=False)
class Ruling:
    """What a joint screener says of each feature that it was shown.

    Parameters
    ----------
    expressions : tuple of Expression, length q
        The features shown, best first by the screener that chose them.
    verdict : Verdict
        In the same order; its path, where there is one, holds every fit.
    """

    expressions: tuple[Expression, ...]
    verdict: Verdict

    def __repr__(self) -> str:
        chosen = int(self.verdict.selected.sum())
        head = f"<Ruling: {chosen:,} selected of {len(self.expressions):,} features>"
        return in_brief(head, (), {"table": self.table})

    @property
    def table(self) -> pd.DataFrame:
        """Return one row a feature shown, best first: expression, score, selected, further figures."""
        import pandas as pd

        verdict = self.verdict
        frame = pd.DataFrame(
            {
                "expression": [to_text(expression) for expression in self.expressions],
                "score": verdict.score,
                "selected": verdict.selected,
                **verdict.columns,
            }
        )
        return frame.iloc[verdict.loss.argsort(kind="stable")].reset_index(drop=True)


def ruling_of(space: Space, judged: Judged) -> Ruling:
    """Name the features that a joint screener was shown."""
    numbers = judged.showing.kept.number.tolist()
    return Ruling(tuple(space.expression(number) for number in numbers), judged.verdict)
