"""Select K and the penalties λ on validation rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from symscreen._parameters import N_JOBS, check_parameters
from symscreen.errors import DataError, OptionError
from symscreen.multistage.chains import format_value, read_chains
from symscreen.targets.stages import mask_observed_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from symscreen.multistage.base import ChainEstimator
    from symscreen.multistage.recommender import MonotoneChainRecommender


@dataclass(frozen=True, eq=False)
class TuningResult:
    """Result of `tune`.

    Parameters
    ----------
    settings : list of dict
        Settings in the order tried.
    errors : list of float
        Mean error of each setting on the validation rows.
    models : list of ChainEstimator
        Model of each setting, fitted to the last training table.
    """

    settings: list[dict[str, Any]]
    errors: list[float]
    models: list[ChainEstimator]

    @property
    def best_setting(self) -> dict[str, Any]:
        """The setting with the smallest error; of ties, the first."""
        return self.settings[self._best_index]

    @property
    def model(self) -> Any:
        """The best model, fitted to the training rows."""
        return self.models[self._best_index]

    @property
    def table(self) -> pd.DataFrame:
        """One row per setting, in the order tried: the parameters, and `error` on the validation rows."""
        import pandas as pd

        pairs = zip(self.settings, self.errors, strict=True)
        return pd.DataFrame([setting | {"error": error} for setting, error in pairs])

    @property
    def _best_index(self) -> int:
        return self.errors.index(min(self.errors))


def tune(
    model: MonotoneChainRecommender,
    training: pd.DataFrame,
    validation: pd.DataFrame,
    *,
    n_factors: Sequence[int] | None = None,
    lambdas: Sequence[float] = (0.001, 0.005, 0.01),
    user_features: pd.DataFrame | None = None,
    item_features: pd.DataFrame | None = None,
    n_jobs: int | None = None,
) -> TuningResult:
    """Fit a recommender with every setting of K, λ_1, λ_2 and λ_3 and select the one with the smallest error.

    Parameters
    ----------
    model : MonotoneChainRecommender
        Model with the other parameters. It is not modified. The error is class-balanced if `class_weight` is
        "balanced".
    training, validation : data frame
        Long tables; see `MonotoneChainRecommender.fit`.
    n_factors : sequence of int, optional
        Values of K. Default: the value of `model`.
    lambdas : sequence of float
        Values of each λ. λ_1 is varied only if features are given.
    user_features, item_features : data frame, optional
        Features of all users and items in both tables; see `MonotoneChainRecommender.fit`.
    n_jobs : int, optional
        Number of settings that are fitted in parallel.

    Returns
    -------
    TuningResult
        The best model and all errors. If there is a tie, the first setting wins. Smaller K and λ are tried
        first.

    Raises
    ------
    OptionError
        If there are no settings to try.

    Examples
    --------
    >>> from symscreen.multistage import MonotoneChainRecommender, simulate_chains
    >>> chains = simulate_chains(n_users=20, n_items=20, random_state=0)
    >>> model = MonotoneChainRecommender(chains.stages, random_state=0)
    >>> tables = chains.select_part("training"), chains.select_part("validation")
    >>> result = tune(model, *tables, n_factors=[2, 5], lambdas=[0.01])
    >>> list(result.table.columns), len(result.table)
    (['n_factors', 'lambda_features', 'lambda_levels', 'lambda_stages', 'error'], 2)
    """
    sequences: dict[str, Any] = {"lambdas": lambdas, "n_factors": n_factors}
    for name, values in sequences.items():
        if values is not None and (isinstance(values, str) or not isinstance(values, Iterable)):
            raise OptionError(
                f"{name} is {format_value(values)}: give a sequence, such as [{format_value(values)}]"
            )
    feature_lambdas = lambdas
    if user_features is None and item_features is None:
        feature_lambdas = (model.lambda_features,)
    factors = (model.n_factors,) if n_factors is None else n_factors
    names = ("n_factors", "lambda_features", "lambda_levels", "lambda_stages")
    settings = [
        dict(zip(names, values, strict=True))
        for values in product(factors, feature_lambdas, lambdas, lambdas)
    ]
    features = {"user_features": user_features, "item_features": item_features}
    return search_settings(model, settings, [(training, validation)], n_jobs=n_jobs, **features)


def search_settings(
    model: ChainEstimator,
    settings: Sequence[dict[str, Any]],
    splits: Sequence[tuple[pd.DataFrame, pd.DataFrame]],
    *,
    user_features: pd.DataFrame | None = None,
    item_features: pd.DataFrame | None = None,
    n_jobs: int | None = None,
) -> TuningResult:
    """Fit a model with every setting to every training table and evaluate it on the validation tables.

    Parameters
    ----------
    model : ChainEstimator
        Model with the other parameters. It is not modified. The error is class-balanced if `class_weight` is
        "balanced".
    settings : sequence of dict
        Parameters of the model to set.
    splits : sequence of (data frame, data frame)
        Training and validation tables.
    user_features, item_features, n_jobs
        See `tune`.

    Returns
    -------
    TuningResult
        Errors and models in the order of the settings.

    Raises
    ------
    OptionError
        If there are no settings to try.
    DataError
        If no validation row has an observed stage after a reached one.
    """
    if not settings:
        raise OptionError("no setting to try: give at least one value of each parameter")
    check_parameters({"n_jobs": N_JOBS}, {"n_jobs": n_jobs})
    for _, validation in splits:
        _check_validation_rows(model, validation)
    features = {"user_features": user_features, "item_features": item_features}

    def try_setting(setting: dict[str, Any]) -> tuple[float, ChainEstimator]:
        errors = []
        for training, validation in splits:
            fitted = clone(model).set_params(**setting, extra_features="ignore").fit(training, **features)
            errors.append(1.0 - fitted.score(validation, **features))
        return sum(errors) / len(errors), fitted

    results = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(try_setting)(setting) for setting in settings)
    return TuningResult(list(settings), [error for error, _ in results], [fitted for _, fitted in results])


def _check_validation_rows(model: ChainEstimator, validation: pd.DataFrame) -> None:
    """Raise DataError if no row has an observed stage after a reached one."""
    columns = {name: getattr(model, name) for name in ("stages", "user", "item", "reached")}
    if not mask_observed_pairs(read_chains(validation, **columns).outcomes).any():
        raise DataError("no validation row has an observed stage after a reached one: give rows that have")
