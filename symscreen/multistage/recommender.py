"""What each observation weighs in a fit: its pair's weight times its class's; and stages nobody told of.

Which items may be recommended to a user, and what training told of him and them.

The multistage recommender (eqs. (8) and (9)) as a scikit-learn estimator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from symscreen.errors import DataError, InputError, OptionError, escape_control_chars
from symscreen.multistage import option_checks as options
from symscreen.multistage.base import ChainEstimator
from symscreen.multistage.block_fitting import build_problem, draw_factors, fit_from_starts, transfer_factors
from symscreen.multistage.chains import format_value, read_name_column
from symscreen.multistage.entity_encoding import fit_entity_encoder, index_by_name
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


__all__ = [
    "MonotoneChainRecommender",
    "compute_divisor",
    "compute_training_weights",
    "find_known_outcomes",
    "list_candidate_items",
]


def compute_training_weights(chains: Chains, stage_weight: Any, class_weight: str | None) -> Values:
    """Weigh the two classes of each pair of stages.

    Parameters
    ----------
    chains : Chains
        The table of a fit.
    stage_weight : str, mapping or array-like
        w_{t′t}, as `parse_pair_weights` reads it.
    class_weight : {"balanced"} or None
        Whether classes weigh inversely to their numbers.

    Returns
    -------
    float64 array, shape (P, 2)
        w_{t′t} times the weight of Y_t = −1 and of Y_t = +1.

    Raises
    ------
    TableError
        If a stage was not observed, of no row that had reached one before.
    OptionError
        If a weight has no meaning.
    """
    weights = _read_stage_weights(stage_weight, chains.stages)
    for t, name in enumerate(chains.stages):
        if not chains.outcomes[:, t].any():
            raise DataError(
                f"nothing is observed at stage {escape_control_chars(name)!r}: "
                "leave the stage out, or give rows that tell"
            )
    counted = mask_observed_pairs(chains.outcomes)
    pairs = list_stage_pairs(len(chains.stages) - 1)
    for t, name in enumerate(chains.stages[1:], start=1):
        reach = [p for p, (_, later) in enumerate(pairs) if later >= t and weights[p] > 0]
        direct = [p for p, (_, later) in enumerate(pairs) if later == t]
        if not counted[:, direct].any() or not (reach and counted[:, reach].any()):
            raise DataError(
                f"nothing is observed at stage {escape_control_chars(name)!r} of rows that had reached one "
                "before: "
                "leave the stage out, or give rows that tell"
            )
    options.check_choice("class_weight", class_weight, ("balanced", None))
    by_class = compute_class_weights(chains.outcomes) if class_weight else np.ones((len(pairs), 2))
    return weights[:, None] * by_class


def _read_stage_weights(stage_weight: Any, stages: tuple[str, ...]) -> Values:
    try:
        return parse_pair_weights(stage_weight, stages)
    except InputError:
        raise
    except (TypeError, ValueError):  # numpy's word for what holds no numbers
        raise OptionError(f"stage_weight is {format_value(stage_weight)}: give numbers ≥ 0") from None


def compute_divisor(
    normalization: str, outcomes: NDArray[np.int8], weights: Values, grid_shape: tuple[int, int]
) -> float:
    """Say what the sum of losses is divided by.

    Parameters
    ----------
    normalization : {"observed", "grid"}
        The rows that have a loss, or n·m as in eq. (9).
    outcomes : int8 array, shape (R, T + 1)
        Y.
    weights : float64 array, shape (P, 2)
        As `compute_training_weights` returns them.
    sizes : (int, int)
        n and m.

    Returns
    -------
    float
        N.
    """
    if options.check_choice("normalization", normalization, ("observed", "grid")) == "grid":
        return float(grid_shape[0] * grid_shape[1])
    return float((mask_observed_pairs(outcomes) & weights.any(axis=1)).any(axis=1).sum())


def list_candidate_items(items: EntityEncoder, features: pd.DataFrame | None) -> NDArray[np.object_]:
    """List the items of training, and those of a table of features.

    Parameters
    ----------
    items : Side
        Of training.
    features : data frame or None
        Of new items, with a column called as in training, or the names as index.

    Returns
    -------
    object array
        Names, sorted: the order of rows of `features` makes no difference.

    Raises
    ------
    TableError
        If the table of features has no names.
    """
    import pandas as pd

    if features is None:
        return items.names
    more = index_by_name(features, items.kind, items.name_column).index.to_numpy(dtype=object)
    _, found = pd.factorize(np.concatenate([items.names, more]), sort=True)
    return np.asarray(found, dtype=object)


def find_known_outcomes(
    training_rows: tuple[Integers, Integers, Outcomes], user: int, stage: int, items: NDArray[np.int64]
) -> Outcomes:
    """Say what training told of a user, some items and a stage.

    Parameters
    ----------
    seen : (int64 array, int64 array, int8 array), shapes (R,), (R,), (R, T + 1)
        Users, sorted; items; outcomes Y.
    user : int
        His place among those of training; below 0 for a new one.
    stage : int
        Its number.
    items : int64 array, shape (m,)
        Their places among those of training; below 0 for new ones.

    Returns
    -------
    int8 array, shape (m,)
        +1 reached; −1 not reached, or a stage before it was not (Y_t = −1 ⇒ Y_{t+1} = −1); 0 not told. Where
        rows differ, reached once is reached.

    Examples
    --------
    >>> seen = np.array([0, 0]), np.array([0, 1]), np.array([[1, -1, 0], [1, 1, 0]], dtype=np.int8)
    >>> find_known_outcomes(seen, 0, 2, np.array([0, 1, -1])).tolist()
    [-1, 0, 0]
    """
    found = np.zeros(len(items), dtype=np.int8)
    if user < 0:
        return found
    mine = slice(*np.searchsorted(training_rows[0], (user, user + 1)))
    met, outcomes = training_rows[1][mine], training_rows[2][mine]
    found[np.isin(items, met[(outcomes[:, : stage + 1] == -1).any(axis=1)])] = -1
    found[np.isin(items, met[outcomes[:, stage] == 1])] = 1
    return found


class MonotoneChainRecommender(ChainEstimator):
    """Predict any later stage of a chain of events from any present one, never against each other.

    Parameters
    ----------
    stages : sequence of str
        The stages in their order, two at least: the columns of the table, or what its column `reached` says.
    user, item : str
        The table's columns of users and items.
    reached : str, optional
        The column with the last stage reached; without it, one column a stage.
    n_factors : int
        K.
    lambda_features, lambda_levels, lambda_stages : float
        λ_1, λ_2, λ_3 > 0: of A and B, of a and b, of q.
    loss : {"hinge", "psi", "logistic"}
        V.
    stage_weight : {"all", "next", "last"}, mapping or array-like
        w_{t′t}, as `parse_pair_weights` reads it.
    class_weight : {"balanced"} or None
        Balanced: of each pair, classes weigh inversely to their numbers, and `score` is balanced too.
    normalization : {"observed", "grid"}
        What the sum of losses is divided by: the number of rows that have one, or n·m, the users times the
        items, as in eq. (9). The same where all were observed; where few were, "grid" asks for far smaller λ.
    user_effects, item_effects : bool
        Whether the name of a user or item is a categorical variable of its own.
    extra_features : {"error", "ignore"}
        What to do in `fit` about features of users or items that the table does not have.
    max_iter : int
        Rounds of all blocks, at most.
    tol : float
        Stop when the loss falls in a round by less than this share of itself.
    block_tol, block_sweeps : float, int
        A block's duality gap, as a share of its objective, and the most sweeps over its terms.
    n_init : int
        Random starts; of the fits from them the one with the least loss is kept.
    warm_start : bool
        Go on from the fit before: levels keep their factors by name.
    random_state : int, RandomState or None
        Of the start, and of the order in which rows are visited.
    n_jobs : int, optional
        Threads, as scikit-learn counts them. Their number changes no byte of the result.
    callback : callable, optional
        Called with a `Step` (iteration, block, loss) after each block.
    verbose : bool
        Show a progress bar on standard error.

    Attributes
    ----------
    factors_ : Factors
        A, a, B, b and q.
    users_, items_ : Side
        What was learnt of names and features.
    stages_ : tuple of str
        The stages.
    pairs_ : list of (str, str)
        The pairs of a present and a later stage, in the order of columns of predictions.
    trace_ : list of Step
        The loss at the start and after each block; it never rises.
    n_iter_ : int
        Rounds made.
    converged_ : bool
        Whether `tol` was met before `max_iter`.

    Notes ----- f_{t′,t}(x_ij) = (a_i ∘ b_j)ᵀ(1 − Σ_{l=t′+1..t} q_l) with a_i = A u_i + Σ_h a_{h,s_ih} and
    b_j = B v_j + Σ_h b_{h,o_jh}; all parameters are ≥ 0. So f falls with t and grows with t′, whatever the
    data, and predictions from unknown outcomes do not contradict each other. `predict` says −1 where the
    table tells that a present stage was not reached; what else it tells of a row is not copied into
    predictions, so that these can be judged by it. Numerical features are scaled to [0, 1] by their range in
    training. A level that training did not show has the mean effect of those that it did. The order of rows,
    and of columns of tables of features, changes no byte.

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
        """Learn from a long table.

        Parameters
        ----------
        X : data frame
            One row for each meeting of a user with an item, as `read_chains` takes it.
        y : None
            Not used: the stages are columns of the table.
        user_features, item_features : data frame, optional
            One row for each user or item of the table, named by a column, called as in `X`, or by its index.
            Numbers are numerical features, what else categorical ones.

        Returns
        -------
        MonotoneChainRecommender
            Itself.

        Raises
        ------
        InputError
            If the table, the features or an option cannot be used; names the first row at fault.
        """
        chains = self._read_table(X)
        penalties, precision = options.build_penalties(self), options.build_solver_options(self)
        factors, rounds = (
            options.check_positive_integer("n_factors", self.n_factors),
            options.check_positive_integer("max_iter", self.max_iter),
        )
        tolerance, starts = (
            options.check_positive("tol", self.tol),
            options.check_positive_integer("n_init", self.n_init),
        )
        warm = options.check_bool("warm_start", self.warm_start)
        extra = options.check_choice("extra_features", self.extra_features, ("error", "ignore")) == "ignore"
        weights = compute_training_weights(chains, self.stage_weight, self.class_weight)
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
        rng, sides = check_random_state(self.random_state), (users, items)
        # the order of rows is made the same whatever the table's, and then mixed
        order = np.lexsort((*chains.outcomes.T[::-1], item, user))
        order = order[rng.permutation(len(order))]
        user, item, outcomes = user[order], item[order], chains.outcomes[order]
        over = compute_divisor(self.normalization, outcomes, weights, (len(users.names), len(items.names)))
        problem = build_problem((users.encoded, items.encoded), (user, item), outcomes, weights, over)
        going_on = warm and hasattr(self, "factors_")
        if going_on and self.stages_ != chains.stages:
            raise OptionError(
                f"warm_start goes on from a fit with the stages {', '.join(self.stages_)}: "
                "set warm_start=False to begin anew"
            )
        before = (self.factors_, (self.users_, self.items_)) if going_on else None
        last = len(chains.stages) - 1
        fresh = (draw_factors(sides, factors, last, rng) for _ in range(1 if going_on else starts))
        best = fit_from_starts(
            problem,
            (one if before is None else transfer_factors(one, sides, *before) for one in fresh),
            penalties,
            precision,
            tolerance=tolerance,
            max_rounds=rounds,
            hinge_first=not going_on,
            callback=self.callback,
            show_bar=self.verbose,
        )
        self.trace_, self.n_iter_, self.converged_ = best.trace, best.n_rounds, best.converged
        self._store_fit(best.factors, sides, chains.stages, (user, item, outcomes))
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
        """Compute f_{t′,t}, eq. (8).

        Parameters
        ----------
        X : data frame
            With the columns of users and items.
        present, stage : str or int, optional
            The present stage t′ and the later one t, by name or number from 0.
        user_features, item_features : data frame, optional
            Features of users and items that training did not show.

        Returns
        -------
        float64 array, shape (R, P), or (R,) if both stages are given
            One column a pair, in the order of `pairs_`: those from `present`, or to `stage`, if given.

        Raises
        ------
        InputError
            If a new user or item has no features, or a stage is unknown.
        """
        check_is_fitted(self)
        pairs = select_pairs(present, stage, self.stages_)
        columns = [read_name_column(X, name) for name in (self.user, self.item)]
        a, user = self._embed_column(self.users_, self.factors_.users, columns[0], user_features)
        b, item = self._embed_column(self.items_, self.factors_.items, columns[1], item_features)
        found = compute_scores(a, b, self.factors_.q, user, item, pairs)
        return found if present is None or stage is None else found[:, 0]

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
        """List the items with which a user is likeliest to reach a stage.

        Parameters
        ----------
        user : object
            A name; of a new user, `user_features` has the row.
        stage : str or int
            The later stage.
        k : int
            How many, at most.
        present : str or int
            The stage from which; the first one by default.
        seen : bool
            Whether to list items too whose outcome at `stage` training has told for this user, or implied:
            what did not reach a stage reaches no later one.
        user_features : data frame, optional
            Of a new user.
        item_features : data frame, optional
            Of new items, which are then candidates beside those of training.

        Returns
        -------
        data frame
            Columns `item`, `score` (f) and `predicted` (±1; what training told of this user and the item,
            where it did), the best first; equal scores in the order of the items' names.

        Raises
        ------
        InputError
            As `decision_function` does.
        """
        import pandas as pd

        check_is_fitted(self)
        candidates = list_candidate_items(self.items_, item_features)
        place = self.users_.find_name_indices(np.array([user], dtype=object))[0]
        later = find_stage_index(stage, self.stages_)
        told = find_known_outcomes(
            self._training_rows, place, later, self.items_.find_name_indices(candidates)
        )
        if not options.check_bool("seen", seen):
            candidates, told = candidates[told == 0], told[told == 0]
        table = pd.DataFrame({self.user: [user] * len(candidates), self.item: candidates})
        given = {"user_features": user_features, "item_features": item_features}
        f = self.decision_function(table, present=present, stage=stage, **given)
        best = np.argsort(-f, kind="stable")[: options.check_positive_integer("k", k)]
        predicted = np.where(told != 0, told, np.where(f > 0, 1, -1)).astype(np.int8)
        return pd.DataFrame({"item": candidates[best], "score": f[best], "predicted": predicted[best]})

    def _store_fit(
        self,
        factors: LatentFactors,
        encoders: tuple[EntityEncoder, EntityEncoder],
        stages: tuple[str, ...],
        rows: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]],
    ) -> None:
        self.factors_, self.stages_ = factors, stages
        self.users_, self.items_ = encoders
        self.pairs_ = [(stages[a], stages[b]) for a, b in list_stage_pairs(len(stages) - 1)]
        self.n_features_in_ = sum(len(side.numeric_names) + len(side.categorical_names) for side in encoders)
        order = np.argsort(rows[0], kind="stable")  # what `recommend` leaves out, user by user
        self._training_rows = rows[0][order], rows[1][order], rows[2][order]

    def _embed_column(
        self,
        encoder: EntityEncoder,
        parameters: Any,
        column: NDArray[np.object_],
        features: pd.DataFrame | None,
    ) -> tuple[Values, NDArray[np.int64]]:
        import pandas as pd

        places, names = pd.factorize(column)
        return compute_embeddings(
            parameters, encoder.encode(np.asarray(names, dtype=object), features)
        ), places
