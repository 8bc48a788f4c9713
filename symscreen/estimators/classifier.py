"""`SymbolicClassifier`: a classifier whose log-odds are a formula."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from symscreen.config.classifier_options import ClassifierOptions, list_classifier_options
from symscreen.config.fields import describe_options
from symscreen.errors import DataError
from symscreen.estimators.base import SymbolicEstimator, raise_estimator_errors
from symscreen.estimators.screener import SymbolicScreener
from symscreen.estimators.sparse_logistic import compute_probabilities, fit_sparse_logistic
from symscreen.estimators.target_inputs import check_no_missing
from symscreen.expressions.linear_formula import Formula, SharedFormula, evaluate_formulas
from symscreen.expressions.printing import to_text
from symscreen.expressions.tree import Column
from symscreen.messages import quote
from symscreen.units import convert_to_original_units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.config.keyword_types import ClassifierParameters
    from symscreen.estimators.sparse_logistic import SparseLogisticFit
    from symscreen.expressions.tree import Expression
    from symscreen.results.screen_result import ScreenResult


_PARAMETERS = list_classifier_options()
_MODEL_PARAMETERS = ("max_terms", "folds")


@describe_options(_PARAMETERS, signature=False)
class SymbolicClassifier(ClassifierMixin, SymbolicEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier whose log-odds are a formula: a weighted sum of few symbolic features.

    The features that a screen finds, and the columns themselves, are the candidates of a sparse logistic
    model. The l1 penalty proposes sets of terms, and cross-validation chooses one of them.

    Parameters
    ----------
    **parameters
        The options of `symscreen.screen` that are not about files or a run, and those of the model: …

    Attributes
    ----------
    classes_ : array of shape (C,)
        The classes.
    formula_ : Formula or SharedFormula
        With two classes, the log-odds of the second one. With more classes, one score per class, with shared
        terms; the difference of two scores is the log-odds between their classes.
    expressions_ : tuple of Expression
        The terms as trees.
    cv_log_loss_ : float or None
        The log-loss of the cross-validation that chose the terms. The screen had seen all rows, so it is
        smaller than on new rows. None if a class has one row.
    result_ : ScreenResult
        The whole result of the screen.
    levels_ : dict of str to tuple of str
        The levels of each column of `categorical`.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, if all are text.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("glider2")
    >>> X, y = data.frame.drop(columns="target"), data.frame["target"] > 2
    >>> model = symscreen.SymbolicClassifier(layers="ubb", unary="cos", binary="sub,div", max_terms=2)
    >>> model.fit(X, y).score(X, y) > 0.9, model.predict_proba(X).shape
    (True, (400, 2))
    """

    _parameter_fields = _PARAMETERS

    @describe_options(_PARAMETERS)
    def __init__(self, **parameters: Unpack[ClassifierParameters]) -> None:
        self._set_parameters(parameters)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def fit(self, X: Any, y: Any = None, **unknown: Any) -> Self:  # noqa: N803  # scikit-learn's names
        """Screen formulas of the columns, and fit the model.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs; finite, except categories. Every column is one.
        y : array of shape (n,)
            The classes: texts, numbers or booleans.
        **unknown
            Any other argument is refused.

        Returns
        -------
        SymbolicClassifier
            Itself.

        Raises
        ------
        InputError
            If the data or an option cannot be used, or an argument is unknown.
        """
        self._reject_arguments(unknown)
        columns = self._read_training_rows(X, y)
        check_no_missing(y)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"y has one class, {quote(self._class_names[0])}: a classifier needs at least two"
            )
        with raise_estimator_errors():
            options = ClassifierOptions(**_to_plain_options(self._get_options()))
        self.result_: ScreenResult = self._screen(X, codes, getattr(y, "name", None))
        candidates = self._list_candidates()
        fit = fit_sparse_logistic(
            evaluate_formulas(candidates, columns).T,
            codes,
            max_terms=options.max_terms,
            n_folds=options.folds,
            seed=options.seed,
        )
        self.expressions_: tuple[Expression, ...] = tuple(candidates[index] for index in fit.term_indices)
        self.formula_ = _build_formula(fit, self.expressions_, self._class_names)
        self.cv_log_loss_ = fit.cv_log_loss
        self._term_means = fit.means
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803  # scikit-learn's name
        """Compute the formula.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows with the same columns.

        Returns
        -------
        float64 array, shape (m,) of two classes, or (m, C)
            The log-odds of the second class, or the score of each class.

        Warns
        -----
        UserWarning
            If a term is undefined in some of the rows: its mean over the training rows is used there.
        """
        scores = self._compute_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Compute the probabilities of the classes.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows with the same columns.

        Returns
        -------
        float64 array, shape (m, C)
            In the order of `classes_`.

        Warns
        -----
        UserWarning
            As `decision_function`.
        """
        return compute_probabilities(self._compute_scores(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Compute the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows with the same columns.

        Returns
        -------
        float64 array, shape (m, C)
        """
        with np.errstate(divide="ignore"):  # a probability may underflow to 0
            return np.asarray(np.log(compute_probabilities(self._compute_scores(X))))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Predict the classes.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Rows with the same columns.

        Returns
        -------
        array, shape (m,)
            The most probable class of each row.

        Warns
        -----
        UserWarning
            As `decision_function`.
        """
        probabilities = compute_probabilities(self._compute_scores(X))
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    @property
    def _class_names(self) -> list[str]:
        return [str(label) for label in self.classes_]

    def _screen(self, X: Any, codes: NDArray[np.intp], target_name: object) -> ScreenResult:  # noqa: N803
        """Screen with the classes as texts, which are classes to a screen without further options."""
        import pandas as pd

        names = np.array([name if name.strip() else f"class {i}" for i, name in enumerate(self._class_names)])
        target: pd.Series[Any] = pd.Series(
            names[codes], name="y" if target_name is None else str(target_name)
        )
        parameters = self.get_params(deep=False)
        screener = SymbolicScreener(
            **{name: value for name, value in parameters.items() if name not in _MODEL_PARAMETERS},
            target_type="classes",
        )
        self.screener_ = screener.fit(X, target)
        return self.screener_.result_

    def _list_candidates(self) -> list[Expression]:
        """List the columns of numbers and the features of the screen, each formula once."""
        inputs = [Column(name) for name in self._input_names if name not in self._categorical_names]
        units = self.result_.record.get("units")
        features = convert_to_original_units(self.screener_.expressions_, units)
        return list({to_text(each): each for each in (*inputs, *features)}.values())

    def _compute_scores(self, X: Any) -> Values:  # noqa: N803
        """Compute the formula, shape (m, 1) or (m, C)."""
        check_is_fitted(self)
        columns = self._read_new_rows(X, self.expressions_)
        n_rows = len(next(iter(columns.values())))
        values = evaluate_formulas(self.expressions_, columns) if self.expressions_ else np.empty((0, n_rows))
        is_undefined = np.isnan(values)
        if n_undefined := int(is_undefined.any(axis=0).sum()):
            worst = int(is_undefined.sum(axis=1).argmax())
            warnings.warn(
                f"a term of the formula is undefined in {n_undefined} of the {n_rows} rows, such as "
                f"{to_text(self.expressions_[worst])!r}: its mean over the training rows is used there",
                stacklevel=3,
            )
            values = np.where(is_undefined, self._term_means[:, None], values)
        return self.formula_.sum_terms(values).reshape(n_rows, -1)


def _to_plain_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the model by their names in `ClassifierOptions`."""
    return {name: parameters[name] for name in _MODEL_PARAMETERS} | {"seed": parameters["random_state"]}


def _build_formula(
    fit: SparseLogisticFit, terms: Sequence[Expression], class_names: Sequence[str]
) -> Formula | SharedFormula:
    """Write the model as a formula, with one line for each class if there are more than two."""
    if len(class_names) == 2:
        name = f"log_odds_{class_names[1]}"
        return Formula(name, float(fit.intercepts[0]), tuple(fit.coefficients[0].tolist()), tuple(terms))
    return SharedFormula(
        tuple(f"score_{name}" for name in class_names),
        tuple(fit.intercepts.tolist()),
        tuple(map(tuple, fit.coefficients.tolist())),
        tuple(terms),
    )
