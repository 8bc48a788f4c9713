"""Units in an expansion, held against pint on trees, one at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from expansion.test_fates import bounded
from helpers.expansion_oracles import LAYERS
from helpers.requirements import require
from helpers.strategies import put_in
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.backends import Threads
from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import CandidateStatus, expand, operator_tasks
from symscreen.expressions.traversal import compute_key
from symscreen.expressions.tree import Call, Column, Constant, apply_operator, parse_expression
from symscreen.grammar import OPERATORS, load_grammar
from symscreen.grammar.custom_operators import define_family, define_operator
from symscreen.units import Units, parse_unit

pint = require("pint")
REGISTRY = pint.UnitRegistry(non_int_type=Fraction)
FORMULAS = {
    "gauss": "exp(-x**2)",
    "ratio": "x/(x + y)",
    "norm": "sqrt(x**2 + y**2)",
    "shifted": "y*(x + 1)",
    "root": "x**0.5*y**(-1)",
    "tower": "x**x",
}
OWN = {name: define_operator(name, text, OPERATORS) for name, text in FORMULAS.items()}
OWN |= {one.name: one for one in define_family("hill", "x**n/(1 + x**n)", {"n": [1, 2]}, OPERATORS)}
FORMULAS |= {one.name: one.summary for one in OWN.values() if one.family is not None}
UNARY = (
    "id",
    "square",
    "cube",
    "sqrt",
    "cbrt",
    "inv",
    "neg",
    "abs",
    "exp",
    "sin",
    "gauss",
    "tower",
    "hill_2",
)
BINARY = ("add", "sub", "mul", "div", "absdiff", "pow", "min", "ratio", "norm", "shifted", "root")
GIVEN = ("m", "mm", "s", "1", "m/s", "kg", "m**2", "%")
POWERS = {"square": 2, "cube": 3, "sqrt": Fraction(1, 2), "cbrt": Fraction(1, 3), "inv": -1}


def unit_by_hand(expression, given):
    """Return a formula's dimension as pint has it, or None."""
    match expression:
        case Column(name):
            return REGISTRY.parse_units(given[name]).dimensionality
        case Constant():
            return REGISTRY.dimensionless.dimensionality
        case Call(operator, arguments) if operator.name in FORMULAS:
            parts = dict(zip("xy", arguments, strict=False))
            return unit_by_hand(
                put_in(parse_expression(FORMULAS[operator.name], OPERATORS | OWN), parts), given
            )
    units = [unit_by_hand(argument, given) for argument in expression.arguments]
    return None if None in units else _combined(expression, *units)


def _combined(expression, first, last=None):
    name = expression.operator.name
    if name in {"neg", "abs", "id"}:
        return first
    if name in {"mul", "div"}:
        return first * last if name == "mul" else first / last
    if name in {"add", "sub", "absdiff", "min", "max"}:
        return first if first == last else None
    if name == "pow" and isinstance(expression.arguments[1], Constant):
        return first ** Fraction(expression.arguments[1].value)
    if name in POWERS:
        return first ** POWERS[name]
    return None if first or last else first


@dataclass(frozen=True)
class Problem:
    given: dict
    unary: tuple
    binary: tuple
    constants: tuple
    layers: str
    pool_kind: str
    target: str | None

    @property
    def grammar(self):
        shipped = load_grammar("ablation")
        own = replace(shipped, operators=OPERATORS | OWN, constants=self.constants)
        return own.override(unary=self.unary, binary=self.binary)

    @property
    def names(self):
        return tuple(self.given)

    @property
    def wanted(self):
        return None if self.target is None else REGISTRY.parse_units(self.target).dimensionality

    def expanded(self, columns=None, **options):
        columns_given = {name: parse_unit(text) for name, text in self.given.items() if text != "1"}
        units = Units(columns_given, None if self.target is None else parse_unit(self.target))
        grammar = self.grammar
        layers = grammar.resolve_layers(self.layers)
        return expand(
            self.names,
            columns,
            grammar,
            layers,
            self.pool_kind,
            units=units,
            **options,
            options=SpaceOptions(),
        )


def several(values, most):
    return st.lists(st.sampled_from(values), min_size=1, max_size=most, unique=True).map(tuple)


def problems(largest=3):
    return st.builds(
        Problem,
        given=st.lists(st.sampled_from(GIVEN), min_size=1, max_size=largest).map(
            lambda units: {f"x{place}": unit for place, unit in enumerate(units)}
        ),
        unary=several(UNARY, 3),
        binary=several(BINARY, 2),
        constants=st.sampled_from([(), (2,), (1, -3)]),
        layers=st.sampled_from(LAYERS),
        pool_kind=st.sampled_from(["cumulative", "strict"]),
        target=st.none() | st.sampled_from([*GIVEN, "m*s", "1/s"]),
    )


