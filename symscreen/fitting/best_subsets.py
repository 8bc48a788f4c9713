"""`symscreen.find_best_subsets`: the best linear models of a few given columns, among all of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._repr import format_result_html
from symscreen.backends import count_available_cores
from symscreen.config.parsing import check_positive_int
from symscreen.data import read_dataset
from symscreen.errors import OptionError
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.printing import format_equation_html
from symscreen.expressions.tree import Column
from symscreen.fitting.coefficients import estimate_coefficients
from symscreen.linear_models.exhaustive_subsets import find_best_models
from symscreen.linear_models.feature_pair_search import find_best_pairs
from symscreen.linear_models.gram import (
    argsort_models,
    compute_gram,
    compute_unexplained_shares,
    normalize_rows,
    normalize_target,
)
from symscreen.messages import escape_control_chars, find_options, format_count
from symscreen.targets.registry import require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

    from symscreen._typing import Integers, Values
    from symscreen.data import Dataset


_DIGITS = 6  # significant digits of coefficients
_MAX_SIZE = 5
# By size: the largest number of subsets, which take a minute or two on two cores.
_MAX_SUBSETS = {1: 10**7, 2: 10**11, 3: 3 * 10**10, 4: 3 * 10**10, 5: 3 * 10**10}
_N_REFITTED = 10_000  # subsets of three and more columns that are fitted on the columns
# size of a part of a model that is rounding, relative to the largest magnitude of the target
_ROUNDING_SHARE = 1e-13


@dataclass(frozen=True, eq=False)
class SubsetResult:
    """The best subsets of one size, among all subsets of the columns.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per subset, best first: ``columns`` (a tuple of names), ``r2``, ``unexplained`` (1 − R², which
        has more digits near an exact model) and ``formula`` (the fitted model).
    models : tuple of Formula
        The fitted models, in the order of the table.
    size : int
        Number of columns of a subset.
    n_columns : int
        Number of columns they were chosen from.
    n_rows : int
        Number of rows.
    notices : tuple of str
        Notices about the data.
    """

    table: pd.DataFrame
    models: tuple[Formula, ...]
    size: int
    n_columns: int
    n_rows: int
    notices: tuple[str, ...]

    @property
    def n_subsets(self) -> int:
        """Number of subsets; all of them were tried."""
        return comb(self.n_columns, self.size)

    @property
    def certificate(self) -> str:
        """What is known of the subsets that are not in the table, in one sentence.

        It does not speak of nearly collinear subsets, which are left out: see `find_best_subsets`.
        """
        noun = "subset" if self.n_subsets == 1 else "subsets"
        subsets = f"{self.n_subsets:,} {noun} of {self.size} of {self.n_columns:,} columns"
        if len(self.table) == self.n_subsets:
            return f"the table has all of {subsets}"
        if not len(self.table):
            return f"none of {subsets} was fitted, because all are collinear"
        least = _round_down(float(self.table.unexplained.iloc[-1]))
        claim = f"no other leaves less than {least:g} of the target's variance"
        return f"of {subsets}, {claim}, collinear ones aside"

    def _repr_html_(self) -> str:
        best = [model.round_numbers(_DIGITS) for model in self.models[:1]]
        typeset = "".join(format_equation_html(model.target, model.expression) for model in best)
        claims = (self.certificate, *self.notices)
        shown = self.table[["r2", "unexplained", "formula"]]
        return typeset + format_result_html((), claims, shown, "formula")

    def __repr__(self) -> str:
        rows = (f"{row.r2:.6f}  {row.formula}" for row in self.table.itertuples())
        lines = ["R²        formula", *rows, self.certificate, *self.notices]
        return "\n".join(map(escape_control_chars, lines))


def _round_down(number: float) -> float:
    """Round a positive number down to three significant digits."""
    rounded = float(f"{number:.3g}")
    if rounded <= number:
        return rounded
    exponent = int(f"{number:.2e}".partition("e")[2])
    return float(f"{rounded - 10.0 ** (exponent - 2):.3g}")


def find_best_subsets(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    target: str | None = None,
    inputs: Sequence[str] | None = None,
    size: int = 2,
    n_best: int = 10,
    jobs: int | None = None,
) -> SubsetResult:
    """Find the linear models of a few columns with the largest R², among all subsets of this size.

    It is the last step of methods such as SISSO: the columns are features that a screen has selected, see
    `ScreenResult.transform`. All subsets are compared; `SubsetResult.certificate` says what follows for the
    others.

    Parameters
    ----------
    X : path, pandas.DataFrame, dict of columns, or array of shape (n, d)
        As in `symscreen.screen`.
    y : array_like, shape (n,), optional
        The target, where `X` does not contain it.
    target : str, optional
        The target column. By default as in `symscreen.screen`.
    inputs : sequence of str, optional
        The columns to choose from. By default all numeric columns.
    size : int
        Number of columns of a subset, 1 to 5. Two cores need some 15 to 60 seconds for the pairs of 100,000
        columns of 400 rows, and a few seconds for 10⁹ larger subsets, such as the triples of 2,000 columns.
    n_best : int
        Number of subsets to return.
    jobs : int, optional
        Number of threads; all cores by default. The result does not depend on it.

    Returns
    -------
    SubsetResult
        Subsets whose residuals agree to 12 digits are sorted by their columns. Copies of a column are subsets
        of their own. Nearly collinear subsets are left out: those in which a column leaves less than 10⁻¹⁰ of
        its variance to the columns before it, in the order of their correlation with the target, or whose
        correlation matrix has a determinant below 10⁻¹³. Subsets of three and more columns are compared by
        their inner products, and the best 10,000 are fitted again; among subsets that are close to collinear
        and agree to five digits of R², a better one may be missed.

    Raises
    ------
    InputError
        If the data or an option cannot be used, or there are too many subsets.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("lv1")
    >>> result = symscreen.find_best_subsets(data.frame, size=2, n_best=1)
    >>> result.table["columns"][0], result.n_subsets
    (('x1', 'x2'), 1)
    """
    from threadpoolctl import threadpool_limits

    size = check_positive_int("size", size, most=_MAX_SIZE)
    n_best = check_positive_int("n_best", n_best)
    n_threads = count_available_cores() if jobs is None else check_positive_int("jobs", jobs)
    dataset = read_dataset(X, target=target, inputs=inputs, y=y, target_type="numeric")
    values = np.ascontiguousarray(dataset.columns)
    if size > min(len(values), values.shape[1] - 2):
        raise OptionError(
            f"size is {size}, but there are {format_count(len(values), 'column')} and"
            f" {format_count(values.shape[1], 'row')}: give at most the number of columns, and two less than"
            " that of rows"
        )
    if comb(len(values), size) > _MAX_SUBSETS[size]:
        raise OptionError(
            f"{len(values):,} columns have {comb(len(values), size):,} subsets of {size}, and at most"
            f" {_MAX_SUBSETS[size]:,} can be tried: select columns first, for instance by a screen"
        )
    numeric_target = require_numeric_target(dataset.target, "find_best_subsets")
    y_values = numeric_target.values  # noqa: PD011  # no series
    with threadpool_limits(1):
        members, unexplained = _search(values, y_values, size, n_best, n_threads)
    models = tuple(_fit_model(dataset, values, y_values, row) for row in members)
    return SubsetResult(
        _build_table(dataset, members, unexplained, models),
        models,
        size,
        len(values),
        len(y_values),
        # a subset has numbers only
        tuple(notice for notice in dataset.notices if "categorical" not in find_options(notice)),
    )


def _search(values: Values, y: Values, size: int, n_best: int, jobs: int) -> tuple[Integers, Values]:
    """Return the best subsets, shape (k, size), and their unexplained shares."""
    if size == 1:
        singles = np.arange(len(values))[:, None]
        unexplained = compute_unexplained_shares(normalize_rows(values), normalize_target(y), singles)
        best = argsort_models(unexplained, singles[:, 0])[:n_best]
        best = best[np.isfinite(unexplained[best])]
        return singles[best], unexplained[best]
    if size == 2:
        pairs = find_best_pairs(values, y, n_best, jobs=jobs)
        return pairs.members, pairs.unexplained
    members, unexplained = find_best_models(
        compute_gram(values, y), size, n_best, jobs, n_refitted=_N_REFITTED
    )
    return members.astype(np.int64), unexplained


def _fit_model(dataset: Dataset, values: Values, y: Values, members: Integers) -> Formula:
    """Fit the coefficients of a subset."""
    parts = np.vstack([np.ones(len(y)), values[members]])
    coefficients = estimate_coefficients(parts[1:], y).coefficients
    is_rounding = np.abs(coefficients) * np.abs(parts).max(axis=1) <= _ROUNDING_SHARE * np.abs(y).max()
    coefficients = np.where(is_rounding, 0.0, coefficients).tolist()
    terms = tuple(Column(dataset.names[member]) for member in members.tolist())
    return Formula(dataset.target.name, coefficients[0], tuple(coefficients[1:]), terms)


def _build_table(
    dataset: Dataset, members: Integers, unexplained: Values, models: Sequence[Formula]
) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "columns": [tuple(dataset.names[member] for member in row) for row in members.tolist()],
            "r2": 1.0 - unexplained,
            "unexplained": unexplained,
            "formula": [model.round_numbers(_DIGITS).equation for model in models],
        }
    )
