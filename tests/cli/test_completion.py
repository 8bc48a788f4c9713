"""The shell completes verbs, options, choices and file names."""

from __future__ import annotations

from pathlib import Path

import pytest

from symscreen.cli.command import run_command

PAGE = (Path(__file__).parents[2] / "docs" / "install.md").read_text()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_that_the_page_names(shell, capsys, monkeypatch):
    assert f"_SYMSCREEN_COMPLETE={shell}_source symscreen" in PAGE
    monkeypatch.setenv("_SYMSCREEN_COMPLETE", f"{shell}_source")
    assert run_command([]) == 0
    out = capsys.readouterr().out
    assert f"_SYMSCREEN_COMPLETE={shell}_complete" in out
    assert "symscreen" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("symscreen scr", {"plain,screen", "plain,screeners"}),
        ("symscreen fit --eff", {"plain,--effort"}),
        ("symscreen fit --effort ", {"plain,quick", "plain,default", "plain,thorough"}),
        ("symscreen screen da", {"file,da"}),
        ("symscreen screen data.csv --out ra", {"file,ra"}),
        ("symscreen screen data.csv --units st", {"file,st"}),
        ("symscreen run st", {"file,st"}),
    ],
)
def test_words_are_completed(words, expected, capsys, monkeypatch):
    monkeypatch.setenv("_SYMSCREEN_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    assert run_command([]) == 0
    assert set(capsys.readouterr().out.split()) == expected
