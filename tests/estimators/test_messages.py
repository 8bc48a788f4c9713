"""What estimators say is said in Python's words."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from helpers.requirements import require

import symscreen
from symscreen.errors import DataError, InputError


@pytest.fixture
def data(rng):
    x = pd.DataFrame(rng.uniform(0.5, 2.0, (40, 3)), columns=["x1", "x2", "x3"])
    return x, pd.Series(x.x1 * x.x2 + rng.normal(0, 0.1, 40), name="y")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"search": "race", "screener": "xi"},
            "search='race' has no bound for xi: .*, or use search='sieve'",
        ),
        ({"search": "race", "top": "all"}, "^top='all' shows every feature, and search='race' drops most"),
        (
            {"stability": 3, "rounds": 2},
            "^stability= cannot be combined with rounds=2: it applies to one round; leave one",
        ),
        ({"intervals": True, "screener": "xi"}, "add it: screener='xi,t0'$"),
        ({"fdr": 0.1, "rounds": 2}, "^fdr=0.1 is not available: .*, use rounds=1$"),
        ({"permutations": 3, "screener": "lasso"}, "^permutations=3 is not available"),
        ({"p_values": True, "search": "sieve"}, "^p_values= is not available: search='sieve' does not"),
        ({"prune_by": "t0"}, "for instance pool_size=200$"),
        ({"categorical_as": "onehot"}, "^categorical_as='onehot' requires categorical=: name"),
        ({"target_units": "m"}, "^target_units= requires units: give units='strict', or a file"),
        ({"target_type": "x"}, "^target_type is 'x'; known: numeric, classes, several$"),
        ({"search": "x"}, "^search is 'x'; known: exact, [a-z, ]*$"),
        ({"target_type": "several"}, r"^target_type='several' needs several targets: give them \(y\)$"),
        ({"ranking": "a", "target_type": "classes"}, "^both ranking= and target_type='classes' are given"),
        ({"ranking": ["a", "b"]}, r"^y has shape \(40, 1\), and ranking names 2 columns of it$"),
        ({"max_ram": "1kB"}, "raise max_ram= to at least"),
        ({"also": "log(x1 - 9)"}, r"^also='log\(x1 - 9\)' is undefined in 40 of 40 rows$"),
        ({"unary": ""}, "^unary=: there is no unary operator ''"),
    ],
)
def test_options_are_named_as_parameters(data, options, says):
    with pytest.raises(InputError, match=says) as told:
        symscreen.SymbolicScreener(**{"layers": "u"} | options).fit(*data)
    assert "--" not in str(told.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"prune_by": "t0"}, "for instance pool_size=200$"),
        ({"categorical_as": "onehot"}, "^categorical_as='onehot' requires categorical="),
        ({"categorical": "x1", "unary": "no"}, "unary=: there is no unary operator 'no'"),
        ({"max_ram": "1kB"}, "raise max_ram= to at least"),
    ],
)
def test_so_they_are_by_the_regressor(data, options, says):
    with pytest.raises(InputError, match=says) as told:
        symscreen.SymbolicRegressor(**{"layers": "u"} | options).fit(*data)
    assert "--" not in str(told.value)


def test_the_response_is_y_and_the_table_x(data):
    x, _ = data
    for estimator in (symscreen.SymbolicScreener(layers="u"), symscreen.SymbolicRegressor(layers="u")):
        with pytest.raises(DataError, match=r"^X: the target 'y' is constant .*; choose another \(y\)$"):
            estimator.fit(x, np.ones(40))
        with pytest.raises(DataError, match=r"^X has 3 rows: at least 5"):
            estimator.fit(x.head(3), [1.0, 2.0, 3.0])
    numbers = [str(number) for number in range(40)]
    with pytest.raises(
        DataError,
        match=r"'y' holds numbers stored as text; numbers are needed: .* another column \(y\)$",
    ):
        symscreen.SymbolicScreener(layers="u").fit(x, numbers)


@pytest.mark.parametrize(
    ("groups", "options", "says"),
    [
        (np.arange(40) % 3, {}, "^groups is not used: give stability=, intervals= or permutations=, too$"),
        (np.arange(40) % 3, {"stability": 3}, "^groups has 3 groups, too few"),
        (np.arange(40) % 9, {"stability": 3, "fdr": 0.1}, "^fdr=0.1 cannot be combined with groups: null"),
        ([None] * 40, {"stability": 3}, "^X: groups has no label in rows 1, 2"),
        (np.arange(7), {"stability": 3}, "inconsistent numbers of samples"),
    ],
)
def test_groups_are_called_groups(data, groups, options, says):
    with pytest.raises(ValueError, match=says) as told:
        symscreen.SymbolicScreener(layers="u", **options).fit(*data, groups=groups)
    assert not re.search(r"--|groups_|'groups'", str(told.value))


def test_weights_are_called_sample_weight(data):
    x, y = data
    with pytest.raises(
        InputError, match=r"^fdr= cannot be combined with sample_weight: .* add permutations=200"
    ):
        symscreen.SymbolicScreener(layers="u", fdr=0.1).fit(x, y, sample_weight=np.arange(40))


@pytest.mark.parametrize(
    ("units", "says"),
    [
        ({"x1": "dB/m"}, "'dB/m' cannot be read: 'dB' is on a logarithmic scale"),
        ({"x1": "__import__"}, "'__import__' cannot be read: pint knows no unit '__import__'; write"),
        ({"x1": "metre3r"}, "pint knows no unit 'metre3r'; did you mean 'metre'"),
        ({"x1": "m("}, "it is not a product of units and their powers"),
        (
            {"x4": "m"},
            r"known: x1, x2, x3: write it into a column's name, 'length \(mm\)', or give it \(units=\)",
        ),
    ],
)
def test_units_are_told_of_in_words(data, units, says):
    require("pint")
    with pytest.raises(InputError, match=says):
        symscreen.SymbolicScreener(layers="u", units=units).fit(*data)
    target = next(iter(units.values()))
    if target != "m":
        with pytest.raises(InputError, match=r"^target_units: the unit "):
            symscreen.SymbolicRegressor(layers="u", units={"x1": "m"}, target_units=target).fit(*data)


def test_what_the_user_wrote_stays(data):
    x, y = data
    x = x.assign(**{"a --top 3": [[1, 2]] * 40})
    with pytest.raises(DataError, match="X: the column 'a --top 3' of categorical= holds lists or records"):
        symscreen.SymbolicScreener(layers="u", categorical=["a --top 3"]).fit(x, y)


def test_names_given_for_the_columns_of_an_array_are_distinct(data):
    x, y = data
    screener = symscreen.SymbolicScreener(layers="b", binary="add", top=1).fit(x.to_numpy(), y)
    assert screener.get_feature_names_out(["a", "b", "c"]).tolist() == ["a + b"]
    with pytest.raises(DataError, match=r"^input_features holds 'a' more than once: give each"):
        screener.get_feature_names_out(["a", "a", "b"])


def test_where_nothing_passes_the_rate_there_are_no_features_and_a_warning(data, rng):
    x, _ = data
    screener = symscreen.SymbolicScreener(layers="u", unary="id,square", fdr=0.01, top=3)
    with pytest.warns(
        UserWarning, match=r"no features were selected: none passes fdr=0.01, the least q-value"
    ):
        screener.fit(x, rng.permutation(40))
    assert screener.transform(x).shape == (40, 0)
    assert screener.get_feature_names_out().tolist() == []
    assert not screener.get_support().any()
    assert (screener.ranking_.q_value > 0.01).all()
    framed = screener.set_output(transform="pandas").transform(x)
    assert framed.shape == (40, 0)
    assert framed.index.equals(x.index)
    assert screener.set_output(transform="default").fit(x, x.x1).transform(x).shape[1] > 0


def test_booleans_beside_times_are_no_two_targets(data):
    x, y = data
    lived = pd.DataFrame({"died": y > y.median(), "days": y - y.min()})
    with pytest.raises(
        DataError,
        match=r"^y has a column of booleans, 'died', and one of numbers, 'days': .* "
        "give event='died' or a structured array",
    ):
        symscreen.SymbolicScreener(layers="u").fit(x, lived)
    with pytest.raises(DataError, match=r"'died', .* take SymbolicScreener; .* make the booleans numbers$"):
        symscreen.SymbolicRegressor(layers="u").fit(x, lived)
    asked = {"layers": "u", "unary": "id", "top": 2}
    named = symscreen.SymbolicScreener(**asked, event="died").fit(x, lived)
    assert "harrell_c" in named.ranking_
    both = symscreen.SymbolicScreener(**asked, target_type="several").fit(x, lived)
    assert {"t0[died]", "t0[days]"} <= set(both.ranking_)
