"""Safety of the terms of models on new rows: marks, and models that are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.expressions.printing import to_text
from symscreen.expressions.safety import SafetyAnalysis

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from symscreen.expressions.tree import Expression
    from symscreen.fitting.model_selection import ScoredModel
    from symscreen.fitting.search_stages import FitTask


_MAX_NAMED_TERMS = 3


def select_safe_models(
    models: Sequence[ScoredModel], expressions: Sequence[Expression], task: FitTask
) -> list[ScoredModel]:
    """Leave out the models that have a term which is not proved safe on the box of the inputs."""
    analysis = SafetyAnalysis(task.base_box)
    is_safe = {
        index: analysis.analyze(expressions[index]).is_safe
        for index in sorted({index for model in models for index in model.term_indices})
    }
    return [model for model in models if all(is_safe[index] for index in model.term_indices)]


def find_unsafe_terms(expressions: Sequence[Expression], task: FitTask) -> list[str]:
    """Return for each term why it is unsafe on the box of the inputs; an empty text for a safe one."""
    analysis = SafetyAnalysis(task.base_box)
    return [analysis.analyze(expression).reason for expression in expressions]


def add_unsafe_column(terms: pd.DataFrame, reasons: Sequence[str]) -> pd.DataFrame:
    """Add the column ``unsafe`` to the table of an intercept and the terms, if a term is unsafe."""
    return terms.assign(unsafe=["", *reasons][-len(terms) :]) if any(reasons) else terms


def format_unsafe_terms(expressions: Sequence[Expression], reasons: Sequence[str]) -> list[str]:
    """Say which terms are unsafe; no line if none is.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> format_unsafe_terms([parse_expression("1/(x - y)"), parse_expression("x")], ["pole", ""])
    ['unsafe on new rows: 1/(x - y) (pole)']
    """
    unsafe = [
        f"{to_text(each)} ({reason})" for each, reason in zip(expressions, reasons, strict=True) if reason
    ]
    if not unsafe:
        return []
    n_more = len(unsafe) - _MAX_NAMED_TERMS
    more = f" and {n_more} more" if n_more > 0 else ""
    return [f"unsafe on new rows: {', '.join(unsafe[:_MAX_NAMED_TERMS])}{more}"]
