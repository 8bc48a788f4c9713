"""The notation of each operator in the export languages.

A new operator needs one row in `OPERATOR_TEMPLATES`.

The table is separate from the operator records, so that the grammar does not depend on the export languages.
An operator without a row works everywhere else; the exports reject it with an error.

All languages except Excel use IEEE 754 arithmetic. Some operators turn an infinity or NaN into a number
(``exp(-inf)`` is 0, ``nan**0`` is 1). They are marked (`OperatorTemplates.absorbs_nonfinite`), and the writer
guards their arguments: a value that is undefined inside a formula stays undefined, as in
`symscreen.expressions.tree.evaluate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


# Operator precedences. A sign binds less tightly than a product, so that a negative operand of a product
# always gets parentheses.
ANY, SUM, SIGN, PRODUCT, POWER, ATOM = 0, 10, 15, 20, 40, 50


@dataclass(frozen=True, slots=True)
class Template:
    """The notation of an operator in one language.

    Parameters
    ----------
    text : str
        Format string with ``{0}`` and ``{1}`` for the arguments; each may occur several times.
    precedence : int
        Precedence of the result.
    min_precedences : tuple of int
        For each argument, the minimum precedence that needs no parentheses.
    """

    text: str
    precedence: int = ATOM
    min_precedences: tuple[int, ...] = (ANY, ANY)


@dataclass(frozen=True, slots=True)
class OperatorTemplates:
    """The notation of an operator in all languages.

    Parameters
    ----------
    by_dialect : mapping of str to Template
        Template by language. The key ``""`` covers every language that is not listed.
    absorbs_nonfinite : tuple of bool
        For each argument, whether an infinity or NaN in it can give a finite result.
    is_bounded : bool
        Whether the result is always small in magnitude, provided that absorbing arguments are guarded.
    preserves_bounds : bool
        Whether the result is small in magnitude if all arguments are.
    """

    by_dialect: Mapping[str, Template]
    absorbs_nonfinite: tuple[bool, ...] = (False, False)
    is_bounded: bool = False
    preserves_bounds: bool = False


def _make_infix_templates(
    symbol: str, matlab_symbol: str, precedence: int, right_precedence: int
) -> dict[str, Template]:
    """Return templates of a binary infix operator; MATLAB has its own symbol for elementwise operators."""
    min_precedences = (precedence, right_precedence)
    return {
        "": Template(f"{{0}}{symbol}{{1}}", precedence, min_precedences),
        "matlab": Template(f"{{0}}{matlab_symbol}{{1}}", precedence, min_precedences),
    }


def _make_call_templates(default: str = "", /, **others: str) -> dict[str, Template]:
    """Return call templates by dialect; a bare name is called with one argument."""
    texts = {"": default, **others} if default else others
    return {name: Template(text if "{" in text else f"{text}({{0}})") for name, text in texts.items()}


def _make_function_templates(name: str, **others: str) -> dict[str, Template]:
    """Return templates of a one-argument function whose name is nearly the same in all languages."""
    return _make_call_templates(
        name, **{"numpy": f"np.{name}", "excel": name.upper(), "sql": name.upper(), **others}
    )


_BOTH_ARGUMENTS = (True, True)
_SQL_MIN = "CASE WHEN {0} <= {1} THEN {0} WHEN {1} < {0} THEN {1} END"
_SQL_MAX = "CASE WHEN {0} >= {1} THEN {0} WHEN {1} > {0} THEN {1} END"
_COMPARISON_PRECEDENCES = (SUM, SUM)
_SQL_UNIT_INTERVAL = "CASE WHEN {0} BETWEEN -1e0 AND 1e0 THEN {0} END"
_SQL_POWER = (
    "CASE WHEN {0} > 0e0 OR ({0} = 0e0 AND {1} >= 0e0) OR ({0} < 0e0 AND {1} = FLOOR({1})) "
    "THEN POWER({0}, {1}) END"
)
# In Excel 0^0 is an error, and a negative number may have an odd root.
_EXCEL_POWER = "IF({1}=0,1+0*{0},IF(({0}<0)*({1}<>INT({1})),NA(),{0}^{1}))"

OPERATOR_TEMPLATES: dict[str, OperatorTemplates] = {
    "add": OperatorTemplates(_make_infix_templates(" + ", " + ", SUM, PRODUCT), preserves_bounds=True),
    "sub": OperatorTemplates(_make_infix_templates(" - ", " - ", SUM, PRODUCT), preserves_bounds=True),
    "mul": OperatorTemplates(_make_infix_templates("*", ".*", PRODUCT, POWER)),
    "div": OperatorTemplates(
        {
            **_make_infix_templates("/", "./", PRODUCT, POWER),
            "sql": Template("{0}/NULLIF({1}, 0e0)", PRODUCT, (PRODUCT, ANY)),
        },
        absorbs_nonfinite=(False, True),
    ),
    "neg": OperatorTemplates({"": Template("-{0}", SIGN, (ATOM,))}, preserves_bounds=True),
    "abs": OperatorTemplates(_make_function_templates("abs", c="fabs")),
    "absdiff": OperatorTemplates(
        {
            name: Template(f"{call}({{0}} - {{1}})", ATOM, (SUM, PRODUCT))
            for name, call in {
                "": "abs",
                "numpy": "np.abs",
                "c": "fabs",
                "excel": "ABS",
                "sql": "ABS",
            }.items()
        }
    ),
    "square": OperatorTemplates(
        {
            **_make_call_templates(numpy="np.square", c="square", sql="POWER({0}, 2e0)"),
            "matlab": Template("{0}.^2", POWER, (ATOM,)),
            "excel": Template("{0}^2", POWER, (ATOM,)),
        }
    ),
    "cube": OperatorTemplates(
        {
            **_make_call_templates(numpy="np.power({0}, 3.0)", c="cube", sql="POWER({0}, 3e0)"),
            "matlab": Template("{0}.^3", POWER, (ATOM,)),
            "excel": Template("{0}^3", POWER, (ATOM,)),
        }
    ),
    "sqrt": OperatorTemplates(
        _make_function_templates(
            "sqrt",
            matlab="real_sqrt",
            sql="SQRT(CASE WHEN {0} >= 0e0 THEN {0} END)",
            sqlite="sqrt",
            duckdb="sqrt",
        )
    ),
    "cbrt": OperatorTemplates(
        {
            **_make_function_templates("cbrt", matlab="nthroot({0}, 3)", duckdb="cbrt"),
            "sql": Template(
                "CASE WHEN {0} < 0e0 THEN -POWER(-{0}, 1e0/3e0) ELSE POWER({0}, 1e0/3e0) END",
                ANY,
                (ATOM,),
            ),
            "excel": Template("SIGN({0})*ABS({0})^(1/3)", PRODUCT),
        }
    ),
    "inv": OperatorTemplates(
        {
            "": Template("1/{0}", PRODUCT, (POWER,)),
            "c": Template("1.0/{0}", PRODUCT, (POWER,)),
            "matlab": Template("1./{0}", PRODUCT, (POWER,)),
            "sql": Template("1e0/NULLIF({0}, 0e0)", PRODUCT),
        },
        absorbs_nonfinite=(True,),
    ),
    "exp": OperatorTemplates(_make_function_templates("exp"), absorbs_nonfinite=(True,)),
    "log": OperatorTemplates(
        _make_function_templates(
            "log",
            matlab="real_log",
            excel="LN",
            sql="LN(CASE WHEN {0} > 0e0 THEN {0} END)",
            sqlite="ln",
            duckdb="ln",
        )
    ),
    "sin": OperatorTemplates(_make_function_templates("sin"), is_bounded=True),
    "cos": OperatorTemplates(_make_function_templates("cos"), is_bounded=True),
    "tan": OperatorTemplates(_make_function_templates("tan")),
    "sinh": OperatorTemplates(_make_function_templates("sinh")),
    "cosh": OperatorTemplates(_make_function_templates("cosh")),
    "tanh": OperatorTemplates(_make_function_templates("tanh"), absorbs_nonfinite=(True,), is_bounded=True),
    "asin": OperatorTemplates(
        _make_function_templates(
            "asin", numpy="np.arcsin", matlab="real_asin", sql=f"ASIN({_SQL_UNIT_INTERVAL})", sqlite="asin",
            duckdb="asin",
        ),
        is_bounded=True,
    ),
    "acos": OperatorTemplates(
        _make_function_templates(
            "acos", numpy="np.arccos", matlab="real_acos", sql=f"ACOS({_SQL_UNIT_INTERVAL})", sqlite="acos",
            duckdb="acos",
        ),
        is_bounded=True,
    ),
    "atan": OperatorTemplates(
        _make_function_templates("atan", numpy="np.arctan"), absorbs_nonfinite=(True,), is_bounded=True
    ),
    "asinh": OperatorTemplates(
        _make_call_templates(
            numpy="np.arcsinh", c="asinh", matlab="asinh", excel="ASINH", sqlite="asinh", duckdb="asinh"
        )
    ),
    "erf": OperatorTemplates(
        _make_call_templates(numpy="erf", c="erf", matlab="erf", excel="ERF"),
        absorbs_nonfinite=(True,),
        is_bounded=True,
    ),
    "sign": OperatorTemplates(
        {
            **_make_function_templates(
                "sign", sqlite="CAST(sign({0}) AS REAL)", duckdb="CAST(sign({0}) AS DOUBLE)"
            ),
            "sql": Template(
                "CASE WHEN {0} > 0e0 THEN 1e0 WHEN {0} < 0e0 THEN -1e0 WHEN {0} = 0e0 THEN 0e0 END",
                ANY,
                (SUM,),
            ),
        },
        absorbs_nonfinite=(True,),
        is_bounded=True,
    ),
    "floor": OperatorTemplates(_make_function_templates("floor", excel="INT")),
    "pow": OperatorTemplates(
        {
            **_make_call_templates(
                numpy="power({0}, {1})",
                c="power({0}, {1})",
                matlab="real_power({0}, {1})",
                sqlite="pow({0}, {1})",
                duckdb="pow({0}, {1})",
            ),
            "sql": Template(_SQL_POWER, ANY, _COMPARISON_PRECEDENCES),
            "excel": Template(_EXCEL_POWER, ATOM, (ATOM, ATOM)),
        },
        absorbs_nonfinite=_BOTH_ARGUMENTS,
    ),
    "min": OperatorTemplates(
        {
            **_make_call_templates(
                numpy="np.minimum({0}, {1})",
                c="smaller({0}, {1})",
                matlab="smaller({0}, {1})",
                excel="MIN({0},{1})",
                sqlite="min({0}, {1})",
            ),
            "sql": Template(_SQL_MIN, ANY, _COMPARISON_PRECEDENCES),
        },
        absorbs_nonfinite=_BOTH_ARGUMENTS,
    ),
    "max": OperatorTemplates(
        {
            **_make_call_templates(
                numpy="np.maximum({0}, {1})",
                c="larger({0}, {1})",
                matlab="larger({0}, {1})",
                excel="MAX({0},{1})",
                sqlite="max({0}, {1})",
            ),
            "sql": Template(_SQL_MAX, ANY, _COMPARISON_PRECEDENCES),
        },
        absorbs_nonfinite=_BOTH_ARGUMENTS,
    ),
}  # fmt: skip
