"""Published rates of solved fits on SRBench's problems, by method and noise.

The rates of SRBench's methods and of RILS-ROLS (Kartelj and Djukanović 2023) are from the records that the
latter published. The table on SRBench's page was made before the scale of its noise was corrected: its noise
was larger by the root of the number of rows.
"""

from __future__ import annotations

import math

import pandas as pd

from symscreen.experiments.srbench.problems import read_facts


def read_published_rates() -> pd.DataFrame:
    """Read the published percentages of solved fits.

    Returns
    -------
    pandas.DataFrame
        ``method``, ``problems`` (``all``, ``Feynman`` or ``Strogatz``), ``units`` (whether the method was
        given units), ``noise_ratio``, ``percent``, ``source``.

    Examples
    --------
    >>> rates = read_published_rates()
    >>> rates[(rates["method"] == "RILS-ROLS") & (rates["noise_ratio"] == 0)]["percent"].tolist()
    [56.85, 53.88, 81.43]
    """
    rows = [
        {
            "method": row["method"],
            "problems": row["problems"],
            "units": row["units"] == "yes",
            "noise_ratio": float(row["noise"]),
            "percent": float(row["percent"]),
            "source": row["source"],
        }
        for row in read_facts("published.csv")
    ]
    return pd.DataFrame(rows)


def find_best_published(problems: str, noise_ratio: float, *, units: bool = False) -> tuple[float, str]:
    """Find the largest published percentage of solved fits.

    Parameters
    ----------
    problems : {"all", "Feynman", "Strogatz"}
        The problems that the percentage is about.
    noise_ratio : float
        Noise ratio.
    units : bool
        Whether the method was given units.

    Returns
    -------
    percent : float
        NaN if there is none.
    method : str
        Name of the method; empty if there is none.

    Examples
    --------
    >>> find_best_published("Strogatz", 0.01)
    (45.0, 'RILS-ROLS')
    """
    rates = read_published_rates()
    known = rates[
        (rates["problems"] == problems) & (rates["noise_ratio"] == noise_ratio) & (rates["units"] == units)
    ]
    return max(zip(known["percent"].tolist(), known["method"].tolist(), strict=True), default=(math.nan, ""))
