"""The notebooks run from a clean namespace, without a warning, and show what their prose says."""

from __future__ import annotations

import importlib
import re
import shlex
from html import unescape
from pathlib import Path

import nbformat
import pytest

import symscreen
from symscreen.cli.command import run_command

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))
_MOST_LINES = 15  # of an output: more is a wall


def _read(name):
    return nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)


def _prose(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def _pages():
    return {name: _prose(_read(name)) for name in NAMES} | {"README": (EXAMPLES / "README.md").read_text()}


def _commands(page):
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()]


@pytest.fixture(scope="module")
def runs():
    """Import the module that runs notebooks, which stands beside the other scripts of the site."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(EXAMPLES.parent / "docs" / "site")
        yield importlib.import_module("notebook_runs")


@pytest.fixture(scope="module")
def gallery():
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(EXAMPLES.parent / "docs" / "site")
        yield importlib.import_module("gallery")


@pytest.fixture(scope="module")
def kernel(runs, tmp_path_factory):
    with runs.start_kernel(tmp_path_factory.mktemp("kernel")) as manager:
        yield manager


@pytest.fixture
def executed(runs, kernel, tmp_path):
    """Return a function that runs a notebook in a new folder, with nothing left of the notebook before."""

    def execute(notebook):
        folder = tmp_path / "work"
        folder.mkdir(exist_ok=True)
        runs.run_notebook(notebook, kernel, folder)
        assert not list(folder.iterdir())
        return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}

    return execute


def _lines(output):
    """Count the lines that a reader sees of an output: a table has rows, a picture or a formula none."""
    data = output.get("data", {})
    if "text/html" in data:
        return data["text/html"].count("<tr")
    if {"image/png", "text/latex"} & set(data):
        return 0
    return str(output.get("text") or data["text/plain"]).count("\n") + 1


def _value(outputs):
    """Return the text of the one value that a cell shows."""
    (output,) = outputs
    return output.data["text/plain"]


def _table(outputs):
    """Return the rows of the table that a cell shows, as dicts by its headings."""
    (output,) = outputs
    lines = re.findall(r"<tr.*?</tr>", output.data["text/html"], re.DOTALL)
    cells = [[unescape(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line)] for line in lines]
    head = cells[0]
    return [dict(zip(head, line, strict=True)) for line in cells[1:] if len(line) == len(head) and line[-1]]


def _column(table, name):
    return [float(row[name]) for row in table]


def _first_steps(shown):
    assert "left out: 'id' (an identifier)" in _value(shown["notices"])
    assert "categories: 'observer' as columns of 0 and 1" in _value(shown["notices"])
    typeset = re.findall(r'<td[^>]* title="([^"]*)"><math>', shown["screen"][0].data["text/html"])
    assert typeset[0] == "1/object_cm - 1/focal_cm"
    shares = _column(_table(shown["read-shares"]), "share")
    assert 10 * shares[0] < shares[1]
    first = _table(shown["also"])[0]
    assert (first["expression"], first["class_size"]) == ("focal_cm*object_cm/(object_cm - focal_cm)", "3")
    assert [row["direction"] for row in _table(shown["classes"])] == ["+", "+", "-"]
    assert _value(shown["read-back"]).startswith("(True")


def _why_t0(shown):
    by_hand, by_symscreen = map(float, _value(shown["by-hand"]).strip("()").split(", "))
    assert by_hand == by_symscreen == 0.6667
    shapes = _column(_table(shown["order-only"]), "T0/Δ")
    assert shapes[0] == shapes[1] == shapes[2] == pytest.approx(2 - shapes[3])
    of_x, of_theta = (_table(shown[name])[3] for name in ("of-x", "of-theta"))
    assert float(of_theta["xi"]) <= float(of_x["xi"]) + 0.02
    assert float(of_theta["t0_over_delta"]) < 0.2
    assert float(of_x["t0_over_delta"]) > 0.9
    splits = _table(shown["one-split"])
    assert _column(splits, "cuts") == [2, 199, 199, 0, 0]
    assert [loss == 1 for loss in _column(splits, "loss")] == [False, True, True, False, False]
    ranks = _table(shown["ranking"])
    assert len(ranks) == 5
    assert _column(ranks, "T(r)") == _column(ranks, "Δ - T0")
    assert _value(shown["caution"]).startswith("(0.0, ")


def _screening(shown):
    figures = {row["screener"]: float(row["average_precision"]) for row in _table(shown["evaluate"])}
    assert set(figures) == {"t0", "pearson", "xi", "lasso"}
    assert figures["t0"] == max(figures.values()) == float(_value(shown["average"])) == 0.917
    assert _column(_table(shown["by-hand"]), "recall")[-1] == 1
    for row in _table(shown["wrong"]):
        assert float(row["average_precision"]) < float(row["chance"])
    form = {row["screener"]: float(row["average_precision"]) for row in _table(shown["terms"])}
    assert max(form["t0"], form["xi"]) < min(form["pearson"], form["lasso"])
    loud = _table(shown["noise-table"])[-2]
    assert float(loud["xi"]) < float(loud["pearson"]) < float(loud["t0"])


def _strogatz(shown):
    assert [row["expression"] for row in _table(shown["rounds"])] == ["sin(x2)", "x1**2"]
    assert _column(_table(shown["snap"]), "coefficient") == [0, -1, -0.05]
    assert "'difference': 0}" in _value(shown["truth"])
    for row in _table(shown["honest"]):
        assert float(row["width, same rows"]) < float(row["width, unseen rows"])
    (typeset,) = shown["typeset"]
    assert typeset.data["text/latex"].startswith("$")
    assert len(_table(shown["save"])) == 3


def _preselection(shown):
    raw, screened = _column(_table(shown["pipeline"]), "R² on the test rows")
    assert raw < screened - 0.1
    assert float(_value(shown["symbolic"])) < screened
    boosting, boosting_screened, ridge, ridge_screened = (
        float(row[-1]) for row in re.findall(r"(raw columns|screened)\s+([\d.]+)", _value(shown["splits"]))
    )
    assert ridge < boosting < boosting_screened < ridge_screened
    for row in _table(shown["trap"]):
        assert float(row["R², screened once"]) > 0
        assert float(row["R², screened in each fold"]) < 0


def _rankings(shown):
    assert _column(_table(shown["distance"]), "Kendall's distance") == [0, 1, 2.5, 0]
    median = {row[""]: row["nine friends"] for row in _table(shown["consensus"])}
    assert (median["method"], median["certified"]) == ("kemeny", "True")
    assert float(median["loss"]) > float(median["bound"])
    (printed,) = shown["tree"]
    regions = re.findall(r"(\S+)  \(", printed.text)
    assert [region.split(">")[0] for region in regions] == ["coffee", "tea", "coffee", "lemonade", "beer"]
    assert "spent" not in printed.text
    constant, tree, *_, ensemble = _table(shown["regression"])
    assert float(constant["café"]) < float(ensemble["café"]) < float(tree["café"])
    assert float(constant["diabetes"]) < float(tree["diabetes"]) < float(ensemble["diabetes"])
    (refused,) = shown["refused"]
    assert "needs complete rankings" in refused.text
    for row in _table(shown["learned"]):
        assert min(float(row[kind]) for kind in ("incomplete", "partial")) > 0.4
    told, _, _, dealt_anew = _table(shown["seen"])
    assert float(told["τ, seen"]) == 1
    assert dealt_anew["leaves"] == "1"
    assert dealt_anew["τ, held out"] == dealt_anew["constant, held out"]


def _stages(shown):
    for name, truth in {
        "screen-users": "log(minutes) - log(visits)",
        "screen-items": "log(pages) - log(price)",
    }.items():
        first, *others = _table(shown[name])
        assert (first["expression"], first["direction"]) == (truth, "+")
        assert {row["direction"] for row in others} <= {"+", "-"}
        assert float(first["t0"]) < 0.6 * float(_value(shown["scale"]))
    assert [row["rows"] for row in _table(shown["pairs"])][:2] == ["1562", "1562"]
    for row in _table(shown["columns"]):
        assert float(row["t0 of formula"]) < float(row["t0 of column"]) - 0.1
    nobody, columns, formulas, best = _column(_table(shown["errors"]), "overall")
    assert best < formulas < columns - 0.02
    assert columns < nobody - 0.16
    assert formulas < best + 0.03
    assert _value(shown["consistent"]) == "{'columns': 0, 'formulas': 0}"


def _laws(shown):
    assert _value(shown["momentum"]) == "'momentum = m*r*v*sin(theta)'"
    assert _value(shown["momentum-verdict"]).startswith("'law within noise")
    assert _value(shown["relativity"]) == "'time = (t - u*x/c**2)/sqrt(1 - u**2/c**2)'"
    front = _column(_table(shown["front"]), "r2")
    assert front == sorted(front)
    assert _value(shown["number"]) == "'voltage = U*(1 - exp(-0.7*t))'"
    assert _value(shown["outside"]).startswith("'approximation")


def _pendulum(shown):
    assert re.fullmatch(
        r"'d2angle/dt2 = -0\.\d+\*dangle_dt - 16\.[34]\d*\*sin\(angle\)'", _value(shown["equation"])
    )
    friction, stiffness = _table(shown["constants"])
    assert float(friction["low"]) < -0.2 < float(friction["high"])
    assert float(stiffness["low"]) < -9.81 / 0.6 < float(stiffness["high"])
    differences = _column(_table(shown["others"]), "difference")
    assert differences[0] == 0
    assert differences == sorted(differences)
    assert float(_value(shown["new"])) < 0.015


def _planets(shown):
    assert _value(shown["law"]) == "'period = a[star]*sqrt(orbit**3)'"
    assert float(_value(shown["one"])) < 0.95
    stars = _table(shown["masses"])
    assert len(stars) == 8
    for star in stars:
        assert float(star["mass"]) == pytest.approx(float(star["truth"]), rel=0.03)
    predicted, truth = map(float, _value(shown["new"]).strip("()").split(", "))
    assert predicted == pytest.approx(truth, abs=0.02)


def _ten_million_rows(shown):
    first, *_ = _table(shown["screen"])
    assert first["expression"] == "sqrt(heat)/mass"
    assert "10 files are read as one table" in _value(shown["notices"])


def _metals(shown):
    (verdict,) = shown["wrong"]
    assert verdict.text.startswith("No formula does better than noise")
    (printed, front) = shown["found"]
    assert "do better than noise" in " ".join(printed.text.split())
    assert _table([front])[2]["formula"].endswith("/resistivity")


def _refraction(shown):
    (printed,) = shown["found"]
    assert printed.text.startswith("refraction = 0.825*incidence - 0.0025*incidence**2\nexact")


def _vapour_pressure(shown):
    polynomials = _table(shown["naive"])
    assert float(polynomials[1]["200 °C"]) < 0.5 * float(polynomials[0]["200 °C"])
    (_, table) = shown["test"]
    for row in _table([table]):
        assert float(row["chosen formula"]) == pytest.approx(float(row["truth"]), rel=0.01)
    assert "exp(-5051.84/kelvin)" in _table(shown["found"])[3]["formula"]


def _enzyme(shown):
    line, rates = _table(shown["naive"])
    assert float(line["error"]) > float(rates["error"])
    assert shown["found"][0].text == "rate = a[cells] + b[cells]*log(conc)\n"
    assert "0.105916" in _table(shown["found"][1:])[3]["formula"]
    assert (
        float(_table(shown["limits"])[0]["logarithm"])
        < 0
        < float(_table(shown["limits"])[0]["Michaelis-Menten"])
    )


def _production(shown):
    assert "exp(capital)" in shown["naive"][0].text
    for row in _table(shown["time"]):
        assert float(row["p_naive"]) < 1e-6
        assert float(row["p_family"]) > 0.04
    slope = _table(shown["found"][1:])[1]
    assert float(slope["low"]) < 0.25 < float(slope["high"])


def _leukaemia(shown):
    naive = {row["expression"]: float(row["p_value"]) for row in _table(shown["naive"])}
    found = {row["expression"]: float(row["p_family"]) for row in _table(shown["found"])}
    assert found["drug"] < 0.05 < naive["drug"]


def _galaxies(shown):
    assert shown["found"][0].text.startswith("velocity = 424*distance\n")
    errors = _column(_table(shown["wrong"]), "error, km/s")
    assert errors == sorted(errors)
    assert all(row < 10 for row in _column(_table(shown["others"]), "difference"))


# The others have no more rows than they need.
FEWER_ROWS = {"11-ten-million-rows": ("rows = 10_000_000", "rows = 20_000")}

RESULTS = {
    "01-first-steps": _first_steps,
    "02-why-t0": _why_t0,
    "03-screening-and-pr-auc": _screening,
    "04-ode-strogatz": _strogatz,
    "05-preselection-for-a-regressor": _preselection,
    "06-rankings": _rankings,
    "07-stages": _stages,
    "08-laws": _laws,
    "09-pendulum": _pendulum,
    "10-planets": _planets,
    "11-ten-million-rows": _ten_million_rows,
    "12-metals": _metals,
    "13-refraction": _refraction,
    "14-vapour-pressure": _vapour_pressure,
    "15-enzyme": _enzyme,
    "16-production": _production,
    "17-leukaemia": _leukaemia,
    "18-galaxies": _galaxies,
}


def test_each_notebook_has_a_result_to_show():
    assert list(RESULTS) == NAMES


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_shows_its_results(name, executed, runs):
    notebook = _read(name)
    if name in FEWER_ROWS:
        many, few = FEWER_ROWS[name]
        (cell,) = (cell for cell in notebook.cells if cell.cell_type == "code" and many in cell.source)
        cell.source = cell.source.replace(many, few)
    shown = executed(notebook)
    for place, outputs in shown.items():
        for output in outputs:
            assert output.get("name") != "stderr", f"{place}: {output.text}"
            assert _lines(output) <= _MOST_LINES, place
    RESULTS[name](shown)
    if name not in FEWER_ROWS:
        assert runs.find_changes(_read(name), notebook) == []


@pytest.mark.slow
def test_a_cell_that_warns_or_fails_is_noticed_in_each_notebook(executed):
    from nbclient.exceptions import CellExecutionError

    def make(*sources):
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])

    imports = "import pandas, sklearn, warnings; known = 1; pandas.set_option('display.precision', 2)"
    registry = "sklearn.__dict__.setdefault('shown', {})"  # a library's, which stays
    warning = f"warnings.warn_explicit('beware', UserWarning, 'a.py', 1, registry={registry})"
    for _ in range(2):  # what the first notebook has shown, the second shows too
        notebook = make(imports, warning, "1 / 0")
        with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
            executed(notebook)
        assert [[output.name for output in cell.outputs] for cell in notebook.cells[:2]] == [[], ["stderr"]]
    after = make("import pandas; pandas.get_option('display.precision')", "known")
    with pytest.raises(CellExecutionError, match="NameError"):
        executed(after)
    assert _value(after.cells[0].outputs) == "6"


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_committed_with_tidy_outputs(name, runs):
    notebook = _read(name)
    counts, shown = [], ""
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    for cell in notebook.cells:
        assert not cell.metadata, cell.id
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", cell.id)
        assert not re.search("assert|!pip|%pip", cell.source), cell.id
        if cell.cell_type == "code":
            counts.append(cell.execution_count)
            assert not [output for output in cell.outputs if output.output_type == "error"], cell.id
            shown += str(cell.outputs)
    assert counts == list(range(1, len(counts) + 1))
    assert not re.search(r" at 0x[0-9a-f]{6}|/tmp/|/home/", shown)
    assert (EXAMPLES / f"{name}.ipynb").stat().st_size <= runs.MAX_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_the_first_cell_says_what_the_reader_will_be_able_to_do(name):
    first = _read(name).cells[0]
    assert first.cell_type == "markdown"
    assert re.match(r"# \S", first.source)
    assert "you will be able to" in first.source


def test_the_list_of_examples_has_a_line_for_each():
    lines = (EXAMPLES / "README.md").read_text().splitlines()
    listed = [re.match(r"- \[(.*)\]\((.*)\): \S", line) for line in lines if line.startswith("-")]
    assert sorted((found[1], found[2]) for found in listed) == [(name, f"{name}.ipynb") for name in NAMES]


def test_the_page_of_the_gallery_is_that_of_the_stored_notebooks(gallery):
    assert (gallery.DOCS / "gallery.md").read_text(encoding="utf-8") == gallery.make_page()
    cards = dict(gallery.list_cards())
    assert len(cards) >= 12
    assert {path.stem for path in gallery.PICTURES.iterdir()} == set(cards)
    for name in cards:
        assert (gallery.PICTURES / f"{name}.png").read_bytes() == gallery.take_picture(_read(name))


@pytest.mark.parametrize(
    ("stored", "fresh", "agree"),
    [
        ("R² = 0.917", "R² = 0.918", True),
        ("R² = 0.917", "R² = 0.919", False),
        ("R² = 0.917", "R = 0.917", False),
        ("12 rows", "13 rows", False),
        ("6.2e-58", "6.3e-58", True),
        ("6.2e-58", "6.2e-57", False),
        ("0.12345678901", "0.12345678999", True),
        ("-0.5", "0.5", False),
        ("x1  0.5", "x1 0.5", True),
        ("x1", "x2", False),
    ],
)
def test_texts_agree_up_to_one_unit_of_the_last_digit(stored, fresh, agree, runs):
    assert runs.is_same_text(stored, fresh) is agree


def test_a_changed_result_is_named_with_its_cell(runs):
    stored, fresh = _read("13-refraction"), _read("13-refraction")
    assert runs.find_changes(stored, fresh) == []
    cells = {cell.id: cell for cell in fresh.cells}
    cells["picture"].outputs[0].data["image/png"] = "another"
    assert runs.find_changes(stored, fresh) == []
    cells["found"].outputs[0].text = "refraction = incidence"
    (change,) = runs.find_changes(stored, fresh)
    assert change.startswith("found: stored 'refraction = 0.825")
    cells["picture"].outputs = []
    assert "picture: 1 outputs are stored, and now there are 0" in runs.find_changes(stored, fresh)


def test_every_link_leads_somewhere():
    for name, page in _pages().items():
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", page):
            assert (EXAMPLES / link).exists(), f"{name}: {link}"


@pytest.mark.slow
def test_each_command_shown_runs(frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lenses = {"x1": "focal_cm", "x2": "room_C", "x3": "object_cm", "target": "image_cm"}
    frame.rename(columns=lenses).to_csv("lenses.csv", index=False)
    symscreen.datasets.make_additive(n=40).frame.to_csv("data.csv", index=False)
    symscreen.datasets.load_strogatz("glider1").frame.to_csv("flights.csv", index=False)
    symscreen.datasets.load_strogatz("glider1").frame.head().to_csv("new.csv", index=False)
    count = 0
    for name, page in _pages().items():
        for file in tmp_path.glob("ranking.*"):
            file.unlink()  # every notebook writes its own
        for line in _commands(page):
            program, verb, *rest = shlex.split(line)
            assert program == "symscreen"
            if verb != "reproduce":  # minutes; the next test looks for the experiment
                assert run_command([verb, *rest]) == 0, f"{name}: {line}\n{capsys.readouterr().err}"
                count += 1
    assert count >= 6


def test_each_experiment_named_exists():
    from symscreen.experiments.registry import EXPERIMENTS

    named = {one for page in _pages().values() for one in re.findall(r"symscreen reproduce ([\w-]+)", page)}
    assert named
    assert named <= set(EXPERIMENTS)
