"""Predictions of memory, held against what processes really take."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from symscreen.backends import Threads
from symscreen.expansion import expand
from symscreen.grammar import load_grammar
from symscreen.result import ErrorControl, Request, predicted, scoring_bytes
from symscreen.screeners import screeners_asked
from symscreen.search import Search

STATUS = Path("/proc/self/status")

# A process predicts its peak when the space is counted and when it is grown, then screens it.
PROCESS = """
import json, re, sys
from pathlib import Path
import numpy as np
import symscreen
from symscreen.pipeline import growth
from symscreen.pipeline import rounds
from symscreen.expansion import expand
from symscreen.result import predicted

rows, inputs, thin, options = json.loads(sys.argv[1])
told, one_round, require_room, grow = [], rounds._one_round, rounds._require_room, growth.expand

def counting(table, job):
    counted = expand(table.names, None, job.grammar, job.layers, job.pool_kind)
    told.append(predicted(counted, table.response.n, job.request, thin=thin).peak())
    return one_round(table, job)

def grown(space, job):
    told.append(predicted(space, space.rows, job.request, thin=thin).peak())
    require_room(space, job)

rounds._one_round, rounds._require_room = counting, grown
growth.expand = lambda *a, **k: grow(*a, **(k | {"thin": thin} if "thin" in k else k))
rng = np.random.default_rng(1)
X = rng.uniform(0.5, 2.0, (rows, inputs))
symscreen.screen(X, X[:, 0] * X[:, 1] + rng.normal(0, 0.1, rows), **options)
# not ru_maxrss, which a process inherits from the one that started it
peak = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(json.dumps([told, int(peak) * 1024]))
"""
SLACK = 150_000_000


@pytest.mark.skipif(not STATUS.is_file(), reason="the system does not tell the peak of a process")
@pytest.mark.parametrize(
    ("rows", "inputs", "thin", "options"),
    [
        (100, 120, False, {"layers": "b[add,mul]", "jobs": 2, "top": "all"}),
        (6000, 10, False, {"layers": "u[square,inv] b[add,mul] u[neg]", "jobs": 1}),
        (6000, 10, True, {"layers": "u[square,inv] b[add,mul] u[neg]", "jobs": 2}),
        (100_000, 6, False, {"layers": "u[square] b[mul]", "jobs": 2}),
    ],
)
def test_the_peak_is_predicted(rows, inputs, thin, options):
    text = json.dumps([rows, inputs, thin, options])
    done = subprocess.run([sys.executable, "-c", PROCESS, text], capture_output=True, text=True, check=True)
    told, peak = json.loads(done.stdout.splitlines()[-1])
    assert len(told) == 2
    for each in told:
        assert peak <= each <= 2 * peak + SLACK


def request(screeners="t0", **changes):
    asked = Request(
        screeners=screeners_asked(screeners, {}), sign="free", limit=20, prescreen=1000, seed=0, jobs=1,
        backend=Threads(1), chunk_size=1 << 14,
    )  # fmt: skip
    return replace(asked, **changes)


def test_what_takes_more_is_predicted_to_take_more():
    least = scoring_bytes(10_000, request())
    assert scoring_bytes(10_000, request(), features=5) < least
    assert scoring_bytes(100_000, request()) > least
    assert scoring_bytes(10_000, request(jobs=2)) > least
    assert scoring_bytes(10_000, request(limit=2000)) > least
    assert scoring_bytes(10_000, request("t0,xi")) > least
    assert scoring_bytes(10_000, request("t0,lasso")) > scoring_bytes(10_000, request("t0,xi"))
    assert scoring_bytes(10_000, request("t0,xi", prescreen=10_000)) > scoring_bytes(10_000, request("t0,xi"))
    assert scoring_bytes(10_000, request(limit=None), features=10**6) > least + 10**9
    watched = [scoring_bytes(10_000, request(control=ErrorControl(permutations=b))) for b in (0, 1, 1000)]
    assert least < watched[0] < watched[1] < watched[2] - 8 * 10_000 * 999
    assert scoring_bytes(10_000, request(search=Search("sieve")), candidates=10**8) > least + 10**8


def test_a_pool_is_counted_whether_it_is_there_or_will_be(rng):
    grammar, names = load_grammar("basic"), ["a", "b", "c"]
    layers = grammar.parsed_layers("ub u[sin]")
    counted = expand(names, None, grammar, layers)
    held = expand(names, rng.uniform(0.5, 2.0, (3, 1000)), grammar, layers)
    coming, there, thin = (
        predicted(counted, 1000, request()),
        predicted(held, 1000, request()),
        predicted(counted, 1000, request(), thin=True),
    )
    assert coming.pool - thin.pool == len(counted.pool) * 8000
    assert coming.candidates == counted.candidates.total
    assert there.candidates == there.judging == 0
    assert there.pool < coming.pool
    assert thin.peak() < coming.peak()
    for each in (coming, there, thin):
        assert each.peak() == each.held + each.pool + each.candidates + max(each.judging, each.scoring)


def test_lists_are_no_longer_than_the_space():
    few, many = (scoring_bytes(10**6, request("t0,xi"), features=size) for size in (10, 10**6))
    assert few < many / 5
    assert scoring_bytes(10**6, request("t0,xi"), features=10**9) == many
    assert np.isfinite(float(many))


def test_orders_are_counted_where_they_are_allowed_and_worth_their_while():
    grammar, names = load_grammar("basic"), ["a", "b", "c"]
    counted = expand(names, None, grammar, grammar.parsed_layers("b[add,mul] u[exp,log,sqrt]"))
    free = predicted(counted, 10**6, request())
    assert free.orders == len(counted.pool) * (4 * 10**6 + 1)
    assert free.peak() == free.held + free.pool + free.candidates + free.orders + free.scoring
    assert free.peak(free.peak() - 1) == free.peak() - free.orders
    assert predicted(counted, 10**6, request("pearson")).orders == 0
    assert predicted(counted, 10**6, request(), thin=True).orders == 0
