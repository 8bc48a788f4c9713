"""Pass formulas on to other searches: guesses for PySR, programs for gplearn, and columns for any tool.

The functions return text, names and frames. Neither PySR nor gplearn needs to be installed.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OutputError
from symscreen.export.formats import extract_formulas
from symscreen.export.operator_definitions import quote_formula
from symscreen.export.source import build_export_job, make_identifiers
from symscreen.expressions.linear_formula import evaluate_formulas
from symscreen.expressions.traversal import (
    collect_indicators,
    collect_operator_names,
    fold_expression,
    iterate_postorder,
)
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from symscreen.data import DerivedColumn
    from symscreen.export.formats import FittedModel
    from symscreen.export.source import ExportJob, Formulas
    from symscreen.expressions.tree import Call, Constant, Expression
    from symscreen.grammar import Operator
    from symscreen.results.screen_result import ScreenResult

    FormulaSource = ScreenResult | FittedModel | Formulas


# Names that PySR rejects (its operators) and keywords of Julia, which parses the guesses.
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
_PYSR_BINARY = {*_INFIX.values(), "min", "max"}
# The built-in functions of gplearn. div, sqrt, log and inv are protected there: they return numbers
# outside their domain.
_GPLEARN_UNARY = ("sqrt", "log", "abs", "neg", "inv", "sin", "cos", "tan")
_GPLEARN_BINARY = ("add", "sub", "mul", "div", "max", "min")
_GPLEARN_TEMPLATES = {
    "square": "mul({0}, {0})",
    "cube": "mul(mul({0}, {0}), {0})",
    "absdiff": "abs(sub({0}, {1}))",
}


@dataclass(frozen=True, eq=False)
class SeedFormulas:
    """Formulas in the notation of another search, with the settings that it needs to read them.

    Parameters
    ----------
    texts : tuple of str
        Each formula in the notation of the other search.
    variables : dict of str to str
        Maps each input column to its name in the texts. `make_frame` renames data accordingly.
    unary, binary : tuple of str
        Operators that the other search must enable to read the texts, under its names.
    max_size : int
        Number of nodes (columns, constants and operators) of the largest formula. PySR warns about guesses
        above its ``maxsize``.
    indicators : mapping of str to DerivedColumn
        How `make_frame` computes the inputs that are derived from categorical columns.
    """

    texts: tuple[str, ...]
    variables: dict[str, str]
    unary: tuple[str, ...]
    binary: tuple[str, ...]
    max_size: int
    indicators: Mapping[str, DerivedColumn] = field(default_factory=dict)

    def make_frame(self, rows: Any) -> pd.DataFrame:
        """Select the inputs of the formulas from data and rename them as in the texts.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            The data, in any form that `symscreen.screen` accepts.

        Returns
        -------
        pandas.DataFrame, shape (m, d)
            One column per input of the formulas.

        Raises
        ------
        DataError
            If an input is missing or not numeric.
        """
        import pandas as pd

        from symscreen.data import read_columns

        columns = read_columns(rows, list(self.variables), self.indicators)
        return pd.DataFrame({identifier: columns[name] for name, identifier in self.variables.items()})


def to_pysr(source: FormulaSource, *, operators: Mapping[str, Operator] = OPERATORS) -> SeedFormulas:
    """Write formulas as guesses for PySR (its parameter ``guesses``).

    Parameters
    ----------
    source : ScreenResult, FitResult, Formula, Expression or sequence of Expression
        The features of a ranking, a model, or one or more features. Formulas of a result with units are
        written for columns in their original units.
    operators : mapping of str to Operator
        The operators of the grammar. They are needed if the definition of one operator calls another.
        Results carry their own operators.

    Returns
    -------
    SeedFormulas
        Use as ``PySRRegressor(guesses=list(texts), unary_operators=list(unary),
        binary_operators=list(binary))``, fit on ``make_frame(data)``, with a ``maxsize`` of at least
        ``max_size``.

    Raises
    ------
    OutputError
        If a formula cannot be written in PySR's notation.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> seeds = to_pysr(parse_expression("x1 - cos(`flow rate`)**2/x1"))
    >>> seeds.texts, seeds.unary, seeds.binary
    (('(x1 - (square(cos(flow_rate)) / x1))',), ('cos', 'square'), ('-', '/'))
    >>> seeds.variables
    {'flow rate': 'flow_rate', 'x1': 'x1'}
    """
    import sympy

    formulas, operators, _ = extract_formulas(source, operators)
    job = build_export_job(formulas, operators=operators)
    names = make_identifiers(job.inputs, (*_RESERVED_NAMES, *dir(sympy)))
    texts = tuple(_format_formula(expression, names, _format_pysr_call) for expression in job.expressions)
    required = {
        symbol
        for name in collect_operator_names(*job.expressions)
        for symbol in _PYSR_OPERATORS.get(name, (_INFIX.get(name, name),))
    }
    unary, binary = sorted(required - _PYSR_BINARY), sorted(required & _PYSR_BINARY)
    return _make_seeds(texts, names, unary, binary, job)


def to_gplearn(source: FormulaSource, *, operators: Mapping[str, Operator] = OPERATORS) -> SeedFormulas:
    """Write formulas as programs of gplearn.

    gplearn accepts no initial programs. The texts are for comparison, or for building programs by hand. Its
    ``div``, ``sqrt``, ``log`` and ``inv`` are protected: they return numbers where the functions of symscreen
    are undefined.

    Parameters
    ----------
    source, operators
        See `to_pysr`.

    Returns
    -------
    SeedFormulas
        Use with ``function_set=[*unary, *binary]`` and ``feature_names=list(variables.values())``.

    Raises
    ------
    OutputError
        If a formula applies a function that gplearn lacks, such as ``exp``.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> to_gplearn([parse_expression("x1 - cos(x2)/x1"), parse_expression("x1**2")]).texts
    ('sub(x1, div(cos(x2), x1))', 'mul(x1, x1)')
    """
    formulas, operators, _ = extract_formulas(source, operators)
    job = build_export_job(formulas, operators=operators)
    names = make_identifiers(job.inputs, _RESERVED_NAMES)
    texts = tuple(_format_formula(expression, names, _format_gplearn_call) for expression in job.expressions)
    unary, binary = (
        tuple(sorted(name for name in functions if any(f"{name}(" in text for text in texts)))
        for functions in (_GPLEARN_UNARY, _GPLEARN_BINARY)
    )
    return _make_seeds(texts, names, unary, binary, job)


def compute_feature_frame(
    source: FormulaSource, rows: Any, *, operators: Mapping[str, Operator] = OPERATORS
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Compute formulas as input columns for another search, under simple names.

    Parameters
    ----------
    source : ScreenResult, FitResult, Formula, Expression or sequence of Expression
        See `to_pysr`.
    rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
        The data, in any form that `symscreen.screen` accepts.
    operators : mapping of str to Operator
        See `to_pysr`.

    Returns
    -------
    frame : pandas.DataFrame, shape (m, k)
        Columns ``f1``, ``f2``, …, numbered by the position of the formula. Features that are undefined in
        some row are omitted, because other searches accept no NaN.
    meaning : dict of str to str
        Maps each column name to the text of its formula.

    Raises
    ------
    OutputError
        If no feature is defined in all rows.
    DataError
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
    job = build_export_job(formulas, operators=operators)
    values = evaluate_formulas(job.expressions, rows)
    defined = np.flatnonzero(~np.isnan(values).any(axis=1)).tolist()
    if not defined:
        raise OutputError("no feature is defined in all rows; remove the rows where features are undefined")
    meaning = {f"f{index + 1}": job.labels[index] for index in defined}
    return pd.DataFrame({f"f{index + 1}": values[index] for index in defined}), meaning


def _make_seeds(
    texts: tuple[str, ...], names: dict[str, str], unary: Sequence[str], binary: Sequence[str], job: ExportJob
) -> SeedFormulas:
    """Collect what another search needs to read the texts of formulas, and how large they are."""
    max_size = max(sum(1 for _ in iterate_postorder(expression)) for expression in job.expressions)
    indicators = collect_indicators(job.expressions)
    return SeedFormulas(texts, names, tuple(unary), tuple(binary), max_size, indicators)


def _format_formula(
    expression: Expression, names: Mapping[str, str], format_call: Callable[[Call, list[str]], str]
) -> str:
    """Write a formula in prefix or infix notation; `format_call` writes each operator application."""
    return fold_expression(expression, column=names.__getitem__, number=_format_constant, call=format_call)


def _format_constant(constant: Constant) -> str:
    value = float(constant.value)
    return f"({value!r})" if value < 0 else repr(value)


def _format_pysr_call(call: Call, texts: list[str]) -> str:
    name = call.operator.name
    if name in _INFIX:
        return f"({texts[0]} {_INFIX[name]} {texts[1]})"
    return _PYSR_TEMPLATES.get(name, f"{name}({', '.join(texts)})").format(*texts)


def _format_gplearn_call(call: Call, texts: list[str]) -> str:
    name = call.operator.name
    if name in _GPLEARN_TEMPLATES:
        return _GPLEARN_TEMPLATES[name].format(*texts)
    if name not in (*_GPLEARN_UNARY, *_GPLEARN_BINARY):
        raise OutputError(
            f"{quote_formula(call)} cannot be written for gplearn, which has no function {name}; pass the "
            "feature as a column instead (compute_feature_frame)"
        )
    return f"{name}({', '.join(texts)})"
