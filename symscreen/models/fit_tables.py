"""The tables of a fit: coefficients with intervals, the front, and the rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.export import Formula
from symscreen.expression import complexity, to_text
from symscreen.models.inference import estimates_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from symscreen.models.choice import Candidate
    from symscreen.models.inference import Estimates
    from symscreen.models.search import Found
    from symscreen.response import Response

__all__ = ["fit_tables"]

_DIGITS = 6


def fit_tables(
    found: Found,
    response: Response,
    formula: Formula,
    estimates: Estimates,
    *,
    chosen: Candidate,
    front: Sequence[Candidate],
    rivals: Sequence[Candidate],
    criterion: str,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Lay out what a fit found.

    Parameters
    ----------
    found : Found
        The search.
    response : Response
        Of the rows that were searched.
    formula : Formula
        The one chosen.
    estimates : Estimates
        Of its coefficients.
    chosen : Candidate
        The model chosen.
    front, rivals : sequence of Candidate
        As `symscreen.models.choice` finds them.
    criterion : str
        The name of the score.

    Returns
    -------
    terms, front, rivals : pandas.DataFrame
        As of `FitResult`.
    """
    import pandas as pd

    names = ["", *(to_text(term) for term in formula.terms)]
    terms = pd.DataFrame(
        {
            "term": ["1", *names[1:]],
            "coefficient": [formula.intercept, *formula.coefficients],
            "low": estimates.low,
            "high": estimates.high,
            "complexity": [0, *(complexity(term) for term in formula.terms)],
        }
    )
    return (
        terms,
        _models(found, response, front, criterion, chosen),
        _models(found, response, rivals, criterion),
    )


def _models(
    found: Found,
    response: Response,
    models: Sequence[Candidate],
    criterion: str,
    chosen: Candidate | None = None,
) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for one in models:
        places = list(one.members)
        values = found.terms.values[places]  # noqa: PD011  # no frame
        fit = estimates_of(values, response.values)
        terms = tuple(found.terms.expressions[place] for place in places)
        numbers = fit.coefficients.tolist()
        shown = Formula(response.name, numbers[0], tuple(numbers[1:]), terms).rounded(_DIGITS)
        row = {
            "complexity": one.complexity,
            "terms": len(places),
            "r2": 1.0 - one.share,
            criterion: one.score,
            "rewritings": one.rewritings,
            "formula": shown.text,
        }
        rows.append(row if chosen is None else row | {"chosen": one is chosen})
    columns = ["complexity", "terms", "r2", criterion, "rewritings", "formula"]
    return pd.DataFrame(rows, columns=columns if chosen is None else [*columns, "chosen"])
