"""The default learner of rankings: trees and linear scores of many kinds, blended by cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError, TableError
from symscreen.ranking.bradley_terry import refuse_unordered
from symscreen.ranking.growing import is_whole
from symscreen.ranking.learned import Learned, learned_from, of_mean_one
from symscreen.ranking.ranker import Ranker
from symscreen.ranking.seeds import fresh_seeds
from symscreen.ranking.sorting import ranks_of_positions
from symscreen.ranking.stack_members import completed, families

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from symscreen.ranking.stack_members import Family, Predictor

    Ranks = NDArray[np.float64]
    Values = NDArray[np.float64]

__all__ = ["RankingEnsemble"]

_FEWEST = 10  # rows; of fewer, every model counts alike
_LARGE = 5000  # rows from which three folds are enough
_NOTHING = 1e-6  # of all weight: models with less are left out


class RankingEnsemble(Ranker):
    """Blend forests, boosting and linear scores on several bases; no option need be tuned.

    Every model predicts the expected position of each label, 1 + Σ_{j≠i} Pr[j ≻ i | x], which is also Borda's
    score of soft pairwise votes. Weights ≥ 0 of the models are found by least squares between the blend of
    what they predict for rows held out in an inner cross-validation and the rankings of these rows (Breiman
    1996, Stacked regressions). Labels are sorted by the blend.

    Parameters
    ----------
    n_estimators : int
        Trees of the largest forest; two more have half as many.
    inner_folds : int, optional
        By default 5, and 3 from 5000 rows on. Of fewer than 10 rows all models count alike.
    random_state : int, RandomState or None
        Draws folds, trees and the landmarks of kernels.

    Attributes
    ----------
    weights_ : dict of str to float
        The share of each model in the blend, largest first; models that are not named have none.
    n_labels_, n_features_in_ : int
        k and d.

    Notes
    -----
    Linear scores read incomplete and partial rankings as they are. For the other models the positions of
    labels that are missing are estimated by linear scores.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> ranker = RankingEnsemble(n_estimators=10).fit(X, -X)  # the largest feature is preferred
    >>> ranker.predict([[3.0, 2.0, -1.0], [-1.0, 2.0, 0.5]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]
    """

    def __init__(
        self,
        *,
        n_estimators: int = 200,
        inner_folds: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.inner_folds = inner_folds
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit and weigh the models.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Rankings; labels may be missing (NaN) or tied.
        sample_weight : array-like, shape (n,), optional
            ≥ 0, one a row; only their ratios count. Rows of weight 0 are left out.

        Returns
        -------
        RankingEnsemble
            Itself.

        Raises
        ------
        TableError
            If the rankings are none, some label is ordered against no other in any row, or there is one row.
        OptionError
            If the number of trees or folds makes no sense.
        """
        if not is_whole(self.n_estimators) or self.n_estimators < 1:
            raise OptionError(f"n_estimators is {self.n_estimators!r}: give a whole number of at least 1")
        learned = learned_from(self, X, y, sample_weight)
        if len(learned.rows) < 2:
            raise TableError(
                "RankingEnsemble cannot learn from 1 sample: give at least two rows of weight above 0"
            )
        refuse_unordered(learned.ranks)
        learned = learned._replace(weights=of_mean_one(learned.weights))
        n, d = learned.rows.shape
        known = families(n, d, self.n_estimators)
        positions = completed(learned)
        folds = self._folds(n)
        seeds = fresh_seeds(self.random_state, len(known) + 1)
        shares = [np.full(len(family.names), 1.0) for family in known]
        if folds is not None:
            held_out = _held_out(known, learned, positions, folds, seeds)
            shares = _weighed(held_out, positions, learned.weights)
        total = sum(float(share.sum()) for share in shares)
        self._blend: list[tuple[Values, Predictor]] = []
        named: dict[str, float] = {}
        for family, share, seed in zip(known, shares, seeds, strict=False):
            if share.sum() > _NOTHING * total:
                self._blend.append((share / total, family.fit(learned, positions, seed)))
                named |= dict(zip(family.names, (share / total).tolist(), strict=True))
        self.weights_ = {
            name: weight
            for name, weight in sorted(named.items(), key=lambda one: -one[1])
            if weight > _NOTHING
        }
        return self

    def decision_function(self, X: Any) -> Values:  # noqa: N803
        """Predict expected positions.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            About 1 to k: what is smallest is preferred.
        """
        rows = self._rows(X)
        blend = np.zeros((len(rows), self.n_labels_))
        for shares, predictor in self._blend:
            for share, positions in zip(shares, predictor(rows), strict=True):
                blend += share * positions
        return blend

    def predict(self, X: Any) -> Ranks:  # noqa: N803
        """Predict rankings: labels in ascending order of their expected positions.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k; of labels predicted alike the one with the smaller index comes first.
        """
        return ranks_of_positions(self.decision_function(X))

    def _folds(self, n: int) -> int | None:
        wanted = (5 if n < _LARGE else 3) if self.inner_folds is None else self.inner_folds
        if not is_whole(wanted) or wanted < 2:
            raise OptionError(f"inner_folds is {wanted!r}: give a whole number of at least 2, or None")
        return None if n < max(_FEWEST, wanted) else wanted


def _held_out(
    known: list[Family], learned: Learned, positions: Values, folds: int, seeds: list[int]
) -> list[list[Values]]:
    """Let every model predict rows that it has not seen; one list of (n, k) arrays for each family."""
    from sklearn.model_selection import KFold

    predicted = [[np.empty(positions.shape) for _ in family.names] for family in known]
    dealt = KFold(folds, shuffle=True, random_state=seeds[-1])
    for seen, unseen in dealt.split(learned.rows):
        part = Learned(learned.rows[seen], learned.ranks[seen], learned.weights[seen])
        for family, answers, seed in zip(known, predicted, seeds, strict=False):
            predictor = family.fit(part, positions[seen], seed)
            for answer, found in zip(answers, predictor(learned.rows[unseen]), strict=True):
                answer[unseen] = found
    return predicted


def _weighed(predicted: list[list[Values]], positions: Values, weights: Values) -> list[Values]:
    """Find the weights ≥ 0 of the blend by least squares on positions centred at (k + 1)/2."""
    from scipy.optimize import nnls

    middle = (positions.shape[1] + 1) / 2.0
    scale = np.sqrt(weights)[:, None]
    models = [one for family in predicted for one in family]
    table = np.column_stack([(scale * (one - middle)).ravel() for one in models])
    found, _ = nnls(table, (scale * (positions - middle)).ravel())
    if not found.sum() > 0.0:
        found = np.ones(len(models))
    ends = np.cumsum([len(family) for family in predicted])[:-1]
    return [np.asarray(part) for part in np.split(found, ends)]
