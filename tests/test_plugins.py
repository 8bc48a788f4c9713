from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.requirements import require

import symscreen
from symscreen.backends import make_backend
from symscreen.cli.command import run_command
from symscreen.errors import InputError, OptionError
from symscreen.plugins import find_plugins
from symscreen.screeners import check_screener, get_screener

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "plugin"
ORIGIN = "symscreen-example 0.1"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    require("pip")
    target = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-build-isolation", "--no-compile", "--quiet", "--no-index"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(EXAMPLE)]
    subprocess.run(command, check=True)
    return target


@pytest.fixture
def example(installed, monkeypatch):
    monkeypatch.syspath_prepend(str(installed))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Make packages that hold nothing but entry points and a module."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make(name, group, entry, module=""):
        about = tmp_path / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[symscreen.{group}]\n{entry}\n")
        (tmp_path / f"{name}.py").write_text(module)

    return make


def test_the_example_is_shorter_than_sixty_lines():
    assert sum(len(path.read_text().splitlines()) for path in EXAMPLE.glob("*.*")) < 60


def test_the_page_shows_its_real_source():
    page = (ROOT / "docs" / "plugins.md").read_text()
    for path in EXAMPLE.glob("*.*"):
        assert f"\n{path.read_text()}```\n" in page


@pytest.mark.slow
@pytest.mark.usefixtures("example")
def test_its_screener_keeps_the_promises_and_screens(frame):
    check_screener(get_screener("normal_scores"))
    found = symscreen.screen(frame, screener="normal_scores,t0", operators="waves", top=3)
    assert list(found.table.columns[5:7]) == ["normal_scores", "t0"]
    assert found.table.normal_scores.abs().is_monotonic_decreasing
    assert found.record["options"]["plugins"] == {"normal_scores": ORIGIN, "waves": ORIGIN}
    members = symscreen.classes(
        found, frame, class_members=1
    )  # the screen made again, by the screener's name
    assert members.expression.tolist() == found.table.expression.tolist()


@pytest.mark.usefixtures("example")
def test_its_score_is_the_correlation_of_normal_scores(frame):
    from scipy.stats import norm, rankdata

    found = symscreen.screen(frame, screener="normal_scores", layers="u", unary="id", top="all")
    response = norm.ppf(rankdata(frame.target) / 61)
    for name, score in zip(found.table.expression, found.table.normal_scores, strict=True):
        expected = norm.ppf(rankdata(frame[name]) / 61)
        cosine = expected @ response / np.sqrt((expected @ expected) * (response @ response))
        assert score == pytest.approx(cosine, abs=1e-12)


@pytest.mark.usefixtures("example")
def test_listings_tell_the_origin(capsys):
    assert run_command(["screeners"]) == 0
    out = capsys.readouterr().out
    assert f"\nnormal_scores ({ORIGIN})\n" in out
    assert f"\nbackend serial ({ORIGIN})\n" in out
    assert run_command(["operators"]) == 0
    assert f"\ngrammar waves of {ORIGIN}\n" in capsys.readouterr().out


@pytest.mark.usefixtures("example")
def test_the_grammar_and_the_backend_are_found():
    assert [one.name for one in symscreen.load_grammar("waves").unary] == ["sin", "cos"]
    assert list(make_backend("serial", 3).map(abs, [-1, 2])) == [1, 2]
    for word, find in (("screener", get_screener), ("grammar", symscreen.load_grammar)):
        near = {"screener": "normal_score", "grammar": "wave"}[word]
        with pytest.raises(InputError, match=f"there is no {word} '{near}'; did you mean '{near}s'"):
            find(near)
    with pytest.raises(OptionError, match="no backend 'seril'; did you mean 'serial'"):
        make_backend("seril", 1)


