"""Write formulas as a Python module that depends only on numpy."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

from symscreen.export.source import (
    NO_INDICATORS,
    Language,
    build_export_job,
    escape_comment,
    find_level_kinds,
    make_identifiers,
    render_expression,
)
from symscreen.expressions.traversal import collect_columns, collect_operator_names
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.data import LevelIndicator
    from symscreen.export.source import Formulas
    from symscreen.grammar import Operator


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
    return np.array([float(v == level) if isinstance(v, str) and v.strip() else np.nan for v in values])
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
    """Write formulas as a Python module that depends only on numpy.

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
    names : mapping of str to str, optional
        Names of the columns in the new data, if they differ.
    operators : mapping of str to Operator
        The operators of the grammar. They are needed if the definition of one operator calls another.
    indicators : mapping of str to LevelIndicator
        Inputs that are derived from categorical columns. The functions compute them from the original
        columns.

    Returns
    -------
    str
        Source of a module with a function ``feature`` or ``model``, or functions ``feature_1``,
        ``feature_2``, … Each takes one argument, a mapping from column names to arrays, such as a dict or a
        pandas frame. The result is NaN where the formula is undefined.

    Raises
    ------
    OutputError
        If a formula cannot be written; the message gives the reason.

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
    job = build_export_job(formulas, operators, indicators)
    column_names = {name: name for name in job.columns} | dict(names or {})
    identifiers = make_identifiers(job.inputs, (*_RESERVED_NAMES, *job.function_names))
    required_helpers = collect_operator_names(*job.expressions) | find_level_kinds(job.indicators)
    head = "import math\n\nimport numpy as np\n" if "erf" in required_helpers else "import numpy as np\n"
    parts = [head, _FINITE_HELPER, *(text for name, text in _HELPERS.items() if name in required_helpers)]
    for function, label, expression in zip(job.function_names, job.labels, job.expressions, strict=True):
        inputs = [name for name in job.inputs if name in collect_columns(expression)]
        # The comment is below the first two lines, where Python would look for an encoding declaration.
        lines = [f"# {escape_comment(label)}", f"def {function}(columns):"]
        lines += [
            f"    {identifiers[name]} = {_format_input(name, job.indicators, column_names)}"
            for name in inputs
        ]
        lines += [
            '    with np.errstate(all="ignore"):',
            f"        return {render_expression(expression, _NUMPY, identifiers)}",
            "",
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _format_input(
    name: str, indicators: Mapping[str, LevelIndicator], column_names: Mapping[str, str]
) -> str:
    """Write the expression that computes an input from the columns of the data."""
    indicator = indicators.get(name)
    if indicator is None:
        return f"finite_or_nan(columns[{column_names[name]!a}])"
    helper = "is_level" if isinstance(indicator.level, str) else "is_number"
    text = f"{helper}(columns[{column_names[indicator.column]!a}], {indicator.level!a})"
    if indicator.gated_column is None:
        return text
    return f"finite_or_nan(columns[{column_names[indicator.gated_column]!a}])*{text}"
