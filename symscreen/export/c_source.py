"""Write formulas as C functions of doubles."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Unpack

from symscreen.errors import OutputError
from symscreen.export.source import (
    Language,
    build_export_job,
    escape_comment,
    make_parameter_names,
    render_expression,
    write_indicator,
)
from symscreen.expressions.traversal import collect_columns

if TYPE_CHECKING:
    from symscreen.export.source import ExportOptions, Formulas


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


def to_c(formulas: Formulas, **options: Unpack[ExportOptions]) -> str:
    """Write formulas as C functions of doubles.

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
    **options
        ``names``: names from which to make the parameter names, for columns that are named differently in C.
        ``operators`` and ``indicators``: see `symscreen.export.source.ExportOptions`.

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
    job = build_export_job(formulas, **options)
    parameters, identifiers = make_parameter_names(job, (*_RESERVED_NAMES.split(), *job.function_names))
    helpers = job.select_helpers(_HELPERS)
    input_list = "".join(
        f"\n   {parameter}: {escape_comment(name)}" for name, parameter in parameters.items()
    )
    head = "#include <math.h>\n" + ("#include <string.h>\n" if _HELPERS["words"] in helpers else "")
    parts = [head, _FINITE_HELPER, *helpers, f"/* the inputs:{input_list} */\n"]
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
        for name in [name for name in job.indicators if name in collect_columns(expression)]:
            indicator = write_indicator(job.indicators[name], parameters, _format_literal)
            lines.append(f"    double {identifiers[name]} = {indicator};")
        lines += [f"    return {render_expression(expression, _C, identifiers)};", "}", ""]
        parts.append("\n".join(lines))
    return "\n".join(parts)


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
