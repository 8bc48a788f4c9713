"""Kept features handed on to other searches: PySR (guesses) and gplearn (programs), and as columns for any.

Neither package is needed here: what is made is text, lists of names and frames.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OutputError
from symscreen.export.formats import extract_formulas
from symscreen.export.operator_definitions import iterate_postorder, quote_formula
from symscreen.export.source import build_export_job, collect_operator_names, make_identifiers
from symscreen.expressions.linear_formula import evaluate_formulas
from symscreen.expressions.tree import Call, Column, Constant
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from symscreen.export.formats import FittedModel
    from symscreen.export.source import ExportJob, Formulas
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator
    from symscreen.results.screen_result import ScreenResult

    FormulaSource = ScreenResult | FittedModel | Formulas

__all__ = ["SeedFormulas", "compute_feature_frame", "to_gplearn", "to_pysr"]

# PySR refuses a name that its operators or sympy have; Julia, which reads the guesses, has words of its own
_PYSR_RESERVED_NAMES = (
    "e i im o q c n s plus mult greater less greater_equal less_equal cond logical_or logical_and relu round "
    "ceil mod fma muladd clamp log10 log2 log1p atanh_clip pow_abs sqrt_abs log_abs log10_abs log2_abs "
    "log1p_abs acosh_abs abstract baremodule begin catch const do elseif end export false function global "
    "isa let local macro missing module mutable nothing outer primitive public quote struct true type using "
    "where"
)
_RESERVED_NAMES = (*keyword.kwlist, *OPERATORS, *_PYSR_RESERVED_NAMES.split())
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "^"}
_PYSR_TEMPLATES = {"absdiff": "abs({0} - {1})", "id": "{0}"}
_PYSR_OPERATORS = {"absdiff": ("abs", "-")}
# gplearn's own functions; its div, sqrt, log and inv are protected: they give numbers outside the domain
_GPLEARN_FUNCTIONS = (
    "add",
    "sub",
    "mul",
    "div",
    "sqrt",
    "log",
    "abs",
    "neg",
    "inv",
    "max",
    "min",
    "sin",
    "cos",
    "tan",
)
_GPLEARN_TEMPLATES = {
    "square": "mul({0}, {0})",
    "cube": "mul(mul({0}, {0}), {0})",
    "absdiff": "abs(sub({0}, {1}))",
}


@dataclass(frozen=True, eq=False)
class SeedFormulas:
    """Formulas as another search takes them.

    Parameters
    ----------
    texts : tuple of str
        Each formula in the other's notation.
    variables : dict of str to str
        What each column is called in the texts: a frame for the other search is to have these names.
    unary, binary : tuple of str
        The operators that it must know to read the texts, under its own names.
    size : int
        Of the longest formula: columns, numbers and operators. PySR warns of guesses above its ``maxsize``.
    """

    texts: tuple[str, ...]
    variables: dict[str, str]
    unary: tuple[str, ...]
    binary: tuple[str, ...]
    max_size: int

    def make_frame(self, rows: Any) -> pd.DataFrame:
        """Pick the formulas' inputs from data and give them the names that stand in the texts.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            As for `symscreen.screen`.

        Returns
        -------
        pandas.DataFrame, shape (m, d)

        Raises
        ------
        TableError
            If an input is missing or not numeric.
        """
        import pandas as pd

        from symscreen.data import read_columns

        columns = read_columns(rows, list(self.variables))
        return pd.DataFrame({own: columns[name] for name, own in self.variables.items()})


def to_pysr(source: FormulaSource, *, operators: Mapping[str, Operator] = OPERATORS) -> SeedFormulas:
    """Write formulas as guesses for PySR (its parameter ``guesses``).

    Parameters
    ----------
    thing : ScreenResult, FitResult, Formula, Expression or sequence of Expression
        All features of a ranking, a model, one feature or several. Of a result with units: for columns in
        the units that they came in.
    operators : mapping of str to Operator
        The grammar's operators, where a definition calls others; results bring their own.

    Returns
    -------
    HandOff
        ``PySRRegressor(guesses=list(texts), unary_operators=list(unary), binary_operators=list(binary))``,
        fitted on ``frame(data)``, with a ``maxsize`` of at least ``size``.

    Raises
    ------
    OutputError
        If a formula cannot be written out.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> made = to_pysr(parse_expression("x1 - cos(`flow rate`)**2/x1"))
    >>> made.texts, made.unary, made.binary
    (('(x1 - (square(cos(flow_rate)) / x1))',), ('cos', 'square'), ('-', '/'))
    >>> made.variables
    {'flow rate': 'flow_rate', 'x1': 'x1'}
    """
    import sympy

    formulas, operators, _ = extract_formulas(source, operators)
    task = build_export_job(formulas, operators)
    names = make_identifiers(task.inputs, (*_RESERVED_NAMES, *dir(sympy)))
    texts = tuple(_format_formula(one, names, _format_pysr_call) for one in task.expressions)
    used = collect_operator_names(task.expressions)
    needed = {mark for name in used for mark in _PYSR_OPERATORS.get(name, (_INFIX.get(name, name),))}
    two = {*_INFIX.values(), "min", "max"}
    return SeedFormulas(
        texts, names, tuple(sorted(needed - two)), tuple(sorted(needed & two)), _find_max_size(task)
    )


def to_gplearn(source: FormulaSource, *, operators: Mapping[str, Operator] = OPERATORS) -> SeedFormulas:
    """Write formulas as gplearn's programs.

    gplearn takes no guesses; the texts are for its users to compare with, or to build programs of. Its
    ``div``, ``sqrt``, ``log`` and ``inv`` are protected and give numbers where symscreen's are undefined.

    Parameters
    ----------
    thing, operators
        As for `to_pysr`.

    Returns
    -------
    HandOff
        For ``function_set=[*unary, *binary]`` and ``feature_names=list(variables.values())``.

    Raises
    ------
    OutputError
        If a formula applies a function that gplearn does not have, such as ``exp``.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> to_gplearn([parse_expression("x1 - cos(x2)/x1"), parse_expression("x1**2")]).texts
    ('sub(x1, div(cos(x2), x1))', 'mul(x1, x1)')
    """
    formulas, operators, _ = extract_formulas(source, operators)
    task = build_export_job(formulas, operators)
    names = make_identifiers(task.inputs, _RESERVED_NAMES)
    texts = tuple(_format_formula(one, names, _format_gplearn_call) for one in task.expressions)
    used = {word for text in texts for word in _GPLEARN_FUNCTIONS if f"{word}(" in text}
    binary = {"add", "sub", "mul", "div", "min", "max"}
    return SeedFormulas(
        texts, names, tuple(sorted(used - binary)), tuple(sorted(used & binary)), _find_max_size(task)
    )


def compute_feature_frame(
    source: FormulaSource, rows: Any, *, operators: Mapping[str, Operator] = OPERATORS
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Compute formulas as inputs for another search, under names that any takes.

    Parameters
    ----------
    thing : ScreenResult, FitResult, Formula, Expression or sequence of Expression
        As for `to_pysr`.
    rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
        The data, as for `symscreen.screen`.
    operators : mapping of str to Operator
        As for `to_pysr`.

    Returns
    -------
    pandas.DataFrame, shape (m, k)
        Columns ``f1``, ``f2``, …, those left out that are undefined in some row: other searches take no NaN.
    dict of str to str
        What each column is.

    Raises
    ------
    OutputError
        If none is defined in all rows.
    TableError
        If an input is missing or not numeric.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> frame, meaning = compute_feature_frame([parse_expression("log(x)"), parse_expression("x**2")],
    ...     {"x": [0.0, 3.0]})
    >>> frame["f2"].tolist(), meaning
    ([0.0, 9.0], {'f2': 'x**2'})
    """
    import pandas as pd

    formulas, operators, _ = extract_formulas(source, operators)
    task = build_export_job(formulas, operators)
    values = evaluate_formulas(task.expressions, rows)
    whole = ~np.isnan(values).any(axis=1)
    if not whole.any():
        raise OutputError("no feature is defined in all rows; leave out the rows where they are not")
    places = np.flatnonzero(whole).tolist()
    meaning = {f"f{place + 1}": task.labels[place] for place in places}
    return pd.DataFrame({f"f{place + 1}": values[place] for place in places}), meaning


