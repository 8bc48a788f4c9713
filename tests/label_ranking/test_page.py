"""The examples of docs/rankings.md produce the output shown."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from symscreen import label_ranking
from symscreen.label_ranking import theory

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "rankings.md").read_text()


@pytest.mark.slow
def test_the_python_examples_run_one_after_the_other(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 3
    (tmp_path / "example.py").write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, "-W", "error", "example.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert "['tea>milk>coffee', 'coffee>milk=tea', 'milk>coffee']" in done.stdout
    assert "[1.  1.5]" in done.stdout
    assert "kemeny True" in done.stdout
    printed = re.search(r"^```text\n(shift in .*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]
    assert printed in done.stdout
    assert re.search(r"^0 +x1\*x3", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_the_commands_run(tmp_path):
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
        command = [sys.executable, "-m", "symscreen", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert "rankings of 3 labels (coffee, milk, tea)" in done.stdout


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
