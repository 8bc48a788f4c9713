"""Formulas as a function file for MATLAB and Octave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.errors import OutputError
from symscreen.export.gates import NO_GATES, levels_used
from symscreen.export.source import Language, comment, operators_in, parameters_of, task_of, whole
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.export.gates import Gate
    from symscreen.export.source import Formulas
    from symscreen.grammar import Operator

__all__ = ["to_matlab"]

_MATLAB = Language("MATLAB", ("matlab",), repr, "finite_or_nan({0})", finite_inputs=True)
_TAKEN = (
    "break case catch classdef continue do else elseif end endfunction endif endwhile end_try_catch "
    "end_unwind_protect for function global if otherwise parfor persistent return spmd switch try until "
    "unwind_protect while values columns a b "
    "abs sqrt nthroot exp log sin cos tan sinh cosh tanh asin acos atan asinh erf sign floor isfinite isnan "
    "min max rem zeros size nan "
    "real_sqrt real_log real_asin real_acos real_power smaller larger finite_or_nan "
    "is_level is_number cellstr strcmp strtrim cellfun double native2unicode uint8"
)
_FINITE = """\
function a = finite_or_nan(a)
    a(~isfinite(a)) = NaN;
end
"""
_OUTSIDE = {
    # name: (function, where its argument lies outside the domain: MATLAB would go on with complex numbers)
    "sqrt": ("real_sqrt", "sqrt", "a < 0"),
    "log": ("real_log", "log", "a < 0"),
    "asin": ("real_asin", "asin", "abs(a) > 1"),
    "acos": ("real_acos", "acos", "abs(a) > 1"),
}
_NEEDED = {
    **{
        name: f"function a = {own}(a)\n    a({outside}) = NaN;\n    a = {function}(a);\nend\n"
        for name, (own, function, outside) in _OUTSIDE.items()
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
    gates: Mapping[str, Gate] = NO_GATES,
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
    >>> from symscreen.expression import parse
    >>> print(to_matlab(parse("sin(`flow rate`)**2")).partition("function a")[0])
    function values = feature(flow_rate)
        % flow_rate: flow rate
        flow_rate = finite_or_nan(flow_rate);
        % sin(`flow rate`)**2
        values = finite_or_nan(sin(flow_rate).^2);
    end
    <BLANKLINE>
    <BLANKLINE>
    """
    task = task_of(formulas, operators, gates)
    called = [(names or {}).get(name, name) for name in task.columns]
    several = len(task.functions) > 1
    function = "features" if several else task.functions[0]
    own, local = parameters_of(task, called, (*_TAKEN.split(), function))
    lines = [f"function values = {function}({', '.join(own.values())})"]
    lines += [f"    % {each}: {comment(name)}" for name, each in own.items()]
    lines += [
        f"    {own[name]} = finite_or_nan({own[name]});"
        for name, kind in task.columns.items()
        if kind is float
    ]
    lines += [f"    {local[name]} = {_gated(gate, own)};" for name, gate in task.gates.items()]
    for place, (label, expression) in enumerate(zip(task.labels, task.expressions, strict=True), start=1):
        text = whole(expression, _MATLAB, local)
        if local:  # a number is as long as the columns beside it
            text = (
                text if operators_in([expression]) or text in local.values() else f"{text} + {_zeros(local)}"
            )
        target = f"values(:, {place})" if several else "values"
        lines += [f"    % {comment(label)}", f"    {target} = {text};"]
    used = operators_in(task.expressions) | levels_used(task.gates)
    return "\n\n".join(
        ["\n".join([*lines, "end\n"]), _FINITE, *(text for name, text in _NEEDED.items() if name in used)]
    )


def _zeros(local: Mapping[str, str]) -> str:
    return f"zeros(size({next(iter(local.values()))}))"


def _gated(gate: Gate, own: Mapping[str, str]) -> str:
    if isinstance(gate.level, str):
        text = f"is_level({own[gate.column]}, {_literal(gate.level)})"
    else:
        text = f"is_number({own[gate.column]}, {float(gate.level)!r})"
    return text if gate.passes is None else f"{own[gate.passes]}.*{text}"


def _literal(text: str) -> str:
    """Write a text for MATLAB, whose letters have two bytes, and Octave, whose have one."""
    if text.isascii() and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise OutputError(f"the level {text!r} cannot be written in MATLAB: it is no Unicode text") from None
    return f"native2unicode(uint8([{' '.join(map(str, content))}]), 'UTF-8')"
