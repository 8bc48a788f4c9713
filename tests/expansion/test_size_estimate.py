from __future__ import annotations

import numpy as np
import pytest

import symscreen
from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import estimate_space_size, expand, size_estimate
from symscreen.grammar import load_grammar

ALIKE, APART = 0.03, 0.6  # what the documentation says of estimates


def _both(name, layers, d, pool="cumulative"):
    grammar, names = load_grammar(name), [f"x{place}" for place in range(d)]
    parsed = grammar.resolve_layers(layers)
    return expand(names, None, grammar, parsed, pool, options=SpaceOptions()), lambda: estimate_space_size(
        names, grammar, parsed, pool, options=SpaceOptions()
    )


@pytest.mark.parametrize("pool", ["cumulative", "strict"])
@pytest.mark.parametrize(("name", "layers", "d"), [("ablation", "bub", 3), ("basic", "ub", 4)])
def test_short_layers_are_counted(name, layers, d, pool):
    space, seen = _both(name, layers, d, pool)
    told = seen()
    assert told.layer_counts == space.layer_counts
    assert told.n_exact == len(space.layer_counts)
    assert (told.n_members, told.n_features) == (len(space.pool), space.size)


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["cumulative", "strict"])
@pytest.mark.parametrize(
    ("name", "layers", "d", "most"),
    [
        ("ablation", "bub", 6, 2000),
        ("basic", "bub", 5, 200_000),
        ("basic", "ub", 40, 9_000),
        ("physics", "ub", 8, 9_000),
        ("basic", "bu", 9, 800),
        ("strogatz", "ub", 6, 700),
    ],
)
def test_long_layers_are_estimated_closely(name, layers, d, most, pool, monkeypatch):
    monkeypatch.setattr(size_estimate, "_MAX_COUNTED_CANDIDATES", most)
    space, seen = _both(name, layers, d, pool)
    told = seen()
    assert told.n_exact == len(layers)  # all but the last
    assert told.n_candidates == space.candidates.total  # what it generates is exact all the same
    assert abs(told.n_features / space.size - 1) <= ALIKE


def test_two_layers_estimated_one_on_the_other(monkeypatch):
    monkeypatch.setattr(size_estimate, "_MAX_COUNTED_CANDIDATES", 1500)
    space, seen = _both("ablation", "bbb", 5)
    told = seen()
    assert told.n_exact <= 3
    assert abs(told.n_candidates / space.candidates.total - 1) <= ALIKE
    assert abs(told.n_features / space.size - 1) <= 0.1


@pytest.mark.slow
def test_inputs_that_units_tell_apart_are_estimated_roughly(rng, monkeypatch):
    names = ["a (m)", "b (m)", "c (s)", "d (kg)", "e", "f (m/s)", "g (kg)", "h (s)"]
    x = {name: rng.uniform(1, 2, 20) for name in names} | {"y": rng.normal(size=20)}
    asked = {"layers": "ub", "units": "strict"}
    whole = symscreen.plan(x, **asked)
    assert whole.n_exact_layers == len(whole.layers)
    monkeypatch.setattr(size_estimate, "_MAX_COUNTED_CANDIDATES", 2000)
    told = symscreen.plan(x, **asked)
    assert told.n_exact_layers < len(told.layers)
    assert abs(told.n_features / whole.n_features - 1) <= APART


def test_not_even_one_input_can_be_counted(monkeypatch):
    monkeypatch.setattr(size_estimate, "_MAX_COUNTED_CANDIDATES", 0)
    space, seen = _both("ablation", "ub", 3)
    assert seen().n_features >= space.size  # all of what is generated, then


def test_estimates_do_not_depend_on_threads_or_order(monkeypatch):
    monkeypatch.setattr(size_estimate, "_MAX_COUNTED_CANDIDATES", 2000)
    grammar = load_grammar("ablation")
    layers = grammar.resolve_layers("bub")
    one = estimate_space_size(["a", "b", "c", "d", "e", "f"], grammar, layers, options=SpaceOptions())
    assert estimate_space_size(["f", "e", "d", "c", "b", "a"], grammar, layers, options=SpaceOptions()) == one


