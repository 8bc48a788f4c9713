from __future__ import annotations

import numpy as np
import pytest
from helpers.screening_oracles import Whole, classes_of, loss_of, table_of, wide_space_of

from symscreen.backends import Threads
from symscreen.config.screen_options import SpaceOptions
from symscreen.data import replace_target
from symscreen.expansion import permute_space_rows
from symscreen.screeners import SCREENERS
from symscreen.screening.scoring.rank_counting import compute_class_rank


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["free", "positive"])
@pytest.mark.parametrize("name", ["t0", "xi", "pearson"])
def test_the_place_is_that_among_the_classes_of_the_whole_matrix(name, sign, rng):
    table = table_of(rng, rows=15)
    whole = Whole.of(table, wide_space_of(table))
    loss = np.round(loss_of(name, whole.values, whole.y, sign), 11)
    classes = classes_of(whole.values, SCREENERS[name].equivalence, mirrored=sign == "free")
    signs = {"xi": np.ones(len(loss))}.get(name)
    in_order = list(dict.fromkeys(classes[whole.order(loss, signs)].tolist()))
    for place in rng.choice(len(loss), 4, replace=False):
        for jobs, chunk_size in ((1, 9), (2, 50)):
            found = compute_class_rank(
                whole.space,
                table.target,
                SCREENERS[name],
                sign,
                whole.values[place],
                backend=Threads(jobs),
                chunk_size=chunk_size,
            )
            assert found == 1 + in_order.index(classes[place])


@pytest.mark.slow
@pytest.mark.parametrize("counted", [1 << 14, 12])
def test_classes_that_tie_are_put_into_the_order_of_a_screen(counted, rng):
    table = table_of(rng, rows=20)
    table = replace_target(table, (table.columns[0] > np.median(table.columns[0])).astype(float))
    whole = Whole.of(table, wide_space_of(table))
    loss = loss_of("t0", whole.values, whole.y)
    classes = classes_of(whole.values, "ranks")
    in_order = list(dict.fromkeys(classes[whole.order(loss)].tolist()))
    assert len({round(one, 11) for one in loss}) < len(in_order) / 1.5  # many tie
    for place in rng.choice(len(loss), 5, replace=False):
        found = [
            compute_class_rank(
                whole.space, table.target, SCREENERS["t0"], "free", whole.values[place],
                backend=Threads(jobs), chunk_size=chunk_size, max_exact_classes=counted,
            )
            for jobs, chunk_size in ((1, 9), (2, 50))
        ]  # fmt: skip
        exact = 1 + in_order.index(classes[place])
        assert found[0] == found[1]
        if counted > len(loss):
            assert found[0] == exact
        elif exact > 30:
            assert 0.3 < found[0] / exact < 3


def test_beyond_what_is_counted_the_place_is_estimated_and_what_is_absent_has_none(rng):
    table = table_of(rng, rows=40)
    whole = Whole.of(table, wide_space_of(table))
    options = {"backend": Threads(1), "chunk_size": 50}
    given = (whole.space, table.target, SCREENERS["t0"], "free")
    worst = whole.values[np.argmax(loss_of("t0", whole.values, whole.y))]
    exact = compute_class_rank(*given, worst, **options)
    rough = compute_class_rank(*given, worst, max_exact_classes=30, **options)
    assert exact > 60
    assert abs(rough / exact - 1) < 4 / np.sqrt(30)
    assert compute_class_rank(*given, rng.normal(size=40), **options) == np.inf


def test_rows_in_another_order_have_the_same_features(rng):
    table = table_of(rng)
    for thin in (False, True):
        space = wide_space_of(table)
        if thin:
            from symscreen.expansion import expand
            from symscreen.grammar import load_grammar

            grammar = load_grammar("basic").override(unary=("neg", "cube"), binary=("sub",))
            space = expand(
                table.names,
                table.columns,
                grammar,
                grammar.resolve_layers("ub"),
                recompute_pool=True,
                options=SpaceOptions(),
            )
        rows = rng.permutation(space.n_rows)
        numbers = space.numbers
        assert np.array_equal(
            permute_space_rows(space, rows).compute_values(numbers), space.compute_values(numbers)[:, rows]
        )
