"""Dependence of a response on each column of a matrix: scipy, scikit-learn, tsfresh, mRMR and Boruta.

Run as ``python columns.py NAME TABLE.npz``. The columns are products of two inputs, drawn at random;
making them is not timed.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import numpy as np
from side_report import print_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[np.float64]

COLUMNS = {
    "kendall": 1000,
    "chatterjee": 500,
    "chatterjee-at-once": 5000,
    "mutual-information": 500,
    "tsfresh": 1000,
    "mrmr": 500,
    "boruta": 200,
}


def kendall(z: Values, y: Values) -> int:
    """Compute Kendall's τ-b of each column in a loop."""
    from scipy.stats import kendalltau

    return len([kendalltau(column, y).statistic for column in z.T])


def chatterjee(z: Values, y: Values) -> int:
    """Compute Chatterjee's ξ of each column in a loop."""
    from scipy.stats import chatterjeexi

    return len([chatterjeexi(column, y).statistic for column in z.T])


def chatterjee_at_once(z: Values, y: Values) -> int:
    """Compute Chatterjee's ξ of all columns in one call."""
    from scipy.stats import chatterjeexi

    return len(chatterjeexi(z, y[:, None], axis=0).statistic)


def mutual_information(z: Values, y: Values) -> int:
    """Estimate the mutual information of each column and the response from nearest neighbours."""
    from sklearn.feature_selection import mutual_info_regression

    return len(mutual_info_regression(z, y, n_jobs=2, random_state=0))


def tsfresh(z: Values, y: Values) -> int:
    """Make tsfresh's table: Kendall's test of each column, and the false discovery rate."""
    import pandas as pd
    from tsfresh.feature_selection.relevance import calculate_relevance_table

    frame = pd.DataFrame(z, columns=[f"z{place}" for place in range(z.shape[1])])
    return len(
        calculate_relevance_table(frame, pd.Series(y), ml_task="regression", n_jobs=2, show_warnings=False)
    )


def mrmr(z: Values, y: Values) -> int:
    """Choose twenty columns of much relevance and little redundancy."""
    import pandas as pd
    from mrmr import mrmr_regression

    frame = pd.DataFrame(z, columns=[f"z{place}" for place in range(z.shape[1])])
    mrmr_regression(X=frame, y=pd.Series(y), K=min(20, z.shape[1]), n_jobs=2, show_progress=False)
    return z.shape[1]


def boruta(z: Values, y: Values) -> int:
    """Let Boruta confirm or reject each column, in up to fifty rounds."""
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(n_jobs=2, max_depth=5, random_state=0)
    BorutaPy(forest, n_estimators="auto", max_iter=50, random_state=0).fit(z, y)
    return z.shape[1]


WORK: dict[str, Callable[[Values, Values], int]] = {
    "kendall": kendall,
    "chatterjee": chatterjee,
    "chatterjee-at-once": chatterjee_at_once,
    "mutual-information": mutual_information,
    "tsfresh": tsfresh,
    "mrmr": mrmr,
    "boruta": boruta,
}


def main() -> None:
    """Time it, after a few columns."""
    name, path = sys.argv[1:]
    with np.load(path) as table:
        x, y = table["x"], table["y"]
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, x.shape[1], (2, COLUMNS[name]))
    z = x[:, left] * x[:, right]
    WORK[name](z[:, :5], y)
    start = time.perf_counter()
    features = WORK[name](z, y)
    seconds = time.perf_counter() - start
    threads = 2 if name in {"mutual-information", "tsfresh", "mrmr", "boruta"} else 1
    known = ("scipy", "scikit-learn", "tsfresh", "mrmr-selection", "boruta", "numpy")
    print_report(seconds, features, *known, threads=threads)


if __name__ == "__main__":
    main()
