from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.expansion_oracles import problems
from hypothesis import given, settings

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import CandidateStatus, expand, validity
from symscreen.expansion.feature_values import evaluate_candidates
from symscreen.expansion.validity import is_provably_valid
from symscreen.grammar import OPERATORS, load_grammar

BINARY = ["add", "sub", "mul", "div", "min", "max", "absdiff", "pow"]


def of_use(space, numbers):
    """Compute the candidates, and say which are finite and vary."""
    blocks = evaluate_candidates(space.candidates, space.pool, numbers)
    return np.isin(numbers, np.concatenate([numbers[:0], *(block.numbers for block in blocks)]))


def grown(columns, layers, *, thin=False):
    grammar = replace(load_grammar("basic"), forbid={}, forbid_within={}, max_range={})
    names = [f"x{place}" for place in range(len(columns))]
    return expand(
        names, columns, grammar, grammar.resolve_layers(layers), recompute_pool=thin, options=SpaceOptions()
    )


@pytest.mark.slow
@settings(max_examples=100)
@given(problems())
def test_what_is_proved_is_so(problem):
    space = expand(*problem.arguments, options=SpaceOptions())
    numbers = np.flatnonzero(space.statuses == CandidateStatus.KEPT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validity, "_MAX_SAMPLE_ROWS", 3)
        patch.setattr(validity, "_BATCH_CANDIDATES", 5)
        proved = is_provably_valid(space.pool, space.candidates, numbers)
    assert not (proved & ~of_use(space, numbers)).any()


@pytest.mark.parametrize("spread", [1.0, 100.0, 400.0])
def test_what_overflows_or_cancels_is_not_proved(spread, rng):
    columns = np.exp(np.clip(spread * rng.normal(size=(12, 200)), -700, 700))
    columns = np.concatenate(
        (columns, columns[:4] + 1, columns[:4] * (1 + 1e-15 * rng.normal(size=(4, 200))))
    )
    space = grown(columns, f"b[{','.join(BINARY)}]")
    numbers = np.arange(space.candidates.total)
    proved, useful = is_provably_valid(space.pool, space.candidates, numbers), of_use(space, numbers)
    assert not (proved & ~useful).any()
    assert proved.any()
    assert spread < 400 or not useful.all()


def test_what_varies_in_rows_that_were_not_looked_at_is_left_open():
    x = np.ones(1000)
    x[1] = 2.0
    space = grown(np.array([x, np.arange(1000.0) + 1]), "b[mul]")
    # x·x varies in one row only; of x·y and y·y any few rows tell
    assert is_provably_valid(space.pool, space.candidates, np.arange(3)).tolist() == [False, True, True]


@pytest.mark.parametrize("thin", [False, True])
def test_most_candidates_are_proved(thin, rng):
    space = grown(rng.uniform(0.5, 2.0, (4, 300)), "u b[add,sub,mul,div,min,max]", thin=thin)
    numbers = np.flatnonzero(space.statuses == CandidateStatus.KEPT)
    proved = is_provably_valid(space.pool, space.candidates, numbers)
    assert proved.mean() > 0.9
    some = numbers[::37]
    assert is_provably_valid(space.pool, space.candidates, some).tolist() == proved[::37].tolist()


def test_an_operator_of_a_known_name_and_another_function_is_not_proved(rng):
    odd = replace(OPERATORS["mul"], numeric=lambda a, b: a * b - a * b)
    grammar = replace(load_grammar("basic"), operators=OPERATORS | {"mul": odd}, forbid={}, forbid_within={})
    space = expand(
        ["x", "y"],
        rng.normal(size=(2, 30)),
        grammar,
        grammar.resolve_layers("b[mul]"),
        options=SpaceOptions(),
    )
    assert not is_provably_valid(space.pool, space.candidates, np.arange(3)).any()


def test_what_is_constant_to_rounding_is_not_proved(rng):
    spread = 1 + 1e-13 * rng.uniform(size=200)
    space = grown(np.array([1e6 * spread, 1e6 / spread]), "b[mul,div]")
    numbers = np.arange(space.candidates.total)
    proved, useful = is_provably_valid(space.pool, space.candidates, numbers), of_use(space, numbers)
    found = [str(space.build_expression(space.n_materialized + number)) for number in numbers[~useful]]
    assert "x0*x1" in found
    assert proved[useful].all()
    assert not proved[~useful].any()
