"""The rule of a grammar that bars a formula, in words.

Which layers reach a formula: from its tree, without growing anything.

Why a space does not hold a formula: it is built again of what the pool has, until something bars it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Literal

from symscreen.explain.explanation import Explanation
from symscreen.explain.feature_lookup import (
    build_equivalent_forms,
    describe_domain_violation,
    find_by_key,
    is_constant_on,
    iterate_subexpressions,
)
from symscreen.explain.rank_position import compute_max_classes, compute_rank_position
from symscreen.expressions.tree import (
    Call,
    Column,
    Constant,
    apply_operator,
    collect_columns,
    compute_complexity,
    compute_key,
    to_text,
)
from symscreen.grammar import OPERATORS
from symscreen.grammar.grammar import Layer
from symscreen.screeners import Screener
from symscreen.screening.scoring.block_scoring import TopKSpec
from symscreen.units import compute_unit, find_unit_violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.expansion import PoolKind
    from symscreen.explain.feature_lookup import GeneratedSpace, PrunedFeature
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar, Operator
    from symscreen.units import Units


__all__ = [
    "MissingRequirements",
    "explain_missing",
    "explain_unit_violation",
    "find_forbidding_rule",
    "find_missing_requirements",
    "find_reaching_layers",
    "find_violation",
    "is_reachable",
]


def find_forbidding_rule(expression: Expression, grammar: Grammar) -> str:
    """Name the rule that keeps a formula's outermost operator from its arguments.

    Parameters
    ----------
    expression : Expression
        The formula; its parts are taken to be allowed.
    grammar : Grammar
        The rules.

    Returns
    -------
    str
        As a grammar's file has it; empty where no rule does.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.grammar import load_grammar
    >>> find_forbidding_rule(parse_expression("log(exp(x))"), load_grammar("basic"))
    '[forbid] log: exp'
    """
    if not isinstance(expression, Call):
        return ""
    name = expression.operator.name
    direct = [each.operator.name for each in expression.arguments if isinstance(each, Call)]
    for inner in direct:
        if inner in grammar.forbid.get(name, ()):
            return f"[forbid] {name}: {inner}"
    inside = {
        part.operator.name
        for argument in expression.arguments
        for part in iterate_subexpressions(argument)
        if isinstance(part, Call)
    }
    for inner in sorted(inside & grammar.forbid_within.get(name, frozenset())):
        return f"[forbid_within] {name}: {inner}"
    if name in grammar.columns:
        for column in sorted(collect_columns(expression) - grammar.columns[name]):
            return f"[columns] {name}: not {column}"
    return ""


_MAX_LAYERS = 8


@dataclass(frozen=True, slots=True)
class MissingRequirements:
    """What a space would have to be grown with.

    Parameters
    ----------
    operators : tuple of str
        Operators that neither the grammar's lists nor the layers name.
    constants : tuple of float
        Numbers that the grammar does not put into the pool.
    layers : str
        The shortest layers that reach the formula with them; empty where more than eight are needed.
    """

    operators: tuple[str, ...]
    constants: tuple[float, ...]
    layers: str


def find_reaching_layers(
    expression: Expression, layers: Sequence[Layer], constants: Sequence[float], pool_kind: PoolKind
) -> set[int]:
    """Say after how many layers a formula, as it is written, is in the pool.

    Parameters
    ----------
    expression : Expression
        The formula.
    layers : sequence of Layer
        What is applied, in this order.
    constants : sequence of float
        Numbers that stand in every pool.
    pool_kind : {"cumulative", "strict"}
        As in `expand`.

    Returns
    -------
    set of int
        Out of 0 … the number of layers. Rules, domains and caps are not looked at.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.grammar import load_grammar
    >>> layers = load_grammar("basic").resolve_layers("ubb")
    >>> find_reaching_layers(parse_expression("x + sin(y)"), layers, (), "cumulative")
    {2, 3}
    >>> find_reaching_layers(parse_expression("x"), layers, (), "strict")
    {0}
    """
    count = len(layers)
    if isinstance(expression, Constant):
        return set(range(count + 1)) if expression.value in constants else set()
    if isinstance(expression, Column):
        found = {0}
    else:
        arguments = (
            find_reaching_layers(each, layers, constants, pool_kind) for each in expression.arguments
        )
        before = reduce(set[int].intersection, arguments)
        name = expression.operator.name
        found = {at + 1 for at in before if at < count and _has_operator(layers[at], name)}
    if pool_kind == "cumulative":
        return set(range(min(found), count + 1)) if found else found
    for at in range(count):
        if at in found and _has_operator(layers[at], "id"):
            found.add(at + 1)
    return found


def _has_operator(layer: Layer, name: str) -> bool:
    return any(operator.name == name for operator in layer.operators)


def is_reachable(
    expression: Expression, layers: Sequence[Layer], constants: Sequence[float], pool_kind: PoolKind
) -> bool:
    """Say whether a formula, as it is written, is made by some layers; see `find_reaching_layers`."""
    return len(layers) in find_reaching_layers(expression, layers, constants, pool_kind)


def find_missing_requirements(
    expression: Expression, grammar: Grammar, layers: Sequence[Layer], pool_kind: PoolKind
) -> MissingRequirements:
    """Say what a space would have to be grown with to hold a formula as it is written.

    Parameters
    ----------
    expression : Expression
        The formula.
    grammar : Grammar
        What there is.
    layers : sequence of Layer
        What is applied.
    pool_kind : {"cumulative", "strict"}
        As in `expand`.

    Returns
    -------
    Missing

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.grammar import load_grammar
    >>> basic = load_grammar("basic")
    >>> find_missing_requirements(parse_expression("tanh(x + 3*y)"), basic, basic.resolve_layers("u"),
    ...     "cumulative")
    Missing(operators=('tanh',), constants=(3,), layers='bbu')
    """
    known = {one.name: one for one in (*grammar.unary, *grammar.binary)}
    known |= {one.name: one for layer in layers for one in layer.operators}
    parts = list(iterate_subexpressions(expression))
    used = {part.operator.name: part.operator for part in parts if isinstance(part, Call)}
    numbers = {part.value: None for part in parts if isinstance(part, Constant)}
    lacking = tuple(sorted(used.keys() - known.keys()))
    constants = tuple(value for value in numbers if value not in grammar.constants)
    written = "".join(layer.kind for layer in layers)
    operators = list((known | used).values())
    if (
        pool_kind == "strict"
        and "id" not in known
        and not _find_shortest_layers(expression, operators, pool_kind, "")
    ):
        lacking, operators = (*lacking, "id"), [*operators, OPERATORS["id"]]
    return MissingRequirements(
        lacking, constants, _find_shortest_layers(expression, operators, pool_kind, written)
    )


def _find_shortest_layers(
    expression: Expression, operators: Sequence[Operator], pool_kind: PoolKind, current_kinds: str
) -> str:
    """Return the shortest layers that reach a formula; of several, those that begin as the user's do."""
    by_kind: dict[str, Layer] = {
        kind: Layer(kind, tuple(one for one in operators if one.arity == arity))
        for kind, arity in _KIND_ARITIES.items()
    }
    numbers = [part.value for part in iterate_subexpressions(expression) if isinstance(part, Constant)]
    for length in range(1, _MAX_LAYERS + 1):
        found = [
            kinds
            for kinds in product("ub", repeat=length)
            if is_reachable(expression, [by_kind[kind] for kind in kinds], numbers, pool_kind)
        ]
        if found:
            return min(
                map("".join, found), key=lambda kinds: (-_count_common_prefix(kinds, current_kinds), kinds)
            )
    return ""


