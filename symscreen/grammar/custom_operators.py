"""Define operators by formulas (``[define.NAME]`` in a grammar file), and pickle operators.

A definition is a formula of other operators. Its numeric form, sympy form, fingerprint, units and error bound
are composed from theirs. Most of these functions cannot be pickled, so a pickle stores the name of a built-in
operator or the definition of a custom one.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import GrammarError
from symscreen.grammar import fingerprint as fp
from symscreen.grammar import interval_bounds
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.dimensions import make_number_dimensions, propagate_dimensions
from symscreen.grammar.error_propagation import bound_number, make_error_propagator
from symscreen.grammar.operator import Domain, Operator, OperatorFamily, UnitRule, find_operators_by_name
from symscreen.grammar.parser import NAMED_CONSTANTS, find_constant_name, parse_formula, quote_column
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.grammar.parser import SyntaxNode


_ARGUMENTS = ("x", "y")
_MAX_PRIMITIVES = 200  # built-in operators in a definition, including nested definitions
_MAX_PARAMETERS = 9
_MAX_START_COMBINATIONS = 27  # combinations of starting values of a family
_MAX_START_MAGNITUDE = 1e300  # largest magnitude of a starting value
_MAX_EXACT_INTEGER = 1e15  # integers below are written as int


def replace_infinities(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace infinities by NaN, so that no later operator turns them into numbers (1/(1/0) is not 0)."""
    return np.where(np.isfinite(values), values, np.nan)


def make_finite_numeric(operator: Operator) -> Callable[..., NDArray[np.float64]]:
    """Return the numeric form of an operator with NaN in place of infinities."""
    return lambda *arguments: replace_infinities(operator.numeric(*arguments))


def to_plain_number(value: float) -> float:
    """Convert a number as the parser does: to `int` for integers below 10¹⁵ in magnitude, else to float."""
    return int(value) if abs(value) < _MAX_EXACT_INTEGER and float(value).is_integer() else float(value)


def to_sympy_number(value: float) -> Any:
    """Convert a number to sympy: integers and π exactly, other numbers with 17 digits."""
    import sympy

    name = find_constant_name(value)
    if name is not None:
        return getattr(sympy, name)
    return sympy.Integer(value) if isinstance(value, int) else sympy.Float(value, 17)


def get_operator(name: str, arity: int, operators: Mapping[str, Operator]) -> Operator:
    """Return the operator with a given name, which must have a given number of arguments.

    Parameters
    ----------
    name : str
        Name of the operator.
    arity : int
        Number of arguments in the call.
    operators : mapping of str to Operator
        The available operators.

    Returns
    -------
    Operator

    Raises
    ------
    GrammarError
        If there is no such operator, or it has another number of arguments. The message suggests similar
        names.
    """
    operator = operators.get(name)
    if operator is None:
        if family := find_operators_by_name(name, operators):
            raise GrammarError(
                f"{name!r} has parameters to be fitted; in a formula write an operator with starting values: "
                f"{family[0].name} is {family[0].summary}"
            )
        raise GrammarError(f"there is no operator {name!r}{suggest(name, operators)}")
    if operator.arity != arity:
        takes = "one argument" if operator.arity == 1 else "two arguments"
        raise GrammarError(f"the operator {name!r} takes {takes}, {arity} given")
    return operator


