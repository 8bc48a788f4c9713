"""A whole expansion done with trees, one at a time: what `expand` is held against."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import strategies as st

from symscreen.expansion import CandidateStatus
from symscreen.expansion.validity import CONSTANT_TOLERANCE, is_equal_to_rounding
from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    compute_key,
    evaluate_expression,
)
from symscreen.expressions.tree import Call, Column, Constant, apply_operator, parse_expression
from symscreen.grammar import OPERATORS, Domain, Grammar

UNARY = ("id", "square", "cube", "sqrt", "inv", "exp", "log", "sin", "neg", "abs", "acos")
BINARY = ("add", "sub", "mul", "div", "absdiff", "min")
LAYERS = ("u", "b", "ub", "bu", "uu", "bb", "uub", "ubu")
ALSO = (
    "x1*x2",
    "x2 + x1",
    "3*x1 - x2/7",
    "sin(x1) + 2",
    "x2",
    "x1 - x1*1",
    "log(x2)",
    "x1**2 + 0.5",
    "2*x1 - x1",
)
ROWS = 6
INSIDE = {
    Domain.REAL: np.isfinite,
    Domain.NONZERO: lambda values: values != 0,
    Domain.NONNEGATIVE: lambda values: values >= 0,
    Domain.POSITIVE: lambda values: values > 0,
    Domain.UNIT: lambda values: abs(values) <= 1,
}


@dataclass(frozen=True)
class Problem:
    grammar: Grammar
    layers: str
    pool_kind: str
    names: tuple[str, ...]
    columns: np.ndarray | None = field(repr=False)
    also: tuple = ()

    @property
    def arguments(self):
        return (
            self.names,
            self.columns,
            self.grammar,
            self.grammar.resolve_layers(self.layers),
            self.pool_kind,
        )

    @property
    def by_name(self):
        return dict(zip(self.names, self.columns, strict=True))


def _column(kind, seed, others):
    rng = np.random.default_rng(seed)
    match kind:
        case "positive":
            return rng.uniform(0.5, 2.0, ROWS)
        case "signed":
            return rng.normal(size=ROWS)
        case "tied":
            return rng.integers(-1, 3, ROWS).astype(float)
        case "wide":
            return np.exp(rng.normal(size=ROWS) * 30)
        case "constant":
            return np.full(ROWS, 3.7)
        case "copy":
            return others[-1].copy() if others else rng.normal(size=ROWS)


KINDS = st.sampled_from(["positive", "positive", "signed", "signed", "tied", "wide", "constant", "copy"])


@st.composite
def problems(draw, *, rules=True):
    unary = draw(st.lists(st.sampled_from(UNARY), min_size=1, max_size=3, unique=True))
    binary = draw(st.lists(st.sampled_from(BINARY), min_size=1, max_size=2, unique=True))
    names = tuple(f"x{place}" for place in range(1, draw(st.integers(1, 3)) + 1))
    used = st.frozensets(st.sampled_from(unary + binary), max_size=3)
    costs = draw(st.dictionaries(st.sampled_from([*unary, *binary]), st.integers(0, 3)))
    operators = OPERATORS | {
        name: replace(OPERATORS[name], cost=cost) for name, cost in costs.items() if name != "id"
    }
    named = st.sampled_from(unary + binary)
    grammar = Grammar(
        name="drawn",
        operators=operators,
        unary=tuple(operators[name] for name in unary),
        binary=tuple(operators[name] for name in binary),
        constants=draw(st.sampled_from([(), (), (1,), (2, -3), (2, math.pi)])),
        max_complexity=draw(st.none() | st.integers(1, 9)) if rules else None,
        forbid=draw(st.dictionaries(named, used, max_size=2)) if rules else {},
        forbid_within=draw(st.dictionaries(named, used, max_size=2)) if rules else {},
        columns=draw(st.dictionaries(named, st.frozensets(st.sampled_from(names)), max_size=1))
        if rules
        else {},
    )
    columns = []
    for _ in names:
        columns.append(_column(draw(KINDS), draw(st.integers(0, 10**6)), columns))
    if all(np.ptp(column) == 0 for column in columns):
        columns[0] = _column("signed", 1, [])
    problem = Problem(
        grammar, draw(st.sampled_from(LAYERS)), draw(st.sampled_from(["cumulative", "strict"])), names,
        np.array(columns),
    )  # fmt: skip
    also = [parse_expression(text) for text in draw(st.lists(st.sampled_from(ALSO), max_size=3))]
    return replace(problem, also=tuple(formula for formula in also if is_useful(formula, problem.by_name)))


def is_useful(formula, by_name):
    """Say whether a formula has values that are finite and not constant."""
    return collect_columns(formula) <= set(by_name) and _by_values(_Item(formula, 0, by_name)) is None


class _Item:
    """A formula with what is known of it."""

    def __init__(self, expression, layer, by_name):
        self.expression, self.layer, self.by_name = expression, layer, by_name
        self.key, self.complexity = compute_key(expression), compute_complexity(expression)
        self.values = None if by_name is None else evaluate_expression(expression, by_name)
        self.place = 0  # among the candidates of its layer

    @property
    def is_number(self):
        return isinstance(self.expression, Constant)


def _by_values(item):
    """Say why the values are of no use, or None."""
    if item.values is None:
        return None
    if np.isnan(item.values).any():
        return CandidateStatus.UNDEFINED
    spread = np.ptp(item.values)
    is_constant = spread <= CONSTANT_TOLERANCE * np.abs(item.values).max()
    if isinstance(item.expression, Call) and item.expression.operator.cancels:
        arguments = [evaluate_expression(each, item.by_name) for each in item.expression.arguments]
        sizes = np.abs(arguments).max(axis=0)
        known = item.values[sizes.argmin()]
        is_noise = all(
            abs(value - known) <= CONSTANT_TOLERANCE * size + CONSTANT_TOLERANCE * abs(known)
            for value, size in zip(item.values, sizes, strict=True)
        )
        is_constant |= is_noise and spread <= CONSTANT_TOLERANCE * sizes.max()
    return CandidateStatus.CONSTANT if is_constant else None


def _equal(one, other):
    return bool(is_equal_to_rounding(one.values[None], other.values[None])[0])


def _operators_in(expression):
    if not isinstance(expression, Call):
        return frozenset()
    return frozenset({expression.operator.name}).union(*map(_operators_in, expression.arguments))


def _is_forbidden(operator, arguments, grammar):
    outermost = {one.operator.name for one in arguments if isinstance(one, Call)}
    inside = frozenset().union(*map(_operators_in, arguments))
    touched = frozenset().union(*map(collect_columns, arguments))
    return bool(
        outermost & grammar.forbid.get(operator.name, frozenset())
        or inside & grammar.forbid_within.get(operator.name, frozenset())
        or touched - grammar.columns.get(operator.name, touched)
    )


def _argument_lists(operator, pool):
    """List the arguments in the order in which candidates are numbered."""
    if operator.arity == 1:
        return [(item,) for item in pool]
    pairs = []
    for later, item in enumerate(pool):
        pairs += [(first, item) for first in pool[: later + 1]]
        if not operator.commutative:
            pairs += [(item, first) for first in pool[:later]]
    return pairs


def _all_operators(problem):
    layers = problem.grammar.resolve_layers(problem.layers)
    return list(dict.fromkeys(operator for layer in layers for operator in layer.operators))


def _burden(item, problem, *, is_last):
    """Return what decides between equal items: complexity, then how many operators rules keep from them."""
    barred = [
        operator
        for operator in _all_operators(problem)
        if _is_forbidden(operator, [item.expression] * operator.arity, problem.grammar)
    ]
    return item.complexity, 0 if is_last else len(barred)


def _open_to(item, problem):
    """Name the operators that column rules let touch an item."""
    touched = collect_columns(item.expression)
    return {
        operator.name
        for operator in _all_operators(problem)
        if touched <= problem.grammar.columns.get(operator.name, touched)
    }


def _distinct(old, new, problem):
    """Of items that are equal to rounding keep the simplest; only a new one makes an old one leave."""
    kept = []
    for item in sorted([*old, *new], key=lambda item: item.complexity):  # stable
        equal = [other for other in kept if _equal(item, other)]
        equal = [other for other in equal if _open_to(item, problem) == _open_to(other, problem)]
        if not equal or (item in old and not any(other in new for other in equal)):
            kept.append(item)
    return [item for item in old if item in kept], [item for item in new if item in kept]


def expand_by_hand(problem):
    """Return the space's items and each layer's candidates, counted, and those left out, by reason."""
    by_name = None if problem.columns is None else problem.by_name
    numbers = [_Item(Constant(value), 0, by_name) for value in problem.grammar.constants]
    inputs = [_Item(Column(name), 0, by_name) for name in problem.names]
    _, inputs, count = _of_use([], inputs, problem, copies=True)
    pool, counts, tried = numbers + inputs, [(len(problem.names), dict(+count))], set()
    layers = problem.grammar.resolve_layers(problem.layers)
    for number, layer in enumerate(layers, start=1):
        is_last = number == len(layers)
        old = pool if problem.pool_kind == "cumulative" else numbers
        if is_last:
            given = {
                item.key: item for item in (_Item(formula, 0, by_name) for formula in problem.also[::-1])
            }
            old = old + [item for key, item in given.items() if key not in {item.key for item in old}]
        else:
            given = {}
        known = {
            item.key: (-1, 0) if item.key in given else _burden(item, problem, is_last=is_last)
            for item in old
        }
        made, lost, generated = _candidates(problem, layer, number, pool, known, tried)
        if problem.pool_kind == "strict":
            tried = set()
        simpler = {item.key for item in made if _by_values(item) is None} & set(known)
        lost[CandidateStatus.DUPLICATE] += len(simpler)
        old = [item for item in old if item.key not in simpler]
        old, made, count = _of_use(old, made, problem, copies=not is_last)
        pool = old + made
        counts.append((generated, dict(+(lost + count))))
    return [item for item in pool if not item.is_number], counts


def _candidates(problem, layer, number, pool, known, tried):
    """Apply a layer; return what rules, algebra and domains leave, and count the rest."""
    is_last = number == len(problem.grammar.resolve_layers(problem.layers))
    equal, lost, generated = {}, Counter(), 0
    for operator in layer.operators:
        for arguments in _argument_lists(operator, pool):
            if (operator.name, arguments) in tried:
                continue
            tried.add((operator.name, arguments))
            generated += 1
            trees = [item.expression for item in arguments]
            made_by = arguments[0].layer if operator.name == "id" else number
            item = _Item(apply_operator(operator, *trees), made_by, pool[0].by_name)
            fate = _fate(item, operator, trees, problem.grammar)
            if fate is None:
                item.place = generated
                equal.setdefault(item.key, []).append((_burden(item, problem, is_last=is_last), item))
            lost[fate] += 1
    del lost[None]
    made = []
    for own_key, twins in equal.items():
        best, beaten = _best_of_use(twins, known.get(own_key))
        lost.update(beaten)
        made += best
    return sorted(made, key=lambda item: item.place), lost, generated


def _best_of_use(twins, known):
    """Of equal candidates return the best whose values are of use, and count the others."""
    twins = sorted(twins, key=lambda twin: twin[0])  # stable
    for place, (burden, item) in enumerate(twins):
        if known is not None and burden >= known:
            return [], Counter(map(_by_values, (twin for _, twin in twins[:place]))) + Counter(
                {CandidateStatus.DUPLICATE: len(twins) - place}
            )
        if _by_values(item) is None:
            useless = Counter(_by_values(twin) for _, twin in twins[:place])
            return [item], useless + Counter({CandidateStatus.DUPLICATE: len(twins) - place - 1})
    return [], Counter(_by_values(twin) for _, twin in twins)


def _of_use(old, items, problem, *, copies):
    """Leave out items that are undefined, constant or, if asked, copies; count them."""
    lost = Counter(map(_by_values, items))
    items = [item for item in items if _by_values(item) is None]
    if copies and items and items[0].values is not None:
        before = len(old) + len(items)
        old, items = _distinct(old, items, problem)
        lost[CandidateStatus.NUMERIC_DUPLICATE] = before - len(old) - len(items)
    del lost[None]
    return old, items, lost


def _fate(item, operator, trees, grammar):
    if _is_forbidden(operator, trees, grammar):
        return CandidateStatus.FORBIDDEN
    if grammar.max_complexity is not None and item.complexity > grammar.max_complexity:
        return CandidateStatus.TOO_COMPLEX
    if item.key[0] == item.key[1]:
        return CandidateStatus.CONSTANT
    # where a value is undefined for its size alone, algebra has its say first
    return (
        CandidateStatus.UNDEFINED
        if item.values is not None and _outside_domain(operator, trees, item.by_name)
        else None
    )


def _outside_domain(operator, trees, by_name):
    values = [evaluate_expression(tree, by_name) for tree in trees]
    return not all(INSIDE[domain](v).all() for domain, v in zip(operator.domain, values, strict=True))
