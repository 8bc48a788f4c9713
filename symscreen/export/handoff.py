"""Kept features handed on to other searches: PySR (guesses) and gplearn (programs), and as columns for any.

Neither package is needed here: what is made is text, lists of names and frames.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OutputError
from symscreen.export.computed import computed
from symscreen.export.expanded import inside_out, shown
from symscreen.export.source import identifiers, operators_in, task_of
from symscreen.export.targets import held_by
from symscreen.expression import Apply, Column, Constant
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from symscreen.export.source import Formulas, Task
    from symscreen.export.targets import Fitted
    from symscreen.expression import Expression
    from symscreen.grammar import Operator
    from symscreen.result import ScreenResult

    Held = ScreenResult | Fitted | Formulas

__all__ = ["HandOff", "for_gplearn", "for_pysr", "kept_as_columns"]

# PySR refuses a name that its operators or sympy have; Julia, which reads the guesses, has words of its own
_WORDS = (
    "e i im o q c n s plus mult greater less greater_equal less_equal cond logical_or logical_and relu round "
    "ceil mod fma muladd clamp log10 log2 log1p atanh_clip pow_abs sqrt_abs log_abs log10_abs log2_abs "
    "log1p_abs acosh_abs abstract baremodule begin catch const do elseif end export false function global "
    "isa let local macro missing module mutable nothing outer primitive public quote struct true type using "
    "where"
)
_TAKEN = (*keyword.kwlist, *OPERATORS, *_WORDS.split())
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "^"}
_PYSR_CALLS = {"absdiff": "abs({0} - {1})", "id": "{0}"}
_PYSR_NEEDS = {"absdiff": ("abs", "-")}
# gplearn's own functions; its div, sqrt, log and inv are protected: they give numbers outside the domain
_GPLEARN = ("add", "sub", "mul", "div", "sqrt", "log", "abs", "neg", "inv", "max", "min", "sin", "cos", "tan")
_GPLEARN_OTHERS = {
    "square": "mul({0}, {0})",
    "cube": "mul(mul({0}, {0}), {0})",
    "absdiff": "abs(sub({0}, {1}))",
}


@dataclass(frozen=True, eq=False)
class HandOff:
    """Formulas as another search takes them.

    Parameters
    ----------
    texts : tuple of str
        Each formula in the other's notation.
    variables : dict of str to str
        What each column is called in the texts: a frame for the other search is to have these names.
    unary, binary : tuple of str
        The operators that it must know to read the texts, under its own names.
    size : int
        Of the longest formula: columns, numbers and operators. PySR warns of guesses above its ``maxsize``.
    """

    texts: tuple[str, ...]
    variables: dict[str, str]
    unary: tuple[str, ...]
    binary: tuple[str, ...]
    size: int

    def frame(self, rows: Any) -> pd.DataFrame:
        """Pick the formulas' inputs from data and give them the names that stand in the texts.

        Parameters
        ----------
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            As for `symscreen.screen`.

        Returns
        -------
        pandas.DataFrame, shape (m, d)

        Raises
        ------
        TableError
            If an input is missing or not numeric.
        """
        import pandas as pd

        from symscreen.table import frame_columns

        columns = frame_columns(rows, list(self.variables))
        return pd.DataFrame({own: columns[name] for name, own in self.variables.items()})


def for_pysr(thing: Held, *, operators: Mapping[str, Operator] = OPERATORS) -> HandOff:
    """Write formulas as guesses for PySR (its parameter ``guesses``).

    Parameters
    ----------
    thing : ScreenResult, FitResult, Formula, Expression or sequence of Expression
        All features of a ranking, a model, one feature or several. Of a result with units: for columns in
        the units that they came in.
    operators : mapping of str to Operator
        The grammar's operators, where a definition calls others; results bring their own.

    Returns
    -------
    HandOff
        ``PySRRegressor(guesses=list(texts), unary_operators=list(unary), binary_operators=list(binary))``,
        fitted on ``frame(data)``, with a ``maxsize`` of at least ``size``.

    Raises
    ------
    OutputError
        If a formula cannot be written out.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> made = for_pysr(parse("x1 - cos(`flow rate`)**2/x1"))
    >>> made.texts, made.unary, made.binary
    (('(x1 - (square(cos(flow_rate)) / x1))',), ('cos', 'square'), ('-', '/'))
    >>> made.variables
    {'flow rate': 'flow_rate', 'x1': 'x1'}
    """
    import sympy

    formulas, operators, _ = held_by(thing, operators)
    task = task_of(formulas, operators)
    names = identifiers(task.inputs, (*_TAKEN, *dir(sympy)))
    texts = tuple(_text(one, names, _pysr_call) for one in task.expressions)
    used = operators_in(task.expressions)
    needed = {mark for name in used for mark in _PYSR_NEEDS.get(name, (_INFIX.get(name, name),))}
    two = {*_INFIX.values(), "min", "max"}
    return HandOff(texts, names, tuple(sorted(needed - two)), tuple(sorted(needed & two)), _size(task))


def for_gplearn(thing: Held, *, operators: Mapping[str, Operator] = OPERATORS) -> HandOff:
    """Write formulas as gplearn's programs.

    gplearn takes no guesses; the texts are for its users to compare with, or to build programs of. Its
    ``div``, ``sqrt``, ``log`` and ``inv`` are protected and give numbers where symscreen's are undefined.

    Parameters
    ----------
    thing, operators
        As for `for_pysr`.

    Returns
    -------
    HandOff
        For ``function_set=[*unary, *binary]`` and ``feature_names=list(variables.values())``.

    Raises
    ------
    OutputError
        If a formula applies a function that gplearn does not have, such as ``exp``.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> for_gplearn([parse("x1 - cos(x2)/x1"), parse("x1**2")]).texts
    ('sub(x1, div(cos(x2), x1))', 'mul(x1, x1)')
    """
    formulas, operators, _ = held_by(thing, operators)
    task = task_of(formulas, operators)
    names = identifiers(task.inputs, _TAKEN)
    texts = tuple(_text(one, names, _gplearn_call) for one in task.expressions)
    used = {word for text in texts for word in _GPLEARN if f"{word}(" in text}
    binary = {"add", "sub", "mul", "div", "min", "max"}
    return HandOff(texts, names, tuple(sorted(used - binary)), tuple(sorted(used & binary)), _size(task))


def kept_as_columns(
    thing: Held, rows: Any, *, operators: Mapping[str, Operator] = OPERATORS
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Compute formulas as inputs for another search, under names that any takes.

    Parameters
    ----------
    thing : ScreenResult, FitResult, Formula, Expression or sequence of Expression
        As for `for_pysr`.
    rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
        The data, as for `symscreen.screen`.
    operators : mapping of str to Operator
        As for `for_pysr`.

    Returns
    -------
    pandas.DataFrame, shape (m, k)
        Columns ``f1``, ``f2``, …, those left out that are undefined in some row: other searches take no NaN.
    dict of str to str
        What each column is.

    Raises
    ------
    OutputError
        If none is defined in all rows.
    TableError
        If an input is missing or not numeric.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> frame, meaning = kept_as_columns([parse("log(x)"), parse("x**2")], {"x": [0.0, 3.0]})
    >>> frame["f2"].tolist(), meaning
    ([0.0, 9.0], {'f2': 'x**2'})
    """
    import pandas as pd

    formulas, operators, _ = held_by(thing, operators)
    task = task_of(formulas, operators)
    values = computed(task.expressions, rows)
    whole = ~np.isnan(values).any(axis=1)
    if not whole.any():
        raise OutputError("no feature is defined in all rows; leave out the rows where they are not")
    places = np.flatnonzero(whole).tolist()
    meaning = {f"f{place + 1}": task.labels[place] for place in places}
    return pd.DataFrame({f"f{place + 1}": values[place] for place in places}), meaning


