"""Groups of rows, from the option to the page: half-samples, intervals and permutations respect them."""

from __future__ import annotations

import io

import numpy as np
import pytest

import symscreen
from symscreen.errors import OptionError
from symscreen.report.terminal.listings import print_table
from symscreen.report.terminal.ranking_table import build_ranking_tables

SMALL = {"target": "target", "layers": "u", "unary": "id", "top": 3}


def _printed(result) -> str:
    stream = io.StringIO()
    print_table(build_ranking_tables(result), stream)
    assert max(map(len, stream.getvalue().splitlines())) <= 80
    return " ".join(stream.getvalue().split())


def test_intervals_leave_out_groups_and_say_so(frame):
    sites = frame.assign(site=np.repeat(list("abcdefghij"), 6))
    result = symscreen.screen(sites, groups="site", intervals=True, **SMALL)
    for row in result.table.to_dict("records"):
        own = frame[row["expression"]]
        without = np.array(
            [symscreen.t0(own[sites.site != one], frame.target[sites.site != one]) for one in "abcdefghij"]
        )
        error = np.sqrt(0.9 * ((without - without.mean()) ** 2).sum())
        assert row["t0_se"] == pytest.approx(error, rel=1e-9)
    assert result.record["intervals"]["groups"] == "site"
    assert result.record["intervals"]["units"] == 10
    assert "the intervals leave out groups by site." in _printed(result)
    mixed = sites.sample(frac=1, random_state=1)
    assert symscreen.screen(mixed, groups="site", intervals=True, **SMALL).table.equals(result.table)


def test_permutations_keep_groups_together_and_say_so(frame):
    even = frame.assign(site=np.arange(60) // 5, x3=frame["x3"] + 1)
    result = symscreen.screen(even, groups="site", permutations=20, **SMALL)
    told = result.record["error_control"]
    assert (told["source"], told["tests"], told["permutations"]) == ("permutations", result.n_scored, 20)
    assert told["groups"] == {"units": 12, "trade_places": 12}
    assert result.notices == ()
    text = "by 20 permutations of the target, the rows of each of 12 groups by site together"
    assert text in _printed(result)
    mixed = even.sample(frac=1, random_state=1)
    assert symscreen.screen(mixed, groups="site", permutations=20, jobs=2, **SMALL).table.equals(result.table)
    odd = frame.assign(site=np.repeat(np.arange(8), [3, 4, 5, 6, 7, 8, 9, 18]))
    notices = symscreen.screen(odd, groups="site", permutations=20, **SMALL).notices
    assert "8 of 8 groups by site have a number of rows of their own and keep their places" in " ".join(
        notices
    )


def test_what_takes_rows_for_exchangeable_is_refused_or_left_out(frame):
    sites = frame.assign(site=np.arange(60) % 6)
    for asked, name in (({"fdr": 0.05}, "fdr=0.05"), ({"p_values": True}, "p_values=True")):
        with pytest.raises(OptionError, match=f"{name} cannot be combined with groups='site': null"):
            symscreen.screen(sites, groups="site", stability=2, **SMALL, **asked)
    result = symscreen.screen(sites, groups="site", permutations=20, **SMALL)
    assert {"p_value", "q_value", "p_family"} <= set(result.table)
    assert result.record["verdict"]["by"] == "q_value"
    only = symscreen.screen(sites, groups="site", permutations=20, p_values=False, **SMALL)
    assert "p_value" not in only.table
    assert only.record["verdict"]["by"] == "p_family"


def test_too_few_groups_or_groups_that_nothing_heeds_are_refused(frame):
    with pytest.raises(OptionError, match="has 3 groups, too few to estimate how they differ"):
        symscreen.screen(frame.assign(g=np.arange(60) % 3), groups="g", intervals=True, **SMALL)
    with pytest.raises(OptionError, match="is not used"):
        symscreen.screen(frame.assign(g=np.arange(60) % 6), groups="g", **SMALL)
