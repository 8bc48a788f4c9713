"""Figures of many runs of several methods: means beside what is published, and improvements run by run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from symscreen.evaluation import mean_and_error
from symscreen.experiments.multistage_published import IMPROVEMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SHOWN", "improvements", "means", "order_of"]

SHOWN = ["method", "overall", "se_overall", "e01", "e02", "e12", "balanced", "inconsistent"]

_ERRORS = ("overall", "e01", "e02", "e12", "balanced", "b01", "b02", "b12", "inconsistent")


def means(runs: pd.DataFrame) -> pd.DataFrame:
    """Average errors over runs.

    Parameters
    ----------
    runs : data frame
        One row for each run and method: `run`, `method`, the errors and `inconsistent`.

    Returns
    -------
    data frame
        One row a method, the least overall error first, with a standard error ``se_…`` for each figure.
    """
    rows = []
    for method, own in runs.groupby("method", sort=False):
        row: dict[str, Any] = {"method": method, "runs": len(own)}
        for name in _ERRORS:
            row[name], row[f"se_{name}"] = mean_and_error(own[name].to_numpy(dtype=np.float64))
        rows.append(row | {"alike": float(own["alike"].mean())})
    return pd.DataFrame(rows).sort_values("overall", kind="stable", ignore_index=True)


def improvements(runs: pd.DataFrame, ours: Sequence[str], figure: str = "overall") -> pd.DataFrame:
    """Compare ours with each rival, run by run.

    Parameters
    ----------
    runs : data frame
        As for `means`.
    ours : sequence of str
        Methods that are compared with the others.
    figure : str
        Which error.

    Returns
    -------
    data frame
        For each of ours and each rival: the published improvement, the mean of (rival − ours)/rival over runs
        with its standard error, and the mean difference with its.
    """
    wide = runs.pivot_table(index="run", columns="method", values=figure, sort=False)
    rows = []
    for own in ours:
        for rival in IMPROVEMENTS:
            difference = (wide[rival] - wide[own]).to_numpy(dtype=np.float64)
            gain, gain_error = mean_and_error(difference / wide[rival].to_numpy(dtype=np.float64))
            mean, error = mean_and_error(difference)
            row = {"ours": own, "rival": rival, "published": IMPROVEMENTS[rival]}
            rows.append(row | {"gain": gain, "se": gain_error, "difference": mean, "se_difference": error})
    return pd.DataFrame(rows)


def order_of(table: pd.DataFrame, figure: str = "overall") -> str:
    """Write the order of methods by an error, the least first."""
    ranked = table.sort_values(figure, kind="stable")
    return " < ".join(
        f"{name} {error:.3f}" for name, error in zip(ranked["method"], ranked[figure], strict=True)
    )
