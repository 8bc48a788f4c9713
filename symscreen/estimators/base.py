"""Shared parts of the estimators: parameters, checks of X, names of columns, and levels of categories."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _num_samples,
    check_array,
    check_consistent_length,
    validate_data,
)

from symscreen.config.fields import get_option, list_options, read_keywords
from symscreen.config.fit_options import FitOptions
from symscreen.data import read_frame, read_levels
from symscreen.errors import DataError, InputError, OptionError
from symscreen.estimators.input_errors import explain_input_errors
from symscreen.expressions.traversal import collect_columns, collect_indicators
from symscreen.messages import ESTIMATOR, name_option, suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from dataclasses import Field
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from symscreen.expressions.tree import Expression


_MAX_SHOWN_LEVELS = 3
_STYLE = replace(
    ESTIMATOR,
    names={
        each.name: get_option(each).estimator_name
        for each in list_options(FitOptions)
        if get_option(each).estimator_name
    },
)


@contextmanager
def raise_estimator_errors() -> Iterator[None]:
    """Let errors name the arguments of an estimator: X, y, sample_weight, groups and its parameters."""
    try:
        yield
    except InputError as error:
        error.option_style = _STYLE
        raise


class SymbolicEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The base class of `SymbolicScreener`, `SymbolicRegressor` and `SymbolicClassifier`."""

    categorical: Any
    missing: Any
    levels_: dict[str, tuple[str, ...]]

    _parameter_fields: ClassVar[tuple[Field[Any], ...]]

    def _set_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Set the parameters as attributes, unchanged, as scikit-learn expects it."""
        defaults = {field.name: field.default for field in self._parameter_fields}
        for name, value in (defaults | self._read_parameters(parameters)).items():
            setattr(self, name, value)

    def _read_parameters(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters under their own names, whichever of their names the user wrote."""
        refusal = f"{type(self).__name__} has no parameter"
        with raise_estimator_errors():
            for name in parameters:
                if ESTIMATOR.arguments.get(name):  # an option of `screen` that is an argument here
                    raise OptionError(f"{refusal} {name!r}: fit takes {name_option(name)}")
            return read_keywords(parameters, self._parameter_fields, refusal)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, as the constructor does.

        Parameters
        ----------
        **parameters
            The parameters by name.

        Returns
        -------
        estimator
            Itself.

        Raises
        ------
        OptionError
            If there is no such parameter.
        """
        super().set_params(**self._read_parameters(parameters))
        return self

    def _get_options(self) -> dict[str, Any]:
        """Return the parameters as options of a screen or a fit.

        A generator of random numbers in `random_state` draws the seed, and None is 0, because results of
        symscreen do not change from call to call.
        """
        options = dict(self.get_params(deep=False))
        options["missing"] = self.missing or "refuse"  # scikit-learn drops no rows by itself
        seed = options["random_state"]
        if seed is None:
            options["random_state"] = 0
        elif isinstance(seed, np.random.RandomState):
            options["random_state"] = int(seed.randint(np.iinfo(np.int32).max))
        return options

    def __sklearn_tags__(self) -> Any:
        """Declare that several targets are accepted, and texts in categorical columns."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.categorical = tags.input_tags.string = bool(self._categorical_names)
        tags.input_tags.allow_nan = self._fills_missing_values
        return tags

    @property
    def _fills_missing_values(self) -> bool:
        """Whether missing values of inputs are filled with medians of the rows of `fit`."""
        return self.missing in {"impute", "indicator"}

    @property
    def _categorical_names(self) -> list[str]:
        names = self.categorical
        return [names] if isinstance(names, str) else [str(name) for name in names or ()]

    @property
    def _input_names(self) -> list[str]:
        """The names of the columns in formulas: those of a data frame, else x1, x2 and so on."""
        names = getattr(self, "feature_names_in_", None)
        return [f"x{i + 1}" for i in range(self.n_features_in_)] if names is None else list(map(str, names))

    def _reject_arguments(self, arguments: Mapping[str, Any], known: Sequence[str] = ()) -> None:
        """Reject arguments of `fit` that it would ignore."""
        name = type(self).__name__
        for argument, value in arguments.items():
            if value is not None:
                raise OptionError(f"fit of {name} takes no {argument!r}{suggest(argument, known)}")

    def _read_training_rows(self, X: Any, y: Any) -> dict[str, Any]:  # noqa: N803  # scikit-learn's names
        """Check the rows of `fit`; return the columns of X by name, and set the levels of categories."""
        check_unique_columns(X)
        if y is None:
            name = type(self).__name__  # a check of scikit-learn looks for the first words
            raise DataError(f"{name} requires y to be passed, but the target y is None: call fit(X, y)")
        columns = self._check_inputs(X, reset=True)
        check_consistent_length(X, y)
        self.levels_ = {}
        for name in self._categorical_names:
            with raise_estimator_errors():
                levels, codes = read_levels(read_frame({name: columns[name]}), name)
            if n_missing := int(np.isnan(codes).sum()):
                raise DataError(
                    f"X has no category in {n_missing} of {len(codes)} rows of {name!r}: fill them, for "
                    "example with a level of their own"
                )
            self.levels_[name] = levels
        return columns

    def _read_new_rows(self, X: Any, expressions: Iterable[Expression]) -> dict[str, Any]:  # noqa: N803
        """Check new rows, return the columns by name, and warn of levels that `fit` did not see."""
        columns, used = self._check_inputs(X, reset=False), self._find_used_columns(expressions)
        for name in (each for each in self.levels_ if each in used):
            with raise_estimator_errors():
                levels, codes = read_levels(read_frame({name: columns[name]}), name)
            unseen = [code for code, level in enumerate(levels) if level not in self.levels_[name]]
            if n_rows := int(np.isin(codes, unseen).sum()):
                shown = ", ".join(repr(levels[code]) for code in unseen[:_MAX_SHOWN_LEVELS])
                n_more = len(unseen) - _MAX_SHOWN_LEVELS
                more = f" and {n_more} more" if n_more > 0 else ""
                warnings.warn(
                    f"{n_rows} of {len(codes)} rows have levels of {name!r} that fit did not see "
                    f"({shown}{more}): gates and indicators of the levels known are 0 there",
                    stacklevel=3,
                )
        return columns

    def _check_inputs(self, X: Any, *, reset: bool) -> dict[str, Any]:  # noqa: N803
        """Check inputs as scikit-learn does, and split them into columns, each of shape (n,).

        Columns are float64, those of categories are objects. With `reset`, `n_features_in_` and
        `feature_names_in_` are set, otherwise X must match them.
        """
        categorical, min_rows = self._categorical_names, 2 if reset else 1
        if categorical and not hasattr(X, "shape"):
            X = np.array(X, dtype=object)  # noqa: N806  # a list of rows
        if not categorical or issparse(X) or len(X.shape) != 2:  # validate_data rejects the last two
            with raise_estimator_errors(), explain_input_errors(X):
                values = validate_data(
                    self,
                    X,
                    reset=reset,
                    dtype="float64",
                    ensure_min_samples=min_rows,
                    ensure_all_finite="allow-nan" if self._fills_missing_values else True,
                )
            return dict(zip(self._input_names, values.T, strict=True))
        validate_data(self, X, reset=reset, skip_check_array=True)
        names = self._input_names
        for name in categorical:
            if name not in names:
                raise DataError(f"X has no column {name!r} for categorical{suggest(name, names)}")
        columns = {name: np.asarray(_take_columns(X, i)).astype(object) for i, name in enumerate(names)}
        numeric = [i for i, name in enumerate(names) if name not in categorical]
        if numeric:
            numeric_columns = _take_columns(X, numeric)
            with raise_estimator_errors(), explain_input_errors(numeric_columns, [names[i] for i in numeric]):
                values = check_array(
                    numeric_columns,
                    dtype="float64",
                    estimator=self,
                    input_name="X",
                    ensure_min_samples=min_rows,
                    ensure_all_finite="allow-nan" if self._fills_missing_values else True,
                )
            columns |= dict(zip((names[i] for i in numeric), values.T, strict=True))
        return columns

    def _find_used_columns(self, expressions: Iterable[Expression]) -> set[str]:
        """Find the columns of X that formulas are computed from."""
        expressions = tuple(expressions)
        indicators = collect_indicators(expressions)
        return set(collect_columns(*expressions) - set(indicators)).union(
            *({each.column, each.gated_column or each.column} for each in indicators.values())
        )

    def _check_feature_names(self, input_features: ArrayLike | None) -> list[str]:
        """Return the names of the columns for `get_feature_names_out`: the given ones, if they are allowed.

        The messages contain the words that scikit-learn's checks look for.
        """
        if input_features is None:
            return self._input_names
        names = list(map(str, np.asarray(input_features, dtype=object).tolist()))
        known = getattr(self, "feature_names_in_", None)
        if known is not None and names != list(map(str, known)):
            raise DataError("input_features is not equal to feature_names_in_: give none, or the same names")
        if repeated := _find_repeated(names):
            raise DataError(
                f"input_features holds {repeated!r} more than once: give each column a name of its own"
            )
        if len(names) != self.n_features_in_:
            raise DataError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), got "
                f"{len(names)}"
            )
        return names


