"""The tables of a fit: coefficients with intervals, the front, and the rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.export import Formula
from symscreen.expression import complexity, to_text
from symscreen.models.inference import estimates_of
from symscreen.response import Response
from symscreen.units import coefficient_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from symscreen.models.choice import Candidate
    from symscreen.models.inference import Estimates
    from symscreen.models.search import Found
    from symscreen.response.kinds import NumericResponse
    from symscreen.units import Units

__all__ = ["model_table", "term_table"]

_DIGITS = 6


def term_table(fits: Sequence[tuple[Formula, Estimates, bool]], units: Units | None) -> pd.DataFrame:
    """Lay out the coefficients of one target's formula, or of several targets' formulas of the same terms.

    Parameters
    ----------
    fits : sequence of (Formula, Estimates, bool)
        As `symscreen.models.estimation.estimated` gives them.
    units : Units or None
        Those of the columns, where they have any.

    Returns
    -------
    pandas.DataFrame
        As of `FitResult`, or of `SharedFitResult` where there are several targets.
    """
    import pandas as pd

    terms = fits[0][0].terms
    columns: dict[str, Sequence[object]] = {"term": ["1", *map(to_text, terms)]}
    for formula, estimates, _ in fits:
        mark = f"[{formula.target}]" if len(fits) > 1 else ""
        columns |= {
            f"coefficient{mark}": [formula.intercept, *formula.coefficients],
            f"low{mark}": estimates.low.tolist(),
            f"high{mark}": estimates.high.tolist(),
        }
        if units is not None:
            columns[f"unit{mark}"] = coefficient_units(terms, formula.target, units)
    return pd.DataFrame({**columns, "complexity": [0, *map(complexity, terms)]})


def model_table(
    found: Found,
    response: NumericResponse,
    models: Sequence[Candidate],
    criterion: str,
    chosen: Candidate | None = None,
) -> pd.DataFrame:
    """Lay out models: of one target as formulas, of several as their features.

    Parameters
    ----------
    found : Found
        The search.
    response : Response or SeveralResponse
        Of the rows that were searched.
    models : sequence of Candidate
        The front, or the rivals, as `symscreen.models.choice` finds them.
    criterion : str
        The name of the score.
    chosen : Candidate, optional
        The model chosen; given, a column tells which it is.

    Returns
    -------
    pandas.DataFrame
        As of `FitResult`, or of `SharedFitResult` where there are several targets.
    """
    import pandas as pd

    what = "formula" if isinstance(response, Response) else "features"
    rows = []
    for one in models:
        row = {
            "complexity": one.complexity,
            "terms": len(one.members),
            "r2": 1.0 - one.share,
            criterion: one.score,
            "rewritings": one.rewritings,
            what: _formula(found, response, one) if isinstance(response, Response) else _features(found, one),
        }
        rows.append(row if chosen is None else row | {"chosen": one is chosen})
    columns = ["complexity", "terms", "r2", criterion, "rewritings", what]
    return pd.DataFrame(rows, columns=columns if chosen is None else [*columns, "chosen"])


def _formula(found: Found, response: Response, one: Candidate) -> str:
    places = list(one.members)
    values = found.terms.values[places]  # noqa: PD011  # no frame
    numbers = estimates_of(values, response.values).coefficients.tolist()
    terms = tuple(found.terms.expressions[place] for place in places)
    return Formula(response.name, numbers[0], tuple(numbers[1:]), terms).rounded(_DIGITS).text


def _features(found: Found, one: Candidate) -> str:
    texts = (to_text(found.terms.expressions[place]) for place in one.members)
    return ", ".join(texts) or "1"
