"""One formula whose constants differ from group to group: ``y = a[material]*x1 + 2*x2``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data import read_columns, read_frame, read_frame_with_column, read_levels
from symscreen.errors import FormulaError
from symscreen.expressions.input_ranges import clip_to_box, warn_outside_ranges
from symscreen.expressions.linear_formula import Formula, SharedFormula, evaluate_model, predict_formula
from symscreen.expressions.printing import (
    format_column_latex,
    round_significant,
    to_latex,
    to_readable_text,
)
from symscreen.expressions.traversal import (
    collect_indicators,
    collect_inputs,
    compute_complexity,
    rebuild_expression,
)
from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.grammar import OPERATORS
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from symscreen.expressions.input_ranges import InputRanges
    from symscreen.expressions.tree import Expression


_MAX_NAMED_GROUPS = 3
_ONE = Constant(1)


@dataclass(frozen=True, slots=True)
class GroupConstant:
    """A constant of a formula with a value for each group.

    Parameters
    ----------
    symbol : str
        What it is called, such as ``a``.
    column : str
        The column of the groups, such as ``material``.
    values : tuple of float, length G
        Its value in each group, finite.
    """

    symbol: str
    column: str
    values: tuple[float, ...]

    @property
    def name(self) -> str:
        """The name of the column that stands for it in the terms, such as ``a[material]``."""
        return f"{self.symbol}[{self.column}]"


@dataclass(frozen=True, slots=True)
class GroupedFormula:
    """A formula that all groups share, with the constants that differ from group to group.

    Parameters
    ----------
    form : Formula
        The formula. Constants that vary stand in its terms as columns with the names of `constants`; the
        coefficient of such a term is 1.
    column : str
        The column of the groups.
    groups : tuple of str, length G
        The names of the groups, distinct.
    constants : tuple of GroupConstant
        The constants that vary, in the order of the form.

    Raises
    ------
    FormulaError
        If a group or a constant is repeated, or a constant does not have a finite value for each group.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> form = Formula("y", 0.0, (1.0, 2.0), (parse_expression("`a[ore]`*x"), parse_expression("z")))
    >>> formula = GroupedFormula(form, "ore", ("p", "q"), (GroupConstant("a", "ore", (3.0, -1.0)),))
    >>> print(formula.equation)
    y = a[ore]*x + 2*z
    >>> print(formula.get_formula("q").equation)
    y = -x + 2*z
    >>> formula.predict({"ore": ["q", "p"], "x": [1.0, 1.0], "z": [0.0, 1.0]}).tolist()
    [-1.0, 5.0]
    """

    form: Formula
    column: str
    groups: tuple[str, ...]
    constants: tuple[GroupConstant, ...]

    def __post_init__(self) -> None:
        names = [each.name for each in self.constants]
        for what, words in (("group", list(self.groups)), ("constant", names)):
            if len(set(words)) < len(words):
                raise FormulaError(f"a {what} is repeated in {', '.join(map(repr, words))}; give each once")
        for each in self.constants:
            if len(each.values) != len(self.groups) or not np.isfinite(each.values).all():
                raise FormulaError(
                    f"the constant {each.name!r} needs one finite value for each of {len(self.groups)} groups"
                )

    def __str__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str:
        return f"${format_column_latex(self.target)} = {self.to_latex()}$"

    @property
    def target(self) -> str:
        """Name of the target."""
        return self.form.target

    @property
    def terms(self) -> tuple[Expression, ...]:
        """The terms of the form, with columns for the constants that vary."""
        return self.form.terms

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that the formula is computed from, without that of the groups."""
        names = {each.name for each in self.constants}
        return tuple(name for name in collect_inputs(self.terms) if name not in names)

    @property
    def text(self) -> str:
        """The right-hand side with the names of the constants that vary, as in ``a[material]*x1``."""
        return to_readable_text(self.form.expression, {each.name for each in self.constants})

    @property
    def equation(self) -> str:
        """The equation ``target = text``."""
        return f"{to_readable_text(Column(self.target))} = {self.text}"

    @property
    def complexity(self) -> int:
        """The sum of the terms' complexities, plus the number of coefficients without the intercept.

        A coefficient counts as one, whether it varies or not.
        """
        n_intercepts = sum(term == Column(each.name) for term in self.terms for each in self.constants)
        coefficients = sum(_split_coefficient(term, self.constants)[0] is not None for term in self.terms)
        return sum(map(compute_complexity, self.terms)) + len(self.terms) - 2 * coefficients - n_intercepts

    def get_formula(self, group: str) -> Formula:
        """Return the formula of one group.

        Parameters
        ----------
        group : str
            Name of the group.

        Returns
        -------
        Formula

        Raises
        ------
        FormulaError
            If there is no such group.
        """
        if group not in self.groups:
            raise FormulaError(f"there is no group {group!r}{suggest(group, self.groups)}")
        place = self.groups.index(group)
        values = {each.name: each.values[place] for each in self.constants}

        def insert(column: Column) -> Expression:
            return Constant(values[column.name], fitted=True) if column.name in values else column

        intercept = self.form.intercept
        coefficients, terms = list[float](), []
        for coefficient, term in zip(self.form.coefficients, self.terms, strict=True):
            name, rest = _split_coefficient(term, self.constants)
            value = coefficient if name is None else coefficient * values[name]
            if rest == _ONE:
                intercept += value
                continue
            coefficients.append(value)
            terms.append(rebuild_expression(rest, column=insert))
        return Formula(self.target, intercept, tuple(coefficients), tuple(terms))

    def round_numbers(self, digits: int) -> GroupedFormula:
        """Round all fitted numbers for display, see `Formula.round_numbers`."""
        constants = tuple(
            replace(each, values=tuple(round_significant(value, digits) for value in each.values))
            for each in self.constants
        )
        return replace(self, form=self.form.round_numbers(digits), constants=constants)

    def to_latex(self, digits: int = 4) -> str:
        r"""Format the right-hand side as LaTeX, without dollar signs; constants that vary have an index.

        Examples
        --------
        >>> from symscreen.expressions.tree import parse_expression
        >>> form = Formula("y", 0.0, (1.0,), (parse_expression("`a[ore]`*x"),))
        >>> print(GroupedFormula(form, "ore", ("p",), (GroupConstant("a", "ore", (3.0,)),)).to_latex())
        a_{\mathrm{ore}}\,x
        """
        index = format_column_latex(self.column, is_upright=True)
        names = {each.name: f"{each.symbol}_{{{index}}}" for each in self.constants}
        return to_latex(self.form.round_coefficients(digits).expression, digits, names)

    def to_sympy(self) -> Any:
        """Convert the right-hand side to sympy. Constants that vary are symbols, such as ``a[material]``."""
        return self.form.to_sympy()

    def predict(self, rows: Any) -> NDArray[np.float64]:
        """Predict the target for new rows.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            New data with the column of the groups and the inputs.

        Returns
        -------
        float64 array, shape (m,)
            Predictions in the order of the rows; NaN in rows of unknown groups, and where a term is undefined
            or an input is missing.

        Warns
        -----
        UserWarning
            If predictions are NaN. The message gives their number.
        """
        return predict_grouped_formula(self, rows, stacklevel=3)


