"""The least-squares projection of pairwise probabilities onto the set T′ (Clémençon et al., eq. 11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError, TableError
from symscreen.ranking.probabilities import PairwiseProbabilities, one_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.ranking.probabilities import Pairwise

    Values = NDArray[np.float64]

__all__ = ["Projection", "projection"]


@dataclass(frozen=True, eq=False)
class Projection:
    """The point of T′ nearest to pairwise probabilities.

    Parameters
    ----------
    p : float64 array, shape (k, k)
        p′_ij = ½ + u_i − u_j. Entries may leave [0, 1]: T′ is a plane, and the projection is onto all of it.
    scores : float64 array, shape (k,)
        u, of mean 0: larger is preferred. For complete rankings Borda's, up to scale and shift.
    residual : float
        Σ_{i<j} (p′_ij − p_ij)², over the pairs seen and with the weights used.
    """

    p: Values
    scores: Values
    residual: float


def projection(p: Pairwise, *, weighted: bool = False) -> Projection:
    """Project pairwise probabilities onto T′ (Clémençon et al., eq. 11).

    T′ holds what satisfies (p_ij − ½) + (p_jl − ½) + (p_li − ½) = 0 for all i, j, l: differences of scores.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; pairs never seen stand in no square.
    weighted : bool
        Weight each pair by the rows that show it, as Jiang et al. (2011) do; needs a PairwiseProbabilities.
        Else all pairs seen count alike, as in eq. (11).

    Returns
    -------
    Projection
        Its order is a consensus that no cycle disturbs.

    Raises
    ------
    TableError
        If no chain of pairs seen joins some labels: their scores cannot be compared.
    OptionError
        If weights are asked for and `p` is a plain array.

    Examples
    --------
    >>> found = projection(np.array([[0.5, 0.9, 0.4], [0.1, 0.5, 0.8], [0.6, 0.2, 0.5]]))
    >>> found.scores.round(6).tolist(), round(found.residual, 6)
    ([0.1, -0.033333, -0.066667], 0.213333)
    """
    matrix = one_matrix(p)
    weight = (~np.isnan(matrix)).astype(np.float64)
    if weighted:
        if not isinstance(p, PairwiseProbabilities):
            raise OptionError("a plain array tells no weights: give what pairwise_probabilities returns")
        weight = p.seen.copy()
    np.fill_diagonal(weight, 0.0)
    away = np.where(weight > 0, matrix - 0.5, 0.0)
    scores = _scores(weight, away)
    fitted = 0.5 + scores[:, None] - scores[None, :]
    squares = np.where(weight > 0, weight * (fitted - 0.5 - away) ** 2, 0.0)
    return Projection(fitted, scores, float(squares.sum() / 2.0))


def _scores(weight: Values, away: Values) -> Values:
    """Solve Σ_j w_ij (u_i − u_j) = Σ_j w_ij (p_ij − ½) for every i, with Σ u = 0."""
    k = len(weight)
    pulls = (weight * away).sum(axis=1)
    off = weight[~np.eye(k, dtype=bool)]
    if k == 1 or off.min() == off.max() > 0:  # all pairs alike: Borda's scores
        return np.asarray(pulls / (k * off.max(initial=1e-300)))
    _refuse_unjoined(weight > 0)
    scale = weight.max()
    laplacian = (np.diag(weight.sum(axis=1)) - weight) / scale
    return np.asarray(np.linalg.solve(laplacian + 1.0 / k, pulls / scale), dtype=np.float64)


def _refuse_unjoined(seen: NDArray[np.bool_]) -> None:
    joined = np.zeros(len(seen), dtype=bool)
    joined[0] = True
    while True:
        wider = joined | seen[joined].any(axis=0)
        if (wider == joined).all():
            break
        joined = wider
    if not joined.all():
        raise TableError(
            f"no chain of pairs that rows show together joins label 0 with label {int((~joined).argmax())}: "
            "their scores cannot be compared; project the groups of labels apart, or find rows that join them"
        )
