from __future__ import annotations

import copy
import json
import os

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.errors import DataError, GrammarError, OptionError
from symscreen.results.ranking_files import write_ranking
from symscreen.results.ranking_reader import StoredRanking

SMALL = {"layers": "ub", "unary": "neg,cube,log", "binary": "sub,mul", "top": 12, "max_correlation": 1}


def _sizes(members):
    return members.groupby("rank").size().tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("screener", "options"),
    [(screener, options) for screener in ("t0", "pearson", "spearman,pearson")
     for options in ({}, {"rounds": 2}, {"pool_size": 5}, {"search": "sieve"})]
    + [("lasso", {}), ("t0,lasso", {})],
)  # fmt: skip
def test_as_many_are_listed_as_the_ranking_tells(frame, screener, options):
    result = symscreen.screen(frame, screener=screener, **SMALL, **options)
    members = symscreen.classes(result, frame, class_members=10**6)
    assert _sizes(members) == members[members.member == 1].class_size.tolist()
    assert _sizes(members) == result.table.class_size.tolist()
    assert members[members.member == 1].expression.tolist() == result.table.expression.tolist()


def test_members_are_those_with_the_same_ranks_or_the_mirrored_ones(frame):
    result = symscreen.screen(frame, **SMALL)
    members = symscreen.classes(result, frame, class_members=10**6)
    every = symscreen.screen(frame, **SMALL | {"top": "all"})
    ranks = every.transform(frame).rank().to_numpy().T
    mirror = len(frame) + 1 - ranks
    place = {text: at for at, text in enumerate(every.table.expression)}
    for _, rows in members.groupby("rank"):
        head = ranks[place[rows.expression.iloc[0]]]
        same = (ranks == head).all(axis=1) | (mirror == head).all(axis=1)
        assert set(rows.expression) == set(every.table.expression[same])


@pytest.mark.slow
def test_stored_members_are_those_found_again(frame, tmp_path):
    result = symscreen.screen(frame, class_members=3, **SMALL)
    plain = symscreen.screen(frame, **SMALL)
    assert "classes" not in plain.record
    assert "members" not in json.dumps(plain.record)
    assert result.table.equals(plain.table)
    again = symscreen.classes(plain, frame, class_members=3)
    assert symscreen.classes(result).equals(again)
    assert symscreen.classes(result, class_members=2).equals(symscreen.classes(plain, frame, class_members=2))
    for ending in ("csv", "json", "parquet"):
        path = tmp_path / f"r.{ending}"
        write_ranking(result, path)
        stored = symscreen.read_ranking(path)
        assert symscreen.classes(stored).equals(again)
        assert symscreen.classes(stored, frame, class_members=3).equals(again)


def test_a_response_beside_the_data_and_rankings_are_taken_again(frame, rng):
    inputs, y = frame.drop(columns="target"), frame["target"]
    result = symscreen.screen(inputs, y, **SMALL)
    assert _sizes(symscreen.classes(result, inputs, y, class_members=99)) == result.table.class_size.tolist()
    ranks = np.argsort(rng.normal(size=(60, 3)) + np.outer(frame["x1"] - 1.2, [0, 2, 4]), axis=1)
    ranked = inputs.assign(a=ranks[:, 0], b=ranks[:, 1], c=ranks[:, 2])
    result = symscreen.screen(ranked, ranking=["a", "b", "c"], **SMALL)
    assert _sizes(symscreen.classes(result, ranked, class_members=99)) == result.table.class_size.tolist()


@pytest.mark.parametrize("weight", ["next", {("s", "u"): 2.0, ("t", "u"): 0.3}])
def test_a_chain_of_stages_is_taken_again(frame, rng, weight):
    inputs = frame.drop(columns="target")
    went = [inputs["x1"] + rng.normal(0, 0.3, 60) > at for at in (0.6, 1.0, 1.4)]
    stages = {name: np.logical_and.reduce(went[: at + 1]).astype(int) for at, name in enumerate("stu")}
    given = {"stages": list("stu"), "stage_weight": weight}
    result = symscreen.screen(inputs.assign(**stages), **given, **SMALL)
    members = symscreen.classes(result, inputs.assign(**stages), class_members=99)
    assert _sizes(members) == result.table.class_size.tolist()


