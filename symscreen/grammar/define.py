"""New operators from formulas: what ``[define.NAME]`` of a grammar file means."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import GrammarError, nearest
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.formula import parse_formula, quote_column
from symscreen.grammar.measures import measure_of_number, measured
from symscreen.grammar.operator import Domain, Family, Operator, UnitRule, meant_by
from symscreen.grammar.rounding import bounded_number, carried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.grammar.formula import Syntax

__all__ = ["checked", "define_family", "define_operator", "defined_again", "finite_or_nan",
           "look_up", "plain_number", "sympy_number", "written_out"]  # fmt: skip

_ARGUMENTS = ("x", "y")
_MAX_STEPS = 200
_MAX_PARAMETERS = 9
_MAX_STARTS = 27
_LARGEST = 1e300


def finite_or_nan(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn infinities into NaN, so that no later operator makes a number of them (1/(1/0) is not 0)."""
    return np.where(np.isfinite(values), values, np.nan)


def checked(operator: Operator) -> Callable[..., NDArray[np.float64]]:
    """Return an operator's numeric form with NaN for all that is not finite."""
    return lambda *arguments: finite_or_nan(operator.numeric(*arguments))


def plain_number(value: float) -> float:
    """Return a number as the parser does: an `int` where it is whole and below 10¹⁵, else a float."""
    return int(value) if abs(value) < 1e15 and float(value).is_integer() else float(value)


def sympy_number(value: float) -> Any:
    """Return a number as sympy has it: whole numbers and π exact, others with all their digits."""
    import sympy

    if value == np.pi:
        return sympy.pi
    return sympy.Integer(value) if isinstance(value, int) else sympy.Float(value, 17)


def look_up(name: str, arity: int, operators: Mapping[str, Operator]) -> Operator:
    """Find an operator by name and check that it takes this many arguments.

    Raises
    ------
    GrammarError
        If there is none of that name, with near matches, or it takes another number of arguments.
    """
    operator = operators.get(name)
    if operator is None:
        if family := meant_by(name, operators):
            raise GrammarError(
                f"{name!r} has parameters to be fitted; in a formula name the start: {family[0].name} is "
                f"{family[0].summary}"
            )
        raise GrammarError(f"there is no operator {name!r}{nearest(name, operators)}")
    if operator.arity != arity:
        takes = "one argument" if operator.arity == 1 else "two arguments"
        raise GrammarError(f"the operator {name!r} takes {takes}, {arity} given")
    return operator


def define_operator(
    name: str, formula: str, operators: Mapping[str, Operator], *, cost: int | None = None
) -> Operator:
    """Make an operator from a formula of other operators.

    Parameters
    ----------
    name : str
        A plain identifier that no operator has.
    formula : str
        In the one notation, with the arguments ``x`` and, for a binary operator, ``y``; ``pi`` is π.
    operators : mapping
        The operators that the formula may call.
    cost : int, optional
        Its cost; by default the sum of the costs inside.

    Returns
    -------
    Operator
        Outside its domain, at any step inside, its numeric form gives NaN.

    Raises
    ------
    GrammarError
        If the formula uses other names, unknown operators, no argument, or, by way of the operators that
        it calls, more than 200 shipped ones.
    FormulaError
        If the formula does not parse.

    See Also
    --------
    define_family : Where the formula has parameters that are to be fitted.

    Examples
    --------
    >>> from symscreen.grammar.built_in import OPERATORS
    >>> gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    >>> gauss.arity, gauss.cost, gauss.numeric(np.array([0.0, 1.0])).round(3).tolist()
    (1, 3, [1.0, 0.368])
    """
    return _operator(name, formula, parse_formula(formula), operators, cost=cost)


