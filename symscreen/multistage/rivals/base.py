"""What rivals share: how a table becomes rows, and scores of rows become those of pairs of stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from symscreen.multistage import options
from symscreen.multistage.chains import named_column
from symscreen.multistage.estimator import ChainEstimator
from symscreen.multistage.features import learn_side
from symscreen.multistage.pairs import asked_of, stage_pairs
from symscreen.multistage.rivals.encoding import Rows, one_hot
from symscreen.multistage.weighting import training_weights

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.multistage.features import Side

    Values = NDArray[np.float64]
    Outcomes = NDArray[np.int8]

__all__ = ["ChainRival"]


class ChainRival(ChainEstimator):
    """An estimator of chains that learns from one-hot rows.

    A subclass says in `_learn` what is learnt from rows, and in `_scores` what rows score.
    """

    user_effects: bool
    item_effects: bool
    extra_features: str

    def fit(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        y: None = None,  # noqa: ARG002
        *,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> Self:
        """Learn from a long table.

        Parameters
        ----------
        X, user_features, item_features : data frame
            As for `MonotoneChainRecommender.fit`.
        y : None
            Not used: the stages are columns of the table.

        Returns
        -------
        ChainRival
            Itself.

        Raises
        ------
        InputError
            If the table, the features or an option cannot be used; names the first row at fault.
        """
        chains = self._read(X)
        extra = options.chosen("extra_features", self.extra_features, ("error", "ignore")) == "ignore"
        weights = training_weights(chains, "all", self.class_weight)
        users, user = learn_side(
            "user",
            chains.users,
            user_features,
            called=self.user,
            by_name=options.truth("user_effects", self.user_effects),
            ignore_extra=extra,
        )
        items, item = learn_side(
            "item",
            chains.items,
            item_features,
            called=self.item,
            by_name=options.truth("item_effects", self.item_effects),
            ignore_extra=extra,
        )
        order = np.lexsort((*chains.outcomes.T[::-1], item, user))  # the same whatever the table's
        user, item = user[order], item[order]
        sides = [one_hot(side, side.coded)[place] for side, place in ((users, user), (items, item))]
        self.users_, self.items_, self.stages_ = users, items, chains.stages
        self.pairs_ = [(chains.stages[a], chains.stages[b]) for a, b in stage_pairs(len(chains.stages) - 1)]
        self.n_features_in_ = sum(len(side.numeric_names) + len(side.variables) for side in (users, items))
        self._learn(Rows(_beside(sides), user, item), chains.outcomes[order], weights)
        return self

    def decision_function(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        *,
        present: Any = None,
        stage: Any = None,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> Values:
        """Compute a score for each pair of stages; above 0 the later one is predicted.

        Parameters
        ----------
        X, present, stage, user_features, item_features
            As for `MonotoneChainRecommender.decision_function`.

        Returns
        -------
        float64 array, shape (R, P), or (R,) if both stages are given
            One column a pair, in the order of `pairs_`.

        Raises
        ------
        InputError
            If a new user or item has no features, or a stage is unknown.
        """
        check_is_fitted(self)
        pairs = asked_of(present, stage, self.stages_)
        coded = [
            _coded(self.users_, named_column(X, self.user), user_features),
            _coded(self.items_, named_column(X, self.item), item_features),
        ]
        rows = Rows(_beside([x for x, _ in coded]), coded[0][1], coded[1][1])
        found = np.stack([self._scores(rows, p) for p in pairs], axis=1)
        return found if present is None or stage is None else found[:, 0]

    def _learn(self, rows: Rows, outcomes: Outcomes, weights: Values) -> None:
        """Learn from rows, (R, T + 1) outcomes, and the weights of the classes of each pair, (P, 2)."""
        raise NotImplementedError

    def _scores(self, rows: Rows, pair: int) -> Values:
        """Score rows for one pair, (R,)."""
        raise NotImplementedError


def _coded(
    side: Side, column: NDArray[np.object_], features: pd.DataFrame | None
) -> tuple[Any, NDArray[np.int64]]:
    """Return the one-hot rows of one side, and the place of each among the names of training."""
    import pandas as pd

    at, found = pd.factorize(column)
    names = np.asarray(found, dtype=object)
    return one_hot(side, side.code(names, features))[at], side.places(names)[at]


def _beside(sides: list[Any]) -> Any:
    from scipy.sparse import csr_array, hstack

    found = hstack(sides, format="csr")
    narrow = (found.indices.astype(np.int32), found.indptr.astype(np.int32))  # trees take no others
    return csr_array((found.data, *narrow), shape=found.shape)
