from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.forked import run_forked
from helpers.forked_runs import run_until_killed
from helpers.requirements import needs, require

import symscreen
from symscreen.cli.command import run_command
from symscreen.errors import OutputError
from symscreen.expansion import CandidateStatus
from symscreen.screening import checkpoint
from symscreen.screening.checkpoint import dump_state, load_state, open_checkpoint
from symscreen.screening.inference.error_control import InferenceState
from symscreen.screening.scoring.streaming import StreamResult
from symscreen.screening.scoring.top_features import FeatureTable, make_empty_features
from symscreen.statistics.inference.p_value_counts import count_p_values

OPTIONS = {"layers": "ub", "top": 4, "p_values": True, "permutations": 10, "jobs": 1, "chunk_size": 60}
COMMAND = ["--layers", "ub", "--top", "4", "--jobs", "1", "--chunk-size", "60", "--quiet"]


@pytest.fixture
def data(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def _of(result):
    record = {name: value for name, value in result.record.items() if name != "options"}
    return json.dumps(record), result.table.to_csv()


@pytest.mark.slow
@needs("posix")
@pytest.mark.parametrize(
    ("function", "count", "resumed"),
    [
        (("symscreen.screening.space_generation", "expand"), 1, 0),
        (("symscreen.screening.scoring.streaming", "StreamAccumulator.add"), 9, 8),
        # run.json takes the first; a state is half written
        (("os", "fsync"), 7, 5),
        # between the record and the ranking
        (("pathlib", "Path.replace"), "out.csv", None),
    ],
)
def test_a_killed_run_goes_on_and_gives_the_same_bytes(data, tmp_path, function, count, resumed):
    kept, out = str(tmp_path / "kept"), str(tmp_path / "out.csv")
    command = ["screen", str(data), *COMMAND, "--checkpoint", kept, "--out", out]
    assert run_forked(run_until_killed, *function, str(count), command) == -9
    assert not Path(out).exists()
    assert run_command(command) == 0
    assert run_command(["screen", str(data), *COMMAND, "--out", str(tmp_path / "whole.csv")]) == 0
    assert Path(out).read_bytes() == (tmp_path / "whole.csv").read_bytes()
    found, whole = (json.loads((tmp_path / f"{one}.csv.json").read_bytes()) for one in ("out", "whole"))
    run = found.pop("options")["run"]
    whole.pop("options")
    assert found.pop("digest") != whole.pop("digest")  # the digest includes the options
    assert found == whole
    assert run["resumed_chunks"] == (run["chunks"] if resumed is None else resumed)
    assert not [one for one in Path(kept).iterdir() if one.name.startswith(".")]


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"screener": "t0,xi,lasso"}, {"groups": "site"}])
def test_an_interrupted_run_goes_on_with_other_jobs_and_chunks(frame, tmp_path, changes):
    asked = OPTIONS | changes
    if "groups" in changes:  # p-values come from permutations
        frame["site"] = np.arange(60) // 5

    def interrupt(standing):
        if standing.n_done > 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        symscreen.screen(frame, checkpoint=tmp_path / "kept", on_progress=interrupt, **asked)
    on = symscreen.screen(frame, checkpoint=tmp_path / "kept", **asked | {"jobs": 2, "chunk_size": 37})
    assert _of(on) == _of(symscreen.screen(frame, **asked))
    run = on.record["options"]["run"]
    assert 0 < run["resumed_chunks"] < run["chunks"]
    assert any("resumed from a checkpoint" in notice for notice in on.notices)


def test_each_round_has_its_own_state(frame, tmp_path):
    asked = {"layers": "b", "top": 3, "rounds": 2, "chunk_size": 20, "jobs": 1}
    first = symscreen.screen(frame, checkpoint=tmp_path / "kept", **asked)
    again = symscreen.screen(frame, checkpoint=tmp_path / "kept", **asked)
    assert len(list((tmp_path / "kept").glob("*.state"))) == 2
    assert again.record["options"]["run"]["resumed_chunks"] == first.record["options"]["run"]["chunks"]
    assert _of(again) == _of(first) == _of(symscreen.screen(frame, **asked))


@pytest.mark.slow
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
    monkeypatch.setattr("symscreen.screening.screen.metadata.version", lambda _: "9.9")
    with pytest.raises(OutputError, match=r'versions\.numba was "[0-9.]+", now "9\.9"'):
        symscreen.screen(frame, checkpoint=tmp_path, **OPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["cut", "altered", "other", "empty"])
