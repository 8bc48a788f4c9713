"""Rows of a table as rivals see them: one-hot levels and scaled numbers of a user, and of an item beside.

What rivals share: how a table becomes rows, and scores of rows become those of pairs of stages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from symscreen.multistage import option_checks as options
from symscreen.multistage.base import ChainEstimator
from symscreen.multistage.chains import read_name_column
from symscreen.multistage.entity_encoding import fit_entity_encoder
from symscreen.multistage.factor_model import select_pairs
from symscreen.multistage.recommender import compute_training_weights
from symscreen.targets.stages import list_stage_pairs

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Outcomes, Values
    from symscreen.multistage.entity_encoding import EncodedEntities, EntityEncoder


__all__ = ["ChainBaseline", "EncodedRows", "encode_one_hot"]


class EncodedRows(NamedTuple):
    """R rows.

    `x` is a CSR matrix (R, D), `user` and `item` are int64 arrays (R,): places among the names of training,
    −1 for one that is new.
    """

    x: Any
    user: Integers
    item: Integers

    def select(self, selection: NDArray[Any]) -> EncodedRows:
        """Take some rows, by numbers or by a mask."""
        return EncodedRows(self.x[selection], self.user[selection], self.item[selection])


def encode_one_hot(encoder: EntityEncoder, encoded: EncodedEntities) -> Any:
    """Write users, or items, as numbers: 0 or 1 for each level, then the numerical features.

    Parameters
    ----------
    side : Side
        What training told: how many levels each variable has.
    coded : Coded
        Of n users or items.

    Returns
    -------
    CSR matrix, shape (n, Σ L_h + p)
        In [0, 1]; a level that training did not show has no column.

    Examples
    --------
    >>> from symscreen.multistage.entity_encoding import fit_entity_encoder
    >>> two, three = (np.array(list(one), dtype=object) for one in ("ba", "abc"))
    >>> side, _ = fit_entity_encoder("user", two, None, called="user", by_name=True, ignore_extra=False)
    >>> encode_one_hot(side, side.code(three, None)).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    from scipy.sparse import csr_array, hstack

    n = len(encoded.level_codes)
    parts = []
    for h, known in enumerate(encoder.known_levels):
        rows = np.flatnonzero(encoded.level_codes[:, h] >= 0)
        cells = (rows, encoded.level_codes[rows, h])
        parts.append(csr_array((np.ones(len(rows)), cells), shape=(n, len(known))))
    return hstack([*parts, csr_array(encoded.numeric)], format="csr")


class ChainBaseline(ChainEstimator):
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
        chains = self._read_table(X)
        extra = options.check_choice("extra_features", self.extra_features, ("error", "ignore")) == "ignore"
        weights = compute_training_weights(chains, "all", self.class_weight)
        users, user = fit_entity_encoder(
            "user",
            chains.users,
            user_features,
            name_column=self.user,
            has_name_effects=options.check_bool("user_effects", self.user_effects),
            ignore_extra=extra,
        )
        items, item = fit_entity_encoder(
            "item",
            chains.items,
            item_features,
            name_column=self.item,
            has_name_effects=options.check_bool("item_effects", self.item_effects),
            ignore_extra=extra,
        )
        order = np.lexsort((*chains.outcomes.T[::-1], item, user))  # the same whatever the table's
        user, item = user[order], item[order]
        sides = [encode_one_hot(side, side.encoded)[place] for side, place in ((users, user), (items, item))]
        self.users_, self.items_, self.stages_ = users, items, chains.stages
        self.pairs_ = [
            (chains.stages[a], chains.stages[b]) for a, b in list_stage_pairs(len(chains.stages) - 1)
        ]
        self.n_features_in_ = sum(
            len(side.numeric_names) + len(side.categorical_names) for side in (users, items)
        )
        self._fit_rows(EncodedRows(_stack_columns(sides), user, item), chains.outcomes[order], weights)
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
        pairs = select_pairs(present, stage, self.stages_)
        coded = [
            _encode_column(self.users_, read_name_column(X, self.user), user_features),
            _encode_column(self.items_, read_name_column(X, self.item), item_features),
        ]
        rows = EncodedRows(_stack_columns([x for x, _ in coded]), coded[0][1], coded[1][1])
        found = np.stack([self._score_rows(rows, p) for p in pairs], axis=1)
        return found if present is None or stage is None else found[:, 0]

    def _fit_rows(self, rows: EncodedRows, outcomes: Outcomes, weights: Values) -> None:
        """Learn from rows, (R, T + 1) outcomes, and the weights of the classes of each pair, (P, 2)."""
        raise NotImplementedError

    def _score_rows(self, rows: EncodedRows, pair: int) -> Values:
        """Score rows for one pair, (R,)."""
        raise NotImplementedError


def _encode_column(
    encoder: EntityEncoder, row_names: NDArray[np.object_], features: pd.DataFrame | None
) -> tuple[Any, NDArray[np.int64]]:
    """Return the one-hot rows of one side, and the place of each among the names of training."""
    import pandas as pd

    at, found = pd.factorize(row_names)
    names = np.asarray(found, dtype=object)
    return encode_one_hot(encoder, encoder.encode(names, features))[at], encoder.find_name_indices(names)[at]


def _stack_columns(matrices: list[Any]) -> Any:
    from scipy.sparse import csr_array, hstack

    found = hstack(matrices, format="csr")
    narrow = (found.indices.astype(np.int32), found.indptr.astype(np.int32))  # trees take no others
    return csr_array((found.data, *narrow), shape=found.shape)
