"""A model of columns in base units, written for the columns as they came.

What a fit returns: the formula, how sure its numbers are, and what else the data would allow.

What a fit of several targets returns: one set of terms, and coefficients for each target.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from symscreen._repr import format_repr
from symscreen.errors import escape_control_chars
from symscreen.expressions.linear_formula import Formula, SharedFormula, build_shared_formula
from symscreen.units import convert_to_original_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.grammar import Operator


__all__ = ["FitResult", "SharedFitResult", "format_fit_html", "to_original_units"]


def to_original_units(formula: Formula, record: Mapping[str, Any] | None) -> Formula:
    """Write a model so that it takes columns, and gives its target, in the units that they came in.

    Parameters
    ----------
    formula : Formula
        Of columns and a target in base units.
    record : mapping or None
        The part ``units`` of a fit's record; None where there were no units.

    Returns
    -------
    Formula

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> record = {
    ...     "columns": {"x": {"factor": "1/1000", "offset": "0"}},
    ...     "targets": {"y": {"factor": "1000", "offset": "0"}},
    ... }
    >>> print(to_original_units(Formula("y", 500.0, (4e6,), (parse_expression("x**2"),)), record).equation)
    y = 0.5 + 4000*(x/1000)**2
    """
    if record is None:
        return formula
    unit = record["targets"][formula.target]
    factor, offset = float(Fraction(unit["factor"])), float(Fraction(unit["offset"]))
    return Formula(
        formula.target,
        (formula.intercept - offset) / factor,
        tuple(number / factor for number in formula.coefficients),
        convert_to_original_units(formula.terms, record),
    )


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
    alternatives: pd.DataFrame
    r2: float
    notices: tuple[str, ...]
    record: dict[str, Any]
    operators: Mapping[str, Operator] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        head = f"<FitResult: {self.formula.round_numbers(6).equation}>"
        return format_repr(head, self.notices, {"terms": self.terms, "front": self.front})

    def _repr_html_(self) -> str:
        from symscreen.expressions.mathml import format_mathml_body
        from symscreen.expressions.tree import Column

        rounded = self.formula.round_numbers(_DIGITS)
        sides = format_mathml_body(Column(rounded.target)), format_mathml_body(rounded.expression, _DIGITS)
        typeset = f"<p><math>{'<mo>=</mo>'.join(sides)}</math></p>"
        return typeset + format_fit_html([rounded.equation], self.notices, self.terms)

    def _repr_latex_(self) -> str:
        return self.formula._repr_latex_()  # a notebook asks each for its own

    @property
    def formula_in_original_units(self) -> Formula:
        """The formula for columns in the units that they came in; `formula` where there were no units."""
        return to_original_units(self.formula, self.record.get("units"))

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
        return self.formula_in_original_units.predict(rows)

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
        save_bundle(self.formula_in_original_units, path, operators=known, record=self.record, force=force)

    def export(
        self, export_format: str, *, names: Mapping[str, str] | None = None, digits: int | None = None
    ) -> str:
        """Write the formula in another language, for columns in the units that they came in.

        Parameters
        ----------
        target : str
            One of `symscreen.export.EXPORT_FORMATS`: ``"numpy"``, ``"sql"``, ``"c"``, …
        names : mapping of str to str, optional
            What columns are called there, or their cells.
        digits : int, optional
            Of fitted numbers in ``"latex"``, 4 by default; the others write every digit.

        Returns
        -------
        str
        """
        from symscreen.export import export_formulas

        return export_formulas(self, export_format, names=names, digits=digits)


def format_fit_html(equations: Iterable[str], notices: Iterable[str], terms: pd.DataFrame) -> str:
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

    lines = "<br>".join(escape(escape_control_chars(one)) for one in equations)
    told = "".join(f"<p>{escape(escape_control_chars(notice))}</p>" for notice in notices)
    safe = terms.rename(columns=escape_control_chars).assign(
        term=list(map(escape_control_chars, terms["term"]))
    )
    with pd.option_context("display.max_colwidth", None):
        table = safe.to_html(index=False, float_format=f"{{:.{_DIGITS}g}}".format)
    return f"<p><code>{lines}</code></p>{told}{table}"


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
    alternatives: pd.DataFrame
    r2: dict[str, float]
    notices: tuple[str, ...]
    record: dict[str, Any]
    operators: Mapping[str, Operator] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        head = f"<SharedFitResult: {'; '.join(self.formula.round_numbers(6).equations)}>"
        return format_repr(head, self.notices, {"terms": self.terms, "front": self.front})

    def _repr_html_(self) -> str:
        return format_fit_html(self.formula.round_numbers(6).equations, self.notices, self.terms)

    def _repr_latex_(self) -> str:
        return self.formula._repr_latex_()  # a notebook asks each for its own

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets' names, in the order of the predictions' columns."""
        return self.formula.targets

    @property
    def formula_in_original_units(self) -> SharedFormula:
        """The formulas for columns in the units that they came in; `formula` where there were no units."""
        return build_shared_formula(
            [to_original_units(one, self.record.get("units")) for one in self.formula.complete_formulas]
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
        return self.formula_in_original_units.predict(rows)

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
        save_bundle(self.formula_in_original_units, path, operators=known, record=self.record, force=force)

    def export(
        self, export_format: str, *, names: Mapping[str, str] | None = None, digits: int | None = None
    ) -> str:
        """Write the formulas in another language, for columns in the units that they came in.

        Parameters
        ----------
        target : str
            One of `symscreen.export.EXPORT_FORMATS`: ``"numpy"``, ``"sql"``, ``"c"``, …
        names : mapping of str to str, optional
            What columns are called there, or their cells.
        digits : int, optional
            Of fitted numbers in ``"latex"``, 4 by default; the others write every digit.

        Returns
        -------
        str
        """
        from symscreen.export import export_formulas

        return export_formulas(self, export_format, names=names, digits=digits)
