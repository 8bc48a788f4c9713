"""Formulas as a Python module that needs numpy alone."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

from symscreen.export.source import (
    NO_INDICATORS,
    Language,
    build_export_job,
    collect_operator_names,
    escape_comment,
    find_level_kinds,
    make_identifiers,
    render_expression,
)
from symscreen.expressions.tree import collect_columns
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.export.source import Formulas, LevelIndicator
    from symscreen.grammar import Operator


__all__ = ["to_numpy"]

_NUMPY = Language("numpy", ("numpy",), repr, "finite_or_nan({0})", has_finite_inputs=True)
_RESERVED_NAMES = (
    *("np", "erf", "math", "power", "columns", "float", "finite_or_nan", "is_level", "is_number"),
    *keyword.kwlist,
)
_FINITE_HELPER = """\
def finite_or_nan(values):
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values), values, np.nan)
"""
_HELPERS = {
    "pow": """\
def power(a, b):
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.power(a, b))
""",
    "erf": """\
erf = np.vectorize(math.erf, otypes=[float])
""",
    "words": """\
def is_level(values, level):
    told = [float(one == level) if isinstance(one, str) and one.strip() else np.nan for one in values]
    return np.array(told)
""",
    "numbers": """\
def is_number(values, level):
    values = finite_or_nan(values)
    return np.where(np.isnan(values), np.nan, values == level)
""",
}


def to_numpy(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
) -> str:
    """Write formulas as a Python module with numpy.

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
    names : mapping of str to str, optional
        What columns are called in the new data, where that is something else.
    operators : mapping of str to Operator
        The grammar's operators; needed where a definition calls others.
    gates : mapping of str to Gate
        Which columns came of categories: they are computed there from their own columns.

    Returns
    -------
    str
        A module with a function ``feature``, ``model``, or ``feature_1``, ``feature_2``, … of one argument:
        whatever gives an array for a column's name, such as a dict or a pandas frame. NaN where the formula
        is undefined.

    Raises
    ------
    OutputError
        If a formula cannot be written; the message says why.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_numpy(parse_expression("x1 - cos(`flow rate`)")).partition("# x1 ")[2])
    - cos(`flow rate`)
    def feature(columns):
        flow_rate = finite_or_nan(columns['flow rate'])
        x1 = finite_or_nan(columns['x1'])
        with np.errstate(all="ignore"):
            return finite_or_nan(x1 - np.cos(flow_rate))
    <BLANKLINE>
    """
    task = build_export_job(formulas, operators, indicators)
    called = {name: name for name in task.columns} | dict(names or {})
    own = make_identifiers(task.inputs, (*_RESERVED_NAMES, *task.function_names))
    used = collect_operator_names(task.expressions) | find_level_kinds(task.indicators)
    head = "import math\n\nimport numpy as np\n" if "erf" in used else "import numpy as np\n"
    parts = [head, _FINITE_HELPER, *(text for name, text in _HELPERS.items() if name in used)]
    for function, label, expression in zip(task.function_names, task.labels, task.expressions, strict=True):
        columns = [name for name in task.inputs if name in collect_columns(expression)]
        # never among the first two lines, where a comment may name the file's encoding
        lines = [f"# {escape_comment(label)}", f"def {function}(columns):"]
        lines += [f"    {own[name]} = {_format_input(name, task.indicators, called)}" for name in columns]
        lines += [
            '    with np.errstate(all="ignore"):',
            f"        return {render_expression(expression, _NUMPY, own)}",
            "",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _format_input(
    name: str, indicators: Mapping[str, LevelIndicator], column_names: Mapping[str, str]
) -> str:
    gate = indicators.get(name)
    if gate is None:
        return f"finite_or_nan(columns[{column_names[name]!a}])"
    test = "is_level" if isinstance(gate.level, str) else "is_number"
    own = f"{test}(columns[{column_names[gate.column]!a}], {gate.level!a})"
    return (
        own
        if gate.gated_column is None
        else f"finite_or_nan(columns[{column_names[gate.gated_column]!a}])*{own}"
    )