def _split_coefficient(term: Expression, constants: Sequence[GroupConstant]) -> tuple[str | None, Expression]:
    """Split the constant that multiplies a term's first factor; None if it has no such constant."""
    match term:
        case Column(name) if any(each.name == name for each in constants):
            return name, _ONE
        case Call(operator, (left, right)) if operator.name in {"mul", "div"}:
            leading, rest = _split_coefficient(left, constants)
            if leading is None:
                return None, term
            if rest == _ONE:
                return leading, right if operator.name == "mul" else apply_operator(OPERATORS["inv"], right)
            return leading, apply_operator(operator, rest, right)
    return None, term


def multiply_by_constant(name: str, term: Expression) -> Expression:
    """Multiply a term's first factor by a constant that varies.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(multiply_by_constant("a", parse_expression("x/z")), multiply_by_constant("a",
    ...     parse_expression("1/z")))
    a*x/z a/z
    """
    match term:
        case Constant(1):
            return Column(name)
        case Call(operator, (argument,)) if operator.name == "inv":
            return apply_operator(OPERATORS["div"], Column(name), argument)
        case Call(operator, (left, right)) if operator.name in {"mul", "div"}:
            return apply_operator(operator, multiply_by_constant(name, left), right)
    return apply_operator(OPERATORS["mul"], Column(name), term)


