"""Study files: what is written is read back, and what is wrong is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.config.fields import get_option
from symscreen.config.fit_options import make_fit_options
from symscreen.config.screen_options import make_screen_options
from symscreen.config.study_tables import STEP_FIELDS, STEPS, STUDY_FIELDS, find_tables, list_table_fields
from symscreen.errors import InputError, OptionError
from symscreen.studies.study import Study, relate_file, resolve_file
from symscreen.studies.study_file import format_study, format_toml_value, parse_study, read_study

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
names = texts | st.lists(texts, min_size=1, max_size=3)
shares = st.floats(0.01, 0.89)
counts = st.integers(2, 20)
SPECIAL = {  # options whose definitions take less than their types say
    "units": st.sampled_from(["strict", "ignore"]) | st.dictionaries(texts, texts, max_size=2),
    "pool_size": counts | st.just("u:4,b:9") | st.fixed_dictionaries({"u": counts}),
    "top": counts | st.just("all"),
    "intervals": st.booleans() | shares,
    "rounds": st.integers(1, 5),
    "time_limit": st.just("5m") | st.floats(0.5, 1e9),
}
BY_TYPE = {"bool": st.booleans(), "int": counts, "float": shares, "str": texts, "Names": names}


def _draw_values(option_field):
    known = get_option(option_field)
    if option_field.name in SPECIAL:
        return SPECIAL[option_field.name]
    if known.choices:
        return st.sampled_from(known.choices)
    types = str(option_field.type).split(" | ")
    return next((BY_TYPE[each] for each in types if each in BY_TYPE), texts)


def _draw_tables():
    tables = {
        table: st.fixed_dictionaries(
            {}, optional={name: _draw_values(each) for name, each in list_table_fields(table).items()}
        )
        for table in ("data", "run", *STEPS)
    }
    return st.fixed_dictionaries(
        {"data": tables["data"], "screen": tables["screen"]},
        optional={"fit": tables["fit"], "run": tables["run"]},
    )


def _read(text):
    return parse_study(text, "study.toml", Path("study.toml"))


def _keep_valid(tables):
    """Leave out the values that the definitions refuse: which these are is tested elsewhere."""
    kept = {}
    for table, values in tables.items():
        kept[table] = {}
        for name, value in values.items():
            make = make_fit_options if table == "fit" or name not in STEP_FIELDS["screen"] else _make_screen
            try:
                make({name: value})
            except InputError:
                continue
            kept[table][name] = value
    return kept


def _make_screen(options):
    return make_screen_options(options, verb="screen")


@pytest.mark.slow
@given(tables=_draw_tables(), data=texts)
def test_options_written_to_a_study_file_are_read_back(tables, data):
    study = Study(data, _keep_valid(tables), {"report": "a.html", "table": "é \\.csv"})
    read = _read(format_study(study, {"": ["a\nb"], "data": ["c"], "fit.layers": ["\x00"]}))
    assert (read.data, read.options, read.outputs) == (study.data, study.options, study.outputs)
    for step, make in (("screen", _make_screen), ("fit", make_fit_options)):
        if step not in study.steps:
            continue
        try:
            expected = make(study.collect_options(step))
        except InputError:
            continue  # the screen has options of the data that a fit lacks
        assert make(read.collect_options(step)) == expected


def test_every_option_is_a_key_of_one_table_for_each_step_but_those_that_reach_beyond_the_process():
    left_out = {*STEP_FIELDS["screen"], *STEP_FIELDS["fit"]} - set(STUDY_FIELDS)
    assert left_out == {"quiet", "backend", "scheduler", "checkpoint"}
    for name in STUDY_FIELDS:
        assert find_tables(name) in {("data",), ("run",), ("screen",), ("fit",), ("screen", "fit")}
        for table in find_tables(name):
            assert name in list_table_fields(table)


START = '[data]\nfile = "data.csv"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'data.file: missing; name the file of the table, file = "data.csv"'),
        ("[data]\nfile = 3", 'data.file: expected the name of a file, such as "data.csv", found 3'),
        (START + "[screen]\n[run]\nscheduler = 'tcp://a:1'", "run.scheduler: this key is unknown"),
        (START + "[scren]", "scren: this key is unknown; did you mean 'screen'?"),
        (START + "[screen]\ntopp = 3", "screen.topp: this key is unknown; did you mean 'top'?"),
        (START + "[screen]\neffort = 'quick'", "screen.effort: this key is unknown"),
        ("screen = 1\n" + START, "screen: expected a table, [screen], found 1"),
        (START + "[screen]\ntop = 0", "screen.top is 0; give an integer of at least 1, or 'all'"),
        (START + "[screen]\npool = 'wide'", "screen.pool is 'wide'"),
        (START + "[screen]\npool_size = 'x'", "screen.pool_size is 'x'; write 200"),
        (START + "[screen]\nlayers = 0", "screen.layers is 0; give layers of unary (u)"),
        (START + "[screen]\nfdr = nan", "screen.fdr is nan; give a finite number"),
        (START + "[screen]\nseed = 2020-01-01", "screen.seed is "),
        (START + "[fit]\neffort = 'hard'", "fit.effort is 'hard'"),
        (START + "[fit]\n[output]\nreport = 'a.html'", "output.report: 'a.html' needs the table [screen]"),
        (START + "[screen]\n[output]\nmodel = 'm'", "output.model: 'm' needs the table [fit]"),
        (START + "[screen]\n[output]\nreports = 'a'", "output.reports: this key is unknown"),
    ],
)
def test_what_is_wrong_in_a_study_file_is_named(text, message):
    with pytest.raises(OptionError, match=re.escape(f"study.toml, {message}")) as caught:
        _read(text)
    assert "\n" not in str(caught.value)


def test_what_is_no_study_is_refused():
    with pytest.raises(OptionError, match=re.escape("study.toml: not valid TOML: ")):
        _read("[screen]\n[screen]")
    with pytest.raises(OptionError, match=re.escape("nothing is to be done: add the table [screen], [fit]")):
        _read(START)


def test_a_study_file_that_is_not_there_or_no_file_is_refused(tmp_path):
    with pytest.raises(OptionError, match="the file does not exist; symscreen init DATA writes one"):
        read_study(tmp_path / "study.toml")
    with pytest.raises(OptionError, match="cannot be read"):
        read_study(tmp_path)


def test_files_are_named_from_the_folder_of_the_study(tmp_path):
    (tmp_path / "study.toml").write_text(
        '[data]\nfile = "data.csv"\nunits = "units.toml"\n[screen]\noperators = "my.toml"\n'
        '[fit]\noperators = "physics"\n[output]\nreport = "../a.html"\n'
    )
    study = read_study(tmp_path / "study.toml")
    assert study.source == str(tmp_path / "data.csv")
    assert study.collect_options("screen") == {
        "units": str(tmp_path / "units.toml"),
        "operators": str(tmp_path / "my.toml"),
    }
    assert study.collect_options("fit")["operators"] == "physics"
    assert study.output_files == {"report": str(tmp_path / "../a.html")}
    assert study.input_files == tuple(str(tmp_path / name) for name in ("data.csv", "units.toml", "my.toml"))


@pytest.mark.parametrize("name", ["a.csv", "in/a.csv", "-", "/data/a.csv", "duckdb:all.db#trips"])
def test_a_file_name_moved_out_of_a_folder_and_back_is_the_same(name):
    for folder in (Path(), Path("in"), Path("../up")):
        assert relate_file(resolve_file(name, folder), folder) == name


def test_given_options_replace_those_of_each_step_that_has_them():
    study = Study("a.csv", {"data": {"target": "y"}, "screen": {"top": 5}}, record={"file": "s.toml"})
    changed = study.override({"top": 9, "jobs": 2, "layers": "u", "target": "z"})
    assert changed.options == {
        "data": {"target": "z"},
        "screen": {"top": 9, "layers": "u"},
        "run": {"jobs": 2},
    }
    assert changed.record["given"] == {"top": 9, "jobs": 2, "layers": "u", "target": "z"}
    assert study.options["screen"] == {"top": 5}
    assert study.override({"operators": "g.toml"}).options["screen"]["operators"] == "g.toml"
    with pytest.raises(OptionError, match="effort= is an option of fit, which this study leaves out"):
        study.override({"effort": "quick"})
    with pytest.raises(OptionError, match="a study has no option 'lyers'; did you mean 'layers'"):
        study.override({"lyers": "u"})


def test_an_option_of_the_data_that_a_step_lacks_is_refused():
    study = Study("a.csv", {"data": {"groups": "site"}, "screen": {}, "fit": {}})
    assert study.collect_options("screen") == {"groups": "site"}
    with pytest.raises(OptionError, match="groups= is not an option of a fit: remove it, or the table"):
        study.collect_options("fit")


@pytest.mark.parametrize("value", [object(), float("inf"), {("a", "b"): 1}, None])
def test_what_toml_has_no_form_for_is_refused(value):
    with pytest.raises(OptionError, match="which a study file cannot hold"):
        format_toml_value(value, "operators")