_KIND_ARITIES: dict[Literal["u", "b"], int] = {"u": 1, "b": 2}


def _count_common_prefix(first: str, second: str) -> int:
    """Count the letters with which both begin."""
    same = [a == b for a, b in zip(first, second, strict=False)]
    return same.index(False) if False in same else len(same)


_UNREACHABLE_LENGTH = 99


def explain_missing(expression: Expression, generated: GeneratedSpace) -> Explanation:
    """Say why a space does not hold a formula.

    Parameters
    ----------
    asked : Expression
        The formula: defined in every row, not constant, and equal to no feature of the space.
    grown : Grown
        The space.

    Returns
    -------
    Why
        Without text.
    """
    job = generated.config
    pruned = find_by_key(generated.space, compute_key(expression), job.scoring.backend).excluded
    left_out = [generated.space.build_expression(number) for number in pruned[:1].tolist()]
    forms = [expression, *left_out, *build_equivalent_forms(expression)]
    for form in forms:
        if form in left_out or is_reachable(form, job.layers, job.grammar.constants, job.pool_kind):
            found = _rebuild_from_pool(form, generated, to_text(expression))
            if isinstance(found, Explanation):
                return found
            lost = generated.find_pruned(found)
            if lost is not None:
                return _explain_pruned(found, lost, generated, to_text(expression))
    allowed = [form for form in forms if find_violation(form, generated) is None]
    # what no layers would mend comes before what some would
    lasting = None if allowed else find_violation(expression, generated)
    if lasting is not None:
        return lasting
    varying = [form for form in allowed if _find_constant_part(form, generated) is None]
    unvarying = None if varying else _find_constant_part(expression, generated)
    if unvarying is not None:
        return Explanation(status="constant", formula=to_text(expression), part=to_text(unvarying))
    return _explain_not_generated(expression, varying or allowed, generated)


def _find_constant_part(form: Expression, generated: GeneratedSpace) -> Expression | None:
    """Find the innermost part of a formula that holds a column and is constant, as no feature is."""
    parts = (part for part in iterate_subexpressions(form) if collect_columns(part))
    return next((part for part in parts if is_constant_on(part, generated.columns)), None)


