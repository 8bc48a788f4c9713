"""What a fit returns: the formula, how sure its numbers are, and what else the data would allow."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from symscreen.brief import in_brief
from symscreen.errors import printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.export import Formula
    from symscreen.grammar import Operator

__all__ = ["FitResult"]


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fitted formula and what speaks for and against it.

    Parameters
    ----------
    formula : Formula
        The model chosen: text, sympy, LaTeX, predictions.
    terms : pandas.DataFrame
        One row for the intercept and one a term: ``term``, ``coefficient``, ``low``, ``high`` (the interval),
        ``complexity``.
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
        import pandas as pd

        equation = escape(printable(self.formula.rounded(6).equation))
        notices = "".join(f"<p>{escape(printable(notice))}</p>" for notice in self.notices)
        terms = self.terms.assign(term=list(map(printable, self.terms["term"])))
        with pd.option_context("display.max_colwidth", None):  # a formula cut short is none
            return f"<p><code>{equation}</code></p>{notices}{terms.to_html(index=False)}"

    def _repr_latex_(self) -> str:
        return self.formula._repr_latex_()  # a notebook asks each for its own

    def predict(self, rows: Any) -> NDArray[np.float64]:
        """Predict the response on new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            New data with the inputs that the formula needs; an array has columns x1 … xd.

        Returns
        -------
        float64 array, shape (m,)
            NaN in rows outside a term's domain.
        """
        return self.formula.predict(rows)

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
        save_bundle(self.formula, path, operators=known, record=self.record, force=force)

    def export(self, target: str, *, names: Mapping[str, str] | None = None) -> str:
        """Write the formula in another language.

        Parameters
        ----------
        target : str
            One of `symscreen.export.TARGETS`: ``"numpy"``, ``"sql"``, ``"c"``, …
        names : mapping of str to str, optional
            What columns are called there, or their cells.

        Returns
        -------
        str
        """
        from symscreen.export import exported

        return exported(self, target, names=names)
