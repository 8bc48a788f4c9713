from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.screening_oracles import (
    Whole,
    change_task,
    normal_null,
    request_of,
    score,
    table_of,
    wide_space_of,
)
from helpers.statistic_oracles import q_in_memory

from symscreen.backends import Threads
from symscreen.config.screen_options import ScreenOptions
from symscreen.errors import OptionError
from symscreen.screeners import SCREENERS, T0
from symscreen.screening.inference.error_control import (
    ErrorControl,
    build_inference,
    limit_cost,
    parse_error_control,
)
from symscreen.statistics.inference.p_value_counts import decode_p_values, encode_p_values
from symscreen.statistics.ranks.sorted_block import sort_block

WITH_NULL = replace(T0, null_distribution=normal_null)
PLAIN = {"ranking_screener": WITH_NULL, "target_type": "numeric", "has_pruning": False}


@pytest.fixture(params=["noise", "signal"])
def whole(rng, request):
    table = table_of(rng, rows=20)
    if request.param == "noise":
        response = replace(table.target, values=np.sort(rng.standard_cauchy(20)))
        table = replace(table, target=response)
    return Whole.of(table, wide_space_of(table))


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["free", "positive"])
@pytest.mark.parametrize("limit", [6, None])
@pytest.mark.parametrize("method", ["bh", "by"])
def test_q_values_are_those_of_all_p_values_in_memory(whole, sign, limit, method):
    response, ordered = whole.table.target, sort_block(whole.values)
    p = normal_null(response, 0)(ordered, T0.statistic(ordered, response), sign)
    p = decode_p_values(encode_p_values(p))
    q = q_in_memory(p, method)
    control = ErrorControl(method=method, fdr=0.2)
    request = request_of(WITH_NULL, sign=sign, limit=limit, error_control=control)
    for changes in ({}, {"chunk_size": 9, "jobs": 2, "backend": Threads(2)}):
        found = score(whole.space, whole.table, change_task(request, **changes))
        places = np.searchsorted(whole.numbers, found.features.number)
        assert found.extra_columns["p_value"].tobytes() == p[places].tobytes()
        assert found.extra_columns["q_value"].tobytes() == q[places].tobytes()
        assert found.error_control_record == {
            "source": "null distribution",
            "method": method,
            "tests": len(p),
            "fdr": 0.2,
            "rate": 0.2,
            "passing": int((q <= 0.2).sum()),
            "least_q": q.min(),
            "best_is_bound": False,
            # p-values of four digits times twenty are exact to nine: an edge belongs to the bin below it
            "histogram": [int((np.ceil(np.round(p * 20, 9)) == edge).sum()) for edge in range(1, 21)],
        }
    assert len(places) == len(p) if limit is None else 0 < len(places) <= limit


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["free", "positive"])
def test_family_p_values_compare_with_the_best_of_the_whole_space(whole, sign):
    response = whole.table.target
    control = ErrorControl(p_values=False, permutations=60)
    request = request_of(T0, sign=sign, limit=5, seed=8, error_control=control)
    shuffles = build_inference(control, response, T0, sign, 8).permuted_target
    z = shuffles.compute_statistics(sort_block(whole.values))
    assert (z.min() < 0.0) == (sign == "positive")  # a falling feature counts unless the sign is positive
    best = [
        replace(shuffles, weights=column).compute_statistics(sort_block(whole.values)).max()
        for column in shuffles.permuted_weights.T
    ]
    expected = {
        number: (1 + sum(b >= own * (1 - 1e-12) for b in best)) / 61
        for number, own in zip(whole.numbers.tolist(), z.tolist(), strict=True)
    }
    for changes in ({}, {"chunk_size": 9, "jobs": 2, "backend": Threads(2)}):
        found = score(whole.space, whole.table, change_task(request, **changes))
        assert list(found.extra_columns) == ["p_family"]
        assert found.extra_columns["p_family"].tolist() == [
            expected[number] for number in found.features.number.tolist()
        ]
        assert found.error_control_record == {"permutations": 60}


