"""What each address answers, beside the result that the page shows."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from symscreen.explain import why
from symscreen.explorer.application import MAX_TYPED_BYTES
from symscreen.export import export_formulas
from symscreen.report.figures.style import CURVE, FAINT, INK, MARK
from symscreen.results.ranking_files import format_ranking_csv

OPTIONS = {"layers": "ub", "unary": "square,log", "binary": "mul,sub", "top": 12, "jobs": 1}


def test_the_list_is_that_of_the_result(client, stored):
    content = client.get("formulas").json()
    table = stored.result.table
    assert [formula["text"] for formula in content["formulas"]] == table["expression"].tolist()
    assert [formula["rank"] for formula in content["formulas"]] == table["rank"].tolist()
    assert [formula["complexity"] for formula in content["formulas"]] == table["complexity"].tolist()
    losses = [formula["loss"] for formula in content["formulas"]]
    assert losses == pytest.approx((1 - table["gini"].abs()).tolist(), abs=1e-9)
    assert content["verdict"] == stored.result.verdict
    assert content["has_rows"] is True
    assert content["can_explain"] is True
    assert [column["text"] for column in content["columns"]] == ["compl.", "Gini", "q"]
    assert all(len(formula["cells"]) == 3 for formula in content["formulas"])
    assert content["formulas"][0]["markup"].startswith("<math>")


def test_the_points_are_the_rows_of_the_table(client, stored):
    frame = pd.read_csv(stored.data)
    points = client.get("points?formula=0").json()
    rows = frame.iloc[[row - 1 for row in points["rows"]]]
    assert sorted(points["rows"]) == list(range(1, len(frame) + 1))
    assert points["y"] == pytest.approx(rows["y"].tolist(), rel=1e-5)
    for given in points["inputs"]:
        assert given["values"] == pytest.approx(rows[given["name"]].tolist(), rel=1e-5)
    values = stored.result.transform(stored.data).iloc[:, 0]
    assert points["x"] == pytest.approx(values.iloc[[row - 1 for row in points["rows"]]].tolist(), rel=1e-5)
    order = sorted(range(len(frame)), key=lambda place: points["x"][place])
    rising = [points["curve"][place] for place in order]
    assert rising == sorted(rising, reverse=stored.result.table["direction"].iloc[0] == "-")
    assert sorted(rising) == pytest.approx(sorted(frame["y"]), rel=1e-5)


@pytest.mark.parametrize("formula", ["x1**2 - `a b`", "x1*x2", "exp(x1)", "x1 - x1", "log(x1 - `a b`)"])
def test_a_typed_formula_gets_the_answer_of_why(client, stored, formula):
    answer = client.post("why", content=formula).json()
    expected = why(stored.data, formula, **OPTIONS)
    assert answer["status"] == expected.status
    assert len(answer["lines"]) == len(expected.text.splitlines())
    if "=" not in expected.text:  # an option, which the page spells as the command line does
        assert answer["lines"] == expected.text.splitlines()


def test_a_typed_formula_that_is_listed_is_found_in_the_list(client, stored):
    best = stored.result.table["expression"].iloc[1]
    answer = client.post("why", content=best).json()
    assert answer["listed"] == 1
    assert answer["points"] == client.get("points?formula=1").json()


def test_a_typed_formula_is_drawn_where_it_is_defined(client):
    assert client.post("why", content="exp(x1)").json()["points"]["x"]
    assert client.post("why", content="log(x1 - `a b`)").json()["points"] is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os').system('true')", "has no meaning here"),
        ("x1 +", "found the end"),
        ("", "found the end"),
        ("x9", "there is no column 'x9'"),
        ("y*x1", "'y' is the target"),
        ("x1.real", "has no meaning here"),
        ("(" * 200 + "x1" + ")" * 200, "nested more than"),
        (b"\xff\xfe", "not text in UTF-8"),
    ],
)
def test_what_is_no_formula_is_refused_in_one_line(client, text, words):
    answer = client.post("why", content=text)
    assert answer.status_code == 422
    assert words in answer.json()["error"]
    assert len(answer.json()["error"].splitlines()) == 1


def test_a_formula_that_is_too_long_is_refused(client):
    assert client.post("why", content="x" * (MAX_TYPED_BYTES + 1)).status_code == 413
    assert client.post("why", content="x" * MAX_TYPED_BYTES).status_code == 422


@pytest.mark.parametrize("format_name", ["numpy", "sql", "excel", "latex"])
def test_a_formula_is_exported(client, stored, format_name):
    answer = client.get(f"export?format={format_name}&formula=2")
    assert answer.text == export_formulas(stored.result.expressions[2:3], format_name)
    assert answer.headers["content-disposition"].startswith('attachment; filename="formula-3.')
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_the_whole_ranking_is_exported(client, stored):
    assert client.get("export?format=csv&formula=0").text == format_ranking_csv(stored.result)


@pytest.mark.parametrize(
    "address",
    [
        "points", "points?formula=", "points?formula=-1", "points?formula=12", "points?formula=1.0",
        "points?formula=٣", "points?formula=0x1", "points?formula=99999999999999999999", "export?format=sql",
        "export?format=../x&formula=0", "export?format=matlab&formula=0", "export?formula=0",
        "export?format=csv&formula=12",
    ],
)  # fmt: skip
def test_other_numbers_and_formats_are_refused(client, address):
    answer = client.get(address)
    assert answer.status_code == 422
    assert len(answer.json()["error"]) < 300


def test_the_page_has_the_colours_of_reports(client):
    light = client.get("explore.css").text.split("@media")[0]
    for name, color in (("ink", INK), ("faint", FAINT), ("mark", MARK), ("curve", CURVE)):
        assert f"--{name}: {color};" in light


def test_the_page_has_all_elements_that_its_script_looks_for(client):
    page, script = client.get("").text, client.get("explore.js").text
    wanted = set(re.findall(r'find\("([^"]+)"\)', script))
    assert len(wanted) > 20
    assert wanted <= set(re.findall(r'id="([^"]+)"', page))
