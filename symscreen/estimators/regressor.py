"""A fit as a regressor: the model is a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from symscreen.config.fields import describe_options, list_options
from symscreen.config.screen_options import FitOptions
from symscreen.estimators.input_tables import (
    check_input_columns,
    check_unique_columns,
    find_used_columns,
    get_category_levels,
    get_input_names,
    raise_estimator_errors,
    reject_unknown_kwargs,
    set_parameters,
    to_name_list,
    warn_unseen_levels,
)
from symscreen.estimators.target_inputs import build_numeric_targets
from symscreen.fitting.fit import fit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.config.keyword_types import RegressorParameters
    from symscreen.results.fit_result import FitResult, SharedFitResult


_PARAMETERS = list_options(FitOptions, verb="fit", estimator=True)


@describe_options(_PARAMETERS, signature=False)
class SymbolicRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A regressor whose model is a formula: a weighted sum of few symbolic features.

    Parameters
    ----------
    **parameters
        The options of `symscreen.fit` that are not about files or a run: …

    Attributes
    ----------
    result_ : FitResult or SharedFitResult
        Everything that the fit found: coefficients with intervals, the front, the rivals.
    formula_ : Formula or SharedFormula
        The model: text, sympy, LaTeX. Of several targets one set of terms, with coefficients for each.
    levels_ : dict of str to tuple of str
        The levels of each column of `categorical`.
    n_features_in_ : int
        How many columns were seen.
    feature_names_in_ : array of str
        Their names, where they were all text.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("vdp2")
    >>> X, y = data.frame.drop(columns="target"), data.frame["target"]
    >>> model = symscreen.SymbolicRegressor(operators="strogatz", layers="u", snap=True).fit(X, y)
    >>> model.formula_.text, round(model.score(X, y), 6)
    ('-0.1*x1', 1.0)
    """

    @describe_options(_PARAMETERS)
    def __init__(self, **parameters: Unpack[RegressorParameters]) -> None:
        set_parameters(self, _PARAMETERS, parameters)

    def fit(self, X: Any, y: Any, **unknown: Any) -> Self:  # noqa: N803  # scikit-learn's names
        """Find a formula.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs; finite, but for categories.
        y : array of shape (n,), or array or data frame of shape (n, K)
            The response, or K targets, which share their terms. A series or a frame names them; else they are
            y, or y1 to yK.
        **unknown
            Anything else, such as ``sample_weight``, is refused, not left unheeded.

        Returns
        -------
        SymbolicRegressor
            Itself.

        Raises
        ------
        InputError
            If the data or an option cannot be used, or an argument would not be heeded.
        """
        reject_unknown_kwargs(type(self).__name__, unknown)
        check_unique_columns(X)
        if y is None:
            validate_data(self, X, y)  # says what is wrong with it, in scikit-learn's words
        categorical = to_name_list(self.categorical)
        columns = check_input_columns(self, X, categorical, reset=True)
        check_consistent_length(X, y)
        targets = build_numeric_targets(y, columns)
        self._target_order = _find_target_order(y, list(targets))
        with raise_estimator_errors():
            self.levels_ = get_category_levels(columns, categorical)
            self.result_: FitResult | SharedFitResult = fit(
                columns, _to_fit_target(targets), inputs=list(columns), **self.get_params(deep=False)
            )
        self.formula_ = self.result_.formula
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn's name
        """Predict the response.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows with the same columns.

        Returns
        -------
        float64 array, shape (m,), or (m, K) where `y` had columns
            NaN in rows outside a term's domain, or without a category, with a warning that counts them.

        Warns
        -----
        UserWarning
            Of such rows; and if rows have levels of a category that `fit` did not see: what stands for each
            level known, a gate or an indicator, is 0 there.
        """
        check_is_fitted(self)
        columns = check_input_columns(self, X, to_name_list(self.categorical), reset=False)
        used = find_used_columns(self.formula_.terms, get_input_names(self), self.levels_)
        with raise_estimator_errors():
            warn_unseen_levels(columns, self.levels_, used)
            found = self.result_.formula_in_original_units.predict(columns)
        return found if self._target_order is None else found.reshape(len(found), -1)[:, self._target_order]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that several targets are taken, and words where they are categories."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.categorical = tags.input_tags.string = bool(to_name_list(self.categorical))
        return tags


def _find_target_order(y: Any, names: Sequence[str]) -> list[int] | None:
    """Say which of the predictions, which stand by name, each column of y is; None where y is a line."""
    if np.asarray(y).ndim == 1:
        return None
    ordered = sorted(names)
    return [ordered.index(name) for name in names]


def _to_fit_target(targets: Mapping[str, NDArray[np.float64]]) -> pd.Series[float] | pd.DataFrame:
    """Return the targets as `fit` takes them."""
    import pandas as pd

    if len(targets) == 1:
        (name, values), *_ = targets.items()
        return pd.Series(values, name=name)
    return pd.DataFrame(dict(targets))
