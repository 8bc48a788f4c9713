"""The multistage recommender, eqs. (8) and (9), as a scikit-learn estimator.

`compute_training_weights` weighs the observations of a fit. `list_candidate_items` and
`find_known_outcomes` select the items that `MonotoneChainRecommender.recommend` may return.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from symscreen._parameters import N_JOBS, POSITIVE, POSITIVE_INTEGER, check_parameters
from symscreen.errors import OptionError
from symscreen.multistage._kernels import LOSS_CODES
from symscreen.multistage.base import ChainEstimator
from symscreen.multistage.block_fitting import (
    Penalties,
    build_problem,
    draw_factors,
    fit_from_starts,
    transfer_factors,
)
from symscreen.multistage.entity_encoding import index_by_name
from symscreen.multistage.factor_model import (
    BlockSolverOptions,
    compute_embeddings,
    compute_scores,
)
from symscreen.targets.stages import (
    find_stage_index,
    mask_observed_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._parameters import Constraints
    from symscreen._typing import Integers, Outcomes, Values
    from symscreen.multistage.base import TrainingRows
    from symscreen.multistage.block_fitting import FitStep
    from symscreen.multistage.entity_encoding import EncodedColumn, EntityEncoder
    from symscreen.multistage.factor_model import LatentFactors


def list_candidate_items(items: EntityEncoder, features: pd.DataFrame | None) -> NDArray[np.object_]:
    """List the items of training and those of a table of features.

    Parameters
    ----------
    items : EntityEncoder
        Encoder of the items of training.
    features : data frame or None
        Features of new items. The names are in the column of names used in training, or in the index.

    Returns
    -------
    object array
        Sorted names. The order of the rows of `features` does not matter.

    Raises
    ------
    DataError
        If the table of features has no names.
    """
    import pandas as pd

    if features is None:
        return items.names
    new_names = index_by_name(features, items.kind, items.name_column).index.to_numpy(dtype=object)
    _, names = pd.factorize(np.concatenate([items.names, new_names]), sort=True)
    return np.asarray(names, dtype=object)


def find_known_outcomes(
    training_rows: tuple[Integers, Integers, Outcomes], user: int, stage: int, items: NDArray[np.int64]
) -> Outcomes:
    """Find the outcomes at one stage that the training rows of a user state or imply.

    Parameters
    ----------
    training_rows : (int64 array, int64 array, int8 array), shapes (R,), (R,), (R, T + 1)
        Users, sorted; items; outcomes Y.
    user : int
        Index of the user in training; negative for a new user.
    stage : int
        Index of the stage.
    items : int64 array, shape (m,)
        Indices of the items in training; negative for new items.

    Returns
    -------
    int8 array, shape (m,)
        +1 if reached; −1 if the stage or an earlier one was not reached (Y_t = −1 ⇒ Y_{t+1} = −1); 0 if
        unknown. If rows of an item disagree, +1 has priority.

    Examples
    --------
    >>> rows = np.array([0, 0]), np.array([0, 1]), np.array([[1, -1, 0], [1, 1, 0]], dtype=np.int8)
    >>> find_known_outcomes(rows, 0, 2, np.array([0, 1, -1])).tolist()
    [-1, 0, 0]
    """
    known = np.zeros(len(items), dtype=np.int8)
    if user < 0:
        return known
    user_rows = slice(*np.searchsorted(training_rows[0], (user, user + 1)))
    row_items, outcomes = training_rows[1][user_rows], training_rows[2][user_rows]
    known[np.isin(items, row_items[(outcomes[:, : stage + 1] == -1).any(axis=1)])] = -1
    known[np.isin(items, row_items[outcomes[:, stage] == 1])] = 1
    return known


@dataclass(eq=False, repr=False, kw_only=True)
class MonotoneChainRecommender(ChainEstimator):
    """Predict any later stage of a chain of events from any earlier stage, without contradictions.

    Parameters
    ----------
    stages : sequence of str
        Names of the stages in order, at least two: columns of the table, or values of its column `reached`.
    user, item : str
        Columns of users and items.
    reached : str, optional
        Column with the last stage reached. Default: one column per stage.
    n_factors : int
        Number of latent factors K.
    lambda_features, lambda_levels, lambda_stages : float
        Penalties λ_1, λ_2, λ_3 > 0 of A and B, of a and b, and of q.
    loss : {"hinge", "psi", "logistic"}
        Loss V.
    stage_weight : {"all", "next", "last"}, mapping or array-like
        Weights w_{t′t} of the pairs of stages; see `parse_pair_weights`.
    class_weight : {"balanced"} or None
        "balanced" weights the classes of each pair inversely to their sizes, and makes `score`
        class-balanced.
    normalization : {"observed", "grid"}
        Divisor of the sum of losses: the number of rows with a loss, or n·m (users times items) as in eq.
        (9). Both are equal if every user-item pair was observed once. With few observed, "grid" needs much
        smaller λ.
    user_effects, item_effects : bool
        Whether the name of a user or item is a categorical variable.
    extra_features : {"error", "ignore"}
        How `fit` handles features of users or items that are not in the table.
    max_iter : int
        Maximum number of rounds over all blocks.
    tol : float
        Stop when a round reduces the loss by less than this fraction of it.
    block_tol, block_sweeps : float, int
        Stopping rule of each block: duality gap as a fraction of the objective, and maximum number of sweeps.
    n_init : int
        Number of random starts. The fit with the smallest loss is returned.
    warm_start : bool
        Start from the previous fit. Levels keep their factors by name.
    random_state : int, RandomState or None
        Seed of the initial factors and of the order in which rows are visited.
    n_jobs : int, optional
        Number of threads, as in scikit-learn. Does not affect the result.
    callback : callable, optional
        Called with a `FitStep` (iteration, block, loss) after each block.
    verbose : bool
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    factors_ : LatentFactors
        Fitted A, a, B, b and q.
    users_, items_ : EntityEncoder
        Encoders of the names and features.
    stages_ : tuple of str
        Names of the stages.
    pairs_ : list of (str, str)
        Pairs of an earlier and a later stage, in the order of the columns of predictions.
    trace_ : list of FitStep
        Loss at the start and after each block. It never increases.
    n_iter_ : int
        Number of rounds done.
    converged_ : bool
        Whether `tol` was met within `max_iter` rounds.

    Notes
    -----
    The score is f_{t′,t}(x_ij) = (a_i ∘ b_j)ᵀ(1 − Σ_{l=t′+1..t} q_l), eq. (8), with a_i = A u_i + Σ_h
    a_{h,s_ih} and b_j = B v_j + Σ_h b_{h,o_jh}. All parameters are ≥ 0. The score therefore decreases in t
    and increases in t′ for any data, and predictions from unknown outcomes do not contradict each other.

    The loss never increases. Lemma 3 of the paper says that the fit is a stationary point of it. This holds
    for the logistic loss, but not for the hinge and the ψ-loss: a joint move of q_1 and q_2 may lower the
    loss although no block can. Several starts (`n_init`) help.

    `predict` returns −1 where the table says that the present stage was not reached. It copies no other
    outcome of the table, so the predictions can be evaluated on the same table.

    Numerical features are scaled to [0, 1] by their range in training. A level unseen in training has the
    mean effect of the seen levels. The order of rows and of feature columns does not affect the result.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"user": list("aabbcc"), "item": list("xyxyxy"),
    ...                       "viewed": 1, "liked": [1, 0, 1, 0, 1, 0], "followed": [1, 0, 0, 0, 1, 0]})
    >>> model = MonotoneChainRecommender(stages=["viewed", "liked", "followed"], random_state=0)
    >>> model.fit(table).pairs_
    [('viewed', 'liked'), ('viewed', 'followed'), ('liked', 'followed')]
    >>> model.predict(table, present="viewed", stage="liked").tolist()
    [1, -1, 1, -1, 1, -1]
    """

    n_factors: int = 20
    lambda_features: float = 0.001
    lambda_levels: float = 0.001
    lambda_stages: float = 0.001
    loss: str = "hinge"
    stage_weight: Any = "all"
    normalization: str = "observed"
    max_iter: int = 100
    tol: float = 1e-3
    block_tol: float = 1e-2
    block_sweeps: int = 3
    n_init: int = 1
    warm_start: bool = False
    n_jobs: int | None = None
    callback: Callable[[FitStep], None] | None = None
    verbose: bool = False

    _parameter_constraints: ClassVar[Constraints] = {
        # positive penalties make the blocks strictly convex
        **dict.fromkeys(
            ("lambda_features", "lambda_levels", "lambda_stages", "tol", "block_tol"), (POSITIVE,)
        ),
        **dict.fromkeys(("n_factors", "max_iter", "block_sweeps", "n_init"), (POSITIVE_INTEGER,)),
        "loss": [StrOptions(set(LOSS_CODES))],
        "normalization": [StrOptions({"observed", "grid"})],
        "warm_start": ["boolean"],
        "n_jobs": N_JOBS,
    }

    def _fit_rows(self, rows: TrainingRows) -> None:
        """Fit by block descent."""
        previous = None
        if self.warm_start and hasattr(self, "factors_"):
            if self.stages_ != rows.stages:
                raise OptionError(
                    "warm_start requires a previous fit with the same stages, not "
                    f"{', '.join(self.stages_)}: set warm_start=False to start from random factors"
                )
            previous = (self.factors_, (self.users_, self.items_))
        rng = check_random_state(self.random_state)
        order = rng.permutation(len(rows.user))
        user, item, outcomes = rows.user[order], rows.item[order], rows.outcomes[order]
        if self.normalization == "grid":
            divisor = float(len(rows.users.names) * len(rows.items.names))  # n·m, eq. (9)
        else:
            divisor = float((mask_observed_pairs(outcomes) & rows.weights.any(axis=1)).any(axis=1).sum())
        encoders = (rows.users, rows.items)
        problem = build_problem(
            (rows.users.encoded, rows.items.encoded), (user, item), outcomes, rows.weights, divisor
        )
        starts = (
            draw_factors(encoders, self.n_factors, len(rows.stages) - 1, rng)
            for _ in range(self.n_init if previous is None else 1)
        )
        if previous is not None:
            starts = (transfer_factors(fresh, encoders, *previous) for fresh in starts)
        best = fit_from_starts(
            problem,
            starts,
            Penalties(self.lambda_features, self.lambda_levels, self.lambda_stages),
            BlockSolverOptions(
                LOSS_CODES[self.loss], self.block_tol, self.block_sweeps, int(effective_n_jobs(self.n_jobs))
            ),
            tolerance=self.tol,
            max_rounds=self.max_iter,
            hinge_first=previous is None,
            callback=self.callback,
            show_bar=self.verbose,
        )
        self.trace_, self.n_iter_, self.converged_ = best.trace, best.n_rounds, best.converged
        self.factors_: LatentFactors = best.factors
        self._store_encoders(rows)
        by_user = np.argsort(user, kind="stable")  # `recommend` looks rows up by user
        self._training_rows = user[by_user], item[by_user], outcomes[by_user]

    def _score_rows(self, users: EncodedColumn, items: EncodedColumn, pairs: list[int]) -> Values:
        """Compute f_{t′,t} of eq. (8), (R, pairs)."""
        a = compute_embeddings(self.factors_.users, users.entities)
        b = compute_embeddings(self.factors_.items, items.entities)
        return compute_scores(a, b, self.factors_.q, users.codes, items.codes, pairs)

    def recommend(
        self,
        user: Any,
        stage: Any,
        k: int = 10,
        *,
        present: Any = 0,
        seen: bool = False,
        user_features: pd.DataFrame | None = None,
        item_features: pd.DataFrame | None = None,
    ) -> pd.DataFrame:
        """List the items with which a user is most likely to reach a stage.

        Parameters
        ----------
        user : object
            Name of the user. A new user needs a row in `user_features`.
        stage : str or int
            The later stage.
        k : int
            Maximum number of items.
        present : str or int
            The earlier stage. Default: the first stage.
        seen : bool
            Whether to include items whose outcome at `stage` is known for this user from training, or
            implied: an item that did not reach a stage does not reach a later one.
        user_features : data frame, optional
            Features of a new user.
        item_features : data frame, optional
            Features of new items, which become candidates together with the items of training.

        Returns
        -------
        data frame
            Columns `item`, `score` (f) and `predicted` (±1; the known outcome if there is one), sorted by
            decreasing score and then by name.

        Raises
        ------
        InputError
            See `decision_function`.
        """
        import pandas as pd

        check_is_fitted(self)
        check_parameters({"k": [POSITIVE_INTEGER], "seen": ["boolean"]}, {"k": k, "seen": seen})
        candidates = list_candidate_items(self.items_, item_features)
        user_index = self.users_.find_name_indices(np.array([user], dtype=object))[0]
        later = find_stage_index(stage, self.stages_)
        known = find_known_outcomes(
            self._training_rows, user_index, later, self.items_.find_name_indices(candidates)
        )
        if not seen:
            candidates, known = candidates[known == 0], known[known == 0]
        table = pd.DataFrame({self.user: [user] * len(candidates), self.item: candidates})
        features = {"user_features": user_features, "item_features": item_features}
        f = self.decision_function(table, present=present, stage=stage, **features)
        top = np.argsort(-f, kind="stable")[:k]
        predicted = np.where(known != 0, known, np.where(f > 0, 1, -1)).astype(np.int8)
        return pd.DataFrame({"item": candidates[top], "score": f[top], "predicted": predicted[top]})
