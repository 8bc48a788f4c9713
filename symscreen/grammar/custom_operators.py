"""New operators from formulas: what ``[define.NAME]`` of a grammar file means.

Operators as pickles hold them: by name or by definition, for most of their functions have no name.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import GrammarError, suggest
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.dimensions import make_number_dimensions, propagate_dimensions
from symscreen.grammar.error_propagation import bound_number, make_error_propagator
from symscreen.grammar.operator import Domain, Operator, OperatorFamily, UnitRule, find_operators_by_name
from symscreen.grammar.parser import parse_formula, quote_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.grammar.parser import SyntaxNode


__all__ = [
    "compose_form",
    "define_family",
    "define_operator",
    "get_operator",
    "make_finite_numeric",
    "rebuild_operator",
    "reduce_operator",
    "replace_infinities",
    "to_plain_number",
    "to_sympy_number",
]

_ARGUMENTS = ("x", "y")
_MAX_PRIMITIVES = 200
_MAX_PARAMETERS = 9
_MAX_START_COMBINATIONS = 27
_MAX_START_MAGNITUDE = 1e300


def replace_infinities(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn infinities into NaN, so that no later operator makes a number of them (1/(1/0) is not 0)."""
    return np.where(np.isfinite(values), values, np.nan)


def make_finite_numeric(operator: Operator) -> Callable[..., NDArray[np.float64]]:
    """Return an operator's numeric form with NaN for all that is not finite."""
    return lambda *arguments: replace_infinities(operator.numeric(*arguments))


def to_plain_number(value: float) -> float:
    """Return a number as the parser does: an `int` where it is whole and below 10¹⁵, else a float."""
    return int(value) if abs(value) < 1e15 and float(value).is_integer() else float(value)


def to_sympy_number(value: float) -> Any:
    """Return a number as sympy has it: whole numbers and π exact, others with all their digits."""
    import sympy

    if value == np.pi:
        return sympy.pi
    return sympy.Integer(value) if isinstance(value, int) else sympy.Float(value, 17)


def get_operator(name: str, arity: int, operators: Mapping[str, Operator]) -> Operator:
    """Find an operator by name and check that it takes this many arguments.

    Raises
    ------
    GrammarError
        If there is none of that name, with near matches, or it takes another number of arguments.
    """
    operator = operators.get(name)
    if operator is None:
        if family := find_operators_by_name(name, operators):
            raise GrammarError(
                f"{name!r} has parameters to be fitted; in a formula name the start: {family[0].name} is "
                f"{family[0].summary}"
            )
        raise GrammarError(f"there is no operator {name!r}{suggest(name, operators)}")
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
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    >>> gauss.arity, gauss.cost, gauss.numeric(np.array([0.0, 1.0])).round(3).tolist()
    (1, 3, [1.0, 0.368])
    """
    return _build_operator(name, formula, parse_formula(formula), operators, cost=cost)


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
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> decay = define_family("decay", "exp(-a*x)", {"a": [0.1, 1, 10]}, OPERATORS)
    >>> [(operator.name, operator.summary) for operator in decay]
    [('decay_1', 'exp(-0.1*x)'), ('decay_2', 'exp(-1*x)'), ('decay_3', 'exp(-10*x)')]
    """
    tree = parse_formula(formula)
    _check_parameters(name, tree, parameters, operators)
    lists = [_check_starting_values(name, parameter, values) for parameter, values in parameters.items()]
    if (count := math.prod(map(len, lists))) > _MAX_START_COMBINATIONS:
        raise GrammarError(
            f"{name!r} has {count} combinations of starts; at most {_MAX_START_COMBINATIONS} are tried"
        )
    starts = tuple(product(*lists))
    called = [name] if len(starts) == 1 else [f"{name}_{place + 1}" for place in range(len(starts))]
    if taken := [one for one in called if one in operators]:
        raise GrammarError(f"{name!r} makes an operator {taken[0]!r}, a name that is taken; choose another")
    return tuple(
        _build_operator(
            own,
            _substitute_values(formula, tree, dict(zip(parameters, values, strict=True))),
            tree,
            operators,
            cost=cost,
            family=OperatorFamily(name, tuple(parameters), values, starts, tree, operators),
        )
        for own, values in zip(called, starts, strict=True)
    )


