"""Candidates judged one at a time, with dicts and sets: what `judge` is held against.

Layers are drawn over pools that no data would give: keys of a few small words, so that many are equal in one
word or in both, and bits, complexities and domains at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from symscreen.expansion import CandidateStatus
from symscreen.expansion.candidates import Candidates, enumerate_candidates
from symscreen.expansion.nodes import NodeArray, SymbolTable, build_symbol_table
from symscreen.expansion.operator_tasks import compute_tie_break_rank
from symscreen.grammar import OPERATORS, Grammar, Layer, load_grammar
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.custom_operators import define_family, define_operator

OWN = {
    "half": define_operator("half", "(x + y)/2", OPERATORS),
    "again": define_operator("again", "x*y", OPERATORS),
    "left": define_operator("left", "x + 0*y", OPERATORS),
    **{one.name: one for one in define_family("decay", "exp(-a*x)", {"a": [1, 2]}, OPERATORS)},
}
UNARY = ("id", "neg", "inv", "square", "sqrt", "exp", "abs", "sin", "decay_1", "decay_2")
BINARY = ("add", "sub", "mul", "div", "pow", "absdiff", "min", "half", "again", "left")


@dataclass(frozen=True)
class Judged:
    candidates: Candidates
    structure: SymbolTable
    pool: NodeArray
    grammar: Grammar
    options: dict


words = st.sampled_from([0, 1, 2, 3, fp.PRIME - 2, fp.PRIME - 1]) | st.integers(0, fp.PRIME - 1)
keys = st.tuples(words, words)


def _draw_array(draw, element, size, dtype):
    return np.array(draw(st.lists(element, min_size=size, max_size=size)), dtype=dtype)


@st.composite
def layers(draw):
    arity, names = draw(st.sampled_from([(1, UNARY), (2, BINARY), (2, BINARY), (2, BINARY[:4])]))
    operators = {
        name: replace(one, cost=draw(st.sampled_from([1, 1, 0, 2])))
        for name, one in (OPERATORS | OWN).items()
        if name in names
    }
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    named = st.sampled_from(names)
    rules = st.just({}) | st.dictionaries(named, st.frozensets(named, max_size=2), max_size=2)
    grammar = replace(
        load_grammar("basic"), operators=OPERATORS | operators, forbid=draw(rules), forbid_within=draw(rules),
        max_complexity=draw(st.sampled_from([None, None, None, 3, 5])), columns={}, constants=(),
        max_range={},
    )  # fmt: skip
    others = draw(st.lists(named, max_size=3, unique=True))
    layer = Layer("ub"[arity - 1], tuple(operators[name] for name in chosen))
    inside = Layer("ub"[arity - 1], tuple(operators[name] for name in others))
    structure = build_symbol_table(["x"], grammar, [inside, layer])
    q = draw(st.integers(0, 9))
    everything = (1 << len(structure.operators)) - 1
    bits = st.integers(0, everything)
    mostly = st.sampled_from([everything] * 5 + [None]).flatmap(
        lambda one: bits if one is None else st.just(one)
    )
    pool = NodeArray(
        operator=_draw_array(draw, st.integers(-2, len(structure.operators) - 1), q, np.int16),
        left=np.zeros(q, dtype=np.int32),
        right=np.zeros(q, dtype=np.int32),
        complexity=_draw_array(draw, st.sampled_from([1, 1, 1, 2, 4]), q, np.int32),
        layer=np.zeros(q, dtype=np.int16),
        keys=_draw_array(draw, keys, q, np.uint64).reshape(q, 2),
        operator_mask=_draw_array(draw, st.just(0) | bits, q, np.uint64),
        allowed_mask=_draw_array(draw, mostly, q, np.uint64),
    )
    tried = {operator: draw(st.integers(0, q)) for operator in layer.operators if draw(st.booleans())}
    candidates = enumerate_candidates(layer, structure, q, tried)
    flags = st.sampled_from([True] * 5 + [False])
    own = [pool.keys[place] for place in draw(st.lists(st.integers(0, q - 1), max_size=4))] if q else []
    known = [*map(tuple, own), *draw(st.lists(keys, max_size=4))]
    useless = st.sampled_from([CandidateStatus.UNDEFINED, CandidateStatus.CONSTANT])
    at_random = st.dictionaries(st.integers(0, max(candidates.total - 1, 0)), useless, max_size=5)
    options = {
        "domain_masks": {
            operator.name: (_draw_array(draw, flags, q, np.bool_), _draw_array(draw, flags, q, np.bool_))
            for operator in layer.operators
            if draw(st.booleans())
        },
        "range_masks": {
            operator.name: _draw_array(draw, flags, q, np.bool_)
            for operator in layer.operators
            if draw(st.booleans())
        },
        "existing_keys": np.array(known, dtype=np.uint64).reshape(-1, 2),
        "tie_break_ranks": _draw_array(
            draw, st.sampled_from([-1, 130, 195, 196, 999, 999]), len(known), np.int32
        ),
        "has_next_layer": draw(st.booleans()),
        "excluded": draw(at_random) if candidates.total else {},
    }
    return Judged(candidates, structure, pool, grammar, options)


def _pairs(segment, q):
    """List the arguments of an operator's pairs in their order, those tried before included."""
    if segment.pairing == "one":
        return [(place, place) for place in range(q)]
    pairs = []
    for later in range(q):
        pairs += [(first, later) for first in range(later + 1)]
        if segment.pairing == "ordered":
            pairs += [(later, first) for first in range(later)]
    return pairs


