from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from dataclasses import fields
from threading import Thread

import pandas as pd
import pytest
from helpers.forked import get_fork_context
from helpers.requirements import needs, require
from helpers.screening_oracles import space_of, table_of

import symscreen
from symscreen.backends import Dask, Threads
from symscreen.backends.dask import check_versions, connect_client
from symscreen.errors import BackendError, OptionError
from symscreen.screeners import T0, XI
from symscreen.screening.run_control import RunControl
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
from symscreen.screening.scoring.final_classes import finalize_features
from symscreen.screening.scoring.streaming import score_stream
from symscreen.screening.scoring.top_features import FeatureTable

OPTIONS = {"layers": "ub", "screener": "t0,xi", "top": 5, "chunk_size": 40}


@pytest.fixture(scope="module")
def cluster():
    require("distributed")
    import dask
    from distributed.utils import get_mp_context

    # The workers are forked from one process, which has imported what they need.
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context()
        get_fork_context("distributed")
        backend = Dask(2)
        yield backend
        backend.close()


def _plain(result):
    record = {name: value for name, value in result.record.items() if name != "options"}
    return record, result.table


@pytest.mark.slow
def test_workers_give_what_threads_give(cluster, frame):
    cluster._get_client()
    address = cluster._resources["cluster"].scheduler_address
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


@pytest.mark.slow
def test_what_scores_travels_once_and_few_tasks_are_under_way(cluster):
    sent, begun = [], []
    function, merge = _square, _sum
    for stage in (range(3), range(3, 60)):
        for count, part in cluster.map_reduce(function, list(stage), merge):
            begun.append(count)
            sent.append(id(cluster._resources["sent"][1]))
            assert part >= 0
    assert sum(begun) == 60
    assert len(set(sent)) == 1


def _square(task):
    return task * task


def _sum(parts):
    return sum(parts)


def test_an_error_on_a_worker_is_raised_here(cluster):
    with pytest.raises(ZeroDivisionError):
        list(cluster.map_reduce(_inverse, [2, 1, 0], _sum))


def _inverse(task):
    return 1 / task


@pytest.mark.slow
def test_a_worker_may_be_killed(cluster, rng):
    table = table_of(rng)
    keeps = (TopKSpec(0, "ranks", mirrored=True, limit=6), TopKSpec(1, "affine", mirrored=True, limit=None))
    scorer = Scorer(space_of(table), table.target, (T0, XI), "free", keeps)
    workers = list(cluster._get_client().run(os.getpid).values())

    def kill(_):
        if workers:
            os.kill(workers.pop(), signal.SIGKILL)
            workers.clear()

    found = score_stream(scorer, cluster, 2, RunControl(on_progress=kill))
    expected = score_stream(scorer, Threads(1), 10**6)
    assert not workers
    assert (found.n_scored, found.n_invalid) == (expected.n_scored, expected.n_invalid)
    pairs = [
        (finalize_features(a.top_features[0], scorer.space, 3), a.top_features[1]) for a in (found, expected)
    ]
    for one, other in zip(*pairs, strict=True):
        for field in fields(FeatureTable):
            assert getattr(one, field.name).tobytes() == getattr(other, field.name).tobytes()


