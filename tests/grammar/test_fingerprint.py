from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.grammar import OPERATORS
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.fingerprint import multiply_arrays

P = (1 << 61) - 1
EDGES = [0, 1, 2, P // 2, P // 2 + 1, P - 2, P - 1]
residues = st.one_of(st.sampled_from(EDGES), st.integers(0, P - 1))
some = st.lists(residues, min_size=1, max_size=20)
quick = settings(max_examples=50, deadline=None)

EXACT = [
    (fp.add, lambda a, b: (a + b) % P),
    (fp.subtract, lambda a, b: (a - b) % P),
    (fp.multiply, lambda a, b: a * b % P),
    (fp.divide, lambda a, b: a * pow(b, -1, P) % P if b else 0),
]


@pytest.fixture(params=[0, 512], ids=["kernels", "Python"], scope="module", autouse=True)
def _max_few_residues(request):
    """Arrays of all sizes are computed by kernels, then small ones in Python."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fp, "_MAX_FEW_RESIDUES", request.param)
        yield


def field(values):
    return np.array(values, dtype=np.uint64)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "exact"), EXACT, ids=lambda f: f.__name__)
@quick
@given(more=st.lists(st.tuples(residues, residues), max_size=20))
def test_binary_arithmetic_is_that_of_integers_modulo_p(function, exact, more):
    pairs = [*itertools.product(EDGES, EDGES), *more]
    left, right = zip(*pairs, strict=True)
    found = function(field(left), field(right))
    assert found.dtype == np.uint64
    assert found.tolist() == [exact(a, b) for a, b in pairs]


@quick
@given(values=some)
def test_negation_and_inversion_are_those_of_integers_modulo_p(values):
    values = [*EDGES, *values]
    assert fp.negate(field(values)).tolist() == [-a % P for a in values]
    assert fp.invert(field(values)).tolist() == [pow(a, -1, P) if a else 0 for a in values]


@quick
@given(values=some, exponents=st.lists(st.integers(-30, 30), min_size=1, max_size=4))
def test_powers_are_exact_for_small_whole_exponents(values, exponents):
    a, b = field(values)[:, None], field([exponent % P for exponent in exponents])
    expected = [[pow(v, e, P) if v or e >= 0 else 0 for e in exponents] for v in values]
    assert fp.raise_to_power(a, b).tolist() == expected


@pytest.mark.parametrize("function", [fp.multiply, fp.divide, fp.add, fp.subtract])
def test_shapes_are_broadcast_and_arrays_of_any_layout_are_read(function):
    pairs = np.array([*itertools.product(EDGES, EDGES)], dtype=np.uint64)
    expected = function(pairs[:, 0].copy(), pairs[:, 1].copy()).reshape(len(EDGES), len(EDGES))
    a = field(EDGES)
    frozen = a.copy()
    frozen.flags.writeable = False
    before = pairs.copy()
    assert (function(a[:, None], a) == expected).all()
    assert (function(frozen[:, None], frozen) == expected).all()
    assert (function(*pairs.T) == expected.ravel()).all()
    assert (function(pairs.T, pairs.T[:, ::-1]) == function(pairs, pairs[::-1]).T).all()
    assert function(a[:0], a[:1]).shape == (0,)
    assert (pairs == before).all()
    assert (a == field(EDGES)).all()
    assert len(multiply_arrays.dispatcher.signatures) <= 1  # compiled once for them all


def test_inverses_are_found_in_any_shape_and_beside_zeros():
    a = field([[0, 2, 0], [P - 1, 0, 5]])
    assert fp.invert(a).tolist() == [[0, pow(2, -1, P), 0], [P - 1, 0, pow(5, -1, P)]]
    assert fp.invert(a.T).tolist() == fp.invert(a).T.tolist()
    assert fp.invert(a[:, :1] * field(0)).tolist() == [[0], [0]]


def test_powers_beyond_are_opaque_for_there_powers_of_two_run_into_one_another():
    exponents = [*range(-70, -30), *range(31, 71)]
    found = fp.raise_to_power(field([2] * len(exponents)), field([e % P for e in exponents])).tolist()
    small = fp.raise_to_power(field([2] * 61), field([e % P for e in range(-30, 31)])).tolist()
    assert len({*found, *small}) == len(exponents) + 61


@quick
@given(values=some, name=st.text(max_size=5))
def test_even_and_odd_functions_keep_their_parity(values, name):
    a = field([*EDGES, *values])
    mirrored = fp.negate(a)
    assert (fp.make_even_hash(name)(mirrored) == fp.make_even_hash(name)(a)).all()
    assert (fp.make_odd_hash(name)(mirrored) == fp.negate(fp.make_odd_hash(name)(a))).all()
    assert fp.make_odd_hash(name)(a)[0] == 0
    assert fp.make_even_hash(name)(a)[0] != 0


def test_parity_merges_nothing_but_mirror_images():
    a = field(range(2000))
    assert len(np.unique(fp.make_even_hash("f")(a))) == 2000
    assert len(np.unique(fp.make_odd_hash("f")(np.concatenate([a, fp.negate(a[1:])])))) == 3999


def test_functions_of_different_names_and_argument_orders_are_unrelated():
    a, b = field(range(100)), field(range(100, 200))
    values = [
        fp.make_opaque_hash("f")(a),
        fp.make_opaque_hash("g")(a),
        fp.make_opaque_hash("f")(a, b),
        fp.make_opaque_hash("f")(b, a),
    ]
    assert len(np.unique(values)) == 400


@quick
@given(values=some, others=some)
def test_every_fingerprint_is_a_residue(values, others):
    a, b = field(values)[:, None], field(others)
    for operator in OPERATORS.values():
        found = operator.compute_fingerprint(a) if operator.arity == 1 else operator.compute_fingerprint(a, b)
        assert found.dtype == np.uint64
        assert (found < P).all()
        assert found.shape == ((len(a), 1) if operator.arity == 1 else (len(a), len(b)))


def test_columns_have_points_of_their_own_whatever_their_names():
    names = ["x", "X", "x ", "", "`", "λ", "e\u0301", "é", "\ud800", "\udcff", *map(str, range(2000))]
    points = np.array([fp.encode_column(name) for name in names])
    assert len(np.unique(points)) == points.size
    assert (points < P).all()


def test_columns_keep_their_points_from_run_to_run():
    assert fp.encode_column("x").tolist() == [893541444888172412, 421753372267759646]


@quick
@given(numerator=st.integers(1 - 2**30, 2**30 - 1), power=st.integers(0, 5))
def test_a_number_is_the_decimal_fraction_that_it_is_written_as(numerator, power):
    number = numerator / 10**power
    residue = numerator * pow(10**power, -1, P) % P
    assert fp.encode_number(number).tolist() == [residue, residue]
    assert fp.encode_number(np.float64(number)).tolist() == [residue, residue]


@quick
@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_the_negative_of_a_number_has_the_negative_fingerprint(number):
    assert fp.encode_number(-number).tolist() == fp.negate(fp.encode_number(number)).tolist()


@quick
@given(number=st.integers(-(10**15), 10**15))
def test_a_whole_number_is_the_same_as_an_int_and_as_a_float(number):
    assert fp.encode_number(number).tolist() == fp.encode_number(float(number)).tolist()


def test_numbers_apart_by_a_power_of_two_stay_apart():
    numbers = [odd * 2.0**e for e in range(-1000, 1001) for odd in (1, -1, 3, 0.1)]
    assert len({tuple(fp.encode_number(number).tolist()) for number in numbers}) == len(numbers)


NUMBERS = [-2, -1, 0, 1, 2, 3]


@cache
def draw_fractions(size):
    """Draw random rational functions of three columns, as steps of computation and as reduced fractions.

    Arguments are drawn from the older, smaller ones, so that many functions are met again in other forms.
    """
    draw = np.random.default_rng(4)
    fractions_field, *columns = sympy.field("x,y,z", sympy.QQ)
    fractions = [*columns, *(fractions_field(number) for number in NUMBERS)]
    steps = []
    exact = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
        "inv": lambda a: 1 / a,
        "square": lambda a: a**2,
        "cube": lambda a: a**3,
    }
    names = [*["add", "sub", "mul", "div"] * 3, "neg", "inv", "square", "cube"]
    while len(fractions) < size:
        name = names[draw.integers(len(names))]
        operator = OPERATORS[name]
        places = [int(min(len(fractions), 400) * draw.random() ** 2) for _ in range(operator.arity)]
        try:
            fraction = exact[name](*(fractions[place] for place in places))
        except ZeroDivisionError:
            continue
        if len(fraction.numer) + len(fraction.denom) > 30:
            continue
        fractions.append(fraction)
        steps.append((operator, places))
    constant = [fraction.numer.is_ground and fraction.denom.is_ground for fraction in fractions]
    # equal elements of sympy's field may hash differently, so they are told apart as they print
    return steps, [str(fraction) for fraction in fractions], constant


def compute_keys(steps):
    keys = [*map(fp.encode_column, "xyz"), *map(fp.encode_number, NUMBERS)]
    for operator, places in steps:
        keys.append(operator.compute_fingerprint(*(keys[place] for place in places)))
    return [tuple(key.tolist()) for key in keys]


@pytest.mark.slow
def test_keys_are_equal_exactly_where_rational_functions_are():
    steps, fractions, _ = draw_fractions(3000)
    keys, distinct = compute_keys(steps), set(fractions)
    # many functions, and many of them met again in another form
    assert 1200 < len(distinct) < 2400
    assert len(set(keys)) == len(distinct)
    assert len(set(zip(keys, fractions, strict=True))) == len(distinct)


@pytest.mark.parametrize("size", [1000, pytest.param(3000, marks=pytest.mark.slow)])
def test_a_key_of_two_equal_values_is_exactly_that_of_a_constant(size):
    steps, _, constant = draw_fractions(size)
    assert size / 60 < sum(constant) < size / 1.5
    assert [first == second for first, second in compute_keys(steps)] == constant
