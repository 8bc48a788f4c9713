"""Formulas as a function file for MATLAB and Octave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.errors import OutputError
from symscreen.export.source import (
    NO_INDICATORS,
    Language,
    build_export_job,
    collect_operator_names,
    escape_comment,
    find_level_kinds,
    make_parameter_names,
    render_expression,
)
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.export.source import Formulas, LevelIndicator
    from symscreen.grammar import Operator


__all__ = ["to_matlab"]

_MATLAB = Language("MATLAB", ("matlab",), repr, "finite_or_nan({0})", has_finite_inputs=True)
_RESERVED_NAMES = (
    "break case catch classdef continue do else elseif end endfunction endif endwhile end_try_catch "
    "end_unwind_protect for function global if otherwise parfor persistent return spmd switch try until "
    "unwind_protect while values columns a b "
    "abs sqrt nthroot exp log sin cos tan sinh cosh tanh asin acos atan asinh erf sign floor isfinite isnan "
    "min max rem zeros size nan "
    "real_sqrt real_log real_asin real_acos real_power smaller larger finite_or_nan "
    "is_level is_number cellstr strcmp strtrim cellfun double native2unicode uint8"
)
_FINITE_HELPER = """\
function a = finite_or_nan(a)
    a(~isfinite(a)) = NaN;
end
"""
_DOMAIN_HELPERS = {
    # name: (function, where its argument lies outside the domain: MATLAB would go on with complex numbers)
    "sqrt": ("real_sqrt", "sqrt", "a < 0"),
    "log": ("real_log", "log", "a < 0"),
    "asin": ("real_asin", "asin", "abs(a) > 1"),
    "acos": ("real_acos", "acos", "abs(a) > 1"),
}
_HELPERS = {
    **{
        name: f"function a = {own}(a)\n    a({outside}) = NaN;\n    a = {function}(a);\nend\n"
        for name, (own, function, outside) in _DOMAIN_HELPERS.items()
    },
    "pow": """\
function c = real_power(a, b)
    c = abs(a).^b;
    odd = a < 0 & abs(rem(b, 2)) == 1;
    c(odd) = -c(odd);
    c(isnan(a + b) | (a < 0 & b ~= floor(b))) = NaN;
end
""",
    # min and max of MATLAB pass over NaN
    "min": """\
function c = smaller(a, b)
    c = min(a, b) + 0*(a + b);
end
""",
    "max": """\
function c = larger(a, b)
    c = max(a, b) + 0*(a + b);
end
""",
    "words": """\
function a = is_level(c, level)
    c = cellstr(c);
    a = double(strcmp(c, level));
    a(cellfun(@isempty, strtrim(c))) = NaN;
end
""",
    "numbers": """\
function a = is_number(a, level)
    b = double(a == level);
    b(isnan(a)) = NaN;
    a = b;
end
""",
}


def to_matlab(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
) -> str:
    """Write formulas as a function file for MATLAB and Octave.

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
        For a file ``feature.m``, ``model.m`` or ``features.m``: a function of all inputs, column vectors in
        the order of their names, with a column for each formula. NaN where a formula is undefined. A column
        of categories that are words is a cell array or strings, empty where it is missing.

    Raises
    ------
    OutputError
        If a formula cannot be written; the message says why.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_matlab(parse_expression("sin(`flow rate`)**2")).partition("function a")[0])
    function values = feature(flow_rate)
        % flow_rate: flow rate
        flow_rate = finite_or_nan(flow_rate);
        % sin(`flow rate`)**2
        values = finite_or_nan(sin(flow_rate).^2);
    end
    <BLANKLINE>
    <BLANKLINE>
    """
    task = build_export_job(formulas, operators, indicators)
    called = [(names or {}).get(name, name) for name in task.columns]
    several = len(task.function_names) > 1
    function = "features" if several else task.function_names[0]
    own, local = make_parameter_names(task, called, (*_RESERVED_NAMES.split(), function))
    lines = [f"function values = {function}({', '.join(own.values())})"]
    lines += [f"    % {each}: {escape_comment(name)}" for name, each in own.items()]
    lines += [
        f"    {own[name]} = finite_or_nan({own[name]});"
        for name, kind in task.columns.items()
        if kind is float
    ]
    lines += [
        f"    {local[name]} = {_format_indicator(gate, own)};" for name, gate in task.indicators.items()
    ]
    for place, (label, expression) in enumerate(zip(task.labels, task.expressions, strict=True), start=1):
        text = render_expression(expression, _MATLAB, local)
        if local:  # a number is as long as the columns beside it
            text = (
                text
                if collect_operator_names([expression]) or text in local.values()
                else f"{text} + {_format_zeros(local)}"
            )
        target = f"values(:, {place})" if several else "values"
        lines += [f"    % {escape_comment(label)}", f"    {target} = {text};"]
    used = collect_operator_names(task.expressions) | find_level_kinds(task.indicators)
    return "\n\n".join(
        [
            "\n".join([*lines, "end\n"]),
            _FINITE_HELPER,
            *(text for name, text in _HELPERS.items() if name in used),
        ]
    )


def _format_zeros(local: Mapping[str, str]) -> str:
    return f"zeros(size({next(iter(local.values()))}))"


def _format_indicator(indicator: LevelIndicator, parameter_names: Mapping[str, str]) -> str:
    if isinstance(indicator.level, str):
        text = f"is_level({parameter_names[indicator.column]}, {_format_literal(indicator.level)})"
    else:
        text = f"is_number({parameter_names[indicator.column]}, {float(indicator.level)!r})"
    return text if indicator.gated_column is None else f"{parameter_names[indicator.gated_column]}.*{text}"


def _format_literal(text: str) -> str:
    """Write a text for MATLAB, whose letters have two bytes, and Octave, whose have one."""
    if text.isascii() and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise OutputError(f"the level {text!r} cannot be written in MATLAB: it is no Unicode text") from None
    return f"native2unicode(uint8([{' '.join(map(str, content))}]), 'UTF-8')"