def define_operator(
    name: str, formula: str, operators: Mapping[str, Operator], *, cost: int | None = None
) -> Operator:
    """Define an operator by a formula of other operators.

    Parameters
    ----------
    name : str
        A plain identifier that is not the name of an operator.
    formula : str
        A formula of the arguments ``x`` and, for a binary operator, ``y``; ``pi`` is π.
    operators : mapping of str to Operator
        The operators that the formula may call.
    cost : int, optional
        Complexity of the operator; by default the sum of the costs of the operators in the formula.

    Returns
    -------
    Operator
        Its numeric form is NaN wherever a step of the formula is undefined or infinite.

    Raises
    ------
    GrammarError
        If the formula uses other names or unknown operators, does not use ``x``, or contains more than 200
        built-in operators, counting nested definitions.
    FormulaError
        If the formula cannot be parsed.

    See Also
    --------
    define_family : For formulas with parameters to be fitted.

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
    """Define the operators of a formula with parameters, one for each combination of starting values.

    Parameters
    ----------
    name : str
        A plain identifier that is not the name of an operator.
    formula : str
        A formula as in `define_operator` that also contains the parameters.
    parameters : mapping of str to sequence of float
        Distinct, finite starting values of each parameter. At most 9 parameters and 27 combinations.
    operators : mapping of str to Operator
        The operators that the formula may call.
    cost : int, optional
        Complexity of each operator; by default the sum of the costs of the operators in the formula.

    Returns
    -------
    tuple of Operator
        Operators ``name_1``, ``name_2``, …, where the values of the last parameter change first; a single
        operator is called ``name``. Each has its own values, and its `family` describes the others.

    Raises
    ------
    GrammarError
        As in `define_operator`; also if the name of a parameter is not allowed or not used, a starting value
        is not finite or repeated, there are too many combinations, or the name of an operator is in use.
    FormulaError
        If the formula cannot be parsed.

    Examples
    --------
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> decay = define_family("decay", "exp(-a*x)", {"a": [0.1, 1, 10]}, OPERATORS)
    >>> [(operator.name, operator.summary) for operator in decay]
    [('decay_1', 'exp(-0.1*x)'), ('decay_2', 'exp(-1*x)'), ('decay_3', 'exp(-10*x)')]
    """
    tree = parse_formula(formula)
    _check_parameters(name, tree, parameters, operators)
    values_by_parameter = [
        _check_starting_values(name, parameter, values) for parameter, values in parameters.items()
    ]
    if (n_combinations := math.prod(map(len, values_by_parameter))) > _MAX_START_COMBINATIONS:
        raise GrammarError(
            f"{name!r} has {n_combinations} combinations of starting values; at most "
            f"{_MAX_START_COMBINATIONS} are allowed"
        )
    starts = tuple(product(*values_by_parameter))
    operator_names = [name] if len(starts) == 1 else [f"{name}_{index + 1}" for index in range(len(starts))]
    if conflicts := [operator_name for operator_name in operator_names if operator_name in operators]:
        raise GrammarError(
            f"{name!r} defines an operator {conflicts[0]!r}, a name that is in use; choose another"
        )
    return tuple(
        _build_operator(
            operator_name,
            _substitute_values(formula, tree, dict(zip(parameters, values, strict=True))),
            tree,
            operators,
            cost=cost,
            family=OperatorFamily(name, tuple(parameters), values, starts, tree, operators),
        )
        for operator_name, values in zip(operator_names, starts, strict=True)
    )


def rebuild_operator(
    name: str, formula: str, cost: int, called_operators: Sequence[Operator], family: OperatorFamily | None
) -> Operator:
    """Rebuild an operator from its definition, as stored in a pickle.

    Parameters
    ----------
    name : str
        Name of the operator.
    formula : str
        Its formula (`Operator.summary`).
    cost : int
        Its complexity.
    called_operators : sequence of Operator
        The operators that the formula calls.
    family : OperatorFamily or None
        The family, if the formula has parameters.

    Returns
    -------
    Operator
        Equal to the original operator.

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
    """Compose one form of the operators that a family's formula calls.

    Parameters
    ----------
    family : OperatorFamily
        The formula and its parameters.
    get_form : callable
        Returns the required form of an operator, for example its numeric or symbolic function.
    convert_number : callable
        Returns the same form of a number.

    Returns
    -------
    callable
        A function of the operator's arguments, followed by one value per parameter.

    Examples
    --------
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> (shifted,) = define_family("shifted", "1/(x + b)", {"b": [1]}, OPERATORS)
    >>> float(compose_form(shifted.family, make_finite_numeric, np.float64)(np.float64(3.0), 5.0))
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
    """Compose all forms of an operator from its syntax tree."""
    parameters, values = (family.parameters, family.values) if family else ((), ())
    argument_indices = _index_arguments(tree, parameters)
    if unknown := sorted(_collect_names(tree) - {*argument_indices, *NAMED_CONSTANTS}):
        raise GrammarError(
            f"{name!r} is defined with {unknown[0]!r}; the arguments are called x and y, "
            "and constants to be fitted are listed under parameters"
        )
    if "x" not in argument_indices:
        raise GrammarError(f"{name!r} is defined without its argument x")
    arity = len(argument_indices) - len(parameters)
    called_operators = list(_iterate_called(tree, operators))
    # A definition may call others, and each level can double the number of steps.
    n_primitives = sum(operator.n_primitives for operator in called_operators)
    if n_primitives > _MAX_PRIMITIVES:
        raise GrammarError(
            f"{name!r} consists of {n_primitives} built-in operators; at most {_MAX_PRIMITIVES} are allowed"
        )

    def compose(
        get_form: Callable[[Operator], Callable[..., Any]], convert_number: Callable[[float], Any]
    ) -> Any:
        composed = _compose_tree(tree, operators, get_form, convert_number, argument_indices)
        fixed = tuple(map(convert_number, values))
        return (lambda *arguments: composed(*arguments, *fixed)) if fixed else composed

    compute_fingerprint = compose(lambda operator: operator.compute_fingerprint, fp.encode_number)
    propagate_error = compose(make_error_propagator, bound_number)
    x, y = fp.encode_column("x"), fp.encode_column("y")
    return Operator(
        name,
        arity,
        numeric=compose(make_finite_numeric, np.float64),
        symbolic=compose(lambda operator: operator.symbolic, to_sympy_number),
        fingerprint=compute_fingerprint,
        domain=(Domain.REAL,) * arity,
        units=UnitRule(
            "composed",
            definition=compose(
                lambda operator: partial(propagate_dimensions, operator), make_number_dimensions
            ),
        ),
        summary=summary,
        cost=sum(operator.cost for operator in called_operators) if cost is None else cost,
        n_primitives=n_primitives,
        commutative=arity == 2 and bool((compute_fingerprint(x, y) == compute_fingerprint(y, x)).all()),
        rounding=lambda _, *arguments: propagate_error(*arguments).error,
        bounds=compose(interval_bounds.make_bounds_propagator, interval_bounds.bound_number),
        continuous=all(operator.continuous for operator in called_operators),
        family=family,
        called_operators=tuple(dict.fromkeys(called_operators)),
    )


def _check_parameters(
    name: str, tree: SyntaxNode, parameters: Mapping[str, object], operators: Mapping[str, Operator]
) -> None:
    """Check the number, names and use of the parameters of a family."""
    if not 0 < len(parameters) <= _MAX_PARAMETERS:
        raise GrammarError(f"{name!r} has {len(parameters)} parameters; give 1 to {_MAX_PARAMETERS}")
    used_names = _collect_names(tree)
    for parameter in parameters:
        if parameter in {*_ARGUMENTS, name, *operators} or quote_column(parameter) != parameter:
            raise GrammarError(
                f"{name!r} cannot have a parameter called {parameter!r}; use a plain identifier such as a, "
                "other than x, y, pi and the names of operators"
            )
        if parameter not in used_names:
            raise GrammarError(f"{name!r} has a parameter {parameter!r} that its formula does not contain")


def _check_starting_values(name: str, parameter: str, values: Sequence[float]) -> list[float]:
    """Check the starting values of a parameter and convert them to plain numbers."""
    for value in values:
        if not abs(value) <= _MAX_START_MAGNITUDE:  # also rejects NaN
            raise GrammarError(
                f"{name!r} starts {parameter!r} at a number that is not finite, or larger than "
                f"{_MAX_START_MAGNITUDE:g}"
            )
    starts = list(map(to_plain_number, values))
    if not starts:
        raise GrammarError(f"{name!r} has no starting value for {parameter!r}; give a number or a list")
    if duplicates := [value for value in starts if starts.count(value) > 1]:
        raise GrammarError(f"{name!r} starts {parameter!r} at {duplicates[0]} twice")
    return starts


def _substitute_values(formula: str, tree: SyntaxNode, values: Mapping[str, float]) -> str:
    """Replace the parameters in the text of a formula by numbers, without changing the parsed function."""
    text = formula
    for node in sorted(_iterate_leaves(tree), key=lambda node: -node.position):
        if node.value in values:
            number = values[str(node.value)]
            n_quotes = 2 if node.kind == "column" else 0
            before, after = text[: node.position], text[node.position + len(str(node.value)) + n_quotes :]
            # Without parentheses x**2 would be parsed as square(x).
            needs_no_parentheses = number >= 0 and not before.rstrip().endswith("**")
            text = f"{before}{number}{after}" if needs_no_parentheses else f"{before}({number}){after}"
    return text


def _iterate_leaves(tree: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield the names and columns of a syntax tree."""
    if tree.kind in {"name", "column"}:
        yield tree
    for argument in tree.arguments:
        yield from _iterate_leaves(argument)


