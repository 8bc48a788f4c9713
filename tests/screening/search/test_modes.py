from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.screening.search import modes, subsamples

OPTIONS = {
    "layers": "ub",
    "unary": "square,log,inv",
    "binary": "add,sub,mul",
    "top": 5,
    "max_correlation": 1,
    "p_values": False,
}


@pytest.fixture
def data(rng) -> pd.DataFrame:
    x = rng.uniform(0.5, 2.0, (800, 8))
    frame = pd.DataFrame(x, columns=[f"x{place}" for place in range(1, 9)])
    frame["y"] = frame.x1 * frame.x2**2 + rng.normal(0, 0.2, 800)
    return frame


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(modes, "_MIN_SURVIVORS", 100)
    monkeypatch.setattr(modes, "_SURVIVORS_PER_CLASS", 4)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["race", "sieve"])
@pytest.mark.parametrize("screener", ["t0", "t0,xi,pearson"])
def test_what_is_kept_has_the_scores_places_and_classes_of_the_whole_space(data, mode, screener):
    exact = symscreen.screen(data, screener=screener, **OPTIONS)
    found = symscreen.screen(data, screener=screener, search=mode, prescreen=40, **OPTIONS)
    own = ["rank", "expression", "complexity", "layer", "direction", "class_size", *screener.split(",")]
    pd.testing.assert_frame_equal(found.table[own], exact.table[own], check_exact=True)
    assert found.n_scored < exact.n_scored / 2


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["race", "sieve"])
def test_a_search_does_not_depend_on_jobs_chunks_rows_or_columns(data, mode, rng):
    expected = symscreen.screen(data, search=mode, jobs=1, **OPTIONS)
    shuffled = data.iloc[rng.permutation(len(data))][[*rng.permutation(data.columns[:-1]), "y"]]
    for found in (
        symscreen.screen(data, search=mode, jobs=2, chunk_size=100, **OPTIONS),
        symscreen.screen(shuffled, search=mode, **OPTIONS),
    ):
        pd.testing.assert_frame_equal(found.table, expected.table, check_exact=True)
        assert found.record["search"] == expected.record["search"]


def test_the_record_tells_of_rounds_survivors_and_why_there_are_no_p_values(data):
    result = symscreen.screen(data, search="race", risk=0.01, **OPTIONS)
    search = result.record["search"]
    assert (search["mode"], search["risk"]) == ("race", 0.01)
    assert search["features"] > search["survivors"] == result.n_scored
    assert "all features" in search["p_values"]
    assert all(one["survivors"] <= one["features"] and one["kind"] == "pairs" for one in search["rounds"])
    assert result.record["options"]["search"] == "race"
    assert "audit" not in search


def test_a_sieve_is_audited(data):
    search = symscreen.screen(data, search="sieve", **OPTIONS).record["search"]
    audit = search["audit"]
    assert audit["dropped"] == search["features"] - search["survivors"]
    assert audit["sampled"] == audit["dropped"]  # a space so small is looked at whole
    assert audit["lost"] == audit["estimate"] == audit["at_most"] == 0


def test_an_exact_screen_has_no_search_in_its_record(data):
    result = symscreen.screen(data, **OPTIONS)
    assert "search" not in result.record
    assert result.record["options"]["search"] == "exact"
    assert result.record["options"]["risk"] is None


def test_other_seeds_draw_other_pairs(data):
    one, other = (symscreen.screen(data, search="sieve", seed=seed, **OPTIONS) for seed in (0, 1))
    assert one.record["search"]["rounds"] != other.record["search"]["rounds"]
    assert one.table.expression[0] == other.table.expression[0]


def test_joint_screeners_are_shown_what_a_sieve_leaves(data):
    found = symscreen.screen(data, screener="lasso", search="sieve", prescreen=50, **OPTIONS)
    assert {one["screener"] for one in found.record["search"]["rounds"]} == {"t0", "xi"}
    assert found.record["search"]["audit"]["dropped"] > 0
    assert any("x1" in text and "x2" in text for text in found.table.expression)


@pytest.mark.slow
def test_the_user_s_own_formulas_stay(data):
    found = symscreen.screen(data, search="race", also="sin(x5) + cos(x6)", **(OPTIONS | {"top": 2000}))
    assert "sin(x5) + cos(x6)" in set(found.table.expression)


def test_a_feature_undefined_in_a_row_that_no_look_saw_is_left_out(data):
    data.loc[17, "x3"] = 1e200  # x3 squared, then times itself, overflows in one row of 800
    for mode in ("race", "sieve"):
        found = symscreen.screen(data, search=mode, **OPTIONS)
        exact = symscreen.screen(data, **OPTIONS)
        assert found.table.equals(exact.table)


def test_a_response_of_noise_is_screened_whole(rng):
    data = pd.DataFrame(rng.normal(size=(120, 5)), columns=list("abcdy"))
    found = symscreen.screen(data, search="race", **(OPTIONS | {"unary": "square"}))
    exact = symscreen.screen(data, **(OPTIONS | {"unary": "square"}))
    assert found.n_scored == exact.n_scored
    assert found.record["search"]["rounds"] == []
    assert "p_values" not in found.record["search"]
    assert np.array_equal(found.table.t0, exact.table.t0)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "screener"), [("race", "t0"), ("sieve", "t0"), ("sieve", "pearson")])
def test_a_pool_too_large_to_be_held_at_some_rows_is_computed_as_needed(data, mode, screener, monkeypatch):
    for layers in ("ub", "bu"):
        options = OPTIONS | {"layers": layers, "screener": screener, "search": mode}
        expected = symscreen.screen(data, **options)
        with monkeypatch.context() as patch:
            patch.setattr(subsamples, "_POOL_BYTES", 0)
            patch.setattr(subsamples, "_POOL_PART_BYTES", 1 << 16)
            found = symscreen.screen(data, **options)
        assert found.table.equals(expected.table)
        assert found.record["search"] == expected.record["search"]


@pytest.mark.slow
def test_a_feature_that_is_constant_on_a_sample_of_rows_is_kept(rng):
    rare = np.zeros((4000, 6))
    rare[rng.integers(0, 4000, 12), :] = rng.normal(size=(12, 6))
    y = 50.0 * rare[:, 0] * rare[:, 1] + rng.normal(0, 0.01, 4000)
    names = [f"x{place}" for place in range(1, 7)]
    frame = pd.DataFrame(rare, columns=names).assign(y=y)
    options = {"layers": "bb", "binary": "add,mul", "screener": "pearson", "top": 5}
    exact = symscreen.screen(frame, **options)
    found = symscreen.screen(frame, search="sieve", **options)
    assert found.table.expression[0] == exact.table.expression[0] == "x1*x2"


def test_bounds_on_a_raced_ranking_count_the_features_that_it_dropped(data):
    options = OPTIONS | {"layers": "ub"}
    figures = []
    for mode in ("exact", "race"):
        result = symscreen.screen(data, search=mode, **options)
        figures.append(symscreen.evaluation.evaluate_bounds(result, "x1*x2**2", outside=3))
    assert [str(one) for one in figures[:1]] == [str(one) for one in figures[1:]]