def _read(**changes):
    of_screen = {name: changes.pop(name, value) for name, value in PLAIN.items()}
    return parse_error_control(ScreenOptions(**changes), **of_screen)


def test_permutations_give_p_values_where_no_null_distribution_is_known():
    unknown = replace(T0, null_distribution=None)
    for changes in ({"target_type": "ranking"}, {"ranking_screener": unknown}):
        control, obstacle = _read(permutations=9, **changes)
        assert (control, obstacle) == (ErrorControl(permutations=9, source="permutations"), None)
        control, obstacle = _read(permutations=9, p_values=False, **changes)
        assert (control.p_values, obstacle) == (False, "off")
        assert limit_cost(ErrorControl(permutations=9, source="permutations"), 10**12, 100)[1] is None


def test_options_are_read():
    assert _read() == (ErrorControl(), None)
    assert _read(p_values=False) == (None, "off")
    assert _read(fdr_method="by") == (ErrorControl(method="by"), None)
    assert _read(p_values=True, permutations=np.int64(3))[0] == ErrorControl(
        permutations=3, is_requested=True
    )
    assert _read(fdr=0.1)[0] == ErrorControl(fdr=0.1, is_requested=True)
    assert _read(fdr=0.1, p_values=False)[0] == ErrorControl(fdr=0.1, is_requested=True)
    only = ErrorControl(p_values=False, permutations=9)
    assert _read(permutations=9, p_values=False, ranking_screener=SCREENERS["spearman"]) == (only, "off")


def test_what_nobody_asked_for_is_left_out_where_it_costs_too_much():
    assert limit_cost(ErrorControl(), 10**9, 100) == (ErrorControl(), None)
    assert limit_cost(ErrorControl(), 10**9 + 1, 100) == (None, "cost")
    both, only = ErrorControl(permutations=9), ErrorControl(p_values=False, permutations=9)
    assert limit_cost(both, 10**9 + 1, 100) == (only, "cost")
    asked = ErrorControl(is_requested=True)
    assert limit_cost(asked, 10**9 + 1, 100) == (asked, None)
    assert limit_cost(None, 10**12, 100) == (None, None)


@pytest.mark.parametrize(
    ("changes", "obstacle"),
    [
        ({"ranking_screener": replace(T0, null_distribution=None)}, "null"),
        ({"ranking_screener": SCREENERS["lasso"]}, "joint"),
        ({"target_type": "ranking"}, "target"),
        ({"search": "race"}, "search"),
        ({"has_pruning": True}, "pruning"),
    ],
)
def test_where_figures_would_not_be_honest_there_are_none_by_themselves(changes, obstacle):
    assert _read(**changes) == (None, obstacle)


def test_of_several_rounds_the_first_has_figures():
    assert _read(rounds=2) == (ErrorControl(), None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fdr_method": "bhy"}, "fdr_method is 'bhy'"),
        ({"fdr": 0.0}, "fdr is 0.0; give a rate between 0 and 1"),
        ({"fdr": float("nan")}, "fdr is nan"),
        ({"fdr": True}, "fdr is True"),
        ({"permutations": 0}, "permutations is 0; give an integer of at least 1"),
        ({"p_values": True, "has_pruning": True}, "p_values= is not available: pruning between layers"),
        (
            {"p_values": True, "ranking_screener": replace(T0, null_distribution=None)},
            "of t0 is unknown, put",
        ),
        ({"fdr": 0.05, "search": "sieve"}, "fdr=0.05 is not available: search='sieve' does not"),
        ({"fdr": 0.05, "rounds": 2}, "use rounds=1"),
        ({"fdr": 0.05, "target_type": "ranking"}, "the target is a ranking"),
        ({"permutations": 9, "target_type": "several"}, "the target is several"),
        ({"permutations": 9, "ranking_screener": SCREENERS["forest"]}, "forest judges features together"),
        (
            {"permutations": 9, "has_pruning": True},
            "permutations=9 is not available: pruning between layers",
        ),
    ],
)
def test_what_cannot_be_had_is_refused(changes, words):
    with pytest.raises(OptionError, match=words):
        _read(**changes)
