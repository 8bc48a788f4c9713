from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.cli import verbs
from symscreen.errors import OutputError
from symscreen.expansion import Fate
from symscreen.pipeline import checkpoint
from symscreen.pipeline.checkpoint import opened, state_bytes, state_of
from symscreen.result import Kept, Seen, Streamed, none_kept
from symscreen.statistics.tally import tally_of

OPTIONS = {"layers": "ub", "top": 4, "p_values": True, "permutations": 10, "jobs": 1, "chunk_size": 60}
COMMAND = ["--layers", "ub", "--top", "4", "--jobs", "1", "--chunk-size", "60", "--quiet"]

# Runs a screen that keeps its state after every chunk, and dies at the count-th call of a function,
# or at the one whose last argument is a file of that name.
KILLED = """
import importlib, os, signal, sys
from symscreen.pipeline import checkpoint
from symscreen.cli import verbs
checkpoint._EVERY, checkpoint._SHARE = 0.0, 1e9
module, name, count = sys.argv[1:4]
home = importlib.import_module(module)
for part in name.split(".")[:-1]:
    home = getattr(home, part)
own, calls = getattr(home, name.split(".")[-1]), []
def deadly(*given, **named):
    calls.append(1)
    if str(len(calls)) == count or (given and str(given[-1]).endswith("/" + count)):
        os.kill(os.getpid(), signal.SIGKILL)
    return own(*given, **named)
setattr(home, name.split(".")[-1], deadly)
sys.exit(verbs._run(sys.argv[4:]))
"""


