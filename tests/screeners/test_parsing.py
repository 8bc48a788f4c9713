from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.screeners import SCREENERS, T0, parse_screeners
from symscreen.screeners.base import ScreenerOption
from symscreen.screeners.screener_names import check_target_support
from symscreen.targets.registry import TARGET_TYPES, list_types_with_method

LASSO, KENDALL, CRIT = SCREENERS["lasso"], SCREENERS["kendall"], SCREENERS["crit"]


def _own(name="own", **options):
    """Make a joint screener with other choices for a rule."""
    made = tuple(
        ScreenerOption(option, choices[0], "made up", choices) for option, choices in options.items()
    )
    return replace(LASSO, name=name, options=made)


def _told(screener):
    return screener.name, dict(getattr(screener, "settings", {}))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("t0", [("t0", {})]),
        ("xi,t0", [("xi", {}), ("t0", {})]),
        (" t0 , lasso [ folds = 5 , rule=1se ] ", [("t0", {}), ("lasso", {"folds": 5, "rule": "1se"})]),
        (
            "lasso[folds=5],scad[gamma=4.5],t0",
            [("lasso", {"folds": 5}), ("scad", {"gamma": 4.5}), ("t0", {})],
        ),
        (["t0", "lasso[folds=5]"], [("t0", {}), ("lasso", {"folds": 5})]),
        (["t0,xi", "kendall"], [("t0", {}), ("xi", {}), ("kendall", {})]),
        (("t0", LASSO), [("t0", {}), ("lasso", {})]),
        (T0, [("t0", {})]),
        (LASSO.replace_settings({"folds": 3}), [("lasso", {"folds": 3})]),
    ],
)
def test_screeners_are_read_in_order_with_their_settings(asked, found):
    assert [_told(one) for one in parse_screeners(asked)] == found


@given(
    st.permutations(["t0", "xi", "lasso[folds=7]", "stepwise[direction=backward]", "mcp"]), st.integers(1, 5)
)
def test_text_and_list_say_the_same(names, count):
    some = names[:count]
    assert parse_screeners(",".join(some)) == parse_screeners(some)
    assert [one.name for one in parse_screeners(some)] == [name.partition("[")[0] for name in some]


