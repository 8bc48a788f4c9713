"""The notation of each operator in LaTeX, MathML and the export languages.

A new operator needs one row in `OPERATOR_NOTATIONS`. An operator without a row works everywhere: LaTeX and
MathML write it as a function with its name, and the exports to programming languages reject it with an error.
The table is separate from the operator records, so that the grammar does not depend on languages. The formula
notation itself belongs to the record of an operator.

All programming languages except Excel use IEEE 754 arithmetic. Some operators turn an infinity or NaN into a
number (``exp(-inf)`` is 0, ``nan**0`` is 1). They are marked (`OperatorNotations.absorbs_nonfinite`), and the
writer guards their arguments: a value that is undefined inside a formula stays undefined, as in
`symscreen.expressions.traversal.evaluate_expression`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.grammar.operator import Notation, Precedence

if TYPE_CHECKING:
    from collections.abc import Mapping


_ANY, _SUM, _SIGN, _PRODUCT, _POWER, _FUNCTION, _ATOM = (
    Precedence.ANY, Precedence.SUM, Precedence.SIGN, Precedence.PRODUCT, Precedence.POWER,
    Precedence.FUNCTION, Precedence.ATOM,
)  # fmt: skip

_BOTH_ARGUMENTS = (True, True)
_SQL_MIN = "CASE WHEN {0} <= {1} THEN {0} WHEN {1} < {0} THEN {1} END"
_SQL_MAX = "CASE WHEN {0} >= {1} THEN {0} WHEN {1} > {0} THEN {1} END"
_COMPARISON_PRECEDENCES = (_SUM, _SUM)
_SQL_UNIT_INTERVAL = "CASE WHEN {0} BETWEEN -1e0 AND 1e0 THEN {0} END"
_SQL_POWER = (
    "CASE WHEN {0} > 0e0 OR ({0} = 0e0 AND {1} >= 0e0) OR ({0} < 0e0 AND {1} = FLOOR({1})) "
    "THEN POWER({0}, {1}) END"
)
# In Excel 0^0 is an error, and a negative number may have an odd root.
_EXCEL_POWER = "IF({1}=0,1+0*{0},IF(({0}<0)*({1}<>INT({1})),NA(),{0}^{1}))"


@dataclass(frozen=True, slots=True)
class OperatorNotations:
    """The notation of an operator in all languages.

    Parameters
    ----------
    by_language : mapping of str to Notation
        Notation by language. The key ``""`` covers every programming language that is not listed. In
        ``latex`` and ``mathml``, a template without arguments is the name of a function.
    absorbs_nonfinite : tuple of bool
        For each argument, whether an infinity or NaN in it can give a finite result.
    is_bounded : bool
        Whether the result is always small in magnitude, provided that absorbing arguments are guarded.
    preserves_bounds : bool
        Whether the result is small in magnitude if all arguments are.
    """

    by_language: Mapping[str, Notation]
    absorbs_nonfinite: tuple[bool, ...] = (False, False)
    is_bounded: bool = False
    preserves_bounds: bool = False


def find_notation(operator: str, *languages: str) -> Notation | None:
    """Return the notation of an operator in the first of some languages that has one; None if none has."""
    row = OPERATOR_NOTATIONS.get(operator)
    notations = row.by_language if row else {}
    return next((notations[language] for language in languages if language in notations), None)


def _write_infix(
    symbol: str, matlab_symbol: str, precedence: int, right_precedence: int
) -> dict[str, Notation]:
    """Return the notations of a binary operator; MATLAB has its own symbol for elementwise operators."""
    minimums = (precedence, right_precedence)
    return {
        "": Notation(f"{{0}}{symbol}{{1}}", precedence, minimums),
        "matlab": Notation(f"{{0}}{matlab_symbol}{{1}}", precedence, minimums),
    }


def _write_math(
    latex: str, mathml: str, precedence: int = _FUNCTION, minimums: tuple[int, ...] = (_ANY, _ANY)
) -> dict[str, Notation]:
    """Return the notations in LaTeX and MathML."""
    return {
        "latex": Notation(latex, precedence, minimums),
        "mathml": Notation(mathml, precedence, minimums),
    }


def _write_calls(default: str = "", /, **others: str) -> dict[str, Notation]:
    """Return the notations of calls; a bare name is called with one argument."""
    notations = {"": Notation(f"{default}({{0}})")} if default else {}
    for language, text in others.items():
        if language in {"latex", "mathml"}:
            notations[language] = Notation(text, _FUNCTION)
        else:
            notations[language] = Notation(text if "{" in text else f"{text}({{0}})")
    return notations


def _write_function(name: str, **others: str) -> dict[str, Notation]:
    """Return the notations of a one-argument function whose name is nearly the same in all languages."""
    return _write_calls(name, **{"numpy": f"np.{name}", "excel": name.upper(), "sql": name.upper(), **others})


OPERATOR_NOTATIONS: dict[str, OperatorNotations] = {
    "add": OperatorNotations({
            **_write_infix(" + ", " + ", _SUM, _PRODUCT),
            **_write_math("{0} + {1}", "<mrow>{0}<mo>+</mo>{1}</mrow>", _SUM, (_ANY, _SUM)),
        },
        preserves_bounds=True),
    "sub": OperatorNotations({
            **_write_infix(" - ", " - ", _SUM, _PRODUCT),
            **_write_math("{0} - {1}", "<mrow>{0}<mo>−</mo>{1}</mrow>", _SUM, (_ANY, _PRODUCT)),
        },
        preserves_bounds=True),
    "mul": OperatorNotations({
            **_write_infix("*", ".*", _PRODUCT, _POWER),
            **_write_math("{0}{times}{1}", "<mrow>{0}{times}{1}</mrow>", _PRODUCT, (_PRODUCT, _PRODUCT)),
        }
    ),
    "div": OperatorNotations(
        {
            **_write_infix("/", "./", _PRODUCT, _POWER),
            "sql": Notation("{0}/NULLIF({1}, 0e0)", _PRODUCT, (_PRODUCT, _ANY)),
            **_write_math(r"\frac{{{0}}}{{{1}}}", "<mfrac>{0}{1}</mfrac>"),
        },
        absorbs_nonfinite=(False, True),
    ),
    "neg": OperatorNotations({
            "": Notation("-{0}", _SIGN, (_ATOM,)),
            **_write_math("-{0}", "<mrow><mo>−</mo>{0}</mrow>", _PRODUCT, (_PRODUCT,)),
        },
        preserves_bounds=True),
    "abs": OperatorNotations(
        _write_function(
            "abs",
            c="fabs",
            latex=r"\left|{0}\right|",
            mathml="<mrow><mo fence='true'>|</mo>{0}<mo fence='true'>|</mo></mrow>",
        )
    ),
    "absdiff": OperatorNotations(
        {
            **{
                name: Notation(f"{call}({{0}} - {{1}})", _ATOM, (_SUM, _PRODUCT))
                for name, call in zip(
                    ("", "numpy", "c", "excel", "sql"), ("abs", "np.abs", "fabs", "ABS", "ABS"), strict=True
                )
            },
            **_write_math(
                r"\left|{0} - {1}\right|",
                "<mrow><mo fence='true'>|</mo>{0}<mo>−</mo>{1}<mo fence='true'>|</mo></mrow>",
                minimums=(_ANY, _PRODUCT),
            ),
        }
    ),
    "square": OperatorNotations(
        {
            **_write_calls(numpy="np.square", c="square", sql="POWER({0}, 2e0)"),
            "matlab": Notation("{0}.^2", _POWER, (_ATOM,)),
            "excel": Notation("{0}^2", _POWER, (_ATOM,)),
            **_write_math("{0}^{{2}}", "<msup>{0}<mn>2</mn></msup>", minimums=(_ATOM,)),
        }
    ),
    "cube": OperatorNotations(
        {
            **_write_calls(numpy="np.power({0}, 3.0)", c="cube", sql="POWER({0}, 3e0)"),
            "matlab": Notation("{0}.^3", _POWER, (_ATOM,)),
            "excel": Notation("{0}^3", _POWER, (_ATOM,)),
            **_write_math("{0}^{{3}}", "<msup>{0}<mn>3</mn></msup>", minimums=(_ATOM,)),
        }
    ),
    "sqrt": OperatorNotations(
        _write_function(
            "sqrt",
            matlab="real_sqrt",
            sql="SQRT(CASE WHEN {0} >= 0e0 THEN {0} END)",
            sqlite="sqrt",
            duckdb="sqrt",
            latex=r"\sqrt{{{0}}}",
            mathml="<msqrt>{0}</msqrt>",
        )
    ),
    "cbrt": OperatorNotations(
        {
            **_write_function("cbrt", matlab="nthroot({0}, 3)", duckdb="cbrt"),
            "sql": Notation(
                "CASE WHEN {0} < 0e0 THEN -POWER(-{0}, 1e0/3e0) ELSE POWER({0}, 1e0/3e0) END",
                _ANY,
                (_ATOM,),
            ),
            "excel": Notation("SIGN({0})*ABS({0})^(1/3)", _PRODUCT),
            **_write_math(r"\sqrt[3]{{{0}}}", "<mroot>{0}<mn>3</mn></mroot>"),
        }
    ),
    "inv": OperatorNotations(
        {
            "": Notation("1/{0}", _PRODUCT, (_POWER,)),
            "c": Notation("1.0/{0}", _PRODUCT, (_POWER,)),
            "matlab": Notation("1./{0}", _PRODUCT, (_POWER,)),
            "sql": Notation("1e0/NULLIF({0}, 0e0)", _PRODUCT),
            **_write_math(r"\frac{{1}}{{{0}}}", "<mfrac><mn>1</mn>{0}</mfrac>"),
        },
        absorbs_nonfinite=(True,),
    ),
    "exp": OperatorNotations(_write_function(
            "exp",
            latex=r"\mathrm{{e}}^{{{0}}}",
            mathml="<msup><mi mathvariant='normal'>e</mi>{0}</msup>",
        ), absorbs_nonfinite=(True,)),
    "log": OperatorNotations(
        _write_function(
            "log",
            matlab="real_log",
            excel="LN",
            sql="LN(CASE WHEN {0} > 0e0 THEN {0} END)",
            sqlite="ln",
            duckdb="ln",
            latex=r"\ln",
            mathml="ln",
        )
    ),
    "sin": OperatorNotations(_write_function("sin", latex=r"\sin"), is_bounded=True),
    "cos": OperatorNotations(_write_function("cos", latex=r"\cos"), is_bounded=True),
    "tan": OperatorNotations(_write_function("tan", latex=r"\tan")),
    "sinh": OperatorNotations(_write_function("sinh", latex=r"\sinh")),
    "cosh": OperatorNotations(_write_function("cosh", latex=r"\cosh")),
    "tanh": OperatorNotations(
        _write_function("tanh", latex=r"\tanh"), absorbs_nonfinite=(True,), is_bounded=True
    ),
    "asin": OperatorNotations(
        _write_function(
            "asin", latex=r"\arcsin", mathml="arcsin", numpy="np.arcsin",
            matlab="real_asin", sql=f"ASIN({_SQL_UNIT_INTERVAL})", sqlite="asin",
            duckdb="asin",
        ),
        is_bounded=True,
    ),
    "acos": OperatorNotations(
        _write_function(
            "acos", latex=r"\arccos", mathml="arccos", numpy="np.arccos",
            matlab="real_acos", sql=f"ACOS({_SQL_UNIT_INTERVAL})", sqlite="acos",
            duckdb="acos",
        ),
        is_bounded=True,
    ),
    "atan": OperatorNotations(
        _write_function("atan", latex=r"\arctan", mathml="arctan", numpy="np.arctan"),
        absorbs_nonfinite=(True,), is_bounded=True
    ),
    "asinh": OperatorNotations(
        _write_calls(
            numpy="np.arcsinh", c="asinh", matlab="asinh", excel="ASINH", sqlite="asinh", duckdb="asinh",
            latex=r"\operatorname{arsinh}", mathml="arsinh"
        )
    ),
    "erf": OperatorNotations(
        _write_calls(numpy="erf", c="erf", matlab="erf", excel="ERF"),
        absorbs_nonfinite=(True,),
        is_bounded=True,
    ),
    "sign": OperatorNotations(
        {
            **_write_function(
                "sign", sqlite="CAST(sign({0}) AS REAL)", duckdb="CAST(sign({0}) AS DOUBLE)"
            ),
            "sql": Notation(
                "CASE WHEN {0} > 0e0 THEN 1e0 WHEN {0} < 0e0 THEN -1e0 WHEN {0} = 0e0 THEN 0e0 END",
                _ANY,
                (_SUM,),
            ),
        },
        absorbs_nonfinite=(True,),
        is_bounded=True,
    ),
    "floor": OperatorNotations(_write_function(
            "floor",
            excel="INT",
            latex=r"\left\lfloor {0}\right\rfloor",
            mathml="<mrow><mo>⌊</mo>{0}<mo>⌋</mo></mrow>",
        )),
    "pow": OperatorNotations(
        {
            **_write_calls(
                numpy="power({0}, {1})",
                c="power({0}, {1})",
                matlab="real_power({0}, {1})",
                sqlite="pow({0}, {1})",
                duckdb="pow({0}, {1})",
            ),
            "sql": Notation(_SQL_POWER, _ANY, _COMPARISON_PRECEDENCES),
            "excel": Notation(_EXCEL_POWER, _ATOM, (_ATOM, _ATOM)),
            **_write_math("{0}^{{{1}}}", "<msup>{0}{1}</msup>", minimums=(_ATOM, _ANY)),
        },
        absorbs_nonfinite=_BOTH_ARGUMENTS,
    ),
    "min": OperatorNotations(
        {
            **_write_calls(
                numpy="np.minimum({0}, {1})",
                c="smaller({0}, {1})",
                matlab="smaller({0}, {1})",
                excel="MIN({0},{1})",
                sqlite="min({0}, {1})",
                latex=r"\min",
            ),
            "sql": Notation(_SQL_MIN, _ANY, _COMPARISON_PRECEDENCES),
        },
        absorbs_nonfinite=_BOTH_ARGUMENTS,
    ),
    "max": OperatorNotations(
        {
            **_write_calls(
                numpy="np.maximum({0}, {1})",
                c="larger({0}, {1})",
                matlab="larger({0}, {1})",
                excel="MAX({0},{1})",
                sqlite="max({0}, {1})",
                latex=r"\max",
            ),
            "sql": Notation(_SQL_MAX, _ANY, _COMPARISON_PRECEDENCES),
        },
        absorbs_nonfinite=_BOTH_ARGUMENTS,
    ),
}  # fmt: skip