def _rebuild_from_pool(form: Expression, generated: GeneratedSpace, formula: str) -> Expression | Explanation:
    """Build a formula again of what the pool has in the place of its parts, or say what is in the way."""
    if isinstance(form, Constant):
        return form
    made: Expression = form
    if isinstance(form, Call):
        arguments = []
        for each in form.arguments:
            found = _rebuild_from_pool(each, generated, formula)
            if not isinstance(found, Explanation):
                found = found if isinstance(found, Constant) else _find_replacement(found, generated, formula)
            if isinstance(found, Explanation):
                return found
            arguments.append(found)
        made = apply_operator(form.operator, *arguments)
    bar = _find_own_violation(made, generated.config.grammar, formula)
    if bar is not None:
        return bar
    outside = describe_domain_violation(made, generated.columns, generated.dataset.source_rows)
    if outside:
        return Explanation(status="undefined", formula=formula, **outside)
    if is_constant_on(made, generated.columns):
        return Explanation(status="constant", formula=formula, part=to_text(made))
    return made


def find_violation(form: Expression, generated: GeneratedSpace) -> Explanation | None:
    """Say which rule, or the cap, bars a formula as it is written; None where nothing does."""
    found = (
        _find_own_violation(part, generated.config.grammar, to_text(form))
        for part in iterate_subexpressions(form)
    )
    return next((each for each in found if each is not None), None)


def explain_unit_violation(expression: Expression, units: Units | None) -> Explanation | None:
    """Say what units have against a formula; None where nothing, or where none are asked for."""
    if units is None:
        return None
    broken, formula = find_unit_violation(expression, units), to_text(expression)
    if broken is not None:
        return Explanation(status="no unit", formula=formula, rule=broken)
    own = compute_unit(expression, units)
    if units.target is not None and own is not None and own != units.target.base:
        return Explanation(status="other units", formula=formula, unit=own)
    return None


def _find_own_violation(form: Expression, grammar: Grammar, formula: str) -> Explanation | None:
    """Say what bars a formula whose parts are not barred."""
    rule, cost, cap = find_forbidding_rule(form, grammar), compute_complexity(form), grammar.max_complexity
    if rule:
        return Explanation(status="forbidden", formula=formula, part=to_text(form), rule=rule)
    if cap is not None and cost > cap:
        return Explanation(
            status="too complex", formula=formula, part=to_text(form), complexity=cost, max_complexity=cap
        )
    return None


def _find_replacement(part: Expression, generated: GeneratedSpace, formula: str) -> Expression | Explanation:
    """Return what the pool has in the place of a part, or say that a cut took it."""
    held = generated.find_equivalent(part)
    if held is not None:
        return held
    lost = generated.find_pruned(part)
    return part if lost is None else _explain_pruned(part, lost, generated, formula)


def _explain_pruned(
    part: Expression, pruned: PrunedFeature, generated: GeneratedSpace, formula: str
) -> Explanation:
    """Say where a part stood when it was cut."""
    job = generated.config
    request = replace(job.scoring, screeners=job.pool_screeners)
    columns = tuple(one for one in job.pool_screeners if isinstance(one, Screener)) or request.prescreeners
    kind = pruned.space.layer_counts[-1].kind
    most = compute_max_classes(pruned.space, request, len(columns), job.max_bytes)
    standings = [
        compute_rank_position(
            pruned.space,
            pruned.number,
            generated.dataset.target,
            request=request,
            spec=TopKSpec(place, "affine", mirrored=True, limit=None),
            screeners=columns,
            max_classes=most,
        )
        for place in range(len(columns))
    ]
    stand_in = standings[0].representative
    return Explanation(
        status="cut",
        formula=formula,
        part=to_text(part),
        layer=pruned.layer,
        screener_ranks={
            # where more stand before it than may be held, it is behind those at least
            one.name: each.n_better + 1 if each.rank is None else each.rank
            for one, each in zip(columns, standings, strict=True)
        },
        scores=dict(zip((one.name for one in columns), standings[0].scores, strict=True)),
        selected={one.name: False for one in request.joint_screeners},
        rank_cutoff=None if job.pool_sizes is None else job.pool_sizes[kind],
        n_features=standings[0].n_features,
        representative="" if stand_in == pruned.number else to_text(pruned.space.build_expression(stand_in)),
    )


def _explain_not_generated(
    expression: Expression, forms: Sequence[Expression], generated: GeneratedSpace
) -> Explanation:
    """Say what is missing, for the form of the formula that misses least."""
    job = generated.config
    found = [find_missing_requirements(form, job.grammar, job.layers, job.pool_kind) for form in forms]
    least = min(
        found,
        key=lambda each: (
            len(each.operators) + len(each.constants),
            len(each.layers) or _UNREACHABLE_LENGTH,
        ),
    )
    return Explanation(
        status="not generated",
        formula=to_text(expression),
        missing_operators=least.operators,
        missing_constants=least.constants,
        layers=least.layers,
    )
