"""The published Mallows sets of Fotakis and others (2022), measured: what distance they were drawn in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from symscreen.errors import TableError
from symscreen.experiments.lr_noise_sets import SPREADS
from symscreen.ranking import kendall_distance
from symscreen.ranking.generators import inconsistency, mallows_mean_distance, mallows_probability

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["FILE", "published_sets"]

FILE = "SFN_mallows_rankings.csv.gz"


def published_sets(folder: Path) -> pd.DataFrame:
    """Compare the published rankings with the Mallows model.

    Parameters
    ----------
    folder : Path
        Which holds `FILE`: a column ``original`` and one for each noisy set, in the order of θ = 0.6 … 4.4;
        a cell has the digits of the labels in order, best first.

    Returns
    -------
    pandas.DataFrame
        By set: θ, α and the model's α, the mean distance of rank vectors and of order lists from the
        noiseless ones, and the model's.

    Raises
    ------
    TableError
        If the file is missing or has other columns.
    """
    path = folder / FILE
    try:
        frame = pd.read_csv(path, dtype=str)
    except FileNotFoundError:
        raise TableError(f"{path}: there is no such file; give the folder that holds it") from None
    names = [name for name in frame if name != "original"]
    if "original" not in frame or len(names) != len(SPREADS):
        raise TableError(f"{path} must hold a column 'original' and {len(SPREADS)} noisy ones")
    original = _digits(frame["original"])
    rows = []
    for theta, name in zip(SPREADS, names, strict=True):
        noisy, k = _digits(frame[name]), original.shape[1]
        center = np.arange(1.0, k + 1.0)
        rows.append(
            {
                "set": name,
                "theta": theta,
                "alpha": inconsistency(noisy, original),
                "expected_alpha": 1.0 - float(mallows_probability([center], center, theta)[0]),
                "rank_distance": float(kendall_distance(_ranks(noisy), _ranks(original)).mean()),
                "order_list_distance": float(kendall_distance(noisy, original).mean()),
                "expected_distance": mallows_mean_distance(theta, k),
            }
        )
    return pd.DataFrame(rows)


def _digits(texts: pd.Series[str]) -> NDArray[np.float64]:
    return np.array([[float(letter) for letter in text] for text in texts])


def _ranks(orders: NDArray[np.float64]) -> NDArray[np.float64]:
    """Tell the positions of labels that are listed in order: the inverse permutation."""
    return np.asarray(np.argsort(orders, axis=1) + 1.0, dtype=np.float64)
