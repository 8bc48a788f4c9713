"""Build the tables of a fit: the terms with their coefficients, and the models of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_complexity
from symscreen.fitting.coefficients import estimate_coefficients, get_targets
from symscreen.units import format_coefficient_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.fitting.formula_fits import FormulaFits
    from symscreen.fitting.model_selection import ScoredModel
    from symscreen.fitting.subset_search import ModelSearchResult
    from symscreen.linear_models.row_weights import RowWeights
    from symscreen.units import Units


TABLE_DIGITS = 6
"""Significant digits of coefficients in tables."""


def build_term_table(fits: FormulaFits, units: Units | None) -> pd.DataFrame:
    """Build the table of coefficients, for one target or for several targets with the same terms.

    Parameters
    ----------
    fits : sequence of (Formula, CoefficientEstimates, bool)
        Result of `fit_formulas`.
    units : Units or None
        Units of the columns, if any.

    Returns
    -------
    pandas.DataFrame
        Table ``terms`` of `FitResult` or, with several targets, of `SharedFitResult`.
    """
    import pandas as pd

    terms = fits[0][0].terms
    first = 0 if fits[0][1].has_intercept else 1
    columns: dict[str, Sequence[object]] = {"term": ["1", *map(to_text, terms)]}
    for formula, estimates, _ in fits:
        suffix = f"[{formula.target}]" if len(fits) > 1 else ""
        columns |= {
            f"coefficient{suffix}": [formula.intercept, *formula.coefficients],
            f"low{suffix}": estimates.low.tolist(),
            f"high{suffix}": estimates.high.tolist(),
        }
        if units is not None:
            columns[f"unit{suffix}"] = format_coefficient_units(terms, formula.target, units)
    columns["complexity"] = [0, *map(compute_complexity, terms)]
    return pd.DataFrame({name: values[first:] for name, values in columns.items()})


def build_model_table(
    search_result: ModelSearchResult,
    dataset: Dataset,
    models: Sequence[ScoredModel],
    criterion: str,
    selected: ScoredModel | None = None,
    *,
    row_weights: RowWeights | None = None,
) -> pd.DataFrame:
    """Build a table of models, with a formula for one target, or the features for several targets.

    Parameters
    ----------
    search_result : ModelSearchResult
        Result of the search.
    dataset : Dataset
        The rows that were searched.
    models : sequence of ScoredModel
        The Pareto front or the alternatives, see `symscreen.fitting.model_selection`.
    criterion : str
        Name of the score.
    selected : ScoredModel, optional
        The selected model. If given, a column marks it.
    row_weights : RowWeights, optional
        Weights of the rows.

    Returns
    -------
    pandas.DataFrame
        Table ``front`` or ``alternatives`` of `FitResult` or, with several targets, of `SharedFitResult`.
    """
    import pandas as pd

    targets = get_targets(dataset)
    text_column = "features" if len(targets) > 1 else "formula"
    rows = []
    for model in models:
        row = {
            "complexity": model.complexity,
            "terms": len(model.term_indices),
            "r2": 1.0 - model.unexplained_share,
            criterion: model.score,
            "rewritings": model.n_rewritings,
            "stage": model.stage or "",
            text_column: _format_features(search_result, model)
            if len(targets) > 1
            else _format_fitted_formula(search_result, targets, model, row_weights),
        }
        rows.append(row if selected is None else row | {"chosen": model is selected})
    columns = ["complexity", "terms", "r2", criterion, "rewritings", "stage", text_column]
    return pd.DataFrame(rows, columns=columns if selected is None else [*columns, "chosen"])


def _format_fitted_formula(
    search_result: ModelSearchResult,
    targets: dict[str, Values],
    model: ScoredModel,
    row_weights: RowWeights | None,
) -> str:
    """Format a model as a formula with coefficients that are fitted to the only target."""
    ((name, target),) = targets.items()
    terms = search_result.terms.take(np.array(model.term_indices, dtype=np.int64))
    estimates = estimate_coefficients(
        terms.values, target, has_intercept=model.has_intercept, row_weights=row_weights
    )
    intercept, *coefficients = estimates.coefficients.tolist()
    return Formula(name, intercept, tuple(coefficients), terms.expressions).round_numbers(TABLE_DIGITS).text


def _format_features(search_result: ModelSearchResult, model: ScoredModel) -> str:
    """Format the features of a model."""
    texts = (to_text(search_result.terms.expressions[index]) for index in model.term_indices)
    return ", ".join(texts) or "1"
