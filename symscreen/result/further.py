"""Columns of a ranking that only some responses have: scores by each of several targets, Harrell's C."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.label_ranking import quote_label
from symscreen.response.several import SeveralResponse, alone
from symscreen.response.survival import SurvivalResponse
from symscreen.screeners import Screener
from symscreen.statistics.survival_t0 import harrell_c

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from symscreen.response.kinds import AnyResponse
    from symscreen.result.kept import Kept
    from symscreen.screeners import JointScreener
    from symscreen.statistics.order import Ordered

__all__ = ["HARRELL_C", "further_columns", "target_column"]

HARRELL_C = "harrell_c"


def target_column(screener: str, target: str) -> str:
    """Name the column of a screener's scores by one of several targets.

    Examples
    --------
    >>> target_column("t0", "yield"), target_column("t0", "a,b")
    ('t0[yield]', 't0[`a,b`]')
    """
    return f"{screener}[{quote_label(target)}]"


def further_columns(
    kept: Kept,
    blocks: Iterable[Ordered],
    response: AnyResponse,
    screeners: Sequence[Screener | JointScreener],
) -> dict[str, Any]:
    """Compute what a ranking tells beside the screeners' own columns.

    Parameters
    ----------
    kept : Kept
        The ranking; its scores have a column for each screener.
    blocks : iterable of Ordered
        The features of it, in its order.
    response : AnyResponse
        What they were scored against.
    screeners : sequence of Screener or JointScreener
        Those asked for.

    Returns
    -------
    dict of str to float64 array, each of shape (k,)
        Of several targets the score of every screener by each, as `across_targets` joins them: without a
        sign, and of T0 in units of the target's Δ. Of survival Harrell's C, where T0 is among the screeners.
    """
    names = [one.name for one in screeners]
    if isinstance(response, SurvivalResponse):
        return {HARRELL_C: harrell_c(kept.scores[:, names.index("t0")])} if "t0" in names else {}
    if not isinstance(response, SeveralResponse):
        return {}
    columns = [one for one in screeners if isinstance(one, Screener)]
    found: dict[str, list[NDArray[np.float64]]] = {
        target_column(one.name, name): [] for one in columns for name in response.names
    }
    single = {name: alone(response, place) for place, name in enumerate(response.names)}
    for ordered in blocks:
        for one in columns:
            for name, own in single.items():
                found[target_column(one.name, name)].append(one.score(one.statistic(ordered, own), own))
    return {name: np.concatenate([np.zeros(0), *parts]) for name, parts in found.items()}
