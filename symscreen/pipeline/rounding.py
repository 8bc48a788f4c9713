"""What rounding may have done to the features that a screen shows: the columns of unsafe ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion.rounding import as_written
from symscreen.expression import columns_of
from symscreen.result.safety import Safety, marked, safety_of
from symscreen.statistics.t0 import gini_mean_difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symscreen.pipeline.rounds import Job, Round
    from symscreen.table import Table

__all__ = ["COLUMNS", "with_rounding"]

COLUMNS = ("unsafe_rows", "unsafe_by")

_MOST, _MOST_OF_ALL = 1000, 100  # features looked at; of a ranking of all, which may cost little itself
_VALUES_AT_A_TIME = 1 << 20


def with_rounding(found: Sequence[Round], table: Table, job: Job) -> tuple[list[Round], dict[str, Any]]:
    """Say of the features that rounds show how far rounding decides their scores.

    Parameters
    ----------
    found : sequence of Round
        What was found.
    table : Table
        The data.
    job : Job
        What was done.

    Returns
    -------
    list of Round
        With the columns `COLUMNS`, where any feature is unsafe; of the first 1,000 of each round, or 100 of a
        ranking of all features, and missing for others. They are of the features alone, so that nothing
        depends on threads or chunks.
    dict
        For the record: ``rounding``, or nothing where all is safe.
    """
    safeties = [list(_safeties(each, table, job)) for each in found]
    unsafe = sum(one.rows > 0 for own in safeties for one in own)
    if not unsafe:
        return list(found), {}
    first = job.request.screeners[0]
    scale = gini_mean_difference(table.response) if first.name == "t0" else 1.0
    some = sum(marked(one.rows, one.by, n=table.response.n, scale=scale) for own in safeties for one in own)
    told = {"looked_at": sum(map(len, safeties)), "unsafe": unsafe, "marked": some}
    return [_with_columns(each, own) for each, own in zip(found, safeties, strict=True)], {"rounding": told}


def _safeties(found: Round, table: Table, job: Job) -> Iterator[Safety]:
    """Look at the features of a round, the best first."""
    columns = dict(zip(table.names, found.inputs, strict=True))
    written = {name: as_written(column) for name, column in columns.items()}
    most = _MOST_OF_ALL if job.request.limit is None else _MOST
    numbers = found.screened.kept.number[found.shown[:most]]
    step = max(1, _VALUES_AT_A_TIME // max(1, found.space.rows))
    for start in range(0, len(numbers), step):
        some = numbers[start : start + step]
        for number, values in zip(some.tolist(), found.space.values(some), strict=True):
            expression = found.space.expression(number)
            own = {name: columns[name] for name in columns_of(expression)}
            yield safety_of(
                expression,
                values,
                own,
                found.response,
                job.request.screeners,
                written={name: written[name] for name in own},
            )


def _with_columns(found: Round, safeties: Sequence[Safety]) -> Round:
    import pandas as pd

    places = found.shown[: len(safeties)]
    rows, by = np.full((2, len(found.screened.kept)), np.nan)
    rows[places], by[places] = [one.rows for one in safeties], [one.by for one in safeties]
    whole = pd.array(rows, dtype="Float64").astype("Int64")
    columns = found.screened.columns | dict(zip(COLUMNS, (whole, by), strict=True))
    return replace(found, screened=replace(found.screened, columns=columns))