def test_of_all_features_each_class_is_listed_once(frame):
    result = symscreen.screen(frame, **SMALL | {"top": "all"})
    members = symscreen.classes(result, frame, class_members=10**6)
    assert len(members) == result.n_scored
    heads = members[members.member == 1]
    assert result.table.expression[heads["rank"] - 1].tolist() == heads.expression.tolist()


def test_what_cannot_be_listed_is_refused_with_the_reason(frame):
    result = symscreen.screen(frame, **SMALL)
    with pytest.raises(OptionError, match=r"no members are stored .* screen again with class_members=5"):
        symscreen.classes(result, class_members=5)
    with pytest.raises(OptionError, match="class_members is 0"):
        symscreen.classes(result, frame, class_members=0)
    with pytest.raises(DataError, match="names and rows agree, but values differ"):
        symscreen.classes(result, frame.assign(x1=frame["x1"] + 1e-9))
    with pytest.raises(DataError, match="rows: 59, and 60 were screened"):
        symscreen.classes(result, frame.iloc[1:])
    with pytest.raises(DataError, match=r"the inputs: \['a', 'x2', 'x3'\]"):
        symscreen.classes(result, frame.rename(columns={"x1": "a"}))
    many = pd.DataFrame(0.0, index=frame.index, columns=[f"c{place}" for place in range(300)])
    with pytest.raises(DataError, match=r"the inputs: \['c0', .*\.\.\.\], and \['x1', ") as raised:
        symscreen.classes(result, many.assign(target=frame["target"]))
    assert len(str(raised.value)) < 300
    result.table.loc[0, "expression"] = "x1*x2*x3"
    with pytest.raises(DataError, match="does not give this ranking any more"):
        symscreen.classes(result, frame)


