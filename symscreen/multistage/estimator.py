"""What every estimator of chains shares: its table, predictions as signs of scores, and their error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from symscreen.errors import TableError
from symscreen.multistage.chains import Chains, known_outcomes, read_chains
from symscreen.multistage.consistency import misclassification
from symscreen.multistage.pairs import asked_of, observed_pairs, stage_pairs

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Signs = NDArray[np.int8]

__all__ = ["ChainEstimator"]


class ChainEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The part of an estimator that comes after its scores f_{t′,t}.

    A subclass has the parameters `stages`, `user`, `item`, `reached` and `class_weight`, and the methods
    `fit`, which sets `stages_`, and `decision_function`.
    """

    stages: Any
    user: str
    item: str
    reached: str | None
    class_weight: str | None
    stages_: tuple[str, ...]

    def decision_function(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        *,
        present: Any = None,
        stage: Any = None,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> Values:
        """Compute f_{t′,t}: a subclass says how."""
        raise NotImplementedError

    def predict(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        *,
        present: Any = None,
        stage: Any = None,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> Signs:
        """Predict whether later stages are reached.

        Parameters
        ----------
        X, present, stage, user_features, item_features
            As for `decision_function`. Where the table has the column of a present stage and says that it was
            not reached, or that one before it was not, no later one is.

        Returns
        -------
        int8 array, shape (R, P), or (R,) if both stages are given
            +1 where f > 0, else −1.

        Raises
        ------
        InputError
            As `decision_function` does, and if what the table tells of stages breaks the chain.
        """
        given = {"user_features": user_features, "item_features": item_features}
        f = self.decision_function(X, present=present, stage=stage, **given)
        signs = np.where(f > 0, 1, -1).astype(np.int8)
        known = known_outcomes(X, self.stages_, self.reached)
        for column, p in enumerate(asked_of(present, stage, self.stages_)):
            start = stage_pairs(len(self.stages_) - 1)[p][0]
            target = signs if signs.ndim == 1 else signs[:, column]
            target[known[:, start] == -1] = -1
        return signs

    def score(
        self,
        X: pd.DataFrame,  # noqa: N803  # scikit-learn's name
        y: None = None,  # noqa: ARG002
        *,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> float:
        """Return 1 less the misclassification error over all pairs, class-balanced if the fit was.

        Parameters
        ----------
        X : data frame
            As for `fit`.
        y : None
            Not used.
        user_features, item_features : data frame, optional
            As for `decision_function`.

        Returns
        -------
        float
            In [0, 1].

        Raises
        ------
        InputError
            As `decision_function` does, and if the table tells of no stage after one that was reached.
        """
        outcomes = self._read(X).outcomes
        if not observed_pairs(outcomes).any():
            raise TableError("the rows tell of no stage after one that was reached: give rows that do")
        predicted = self.predict(X, user_features=user_features, item_features=item_features)
        errors = misclassification(predicted, outcomes)
        return 1.0 - (errors.balanced if self.class_weight == "balanced" else errors.overall)

    def _read(self, table: pd.DataFrame) -> Chains:
        return read_chains(table, stages=self.stages, user=self.user, item=self.item, reached=self.reached)
