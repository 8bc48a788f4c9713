from __future__ import annotations

import os
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.screening_oracles import request_of
from hypothesis import given
from hypothesis import strategies as st

from symscreen.config.conflicts import (
    CONFLICTS,
    WEIGHT_CONFLICTS,
    check_conflicts,
    check_weight_conflicts,
)
from symscreen.config.fields import list_options
from symscreen.config.parsing import (
    check_positive_int,
    parse_bytes,
    parse_memory_limit,
    parse_pool_sizes,
    split_names,
    to_tuple,
)
from symscreen.config.screen_options import ScreenOptions
from symscreen.config.space_options import (
    build_layer_schedule,
    format_unused_rule_notices,
    read_grammar,
)
from symscreen.errors import GrammarError, OptionError
from symscreen.grammar import load_grammar
from symscreen.screeners import SCREENERS
from symscreen.screeners.base import ScreenerOption
from symscreen.screening.preparation import check_prescreen_size, check_search, parse_pool_screeners


def _refused(message):
    return pytest.raises(OptionError, match=re.escape(message))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        (" 500 mb ", 5 * 10**8),
        ("1.5g", 1_500_000_000),
        (4096, 4096),
        ("64KiB", 64_000),
        ("1T", 10**12),
    ],
)
def test_amounts_of_memory(text, size):
    assert parse_bytes(text) == size
    assert parse_memory_limit(text) == size


@pytest.mark.parametrize("text", ["", "much", "0", "-1GB", "1.5.2GB", "GB", "1 2GB", "1e9", "inf", "２GB"])
def test_what_is_no_amount_of_memory_is_told(text):
    with _refused(f"max_ram is {text!r}; give an amount such as 2GB or 500MB"):
        parse_bytes(text)


def test_without_an_amount_four_fifths_of_the_machine_may_be_used():
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert parse_memory_limit(None) == int(0.8 * total)


def test_names_and_formulas_come_one_or_many():
    assert split_names("a, b ,c") == ["a", "b", "c"]
    assert split_names(("a b", "c")) == ["a b", "c"]
    assert to_tuple("x1 + f(a, b)") == ("x1 + f(a, b)",)
    assert to_tuple(["x1", "x2"]) == ("x1", "x2")
    assert to_tuple(()) == to_tuple(None) == ()


@given(st.integers(1, 10**12))
def test_whole_numbers_are_taken_from_numpy_too(number):
    for kind in (number, np.int64(number)):
        found = check_positive_int("top", kind)
        assert found == number
        assert type(found) is int


@pytest.mark.parametrize(
    "value", [0, -3, True, False, None, "2", 1.0, 2.5, np.float64(3), [1], np.array([1, 2])]
)
def test_what_is_no_whole_number_is_told(value):
    with _refused(f"jobs is {value!r}; give an integer of at least 1"):
        check_positive_int("jobs", value)


def test_top_is_a_number_or_all():
    assert ScreenOptions(top="all").top == "all"
    assert ScreenOptions(top=np.int64(7)).top == 7
    with _refused("top is 'some'; give an integer of at least 1, or 'all'"):
        ScreenOptions(top="some")


def test_sign_is_one_of_two():
    assert ScreenOptions(sign="positive").sign == "positive"
    with _refused("sign is 'both'; known: free, positive"):
        ScreenOptions(sign="both")


@pytest.mark.parametrize(
    ("keep", "found"),
    [
        (None, None),
        (7, {"u": 7, "b": 7}),
        (np.int64(7), {"u": 7, "b": 7}),
        ("200", {"u": 200, "b": 200}),
        (" 200 ", {"u": 200, "b": 200}),
        ("u:50,b:200", {"u": 50, "b": 200}),
        (" b : 3 , u : 4 ", {"b": 3, "u": 4}),
        ("b:9", {"b": 9}),
        ({"u": 5}, {"u": 5}),
        ({"b": np.int32(5)}, {"b": 5}),
        ({}, {}),
    ],
)
def test_what_a_cut_keeps(keep, found):
    assert parse_pool_sizes(keep) == found


