"""A fitted model: an intercept and a sum of features, each with its coefficient."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import FormulaError
from symscreen.export.computed import computed
from symscreen.export.latex import column_latex, rounded_number, shown_number, to_latex
from symscreen.export.parts import check_numbers
from symscreen.export.signs import sum_as_written
from symscreen.expression import Apply, Column, Constant, apply, complexity, to_sympy, to_text
from symscreen.grammar.define import finite_or_nan, plain_number, sympy_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.expression import Expression

__all__ = ["Formula", "predicted", "summed", "warn_of_gaps"]

_MOST_TERMS = 400  # trees are walked by recursion, and nobody reads a longer sum


@dataclass(frozen=True, slots=True)
class Formula:
    """A model ``target = intercept + Σ coefficient · term``.

    Parameters
    ----------
    target : str
        The name of the column that it predicts.
    intercept : float
        Finite.
    coefficients : tuple of float, length k
        Finite; k is at most 400.
    terms : tuple of Expression, length k
        The features.

    Raises
    ------
    FormulaError
        If coefficients and terms differ in number, are too many, or a number anywhere is not finite.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> formula = Formula("y", 10.02, (2.01, -4.98), (parse("x1**3"), parse("x3")))
    >>> print(formula.equation)
    y = 10.02 + 2.01*x1**3 - 4.98*x3
    >>> formula.predict({"x1": [1.0, 2.0], "x3": [0.0, 1.0]}).round(2).tolist()
    [12.03, 21.12]
    """

    target: str
    intercept: float
    coefficients: tuple[float, ...]
    terms: tuple[Expression, ...]

    def __post_init__(self) -> None:
        # numbers come from numpy as a rule, and equal formulas are to be equal whatever they came from
        plain = {
            "target": str(self.target),
            "intercept": float(self.intercept) + 0.0,  # -0.0 + 0.0 is 0.0
            "coefficients": tuple(float(coefficient) for coefficient in self.coefficients),
            "terms": tuple(self.terms),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if len(self.coefficients) != len(self.terms):
            raise FormulaError(
                f"{len(self.terms)} terms with {len(self.coefficients)} coefficients; give one for each"
            )
        if len(self.terms) > _MOST_TERMS:
            raise FormulaError(f"a formula of {len(self.terms)} terms is too long; at most {_MOST_TERMS}")
        check_numbers(self.terms)
        for number in (self.intercept, *self.coefficients):
            if not math.isfinite(number):
                raise FormulaError(f"the coefficient {number} is not finite; was the fit singular?")

    def __str__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str:
        return f"${column_latex(self.target)} = {self.latex()}$"

    @property
    def expression(self) -> Expression:
        """The right-hand side as one tree, with signs and coefficients merged as people write them.

        A coefficient multiplies the first factor of its term (``2.5*x1/x2``), so that values may differ from
        `predict` in the last digit.
        """
        return sum_as_written(self.intercept, self.coefficients, self.terms)

    @property
    def text(self) -> str:
        """The right-hand side in the one notation, with every digit.

        `symscreen.expression.parse` reads it back to `expression`, given the operators of its grammar, up to
        10,000 characters and about 140 terms.
        """
        return to_text(self.expression)

    @property
    def equation(self) -> str:
        """``target = text``."""
        return f"{to_text(Column(self.target))} = {self.text}"

    @property
    def complexity(self) -> int:
        """Add up the terms' complexities and one for each coefficient; the intercept counts nothing."""
        return len(self.coefficients) + sum(map(complexity, self.terms))

    def rounded(self, digits: int) -> Formula:
        """Round what was fitted, inside the terms too, for display; other numbers are exact.

        Parameters
        ----------
        digits : int
            Significant digits, from 1 to 17.

        Returns
        -------
        Formula
            Whose `text`, `equation` and `latex` are short.

        Raises
        ------
        OptionError
            If the digits are out of range.

        Examples
        --------
        >>> from symscreen.expression import parse
        >>> print(Formula("y", 0.0, (0.99999, -12345.678), (parse("x"), parse("1/(t + 273.15)"))).rounded(3))
        x - 12300/(t + 273.15)
        """
        terms = tuple(_short_numbers(term, digits) for term in self.terms)
        return replace(self._rounded(digits), terms=terms)

    def _rounded(self, digits: int) -> Formula:
        coefficients = tuple(rounded_number(coefficient, digits) for coefficient in self.coefficients)
        return replace(self, intercept=rounded_number(self.intercept, digits), coefficients=coefficients)

    def latex(self, digits: int = 4) -> str:
        r"""Print the right-hand side as LaTeX, without dollar signs.

        Parameters
        ----------
        digits : int
            Significant digits of coefficients, and of constants inside the terms that were fitted, from 1 to
            17; all other numbers are exact.

        Returns
        -------
        str

        Raises
        ------
        OptionError
            If the digits are out of range.

        Examples
        --------
        >>> from symscreen.expression import parse
        >>> print(Formula("y", 1e7, (-2.5, 1.0), (parse("1/x1"), parse("sin(`a b`)"))).latex())
        10^{7} - \frac{2.5}{x_{1}} + \sin\left(\mathrm{a\ b}\right)
        """
        return to_latex(self._rounded(digits).expression, digits)

    def to_sympy(self) -> Any:
        """Build the sympy form of the right-hand side; symbols are called as the columns are.

        Examples
        --------
        >>> from symscreen.expression import parse
        >>> Formula("y", 3.0, (2.0,), (parse("`a b`**2"),)).to_sympy()
        2*a b**2 + 3
        """
        import sympy

        terms = (
            sympy_number(plain_number(coefficient)) * to_sympy(term)
            for coefficient, term in zip(self.coefficients, self.terms, strict=True)
        )
        return sympy.Add(sympy_number(plain_number(self.intercept)), *terms)

    def predict(self, rows: Any) -> NDArray[np.float64]:
        """Predict the target on new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            New data with the inputs that the terms need; an array has columns x1 … xd.

        Returns
        -------
        float64 array, shape (m,)
            In the order of the rows; NaN where a term is undefined or an input is missing.

        Raises
        ------
        TableError
            If an input is missing or not numeric.

        Warns
        -----
        UserWarning
            If some predictions are NaN, with the counts.
        """
        return predicted(self, rows, stacklevel=3)


