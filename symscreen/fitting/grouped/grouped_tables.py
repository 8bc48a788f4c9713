"""Tables of a fit of groups: the constants of each group, the terms, and other models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_complexity
from symscreen.fitting.grouped.grouped_form import order_by_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from symscreen.expressions.grouped_formula import GroupedFormula
    from symscreen.fitting.grouped.group_estimates import GroupEstimates
    from symscreen.fitting.grouped.grouped_model import GroupedModel
    from symscreen.fitting.grouped.grouped_rows import GroupedRows


_DIGITS = 6  # significant digits of fitted numbers inside terms


def build_constant_table(
    model: GroupedModel, formula: GroupedFormula, estimates: GroupEstimates, rows: GroupedRows, level: float
) -> pd.DataFrame:
    """Build the table of the constants of each group; see `GroupedFitResult`."""
    import pandas as pd

    errors = order_by_text(model, estimates.varying_errors)
    quantile = _compute_quantile(estimates, level)
    columns: dict[str, Sequence[object]] = {
        formula.column: list(formula.groups),
        "rows": rows.counts.tolist(),
    }
    for constant, error in zip(formula.constants, errors, strict=True):
        values = np.array(constant.values)
        own = {
            constant.symbol: values,
            f"{constant.symbol}_se": error,
            f"{constant.symbol}_low": values - quantile * error,
            f"{constant.symbol}_high": values + quantile * error,
        }
        columns |= {name: each.tolist() for name, each in own.items()}
    return pd.DataFrame(columns)


def _compute_quantile(estimates: GroupEstimates, level: float) -> float:
    """Return the quantile of Student's t that an interval has on each side; NaN without freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(estimates.n_freedom, 0.5 + level / 2)) if estimates.n_freedom > 0 else np.nan


def build_term_table(
    model: GroupedModel, formula: GroupedFormula, estimates: GroupEstimates, level: float
) -> pd.DataFrame:
    """Build the table of the coefficients and the constants inside terms; see `GroupedFitResult`."""
    import pandas as pd

    quantile = _compute_quantile(estimates, level)
    places = order_by_text(model, np.arange(model.n_varying, dtype=np.float64)).astype(np.int64)
    names = {place: each.name for place, each in zip(places.tolist(), formula.constants, strict=True)}
    form = Formula("", 0.0, (1.0,) * len(model.terms), model.terms).round_numbers(_DIGITS)
    texts = ["1"] * model.has_intercept + [to_text(term) for term in form.terms]
    complexity = [0] * model.has_intercept + [compute_complexity(term) for term in model.terms]
    owners = np.repeat(np.arange(len(model.terms)), model.count_inner()) + model.has_intercept
    entries = [(place, "coefficient") for place in range(len(texts))] + [
        (int(each), "inside") for each in owners
    ]
    n_varying = n_shared = 0
    table: list[dict[str, Any]] = []
    for (owner, place), varies in zip(entries, (*model.varies, *model.inner_varies), strict=True):
        row: dict[str, Any] = {"term": texts[owner], "place": place}
        if varies:
            values = estimates.varying[n_varying]
            row |= {"constant": names[n_varying], "coefficient": float(values.mean())}
            row |= {"low": np.nan, "high": np.nan, "spread": float(values.std(ddof=1))}
            n_varying += 1
        else:
            value, error = float(estimates.shared[n_shared]), float(estimates.shared_errors[n_shared])
            row |= {"constant": "", "coefficient": value}
            row |= {"low": value - quantile * error, "high": value + quantile * error, "spread": np.nan}
            n_shared += 1
        table.append(row | {"complexity": complexity[owner]})
    columns = ["term", "place", "constant", "coefficient", "low", "high", "spread", "complexity"]
    return pd.DataFrame(table, columns=columns)


def build_model_table(
    models: Sequence[tuple[GroupedModel, str]],
    rows: GroupedRows,
    criterion: str,
    stage: str,
    selected: GroupedModel | None = None,
) -> pd.DataFrame:
    """Build the table of the Pareto front or of the alternatives from models and their texts."""
    import pandas as pd

    columns = ["complexity", "terms", "r2", criterion, "rewritings", "stage", "formula"]
    table = [
        [
            model.complexity,
            len(model.terms),
            1.0 - model.square / rows.total_square,
            model.compute_score(rows, criterion),
            0,
            stage if model.terms else "",
            text,
            *([] if selected is None else [model is selected]),
        ]
        for model, text in models
    ]
    return pd.DataFrame(table, columns=columns if selected is None else [*columns, "chosen"])