@given(st.dictionaries(st.sampled_from("ub"), st.integers(1, 10**6), min_size=1))
def test_what_a_cut_keeps_reads_back(keep):
    assert parse_pool_sizes(",".join(f"{kind}:{number}" for kind, number in keep.items())) == keep
    assert parse_pool_sizes(keep) == keep


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ("", "pool_size is ''; write 200, or u:50,b:200"),
        ("many", "pool_size is 'many'; write 200, or u:50,b:200"),
        ("200,", "pool_size is '200,'"),
        ("u:1,u:2", "pool_size is 'u:1,u:2'"),
        ("b:3,5", "pool_size is 'b:3,5'"),
        ("x:3", "pool_size is 'x:3'"),
        ("-3", "pool_size is '-3'"),
        ("٣", "pool_size is '٣'"),
        ("0", "pool_size for u layers is 0; give an integer of at least 1"),
        ("u:0", "pool_size for u layers is 0; give an integer of at least 1"),
        (0, "pool_size is 0; give an integer of at least 1, or u:50,b:200"),
        (True, "pool_size is True; give an integer of at least 1, or u:50,b:200"),
        (1.5, "pool_size is 1.5; give an integer of at least 1, or u:50,b:200"),
        ([5], "pool_size is [5]; give an integer of at least 1, or u:50,b:200"),
        ({"u": 2.0}, "pool_size for u layers is 2.0; give an integer of at least 1"),
        ({"U": 2}, "pool_size names 'U': layers are of the kinds u and b"),
    ],
)
def test_what_a_cut_cannot_keep_is_told(keep, message):
    with _refused(message):
        parse_pool_sizes(keep)


def _names(screeners):
    return [one.name for one in screeners]


def test_who_cuts():
    assert parse_pool_screeners(ScreenOptions()) == ()
    assert _names(parse_pool_screeners(ScreenOptions(pool_size=5))) == ["t0", "xi"]
    assert _names(parse_pool_screeners(ScreenOptions(prune_by="xi", pool_size="u:5"))) == ["xi"]
    assert _names(parse_pool_screeners(ScreenOptions(prune_by="lasso"))) == ["lasso"]
    assert _names(parse_pool_screeners(ScreenOptions(prune_by=["t0", "lasso[folds=5]"], pool_size=5))) == [
        "t0",
        "lasso",
    ]
    found = parse_pool_screeners(ScreenOptions(prune_by="lasso,t0", pool_size=5, rule="1se"))
    assert found[0].settings == {"rule": "1se"}
    # a setting for the screeners that score is left for them
    assert _names(parse_pool_screeners(ScreenOptions(prune_by="t0", pool_size=5, rule="1se"))) == ["t0"]


@pytest.mark.parametrize(
    ("cut", "keep", "message"),
    [
        ("t0", None, "pruned by t0: say how many features stay, for instance pool_size=200"),
        ("lasso,t0,xi", None, "pruned by t0, xi: say how many features stay"),
        ("laso", 5, "there is no screener 'laso'; did you mean 'lasso'?"),
        ("", 5, "no screener is named"),
        ("lasso[fold=5]", None, "the screener lasso has no option 'fold'; did you mean 'folds'?"),
    ],
)
def test_who_cannot_cut_is_told(cut, keep, message):
    with _refused(message):
        parse_pool_screeners(ScreenOptions(prune_by=cut, pool_size=keep))


def test_more_than_a_joint_screener_can_take_is_refused():
    small = replace(
        SCREENERS["lasso"],
        name="small",
        options=(ScreenerOption("times", 2, "of the rows", min_value=1),),
        capacity=lambda rows, settings: settings["times"] * rows,
    )
    check_prescreen_size([SCREENERS["t0"], small], 2000, 1000)
    with _refused(
        "prescreen is 2,001, but small takes at most 2,000 features of 1,000 rows: give at most 2,000"
    ):
        check_prescreen_size([SCREENERS["t0"], small], 2001, 1000)
    check_prescreen_size([small.replace_settings({"times": 3})], 2001, 1000)
    check_prescreen_size([SCREENERS["t0"]], 10**9, 10)


def test_trees_of_many_labels_take_fewer_features():
    crit, rows = SCREENERS["crit"], 200_000
    most = [crit.compute_max_features(rows, labels) for labels in (2, 5, 9, 10, 40)]
    assert most[0] == most[2] == crit.compute_max_features(rows) > most[3] > most[4]
    check_prescreen_size([crit], most[0], rows, 5)
    with pytest.raises(
        OptionError, match=r"crit takes at most \d+ features of 200,000 rows that rank 40 labels"
    ):
        check_prescreen_size([crit], most[0], rows, 40)


