"""Linear models of expressions: an intercept and a sum of terms with coefficients.

`Formula` has one target, `SharedFormula` several targets with the same terms. The module also evaluates
formulas on new rows, and builds the expression of a sum with signs and coefficients merged.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data import read_columns, read_frame
from symscreen.errors import FormulaError
from symscreen.expressions.input_ranges import clip_to_box, keep_in_box, warn_outside_ranges
from symscreen.expressions.printing import (
    format_column_latex,
    round_if_fitted,
    round_significant,
    to_latex,
    to_text,
)
from symscreen.expressions.sympy_conversion import to_sympy
from symscreen.expressions.traversal import (
    check_numbers,
    collect_indicators,
    collect_inputs,
    compute_complexity,
    evaluate_expression,
    rebuild_expression,
)
from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import replace_infinities, to_plain_number, to_sympy_number
from symscreen.grammar.parser import find_constant_name
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from symscreen.expressions.input_ranges import InputRanges
    from symscreen.expressions.tree import Expression


_MAX_TERMS = 400  # largest number of terms of a model, because expressions are traversed recursively
_ADD, _SUB, _MUL, _DIV, _INV, _NEG = (OPERATORS[name] for name in ("add", "sub", "mul", "div", "inv", "neg"))


def build_sum(intercept: float, coefficients: Sequence[float], terms: Sequence[Expression]) -> Expression:
    """Build the expression ``intercept + Σ coefficient · term`` in its usual notation.

    Parameters
    ----------
    intercept : float
        Left out if it is 0 and there are terms.
    coefficients : sequence of float, length k
        A coefficient of 1 is left out. Any other multiplies the first factor of its term: ``2.5*x1/x2``, not
        ``2.5*(x1/x2)``.
    terms : sequence of Expression, length k
        The terms.

    Returns
    -------
    Expression
        Its value equals the sum up to rounding.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(build_sum(0.0, (-1.0, 2.5, -3.0), (parse_expression("x*y"), parse_expression("1/x"),
    ...     parse_expression("-sin(y)"))))
    -x*y + 2.5/x + 3*sin(y)
    """
    total: Expression | None = Constant(to_plain_number(intercept)) if intercept else None
    for coefficient, term in zip(coefficients, terms, strict=True):
        sign, unsigned = _split_sign(term)
        value = sign * coefficient
        scaled = _scale(to_plain_number(abs(value)), unsigned)
        if total is None:
            total = _negate(scaled) if value < 0 else scaled
        else:
            total = Call(_SUB if value < 0 else _ADD, (total, scaled))
    return Constant(0) if total is None else total


def _split_sign(expression: Expression) -> tuple[int, Expression]:
    """Split the sign from a term's first factor, without changing any value."""
    match expression:
        case Constant(value) if value < 0:
            return -1, replace(expression, value=-value)
        case Call(operator, (argument,)) if operator.name == "neg":
            sign, unsigned = _split_sign(argument)
            return -sign, unsigned
        case Call(operator, (left, right)) if operator.name in {"mul", "div"}:
            sign, unsigned = _split_sign(left)
            if operator.name == "div" and unsigned == Constant(1):
                return sign, apply_operator(_INV, right)
            return sign, apply_operator(operator, unsigned, right)
    return 1, expression


def _scale(factor: float, term: Expression) -> Expression:
    """Multiply a term's first factor by a nonnegative number."""
    if factor == 1:
        return term
    match term:
        case Call(operator, (argument,)) if operator.name == "inv":
            return apply_operator(_DIV, Constant(factor), argument)
        case Call(operator, (left, right)) if operator.name in {"mul", "div"}:
            return apply_operator(operator, _scale(factor, left), right)
    return apply_operator(_MUL, Constant(factor), term)


def _negate(term: Expression) -> Expression:
    """Negate a term that has no sign: ``-x*y`` rather than ``-(x*y)``."""
    match term:
        case Constant(value) if find_constant_name(value) is None:
            return replace(term, value=-value)
        case Call(operator, (argument,)) if operator.name == "inv":
            return apply_operator(_DIV, Constant(-1), argument)
        case Call(operator, (left, right)) if operator.name in {"mul", "div"}:
            return apply_operator(operator, _negate(left), right)
    return apply_operator(_NEG, term)


