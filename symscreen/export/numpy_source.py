"""Write formulas as a Python module that depends only on numpy."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING, Unpack

from symscreen.export.source import (
    Language,
    build_export_job,
    escape_comment,
    make_identifiers,
    render_expression,
)
from symscreen.expressions.traversal import collect_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.data import LevelIndicator
    from symscreen.export.source import ExportOptions, Formulas


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


def to_numpy(formulas: Formulas, **options: Unpack[ExportOptions]) -> str:
    """Write formulas as a Python module that depends only on numpy.

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
    **options
        ``names``: names of the columns in the new data, if they differ. ``operators`` and ``indicators``: see
        `symscreen.export.source.ExportOptions`.

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
    job = build_export_job(formulas, **options)
    identifiers = make_identifiers(job.inputs, (*_RESERVED_NAMES, *job.function_names))
    helpers = job.select_helpers(_HELPERS)
    head = "import math\n\nimport numpy as np\n" if _HELPERS["erf"] in helpers else "import numpy as np\n"
    parts = [head, _FINITE_HELPER, *helpers]
    for function, label, expression in zip(job.function_names, job.labels, job.expressions, strict=True):
        inputs = [name for name in job.inputs if name in collect_columns(expression)]
        # The comment is below the first two lines, where Python would look for an encoding declaration.
        lines = [f"# {escape_comment(label)}", f"def {function}(columns):"]
        lines += [
            f"    {identifiers[name]} = {_format_input(name, job.indicators, job.names)}" for name in inputs
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
