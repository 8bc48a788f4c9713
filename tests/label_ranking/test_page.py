"""The examples of docs/rankings.md produce the output shown."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path

import pytest
from helpers.page_examples import run_examples

from symscreen import label_ranking
from symscreen.cli.command import run_command
from symscreen.label_ranking import theory

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rankings.md").read_text()


@pytest.mark.slow
def test_the_python_examples_run_one_after_the_other(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 3
    out = run_examples("\n".join(blocks), tmp_path)
    assert "['tea>milk>coffee', 'coffee>milk=tea', 'milk>coffee']" in out
    assert "[1.  1.5]" in out
    assert "kemeny True" in out
    printed = re.search(r"^```text\n(shift in .*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]
    assert printed in out
    assert re.search(r"^0 +x1\*x3", out, re.MULTILINE)


@pytest.mark.slow
def test_the_commands_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(
        "a,b,tea,milk,coffee,preference\n"
        + "".join(f"{row},{row * 7 % 5},{1 + (row > 9)},{2 - (row > 9)},3,{order}\n"
                  for row in range(20) for order in (["tea>milk=coffee", "milk>tea>coffee"][row > 9],))
    )  # fmt: skip
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
             for line in block.splitlines() if line.startswith("symscreen screen")]  # fmt: skip
    assert len(lines) >= 3
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        assert run_command(words) == 0
        assert "rankings of 3 labels (coffee, milk, tea)" in capsys.readouterr().out


def test_every_public_name_resolves():
    assert sorted(label_ranking.__all__) == list(label_ranking.__all__)
    for name in label_ranking.__all__:
        assert callable(getattr(label_ranking, name))


def test_the_page_names_every_function_about_the_theorems():
    assert sorted(theory.__all__) == list(theory.__all__)
    functions = [name for name in theory.__all__ if inspect.isfunction(getattr(theory, name))]
    assert [name for name in functions if name not in PAGE] == []
    assert all(getattr(theory, name).__doc__ for name in theory.__all__)


def test_the_page_names_the_learners_that_take_no_weights():
    learners = [one for one in map(label_ranking.__dict__.get, label_ranking.__all__) if hasattr(one, "fit")]
    without = {
        one.__name__ for one in learners if "sample_weight" not in inspect.signature(one.fit).parameters
    }
    sentence = re.search(r"`fit` takes `sample_weight`, except that of (.*?), in which", PAGE, re.DOTALL)[1]
    assert without == set(re.findall(r"`(\w+)`", sentence))
    assert len(learners) == 10
