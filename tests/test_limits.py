from __future__ import annotations

import resource
import subprocess
import sys

import pytest
from helpers.requirements import needs

from symscreen import _limits
from symscreen._limits import (
    MemoryLimit,
    check_startup_memory,
    compute_max_resident_bytes,
    read_memory_limits,
)
from symscreen.cli.command import run_command
from symscreen.config.parsing import parse_memory_limit
from symscreen.errors import MemoryLimitError

MILLION = 1_000_000


@pytest.fixture
def system(tmp_path):
    """Lay out what the system tells of a process, and of the control groups it is in."""

    def laid(groups, **files):
        (tmp_path / "proc/self").mkdir(parents=True, exist_ok=True)
        (tmp_path / "proc/self/cgroup").write_text(groups)
        for place, content in files.items():
            folder = tmp_path / "sys/fs/cgroup" / place.replace("_in_", "/").strip("_")
            folder.mkdir(parents=True, exist_ok=True)
            for name, text in content.items():
                (folder / name).write_text(f"{text}\n")
        return tmp_path

    return laid


def second(most, held, idle=0):
    return {"memory.max": most, "memory.current": held, "memory.stat": f"anon 7\ninactive_file {idle}"}


def first(most, held, idle=0):
    return {
        "memory.limit_in_bytes": most,
        "memory.usage_in_bytes": held,
        "memory.stat": f"inactive_file 1\ntotal_inactive_file {idle}",
    }


def test_a_control_group_leaves_what_it_does_not_hold(system):
    root = system("0::/job\n", job=second(500 * MILLION, 200 * MILLION, 50 * MILLION))
    assert read_memory_limits(root) == (
        MemoryLimit(
            "the limit on its control group's memory", 500 * MILLION, 350 * MILLION, counts_addresses=False
        ),
    )
    assert compute_max_resident_bytes(100 * MILLION, root) == 450 * MILLION


def test_a_group_around_it_may_leave_less(system):
    root = system(
        "0::/slurm/step\n",
        slurm=second(300 * MILLION, 250 * MILLION),
        slurm_in_step=second("max", 10 * MILLION),
    )
    assert [room.headroom_bytes for room in read_memory_limits(root)] == [50 * MILLION]


def test_a_container_sees_its_own_group_at_the_top(system):
    root = system("0::/docker/3f2a\n", _=second(800 * MILLION, 900 * MILLION))
    assert [room.headroom_bytes for room in read_memory_limits(root)] == [0]


def test_groups_of_the_first_version(system):
    lines = "9:name=systemd:/x\n4:cpu,memory:/a/b\n3:cpuset:/\n"
    root = system(
        lines,
        memory=first(2**63 - 4096, 5),
        memory_in_a_in_b=first(400 * MILLION, 100 * MILLION, 30 * MILLION),
    )
    assert [room.headroom_bytes for room in read_memory_limits(root)] == [330 * MILLION]


@pytest.mark.parametrize(
    "files", [{}, {"job": {"memory.max": "max"}}, {"job": {"memory.max": "5"}}, {"job": second("?", 1)}]
)
def test_without_a_limit_that_can_be_read_there_is_none(system, files):
    assert read_memory_limits(system("0::/job\nodd line\n", **files)) == ()
    assert compute_max_resident_bytes(1, system("0::/job\n", **files)) is None


def test_a_system_that_tells_nothing_sets_no_limit(tmp_path):
    assert read_memory_limits(tmp_path) == ()


def test_too_little_to_start_with_is_refused_in_one_line(system):
    root = system("0::/job\n", job=second(500 * MILLION, 300 * MILLION))
    with pytest.raises(MemoryLimitError) as caught:
        check_startup_memory(root)
    assert str(caught.value) == (
        "the limit on its control group's memory leaves this process 200.0 MB, and starting takes 314.6 MB "
        "of it: raise that limit"
    )
    check_startup_memory(system("0::/job\n", job=second(900 * MILLION, 300 * MILLION)))


def test_a_limit_is_a_limit_of_max_ram(monkeypatch):
    monkeypatch.setattr("symscreen.config.parsing.compute_max_resident_bytes", lambda held: held + 10**9)
    monkeypatch.setattr("symscreen.config.parsing.read_resident_bytes", lambda: 10**9)
    monkeypatch.setattr("symscreen.config.parsing.get_total_memory", lambda: 10**11)
    assert parse_memory_limit("8GB") == 2 * 10**9
    assert parse_memory_limit("1.5GB") == 1_500_000_000
    assert parse_memory_limit(None) == 1_600_000_000
    monkeypatch.setattr("symscreen.config.parsing.get_total_memory", lambda: None)
    assert parse_memory_limit(None) == 1_600_000_000


def _limited(kind, most, *arguments):
    command = [sys.executable, "-m", "symscreen", *map(str, arguments)]
    done = subprocess.run(
        command,
        preexec_fn=lambda: resource.setrlimit(kind, (most, most)),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@needs("linux")
@pytest.mark.parametrize(
    ("kind", "words"),
    [(resource.RLIMIT_AS, "address space (ulimit -v)"), (resource.RLIMIT_DATA, "data (ulimit -d)")],
)
def test_a_process_of_few_addresses_is_refused_at_once(kind, words):
    status, out, err = _limited(kind, 400 << 20, "screeners")
    assert (status, out) == (2, "")
    assert err.startswith(f"symscreen: the limit on {words} leaves this process ")
    assert err.count("\n") == 1
    assert _limited(kind, 400 << 20, "--help")[0] == 0


@pytest.mark.slow
@needs("linux")
def test_with_addresses_enough_a_screen_gives_the_same_bytes(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    screen = ["screen", tmp_path / "data.csv", "--layers", "ub", "--jobs", "1", "--quiet", "--out"]
    assert (
        _limited(
            resource.RLIMIT_AS,
            _limits._STARTUP_ADDRESS_BYTES + (400 << 20) + (_limits._THREAD_BYTES * 64),
            *screen,
            tmp_path / "a.csv",
        )[0]
        == 0
    )
    assert run_command([str(argument) for argument in (*screen, tmp_path / "b.csv")]) == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
