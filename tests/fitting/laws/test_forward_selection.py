from __future__ import annotations

from itertools import combinations

import numpy as np

from symscreen.fitting.laws.forward_selection import build_gram, find_best_pair, select_forward


def compute_square(rows, target, members):
    return float(np.linalg.lstsq(rows[list(members)].T, target, rcond=None)[1][0])


def make_problem(rng):
    rows = rng.normal(size=(25, 120)) * rng.uniform(0.1, 10, (25, 1))
    rows[5] = rows[3] + 0.1 * rows[4]
    return rows, rows[3] / 2 + rows[7] + rng.normal(size=120)


def test_each_step_adds_the_term_that_explains_most(rng):
    rows, target = make_problem(rng)
    expected: list[int] = []
    for _ in range(6):
        rest = [k for k in range(len(rows)) if k not in expected]
        expected.append(min(rest, key=lambda k: compute_square(rows, target, [*expected, k])))
    assert select_forward(build_gram(rows, target), (), 6) == expected


def test_a_selection_goes_on_from_its_start(rng):
    rows, target = make_problem(rng)
    members = select_forward(build_gram(rows, target), (11, 2), 3)
    rest = [k for k in range(len(rows)) if k not in {11, 2}]
    assert members == [11, 2, min(rest, key=lambda k: compute_square(rows, target, [11, 2, k]))]


def test_the_best_pair_is_the_best_of_all_pairs(rng):
    rows, target = make_problem(rng)
    best = min(combinations(range(len(rows)), 2), key=lambda pair: compute_square(rows, target, pair))
    assert tuple(sorted(find_best_pair(build_gram(rows, target)))) == best


def test_copies_of_a_member_are_not_selected(rng):
    rows, target = make_problem(rng)
    rows[7:10] = rows[7]
    members = select_forward(build_gram(rows, target), (), 10)
    assert len({7, 8, 9} & set(members)) == 1