def _collect_names(tree: SyntaxNode) -> set[str]:
    """Return all names and columns of a syntax tree."""
    return {str(leaf.value) for leaf in _iterate_leaves(tree)}


def _index_arguments(tree: SyntaxNode, parameters: tuple[str, ...]) -> dict[str, int]:
    """Return the position of each argument in a call, followed by those of the parameters."""
    names = _collect_names(tree)
    order = (*(argument for argument in _ARGUMENTS if argument in names), *parameters)
    return {name: index for index, name in enumerate(order)}


def _iterate_called(tree: SyntaxNode, operators: Mapping[str, Operator]) -> Iterator[Operator]:
    """Yield the operator of each call in a syntax tree."""
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
    """Compose one form (such as numeric or symbolic) of the operators that a formula calls."""
    if tree.kind == "call":
        apply = get_form(get_operator(str(tree.value), len(tree.arguments), operators))
        parts = [
            _compose_tree(argument, operators, get_form, convert_number, argument_indices)
            for argument in tree.arguments
        ]
        return lambda *arguments: apply(*(part(*arguments) for part in parts))
    if isinstance(tree.value, str) and tree.value in argument_indices:
        index = argument_indices[tree.value]
        return lambda *arguments: arguments[index]
    value = convert_number(NAMED_CONSTANTS[tree.value] if isinstance(tree.value, str) else tree.value)
    return lambda *_: value


