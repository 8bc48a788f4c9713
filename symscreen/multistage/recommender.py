"""The multistage recommender (eqs. (8) and (9)) as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from symscreen.errors import OptionError
from symscreen.multistage import options
from symscreen.multistage.attempts import best_attempt
from symscreen.multistage.chains import named_column, place_of_stage
from symscreen.multistage.estimator import ChainEstimator
from symscreen.multistage.features import learn_side
from symscreen.multistage.fitting import problem_of
from symscreen.multistage.model import embedded, scores
from symscreen.multistage.pairs import asked_of, stage_pairs
from symscreen.multistage.recommending import candidate_items, told_of_user
from symscreen.multistage.starting import continued, random_factors
from symscreen.multistage.weighting import divisor, training_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.multistage.features import Side
    from symscreen.multistage.fitting import Step
    from symscreen.multistage.model import Factors

    Values = NDArray[np.float64]

__all__ = ["MonotoneChainRecommender"]


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
        w_{t′t}, as `pair_weights` reads it.
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
        callback: Callable[[Step], None] | None = None,
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
        chains = self._read(X)
        penalties, precision = options.penalties_of(self), options.precision_of(self)
        factors, rounds = options.whole("n_factors", self.n_factors), options.whole("max_iter", self.max_iter)
        tolerance, starts = options.positive("tol", self.tol), options.whole("n_init", self.n_init)
        warm = options.truth("warm_start", self.warm_start)
        extra = options.chosen("extra_features", self.extra_features, ("error", "ignore")) == "ignore"
        weights = training_weights(chains, self.stage_weight, self.class_weight)
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
        rng, sides = check_random_state(self.random_state), (users, items)
        # the order of rows is made the same whatever the table's, and then mixed
        order = np.lexsort((*chains.outcomes.T[::-1], item, user))
        order = order[rng.permutation(len(order))]
        user, item, outcomes = user[order], item[order], chains.outcomes[order]
        over = divisor(self.normalization, outcomes, weights, (len(users.names), len(items.names)))
        problem = problem_of((users.coded, items.coded), (user, item), outcomes, weights, over)
        going_on = warm and hasattr(self, "factors_")
        if going_on and self.stages_ != chains.stages:
            raise OptionError(
                f"warm_start goes on from a fit with the stages {', '.join(self.stages_)}: "
                "set warm_start=False to begin anew"
            )
        before = (self.factors_, (self.users_, self.items_)) if going_on else None
        last = len(chains.stages) - 1
        fresh = (random_factors(sides, factors, last, rng) for _ in range(1 if going_on else starts))
        best = best_attempt(
            problem,
            (one if before is None else continued(one, sides, *before) for one in fresh),
            penalties,
            precision,
            tolerance=tolerance,
            rounds=rounds,
            hinge_first=not going_on,
            callback=self.callback,
            show=self.verbose,
        )
        self.trace_, self.n_iter_, self.converged_ = best.trace, best.rounds, best.converged
        self._keep(best.factors, sides, chains.stages, (user, item, outcomes))
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
        pairs = asked_of(present, stage, self.stages_)
        columns = [named_column(X, name) for name in (self.user, self.item)]
        a, user = self._coded(self.users_, self.factors_.users, columns[0], user_features)
        b, item = self._coded(self.items_, self.factors_.items, columns[1], item_features)
        found = scores(a, b, self.factors_.q, user, item, pairs)
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
        candidates = candidate_items(self.items_, item_features)
        place = self.users_.places(np.array([user], dtype=object))[0]
        later = place_of_stage(stage, self.stages_)
        told = told_of_user(self._seen, place, later, self.items_.places(candidates))
        if not options.truth("seen", seen):
            candidates, told = candidates[told == 0], told[told == 0]
        table = pd.DataFrame({self.user: [user] * len(candidates), self.item: candidates})
        given = {"user_features": user_features, "item_features": item_features}
        f = self.decision_function(table, present=present, stage=stage, **given)
        best = np.argsort(-f, kind="stable")[: options.whole("k", k)]
        predicted = np.where(told != 0, told, np.where(f > 0, 1, -1)).astype(np.int8)
        return pd.DataFrame({"item": candidates[best], "score": f[best], "predicted": predicted[best]})

    def _keep(
        self,
        factors: Factors,
        sides: tuple[Side, Side],
        stages: tuple[str, ...],
        rows: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]],
    ) -> None:
        self.factors_, self.stages_ = factors, stages
        self.users_, self.items_ = sides
        self.pairs_ = [(stages[a], stages[b]) for a, b in stage_pairs(len(stages) - 1)]
        self.n_features_in_ = sum(len(side.numeric_names) + len(side.variables) for side in sides)
        order = np.argsort(rows[0], kind="stable")  # what `recommend` leaves out, user by user
        self._seen = rows[0][order], rows[1][order], rows[2][order]

    def _coded(
        self, side: Side, effects: Any, column: NDArray[np.object_], features: pd.DataFrame | None
    ) -> tuple[Values, NDArray[np.int64]]:
        import pandas as pd

        places, names = pd.factorize(column)
        return embedded(effects, side.code(np.asarray(names, dtype=object), features)), places