@pytest.mark.slow
def test_nothing_is_imported_before_it_is_asked_for(installed):
    code = (
        "import sys\n"
        "from symscreen.plugins import find_plugins\n"
        "from symscreen.screeners import parse_screeners\n"
        "parse_screeners('t0,xi')\n"
        "assert find_plugins('screener', [])[0].name == 'normal_scores'\n"
        "assert 'symscreen_example' not in sys.modules\n"
    )
    environment = {"PYTHONPATH": f"{ROOT}:{installed}", "PATH": ""}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_a_name_in_two_packages_is_refused_with_both_origins(package):
    for name in ("one", "two"):
        package(name, "screeners", f"mine = {name}:MINE")
    with pytest.raises(OptionError, match=r"^the screener 'mine' is in one 1\.0 and two 1\.0: uninstall one"):
        get_screener("mine")


def test_symscreens_own_names_stay_its_own(package, capsys):
    package("usurper", "screeners", "t0 = usurper:T0", "raise SystemExit('never imported')")
    assert get_screener("t0") is symscreen.screeners.T0
    assert run_command(["screeners"]) == 0
    (line,) = re.findall(r"not usable: the screener 't0'.*(?:\n.*)?", capsys.readouterr().out)
    assert "usurper 1.0 and symscreen" in " ".join(line.split())


@pytest.mark.parametrize(
    ("entry", "module", "told"),
    [
        (
            "mine = broken:MINE",
            "import nowhere",
            "cannot be loaded: ModuleNotFoundError: No module named 'now",
        ),
        ("mine = broken:MINE", "raise SystemExit(3)", "cannot be loaded: SystemExit: 3"),
        ("mine = broken:MINE", "raise ValueError('two\\nlines')", "cannot be loaded: ValueError: two lines"),
        ("mine = broken:MINE", "", "cannot be loaded: AttributeError"),
        ("mine = broken:MINE", "MINE = 3", "is of type int, not a Screener or JointScreener"),
        (
            "mine = broken:MINE",
            "from symscreen.screeners import T0 as MINE",
            "has the name 't0', which differs from its entry point",
        ),
    ],
)
def test_a_broken_one_has_one_line_and_the_rest_works(entry, module, told, package, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    package("broken", "screeners", entry, module)
    with pytest.raises(OptionError) as caught:
        get_screener("mine")
    assert str(caught.value).startswith(f"the screener 'mine' of broken 1.0 {told}")
    assert "\n" not in str(caught.value)
    assert run_command(["screeners"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "not usable: the screener 'mine' of broken 1.0" in out
    assert "concordant divergence" in out


def test_a_grammar_may_be_a_file_and_its_mistakes_name_the_package(package, tmp_path):
    (tmp_path / "tides.toml").write_text('unary = ["sin"]\n')
    package("tide", "grammars", "tides = tide:PATH", "from pathlib import Path\n"
            "PATH = Path(__file__).with_name('tides.toml')\n")  # fmt: skip
    package("odd", "grammars", "odd = odd:TEXT", "TEXT = 'unary = [\"sine\"]'")
    package("number", "grammars", "number = number:N", "N = 3")
    assert [one.name for one in symscreen.load_grammar("tides").unary] == ["sin"]
    with pytest.raises(InputError, match=r"the grammar 'odd' of odd 1\.0, unary: .*did you mean 'sin'"):
        symscreen.load_grammar("odd")
    with pytest.raises(InputError, match=r"'number' of number 1\.0 is of type int, not the Path of a TOML"):
        symscreen.load_grammar("number")


def test_a_backend_that_breaks_its_promise_is_refused(package):
    package("hasty", "backends", "hasty = hasty:Hasty\nlate = hasty:Late", (
        "class Hasty:\n    name, jobs = 'hasty', 1\n    def __init__(self, jobs): pass\n"
        "    def map(self, function, tasks): return reversed([function(task) for task in tasks])\n"
        "def Late(jobs): raise OSError('no cluster')\n"
    ))  # fmt: skip
    with pytest.raises(OptionError, match=r"'hasty' of hasty 1\.0 breaks a promise: .* order of the tasks"):
        make_backend("hasty", 1)
    with pytest.raises(OptionError, match=r"'late' of hasty 1\.0 fails: OSError: no cluster"):
        make_backend("late", 1)
    assert {one.name for one in find_plugins("backend", ["threads"])} >= {"hasty", "late"}
