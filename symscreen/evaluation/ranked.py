"""A ranking, as it is shown and written, back to its formulas and to what they are ordered by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from symscreen.errors import TableError
from symscreen.expression import parse
from symscreen.screeners import Screener, screener_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.expression import Expression
    from symscreen.grammar import Operator
    from symscreen.screeners import AnyScreener, Sign

__all__ = ["Ranked", "expressions_in", "inputs_in", "losses_in", "losses_of_ranking"]


class Ranked(Protocol):
    """A ranking with its record: a `ScreenResult`, or what `read_ranking` returns."""

    @property
    def table(self) -> pd.DataFrame:
        """One row a feature."""
        ...

    @property
    def record(self) -> dict[str, Any]:
        """How it was made."""
        ...


def losses_in(
    columns: Mapping[str, NDArray[np.float64]],
    screeners: Sequence[AnyScreener],
    sign: Sign,
    scale: float,
) -> dict[str, NDArray[np.float64]]:
    """Return each screener's losses.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (k,)
        A ranking's columns: for each column screener its score under its name, for each joint one its
        ``…_rank``.
    screeners : sequence of Screener or JointScreener
        Those asked for.
    sign : {"free", "positive"}
        Whether falling was as good as rising.
    scale : float
        Δ, Gini's mean difference of the response; positive.

    Returns
    -------
    dict of str to float64 array, shape (k,)
        Ascending is better; rounded to 12 digits, so that mirrored features tie; NaN where a joint screener
        was not shown a feature. A joint screener without ranks is left out.

    Examples
    --------
    >>> from symscreen.screeners import T0
    >>> losses_in({"t0": np.array([0.5, 3.5, 2.0])}, [T0], "free", scale=2.0)["t0"].tolist()
    [0.25, 0.25, 1.0]
    """
    losses: dict[str, NDArray[np.float64]] = {}
    for one in screeners:
        if isinstance(one, Screener):
            losses[one.name] = np.round(one.loss_of_score(columns[one.name], scale, sign), 12)
        elif f"{one.name}_rank" in columns:
            losses[one.name] = columns[f"{one.name}_rank"]
    return losses


def inputs_in(record: Mapping[str, Any]) -> list[str]:
    """Return the names of the inputs of a ranking."""
    names: list[str] = record["data"]["inputs"]
    return names


def expressions_in(result: Ranked, operators: Mapping[str, Operator]) -> Sequence[Expression]:
    """Return a ranking's formulas: those at hand, else as its table has them."""
    at_hand: Sequence[Expression] | None = getattr(result, "expressions", None)
    if at_hand is not None:
        return at_hand
    names = inputs_in(result.record)
    return [parse(text, operators, names) for text in result.table["expression"]]


def losses_of_ranking(result: Ranked) -> dict[str, NDArray[np.float64]]:
    """Return what each screener of a ranking orders features by.

    Parameters
    ----------
    result : ScreenResult or StoredRanking
        The ranking.

    Returns
    -------
    dict of str to float64 array, shape (k,)
        By screener, in the order of the table; ascending is better, NaN where a joint screener was not shown
        a feature. A joint screener is left out where the ranking is merged and it is the only one.

    Raises
    ------
    OptionError
        If a screener is unknown.
    TableError
        If scores or ranks are missing that a ranking has.
    """
    record, table = result.record, result.table
    names = record["options"]["screener"]
    screeners = [screener_named(name) for name in names]
    columns = {
        str(name): table[name].to_numpy(dtype=np.float64, na_value=np.nan)
        for name in table
        if name in names or str(name).endswith("_rank")
    }
    for name, screener in zip(names, screeners, strict=True):
        every, joint = record["options"]["top"] == "all", not isinstance(screener, Screener)
        if joint and every and f"{name}_rank" not in columns:
            raise TableError(f"the ranking has lost its column {name}_rank; screen again")
        if not joint and np.isnan(columns[name]).any():
            raise TableError(f"the ranking's column {name} has gaps; screen again")
    scale = float(record["data"]["gini_mean_difference"])
    return losses_in(columns, screeners, record["options"]["sign"], scale)
