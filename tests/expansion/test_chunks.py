from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from helpers.expansion_oracles import problems
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import CandidateStatus, evaluate_range, expand, feature_values
from symscreen.expansion.feature_values import compute_block_size
from symscreen.grammar import OPERATORS, load_grammar
from symscreen.statistics.workspace import Workspace


def collected(blocks, n):
    """Join blocks: numbers, values and how many were lost."""
    blocks = list(blocks)
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *(block.numbers for block in blocks)])
    values = np.concatenate([np.zeros((0, n)), *(block.values for block in blocks)])
    return numbers, values, sum((Counter(block.n_invalid) for block in blocks), Counter())


def layer_of(space, start=0, stop=None):
    stop = space.candidates.total if stop is None else stop
    return collected(
        evaluate_range(space.candidates, space.pool, space.statuses, start, stop), space.pool.values.shape[1]
    )


def of_all_operators(columns, layers):
    grammar = replace(load_grammar("basic"), forbid={}, forbid_within={}, max_range={})
    names = [f"x{place}" for place in range(len(columns))]
    return expand(names, columns, grammar, grammar.resolve_layers(layers), options=SpaceOptions())


UNARY = ",".join(name for name, operator in OPERATORS.items() if operator.arity == 1)
BINARY = ",".join(name for name, operator in OPERATORS.items() if operator.arity == 2)


@pytest.mark.slow
@pytest.mark.parametrize("layers", [f"u[{UNARY}]", f"b[{BINARY}]"])
@pytest.mark.parametrize("n", [5, 8, 37])
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_values_do_not_depend_on_the_block(layers, n, spread, rng):
    columns = np.exp(spread * rng.normal(size=(40, n))) * rng.choice([-1.0, 1.0, 1.0], size=(40, 1))
    space = of_all_operators(columns, layers)
    whole = layer_of(space)
    assert len(whole[0]) > 100
    for size in (1, 8 * n * 17, 8 * n * 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(feature_values, "_BLOCK_BYTES", size)
            numbers, values, lost = layer_of(space)
        assert (numbers == whole[0]).all()
        assert values.tobytes() == whole[1].tobytes()
        assert lost == whole[2]
    for place in rng.choice(len(whole[0]), 100):
        number = int(whole[0][place])
        _, alone, _ = layer_of(space, number, number + 1)
        assert alone.tobytes() == whole[1][place].tobytes()


def test_a_room_holds_one_block_after_the_other(rng):
    space = of_all_operators(np.exp(rng.normal(size=(12, 30))), f"b[{BINARY}]")
    total, room = space.candidates.total, Workspace()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_values, "_BLOCK_BYTES", 1)
        alone = list(evaluate_range(space.candidates, space.pool, space.statuses, 0, total))
        for block, one in zip(
            evaluate_range(space.candidates, space.pool, space.statuses, 0, total, workspace=room),
            alone,
            strict=True,
        ):
            assert block.numbers.tolist() == one.numbers.tolist()
            assert block.values.tobytes() == one.values.tobytes()
            assert block.n_invalid == one.n_invalid
    assert len(alone) > 10
    assert room.buffers


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(), st.lists(st.integers(0, 200), max_size=5), st.sampled_from([1, 1000, 10**6]))
def test_ranges_give_together_what_the_whole_gives(problem, cuts, size):
    space = expand(*problem.arguments, options=SpaceOptions())
    whole = layer_of(space)
    ends = sorted({0, space.candidates.total, *(min(cut, space.candidates.total) for cut in cuts)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_values, "_BLOCK_BYTES", size)
        parts = [layer_of(space, start, stop) for start, stop in pairwise(ends)]
    assert np.concatenate([whole[0][:0], *(part[0] for part in parts)]).tolist() == whole[0].tolist()
    assert b"".join(part[1].tobytes() for part in parts) == whole[1].tobytes()
    assert sum((part[2] for part in parts), Counter()) == +whole[2]


@pytest.mark.slow
@settings(max_examples=60)
@given(problems())
def test_blocks_hold_what_is_kept_and_useful(problem):
    space = expand(*problem.arguments, options=SpaceOptions())
    numbers, values, lost = layer_of(space)
    assert (np.diff(numbers) > 0).all()
    assert (space.statuses[numbers] == CandidateStatus.KEPT).all()
    assert (
        len(numbers) + lost[CandidateStatus.UNDEFINED] + lost[CandidateStatus.CONSTANT]
        == (space.statuses == CandidateStatus.KEPT).sum()
    )
    assert np.isfinite(values).all()
    assert (np.ptp(values, axis=1) > 0).all()


@pytest.mark.parametrize(
    ("layers", "found", "undefined"),
    [
        ("u[exp,square]", ["exp(x1)", "x0**2", "x1**2"], 1),
        # (−1)^1.5 is no number and 800^800 no finite one
        ("b[pow]", ["x1**x1"], 3),
    ],
)
def test_what_turns_out_undefined_is_counted(layers, found, undefined):
    space = of_all_operators(np.array([[-1.0, 2.0, 800.0], [1.5, 0.5, 2.5]]), layers)
    numbers, _, lost = layer_of(space)
    assert [str(space.build_expression(space.n_materialized + int(number))) for number in numbers] == found
    assert lost == Counter({CandidateStatus.UNDEFINED: undefined})


@given(st.integers(1, 10**7))
def test_blocks_are_of_four_megabytes_or_four_features(n):
    assert compute_block_size(n) == max(4, 2**22 // (8 * n))
