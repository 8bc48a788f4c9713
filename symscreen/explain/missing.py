"""Explain why a space does not contain a formula.

`explain_missing` rebuilds the formula from the members of the pool until a rule, the domain or the maximum
complexity prevents it, or a part turns out to be pruned. `find_missing_requirements` finds the operators,
constants and layers that would generate the formula, from its tree alone, without growing a space.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.expansion import EXCLUSION_REASONS, CandidateStatus
from symscreen.explain.explanation import Explanation
from symscreen.explain.feature_lookup import (
    build_equivalent_forms,
    describe_domain_violation,
    find_by_key,
    is_constant_on,
)
from symscreen.explain.rank_position import compute_max_classes, compute_rank_position
from symscreen.expressions.grammar_rules import find_forbidding_rule
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    compute_key,
    evaluate_expression,
    fold_expression,
    iterate_calls,
    iterate_constants,
    iterate_postorder,
)
from symscreen.expressions.tree import Call, Constant, apply_operator
from symscreen.grammar import OPERATORS
from symscreen.grammar.grammar import Layer
from symscreen.screening.scoring.block_scoring import make_mirrored_spec
from symscreen.screening.space_generation import generate_space
from symscreen.units import compute_unit, find_unit_violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.expansion import PoolKind
    from symscreen.explain.feature_lookup import GeneratedSpace, PrunedFeature
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar, Operator
    from symscreen.units import Units


_MAX_LAYERS = 8  # longest sequence of layers that is tried

_KIND_ARITIES: dict[Literal["u", "b"], int] = {"u": 1, "b": 2}

_UNREACHABLE_LENGTH = 99  # sort key of formulas that no sequence of layers generates


@dataclass(frozen=True, slots=True)
class MissingRequirements:
    """What a space needs to contain a formula.

    Parameters
    ----------
    operators : tuple of str
        Operators that are neither in the grammar's lists nor in the layers.
    constants : tuple of float
        Numbers that are not constants of the grammar.
    layers : str
        The shortest layers that generate the formula with these. Empty if more than eight are needed.
    """

    operators: tuple[str, ...]
    constants: tuple[float, ...]
    layers: str


def find_reaching_layers(
    expression: Expression, layers: Sequence[Layer], constants: Sequence[float], pool_kind: PoolKind
) -> set[int]:
    """Return the numbers of layers after which a formula, as it is written, is in the pool.

    Parameters
    ----------
    expression : Expression
        The formula.
    layers : sequence of Layer
        Layers, in order.
    constants : sequence of float
        Constants of every pool.
    pool_kind : {"cumulative", "strict"}
        See `expand`.

    Returns
    -------
    set of int
        Subset of 0 … ``len(layers)``. Rules, domains and the maximum complexity are ignored.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.grammar import load_grammar
    >>> layers = load_grammar("basic").resolve_layers("ubb")
    >>> find_reaching_layers(parse_expression("x + log(y)"), layers, (), "cumulative")
    {2, 3}
    >>> find_reaching_layers(parse_expression("x"), layers, (), "strict")
    {0}
    """
    n_layers = len(layers)

    def extend(reached: set[int]) -> set[int]:
        """Add the layers that the pool keeps a formula in."""
        if pool_kind == "cumulative":
            return set(range(min(reached), n_layers + 1)) if reached else reached
        for number in range(n_layers):
            if number in reached and _has_operator(layers[number], "id"):
                reached.add(number + 1)
        return reached

    def apply_layers(call: Call, arguments: list[set[int]]) -> set[int]:
        reached = set[int].intersection(*arguments)
        name = call.operator.name
        return extend({n + 1 for n in reached if n < n_layers and _has_operator(layers[n], name)})

    return fold_expression(
        expression,
        column=lambda _: extend({0}),
        number=lambda constant: set(range(n_layers + 1)) if constant.value in constants else set(),
        call=apply_layers,
    )


def _has_operator(layer: Layer, name: str) -> bool:
    """Return whether a layer has an operator."""
    return any(operator.name == name for operator in layer.operators)


def is_reachable(
    expression: Expression, layers: Sequence[Layer], constants: Sequence[float], pool_kind: PoolKind
) -> bool:
    """Return whether layers generate a formula, as it is written; see `find_reaching_layers`."""
    return len(layers) in find_reaching_layers(expression, layers, constants, pool_kind)


def find_missing_requirements(
    expression: Expression, grammar: Grammar, layers: Sequence[Layer], pool_kind: PoolKind
) -> MissingRequirements:
    """Find what a space needs to contain a formula, as it is written.

    Parameters
    ----------
    expression : Expression
        The formula.
    grammar : Grammar
        The grammar of the space.
    layers : sequence of Layer
        The layers of the space.
    pool_kind : {"cumulative", "strict"}
        See `expand`.

    Returns
    -------
    MissingRequirements

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.grammar import load_grammar
    >>> basic = load_grammar("basic")
    >>> find_missing_requirements(parse_expression("tanh(x + 3*y)"), basic, basic.resolve_layers("u"),
    ...     "cumulative")
    MissingRequirements(operators=('tanh',), constants=(3,), layers='bbu')
    """
    known = {operator.name: operator for operator in (*grammar.unary, *grammar.binary)}
    known |= {operator.name: operator for layer in layers for operator in layer.operators}
    used = {call.operator.name: call.operator for call in iterate_calls(expression)}
    numbers = {constant.value: None for constant in iterate_constants(expression)}
    missing = tuple(sorted(used.keys() - known.keys()))
    constants = tuple(value for value in numbers if value not in grammar.constants)
    kinds = "".join(layer.kind for layer in layers)
    operators = list((known | used).values())
    if (
        pool_kind == "strict"
        and "id" not in known
        and not _find_shortest_layers(expression, operators, pool_kind, "")
    ):
        missing, operators = (*missing, "id"), [*operators, OPERATORS["id"]]
    return MissingRequirements(
        missing, constants, _find_shortest_layers(expression, operators, pool_kind, kinds)
    )


def _find_shortest_layers(
    expression: Expression, operators: Sequence[Operator], pool_kind: PoolKind, current_kinds: str
) -> str:
    """Return the shortest layers that generate a formula; of several, those most like the current ones."""
    layer_by_kind: dict[str, Layer] = {
        kind: Layer(kind, tuple(operator for operator in operators if operator.arity == arity))
        for kind, arity in _KIND_ARITIES.items()
    }
    numbers = [constant.value for constant in iterate_constants(expression)]
    for length in range(1, _MAX_LAYERS + 1):
        sequences = [
            kinds
            for kinds in product("ub", repeat=length)
            if is_reachable(expression, [layer_by_kind[kind] for kind in kinds], numbers, pool_kind)
        ]
        if sequences:
            return min(
                map("".join, sequences),
                key=lambda kinds: (-_count_common_prefix(kinds, current_kinds), kinds),
            )
    return ""


def _count_common_prefix(first: str, second: str) -> int:
    """Return the length of the common prefix."""
    equal = [a == b for a, b in zip(first, second, strict=False)]
    return equal.index(False) if False in equal else len(equal)


def explain_missing(expression: Expression, generated: GeneratedSpace) -> Explanation:
    """Explain why a space does not contain a formula.

    Parameters
    ----------
    expression : Expression
        A formula that is defined in every row, not constant, and equal to no feature of the space.
    generated : GeneratedSpace
        The space.

    Returns
    -------
    Explanation
        Without text.
    """
    task = generated.task
    excluded = find_by_key(generated.space, compute_key(expression), task.backend).excluded
    excluded_forms = [generated.space.build_expression(number) for number in excluded[:1].tolist()]
    forms = [expression, *excluded_forms, *build_equivalent_forms(expression)]
    for form in forms:
        if form in excluded_forms or is_reachable(
            form, task.layers, task.grammar.constants, task.options.pool
        ):
            rebuilt = _rebuild_from_pool(form, generated, to_text(expression))
            if isinstance(rebuilt, Explanation):
                return rebuilt
            pruned_feature = generated.find_pruned(rebuilt)
            if pruned_feature is not None:
                return _explain_pruned(rebuilt, pruned_feature, generated, to_text(expression))
    allowed = [form for form in forms if find_violation(form, generated) is None]
    # causes that more layers do not remove come first
    violation = None if allowed else find_violation(expression, generated)
    if violation is not None:
        return violation
    varying = [form for form in allowed if _find_constant_part(form, generated) is None]
    constant_part = None if varying else _find_constant_part(expression, generated)
    if constant_part is not None:
        return Explanation(status="constant", formula=to_text(expression), part=to_text(constant_part))
    if len(excluded):
        status = CandidateStatus(generated.space.statuses[excluded[0] - generated.space.n_materialized])
        return Explanation(status="excluded", formula=to_text(expression), rule=EXCLUSION_REASONS[status])
    return _explain_not_generated(expression, varying or allowed, generated)


def _find_part_left_out(forms: Sequence[Expression], generated: GeneratedSpace) -> Explanation | None:
    """Find the innermost part of a formula that the layers reach, but that an earlier layer left out.

    The statuses of earlier layers are not kept, so these layers are grown again.
    """
    task = generated.task
    reachable = [
        form for form in forms if is_reachable(form, task.layers, task.grammar.constants, task.options.pool)
    ]
    parts = [
        part
        for form in reachable
        for part in iterate_calls(form)
        if part != form and generated.find_equivalent(part) is None
    ]
    # the unit of the target is required of the last layer alone
    units = None if task.units is None else replace(task.units, target=None)
    for n_layers in range(1, len(task.layers) if parts else 0):
        space, _ = generate_space(replace(task, units=units), task.layers[:n_layers])
        for part in parts:
            excluded = find_by_key(space, compute_key(part), task.backend).excluded
            if len(excluded):
                status = CandidateStatus(space.statuses[excluded[0] - space.n_materialized])
                return Explanation(
                    status="excluded",
                    formula=to_text(part),
                    part=to_text(part),
                    layer=n_layers,
                    rule=EXCLUSION_REASONS[status],
                )
    return None


def _find_constant_part(form: Expression, generated: GeneratedSpace) -> Expression | None:
    """Return the innermost constant part that contains a column; None if there is none."""
    parts = (part for part in iterate_postorder(form) if collect_columns(part))
    return next((part for part in parts if is_constant_on(part, generated.columns)), None)


def _rebuild_from_pool(form: Expression, generated: GeneratedSpace, formula: str) -> Expression | Explanation:
    """Rebuild a formula from the members of the pool, or explain why that fails."""
    if isinstance(form, Constant):
        return form
    rebuilt: Expression = form
    if isinstance(form, Call):
        arguments = []
        for argument in form.arguments:
            replacement = _rebuild_from_pool(argument, generated, formula)
            if not isinstance(replacement, Explanation):
                replacement = (
                    replacement
                    if isinstance(replacement, Constant)
                    else _find_replacement(replacement, generated, formula)
                )
            if isinstance(replacement, Explanation):
                return replacement
            arguments.append(replacement)
        rebuilt = apply_operator(form.operator, *arguments)
    violation = _find_own_violation(rebuilt, generated, formula)
    if violation is not None:
        return violation
    domain_facts = describe_domain_violation(rebuilt, generated.columns, generated.task.dataset.source_rows)
    if domain_facts:
        return Explanation(status="undefined", formula=formula, **domain_facts)
    if is_constant_on(rebuilt, generated.columns):
        return Explanation(status="constant", formula=formula, part=to_text(rebuilt))
    return rebuilt


def find_violation(form: Expression, generated: GeneratedSpace) -> Explanation | None:
    """Return which rule or maximum complexity a formula violates, as it is written; else None."""
    violations = (_find_own_violation(part, generated, to_text(form)) for part in iterate_postorder(form))
    return next((violation for violation in violations if violation is not None), None)


def explain_unit_violation(expression: Expression, units: Units | None) -> Explanation | None:
    """Explain which rule of units a formula violates.

    Parameters
    ----------
    expression : Expression
        The formula.
    units : Units or None
        Units of the inputs, if formulas must have a unit.

    Returns
    -------
    Explanation or None
        None if no rule is violated.
    """
    if units is None:
        return None
    rule, formula = find_unit_violation(expression, units), to_text(expression)
    if rule is not None:
        return Explanation(status="no unit", formula=formula, rule=rule)
    unit = compute_unit(expression, units)
    if units.target is not None and unit is not None and unit != units.target.base:
        return Explanation(status="other units", formula=formula, unit=unit)
    return None


def _find_own_violation(form: Expression, generated: GeneratedSpace, formula: str) -> Explanation | None:
    """Return which rule or maximum complexity a formula violates whose parts are allowed."""
    grammar = generated.task.grammar
    rule, complexity, max_complexity = (
        find_forbidding_rule(form, grammar),
        compute_complexity(form),
        grammar.max_complexity,
    )
    if rule:
        return Explanation(status="forbidden", formula=formula, part=to_text(form), rule=rule)
    if max_complexity is not None and complexity > max_complexity:
        return Explanation(
            status="too complex",
            formula=formula,
            part=to_text(form),
            complexity=complexity,
            max_complexity=max_complexity,
        )
    if isinstance(form, Call) and (limit := grammar.max_range.get(form.operator.name)) is not None:
        ranges = [np.ptp(evaluate_expression(each, generated.columns)) for each in form.arguments]
        if max(ranges) > limit:
            rule = f"[max_range] {form.operator.name}: {limit:g}, but the range is {max(ranges):.4g}"
            return Explanation(status="forbidden", formula=formula, part=to_text(form), rule=rule)
    return None


def _find_replacement(part: Expression, generated: GeneratedSpace, formula: str) -> Expression | Explanation:
    """Return what the pool has for a part, or explain that it was pruned."""
    equivalent = generated.find_equivalent(part)
    if equivalent is not None:
        return equivalent
    pruned = generated.find_pruned(part)
    return part if pruned is None else _explain_pruned(part, pruned, generated, formula)


def _explain_pruned(
    part: Expression, pruned: PrunedFeature, generated: GeneratedSpace, formula: str
) -> Explanation:
    """Explain which ranks a part had when it was pruned."""
    task = replace(generated.task, screeners=generated.task.pool_screeners)
    screeners, pool_sizes = task.column_screeners, task.options.pool_sizes
    kind = pruned.space.layer_counts[-1].kind
    max_classes = compute_max_classes(pruned.space, task, len(screeners))
    positions = [
        compute_rank_position(
            pruned.space,
            pruned.number,
            task,
            spec=make_mirrored_spec(index, "affine", None),
            screeners=screeners,
            max_classes=max_classes,
        )
        for index in range(len(screeners))
    ]
    representative = positions[0].representative
    return Explanation(
        status="pruned",
        formula=formula,
        part=to_text(part),
        layer=pruned.layer,
        screener_ranks={
            # if more classes rank before it than fit into memory, this is a lower bound
            screener.name: position.n_better + 1 if position.rank is None else position.rank
            for screener, position in zip(screeners, positions, strict=True)
        },
        scores=dict(zip((screener.name for screener in screeners), positions[0].scores, strict=True)),
        selected={screener.name: False for screener in task.joint_screeners},
        rank_cutoff=None if pool_sizes is None else pool_sizes[kind],
        n_features=positions[0].n_features,
        representative=""
        if representative == pruned.number
        else to_text(pruned.space.build_expression(representative)),
    )


def _explain_not_generated(
    expression: Expression, forms: Sequence[Expression], generated: GeneratedSpace
) -> Explanation:
    """Explain which part was left out, or what the form that needs the least lacks."""
    left_out = _find_part_left_out(forms, generated)
    if left_out is not None:
        return replace(left_out, formula=to_text(expression))
    task = generated.task
    requirements = [
        find_missing_requirements(form, task.grammar, task.layers, task.options.pool) for form in forms
    ]
    best = min(
        requirements,
        key=lambda needed: (
            len(needed.operators) + len(needed.constants),
            len(needed.layers) or _UNREACHABLE_LENGTH,
        ),
    )
    return Explanation(
        status="not generated",
        formula=to_text(expression),
        missing_operators=best.operators,
        missing_constants=best.constants,
        layers=best.layers,
    )
