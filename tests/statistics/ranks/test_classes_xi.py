"""ξ against classes: the mean over one and the rest."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.xi import compute_xi
from symscreen.targets import NumericTarget
from symscreen.targets.multiclass import MulticlassTarget

NAMES = ("a", "b", "c", "d")


def _codes(rng, n, classes):
    return rng.permutation(np.arange(n) % classes)


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("tied", [False, True])
def test_it_is_the_mean_of_xi_against_each_class(rng, classes, tied):
    codes = _codes(rng, 40, classes)
    values = rng.integers(0, 6, (5, 40)).astype(float) if tied else rng.normal(size=(5, 40))
    found = np.zeros(5)
    for own in range(classes):
        order = np.argsort(codes == own, kind="stable")
        found += compute_xi(sort_block(values[:, order].copy()), NumericTarget(1.0 * (codes == own)[order]))
    xi = MulticlassTarget(codes, NAMES[:classes]).compute_xi(sort_block(values))
    assert xi == pytest.approx(found / classes, abs=1e-13)
    assert MulticlassTarget(codes, NAMES[:classes]).compute_xi(sort_block(-values)).tolist() == xi.tolist()


def test_ties_are_expected_over_all_their_orders():
    codes, z = np.array([0, 1, 2, 0, 1, 1]), np.array([1.0, 1.0, 1.0, 2.0, 3.0, 3.0])
    n, found = 6, []
    for first in permutations(range(3)):
        for last in permutations((4, 5)):
            row = codes[[*first, 3, *last]]
            edges = [((row[1:] == c) != (row[:-1] == c)).sum() for c in range(3)]
            sizes = np.bincount(codes)
            found.append(np.mean(1 - n * np.array(edges) / (2 * sizes * (n - sizes))))
    xi = MulticlassTarget(codes, NAMES[:3]).compute_xi(sort_block(z[None]))
    assert xi[0] == pytest.approx(np.mean(found), abs=1e-14)


def test_names_of_classes_do_not_matter(rng):
    codes, values = _codes(rng, 30, 3), rng.normal(size=(4, 30))
    renamed = np.array([2, 0, 1])[codes]
    one, other = (MulticlassTarget(c, NAMES[:3]).compute_xi(sort_block(values)) for c in (codes, renamed))
    assert one.tolist() == other.tolist()