def _size(task: Task) -> int:
    return max(sum(1 for _ in inside_out(one)) for one in task.expressions)


def _text(expression: Expression, names: Mapping[str, str], call: Any) -> str:
    done: list[str] = []
    for part in inside_out(expression):
        match part:
            case Column(name):
                done.append(names[name])
            case Constant(value):
                done.append(f"({float(value)!r})" if value < 0 else repr(float(value)))
            case Apply(_, arguments):
                texts = done[-len(arguments) :]
                del done[-len(arguments) :]
                done.append(call(part, texts))
    return done[0]


def _pysr_call(applied: Apply, texts: list[str]) -> str:
    name = applied.operator.name
    if name in _INFIX:
        return f"({texts[0]} {_INFIX[name]} {texts[1]})"
    return _PYSR_CALLS.get(name, f"{name}({', '.join(texts)})").format(*texts)


def _gplearn_call(applied: Apply, texts: list[str]) -> str:
    name = applied.operator.name
    if name in _GPLEARN_OTHERS:
        return _GPLEARN_OTHERS[name].format(*texts)
    if name not in _GPLEARN:
        raise OutputError(
            f"{shown(applied)} is no program of gplearn's own functions, which have no {name}; hand the "
            "feature on as a column (kept_as_columns)"
        )
    return f"{name}({', '.join(texts)})"
