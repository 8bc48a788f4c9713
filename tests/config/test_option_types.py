"""Values of options in other types: containers of texts are taken, all else is refused in one line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.config.fields import list_options
from symscreen.config.fit_options import FitOptions
from symscreen.config.screen_options import ScreenOptions
from symscreen.errors import InputError, OptionError

CONTAINERS = {
    "array": np.array,
    "array of objects": lambda names: np.array(names, dtype=object),
    "index": pd.Index,
    "series": pd.Series,
    "tuple": tuple,
    "generator": iter,
    "set": set,
}
WRONG_VALUES = {
    "array": np.ones(12),
    "table": np.ones((2, 2)),
    "empty mapping": {},
    "mapping": {"E": 3},
    "object": object(),
    "series": pd.Series([1.0, 2.0]),
    "list": [],
    "negative": -1,
    "number": 2.5,
    "text": "x",
}
VERBS = {
    "screen": symscreen.screen,
    "plan": symscreen.plan,
    "why": lambda data, y, **options: symscreen.why("E", data, y, **options),
    "fit": symscreen.fit,
}
NAMES = [field.name for field in list_options(ScreenOptions)]
FIT_NAMES = [field.name for field in list_options(FitOptions, verb="fit")]


def _make_data():
    columns = {name: np.random.default_rng(k).normal(size=12) for k, name in enumerate("EFG")}
    return pd.DataFrame(columns), columns["E"] + 2 * columns["F"] ** 2


@pytest.mark.slow
@pytest.mark.parametrize("container", CONTAINERS)
def test_names_come_in_any_container(container):
    put, (data, y) = CONTAINERS[container], _make_data()
    data["kind"] = ["a", "b"] * 6
    options = {"inputs": ["E", "F"], "categorical": ["kind"], "also": ["E*F"], "screener": ["t0", "xi"]}
    options |= {"layers": "ub", "unary": ["sin"], "binary": ["add", "mul"], "exclude": ["G"]}
    found = symscreen.screen(data, y, **{k: put(v) if isinstance(v, list) else v for k, v in options.items()})
    expected = symscreen.screen(data, y, **options)
    if container != "set":  # a set has no order: its members are sorted
        assert found.record["options"] == expected.record["options"]
    assert sorted(found.table["expression"]) == sorted(expected.table["expression"])


def test_generators_of_names_are_read_once():
    data, y = _make_data()
    found = symscreen.fit(data, y, inputs=iter(["E", "F"]), unary=iter(["square"]), layers="u")
    assert found.formula == symscreen.fit(data, y, inputs=["E", "F"], unary=["square"], layers="u").formula


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("weights", np.ones(60), "weights is array([1., 1...., 1., 1., 1.]); give the name of a column"),
        ("groups", -1, "groups is -1; give the name of a column"),
        ("inputs", 3, "inputs is 3; give a text or a list of texts"),
        ("operators", {}, "operators is {}; give a text or a path or a Grammar or a list of texts"),
        ("p_values", "no", "p_values is 'no'; give True or False"),
        ("max_ram", [], "max_ram is []; give a text or a number"),
        ("top", "x", "top is 'x'; give an integer of at least 1, or 'all'"),
        ("screener", None, "screener is None; give a text or a list of texts or screeners"),
    ],
)
def test_a_wrong_type_is_told_in_one_line(option, value, message):
    with pytest.raises(OptionError) as caught:
        ScreenOptions(**{option: value})
    assert str(caught.value) == message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "name"), [(verb, name) for verb in VERBS for name in (FIT_NAMES if verb == "fit" else NAMES)]
)
def test_only_input_errors_leave(verb, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # `checkpoint` makes a folder
    for value in WRONG_VALUES.values():
        error = None
        try:
            VERBS[verb](*_make_data(), **{"layers": "u", "unary": ["square"], name: value})
        except InputError as raised:
            error = raised
        assert "\n" not in str(error)