@pytest.mark.slow
@settings(max_examples=150)
@given(problems(), st.booleans())
def test_what_is_dropped_has_no_unit_and_what_stays_has_one(problem, with_values):
    given, wanted = problem.given, problem.wanted
    columns = np.random.default_rng(1).uniform(0.5, 2.0, (len(given), 7)) if with_values else None
    space = problem.expanded(columns)
    by_hand = Counter()
    for place, fate in enumerate(space.statuses):
        found = unit_by_hand(space.build_expression(space.n_materialized + place), given)
        assert (found is None) == (fate == CandidateStatus.NO_UNIT)
        if found is not None:
            assert (wanted not in {None, found}) == (fate == CandidateStatus.OTHER_UNITS)
        by_hand[CandidateStatus(fate)] += 1
    last = space.layer_counts[-1]
    assert last.n_excluded.get(CandidateStatus.NO_UNIT, 0) == by_hand[CandidateStatus.NO_UNIT]
    for number in range(len(space.pool_indices)):
        found = unit_by_hand(space.build_expression(number), given)
        assert found is not None
        assert wanted in {None, found}
    before = space.layer_counts[-2].n_features if problem.pool_kind == "cumulative" else 0
    assert before + last.n_generated - sum(last.n_excluded.values()) == last.n_features == space.size


def _trees(problem):
    """List all formulas, the meaningless and those equal by algebra, too; None where there are too many."""
    numbers = [Constant(value) for value in problem.constants]
    pool = numbers + [Column(name) for name in problem.names]
    for layer in problem.grammar.resolve_layers(problem.layers):
        made = []
        for operator in layer.operators:
            pairs = [(one,) for one in pool]
            if operator.arity == 2:
                pairs = [(one, other) for place, one in enumerate(pool) for other in pool[: place + 1]]
                pairs += (
                    [] if operator.commutative else [(other, one) for one, other in pairs if one != other]
                )
                pairs = [(other, one) for one, other in pairs]
            made += [apply_operator(operator, *arguments) for arguments in pairs]
        if len(made) > 1500:
            return None
        made = [tree for tree in made if compute_key(tree)[0] != compute_key(tree)[1]]
        pool = (pool if problem.pool_kind == "cumulative" else numbers) + made
    return [tree for tree in pool if not isinstance(tree, Constant)]


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(largest=2))
def test_the_space_is_the_full_space_less_what_has_no_unit(problem):
    trees = _trees(problem)
    if trees is None:
        return
    found = [(tree, unit_by_hand(tree, problem.given)) for tree in trees]
    expected = {
        compute_key(tree) for tree, unit in found if unit is not None and problem.wanted in {None, unit}
    }
    space = problem.expanded()
    assert {compute_key(space.build_expression(number)) for number in space.numbers} == expected


@settings(max_examples=40)
@given(problems(), st.integers(1, 50), st.integers(1, 8), st.sampled_from([1, 2]))
def test_portions_and_threads_change_nothing(problem, at_once, bucket, jobs):
    whole = problem.expanded()
    with bounded(at_once, bucket, 5), pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator_tasks, "_BATCH_PAIRS", 3)
        found = problem.expanded(map_function=Threads(jobs).map)
    assert (found.statuses == whole.statuses).all()
    assert found.layer_counts == whole.layer_counts


def test_equal_columns_of_different_units_stay_two_inputs(rng):
    values = rng.uniform(1, 2, 9)
    grammar = load_grammar("ablation").override(unary=["square"], binary=["add"])
    layers = grammar.resolve_layers("ub")
    columns = np.array([values, values])
    units = Units({"a": parse_unit("m"), "b": parse_unit("s")})
    assert (
        expand(["a", "b"], columns, grammar, layers, options=SpaceOptions()).layer_counts[0].n_features == 1
    )
    space = expand(["a", "b"], columns, grammar, layers, units=units, options=SpaceOptions())
    assert space.layer_counts[0].n_features == 2
    assert {str(space.build_expression(number)) for number in space.numbers} == {
        "a", "b", "a**2", "b**2", "a + a", "b + b", "a**2 + a**2", "b**2 + b**2",
    }  # fmt: skip


def test_what_is_asked_of_the_last_layer_is_not_asked_of_those_before():
    grammar = load_grammar("ablation").override(unary=["square"], binary=["mul"])
    units = Units({"m": parse_unit("g"), "v": parse_unit("km/h")}, parse_unit("J"))
    space = expand(
        ["m", "v"], None, grammar, grammar.resolve_layers("ub"), units=units, options=SpaceOptions()
    )
    assert [str(space.build_expression(number)) for number in space.numbers] == ["m*v**2"]
    assert (
        space.layer_counts[-1].n_excluded[CandidateStatus.OTHER_UNITS]
        == space.layer_counts[-2].n_features + 10 - 1
    )