def define_family(
    name: str,
    formula: str,
    parameters: Mapping[str, Sequence[float]],
    operators: Mapping[str, Operator],
    *,
    cost: int | None = None,
) -> tuple[Operator, ...]:
    """Make the operators of a formula with parameters, one for each combination of starting values.

    Parameters
    ----------
    name : str
        A plain identifier that no operator has.
    formula : str
        As in `define_operator`, with the parameters' names besides.
    parameters : mapping of str to sequence of float
        Each parameter's starting values, finite, each once; at most 9 parameters and 27 combinations.
    operators : mapping
        The operators that the formula may call.
    cost : int, optional
        The cost of each; by default the sum of the costs inside.

    Returns
    -------
    tuple of Operator
        Called ``name_1``, ``name_2``, …, the last parameter's values changing first; a single one is called
        ``name``. Each computes the formula with its own values, and its `family` tells the rest.

    Raises
    ------
    GrammarError
        As in `define_operator`; also if a parameter cannot bear its name or is not used, a start is not
        finite or comes twice, there are too many, or the name of one of the operators is taken.
    FormulaError
        If the formula does not parse.

    Examples
    --------
    >>> from symscreen.grammar.built_in import OPERATORS
    >>> decay = define_family("decay", "exp(-a*x)", {"a": [0.1, 1, 10]}, OPERATORS)
    >>> [(operator.name, operator.summary) for operator in decay]
    [('decay_1', 'exp(-0.1*x)'), ('decay_2', 'exp(-1*x)'), ('decay_3', 'exp(-10*x)')]
    """
    tree = parse_formula(formula)
    _check_parameters(name, tree, parameters, operators)
    lists = [_starting_values(name, parameter, values) for parameter, values in parameters.items()]
    if (count := math.prod(map(len, lists))) > _MAX_STARTS:
        raise GrammarError(f"{name!r} has {count} combinations of starts; at most {_MAX_STARTS} are tried")
    starts = tuple(product(*lists))
    called = [name] if len(starts) == 1 else [f"{name}_{place + 1}" for place in range(len(starts))]
    if taken := [one for one in called if one in operators]:
        raise GrammarError(f"{name!r} makes an operator {taken[0]!r}, a name that is taken; choose another")
    return tuple(
        _operator(
            own,
            _filled_in(formula, tree, dict(zip(parameters, values, strict=True))),
            tree,
            operators,
            cost=cost,
            family=Family(name, tuple(parameters), values, starts, tree, operators),
        )
        for own, values in zip(called, starts, strict=True)
    )


def defined_again(
    name: str, formula: str, cost: int, calls: Sequence[Operator], family: Family | None
) -> Operator:
    """Make an operator from what is left of its definition, as a pickle holds it.

    Parameters
    ----------
    name, formula, cost
        The operator's name, `summary` and cost.
    calls : sequence of Operator
        Those that its formula calls.
    family : Family or None
        Where the formula has parameters.

    Returns
    -------
    Operator
        Equal to the one that was defined.

    Examples
    --------
    >>> from symscreen.grammar.built_in import OPERATORS
    >>> gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    >>> defined_again("gauss", gauss.summary, gauss.cost, gauss.calls, None) == gauss
    True
    """
    tree = parse_formula(formula) if family is None else family.tree
    known = {operator.name: operator for operator in calls}
    return _operator(name, formula, tree, known, cost=cost, family=family)


def written_out(
    family: Family, form: Callable[[Operator], Callable[..., Any]], number: Callable[[float], Any]
) -> Callable[..., Any]:
    """Chain one form of the operators that a family's formula calls.

    Parameters
    ----------
    family : Family
        The formula and its parameters.
    form : callable
        Gives the form wanted of an operator: its numeric or symbolic function, or one that builds trees.
    number : callable
        Gives the same form of a number in the formula.

    Returns
    -------
    callable
        Of the operator's arguments and, behind them, a value for each parameter.

    Examples
    --------
    >>> from symscreen.grammar.built_in import OPERATORS
    >>> (shifted,) = define_family("shifted", "1/(x + b)", {"b": [1]}, OPERATORS)
    >>> float(written_out(shifted.family, checked, np.float64)(np.float64(3.0), 5.0))
    0.125
    """
    return _compose(family.tree, family.operators, form, number, _places(family.tree, family.parameters))


def _operator(
    name: str,
    summary: str,
    tree: Syntax,
    operators: Mapping[str, Operator],
    *,
    cost: int | None,
    family: Family | None = None,
) -> Operator:
    parameters, values = (family.parameters, family.values) if family else ((), ())
    places = _places(tree, parameters)
    if unknown := sorted(_names(tree) - {*places, "pi"}):
        raise GrammarError(
            f"{name!r} is defined with {unknown[0]!r}; the arguments are called x and y, "
            "and constants to be fitted stand under parameters"
        )
    if "x" not in places:
        raise GrammarError(f"{name!r} is defined without its argument x")
    arity = len(places) - len(parameters)
    called = list(_called(tree, operators))
    # definitions may call one another, and each can double what the last one costs to compute
    steps = sum(operator.steps for operator in called)
    if steps > _MAX_STEPS:
        raise GrammarError(f"{name!r} comes to {steps} operators, one inside another; at most {_MAX_STEPS}")

    def composed(form: Callable[[Operator], Callable[..., Any]], number: Callable[[float], Any]) -> Any:
        whole, fixed = _compose(tree, operators, form, number, places), tuple(map(number, values))
        return (lambda *arguments: whole(*arguments, *fixed)) if fixed else whole

    key = composed(lambda operator: operator.key, fp.of_number)
    bounded = composed(carried, bounded_number)
    x, y = fp.of_column("x"), fp.of_column("y")
    return Operator(
        name,
        arity,
        numeric=composed(checked, np.float64),
        symbolic=composed(lambda operator: operator.symbolic, sympy_number),
        fingerprint=key,
        domain=(Domain.REAL,) * arity,
        units=UnitRule(
            "composed",
            definition=composed(lambda operator: partial(measured, operator), measure_of_number),
        ),
        summary=summary,
        cost=sum(operator.cost for operator in called) if cost is None else cost,
        steps=steps,
        commutative=arity == 2 and bool((key(x, y) == key(y, x)).all()),
        rounding=lambda _, *arguments: bounded(*arguments).error,
        family=family,
        calls=tuple(dict.fromkeys(called)),
    )


