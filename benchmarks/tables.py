"""Tables that the benchmarks screen: made from a seed, of known kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Made = tuple[NDArray[np.float64], NDArray[np.float64]]

RATIONAL = "b[add,sub,mul,div]"
KINDS = ("strong", "weak", "heavy")

# Inputs that two layers of RATIONAL grow to about this number of features.
_INPUTS = {10_000: 5, 100_000: 9, 1_000_000: 16, 10_000_000: 28, 100_000_000: 50}


def get_input_count(features: int) -> int:
    """Return how many inputs two layers of `RATIONAL` grow to about this number of features."""
    return _INPUTS[features]


def make_table(kind: str, rows: int, inputs: int, seed: int = 0) -> Made:
    """Make a table.

    Parameters
    ----------
    kind : {"strong", "weak", "heavy"}
        A sum of a product and a quotient with a tenth of its deviation as noise; the same with an R² of 0.3;
        or a lognormal response of a product, inputs correlated.
    rows, inputs : int
        Its shape; at least 4 inputs.
    seed : int
        Of the generator.

    Returns
    -------
    X : float64 array, shape (rows, inputs)
    y : float64 array, shape (rows,)

    Raises
    ------
    ValueError
        If there is no such kind.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    if kind == "heavy":
        common = rng.normal(size=(rows, 1))
        x = np.exp(0.3 * (0.7 * common + np.sqrt(1 - 0.7**2) * rng.normal(size=(rows, inputs))))
        y = np.exp(x[:, 0] * x[:, 1] - x[:, 2] + 0.5 * rng.normal(size=rows))
        return x, y
    x = rng.uniform(0.5, 2.0, (rows, inputs))
    signal = x[:, 0] * x[:, 1] + x[:, 2] / x[:, 3]
    noise = 0.1 if kind == "strong" else np.sqrt(0.7 / 0.3)
    return x, signal + noise * signal.std() * rng.normal(size=rows)


def load_table(task: dict[str, Any] | str) -> Made:
    """Make a table, or read one that was saved with ``numpy.savez``."""
    if isinstance(task, str):
        with np.load(task) as saved:
            return saved["x"], saved["y"]
    return make_table(**task)
