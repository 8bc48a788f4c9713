"""How each operator is written in other languages: the one table that a new operator adds a row to.

It stands here and not in the operator's record, so that the rooms below know of no other language; an
operator without a row works everywhere and is refused by the exports, with the reason.

Arithmetic is that of IEEE 754 everywhere but in Excel. What makes a number of an infinity or of NaN
(``exp(-inf)`` is 0, ``nan**0`` is 1) is marked, and the writer puts a guard around its arguments: what is
undefined inside stays undefined, as it does in `symscreen.expression.evaluate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ANY", "ATOM", "POWER", "PRODUCT", "SIGN", "SPELLINGS", "SUM", "Row", "Spelling"]

# how tightly a text holds together; a minus sign less than a product, so that it always stands in parentheses
ANY, SUM, SIGN, PRODUCT, POWER, ATOM = 0, 10, 15, 20, 40, 50


@dataclass(frozen=True, slots=True)
class Spelling:
    """An operator in one language.

    Parameters
    ----------
    template : str
        With ``{0}`` and ``{1}`` for the arguments, as often as they are needed.
    binds : int
        How tightly the result holds together.
    needs : tuple of int
        How tightly each argument must, to stand without parentheses.
    """

    template: str
    binds: int = ATOM
    needs: tuple[int, ...] = (ANY, ANY)


@dataclass(frozen=True, slots=True)
class Row:
    """An operator in all languages.

    Parameters
    ----------
    spellings : mapping of str to Spelling
        By language; under ``""`` that of every language not named.
    forgets : tuple of bool
        For each argument, whether an infinity or NaN there can come out as a number.
    bounded : bool
        Whether it gives small numbers only, its arguments guarded where it forgets.
    keeps_bounds : bool
        Whether it gives small numbers where its arguments are such.
    """

    spellings: Mapping[str, Spelling]
    forgets: tuple[bool, ...] = (False, False)
    bounded: bool = False
    keeps_bounds: bool = False


def _infix(mark: str, matlab: str, binds: int, right: int) -> dict[str, Spelling]:
    needs = (binds, right)
    return {
        "": Spelling(f"{{0}}{mark}{{1}}", binds, needs),
        "matlab": Spelling(f"{{0}}{matlab}{{1}}", binds, needs),
    }


def _calls(everywhere: str = "", /, **others: str) -> dict[str, Spelling]:
    """Write templates that need no parentheses of their own; a bare name is called with one argument."""
    texts = {"": everywhere, **others} if everywhere else others
    return {name: Spelling(text if "{" in text else f"{text}({{0}})") for name, text in texts.items()}


def _function(name: str, **others: str) -> dict[str, Spelling]:
    """Write a function that is called alike nearly everywhere."""
    return _calls(name, **{"numpy": f"np.{name}", "excel": name.upper(), "sql": name.upper(), **others})


_BOTH = (True, True)
_LESS = "CASE WHEN {0} <= {1} THEN {0} WHEN {1} < {0} THEN {1} END"
_MORE = "CASE WHEN {0} >= {1} THEN {0} WHEN {1} > {0} THEN {1} END"
_COMPARED = (SUM, SUM)
_IN_UNIT = "CASE WHEN {0} BETWEEN -1e0 AND 1e0 THEN {0} END"
_POWER_SQL = (
    "CASE WHEN {0} > 0e0 OR ({0} = 0e0 AND {1} >= 0e0) OR ({0} < 0e0 AND {1} = FLOOR({1})) "
    "THEN POWER({0}, {1}) END"
)
# Excel calls 0^0 an error, and may take an odd root of a negative number
_POWER_EXCEL = "IF({1}=0,1+0*{0},IF(({0}<0)*({1}<>INT({1})),NA(),{0}^{1}))"

SPELLINGS: dict[str, Row] = {
    "add": Row(_infix(" + ", " + ", SUM, PRODUCT), keeps_bounds=True),
    "sub": Row(_infix(" - ", " - ", SUM, PRODUCT), keeps_bounds=True),
    "mul": Row(_infix("*", ".*", PRODUCT, POWER)),
    "div": Row(
        {
            **_infix("/", "./", PRODUCT, POWER),
            "sql": Spelling("{0}/NULLIF({1}, 0e0)", PRODUCT, (PRODUCT, ANY)),
        },
        forgets=(False, True),
    ),
    "neg": Row({"": Spelling("-{0}", SIGN, (ATOM,))}, keeps_bounds=True),
    "abs": Row(_function("abs", c="fabs")),
    "absdiff": Row(
        {
            name: Spelling(f"{call}({{0}} - {{1}})", ATOM, (SUM, PRODUCT))
            for name, call in {
                "": "abs",
                "numpy": "np.abs",
                "c": "fabs",
                "excel": "ABS",
                "sql": "ABS",
            }.items()
        }
    ),
    "square": Row(
        {
            **_calls(numpy="np.square", c="square", sql="POWER({0}, 2e0)"),
            "matlab": Spelling("{0}.^2", POWER, (ATOM,)),
            "excel": Spelling("{0}^2", POWER, (ATOM,)),
        }
    ),
    "cube": Row(
        {
            **_calls(numpy="np.power({0}, 3.0)", c="cube", sql="POWER({0}, 3e0)"),
            "matlab": Spelling("{0}.^3", POWER, (ATOM,)),
            "excel": Spelling("{0}^3", POWER, (ATOM,)),
        }
    ),
    "sqrt": Row(
        _function(
            "sqrt",
            matlab="real_sqrt",
            sql="SQRT(CASE WHEN {0} >= 0e0 THEN {0} END)",
            sqlite="sqrt",
            duckdb="sqrt",
        )
    ),
    "cbrt": Row(
        {
            **_function("cbrt", matlab="nthroot({0}, 3)", duckdb="cbrt"),
            "sql": Spelling(
                "CASE WHEN {0} < 0e0 THEN -POWER(-{0}, 1e0/3e0) ELSE POWER({0}, 1e0/3e0) END",
                ANY,
                (ATOM,),
            ),
            "excel": Spelling("SIGN({0})*ABS({0})^(1/3)", PRODUCT),
        }
    ),
    "inv": Row(
        {
            "": Spelling("1/{0}", PRODUCT, (POWER,)),
            "c": Spelling("1.0/{0}", PRODUCT, (POWER,)),
            "matlab": Spelling("1./{0}", PRODUCT, (POWER,)),
            "sql": Spelling("1e0/NULLIF({0}, 0e0)", PRODUCT),
        },
        forgets=(True,),
    ),
    "exp": Row(_function("exp"), forgets=(True,)),
    "log": Row(
        _function(
            "log",
            matlab="real_log",
            excel="LN",
            sql="LN(CASE WHEN {0} > 0e0 THEN {0} END)",
            sqlite="ln",
            duckdb="ln",
        )
    ),
    "sin": Row(_function("sin"), bounded=True),
    "cos": Row(_function("cos"), bounded=True),
    "tan": Row(_function("tan")),
    "sinh": Row(_function("sinh")),
    "cosh": Row(_function("cosh")),
    "tanh": Row(_function("tanh"), forgets=(True,), bounded=True),
    "asin": Row(
        _function(
            "asin", numpy="np.arcsin", matlab="real_asin", sql=f"ASIN({_IN_UNIT})", sqlite="asin",
            duckdb="asin",
        ),
        bounded=True,
    ),
    "acos": Row(
        _function(
            "acos", numpy="np.arccos", matlab="real_acos", sql=f"ACOS({_IN_UNIT})", sqlite="acos",
            duckdb="acos",
        ),
        bounded=True,
    ),
    "atan": Row(_function("atan", numpy="np.arctan"), forgets=(True,), bounded=True),
    "asinh": Row(
        _calls(numpy="np.arcsinh", c="asinh", matlab="asinh", excel="ASINH", sqlite="asinh", duckdb="asinh")
    ),
    "erf": Row(_calls(numpy="erf", c="erf", matlab="erf", excel="ERF"), forgets=(True,), bounded=True),
    "sign": Row(
        {
            **_function("sign", sqlite="CAST(sign({0}) AS REAL)", duckdb="CAST(sign({0}) AS DOUBLE)"),
            "sql": Spelling(
                "CASE WHEN {0} > 0e0 THEN 1e0 WHEN {0} < 0e0 THEN -1e0 WHEN {0} = 0e0 THEN 0e0 END",
                ANY,
                (SUM,),
            ),
        },
        forgets=(True,),
        bounded=True,
    ),
    "floor": Row(_function("floor", excel="INT")),
    "pow": Row(
        {
            **_calls(
                numpy="power({0}, {1})",
                c="power({0}, {1})",
                matlab="real_power({0}, {1})",
                sqlite="pow({0}, {1})",
                duckdb="pow({0}, {1})",
            ),
            "sql": Spelling(_POWER_SQL, ANY, _COMPARED),
            "excel": Spelling(_POWER_EXCEL, ATOM, (ATOM, ATOM)),
        },
        forgets=_BOTH,
    ),
    "min": Row(
        {
            **_calls(
                numpy="np.minimum({0}, {1})",
                c="smaller({0}, {1})",
                matlab="smaller({0}, {1})",
                excel="MIN({0},{1})",
                sqlite="min({0}, {1})",
            ),
            "sql": Spelling(_LESS, ANY, _COMPARED),
        },
        forgets=_BOTH,
    ),
    "max": Row(
        {
            **_calls(
                numpy="np.maximum({0}, {1})",
                c="larger({0}, {1})",
                matlab="larger({0}, {1})",
                excel="MAX({0},{1})",
                sqlite="max({0}, {1})",
            ),
            "sql": Spelling(_MORE, ANY, _COMPARED),
        },
        forgets=_BOTH,
    ),
}  # fmt: skip
