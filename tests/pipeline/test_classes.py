from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.errors import OptionError, TableError
from symscreen.report import write_ranking

SMALL = {"layers": "ub", "unary": "neg,cube,log", "binary": "sub,mul", "top": 12}


def _sizes(members):
    return members.groupby("rank").size().tolist()


@pytest.mark.parametrize(
    ("screener", "options"),
    [(screener, options) for screener in ("t0", "pearson", "spearman,pearson")
     for options in ({}, {"rounds": 2}, {"keep": 5}, {"search": "sieve"})]
    + [("lasso", {}), ("t0,lasso", {})],
)  # fmt: skip
def test_as_many_are_listed_as_the_ranking_tells(frame, screener, options):
    result = symscreen.screen(frame, screener=screener, **SMALL, **options)
    members = symscreen.classes(result, frame, members=10**6)
    assert _sizes(members) == members[members.member == 1].class_size.tolist()
    assert _sizes(members) == result.table.class_size.tolist()
    assert members[members.member == 1].expression.tolist() == result.table.expression.tolist()


def test_members_are_those_with_the_same_ranks_or_the_mirrored_ones(frame):
    result = symscreen.screen(frame, **SMALL)
    members = symscreen.classes(result, frame, members=10**6)
    every = symscreen.screen(frame, **SMALL | {"top": "all"})
    ranks = every.transform(frame).rank().to_numpy().T
    mirror = len(frame) + 1 - ranks
    place = {text: at for at, text in enumerate(every.table.expression)}
    for _, rows in members.groupby("rank"):
        head = ranks[place[rows.expression.iloc[0]]]
        same = (ranks == head).all(axis=1) | (mirror == head).all(axis=1)
        assert set(rows.expression) == set(every.table.expression[same])


def test_stored_members_are_those_found_again(frame, tmp_path):
    result = symscreen.screen(frame, members=3, **SMALL)
    plain = symscreen.screen(frame, **SMALL)
    assert "classes" not in plain.record
    assert "members" not in json.dumps(plain.record)
    assert result.table.equals(plain.table)
    again = symscreen.classes(plain, frame, members=3)
    assert symscreen.classes(result).equals(again)
    assert symscreen.classes(result, members=2).equals(symscreen.classes(plain, frame, members=2))
    for ending in ("csv", "json", "parquet"):
        path = tmp_path / f"r.{ending}"
        write_ranking(result, path)
        stored = symscreen.read_ranking(path)
        assert symscreen.classes(stored).equals(again)
        assert symscreen.classes(stored, frame, members=3).equals(again)


def test_a_response_beside_the_data_and_rankings_are_taken_again(frame, rng):
    inputs, y = frame.drop(columns="target"), frame["target"]
    result = symscreen.screen(inputs, y, **SMALL)
    assert _sizes(symscreen.classes(result, inputs, y, members=99)) == result.table.class_size.tolist()
    ranks = np.argsort(rng.normal(size=(60, 3)) + np.outer(frame["x1"] - 1.2, [0, 2, 4]), axis=1)
    ranked = inputs.assign(a=ranks[:, 0], b=ranks[:, 1], c=ranks[:, 2])
    result = symscreen.screen(ranked, ranking=["a", "b", "c"], **SMALL)
    assert _sizes(symscreen.classes(result, ranked, members=99)) == result.table.class_size.tolist()


@pytest.mark.parametrize("weight", ["next", {("s", "u"): 2.0, ("t", "u"): 0.3}])
def test_a_chain_of_stages_is_taken_again(frame, rng, weight):
    inputs = frame.drop(columns="target")
    went = [inputs["x1"] + rng.normal(0, 0.3, 60) > at for at in (0.6, 1.0, 1.4)]
    stages = {name: np.logical_and.reduce(went[: at + 1]).astype(int) for at, name in enumerate("stu")}
    given = {"stages": list("stu"), "stage_weight": weight}
    result = symscreen.screen(inputs.assign(**stages), **given, **SMALL)
    members = symscreen.classes(result, inputs.assign(**stages), members=99)
    assert _sizes(members) == result.table.class_size.tolist()


def test_of_all_features_each_class_is_listed_once(frame):
    result = symscreen.screen(frame, **SMALL | {"top": "all"})
    members = symscreen.classes(result, frame, members=10**6)
    assert len(members) == result.scored
    heads = members[members.member == 1]
    assert result.table.expression[heads["rank"] - 1].tolist() == heads.expression.tolist()


def test_what_cannot_be_listed_is_refused_with_the_reason(frame):
    result = symscreen.screen(frame, **SMALL)
    with pytest.raises(OptionError, match=r"no members are stored .* screen again with --members 5"):
        symscreen.classes(result, members=5)
    with pytest.raises(OptionError, match="members is 0"):
        symscreen.classes(result, frame, members=0)
    with pytest.raises(TableError, match="names and rows agree, but values differ"):
        symscreen.classes(result, frame.assign(x1=frame["x1"] + 1e-9))
    with pytest.raises(TableError, match="rows: 59, and 60 were screened"):
        symscreen.classes(result, frame.iloc[1:])
    with pytest.raises(TableError, match=r"the inputs: \['a', 'x2', 'x3'\]"):
        symscreen.classes(result, frame.rename(columns={"x1": "a"}))
    many = pd.DataFrame(0.0, index=frame.index, columns=[f"c{place}" for place in range(300)])
    with pytest.raises(TableError, match=r"the inputs: \['c0', .*\.\.\.\], and \['x1', ") as raised:
        symscreen.classes(result, many.assign(target=frame["target"]))
    assert len(str(raised.value)) < 300
    result.table.loc[0, "expression"] = "x1*x2*x3"
    with pytest.raises(TableError, match="does not give this ranking any more"):
        symscreen.classes(result, frame)


def test_another_grammar_or_screener_is_told(frame, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text('unary = ["twice"]\nlayers = "u"\n[define.twice]\nformula = "2*x"\n')
    result = symscreen.screen(frame, operators=own)
    assert len(symscreen.classes(result, frame)) >= len(result)
    own.write_text('unary = ["twice"]\nlayers = "u"\n[define.twice]\nformula = "3*x"\n')
    with pytest.raises(OptionError, match=r"not what it was .*define changed"):
        symscreen.classes(result, frame)
    result.record["options"]["screener"] = ["t00"]
    with pytest.raises(OptionError, match="did you mean 't0'"):
        symscreen.classes(result, frame)


def test_the_order_of_rows_does_not_matter(frame, rng):
    result = symscreen.screen(frame, **SMALL)
    mixed = frame.iloc[rng.permutation(len(frame))]
    assert symscreen.classes(result, mixed).equals(symscreen.classes(result, frame, jobs=1))
    assert isinstance(symscreen.classes(result, mixed), pd.DataFrame)
