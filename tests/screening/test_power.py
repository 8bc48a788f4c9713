from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.errors import FormulaError, OptionError
from symscreen.evaluation import find_affine_copies
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.screening.power import _find_half_power_noise

SMALL = {"layers": "ub", "unary": "cube,log", "binary": "mul,sub"}
TRUTH = "x1**3*x2"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("screener", "top", "max_correlation"),
    [("t0", 3, None), ("t0", 3, 1), ("xi", 4, 0.8), ("pearson", 2, 1)],
)
def test_each_repeat_is_what_a_screen_of_the_planted_response_shows(frame, screener, top, max_correlation):
    options = SMALL | {"screener": screener, "top": top, "max_correlation": max_correlation}
    found = symscreen.power(frame, truth=TRUTH, noise_ratio=[0, 1.5], repeats=4, seed=5, **options)
    assert found.table.repeats.tolist() == [1, 4]
    columns = {name: frame[name].to_numpy() for name in ("x1", "x2", "x3")}
    truth = evaluate_expression(parse_expression(TRUTH), columns)
    order = np.lexsort([columns["x3"], columns["x2"], columns["x1"], truth])
    columns = {name: values[order] for name, values in columns.items()}
    truth, found_count, represented_count = truth[order], 0, 0
    limit = 0.95 if max_correlation is None else max_correlation
    for repeat in range(4):
        noise = np.random.default_rng(np.random.SeedSequence((5, 1, repeat))).standard_normal(60)
        y = truth + 1.5 * np.sqrt(np.mean(truth**2)) * noise
        shown = symscreen.screen(pd.DataFrame(columns), y, p_values=False, **options)
        values = shown.transform(pd.DataFrame(columns)).rank().to_numpy().T
        own = pd.Series(truth).rank().to_numpy()
        same = ((values == own) | (values == 61 - own)).all(axis=1).any()
        copy = find_affine_copies(shown.expressions, parse_expression(TRUTH)).any()
        is_shown = bool(copy if screener == "pearson" else same)
        found_count += is_shown
        # a near-duplicate of an entry is in the record of some entry
        listed = shown.record.get("redundancy", {}).get("shown", [])
        texts = [one["expression"] for entry in listed for one in entry["features"]]
        represented_count += not is_shown and found.closest_member in texts
        near = [abs(pd.Series(row).corr(pd.Series(own))) > limit for row in values]
        assert is_shown or found.closest_member not in texts or any(near)
    assert found.table.found.tolist() == [1, found_count]
    assert found.table.represented.tolist() == [0, represented_count]
    assert found.max_correlation == limit


@pytest.mark.slow
def test_figures_are_the_same_for_any_jobs_chunks_and_order_of_rows(frame, rng):
    options = {"truth": TRUTH, "noise_ratio": [0.5, 2], "repeats": 3, "top": 3} | SMALL
    first = symscreen.power(frame, **options).table
    mixed = frame.iloc[rng.permutation(60)]
    assert first.equals(symscreen.power(mixed, jobs=2, chunk_size=7, **options).table)
    assert not first.equals(symscreen.power(frame, seed=1, **options).table)


@pytest.mark.slow
def test_power_falls_with_the_noise_and_the_interval_holds_the_share(frame):
    table = symscreen.power(frame, truth=TRUTH, noise_ratio=[0, 0.2, 30], repeats=20, top=1, **SMALL).table
    assert table.noise_ratio.tolist() == [0, 0.2, 30]
    assert table.probability[0] == table.low[0] == table.high[0] == 1
    assert table.probability[2] < 0.5 <= table.probability[1]
    noisy = table.iloc[1:]
    assert ((noisy.low <= noisy.probability) & (noisy.probability <= noisy.high)).all()
    assert (table.median_rank.diff().dropna() >= 0).all()
    # Wilson's interval for none of twenty: z²/(n + z²)
    z2 = 1.959963984540054**2
    empty = symscreen.power(frame, truth=TRUTH, noise_ratio=[1e4], repeats=20, top=1, seed=3, **SMALL)
    if empty.table.found[0] == 0:
        assert math.isclose(empty.table.high[0], z2 / (20 + z2))
    assert empty.half_power_noise == (0.0, 1e4)