def check_unique_columns(frame: Any, argument: str = "X") -> None:
    """Reject a data frame in which columns share a name, because formulas could not distinguish them.

    Raises
    ------
    DataError
        If two columns share a name.
    """
    if repeated := _find_repeated(list(map(str, getattr(frame, "columns", ())))):
        raise DataError(
            f"{argument} has more than one column named {repeated!r}: rename or remove the others"
        )


def check_row_weights(sample_weight: Any, X: Any) -> NDArray[np.float64] | None:  # noqa: N803
    """Check weights as scikit-learn does; a number is the weight of every row.

    Raises
    ------
    DataError
        If the weights are not one number of at least 0 for each row, or all of them are 0.

    Examples
    --------
    >>> check_row_weights([1, 2], [[0.0], [1.0]]).tolist()
    [1.0, 2.0]
    """
    if sample_weight is None:
        return None
    weights = check_array(
        sample_weight, ensure_2d=False, dtype="float64", ensure_min_samples=0, input_name="sample_weight"
    )
    if weights.ndim == 0:
        weights = np.full(_num_samples(X), weights)
    check_consistent_length(X, weights)
    if weights.ndim != 1:
        raise DataError(f"sample_weight has shape {weights.shape}: one number for each row is needed")
    if (weights < 0.0).any():
        row = int(np.flatnonzero(weights < 0.0)[0])
        raise DataError(f"sample_weight is {weights[row]:g} in row {row}: give numbers of at least 0")
    if not weights.any():
        raise DataError("sample_weight is zero in every row: no row is left")
    return np.asarray(weights)


def make_unique_name(name: str, taken_names: Collection[str]) -> str:
    """Append ``_`` to a name until no column has it.

    Examples
    --------
    >>> make_unique_name("y", ["x", "y"])
    'y_'
    """
    while name in taken_names:
        name += "_"
    return name


def _find_repeated(names: Sequence[str]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None)


def _take_columns(X: Any, indices: int | list[int]) -> Any:  # noqa: N803
    return X.iloc[:, indices] if hasattr(X, "iloc") else X[:, indices]
