from __future__ import annotations

import os
import signal
import sys
from dataclasses import fields

import pandas as pd
import pytest
from result.brute_force import space_of, table_of

import symscreen
from symscreen.backends import Dask, Threads
from symscreen.errors import OptionError
from symscreen.result.course import Course
from symscreen.result.kept import Kept
from symscreen.result.scoring import Keep, Scorer
from symscreen.result.stream import final_classes, streamed
from symscreen.screeners import T0, XI

OPTIONS = {"layers": "ub", "screener": "t0,xi", "top": 5, "chunk_size": 40}


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("distributed", reason="Dask is an extra")
    backend = Dask(2)
    yield backend
    backend.close()


def _plain(result):
    record = {name: value for name, value in result.record.items() if name != "options"}
    return record, result.table


def test_workers_give_what_threads_give(cluster, frame):
    cluster._client()
    address = cluster._held["cluster"].scheduler_address
    told = []
    options = OPTIONS | {"p_values": True, "permutations": 20}
    ours = symscreen.screen(frame, jobs=1, **options)
    theirs = symscreen.screen(
        frame, scheduler=address, progress=lambda done, total: told.append((done, total)), **options
    )
    record, table = _plain(theirs)
    assert record == _plain(ours)[0]
    pd.testing.assert_frame_equal(table, ours.table, check_exact=True)
    run = theirs.record["options"]["run"]["backend"]
    assert run["name"] == "dask"
    assert sum(run["chunks"].values()) == -(-told[-1][1] // 40)
    assert run["workers"] == len(run["chunks"])
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1]


def test_what_scores_travels_once_and_few_tasks_are_under_way(cluster):
    sent, begun = [], []
    function, merge = _square, _sum
    for stage in (range(3), range(3, 60)):
        for count, part in cluster.reduced(function, list(stage), merge):
            begun.append(count)
            sent.append(id(cluster._held["sent"][1]))
            assert part >= 0
    assert sum(begun) == 60
    assert len(set(sent)) == 1


def _square(task):
    return task * task


def _sum(parts):
    return sum(parts)


def test_an_error_on_a_worker_is_raised_here(cluster):
    with pytest.raises(ZeroDivisionError):
        list(cluster.reduced(_inverse, [2, 1, 0], _sum))


def _inverse(task):
    return 1 / task


def test_a_worker_may_be_killed(cluster, rng):
    table = table_of(rng)
    keeps = (Keep(0, "ranks", mirrored=True, limit=6), Keep(1, "affine", mirrored=True, limit=None))
    scorer = Scorer(space_of(table), table.response, (T0, XI), "free", keeps)
    workers = list(cluster._client().run(os.getpid).values())

    def kill(_):
        if workers:
            os.kill(workers.pop(), signal.SIGKILL)
            workers.clear()

    found = streamed(scorer, cluster, 2, Course(tell=kill))
    expected = streamed(scorer, Threads(1), 10**6)
    assert not workers
    assert (found.scored, found.lost) == (expected.scored, expected.lost)
    pairs = [(final_classes(a.kept[0], scorer.space, 3), a.kept[1]) for a in (found, expected)]
    for one, other in zip(*pairs, strict=True):
        for field in fields(Kept):
            assert getattr(one, field.name).tobytes() == getattr(other, field.name).tobytes()


def test_without_dask_the_line_to_type_is_told(frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(OptionError, match=r"pip install 'symscreen\[dask\]'"):
        symscreen.screen(frame, backend="dask", **OPTIONS)


def test_a_scheduler_that_does_not_answer_is_refused(frame, monkeypatch):
    pytest.importorskip("distributed", reason="Dask is an extra")
    monkeypatch.setattr("symscreen.backends.dask._PATIENCE", "1s")
    with pytest.raises(OptionError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        symscreen.screen(frame, scheduler="tcp://127.0.0.1:9", **OPTIONS)
