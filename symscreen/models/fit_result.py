"""What a fit returns: the formula, how sure its numbers are, and what else the data would allow."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from symscreen.brief import in_brief
from symscreen.errors import printable
from symscreen.models.as_given import as_given

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.export import Formula
    from symscreen.grammar import Operator

__all__ = ["FitResult", "html_of"]

_DIGITS = 6


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fitted formula and what speaks for and against it.

    Parameters
    ----------
    formula : Formula
        The model chosen: text, sympy, LaTeX, predictions. With units it is of columns, and a target, in base
        units.
    terms : pandas.DataFrame
        One row for the intercept and one a term: ``term``, ``coefficient``, ``low``, ``high`` (the interval),
        ``complexity``; with units ``unit``, the coefficient's.
    front : pandas.DataFrame
        The Pareto front of error against complexity, simplest first, and the model chosen: ``complexity``,
        ``terms``, ``r2``, the criterion, ``rewritings``, ``formula``, ``chosen``.
    rivals : pandas.DataFrame
        Other formulas that fit as well, as far as the criterion can tell, with the same columns.
    r2 : float
        1 − RSS/TSS of the formula on the rows that gave its coefficients.
    notices : tuple of str
        What a reader should know.
    record : dict
        How the fit was made.
    operators : mapping of str to Operator
        The grammar's own, for `save`: definitions may call others that stand in no term.
    """

    formula: Formula
    terms: pd.DataFrame
    front: pd.DataFrame
    rivals: pd.DataFrame
    r2: float
    notices: tuple[str, ...]
    record: dict[str, Any]
    operators: Mapping[str, Operator] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        head = f"<FitResult: {self.formula.rounded(6).equation}>"
        return in_brief(head, self.notices, {"terms": self.terms, "front": self.front})

    def _repr_html_(self) -> str:
        from symscreen.export.mathml import mathml_body
        from symscreen.expression import Column

        rounded = self.formula.rounded(_DIGITS)
        sides = mathml_body(Column(rounded.target)), mathml_body(rounded.expression, _DIGITS)
        typeset = f"<p><math>{'<mo>=</mo>'.join(sides)}</math></p>"
        return typeset + html_of([rounded.equation], self.notices, self.terms)

    def _repr_latex_(self) -> str:
        return self.formula._repr_latex_()  # a notebook asks each for its own

    @property
    def given(self) -> Formula:
        """The formula for columns in the units that they came in; `formula` where there were no units."""
        return as_given(self.formula, self.record.get("units"))

    def predict(self, rows: Any) -> NDArray[np.float64]:
        """Predict the response on new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            New data with the inputs that the formula needs, in the units of the data that were fitted; an
            array has columns x1 … xd.

        Returns
        -------
        float64 array, shape (m,)
            In the target's own units; NaN in rows outside a term's domain.
        """
        return self.given.predict(rows)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the formula as a bundle that ``symscreen apply`` reads.

        Parameters
        ----------
        path : str or Path
            The file's name; ``-`` is standard output.
        force : bool
            Whether an existing file may be overwritten.
        """
        from symscreen.export import save_bundle
        from symscreen.grammar import OPERATORS

        known = {**OPERATORS, **self.operators}
        save_bundle(self.given, path, operators=known, record=self.record, force=force)

    def export(
        self, target: str, *, names: Mapping[str, str] | None = None, digits: int | None = None
    ) -> str:
        """Write the formula in another language, for columns in the units that they came in.

        Parameters
        ----------
        target : str
            One of `symscreen.export.TARGETS`: ``"numpy"``, ``"sql"``, ``"c"``, …
        names : mapping of str to str, optional
            What columns are called there, or their cells.
        digits : int, optional
            Of fitted numbers in ``"latex"``, 4 by default; the others write every digit.

        Returns
        -------
        str
        """
        from symscreen.export import exported

        return exported(self, target, names=names, digits=digits)


def html_of(equations: Iterable[str], notices: Iterable[str], terms: pd.DataFrame) -> str:
    """Write what a notebook shows of a fit.

    Parameters
    ----------
    equations : iterable of str
        One for each target.
    notices : iterable of str
        For people.
    terms : pandas.DataFrame
        With the column ``term``.

    Returns
    -------
    str
        HTML in which names are text, and no formula is cut short.
    """
    import pandas as pd

    lines = "<br>".join(escape(printable(one)) for one in equations)
    told = "".join(f"<p>{escape(printable(notice))}</p>" for notice in notices)
    safe = terms.rename(columns=printable).assign(term=list(map(printable, terms["term"])))
    with pd.option_context("display.max_colwidth", None):
        table = safe.to_html(index=False, float_format=f"{{:.{_DIGITS}g}}".format)
    return f"<p><code>{lines}</code></p>{told}{table}"