def _check_parameters(
    name: str, tree: Syntax, parameters: Mapping[str, object], operators: Mapping[str, Operator]
) -> None:
    if not 0 < len(parameters) <= _MAX_PARAMETERS:
        raise GrammarError(f"{name!r} has {len(parameters)} parameters; give 1 to {_MAX_PARAMETERS}")
    used = _names(tree)
    for parameter in parameters:
        if parameter in {*_ARGUMENTS, name, *operators} or quote_column(parameter) != parameter:
            raise GrammarError(
                f"{name!r} cannot call a parameter {parameter!r}; take a plain identifier such as a, "
                "other than x, y, pi and the operators' names"
            )
        if parameter not in used:
            raise GrammarError(f"{name!r} has a parameter {parameter!r} that its formula does not contain")


def _starting_values(name: str, parameter: str, values: Sequence[float]) -> list[float]:
    for value in values:
        if not abs(value) <= _LARGEST:  # not NaN either
            raise GrammarError(
                f"{name!r} starts {parameter!r} at a number that is not finite, or beyond {_LARGEST:g}"
            )
    starts = list(map(plain_number, values))
    if not starts:
        raise GrammarError(f"{name!r} has no start for {parameter!r}; give a number or a list of some")
    if twice := [value for value in starts if starts.count(value) > 1]:
        raise GrammarError(f"{name!r} starts {parameter!r} at {twice[0]} twice")
    return starts


def _filled_in(formula: str, tree: Syntax, values: Mapping[str, float]) -> str:
    """Write numbers in the place of a formula's parameters; the text reads as the same function."""
    text = formula
    for node in sorted(_leaves(tree), key=lambda node: -node.position):
        if node.value in values:
            number = values[str(node.value)]
            quotes = 2 if node.kind == "column" else 0
            before, after = text[: node.position], text[node.position + len(str(node.value)) + quotes :]
            # x**2 would be the square
            bare = number >= 0 and not before.rstrip().endswith("**")
            text = f"{before}{number}{after}" if bare else f"{before}({number}){after}"
    return text


def _leaves(tree: Syntax) -> Iterator[Syntax]:
    if tree.kind in {"name", "column"}:
        yield tree
    for argument in tree.arguments:
        yield from _leaves(argument)


def _names(tree: Syntax) -> set[str]:
    return {str(leaf.value) for leaf in _leaves(tree)}


def _places(tree: Syntax, parameters: tuple[str, ...]) -> dict[str, int]:
    """Give each argument, and behind them each parameter, its place in a call."""
    names = _names(tree)
    order = (*(argument for argument in _ARGUMENTS if argument in names), *parameters)
    return {name: place for place, name in enumerate(order)}


def _called(tree: Syntax, operators: Mapping[str, Operator]) -> Iterator[Operator]:
    if tree.kind == "call":
        yield look_up(str(tree.value), len(tree.arguments), operators)
        for argument in tree.arguments:
            yield from _called(argument, operators)


def _compose(
    tree: Syntax,
    operators: Mapping[str, Operator],
    form: Callable[[Operator], Callable[..., Any]],
    number: Callable[[float], Any],
    places: Mapping[str, int],
) -> Callable[..., Any]:
    """Chain one form (numeric, symbolic, fingerprint) of the operators that a formula calls."""
    if tree.kind == "call":
        apply = form(look_up(str(tree.value), len(tree.arguments), operators))
        parts = [_compose(argument, operators, form, number, places) for argument in tree.arguments]
        return lambda *arguments: apply(*(part(*arguments) for part in parts))
    if isinstance(tree.value, str) and tree.value in places:
        place = places[tree.value]
        return lambda *arguments: arguments[place]
    value = number(np.pi if isinstance(tree.value, str) else tree.value)
    return lambda *_: value
