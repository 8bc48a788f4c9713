"""Write formulas as C functions of doubles."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from symscreen.errors import OutputError
from symscreen.export.source import (
    NO_INDICATORS,
    Language,
    build_export_job,
    escape_comment,
    find_level_kinds,
    make_parameter_names,
    render_expression,
)
from symscreen.expressions.traversal import collect_columns, collect_operator_names
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.data import LevelIndicator
    from symscreen.export.source import Formulas
    from symscreen.grammar import Operator


_C = Language("C", ("c",), repr, "finite_or_nan({0})", has_finite_inputs=True)
_LITERAL_CHARACTERS = frozenset(string.ascii_letters + string.digits + " ")
_RESERVED_NAMES = (
    "alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char class compl concept "
    "const consteval constexpr constinit const_cast continue decltype default delete do double dynamic_cast "
    "else enum explicit export extern false float for friend goto if inline int long mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast "
    "restrict return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeof typeof_unqual typeid typename union unsigned using virtual "
    "requires void volatile wchar_t while xor xor_eq fortran linux unix i386 errno main "
    "fabs sqrt cbrt exp log sin cos tan sinh cosh tanh asin acos atan asinh erf floor pow isfinite isnan "
    "square cube sign power smaller larger finite_or_nan is_level is_number strcmp strspn"
)
_FINITE_HELPER = """\
static double finite_or_nan(double a)
{
    return isfinite(a) ? a : NAN;
}
"""
_HELPERS = {
    "square": """\
static double square(double a)
{
    return a * a;
}
""",
    "cube": """\
static double cube(double a)
{
    return a * a * a;
}
""",
    "sign": """\
static double sign(double a)
{
    return isnan(a) ? a : (a > 0.0) - (a < 0.0);
}
""",
    "pow": """\
static double power(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : pow(a, b);
}
""",
    "min": """\
static double smaller(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}
""",
    "max": """\
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}
""",
    "words": """\
static double is_level(const char *a, const char *level)
{
    if (a == 0 || a[strspn(a, " \\t\\n\\v\\f\\r")] == 0)
        return NAN;
    return strcmp(a, level) == 0;
}
""",
    "numbers": """\
static double is_number(double a, double level)
{
    return isnan(a) ? a : a == level;
}
""",
}


def to_c(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
) -> str:
    """Write formulas as C functions of doubles.

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
    names : mapping of str to str, optional
        Names from which to make the parameter names, for columns that are named differently in C.
    operators : mapping of str to Operator
        The operators of the grammar. They are needed if the definition of one operator calls another.
    indicators : mapping of str to LevelIndicator
        Inputs that are derived from categorical columns. The functions compute them from the original
        columns.

    Returns
    -------
    str
        C99 source that includes only ``<math.h>``. Compile it without ``-ffast-math``. It defines a function
        ``feature`` or ``model``, or functions ``feature_1``, ``feature_2``, …; each takes all inputs in the
        order of their names. A name that is not a C identifier is changed into one; a comment lists the
        names. The result is NaN where the formula is undefined. A categorical column of texts is a ``const
        char *`` in UTF-8; a null pointer or a blank text is a missing value. Such a source also includes
        ``<string.h>``.

    Raises
    ------
    OutputError
        If a formula cannot be written; the message gives the reason.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_c(parse_expression("sin(`flow rate`)/2")).partition("/* the")[2])
     inputs:
       flow_rate: flow rate */
    <BLANKLINE>
    /* sin(`flow rate`)/2 */
    double feature(double flow_rate)
    {
        flow_rate = finite_or_nan(flow_rate);
        return finite_or_nan(sin(flow_rate)/2.0);
    }
    <BLANKLINE>
    """
    job = build_export_job(formulas, operators, indicators)
    column_names = [(names or {}).get(name, name) for name in job.columns]
    parameters, identifiers = make_parameter_names(
        job, column_names, (*_RESERVED_NAMES.split(), *job.function_names)
    )
    required_helpers = collect_operator_names(*job.expressions) | find_level_kinds(job.indicators)
    input_list = "".join(
        f"\n   {parameter}: {escape_comment(name)}" for name, parameter in parameters.items()
    )
    head = "#include <math.h>\n" + ("#include <string.h>\n" if "words" in required_helpers else "")
    parts = [head, _FINITE_HELPER, *(text for name, text in _HELPERS.items() if name in required_helpers)]
    parts.append(f"/* the inputs:{input_list} */\n")
    c_types = {str: "const char *", float: "double "}
    signature = (
        ", ".join(f"{c_types[column_type]}{parameters[name]}" for name, column_type in job.columns.items())
        or "void"
    )
    for function, label, expression in zip(job.function_names, job.labels, job.expressions, strict=True):
        lines = [f"/* {escape_comment(label)} */", f"double {function}({signature})", "{"]
        lines += [
            f"    {parameters[name]} = finite_or_nan({parameters[name]});"
            for name, column_type in job.columns.items()
            if column_type is float
        ]
        lines += [
            f"    double {identifiers[name]} = {_format_indicator(job.indicators[name], parameters)};"
            for name in job.indicators
            if name in collect_columns(expression)
        ]
        lines += [f"    return {render_expression(expression, _C, identifiers)};", "}", ""]
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _format_indicator(indicator: LevelIndicator, parameter_names: Mapping[str, str]) -> str:
    if isinstance(indicator.level, str):
        text = f"is_level({parameter_names[indicator.column]}, {_format_literal(indicator.level)})"
    else:
        text = f"is_number({parameter_names[indicator.column]}, {float(indicator.level)!r})"
    return text if indicator.gated_column is None else f"{parameter_names[indicator.gated_column]}*{text}"


def _format_literal(text: str) -> str:
    """Write a text as a UTF-8 C string with octal codes for all but letters, digits and blanks."""
    try:
        content = text.encode()
    except UnicodeEncodeError:
        content = b"\0"
    if b"\0" in content:
        raise OutputError(
            f"the level {text!r} cannot be written in C: it has a character that no C string can hold"
        )
    escaped = (chr(byte) if chr(byte) in _LITERAL_CHARACTERS else f"\\{byte:03o}" for byte in content)
    return '"' + "".join(escaped) + '"'
