"""What a screen returns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expression import columns_of, evaluate, to_text
from symscreen.statistics.t0 import gini_mean_difference
from symscreen.table import frame_columns

if TYPE_CHECKING:
    import pandas as pd

    from symscreen.expansion import Space
    from symscreen.expression import Expression
    from symscreen.result.kept import Kept
    from symscreen.screeners import Screener
    from symscreen.table import Table

__all__ = ["ScreenResult", "ranking"]


@dataclass(frozen=True, eq=False)
class ScreenResult:
    """A ranking of features and how it was made.

    Parameters
    ----------
    table : pandas.DataFrame
        One row a class of features (a feature, where all were asked for), best first, with the columns
        ``rank``, ``expression``, ``complexity``, ``layer``, ``direction``, one for each screener, and
        ``class_size``.
    expressions : tuple of Expression
        The features, in the order of the table.
    scored : int
        How many features were scored.
    scale : float
        Δ, Gini's mean difference of the response: T0 lies between 0 and 2Δ.
    record : dict
        How the result was made: version, options, data digest, counts by layer and reason.
    notices : tuple of str
        What a reader should know: columns left out, rows dropped.
    """

    table: pd.DataFrame
    expressions: tuple[Expression, ...]
    scored: int
    scale: float
    record: dict[str, Any]
    notices: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.expressions)

    def __repr__(self) -> str:
        head = f"<ScreenResult: {len(self)} shown of {self.scored} features scored>"
        return "\n".join([head, *self.notices, self.table.to_string(index=False)])

    def _repr_html_(self) -> str:
        return str(self.table.to_html(index=False))

    def transform(self, rows: Any) -> pd.DataFrame:
        """Compute the features of the ranking on new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            New data with the inputs that the features need; an array has columns x1 … xd.

        Returns
        -------
        pandas.DataFrame, shape (m, k)
            One column a feature, named by its expression, with the index of `rows` if that is a frame; NaN
            in rows outside a feature's domain.

        Raises
        ------
        TableError
            If an input is missing or not numeric.

        Warns
        -----
        UserWarning
            If a feature is undefined in some of the rows, with the count.

        Examples
        --------
        >>> import symscreen
        >>> data = symscreen.datasets.strogatz("glider2")
        >>> result = symscreen.screen(data.frame, layers="ub", unary=["cos"], binary=["div"], top=1)
        >>> result.transform(data.frame.head(2)).shape
        (2, 1)
        """
        import pandas as pd

        names = sorted(frozenset().union(*map(columns_of, self.expressions)))
        columns = frame_columns(rows, names)
        computed = {to_text(expression): evaluate(expression, columns) for expression in self.expressions}
        index = rows.index if isinstance(rows, pd.DataFrame) else None
        frame = pd.DataFrame(computed, index=index)
        undefined = {name: int(np.isnan(values).sum()) for name, values in computed.items()}
        if any(undefined.values()):
            worst = max(undefined, key=lambda name: undefined[name])
            some = sum(count > 0 for count in undefined.values())
            warnings.warn(
                f"{some} of {len(computed)} features are undefined in some of the {len(frame)} rows "
                f"and NaN there; {worst!r} in {undefined[worst]}",
                stacklevel=2,
            )
        return frame


def ranking(
    table: Table, space: Space, kept: Kept, screeners: tuple[Screener, ...], record: dict[str, Any]
) -> ScreenResult:
    """Turn what was kept into what a user sees.

    Parameters
    ----------
    table : Table
        The data.
    space : Space
        Where the kept features come from.
    kept : Kept
        The features in their final order.
    screeners : tuple of Screener
        Those asked for; the first one ranks.
    record : dict
        The run's record.

    Returns
    -------
    ScreenResult
    """
    import pandas as pd

    expressions = tuple(space.expression(int(number)) for number in kept.number)
    columns: dict[str, Any] = {
        "rank": range(1, len(kept) + 1),
        "expression": [to_text(expression) for expression in expressions],
        "complexity": kept.complexity,
        "layer": space.features(kept.number).layer,
        "direction": [{1: "+", -1: "-"}.get(int(sign), "") for sign in kept.direction],
    }
    columns |= {screener.name: kept.scores[:, place] for place, screener in enumerate(screeners)}
    columns["class_size"] = kept.class_size
    scale = gini_mean_difference(table.response)
    return ScreenResult(pd.DataFrame(columns), expressions, record["scored"], scale, record, table.notices)