def _find_max_size(job: ExportJob) -> int:
    return max(sum(1 for _ in iterate_postorder(one)) for one in job.expressions)


def _format_formula(expression: Expression, names: Mapping[str, str], format_call: Any) -> str:
    done: list[str] = []
    for part in iterate_postorder(expression):
        match part:
            case Column(name):
                done.append(names[name])
            case Constant(value):
                done.append(f"({float(value)!r})" if value < 0 else repr(float(value)))
            case Call(_, arguments):
                texts = done[-len(arguments) :]
                del done[-len(arguments) :]
                done.append(format_call(part, texts))
    return done[0]


def _format_pysr_call(call: Call, texts: list[str]) -> str:
    name = call.operator.name
    if name in _INFIX:
        return f"({texts[0]} {_INFIX[name]} {texts[1]})"
    return _PYSR_TEMPLATES.get(name, f"{name}({', '.join(texts)})").format(*texts)


def _format_gplearn_call(call: Call, texts: list[str]) -> str:
    name = call.operator.name
    if name in _GPLEARN_TEMPLATES:
        return _GPLEARN_TEMPLATES[name].format(*texts)
    if name not in _GPLEARN_FUNCTIONS:
        raise OutputError(
            f"{quote_formula(call)} is no program of gplearn's own functions, which have no {name}; hand the "
            "feature on as a column (kept_as_columns)"
        )
    return f"{name}({', '.join(texts)})"