def test_a_damaged_state_is_refused_in_one_line(data, tmp_path, capsys, harm):
    command = ["screen", str(data), *COMMAND, "--checkpoint", str(tmp_path / "kept")]
    assert run_command(command) == 0
    (state,) = (tmp_path / "kept").glob("*.state")
    content = bytearray(state.read_bytes())
    if harm == "altered":
        content[len(content) // 2] ^= 1
    elif harm == "other":
        content[30] ^= 1
    state.write_bytes({"cut": content[:-9], "empty": b""}.get(harm, bytes(content)))
    capsys.readouterr()
    assert run_command(command) == 2
    complaint = capsys.readouterr().err
    assert "the checkpoint is damaged" in complaint
    assert complaint.count("\n") == 1


def test_an_altered_run_json_is_refused(tmp_path):
    with open_checkpoint(tmp_path, {"seed": 0, "units": None}):
        pass
    about = tmp_path / "run.json"
    about.write_bytes(about.read_bytes().replace(b"units", b"unity"))
    with (
        pytest.raises(OutputError, match="was altered"),
        open_checkpoint(tmp_path, {"seed": 0, "units": None}),
    ):
        pass


def test_a_folder_of_other_things_is_refused_and_so_is_one_in_use(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with (
        pytest.raises(OutputError, match=r"contains 'thesis\.txt' and is not a checkpoint"),
        open_checkpoint(tmp_path, {}),
    ):
        pass
    require("fcntl")
    with open_checkpoint(tmp_path / "one", {}), pytest.raises(OutputError, match="another run is using"):
        open_checkpoint(tmp_path / "one", {}).__enter__()
    with (
        pytest.raises(OutputError, match="cannot keep a checkpoint there"),
        open_checkpoint(tmp_path / "a" / "b", {}),
    ):
        pass


@pytest.mark.slow
def test_a_state_that_cannot_be_written_does_not_end_the_run(frame, tmp_path, monkeypatch):
    own = checkpoint.write_atomically

    def full(path, content):
        if path.suffix == ".state":
            raise OutputError(f"{path}: cannot be written (No space left on device)")
        own(path, content)

    monkeypatch.setattr(checkpoint, "write_atomically", full)
    found = symscreen.screen(frame, checkpoint=tmp_path / "kept", **OPTIONS)
    assert _of(found) == _of(symscreen.screen(frame, **OPTIONS))
    assert "No space left on device" in found.notices[-1]


def _state(rng, size):
    plain = make_empty_features(2)
    shapes = {field.name: getattr(plain, field.name) for field in fields(FeatureTable)}
    arrays = {
        name: rng.integers(0, 9, (size, *like.shape[1:])).astype(like.dtype) for name, like in shapes.items()
    }
    seen = InferenceState(count_p_values(rng.uniform(0.001, 1, 30)), rng.uniform(0, 1, 5))
    lost = {CandidateStatus.UNDEFINED: 3, CandidateStatus.CONSTANT: 0}
    return StreamResult(
        (FeatureTable(**arrays), plain), 70, lost, seen, n_done=80, n_total=90, n_chunks=7, n_resumed_chunks=2
    )


def test_a_state_reads_back_as_it_was(rng):
    state = _state(rng, 11)
    back = load_state(dump_state(state, "run"), "run")
    assert (back.n_scored, back.n_done, back.n_total, back.n_chunks) == (70, 80, 90, 7)
    assert list(back.n_invalid.items()) == list(state.n_invalid.items())
    for one, other in zip(back.top_features, state.top_features, strict=True):
        for field in fields(FeatureTable):
            assert getattr(one, field.name).tobytes() == getattr(other, field.name).tobytes()
    assert np.array_equal(back.inference_state.p_value_counts.keys, state.inference_state.p_value_counts.keys)
    assert np.array_equal(
        back.inference_state.p_value_counts.counts, state.inference_state.p_value_counts.counts
    )
    assert np.array_equal(back.inference_state.max_statistics, state.inference_state.max_statistics)
    assert (
        load_state(
            dump_state(
                replace(state, inference_state=InferenceState(count_p_values(np.zeros(0)), None)), "run"
            ),
            "run",
        ).inference_state.max_statistics
        is None
    )


def test_counts_and_numbers_beyond_four_billion_read_back(rng):
    state = _state(rng, 11)
    features = state.top_features[0]
    numbers = np.sort(rng.integers(2**33, 2**40, len(features)))
    seen = state.inference_state.p_value_counts
    large = replace(
        state,
        top_features=(replace(features, number=numbers), state.top_features[1]),
        n_scored=2**41,
        n_done=2**42,
        n_total=2**43,
        n_invalid={CandidateStatus.UNDEFINED: 2**42 - 2**41},
        inference_state=InferenceState(
            replace(seen, counts=seen.counts + 2**35), state.inference_state.max_statistics
        ),
    )
    back = load_state(dump_state(large, "run"), "run")
    assert (back.n_scored, back.n_done, back.n_total) == (2**41, 2**42, 2**43)
    assert back.n_invalid == large.n_invalid
    assert back.top_features[0].number.tolist() == numbers.tolist()
    assert back.inference_state.p_value_counts.total == seen.total + 2**35 * len(seen.counts)


def test_a_state_of_another_run_or_shape_is_refused(rng):
    with pytest.raises(ValueError, match="not of this run"):
        load_state(dump_state(_state(rng, 2), "run"), "other")
    state = _state(rng, 2)
    object.__setattr__(state.top_features[0], "number", np.zeros(2))
    with pytest.raises(ValueError, match="its number has another type or shape"):
        load_state(dump_state(state, "run"), "run")


@pytest.mark.slow
def test_a_time_limit_ends_in_order_and_the_same_call_goes_on(frame, tmp_path, monkeypatch):
    asked = OPTIONS | {"checkpoint": tmp_path / "kept", "time_limit": "1h"}
    clock = [0.0]
    monkeypatch.setattr("symscreen.screening.run_control.monotonic", lambda: clock[0])
    monkeypatch.setattr("symscreen.screening.scoring.streaming.monotonic", lambda: clock[0])

    def tick(standing):
        clock[0] += 3601.0 * (standing.n_done >= 180)

    part = symscreen.screen(frame, on_progress=tick, **asked)
    partial = part.record["partial"]
    assert partial["candidates_looked_at"] == 180 < partial["candidates"]
    assert part.n_scored <= 180
    assert any(f"180 of {partial['candidates']:,} candidates" in notice for notice in part.notices)
    whole = symscreen.screen(frame, **asked)
    assert "partial" not in whole.record
    assert _of(whole) == _of(symscreen.screen(frame, **OPTIONS))


@pytest.mark.slow
def test_a_partial_result_is_that_of_the_first_candidates(frame):
    asked = OPTIONS | {"top": "all", "p_values": False, "permutations": None}
    whole = symscreen.screen(frame, **asked)
    part = symscreen.screen(frame, time_limit=1e-9, **asked)
    assert part.record["partial"]["candidates_looked_at"] == 60
    both = part.table.merge(whole.table, on="expression")
    pd.testing.assert_series_equal(both.t0_x, both.t0_y, check_names=False, check_exact=True)
    assert len(both) == len(part) == part.n_scored


def _sealed(path, arrays):
    """Rewrite a state file with a matching checksum."""
    run = path.read_bytes().split(b" ")[2]
    content = io.BytesIO()
    np.savez(content, **arrays)
    body = content.getvalue()
    digest = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(b"symscreen-checkpoint 1 " + run + b" " + digest + b"\n" + body)


def _put(place, value):
    def change(values):
        values = values.copy()
        values.ravel()[place] = value
        return values

    return change


def _times(factor):
    return lambda values: values * np.array(factor).astype(values.dtype)


CRAFTED = {
    "a number too large": ("0_number", _put(0, 10**12)),
    "a negative number": ("0_number", _put(0, -1)),
    "one number for all": ("0_number", _times(0)),
    "another feature": ("0_number", lambda values: np.where(values == values[0], values[0] + 1, values)),
    "numbers as floats": ("0_number", lambda values: values.astype(float)),
    "a loss that is NaN": ("0_loss", _put(0, np.nan)),
    "no loss": ("0_loss", _times(0)),
    "an infinite loss": ("0_loss", _put(0, -np.inf)),
    "other signatures": ("0_signature", _put(0, 12345)),
    "one signature": ("0_signature", _times(0)),
    "other keys": ("0_keys", _times(0)),
    "keys of another shape": ("0_keys", lambda values: values[:, :1]),
    "no complexity": ("0_complexity", _times(0)),
    "another direction": ("0_direction", _times(-1)),
    "a direction of 5": ("0_direction", _put(0, 5)),
    "no correlation": ("0_pearson", _times(0)),
    "a correlation that is NaN": ("0_pearson", _put(0, np.nan)),
    "scores that are NaN": ("0_scores", lambda values: values * np.nan),
    "better scores": ("0_scores", _times(0.5)),
    "more scores": ("0_scores", lambda values: np.hstack((values, values))),
    "empty classes": ("0_class_size", _times(0)),
    "a negative class": ("0_class_size", _put(0, -4)),
    "huge classes": ("0_class_size", lambda values: values * 0 + 2**62),
    "more done than there is": ("figures", _put(2, 10**15)),
    "less than nothing done": ("figures", _put(2, -5)),
    "nothing done": ("figures", _put(2, 0)),
    "fewer done than scored": ("figures", _put(2, 60)),
    "fewer scored than done": ("figures", _put(1, 60)),
    "fewer than none scored": ("figures", _put(1, -5)),
    "another total": ("figures", _put(3, 5)),
    "no lists": ("figures", _put(0, 0)),
    "fewer lists than none": ("figures", _put(0, -1)),
    "10¹⁵ lists": ("figures", _put(0, 10**15)),
    "a negative count of chunks": ("figures", _put(4, -1)),
    "no chunks": ("figures", _put(4, 0)),
    "figures cut short": ("figures", lambda values: values[:3]),
    "figures that are NaN": ("figures", lambda values: values * np.nan),
    "figures nested": ("figures", lambda values: values[None]),
    "an unknown reason": ("lost", lambda _: np.array([[99, 1]])),
    "a reason twice": ("lost", lambda _: np.array([[3, 0], [3, 0]])),
    "a negative loss": ("lost", lambda _: np.array([[3, -1]])),
    "reasons as floats": ("lost", lambda values: values + 0.5),
    "p-values as floats": ("tally_keys", lambda values: values.astype(float)),
    "p-values below none": ("tally_keys", _put(0, -7)),
    "p-values above one": ("tally_keys", _put(-1, 2**31 - 1)),
    "p-values in disorder": ("tally_keys", lambda values: values[::-1].copy()),
    "no p-values": ("tally_keys", lambda values: values[:0]),
    "p-values of fewer features": ("tally_counts", _put(0, 0)),
    "more p-values than features": ("tally_counts", lambda values: values + 1),
    "a count that runs over": ("tally_counts", lambda values: values * 0 + 2**62),
    "counts of another shape": ("tally_counts", lambda _: np.zeros((3, 3), dtype=np.int64)),
    "permutations that are NaN": ("seen_best", _put(0, np.nan)),
    "infinite permutations": ("seen_best", _put(0, np.inf)),
    "permutations of nothing": ("seen_best", _put(0, -np.inf)),
    "permutations out of range": ("seen_best", _put(0, 1e300)),
    "fewer permutations": ("seen_best", lambda values: values[:3]),
    "no permutations": ("seen_best", None),
    "no list": ("0_number", None),
    "no figures": ("figures", None),
    "something else": ("readme", lambda _: np.zeros(3)),
    "another list": ("1_number", lambda _: np.zeros(3, dtype=np.int64)),
}


CRAFTED_BY_PERMUTATIONS = {
    "levels as floats": ("level_levels", lambda values: values.astype(float)),
    "levels below none": ("level_levels", _put(0, -1)),
    "levels above all": ("level_levels", _put(-1, 2**31 - 1)),
    "levels in disorder": ("level_levels", lambda values: values[::-1].copy()),
    "no levels": ("level_levels", None),
    "fewer features": ("level_observed", _times(0)),
    "a negative count of features": ("level_observed", lambda values: values - np.eye(1, len(values))[0] * 9),
    "more permutations": ("level_permuted", lambda values: values + 1),
    "a count that runs over": ("level_permuted", lambda values: values * 0 + 2**62),
    "counts of another shape": ("level_permuted", lambda values: values[None]),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The state file of a complete run, its arrays, and a function that reads it."""
    return _store(tmp_path_factory.mktemp("stored"))


@pytest.fixture(scope="module")
def stored_by_permutations(tmp_path_factory):
    """The same of a run whose p-values come from permutations."""
    return _store(tmp_path_factory.mktemp("stored"), groups="site")


def _store(folder, **options):
    asked = []
    rng = np.random.default_rng(7)
    x1, x2 = rng.uniform(0.5, 2.0, (2, 60))
    frame = pd.DataFrame({"x1": x1, "x2": x2, "target": x1**2 + x2 + rng.normal(0, 0.1, 60)})
    if "groups" in options:
        frame["site"] = np.arange(60) // 5
    own = checkpoint.CheckpointStore.load

    def found(self, *given):
        asked.append(lambda: own(self, *given))
        return own(self, *given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(checkpoint.CheckpointStore, "load", found)
        symscreen.screen(frame, checkpoint=folder / "kept", **OPTIONS, **options)
    (path,) = (folder / "kept").glob("*.state")
    with np.load(io.BytesIO(path.read_bytes().partition(b"\n")[2])) as held:
        arrays = dict(held)
    return path, arrays, asked[0]


def test_an_untouched_state_that_was_sealed_anew_is_read(stored):
    path, arrays, read = stored
    _sealed(path, arrays)
    assert read().n_done == read().n_total > 0


@pytest.mark.slow
@pytest.mark.parametrize("case", CRAFTED)
def test_a_crafted_state_with_a_right_checksum_is_refused_in_one_line(stored, case):
    _refuse(stored, *CRAFTED[case])


@pytest.mark.parametrize("case", CRAFTED_BY_PERMUTATIONS)
def test_crafted_counts_of_permutations_are_refused_in_one_line(stored_by_permutations, case):
    _refuse(stored_by_permutations, *CRAFTED_BY_PERMUTATIONS[case])


def test_counts_of_permutations_are_refused_where_none_were_asked_for(stored, stored_by_permutations):
    counts = stored_by_permutations[1]
    path, arrays, read = stored
    _sealed(path, arrays | {name: counts[name] for name in counts if name.startswith("level_")})
    with pytest.raises(OutputError, match="which were not requested"):
        read()


def _refuse(stored, name, change):
    path, arrays, read = stored
    altered = dict(arrays)
    if change is None:
        del altered[name]
    else:
        altered[name] = change(arrays.get(name))
    _sealed(path, altered)
    with pytest.raises(OutputError, match="the checkpoint is damaged") as refused:
        read()
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_a_list_of_every_feature_must_be_whole(frame, tmp_path):
    asked = OPTIONS | {"top": "all", "p_values": False, "permutations": None}
    found = symscreen.screen(frame, checkpoint=tmp_path, **asked)
    (path,) = tmp_path.glob("*.state")
    with np.load(io.BytesIO(path.read_bytes().partition(b"\n")[2])) as held:
        arrays = dict(held)
    _sealed(path, arrays)
    assert _of(symscreen.screen(frame, checkpoint=tmp_path, **asked)) == _of(found)
    _sealed(path, {name: one[1:] if name[:2] == "0_" else one for name, one in arrays.items()})
    with pytest.raises(OutputError, match="a list has "):
        symscreen.screen(frame, checkpoint=tmp_path, **asked)


def test_a_state_beyond_what_a_run_can_keep_is_not_read(frame, tmp_path, monkeypatch):
    symscreen.screen(frame, checkpoint=tmp_path, **OPTIONS)
    monkeypatch.setattr("symscreen.screening.scoring.streaming.compute_max_state_bytes", lambda _: 1000)
    with pytest.raises(OutputError, match="larger than any state of this run"):
        symscreen.screen(frame, checkpoint=tmp_path, **OPTIONS)


def test_parts_of_a_state_that_overlap_are_refused(rng):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as members:
        members.writestr("figures.npy", b"x")
        with pytest.warns(UserWarning, match="Duplicate name"):
            members.writestr("figures.npy", b"x")
    body = content.getvalue()
    head = dump_state(_state(rng, 2), "run").partition(b"\n")[0].split(b" ")[:3]
    sealed = b" ".join([*head, hashlib.sha256(body).hexdigest().encode()]) + b"\n" + body
    with pytest.raises(ValueError, match="its parts overlap"):
        load_state(sealed, "run")


@pytest.mark.parametrize(
    "content",
    [b"[]", b"null", b"3", b'"x"', b"[" * 200_000, b'{"options":' * 900 + b"1" + b"}" * 900, b"{\xff}"],
)
def test_a_crafted_run_json_is_refused_in_one_line(tmp_path, content):
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(OutputError) as refused, open_checkpoint(tmp_path, {"options": {"top": 3}}):
        pass
    assert "\n" not in str(refused.value)
    assert "checkpoint of another run: was" not in str(refused.value)


@needs("mkfifo")
@pytest.mark.parametrize("name", ["run.json", "lock"])
def test_pipes_in_a_checkpoint_are_refused_and_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with (
        pytest.raises(OutputError, match=r"cannot be read|cannot keep a checkpoint"),
        open_checkpoint(tmp_path, {}),
    ):
        pass


def test_a_lock_that_leads_elsewhere_is_refused(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "lock").symlink_to(tmp_path / "made.txt")
    with pytest.raises(OutputError, match="cannot keep a checkpoint"), open_checkpoint(tmp_path / "kept", {}):
        pass
    assert not (tmp_path / "made.txt").exists()
