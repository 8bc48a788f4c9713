"""`SymbolicRegressor`: a regressor whose model is a formula."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from symscreen.config.fields import describe_options, list_options
from symscreen.config.fit_options import RegressorOptions
from symscreen.errors import ExtrapolationWarning, OptionError
from symscreen.estimators.base import SymbolicEstimator, check_row_weights, raise_estimator_errors
from symscreen.estimators.target_inputs import build_numeric_targets
from symscreen.expressions.grouped_formula import predict_model
from symscreen.fitting.fit import fit
from symscreen.results.fit_result import FitResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen.config.keyword_types import RegressorParameters
    from symscreen.results.fit_result import AnyFitResult


_PARAMETERS = list_options(RegressorOptions, verb="fit", estimator=True)


@describe_options(_PARAMETERS, signature=False)
class SymbolicRegressor(RegressorMixin, SymbolicEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A regressor whose model is a formula: a weighted sum of few symbolic features.

    Parameters
    ----------
    **parameters
        The options of `symscreen.fit` that are not about files or a run: …

    Attributes
    ----------
    result_ : FitResult, SharedFitResult or GroupedFitResult
        The whole result: coefficients with intervals, the Pareto front, alternatives.
    formula_ : Formula, SharedFormula or GroupedFormula
        The model: text, sympy, LaTeX. Several targets share one set of terms and have coefficients each; so
        do the groups of `per`, a column of X, which `predict` needs, too.
    levels_ : dict of str to tuple of str
        The levels of each column of `categorical`, and the groups of `per`.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, if all are text.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("vdp2")
    >>> X, y = data.frame.drop(columns="target"), data.frame["target"]
    >>> model = symscreen.SymbolicRegressor(operators="strogatz", layers="u", snap=True).fit(X, y)
    >>> model.formula_.text, round(model.score(X, y), 6)
    ('-0.1*x1', 1.0)
    """

    _parameter_fields = _PARAMETERS
    per: str | None

    @describe_options(_PARAMETERS)
    def __init__(self, **parameters: Unpack[RegressorParameters]) -> None:
        self._set_parameters(parameters)

    def fit(
        self,
        X: Any,  # noqa: N803  # scikit-learn's names
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        **unknown: Any,
    ) -> Self:
        """Find a formula.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs; finite, except categories.
        y : array of shape (n,), or array or data frame of shape (n, K)
            The target, or K targets, which share their terms. A series or a frame names them; otherwise they
            are y, or y1 to yK.
        sample_weight : array-like of shape (n,), or number, optional
            The weight of each row: `weights` of `symscreen.fit`. Rows of weight 0 are left out. Equal weights
            are the same as none.
        **unknown
            Any other argument is refused.

        Returns
        -------
        SymbolicRegressor
            Itself.

        Raises
        ------
        InputError
            If the data or an option cannot be used, or an argument is unknown.
        """
        self._reject_arguments(unknown, ("sample_weight",))
        columns = self._read_training_rows(X, y)
        targets = build_numeric_targets(y, columns)
        self._target_order = _find_target_order(y, list(targets))
        options = self._get_options()
        del options["clip"]  # `clip` is an option of `predict`
        with raise_estimator_errors():
            self.result_: AnyFitResult = fit(
                columns,
                _to_fit_target(targets),
                inputs=[name for name in columns if name != self.per],
                weights=check_row_weights(sample_weight, X),
                **options,
            )
        self.formula_ = self.result_.formula
        return self

    @property
    def _categorical_names(self) -> list[str]:
        """The columns that may hold text: categories, and the groups."""
        names = super()._categorical_names
        return names if self.per is None or self.per in names else [*names, self.per]

    def predict(self, X: Any) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn's name
        """Predict the target.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows with the same columns.

        Returns
        -------
        float64 array, shape (m,), or (m, K) where `y` had columns
            NaN in rows outside the domain of a term, or without a category.

        Warns
        -----
        ExtrapolationWarning
            If inputs are outside the range of the training rows, and `clip` is False. The message names the
            inputs and gives the number of rows.
        UserWarning
            With the number of rows that are NaN; and if rows have levels of a category that `fit` did not
            see: their gates and indicators are 0.
        """
        check_is_fitted(self)
        columns = self._read_new_rows(X, self.formula_.terms)
        with raise_estimator_errors():
            predicted = predict_model(
                self.result_.formula_in_original_units,
                columns,
                stacklevel=3,
                input_ranges=self.result_.record["input_ranges"],
                clip_box=self.result_.record["box"] if self.clip else None,
            )
        if self._target_order is None:
            return predicted
        return predicted.reshape(len(predicted), -1)[:, self._target_order]

    def predict_interval(self, X: Any) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn's name
        """Compute the prediction band of the option `bands`; see `symscreen.FitResult.predict_interval`.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows with the same columns.

        Returns
        -------
        float64 array, shape (m, 2)
            The lower and the upper limit.

        Raises
        ------
        OptionError
            If `bands` was not given.

        Warns
        -----
        ExtrapolationWarning, UserWarning
            As in `predict`.
        """
        check_is_fitted(self)
        result = self.result_
        if not isinstance(result, FitResult):
            raise OptionError("predict_interval is for one target without groups: fit each target by itself")
        band_terms = () if result.band is None else result.band.terms
        columns = self._read_new_rows(X, (*self.formula_.terms, *band_terms))
        with raise_estimator_errors():
            return result.predict_interval(columns, clip=self.clip)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803
        """Compute R² of the predictions on rows with known targets.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows with the same columns.
        y : array of shape (m,) or (m, K)
            The targets.
        sample_weight : array of shape (m,), optional
            Weights of the rows.

        Returns
        -------
        float
            The mean over several targets. Rows outside the range of the training rows give no warning, since
            cross-validation has such rows in most folds.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExtrapolationWarning)
            return float(super().score(X, y, sample_weight))


def _find_target_order(y: Any, names: Sequence[str]) -> list[int] | None:
    """Return the index of each column of y among the names in order; None if y has one dimension."""
    if np.asarray(y).ndim == 1:
        return None
    ordered = sorted(names)
    return [ordered.index(name) for name in names]


def _to_fit_target(targets: Mapping[str, NDArray[np.float64]]) -> pd.Series[float] | pd.DataFrame:
    """Return the targets in the form that `fit` reads."""
    import pandas as pd

    if len(targets) == 1:
        (name, values), *_ = targets.items()
        return pd.Series(values, name=name)
    return pd.DataFrame(dict(targets))