def _barred(code, outermost, inside, allowed, drawn):
    """Say whether rules keep an operator from a feature."""
    names = [operator.name for operator in drawn.structure.operators]
    within = {name for place, name in enumerate(names) if inside >> place & 1}
    return bool(
        not allowed >> code & 1
        or within & drawn.grammar.forbid_within.get(names[code], frozenset())
        or (outermost >= 0 and names[outermost] in drawn.grammar.forbid.get(names[code], frozenset()))
    )


def judged_by_hand(drawn):
    """Return the fates, by what each known feature is replaced, and the winners."""
    pool, options = drawn.pool, drawn.options
    fates, equal = [], {}
    for place, (key, own) in enumerate(
        zip(options["existing_keys"].tolist(), options["tie_break_ranks"].tolist(), strict=True)
    ):
        equal.setdefault(tuple(key), []).append((own, place - len(options["existing_keys"])))
    for segment in drawn.candidates.operator_ranges:
        operator = drawn.structure.operators[segment.code]
        for left, right in _pairs(segment, len(pool))[segment.n_applied :]:
            number = len(fates)
            fate, key, own = _alone(operator, segment.code, left, right, drawn)
            fates.append(options["excluded"].get(number, fate))
            if fates[-1] == CandidateStatus.KEPT:
                equal.setdefault(key, []).append((own, number))
    replaced_by, winners = [-1] * len(options["existing_keys"]), set()
    for twins in equal.values():
        (_, simplest), *copies = sorted(twins)
        for _, number in copies:
            if number >= 0:
                fates[number] = CandidateStatus.DUPLICATE
            else:
                replaced_by[number] = simplest
        if copies and simplest >= 0:
            winners.add(simplest)
    return fates, replaced_by, winners


def _alone(operator, code, left, right, drawn):
    """Return what becomes of a candidate for itself, its key and its burden."""
    pool, options = drawn.pool, drawn.options
    places = [left, right][: operator.arity]
    key = tuple(operator.compute_fingerprint(*(pool.keys[place] for place in places)).tolist())
    complexity = operator.cost + sum(int(pool.complexity[place]) for place in places)
    inside = [int(pool.operator_mask[place]) for place in (left, right)]
    allowed = [int(pool.allowed_mask[place]) for place in (left, right)]
    outermost = [int(pool.operator[place]) for place in (left, right)]
    good = options["domain_masks"].get(operator.name)
    fate = CandidateStatus.KEPT
    if any(_barred(code, *one, drawn) for one in zip(outermost, inside, allowed, strict=True)):
        fate = CandidateStatus.FORBIDDEN
    elif drawn.grammar.max_complexity is not None and complexity > drawn.grammar.max_complexity:
        fate = CandidateStatus.TOO_COMPLEX
    elif key[0] == key[1]:
        fate = CandidateStatus.CONSTANT
    elif not all(options["range_masks"].get(operator.name, np.ones(len(pool)))[place] for place in places):
        fate = CandidateStatus.WIDE_RANGE
    elif good is not None and not (good[0][left] and good[1][right]):
        fate = CandidateStatus.UNDEFINED
    bars = sum(
        _barred(other, code, inside[0] | inside[1] | 1 << code, allowed[0] & allowed[1], drawn)
        for other in range(len(drawn.structure.operators))
    )
    own = compute_tie_break_rank(np.array([complexity]), np.array([bars if options["has_next_layer"] else 0]))
    return fate, key, int(own[0])
