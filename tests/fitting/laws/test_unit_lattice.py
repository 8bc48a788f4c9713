"""The lattice of exponents that units allow contains the truth, and nothing that has another unit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symscreen.experiments.srbench.problems import list_problems
from symscreen.experiments.srbench.structure import find_structure
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.unit_lattice import UnitLattice, build_unit_lattice, list_dimensionless_groups
from symscreen.units import Units, parse_unit

NAMES = ("a", "b", "c", "d", "e")


def make_lattice(vectors, target=None):
    return UnitLattice(NAMES[: len(vectors)], np.asarray(vectors, dtype=float), target, Units({}))


def read_lattice(problem):
    names = tuple(each.name for each in problem.inputs)
    columns = {name: parse_unit(text) for name, text in problem.units.items()}
    return build_unit_lattice(Units(columns, target=parse_unit(problem.unit)), names)


def test_groups_have_no_unit_and_contain_no_smaller_group(rng):
    for _ in range(50):
        vectors = rng.integers(-2, 3, (6, 3))
        groups = np.array(list_dimensionless_groups(vectors.tolist()))
        if len(groups):
            assert not (groups @ vectors).any()
        supports = [frozenset(np.flatnonzero(group).tolist()) for group in groups]
        assert len(set(supports)) == len(supports)
        assert not any(first < second for first in supports for second in supports)


def test_the_groups_span_all_that_have_no_unit(rng):
    # small exponents, so no group has a power beyond the limit
    for _ in range(50):
        vectors = rng.integers(-1, 2, (5, 2))
        groups = np.array(list_dimensionless_groups(vectors.tolist())).reshape(-1, 5)
        assert np.linalg.matrix_rank(groups) == 5 - np.linalg.matrix_rank(vectors)


def test_the_order_of_the_inputs_has_no_effect_on_the_set_of_groups(rng):
    vectors = [[Fraction(int(x), 2) for x in row] for row in rng.integers(-2, 3, (6, 3))]
    order = rng.permutation(6)
    inverse = np.argsort(order)
    permuted = [
        tuple(group[place] for place in inverse)
        for group in list_dimensionless_groups([vectors[place] for place in order])
    ]
    normal = {max(group, tuple(-power for power in group)) for group in list_dimensionless_groups(vectors)}
    assert {max(group, tuple(-power for power in group)) for group in permuted} == normal


def test_free_directions_are_dimensionless_and_as_many_as_the_units_leave(rng):
    for _ in range(50):
        lattice = make_lattice(rng.integers(-2, 3, (5, 3)))
        free = lattice.free_directions
        assert free.shape[1] == 5 - np.linalg.matrix_rank(lattice.vectors)
        np.testing.assert_allclose(free.T @ lattice.vectors, 0.0, atol=1e-12)
        np.testing.assert_allclose(free.T @ free, np.eye(free.shape[1]), atol=1e-12)


def test_every_product_is_the_simplest_one_of_its_unit_times_powers_of_groups(rng):
    n_found = 0
    for _ in range(50):
        lattice = make_lattice(rng.integers(-1, 2, (5, 2)))
        powers = [Fraction(int(power), 2) for power in rng.integers(-3, 4, 5)]
        unit = np.array(powers, dtype=float) @ lattice.vectors
        simplest = np.array(lattice.find_simplest_powers(unit), dtype=float)
        np.testing.assert_allclose(simplest @ lattice.vectors, unit, atol=1e-12)
        assert np.abs(simplest).sum() <= sum(map(abs, powers)) + 1e-12
        coordinates = np.array(lattice.find_coordinates(powers, unit), dtype=float)
        product = simplest + coordinates @ lattice.independent_groups
        np.testing.assert_allclose(product, np.array(powers, dtype=float), atol=1e-9)
        n_found += bool(coordinates.any())
    assert n_found > 10


def test_a_unit_that_no_product_has_has_no_powers():
    lattice = make_lattice([[1, 0], [2, 0]])
    unit = np.array([0.0, 1.0])
    assert lattice.find_powers(unit) is lattice.find_simplest_powers(unit) is None
    assert lattice.list_powers(unit, 10) == []
    assert not make_lattice([[1, 0], [2, 0]], unit).decides_target


def test_listed_powers_have_the_unit_and_rise_in_size(rng):
    for limit in (1, 7, 60):
        lattice = make_lattice(rng.integers(-1, 2, (5, 2)))
        unit = np.array([1.0, -1.0])
        listed = lattice.list_powers(unit, limit) if lattice.find_powers(unit) is not None else []
        assert len(listed) <= limit
        sizes = [float(sum(map(abs, powers))) for powers in listed]
        assert sizes == sorted(sizes)
        for powers in listed:
            np.testing.assert_allclose(np.array(powers, dtype=float) @ lattice.vectors, unit, atol=1e-12)


@pytest.mark.slow
def test_the_lattices_of_srbench_contain_the_exponents_of_the_true_monomials():
    n_monomials = 0
    for problem in list_problems():
        if not problem.inputs or find_structure(problem) != "monomial":
            continue
        lattice = read_lattice(problem)
        rows = np.exp(np.random.default_rng(0).uniform(size=(len(lattice.names), 40)))
        columns = dict(zip(lattice.names, rows, strict=True))
        design = np.column_stack([np.ones(40), np.log(rows).T])
        logs = np.log(np.abs(evaluate_expression(problem.expression, columns)))
        powers = np.linalg.lstsq(design, logs, rcond=None)[0][1:]
        np.testing.assert_allclose(powers @ lattice.vectors, lattice.target, atol=1e-9)
        rest = powers - lattice.find_powers(lattice.target)
        free = lattice.free_directions
        np.testing.assert_allclose(free @ (free.T @ rest), rest, atol=1e-9)
        n_monomials += 1
    assert n_monomials > 30


def test_all_truths_of_srbench_have_the_unit_of_their_target():
    for problem in list_problems():
        if problem.inputs:
            lattice = read_lattice(problem)
            # a base with a unit needs a number as its exponent, and 3/2 is a quotient
            truth = parse_expression(problem.truth.replace("(3/2)", "1.5"))
            np.testing.assert_array_equal(lattice.compute_unit(truth), lattice.target)
