from __future__ import annotations

import pytest

import symscreen

SMALL = {"layers": "ub", "unary": "cube,log", "binary": "mul,sub", "p_values": False}


def first_line(found):
    return found.text.splitlines()[0]


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"screener": "pearson,t0", "sign": "positive"}])
def test_what_near_duplicates_leave_out_is_told_with_what_stands_for_it(frame, changes):
    options = SMALL | {"top": 4, "max_correlation": 0.8} | changes
    everything = SMALL | {"top": 10**6, "max_correlation": 1}
    whole = symscreen.screen(frame, **everything, **changes).table.expression.tolist()
    screened = symscreen.screen(frame, **options)
    thinned = screened.table.expression.tolist()
    told = {one["rank"]: one["features"] for one in screened.record["redundancy"]["shown"]}
    stands_in = {
        near["expression"]: thinned[rank - 1] for rank, features in told.items() for near in features
    }
    looked_at = screened.record["redundancy"]["classes_looked_at"]
    assert stands_in
    for rank, formula in enumerate(whole[: looked_at + 2 : 2] + thinned, 1):
        found = symscreen.why(frame, formula, **options)
        assert found.rank == whole.index(formula) + 1, rank
        if formula in stands_in:
            assert (found.status, found.shown_instead) == ("redundant", stands_in[formula])
            expected = (
                f"{formula} is left out by max_correlation=0.8: {stands_in[formula]} is listed instead."
            )
            assert first_line(found) == expected
        elif formula in thinned:
            assert (found.status, found.filtered_rank) == ("ranked", thinned.index(formula) + 1)
            is_earlier = found.rank is not None and found.filtered_rank < found.rank
            reason = ", because some before it are left out" if is_earlier else ""
            assert f"it is number {found.filtered_rank}{reason}." in " ".join(found.text.split())
        else:
            assert (found.status, found.past_end) == ("ranked", True)
            assert "top=" in found.text
            assert "would show it" not in found.text


@pytest.mark.slow
def test_what_does_not_pass_is_told_with_its_q_value(frame):
    small = SMALL | {"max_correlation": 1.0}
    every = symscreen.screen(frame, top="all", **small | {"p_values": True}).table
    for row in every.to_dict("records")[:: len(every) // 12]:
        found = symscreen.why(frame, row["expression"], fdr=0.01, permutations=50, top=3, **small)
        assert found.q_value == row["q_value"]
        if row["q_value"] > 0.01:
            assert found.status == "not passing"
            assert first_line(found).startswith(f"{row['expression']} does not pass fdr=0.01: q = ")
            assert "would show it" not in found.text
        else:
            assert found.status == "ranked"
            assert "it passes fdr=0.01." in found.text
    assert every.q_value.iloc[-1] > 0.01
    last = every.expression.iloc[-1]
    whole = symscreen.why(frame, last, fdr=0.01, time_limit=1e-9, chunk_size=9, top=3, **small)
    assert whole.q_value == every.q_value.iloc[-1]


def test_where_nothing_passes_the_best_are_shown_all_the_same(frame, rng):
    noise = frame.assign(target=rng.normal(size=60))
    options = SMALL | {"fdr": 1e-6, "top": 3, "max_correlation": 1}
    screened = symscreen.screen(noise, **options)
    found = symscreen.why(noise, screened.table.expression[0], **options)
    assert (found.status, found.rank) == ("ranked", 1)
    assert "none of the best features passes fdr=1e-06" in found.text


@pytest.mark.slow
def test_left_out_for_either_reason(frame):
    options = SMALL | {"max_correlation": 0.8, "fdr": 1e-9, "top": 6}
    shown = symscreen.screen(frame, **options).table.expression.tolist()
    thinned = symscreen.screen(frame, **options | {"fdr": None}).table.expression.tolist()
    assert len(shown) < len(thinned)
    for formula in thinned:
        expected = "ranked" if formula in shown else "not passing"
        assert symscreen.why(frame, formula, **options).status == expected