def test_a_grammar_is_altered_as_the_options_say():
    plain, layers = read_grammar(ScreenOptions(operators="ablation"))
    assert [operator.name for operator in plain.unary + plain.binary] == ["id", "cube", "add", "mul"]
    assert list(map(str, layers)) == list(map(str, plain.resolve_layers(plain.layers)))
    grammar, layers = read_grammar(
        ScreenOptions(layers="ub", unary="sin, cos", binary=["mul"], max_complexity=9)
    )
    assert [operator.name for operator in grammar.unary] == ["sin", "cos"]
    assert [operator.name for operator in grammar.binary] == ["mul"]
    assert grammar.max_complexity == 9
    assert [layer.kind for layer in layers] == ["u", "b"]
    with pytest.raises(GrammarError, match="no unary operator 'sine'; did you mean 'sin'"):
        read_grammar(ScreenOptions(layers="u", unary="sine"))


def test_rules_that_keep_an_operator_from_every_column_are_told():
    grammar = replace(
        load_grammar("basic"), columns={"log": frozenset({"x11"}), "sin": frozenset({"x2", "x9"})}
    )
    told = format_unused_rule_notices(grammar, grammar.resolve_layers("u"), ["x1", "x2"])
    assert told == ["the grammar lets log touch only columns that the table lacks; did you mean 'x1'?"]
    assert format_unused_rule_notices(grammar, grammar.resolve_layers("b"), ["x1", "x2"]) == []


def test_a_fit_searches_what_was_asked_for_from_its_prefixes_on():
    grammar = load_grammar("ablation")
    asked = build_layer_schedule(grammar, "ubu")
    assert [[layer.kind for layer in layers] for layers in asked] == [["u"], ["u", "b"], ["u", "b", "u"]]
    plain = ["".join(layer.kind for layer in layers) for layers in build_layer_schedule(grammar, None)]
    assert plain == ["u", "b", "ub", "bu", "bub", "ubb"]
    only = build_layer_schedule(replace(grammar, unary=()), None)
    assert [[layer.kind for layer in layers] for layers in only] == [["b"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rase", None, ["t0"]), "did you mean 'race'"),
        (("exact", 0.1, ["t0"]), "risk is 0.1, but exact takes none; leave it out, or use search='race'"),
        (("sieve", 0.1, ["t0"]), "risk is 0.1, but sieve takes none; leave it out, or use search='race'"),
        (("race", None, ["xi", "t0"]), "no bound for xi"),
        (("race", None, ["lasso"]), "no bound for t0, xi"),
        (("race", 0.0, ["t0"]), "probability between 0 and 1"),
        (("race", 1, ["t0"]), "probability between 0 and 1"),
        (("race", True, ["t0"]), "probability between 0 and 1"),
        (("race", float("nan"), ["t0"]), "probability between 0 and 1"),
    ],
)
def test_a_search_that_cannot_be_is_refused(arguments, message):
    mode, risk, names = arguments
    with _refused(message):
        check_search(ScreenOptions(search=mode, risk=risk), [SCREENERS[name] for name in names])


def test_a_race_has_a_risk_of_one_in_a_million_unless_told():
    assert request_of("t0", search="race").risk == 1e-6
    assert request_of("t0", search="race", risk=0.2).risk == 0.2
    check_search(ScreenOptions(search="race"), [SCREENERS["t0"]])
    check_search(ScreenOptions(search="sieve"), [SCREENERS["xi"]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": "sieve", "top": "all"}, "top='all' shows every feature, and search='sieve' drops most"),
        (
            {"search": "race", "rounds": 2},
            "rounds=2 needs every feature's place, and search='race' drops most",
        ),
        ({"ranking": "r", "target_type": "classes"}, "both ranking= and target_type='classes' are given"),
        ({"groups": "g", "fdr": 0.05}, "fdr=0.05 cannot be combined with groups='g'"),
        ({"groups": "g", "p_values": True}, "p_values=True cannot be combined with groups='g'"),
    ],
)
def test_options_that_exclude_each_other_are_refused(options, message):
    with _refused(message):
        check_conflicts(ScreenOptions(**options))


def test_the_table_of_conflicts_names_options_and_takes_the_defaults():
    names = {field.name for field in list_options(ScreenOptions)}
    assert all({row.option, row.other} <= names for row in (*CONFLICTS, *WEIGHT_CONFLICTS))
    check_conflicts(ScreenOptions())
    check_conflicts(ScreenOptions(search="race", rounds=1, p_values=None, groups="g"))
    with _refused(
        "intervals= cannot be combined with weights='w': what it infers takes all rows to count alike"
    ):
        check_weight_conflicts(ScreenOptions(weights="w", intervals=0.9))
