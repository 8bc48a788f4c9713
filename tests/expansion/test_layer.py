from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from symscreen._limits import DeadlineExceeded
from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import CandidateStatus, expand, generation
from symscreen.grammar import OPERATORS, load_grammar
from symscreen.grammar.custom_operators import define_operator


@pytest.mark.parametrize("together", [8, 16, 1 << 18])
def test_a_winner_of_no_use_does_not_stand_for_its_equal_wherever_it_is_numbered(together, rng, monkeypatch):
    monkeypatch.setattr(generation, "_BATCH_CANDIDATES", together)
    again = define_operator("again", "x*y", OPERATORS, cost=1)
    operators = OPERATORS | {"again": again}
    grammar = replace(
        load_grammar("basic"),
        operators=operators,
        binary=(OPERATORS["mul"], again),
        forbid={},
        forbid_within={},
    )
    columns = rng.uniform(1.0, 2.0, (6, 30))
    columns[5] *= 1e200  # its square, the last product, is infinite
    names = [f"x{place}" for place in range(6)]
    fates = expand(names, columns, grammar, grammar.resolve_layers("b"), options=SpaceOptions()).statuses
    assert fates[:20].tolist() == [CandidateStatus.KEPT] * 20
    assert fates[20] == CandidateStatus.UNDEFINED
    of_again = fates[21:]
    assert np.count_nonzero(of_again == CandidateStatus.KEPT) == 1
    assert np.count_nonzero(of_again == CandidateStatus.DUPLICATE) == len(of_again) - 1


def test_all_candidates_are_counted(rng, monkeypatch):
    monkeypatch.setattr(generation, "_BATCH_CANDIDATES", 8)
    fates = rng.integers(0, len(CandidateStatus), 1001).astype(np.uint8)
    counted = generation.count_excluded(fates)
    assert counted == {
        fate: int((fates == fate).sum()) for fate in CandidateStatus if fate is not CandidateStatus.KEPT
    }


@pytest.mark.parametrize(("longer_by", "stops"), [(0, False), (1, True)])
def test_a_layer_longer_than_the_limit_heeds_the_deadline(longer_by, stops, rng, monkeypatch):
    def be_late():
        raise DeadlineExceeded

    grammar, columns = load_grammar("basic"), rng.uniform(1.0, 2.0, (3, 20))
    arguments = ["a", "b", "c"], columns, grammar, grammar.resolve_layers("b")
    total = expand(*arguments, options=SpaceOptions()).candidates.total
    monkeypatch.setattr(generation, "_LONG_LAYER_CANDIDATES", total - longer_by)
    space = expand(*arguments, options=SpaceOptions(), check_deadline=be_late)
    assert space.candidates.total == (0 if stops else total)