def predicted(formula: Formula, rows: Any, *, stacklevel: int) -> NDArray[np.float64]:
    """Predict as `Formula.predict` does, with the warning laid at the door of a caller further up."""
    values = computed(formula.terms, rows)
    total = summed(formula, values)
    warn_of_gaps(formula.terms, values, np.isnan(total), stacklevel=stacklevel + 1)
    return total


def summed(formula: Formula, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add a model up from the values of its terms, shape (k, m); NaN where that is not finite."""
    total = np.full(values.shape[1], formula.intercept)
    with np.errstate(all="ignore"):
        for coefficient, term in zip(formula.coefficients, values, strict=True):
            total += coefficient * term
    return np.asarray(finite_or_nan(total))


def warn_of_gaps(
    terms: tuple[Expression, ...],
    values: NDArray[np.float64],
    undefined: NDArray[np.bool_],
    *,
    stacklevel: int,
) -> None:
    """Warn where a model of terms with such values, shape (k, m), is undefined in rows, with the counts."""
    if count := np.count_nonzero(undefined):
        gaps = np.isnan(values).sum(axis=1)
        worst = f"; {to_text(terms[int(gaps.argmax())])!r} in {gaps.max()}" if gaps.any() else ""
        warnings.warn(
            f"the formula is undefined in {count} of the {undefined.size} rows and NaN there{worst}",
            stacklevel=stacklevel,
        )


def _short_numbers(expression: Expression, digits: int) -> Expression:
    match expression:
        case Constant():
            return replace(expression, value=shown_number(expression, digits))
        case Apply(operator, arguments):
            return apply(operator, *(_short_numbers(argument, digits) for argument in arguments))
    return expression