@pytest.mark.slow
def test_twelve_columns_are_planned_without_growing_them(rng, monkeypatch):
    monkeypatch.setattr(size_estimate, "_MAX_COUNTED_CANDIDATES", 100_000)
    data = rng.uniform(1, 2, (50, 12))
    made = []
    monkeypatch.setattr(np, "zeros", lambda *a, _own=np.zeros, **k: made.append(_own(*a, **k)) or made[-1])
    planned = symscreen.plan(
        data, rng.normal(size=50), layers="ubb", with_operators="sin,cos", search="exact"
    )
    assert planned.layers[-1].n_generated == 1_923_304_776
    assert abs(planned.n_features / 1_227_300_000 - 1) <= ALIKE
    assert max(array.nbytes for array in made) < 50_000_000
    assert planned.peak_bytes > planned.layers[-1].n_generated  # a byte for each candidate


@pytest.mark.slow
def test_a_cut_leaves_so_many_and_the_inputs():
    rng = np.random.default_rng(0)  # an older feature that is kept would leave fewer candidates
    x, y = rng.uniform(1, 2, (40, 4)), rng.normal(size=40)
    asked = {"layers": "ubb", "unary": "square,sin", "binary": "add,mul", "pool_size": "b:5"}
    planned = symscreen.plan(x, y, **asked)
    found = symscreen.screen(x, y, **asked)
    assert planned.n_exact_layers == 2  # inputs and the first layer, which is not cut
    assert planned.layers[2].n_features == 5 + 4
    assert planned.layers[3].n_generated == found.record["layers"][3]["generated"]
    assert abs(planned.n_features / found.n_scored - 1) <= APART


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        {"layers": "ubb", "prune_by": "t0", "pool_size": 4},
        {"layers": "ubb", "prune_by": "t0", "pool_size": 4, "pool": "strict"},
        {"layers": "bub", "prune_by": "t0", "pool_size": "b:2", "also": ["a*b*c"]},
        {"layers": "ubb", "prune_by": "lasso", "pool_size": 4},
        {"layers": "bbb", "prune_by": ["t0", "lasso"], "pool_size": 2},
    ],
)
def test_what_a_cut_leaves_is_bounded_from_above(rng, asked):
    x = {name: rng.uniform(0.5, 2, 60) for name in "abc"}
    y = x["a"] * x["b"] + rng.normal(0, 0.1, 60)
    asked = {"unary": "square,sqrt,log,inv", "binary": "add,sub,mul,div"} | asked
    planned = symscreen.plan(x, y, **asked)
    assert planned.has_pruning
    assert planned.max_features >= planned.n_features
    assert planned.max_features >= symscreen.screen(x, y, **asked).n_scored


@pytest.mark.slow
def test_a_joint_screener_leaves_all_that_an_earlier_cut_has_kept(rng):
    x, y = rng.uniform(1, 2, (40, 3)), rng.normal(size=40)
    asked = {"layers": "ubb", "unary": "square,sin", "binary": "add,mul", "pool_size": 2}
    joint = symscreen.plan(x, y, prune_by="lasso", **asked).layers
    assert [layer.n_features for layer in joint][:3] == [3, 3 + 2, 3 + 2 + 2]
    column = symscreen.plan(x, y, prune_by="t0", **asked).layers
    assert [layer.n_features for layer in column][:3] == [3, 3 + 2, 3 + 2]


@pytest.mark.slow
def test_what_a_cut_without_a_number_leaves_is_not_told(rng):
    x, y = rng.uniform(1, 2, (40, 3)), rng.normal(size=40)
    planned = symscreen.plan(x, y, layers="ub", unary="square,sin", binary="add,mul", prune_by="lasso")
    assert (planned.n_exact_layers, planned.max_features, planned.has_pruning) == (1, None, True)
    whole = symscreen.plan(x, y, layers="u", unary="square,sin", prune_by="lasso")
    assert (whole.n_exact_layers, whole.max_features, whole.has_pruning) == (2, whole.n_features, False)
