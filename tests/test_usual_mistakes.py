"""Usual slips of users of scikit-learn and pandas: they work, or get one line that says how to mend them.

Each line is written in the language of the front end where the slip was made.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.cli.command import run_command

QUICK = {"layers": "u", "unary": "id,square", "top": 2, "jobs": 1}
ESTIMATOR = {"layers": "u", "unary": "id,square", "top": 2, "n_jobs": 1}
FIT = {"layers": "u", "unary": "id,square", "effort": "quick", "jobs": 1}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.uniform(0.5, 2.0, (40, 3)), columns=["mass", "speed", "age"])
    return x.assign(target=x["mass"] * x["speed"] ** 2 + rng.normal(0, 0.1, 40))


def _split(table):
    return table.drop(columns="target"), table["target"]


def _make_screener(**options):
    return symscreen.SymbolicScreener(**ESTIMATOR | options)


def _fit_screener(table, **options):
    return _make_screener(**options).fit(*_split(table))


# what users write in Python, and what they read
REFUSED_IN_PYTHON = {
    "a screen without such an option": (
        lambda table: symscreen.screen(table, k=5),
        "screen has no option 'k'; use top=",
    ),
    "the option of another library": (
        lambda table: symscreen.screen(table, verbose=True),
        "screen has no option 'verbose'; use progress=True",
    ),
    "a misspelt option": (
        lambda table: symscreen.screen(table, layer="u"),
        "screen has no option 'layer'; did you mean 'layers'?",
    ),
    "an option under both of its names": (
        lambda table: symscreen.screen(table, jobs=1, n_jobs=2),
        "jobs= and n_jobs= are names of one option: give one of them",
    ),
    "a series as the name of the target": (
        lambda table: symscreen.screen(table, target=table["target"]),
        "target holds values, and a name is needed: give target='target', or the values as y",
    ),
    "an array as the name of the target": (
        lambda table: symscreen.screen(table, target=table["target"].to_numpy()),
        ("target holds values, and a name is needed: give the column's name in target=, or the values as y"),
    ),
    "a target that the table lacks": (
        lambda table: symscreen.screen(table, "targt"),
        "the frame has no column 'targt' for target=; did you mean 'target'?",
    ),
    "an operator that does not exist": (
        lambda table: symscreen.screen(table, operators=["add", "mull"]),
        "operators= lists 'mull', which is not an operator; did you mean 'mul'?",
    ),
    "operators given twice": (
        lambda table: symscreen.screen(table, operators=["add", "mul"], unary=["sin"]),
        (
            "operators= lists operators, and unary= is given, too: give the list alone, or the name of "
            "a grammar"
        ),
    ),
    "no layers": (
        lambda table: symscreen.screen(table, layers=0),
        (
            "layers is 0; give layers of unary (u) and binary (b) operators, such as layers='ub', or "
            "their number, from 1 to 6"
        ),
    ),
    "no threads": (
        lambda table: symscreen.screen(table, n_jobs=0),
        "jobs is 0; give an integer of at least 1, or -1 for all cores",
    ),
    "memory without a unit": (
        lambda table: symscreen.screen(table, max_ram=10),
        "max_ram is 10, which means 10 bytes; give a unit, such as max_ram='10GB'",
    ),
    "the metric of a model": (
        lambda table: symscreen.fit(table, criterion="r2"),
        "criterion is 'r2'; known: ebic, bic, aic, cv",
    ),
    "folds of a model": (
        lambda table: symscreen.fit(table, cv=5),
        "fit has no option 'cv'; use folds=",
    ),
    "a parameter that an estimator lacks": (
        lambda _: symscreen.SymbolicScreener(k=5),
        "SymbolicScreener has no parameter 'k'; use top=",
    ),
    "the target as a parameter": (
        lambda _: symscreen.SymbolicRegressor(target="target"),
        "SymbolicRegressor has no parameter 'target': fit takes y",
    ),
    "a parameter that cannot be set": (
        lambda _: _make_screener().set_params(layer="u"),
        "SymbolicScreener has no parameter 'layer'; did you mean 'layers'?",
    ),
    "a wrong seed": (
        lambda table: _fit_screener(table, random_state=-1),
        "random_state is -1; give an integer of at least 0",
    ),
    "threads of an estimator": (
        lambda table: _fit_screener(table, n_jobs=0),
        "n_jobs is 0; give an integer of at least 1, or -1 for all cores",
    ),
    "a fit without y": (
        lambda table: _make_screener().fit(table),
        "SymbolicScreener requires y to be passed, but the target y is None: call fit(X, y)",
    ),
    "a transformation before the fit": (
        lambda table: _make_screener().transform(table),
        (
            "This SymbolicScreener instance is not fitted yet. Call 'fit' with appropriate arguments "
            "before using this estimator."
        ),
    ),
    "another number of columns": (
        lambda table: (
            _make_screener().fit(table.to_numpy()[:, :3], table["target"]).transform(table.to_numpy()[:, :2])
        ),
        "X has 2 features, but SymbolicScreener is expecting 3 features as input.",
    ),
    "missing cells": (
        lambda table: _fit_screener(table.assign(speed=table["speed"].mask(table["speed"] > 1.9))),
        (
            "Input X contains NaN in 5 of 40 rows, in the column 'speed': use missing='impute', "
            "put a SimpleImputer before this step, or leave these rows out"
        ),
    ),
    "infinite cells": (
        lambda _: _make_screener().fit(np.array([[1.0, np.inf], [2.0, 3.0]]), [1.0, 2.0]),
        (
            "Input X contains infinity in 1 of 2 rows, in the column 'x2': correct these cells, or "
            "leave these rows out"
        ),
    ),
    "words": (
        lambda table: _fit_screener(table.assign(kind="a")),
        (
            "X has texts in the column 'kind', such as 'a': name the column in categorical=['kind'], or"
            " encode it as numbers"
        ),
    ),
    "a target without a value": (
        lambda table: _make_screener().fit(_split(table)[0], table["target"].where(table["age"] < 1.9)),
        "y has no value in 4 of 40 rows: leave these rows out",
    ),
    "a target of one value": (
        lambda table: _make_screener().fit(_split(table)[0], np.ones(40)),
        (
            "X: the target 'y' is constant (1 in all 40 rows): nothing can be ranked against it; choose"
            " another (y)"
        ),
    ),
    "fewer targets than rows": (
        lambda table: _make_screener().fit(_split(table)[0], table["target"].head(7)),
        "Found input variables with inconsistent numbers of samples: [40, 7]",
    ),
}
# what users write on the command line after `symscreen screen table.csv`, and what they read
REFUSED_ON_THE_COMMAND_LINE = {
    "classes asked for": (["--classify"], "screen has no option '--classify'; use --target-type classes"),
    "k": (["--k", "5"], "screen has no option '--k'; use --top"),
    "underscores": (["--max_ram", "1GB"], "screen has no option '--max_ram'; did you mean '--max-ram'?"),
    "no threads": (["--jobs", "0"], "--jobs is 0; give an integer of at least 1, or -1 for all cores"),
    "memory without a unit": (
        ["--max-ram", "10"],
        "--max-ram is 10, which means 10 bytes; give a unit, such as --max-ram 10GB",
    ),
    "an operator that does not exist": (
        ["--operators", "add,mull"],
        "--operators lists 'mull', which is not an operator; did you mean 'mul'?",
    ),
    "a wrong seed": (["--seed", "-1"], "--seed is -1; give an integer of at least 0"),
}
# attributes that an object does not have, and what users read
MISSING_ATTRIBUTES = {
    "predictions of a screen": (
        lambda table: symscreen.screen(table, **QUICK).predict(table),
        (
            "'ScreenResult' object has no attribute 'predict': a screen ranks formulas; result.fit() returns "
            "a model that predicts"
        ),
    ),
    "a screen taken for a frame": (
        lambda table: symscreen.screen(table, **QUICK).head(),
        "'ScreenResult' object has no attribute 'head': the ranking is the frame result.table",
    ),
    "predictions of a screener": (
        lambda table: _fit_screener(table).predict(table),
        (
            "'SymbolicScreener' object has no attribute 'predict': put a model behind it in a pipeline, or "
            "use SymbolicRegressor or SymbolicClassifier"
        ),
    ),
    "a name without a hint": (
        lambda table: _fit_screener(table).qqq,
        "'SymbolicScreener' object has no attribute 'qqq'",
    ),
}
# what users expect to work
ACCEPTED = {
    "a list of operators": lambda table: symscreen.screen(table, operators=["add", "mul"], top=2),
    "a number of layers": lambda table: symscreen.screen(
        table, layers=2, unary="square", binary="mul", top=2
    ),
    "the name of the target in its place": lambda table: symscreen.screen(table, "target", **QUICK),
    "the target beside its table": lambda table: symscreen.screen(table, table["target"], **QUICK),
    "arrays": lambda table: symscreen.screen(*(part.to_numpy() for part in _split(table)), **QUICK),
    "scikit-learn's names": lambda table: symscreen.screen(
        table, layers="u", max_features=2, n_jobs=-1, random_state=1
    ),
    "a fit of the target beside its table": lambda table: symscreen.fit(table, table["target"], **FIT),
    "a list of operators of a fit": lambda table: symscreen.fit(
        table, operators=["square", "mul"], effort="quick"
    ),
    "all cores": lambda table: _fit_screener(table, n_jobs=-1),
    "no seed": lambda table: _fit_screener(table, random_state=None),
    "a generator": lambda table: _fit_screener(table, random_state=np.random.RandomState(3)),
    "a number of features": lambda table: symscreen.SymbolicScreener(layers="u", max_features=2).fit(
        *_split(table)
    ),
    "weights by position": lambda table: _make_screener().fit(*_split(table), np.ones(40)),
}


@pytest.mark.parametrize("slip", REFUSED_IN_PYTHON)
def test_a_slip_in_python_gets_one_line_in_its_language(slip, table):
    call, line = REFUSED_IN_PYTHON[slip]
    with pytest.raises(ValueError) as told:  # noqa: PT011  # the whole message is compared
        call(table)
    assert str(told.value) == line


@pytest.mark.parametrize("slip", MISSING_ATTRIBUTES)
def test_an_attribute_that_is_missing_names_what_to_use(slip, table):
    call, line = MISSING_ATTRIBUTES[slip]
    with pytest.raises(AttributeError) as told:
        call(table)
    assert str(told.value) == line


def test_scikit_learn_sees_no_methods_of_models_in_a_screener():
    assert not hasattr(_make_screener(), "predict")


@pytest.mark.parametrize("slip", REFUSED_ON_THE_COMMAND_LINE)
def test_a_slip_on_the_command_line_gets_one_line_in_its_language(slip, table, tmp_path, capsys):
    arguments, line = REFUSED_ON_THE_COMMAND_LINE[slip]
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    assert run_command(["screen", str(path), *arguments]) == 2
    assert capsys.readouterr().err == f"symscreen: {line}\n"


@pytest.mark.slow
@pytest.mark.parametrize("call", ACCEPTED)
def test_what_users_expect_works(call, table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ACCEPTED[call](table)


@pytest.mark.slow
def test_accepted_forms_mean_what_the_exact_ones_do(table):
    exact = symscreen.screen(table, unary=[], binary=["add", "mul"], layers="b", jobs=1)
    listed = symscreen.screen(table, operators=["add", "mul"], n_jobs=1)
    pd.testing.assert_frame_equal(exact.table, listed.table)
    quick = symscreen.screen(table, target="target", **QUICK).table
    for given in ("target", table["target"]):
        pd.testing.assert_frame_equal(quick, symscreen.screen(table, given, **QUICK).table)
    assert symscreen.screen(table, layers=1, unary="id", top=2).record["options"]["layers"] == "u[id]"


def test_a_series_that_differs_from_its_column_is_not_taken_for_it(table):
    with pytest.raises(ValueError, match="'target' is the name of y and of a column"):
        symscreen.screen(table, table["target"] + 1.0, **QUICK)


def test_a_generator_draws_other_seeds_and_none_is_zero(table):
    seeds = [
        _fit_screener(table, random_state=state).result_.record["options"]["seed"]
        for state in (None, 5, np.random.RandomState(3), np.random.RandomState(4))
    ]
    assert seeds[:2] == [0, 5]
    assert len(set(seeds)) == 4


def test_both_names_of_a_parameter_are_read_and_one_is_kept():
    for given in ({"jobs": 2, "seed": 3}, {"n_jobs": 2, "random_state": 3}):
        parameters = symscreen.SymbolicScreener(**given).get_params()
        assert (parameters["n_jobs"], parameters["random_state"]) == (2, 3)
        assert not {"jobs", "seed", "max_features"} & set(parameters)
    assert symscreen.SymbolicScreener().set_params(max_features=7).top == 7
