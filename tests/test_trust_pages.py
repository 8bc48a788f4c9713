"""What the pages on classes, power and trust show is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.cli.command import run_command

DOCS = Path(__file__).resolve().parent.parent / "docs"


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["classes.md", "power.md", "trust.md"])
def test_each_command_runs_and_fits_a_terminal(page, frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame.assign(site=list("abcdef") * 10).to_csv("data.csv", index=False)
    lines = [line for block in _blocks(page, "sh") for line in block.splitlines()]
    assert len(lines) >= 4
    for line in lines:
        # trust.md's options mean the same in a space of two layers, which is soon done
        narrow = line.replace("data.csv --layers ubb", "data.csv --layers ub")
        narrow = narrow.replace("--repeats 20", "--repeats 3")
        assert run_command(shlex.split(narrow)[1:]) == 0, line
        out = capsys.readouterr().out
        assert out
        assert max(map(len, out.splitlines())) <= 80


def test_every_relation_is_explained():
    from symscreen.screening.class_members import RELATIONS

    text = (DOCS / "classes.md").read_text()
    assert all(f"`{name}`" in text for name in RELATIONS if name != "shown")


@pytest.mark.slow
def test_on_noise_few_features_are_stable_as_the_page_on_power_says():
    counts, bounds = [], []
    for seed in range(20):
        noise = pd.DataFrame(np.random.default_rng(seed).normal(size=(60, 4)), columns=["a", "b", "c", "y"])
        found = symscreen.screen(
            noise, target="y", layers="b", operators="basic", top=3, stability=10, p_values=False
        )
        assert found.record["stability"]["features"] == 27
        sizes, shares = found.table["class_size"], found.table["stability"]
        counts.append([sizes[shares >= share].sum() for share in (0.6, 0.8, 0.9)])
        bounds.append([found.record["stability"]["false_at_most"][share] for share in ("0.6", "0.8", "0.9")])
    text = " ".join((DOCS / "power.md").read_text().split())
    for figures in (np.mean(counts, axis=0), np.mean(bounds, axis=0)):
        assert "{:.2f}, {:.2f} and {:.2f}".format(*figures) in text
    assert (np.mean(counts, axis=0) <= np.mean(bounds, axis=0)).all()
