"""Load grammars from TOML files. Errors give the file, the key, the reason and similar names.

Files are read in bounded time and memory, because they may come from other people.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from symscreen._resources import find_resource_folder
from symscreen.data.documents import convert_document, format_place, parse_document, read_document
from symscreen.data.time_operators import parse_time_operator
from symscreen.errors import FormulaError, GrammarError, InputError
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.custom_operators import define_family, define_operator
from symscreen.grammar.grammar import Grammar, parse_layers, resolve_operators, split_time_operators
from symscreen.grammar.operator import find_operators_by_name
from symscreen.grammar.parser import NAMED_CONSTANTS, find_constant_name, quote_column
from symscreen.messages import suggest
from symscreen.plugins import get_plugin, list_available_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symscreen.grammar.operator import Operator


_MAX_BYTES = 100_000  # largest size of a grammar file
_MAX_DEFINITIONS = 200  # operators defined in a grammar file
_MAX_CONSTANT = 10**15  # exclusive; of a constant

_Names = Annotated[list[str], Meta(description='a list of names such as ["sin", "exp"]')]
_Constants = Annotated[
    list[int | Literal["pi"]], Meta(description='a list of integers or "pi" such as [1, "pi"]')
]
_Cost = Annotated[int, Meta(ge=0, le=1000, description="an integer from 0 to 1000")]
_Complexity = Annotated[int, Meta(ge=1, le=1000, description="an integer from 1 to 1000")]
_Range = Annotated[float, Meta(gt=0, le=1e300, description="a positive number such as 10")]
_Starts = Annotated[
    int | float | Annotated[list[int | float], Meta(min_length=1)],
    Meta(description="a starting value, or a list of starting values such as [0.1, 1, 10]"),
]


class _FamilyDefinition(Struct, forbid_unknown_fields=True):
    """The definition of an operator, or of a family of operators that has parameters."""

    formula: str = ""
    cost: _Cost | None = None
    parameters: dict[str, _Starts] = {}


class _GrammarDocument(Struct, forbid_unknown_fields=True):
    """The content of a grammar file."""

    description: str = ""
    unary: _Names = []
    binary: _Names = []
    constants: _Constants = []
    layers: str | None = None
    max_complexity: _Complexity | None = None
    costs: dict[str, _Cost] = {}
    forbid: dict[str, _Names] = {}
    forbid_within: dict[str, _Names] = {}
    columns: dict[str, _Names] = {}
    max_range: dict[str, _Range] = {}
    define: dict[str, _FamilyDefinition] = {}


def list_grammar_names() -> tuple[str, ...]:
    """Return the names of the shipped grammars.

    Examples
    --------
    >>> list_grammar_names()
    ('ablation', 'basic', 'dynamics', 'physics', 'standard', 'strogatz')
    """
    return tuple(sorted(path.stem for path in find_resource_folder("operators").glob("*.toml")))


def load_grammar(source: str | Path = "basic") -> Grammar:
    """Load a grammar by name or from a TOML file.

    Parameters
    ----------
    source : str or Path
        Name of a grammar that is shipped or provided by a plugin, or path of a file with the suffix
        ``.toml``.

    Returns
    -------
    Grammar

    Raises
    ------
    GrammarError
        If there is no such grammar, or the file is not valid. The message gives the file, the key, the reason
        and similar names.

    Examples
    --------
    >>> ablation = load_grammar("ablation")
    >>> [operator.name for operator in ablation.unary + ablation.binary]
    ['id', 'cube', 'add', 'mul']
    """
    path = Path(source)
    if path.suffix != ".toml":
        if str(source) not in list_grammar_names():
            return _load_plugin_grammar(str(source))
        path = find_resource_folder("operators") / f"{source}.toml"
    return _build_grammar(str(source), str(path), read_document(path, "a grammar", _MAX_BYTES, GrammarError))


def _load_plugin_grammar(name: str) -> Grammar:
    """Load a grammar provided by a plugin."""
    plugin = get_plugin(name, "grammar", list_grammar_names())
    if plugin is None:
        suggestion = suggest(name, list_available_names("grammar", list_grammar_names()))
        raise GrammarError(f"there is no grammar {name!r}{suggestion} (the name of a file ends with .toml)")
    source = plugin.load()
    location = f"the grammar {name!r} of {plugin.origin}"
    if isinstance(source, Path):
        return _build_grammar(name, location, read_document(source, "a grammar", _MAX_BYTES, GrammarError))
    if isinstance(source, str):
        content = parse_document(source, location, "a grammar", _MAX_BYTES, GrammarError, is_json=False)
        return _build_grammar(name, location, content)
    raise plugin.build_error(f"is of type {type(source).__name__}, not the Path of a TOML file or its text")


def _build_grammar(name: str, file: str, content: dict[str, Any]) -> Grammar:
    """Build a grammar from the content of its file."""
    document = convert_document(content, _GrammarDocument, file, GrammarError, "a table, [{key}]")
    operators = _collect_operators(document, file)
    names, time_operators = split_time_operators(document.unary, format_place(file, "unary"))
    unary = resolve_operators(names, 1, operators, format_place(file, "unary"))
    binary = resolve_operators(document.binary, 2, operators, format_place(file, "binary"))
    if not unary and not binary:
        raise _build_error(file, "unary", "the grammar lists no operator; give unary = […] or binary = […]")
    layers = document.layers
    if layers is None:
        layers = "ub" if unary and binary else "u" if unary else "b"
    try:
        parse_layers(layers, unary, binary, operators)
    except InputError as error:
        raise _build_error(file, "layers", error.template) from None
    return Grammar(
        name=name,
        operators=operators,
        unary=unary,
        binary=binary,
        description=document.description,
        layers=layers,
        constants=_check_constants(document.constants, file),
        max_complexity=document.max_complexity,
        forbid=_read_rules(document.forbid, "forbid", operators, file),
        forbid_within=_read_rules(document.forbid_within, "forbid_within", operators, file),
        columns=_read_rules(document.columns, "columns", operators, file, are_nested=False),
        max_range=_read_ranges(document.max_range, operators, file),
        time_operators=time_operators,
    )


def _build_error(file: str, key: str, reason: str) -> GrammarError:
    return GrammarError(f"{format_place(file, key)}: {reason}")


def _check_constants(constants: Sequence[int | str], file: str) -> tuple[float, ...]:
    """Check that the constants are distinct, not 0, and exact in float64."""
    numbers = read_constants(constants)
    for number in numbers:
        if find_constant_name(number) is not None:
            continue
        if number == 0 or abs(number) >= _MAX_CONSTANT:
            raise _build_error(
                file, "constants", f"{number} is not allowed; give integers other than 0, below 10^15"
            )
    if len(set(numbers)) < len(numbers):
        raise _build_error(file, "constants", "a number is listed twice")
    return numbers


def read_constants(constants: Sequence[int | str]) -> tuple[float, ...]:
    """Convert the constants of a grammar file or a record, integers and names, to numbers.

    Raises
    ------
    ValueError
        If one is neither.

    Examples
    --------
    >>> read_constants([1, "pi"])
    (1, 3.141592653589793)
    """
    return tuple(
        NAMED_CONSTANTS[constant]
        if isinstance(constant, str) and constant in NAMED_CONSTANTS
        else int(constant)
        for constant in constants
    )


def write_constants(constants: Sequence[float]) -> list[float | str]:
    """Write the constants of a grammar as in its file: a constant that has a name by its name.

    Examples
    --------
    >>> write_constants((1, 3.141592653589793))
    [1, 'pi']
    """
    return [find_constant_name(constant) or constant for constant in constants]


def _collect_operators(document: _GrammarDocument, file: str) -> dict[str, Operator]:
    """Return the built-in and the defined operators; a definition may call those above it."""
    costs, definitions = document.costs, document.define
    if len(definitions) > _MAX_DEFINITIONS:
        raise _build_error(
            file, "define", f"{len(definitions)} operators; at most {_MAX_DEFINITIONS} are allowed"
        )
    _check_operator_names(costs, "costs.{}", [*OPERATORS, *definitions], file)
    if "id" in costs:
        raise _build_error(file, "costs.id", "id does not change a formula and always costs 0")
    operators = {name: _set_cost(operator, costs) for name, operator in OPERATORS.items()}
    for name, definition in definitions.items():
        for operator in _define_operators(name, definition, operators, file):
            operators[operator.name] = _set_cost(operator, costs)
    return operators


def _check_operator_names(names: Iterable[str], key: str, operators: Sequence[str], file: str) -> None:
    """Check that all names are operators; ``{}`` in the key is replaced by the name."""
    for name in names:
        if name not in operators:
            reason = f"there is no operator {name!r}{suggest(name, operators)}"
            raise _build_error(file, key.format(name), reason)


def _set_cost(operator: Operator, costs: Mapping[str, int]) -> Operator:
    """Return the operator with the cost given in the file, if any."""
    cost = costs.get(operator.family.name if operator.family else operator.name)
    return operator if cost is None else replace(operator, cost=cost)


def _define_operators(
    name: str, definition: _FamilyDefinition, operators: Mapping[str, Operator], file: str
) -> tuple[Operator, ...]:
    """Build the operator or the family of one definition."""
    key = f"define.{name}"
    if quote_column(name) != name:
        raise _build_error(file, key, "an operator's name must be a plain identifier such as sinpi")
    if name in operators or parse_time_operator(name) is not None:
        raise _build_error(file, key, "this name is in use; choose another")
    if not definition.formula:
        raise _build_error(file, f"{key}.formula", 'missing; give for instance formula = "sin(pi*x)"')
    starts = {
        parameter: list(value) if isinstance(value, list) else [value]
        for parameter, value in definition.parameters.items()
    }
    try:
        if starts:
            # A copy, because later definitions add operators.
            return define_family(name, definition.formula, starts, dict(operators), cost=definition.cost)
        return (define_operator(name, definition.formula, operators, cost=definition.cost),)
    except FormulaError as error:
        raise _build_error(file, f"{key}.formula", error.template) from None
    except GrammarError as error:
        raise _build_error(file, f"{key}.{'parameters' if starts else 'formula'}", error.template) from None


def _read_rules(
    rules: Mapping[str, list[str]],
    key: str,
    operators: Mapping[str, Operator],
    file: str,
    *,
    are_nested: bool = True,
) -> dict[str, frozenset[str]]:
    """Read rules by operator; the values of nested rules are operators too.

    A rule for a family applies to each of its operators.
    """
    families = {operator.family.name: None for operator in operators.values() if operator.family}
    known = list(dict.fromkeys((*operators, *families)))
    _check_operator_names(rules, f"{key}.{{}}", known, file)
    found: dict[str, frozenset[str]] = {}
    for name, values in rules.items():
        inner = frozenset(values)
        if are_nested:
            _check_operator_names(values, f"{key}.{name}", known, file)
            inner = frozenset(each for value in values for each in _expand_family(value, operators))
        for operator_name in _expand_family(name, operators):
            found[operator_name] = found.get(operator_name, frozenset()) | inner
    return found


def _read_ranges(
    ranges: Mapping[str, float], operators: Mapping[str, Operator], file: str
) -> dict[str, float]:
    """Read the largest range of arguments by operator; that of a family holds for each of its operators."""
    families = [operator.family.name for operator in operators.values() if operator.family]
    _check_operator_names(ranges, "max_range.{}", list(dict.fromkeys((*operators, *families))), file)
    return {each: float(limit) for name, limit in ranges.items() for each in _expand_family(name, operators)}


def _expand_family(name: str, operators: Mapping[str, Operator]) -> list[str]:
    """Return the names of the operators of a family, or the name itself."""
    return [operator.name for operator in find_operators_by_name(name, operators)] or [name]