def test_a_screener_that_is_no_plain_name_may_be_brought():
    own = _own("mine")
    assert parse_screeners(["t0", own]) == (T0, own)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ([], "no screener is named; give for instance screener='t0'"),
        ("", "no screener is named"),
        (None, "a screener is None; give its name, such as 't0'"),
        (5, "a screener is 5; give its name"),
        (["t0", 5], "a screener is 5; give its name"),
        (["t00"], "there is no screener 't00'; did you mean 't0'"),
        ("qqq", "there is no screener 'qqq'; known: t0, xi, kendall"),
        ("t0;xi", "there is no screener 't0;xi'"),
        ("t0,,xi", "there is no screener ''"),
        ("t0,", "the screeners 't0,' end with a comma: add a name after it, or remove it"),
        (["t0", "xi", "t0"], "the screener 't0' is named twice"),
        ("lasso,lasso[folds=5]", "the screener 'lasso' is named twice"),
        ("t0[folds=5]", "the screener t0 has no options; write t0 without brackets"),
        (
            "t0,lasso[folds=5",
            "cannot read the screeners 't0,lasso[folds=5' at character 4; write t0,lasso[fol",
        ),
        ("lasso]", "cannot read the screeners 'lasso]' at character 1"),
        ("lasso[folds=5]t0", "cannot read the screeners"),
        ("lasso[]", "lasso: cannot read ''; write lasso[option=value]"),
        ("lasso[folds]", "lasso: cannot read 'folds'; write lasso[option=value]"),
        ("lasso[fold=5]", "the screener lasso has no option 'fold'; did you mean 'folds'?"),
        ("lasso[folds=1]", "lasso: folds is '1'; give an integer of at least 2"),
        ("lasso[folds=2.5]", "lasso: folds is '2.5'; give an integer of at least 2"),
        ("lasso[folds=5,folds=6]", "lasso: the option 'folds' is given twice"),
        ("lasso[engine=glmnt]", "lasso: engine is 'glmnt'; did you mean 'glmnet'?"),
    ],
)
def test_what_cannot_be_read_is_told_with_how_to_mend_it(asked, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        parse_screeners(asked)


def test_a_shorthand_sets_whoever_has_the_option():
    found = parse_screeners("t0,lasso,scad,stepwise", {"rule": "1se", "engine": None})
    assert [_told(one)[1] for one in found] == [{}, {"rule": "1se"}, {"rule": "1se"}, {}]


def test_a_screeners_own_brackets_go_before_a_shorthand():
    found = parse_screeners("lasso[rule=min],scad", {"rule": "1se"})
    assert [_told(one)[1] for one in found] == [{"rule": "min"}, {"rule": "1se"}]


def test_a_shorthand_goes_where_its_value_has_a_meaning():
    trees = _own("trees", rule=("local", "gse"))
    assert [_told(one)[1] for one in parse_screeners([LASSO, trees], {"rule": "gse"})] == [
        {},
        {"rule": "gse"},
    ]
    # as with --screener lasso --prune-by trees --rule gse
    cutters = parse_screeners([trees], {"rule": "gse"}, allow_unused=True)
    assert _told(cutters[0])[1] == {"rule": "gse"}
    assert _told(parse_screeners("t0,lasso", {"rule": "gse"}, other_screeners=cutters)[1])[1] == {}
    # and with --screener trees --prune-by lasso --rule gse
    cutters = parse_screeners("lasso", {"rule": "gse"}, allow_unused=True)
    assert _told(cutters[0])[1] == {}
    assert _told(parse_screeners([trees], {"rule": "gse"}, other_screeners=cutters)[0])[1] == {"rule": "gse"}


@pytest.mark.parametrize(
    ("asked", "shorthand", "message"),
    [
        ("t0,xi", {"rule": "1se"}, "none of the screeners t0, xi has an option 'rule'; leave it out"),
        ("lasso", {"rule": "gse"}, "lasso: rule is 'gse'; did you mean '1se'?"),
        ("t0,lasso,scad", {"rule": "most"}, "lasso: rule is 'most'"),
        ("scad", {"engine": "glmnet"}, "none of the screeners scad has an option 'engine'"),
    ],
)
def test_a_shorthand_that_nobody_takes_is_refused_unless_it_is_left_for_others(asked, shorthand, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        parse_screeners(asked, shorthand)
    assert all(_told(one)[1] == {} for one in parse_screeners(asked, shorthand, allow_unused=True))


def test_others_beside_are_named_too_where_nobody_takes_a_shorthand():
    with pytest.raises(OptionError, match=r"none of the screeners t0, xi has an option 'rule'"):
        parse_screeners("t0", {"rule": "1se"}, other_screeners=parse_screeners("xi,t0"))
    with pytest.raises(OptionError, match="lasso: rule is 'most'"):
        parse_screeners("t0", {"rule": "most"}, other_screeners=(LASSO,))


def test_an_extra_that_is_not_installed_is_told():
    own = replace(LASSO, name="own", requirement=("no_such_module_at_all", "trees"))
    message = r"the screener own needs no_such_module_at_all: pip install 'symscreen\[trees\]'"
    with pytest.raises(OptionError, match=message):
        parse_screeners([own])


@pytest.mark.parametrize(
    ("screener", "target_type", "text"),
    [
        (KENDALL, "classes", "the screener kendall does not support classes targets; t0 and xi do"),
        (
            CRIT,
            "numeric",
            "the screener crit supports only ranking targets (ranking=), and this target is numeric; t0, ",
        ),
        (
            replace(KENDALL, target_types=("classes", "stages")),
            "numeric",
            "the screener kendall supports only classes targets and stages targets (stages=), and this",
        ),
        (
            replace(KENDALL, name="beta", target_types=()),
            "numeric",
            "the screener beta supports no target type",
        ),
    ],
    ids=["classes", "ranking", "two", "none"],
)
def test_a_target_that_a_screener_does_not_support_is_refused_with_what_it_does(screener, target_type, text):
    with pytest.raises(OptionError, match=f"^{re.escape(text)}"):
        check_target_support([screener], target_type)


def test_no_target_type_has_an_unknown_method():
    assert list_types_with_method("compute_ranking_metric") == tuple(
        name for name in TARGET_TYPES if name != "several"
    )
    with pytest.raises(ValueError, match="no target type has a method 'compute_beta'"):
        list_types_with_method("compute_beta")
