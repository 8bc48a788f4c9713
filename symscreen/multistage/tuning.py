"""K and λ chosen on rows that were set aside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from symscreen.errors import DataError, OptionError
from symscreen.multistage.chains import format_value, read_chains
from symscreen.multistage.option_checks import count_threads
from symscreen.targets.stages import mask_observed_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from symscreen.multistage.base import ChainEstimator
    from symscreen.multistage.recommender import MonotoneChainRecommender


__all__ = ["SettingSearchResult", "TuningResult", "search_settings", "select_best_setting", "tune"]


@dataclass(frozen=True, eq=False)
class TuningResult:
    """What `tune` found.

    Parameters
    ----------
    model : ChainEstimator
        The best one, fitted to the training rows.
    table : data frame
        One row for each setting, in the order tried: the parameters, and `error` on the validation rows.
    """

    model: Any
    table: pd.DataFrame


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
    """Fit a recommender with every setting of K, λ_1, λ_2 and λ_3, and keep the one that errs least.

    Parameters
    ----------
    model : MonotoneChainRecommender
        Says all else; left as it is. With balanced classes, so is the error.
    training, validation : data frame
        Long tables, as for `fit`.
    n_factors : sequence of int, optional
        Values of K; else the model's own.
    lambdas : sequence of float
        Values of each λ; λ_1 is not varied where there are no features of users and items.
    user_features, item_features : data frame, optional
        As for `fit`, of everybody in either table.
    n_jobs : int, optional
        Settings tried at a time.

    Returns
    -------
    Tuned
        Of several that are equally good, the one tried first: small K and small λ come first.

    Raises
    ------
    OptionError
        If there is nothing to try.

    Examples
    --------
    >>> from symscreen.multistage import MonotoneChainRecommender, simulate_chains
    >>> made = simulate_chains(n_users=20, n_items=20, random_state=0)
    >>> model = MonotoneChainRecommender(made.stages, random_state=0)
    >>> rows = made.taken("training"), made.taken("validation")
    >>> found = tune(model, *rows, n_factors=[2, 5], lambdas=[0.01])
    >>> list(found.table.columns), len(found.table)
    (['n_factors', 'lambda_features', 'lambda_levels', 'lambda_stages', 'error'], 2)
    """
    asked: dict[str, Any] = {"lambdas": lambdas, "n_factors": n_factors}
    for name, values in asked.items():
        if values is not None and (isinstance(values, str) or not isinstance(values, Iterable)):
            raise OptionError(
                f"{name} is {format_value(values)}: give a sequence, such as [{format_value(values)}]"
            )
    matrices = lambdas
    if user_features is None and item_features is None:
        matrices = (model.lambda_features,)
    factors = (model.n_factors,) if n_factors is None else n_factors
    names = ("n_factors", "lambda_features", "lambda_levels", "lambda_stages")
    settings = [dict(zip(names, one, strict=True)) for one in product(factors, matrices, lambdas, lambdas)]
    given = {"user_features": user_features, "item_features": item_features}
    return select_best_setting(
        search_settings(model, settings, [(training, validation)], n_jobs=n_jobs, **given)
    )


@dataclass(frozen=True, eq=False)
class SettingSearchResult:
    """What `search` found.

    Parameters
    ----------
    settings : list of dict
        As tried.
    errors : list of float
        The mean error of each over the validation tables.
    models : list of ChainEstimator
        The model of each setting, fitted to the last training table.
    """

    settings: list[dict[str, Any]]
    errors: list[float]
    models: list[ChainEstimator]

    @property
    def best_index(self) -> int:
        """The first of the settings that err least."""
        return self.errors.index(min(self.errors))


def search_settings(
    model: ChainEstimator,
    settings: Sequence[dict[str, Any]],
    splits: Sequence[tuple[pd.DataFrame, pd.DataFrame]],
    *,
    user_features: pd.DataFrame | None = None,
    item_features: pd.DataFrame | None = None,
    n_jobs: int | None = None,
) -> SettingSearchResult:
    """Fit a model with every setting to every training table, and measure it on the validation tables.

    Parameters
    ----------
    model : ChainEstimator
        Left as it is. With balanced classes, so is the error.
    settings : sequence of dict
        Parameters of the model.
    splits : sequence of (data frame, data frame)
        Training and validation.
    user_features, item_features, n_jobs
        As for `tune`.

    Returns
    -------
    Searched
        In the order of the settings.

    Raises
    ------
    OptionError
        If there is nothing to try.
    TableError
        If validation rows tell of no pair of stages.
    """
    if not settings:
        raise OptionError("there is no setting to try: give one value at least of each parameter")
    count_threads(n_jobs)
    for _, validation in splits:
        _check_validation_rows(model, validation)
    given = {"user_features": user_features, "item_features": item_features}

    def try_setting(setting: dict[str, Any]) -> tuple[float, ChainEstimator]:
        errors = []
        for training, validation in splits:
            one = clone(model).set_params(**setting, extra_features="ignore").fit(training, **given)
            errors.append(1.0 - one.score(validation, **given))
        return sum(errors) / len(errors), one

    found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(try_setting)(setting) for setting in settings)
    return SettingSearchResult(list(settings), [error for error, _ in found], [one for _, one in found])


def _check_validation_rows(model: ChainEstimator, validation: pd.DataFrame) -> None:
    columns = {name: getattr(model, name) for name in ("stages", "user", "item", "reached")}
    if not mask_observed_pairs(read_chains(validation, **columns).outcomes).any():
        raise DataError("the validation rows tell of no stage after one that was reached: give rows that do")


def select_best_setting(search_result: SettingSearchResult) -> TuningResult:
    """Keep the best model of a search over one split, and the table of all settings.

    Parameters
    ----------
    searched : Searched
        What was tried.

    Returns
    -------
    Tuned
        The first of those that err least.
    """
    import pandas as pd

    pairs = zip(search_result.settings, search_result.errors, strict=True)
    table = pd.DataFrame([setting | {"error": error} for setting, error in pairs])
    return TuningResult(search_result.models[search_result.best_index], table)