def test_another_grammar_or_screener_is_told(frame, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('unary = ["twice"]\nlayers = "u"\n[define.twice]\nformula = "2*x"\n')
    result = symscreen.screen(frame, operators=own)
    assert len(symscreen.classes(result, frame)) >= len(result)
    found = symscreen.classes(result, frame)
    own.write_text('unary = ["twice"]\nlayers = "u"\n[define.twice]\nformula = "3*x"\n')
    assert symscreen.classes(result, frame).equals(found)  # the record has it: the file is not opened
    result.record["options"]["operators"] = "basic"
    with pytest.raises(GrammarError, match="there is no unary operator 'twice'"):
        symscreen.classes(result, frame)
    result.record["options"]["operators"] = str(own)
    result.record["options"]["screener"] = ["t00"]
    with pytest.raises(OptionError, match="did you mean 't0'"):
        symscreen.classes(result, frame)


def test_the_order_of_rows_does_not_matter(frame, rng):
    result = symscreen.screen(frame, **SMALL)
    mixed = frame.iloc[rng.permutation(len(frame))]
    assert symscreen.classes(result, mixed).equals(symscreen.classes(result, frame, jobs=1))
    assert isinstance(symscreen.classes(result, mixed), pd.DataFrame)


def test_families_and_rules_of_a_grammar_s_file_are_taken_from_the_record(frame, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(
        'unary = ["bell", "sin"]\nbinary = ["mul"]\nlayers = "ub"\nconstants = [2]\n[costs]\nsin = 3\n'
        '[define.bell]\nformula = "exp(-a*x**2)"\n[define.bell.parameters]\na = [0.1, 1]\n'
        '[forbid]\nmul = ["sin"]\n[columns]\nsin = ["x1"]\n'
    )
    result = symscreen.screen(frame, operators=own, class_members=4)
    own.unlink()
    assert symscreen.classes(result, frame, class_members=4).equals(symscreen.classes(result))


@pytest.mark.slow
@pytest.mark.parametrize("to", ["pipe", "secret", "device"])
def test_a_record_has_no_file_opened_and_reaches_nothing(frame, tmp_path, to):
    result = symscreen.screen(frame, **SMALL)
    places = {"pipe": tmp_path / "pipe.toml", "secret": tmp_path / "secret.toml", "device": "/dev/zero"}
    if hasattr(os, "mkfifo"):
        os.mkfifo(places["pipe"])
    places["secret"].write_text("secret = 'abc")
    options, name = result.record["options"], str(places[to])
    options |= {"checkpoint": str(tmp_path / "made"), "scheduler": "tcp://127.0.0.1:9", "backend": "dask"}
    options |= {"chunk_size": 1, "time_limit": 1e-9, "max_ram": 1}
    assert len(symscreen.classes(result, frame)) >= len(result)
    assert not (tmp_path / "made").exists()
    options["units"] = name
    with pytest.raises(DataError, match="its units are"):
        symscreen.classes(result, frame)
    del options["units"]
    options["operators"] = name
    try:  # of a device: there is no such grammar; of the others: the grammar is the record's
        symscreen.classes(result, frame)
    except GrammarError as error:
        assert "abc" not in str(error)  # noqa: PT017  # no message shows the content of a file


ALTERED = {
    "no object": lambda classes: classes.clear(),
    "no limit": lambda classes: classes.update(members=None),
    "another key": lambda classes: classes.update(more=1),
    "nothing shown": lambda classes: classes.update(shown=[]),
    "a class left out": lambda classes: classes["shown"].pop(),
    "classes in disorder": lambda classes: classes["shown"].reverse(),
    "a class that is a number": lambda classes: classes["shown"].__setitem__(0, 7),
    "rank 0": lambda classes: classes["shown"][0].update(rank=0),
    "rank 10²⁰": lambda classes: classes["shown"][-1].update(rank=10**20),
    "rank as a text": lambda classes: classes["shown"][0].update(rank="=cmd"),
    "a rank that is true": lambda classes: classes["shown"][0].update(rank=True),
    "a larger class": lambda classes: classes["shown"][0].update(class_size=10**6),
    "a class of less than nothing": lambda classes: classes["shown"][0].update(class_size=-3),
    "no members": lambda classes: classes["shown"][0].update(members=[]),
    "a member that is a list": lambda classes: classes["shown"][0]["members"].__setitem__(0, []),
    "fewer members": lambda classes: max(classes["shown"], key=_members)["members"].pop(),
    "another formula": lambda classes: classes["shown"][0]["members"][0].update(expression="x1*x2*x3"),
    "no formula": lambda classes: _second(classes).update(expression=None),
    "code": lambda classes: _second(classes).update(expression="__import__('os')"),
    "an escape": lambda classes: _second(classes).update(expression="\x1b[31m<script>"),
    "an unknown column": lambda classes: _second(classes).update(expression="nobody"),
    "another complexity": lambda classes: _second(classes).update(complexity=77),
    "a layer below 0": lambda classes: _second(classes).update(layer=-1),
    "an unknown direction": lambda classes: _second(classes).update(direction="<b>"),
    "an unknown relation": lambda classes: _second(classes).update(relation="=1+1"),
    "another one shown": lambda classes: _second(classes).update(relation="shown"),
    "none shown": lambda classes: classes["shown"][0]["members"][0].update(relation="same ranks"),
}


def _members(one):
    return len(one["members"])


def _second(classes):
    return max(classes["shown"], key=_members)["members"][1]


@pytest.fixture(scope="module")
def with_members():
    rng = np.random.default_rng(5)
    x1, x2 = rng.uniform(0.5, 2.0, (2, 40))
    frame = pd.DataFrame({"x1": x1, "x2": x2, "target": x1**2 + x2 + rng.normal(0, 0.1, 40)})
    return symscreen.screen(frame, class_members=3, **SMALL)


@pytest.mark.parametrize("case", ALTERED)
def test_members_that_were_altered_are_refused_without_the_data(with_members, case):
    record = copy.deepcopy(with_members.record)
    ALTERED[case](record["classes"])
    assert len(symscreen.classes(with_members)) > len(with_members)
    with pytest.raises(DataError, match=r"the record .*is damaged") as refused:
        symscreen.classes(StoredRanking(with_members.table, record))
    assert str(refused.value).isprintable()


def test_sizes_that_are_not_those_of_the_ranking_are_refused(with_members):
    table = with_members.table.assign(class_size=with_members.table.class_size + 1)
    with pytest.raises(DataError, match=r"members, but .* in the ranking"):
        symscreen.classes(StoredRanking(table, with_members.record))
    dropped = with_members.table.assign(class_size=with_members.table.class_size - 1)
    raced = with_members.record | {"options": with_members.record["options"] | {"search": "race"}}
    assert symscreen.classes(StoredRanking(dropped, raced)).equals(symscreen.classes(with_members))
    for table in (with_members.table.iloc[1:], with_members.table.iloc[:0]):
        with pytest.raises(DataError, match="its classes are not those of the ranking"):
            symscreen.classes(StoredRanking(table, with_members.record))
