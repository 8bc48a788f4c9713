"""`SymbolicScreener`: a transformer whose features are formulas that the training rows selected."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from symscreen.config.fields import describe_options, list_options
from symscreen.config.screen_options import ScreenerOptions
from symscreen.data import LevelIndicator, MissingIndicator
from symscreen.estimators.base import (
    SymbolicEstimator,
    check_row_weights,
    make_unique_name,
    raise_estimator_errors,
)
from symscreen.estimators.target_inputs import build_target_columns
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import collect_indicators, rename_columns
from symscreen.messages import describe_missing_attribute
from symscreen.screening.screen import screen

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen.config.keyword_types import ScreenerParameters
    from symscreen.expressions.tree import Expression
    from symscreen.results.screen_result import ScreenResult


_PARAMETERS = list_options(ScreenerOptions, estimator=True)
_MODEL_HINT = "put a model behind it in a pipeline, or use SymbolicRegressor or SymbolicClassifier"
_ATTRIBUTE_HINTS = {
    **dict.fromkeys(("predict", "predict_proba", "decision_function", "score"), _MODEL_HINT),
    **dict.fromkeys(("coef_", "feature_importances_", "scores_"), "the scores are in result_.table"),
}


@describe_options(_PARAMETERS, signature=False)
class SymbolicScreener(TransformerMixin, SymbolicEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A transformer whose features are the best formulas for the target.

    Parameters
    ----------
    **parameters
        The options of `symscreen.screen` that are not about files or a run: …

    Attributes
    ----------
    ranking_ : pandas.DataFrame
        The formulas, best first, with their scores: `ScreenResult.table`.
    expressions_ : tuple of Expression
        The formulas as trees; the text of each is the name of its feature. Empty if no formula passes `fdr`.
    result_ : ScreenResult
        The whole result.
    levels_ : dict of str to tuple of str
        The levels of each column of `categorical`.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, if all are text.

    Notes
    -----
    The target selects the features. A screen therefore belongs inside the folds of a cross-validation: put
    this class into a pipeline.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("glider2")
    >>> X, y = data.frame.drop(columns="target"), data.frame["target"]
    >>> screener = symscreen.SymbolicScreener(
    ...     layers="ubb", unary="cos", binary="sub,div", top=1, unsafe="mark"  # the law is: x1 comes near 0
    ... ).fit(X, y)
    >>> screener.get_feature_names_out().tolist(), screener.transform(X).shape
    (['x1 - cos(x2)/x1'], (400, 1))
    """

    _parameter_fields = _PARAMETERS

    @describe_options(_PARAMETERS)
    def __init__(self, **parameters: Unpack[ScreenerParameters]) -> None:
        self._set_parameters(parameters)

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            message = describe_missing_attribute(self, name, _ATTRIBUTE_HINTS)
            raise AttributeError(message, name=name, obj=self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(
        self,
        X: Any,  # noqa: N803  # scikit-learn's names
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        **unknown: Any,
    ) -> Self:
        """Screen formulas of the columns.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs; finite, except categories. Every column is one.
        y : array or data frame of shape (n,) or (n, k), or structured array of shape (n,)
            The target: numbers; classes (texts, or numbers with ``target_type="classes"``); k targets;
            whether an event happened and when; rankings or stages, with the option `ranking` or `stages`.
        sample_weight : array-like of shape (n,), or number, optional
            The weight of each row, for numeric targets and screeners that accept weights: `weights` of
            `symscreen.screen`. Equal weights are the same as none. In a pipeline with metadata routing:
            ``set_fit_request(sample_weight=True)``.
        groups : array-like of shape (n,), optional
            Labels of rows that stay together where `stability` halves rows, `intervals` leave rows out, or
            `permutations` mix them. In a pipeline with metadata routing: ``set_fit_request(groups=True)``.
        **unknown
            Any other argument is refused.

        Returns
        -------
        SymbolicScreener
            Itself.

        Raises
        ------
        InputError
            If the data or an option cannot be used, or an argument is unknown.

        Warns
        -----
        UserWarning
            If no formula passes `fdr`, or none is safe on new rows: there are no features then.
        """
        self._reject_arguments(unknown, ("sample_weight", "groups"))
        columns = self._read_training_rows(X, y)
        names = list(columns)
        target, target_options = build_target_columns(
            y, names, event=self.event, ranking=self.ranking, stages=self.stages, target_type=self.target_type
        )
        columns |= target
        if groups is not None:
            check_consistent_length(X, groups)
        labels = {}
        for name, values in {"groups": groups, "weights": check_row_weights(sample_weight, X)}.items():
            if values is not None:
                labels[name] = make_unique_name(name, columns)
                columns[labels[name]] = values
        options = self._get_options() | target_options | labels
        del options["clip"]  # `clip` is an option of `transform`
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
            One column for each formula, best first; NaN in rows outside its domain, or without a category. A
            data frame after `set_output(transform="pandas")`.

        Warns
        -----
        ExtrapolationWarning
            If inputs are outside of the box, and `clip` is False.
        UserWarning
            If a formula is undefined in some of the rows, with the counts; and if rows have levels of a
            category that `fit` did not see: their gates and indicators are 0.
        """
        check_is_fitted(self)
        columns = self._read_new_rows(X, self.expressions_)
        if not self.expressions_:
            return np.empty((len(next(iter(columns.values()))), 0))
        with raise_estimator_errors():
            features = self.result_.transform(columns, clip=self.clip)
        return features.to_numpy(dtype=np.float64)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the features: the texts of the formulas.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names for the columns of an array. Names of a data frame are known, and must be the same.

        Returns
        -------
        object array, shape (k,)

        Raises
        ------
        InputError
            If the number of names is wrong, or they differ from those in `fit`.
        """
        check_is_fitted(self)
        names = dict(zip(self._input_names, self._check_feature_names(input_features), strict=True))
        for name, indicator in collect_indicators(self.expressions_).items():
            if isinstance(indicator, LevelIndicator):
                gated_column = None if indicator.gated_column is None else names[indicator.gated_column]
                names[name] = LevelIndicator(names[indicator.column], indicator.level, gated_column).name
            elif isinstance(indicator, MissingIndicator):
                names[name] = MissingIndicator(names[indicator.column]).name
        return np.array([to_text(rename_columns(each, names)) for each in self.expressions_], dtype=object)

    def get_support(self, *, indices: bool = False) -> NDArray[np.bool_] | NDArray[np.intp]:
        """Return which columns of the input the features are computed from.

        Parameters
        ----------
        indices : bool
            Whether to return indices of columns instead of a mask.

        Returns
        -------
        bool array, shape (d,), or int array
        """
        check_is_fitted(self)
        used = self._find_used_columns(self.expressions_)
        mask = np.array([name in used for name in self._input_names], dtype=np.bool_)
        return np.flatnonzero(mask) if indices else mask

    def _select_significant(self) -> tuple[Expression, ...]:
        """Return the formulas shown; none, with a warning, if none passes `fdr` or is safe."""
        if not len(self.ranking_) and self.unsafe == "drop":
            warnings.warn(
                "no features were selected: none is proved safe on new rows; unsafe='mark' keeps them",
                stacklevel=3,
            )
            return ()
        if self.fdr is None or (self.ranking_["q_value"] <= self.fdr).any():
            return self.result_.expressions
        least = self.ranking_["q_value"].min()
        warnings.warn(
            f"no features were selected: none passes fdr={self.fdr:g}, the least q-value is {least:.3g}; "
            "ranking_ shows the best",
            stacklevel=3,
        )
        return ()
