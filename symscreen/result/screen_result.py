"""What a screen returns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.brief import in_brief
from symscreen.errors import OptionError, printable
from symscreen.expression import columns_of, evaluate, to_text
from symscreen.result.comparison import agreement
from symscreen.result.ruling import ruling_of
from symscreen.table import frame_columns
from symscreen.units import in_base_units, unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.expression import Expression
    from symscreen.result.ruling import Ruling
    from symscreen.result.screened import Screened
    from symscreen.result.views import Pictures, Views
    from symscreen.screeners import AnyScreener
    from symscreen.table import Table
    from symscreen.units import Units

__all__ = ["ScreenResult", "ranking"]

_HEAD = 20  # of a ranking of all features: what another screener agrees on


@dataclass(frozen=True, eq=False)
class ScreenResult:
    """A ranking of features and how it was made.

    Parameters
    ----------
    table : pandas.DataFrame
        One row a class of features (a feature, where all were asked for), best first, with the columns
        ``rank``, ``expression``, ``complexity``, ``layer``, ``direction``, one for each screener,
        ``class_size``, and where they can be had: ``p_value``, ``q_value`` (over all features scored, not
        only those shown; a p-value has four significant digits, rounded up), ``p_family``; ``t0_se``,
        ``t0_low``, ``t0_high``, ``gamma``, ``gamma_low``, ``gamma_high``, where intervals were asked for;
        ``unit``, where units were given.
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
    agreement : pandas.DataFrame or None
        Where several screeners were asked for, how far each two agree on the features compared: ``first``,
        ``second``, ``features``, ``kendall``, ``top`` (K), ``overlap`` (of their best K). The ``…_rank``
        columns of the table are the ranks among the same features.
    rulings : dict of str to Ruling
        What each joint screener says of the features that it was shown, in the first round.
    data : Table or None
        The rows that were screened, from which `plot` and reports draw. No file and no pickle holds them.
    views : Views or None
        What draws the result.
    """

    table: pd.DataFrame
    expressions: tuple[Expression, ...]
    scored: int
    scale: float
    record: dict[str, Any]
    notices: tuple[str, ...]
    agreement: pd.DataFrame | None = None
    rulings: dict[str, Ruling] = field(default_factory=dict)
    data: Table | None = None
    views: Views | None = None

    def __len__(self) -> int:
        return len(self.expressions)

    def __repr__(self) -> str:
        head = f"<ScreenResult: {len(self):,} shown of {self.scored:,} features scored>"
        return in_brief(head, self.notices, {"table": self.table})

    def __getstate__(self) -> dict[str, Any]:
        # what is passed on holds formulas and scores: not the rows of a table that may be private
        return {**self.__dict__, "data": None}

    @property
    def plot(self) -> Pictures:
        """Pictures as matplotlib axes: ``scores()``, ``funnel()``, ``feature(rank)`` and others.

        Each takes an ``ax`` to draw on; without one it makes a figure of its own.

        Raises
        ------
        OptionError
            If the result was put together by hand.
        """
        if self.views is None:
            raise OptionError("this result was not made by symscreen.screen, which is what gives it pictures")
        return self.views.plot(self)

    def _repr_latex_(self) -> str | None:
        return None if self.views is None else self.views.latex(self)

    def _repr_html_(self) -> str:
        if self.views is not None:
            return self.views.html(self)
        head = f"<p>{len(self)} shown of {self.scored} features scored</p>"
        notices = "".join(f"<p>{escape(printable(notice))}</p>" for notice in self.notices)
        table = self.table.assign(expression=list(map(printable, self.table["expression"])))
        return head + notices + str(table.to_html(index=False))

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
        columns = in_base_units(frame_columns(rows, names), self.record.get("units"))
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
    rounds: Sequence[tuple[Space, Screened, NDArray[np.int64]]],
    screeners: Sequence[AnyScreener],
    record: dict[str, Any],
    *,
    scale: float,
    notices: tuple[str, ...],
    places: NDArray[np.int64] | None = None,
    units: Units | None = None,
) -> ScreenResult:
    """Turn what was kept into what a user sees.

    Parameters
    ----------
    rounds : sequence of (Space, Screened, int64 array)
        What each round found in its space, and the places of what is shown of it; one round as a rule.
    screeners : sequence of Screener or JointScreener
        Those asked for; the first one ranks.
    record : dict
        The run's record.
    scale : float
        Δ of the response.
    notices : tuple of str
        For people.
    places : int64 array, optional
        Where each feature of several rounds stands by the response itself.
    units : Units, optional
        Those of the inputs: each feature's is then told.

    Returns
    -------
    ScreenResult
        Round by round.
    """
    import pandas as pd

    frames: list[pd.DataFrame] = []
    expressions: list[Expression] = []
    for number, (space, found, shown) in enumerate(rounds, start=1):
        kept = found.kept.take(shown)
        own = [space.expression(feature) for feature in kept.number.tolist()]
        columns: dict[str, Any] = {
            "expression": [to_text(expression) for expression in own],
            "complexity": kept.complexity,
            "layer": space.features(kept.number).layer,
            "direction": [{1: "+", -1: "-"}.get(int(sign), "") for sign in kept.direction],
        }
        columns |= {one.name: kept.scores[:, place] for place, one in enumerate(screeners)}
        columns["class_size"] = kept.class_size
        if units is not None:
            columns["unit"] = [unit_of(expression, units) for expression in own]
        columns |= {name: values[shown] for name, values in found.columns.items()}
        frame = pd.DataFrame(columns)
        if len(rounds) > 1:
            frame.insert(4, "round", number)
        frames.append(frame)
        expressions += own
    table = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    if places is not None:
        table.insert(list(table.columns).index("round") + 1, "place_alone", places)
    table.insert(0, "rank", range(1, len(table) + 1))
    record = {**record, "shown": len(table)}
    first = rounds[0][1]
    best = _HEAD if record["options"]["top"] == "all" else min(len(first.kept), record["options"]["top"])
    together = None if first.comparison is None else agreement(first.comparison, best)
    if together is not None and len(together):
        rows = together.astype(object).where(together.notna(), None).to_dict("records")
        record["agreement"] = [{str(name): value for name, value in row.items()} for row in rows]
    rulings = {name: ruling_of(rounds[0][0], ruling) for name, ruling in first.judged.items()}
    return ScreenResult(
        table, tuple(expressions), record["scored"], scale, record, notices, together, rulings
    )
