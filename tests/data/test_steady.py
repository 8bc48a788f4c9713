from __future__ import annotations

import os
import threading
from types import SimpleNamespace

import pytest

from symscreen.data.readers import file_bytes
from symscreen.data.readers.file_bytes import read_stable_file


@pytest.fixture
def path(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"first")
    return tmp_path / "t.csv"


@pytest.fixture
def meanwhile(monkeypatch):
    """Do something while a file is read, or before that, while it is waited for."""

    def arranged(action, during="read_bounded"):
        own = getattr(file_bytes, during)

        def acted(*given):
            content = own(*given)
            action()
            return content

        monkeypatch.setattr(file_bytes, during, acted)

    return arranged


def again(path, dates):
    """Write other bytes of the same number, and put the date of writing back."""
    with path.open("r+b") as file:
        file.write(b"other")
    os.utime(path, ns=dates)


@pytest.mark.parametrize("during", ["read_bounded", "sleep"])
def test_other_bytes_with_the_old_size_and_date_are_noticed(path, meanwhile, during):
    told = path.stat()
    meanwhile(lambda: again(path, (told.st_atime_ns, told.st_mtime_ns)), during)
    assert read_stable_file(path) is None
    assert path.stat().st_mtime_ns == told.st_mtime_ns


def test_a_file_that_another_one_replaces_is_read_as_it_was(path, meanwhile):
    (path.parent / "new").write_bytes(b"second")
    meanwhile(lambda: (path.parent / "new").replace(path))
    assert read_stable_file(path) == b"first"
    assert path.read_bytes() == b"second"


@pytest.mark.parametrize(
    ("ago", "entry", "rest"),
    [(0.0, 9.0, 0.1), (0.04, 9.0, 0.06), (9.0, 0.04, 0.06), (9.0, 9.0, -8.9), (-5.0, 9.0, 0.1)],
)
def test_how_long_a_file_must_still_stand(monkeypatch, ago, entry, rest):
    monkeypatch.setattr(file_bytes, "_QUIET_PERIOD_S", 0.1)
    file = SimpleNamespace(st_mtime=1000.0 - ago, st_ctime=1000.0 - entry)
    assert file_bytes._compute_wait(file, 1000.0) == pytest.approx(rest)


def test_a_writer_that_pauses_is_waited_for_and_noticed(path, monkeypatch):
    monkeypatch.setattr(file_bytes, "_QUIET_PERIOD_S", 5.0)
    begun, over = threading.Event(), threading.Event()

    def write():
        begun.wait()
        path.write_bytes(b"first half, second half")
        over.set()

    def sleep(seconds):
        assert 4.0 < seconds <= 5.0
        begun.set()
        over.wait()

    monkeypatch.setattr(file_bytes, "sleep", sleep)
    writer = threading.Thread(target=write)
    writer.start()
    assert read_stable_file(path) is None
    writer.join()


def test_a_pipe_is_read_once(path):
    pipe = path.with_name("pipe.csv")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"a,y\n1,2\n",))
    writer.start()
    assert read_stable_file(pipe) == b"a,y\n1,2\n"
    writer.join()
