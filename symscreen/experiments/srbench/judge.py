"""Decide by SRBench's rule whether a formula is the truth, with sympy in a separate process.

SRBench (La Cava and others 2021, definition 4.1) calls a model a symbolic solution if it differs from the
truth by a constant, or is a non-zero multiple of it. As its records were computed:

1. π is 3.1415926535. Numbers below 10⁻⁴ become 0, and the other decimals are rounded to three digits after
   the point, in the truth and, after ``simplify(ratio=1)``, in the model.
2. The model is a solution if ``simplify(ratio=1)`` of truth − model, rounded in the same way, is a constant,
   or if model/truth, rounded but not simplified, is one.

The rule is strict and blind in places. It does not recognise the truth itself in 3 of the 130 problems
(`UNRECOGNISED`), and ``x**0.5`` instead of ``sqrt(x)`` would lose five more. Models are therefore given with
rational exponents.

sympy may take hours or gigabytes, so `Judge` runs it in another process with limits. The formulas are
sent as trees of operators, and no text is evaluated.
"""

from __future__ import annotations

import json
import math
import os
import queue
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from symscreen.errors import FormulaError
from symscreen.expressions.traversal import fold_expression
from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from symscreen.expressions.tree import Expression

UNRECOGNISED = ("II_35_18", "II_6_15b", "test_12")
"""Problems whose truth the rule does not recognise."""

