"""The multistage recommender, eqs. (8) and (9), as a scikit-learn estimator.

`compute_training_weights` and `compute_divisor` weigh the observations of a fit. `list_candidate_items` and
`find_known_outcomes` select the items that `MonotoneChainRecommender.recommend` may return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from symscreen.errors import DataError, InputError, OptionError
from symscreen.messages import escape_control_chars
from symscreen.multistage import option_checks as options
from symscreen.multistage.base import ChainEstimator
from symscreen.multistage.block_fitting import build_problem, draw_factors, fit_from_starts, transfer_factors
from symscreen.multistage.chains import format_value, read_name_column
from symscreen.multistage.entity_encoding import index_by_name
from symscreen.multistage.factor_model import (
    compute_class_weights,
    compute_embeddings,
    compute_scores,
    select_pairs,
)
from symscreen.targets.stages import (
    find_stage_index,
    list_stage_pairs,
    mask_observed_pairs,
    parse_pair_weights,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Outcomes, Values
    from symscreen.multistage.block_fitting import FitStep
    from symscreen.multistage.chains import Chains
    from symscreen.multistage.entity_encoding import EntityEncoder
    from symscreen.multistage.factor_model import LatentFactors


def compute_training_weights(chains: Chains, stage_weight: Any, class_weight: str | None) -> Values:
    """Compute the weights of both classes of each pair of stages.

    Parameters
    ----------
    chains : Chains
        Training rows.
    stage_weight : str, mapping or array-like
        Weights w_{t′t}; see `parse_pair_weights`.
    class_weight : {"balanced"} or None
        Whether to weight classes inversely to their sizes.

    Returns
    -------
    float64 array, shape (P, 2)
        w_{t′t} times the weights of Y_t = −1 and of Y_t = +1.

    Raises
    ------
    DataError
        If a stage has no observation, or none of a row that reached an earlier stage.
    OptionError
        If a weight is invalid.
    """
    weights = _read_stage_weights(stage_weight, chains.stages)
    for t, name in enumerate(chains.stages):
        if not chains.outcomes[:, t].any():
            raise DataError(
                f"nothing is observed at stage {escape_control_chars(name)!r}: "
                "leave the stage out, or give rows where it is observed"
            )
    observed = mask_observed_pairs(chains.outcomes)
    pairs = list_stage_pairs(len(chains.stages) - 1)
    for t, name in enumerate(chains.stages[1:], start=1):
        later_pairs = [p for p, (_, later) in enumerate(pairs) if later >= t and weights[p] > 0]
        stage_pairs = [p for p, (_, later) in enumerate(pairs) if later == t]
        if not observed[:, stage_pairs].any() or not (later_pairs and observed[:, later_pairs].any()):
            raise DataError(
                f"nothing is observed at stage {escape_control_chars(name)!r} for rows that reached an "
                "earlier one: "
                "leave the stage out, or give rows where it is observed"
            )
    options.check_choice("class_weight", class_weight, ("balanced", None))
    by_class = compute_class_weights(chains.outcomes) if class_weight else np.ones((len(pairs), 2))
    return weights[:, None] * by_class


def _read_stage_weights(stage_weight: Any, stages: tuple[str, ...]) -> Values:
    """Parse w_{t′t} to an array (P,); report values that are not numbers as an OptionError."""
    try:
        return parse_pair_weights(stage_weight, stages)
    except InputError:
        raise
    except (TypeError, ValueError):  # numpy raises them for values that are not numbers
        raise OptionError(f"stage_weight is {format_value(stage_weight)}: give numbers ≥ 0") from None


def compute_divisor(
    normalization: str, outcomes: NDArray[np.int8], weights: Values, grid_shape: tuple[int, int]
) -> float:
    """Compute the divisor of the sum of losses.

    Parameters
    ----------
    normalization : {"observed", "grid"}
        "observed": the number of rows with a loss. "grid": n·m, as in eq. (9).
    outcomes : int8 array, shape (R, T + 1)
        Outcomes Y.
    weights : float64 array, shape (P, 2)
        Weights from `compute_training_weights`.
    grid_shape : (int, int)
        Numbers of users and items, n and m.

    Returns
    -------
    float
        The divisor.
    """
    if options.check_choice("normalization", normalization, ("observed", "grid")) == "grid":
        return float(grid_shape[0] * grid_shape[1])
    return float((mask_observed_pairs(outcomes) & weights.any(axis=1)).any(axis=1).sum())


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

    factors_: LatentFactors

    def __init__(
        self,
        stages: Sequence[str] = (),
        *,
        user: str = "user",
        item: str = "item",
        reached: str | None = None,
        n_factors: int = 20,
        lambda_features: float = 0.001,
        lambda_levels: float = 0.001,
        lambda_stages: float = 0.001,
        loss: str = "hinge",
        stage_weight: Any = "all",
        class_weight: str | None = None,
        normalization: str = "observed",
        user_effects: bool = True,
        item_effects: bool = True,
        extra_features: str = "error",
        max_iter: int = 100,
        tol: float = 1e-3,
        block_tol: float = 1e-2,
        block_sweeps: int = 3,
        n_init: int = 1,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callable[[FitStep], None] | None = None,
        verbose: bool = False,
    ) -> None:
        self.stages = stages
        self.user = user
        self.item = item
        self.reached = reached
        self.n_factors = n_factors
        self.lambda_features = lambda_features
        self.lambda_levels = lambda_levels
        self.lambda_stages = lambda_stages
        self.loss = loss
        self.stage_weight = stage_weight
        self.class_weight = class_weight
        self.normalization = normalization
        self.user_effects = user_effects
        self.item_effects = item_effects
        self.extra_features = extra_features
        self.max_iter = max_iter
        self.tol = tol
        self.block_tol = block_tol
        self.block_sweeps = block_sweeps
        self.n_init = n_init
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

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
        X : data frame
            One row for each meeting of a user with an item; see `read_chains`.
        y : None
            Ignored. The stages are columns of `X`.
        user_features, item_features : data frame, optional
            One row per user or item of the table. The names are in a column with the same name as in `X`, or
            in the index. Numbers are numerical features, all other columns are categorical.

        Returns
        -------
        MonotoneChainRecommender
            The fitted estimator.

        Raises
        ------
        InputError
            If the table, the features or an option is invalid. The message names the first such row.
        """
        chains = self._read_table(X)
        penalties, solver_options = options.build_penalties(self), options.build_solver_options(self)
        n_factors = options.check_positive_integer("n_factors", self.n_factors)
        max_rounds = options.check_positive_integer("max_iter", self.max_iter)
        tolerance = options.check_positive("tol", self.tol)
        n_starts = options.check_positive_integer("n_init", self.n_init)
        resume = options.check_bool("warm_start", self.warm_start) and hasattr(self, "factors_")
        weights = compute_training_weights(chains, self.stage_weight, self.class_weight)
        encoders, (user, item) = self._fit_encoders(chains, user_features, item_features)
        users, items = encoders
        rng = check_random_state(self.random_state)
        # sort the rows, so that their order in the table does not matter, and shuffle them
        order = np.lexsort((*chains.outcomes.T[::-1], item, user))
        order = order[rng.permutation(len(order))]
        user, item, outcomes = user[order], item[order], chains.outcomes[order]
        grid_shape = (len(users.names), len(items.names))
        divisor = compute_divisor(self.normalization, outcomes, weights, grid_shape)
        problem = build_problem((users.encoded, items.encoded), (user, item), outcomes, weights, divisor)
        if resume and self.stages_ != chains.stages:
            raise OptionError(
                f"warm_start requires a previous fit with the same stages, not {', '.join(self.stages_)}: "
                "set warm_start=False to start from random factors"
            )
        previous = (self.factors_, (self.users_, self.items_)) if resume else None
        last_stage = len(chains.stages) - 1
        starts = (
            draw_factors(encoders, n_factors, last_stage, rng) for _ in range(1 if resume else n_starts)
        )
        if previous is not None:
            starts = (transfer_factors(fresh, encoders, *previous) for fresh in starts)
        best = fit_from_starts(
            problem,
            starts,
            penalties,
            solver_options,
            tolerance=tolerance,
            max_rounds=max_rounds,
            hinge_first=not resume,
            callback=self.callback,
            show_bar=self.verbose,
        )
        self.trace_, self.n_iter_, self.converged_ = best.trace, best.n_rounds, best.converged
        self.factors_ = best.factors
        self._store_encoders(encoders, chains.stages)
        by_user = np.argsort(user, kind="stable")  # `recommend` looks rows up by user
        self._training_rows = user[by_user], item[by_user], outcomes[by_user]
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
        """Compute the scores f_{t′,t}, eq. (8).

        Parameters
        ----------
        X : data frame
            Table with the columns of users and items, R rows.
        present, stage : str or int, optional
            Earlier stage t′ and later stage t, by name or index from 0. Default: all.
        user_features, item_features : data frame, optional
            Features of users and items unseen in training.

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
        names = [read_name_column(X, name) for name in (self.user, self.item)]
        a, user = self._embed_column(self.users_, self.factors_.users, names[0], user_features)
        b, item = self._embed_column(self.items_, self.factors_.items, names[1], item_features)
        scores = compute_scores(a, b, self.factors_.q, user, item, pairs)
        return scores if present is None or stage is None else scores[:, 0]

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
        candidates = list_candidate_items(self.items_, item_features)
        user_index = self.users_.find_name_indices(np.array([user], dtype=object))[0]
        later = find_stage_index(stage, self.stages_)
        known = find_known_outcomes(
            self._training_rows, user_index, later, self.items_.find_name_indices(candidates)
        )
        if not options.check_bool("seen", seen):
            candidates, known = candidates[known == 0], known[known == 0]
        table = pd.DataFrame({self.user: [user] * len(candidates), self.item: candidates})
        features = {"user_features": user_features, "item_features": item_features}
        f = self.decision_function(table, present=present, stage=stage, **features)
        top = np.argsort(-f, kind="stable")[: options.check_positive_integer("k", k)]
        predicted = np.where(known != 0, known, np.where(f > 0, 1, -1)).astype(np.int8)
        return pd.DataFrame({"item": candidates[top], "score": f[top], "predicted": predicted[top]})

    def _embed_column(
        self,
        encoder: EntityEncoder,
        parameters: Any,
        column: NDArray[np.object_],
        features: pd.DataFrame | None,
    ) -> tuple[Values, NDArray[np.int64]]:
        """Return the embeddings of the m distinct names of a column (R,), (m, K), and their indices (R,)."""
        import pandas as pd

        indices, names = pd.factorize(column)
        encoded = encoder.encode(np.asarray(names, dtype=object), features)
        return compute_embeddings(parameters, encoded), indices
