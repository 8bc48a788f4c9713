"""What a fit of several targets returns: one set of terms, and coefficients for each target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from symscreen.brief import in_brief
from symscreen.export import SharedFormula, shared_formula
from symscreen.models.as_given import as_given
from symscreen.models.fit_result import html_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.grammar import Operator

__all__ = ["SharedFitResult"]


@dataclass(frozen=True, eq=False)
class SharedFitResult:
    """A fitted formula for each of several targets, of the same terms.

    Parameters
    ----------
    formula : SharedFormula
        The model chosen: `formula.of("a")` is that of one target.
    terms : pandas.DataFrame
        One row for the intercept and one a term: ``term``, for each target such as a ``coefficient[a]``,
        ``low[a]`` and ``high[a]`` (the interval), with units ``unit[a]``; ``complexity``.
    front : pandas.DataFrame
        The Pareto front of error against complexity, simplest first, and the model chosen: ``complexity``,
        ``terms``, ``r2`` (the mean over targets), the criterion, ``rewritings``, ``features``, ``chosen``.
    rivals : pandas.DataFrame
        Other models that fit as well, as far as the criterion can tell, with the same columns.
    r2 : dict of str to float
        1 − RSS/TSS of each target's formula on the rows that gave its coefficients.
    notices : tuple of str
        What a reader should know.
    record : dict
        How the fit was made.
    operators : mapping of str to Operator
        The grammar's own, for `save`: definitions may call others that stand in no term.
    """

    formula: SharedFormula
    terms: pd.DataFrame
    front: pd.DataFrame
    rivals: pd.DataFrame
    r2: dict[str, float]
    notices: tuple[str, ...]
    record: dict[str, Any]
    operators: Mapping[str, Operator] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        head = f"<SharedFitResult: {'; '.join(self.formula.rounded(6).equations)}>"
        return in_brief(head, self.notices, {"terms": self.terms, "front": self.front})

    def _repr_html_(self) -> str:
        return html_of(self.formula.rounded(6).equations, self.notices, self.terms)

    def _repr_latex_(self) -> str:
        return self.formula._repr_latex_()  # a notebook asks each for its own

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets' names, in the order of the predictions' columns."""
        return self.formula.targets

    @property
    def given(self) -> SharedFormula:
        """The formulas for columns in the units that they came in; `formula` where there were no units."""
        return shared_formula(
            [as_given(one, self.record.get("units")) for one in self.formula.with_all_terms]
        )

    def predict(self, rows: Any) -> NDArray[np.float64]:
        """Predict the targets on new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            New data with the inputs that the formulas need, in the units of the data that were fitted; an
            array has columns x1 … xd.

        Returns
        -------
        float64 array, shape (m, K)
            A column for each of `targets`, in its own units; NaN in rows outside a term's domain.
        """
        return self.given.predict(rows)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the formulas as a bundle that ``symscreen apply`` reads.

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
        """Write the formulas in another language, for columns in the units that they came in.

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
