"""Write formulas as a function file for MATLAB and Octave."""

from __future__ import annotations

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
from symscreen.expressions.traversal import collect_operator_names

if TYPE_CHECKING:
    from symscreen.export.source import ExportOptions, Formulas


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
    # operator: (helper, function, condition outside the domain, where MATLAB would return complex numbers)
    "sqrt": ("real_sqrt", "sqrt", "a < 0"),
    "log": ("real_log", "log", "a < 0"),
    "asin": ("real_asin", "asin", "abs(a) > 1"),
    "acos": ("real_acos", "acos", "abs(a) > 1"),
}
_HELPERS = {
    **{
        name: f"function a = {helper}(a)\n    a({outside}) = NaN;\n    a = {function}(a);\nend\n"
        for name, (helper, function, outside) in _DOMAIN_HELPERS.items()
    },
    "pow": """\
function c = real_power(a, b)
    c = abs(a).^b;
    odd = a < 0 & abs(rem(b, 2)) == 1;
    c(odd) = -c(odd);
    c(isnan(a + b) | (a < 0 & b ~= floor(b))) = NaN;
end
""",
    # MATLAB's min and max ignore NaN.
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


def to_matlab(formulas: Formulas, **options: Unpack[ExportOptions]) -> str:
    """Write formulas as a function file for MATLAB and Octave.

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
    **options
        ``names``: names from which to make the parameter names, for columns that are named differently in
        MATLAB. ``operators`` and ``indicators``: see `symscreen.export.source.ExportOptions`.

    Returns
    -------
    str
        The contents of ``feature.m``, ``model.m`` or ``features.m``. The function takes all inputs as column
        vectors, in the order of their names, and returns one column per formula. Values are NaN where a
        formula is undefined. A categorical column of texts is a cell array or a string array; empty texts are
        missing.

    Raises
    ------
    OutputError
        If a formula cannot be written; the message gives the reason.

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
    job = build_export_job(formulas, **options)
    is_multiple = len(job.function_names) > 1
    function = "features" if is_multiple else job.function_names[0]
    parameters, identifiers = make_parameter_names(job, (*_RESERVED_NAMES.split(), function))
    lines = [f"function values = {function}({', '.join(parameters.values())})"]
    lines += [f"    % {parameter}: {escape_comment(name)}" for name, parameter in parameters.items()]
    lines += [
        f"    {parameters[name]} = finite_or_nan({parameters[name]});"
        for name, column_type in job.columns.items()
        if column_type is float
    ]
    lines += [
        f"    {identifiers[name]} = {write_indicator(indicator, parameters, _format_literal, '.*')};"
        for name, indicator in job.indicators.items()
    ]
    for number, (label, expression) in enumerate(zip(job.labels, job.expressions, strict=True), start=1):
        text = render_expression(expression, _MATLAB, identifiers)
        if identifiers and not (collect_operator_names(expression) or text in identifiers.values()):
            # A constant formula must have as many rows as the inputs.
            text += f" + zeros(size({next(iter(identifiers.values()))}))"
        target = f"values(:, {number})" if is_multiple else "values"
        lines += [f"    % {escape_comment(label)}", f"    {target} = {text};"]
    function_text = "\n".join([*lines, "end\n"])
    return "\n\n".join([function_text, _FINITE_HELPER, *job.select_helpers(_HELPERS)])


def _format_literal(text: str) -> str:
    """Write a text for MATLAB (UTF-16) and Octave (bytes): as ASCII, or as UTF-8 bytes to decode."""
    if text.isascii() and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise OutputError(
            f"the level {text!r} cannot be written in MATLAB: it is not valid Unicode"
        ) from None
    return f"native2unicode(uint8([{' '.join(map(str, content))}]), 'UTF-8')"
