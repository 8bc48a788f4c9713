"""All targets of the exports, and whatever holds formulas written for one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from symscreen.errors import FormulaError, OptionError, OutputError, nearest
from symscreen.export.c_source import to_c
from symscreen.export.definitions import operators_from
from symscreen.export.excel import to_excel
from symscreen.export.formula import Formula
from symscreen.export.gates import NO_GATES, gates_of_record, needed_columns
from symscreen.export.latex import column_latex, to_latex
from symscreen.export.matlab import to_matlab
from symscreen.export.numpy_source import to_numpy
from symscreen.export.parts import inputs_of
from symscreen.export.shared_formula import SharedFormula
from symscreen.export.sql import to_duckdb, to_sql, to_sqlite
from symscreen.grammar import OPERATORS
from symscreen.units import in_given_units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.export.gates import Gate
    from symscreen.export.source import Formulas
    from symscreen.grammar import Operator
    from symscreen.result import ScreenResult

__all__ = ["TARGETS", "Target", "exported", "held_by", "operators_of_record"]


class _Writer(Protocol):
    def __call__(
        self,
        formulas: Formulas,
        *,
        names: Mapping[str, str] | None = None,
        operators: Mapping[str, Operator] = OPERATORS,
        gates: Mapping[str, Gate] = NO_GATES,
    ) -> str: ...


_DIGITS = 4


class Fitted(Protocol):
    """What a fit returns, as far as it matters here."""

    @property
    def given(self) -> Formula | SharedFormula: ...  # told in `symscreen.models.FitResult`
    @property
    def operators(self) -> Mapping[str, Operator]: ...


@dataclass(frozen=True, slots=True)
class Target:
    """A language that formulas can be written in.

    Parameters
    ----------
    name : str
        As users type it.
    summary : str
        One line for a listing.
    outside : str
        What it gives where a formula is undefined.
    write : callable
        ``write(formulas, *, names=None, operators=OPERATORS)``, such as `to_sql`.
    """

    name: str
    summary: str
    outside: str
    write: _Writer


def _latex(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    gates: Mapping[str, Gate] = NO_GATES,
) -> str:
    del operators, gates  # a name that is defined stands as it is, upright
    if names:
        raise OutputError("LaTeX shows the columns' own names; give no others")
    return _latex_of(formulas, _DIGITS)


def _latex_of(formulas: Formulas, digits: int) -> str:
    if isinstance(formulas, Formula):
        return formulas.latex(digits)
    if isinstance(formulas, SharedFormula):
        return "\n".join(f"{column_latex(one.target)} = {one.latex(digits)}" for one in formulas.formulas)
    several = formulas if isinstance(formulas, (tuple, list)) else (formulas,)
    return "\n".join(to_latex(one, digits) for one in several)


def _sympy(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    gates: Mapping[str, Gate] = NO_GATES,
) -> str:
    import sympy

    from symscreen.expression import to_sympy

    del operators, gates  # an operator knows its own sympy form
    if names:
        raise OutputError("sympy's symbols are called as the columns are; give no other names")
    if isinstance(formulas, Formula | SharedFormula):
        models = (formulas,) if isinstance(formulas, Formula) else formulas.formulas
        forms = [one.to_sympy() for one in models]
    else:
        forms = [to_sympy(one) for one in (formulas if isinstance(formulas, (tuple, list)) else (formulas,))]
    # in any other order terms are compared by value, and a tower of powers has none that could be computed
    return "\n".join(sympy.srepr(one, order="none") for one in forms)


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("numpy", "a Python module with numpy", "NaN", to_numpy),
        Target("sql", "expressions of standard SQL", "NULL", to_sql),
        Target("sqlite", "expressions for SQLite", "NULL", to_sqlite),
        Target("duckdb", "expressions for DuckDB", "NULL", to_duckdb),
        Target("c", "C functions of doubles", "NaN", to_c),
        Target("excel", "Excel formulas of cells", "#N/A, #NUM! or #DIV/0!", to_excel),
        Target("matlab", "a function file for MATLAB and Octave", "NaN", to_matlab),
        Target("latex", "LaTeX, for reading", "", _latex),
        Target("sympy", "what builds the sympy form (srepr)", "whatever sympy says", _sympy),
    )
}


def exported(
    thing: ScreenResult | Fitted | Formulas,
    target: str,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    gates: Mapping[str, Gate] = NO_GATES,
    digits: int | None = None,
) -> str:
    """Write whatever holds formulas in another language.

    Parameters
    ----------
    thing : ScreenResult, FitResult, SharedFitResult, Formula, SharedFormula, Expression, or several of these
        All features of a ranking, a model, models of several targets, one feature or several.
    target : str
        One of `TARGETS`.
    names : mapping of str to str, optional
        What columns are called there, or their cells.
    operators : mapping of str to Operator
        The grammar's operators, where a definition calls others; results bring their own.
    gates : mapping of str to Gate
        Which columns came of categories, as `gates_of_record` tells; results bring their own.
    digits : int, optional
        Of fitted numbers in LaTeX, which is for reading: 4 by default. All other targets write every digit.

    Returns
    -------
    str
        The text; what it holds, the target's own function tells.

    Raises
    ------
    OptionError
        If there is no such target, a name is given for a column that no formula needs, or digits for a target
        that writes all of them.
    OutputError
        If a formula cannot be written there; the message says why.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> exported(parse("x1**2"), "excel", names={"x1": "C5"})
    '=IF(COUNT(C5)<1,NA(),C5^2)'
    """
    if target not in TARGETS:
        raise OptionError(f"there is no target {target!r}{nearest(target, TARGETS)}")
    formulas, operators, gates = held_by(thing, operators, gates)
    _check_names(names, formulas, gates)
    if digits is not None and target != "latex":
        raise OptionError(f"{target} is written with every digit: digits are for latex")
    if digits is not None and not names:
        return _latex_of(formulas, digits)
    return TARGETS[target].write(formulas, names=names, operators=operators, gates=gates)


def held_by(
    thing: ScreenResult | Fitted | Formulas,
    operators: Mapping[str, Operator] = OPERATORS,
    gates: Mapping[str, Gate] = NO_GATES,
) -> tuple[Formulas, Mapping[str, Operator], Mapping[str, Gate]]:
    """Take the formulas out of whatever holds some, written for columns as the data have them.

    Parameters
    ----------
    thing, operators, gates
        As of `exported`.

    Returns
    -------
    formulas : Expression, Formula or sequence of Expression
        Of a result with units: for columns in the units that they came in.
    operators : mapping of str to Operator
    gates : mapping of str to Gate
    """
    held: Any = thing
    # known by what they hold: importing their classes would load all that makes them
    if (expressions := getattr(thing, "expressions", None)) is not None:
        record = getattr(thing, "record", {})
        expressions = in_given_units(expressions, record.get("units"))
        return expressions, operators_of_record(record), gates_of_record(record)
    if (formula := getattr(thing, "given", None)) is not None:
        record = getattr(thing, "record", {})
        return formula, {**OPERATORS, **getattr(thing, "operators", {})}, gates_of_record(record)
    return held, operators, gates


def _check_names(names: Mapping[str, str] | None, formulas: Formulas, gates: Mapping[str, Gate]) -> None:
    expressions: Any = formulas.terms if isinstance(formulas, Formula | SharedFormula) else formulas
    given = expressions if isinstance(expressions, (tuple, list)) else (expressions,)
    needed = needed_columns(inputs_of(given), gates)
    for name in names or {}:
        if name not in needed:
            raise OptionError(f"no formula needs a column {name!r}{nearest(name, needed)}")


def operators_of_record(record: Mapping[str, Any]) -> dict[str, Operator]:
    """Build the operators that a screen's formulas may call from its record.

    Parameters
    ----------
    record : mapping
        As `ScreenResult.record` has it; what it does not tell is what ships.

    Returns
    -------
    dict of str to Operator

    Raises
    ------
    FormulaError
        If the record was changed.

    Examples
    --------
    >>> record = {"grammar": {"define": {"gauss": "exp(-x**2)"}, "costs": {"gauss": 2, "exp": 3}}}
    >>> built = operators_of_record(record)
    >>> built["gauss"].cost, built["exp"].cost
    (2, 3)
    """
    grammar = record.get("grammar", {})
    try:
        costs, defined = grammar.get("costs", {}), grammar.get("define", {})
        definitions = {name: {"formula": text, "cost": costs[name]} for name, text in defined.items()}
        return operators_from(definitions, {name: cost for name, cost in costs.items() if name in OPERATORS})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormulaError(f"the record's operators cannot be read: {error}") from None