_ZERO_THRESHOLD = 1e-4
_DECIMALS = 3
_PI = "3.1415926535"
_MAX_EXPONENT_DENOMINATOR = 6
_TIME_LIMIT_S = 120.0
_COMMAND = f"from {__name__} import judge_standard_input; judge_standard_input()"
_MAX_BYTES = 4 * 2**30


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer of the judge.

    Parameters
    ----------
    solved : bool
        Whether the formula is a symbolic solution.
    reason : str
        ``difference`` or ``ratio`` of a solution; ``neither``, ``constant``, ``time``, ``memory`` or
        ``error`` otherwise.
    """

    solved: bool
    reason: str


class Judge:
    """Judge formulas in another process, which starts with the first formula and again after a failure.

    Parameters
    ----------
    time_limit_s : float
        Seconds for one formula, after which the process is ended.
    max_bytes : int
        Address space of the process, where the system can limit it.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> with Judge() as judge:
    ...     judge.judge_formula(parse_expression("x**2 + x + 3"), parse_expression("x*(x + 1)"))
    Judgement(solved=True, reason='difference')
    """

    def __init__(self, time_limit_s: float = _TIME_LIMIT_S, max_bytes: int = _MAX_BYTES) -> None:
        self._time_limit_s, self._max_bytes = time_limit_s, max_bytes
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def judge_formula(self, model: Expression, truth: Expression) -> Judgement:
        """Judge a formula.

        Parameters
        ----------
        model, truth : Expression
            Formulas of built-in operators in the same columns.

        Returns
        -------
        Judgement
            Not solved if the process reaches a limit or fails.
        """
        try:
            task = json.dumps({"model": encode_tree(model), "truth": encode_tree(truth)})
        except (FormulaError, RecursionError):
            return Judgement(solved=False, reason="error")
        process = self._start()
        assert process.stdin is not None  # noqa: S101  # it is a pipe
        try:
            process.stdin.write(f"{task}\n")
            process.stdin.flush()
            line = self._lines.get(timeout=self._time_limit_s)
        except queue.Empty:
            self.stop()
            return Judgement(solved=False, reason="time")
        except OSError:
            line = ""
        if not line:  # the process has ended
            self.stop()
            return Judgement(solved=False, reason="error")
        judgement = Judgement(**json.loads(line))
        if judgement.reason == "memory":
            self.stop()
        return judgement

    def _start(self) -> subprocess.Popen[str]:
        """Return the running process; start it first if there is none."""
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603  # it runs a function of this module
                [sys.executable, "-c", _COMMAND, str(self._max_bytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONHASHSEED": "0"},  # sympy orders some sums by hashes
            )
            self._lines = queue.Queue()
            threading.Thread(target=_collect_lines, args=(self._process, self._lines), daemon=True).start()
            self._lines.get()  # it has imported sympy, or has ended
        return self._process


def _collect_lines(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    """Put the lines that a process prints into a queue, and an empty one when it ends."""
    assert process.stdout is not None  # noqa: S101  # it is a pipe
    for line in process.stdout:
        lines.put(line)
    lines.put("")


def apply_rule(model: Expression, truth: Expression) -> Judgement:
    """Apply SRBench's rule in this process, without limits.

    Parameters
    ----------
    model, truth : Expression
        Formulas in the same columns.

    Returns
    -------
    Judgement

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> truth = parse_expression("x*y/(4*pi)")
    >>> apply_rule(parse_expression("0.0795775*x*y + 0.3"), truth)
    Judgement(solved=True, reason='difference')
    >>> apply_rule(parse_expression("0.2*x*y"), truth)
    Judgement(solved=True, reason='ratio')
    >>> apply_rule(parse_expression("0.0795775*x*y + 0.3*x"), truth)
    Judgement(solved=False, reason='neither')
    """
    import sympy

    rounded_truth = _round_numbers(_build_form(truth))
    rounded_model = _round_numbers(sympy.simplify(_build_form(model), ratio=1))
    if not rounded_model.free_symbols:
        return Judgement(solved=False, reason="constant")
    difference = _round_numbers(rounded_truth - rounded_model)
    if _round_numbers(sympy.simplify(difference, ratio=1)).is_constant():
        return Judgement(solved=True, reason="difference")
    if _round_numbers(rounded_model / rounded_truth).is_constant():
        return Judgement(solved=True, reason="ratio")
    return Judgement(solved=False, reason="neither")


def _build_form(expression: Expression) -> Any:
    """Build the sympy form of a formula: integers are exact, other numbers are decimals."""
    import sympy

    def build_number(constant: Constant) -> Any:
        value = constant.value
        if value == math.pi:
            return sympy.Float(_PI)
        return sympy.Integer(int(value)) if value == int(value) else sympy.Float(value)

    def build_call(call: Call, arguments: list[Any]) -> Any:
        if call.operator.name == "pow" and isinstance(arguments[1], sympy.Float):
            arguments = [arguments[0], _recover_exponent(arguments[1])]
        return call.operator.symbolic(*arguments)

    return fold_expression(expression, column=sympy.Symbol, number=build_number, call=build_call)


def _recover_exponent(exponent: Any) -> Any:
    """Return an exponent such as 0.5 as a fraction."""
    import sympy

    fraction = Fraction(float(exponent)).limit_denominator(_MAX_EXPONENT_DENOMINATOR)
    if float(fraction) != float(exponent):
        return exponent
    return sympy.Rational(fraction.numerator, fraction.denominator)


def _round_numbers(form: Any) -> Any:
    """Round the decimals of a form; small ones become 0."""
    import sympy

    rounded = {
        number: sympy.Integer(0)
        if abs(number) < _ZERO_THRESHOLD
        else sympy.Float(round(float(number), _DECIMALS))
        for number in form.atoms(sympy.Float)
    }
    return form.xreplace(rounded)


def encode_tree(expression: Expression) -> list[Any]:
    """Encode a formula of built-in operators as nested lists.

    Parameters
    ----------
    expression : Expression
        The formula.

    Returns
    -------
    list
        ``["column", name]``, ``["number", value]`` or ``[operator, argument, …]``.

    Raises
    ------
    FormulaError
        If an operator is not built in.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> encode_tree(parse_expression("2*sin(x)"))
    ['mul', ['number', 2], ['sin', ['column', 'x']]]
    """

    def encode_call(call: Call, arguments: list[Any]) -> list[Any]:
        if call.operator.name not in OPERATORS:
            raise FormulaError(f"the operator {call.operator.name!r} is not built in")
        return [call.operator.name, *arguments]

    return fold_expression(
        expression,
        column=lambda name: ["column", name],
        number=lambda constant: ["number", constant.value],
        call=encode_call,
    )


def decode_tree(code: list[Any]) -> Expression:
    """Decode what `encode_tree` returned.

    Parameters
    ----------
    code : list
        Nested lists.

    Returns
    -------
    Expression
    """
    kind, *parts = code
    if kind == "column":
        return Column(str(parts[0]))
    if kind == "number":
        return Constant(parts[0])
    return apply_operator(OPERATORS[kind], *map(decode_tree, parts))


def _limit_memory(max_bytes: int) -> None:
    """Limit the address space of this process, where the system can."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))


def _end_with_parent(parent: int) -> None:
    """End this process soon after the one that started it was killed, even if sympy is busy."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def judge_standard_input() -> None:
    """Judge the formulas that the lines of standard input describe, and print a line for each."""
    import sympy  # noqa: F401  # loaded before memory is limited

    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    _limit_memory(int(sys.argv[1]))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        task = json.loads(line)
        try:
            judgement = apply_rule(decode_tree(task["model"]), decode_tree(task["truth"]))
        except MemoryError:
            judgement = Judgement(solved=False, reason="memory")
        except Exception:  # noqa: BLE001  # sympy fails in many ways, and none is a solution
            judgement = Judgement(solved=False, reason="error")
        sys.stdout.write(f"{json.dumps(asdict(judgement))}\n")
        sys.stdout.flush()
