from __future__ import annotations

import io

import symscreen
from symscreen.report.terminal.listings import print_table
from symscreen.report.terminal.ranking_table import build_ranking_tables


def _shown(*args, **options):
    out = io.StringIO()
    print_table(build_ranking_tables(symscreen.screen(*args, **options)), out)
    return out.getvalue()


def test_what_was_left_out_and_the_shares_fit_and_are_explained(frame):
    options = {"layers": "ub", "unary": "cube", "binary": "mul,sub", "top": 5}
    sites = frame.assign(site=[row % 7 for row in range(60)])
    thinned = _shown(frame, max_correlation=0.8, **options)
    stable = _shown(sites, stability=2, groups="site", target="target", screener="t0,xi,kendall", **options)
    for text, heading in ((thinned, "alike"), (stable, "stab.")):
        assert max(map(len, text.splitlines())) <= 80
        assert any(heading in line.split() for line in text.splitlines() if line.startswith("rank"))
    assert "alike: formulas that the row represents (rank correlation above 0.8)" in " ".join(thinned.split())
    assert "whose rank correlation with a better one is above 0.8" in " ".join(thinned.split())
    assert "the share of 4 half-samples (of 7 groups by site)" in " ".join(stable.split())
    assert "a share of 0.9 or more" in " ".join(stable.split())
    assert "stab." not in _shown(frame, **options)


def test_near_duplicates_that_no_file_names_are_not_promised(frame, monkeypatch):
    options = {"layers": "ub", "unary": "cube", "binary": "mul,sub", "top": 3, "max_correlation": 0.5}
    assert "a file (--out) lists them." in " ".join(_shown(frame, **options).split())
    monkeypatch.setattr("symscreen.screening.scoring.score_space._MAX_LISTED", 2)
    assert "a file (--out) lists the best 2 of each." in " ".join(_shown(frame, **options).split())


def test_what_is_of_a_part_of_the_space_says_so(frame):
    options = {"layers": "ub", "unary": "cube", "binary": "mul,sub", "top": 3, "permutations": 10}
    part = " ".join(_shown(frame, time_limit=1e-9, chunk_size=20, **options).split())
    assert "partial, 20 of " in part
    assert " candidates: " in part
    assert "noise is as good anywhere in the part of the space that was scored, by 10" in part
    whole = " ".join(_shown(frame, **options).split())
    assert "partial" not in whole
    assert "noise is as good anywhere in the space, by 10" in whole