def test_cuts_grow_the_space_anew_and_may_lose_it(frame):
    options = {"truth": TRUTH, "noise_ratio": [0, 20], "repeats": 4, "pool_size": 1, "layers": "ub"}
    found = symscreen.power(frame, unary="cube,log", binary="mul", **options)
    assert found.closest_member == ""
    assert found.n_features is None
    assert np.isinf(found.table.median_rank[1])


def test_a_term_may_be_looked_for(frame):
    found = symscreen.power(
        frame, truth="5*x1**3 + x3", feature="2*x1**3", noise_ratio=[0], layers="u", unary="cube", top=1
    )
    assert (found.closest_member, found.relation) == ("x1**3", "affine copy")
    assert found.table.probability[0] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"truth": "x1 + x2 + x3"},
            r"the space does not hold 'x1 \+ x2 \+ x3': none of its .* symscreen why",
        ),
        ({"truth": "log(x1 - 1)"}, r"undefined in \d+ of 60 rows"),
        ({"truth": "x1 - x1"}, "constant on these rows"),
        ({"truth": "x9"}, "x9"),
        ({"truth": "x1", "top": "all"}, "give a number"),
        ({"truth": "x1", "search": "race"}, "scores every feature"),
        ({"truth": "x1", "rounds": 2}, "one round"),
        ({"truth": "x1", "stability": 2}, "stability is 2"),
        ({"truth": "x1", "ranking": ["x1", "x2"]}, "instead of ranking="),
        ({"truth": "x1", "stages": ["x1", "x2"]}, "instead of stages="),
        ({"truth": "x1", "screener": "lasso"}, "lasso judges features together"),
        ({"truth": "x1", "noise_ratio": [-1.0]}, "noise_ratio is"),
        ({"truth": "x1", "repeats": 0}, "repeats is 0"),
        ({"truth": "x1", "tops": 3}, "power has no option 'tops'; did you mean 'top'"),
    ],
)
def test_what_has_no_answer_is_refused_with_the_reason(frame, options, message):
    with pytest.raises((FormulaError, OptionError), match=message):
        symscreen.power(frame, **SMALL | options)


def test_where_it_is_lost_is_interpolated_on_the_logarithm():
    assert _find_half_power_noise([0.01, 1.0], [1.0, 0.0]) == pytest.approx((0.1, 0.1))
    assert _find_half_power_noise([0.0, 1.0], [1.0, 0.2]) == (0.0, 1.0)
    assert _find_half_power_noise([0.1, 1.0], [0.4, 0.2]) == (0.0, 0.1)
    assert _find_half_power_noise([0.1, 1.0], [0.9, 0.5]) is None


def test_ties_are_broken_as_screen_and_why_break_them(rng):
    frame = pd.DataFrame({f"x{place}": rng.uniform(0.5, 2, 20) for place in (1, 2, 3)})
    frame["x4"] = (frame.x1 > frame.x1.median()).astype(float)
    options = {"layers": "u", "unary": "id,exp,log,square", "max_correlation": 1}
    places = {}
    for feature in ("x1", "x4"):
        found = symscreen.power(
            frame.assign(target=0.5 * frame.x2),
            truth="x4",
            feature=feature,
            noise_ratio=[0],
            top=1,
            **options,
        )
        places[feature] = found.table.mean_rank[0]
        assert symscreen.why(frame, feature, frame.x4.to_numpy(), **options).rank == places[feature]
        assert found.table.probability[0] == (places[feature] == 1)
    shown = symscreen.screen(frame, frame.x4.to_numpy(), top=2, **options).table
    assert shown.t0.tolist() == [0, 0]  # they tie, and their correlation with the response decides
    assert shown.expression[0] == "x4"
    assert places == {"x1": 2, "x4": 1}


@pytest.mark.parametrize("scale", [1.0, 1e160])
def test_noise_that_overflows_is_refused_and_large_columns_are_not(frame, scale):
    frame = frame.assign(x1=scale * frame.x1)
    options = {"truth": "x1", "repeats": 2, "layers": "u", "unary": "neg"}
    with pytest.raises(OptionError, match=r"noise_ratio 1e\+308 is too large: .* give ratios up to"):
        symscreen.power(frame, noise_ratio=[0, 1e308], **options)
    assert symscreen.power(frame, noise_ratio=[1], **options).table.found.tolist() == [2]
