"""Formulas as C functions of doubles."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from symscreen.errors import OutputError
from symscreen.export.gates import NO_GATES, levels_used
from symscreen.export.source import Language, comment, operators_in, parameters_of, task_of, whole
from symscreen.expression import columns_of
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.export.gates import Gate
    from symscreen.export.source import Formulas
    from symscreen.grammar import Operator

__all__ = ["to_c"]

_C = Language("C", ("c",), repr, "finite_or_nan({0})", finite_inputs=True)
_PLAIN = frozenset(string.ascii_letters + string.digits + " ")
_KEYWORDS = (
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
_FINITE = """\
static double finite_or_nan(double a)
{
    return isfinite(a) ? a : NAN;
}
"""
_NEEDED = {
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
    gates: Mapping[str, Gate] = NO_GATES,
) -> str:
    """Write formulas as C functions of doubles.

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
    names : mapping of str to str, optional
        What to make the parameters' names of, where that is something else than the columns' own.
    operators : mapping of str to Operator
        The grammar's operators; needed where a definition calls others.
    gates : mapping of str to Gate
        Which columns came of categories: they are computed there from their own columns.

    Returns
    -------
    str
        C99 that needs ``<math.h>`` alone, to be compiled without ``-ffast-math``: a function ``feature``,
        ``model``, or ``feature_1``, ``feature_2``, …, each with all inputs in the order of their names. A
        name that is no identifier is made one; a comment lists them. NaN where the formula is undefined. A
        column of categories that are words is a ``const char *`` in UTF-8, a null pointer or blanks where it
        is missing; ``<string.h>`` is needed then, too.

    Raises
    ------
    OutputError
        If a formula cannot be written; the message says why.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> print(to_c(parse("sin(`flow rate`)/2")).partition("/* the")[2])
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
    task = task_of(formulas, operators, gates)
    called = [(names or {}).get(name, name) for name in task.columns]
    own, local = parameters_of(task, called, (*_KEYWORDS.split(), *task.functions))
    used = operators_in(task.expressions) | levels_used(task.gates)
    listed = "".join(f"\n   {each}: {comment(name)}" for name, each in own.items())
    head = "#include <math.h>\n" + ("#include <string.h>\n" if "words" in used else "")
    parts = [head, _FINITE, *(text for name, text in _NEEDED.items() if name in used)]
    parts.append(f"/* the inputs:{listed} */\n")
    kinds = {str: "const char *", float: "double "}
    parameters = ", ".join(f"{kinds[kind]}{own[name]}" for name, kind in task.columns.items()) or "void"
    for function, label, expression in zip(task.functions, task.labels, task.expressions, strict=True):
        lines = [f"/* {comment(label)} */", f"double {function}({parameters})", "{"]
        lines += [
            f"    {own[name]} = finite_or_nan({own[name]});"
            for name, kind in task.columns.items()
            if kind is float
        ]
        lines += [
            f"    double {local[name]} = {_gated(task.gates[name], own)};"
            for name in task.gates
            if name in columns_of(expression)
        ]
        lines += [f"    return {whole(expression, _C, local)};", "}", ""]
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _gated(gate: Gate, own: Mapping[str, str]) -> str:
    if isinstance(gate.level, str):
        text = f"is_level({own[gate.column]}, {_literal(gate.level)})"
    else:
        text = f"is_number({own[gate.column]}, {float(gate.level)!r})"
    return text if gate.passes is None else f"{own[gate.passes]}*{text}"


def _literal(text: str) -> str:
    """Write a text as a C string of UTF-8; all but letters, digits and blanks as octal codes."""
    try:
        content = text.encode()
    except UnicodeEncodeError:
        content = b"\0"
    if b"\0" in content:
        raise OutputError(f"the level {text!r} cannot be written in C, whose texts hold no such letter")
    plain = (chr(byte) if chr(byte) in _PLAIN else f"\\{byte:03o}" for byte in content)
    return '"' + "".join(plain) + '"'