@pytest.fixture
def data(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def _of(result):
    record = {name: value for name, value in result.record.items() if name != "options"}
    return json.dumps(record), result.table.to_csv()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize(
    ("function", "count", "resumed"),
    [
        (("symscreen.pipeline.growth", "expand"), 1, 0),
        (("symscreen.result.merging", "Merged.add"), 9, 8),
        (("os", "fsync"), 7, 5),  # run.json takes the first; a state is half written
        (("pathlib", "Path.replace"), "out.csv", None),  # between the record and the ranking
    ],
)
def test_a_killed_run_goes_on_and_gives_the_same_bytes(data, tmp_path, function, count, resumed):
    kept, out = str(tmp_path / "kept"), str(tmp_path / "out.csv")
    command = ["screen", str(data), *COMMAND, "--checkpoint", kept, "--out", out]
    killed = [sys.executable, "-c", KILLED, *function, str(count), *command]
    assert subprocess.run(killed, capture_output=True, check=False).returncode == -9
    assert not Path(out).exists()
    assert verbs._run(command) == 0
    assert verbs._run(["screen", str(data), *COMMAND, "--out", str(tmp_path / "whole.csv")]) == 0
    assert Path(out).read_bytes() == (tmp_path / "whole.csv").read_bytes()
    found, whole = (json.loads((tmp_path / f"{one}.csv.json").read_bytes()) for one in ("out", "whole"))
    run = found.pop("options")["run"]
    whole.pop("options")
    assert found.pop("digest") != whole.pop("digest")  # it is of the options, too
    assert found == whole
    assert run["resumed_chunks"] == (run["chunks"] if resumed is None else resumed)
    assert not [one for one in Path(kept).iterdir() if one.name.startswith(".")]


@pytest.mark.parametrize("screener", ["t0", "t0,xi,lasso"])
def test_an_interrupted_run_goes_on_with_other_jobs_and_chunks(frame, tmp_path, screener):
    asked = OPTIONS | {"screener": screener}

    def interrupt(standing):
        if standing.done > 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        symscreen.screen(frame, checkpoint=tmp_path / "kept", on_progress=interrupt, **asked)
    on = symscreen.screen(frame, checkpoint=tmp_path / "kept", **asked | {"jobs": 2, "chunk_size": 37})
    assert _of(on) == _of(symscreen.screen(frame, **asked))
    run = on.record["options"]["run"]
    assert 0 < run["resumed_chunks"] < run["chunks"]
    assert any("went on from a checkpoint" in notice for notice in on.notices)


def test_each_round_has_its_own_state(frame, tmp_path):
    asked = {"layers": "b", "top": 3, "rounds": 2, "chunk_size": 20, "jobs": 1}
    first = symscreen.screen(frame, checkpoint=tmp_path / "kept", **asked)
    again = symscreen.screen(frame, checkpoint=tmp_path / "kept", **asked)
    assert len(list((tmp_path / "kept").glob("*.state"))) == 2
    assert again.record["options"]["run"]["resumed_chunks"] == first.record["options"]["run"]["chunks"]
    assert _of(again) == _of(first) == _of(symscreen.screen(frame, **asked))


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"top": 5}, "options.top was 4, now 5"),
        ({"seed": 3}, "options.seed was 0, now 3"),
        ({"unary": "sin"}, "grammar.unary was "),
        ({"also": "x1*x2*x3"}, "options.also was"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(frame, tmp_path, change, difference):
    symscreen.screen(frame, checkpoint=tmp_path, **OPTIONS)
    with pytest.raises(OutputError, match=difference):
        symscreen.screen(frame, checkpoint=tmp_path, **OPTIONS | change)


def test_a_checkpoint_of_other_data_or_another_version_is_refused(frame, tmp_path, monkeypatch):
    symscreen.screen(frame, checkpoint=tmp_path, **OPTIONS)
    with pytest.raises(OutputError, match=r"data\.digest was"):
        symscreen.screen(frame.assign(x1=frame.x1 + 1), checkpoint=tmp_path, **OPTIONS)
    monkeypatch.setattr("symscreen.pipeline.running.metadata.version", lambda _: "9.9")
    with pytest.raises(OutputError, match=r'versions\.numba was "[0-9.]+", now "9\.9"'):
        symscreen.screen(frame, checkpoint=tmp_path, **OPTIONS)


@pytest.mark.parametrize("harm", ["cut", "altered", "other", "empty"])
def test_a_damaged_state_is_refused_in_one_line(data, tmp_path, capsys, harm):
    command = ["screen", str(data), *COMMAND, "--checkpoint", str(tmp_path / "kept")]
    assert verbs._run(command) == 0
    (state,) = (tmp_path / "kept").glob("*.state")
    content = bytearray(state.read_bytes())
    if harm == "altered":
        content[len(content) // 2] ^= 1
    elif harm == "other":
        content[30] ^= 1
    state.write_bytes({"cut": content[:-9], "empty": b""}.get(harm, bytes(content)))
    capsys.readouterr()
    assert verbs._run(command) == 2
    complaint = capsys.readouterr().err
    assert "the checkpoint is damaged" in complaint
    assert complaint.count("\n") == 1


def test_an_altered_run_json_is_refused(tmp_path):
    with opened(tmp_path, {"seed": 0, "units": None}):
        pass
    about = tmp_path / "run.json"
    about.write_bytes(about.read_bytes().replace(b"units", b"unity"))
    with pytest.raises(OutputError, match="was altered"), opened(tmp_path, {"seed": 0, "units": None}):
        pass


def test_a_folder_of_other_things_is_refused_and_so_is_one_in_use(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(OutputError, match=r"holds 'thesis\.txt' and is no checkpoint"), opened(tmp_path, {}):
        pass
    pytest.importorskip("fcntl", reason="this system has no such locks")
    with opened(tmp_path / "one", {}), pytest.raises(OutputError, match="another run uses"):
        opened(tmp_path / "one", {}).__enter__()
    with pytest.raises(OutputError, match="cannot keep a checkpoint there"), opened(tmp_path / "a" / "b", {}):
        pass


def test_a_state_that_cannot_be_written_does_not_end_the_run(frame, tmp_path, monkeypatch):
    own = checkpoint.write_whole

    def full(path, content):
        if path.suffix == ".state":
            raise OutputError(f"{path}: cannot be written (No space left on device)")
        own(path, content)

    monkeypatch.setattr(checkpoint, "write_whole", full)
    found = symscreen.screen(frame, checkpoint=tmp_path / "kept", **OPTIONS)
    assert _of(found) == _of(symscreen.screen(frame, **OPTIONS))
    assert "No space left on device" in found.notices[-1]


def _state(rng, size):
    plain = none_kept(2)
    shapes = {field.name: getattr(plain, field.name) for field in fields(Kept)}
    arrays = {
        name: rng.integers(0, 9, (size, *like.shape[1:])).astype(like.dtype) for name, like in shapes.items()
    }
    seen = Seen(tally_of(rng.uniform(0.001, 1, 30)), rng.uniform(0, 1, 5))
    lost = {Fate.UNDEFINED: 3, Fate.CONSTANT: 0}
    return Streamed((Kept(**arrays), plain), 70, lost, seen, done=80, total=90, chunks=7, resumed=2)


def test_a_state_reads_back_as_it_was(rng):
    state = _state(rng, 11)
    back = state_of(state_bytes(state, "run"), "run")
    assert (back.scored, back.done, back.total, back.chunks) == (70, 80, 90, 7)
    assert list(back.lost.items()) == list(state.lost.items())
    for one, other in zip(back.kept, state.kept, strict=True):
        for field in fields(Kept):
            assert getattr(one, field.name).tobytes() == getattr(other, field.name).tobytes()
    assert np.array_equal(back.seen.tally.keys, state.seen.tally.keys)
    assert np.array_equal(back.seen.tally.counts, state.seen.tally.counts)
    assert np.array_equal(back.seen.best, state.seen.best)
    assert (
        state_of(state_bytes(replace(state, seen=Seen(tally_of(np.zeros(0)), None)), "run"), "run").seen.best
        is None
    )


def test_a_state_of_another_run_or_shape_is_refused(rng):
    with pytest.raises(ValueError, match="not of this run"):
        state_of(state_bytes(_state(rng, 2), "run"), "other")
    state = _state(rng, 2)
    object.__setattr__(state.kept[0], "number", np.zeros(2))
    with pytest.raises(ValueError, match="its number has another shape"):
        state_of(state_bytes(state, "run"), "run")


def test_a_time_limit_ends_in_order_and_the_same_call_goes_on(frame, tmp_path, monkeypatch):
    asked = OPTIONS | {"checkpoint": tmp_path / "kept", "time_limit": "1h"}
    clock = [0.0]
    monkeypatch.setattr("symscreen.pipeline.options_running.monotonic", lambda: clock[0])
    monkeypatch.setattr("symscreen.result.stream.monotonic", lambda: clock[0])

    def tick(standing):
        clock[0] += 3601.0 * (standing.done >= 180)

    part = symscreen.screen(frame, on_progress=tick, **asked)
    partial = part.record["partial"]
    assert partial["candidates_looked_at"] == 180 < partial["candidates"]
    assert part.scored <= 180
    assert any(f"180 of {partial['candidates']:,} candidates" in notice for notice in part.notices)
    whole = symscreen.screen(frame, **asked)
    assert "partial" not in whole.record
    assert _of(whole) == _of(symscreen.screen(frame, **OPTIONS))


def test_a_partial_result_is_that_of_the_first_candidates(frame):
    asked = OPTIONS | {"top": "all", "p_values": False, "permutations": None}
    whole = symscreen.screen(frame, **asked)
    part = symscreen.screen(frame, time_limit=1e-9, **asked)
    assert part.record["partial"]["candidates_looked_at"] == 60
    both = part.table.merge(whole.table, on="expression")
    pd.testing.assert_series_equal(both.t0_x, both.t0_y, check_names=False, check_exact=True)
    assert len(both) == len(part) == part.scored
