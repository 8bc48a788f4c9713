"""Tables of solution rates: by noise, with the published ones, by structure, and the misses by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from symscreen.experiments.srbench.misses import CAUSES, TIME_LIMIT_S
from symscreen.experiments.srbench.problems import list_problems
from symscreen.experiments.srbench.published_rates import find_best_published, read_published_rates
from symscreen.experiments.srbench.structure import STRUCTURES, find_structure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.experiments.srbench.records import TrialRow

_OURS = "symscreen"


def build_row_table(rows: Sequence[TrialRow]) -> pd.DataFrame:
    """Build a table of all fits, with the structure of each truth.

    Parameters
    ----------
    rows : sequence of TrialRow
        At least one row.

    Returns
    -------
    pandas.DataFrame
        The fields of the rows and ``structure``.
    """
    structures = {problem.name: problem for problem in list_problems()}
    frame = pd.DataFrame([{name: getattr(row, name) for name in row.__struct_fields__} for row in rows])
    frame["structure"] = [find_structure(structures[name]) for name in frame["problem"]]
    frame["r2"] = frame["r2"].astype(float)
    return frame


def compute_rate(fits: pd.DataFrame) -> float:
    """Compute the percentage of solved fits, the mean over problems of the share of their seeds.

    Examples
    --------
    >>> compute_rate(pd.DataFrame({"problem": ["a", "a", "b"], "solved": [True, False, True]}))
    75.0
    """
    return 100.0 * float(fits.groupby("problem")["solved"].mean().mean())


def build_summary_table(fits: pd.DataFrame) -> pd.DataFrame:
    """Summarise the fits by source of the problems and by noise.

    Parameters
    ----------
    fits : pandas.DataFrame
        Table from `build_row_table`.

    Returns
    -------
    pandas.DataFrame
        ``tried``: problems. ``fits``, ``solved``: fits and solved ones. ``percent``: see `compute_rate`.
        ``law_percent``: the same of formulas that are the law, whether the judge recognises them or not.
        ``published_percent``, ``published_by``: the best published method on all problems of the source, with
        or without units as ours. ``seconds_median``, ``seconds_most``: run times of fits. ``over_60_s``: fits
        that took longer than the limit.
    """
    groups = list(dict.fromkeys(fits["group"]))
    table = []
    for group in [*groups, "all"] if len(groups) > 1 else groups:
        cells = fits if group == "all" else fits[fits["group"] == group]
        for ratio in sorted(set(cells["noise_ratio"].tolist())):
            cell = cells[cells["noise_ratio"] == ratio]
            best_percent, best_method = find_best_published(group, ratio, units=bool(cell["units"].all()))
            table.append(
                {
                    "problems": group,
                    "noise_ratio": ratio,
                    **_count_solved(cell),
                    "law_percent": compute_rate(cell.assign(solved=_find_laws(cell))),
                    "published_percent": best_percent,
                    "published_by": best_method,
                    "seconds_median": float(cell["seconds"].median()),
                    "seconds_most": float(cell["seconds"].max()),
                    f"over_{TIME_LIMIT_S:g}_s": int((cell["seconds"] > TIME_LIMIT_S).sum()),
                }
            )
    return pd.DataFrame(table)


def build_published_table(fits: pd.DataFrame) -> pd.DataFrame:
    """Compare our rates with those of every published method.

    Parameters
    ----------
    fits : pandas.DataFrame
        Table from `build_row_table`.

    Returns
    -------
    pandas.DataFrame
        ``problems``, ``method``, ``units``, and a column ``percent_…`` for each noise ratio of our fits;
        ours first, then the published ones from the best to the worst without noise.
    """
    summary = build_summary_table(fits)
    ratios = sorted(set(fits["noise_ratio"]))
    rates = read_published_rates()
    table = []
    for group in dict.fromkeys(summary["problems"]):
        ours = summary[summary["problems"] == group].set_index("noise_ratio")["percent"]
        table.append(_build_rate_row(group, _OURS, ours, ratios, units=bool(fits["units"].all())))
        known = rates[rates["problems"] == group]
        published = [
            _build_rate_row(
                group,
                str(method),
                one.set_index("noise_ratio")["percent"],
                ratios,
                units=bool(one["units"].all()),
            )
            for method, one in known.groupby("method", sort=False)
        ]
        first = f"percent_{ratios[0]:g}"
        table += sorted(published, key=lambda row: -np.nan_to_num(row[first], nan=-1.0))
    return pd.DataFrame(table)


def _build_rate_row(
    group: str, method: str, percents: pd.Series, ratios: Sequence[float], *, units: bool
) -> dict[str, Any]:
    """Build the row of a method."""
    cells = {f"percent_{ratio:g}": float(percents.get(ratio, np.nan)) for ratio in ratios}
    return {"problems": group, "method": method, "units": units} | cells


def build_structure_table(fits: pd.DataFrame) -> pd.DataFrame:
    """Compute our rates by the structure of the truth and by noise.

    Parameters
    ----------
    fits : pandas.DataFrame
        Table from `build_row_table`.

    Returns
    -------
    pandas.DataFrame
        ``problems``, ``structure``, ``noise_ratio``, ``tried``, ``fits``, ``solved``, ``percent``.
    """
    table = []
    for group in dict.fromkeys(fits["group"].tolist()):
        for structure in STRUCTURES:
            for ratio in sorted(set(fits["noise_ratio"].tolist())):
                is_cell = (fits["group"] == group) & (fits["structure"] == structure)
                cell = fits[is_cell & (fits["noise_ratio"] == ratio)]
                if len(cell):
                    key = {"problems": group, "structure": structure, "noise_ratio": ratio}
                    table.append(key | _count_solved(cell))
    return pd.DataFrame(table)


def _find_laws(fits: pd.DataFrame) -> pd.Series:
    """Return which formulas are the law, whether the judge recognises them or not."""
    return fits["solved"] | (fits["cause"] == "not recognised")


def _count_solved(cell: pd.DataFrame) -> dict[str, Any]:
    """Count the problems, the fits and the solved fits, and compute the rate."""
    return {
        "tried": cell["problem"].nunique(),
        "fits": len(cell),
        "solved": int(cell["solved"].sum()),
        "percent": compute_rate(cell),
    }


def build_cause_table(fits: pd.DataFrame) -> pd.DataFrame:
    """Count the misses by cause and noise.

    Parameters
    ----------
    fits : pandas.DataFrame
        Table from `build_row_table`.

    Returns
    -------
    pandas.DataFrame
        One row per cause: ``cause``, ``misses``, and ``misses_…`` for each noise ratio.
    """
    ratios = sorted(set(fits["noise_ratio"]))
    table = []
    for cause in CAUSES:
        misses = fits[fits["cause"] == cause]
        by_ratio = {f"misses_{ratio:g}": int((misses["noise_ratio"] == ratio).sum()) for ratio in ratios}
        table.append({"cause": cause, "misses": len(misses), **by_ratio})
    return pd.DataFrame(table)


def build_verdict_table(fits: pd.DataFrame) -> pd.DataFrame:
    """Count the fits by what they say of their formula.

    Parameters
    ----------
    fits : pandas.DataFrame
        Table from `build_row_table`.

    Returns
    -------
    pandas.DataFrame
        ``noise_ratio``, ``verdict``, ``fits``, ``solved``. ``law``: formulas that are the law, or have its
        form with other numbers.
    """
    with_form = _find_laws(fits) | (fits["cause"] == "wrong numbers")
    table = []
    for ratio in sorted(set(fits["noise_ratio"].tolist())):
        for verdict in sorted(set(fits["verdict"].tolist())):
            is_cell = (fits["noise_ratio"] == ratio) & (fits["verdict"] == verdict)
            counts = {"fits": int(is_cell.sum()), "solved": int(fits.loc[is_cell, "solved"].sum())}
            if counts["fits"]:
                law = int(with_form[is_cell].sum())
                table.append({"noise_ratio": ratio, "verdict": verdict, **counts, "law": law})
    return pd.DataFrame(table)


def build_miss_table(fits: pd.DataFrame) -> pd.DataFrame:
    """List the misses with their causes.

    Parameters
    ----------
    fits : pandas.DataFrame
        Table from `build_row_table`.

    Returns
    -------
    pandas.DataFrame
        One row per miss.
    """
    numbers = ["noise_ratio", "seed", "cause", "reason", "r2", "seconds", "stage", "verdict"]
    columns = ["problem", "structure", *numbers, "formula", "truth"]
    return fits.loc[~fits["solved"], columns].reset_index(drop=True)


def count_newly_solved(fits: pd.DataFrame) -> tuple[int, int]:
    """Count the problems that no published method solved without noise: those tried, and those solved here.

    Parameters
    ----------
    fits : pandas.DataFrame
        Table from `build_row_table`.

    Returns
    -------
    solved, tried : int
        Problems among the fits without noise; solved with at least half of the seeds.
    """
    unsolved = {problem.name for problem in list_problems() if not problem.solved_before}
    clean = fits[(fits["noise_ratio"] == 0) & fits["problem"].isin(unsolved)]
    shares = clean.groupby("problem")["solved"].mean()
    return int((shares >= 0.5).sum()), len(shares)
