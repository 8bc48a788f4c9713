"""The paper's additive model in its two small spaces: what figures 5 and 6 have in common.

y = 2·x1³ + 5·x3 + 10 + e (eq. 19), x1, x2, x3 uniform on [0, 1]; operators id, cube; +, ×; strict pools. The
text writes the orders of the layers both ways round: in §6.1, in its captions and in Table 2, the space with
binary operators first has 24 features and is the better one, which is `bu` here; Example 1 says the opposite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.evaluation import losses_of_ranking, read_truth
from symscreen.evaluation.criteria import correct
from symscreen.pipeline.screening import screen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from symscreen.datasets import Dataset

__all__ = ["ORDERS", "SCREENERS", "VARIANCES", "Screening", "screening"]

ORDERS = ("bu", "ub")
VARIANCES = (0.0, 0.01, 0.1)
# every screener that ships; trees by their inclusion or importance alone, for no rule is asked for
SCREENERS = {
    "t0": "t0",
    "xi": "xi",
    "kendall": "kendall",
    "spearman": "spearman",
    "pearson": "pearson",
    "lasso": "lasso",
    "scad": "scad",
    "mcp": "mcp",
    "stepwise": "stepwise",
    "forest": "forest[rule=none]",
    "bart": "bart[rule=none,replicates=5]",
}


@dataclass(frozen=True, eq=False)
class Screening:
    """All features of one table by several screeners.

    Parameters
    ----------
    losses : dict of str to float64 array, shape (q,)
        By screener; ascending is better.
    correct : bool array, shape (q,)
        Which features hold x1 and x3 only (§6.1, Table 2): 12 of 24, or 20 of 42.
    """

    losses: dict[str, NDArray[np.float64]]
    correct: NDArray[np.bool_]


def screening(order: str, data: Dataset, names: tuple[str, ...], *, seed: int, jobs: int | None) -> Screening:
    """Screen a table drawn from the additive model.

    Parameters
    ----------
    order : {"bu", "ub"}
        The layers.
    data : Dataset
        As `symscreen.datasets.additive` draws it.
    names : tuple of str
        Keys of `SCREENERS`.
    seed : int
        Of what screeners draw.
    jobs : int, optional
        Threads.

    Returns
    -------
    Screening
        Positive sign: the paper's T0 counts what falls with the response as wrong.
    """
    result = screen(
        data.frame,
        operators="ablation",
        layers=order,
        pool="strict",
        screener=[SCREENERS[name] for name in names],
        sign="positive",
        top="all",
        seed=seed,
        jobs=jobs,
    )
    good = correct(result.expressions, read_truth(data.truth), "active")
    return Screening(losses_of_ranking(result), good)