def evaluate_formulas(
    expressions: Sequence[Expression],
    rows: Any,
    *,
    box: InputRanges | None = None,
    clip: bool = False,
    stacklevel: int = 1,
) -> NDArray[np.float64]:
    """Evaluate expressions on new rows.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        The expressions; k ≥ 1.
    rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
        New data, as for `symscreen.screen`; the columns of an array are named x1 to xd.
    box : mapping of str to sequence of two floats, optional
        The lowest and the highest value of inputs. There is a warning of rows outside.
    clip : bool
        Whether to move inputs into the box instead.
    stacklevel : int
        As in `warnings.warn`, relative to this function.

    Returns
    -------
    float64 array, shape (k, m)
        NaN where an expression is undefined or one of its inputs is missing.

    Raises
    ------
    DataError
        If the rows cannot be read, or an input is missing or not numeric.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> evaluate_formulas([parse_expression("2*x1"), parse_expression("1/x2")], np.array([[1.0, 0.0],
    ...     [2.0, 4.0]])).tolist()
    [[2.0, 4.0], [nan, 0.25]]
    """
    columns = keep_in_box(read_inputs(expressions, rows), box, clip=clip, stacklevel=stacklevel)
    return evaluate_on_columns(expressions, columns)


def read_inputs(expressions: Sequence[Expression], rows: Any) -> dict[str, NDArray[np.float64]]:
    """Read the inputs of expressions; without inputs, a placeholder column gives the number of rows."""
    names = collect_inputs(expressions)
    indicators = collect_indicators(expressions)
    return read_columns(rows, names, indicators) if names else {"": np.zeros(read_frame(rows).n)}