def reduce_operator(operator: Operator) -> tuple[Callable[..., Operator], tuple[object, ...]]:
    """Return a callable and its arguments that rebuild an operator, for `pickle`.

    Parameters
    ----------
    operator : Operator
        A built-in operator, possibly with another cost; one defined by a formula; or one created by a
        program.

    Returns
    -------
    callable
        The function that rebuilds the operator.
    tuple
        Its arguments. For an operator created by a program these are its fields, whose functions `pickle`
        must be able to import by name.

    Examples
    --------
    >>> make, arguments = reduce_operator(OPERATORS["sin"])
    >>> arguments, make(*arguments) is OPERATORS["sin"]
    (('sin', 1), True)
    """
    builtin = OPERATORS.get(operator.name)
    if builtin is not None and replace(builtin, cost=operator.cost) == operator:
        return _get_builtin_operator, (operator.name, operator.cost)
    if operator.called_operators:
        arguments = (
            operator.name,
            operator.summary,
            operator.cost,
            operator.called_operators,
            operator.family,
        )
        return rebuild_operator, arguments
    return Operator, tuple(getattr(operator, operator_field.name) for operator_field in fields(operator))


def _get_builtin_operator(name: str, cost: int) -> Operator:
    """Return a built-in operator with the given cost."""
    operator = OPERATORS[name]
    return operator if operator.cost == cost else replace(operator, cost=cost)
