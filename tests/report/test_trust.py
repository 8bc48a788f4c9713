from __future__ import annotations

import io

import symscreen
from symscreen.report.ranking import show_result
from symscreen.report.terminal import print_table


def _shown(*args, **options):
    out = io.StringIO()
    print_table(show_result(symscreen.screen(*args, **options)), out)
    return out.getvalue()


def test_what_was_left_out_and_the_shares_fit_and_are_explained(frame):
    options = {"layers": "ub", "unary": "cube", "binary": "mul,sub", "top": 5}
    sites = frame.assign(site=[row % 7 for row in range(60)])
    thinned = _shown(frame, distinct=0.8, **options)
    stable = _shown(sites, stability=2, groups="site", target="target", screener="t0,xi,kendall", **options)
    for text, heading in ((thinned, "for"), (stable, "stab.")):
        assert max(map(len, text.splitlines())) <= 80
        assert any(heading in line.split() for line in text.splitlines() if line.startswith("rank"))
    assert "whose rank correlation with it is above 0.8" in " ".join(thinned.split())
    assert "the share of 4 half-samples (of 7 groups by site)" in " ".join(stable.split())
    assert "a share of 0.9 or more" in " ".join(stable.split())
    assert "stab." not in _shown(frame, **options)
