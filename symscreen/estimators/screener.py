"""A screen as a transformer: formulas of the training rows' choice are the features of all rows."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from symscreen.config.fields import describe_options, list_options
from symscreen.config.screen_options import ScreenOptions
from symscreen.data import LevelIndicator
from symscreen.estimators.input_tables import (
    check_input_columns,
    check_input_features,
    check_row_weights,
    check_unique_columns,
    find_categorical_features,
    find_used_columns,
    get_category_levels,
    get_input_names,
    raise_estimator_errors,
    reject_unknown_kwargs,
    set_parameters,
    to_name_list,
    warn_unseen_levels,
)
from symscreen.estimators.target_inputs import build_target_columns, make_unique_name
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import rename_columns
from symscreen.screening.screen import screen

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen.config.keyword_types import ScreenerParameters
    from symscreen.expressions.tree import Expression
    from symscreen.results.screen_result import ScreenResult


_PARAMETERS = list_options(ScreenOptions, estimator=True)


@describe_options(_PARAMETERS, signature=False)
class SymbolicScreener(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A transformer whose features are the formulas that say most about the response.

    Parameters
    ----------
    **parameters
        The options of `symscreen.screen` that are not about files or a run: …

    Attributes
    ----------
    ranking_ : pandas.DataFrame
        The formulas, best first, with their scores: `ScreenResult.table`.
    expressions_ : tuple of Expression
        The same as trees; the text of each is its feature's name. None where no formula passes `fdr`.
    result_ : ScreenResult
        Everything that the screen found.
    levels_ : dict of str to tuple of str
        The levels of each column of `categorical`.
    n_features_in_ : int
        How many columns were seen.
    feature_names_in_ : array of str
        Their names, where they were all text.

    Notes
    -----
    The response chooses the features, so a screen belongs inside the folds of a cross-validation: put it into
    a pipeline, as this class is made for.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("glider2")
    >>> X, y = data.frame.drop(columns="target"), data.frame["target"]
    >>> screener = symscreen.SymbolicScreener(layers="ubb", unary="cos", binary="sub,div", top=1).fit(X, y)
    >>> screener.get_feature_names_out().tolist(), screener.transform(X).shape
    (['x1 - cos(x2)/x1'], (400, 1))
    """

    @describe_options(_PARAMETERS)
    def __init__(self, **parameters: Unpack[ScreenerParameters]) -> None:
        set_parameters(self, _PARAMETERS, parameters)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.categorical = tags.input_tags.string = bool(self._categorical_columns)
        return tags

    def fit(
        self,
        X: Any,  # noqa: N803  # scikit-learn's names
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **unknown: Any,
    ) -> Self:
        """Screen formulas of the columns.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs; finite, but for categories. Every column is one.
        y : array or data frame of shape (n,) or (n, k), or structured array of shape (n,)
            The response: numbers; classes, that is words, or numbers with ``target_kind="classes"``; k
            targets; whether an event was met and when; or what `ranking` or `stages` says.
        sample_weight : array-like of shape (n,), or number, optional
            What each row weighs, of a numeric response and for screeners that take weights: `weights` of
            `symscreen.screen`. Weights that are all equal are none, and go with anything. In a pipeline with
            metadata routing: ``set_fit_request(sample_weight=True)``.
        groups : array-like of shape (n,), optional
            Labels of rows that stay together where `stability` halves rows, `intervals` leave rows out, or
            `permutations` mix them. In a pipeline with metadata routing: ``set_fit_request(groups=True)``.
        **unknown
            Anything else is refused, not left unheeded.

        Returns
        -------
        SymbolicScreener
            Itself.

        Raises
        ------
        InputError
            If the data or an option cannot be used, or an argument would not be heeded.

        Warns
        -----
        UserWarning
            If no formula passes `fdr`: there are no features then.
        """
        reject_unknown_kwargs(type(self).__name__, unknown, ("sample_weight", "groups"))
        check_unique_columns(X)
        if y is None:
            validate_data(self, X, y)  # says what is wrong with it, in scikit-learn's words
        columns = check_input_columns(self, X, self._categorical_columns, reset=True)
        check_consistent_length(X, y)
        with raise_estimator_errors():
            self.levels_ = get_category_levels(columns, self._categorical_columns)
        names = list(columns)
        asked = {name: getattr(self, name) for name in ("event", "ranking", "stages")}
        response, read = build_target_columns(y, names, target_type=self.target_kind, **asked)
        columns |= response
        if groups is not None:
            check_consistent_length(X, groups)
        beside = {"groups": groups, "weights": check_row_weights(sample_weight, X)}
        labels = {}
        for name, own in beside.items():
            if own is not None:
                labels[name] = make_unique_name(name, columns)
                columns[labels[name]] = own
        options = self.get_params(deep=False) | read | labels
        with raise_estimator_errors():
            self.result_: ScreenResult = screen(columns, inputs=names, **options)
        self.ranking_: pd.DataFrame = self.result_.table
        self.expressions_: tuple[Expression, ...] = self._select_significant()
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn's name
        """Compute the features.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows with the same columns.

        Returns
        -------
        float64 array, shape (m, k)
            One column a formula, best first; NaN in rows outside its domain, or without a category. A data
            frame where `set_output` asks for one.

        Warns
        -----
        UserWarning
            If a formula is undefined in some of the rows, with the counts; and if rows have levels of a
            category that `fit` did not see: what stands for each level known, a gate or an indicator, is 0
            there.
        """
        check_is_fitted(self)
        columns = check_input_columns(self, X, self._categorical_columns, reset=False)
        if not self.expressions_:
            return np.empty((len(next(iter(columns.values()))), 0))
        with raise_estimator_errors():
            used = find_used_columns(self.expressions_, get_input_names(self), self.levels_)
            warn_unseen_levels(columns, self.levels_, used)
            features = self.result_.transform(columns)
        return features.to_numpy(dtype=np.float64)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Name the features: the formulas in the one notation.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names for the columns of an array; those of a data frame are known, and must be the same.

        Returns
        -------
        object array, shape (k,)

        Raises
        ------
        InputError
            If the names are too many, too few, or others than `fit` saw.
        """
        check_is_fitted(self)
        names = dict(zip(get_input_names(self), self._resolve_input_names(input_features), strict=True))
        derived = find_categorical_features(self.expressions_, get_input_names(self), self.levels_)
        for name, indicator in derived.items():
            gated_column = None if indicator.gated_column is None else names[indicator.gated_column]
            names[name] = LevelIndicator(names[indicator.column], indicator.level, gated_column).name
        return np.array([to_text(rename_columns(one, names)) for one in self.expressions_], dtype=object)

    def get_support(self, *, indices: bool = False) -> NDArray[np.bool_] | NDArray[np.intp]:
        """Say which columns of the input any of the features is made of.

        Parameters
        ----------
        indices : bool
            Whether to return the places of the columns instead of a mask.

        Returns
        -------
        bool array, shape (d,), or int array
        """
        check_is_fitted(self)
        used = find_used_columns(self.expressions_, get_input_names(self), self.levels_)
        mask = np.array([name in used for name in get_input_names(self)], dtype=np.bool_)
        return np.flatnonzero(mask) if indices else mask

    def _select_significant(self) -> tuple[Expression, ...]:
        """Return what is shown, or nothing where nothing passes the false discovery rate asked for."""
        if self.fdr is None or (self.ranking_["q_value"] <= self.fdr).any():
            return self.result_.expressions
        least = self.ranking_["q_value"].min()
        warnings.warn(
            f"no features were selected: none passes fdr={self.fdr:g}, the least q-value is {least:.3g}; "
            "ranking_ shows the best",
            stacklevel=3,
        )
        return ()

    @property
    def _categorical_columns(self) -> list[str]:
        return to_name_list(self.categorical)

    def _resolve_input_names(self, input_features: ArrayLike | None) -> list[str]:
        """Return the columns' names in formulas, those given if they may be."""
        if input_features is None:
            return get_input_names(self)
        asked = list(map(str, np.asarray(input_features, dtype=object).tolist()))
        check_input_features(asked, getattr(self, "feature_names_in_", None), self.n_features_in_)
        return asked
