"""Options → record → options, and record → command line → options: nothing is lost."""

from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from symscreen.cli.command import command
from symscreen.config.fields import get_option, list_options
from symscreen.config.option_record import format_command
from symscreen.config.screen_options import ScreenOptions, make_screen_options
from symscreen.errors import InputError
from symscreen.results.record import build_grammar_record
from symscreen.screening.preparation import prepare_screen
from symscreen.screening.stored_screens import prepare_from_record

# a replayed screen is asked for its ranking alone
NOT_REPLAYED = {"stability", "groups", "p_values", "permutations", "intervals", "exclude"}


def _make_frame():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.uniform(0.5, 2.0, (40, 3)), columns=["x1", "a,b", "`c` d"])
    frame["kind"], frame["site"] = random.choice(["p", "it's"], 40), random.integers(0, 8, 40)
    frame["w"], frame["died"] = random.integers(1, 4, 40), random.integers(0, 2, 40)
    frame["later"] = np.where(frame.died == 1, random.integers(0, 2, 40), 0)
    frame["-y"] = frame["x1"] ** 2 + random.normal(0, 0.1, 40)
    return frame


FRAME = _make_frame()
COLUMNS = st.lists(st.sampled_from(["x1", "a,b", "`c` d"]), min_size=1, unique=True)


def _optional(**strategies):
    return st.fixed_dictionaries({}, optional=strategies)


SPACE = _optional(
    inputs=COLUMNS,
    exclude=st.just(("kind", "site", "w", "died", "later")) | st.just(("site",)),
    missing=st.sampled_from(["refuse", "drop", "impute", "indicator"]),
    layers=st.sampled_from(["u", "b", "ub", "u[sin,cos] b[add]"]),
    operators=st.sampled_from(["basic", "ablation", "physics", "standard"]),
    unary=st.sampled_from(["id,cube", ["id"], ("cube", "id")]),
    pool=st.sampled_from(["cumulative", "strict"]),
    max_complexity=st.integers(5, 30),
    also=st.lists(st.sampled_from(["x1*x1", "-x1", "sin(x1)"]), unique=True) | st.just("x1 + x1*x1"),
    pool_size=st.integers(1, 50) | st.sampled_from(["u:4,b:9", {"u": 3}]),
    screener=st.sampled_from(["t0", "t0,xi", ["t0", "pearson"]]),
    top=st.integers(1, 99),
    with_operators=st.sampled_from(["tanh", ["max", "tanh"]]),
    unsafe=st.sampled_from(["keep", "mark", "drop"]),
    ranges=st.sampled_from([{"x1": (0, 5)}, {"a,b": (-1.5, 1e300), "`c` d": [0.1, 0.1]}]),
    seed=st.integers(0, 2**31),
    jobs=st.integers(1, 3),
    chunk_size=st.integers(1, 10**6),
)
NUMERIC = st.just({"target": "-y"}) | _optional(
    prescreen=st.integers(1, 20),
    screener=st.sampled_from(["t0,lasso[folds=3]", "t0,bart[rule=gse]"]),
    sign=st.sampled_from(["free", "positive"]),
    rounds=st.integers(1, 5),
    categorical=st.sampled_from(["kind", ("kind", "site")]),
    categorical_as=st.sampled_from(["gate", "onehot"]),
).map(lambda options: {"target": "-y"} | options)
SEARCHES = st.sampled_from(
    [
        {"search": "race"},
        {"search": "race", "risk": 0.01},
        {"search": "sieve"},
        {"search": "exact"},
        {"budget": "none"},
        {"budget": 9000, "pool_size": None, "prune_by": None},
    ]
).map(lambda options: {"target": "-y"} | options)
INFERENCE = _optional(
    stability=st.integers(1, 9),
    intervals=st.booleans() | st.floats(0.01, 0.99),
    permutations=st.integers(1, 999),
).map(lambda options: {"target": "-y"} | options)
GROUPED = INFERENCE.map(lambda options: {"groups": "site", "permutations": 9} | options)
ERROR_RATES = _optional(
    p_values=st.booleans(),
    fdr=st.floats(0.001, 0.999),
    fdr_method=st.sampled_from(["bh", "by"]),
    max_correlation=st.floats(0.5, 0.999),
).map(lambda options: {"target": "-y", "pool_size": None} | options)
TARGETS = st.sampled_from(
    [
        {"target": "kind"},
        {"target": "died", "target_type": "classes"},
        {"target": ["-y", "a,b"], "aggregate": "worst", "inputs": None},
        {"target": "-y", "event": "died"},
        {"stages": ("died", "later"), "stage_weight": "next"},
        {"stages": "died,later", "stage_weight": {("died", "later"): 2.0}},
        {"ranking": ["w", "site"], "inputs": ["x1"]},
        {"target": "-y", "weights": "w"},
    ]
).map(lambda options: {"screener": "t0", "prune_by": None, "pool_size": None} | options)
OPTIONS = st.builds(
    lambda space, further: space | further,
    SPACE,
    st.one_of(NUMERIC, SEARCHES, INFERENCE, GROUPED, ERROR_RATES, TARGETS),
)


def _build_record(prepared):
    dataset = prepared.dataset
    stages = getattr(dataset.target, "record", None)
    return {
        "options": prepared.record,
        "grammar": build_grammar_record(prepared.grammar),
        "data": {
            "digest": dataset.digest,
            "rows": dataset.target.n,
            "target": dataset.target.name,
            "inputs": list(dataset.names),
            **({} if stages is None else {"stages": stages}),
        },
    }


def _read_command(text):
    """Parse a command line as the verb `screen` does, up to the options."""
    words = shlex.split(text)
    assert words[:3] == ["symscreen", "screen", "DATA"]
    parameters = command.get_command(None, "screen").make_context("screen", words[2:]).params
    known = {field.name for field in list_options(ScreenOptions)}
    return {name: value for name, value in parameters.items() if name in known}


def _without_runtime(options):
    return {name: value for name, value in options.items() if name not in {"jobs", "chunk_size"}}


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(OPTIONS)
def test_nothing_is_lost_in_the_record_and_on_the_command_line(options):
    try:
        prepared = prepare_screen(FRAME, None, make_screen_options(options, verb="screen"))
    except InputError:
        reject()  # options that contradict each other
    record = _build_record(prepared)
    optional = {field.name for field in list_options(ScreenOptions) if get_option(field).record == "given"}
    always = {field.name for field in list_options(ScreenOptions) if get_option(field).record == "always"}
    assert always <= set(record["options"]) <= always | optional | {"settings", "prune_by_settings", "levels"}
    if options.get("stage_weight", "all") in ("all", "next", "last"):
        replayed = prepare_from_record(record, FRAME).record
        for name in set(_without_runtime(record["options"])) - NOT_REPLAYED:
            assert replayed[name] == record["options"][name], name
        read = prepare_screen(
            FRAME, None, make_screen_options(_read_command(format_command(record)), verb="screen")
        )
        assert _without_runtime(read.record) == _without_runtime(record["options"])
        assert read.dataset.digest == prepared.dataset.digest
        assert format_command(_build_record(read)) == format_command(record)


@pytest.mark.parametrize("field", list_options(ScreenOptions), ids=lambda field: field.name)
def test_a_value_is_read_back_from_the_text_that_is_written(field):
    known = get_option(field)
    if known.parse is None or known.write is None:
        return
    for names in (["a,b", "c"], ["`", " x"], ["plain"], ["a=b", "c:d"]):
        value = {name: [-1.5, 2.0] for name in names} if field.name == "ranges" else names
        assert type(value)(known.parse(known.write(value), field.name)) == value
