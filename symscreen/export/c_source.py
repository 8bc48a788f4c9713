"""Formulas as C functions of doubles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.export.source import Language, comment, identifiers, operators_in, task_of, whole
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.export.source import Formulas
    from symscreen.grammar import Operator

__all__ = ["to_c"]

_C = Language("C", ("c",), repr, "finite_or_nan({0})", finite_inputs=True)
_KEYWORDS = (
    "alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char class compl concept "
    "const consteval constexpr constinit const_cast continue decltype default delete do double dynamic_cast "
    "else enum explicit export extern false float for friend goto if inline int long mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast "
    "restrict return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeof typeof_unqual typeid typename union unsigned using virtual "
    "requires void volatile wchar_t while xor xor_eq fortran linux unix i386 errno main "
    "fabs sqrt cbrt exp log sin cos tan sinh cosh tanh asin acos atan asinh erf floor pow isfinite isnan "
    "square cube sign power smaller larger finite_or_nan"
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
}


def to_c(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
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

    Returns
    -------
    str
        C99 that needs ``<math.h>`` alone, to be compiled without ``-ffast-math``: a function ``feature``,
        ``model``, or ``feature_1``, ``feature_2``, …, each with all inputs in the order of their names. A
        name that is no identifier is made one; a comment lists them. NaN where the formula is undefined.

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
    task = task_of(formulas, operators)
    called = [(names or {}).get(name, name) for name in task.inputs]
    made = identifiers(called, (*_KEYWORDS.split(), *task.functions))
    own = {name: made[other] for name, other in zip(task.inputs, called, strict=True)}
    used = operators_in(task.expressions)
    listed = "".join(f"\n   {own[name]}: {comment(name)}" for name in task.inputs)
    parts = ["#include <math.h>\n", _FINITE, *(text for name, text in _NEEDED.items() if name in used)]
    parts.append(f"/* the inputs:{listed} */\n")
    parameters = ", ".join(f"double {own[name]}" for name in task.inputs) or "void"
    for function, label, expression in zip(task.functions, task.labels, task.expressions, strict=True):
        lines = [f"/* {comment(label)} */", f"double {function}({parameters})", "{"]
        lines += [f"    {own[name]} = finite_or_nan({own[name]});" for name in task.inputs]
        lines += [f"    return {whole(expression, _C, own)};", "}", ""]
        parts.append("\n".join(lines))
    return "\n".join(parts)
