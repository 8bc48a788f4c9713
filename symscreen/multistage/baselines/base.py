"""Base class of the baselines: encodes tables as one-hot rows and scores the rows for each pair of stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from symscreen.multistage.base import ChainEstimator
from symscreen.multistage.chains import read_name_column
from symscreen.multistage.factor_model import select_pairs
from symscreen.multistage.recommender import compute_training_weights

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Outcomes, Values
    from symscreen.multistage.entity_encoding import EncodedEntities, EntityEncoder


class EncodedRows(NamedTuple):
    """Encoded rows of a table.

    `x` is a CSR matrix (R, D) of one-hot levels and scaled numbers. `user` and `item` are int64 arrays (R,):
    indices among the names of training, −1 for new names.
    """

    x: Any
    user: Integers
    item: Integers

    def select(self, selection: NDArray[Any]) -> EncodedRows:
        """Select rows by index or mask."""
        return EncodedRows(self.x[selection], self.user[selection], self.item[selection])


def encode_one_hot(encoder: EntityEncoder, encoded: EncodedEntities) -> Any:
    """Encode users or items as numbers: 0 or 1 for each level, then the numerical features.

    Parameters
    ----------
    encoder : EntityEncoder
        Fitted encoder with the levels of d categorical variables, L_1 … L_d in number.
    encoded : EncodedEntities
        n users or items.

    Returns
    -------
    CSR matrix, shape (n, Σ L_h + p)
        Values in [0, 1]. A level unseen in training is all 0.

    Examples
    --------
    >>> from symscreen.multistage.entity_encoding import fit_entity_encoder
    >>> names, queries = (np.array(list(letters), dtype=object) for letters in ("ba", "abc"))
    >>> encoder, _ = fit_entity_encoder(
    ...     "user", names, None, name_column="user", has_name_effects=True, ignore_extra=False
    ... )
    >>> encode_one_hot(encoder, encoder.encode(queries, None)).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    from scipy.sparse import csr_array, hstack

    n = len(encoded.level_codes)
    parts = []
    for h, levels in enumerate(encoder.known_levels):
        rows = np.flatnonzero(encoded.level_codes[:, h] >= 0)
        cells = (rows, encoded.level_codes[rows, h])
        parts.append(csr_array((np.ones(len(rows)), cells), shape=(n, len(levels))))
    return hstack([*parts, csr_array(encoded.numeric)], format="csr")


class ChainBaseline(ChainEstimator):
    """Base class of estimators of stage chains that learn from one-hot rows.

    A subclass implements `_fit_rows` and `_score_rows`.
    """

    def fit(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        y: None = None,  # noqa: ARG002
        *,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> Self:
        """Fit the model to a long table.

        Parameters
        ----------
        X, user_features, item_features : data frame
            See `MonotoneChainRecommender.fit`.
        y : None
            Ignored. The stages are columns of `X`.

        Returns
        -------
        ChainBaseline
            The fitted estimator.

        Raises
        ------
        InputError
            If the table, the features or an option is invalid. The message names the first such row.
        """
        chains = self._read_table(X)
        weights = compute_training_weights(chains, "all", self.class_weight)
        encoders, (user, item) = self._fit_encoders(chains, user_features, item_features)
        # sort the rows, so that their order in the table does not matter
        order = np.lexsort((*chains.outcomes.T[::-1], item, user))
        user, item = user[order], item[order]
        parts = [
            encode_one_hot(encoder, encoder.encoded)[indices]
            for encoder, indices in zip(encoders, (user, item), strict=True)
        ]
        self._store_encoders(encoders, chains.stages)
        self._fit_rows(EncodedRows(_stack_columns(parts), user, item), chains.outcomes[order], weights)
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
        """Compute a score for each pair of stages. A score above 0 predicts that the later stage is reached.

        Parameters
        ----------
        X, present, stage, user_features, item_features
            See `MonotoneChainRecommender.decision_function`.

        Returns
        -------
        float64 array, shape (R, P), or (R,) if both stages are given
            One column per selected pair, in the order of `pairs_`.

        Raises
        ------
        InputError
            If a new user or item has no features, or a stage is unknown.
        """
        check_is_fitted(self)
        pairs = select_pairs(present, stage, self.stages_)
        user_x, user = _encode_column(self.users_, read_name_column(X, self.user), user_features)
        item_x, item = _encode_column(self.items_, read_name_column(X, self.item), item_features)
        rows = EncodedRows(_stack_columns([user_x, item_x]), user, item)
        scores = np.stack([self._score_rows(rows, p) for p in pairs], axis=1)
        return scores if present is None or stage is None else scores[:, 0]

    def _fit_rows(self, rows: EncodedRows, outcomes: Outcomes, weights: Values) -> None:
        """Fit to R encoded rows, outcomes (R, T + 1) and class weights of each pair (P, 2)."""
        raise NotImplementedError

    def _score_rows(self, rows: EncodedRows, pair: int) -> Values:
        """Score R encoded rows for one pair of stages, (R,)."""
        raise NotImplementedError


def _encode_column(
    encoder: EntityEncoder, row_names: NDArray[np.object_], features: pd.DataFrame | None
) -> tuple[Any, NDArray[np.int64]]:
    """Return the one-hot rows of a column of names (R,) and the index of each name in training, (R,)."""
    import pandas as pd

    codes, distinct = pd.factorize(row_names)
    names = np.asarray(distinct, dtype=object)
    x = encode_one_hot(encoder, encoder.encode(names, features))
    return x[codes], encoder.find_name_indices(names)[codes]


def _stack_columns(matrices: list[Any]) -> Any:
    """Stack CSR matrices of R rows side by side."""
    from scipy.sparse import csr_array, hstack

    stacked = hstack(matrices, format="csr")
    # scikit-learn's trees accept only int32 indices
    indices, row_starts = stacked.indices.astype(np.int32), stacked.indptr.astype(np.int32)
    return csr_array((stacked.data, indices, row_starts), shape=stacked.shape)