def evaluate_on_columns(
    expressions: Sequence[Expression], columns: dict[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Evaluate expressions on the columns that they need, shape (k, m)."""
    values = np.empty((len(expressions), len(next(iter(columns.values())))))
    for index, expression in enumerate(expressions):
        values[index] = evaluate_expression(expression, columns)
    return values


@dataclass(frozen=True, slots=True)
class Formula:
    """A linear model ``target = intercept + Σ coefficient · term``.

    Parameters
    ----------
    target : str
        Name of the target.
    intercept : float
        A finite number.
    coefficients : tuple of float, length k
        Finite numbers; k ≤ 400.
    terms : tuple of Expression, length k
        The features.

    Raises
    ------
    FormulaError
        If the numbers of coefficients and terms differ or exceed 400, or a number is not finite.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> formula = Formula("y", 10.02, (2.01, -4.98), (parse_expression("x1**3"), parse_expression("x3")))
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
        # Convert numpy numbers and lists, so that equal formulas compare equal.
        fields = {
            "target": str(self.target),
            "intercept": float(self.intercept) + 0.0,  # + 0.0 replaces −0.0 by 0.0
            "coefficients": tuple(float(coefficient) for coefficient in self.coefficients),
            "terms": tuple(self.terms),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if len(self.coefficients) != len(self.terms):
            raise FormulaError(
                f"{len(self.terms)} terms with {len(self.coefficients)} coefficients; give one for each"
            )
        if len(self.terms) > _MAX_TERMS:
            raise FormulaError(f"a formula of {len(self.terms)} terms is too long; at most {_MAX_TERMS}")
        check_numbers(self.terms)
        for number in (self.intercept, *self.coefficients):
            if not math.isfinite(number):
                raise FormulaError(f"the coefficient {number} is not finite; was the fit singular?")

    def __str__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str:
        return f"${format_column_latex(self.target)} = {self.to_latex()}$"

    @property
    def expression(self) -> Expression:
        """The right-hand side as one expression, with signs and coefficients merged.

        A coefficient multiplies the first factor of its term (``2.5*x1/x2``), so values can differ from
        `predict` in the last digit.
        """
        return build_sum(self.intercept, self.coefficients, self.terms)

    @property
    def text(self) -> str:
        """The right-hand side in the formula notation, with all digits.

        `symscreen.expressions.tree.parse_expression` converts it back to `expression` if the operators of its
        grammar are given, up to 10,000 characters and about 140 terms.
        """
        return to_text(self.expression)

    @property
    def equation(self) -> str:
        """The equation ``target = text``."""
        return f"{to_text(Column(self.target))} = {self.text}"

    @property
    def complexity(self) -> int:
        """The sum of the terms' complexities plus the number of coefficients, without the intercept."""
        return len(self.coefficients) + sum(map(compute_complexity, self.terms))

    def round_numbers(self, digits: int) -> Formula:
        """Round all fitted numbers for display, including those inside the terms.

        Parameters
        ----------
        digits : int
            Significant digits, from 1 to 17.

        Returns
        -------
        Formula
            A copy. Numbers that were not fitted keep all digits.

        Raises
        ------
        OptionError
            If `digits` is out of range.

        Examples
        --------
        >>> from symscreen.expressions.tree import parse_expression
        >>> print(Formula("y", 0.0, (0.99999, -12345.678), (parse_expression("x"),
        ...     parse_expression("1/(t + 273.15)"))).round_numbers(3))
        x - 12300/(t + 273.15)
        """
        terms = tuple(
            rebuild_expression(
                term,
                number=lambda constant: replace(constant, value=round_if_fitted(constant, digits)),
                call=lambda call, arguments: apply_operator(call.operator, *arguments),
            )
            for term in self.terms
        )
        return replace(self.round_coefficients(digits), terms=terms)

    def round_coefficients(self, digits: int) -> Formula:
        """Round the intercept and the coefficients."""
        coefficients = tuple(round_significant(coefficient, digits) for coefficient in self.coefficients)
        return replace(self, intercept=round_significant(self.intercept, digits), coefficients=coefficients)

    def to_latex(self, digits: int = 4) -> str:
        r"""Format the right-hand side as LaTeX, without dollar signs.

        Parameters
        ----------
        digits : int
            Significant digits of coefficients and of fitted constants inside the terms, from 1 to 17. Other
            numbers are exact.

        Returns
        -------
        str

        Raises
        ------
        OptionError
            If `digits` is out of range.

        Examples
        --------
        >>> from symscreen.expressions.tree import parse_expression
        >>> print(Formula("y", 1e7, (-2.5, 1.0), (parse_expression("1/x1"),
        ...     parse_expression("sin(`a b`)"))).to_latex())
        10^{7} - \frac{2.5}{x_{1}} + \sin\left(\mathrm{a\ b}\right)
        """
        return to_latex(self.round_coefficients(digits).expression, digits)

    def to_sympy(self) -> Any:
        """Convert the right-hand side to sympy. The symbols have the names of the columns.

        Returns
        -------
        sympy expression

        Examples
        --------
        >>> from symscreen.expressions.tree import parse_expression
        >>> Formula("y", 3.0, (2.0,), (parse_expression("`a b`**2"),)).to_sympy()
        2*a b**2 + 3
        """
        import sympy

        terms = (
            to_sympy_number(to_plain_number(coefficient)) * to_sympy(term)
            for coefficient, term in zip(self.coefficients, self.terms, strict=True)
        )
        return sympy.Add(to_sympy_number(to_plain_number(self.intercept)), *terms)

    def predict(self, rows: Any) -> NDArray[np.float64]:
        """Predict the target for new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            New data with the inputs of the terms; the columns of an array are named x1 to xd.

        Returns
        -------
        float64 array, shape (m,)
            Predictions in the order of the rows, NaN where a term is undefined or an input is missing.

        Raises
        ------
        DataError
            If an input is missing or not numeric.

        Warns
        -----
        UserWarning
            If predictions are NaN. The message gives their number.
        """
        return predict_formula(self, rows, stacklevel=3)

    def sum_terms(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the model, shape (m,), from the values of its terms, shape (k, m); NaN if not finite."""
        total = np.full(values.shape[1], self.intercept)
        with np.errstate(all="ignore"):
            for coefficient, term in zip(self.coefficients, values, strict=True):
                total += coefficient * term
        return np.asarray(replace_infinities(total))

    def map_models(self, change: Callable[[Formula], Formula]) -> Formula:
        """Return the changed formula, as `SharedFormula.map_models` does for each target."""
        return change(self)


@dataclass(frozen=True, slots=True)
class SharedFormula:
    """K linear models ``target_t = intercept_t + Σ_j coefficient_tj · term_j`` with the same terms.

    Parameters
    ----------
    targets : tuple of str, length K
        Distinct names of the targets; K ≥ 1.
    intercepts : tuple of float, length K
        Finite numbers.
    coefficients : tuple of K tuples of float, each of length k
        Finite numbers; k ≤ 400.
    terms : tuple of Expression, length k
        The features.

    Raises
    ------
    FormulaError
        If lengths do not match, a target is repeated, or a number is not finite.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> both = SharedFormula(("u", "v"), (1.0, 0.0), ((2.0, -1.0), (0.5, 3.0)),
    ...     (parse_expression("x1**2"), parse_expression("x2")))
    >>> print(*both.equations, sep="; ")
    u = 1 + 2*x1**2 - x2; v = 0.5*x1**2 + 3*x2
    >>> both.predict({"x1": [1.0, 2.0], "x2": [0.0, 1.0]}).tolist()
    [[3.0, 0.5], [8.0, 5.0]]
    """

    targets: tuple[str, ...]
    intercepts: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    terms: tuple[Expression, ...]

    def __post_init__(self) -> None:
        targets = tuple(map(str, self.targets))
        if not len(targets) == len(self.intercepts) == len(self.coefficients) or not targets:
            raise FormulaError(
                f"{len(targets)} targets with {len(self.intercepts)} intercepts and "
                f"{len(self.coefficients)} lists of coefficients; give one of each for at least one target"
            )
        duplicates = [name for name in targets if targets.count(name) > 1]
        if duplicates:
            raise FormulaError(f"the target {duplicates[0]!r} is repeated; give each once")
        object.__setattr__(self, "targets", targets)
        formulas = self.complete_formulas  # checks and converts all numbers
        fields = {
            "intercepts": tuple(formula.intercept for formula in formulas),
            "coefficients": tuple(formula.coefficients for formula in formulas),
            "terms": tuple(self.terms),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return "\n".join(self.equations)

    def _repr_latex_(self) -> str:
        lines = r" \\ ".join(
            f"{format_column_latex(formula.target)} = {formula.to_latex()}" for formula in self.formulas
        )
        return rf"$\begin{{gathered}}{lines}\end{{gathered}}$"

    @property
    def complete_formulas(self) -> tuple[Formula, ...]:
        """The model of each target, including terms with coefficient 0."""
        models = zip(self.targets, self.intercepts, self.coefficients, strict=True)
        return tuple(Formula(*model, self.terms) for model in models)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The model of each target, without terms with coefficient 0."""
        return tuple(_drop_zero_terms(formula) for formula in self.complete_formulas)

    @property
    def equations(self) -> tuple[str, ...]:
        """The equation ``target = text`` of each target."""
        return tuple(formula.equation for formula in self.formulas)

    @property
    def complexity(self) -> int:
        """The sum of the terms' complexities plus the number of terms, for any number of targets."""
        return self.complete_formulas[0].complexity

    def get_formula(self, target: str) -> Formula:
        """Return the model of one target.

        Parameters
        ----------
        target : str
            Name of the target.

        Returns
        -------
        Formula

        Raises
        ------
        FormulaError
            If there is no such target.
        """
        if target not in self.targets:
            raise FormulaError(f"there is no target {target!r}{suggest(target, self.targets)}")
        return self.formulas[self.targets.index(target)]

    def round_numbers(self, digits: int) -> SharedFormula:
        """Round all fitted numbers for display, see `Formula.round_numbers`."""
        return self.map_models(lambda formula: formula.round_numbers(digits))

    def map_models(self, change: Callable[[Formula], Formula]) -> SharedFormula:
        """Change the complete model of each target; the changed models have the same terms."""
        return build_shared_formula(list(map(change, self.complete_formulas)))

    def sum_terms(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the models, shape (m, K), from the values of the terms, shape (k, m), if they are used."""
        is_used = np.array(self.coefficients) != 0.0
        sums = [model.sum_terms(values[used]) for model, used in zip(self.formulas, is_used, strict=True)]
        return np.stack(sums, axis=1)

    def predict(self, rows: Any) -> NDArray[np.float64]:
        """Predict the targets for new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            New data with the inputs of the terms; the columns of an array are named x1 to xd.

        Returns
        -------
        float64 array, shape (m, K)
            One column per target, NaN where a term is undefined or an input is missing.

        Raises
        ------
        DataError
            If an input is missing or not numeric.

        Warns
        -----
        UserWarning
            If predictions are NaN. The message gives the number of rows.
        """
        return predict_formula(self, rows, stacklevel=3)


def _drop_zero_terms(formula: Formula) -> Formula:
    """Remove terms with coefficient 0 from a model."""
    used = [pair for pair in zip(formula.coefficients, formula.terms, strict=True) if pair[0] != 0.0]
    coefficients, terms = zip(*used, strict=True) if used else ((), ())
    return Formula(formula.target, formula.intercept, coefficients, terms)


def build_shared_formula(formulas: Sequence[Formula]) -> SharedFormula:
    """Combine at least one model with the same terms.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> terms = (parse_expression("x"),)
    >>> build_shared_formula([Formula("u", 1.0, (2.0,), terms), Formula("v", 0.0, (3.0,), terms)]).targets
    ('u', 'v')
    """
    return SharedFormula(
        tuple(formula.target for formula in formulas),
        tuple(formula.intercept for formula in formulas),
        tuple(formula.coefficients for formula in formulas),
        formulas[0].terms,
    )


def predict_formula(
    formula: Formula | SharedFormula,
    rows: Any,
    *,
    stacklevel: int,
    input_ranges: InputRanges | None = None,
    clip_box: InputRanges | None = None,
) -> NDArray[np.float64]:
    """Predict as the method `predict` does, and attribute its warnings to a caller further up the stack.

    `stacklevel` is that of `warnings.warn`, relative to this function. With `input_ranges`, the lowest and
    the highest value of each input in the training rows, it warns of rows outside of them. With `clip_box`,
    inputs are moved into this box instead.
    """
    columns = read_inputs(formula.terms, rows)
    if clip_box is not None:
        columns = clip_to_box(columns, clip_box)
    elif input_ranges is not None:
        warn_outside_ranges(columns, input_ranges, stacklevel)
    return evaluate_model(formula, columns, stacklevel=stacklevel + 1)


def evaluate_model(
    formula: Formula | SharedFormula,
    columns: dict[str, NDArray[np.float64]],
    *,
    stacklevel: int,
    is_expected: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Evaluate a model on columns, and warn of rows where it is undefined, unless that is expected.

    `stacklevel` is that of `warnings.warn`, relative to this function.
    """
    values = evaluate_on_columns(formula.terms, columns)
    total = formula.sum_terms(values)
    is_undefined = np.isnan(total).reshape(len(total), -1).any(axis=1)
    if is_expected is not None:
        is_undefined &= ~is_expected
    if n_undefined := np.count_nonzero(is_undefined):
        n_missing = np.isnan(values[:, is_undefined]).sum(axis=1)
        worst = (
            f"; {to_text(formula.terms[int(n_missing.argmax())])!r} in {n_missing.max()}"
            if n_missing.any()
            else ""
        )
        warnings.warn(
            f"the formula is undefined in {n_undefined} of the {len(total)} rows and NaN there{worst}",
            stacklevel=stacklevel,
        )
    return total