def test_without_dask_the_line_to_type_is_told(frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(OptionError, match=r"pip install 'symscreen\[dask\]'"):
        symscreen.screen(frame, backend="dask", **OPTIONS)


@pytest.mark.parametrize(
    "address",
    [
        "",
        " ",
        "foo",
        "tcp://",
        "tcp://a",
        "tcp://a:0",
        "tcp://a:65536",
        "tcp://a:99999999999",
        "tcp://a:-1",
        "tcp://a:٣",
        "tcp://a:1/x",
        "tcp://a b:1",
        "http://a:1",
        "gopher://x",
        "/home/scheduler.json",
        "scheduler.json",
        "file:///etc/passwd",
        "inproc://",
        "inproc://1/2/3",
        "inproc://127.0.0.1/OURS",  # the number of this process
        "inproc://127.0.0.1/OURS/x",
        "tcp://[::1:1",
        "a:1\nb:2",
        "\x1b[2J:1",
        "x" * 5000 + ":1",
    ],
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(OptionError, match=r"^scheduler is .*; give its address, such as tcp://") as refused:
        Dask(1, address.replace("OURS", str(os.getpid())))
    assert str(refused.value).isprintable()


@pytest.fixture
def impatient(monkeypatch):
    require("distributed")
    # a scheduler that is there answers within a second, even on a busy machine
    for name, seconds in {"_CONNECT": 1.0, "_FIRST_WORKER": 0.5, "_NO_WORKERS": 0.5}.items():
        monkeypatch.setattr(f"symscreen.backends.dask.{name}_TIMEOUT_S", seconds)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("tcp://127.0.0.1:9", r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        ("no.such.host.invalid:8786", "no Dask scheduler answers at no.such.host.invalid:8786"),
        ("tls://127.0.0.1:9", "needs certificates"),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_a_scheduler_that_does_not_answer_is_refused(frame, address, words):
    with pytest.raises(OptionError, match=words):
        symscreen.screen(frame, scheduler=address, **OPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 200 OK\r\n\r\n", b"\x02" + bytes(200), b"\xff" * 4096])
@pytest.mark.usefixtures("impatient")
def test_what_answers_otherwise_than_a_scheduler_is_refused(frame, says, capfd):
    with socket.create_server(("127.0.0.1", 0)) as server:
        answers = Thread(target=_say, args=(server, says), daemon=True)
        answers.start()
        with pytest.raises(OptionError, match="no Dask scheduler answers at"):
            symscreen.screen(frame, scheduler="tcp://{}:{}".format(*server.getsockname()), **OPTIONS)
        server.shutdown(socket.SHUT_RDWR)  # ends the wait for a caller, which closing alone does not
        answers.join(10)
        assert not answers.is_alive()
    assert not capfd.readouterr().err


def _say(server, words):
    # The callers stay connected until the server stops. Then all are closed: an open socket warns when freed.
    with suppress(OSError), ExitStack() as callers:
        while True:
            caller = callers.enter_context(server.accept()[0])
            with suppress(OSError):
                caller.sendall(words)


@pytest.mark.usefixtures("impatient")
@pytest.mark.filterwarnings(
    "ignore:unclosed <socket:ResourceWarning"
)  # distributed's own, if it closes at once
def test_a_scheduler_without_workers_is_refused(frame):
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty:
        address = empty.scheduler_address
        with pytest.raises(OptionError, match="has no workers: start some"):
            symscreen.screen(frame, scheduler=address, **OPTIONS)


@pytest.mark.usefixtures("impatient")
def test_a_worker_is_no_scheduler(cluster, frame):
    (worker, *_) = cluster._get_client().ncores()
    with pytest.raises(OptionError, match="is a Dask 'Worker', not a scheduler"):
        symscreen.screen(frame, scheduler=worker, **OPTIONS)


@pytest.mark.usefixtures("impatient")
@pytest.mark.slow
def test_a_cluster_in_this_process_is_reached_and_one_that_is_not_there_refused(frame, capfd):
    distributed = require("distributed")
    known = set(distributed.Client._instances)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=50
    ) as here:
        theirs = symscreen.screen(frame, scheduler=here.scheduler_address, **OPTIONS)
        pd.testing.assert_frame_equal(theirs.table, symscreen.screen(frame, jobs=1, **OPTIONS).table)
        with pytest.raises(OptionError, match="is a Dask 'Worker', not a scheduler"):
            connect_client(here.workers[0].address)
        gone = here.scheduler_address
    for address in (gone, f"inproc://1.2.3.4/{os.getpid()}/1"):
        with pytest.raises(OptionError, match="no Dask scheduler answers at inproc"):
            connect_client(address)
    assert all(client.status == "closed" for client in set(distributed.Client._instances) - known)
    assert not capfd.readouterr().err


def test_workers_that_cannot_run_what_is_asked_are_refused(cluster, frame):
    client = cluster._get_client()
    address = cluster._resources["cluster"].scheduler_address
    client.run(_hide)
    try:
        with pytest.raises(OptionError, match=r"cannot run symscreen .*No module named 'symscreen'"):
            symscreen.screen(frame, scheduler=address, **OPTIONS)
    finally:
        client.run(_show)
    with pytest.raises(BackendError, match="and this process 9: install the same version on both"):
        check_versions("tcp://a:1", {"symscreen": "8"}, {"symscreen": "9"})


def _hide():
    class Hidden:
        @staticmethod
        def find_spec(name, path=None, target=None):
            del path, target
            if name.partition(".")[0] == "symscreen":
                raise ModuleNotFoundError("No module named 'symscreen'", name="symscreen")

    sys.meta_path.insert(0, Hidden)
    sys.hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name[:9] == "symscreen"}


def _show():
    sys.meta_path.pop(0)
    sys.modules.update(sys.hidden)


# the test of one that came late: what a worker is asked says which versions it needs
@pytest.mark.slow
def test_a_worker_that_came_later_is_looked_at_too(cluster, monkeypatch):
    monkeypatch.setattr("symscreen.backends.dask.read_versions", lambda: {"symscreen": "9"})
    with pytest.raises(BackendError, match="and this process 9"):
        list(cluster.map_reduce(_square, [1, 2], _sum))


ALONE = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", silence_logs=50
    )
    print(cluster.scheduler_address, flush=True)
    time.sleep(300)
"""


@pytest.mark.slow
@needs("posix")
@pytest.mark.usefixtures("impatient")
def test_a_scheduler_that_is_killed_ends_the_run_in_one_line_and_the_checkpoint_stays(frame, tmp_path, capfd):
    (tmp_path / "alone.py").write_text(ALONE)
    command = [sys.executable, str(tmp_path / "alone.py")]
    theirs = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # Dask warns of slow disks
        text=True,
        start_new_session=True,
    )
    try:
        address = theirs.stdout.readline().strip()

        def kill(_):
            with suppress(ProcessLookupError):
                os.killpg(theirs.pid, signal.SIGKILL)

        asked = OPTIONS | {"chunk_size": 20, "checkpoint": tmp_path / "kept"}
        with pytest.raises(BackendError, match="was lost; restart it: with checkpoint=") as lost:
            symscreen.screen(frame, scheduler=address, on_progress=kill, **asked)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(theirs.pid, signal.SIGKILL)
        theirs.wait()
        theirs.stdout.close()
    assert "\n" not in str(lost.value)
    assert not capfd.readouterr().err
    on = symscreen.screen(frame, **asked)
    assert on.record["options"]["run"]["resumed_chunks"] > 0
    pd.testing.assert_frame_equal(on.table, symscreen.screen(frame, **OPTIONS).table, check_exact=True)
