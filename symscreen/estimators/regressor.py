"""A fit as a regressor: the model is a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from symscreen.estimators.inputs import named_columns, names_in_formulas, refuse_further, require_distinct
from symscreen.pipeline.fit import fit

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from symscreen.models import FitResult

__all__ = ["SymbolicRegressor"]


class SymbolicRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """A regressor whose model is a formula: a weighted sum of few symbolic features.

    Parameters
    ----------
    layers, operators, unary, binary, pool, max_complexity, keep, cut, preset
        As of `symscreen.fit`.
    terms, choose, folds, split, level, snap, seed, max_ram, jobs
        As of `symscreen.fit`.

    Attributes
    ----------
    result_ : FitResult
        Everything that the fit found: coefficients with intervals, the front, the rivals.
    formula_ : Formula
        The model: text, sympy, LaTeX.
    n_features_in_ : int
        How many columns were seen.
    feature_names_in_ : array of str
        Their names, where they were all text.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.strogatz("vdp2")
    >>> X, y = data.frame.drop(columns="target"), data.frame["target"]
    >>> model = symscreen.SymbolicRegressor(operators="strogatz", layers="u", snap=True).fit(X, y)
    >>> model.formula_.text, round(model.score(X, y), 6)
    ('-0.1*x1', 1.0)
    """

    def __init__(
        self,
        *,
        layers: str | None = None,
        operators: str = "basic",
        unary: str | None = None,
        binary: str | None = None,
        pool: str = "cumulative",
        max_complexity: int | None = None,
        keep: int | str | None = None,
        cut: str | None = None,
        preset: str | None = None,
        terms: int = 4,
        choose: str = "ebic",
        folds: int = 5,
        split: float = 0.0,
        level: float = 0.95,
        snap: bool = False,
        seed: int = 0,
        max_ram: str | int | None = None,
        jobs: int | None = None,
    ) -> None:
        self.layers = layers
        self.operators = operators
        self.unary = unary
        self.binary = binary
        self.pool = pool
        self.max_complexity = max_complexity
        self.keep = keep
        self.cut = cut
        self.preset = preset
        self.terms = terms
        self.choose = choose
        self.folds = folds
        self.split = split
        self.level = level
        self.snap = snap
        self.seed = seed
        self.max_ram = max_ram
        self.jobs = jobs

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:  # noqa: N803  # scikit-learn's names
        """Find a formula.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs; finite.
        y : array of shape (n,)
            The response.
        **refused
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
        refuse_further(type(self).__name__, refused)
        require_distinct(X)
        values, response = validate_data(self, X, y, y_numeric=True, ensure_min_samples=2, dtype="float64")
        columns, options = self._columns(values), self.get_params(deep=False)
        self.result_: FitResult = fit(columns, response, inputs=list(columns), **options)
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
        float64 array, shape (m,)
            NaN in rows outside a term's domain, with a warning that counts them.
        """
        check_is_fitted(self)
        values = validate_data(self, X, reset=False, dtype="float64")
        return self.formula_.predict(self._columns(values))

    def _columns(self, values: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        seen = getattr(self, "feature_names_in_", None)
        return named_columns(values, names_in_formulas(seen, values.shape[1]))
