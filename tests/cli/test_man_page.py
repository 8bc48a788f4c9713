"""The manual page has every command, option and example, as the command line has them."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from helpers.requirements import require

from symscreen.cli.command import VERBS, command

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "symscreen.1"
SITE = ROOT / "docs" / "site"


@pytest.fixture(scope="module")
def shown():
    """Return the page as a terminal of 100 columns shows it, without hyphenation."""
    groff = require("groff")
    done = subprocess.run(
        [groff, "-man", "-ww", "-Tutf8", "-Kutf8", "-P-cbou", "-rLL=100n", "-rHY=0", PAGE],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return re.sub(r"\s+", " ", done.stdout)


def test_the_stored_page_is_the_one_that_the_options_make(tmp_path):
    again = "import man_page, sys; sys.stdout.write(man_page.write_man_page())"
    done = subprocess.run(
        [sys.executable, "-c", again], env={"PYTHONPATH": f"{ROOT}:{SITE}", "PYTHONUTF8": "1"}, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == PAGE.read_text(), "make man writes it again"


def test_the_page_shows_every_command_with_its_options_and_examples(shown):
    for name in VERBS:
        verb = command.get_command(click.Context(command), name)
        context = click.Context(verb, help_option_names=["-h", "--help"])
        section = shown.partition(f" {name.upper()} symscreen {name} ")[2]
        assert section, name
        for parameter in verb.get_params(context):
            record = parameter.get_help_record(context)
            if isinstance(parameter, click.Option) and record is not None:
                assert f"{record[0]} {' '.join(record[1].split())}" in section
        lines = inspect.cleandoc(verb.help).splitlines()
        examples = [line.strip() for line in lines if line.startswith("  ")]
        assert len(examples) > 0
        assert [example for example in examples if " ".join(example.split()) not in section] == []