def list_symbols(column: str, taken: Collection[str], limit: int) -> list[str]:
    """List symbols of constants that vary with a column of groups; their names are no names of columns.

    Examples
    --------
    >>> list_symbols("site", ["a[site]"], 2)
    ['b', 'c']
    """
    letters = "abcdfghjklmnopqrstuvwz"  # without e and i, which are numbers, and x and y, often columns
    symbols = [f"{letter}{number}" for number in ("", *range(1, limit + 2)) for letter in letters]
    return [each for each in symbols if GroupConstant(each, column, ()).name not in taken][:limit]


def predict_grouped_formula(
    formula: GroupedFormula,
    rows: Any,
    *,
    stacklevel: int,
    input_ranges: InputRanges | None = None,
    clip_box: InputRanges | None = None,
) -> NDArray[np.float64]:
    """Predict as `symscreen.expressions.linear_formula.predict_formula` does, for the group of each row."""
    frame: Any = read_frame_with_column(rows, formula.column, "per")
    names = formula.inputs
    columns = read_columns(frame, names, collect_indicators(formula.terms)) if names else {}
    if clip_box is not None:
        columns = clip_to_box(columns, clip_box)
    elif input_ranges is not None:
        warn_outside_ranges(columns, input_ranges, stacklevel)
    codes = find_groups(frame, formula, stacklevel=stacklevel)
    known = np.maximum(codes, 0)
    for each in formula.constants:
        columns[each.name] = np.where(codes >= 0, np.array(each.values)[known], np.nan)
    if not columns:
        columns[""] = np.zeros(len(codes))
    total = evaluate_model(formula.form, columns, stacklevel=stacklevel + 1, is_expected=codes < 0)
    return np.where(codes >= 0, total, np.nan)


def predict_model(
    formula: Formula | SharedFormula | GroupedFormula,
    rows: Any,
    *,
    stacklevel: int,
    input_ranges: InputRanges | None = None,
    clip_box: InputRanges | None = None,
) -> NDArray[np.float64]:
    """Predict with a model of any kind; see `symscreen.expressions.linear_formula.predict_formula`."""
    stacklevel += 1
    if isinstance(formula, GroupedFormula):
        return predict_grouped_formula(
            formula, rows, stacklevel=stacklevel, input_ranges=input_ranges, clip_box=clip_box
        )
    return predict_formula(formula, rows, stacklevel=stacklevel, input_ranges=input_ranges, clip_box=clip_box)


def find_groups(rows: Any, formula: GroupedFormula, *, stacklevel: int) -> NDArray[np.int64]:
    """Find the group of each row, shape (m,); −1 and a warning for groups that the formula does not have."""
    levels, codes = read_levels(read_frame(rows), formula.column)
    places = np.array(
        [formula.groups.index(each) if each in formula.groups else -1 for each in levels] + [-1]
    )
    found = places[np.where(np.isnan(codes), len(levels), codes).astype(np.int64)]
    if n_unknown := int((found < 0).sum()):
        unknown = [repr(level) for level, place in zip(levels, places.tolist(), strict=False) if place < 0]
        n_more = len(unknown) - _MAX_NAMED_GROUPS
        more = f" and {n_more} more" if n_more > 0 else ""
        shown = ", ".join(unknown[:_MAX_NAMED_GROUPS]) or "no group"
        warnings.warn(
            f"the formula has no constants for {n_unknown} of {len(found)} rows ({formula.column}: {shown}"
            f"{more}), and is NaN there; adapt it to a few rows of a new group",
            stacklevel=stacklevel + 1,
        )
    return found.astype(np.int64)


def replace_constants(formula: GroupedFormula, group: str, values: Sequence[float]) -> GroupedFormula:
    """Return a formula with other constants of a group, which may be new.

    Examples
    --------
    >>> formula = GroupedFormula(Formula("y", 0.0, (1.0,), (Column("a[g]"),)), "g", ("p",),
    ...     (GroupConstant("a", "g", (3.0,)),))
    >>> replace_constants(formula, "q", [4.0]).constants[0].values
    (3.0, 4.0)
    """
    groups = formula.groups if group in formula.groups else (*formula.groups, group)
    place = groups.index(group)
    constants = tuple(
        replace(each, values=(*each.values[:place], float(value), *each.values[place + 1 :]))
        for each, value in zip(formula.constants, values, strict=True)
    )
    return replace(formula, groups=groups, constants=constants)