def rebuild_operator(
    name: str, formula: str, cost: int, called_operators: Sequence[Operator], family: OperatorFamily | None
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
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    >>> rebuild_operator("gauss", gauss.summary, gauss.cost, gauss.called_operators, None) == gauss
    True
    """
    tree = parse_formula(formula) if family is None else family.tree
    known = {operator.name: operator for operator in called_operators}
    return _build_operator(name, formula, tree, known, cost=cost, family=family)


def compose_form(
    family: OperatorFamily,
    get_form: Callable[[Operator], Callable[..., Any]],
    convert_number: Callable[[float], Any],
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
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> (shifted,) = define_family("shifted", "1/(x + b)", {"b": [1]}, OPERATORS)
    >>> float(compose_form(shifted.family, checked, np.float64)(np.float64(3.0), 5.0))
    0.125
    """
    return _compose_tree(
        family.tree,
        family.operators,
        get_form,
        convert_number,
        _index_arguments(family.tree, family.parameters),
    )


def _build_operator(
    name: str,
    summary: str,
    tree: SyntaxNode,
    operators: Mapping[str, Operator],
    *,
    cost: int | None,
    family: OperatorFamily | None = None,
) -> Operator:
    parameters, values = (family.parameters, family.values) if family else ((), ())
    places = _index_arguments(tree, parameters)
    if unknown := sorted(_collect_names(tree) - {*places, "pi"}):
        raise GrammarError(
            f"{name!r} is defined with {unknown[0]!r}; the arguments are called x and y, "
            "and constants to be fitted stand under parameters"
        )
    if "x" not in places:
        raise GrammarError(f"{name!r} is defined without its argument x")
    arity = len(places) - len(parameters)
    called = list(_iterate_called(tree, operators))
    # definitions may call one another, and each can double what the last one costs to compute
    steps = sum(operator.n_primitives for operator in called)
    if steps > _MAX_PRIMITIVES:
        raise GrammarError(
            f"{name!r} comes to {steps} operators, one inside another; at most {_MAX_PRIMITIVES}"
        )

    def compose(
        get_form: Callable[[Operator], Callable[..., Any]], convert_number: Callable[[float], Any]
    ) -> Any:
        whole, fixed = (
            _compose_tree(tree, operators, get_form, convert_number, places),
            tuple(map(convert_number, values)),
        )
        return (lambda *arguments: whole(*arguments, *fixed)) if fixed else whole

    key = compose(lambda operator: operator.compute_fingerprint, fp.encode_number)
    bounded = compose(make_error_propagator, bound_number)
    x, y = fp.encode_column("x"), fp.encode_column("y")
    return Operator(
        name,
        arity,
        numeric=compose(make_finite_numeric, np.float64),
        symbolic=compose(lambda operator: operator.symbolic, to_sympy_number),
        fingerprint=key,
        domain=(Domain.REAL,) * arity,
        units=UnitRule(
            "composed",
            definition=compose(
                lambda operator: partial(propagate_dimensions, operator), make_number_dimensions
            ),
        ),
        summary=summary,
        cost=sum(operator.cost for operator in called) if cost is None else cost,
        n_primitives=steps,
        commutative=arity == 2 and bool((key(x, y) == key(y, x)).all()),
        rounding=lambda _, *arguments: bounded(*arguments).error,
        family=family,
        called_operators=tuple(dict.fromkeys(called)),
    )


def _check_parameters(
    name: str, tree: SyntaxNode, parameters: Mapping[str, object], operators: Mapping[str, Operator]
) -> None:
    if not 0 < len(parameters) <= _MAX_PARAMETERS:
        raise GrammarError(f"{name!r} has {len(parameters)} parameters; give 1 to {_MAX_PARAMETERS}")
    used = _collect_names(tree)
    for parameter in parameters:
        if parameter in {*_ARGUMENTS, name, *operators} or quote_column(parameter) != parameter:
            raise GrammarError(
                f"{name!r} cannot call a parameter {parameter!r}; take a plain identifier such as a, "
                "other than x, y, pi and the operators' names"
            )
        if parameter not in used:
            raise GrammarError(f"{name!r} has a parameter {parameter!r} that its formula does not contain")


def _check_starting_values(name: str, parameter: str, values: Sequence[float]) -> list[float]:
    for value in values:
        if not abs(value) <= _MAX_START_MAGNITUDE:  # not NaN either
            raise GrammarError(
                f"{name!r} starts {parameter!r} at a number that is not finite, or beyond "
                f"{_MAX_START_MAGNITUDE:g}"
            )
    starts = list(map(to_plain_number, values))
    if not starts:
        raise GrammarError(f"{name!r} has no start for {parameter!r}; give a number or a list of some")
    if twice := [value for value in starts if starts.count(value) > 1]:
        raise GrammarError(f"{name!r} starts {parameter!r} at {twice[0]} twice")
    return starts


def _substitute_values(formula: str, tree: SyntaxNode, values: Mapping[str, float]) -> str:
    """Write numbers in the place of a formula's parameters; the text reads as the same function."""
    text = formula
    for node in sorted(_iterate_leaves(tree), key=lambda node: -node.position):
        if node.value in values:
            number = values[str(node.value)]
            quotes = 2 if node.kind == "column" else 0
            before, after = text[: node.position], text[node.position + len(str(node.value)) + quotes :]
            # x**2 would be the square
            bare = number >= 0 and not before.rstrip().endswith("**")
            text = f"{before}{number}{after}" if bare else f"{before}({number}){after}"
    return text


def _iterate_leaves(tree: SyntaxNode) -> Iterator[SyntaxNode]:
    if tree.kind in {"name", "column"}:
        yield tree
    for argument in tree.arguments:
        yield from _iterate_leaves(argument)


def _collect_names(tree: SyntaxNode) -> set[str]:
    return {str(leaf.value) for leaf in _iterate_leaves(tree)}


def _index_arguments(tree: SyntaxNode, parameters: tuple[str, ...]) -> dict[str, int]:
    """Give each argument, and behind them each parameter, its place in a call."""
    names = _collect_names(tree)
    order = (*(argument for argument in _ARGUMENTS if argument in names), *parameters)
    return {name: place for place, name in enumerate(order)}


def _iterate_called(tree: SyntaxNode, operators: Mapping[str, Operator]) -> Iterator[Operator]:
    if tree.kind == "call":
        yield get_operator(str(tree.value), len(tree.arguments), operators)
        for argument in tree.arguments:
            yield from _iterate_called(argument, operators)


def _compose_tree(
    tree: SyntaxNode,
    operators: Mapping[str, Operator],
    get_form: Callable[[Operator], Callable[..., Any]],
    convert_number: Callable[[float], Any],
    argument_indices: Mapping[str, int],
) -> Callable[..., Any]:
    """Chain one form (numeric, symbolic, fingerprint) of the operators that a formula calls."""
    if tree.kind == "call":
        apply = get_form(get_operator(str(tree.value), len(tree.arguments), operators))
        parts = [
            _compose_tree(argument, operators, get_form, convert_number, argument_indices)
            for argument in tree.arguments
        ]
        return lambda *arguments: apply(*(part(*arguments) for part in parts))
    if isinstance(tree.value, str) and tree.value in argument_indices:
        place = argument_indices[tree.value]
        return lambda *arguments: arguments[place]
    value = convert_number(np.pi if isinstance(tree.value, str) else tree.value)
    return lambda *_: value


def reduce_operator(operator: Operator) -> tuple[Callable[..., Operator], tuple[object, ...]]:
    """Say how to make an operator again.

    Parameters
    ----------
    operator : Operator
        Shipped, perhaps with another cost; defined by a formula; or made by a program.

    Returns
    -------
    callable
        What makes it.
    tuple
        Of these arguments. Of an operator that a program made, they are its fields: its functions must be
        ones that `pickle` finds by name.

    Examples
    --------
    >>> make, arguments = reduce_operator(OPERATORS["sin"])
    >>> arguments, make(*arguments) is OPERATORS["sin"]
    (('sin', 1), True)
    """
    shipped = OPERATORS.get(operator.name)
    if shipped is not None and replace(shipped, cost=operator.cost) == operator:
        return _get_shipped_operator, (operator.name, operator.cost)
    if operator.called_operators:
        told = (operator.name, operator.summary, operator.cost, operator.called_operators, operator.family)
        return rebuild_operator, told
    return Operator, tuple(getattr(operator, each.name) for each in fields(operator))


def _get_shipped_operator(name: str, cost: int) -> Operator:
    operator = OPERATORS[name]
    return operator if operator.cost == cost else replace(operator, cost=cost)
